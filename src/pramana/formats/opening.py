"""Opening whatever holds a table: a file of any of the known formats, or a data frame.

What cannot be read is refused in one line. The libraries' own messages may show rows of the
file, so none of them is passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from pramana.errors import InvalidSchema, InvalidTable, UnknownColumn
from pramana.formats.csv import open_csv
from pramana.formats.frames import open_frame, to_kind
from pramana.formats.labelled import open_labelled
from pramana.formats.parquet import open_parts
from pramana.formats.writing import write_table
from pramana.table.domains import Categories
from pramana.table.opened import (
    BATCH,
    Labels,
    OpenedTable,
    TableFormat,
    require_distinct_names,
)
from pramana.table.schema import Schema

__all__ = [
    "BATCH",
    "Labels",
    "OpenedTable",
    "TableFormat",
    "checked",
    "format_of",
    "open_table",
    "require_columns",
    "require_types",
    "to_kind",
    "write_table",
]

ENDINGS: dict[str, TableFormat] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "feather",
    ".feather": "feather",
    ".ipc": "feather",
    ".sav": "sav",
    ".zsav": "sav",
    ".dta": "dta",
    ".sas7bdat": "sas7bdat",
}
COMPRESSED = {".gz", ".bz2", ".zst"}
NAMES: dict[str, str] = {
    "csv": "text",
    "parquet": "Parquet",
    "feather": "Arrow",
    "sav": "SPSS",
    "dta": "Stata",
    "sas7bdat": "SAS",
    "gzip": "gzip-compressed",
    "zip": "zip-compressed",
}
BEGINNINGS: dict[bytes, str] = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"FEA1": "feather",
    b"$FL2": "sav",
    b"$FL3": "sav",
    b"<stata_dta>": "dta",
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
}
BROKEN = (pa.ArrowException, OSError, EOFError, ValueError)


def open_table(source: Any, *, schema: Schema | None = None) -> OpenedTable:
    """Open a file or a data frame; nothing but what is needed to know its types is read.

    Args:
        source: A path, a pandas, Polars or PyArrow object, or a table that is open already.
        schema: If given, the table must have exactly its columns, columns with categories that
            are texts stay text, and randomised text columns of a Parquet file come as dictionaries.
    """
    if isinstance(source, OpenedTable):
        opened = source
    elif isinstance(source, str | PathLike):
        opened = _open_file(Path(source), schema)
    else:
        opened = open_frame(source)
    return checked(opened, schema=schema)


def checked(opened: OpenedTable, *, schema: Schema | None = None) -> OpenedTable:
    """The table, if it has records, types that can be released, and the columns of a schema."""
    if not opened.rows:
        raise InvalidTable("The table has no records.")
    require_types(opened.schema)
    if schema is not None:
        require_columns(schema, opened.schema.names)
    return opened


def require_types(schema: pa.Schema) -> None:
    """Refuse columns whose values are no values of a table."""
    for item in schema:
        if pa.types.is_nested(item.type):
            raise InvalidTable(f"Column '{item.name}' holds lists or records. Flatten it.")
        if pa.types.is_duration(item.type) or pa.types.is_interval(item.type):
            raise InvalidTable(f"Column '{item.name}' holds spans of time. Make them numbers.")


def require_columns(schema: Schema, names: Sequence[str]) -> None:
    """Refuse a table that lacks columns of the schema or has others."""
    lacking = [name for name in schema.names if name not in set(names)]
    if lacking:
        raise UnknownColumn(
            f"The table lacks {len(lacking)} of the schema's columns: {', '.join(lacking[:5])}. "
            "Correct the names or take them out of the schema."
        )
    extra = [name for name in names if name not in set(schema.names)]
    if extra:
        raise InvalidSchema(
            f"The schema does not describe {len(extra)} of the table's columns: "
            f"{', '.join(extra[:5])}. Give each a role, or leave it out of the table."
        )


def format_of(path: str | Path) -> TableFormat:
    """The format that the ending of a path stands for.

    >>> format_of("people.csv.gz"), format_of("people.pq")
    ('csv', 'parquet')
    """
    endings = [ending.lower() for ending in Path(path).suffixes]
    if endings and endings[-1] in COMPRESSED:
        endings.pop()
    if not endings or endings[-1] not in ENDINGS:
        raise InvalidTable(
            f"The ending of {path} does not tell its format. Known: {', '.join(ENDINGS)}."
        )
    return ENDINGS[endings[-1]]


def _open_file(path: Path, schema: Schema | None) -> OpenedTable:
    if not path.exists():
        raise InvalidTable(f"{path} does not exist.")
    if path.is_dir():
        return open_parts(path, coded=_randomised(schema))
    file_format = format_of(path)
    _require_content(path, file_format)
    if file_format == "csv":
        return open_csv(path, text=_text_columns(schema))
    if file_format == "parquet":
        return _open_parquet(path, schema)
    if file_format == "feather":
        return _open_arrow(path)
    return open_labelled(path, file_format)


def _require_content(path: Path, file_format: TableFormat) -> None:
    """Refuse a file whose first bytes are those of another format."""
    try:
        with path.open("rb") as file:
            beginning = file.read(12)
    except OSError:
        raise InvalidTable(f"{path} cannot be read. Check the permissions.") from None
    if not beginning:
        raise InvalidTable(f"{path} is empty.")
    found = next((kind for mark, kind in BEGINNINGS.items() if beginning.startswith(mark)), None)
    compressed = path.suffix.lower() in COMPRESSED and found in ("gzip", None)
    if found not in (None, file_format) and not compressed:
        raise InvalidTable(f"{path} holds {NAMES[str(found)]} data, whatever its ending says. "
                           "Rename it.")  # fmt: skip
    if found is None and file_format in ("parquet", "feather", "sav"):
        stream = file_format == "feather" and beginning.startswith(b"\xff\xff\xff\xff")
        if not stream:
            raise InvalidTable(
                f"{path} is not {NAMES[file_format]} data, whatever its ending says."
            )


def _text_columns(schema: Schema | None) -> set[str]:
    return {
        column.name
        for column in (schema.columns if schema is not None else ())
        if isinstance(column.domain, Categories)
        and any(isinstance(value, str) for value in column.domain.values)
    }


def _randomised(schema: Schema | None) -> list[str]:
    return [] if schema is None else [column.name for column in schema.randomised]


def _broken(path: Path) -> InvalidTable:
    return InvalidTable(f"{path} cannot be read to its end: it is broken or cut short.")


def _guarded(
    path: Path, batches: Callable[[Sequence[str], int], Iterator[pa.RecordBatch]]
) -> Callable[[Sequence[str], int], Iterator[pa.RecordBatch]]:
    """The same batches, with the library's errors replaced by ours."""

    def opener(columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches(columns, size)
        except BROKEN:
            raise _broken(path) from None

    return opener


def _open_parquet(path: Path, schema: Schema | None) -> OpenedTable:
    from pyarrow import parquet

    wanted = _randomised(schema)
    try:
        names = parquet.read_schema(path).names
        coded = [name for name in names if name in wanted]  # PyArrow stumbles over others
        with parquet.ParquetFile(path, read_dictionary=coded) as file:
            arrow, rows = file.schema_arrow, file.metadata.num_rows
    except BROKEN:
        raise _broken(path) from None
    require_distinct_names(arrow.names, where=str(path))

    def batches(columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        with parquet.ParquetFile(path, read_dictionary=coded) as file:
            for batch in file.iter_batches(batch_size=size, columns=list(columns)):
                yield batch.select(list(columns))

    return OpenedTable(arrow, rows, "parquet", path, _guarded(path, batches))


def _open_arrow(path: Path) -> OpenedTable:
    """Arrow files of every kind; uncompressed ones are mapped into memory, not read into it."""
    try:
        table = _arrow_table(path)
    except BROKEN:
        raise _broken(path) from None
    require_distinct_names(table.column_names, where=str(path))

    def batches(columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        yield from table.select(list(columns)).to_batches(max_chunksize=size)

    return OpenedTable(table.schema, table.num_rows, "feather", path, _guarded(path, batches))


def _arrow_table(path: Path) -> pa.Table:
    with path.open("rb") as file:
        beginning = file.read(6)
    if beginning.startswith(b"FEA1"):
        from pyarrow import feather

        return feather.read_table(str(path), memory_map=True)
    source = pa.memory_map(str(path))
    if beginning.startswith(b"ARROW1"):
        return pa.ipc.open_file(source).read_all()
    return pa.ipc.open_stream(source).read_all()
