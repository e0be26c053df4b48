"""Text files: read once, held, and given the types that the whole file decides.

A column becomes numeric only if all of its values read as numbers without loss. Codes with leading
zeros, a plus sign or more than 18 digits keep their column text, and so does a column name of
postcodes, telephones or the like. NA and NaN are missing in a numeric column, and ordinary values
in a column of text. An empty field is missing, unless it is quoted in a column of text.

Blocks of lines before the first quote are parsed by several threads, the rest by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from pramana.base.processes import default_threads, in_order
from pramana.errors import InvalidTable, PramanaError
from pramana.io.base import COMPRESSED, Format, RecordStream, broken, lost_in_text
from pramana.io.csv_dialect import (
    HEAD,
    Dialect,
    find_dialect,
    first_wrong,
    own_dialect,
    require_encoding,
    without_utf8,
)
from pramana.io.disk_buffer import DiskBuffer
from pramana.schema.lookup import NOT_A_NUMBER, comparable
from pramana.schema.opened_table import OpenedTable, Part
from pramana.schema.recoded_table import are_decimal, are_integers

BLOCK = 2**23
MARK = "\ufeff"
CODED = pa.dictionary(pa.int32(), pa.string())  # each distinct value is looked at once a block
_Held = TypeVar("_Held", pa.Table, pa.RecordBatch)


def records_of(path: Path, dialect: Dialect) -> Iterator[pa.RecordBatch]:
    """The records of a file, in order; what is wrong with it is said without showing it."""
    try:
        yield from _reader(path, dialect)
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError, EOFError) as error:
        # The library's own text shows the row, so none of it is passed on.
        if "UTF8" in str(error):
            raise UnicodeDecodeError(dialect.encoding, b"", 0, 1, "not in this encoding") from None
        raise _explained(path, dialect) from None


def _explained(path: Path, dialect: Dialect) -> InvalidTable:
    """What is wrong with a file that could not be read, found by one thread that counts rows."""
    wrong: list[Any] = []
    if dialect.encoding.startswith("utf-8"):  # Arrow shows a row as text, whatever its bytes are
        dialect = replace(dialect, encoding="latin-1")
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            for _ in _by_one(stream, dialect, wrong=wrong):
                pass
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError, EOFError):
        if wrong:
            row = wrong[0]
            return InvalidTable(
                f"{path} must have {row.expected_columns} fields in every row, and row "
                f"{row.number} has {row.actual_columns}. The file may be broken or cut short."
            )
    return broken(path)


def _reader(path: Path, dialect: Dialect) -> Iterator[pa.RecordBatch]:
    """The records in order: lines up to the first quote by several threads, the rest by one."""
    if path.suffix.lower() in COMPRESSED or dialect.escape or not _keeps_ascii(dialect.encoding):
        with pa.input_stream(str(path), compression="detect") as stream:
            yield from _by_one(stream, dialect)
        return
    with pa.OSFile(str(path)) as file:
        blocks = _Blocks(file, dialect)
        read = partial(_block, dialect, blocks)
        for table in in_order(
            read, blocks, threads=default_threads(), cells=lambda block: block.size // 8
        ):
            yield from table.to_batches()
        if blocks.done < file.size():
            file.seek(blocks.done)
            yield from _by_one(file, dialect, first=not blocks.done)


def _keeps_ascii(encoding: str) -> bool:
    """Whether line ends and quotes are the bytes of ASCII, and no byte changes what follows it."""
    return bytes(range(128)).decode(encoding, errors="replace") == "".join(map(chr, range(128)))


class _Blocks:
    """Blocks of whole lines before the first quote, none of a file of one or two.

    No line after a block begins with a mark of encodings: a reader that starts there would take it
    for the file's own.
    """

    def __init__(self, file: pa.NativeFile, dialect: Dialect) -> None:
        self._file, self._quote = file, dialect.quote.encode()
        self._mark = MARK.encode(dialect.encoding.removesuffix("-sig"), errors="ignore")
        self._free: list[bytearray] = []
        self.done = 0  # bytes of the blocks given out

    def __iter__(self) -> Iterator[_Block]:
        left = b""
        while self._file.size() >= 2 * BLOCK:
            held = self._free.pop() if self._free else bytearray(BLOCK)
            held[: len(left)] = left
            size = len(left) + self._file.readinto(memoryview(held)[len(left) :])
            end = held.rfind(b"\n", len(left), size - len(self._mark)) + 1
            if not end or held.find(self._quote, len(left), size) >= 0:
                return  # also at the end; a longer line is refused by who reads the rest
            if self._mark and held.startswith(self._mark, end, size):
                return
            left = bytes(held[end:size])
            begin, self.done = self.done, self.done + end
            yield _Block(held, end, begin == 0)

    def take_back(self, block: _Block) -> None:
        """The memory of a block whose records have been read is that of another."""
        self._free.append(block.held)


class _Block(NamedTuple):
    """Whole lines, at the beginning of what is held."""

    held: bytearray
    size: int
    first: bool


def _block(dialect: Dialect, blocks: _Blocks, block: _Block) -> pa.Table:
    """The records of some lines."""
    options = _options(dialect, first=block.first, threads=False, size=block.size)
    lines = pa.py_buffer(memoryview(block.held)[: block.size])
    table = csv.read_csv(pa.BufferReader(lines), **options)
    blocks.take_back(block)
    return _in_utf8(table)


def _in_utf8(held: _Held) -> _Held:
    """Dictionaries of text, each entry of which is looked at once."""
    for column in held.columns:
        for array in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            array.dictionary.validate(full=True)
    return held


def _by_one(
    stream: pa.NativeFile, dialect: Dialect, *, first: bool = True, wrong: list[Any] | None = None
) -> Iterator[pa.RecordBatch]:
    """The reader's batches; with ``wrong`` the first bad row is noted."""

    def note(row: Any) -> str:
        if wrong is not None:
            wrong.append(row)
        return "error"

    heard = note if wrong is not None else None
    options = _options(dialect, heard, first=first, threads=wrong is None, size=BLOCK)
    yield from map(_in_utf8, csv.open_csv(stream, **options))


