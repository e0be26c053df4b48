"""Individual risk of the records of a table: SUDA2 scores and a log-linear model of the population.

Special uniques [Elliot05, Manning08]: a minimal sample unique (MSU) of a record is a set of keys by
which it is unique and by no part of which it is. With m keys an MSU of s keys scores (m - s)!; the
score of a record is the sum over its MSUs. DIS-SUDA scales scores to chances of a correct match:
with U sample uniques, P records in pairs and the sampling fraction d, the chance that a unique
match is correct is DIS = U d / (U d + P (1 - d)), and the mean over records follows it.

Population uniqueness. Of a sample unique with the sampling fraction p of its combination

    weights            P(F = 1 | f = 1) = p             (negative binomial, as individual_risk)
    log-linear model   P(F = 1 | f = 1) = exp(-v)       with v = mu (1 - p) / p  [SkinnerHolmes98]
                       E(1 / F | f = 1) = (1 - exp(-v)) / v

where mu is the count that a log-linear model of the keys expects in the sample, so that mu / p is
expected in the population. sdcMicro's ``modRisk`` puts mu in the place of mu / p, which makes the
population as small as the sample and the risk too high.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import comb, factorial, prod

import numpy as np
import pyarrow as pa

from pramana.analysis.channels import fit_margins, margin_of
from pramana.base.rounding import require_number
from pramana.base.text import listed, percent_up, records_that, text_up
from pramana.risk.coded_table import CodedTable, EquivalenceClasses
from pramana.risk.frequencies import Frequencies, individual_risk
from pramana.types import BoolArray, FloatArray, Form, IntArray

MOST_SUBSETS = 2**12
"""With more sets of keys than this, only minimal sample uniques of few keys are looked for."""

MOST_CELLS = 2**20
"""A model with interactions holds every possible combination of keys, up to this many."""


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """The SUDA2 scores of a table.

    Attributes:
        keys: the keys.
        scores: the score of each record.
        contributions: the per cent of the scores from sets with each key.
        uniques: records that are unique on all keys.
        pairs: records that equal exactly one other.
        width: the largest number of keys of a minimal sample unique that was looked for.
    """

    keys: tuple[str, ...]
    scores: FloatArray
    contributions: FloatArray
    uniques: int
    pairs: int
    width: int

    @classmethod
    def of(cls, table: CodedTable) -> SpecialUniques:
        """By every subset of the keys, smallest first: unique on a part means on the whole."""
        groups = EquivalenceClasses.of(table.codes, table.sizes)
        cells, numbers = table.at(groups.first), groups.numbers
        keys = len(table.names)
        sums = itertools.accumulate(comb(keys, size) for size in range(1, keys + 1))
        width = max(1, sum(total <= MOST_SUBSETS for total in sums))
        single = np.flatnonzero(numbers == 1)  # only these can be unique by a part of the keys
        scores, parts = np.zeros(len(single)), np.zeros(keys)
        unique: dict[tuple[int, ...], BoolArray] = {}
        for size in range(1, width + 1):
            for places in itertools.combinations(range(keys), size):
                part = cells.subset(places)
                merged = EquivalenceClasses.of(part.codes, part.sizes)
                alone = (merged.total(numbers)[merged.of_record] < 1.5)[single]
                minimal = alone.copy()
                for fewer in itertools.combinations(places, size - 1):
                    minimal &= ~unique[fewer] if fewer else True
                unique[places] = alone
                score = factorial(keys - size)
                scores += score * minimal
                parts[list(places)] += score * int(minimal.sum())
        of_cell = np.zeros(len(numbers))
        of_cell[single] = scores
        total = float(scores.sum())
        return cls(
            keys=table.names,
            scores=of_cell[groups.of_record],
            contributions=100 * parts / total if total else parts,
            uniques=len(single),
            pairs=2 * int((numbers == 2).sum()),
            width=width,
        )

    def dis(self, fraction: float) -> FloatArray:
        """The DIS-SUDA scores at a sampling fraction, as sdcMicro computes them."""
        require_number("fraction", fraction, low=0, high=1, low_open=True)
        scored = self.scores > 0
        if not scored.any():
            return np.zeros(len(self.scores))
        intact = self.uniques * fraction / (
            self.uniques * fraction + self.pairs * (1 - fraction)
        )  # fmt: skip
        power = self.scores[scored] ** (1 + (8 - len(self.keys)) / 20)
        odds = self.uniques * (1 / intact - 1) / (power * (1 / power).sum())
        result = np.zeros(len(self.scores))
        result[scored] = 1 / (1 + odds)
        return result


@dataclass(frozen=True)
class PopulationModel:
    """The sample uniques by a log-linear (Poisson) model of the population.

    Attributes:
        interactions: whether it has all interactions of two keys, or none.
        unique: the expected number of sample uniques that are unique in the population.
        matches: the expected number of correct matches among the sample uniques.
    """

    interactions: bool
    unique: float
    matches: float

    def to_json(self) -> Form:
        """Values for JSON."""
        model = "two-way interactions" if self.interactions else "main effects"
        return {"model": model, "population_uniques": self.unique, "correct_matches": self.matches}


def expected_counts(table: CodedTable, *, interactions: bool) -> FloatArray:
    """The counts that the model expects in each combination of keys that occurs."""
    groups = EquivalenceClasses.of(table.codes, table.sizes)
    codes = [column[groups.first] for column in table.codes]
    records = float(table.records)
    sizes = table.sizes
    if not interactions:
        shares = [
            np.bincount(column, minlength=size)[code] / records
            for column, size, code in zip(table.codes, sizes, codes, strict=True)
        ]
        return np.asarray(records * np.prod(shares, axis=0), dtype=np.float64)
    observed = np.zeros(sizes)
    observed[tuple(codes)] = groups.numbers
    margins = list(itertools.combinations(range(len(sizes)), 2))
    targets = [margin_of(observed, keep) for keep in margins]
    fitted = np.full(sizes, records / prod(sizes))
    for _ in range(100):
        before = fitted
        fitted = fit_margins(fitted, targets, margins)
        if np.abs(fitted - before).max() < 1e-6:
            break
    result: FloatArray = fitted[tuple(codes)]
    return result


def model_chances(expected: FloatArray, fraction: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of sample uniques: the chance to be unique in the population, and of a correct match.

    >>> unique, match = model_chances(np.array([0.5]), np.array([0.5]))
    >>> unique.round(4), match.round(4)
    (array([0.6065]), array([0.7869]))
    """
    others = expected * (1 - fraction) / fraction
    small = others < 1e-9
    match = np.where(small, 1.0, -np.expm1(-others) / np.where(small, 1.0, others))
    return np.exp(-others), match


