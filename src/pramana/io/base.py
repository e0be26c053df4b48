"""The protocol of file formats, their registry, and which table of a file is meant.

A file that holds several tables is followed by the name of a sheet, an object or a table, as in
``people.xlsx#Sheet2`` or ``survey.rda#adults``; for sheets also by the row of the column names, as
in ``people.xlsx#Sheet2!3``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, Protocol, TypeVar

import pyarrow as pa

from pramana.base.registry import Registry
from pramana.base.text import listed
from pramana.errors import InvalidTable
from pramana.schema.codec import points_inside
from pramana.schema.labels import Labels
from pramana.schema.opened_table import OpenedTable, TableFormat

__all__ = [
    "BROKEN",
    "COMPRESSED",
    "FORMATS",
    "Format",
    "PartOf",
    "RecordStream",
    "broken",
    "chosen",
    "format_of",
    "metadata_keys",
    "names_alone",
    "whole",
]

COMPRESSED: Final = (".gz", ".bz2", ".zst")

BROKEN: Final = (pa.ArrowException, OSError, EOFError, ValueError, MemoryError, OverflowError)
"""What libraries raise over a damaged file. Their words may show rows, and are never passed on."""


@dataclass(frozen=True)
class RecordStream:
    """Records on their way to a file.

    Attributes:
        schema: The columns and their types.
        groups: All records in order, in tables of one chunk and of one size but for the last.
        labels: What statistical packages say about columns.
    """

    schema: pa.Schema
    groups: Iterable[pa.Table]
    labels: Labels = field(default_factory=Labels)


class Format(Protocol):
    """A format of files that hold one table; what most formats have in common stands here.

    Attributes:
        name: As options and certificates call it.
        title: As messages call it.
        endings: Of its files; the first is that of files that are written.
        marks: With what its files begin, where they all begin alike.
        writes: Whether it can be written.
        parsed: Whether it takes many times as long to be read as its bytes take.
        labelled: Whether its files say what columns and values are called.
        in_python: How a program reads a file ``{name}`` beside it as a pandas table, if it can.
        in_r: The same in R.
    """

    name: ClassVar[TableFormat]
    title: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]
    marks: ClassVar[tuple[bytes, ...]] = ()
    writes: ClassVar[bool] = False
    parsed: ClassVar[bool] = False
    labelled: ClassVar[bool] = False
    in_python: ClassVar[str] = ""
    in_r: ClassVar[str] = ""

    def open(self, path: Path) -> OpenedTable:
        """Open a file; what cannot be read is refused in one line, without a cell of it."""

    def open_own(self, path: Path) -> OpenedTable:
        """Open a file that this program wrote: with nothing to guess, where there is."""
        return self.open(path)

    def write(self, path: Path, records: RecordStream) -> None:
        """Write all records to a new file."""
        del path, records
        raise InvalidTable(f"{self.title} files can be read but not written. Write csv or parquet.")

    def parts(self, path: Path) -> tuple[str, ...]:
        """The names of the tables that a file holds, where it may hold several."""
        del path
        return ()

    def found(self, path: Path, encoding: str | None) -> Iterator[tuple[str, str]]:
        """What had to be found out about a file, in words."""
        del path, encoding
        yield from ()

    def lost(self, column: pa.ChunkedArray) -> str | None:
        """Which values of a column it could not keep as they are, in words, if any."""
        del column
        return None

    def packing(self, path: Path) -> tuple[Set[str], Set[bytes]]:
        """Return the compression codecs of all columns and the keys of all metadata."""
        del path
        return frozenset(), frozenset()


FORMATS: Final[Registry[Format]] = Registry(
    "pramana.formats",
    {
        "csv": "pramana.io.csv:CSV",
        "parquet": "pramana.io.parquet:PARQUET",
        "feather": "pramana.io.feather:FEATHER",
        "sav": "pramana.io.labelled:SAV",
        "dta": "pramana.io.labelled:DTA",
        "sas7bdat": "pramana.io.labelled:SAS",
        "xport": "pramana.io.labelled:XPORT",
        "xlsx": "pramana.io.spreadsheet:XLSX",
        "ods": "pramana.io.spreadsheet:ODS",
        "r": "pramana.io.rdata:R",
        "duckdb": "pramana.io.databases:DUCKDB_FILE",
    },
)
"""The formats of files, by name."""


def format_of(path: str | Path) -> TableFormat:
    """The format that the ending of a path stands for.

    >>> format_of("people.csv.gz"), format_of("people.pq")
    ('csv', 'parquet')
    """
    endings = [ending.lower() for ending in Path(path).suffixes]
    if endings and endings[-1] in COMPRESSED:
        endings.pop()
    known = {ending: name for name, member in FORMATS.items() for ending in member.endings}
    if not endings or endings[-1] not in known:
        raise InvalidTable(
            f"The ending of {path} does not tell its format. Known: {', '.join(known)}."
        )
    return known[endings[-1]]


Checked = TypeVar("Checked", pa.Table, pa.RecordBatch)


def whole(held: Checked, *, records: int | None = None) -> Checked:
    """The records, once every buffer of theirs holds what its length, offsets and indices say.

    Nothing may look at records that come from a file before this has: the library follows an
    offset or an index wherever it leads.
    """
    held.validate()
    for column in held.columns:
        for array in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            _require_whole(array)
    if records is not None and held.num_rows != records:
        raise ValueError("other records than stated")
    return held


def _require_whole(array: pa.Array) -> None:
    """The library looks at indices one by one; mostly the largest of them tells the same."""
    if pa.types.is_dictionary(array.type) and points_inside(array.indices, len(array.dictionary)):
        array.dictionary.validate(full=True)
    else:
        array.validate(full=True)


def broken(path: Path) -> InvalidTable:
    """What is said of a file that ends too early."""
    return InvalidTable(f"{path} cannot be read to its end: it is broken or cut short.")


def metadata_keys(schema: pa.Schema) -> set[bytes]:
    """Return the keys of the metadata of a schema and of its fields."""
    return {*(schema.metadata or ()), *(key for item in schema for key in item.metadata or ())}


@dataclass(frozen=True)
class PartOf:
    """A file, and what was said about the table in it.

    >>> PartOf.of(Path("people.xlsx#Sheet2!3"))
    PartOf(file=PosixPath('people.xlsx'), name='Sheet2', header=3)
    """

    file: Path
    name: str | None = None
    header: int | None = None

    @classmethod
    def of(cls, path: Path) -> PartOf:
        """What a path says; a file that is there under the whole name is that file."""
        file, mark, part = path.name.partition("#")
        if not mark or path.exists():
            return cls(path)
        name, _, row = part.partition("!")
        if row and not (row.isdigit() and int(row) > 0):
            raise InvalidTable(f"Behind the ! of {path} must stand the row of the column names.")
        return cls(path.with_name(file), name or None, int(row) if row else None)


def names_alone(names: Iterable[str]) -> pa.Table:
    """A table that has nothing but names, as one process tells another."""
    return pa.table({name: pa.array([], pa.null()) for name in names})


def chosen(part: PartOf, names: Sequence[str], *, what: str, first: bool = False) -> str:
    """The name asked for, or the only one; the ``first`` of several where that is usual."""
    if not names:
        raise InvalidTable(f"{part.file} holds no {what}.")
    held = listed(names, most=10)
    if part.name is None:
        if len(names) == 1 or first:
            return names[0]
        raise InvalidTable(
            f"{part.file} holds {len(names)} {what}s: say which, as {part.file.name}#NAME. It has: "
            f"{held}.",
            code="several-tables",
            file=part.file.name,
            count=len(names),
            kind=what,
        )
    if part.name not in names:
        raise InvalidTable(f"{part.file} has no {what} '{part.name}'. It has: {held}.")
    return part.name
