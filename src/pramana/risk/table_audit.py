"""Disclosure risk of a table: frequencies of keys, and diversity of sensitive columns.

    distinct l   the fewest different values in an equivalence class       [Machanavajjhala06]
    entropy l    exp of the smallest entropy: the number of equally likely values as uncertain
    t            the largest distance between a class's values and those of all records [Li07]

The distance is the earth mover's. Between categories every move costs 1: half of the L1 distance.
Between ordered values a move costs the ranks that it passes, as a share of all of them.

Individual risk of records: SUDA2 scores and a log-linear model of the population.

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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, factorial, prod

import numpy as np
import pyarrow as pa

from pramana.analysis.channels import fit_margins, margin_of
from pramana.base.rounding import require_number
from pramana.base.text import Shown, json_fields, listed, percent_up, records_that, text_up
from pramana.base.translation import gettext, noop, numeral
from pramana.engine.base import engine_for
from pramana.errors import NotCovered
from pramana.risk.coded_table import (
    CodedTable,
    EquivalenceClasses,
    ReportedSets,
    code_column,
    distinct_records,
    number_column,
    require_present,
)
from pramana.risk.frequencies import (
    Frequencies,
    HouseholdRisk,
    MissingPolicy,
    PopulationRisk,
    SubsetRisk,
    individual_risk,
    subset_risks,
)
from pramana.schema.codec import present
from pramana.schema.domains import Bins, Label
from pramana.schema.group_sizes import distance_of_groups
from pramana.schema.households import households_of
from pramana.schema.opened_table import OpenedTable, value_type
from pramana.schema.schema import REPORTED, Schema
from pramana.types import BoolArray, Codes, FloatArray, Form, IntArray

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
    def of(cls, table: CodedTable, groups: EquivalenceClasses | None = None) -> SpecialUniques:
        """By the minimal sample uniques of the records that are unique by all keys."""
        groups = groups or EquivalenceClasses.of(table.codes, table.sizes)
        numbers, keys = groups.numbers, len(table.names)
        sums = itertools.accumulate(comb(keys, size) for size in range(1, keys + 1))
        width = max(1, sum(total <= MOST_SUBSETS for total in sums))
        single = np.flatnonzero(numbers == 1)
        scores, parts = _suda_scores(table.at(groups.first), single, width)
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


def _suda_scores(cells: CodedTable, single: IntArray, width: int) -> tuple[FloatArray, FloatArray]:
    """The score of each cell that holds a single record, and the sum of scores by key.

    Larger sets come first: where nobody is unique, nobody is unique by fewer of these keys.
    """
    keys = len(cells.names)
    scores, parts = np.zeros(len(single)), np.zeros(keys)
    unique: dict[tuple[int, ...], Codes] = {}  # a bit for each single cell, if any is unique
    for size in range(width, -1, -1):
        unique_by_more, unique = unique, {}
        for places in itertools.combinations(range(keys), size) if size else ():
            others = set(range(keys)).difference(places) if size < width else set()
            if all(tuple(sorted((*places, other))) in unique_by_more for other in others):
                alone = _alone(cells.subset(places), single, whole=size == keys)
                if alone.any():
                    unique[places] = np.packbits(alone)
        for places, bits in unique_by_more.items():
            for fewer in itertools.combinations(places, size):
                if fewer in unique:
                    bits &= ~unique[fewer]
            minimal = np.unpackbits(bits, count=len(single)).view(np.bool_)
            score = factorial(keys - size - 1)
            np.add(scores, score, out=scores, where=minimal)
            parts[list(places)] += score * int(minimal.sum())
    return scores, parts


def _alone(part: CodedTable, single: IntArray, *, whole: bool) -> BoolArray:
    """Which of the single cells no other cell equals by some keys, or by all of them."""
    if whole:
        return np.ones(len(single), np.bool_)
    merged = EquivalenceClasses.of(part.codes, part.sizes)
    alone: BoolArray = merged.numbers == 1
    return alone[merged.of_record[single]]


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


def expected_counts(
    table: CodedTable, groups: EquivalenceClasses | None = None, *, interactions: bool
) -> FloatArray:
    """The counts that the model expects in each combination of keys that occurs."""
    groups = groups or EquivalenceClasses.of(table.codes, table.sizes)
    codes = [column[groups.first] for column in table.codes]
    records = float(groups.numbers.sum())
    sizes = table.sizes
    if not interactions:
        shares = [
            np.bincount(code, groups.numbers, minlength=size)[code] / records
            for size, code in zip(sizes, codes, strict=True)
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
    """The risk of every record of a table; on a cluster, of every combination of keys.

    Attributes:
        special: the SUDA2 scores.
        sample: fk of each record.
        population: Fk of each record, estimated by weights, where there are any.
        risk: the chance of a correct match: 1 / fk, or that in the population with weights.
        dis: the DIS-SUDA scores, where weights say the sampling fraction.
        by_weights: the expected number of sample uniques that are unique in the population.
        model: the same and correct matches by a log-linear model.
        by_record: whether there is one risk for each record.
    """

    special: SpecialUniques
    sample: IntArray
    population: FloatArray | None
    risk: FloatArray
    dis: FloatArray | None = None
    by_weights: float | None = None
    model: PopulationModel | None = None
    by_record: bool = True

    @classmethod
    def of(cls, table: CodedTable, counted: Frequencies) -> IndividualRisks:
        """From the keys of a table and their frequencies."""
        groups = counted.grouping
        of_record = groups.of_record
        special = SpecialUniques.of(table, groups)
        sample = counted.sample[of_record]
        by_record = table.records == int(groups.numbers.sum())
        if counted.population is None or counted.people is None:
            return cls(special, sample, None, 1 / sample, by_record=by_record)
        fractions = np.minimum(counted.sample / np.maximum(counted.population, 1e-300), 1.0)
        once = (groups.numbers == 1) & (counted.sample == 1)
        interactions = len(table.sizes) > 2 and prod(table.sizes) <= MOST_CELLS
        expected = expected_counts(table, groups, interactions=interactions)
        unique, match = model_chances(expected[once], fractions[once])
        return cls(
            special,
            sample,
            counted.population[of_record],
            individual_risk(counted.sample, counted.population)[of_record],
            special.dis(min(float(groups.numbers.sum()) / counted.people, 1.0)),
            float(fractions[once].sum()),
            PopulationModel(interactions, float(unique.sum()), float(match.sum())),
            by_record,
        )

    def sentences(self) -> list[str]:
        """The findings in words."""
        special = self.special
        scored = int((special.scores > 0).sum())
        if not scored:
            return []
        within = (
            ""
            if special.width == len(special.keys)
            else gettext(" of at most {width}", width=special.width)
        )
        worst = np.argsort(-special.contributions, kind="stable")[:2]
        shares = [
            f"'{special.keys[place]}' ({percent_up(special.contributions[place] / 100)})"
            for place in worst
        ]
        lines = [
            gettext(
                "{records} a minimal set{within} of keys that singles "
                "them out (SUDA2; highest score {highest:,.0f}). Keys with the "
                "largest shares of the scores: {shares}.",
                records=records_that(scored, "has", "have"),
                within=within,
                highest=special.scores.max(),
                shares=listed(shares),
            )
        ]
        if self.model is not None and self.by_weights is not None:
            kind = "all two-way interactions" if self.model.interactions else "main effects"
            lines.append(
                gettext(
                    "Of {uniques:,} sample uniques about {by_weights} are "
                    "unique in the population by the weights, {unique} by a "
                    "log-linear model of the keys ({kind}), by which "
                    "{matches} would be matched correctly.",
                    uniques=special.uniques,
                    by_weights=numeral(text_up(self.by_weights)),
                    unique=numeral(text_up(self.model.unique)),
                    kind=kind,
                    matches=numeral(text_up(self.model.matches)),
                )
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
        if not self.by_record:
            raise NotCovered(
                "The records of this table are on a cluster, which counted them: their risks are "
                "not listed one by one. Audit a file or a table in memory."
            )
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


IN_PART = (
    "With attribute sampling a record has a few columns. The risks in the population and of "
    "households need whole records, and were not measured."
)


@dataclass(frozen=True, repr=False)
class TableAudit(Shown):
    """The disclosure risk of a table.

    Attributes:
        records: the number of records.
        keys: the columns by which a person could be recognised.
        missing: the policy for missing values in them.
        asked: the k below which a frequency is a violation.
        k: the smallest frequency.
        uniques: records that no other one equals on the keys.
        violations: records with a frequency below ``asked``.
        combinations: the number of different combinations of keys.
        histogram: the number of records by frequency.
        population: the risk in the population, where there are weights.
        diversity: of each sensitive column inside the groups.
        subsets: the risk by few keys, worst first.
        households: the risk of households, where a column numbers them.
        binned: keys that were counted in the bins of a schema.
        by_set: whether records have the keys of their attribute set, and equal those of it alone.
        notes: what was not measured, and why.
        individual: the risk of every record, where a table is audited that is no release.
    """

    records: int
    keys: tuple[str, ...]
    missing: MissingPolicy
    asked: float
    k: int
    uniques: int
    violations: int
    combinations: int
    histogram: dict[str, int]
    population: PopulationRisk | None
    diversity: tuple[Diversity, ...]
    subsets: tuple[SubsetRisk, ...]
    households: HouseholdRisk | None = None
    binned: tuple[str, ...] = ()
    by_set: bool = False
    notes: tuple[str, ...] = ()
    individual: IndividualRisks | None = None

    def shown(self) -> tuple[str, list[str]]:
        """As the prompt and notebooks show it."""
        return f"Audit of {self.records:,} records by {', '.join(self.keys)}", self.sentences()

    def to_json(self) -> Form:
        """Values for JSON."""
        return json_fields(
            self,
            "records keys binned by_set missing k uniques violations combinations "
            "population subsets households notes individual",
        ) | {
            "k_asked": self.asked,
            "frequencies": self.histogram,
            "sensitive": [entry.to_json() for entry in self.diversity],
        }

    def sentences(self) -> list[str]:
        """The findings in words."""
        share = percent_up(Fraction(self.uniques, self.records))
        where = gettext(" ({binned} in bins)", binned=", ".join(self.binned)) if self.binned else ""
        among = gettext(", among the records of the same attribute set") if self.by_set else ""
        words = noop("{uniques:,} of {records:,} records ({share}) are unique on {keys}{where}")
        if self.uniques == 1:
            words = noop("{uniques:,} of {records:,} records ({share}) is unique on {keys}{where}")
        if self.by_set:
            words = noop(
                "{uniques:,} of {records:,} records ({share}) are unique on their reported columns "
                "of {keys}{where}"
            )
        first = among.join(
            (
                gettext(
                    words, uniques=self.uniques, records=self.records, share=numeral(share),
                    keys=", ".join(self.keys), where=where,
                ),
                "",
            )
        )  # fmt: skip
        if self.asked > 2:  # fewer than two is unique
            asked = numeral(text_up(self.asked, 6))
            have = records_that(self.violations, "has", "have")
            first += gettext(
                "; {have} fk < {asked} (fewer than {asked} equal records, itself included)",
                have=have,
                asked=asked,
            )
        lines = [f"{first}."]
        if self.population is not None:
            lines.append(
                gettext(
                    "By the sampling weights, about {expected} records "
                    "could be re-identified in the population; the largest risk of a record is "
                    "{highest}.",
                    expected=numeral(text_up(self.population.expected)),
                    highest=numeral(percent_up(self.population.highest)),
                )
            )
        if self.individual is not None:
            lines += self.individual.sentences()
        if self.households is not None:
            lines.append(self.households.sentence())
        lines += [entry.sentence(by_set=self.by_set) for entry in self.diversity]
        worst = next((s for s in self.subsets if len(s.keys) < len(self.keys)), None)
        if worst is not None and worst.violations:
            few = ""
            if self.asked > 2:
                few = gettext(
                    "{number:,} with fk < {k} and ",
                    number=worst.violations,
                    k=numeral(text_up(self.asked, 6)),
                )
            among = ", among the records with all of them" if self.by_set else ""
            lines.append(
                gettext(
                    "The riskiest subset of the keys is {keys}: {few}{uniques:,} unique{among}.",
                    keys=", ".join(worst.keys),
                    few=few,
                    uniques=worst.uniques,
                    among=among,
                )
            )
        return [*lines, *self.notes]


def audit_table(
    table: OpenedTable,
    *,
    keys: Sequence[str],
    k: float = 2,
    sensitive: Sequence[str] = (),
    weight: str | None = None,
    missing: MissingPolicy = "category",
    width: int = 3,
    schema: Schema | None = None,
    released: bool = False,
    household: str | None = None,
    asked: ReportedSets | None = None,
    individual: bool = False,
) -> TableAudit:
    """Measure the risk of a table; of a table that is no release also that of every record."""
    require_number("k", k, low=1)
    require_number("width", width, low=0)
    others = [name for name in (weight, household) if name is not None]
    require_present(table, [*keys, *sensitive, *others])
    if asked is not None and REPORTED in (*keys, *sensitive, *others):
        raise NotCovered(
            "'{reported}' is the attribute set of a record, which was drawn at random: it is no "
            "attribute of a person. Leave it out.",
            reported=REPORTED,
        )
    notes = (IN_PART,) if asked is not None and others else ()
    if notes:
        weight = household = None
    numbers, weights = None, None
    if not (engine_for(table).on_one_machine or asked or sensitive or household):
        table, numbers, weights = distinct_records(table, keys, weight)
    elif weight is not None:
        weights = number_column(table, weight, what="The weight")
    coded = CodedTable.of(table, keys, schema=schema, released=released, asked=asked)
    whole = coded if asked is None else coded.by_set(asked)
    groups = EquivalenceClasses.of(whole.codes, whole.sizes)
    if numbers is not None:
        groups = replace(groups, numbers=groups.total(numbers).astype(np.int64))
    counted = Frequencies.of(whole, weights=weights, missing=missing, grouping=groups)
    households = None
    if household is not None:
        risk = 1 / counted.sample
        if counted.population is not None:
            risk = individual_risk(counted.sample, counted.population)
        homes = households_of(table, household)
        households = HouseholdRisk.of(household, homes, risk[groups.of_record])
    diversity = []
    for name in sensitive:
        described = schema.column(name) if schema is not None and name in schema.names else None
        none = () if described is None else described.codes_for_missing
        codes, size, ordered, gap = sensitive_codes(table, name, missing_values=none)
        inside = groups
        if asked is not None:  # among the records that were asked for the column
            rows = asked.reporting([name])
            if not rows.any():
                continue
            codes = codes[rows]
            inside = EquivalenceClasses.of([groups.of_record[rows]], [len(groups.numbers)])
        diversity.append(diversity_of(name, inside, codes, size, ordered=ordered, missing=gap))
    bins = () if schema is None else schema.columns
    return TableAudit(
        records=int(groups.numbers.sum()),
        keys=tuple(keys),
        missing=missing,
        asked=k,
        k=counted.smallest,
        uniques=counted.below(2),
        violations=counted.below(k),
        combinations=len(groups.numbers),
        histogram=counted.histogram(),
        population=PopulationRisk.of(counted),
        diversity=tuple(diversity),
        subsets=subset_risks(
            coded, groups, k=k, width=width, weights=weights, missing=missing, asked=asked
        ),
        households=households,
        binned=tuple(c.name for c in bins if c.name in keys and isinstance(c.domain, Bins)),
        by_set=asked is not None,
        notes=notes,
        individual=IndividualRisks.of(coded, counted) if individual else None,
    )


@dataclass(frozen=True)
class Diversity:
    """The diversity of one sensitive column inside groups of equal keys.

    ``exposed`` are the records in groups with one value only, or none.
    """

    column: str
    distinct: int
    entropy: float
    t: float
    ordered: bool
    exposed: int

    def sentence(self, *, by_set: bool = False) -> str:
        """The fewest values in a group, and the records in groups with one value or none."""
        group = gettext("group of records with the same keys")
        if by_set:
            group = gettext("group of records with the same attribute set and values")
        if self.distinct > 1:
            return gettext(
                "Each {group} has at least {distinct} values of '{column}'.",
                group=group,
                distinct=self.distinct,
                column=self.column,
            )
        fewest = gettext("a single value") if self.distinct else gettext("no value")
        exposed = records_that(self.exposed, "is", "are")
        return gettext(
            "At least one {group} has {fewest} of '{column}'. {exposed} in groups with at "
            "most one value.",
            group=group,
            fewest=fewest,
            column=self.column,
            exposed=exposed,
        )

    def to_json(self) -> Form:
        """Values for JSON."""
        return {
            "column": self.column,
            "distinct_l": self.distinct,
            "entropy_l": self.entropy,
            "t": self.t,
            "distance": "ordered" if self.ordered else "equal",
            "records_in_groups_of_one_value": self.exposed,
        }


def sensitive_codes(
    table: OpenedTable, name: str, *, missing_values: Sequence[Label] = ()
) -> tuple[IntArray, int, bool, int]:
    """Codes of a column, their number, whether they are ordered, the code of missing ones or -1."""
    column = present(table.to_arrow([name]).column(0), missing_values)
    codes, size, missing = code_column(column)
    values = value_type(column.type)
    if not (pa.types.is_integer(values) or pa.types.is_floating(values)):
        return codes.astype(np.int64), size, False, missing
    first = np.full(size, -1, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    floats = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    order = np.argsort(np.where(np.arange(size) == missing, np.inf, floats[first]), kind="stable")
    rank = np.empty(size, np.int64)
    rank[order] = np.arange(size)
    return rank[codes], size, True, int(rank[missing]) if missing >= 0 else -1


def diversity_of(
    name: str,
    groups: EquivalenceClasses,
    codes: IntArray,
    size: int,
    *,
    ordered: bool,
    missing: int = -1,
) -> Diversity:
    """L and t of one sensitive column, over all groups at once; a missing value is none for l."""
    pairs = EquivalenceClasses.of([groups.of_record, codes], [len(groups.numbers), size])
    group, value = groups.of_record[pairs.first], codes[pairs.first]
    share = pairs.numbers / groups.numbers[group]
    kinds = np.bincount(group[value != missing], minlength=len(groups.numbers))
    entropy = np.bincount(group, weights=-share * np.log(share), minlength=len(groups.numbers))
    overall = np.bincount(codes, minlength=size) / len(codes)
    far = distance_of_groups(group, value, share, overall, ordered=ordered)
    return Diversity(
        column=name,
        distinct=int(kinds.min()),
        entropy=float(np.exp(max(entropy.min(), 0.0))),
        t=float(far.max(initial=0.0)),
        ordered=ordered,
        exposed=int(groups.numbers[kinds <= 1].sum()),
    )
