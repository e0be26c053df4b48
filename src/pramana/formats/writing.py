"""Writing tables to files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import pyarrow as pa

from pramana.errors import InvalidTable
from pramana.formats.labelled import write_labelled
from pramana.table.opened import BATCH, Labels, TableFormat

__all__ = ["write_table"]


def write_table(
    data: pa.Table | Iterable[pa.RecordBatch],
    path: str | Path,
    *,
    file_format: TableFormat,
    labels: Labels | None = None,
    delimiter: str = ",",
) -> int:
    """Write a table, or batches of one, and give the number of records.

    Text goes to csv in quotes and missing values go without, so that an empty text and a
    missing one stay apart.
    """
    path = Path(path)
    if file_format in ("sav", "dta", "sas7bdat"):
        table = _plain(_collected(data))
        write_labelled(table, path, file_format, labels or Labels())
        return int(table.num_rows)
    if file_format == "feather":
        from pyarrow import feather

        table = _collected(data).unify_dictionaries()  # the format keeps one dictionary a column
        feather.write_feather(table, str(path), compression="zstd")
        return int(table.num_rows)
    if file_format not in ("csv", "parquet"):
        raise InvalidTable(f"Tables can be written as csv, parquet, feather, sav or dta, "
                           f"not as {file_format}.")  # fmt: skip
    schema, batches = _flowing(data)
    if file_format == "csv":
        return _write_csv(schema, batches, path, delimiter)
    return _write_parquet(schema, batches, path)


def _flowing(
    data: pa.Table | Iterable[pa.RecordBatch],
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    if isinstance(data, pa.Table):
        return data.schema, iter(data.to_batches(max_chunksize=BATCH))
    if isinstance(data, pa.RecordBatchReader):
        return data.schema, iter(data)
    batches = iter(data)
    first = next(batches, None)
    if first is None:
        raise InvalidTable("There are no records to write.")
    return first.schema, chain([first], batches)


def _collected(data: pa.Table | Iterable[pa.RecordBatch]) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    schema, batches = _flowing(data)
    return pa.Table.from_batches(batches, schema)


def _plain(table: pa.Table) -> pa.Table:
    """Dictionary columns and large text as plain text."""
    fields = []
    for item in table.schema:
        kind = item.type.value_type if pa.types.is_dictionary(item.type) else item.type
        text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        fields.append(pa.field(item.name, pa.string() if text else kind))
    return table.cast(pa.schema(fields))


def _write_csv(
    schema: pa.Schema, batches: Iterator[pa.RecordBatch], path: Path, delimiter: str
) -> int:
    from pyarrow import csv

    rows = 0
    options = csv.WriteOptions(delimiter=delimiter)
    with csv.CSVWriter(str(path), schema, write_options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _write_parquet(schema: pa.Schema, batches: Iterator[pa.RecordBatch], path: Path) -> int:
    from pyarrow import parquet

    rows = 0
    with parquet.ParquetWriter(str(path), schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows
