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
from pramana.schema.codec import comparable, points_inside
from pramana.schema.domains import Labels
from pramana.schema.opened_table import OpenedTable, TableFormat

COMPRESSED: Final = (".gz", ".bz2", ".zst")

BROKEN: Final = (pa.ArrowException, OSError, EOFError, ValueError, MemoryError, OverflowError)
"""What libraries raise over a damaged file. Their messages may show rows and are not passed on."""


@dataclass(frozen=True)
class RecordStream:
    """Records for a file: tables of one chunk and, except for the last, of one size."""

    schema: pa.Schema
    groups: Iterable[pa.Table]
    labels: Labels = field(default_factory=Labels)


class Format(Protocol):
    """A format of files that hold a table. The methods below suit most formats.

    Attributes:
        name: The name in options and certificates.
        title: The name in messages.
        endings: File endings; the first is that of files that are written.
        marks: The first bytes of its files, if they all begin alike.
        writes: Whether it can be written.
        parsed: Whether reading takes many times as long as its bytes take.
        labelled: Whether its files hold labels of columns and values.
        media: The media type of its files.
        in_python: Python code that reads a file ``{name}`` as a pandas table, if there is any.
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
        """Open a file; a file that cannot be read is refused in one line, without a cell of it."""

    def open_written(self, path: Path) -> OpenedTable:
        """Open a file that this program wrote: nothing about it is guessed."""
        return self.open(path)

    def write(self, path: Path, records: RecordStream) -> None:
        """Write all records to a new file."""
        del path, records
        raise InvalidTable(
            "{title} files can be read but not written. Write csv or parquet.", title=self.title
        )

    def parts(self, path: Path) -> tuple[str, ...]:
        """The names of the tables that a file holds, where it may hold several."""
        del path
        return ()

    def details(self, path: Path, encoding: str | None) -> Iterator[tuple[str, str]]:
        """What was detected about a file, as label and text."""
        del path, encoding
        yield from ()

    def lost(self, column: pa.ChunkedArray) -> str | None:
        """Which values of a column it cannot store unchanged, in words, if any."""
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
    """The format of a path, by its ending.

    >>> format_of("people.csv.gz"), format_of("people.pq")
    ('csv', 'parquet')
    """
    endings = [ending.lower() for ending in Path(path).suffixes]
    if endings and endings[-1] in COMPRESSED:
        endings.pop()
    known = {ending: name for name, member in FORMATS.items() for ending in member.endings}
    if not endings or endings[-1] not in known:
        raise InvalidTable(
            "The file extension of {path} belongs to no known format. Known: {known}.",
            path=path,
            known=", ".join(known),
        )
    return known[endings[-1]]


def format_to_write(path: str | Path) -> TableFormat:
    """The format in which a table is written to a path, by its ending; nothing is compressed."""
    known = {e: name for name, member in FORMATS.items() if member.writes for e in member.endings}
    ending = Path(path).suffix.lower()
    if ending not in known:
        raise InvalidTable(
            "The ending of {path} must be one of a format that is written: {known}.",
            path=path,
            known=", ".join(known),
        )
    return known[ending]


Checked = TypeVar("Checked", pa.Table, pa.RecordBatch)


def validated(records: Checked, *, count: int | None = None) -> Checked:
    """The records, once every buffer was found to hold what its length, offsets and indices say.

    Nothing may look at records from a file before: Arrow follows an offset wherever it leads.
    """
    records.validate()
    for column in records.columns:
        for array in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            # Arrow checks indices one by one; the largest of them suffices.
            coded = pa.types.is_dictionary(array.type)
            sound = coded and points_inside(array.indices, len(array.dictionary))
            (array.dictionary if sound else array).validate(full=True)
    if count is not None and records.num_rows != count:
        raise ValueError("the number of records is not the announced one")
    return records


def broken(path: Path) -> InvalidTable:
    """The error for a file that ends too early."""
    return InvalidTable("{path} cannot be read to its end: it is broken or truncated.", path=path)


# -- one of several tables in a file ------------------------------------------------------------


@dataclass(frozen=True)
class PartOf:
    """A file, and the table in it that a path names.

    >>> PartOf.of(Path("people.xlsx#Sheet2!3"))
    PartOf(file=PosixPath('people.xlsx'), name='Sheet2', header=3)
    """

    file: Path
    name: str | None = None
    header: int | None = None

    @classmethod
    def of(cls, path: Path) -> PartOf:
        """Split a path; if a file of the whole name exists, it is that file."""
        file, mark, part = path.name.partition("#")
        if not mark or path.exists():
            return cls(path)
        name, _, row = part.partition("!")
        if row and not (row.isdigit() and int(row) > 0):
            raise InvalidTable(
                "After the ! of {path}, give the number of the row with the column names.",
                path=path,
            )
        return cls(path.with_name(file), name or None, int(row) if row else None)

    def choose(self, names: Sequence[str], *, what: str, first: bool = False) -> str:
        """The name asked for, or the only one; with ``first`` the first of several."""
        if not names:
            raise InvalidTable("{file} holds no {what}.", file=self.file, what=what)
        available = listed(names, most=10)
        if self.name is None:
            if len(names) == 1 or first:
                return names[0]
            raise InvalidTable(
                "{path} holds {count} {kind}s: name one, as {file}#NAME. It has: {available}.",
                code="several-tables",
                file=self.file.name,
                count=len(names),
                kind=what,
                path=self.file,
                available=available,
            )
        if self.name not in names:
            raise InvalidTable(
                "{file} has no {what} '{name}'. It has: {available}.",
                file=self.file,
                what=what,
                name=self.name,
                available=available,
            )
        return self.name


def names_alone(names: Iterable[str]) -> pa.Table:
    """A table without records, by which the subprocess reader returns names."""
    return pa.table({name: pa.array([], pa.null()) for name in names})


# -- column names -------------------------------------------------------------------------------

_RENAMING: Final[ContextVar[bool]] = ContextVar("renaming", default=False)

NAMES_LISTED = 6


@contextmanager
def renaming() -> Iterator[None]:
    """Number duplicate column names of the files opened in this block."""
    token = _RENAMING.set(True)
    try:
        yield
    finally:
        _RENAMING.reset(token)


def is_renaming() -> bool:
    """Whether duplicate column names are numbered here."""
    return _RENAMING.get()


def numbered_names(names: Sequence[str]) -> tuple[str, ...]:
    """The same names; a duplicate gets a number that makes it unique.

    >>> numbered_names(["a", "b", "a", "a_2"])
    ('a', 'b', 'a_3', 'a_2')
    """
    original, taken, next_number = set(names), set[str](), dict[str, int]()
    unique: list[str] = []
    for name in names:
        candidate, number = name, next_number.get(name, 2)
        while candidate in taken or (candidate != name and candidate in original):
            candidate, number = f"{name}_{number}", number + 1
        next_number[name] = number
        taken.add(candidate)
        unique.append(candidate)
    return tuple(unique)


def distinct_names(names: Sequence[str], *, where: str, rename: bool | None = None) -> list[str]:
    """The names; duplicates are numbered where that was asked for, else refused."""
    if is_renaming() if rename is None else rename:
        return list(numbered_names(names))
    require_distinct_names(names, where=where, offer=True)
    return list(names)


def require_distinct_names(names: Sequence[str], *, where: str, offer: bool = False) -> None:
    """Refuse duplicate column names; ``offer`` says what --rename would call them."""
    times = Counter(names)
    duplicates = [name for name in times if times[name] > 1]
    if not duplicates:
        return
    way = "Rename them, or write the table to a file and add --rename."
    if offer:
        pairs = zip(numbered_names(names), names, strict=True)
        numbered = listed([new for new, name in pairs if times[name] > 1], NAMES_LISTED)
        way = f"Rename them, or add --rename: they are then called {numbered}."
    counts = listed([f"'{name}' {times[name]} times" for name in duplicates], NAMES_LISTED)
    raise InvalidTable(
        "Column names must differ, and {where} has {counts}. {way}",
        code="duplicate-columns",
        where=where,
        counts=counts,
        way=way,
    )


# -- values that a format cannot store ----------------------------------------------------------


def require_storable(table: pa.Table, file_format: TableFormat) -> None:
    """Refuse values that a format would not store unchanged."""
    for name in table.column_names:
        reason = FORMATS[file_format].lost(table.column(name))
        if reason is not None:
            raise _not_storable(name, reason, file_format)


def require_same(written: pa.Table, read: pa.Table, file_format: TableFormat) -> None:
    """Refuse a file from which other values are read than were written."""
    for name in written.column_names:
        before, after = comparable(written.column(name)), comparable(read.column(name))
        same = written.num_rows == read.num_rows and before.null_count == after.null_count
        if not same or not (before.null_count == len(before) or _equal(before, after)):
            raise _not_storable(name, "values", file_format)


def _equal(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    for kind in (before.type, pa.string()):
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return bool(after.cast(kind).equals(before.cast(kind)))
    return False


def _not_storable(name: str, reason: str, file_format: TableFormat) -> InvalidTable:
    return InvalidTable(
        "Column '{column}' holds {reason} that {file_format} cannot store unchanged: change the "
        "column, or write parquet or feather.",
        column=name,
        reason=reason,
        file_format=file_format,
    )


def lost_in_text(
    column: pa.ChunkedArray, *, booleans: bool = True, limit: float = float("inf")
) -> str | None:
    """What a file without truth values, or numbers at or above ``limit``, would lose."""
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        entries = pa.chunked_array([part.dictionary for part in column.chunks], kind.value_type)
        if lost_in_text(entries, booleans=booleans, limit=limit) is None:
            return None
        return lost_in_text(column.cast(kind.value_type), booleans=booleans, limit=limit)
    if types.is_decimal(kind):
        return "decimal numbers"
    if types.is_boolean(kind) and not booleans:
        return "truth values"
    if types.is_binary(kind) or types.is_fixed_size_binary(kind):
        try:
            texts = column.unique().cast(pa.string()).drop_null().to_pylist()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return "bytes"
        return "bytes" if "\x00" in "".join(texts) else None
    if types.is_string(kind):
        has_zero_byte = pc.any(pc.match_substring(column, "\x00")).as_py()
        return "texts with a zero byte" if has_zero_byte else None
    if types.is_floating(kind):
        largest = pc.max(pc.abs(column.cast(pa.float64()))).as_py() or 0.0
        return "infinite or very large numbers" if largest >= limit else None
    return None
