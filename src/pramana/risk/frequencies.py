"""Sample frequencies fk: how many records look like a record, under a named policy for missing.

    category   missing is one more value: it equals itself and nothing else
    wildcard   missing could be anything: it equals every value

Under ``wildcard`` records are alike if their values agree wherever neither is missing. That is no
longer a division into groups, so frequencies are counted for each pair of patterns of missing
columns: with few patterns this takes little more than one grouping each.

Individual risk: the chance that a record is its person's, given the population behind a sample.

A record that looks like fk - 1 others stands in a population where Fk people look so. Fk is not
known: given fk, and with p = fk / (sum of sampling weights), it is negative binomial, and the risk
is the mean of 1 / Fk [BenedettiFranconi98]. In the form that sdcMicro uses by default:

    fk = 1:   p / (1 - p) ln(1 / p)
    fk = 2:   p / (1 - p) - (p / (1 - p))**2 ln(1 / p)
    fk >= 3:  p / (fk - (1 - p)),  an approximation

The exact mean is p times the integral of s**(fk - 1) / (p + (1 - p) s) over [0, 1]; it equals the
first two.

The risk of a household: it is found if one of its members is.

With r_i the chance that member i is re-identified, that of the household is 1 - prod (1 - r_i), as
if members were looked for one by one; and each of its members is found with it, since a household
tells who its people are. These are sdcMicro's hierarchical risks.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from pramana.base.rounding import require_choice
from pramana.base.text import percent_up, text_up
from pramana.errors import InvalidNumber
from pramana.risk.coded_table import CodedTable, EquivalenceClasses
from pramana.types import Codes, FloatArray, Form, IntArray

MissingPolicy = Literal["category", "wildcard"]
MISSING_POLICIES: tuple[MissingPolicy, ...] = ("category", "wildcard")


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How many records look like those of each group, and how many people they stand for.

    Attributes:
        grouping: records with the same values, missing counted as a value.
        sample: fk of each group.
        population: Fk of each group, the sum of weights; ``None`` without weights.
        people: the sum of all weights.
    """

    grouping: EquivalenceClasses
    sample: IntArray
    population: FloatArray | None = None
    people: float | None = None

    @classmethod
    def of(
        cls,
        table: CodedTable,
        *,
        weights: FloatArray | None = None,
        missing: MissingPolicy = "category",
        grouping: EquivalenceClasses | None = None,
    ) -> Frequencies:
        """Count, in all columns of ``table``."""
        require_choice("missing", missing, MISSING_POLICIES)
        groups = grouping or EquivalenceClasses.of(table.codes, table.sizes)
        people = None if weights is None else groups.total(weights)
        everyone = None if weights is None else float(weights.sum())
        if missing == "category" or max(table.missing) < 0:
            return cls(groups, groups.numbers, people, everyone)
        figures = [groups.numbers.astype(np.float64), *([] if people is None else [people])]
        alike = _alike(table.at(groups.first), figures)
        counts = alike[0].round().astype(np.int64)
        return cls(groups, counts, None if people is None else alike[1], everyone)

    @property
    def smallest(self) -> int:
        """k: the smallest frequency that occurs."""
        return int(self.sample.min())

    def below(self, k: float) -> int:
        """The number of records with fk < k."""
        return int(self.grouping.numbers[self.sample < k].sum())

    def histogram(self, limits: Sequence[int] = (1, 2, 3, 5, 10, 20, 50, 100)) -> dict[str, int]:
        """The number of records by frequency, in a few classes."""
        edges = np.array([*limits, np.inf])
        result = {}
        for low, high in itertools.pairwise(edges):
            inside = (self.sample >= low) & (self.sample < high)
            word = f"{low:g}" if high == low + 1 else f"{low:g} to {high - 1:g}"
            word = f"{low:g} and more" if high == np.inf else word
            result[word] = int(self.grouping.numbers[inside].sum())
        return result


def _alike(cells: CodedTable, figures: Sequence[FloatArray]) -> list[FloatArray]:
    """For each cell the total of each figure over the cells that could be the same."""
    gaps = np.stack(
        [column == gap for column, gap in zip(cells.codes, cells.missing, strict=True)], axis=1
    )
    patterns, pattern_of = np.unique(gaps, axis=0, return_inverse=True)
    members = [np.flatnonzero(pattern_of == number) for number in range(len(patterns))]
    totals = [np.zeros(cells.records) for _ in figures]
    for one, here in zip(patterns, members, strict=True):
        for other, there in zip(patterns, members, strict=True):
            shared = np.flatnonzero(~(one | other))
            found = _matching(cells, shared, here, there)
            for total, figure in zip(totals, figures, strict=True):
                sums = np.bincount(found[len(here) :], weights=figure[there])
                # A group without a member there has no total: np.bincount stops at the last one.
                sums = np.append(sums, np.zeros(max(0, int(found.max()) + 1 - len(sums))))
                total[here] += sums[found[: len(here)]]
    return totals


def _matching(cells: CodedTable, shared: Codes, here: Codes, there: Codes) -> Codes:
    """A group number for each cell here, then there: equal where the shared columns are."""
    both = np.concatenate([here, there])
    if not len(shared):
        return np.zeros(len(both), np.int64)
    part = cells.subset(shared.tolist()).at(both)
    return EquivalenceClasses.of(part.codes, part.sizes).of_record


HIGH = 0.1
"""A record with a larger risk is counted as a high one."""


