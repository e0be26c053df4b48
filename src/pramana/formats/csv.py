"""Text files: read once, held, and given the types that the whole file decides.

A column becomes a number only if all of its values read as numbers and nothing is lost by
it: codes with leading zeros, a plus sign or more than 18 digits keep their column text, and so does
a name that speaks of postcodes, telephones or the like. NA and NaN are missing in a column of
numbers, and a value like any other in a column of text. An empty field is missing, unless it
stands in quotes in a column of text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.errors import InvalidTable, PramanaError
from pramana.formats.base import COMPRESSED, Format, RecordStream, broken
from pramana.formats.csv_dialect import HEAD, Dialect, find_dialect, own_dialect
from pramana.formats.csv_encoding import first_wrong, require_encoding, without_utf8
from pramana.formats.faithful import lost_in_text
from pramana.formats.spill import Spill
from pramana.parallel import default_threads, in_order
from pramana.table.alike import comparable
from pramana.table.numerals import NOT_A_NUMBER, are_decimal, are_integers
from pramana.table.opened import OpenedTable, Part
from pramana.types import Codes

__all__ = ["CSV", "CsvFormat"]

BLOCK = 2**23
LINES = 2**14
JOINED = 2**12  # texts of some columns together that are spelled beforehand
LONGEST = 2**8
QUOTE = '"'
MARK = "\ufeff"
CODED = pa.dictionary(pa.int32(), pa.string())  # each distinct value is looked at once a block
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
        stay apart. Groups are made text by several threads, and written one after the other.
        """
        plain = pa.schema([(item.name, _plain(item.type)) for item in records.schema])
        made = partial(_as_lines, plain)
        with path.open("wb") as file:
            file.write(_lines(plain, records.schema.empty_table(), names=True))
            for lines in in_order(made, records.groups, threads=default_threads(), cells=_cells):
                file.writelines(lines)
                lines.clear()  # before the next are waited for


CSV: Final = CsvFormat()


def _cells(group: pa.Table) -> int:
    return int(group.num_rows * group.num_columns)


def _as_lines(plain: pa.Schema, group: pa.Table) -> list[pa.Buffer]:
    """The lines of a group, some at a time: a buffer that grows is copied, over and over."""
    if len(group) and all(map(_is_of_labels, group.columns)):
        runs = _runs([column.chunk(0) for column in group.columns])
        return [_joined(runs, at) for at in range(0, len(group), LINES)]
    return [_lines(plain, group.slice(at, LINES)) for at in range(0, len(group), LINES)]


def _is_of_labels(column: pa.ChunkedArray) -> bool:
    """Whether a column is of few and short texts."""
    kind = column.type
    if not pa.types.is_dictionary(kind) or not pa.types.is_string(kind.value_type):
        return False
    labels = column.chunk(0).dictionary
    longest = pc.max(pc.binary_length(labels)).as_py() or 0
    return len(labels) < JOINED and not labels.null_count and longest <= LONGEST


def _runs(columns: Sequence[pa.DictionaryArray]) -> list[tuple[pa.Array, Codes]]:
    """Neighbours whose values are spelled together: all that they can be, and what records are.

    A record is then put together of few texts, and no value of it is looked at.
    """
    runs: list[tuple[list[str], Codes]] = []
    for place, column in enumerate(columns, start=1):
        end = "," if place < len(columns) else "\n"
        labels = [
            f'"{label.replace(QUOTE, 2 * QUOTE)}"{end}' for label in column.dictionary.to_pylist()
        ]
        codes = pc.fill_null(column.indices.cast(pa.uint16()), len(labels)).to_numpy()
        labels.append(end)  # a missing value goes without quotes
        if runs and len(runs[-1][0]) * len(labels) <= JOINED:
            before, places = runs.pop()
            codes = places * np.uint16(len(labels)) + codes
            labels = [one + other for one in before for other in labels]
        runs.append((labels, codes))
    return [(pa.array(labels), codes) for labels, codes in runs]


def _joined(runs: Sequence[tuple[pa.Array, Codes]], at: int) -> pa.Buffer:
    """Some lines: what stands behind each other in memory is what stands in the file."""
    texts = [labels.take(pa.array(codes[at : at + LINES])) for labels, codes in runs]
    lines = pc.binary_join_element_wise(*texts, "")
    return lines.buffers()[2].slice(0, pc.sum(pc.binary_length(lines)).as_py())


def _lines(plain: pa.Schema, group: pa.Table, *, names: bool = False) -> pa.Buffer:
    """Lines of records; the names of the columns are a line too."""
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    csv.write_csv(_texts(group).cast(plain), sink, csv.WriteOptions(include_header=names))
    return sink.getvalue()


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return pa.string()
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _texts(table: pa.Table) -> pa.Table:
    """Times as their labels are spelled: without a fraction where there is none."""
    for at, item in enumerate(table.schema):
        if pa.types.is_timestamp(item.type) and item.type.tz is None:
            table = table.set_column(at, item.name, comparable(table.column(at)))
    return table