@dataclass(frozen=True, eq=False)
class IndividualRisks:
    """The risk of every record of a table.

    Attributes:
        special: the SUDA2 scores.
        sample: fk of each record.
        population: Fk of each record, estimated by weights, where there are any.
        risk: the chance of a correct match: 1 / fk, or that in the population with weights.
        dis: the DIS-SUDA scores, where weights say the sampling fraction.
        by_weights: the expected number of sample uniques that are unique in the population.
        model: the same and correct matches by a log-linear model.
    """

    special: SpecialUniques
    sample: IntArray
    population: FloatArray | None
    risk: FloatArray
    dis: FloatArray | None = None
    by_weights: float | None = None
    model: PopulationModel | None = None

    @classmethod
    def of(cls, table: CodedTable, counted: Frequencies) -> IndividualRisks:
        """From the keys of a table and their frequencies."""
        of_record = counted.grouping.of_record
        special = SpecialUniques.of(table)
        sample = counted.sample[of_record]
        if counted.population is None or counted.people is None:
            return cls(special, sample, None, 1 / sample)
        fractions = np.minimum(counted.sample / np.maximum(counted.population, 1e-300), 1.0)
        once = counted.grouping.numbers == 1
        once &= counted.sample == 1
        interactions = len(table.sizes) > 2 and prod(table.sizes) <= MOST_CELLS
        expected = expected_counts(table, interactions=interactions)
        unique, match = model_chances(expected[once], fractions[once])
        return cls(
            special,
            sample,
            counted.population[of_record],
            individual_risk(counted.sample, counted.population)[of_record],
            special.dis(min(table.records / counted.people, 1.0)),
            float(fractions[once].sum()),
            PopulationModel(interactions, float(unique.sum()), float(match.sum())),
        )

    def sentences(self) -> list[str]:
        """The findings in plain words."""
        special = self.special
        scored = int((special.scores > 0).sum())
        if not scored:
            return []
        within = "" if special.width == len(special.keys) else f" of at most {special.width}"
        worst = np.argsort(-special.contributions, kind="stable")[:2]
        shares = [
            f"'{special.keys[place]}' ({percent_up(special.contributions[place] / 100)})"
            for place in worst
        ]
        lines = [
            f"{records_that(scored, 'has', 'have')} a minimal set{within} of keys that singles "
            f"them out (SUDA2; highest score {special.scores.max():,.0f}). The keys in most of the "
            f"scores: {listed(shares)}."
        ]
        if self.model is not None and self.by_weights is not None:
            kind = "all two-way interactions" if self.model.interactions else "main effects"
            lines.append(
                f"Of {special.uniques:,} sample uniques about {text_up(self.by_weights)} are "
                f"unique in the population by the weights, {text_up(self.model.unique)} by a "
                f"log-linear model of the keys ({kind}), by which "
                f"{text_up(self.model.matches)} would be matched correctly."
            )
        return lines

    def to_json(self) -> Form:
        """Values for JSON, without single records."""
        special = self.special
        return {
            "suda_records": int((special.scores > 0).sum()),
            "suda_highest": float(special.scores.max(initial=0.0)),
            "suda_contributions": dict(
                zip(special.keys, special.contributions.tolist(), strict=True)
            ),
            "suda_width": special.width,
            "population_uniques_by_weights": self.by_weights,
            "log_linear": None if self.model is None else self.model.to_json(),
        }

    def to_arrow(self) -> pa.Table:
        """The list of records, riskiest first; ``record`` counts rows of the table from 1."""
        columns: dict[str, object] = {
            "record": np.arange(1, len(self.sample) + 1),
            "fk": self.sample,
            "Fk": self.population,
            "risk": self.risk,
            "suda": self.special.scores,
            "dis_suda": self.dis,
        }
        table = pa.table({name: values for name, values in columns.items() if values is not None})
        return table.take(np.lexsort((-self.special.scores, -self.risk)))
