"""Canonical JSON: written in one form only, and read strictly from files that anyone may have made.

Files are parsed by the standard library, which sees every name of an object, so that a repeated
name is refused; msgspec then checks types and names against structs.
"""

from __future__ import annotations

import json
from typing import Any, Final, TypeVar

import msgspec

from pramana.errors import NotARelease, harmless
from pramana.types import Entries, Form

MOST_BYTES: Final = 2**28
"""Larger files are not read: 256 MiB hold a dense matrix of 3,000 values."""

MOST_DIGITS: Final = 31
"""Codes may be integers of more than 64 bits; they are released as texts."""

MOST_SHOWN: Final = 200
"""Letters of an error of msgspec, which may quote a name from the file."""

T = TypeVar("T")


class Struct(msgspec.Struct, forbid_unknown_fields=True):
    """An object of a file with exactly these names and types."""


def canonical(form: Entries) -> bytes:
    """The canonical bytes of a JSON object: names in order, one value a line."""
    text = json.dumps(form, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def parse(content: bytes, *, what: str) -> Any:
    """The value in a JSON file; refused if it is no JSON, repeats a name or cannot be written."""
    if len(content) > MOST_BYTES:
        raise NotARelease(f"{what} must have at most {MOST_BYTES:,} bytes.")
    try:
        value = json.loads(
            content.decode("utf-8"), object_pairs_hook=_unique_names, parse_int=_bounded
        )
        # Lone surrogates, NaN and numbers that overflow to infinity have no JSON in UTF-8.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except NotARelease as error:
        raise NotARelease(f"{what} {error}") from None
    except (ValueError, RecursionError):
        raise NotARelease(f"{what} must be a JSON file, and is not.") from None
    return value


def _unique_names(pairs: list[tuple[str, Any]]) -> Form:
    form = dict(pairs)
    if len(form) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in form if names.count(name) > 1)
        raise NotARelease(f"must give each name once, and repeats {repeated[:80]!r}.")
    return form


def _bounded(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError("too many digits")
    return int(digits)


def converted(value: Any, kind: type[T], *, what: str) -> T:
    """The value as a struct, or as another type that msgspec checks."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise NotARelease(f"{what} is not valid: {harmless(str(error)[:MOST_SHOWN])}.") from None
