"""Detect how a text file is written: encoding, delimiter, quotes, header.

Delimiter, quotes and header are detected from the beginning of the file. UTF-8 is detected from all
of it: text in another encoding is hardly ever valid UTF-8 by chance. A file with letters of UTF-8
and a byte that is none is broken, not written otherwise: read as cp1252 it would come out wrong
without a word. Only a file without any letter of UTF-8 is taken for cp1252, if every byte has a
meaning there.
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
from typing import Final

import pyarrow as pa

from pramana.errors import InputError, InvalidTable, Notice
from pramana.io.base import distinct_names, require_distinct_names

HEAD = 2**18
ENOUGH = 2**15
"""Letters by which delimiters are compared."""

END = r"(?m)'(?=[,;\t|\r]|$)"
FIELD = re.compile(r'("(?:[^"]|"")*"|[^",\n]*)(?:,|\n|\Z)')
DELIMITERS = (",", ";", "\t", "|")
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

CHUNK: Final = 2**22
FALLBACK: Final = "cp1252"
LETTER: Final = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
"""A letter of UTF-8 in several bytes."""


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
    names: tuple[str, ...]
    header_lines: int


def own_dialect(path: Path) -> tuple[Dialect, frozenset[str]]:
    """The dialect of a file that this program wrote, and its columns of text, which are quoted."""
    raw = _beginning(path)
    text = io.StringIO(raw.decode("utf-8", errors="replace"), newline="")
    try:
        header = next(csv.reader(text), [])
    except csv.Error:
        raise _no_header(path) from None
    require_distinct_names(header, where=str(path))
    fields = _raw_fields(raw)
    first = [next(fields, "") for _ in header]
    texts: dict[int, bool] = {}
    for at, field in enumerate(fields):
        if field:
            texts.setdefault(at % len(header), field[0] == '"')
        if len(texts) == len(header):
            break
    lines = len(re.findall(r"\r\n|\r|\n", "".join(first))) + 1  # also those inside of names
    names = tuple(header)
    found = Dialect("utf-8", ",", '"', None, names, lines)
    return found, frozenset(names[at] for at, quoted in texts.items() if quoted)


def _raw_fields(raw: bytes) -> Iterator[str]:
    """The fields of whole rows as they stand in the file."""
    text = codecs.getincrementaldecoder("utf-8")(errors="replace").decode(raw)
    end = len(text) if len(raw) < HEAD else text.rfind("\n") + 1
    return (found[1] for found in FIELD.finditer(text, 0, end))


def find_dialect(path: Path, *, encoding: str | None = None, distinct: bool = True) -> Dialect:
    """How a file is written; duplicate names are refused or numbered if ``distinct``."""
    raw = _beginning(path)
    encoding = encoding or _encoding(raw, path)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(raw)
    if not text.strip():
        raise InvalidTable(f"{path} is empty. A table needs a line of names and at least a record.")
    lines = text if len(raw) < HEAD else text[: text.rfind("\n") + 1] or text
    quote = _quote(lines)
    escape = _escape(lines, quote)
    fits = {delimiter: _fitness(lines, delimiter, quote, escape) for delimiter in DELIMITERS}
    best = max(DELIMITERS, key=fits.__getitem__)
    delimiter = best if fits[best] > (0.0, 0) else ","
    names, header_lines = _header(lines, delimiter, quote, escape, path)
    if distinct:
        names = tuple(distinct_names(names, where=str(path)))
    if len(raw) < HEAD and not any(line.strip() for line in lines.splitlines()[header_lines:]):
        raise InvalidTable(f"{path} has a header and no records.")
    return Dialect(encoding, delimiter, quote, escape, names, header_lines)


def _beginning(path: Path) -> bytes:
    return next(_chunks(path, HEAD), b"")


def _encoding(raw: bytes, path: Path) -> str:
    for mark, encoding in MARKS.items():
        if raw.startswith(mark):
            return encoding
    zeros = raw[:1000].count(0)
    if zeros > len(raw[:1000]) // 3:  # Latin letters in two bytes, without a mark
        return "utf-16-le" if raw[1:2] == b"\0" else "utf-16-be"
    if zeros:
        raise InvalidTable(f"{path} is not a text file, whatever its ending says.")
    return "utf-8" if _fits(raw, "utf-8") else without_utf8(path)


def _fits(raw: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(raw)  # a letter may be cut at the end
    except UnicodeDecodeError:
        return False
    return True


def _quote(text: str) -> str:
    """The double quote, unless single ones stand where only quotes of fields can stand."""
    if '"' in text:
        return '"'
    single, double = (max(_fitness(text, d, q, None) for d in DELIMITERS) for q in ("'", '"'))
    if single != double:
        return "'" if single > double else '"'
    opening, closing = (len(re.findall(place, text)) for place in (r"(?m)(^|[,;\t|])'", END))
    return "'" if opening == closing > 0 else '"'


def _escape(text: str, quote: str) -> str | None:
    """The backslash, if quotes after one do not end their field; it may also be the last letter."""
    if f"\\{quote}" not in text:
        return None
    inside = rf"\\{quote}(?![{quote},;\t|\r\n]|\Z)"
    if re.search(inside, text):
        return "\\"
    without, with_ = (max(_fitness(text, d, quote, e) for d in DELIMITERS) for e in (None, "\\"))
    return "\\" if with_ > without else None


def _rows(text: str, delimiter: str, quote: str, escape: str | None) -> list[list[str]]:
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quotechar=quote,
        escapechar=escape,
        doublequote=escape is None,
    )
    try:
        return [row for row in reader if row]
    except csv.Error:  # a field too long: not this delimiter
        return []


def _fitness(text: str, delimiter: str, quote: str, escape: str | None) -> tuple[float, int]:
    """The share of rows that have as many fields as the header, and that number."""
    if len(text) > ENOUGH:
        text = text[: text.rfind("\n", 0, ENOUGH) + 1] or text
    rows = _rows(text, delimiter, quote, escape)
    width = len(rows[0]) if rows else 0
    if width < 2:
        return (0.0, 0)
    return (round(sum(len(row) == width for row in rows) / len(rows), 1), width)


def _header(
    text: str, delimiter: str, quote: str, escape: str | None, path: Path
) -> tuple[tuple[str, ...], int]:
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote, escapechar=escape
    )
    try:
        header = next((row for row in reader if any(field.strip() for field in row)), None)
    except csv.Error:  # a name longer than any
        raise _no_header(path) from None
    if header is None:
        raise InvalidTable(f"The first line of {path} must name the columns, and none has a name.")
    names = [" ".join(name.split()) for name in header]
    if all(_is_number(name) for name in names):
        raise InvalidTable(
            f"The first line of {path} must name the columns, and it holds only numbers. Add names."
        )
    # Row numbers are often written under an empty name.
    names = [name or f"column_{at}" for at, name in enumerate(names, 1)]
    return tuple(names), reader.line_num


def _no_header(path: Path) -> InvalidTable:
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


def require_encoding(name: str) -> str:
    """The encoding as Python calls it; refuses what is none of texts."""
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        found = None
    if found is None or not getattr(found, "_is_text_encoding", True) or found.name == "undefined":
        raise InputError(f"--encoding must be one that Python knows, such as cp1252, got '{name}'.")
    return found.name


def without_utf8(path: Path) -> str:
    """The encoding of a file that is not UTF-8, if all of it supports one guess only."""
    mixed, meant = False, True
    before = b""
    for chunk in _chunks(path):
        mixed = mixed or LETTER.search(before + chunk) is not None
        meant = meant and _fits(chunk, FALLBACK)
        before = chunk[-3:]
    if mixed or not meant:
        line, byte = first_wrong(path, "utf-8")
        raise InvalidTable(
            f"{path} is no UTF-8 text: byte {byte:,} of line {line:,} is not. Mend it, or say in "
            f"which encoding it is written (--encoding {FALLBACK})."
        )
    warnings.warn(
        f"{path} is no UTF-8 text and is read as {FALLBACK} (Western European, of Windows); if it "
        "is written otherwise, say so with --encoding.",
        Notice,
        stacklevel=2,
    )
    return FALLBACK


def first_wrong(path: Path, encoding: str) -> tuple[int, int]:
    """The line, and the byte of it, at which a text is not in an encoding; both count from one."""
    decoder = codecs.getincrementaldecoder(encoding)()
    lines, inside, held = 1, 0, b""
    for chunk in (*_chunks(path), b""):
        held += chunk
        try:
            text = decoder.decode(chunk, final=not chunk)
            good = len(held) - len(decoder.getstate()[0])
        except UnicodeError as error:
            begin = error.start if isinstance(error, UnicodeDecodeError) else 0
            whole = error.object if isinstance(error, UnicodeDecodeError) else held
            good = max(0, len(held) - len(whole) + begin)
            return _after(held[:good], lines, inside, plus=1)
        del text
        lines, inside = _after(held[:good], lines, inside)
        held = held[good:]
    return lines, inside + 1


def _after(content: bytes, lines: int, inside: int, *, plus: int = 0) -> tuple[int, int]:
    """Where one stands behind some more bytes."""
    breaks = content.count(b"\n")
    rest = len(content) - content.rfind(b"\n") - 1 if breaks else inside + len(content)
    return lines + breaks, rest + plus


def _chunks(path: Path, size: int = CHUNK) -> Iterator[bytes]:
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            while chunk := bytes(stream.read(size)):
                yield chunk
    except (OSError, pa.ArrowInvalid, EOFError):
        raise InvalidTable(f"{path} cannot be read: it is broken or cut short.") from None
