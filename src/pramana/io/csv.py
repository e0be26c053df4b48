"""Text files: read once, held, and given the types that the whole file decides.

A column becomes a number only if all of its values read as numbers and nothing is lost by
it: codes with leading zeros, a plus sign or more than 18 digits keep their column text, and so does
a name that speaks of postcodes, telephones or the like. NA and NaN are missing in a column of
numbers, and a value like any other in a column of text. An empty field is missing, unless it
stands in quotes in a column of text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.workers import default_threads, in_order
from pramana.errors import InvalidTable, PramanaError
from pramana.io.base import Format, RecordStream
from pramana.io.csv_blocks import CODED, records_of, require_closed
from pramana.io.csv_dialect import (
    Dialect,
    find_dialect,
    first_wrong,
    own_dialect,
    require_encoding,
    without_utf8,
)
from pramana.io.disk_buffer import DiskBuffer
from pramana.io.round_trip import lost_in_text
from pramana.schema.lookup import comparable
from pramana.schema.opened_table import OpenedTable, Part
from pramana.schema.recoded_table import NOT_A_NUMBER, are_decimal, are_integers

__all__ = ["CSV", "CsvFormat"]

LINES: Final = 2**14
"""Records that a thread turns into text at a time."""

GROUPED = r"^-?[1-9][0-9]{0,2}(,[0-9]{3})+$"  # 1,234 may be a thousand or one and a bit
CODE_NAMES = re.compile(
    r"(^|[_\W])(zip|zip_?code|post_?code|postal(_?code)?|plz|phone|tel|mobile|fax|ssn|iban)($|[_\W])"
)


@dataclass
class Seen:
    """What the values of a column have in common so far."""

    integer: bool = True
    decimal: bool = True
    comma: bool = False
    clear: bool = False  # some comma cannot be one that parts thousands
    spelled: bool = False  # a missing value is written as NA or the like
    any: bool = False
    gaps: bool = False  # some field is empty

    def look(self, column: pa.DictionaryArray, *, comma: bool) -> None:
        """Take more values into account."""
        self.gaps |= column.null_count > 0
        values = column.dictionary
        if not self.decimal:
            return
        values = pc.utf8_trim_whitespace(values.drop_null())
        spelled = pc.is_in(values, value_set=pa.array(NOT_A_NUMBER, values.type))
        self.spelled |= pc.any(spelled).as_py() or False
        values = values.filter(pc.invert(spelled))
        if not len(values):
            return
        self.any = True
        if comma:
            values = self._with_decimal_commas(values)
        self.integer &= are_integers(values)
        self.decimal = are_decimal(values)

    def _with_decimal_commas(self, values: pa.Array) -> pa.Array:
        commas = values.filter(pc.match_substring(values, ","))
        if not len(commas):
            return values
        self.comma = True
        self.clear |= not pc.all(pc.match_substring_regex(commas, GROUPED)).as_py()
        return _with_points(values)

    @property
    def whole(self) -> bool:
        """Whether no value is missing, in the type of the column."""
        return not self.gaps and (not self.spelled or pa.types.is_string(self.type))

    @property
    def type(self) -> pa.DataType:
        """The type of the column."""
        if not (self.any and self.decimal) or (self.comma and not self.clear):
            return pa.string()
        return pa.int64() if self.integer and not self.comma else pa.float64()


def _with_points(values: pa.Array) -> pa.Array:
    """Decimal commas as points; what has both is no number."""
    values = pc.replace_substring(values, ".", "x")
    return pc.replace_substring(values, ",", ".")


DELIMITERS: Final = {",": "comma", ";": "semicolon", "\t": "tabulator", "|": "vertical bar"}


class CsvFormat(Format):
    """Text files."""

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "text"
    endings: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".tab", ".txt")
    writes: ClassVar[bool] = True
    parsed: ClassVar[bool] = True
    in_python: ClassVar[str] = (
        "pd.read_csv(HERE / {name}, dtype=dict.fromkeys(TEXTS, str), keep_default_na=False, "
        'na_values=[""])'
    )
    in_r: ClassVar[str] = (
        'read.csv({name}, check.names = FALSE, na.strings = "", colClasses = texts)'
    )

    def open(self, path: Path, *, encoding: str | None = None) -> OpenedTable:
        """Open a text file: it is parsed once, and what was read is held."""
        told = None if encoding is None else require_encoding(encoding)
        dialect = find_dialect(path, encoding=told)
        try:
            table = _survey(path, dialect)
        except UnicodeError:  # the beginning was plain, what follows is not
            if dialect.encoding != "utf-8" or told is not None:
                raise _not_in(path, dialect.encoding) from None
            table = _survey(path, find_dialect(path, encoding=without_utf8(path)))
        return _opened(path, table)

    def open_own(self, path: Path) -> OpenedTable:
        """Open a text file that this program wrote: nothing about its form is guessed."""
        dialect, texts = own_dialect(path)
        try:
            return _opened(path, _survey(path, dialect, texts=texts))
        except UnicodeError:
            raise _not_in(path, dialect.encoding) from None

    def found(self, path: Path, encoding: str | None) -> Iterator[tuple[str, str]]:
        """The separator and the encoding."""
        try:
            dialect = find_dialect(path, encoding=encoding)
        except PramanaError:
            return
        yield "Separator", DELIMITERS.get(dialect.delimiter, dialect.delimiter)
        yield "Encoding", dialect.encoding

    def lost(self, column: pa.ChunkedArray) -> str | None:
        """What text cannot spell."""
        return lost_in_text(column)

    def write(self, path: Path, records: RecordStream) -> None:
        """Write a file with commas.

        Text goes in quotes and missing values go without, so that an empty text and a missing one
        stay apart.
        """
        slices = (
            group.slice(start, LINES)
            for group in records.groups
            for start in range(0, len(group), LINES)
        )
        with path.open("wb") as file:
            file.write(_lines(records.schema.empty_table(), header=True))
            for lines in in_order(_lines, slices, threads=default_threads()):
                file.write(lines)


def _lines(table: pa.Table, *, header: bool = False) -> pa.Buffer:
    """Return the lines of records, or with ``header`` the column names before them.

    Times are written as their labels: without a fraction of a second where it is zero.
    """
    from pyarrow import csv

    for at, item in enumerate(table.schema):
        if pa.types.is_timestamp(item.type) and item.type.tz is None:
            table = table.set_column(at, item.name, comparable(table.column(at)))
        elif pa.types.is_dictionary(item.type):
            table = table.set_column(at, item.name, table.column(at).cast(item.type.value_type))
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(include_header=header))
    return sink.getvalue()


CSV: Final = CsvFormat()


@dataclass(frozen=True)
class _CsvTable:
    """A text file that has been read: its fields as text, and what their columns can be."""

    held: DiskBuffer
    seen: Mapping[str, Seen]
    coded: frozenset[str] = frozenset()

    def opened(self, path: Path) -> OpenedTable:
        """The table in its types."""

        def fit(*, text: Collection[str], coded: Collection[str]) -> OpenedTable:
            seen = {
                n: replace(s, decimal=s.decimal and n not in text) for n, s in self.seen.items()
            }
            return replace(self, seen=seen, coded=frozenset(coded)).opened(path)

        schema = pa.schema([(name, self._type(name)) for name in self.seen])
        return OpenedTable(
            schema,
            self.held.rows,
            "csv",
            path,
            self._parts,
            fit=fit,
            never_missing=lambda name: self.seen[name].whole,
        )

    def _type(self, name: str) -> pa.DataType:
        kind = self.seen[name].type
        return CODED if kind == pa.string() and name in self.coded else kind

    def _parts(self, columns: Sequence[str]) -> Iterator[Part]:
        for part in self.held.parts(columns):
            yield replace(part, load=partial(self._load, part, columns))

    def _load(self, part: Part, columns: Sequence[str]) -> pa.RecordBatch:
        held = part.load()
        arrays = [self._typed(name, held.column(at)) for at, name in enumerate(columns)]
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _typed(self, name: str, column: pa.DictionaryArray) -> pa.Array:
        """Each distinct text of a block becomes a number once."""
        kind = self._type(name)
        if kind == CODED:
            return column
        values = column.dictionary
        if kind != pa.string():
            values = _numbers(values, self.seen[name])
        return values.take(column.indices)


def _numbers(texts: pa.Array, seen: Seen) -> pa.Array:
    texts = pc.utf8_trim_whitespace(texts)
    absent = pc.is_in(texts, value_set=pa.array(NOT_A_NUMBER, texts.type))
    texts = pc.if_else(absent, pa.scalar(None, texts.type), texts)
    return (_with_points(texts) if seen.comma else texts).cast(seen.type)


def _opened(path: Path, table: _CsvTable) -> OpenedTable:
    if not table.held.rows:
        raise InvalidTable(f"{path} has a header and no records.")
    return table.opened(path)


def _not_in(path: Path, encoding: str) -> InvalidTable:
    line, byte = first_wrong(path, encoding)
    return InvalidTable(
        f"{path} is not {encoding} text to its end: byte {byte:,} of line {line:,} is not. Mend "
        "it, or say in which encoding it is written (--encoding NAME)."
    )


def _survey(path: Path, dialect: Dialect, *, texts: Collection[str] = ()) -> _CsvTable:
    """Read the file once, as text, to hold it and to learn its types and its length."""
    seen = {
        name: Seen(decimal=name not in texts and not CODE_NAMES.search(name.lower()))
        for name in dialect.names
    }
    held, last = DiskBuffer(), None
    for batch in records_of(path, dialect):
        held.add(batch)
        last = batch.columns[-1][-1].as_py() if batch.num_rows else last
        for name, column in zip(dialect.names, batch.columns, strict=True):
            seen[name].look(column, comma=dialect.delimiter != ",")
    require_closed(path, dialect, last)
    return _CsvTable(held, seen)
