"""Sample frequencies fk, and the risks that follow from them.

Frequencies. fk is the number of records with the same keys as a record. A missing value is one more
value (``category``), or it could be anything and equals every value (``wildcard``). With wildcards
records are equal if their values agree wherever neither is missing, which is no division into
groups: frequencies are counted for each pair of patterns of missing columns.

Individual risk is the chance that a record is its person's, given the population behind a sample.
Fk people have the same keys there. Fk is not known: given fk, and with p = fk / (sum of sampling
weights), it is negative binomial, and the risk is the mean of 1 / Fk [BenedettiFranconi98]. In the
form that sdcMicro uses by default:

    fk = 1:   p / (1 - p) ln(1 / p)
    fk = 2:   p / (1 - p) - (p / (1 - p))**2 ln(1 / p)
    fk >= 3:  p / (fk - (1 - p)),  an approximation

The exact mean is p times the integral of s**(fk - 1) / (p + (1 - p) s) over [0, 1]; it equals the
first two.

Household risk. With r_i the risk of member i, that of the household is 1 - prod (1 - r_i); each of
its members is found with it. These are sdcMicro's hierarchical risks.

``UniquenessCounter`` counts unique people again and again while a schema changes: each column is
coded once, and a recoding is done to its distinct values alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from pramana.base.processes import default_threads, give_back, in_order
from pramana.base.rounding import require_choice
from pramana.base.text import json_fields, percent_up, text_up
from pramana.base.translation import gettext, noop, numeral
from pramana.errors import InvalidNumber, OutsideDomain
from pramana.risk.coded_table import CodedTable, EquivalenceClasses, ReportedSets
from pramana.schema.opened_table import OpenedTable, without_dictionary
from pramana.schema.origins import Provenance
from pramana.schema.recoded_table import recoded
from pramana.schema.schema import Column, Schema
from pramana.types import Codes, FloatArray, Form, IntArray

MissingPolicy = Literal["category", "wildcard"]
MISSING_POLICIES: tuple[MissingPolicy, ...] = ("category", "wildcard")


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Frequencies of the groups of records with the same keys, in sample and population.

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
        sample, population, people = groups.numbers, None, None
        if weights is not None:
            population, people = groups.total(weights), float(weights.sum())
        if missing == "wildcard" and max(table.missing) >= 0:
            cells = table.at(groups.first)
            sample = _with_wildcards(cells, sample.astype(np.float64)).round().astype(np.int64)
            population = None if population is None else _with_wildcards(cells, population)
        return cls(groups, sample, population, people)

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
            words = "{low:g}" if high == low + 1 else noop("{low:g} to {high:g}")
            words = noop("{low:g} and more") if high == np.inf else words
            result[gettext(words, low=low, high=high - 1)] = int(
                self.grouping.numbers[inside].sum()
            )
        return result


def _with_wildcards(cells: CodedTable, figure: FloatArray) -> FloatArray:
    """For each cell the total of a figure over the cells that could be the same."""
    gaps = np.stack(
        [column == gap for column, gap in zip(cells.codes, cells.missing, strict=True)], axis=1
    )
    patterns, pattern_of = np.unique(gaps, axis=0, return_inverse=True)
    members = [np.flatnonzero(pattern_of == number) for number in range(len(patterns))]
    total = np.zeros(cells.records)
    for pattern, here in zip(patterns, members, strict=True):
        for other, there in zip(patterns, members, strict=True):
            shared = np.flatnonzero(~(pattern | other)).tolist()
            if not shared:
                total[here] += figure[there].sum()
                continue
            part = cells.subset(shared).at(np.concatenate([here, there]))
            groups = EquivalenceClasses.of(part.codes, part.sizes)
            inside = groups.of_record[len(here) :]
            sums = np.bincount(inside, figure[there], minlength=len(groups.numbers))
            total[here] += sums[groups.of_record[: len(here)]]
    return total


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
    """P times the integral of s**(fk - 1) / (p + (1 - p) s) over [0, 1], in one of two ways.

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
    return fk, fk / np.maximum(people, fk)  # a record stands for one person at least


@dataclass(frozen=True)
class PopulationRisk:
    """The risk in the population that a table is a sample of.

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
    """The risk of households.

    Attributes:
        column: the number of the household.
        households: how many there are.
        largest: the most people in one.
        expected: the expected number of households that are found.
        people: the expected number of people in them.
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
        risks = np.where(certain, 1.0, -np.expm1(logs))
        people = float((risks * sizes).sum())
        return cls(column, len(sizes), int(sizes.max()), float(risks.sum()), people,
                   float(risks.max()))  # fmt: skip

    def sentence(self) -> str:
        """The finding in words."""
        return gettext(
            "A household ('{column}') is found if one of its people is: about "
            "{expected} of {households:,} households could be, and with them "
            "{people} people; the largest risk of a household is "
            "{highest}.",
            column=self.column,
            expected=numeral(text_up(self.expected)),
            households=self.households,
            people=numeral(text_up(self.people)),
            highest=numeral(percent_up(self.highest)),
        )

    def to_json(self) -> Form:
        """Values for JSON."""
        return json_fields(self, "column households largest") | {
            "expected_households": self.expected,
            "expected_people": self.people,
            "highest_risk": self.highest,
        }


# -- uniqueness by the keys of a schema ------------------------------------------------------------

