"""Records as an attacker sees them: one code a step of the mechanism, and the crowd they stand in.

Truth and release are coded by the same labels, so that a probability is one look-up a step. The
crowd of a record is formed by the columns that are released as they are and may be known: who knows
them looks for a person among these records only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.errors import InvalidTable, NotCovered, OutsideDomain
from pramana.matrices.mechanism import Mechanism, Step
from pramana.matrices.reporting import Reporting
from pramana.release.certificate import Certificate
from pramana.release.told import SILENT, stated_sets, told_codes
from pramana.risk.coded_table import AlikeRecords, code_column
from pramana.table.cells import JointCells
from pramana.table.codec import encode, encode_released
from pramana.table.domains import label_key
from pramana.table.opened import OpenedTable
from pramana.table.schema import Schema
from pramana.text import as_it_is, counted, listed, records_that
from pramana.types import Codes, IntArray

__all__ = [
    "Cells",
    "Records",
    "code_sizes",
    "read_pair",
    "read_released",
    "require_belongs",
    "require_matrices",
]


@dataclass(frozen=True, eq=False)
class Records:
    """Records by step and crowd.

    Attributes:
        codes: one array a step.
        crowd: the group that the known columns form.
        strata: for each step which of its matrices a record has; ``None`` where there is one.
    """

    codes: tuple[IntArray, ...]
    crowd: IntArray
    strata: tuple[IntArray | None, ...]

    def __len__(self) -> int:
        return len(self.crowd)

    def at(self, rows: IntArray) -> Records:
        """Some of the records."""
        return Records(
            tuple(codes[rows] for codes in self.codes),
            self.crowd[rows],
            tuple(None if stratum is None else stratum[rows] for stratum in self.strata),
        )

    def with_codes(self, codes: Sequence[IntArray]) -> Records:
        """The same people with other codes: what was released of them."""
        return Records(tuple(codes), self.crowd, self.strata)


@dataclass(frozen=True, eq=False)
class Cells:
    """The different records, how many there are of each, and which is whose."""

    records: Records
    numbers: IntArray
    of_record: IntArray

    @classmethod
    def of(cls, records: Records, sizes: Sequence[int]) -> Cells:
        """Put alike records together."""
        crowds = int(records.crowd.max(initial=0)) + 1
        grouping = AlikeRecords.of([records.crowd, *records.codes], [crowds, *sizes])
        return cls(records.at(grouping.first), grouping.numbers, grouping.of_record)

    @cached_property
    def by_crowd(self) -> list[IntArray]:
        """The cells of each crowd."""
        order = np.argsort(self.records.crowd, kind="stable")
        ends = np.cumsum(np.bincount(self.records.crowd))
        return np.split(order, ends[:-1])


def require_matrices(certificate: Certificate) -> Mechanism:
    """The matrices; refused where they are withheld or the method has none."""
    if certificate.mechanism is None or not certificate.mechanism.columns:
        raise NotCovered(
            f"This attack needs the matrices, and this release by method {certificate.method} "
            "publishes none. With those that the steward keeps: pramana audit RELEASE --original "
            "FILE --mechanism STEWARD_FOLDER."
        )
    return certificate.mechanism


def require_belongs(certificate: Certificate, released: OpenedTable, truth: OpenedTable) -> None:
    """Refuse a truth of other people or other columns, with what differs in counts."""
    wanted = certificate.true_schema.released
    lacking = [c.name for c in wanted if c.name not in truth.schema.names]
    if lacking:
        raise InvalidTable(
            f"The original must have the columns of the release, and lacks {len(lacking)} of "
            f"{len(wanted)}: {listed(lacking)}."
        )
    if truth.rows != released.rows:
        raise InvalidTable(
            f"The original must be the table that was released, and has "
            f"{counted(truth.rows, 'record')} where the release has {released.rows:,}."
        )
    names = [name for name in certificate.known_columns if name in truth.schema.names]
    if not names:
        return
    own, theirs = _crowds(truth, released, names)
    size = int(max(own.max(initial=0), theirs.max(initial=0))) + 1
    differ = int(
        np.abs(np.bincount(own, minlength=size) - np.bincount(theirs, minlength=size)).sum()
    )
    if differ:
        raise InvalidTable(
            f"The original must be the table that was released, and {differ // 2:,} of its "
            f"{truth.rows:,} records differ in {', '.join(names)}, which {as_it_is(names)}."
        )


def read_pair(
    schema: Schema,
    mechanism: Mechanism,
    *,
    truth: OpenedTable,
    released: OpenedTable,
    known: Sequence[str] = (),
) -> tuple[Records, Records]:
    """Truth and release in the same codes; their records are in no common order."""
    if known:
        crowds = _crowds(truth, released, known)
    else:
        crowds = np.zeros(truth.rows, np.int64), np.zeros(released.rows, np.int64)
    return (
        _records(schema, mechanism, truth, encode, crowds[0]),
        _records(schema, mechanism, released, encode_released, crowds[1]),
    )


def read_released(schema: Schema, mechanism: Mechanism, released: OpenedTable) -> Records:
    """The release alone, as one crowd: what an attacker without further knowledge has."""
    crowd = np.zeros(released.rows, np.int64)
    return _records(schema, mechanism, released, encode_released, crowd)


def _records(
    schema: Schema, mechanism: Mechanism, table: OpenedTable, encoder: Any, crowd: IntArray
) -> Records:
    if isinstance(mechanism, Reporting):
        return _reports(schema, mechanism, table, crowd, released=encoder is encode_released)
    codes, strata = [], []
    for step in mechanism:
        data = table.to_arrow([*step.columns, *step.strata])
        parts = [encoder(schema.column(name), data.column(name)) for name in step.columns]
        codes.append(step_codes(step, schema, parts))
        strata.append(_strata(step, data) if step.strata else None)
    return Records(tuple(codes), crowd, tuple(strata))


def _reports(
    schema: Schema, mechanism: Reporting, table: OpenedTable, crowd: IntArray, *, released: bool
) -> Records:
    """One code a column by the labels that can be told, one more for silence; then the set."""
    codes = []
    for name in mechanism.columns:
        column = schema.column(name)
        known = {label: at for at, label in enumerate(mechanism.labels_of(name))}
        places = np.array([*(known.get(label, SILENT) for label in column.labels), len(known)])
        if released:
            own = told_codes(mechanism, column, table)
        else:
            own = encode(column, table.to_arrow([name]).column(0)).astype(np.int64)
        codes.append(places[own])  # silence is the last place, counted from the end
        wrong = int(np.count_nonzero(codes[-1] < 0))
        if wrong:
            raise OutsideDomain(
                f"{records_that(wrong, 'holds', 'hold')} a value of '{name}' that the schema calls "
                "impossible.",
                column=name,
            )
    sets = stated_sets(mechanism, table) if released else np.zeros(table.rows, np.int64)
    return Records((*codes, sets), crowd, (None,) * (len(codes) + 1))


def code_sizes(mechanism: Mechanism) -> list[int]:
    """How many codes each part of a record can have."""
    if isinstance(mechanism, Reporting):
        columns = [len(mechanism.labels_of(name)) + 1 for name in mechanism.columns]
        return [*columns, len(mechanism.sets)]
    return [len(step.labels) for step in mechanism]


def step_codes(step: Step, schema: Schema, parts: Sequence[Codes]) -> IntArray:
    """One code a record from the codes of its columns."""
    if len(parts) == 1:
        return parts[0].astype(np.int64)
    labels = tuple(schema.column(name).labels for name in step.columns)
    found = JointCells(labels, tuple(step.labels)).codes(parts)
    wrong = int(np.count_nonzero(found < 0))
    if wrong:
        raise OutsideDomain(
            f"{records_that(wrong, 'holds', 'hold')} a combination of "
            f"{' and '.join(step.columns)} that the schema calls impossible."
        )
    return found


def _strata(step: Step, data: pa.Table) -> IntArray:
    """Which matrix of a step each record has, by the text of its strata."""
    numbers = {tuple(map(label_key, s)): place for place, s in enumerate(step.by_stratum)}
    columns = [data.column(name) for name in step.strata]
    coded = [code_column(column) for column in columns]
    groups = AlikeRecords.of([c for c, _, _ in coded], [size for _, size, _ in coded])
    rows = [[label_key(v.as_py()) for v in column.take(groups.first)] for column in columns]
    found = np.array([numbers.get(texts, -1) for texts in zip(*rows, strict=True)])
    strata: IntArray = found[groups.of_record]
    unknown = int(np.count_nonzero(strata < 0))
    if unknown:
        raise OutsideDomain(
            f"{records_that(unknown, 'lies', 'lie')} in a stratum without a matrix."
        )
    return strata


def _crowds(
    truth: OpenedTable, released: OpenedTable, names: Sequence[str]
) -> tuple[IntArray, IntArray]:
    """Group numbers by the known columns, the same for the same values in both tables."""
    codes, sizes = [], []
    for name in names:
        both = [_plain(table.to_arrow([name]).column(0)) for table in (truth, released)]
        if both[0].type != both[1].type:
            both = [column.cast(pa.string()) for column in both]
        column, size, _ = code_column(
            pa.chunked_array([*both[0].chunks, *both[1].chunks], both[0].type)
        )
        codes.append(column)
        sizes.append(size)
    of_record = AlikeRecords.of(codes, sizes).of_record.astype(np.int64)
    return of_record[: truth.rows], of_record[truth.rows :]


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column
