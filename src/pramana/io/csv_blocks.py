"""Records of text files as they come: blocks of lines by several threads, the rest by one.

All are text, as dictionaries: each distinct value is looked at once a block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from pramana.base.workers import default_threads, in_order
from pramana.errors import InvalidTable
from pramana.io.base import COMPRESSED, broken
from pramana.io.csv_dialect import HEAD, Dialect

__all__ = ["CODED", "records_of", "require_closed"]

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
    """The records in order: lines up to the first quote by several threads, the rest by one.

    A quote may hold a line end, so that who meets one must have read all before it.
    """
    if path.suffix.lower() in COMPRESSED or dialect.escape or not _keeps_ascii(dialect.encoding):
        with pa.input_stream(str(path), compression="detect") as stream:
            yield from _by_one(stream, dialect)
        return
    with pa.OSFile(str(path)) as file:
        blocks = _Blocks(file, dialect)
        read = partial(_block, dialect, blocks)
        for table in in_order(read, blocks, threads=default_threads(), cells=_block_cells):
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


def _block_cells(block: _Block) -> int:
    return block.size // 8


def _block(dialect: Dialect, blocks: _Blocks, block: _Block) -> pa.Table:
    """The records of some lines."""
    from pyarrow import csv

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
    from pyarrow import csv

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
            check_utf8=False,  # of each value; see _in_utf8
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


def require_closed(path: Path, dialect: Dialect, last: str | None) -> None:
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