def individual_risk(frequency: ArrayLike, population: ArrayLike) -> FloatArray:
    """The risk of records with these fk and estimated Fk.

    >>> individual_risk([1, 2, 1], [17, 110, 1]).round(5)
    array([0.17708, 0.01714, 1.     ])
    """
    fk, p = _checked(frequency, population)
    risk = np.asarray(p / (fk - (1 - p)))
    inside = p < 1
    odds = np.divide(p, 1 - p, out=np.zeros_like(p), where=inside)
    logs = -np.log(p)
    once, twice = (fk == 1) & inside, (fk == 2) & inside
    risk[once] = (odds * logs)[once]
    risk[twice] = (odds - odds**2 * logs)[twice]
    # Near p = 1 the two terms for fk = 2 cancel; the mean itself does not.
    close = twice & (p > 0.99)
    if close.any():
        risk[close] = _mean(fk[close], p[close])
    risk[~inside] = 1 / fk[~inside]
    return risk


def exact_individual_risk(frequency: ArrayLike, population: ArrayLike) -> FloatArray:
    """The mean of 1 / Fk under the negative binomial law, without the approximation."""
    fk, p = _checked(frequency, population)
    return np.where(p < 1, _mean(fk, p), 1 / fk)


def _mean(fk: FloatArray, p: FloatArray) -> FloatArray:
    """p times the integral of s**(fk - 1) / (p + (1 - p) s) over [0, 1], by two roads.

    For p >= 1/2 the series sum_j j! / (fk (fk + 1) ... (fk + j)) (1 - p)**j, whose terms at least
    halve; below, the recursion I(f + 1) = (1 / f - p I(f)) / (1 - p) from I(1), which damps errors.
    """
    q = 1 - p
    term = 1 / fk
    series = term.copy()
    for j in range(1, 64):
        term = term * (j / (fk + j)) * q
        series = series + term
    rare = np.minimum(p, 0.5)
    step = -np.log(rare) / (1 - rare)
    for f in range(1, int(fk.max(initial=1.0))):
        step = np.where(fk > f, (1 / f - rare * step) / (1 - rare), step)
    return np.asarray(p * np.where(p >= 0.5, series, step), dtype=np.float64)


def _checked(frequency: ArrayLike, population: ArrayLike) -> tuple[FloatArray, FloatArray]:
    fk, people = np.broadcast_arrays(
        np.asarray(frequency, np.float64), np.asarray(population, np.float64)
    )
    if (fk < 1).any() or not (people >= 0).all():
        raise InvalidNumber("Frequencies must be at least 1 and sums of weights at least 0.")
    return fk, fk / np.maximum(people, fk)  # who is there stands for one person at least


@dataclass(frozen=True)
class PopulationRisk:
    """What a table tells about the people it was drawn from.

    Attributes:
        expected: the expected number of records that are re-identified.
        share: the same as a share of the records.
        highest: the largest individual risk.
        high: how many records have a risk above one in ten.
        population: the number of people that the weights stand for.
    """

    expected: float
    share: float
    highest: float
    high: int
    population: float

    @classmethod
    def of(cls, frequencies: Frequencies) -> PopulationRisk | None:
        """From frequencies in sample and population; ``None`` without weights."""
        if frequencies.population is None:
            return None
        risk = individual_risk(frequencies.sample, frequencies.population)
        numbers = frequencies.grouping.numbers
        expected, records = float((risk * numbers).sum()), int(numbers.sum())
        return cls(
            expected=expected,
            share=expected / records,
            highest=float(risk.max()),
            high=int(numbers[risk > HIGH].sum()),
            population=float(frequencies.people or 0.0),
        )

    def to_json(self) -> Form:
        """A plain form."""
        return {
            "expected_reidentifications": self.expected,
            "global_risk": self.share,
            "highest_risk": self.highest,
            "records_above_one_in_ten": self.high,
            "population": self.population,
        }


@dataclass(frozen=True)
class HouseholdRisk:
    """What a table tells about households.

    Attributes:
        column: what numbers them.
        households: how many there are.
        largest: the most people in one.
        expected: the expected number of households that are found.
        people: the expected number of people who are found by themselves or by another member.
        highest: the largest risk of a household.
    """

    column: str
    households: int
    largest: int
    expected: float
    people: float
    highest: float

    @classmethod
    def of(cls, column: str, homes: IntArray, risk: FloatArray) -> HouseholdRisk:
        """From the household and the risk of each record.

        >>> HouseholdRisk.of("hh", np.array([0, 0, 1]), np.array([0.5, 0.5, 0.1])).highest
        0.75
        """
        _, home = np.unique(homes, return_inverse=True)
        sizes = np.bincount(home)
        certain = np.bincount(home, risk >= 1) > 0
        logs = np.bincount(home, np.log1p(-np.minimum(risk, 1 - 1e-16)))
        own = np.where(certain, 1.0, -np.expm1(logs))
        return cls(
            column,
            len(sizes),
            int(sizes.max()),
            float(own.sum()),
            float((own * sizes).sum()),
            float(own.max()),
        )

    def sentence(self) -> str:
        """The finding in plain words."""
        return (
            f"A household ('{self.column}') is found if one of its people is: about "
            f"{text_up(self.expected)} of {self.households:,} households could be, and with them "
            f"{text_up(self.people)} people; the largest risk of a household is "
            f"{percent_up(self.highest)}."
        )

    def to_json(self) -> Form:
        """A plain form."""
        return {
            "column": self.column,
            "households": self.households,
            "largest": self.largest,
            "expected_households": self.expected,
            "expected_people": self.people,
            "highest_risk": self.highest,
        }
