"""Preview of a file for its owner: format, separator, encoding, sheets, first records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from pramana.base.text import counted
from pramana.io.base import FORMATS, PartOf, format_of
from pramana.schema.domains import label_text
from pramana.schema.opened_table import OpenedTable, is_number

__all__ = ["Preview", "parts_of", "preview_of"]


@dataclass(frozen=True)
class Preview:
    """Format and first records of a table, for its owner.

    Attributes:
        title: The format in words.
        records: How many there are.
        found: What was found out about the file, in words.
        parts: The sheets, data frames or tables that its file has, where it may have several.
        part: The one that was read.
        columns: The names of the columns.
        numbers: Whether a column holds numbers.
        labels: What the file calls each column, if anything.
        rows: The first records, as texts; ``None`` where a value is missing.
    """

    title: str
    records: int
    found: tuple[tuple[str, str], ...]
    parts: tuple[str, ...]
    part: str
    columns: tuple[str, ...]
    numbers: tuple[bool, ...]
    labels: tuple[str | None, ...]
    rows: tuple[tuple[str | None, ...], ...]


def preview_of(opened: OpenedTable, *, rows: int, encoding: str | None = None) -> Preview:
    """What an opened table looks like; nothing is read beyond its first records."""
    path = Path(str(opened.source)) if opened.files or isinstance(opened.source, Path) else None
    member = FORMATS.get(opened.format)
    parts = () if path is None or member is None else member.parts(path)
    asked = PartOf.of(path).name if path is not None else None
    names = opened.schema.names
    return Preview(
        title=opened.format if member is None else member.title,
        records=opened.rows,
        found=tuple(_found(path, opened, encoding)),
        parts=parts,
        part=asked or (parts[0] if parts else ""),
        columns=tuple(names),
        numbers=tuple(is_number(field.type) for field in opened.schema),
        labels=tuple(opened.labels.variables.get(name) for name in names),
        rows=tuple(islice(_texts(opened, rows), rows)),
    )


def parts_of(path: Path) -> tuple[str, ...]:
    """The tables that a file holds by their names, where its format has names for them."""
    return FORMATS[format_of(PartOf.of(path).file)].parts(path)


def _found(
    path: Path | None, opened: OpenedTable, encoding: str | None
) -> Iterator[tuple[str, str]]:
    member = FORMATS.get(opened.format)
    if member is not None and path is not None:
        yield from member.found(path, encoding)
    if opened.labels.variables:
        yield "Labels", counted(len(opened.labels.variables), "column has one", "columns have one")
    if opened.labels.values:
        yield (
            "Value labels",
            counted(len(opened.labels.values), "column has them", "columns have them"),
        )


def _texts(opened: OpenedTable, rows: int) -> Iterator[tuple[str | None, ...]]:
    for batch in opened.batches(size=rows):
        columns = [_column(batch.column(at), rows) for at in range(batch.num_columns)]
        yield from zip(*columns, strict=True)


def _column(array: pa.Array, rows: int) -> list[str | None]:
    values: list[Any] = array.slice(0, rows).to_pylist()
    return [None if value is None else label_text(value) for value in values]
