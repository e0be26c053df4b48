"""The protocol of file formats, their registry, and what all formats share.

A path may name one of several tables in a file: ``people.xlsx#Sheet2``, ``survey.rda#adults``; for
sheets also the row of the column names, as in ``people.xlsx#Sheet2!3``. Duplicate column names are
refused, or numbered where the owner asks for that. Values that a format would not return unchanged
are refused before they are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.registry import Registry
from pramana.base.text import listed
from pramana.errors import InvalidTable
from pramana.schema.codec import points_inside
from pramana.schema.domains import Labels
from pramana.schema.lookup import comparable
from pramana.schema.opened_table import OpenedTable, TableFormat

COMPRESSED: Final = (".gz", ".bz2", ".zst")

BROKEN: Final = (pa.ArrowException, OSError, EOFError, ValueError, MemoryError, OverflowError)
"""What libraries raise over a damaged file. Their words may show rows, and are never passed on."""


@dataclass(frozen=True)
class RecordStream:
    """Records for a file, in tables of one chunk and of one size but for the last, with labels."""

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
        media: The media type of its files.
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
    media: ClassVar[str] = "application/octet-stream"
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
        "feather": "pramana.io.parquet:FEATHER",
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
    """The records, once every buffer holds what its length, offsets and indices say.

    Nothing may look at records from a file before: the library follows an offset wherever it leads.
    """
    held.validate()
    for column in held.columns:
        for array in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            # The library checks indices one by one; mostly the largest of them tells the same.
            coded = pa.types.is_dictionary(array.type)
            sound = coded and points_inside(array.indices, len(array.dictionary))
            (array.dictionary if sound else array).validate(full=True)
    if records is not None and held.num_rows != records:
        raise ValueError("other records than stated")
    return held


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


_RENAMING: Final[ContextVar[bool]] = ContextVar("renaming", default=False)

NAMED = 6
"""So many names are listed in a message."""


@contextmanager
def renaming() -> Iterator[None]:
    """What is opened inside has its columns of one name numbered."""
    token = _RENAMING.set(True)
    try:
        yield
    finally:
        _RENAMING.reset(token)


def is_renaming() -> bool:
    """Whether columns of one name are numbered here."""
    return _RENAMING.get()


def numbered_names(names: Sequence[str]) -> tuple[str, ...]:
    """The same names; one that was there before gets a number that no other name has.

    >>> numbered_names(["a", "b", "a", "a_2"])
    ('a', 'b', 'a_3', 'a_2')
    """
    given, taken, numbers = set(names), set[str](), dict[str, int]()
    found: list[str] = []
    for name in names:
        own, number = name, numbers.get(name, 2)
        while own in taken or (own != name and own in given):
            own, number = f"{name}_{number}", number + 1
        numbers[name] = number
        taken.add(own)
        found.append(own)
    return tuple(found)


def distinct_names(names: Sequence[str], *, where: str, rename: bool | None = None) -> list[str]:
    """The names, numbered where that was asked; refused where it was not and two are the same."""
    if not (is_renaming() if rename is None else rename):
        require_distinct_names(names, where=where, offer=True)
        return list(names)
    return list(numbered_names(names))


def require_distinct_names(
    names: Sequence[str], *, where: str, offer: bool = False, way: str = ""
) -> None:
    """Refuse a table in which two columns have one name; ``offer`` or ``way`` say how to go on."""
    times = Counter(names)
    double = [name for name in times if times[name] > 1]
    if double:
        new = zip(numbered_names(names), names, strict=True)
        called = [own for own, name in new if times[name] > 1]
        way = way or (
            f"Rename them, or add --rename: they are then called {listed(called, NAMED)}."
            if offer
            else "Rename them, or write the table to a file and add --rename."
        )
        found = listed([f"'{name}' {times[name]} times" for name in double], NAMED)
        raise InvalidTable(
            f"Column names must differ, and {where} has {found}. {way}", code="duplicate-columns"
        )


def require_kept(table: pa.Table, file_format: TableFormat) -> None:
    """Refuse what a file of text, or of a statistical package, would not hold as it is."""
    lost = FORMATS[file_format].lost
    for name in table.column_names:
        reason = lost(table.column(name))
        if reason is not None:
            raise _refused(name, reason, file_format)


def require_same(written: pa.Table, found: pa.Table, file_format: TableFormat) -> None:
    """Refuse a file from which other values are read than were to be written."""
    for name in written.column_names:
        if not _same(comparable(written.column(name)), comparable(found.column(name))):
            raise _refused(name, "values", file_format)


def _refused(name: str, reason: str, file_format: TableFormat) -> InvalidTable:
    return InvalidTable(
        f"Column '{name}' holds {reason} that {file_format} cannot keep as they are: change the "
        "column, or write parquet or feather.",
        column=name,
    )


def lost_in_text(
    column: pa.ChunkedArray, *, truth: bool = True, limit: float = float("inf")
) -> str | None:
    """What would be lost in a file of text, of truth values, or of numbers from ``limit`` on."""
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        listed = pa.chunked_array([part.dictionary for part in column.chunks], kind.value_type)
        if lost_in_text(listed, truth=truth, limit=limit) is None:  # of all that could be there
            return None
        return lost_in_text(column.cast(kind.value_type), truth=truth, limit=limit)
    if types.is_decimal(kind):
        return "decimal numbers"
    if types.is_boolean(kind) and not truth:
        return "truth values"
    if types.is_binary(kind) or types.is_fixed_size_binary(kind):
        return None if _is_text(column) else "bytes"
    if types.is_string(kind):
        gone = pc.any(pc.match_substring(column, "\x00")).as_py()
        return "texts with a zero byte" if gone else None
    if types.is_floating(kind):
        most = pc.max(pc.abs(column.cast(pa.float64()))).as_py() or 0.0
        return "infinite or very large numbers" if most >= limit else None
    return None


def _is_text(column: pa.ChunkedArray) -> bool:
    try:
        return "\x00" not in "".join(column.unique().cast(pa.string()).drop_null().to_pylist())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False


def _same(written: pa.ChunkedArray, found: pa.ChunkedArray) -> bool:
    if written.null_count != found.null_count or len(written) != len(found):
        return False
    if written.null_count == len(written):
        return True
    for kind in (written.type, pa.string()):
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return bool(found.cast(kind).equals(written.cast(kind)))
    return False