@dataclass(frozen=True)
class _CsvTable:
    """A text file that has been read: its fields as text, and what their columns can be."""

    held: Spill
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
    held, last = Spill(), None
    for batch in _stream(path, dialect):
        held.add(batch)
        last = batch.columns[-1][-1].as_py() if batch.num_rows else last
        for name, column in zip(dialect.names, batch.columns, strict=True):
            seen[name].look(column, comma=dialect.delimiter != ",")
    _require_closed(path, dialect, last)
    return _CsvTable(held, seen)


def _require_closed(path: Path, dialect: Dialect, last: str | None) -> None:
    """Refuse a file that ends inside quotes: the reader would close them without a word.

    Such a file has an odd number of quotes and ends with a quote and its last value.
    """
    if last is None or dialect.escape or dialect.encoding.startswith("utf-16"):
        return
    quote, quotes, tail = dialect.quote.encode(), 0, b""
    value = last.rstrip("\r\n").replace(dialect.quote, dialect.quote * 2)
    ending = quote + value.encode(dialect.encoding.removesuffix("-sig"), errors="replace")
    if path.suffix.lower() not in COMPRESSED and not _tail(path).endswith(ending[-HEAD:]):
        return
    with pa.input_stream(str(path), compression="detect") as stream:
        while part := stream.read(BLOCK):
            quotes += part.count(quote)
            tail = (tail + part)[-len(ending) - 2 * BLOCK :]
    if quotes % 2 and tail.rstrip(b"\r\n").endswith(ending):
        raise InvalidTable(f"{path} ends inside quotes: it is broken or cut short.")


def _tail(path: Path) -> bytes:
    """The end of a file, without line ends."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 2 * HEAD))
        return file.read().rstrip(b"\r\n")


def _stream(path: Path, dialect: Dialect) -> Iterator[pa.RecordBatch]:
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
    """The records in order: lines up to the first quote by several threads, the rest by one.

    A quote may hold a line end, so that who meets one must have read all before it.
    """
    if path.suffix.lower() in COMPRESSED or dialect.escape or not _keeps_ascii(dialect.encoding):
        with pa.input_stream(str(path), compression="detect") as stream:
            yield from _by_one(stream, dialect)
        return
    with pa.OSFile(str(path)) as file:
        blocks = _Blocks(file, dialect)
        for table in in_order(
            partial(_block, dialect), blocks, threads=default_threads(), cells=_block_cells
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
        self.done = 0  # bytes of the blocks given out

    def __iter__(self) -> Iterator[tuple[bytes, bool]]:
        left = b""
        while self._file.size() >= 2 * BLOCK and (part := self._file.read(BLOCK)):
            end = part.rfind(b"\n", 0, -len(self._mark) or None) + 1
            if self._quote in part or not end:  # a longer line is refused by who reads the rest
                return
            if self._mark and part.startswith(self._mark, end):
                return
            block, left = left + part[:end], part[end:]
            begin, self.done = self.done, self.done + len(block)
            yield block, begin == 0


def _block_cells(block: tuple[bytes, bool]) -> int:
    return len(block[0]) // 8


def _block(dialect: Dialect, block: tuple[bytes, bool]) -> pa.Table:
    """The records of some lines."""
    from pyarrow import csv

    lines, first = block
    options = _options(dialect, first=first, threads=False, size=len(lines))
    return csv.read_csv(pa.BufferReader(lines), **options)


def _by_one(
    stream: pa.NativeFile, dialect: Dialect, *, first: bool = True, wrong: list[Any] | None = None
) -> Iterator[pa.RecordBatch]:
    """The reader's batches; with ``wrong`` the first bad row is noted."""
    from pyarrow import csv

    def note(row: Any) -> str:
        if wrong is not None:
            wrong.append(row)
        return "error"

    heard = note if wrong is not None else None
    options = _options(dialect, heard, first=first, threads=wrong is None, size=BLOCK)
    yield from csv.open_csv(stream, **options)


def _options(
    dialect: Dialect,
    note: Callable[[Any], str] | None = None,
    *,
    first: bool,
    threads: bool,
    size: int,
) -> dict[str, Any]:
    """What the library is told, of the first lines of a file or of others."""
    from pyarrow import csv

    return {
        "read_options": csv.ReadOptions(
            column_names=list(dialect.names),
            skip_rows=dialect.header_lines if first else 0,
            encoding="utf-8" if dialect.encoding == "utf-8-sig" else dialect.encoding,
            block_size=size,
            use_threads=threads,
        ),
        "parse_options": _parse_options(dialect, note),
        "convert_options": csv.ConvertOptions(
            column_types=dict.fromkeys(dialect.names, CODED),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    }


def _parse_options(dialect: Dialect, note: Callable[[Any], str] | None) -> Any:
    from pyarrow import csv

    return csv.ParseOptions(
        delimiter=dialect.delimiter,
        quote_char=dialect.quote,
        double_quote=dialect.escape is None,
        escape_char=dialect.escape or False,
        newlines_in_values=True,
        ignore_empty_lines=len(dialect.names) > 1,  # in a single column they are missing values
        invalid_row_handler=note,
    )
