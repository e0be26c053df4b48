"""Who stands out, counted anew at every change of a recoding: keys are coded once, then counted.

Every column is kept as codes of its distinct values. A recoding is done to the distinct values
alone, so that what it brings is known in the time that one sort of the records takes.

Which few keys together already single people out: every subset up to a width, worst first.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.base.processes import default_threads, in_order
from pramana.errors import OutsideDomain
from pramana.risk.coded_table import CodedTable, EquivalenceClasses, ReportedSets
from pramana.risk.frequencies import Frequencies, MissingPolicy, PopulationRisk
from pramana.schema.opened_table import OpenedTable
from pramana.schema.origins import Provenance
from pramana.schema.recoded_table import recoded
from pramana.schema.schema import Column, Schema
from pramana.types import Codes, FloatArray, Form, IntArray

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
        """Who stands out by the keys of a schema as it recodes them, or by some of them."""
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
        """A plain form."""
        return {
            "keys": list(self.keys),
            "uniques": self.uniques,
            "violations": self.violations,
            "smallest": self.smallest,
            "expected_reidentifications": self.expected,
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