def _options(
    dialect: Dialect,
    note: Callable[[Any], str] | None = None,
    *,
    first: bool,
    threads: bool,
    size: int,
) -> dict[str, Any]:
    """What the library is told, of the first lines of a file or of others."""
    return {
        "read_options": csv.ReadOptions(
            column_names=list(dialect.names),
            skip_rows=dialect.header_lines if first else 0,
            encoding="utf-8" if dialect.encoding == "utf-8-sig" else dialect.encoding,
            block_size=size,
            use_threads=threads,
        ),
        "parse_options": csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote,
            double_quote=dialect.escape is None,
            escape_char=dialect.escape or False,
            newlines_in_values=True,
            ignore_empty_lines=len(dialect.names) > 1,  # in a single column they are missing values
            invalid_row_handler=note,
        ),
        "convert_options": csv.ConvertOptions(
            check_utf8=False,  # of each value; see _in_utf8
            column_types=dict.fromkeys(dialect.names, CODED),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    }


def require_closed(path: Path, dialect: Dialect, last: str | None) -> None:
    """Refuse a file with an odd number of quotes, and one before its last value."""
    if last is None or dialect.escape or dialect.encoding.startswith("utf-16"):
        return
    quote, quotes, tail = dialect.quote.encode(), 0, b""
    value = last.rstrip("\r\n").replace(dialect.quote, dialect.quote * 2)
    ending = quote + value.encode(dialect.encoding.removesuffix("-sig"), errors="replace")
    if path.suffix.lower() not in COMPRESSED:
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
    any: bool = False

    def look(self, column: pa.DictionaryArray, *, comma: bool) -> None:
        """Take more values into account."""
        values = column.dictionary
        if not self.decimal:
            return
        values = pc.utf8_trim_whitespace(values.drop_null())
        spelled = pc.is_in(values, value_set=pa.array(NOT_A_NUMBER, values.type))
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
        """Open a text file: it is parsed once, and what was read is held."""
        told = None if encoding is None else require_encoding(encoding)
        dialect = find_dialect(path, encoding=told)
        try:
            table = _survey(path, dialect)
        except UnicodeError:  # the beginning was plain, what follows is not
            if dialect.encoding != "utf-8" or told is not None:
                raise _not_in(path, dialect.encoding) from None
            table = _survey(path, find_dialect(path, encoding=without_utf8(path)))
        return table.opened(path)

    def open_own(self, path: Path) -> OpenedTable:
        """Open a text file that this program wrote: nothing about its form is guessed."""
        dialect, texts = own_dialect(path)
        try:
            return _survey(path, dialect, texts=texts).opened(path)
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
        """Write a file with commas; text is quoted and missing values are not."""
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
    """The lines of records, or with ``header`` the column names before them."""
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
        if not self.held.rows:
            raise InvalidTable(f"{path} has a header and no records.")

        def fit(*, text: Collection[str], coded: Collection[str]) -> OpenedTable:
            seen = {
                n: replace(s, decimal=s.decimal and n not in text) for n, s in self.seen.items()
            }
            return replace(self, seen=seen, coded=frozenset(coded)).opened(path)

        schema = pa.schema([(name, self._type(name)) for name in self.seen])
        return OpenedTable(schema, self.held.rows, "csv", path, self._parts, fit=fit)

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
            values = pc.utf8_trim_whitespace(values)
            absent = pc.is_in(values, value_set=pa.array(NOT_A_NUMBER, values.type))
            values = pc.if_else(absent, pa.scalar(None, values.type), values)
            values = (_with_points(values) if self.seen[name].comma else values).cast(kind)
        return values.take(column.indices)


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
