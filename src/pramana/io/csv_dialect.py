"""Detect how a text file is written: encoding, delimiter, quotes, header.

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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from pramana.errors import InputError, InvalidTable, Notice
from pramana.io.base import distinct_names, require_distinct_names

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
    """

    encoding: str
    delimiter: str
    quote: str
    escape: str | None
    names: tuple[str, ...] = ()
    header_lines: int = 0

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
        raise InvalidTable(f"{path} is empty. A table needs a line of names and at least a record.")
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
        raise InvalidTable(f"{path} has a header and no records.")
    return Dialect(encoding, dialect.delimiter, quote, escape, names, header_lines)


def own_dialect(path: Path) -> tuple[Dialect, frozenset[str]]:
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
    fields = (found[1] for found in FIELD.finditer(text, 0, end))
    header = [next(fields, "") for _ in names]
    quoted: dict[int, bool] = {}  # by column, from its first field that is not empty
    for at, field in enumerate(fields):
        if field:
            quoted.setdefault(at % len(names), field[0] == '"')
        if len(quoted) == len(names):
            break
    lines = len(re.findall(r"\r\n|\r|\n", "".join(header))) + 1  # also those inside of names
    texts = frozenset(names[at] for at, is_quoted in quoted.items() if is_quoted)
    return Dialect("utf-8", ",", '"', None, tuple(names), lines), texts


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
        raise InvalidTable(f"The first line of {path} must name the columns, and none has a name.")
    names = [" ".join(name.split()) for name in header]
    if all(map(_is_number, names)):
        raise InvalidTable(
            f"The first line of {path} must name the columns, and it holds only numbers. Add names."
        )
    # Row numbers are often written under an empty name.
    return tuple(name or f"column_{at}" for at, name in enumerate(names, 1)), reader.line_num


def _unreadable_header(path: Path) -> InvalidTable:
    return InvalidTable(
        f"The first line of {path} must name the columns, and a name there does not end: look for "
        "a quote that is not closed."
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
        raise InputError(f"--encoding must be one that Python knows, such as cp1252, got '{name}'.")
    return codec.name


def _find_encoding(raw: bytes, path: Path) -> str:
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if raw.startswith(mark):
            return encoding
    zeros = raw[:1000].count(0)
    if zeros > len(raw[:1000]) // 3:  # Latin letters in two bytes, without a mark
        return "utf-16-le" if raw[1:2] == b"\0" else "utf-16-be"
    if zeros:
        raise InvalidTable(f"{path} is not a text file, whatever its ending says.")
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
        line, byte = first_undecodable(path, "utf-8")
        raise InvalidTable(
            f"{path} is not valid UTF-8 text: byte {byte:,} of line {line:,} cannot be decoded. "
            f"Correct it, or name the encoding of the file (--encoding {FALLBACK})."
        )
    warnings.warn(
        f"{path} is not UTF-8 text and is read as {FALLBACK} (Western European, of Windows). Name "
        "another encoding with --encoding.",
        Notice,
        stacklevel=2,
    )
    return FALLBACK


def first_undecodable(path: Path, encoding: str) -> tuple[int, int]:
    """The line, and the byte in it, that cannot be decoded; both count from one."""
    decoder = codecs.getincrementaldecoder(encoding)()
    decoded = 0
    pending = b""
    for chunk in (*_chunks(path), b""):
        pending += chunk
        try:
            decoder.decode(chunk, final=not chunk)
            good = len(pending) - len(decoder.getstate()[0])
        except UnicodeError as error:
            failed = error if isinstance(error, UnicodeDecodeError) else None
            start = failed.start if failed else 0
            good = max(0, len(pending) - len(failed.object if failed else pending) + start)
            decoded += good
            break
        decoded += good
        pending = pending[good:]
    lines, line_begin, position = 1, 0, 0
    for chunk in _chunks(path):
        part = chunk[: decoded - position]
        lines += part.count(b"\n")
        if (last := part.rfind(b"\n")) >= 0:
            line_begin = position + last + 1
        position += len(part)
    return lines, decoded - line_begin + 1


def _beginning(path: Path) -> bytes:
    return next(_chunks(path, HEAD), b"")


def _chunks(path: Path, size: int = CHUNK) -> Iterator[bytes]:
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            while chunk := bytes(stream.read(size)):
                yield chunk
    except (OSError, pa.ArrowInvalid, EOFError):
        raise InvalidTable(f"{path} cannot be read: it is broken or cut short.") from None
