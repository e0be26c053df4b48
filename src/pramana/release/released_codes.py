"""What released records say of a column: a code, or nothing where a report was not asked for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.text import records_that
from pramana.errors import AlteredRelease
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, ShuffledRounds
from pramana.schema.codec import code_dtype, decode, encode_released
from pramana.schema.joint_cells import cell_codes
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import REPORTED, Column, Schema
from pramana.types import IntArray

NOT_REPORTED = -1  # the code of what was not asked
LOOK = "It was altered: pramana verify says what else does not hold."


def released_codes(
    mechanism: Mechanism | None, column: Column, released: OpenedTable | pa.Table
) -> IntArray:
    """The released code of each record, ``NOT_REPORTED`` where it was not asked for the column."""
    if not isinstance(mechanism, AttributeSampler) or column.name not in mechanism.columns:
        return encode_released(column, _columns(released, [column.name])[0]).astype(np.int64)
    values, marks = _columns(released, [column.name, REPORTED])
    sets = pa.array([asked.name for asked in mechanism.containing([column.name])], pa.string())
    reported = pc.is_in(marks.cast(pa.string()), value_set=sets)
    codes = np.full(len(values), NOT_REPORTED, dtype=np.int64)
    codes[np.asarray(reported)] = encode_released(column, values.filter(reported))
    return codes


def reported_sets(mechanism: AttributeSampler, released: OpenedTable | pa.Table) -> IntArray:
    """Which set each record was asked for, by its place among the sets."""
    (marks,) = _columns(released, [REPORTED])
    names = pa.array([asked.name for asked in mechanism.sets], pa.string())
    places = pc.index_in(marks.cast(pa.string()), value_set=names)
    return np.asarray(pc.fill_null(places, NOT_REPORTED)).astype(np.int64)


def stated_sets(mechanism: AttributeSampler, released: OpenedTable | pa.Table) -> IntArray:
    """The same, for who relies on them: a record that names none of the sets is refused."""
    sets = reported_sets(mechanism, released)
    if unknown := int((sets == NOT_REPORTED).sum()):
        raise AlteredRelease(
            f"{records_that(unknown, 'names', 'name')} a set of columns that the certificate does "
            f"not state. {LOOK}"
        )
    return sets


def _columns(table: OpenedTable | pa.Table, names: Sequence[str]) -> list[pa.ChunkedArray]:
    columns = table.select(names) if isinstance(table, pa.Table) else table.to_arrow(list(names))
    return [columns.column(name) for name in names]


MIDDLE = np.uint64(2**63)  # the word by which a bin that is released as a number shows its middle


def table_of_rounds(schema: Schema, mechanism: ShuffledRounds) -> pa.Table:
    """One row a cell: its values, nothing in columns outside its round, and the round."""
    rows = mechanism.rows(0)
    starts = np.cumsum([0, *(asked.matrix.size for asked in mechanism.sets)])
    columns: dict[str, pa.Array] = {}
    for column in schema.released:
        if column.name not in mechanism.columns:
            continue
        codes, reported = np.zeros(rows, dtype=code_dtype(len(column.labels))), np.zeros(rows, bool)
        for asked, begin in zip(mechanism.sets, starts.tolist(), strict=False):
            if column.name in asked.columns:
                place = slice(begin, begin + asked.matrix.size)
                labels = [schema.column(name).labels for name in asked.columns]
                codes[place] = cell_codes(labels, asked.cells)[asked.columns.index(column.name)]
                reported[place] = True
        values = decode(column, codes, np.full(rows, MIDDLE))
        columns[column.name] = values.take(pa.array(np.arange(rows), mask=~reported))
    sets = np.repeat(
        np.arange(len(mechanism.sets), dtype=code_dtype(len(mechanism.sets))), np.diff(starts)
    )
    columns[REPORTED] = pa.DictionaryArray.from_arrays(sets, pa.array(mechanism.marks, pa.string()))
    return pa.table(columns)
