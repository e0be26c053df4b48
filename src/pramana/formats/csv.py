"""Reading text files in streams, with types decided on the whole file.

A column becomes a number only if all of its values read as numbers and nothing is lost by
it: codes with leading zeros, a plus sign or more than 18 digits keep their column text, and so does
a name that speaks of postcodes, telephones or the like. NA and NaN are missing in a column of
numbers, and a value like any other in a column of text. An empty field is missing, unless it
stands in quotes in a column of text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramana.errors import InvalidTable
from pramana.formats.csv_dialect import Dialect, find_dialect
from pramana.table.opened import OpenedTable

__all__ = ["open_csv"]

BLOCK = 2**23
FALLBACKS = ("cp1252", "latin-1")  # the second reads any byte
INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
DECIMAL = r"^-?(0|[1-9][0-9]{0,17})?(\.[0-9]*)?([eE][-+]?[0-9]{1,3})?$"
GROUPED = r"^-?[1-9][0-9]{0,2}(,[0-9]{3})+$"  # 1,234 may be a thousand or one and a bit
HAS_DIGIT = r"[0-9]"
NOT_A_NUMBER = ("", "NA", "NaN", "nan", "N/A")
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

    def look(self, values: pa.Array, *, comma: bool) -> None:
        """Take more values into account."""
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
        self.integer &= pc.all(pc.match_substring_regex(values, INTEGER)).as_py()
        decimal = pc.and_(
            pc.match_substring_regex(values, DECIMAL), pc.match_substring_regex(values, HAS_DIGIT)
        )
        self.decimal = pc.all(decimal).as_py()

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


@dataclass(frozen=True)
class CsvTable:
    """A text file of known form."""

    path: Path
    dialect: Dialect
    seen: dict[str, Seen] = field(default_factory=dict)

    def open(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        """Batches of the named columns in their types."""
        del size  # the reader's blocks are cut by the caller
        direct = {name: self.seen[name].type for name in columns if self._direct(name)}
        text = pa.string()
        types = {name: direct.get(name, text) for name in columns}
        for batch in _stream(self.path, self.dialect, types, columns):
            arrays = [
                column if name in direct else _number(column, self.seen[name])
                for name, column in zip(columns, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _direct(self, name: str) -> bool:
        """Whether the reader itself can make the numbers."""
        seen = self.seen[name]
        return seen.type == pa.string() or not (seen.spelled or seen.comma)


def _number(column: pa.Array, seen: Seen) -> pa.Array:
    column = pc.utf8_trim_whitespace(column)
    absent = pc.is_in(column, value_set=pa.array(NOT_A_NUMBER, column.type))
    column = pc.if_else(absent, pa.scalar(None, column.type), column)
    return (_with_points(column) if seen.comma else column).cast(seen.type)


def open_csv(path: Path, *, text: Collection[str] = ()) -> OpenedTable:
    """Open a text file; ``text`` names columns that must stay text."""
    table, rows = _survey_in(path, find_dialect(path), text)
    if not rows:
        raise InvalidTable(f"{path} has a header and no records.")
    schema = pa.schema([(name, seen.type) for name, seen in table.seen.items()])
    return OpenedTable(schema, rows, "csv", path, table.open, delimiter=table.dialect.delimiter)


def _survey_in(path: Path, dialect: Dialect, text: Collection[str]) -> tuple[CsvTable, int]:
    """Survey the file in the first encoding that fits all of it."""
    others = FALLBACKS if dialect.encoding in ("utf-8", "cp1252") else ()
    for encoding in (dialect.encoding, *others):
        try:
            return _survey(path, replace(dialect, encoding=encoding), text)
        except UnicodeDecodeError:  # the beginning was plain, what follows is not
            continue
    raise InvalidTable(f"{path} is not {dialect.encoding} text to its end: it is broken.")


def _survey(path: Path, dialect: Dialect, text: Collection[str]) -> tuple[CsvTable, int]:
    """Read the file once, as text, to learn its types and its length."""
    seen = {name: Seen() for name in dialect.names}
    for name in dialect.names:
        if name in text or CODE_NAMES.search(name.lower()):
            seen[name].decimal = False
    coded = pa.dictionary(pa.int32(), pa.string())  # each distinct value is looked at once a block
    rows, last = 0, None
    for batch in _stream(path, dialect, dict.fromkeys(dialect.names, coded), dialect.names):
        rows += batch.num_rows
        last = batch.columns[-1][-1].as_py() if batch.num_rows else last
        for name, column in zip(dialect.names, batch.columns, strict=True):
            seen[name].look(column.dictionary, comma=dialect.delimiter != ",")
    _require_closed(path, dialect, last)
    return CsvTable(path, dialect, seen), rows


def _require_closed(path: Path, dialect: Dialect, last: str | None) -> None:
    """Refuse a file that ends inside quotes: the reader would close them without a word.

    Such a file has an odd number of quotes and ends with a quote and its last value.
    """
    if last is None or dialect.escape or dialect.encoding.startswith("utf-16"):
        return
    quote, quotes, tail = dialect.quote.encode(), 0, b""
    value = last.rstrip("\r\n").replace(dialect.quote, dialect.quote * 2)
    ending = quote + value.encode(dialect.encoding.removesuffix("-sig"), errors="replace")
    with pa.input_stream(str(path), compression="detect") as stream:
        while part := stream.read(BLOCK):
            quotes += part.count(quote)
            tail = (tail + part)[-len(ending) - 2 * BLOCK :]
    if quotes % 2 and tail.rstrip(b"\r\n").endswith(ending):
        raise InvalidTable(f"{path} ends inside quotes: it is broken or cut short.")


def _stream(
    path: Path, dialect: Dialect, types: dict[str, pa.DataType], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    try:
        yield from _reader(path, dialect, types, columns)
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError, EOFError) as error:
        # The library's own text shows the row, so none of it is passed on.
        if "UTF8" in str(error):
            raise UnicodeDecodeError(dialect.encoding, b"", 0, 1, "not in this encoding") from None
        raise _explained(path, dialect, types, columns) from None


def _explained(
    path: Path, dialect: Dialect, types: dict[str, pa.DataType], columns: Sequence[str]
) -> InvalidTable:
    """What is wrong with a file that could not be read, found by one thread that counts rows."""
    wrong: list[Any] = []
    try:
        for _ in _reader(path, dialect, types, columns, wrong=wrong):
            pass
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError, EOFError):
        if wrong:
            row = wrong[0]
            return InvalidTable(
                f"{path} must have {row.expected_columns} fields in every row, and row "
                f"{row.number} has {row.actual_columns}. The file may be broken or cut short."
            )
    return InvalidTable(f"{path} cannot be read to its end: it is broken or cut short.")


def _reader(
    path: Path,
    dialect: Dialect,
    types: dict[str, pa.DataType],
    columns: Sequence[str],
    *,
    wrong: list[Any] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The reader's batches; with ``wrong`` one thread reads and notes the first bad row."""
    from pyarrow import csv

    def note(row: Any) -> str:
        if wrong is not None:
            wrong.append(row)
        return "error"

    with pa.input_stream(str(path), compression="detect") as stream:
        yield from csv.open_csv(
            stream,
            read_options=csv.ReadOptions(
                column_names=list(dialect.names),
                skip_rows=dialect.header_lines,
                encoding="utf-8" if dialect.encoding == "utf-8-sig" else dialect.encoding,
                block_size=BLOCK,
                use_threads=wrong is None,
            ),
            parse_options=_parse_options(dialect, note),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=list(columns),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


def _parse_options(dialect: Dialect, note: Callable[[Any], str]) -> Any:
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
