"""Sample frequencies fk: how many records look like a record, under a named policy for missing.

    category   missing is one more value: it equals itself and nothing else
    wildcard   missing could be anything: it equals every value

Under ``wildcard`` records are alike if their values agree wherever neither is missing. That is no
longer a division into groups, so frequencies are counted for each pair of patterns of missing
columns: with few patterns this takes little more than one grouping each.

Individual risk: the chance that a record is its person's, given the population behind a sample.

A record that looks like fk - 1 others is in a population where Fk people look so. Fk is not
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

Who is unique, counted anew at every change of a recoding: keys are coded once, then counted.

Every column is kept as codes of its distinct values. A recoding is done to the distinct values
alone, so that what it brings is known in the time that one sort of the records takes.

Which few keys together already single people out: every subset up to a width, worst first.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from pramana.base.processes import default_threads, in_order
from pramana.base.rounding import require_choice
from pramana.base.text import percent_up, plain, text_up
from pramana.errors import InvalidNumber, OutsideDomain
from pramana.risk.coded_table import CodedTable, EquivalenceClasses, ReportedSets
from pramana.schema.opened_table import OpenedTable
from pramana.schema.origins import Provenance
from pramana.schema.recoded_table import recoded
from pramana.schema.schema import Column, Schema
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
    """P times the integral of s**(fk - 1) / (p + (1 - p) s) over [0, 1], by two roads.

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
        """Values for JSON."""
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
        """Values for JSON."""
        return plain(self, "column households largest") | {
            "expected_households": self.expected,
            "expected_people": self.people,
            "highest_risk": self.highest,
        }


MOST_CACHED = 200


@dataclass(frozen=True)
class Uniqueness:
    """How many people stand out by their keys.

    Attributes:
        records: How many there are.
        unique: Those whom no other record equals.
        few: Those with fewer than five alike, themselves included.
        combinations: How many different combinations of keys occur.
        keys: By which columns.
    """

    records: int
    unique: int
    few: int
    combinations: int
    keys: tuple[str, ...]


FEW = 5


class UniquenessCounter:
    """The keys of a table, coded once; asked with one schema after the other."""

    def __init__(self, table: OpenedTable) -> None:
        self._table = table if table.raw is None else table.raw
        self._raw: dict[str, tuple[Codes, pa.Array]] = {}
        self._seen: dict[Column, tuple[NDArray[np.int32], int]] = {}
        self._counted: dict[tuple[Column, ...], Uniqueness] = {}

    def of(self, schema: Schema, *, among: Sequence[str] | None = None) -> Uniqueness:
        """Who is unique by the keys of a schema as it recodes them, or by some of them."""
        keys = tuple(
            _bare(column)
            for column in schema.keys
            if column.name in self._table.schema.names and (among is None or column.name in among)
        )
        if keys not in self._counted:
            self._counted[keys] = self._count(keys)
        return self._counted[keys]

    def _count(self, keys: Sequence[Column]) -> Uniqueness:
        names, records = tuple(key.name for key in keys), self._table.rows
        if not keys:
            return Uniqueness(records, 0, 0, 1, names)
        codes, sizes = [], []
        for key in keys:
            new, size = self._distinct(key)
            codes.append(new[self._column(key.name)[0]])
            sizes.append(size)
        numbers = EquivalenceClasses.of(codes, sizes).numbers
        few = int(numbers[numbers < FEW].sum())
        return Uniqueness(records, int((numbers == 1).sum()), few, len(numbers), names)

    def _column(self, name: str) -> tuple[Codes, pa.Array]:
        """The distinct values of a column, the missing one last, and which each record has."""
        if name not in self._raw:
            column = self._table.to_arrow([name]).column(0)
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            coded = column.combine_chunks().dictionary_encode()
            coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
            size = len(coded.dictionary)
            indices = np.asarray(coded.indices.fill_null(size))
            kind = np.min_scalar_type(max(size, 1))
            values = pa.concat_arrays([coded.dictionary, pa.nulls(1, coded.dictionary.type)])
            self._raw[name] = indices.astype(kind), values
        return self._raw[name]

    def _distinct(self, key: Column) -> tuple[NDArray[np.int32], int]:
        """What becomes of each distinct value."""
        found = self._seen.get(key)  # held, for another thread may clear what is kept
        if found is None:
            if len(self._seen) > MOST_CACHED:
                self._seen.clear()
            values = self._column(key.name)[1]
            one = Schema((key,))
            table = recoded(OpenedTable.of_arrow(pa.table({key.name: values})), one)
            try:
                coded = CodedTable.of(table, [key.name], schema=one)
            except OutsideDomain:
                raise OutsideDomain(
                    f"Some records of '{key.name}' lie outside of its bins. Move the outer edges, "
                    "or take their values as missing.",
                    column=key.name,
                ) from None
            found = self._seen[key] = coded.codes[0], coded.sizes[0]
        return found


