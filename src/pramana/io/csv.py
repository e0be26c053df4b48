"""Text files: parsed once, buffered, and given the types that all of their values allow.

A column becomes numeric only if all of its values read as numbers without loss. Codes with leading
zeros, a plus sign or more than 18 digits stay text, and so does a column whose name suggests
postcodes, telephones or the like. NA and NaN are missing in a numeric column, and ordinary values
in a column of text. An empty field is missing, unless it is quoted in a column of text. In a file
of one column it is missing even if it is quoted, except in files that this program wrote.

Delimiter, quotes and header are detected from the beginning of the file, UTF-8 from all of it: text
in another encoding is hardly ever valid UTF-8 by chance. A file with multi-byte letters of UTF-8
and one invalid byte is broken: read as cp1252 it would silently come out wrong. Only a file without
any such letter is taken for cp1252, if every byte is defined there.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from pramana.base.processes import default_threads, in_order
from pramana.base.translation import gettext, noop
from pramana.errors import InputError, InvalidTable, Notice, PramanaError
from pramana.io.base import (
    COMPRESSED,
    Format,
    RecordStream,
    broken,
    distinct_names,
    lost_in_text,
    require_distinct_names,
)
from pramana.io.disk_buffer import DiskBuffer
from pramana.schema.codec import NOT_A_NUMBER, comparable
from pramana.schema.opened_table import OpenedTable, Part
from pramana.schema.recoded_table import are_decimal, are_integers

HEAD: Final = 2**18
"""Bytes at the beginning of a file from which its dialect is detected."""

SAMPLE: Final = 2**15
"""Letters by which dialects are compared."""

DELIMITERS: Final = {",": "comma", ";": "semicolon", "\t": "tabulator", "|": "vertical bar"}
BYTE_ORDER_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

CHUNK: Final = 2**22
FALLBACK: Final = "cp1252"
MULTI_BYTE_LETTER: Final = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
FIELD: Final = re.compile(r'("(?:[^"]|"")*"|[^",\n]*)(?:,|\n|\Z)')


@dataclass(frozen=True)
class Dialect:
    """What must be known to read a text file.

    Attributes:
        encoding: As Python calls it.
        delimiter: Between fields.
        quote: Around fields that hold delimiters.
        escape: Before a quote inside quotes, or ``None`` where quotes are doubled.
        names: The names of the columns.
        header_lines: Lines to skip before the first record.
        own: Whether this program wrote the file: a quoted empty field is then a text. Elsewhere it
            is missing in a single column, where other programs write no empty line.
    """

    encoding: str
    delimiter: str
    quote: str
    escape: str | None
    names: tuple[str, ...] = ()
    header_lines: int = 0
    written_here: bool = False

    def reader(self, text: str) -> Any:
        """The rows of a text."""
        return csv.reader(
            io.StringIO(text, newline=""),
            delimiter=self.delimiter,
            quotechar=self.quote,
            escapechar=self.escape,
            doublequote=self.escape is None,
        )

    def fitness(self, text: str) -> tuple[float, int]:
        """The share of rows that have as many fields as the header, and that number."""
        if len(text) > SAMPLE:
            text = text[: text.rfind("\n", 0, SAMPLE) + 1] or text
        try:
            widths = [len(row) for row in self.reader(text) if row]
        except csv.Error:  # a field too long: not this delimiter
            return (0.0, 0)
        if not widths or widths[0] < 2:
            return (0.0, 0)
        return (round(widths.count(widths[0]) / len(widths), 1), widths[0])


def find_dialect(path: Path, *, encoding: str | None = None) -> Dialect:
    """How a file is written; duplicate column names are refused, or numbered where asked."""
    raw = _beginning(path)
    encoding = encoding or _find_encoding(raw, path)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(raw)
    if not text.strip():
        raise InvalidTable(
            "{path} is empty. A table needs a line of names and at least one record.", path=path
        )
    lines = text if len(raw) < HEAD else text[: text.rfind("\n") + 1] or text
    quote = _find_quote(lines)
    escape = _find_escape(lines, quote)
    candidates = {mark: Dialect(encoding, mark, quote, escape) for mark in DELIMITERS}
    fitness = {mark: dialect.fitness(lines) for mark, dialect in candidates.items()}
    best = max(DELIMITERS, key=fitness.__getitem__)
    dialect = candidates[best if fitness[best] > (0.0, 0) else ","]
    names, header_lines = _header(lines, dialect, path)
    names = tuple(distinct_names(names, where=str(path)))
    if len(raw) < HEAD and not any(line.strip() for line in lines.splitlines()[header_lines:]):
        raise InvalidTable("{path} has a header and no records.", path=path)
    return Dialect(encoding, dialect.delimiter, quote, escape, names, header_lines)


def written_dialect(path: Path) -> tuple[Dialect, frozenset[str]]:
    """The dialect of a file that this program wrote, and its columns of text, which are quoted."""
    raw = _beginning(path)
    text = codecs.getincrementaldecoder("utf-8")(errors="replace").decode(raw)
    dialect = Dialect("utf-8", ",", '"', None)
    try:
        names: list[str] = next(dialect.reader(text), [])
    except csv.Error:
        raise _unreadable_header(path) from None
    require_distinct_names(names, where=str(path))
    end = len(text) if len(raw) < HEAD else text.rfind("\n") + 1
    fields = (match[1] for match in FIELD.finditer(text, 0, end))
    header = [next(fields, "") for _ in names]
    quoted: dict[int, bool] = {}  # by column, from its first field that is not empty
    for at, field in enumerate(fields):
        if field:
            quoted.setdefault(at % len(names), field[0] == '"')
        if len(quoted) == len(names):
            break
    lines = len(re.findall(r"\r\n|\r|\n", "".join(header))) + 1  # also those inside of names
    texts = frozenset(names[at] for at, is_quoted in quoted.items() if is_quoted)
    return Dialect("utf-8", ",", '"', None, tuple(names), lines, written_here=True), texts


def _find_quote(text: str) -> str:
    """The double quote, unless single ones stand where only quotes of fields can stand."""
    if '"' in text:
        return '"'
    single, double = (
        max(Dialect("", mark, quote, None).fitness(text) for mark in DELIMITERS)
        for quote in ("'", '"')
    )
    if single != double:
        return "'" if single > double else '"'
    opening = len(re.findall(r"(?m)(^|[,;\t|])'", text))
    closing = len(re.findall(r"(?m)'(?=[,;\t|\r]|$)", text))
    return "'" if opening == closing > 0 else '"'


def _find_escape(text: str, quote: str) -> str | None:
    """The backslash, if quotes after one do not end their field; it may also be the last letter."""
    if f"\\{quote}" not in text:
        return None
    if re.search(rf"\\{quote}(?![{quote},;\t|\r\n]|\Z)", text):
        return "\\"
    without, with_escape = (
        max(Dialect("", mark, quote, escape).fitness(text) for mark in DELIMITERS)
        for escape in (None, "\\")
    )
    return "\\" if with_escape > without else None


def _header(text: str, dialect: Dialect, path: Path) -> tuple[tuple[str, ...], int]:
    """The names of the columns, and the number of lines up to the first record."""
    reader = dialect.reader(text)
    try:
        header = next((row for row in reader if any(field.strip() for field in row)), None)
    except csv.Error:  # a name longer than any
        raise _unreadable_header(path) from None
    if header is None:
        raise InvalidTable(
            "The first line of {path} must name the columns, and none has a name.", path=path
        )
    names = [" ".join(name.split()) for name in header]
    if all(map(_is_number, names)):
        raise InvalidTable(
            "The first line of {path} must name the columns, and it holds only numbers. Add names.",
            path=path,
        )
    # Row numbers are often written under an empty name.
    return tuple(name or f"column_{at}" for at, name in enumerate(names, 1)), reader.line_num


def _unreadable_header(path: Path) -> InvalidTable:
    return InvalidTable(
        "The first line of {path} must name the columns, and a quoted name is not closed.",
        path=path,
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# -- encodings ----------------------------------------------------------------------------------


def require_encoding(name: str) -> str:
    """The encoding as Python calls it; refuses codecs that are not of text."""
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        codec = None
    if codec is None or not getattr(codec, "_is_text_encoding", True) or codec.name == "undefined":
        raise InputError(
            "--encoding must be one that Python knows, such as cp1252, got '{name}'.", name=name
        )
    return codec.name


def _find_encoding(raw: bytes, path: Path) -> str:
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if raw.startswith(mark):
            return encoding
    zeros = raw[:1000].count(0)
    if zeros > len(raw[:1000]) // 3:  # Latin letters in two bytes, without a mark
        return "utf-16-le" if raw[1:2] == b"\0" else "utf-16-be"
    if zeros:
        raise InvalidTable("{path} is not a text file, despite its extension.", path=path)
    return "utf-8" if _decodes(raw, "utf-8") else encoding_besides_utf8(path)


def _decodes(raw: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(raw)  # a letter may be cut at the end
    except UnicodeDecodeError:
        return False
    return True


def encoding_besides_utf8(path: Path) -> str:
    """cp1252 for a file that is not UTF-8, if the whole file allows no other guess."""
    has_utf8_letters, is_fallback = False, True
    before = b""
    for chunk in _chunks(path):
        has_utf8_letters |= MULTI_BYTE_LETTER.search(before + chunk) is not None
        is_fallback &= _decodes(chunk, FALLBACK)
        before = chunk[-3:]
    if has_utf8_letters or not is_fallback:
        raise _undecodable(path, "UTF-8", instead=FALLBACK)
    warnings.warn(
        f"{path} is not UTF-8 text and is read as {FALLBACK} (Western European, of Windows). Name "
        "another encoding with --encoding.",
        Notice,
        stacklevel=2,
    )
    return FALLBACK


def first_undecodable(path: Path, encoding: str) -> tuple[int, int] | None:
    """The line, and the byte in it, that cannot be decoded; both count from one.

    ``None`` where every byte can be.
    """
    decoder, lines, column, failed = codecs.getincrementaldecoder(encoding)(), 1, 0, False
    for chunk in (*_chunks(path), b""):
        data = decoder.getstate()[0] + chunk
        try:
            decoder.decode(chunk, final=not chunk)
            good = len(data) - len(decoder.getstate()[0])
        except UnicodeDecodeError as error:
            good, failed = max(0, len(data) - len(error.object) + error.start), True
        except UnicodeError:
            good, failed = 0, True
        part = data[:good]
        lines += part.count(b"\n")
        column = good - part.rfind(b"\n") - 1 if b"\n" in part else column + good
        if failed:
            return lines, column + 1
    return None


def _beginning(path: Path) -> bytes:
    return next(_chunks(path, HEAD), b"")


def _chunks(path: Path, size: int = CHUNK) -> Iterator[bytes]:
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            while chunk := bytes(stream.read(size)):
                yield chunk
    except (OSError, pa.ArrowInvalid, EOFError):
        raise InvalidTable("{path} cannot be read: it is broken or truncated.", path=path) from None


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

    def open_written(self, path: Path) -> OpenedTable:
        """Open a text file that this program wrote: its dialect is known."""
        dialect, text_columns = written_dialect(path)
        try:
            return _read(path, dialect, text_columns=text_columns).opened(path)
        except UnicodeError:
            raise _undecodable(path, dialect.encoding) from None

    def details(self, path: Path, encoding: str | None) -> Iterator[tuple[str, str]]:
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
    arrow_csv.write_csv(table, sink, arrow_csv.WriteOptions(include_header=header))
    return sink.getvalue()


# -- parsing ------------------------------------------------------------------------------------


def parsed_batches(path: Path, dialect: Dialect) -> Iterator[pa.RecordBatch]:
    """The records of a file, in order; no error shows a cell of it."""
    try:
        yield from _arrow_batches(path, dialect)
    except UNREADABLE:  # whose text shows the row
        encoding = dialect.encoding
        if encoding.startswith("utf-8") and first_undecodable(path, encoding) is not None:
            raise UnicodeDecodeError(encoding, b"", 0, 1, "not in this encoding") from None
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
                "{path} must have {expected_columns} fields in every row, and row {number} has "
                "{actual_columns}. The file may be broken or truncated.",
                path=path,
                expected_columns=row.expected_columns,
                number=row.number,
                actual_columns=row.actual_columns,
            )
    return broken(path)


def _arrow_batches(
    path: Path, dialect: Dialect, *, invalid_row: Callable[[Any], str] | None = None
) -> Iterator[pa.RecordBatch]:
    """All columns as text in dictionaries."""
    options = {
        "read_options": arrow_csv.ReadOptions(
            column_names=list(dialect.names),
            skip_rows=dialect.header_lines,
            encoding="utf-8" if dialect.encoding == "utf-8-sig" else dialect.encoding,
            block_size=BLOCK,
            use_threads=invalid_row is None,  # rows are counted without threads only
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote,
            double_quote=dialect.escape is None,
            escape_char=dialect.escape or False,
            newlines_in_values=True,
            ignore_empty_lines=len(dialect.names) > 1,  # in a single column they are missing values
            invalid_row_handler=invalid_row,
        ),
        "convert_options": arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(dialect.names, CODED),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=len(dialect.names) == 1 and not dialect.written_here,
        ),
    }
    with pa.input_stream(str(path), compression="detect") as stream:
        yield from arrow_csv.open_csv(stream, **options)


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
        raise InvalidTable("{path} ends inside quotes: it is broken or truncated.", path=path)


def _undecodable(path: Path, encoding: str, *, instead: str = "NAME") -> InvalidTable:
    place = first_undecodable(path, encoding)
    where = ""
    if place is not None:
        words = noop(": byte {byte:,} of line {line:,} cannot be decoded")
        where = gettext(words, line=place[0], byte=place[1])
    return InvalidTable(
        "{path} is not valid {encoding} text{where}. Correct it, or name the encoding of the file "
        "(--encoding {instead}).",
        path=path,
        encoding=encoding,
        where=where,
        instead=instead,
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
            raise InvalidTable("{path} has a header and no records.", path=path)

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