FEW = 5
MOST_CACHED = 200


@dataclass(frozen=True)
class Uniqueness:
    """How many people are unique, or nearly so, on their keys.

    Attributes:
        records: the number of records.
        unique: records that no other one equals.
        few: records in groups of fewer than five.
        combinations: the number of different combinations of keys.
        keys: by which columns.
    """

    records: int
    unique: int
    few: int
    combinations: int
    keys: tuple[str, ...]


class UniquenessCounter:
    """The keys of a table, coded once and counted by one schema after the other."""

    def __init__(self, table: OpenedTable) -> None:
        self._table = table if table.raw is None else table.raw
        self._raw: dict[str, tuple[Codes, pa.Array]] = {}
        self._recoded: dict[Column, tuple[NDArray[np.int32], int]] = {}
        self._counted: dict[tuple[Column, ...], Uniqueness] = {}

    def of(self, schema: Schema, *, among: Sequence[str] | None = None) -> Uniqueness:
        """The uniqueness on the keys of a schema as it recodes them, or on some of them."""
        about: Form = {"missing": "category", "exempt": (), "origin": Provenance.DECLARED}
        keys = tuple(
            replace(column, **about)  # what counts for uniqueness
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
        recoded_keys = [self._recoding(key) for key in keys]
        codes = [
            new[self._distinct(name)[0]] for name, (new, _) in zip(names, recoded_keys, strict=True)
        ]
        numbers = EquivalenceClasses.of(codes, [size for _, size in recoded_keys]).numbers
        few = int(numbers[numbers < FEW].sum())
        return Uniqueness(records, int((numbers == 1).sum()), few, len(numbers), names)

    def _distinct(self, name: str) -> tuple[Codes, pa.Array]:
        """The distinct values of a column, the missing one last, and which each record has."""
        if name not in self._raw:
            column = without_dictionary(self._table.to_arrow([name]).column(0))
            coded = column.combine_chunks().dictionary_encode()
            coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
            size = len(coded.dictionary)
            codes = np.asarray(coded.indices.fill_null(size)).astype(np.min_scalar_type(size + 1))
            gap = pa.nulls(1, coded.dictionary.type)
            self._raw[name] = codes, pa.concat_arrays([coded.dictionary, gap])
        return self._raw[name]

    def _recoding(self, key: Column) -> tuple[NDArray[np.int32], int]:
        """The code of each distinct value after recoding, and the number of codes."""
        entry = self._recoded.get(key)  # held, for another thread may clear the cache
        if entry is None:
            if len(self._recoded) > MOST_CACHED:
                self._recoded.clear()
            alone = Schema((key,))
            table = OpenedTable.of_arrow(pa.table({key.name: self._distinct(key.name)[1]}))
            try:
                coded = CodedTable.of(recoded(table, alone), [key.name], schema=alone)
            except OutsideDomain:
                raise OutsideDomain(
                    "Some records of '{column}' lie outside of its bins. Move the outer edges, or "
                    "take their values as missing.",
                    column=key.name,
                ) from None
            entry = self._recoded[key] = coded.codes[0], coded.sizes[0]
        return entry


# -- few keys --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SubsetRisk:
    """The risk by some of the keys alone.

    ``expected`` is the number of re-identifications, where there are weights.
    """

    keys: tuple[str, ...]
    uniques: int
    violations: int
    smallest: int
    expected: float | None

    def to_json(self) -> Form:
        """Values for JSON."""
        return json_fields(self, "keys uniques violations smallest") | {
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
    """The risk of every subset of at most ``width`` keys, worst first.

    Records that share all keys share every subset, so that only groups are counted again. With
    attribute sets those records count that were asked for the whole subset.
    """
    cells = table.at(groups.first)
    people = None if weights is None else groups.total(weights)
    sets = None if asked is None else asked.at(groups.first)
    widths = range(1, min(width, len(table.names)) + 1)
    subsets = (names for size in widths for names in itertools.combinations(table.names, size))

    def risk(names: tuple[str, ...]) -> SubsetRisk | None:
        part = cells.subset([table.names.index(name) for name in names])
        rows: slice | IntArray = slice(None)
        if sets is not None:
            rows = np.flatnonzero(sets.reporting(names))
            part = part.at(rows)
        if not part.records:
            return None  # nobody was asked for it
        merged = EquivalenceClasses.of(part.codes, part.sizes)
        numbers = merged.total(groups.numbers[rows]).round().astype(np.int64)
        whole = EquivalenceClasses(merged.of_record, numbers)
        counted = Frequencies.of(
            part,
            weights=None if people is None else people[rows],
            missing=missing,
            grouping=whole,
        )
        population = PopulationRisk.of(counted)
        return SubsetRisk(
            keys=names,
            uniques=counted.below(2),
            violations=counted.below(k),
            smallest=counted.smallest,
            expected=None if population is None else population.expected,
        )

    def worst_first(risk: SubsetRisk) -> tuple[int, int, int, int, tuple[str, ...]]:
        return -risk.violations, -risk.uniques, risk.smallest, len(risk.keys), risk.keys

    risks = in_order(risk, subsets, threads=default_threads())
    known_risks = [known for known in risks if known is not None]
    give_back()  # of threads that have ended
    return tuple(sorted(known_risks, key=worst_first))