def _bare(column: Column) -> Column:
    """What counts for telling people apart; missing is a value like others."""
    about: Form = {"missing": "category", "exempt": (), "origin": Provenance.DECLARED}
    return replace(column, **about)


@dataclass(frozen=True)
class SubsetRisk:
    """The risk by some of the keys alone."""

    keys: tuple[str, ...]
    uniques: int
    violations: int
    smallest: int
    expected: float | None
    """Expected re-identifications, where there are weights."""

    def to_json(self) -> Form:
        """Values for JSON."""
        return plain(self, "keys uniques violations smallest") | {
            "expected_reidentifications": self.expected
        }


def subset_risks(
    table: CodedTable,
    groups: EquivalenceClasses,
    *,
    k: float,
    width: int,
    weights: FloatArray | None = None,
    missing: MissingPolicy = "category",
    asked: ReportedSets | None = None,
) -> tuple[SubsetRisk, ...]:
    """The risk of every subset of at most ``width`` keys.

    Records that share all keys share every subset, so that only groups are counted again. Of
    reports those count that were asked for the whole subset; one that none tells is left out.
    """
    cells = table.at(groups.first)
    people = None if weights is None else groups.total(weights)
    sets = None if asked is None else asked.at(groups.first)
    widths = range(1, min(width, len(table.names)) + 1)
    subsets = (own for size in widths for own in itertools.combinations(table.names, size))

    def risk(names: tuple[str, ...]) -> SubsetRisk | None:
        part = cells.subset([table.names.index(name) for name in names])
        rows: slice | IntArray = slice(None)
        if sets is not None:
            rows = np.flatnonzero(sets.told(names))
            part = part.at(rows)
        if not part.records:
            return None
        merged = EquivalenceClasses.of(part.codes, part.sizes)
        numbers = merged.total(groups.numbers[rows]).round().astype(np.int64)
        whole = EquivalenceClasses(merged.of_record, numbers)
        own = None if people is None else people[rows]
        return _risk(part, whole, own, k=k, missing=missing)

    found = in_order(risk, subsets, threads=default_threads())
    return tuple(sorted((own for own in found if own is not None), key=_worst_first))


def _risk(
    part: CodedTable,
    whole: EquivalenceClasses,
    people: FloatArray | None,
    *,
    k: float,
    missing: MissingPolicy,
) -> SubsetRisk:
    counted = Frequencies.of(part, weights=people, missing=missing, grouping=whole)
    risk = PopulationRisk.of(counted)
    return SubsetRisk(
        keys=part.names,
        uniques=counted.below(2),
        violations=counted.below(k),
        smallest=counted.smallest,
        expected=None if risk is None else risk.expected,
    )


def _worst_first(risk: SubsetRisk) -> tuple[int, int, int, int, tuple[str, ...]]:
    return -risk.violations, -risk.uniques, risk.smallest, len(risk.keys), risk.keys
