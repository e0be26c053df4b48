"""In which encoding a text file is written: what all of it supports, or what one is told.

UTF-8 shows itself: text in another encoding is hardly ever valid by chance. So a file that is UTF-8
to its end is read as that, and one that has letters of UTF-8 and a byte that is none is broken, not
written otherwise: read as cp1252 it would come out wrong without a word. Only a file without any
letter of UTF-8 is taken for cp1252, if every byte has a meaning there.
"""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa

from pramana.errors import InputError, InvalidTable, Notice

__all__ = ["first_wrong", "require_encoding", "without_utf8"]

CHUNK: Final = 2**22
FALLBACK: Final = "cp1252"
LETTER: Final = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
"""A letter of UTF-8 in several bytes."""


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
        meant = meant and _decodes(chunk)
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


def _decodes(chunk: bytes) -> bool:
    try:
        chunk.decode(FALLBACK)
    except UnicodeDecodeError:
        return False
    return True


def _chunks(path: Path) -> Iterator[bytes]:
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            while chunk := bytes(stream.read(CHUNK)):
                yield chunk
    except (OSError, pa.ArrowInvalid, EOFError):
        raise InvalidTable(f"{path} cannot be read: it is broken or cut short.") from None
