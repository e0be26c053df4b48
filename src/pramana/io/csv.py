"""Text files: parsed once, buffered, and given the types that all of their values allow.

A column becomes numeric only if all of its values read as numbers without loss. Codes with leading
zeros, a plus sign or more than 18 digits stay text, and so does a column whose name is that of
postcodes, telephones or the like. NA and NaN are missing in a numeric column, and ordinary values
in a column of text. An empty field is missing, unless it is quoted in a column of text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from pramana.base.processes import default_threads, in_order
from pramana.errors import InvalidTable, PramanaError
from pramana.io.base import COMPRESSED, Format, RecordStream, broken, lost_in_text
from pramana.io.csv_dialect import (
    DELIMITERS,
    HEAD,
    Dialect,
    encoding_besides_utf8,
    find_dialect,
    first_undecodable,
    own_dialect,
    require_encoding,
)
from pramana.io.disk_buffer import DiskBuffer
from pramana.schema.codec import NOT_A_NUMBER, comparable
from pramana.schema.opened_table import OpenedTable, Part
from pramana.schema.recoded_table import are_decimal, are_integers

BLOCK: Final = 2**23
CODED: Final = pa.dictionary(pa.int32(), pa.string())  # each distinct value is typed once a block
UNREADABLE: Final = (pa.ArrowInvalid, pa.ArrowKeyError, OSError, EOFError)

RECORDS_WRITTEN: Final = 2**14
"""Records that a thread turns into text at a time."""

GROUPED_DIGITS: Final = (
    r"^-?[1-9][0-9]{0,2}(,[0-9]{3})+$"  # 1,234 may be a thousand or one and a bit
)
NAMES_OF_CODES: Final = re.compile(
    r"(^|[_\W])(zip|zip_?code|post_?code|postal(_?code)?|plz|phone|tel|mobile|fax|ssn|iban)($|[_\W])"
)


class CsvFormat(Format):
    """Text files."""

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "text"
    media: ClassVar[str] = "text/csv"
    endings: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".tab", ".txt")
    writes: ClassVar[bool] = True
    parsed: ClassVar[bool] = True
    in_python: ClassVar[str] = (
        'pd.read_csv(HERE / {name}, dtype=str, keep_default_na=False, na_values=[""])'
    )
    in_r: ClassVar[str] = (
        'read.csv({name}, check.names = FALSE, na.strings = "", colClasses = "character", '
        'encoding = "UTF-8")'
    )

    def open(self, path: Path, *, encoding: str | None = None) -> OpenedTable:
        """Open a text file: it is parsed once, and what was read is buffered."""
        given = None if encoding is None else require_encoding(encoding)
        dialect = find_dialect(path, encoding=given)
        try:
            return _read(path, dialect).opened(path)
        except UnicodeError:  # the beginning was UTF-8, the rest is not
            if dialect.encoding != "utf-8" or given is not None:
                raise _undecodable(path, dialect.encoding) from None
        return _read(path, find_dialect(path, encoding=encoding_besides_utf8(path))).opened(path)

    def open_own(self, path: Path) -> OpenedTable:
        """Open a text file that this program wrote: its dialect is known."""
        dialect, text_columns = own_dialect(path)
        try:
            return _read(path, dialect, text_columns=text_columns).opened(path)
        except UnicodeError:
            raise _undecodable(path, dialect.encoding) from None

    def found(self, path: Path, encoding: str | None) -> Iterator[tuple[str, str]]:
        """The separator and the encoding."""
        try:
            dialect = find_dialect(path, encoding=encoding)
        except PramanaError:
            return
        yield "Separator", DELIMITERS.get(dialect.delimiter, dialect.delimiter)
        yield "Encoding", dialect.encoding

    def lost(self, column: pa.ChunkedArray) -> str | None:
        """Which values text cannot represent."""
        return lost_in_text(column)

    def write(self, path: Path, records: RecordStream) -> None:
        """Write a file with commas; text is quoted and missing values are not."""
        slices = (
            group.slice(start, RECORDS_WRITTEN)
            for group in records.groups
            for start in range(0, len(group), RECORDS_WRITTEN)
        )
        with path.open("wb") as file:
            file.write(_lines(records.schema.empty_table(), header=True))
            for lines in in_order(_lines, slices, threads=default_threads()):
                file.write(lines)


CSV: Final = CsvFormat()


def _lines(table: pa.Table, *, header: bool = False) -> pa.Buffer:
    """The lines of records; with ``header`` the column names before them."""
    for at, item in enumerate(table.schema):
        if pa.types.is_timestamp(item.type) and item.type.tz is None:
            table = table.set_column(at, item.name, comparable(table.column(at)))
        elif pa.types.is_dictionary(item.type):
            table = table.set_column(at, item.name, table.column(at).cast(item.type.value_type))
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(include_header=header))
    return sink.getvalue()


# -- parsing ------------------------------------------------------------------------------------


def parsed_batches(path: Path, dialect: Dialect) -> Iterator[pa.RecordBatch]:
    """The records of a file, in order; no error shows a cell of it."""
    try:
        yield from _arrow_batches(path, dialect)
    except UNREADABLE as error:  # whose text shows the row
        if "UTF8" in str(error):
            raise UnicodeDecodeError(dialect.encoding, b"", 0, 1, "not in this encoding") from None
        raise _parse_error(path, dialect) from None


def _parse_error(path: Path, dialect: Dialect) -> InvalidTable:
    """Which row of the file is wrong: one thread that counts rows finds it."""
    wrong: list[Any] = []

    def note(row: Any) -> str:
        wrong.append(row)
        return "error"

    if dialect.encoding.startswith("utf-8"):  # Arrow decodes the row before it shows it
        dialect = replace(dialect, encoding="latin-1")
    try:
        for _ in _arrow_batches(path, dialect, invalid_row=note):
            pass
    except UNREADABLE:
        if wrong:
            row = wrong[0]
            return InvalidTable(
                f"{path} must have {row.expected_columns} fields in every row, and row "
                f"{row.number} has {row.actual_columns}. The file may be broken or cut short."
            )
    return broken(path)


def _arrow_batches(
    path: Path, dialect: Dialect, *, invalid_row: Callable[[Any], str] | None = None
) -> Iterator[pa.RecordBatch]:
    """All columns as text in dictionaries."""
    options = {
        "read_options": csv.ReadOptions(
            column_names=list(dialect.names),
            skip_rows=dialect.header_lines,
            encoding="utf-8" if dialect.encoding == "utf-8-sig" else dialect.encoding,
            block_size=BLOCK,
            use_threads=invalid_row is None,  # rows are counted without threads only
        ),
        "parse_options": csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote,
            double_quote=dialect.escape is None,
            escape_char=dialect.escape or False,
            newlines_in_values=True,
            ignore_empty_lines=len(dialect.names) > 1,  # in a single column they are missing values
            invalid_row_handler=invalid_row,
        ),
        "convert_options": csv.ConvertOptions(
            column_types=dict.fromkeys(dialect.names, CODED),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    }
    with pa.input_stream(str(path), compression="detect") as stream:
        yield from csv.open_csv(stream, **options)


def _require_closed_quotes(path: Path, dialect: Dialect, last_value: str | None) -> None:
    """Refuse a file that ends inside quotes.

    It has an odd number of quotes, and its last value begins with one that is never closed.
    """
    if last_value is None or dialect.escape or dialect.encoding.startswith("utf-16"):
        return
    quote, quotes, tail = dialect.quote.encode(), 0, b""
    value = last_value.rstrip("\r\n").replace(dialect.quote, dialect.quote * 2)
    ending = quote + value.encode(dialect.encoding.removesuffix("-sig"), errors="replace")
    if path.suffix.lower() not in COMPRESSED:  # mostly its end alone is looked at
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 2 * HEAD))
            if not file.read().rstrip(b"\r\n").endswith(ending[-HEAD:]):
                return
    with pa.input_stream(str(path), compression="detect") as stream:
        while part := stream.read(BLOCK):
            quotes += part.count(quote)
            tail = (tail + part)[-len(ending) - 2 * BLOCK :]
    if quotes % 2 and tail.rstrip(b"\r\n").endswith(ending):
        raise InvalidTable(f"{path} ends inside quotes: it is broken or cut short.")


def _undecodable(path: Path, encoding: str) -> InvalidTable:
    line, byte = first_undecodable(path, encoding)
    return InvalidTable(
        f"{path} is not valid {encoding} text: byte {byte:,} of line {line:,} cannot be decoded. "
        "Correct it, or name the encoding of the file (--encoding NAME)."
    )


# -- types --------------------------------------------------------------------------------------


@dataclass
class ColumnValues:
    """What the values of a column have in common so far."""

    decimal: bool = True
    integer: bool = True
    decimal_comma: bool = False
    comma_is_decimal: bool = False  # some comma cannot separate thousands
    any_number: bool = False

    def update(self, column: pa.DictionaryArray, *, comma: bool) -> None:
        """Take more values into account; ``comma`` allows decimal commas."""
        if not self.decimal:
            return
        values = pc.utf8_trim_whitespace(column.dictionary.drop_null())
        missing = pc.is_in(values, value_set=pa.array(NOT_A_NUMBER, values.type))
        values = values.filter(pc.invert(missing))
        if not len(values):
            return
        self.any_number = True
        commas = values.filter(pc.match_substring(values, ",")) if comma else []
        if len(commas):
            self.decimal_comma = True
            grouped = pc.match_substring_regex(commas, GROUPED_DIGITS)
            self.comma_is_decimal |= not pc.all(grouped).as_py()
            values = _with_points(values)
        self.integer &= are_integers(values)
        self.decimal = are_decimal(values)

    @property
    def type(self) -> pa.DataType:
        """The type of the column."""
        ambiguous = self.decimal_comma and not self.comma_is_decimal
        if ambiguous or not (self.any_number and self.decimal):
            return pa.string()
        return pa.int64() if self.integer and not self.decimal_comma else pa.float64()

    def typed(self, column: pa.DictionaryArray, kind: pa.DataType) -> pa.Array:
        """The values as ``kind``; each distinct text of a block is converted once."""
        if kind == CODED:
            return column
        values = column.dictionary
        if kind != pa.string():
            values = pc.utf8_trim_whitespace(values)
            missing = pc.is_in(values, value_set=pa.array(NOT_A_NUMBER, values.type))
            values = pc.if_else(missing, pa.scalar(None, values.type), values)
            values = (_with_points(values) if self.decimal_comma else values).cast(kind)
        return values.take(column.indices)


def _with_points(values: pa.Array) -> pa.Array:
    """Decimal commas as points; what has both is no number."""
    values = pc.replace_substring(values, ".", "x")
    return pc.replace_substring(values, ",", ".")


@dataclass(frozen=True)
class _TextTable:
    """The buffered fields of a text file, and what is known of their columns."""

    buffered: DiskBuffer
    values: Mapping[str, ColumnValues]
    coded: frozenset[str] = frozenset()

    def opened(self, path: Path) -> OpenedTable:
        """The table in its types."""
        if not self.buffered.rows:
            raise InvalidTable(f"{path} has a header and no records.")

        def fit(*, text: Collection[str], coded: Collection[str]) -> OpenedTable:
            values = {
                name: replace(seen, decimal=seen.decimal and name not in text)
                for name, seen in self.values.items()
            }
            return replace(self, values=values, coded=frozenset(coded)).opened(path)

        schema = pa.schema([(name, self._type(name)) for name in self.values])
        return OpenedTable(schema, self.buffered.rows, "csv", path, self._parts, fit=fit)

    def _type(self, name: str) -> pa.DataType:
        kind = self.values[name].type
        return CODED if kind == pa.string() and name in self.coded else kind

    def _parts(self, columns: Sequence[str]) -> Iterator[Part]:
        for part in self.buffered.parts(columns):
            yield replace(part, load=partial(self._load, part, columns))

    def _load(self, part: Part, columns: Sequence[str]) -> pa.RecordBatch:
        batch = part.load()
        arrays = [
            self.values[name].typed(batch.column(at), self._type(name))
            for at, name in enumerate(columns)
        ]
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _read(path: Path, dialect: Dialect, *, text_columns: Collection[str] = ()) -> _TextTable:
    """Parse the file once, as text, to buffer it and to learn its types and its length."""
    values = {
        name: ColumnValues(
            decimal=name not in text_columns and not NAMES_OF_CODES.search(name.lower())
        )
        for name in dialect.names
    }
    buffered, last_value = DiskBuffer(), None
    for batch in parsed_batches(path, dialect):
        buffered.add(batch)
        last_value = batch.columns[-1][-1].as_py() if batch.num_rows else last_value
        for name, column in zip(dialect.names, batch.columns, strict=True):
            values[name].update(column, comma=dialect.delimiter != ",")
    _require_closed_quotes(path, dialect, last_value)
    return _TextTable(buffered, values)
