"""Files of R as R itself saves them, byte by byte: rdata writes no attributes of columns.

The form is that of R Internals, 1.8: flags, values, then a list of pairs of attributes.
"""

from __future__ import annotations

import gzip
import struct
from dataclasses import dataclass, field
from typing import Any

PAIRS, SYMBOL, CHARS, WHOLE, REAL, TEXTS, VECTOR, END = 2, 1, 9, 13, 14, 16, 19, 254
IS_OBJECT, HAS_ATTRIBUTES, HAS_TAG, UTF8 = 0x100, 0x200, 0x400, 0x8000
NA = struct.unpack(">d", bytes.fromhex("7ff00000000007a2"))[0]


@dataclass
class Vector:
    """Values of R with their attributes; texts, numbers, or vectors."""

    values: list[Any]
    about: dict[str, Vector] = field(default_factory=dict)

    def with_(self, **about: Any) -> Vector:
        """With attributes; a dot in a name is an underscore here, as is one that ends it."""
        named = {name.rstrip("_"): own for name, own in about.items()}
        return Vector(self.values, self.about | {n: _vector(own) for n, own in named.items()})


def _vector(value: Any) -> Vector:
    if isinstance(value, Vector):
        return value
    return Vector(list(value) if isinstance(value, list | tuple) else [value])


def named(values: dict[str, Any]) -> Vector:
    """Values with a name each."""
    return Vector(list(values.values())).with_(names=list(values))


def frame(names: list[str], columns: list[Vector]) -> Vector:
    """A data frame as tibbles are saved, with the short form of row names."""
    rows = Vector([-(2**31), -len(columns[0].values)])
    about = {"names": Vector(list(names)), "row.names": rows}
    return Vector(list(columns), about | {"class": Vector(["tbl_df", "tbl", "data.frame"])})


def save_rds(path, value: Vector):
    """One object, as saveRDS."""
    path.write_bytes(gzip.compress(HEAD + _object(value)))
    return path


def save_rda(path, **objects: Vector):
    """Objects by name, as save."""
    path.write_bytes(gzip.compress(b"RDX2\n" + HEAD + _pairs(objects)))
    return path


HEAD = b"X\n" + struct.pack(">iii", 2, 0x40300, 0x20300)


def _object(own: Vector) -> bytes:
    kind, body = _body(own.values)
    flags = kind | (HAS_ATTRIBUTES if own.about else 0) | (IS_OBJECT if "class" in own.about else 0)
    return struct.pack(">ii", flags, len(own.values)) + body + (_pairs(own.about) if own.about
                                                                else b"")  # fmt: skip


def _body(values: list[Any]) -> tuple[int, bytes]:
    if isinstance(values[0], Vector):
        return VECTOR, b"".join(map(_object, values))
    if any(isinstance(own, str) for own in values):
        return TEXTS, b"".join(map(_chars, values))
    if all(isinstance(own, int) for own in values):
        return WHOLE, struct.pack(f">{len(values)}i", *values)
    return REAL, struct.pack(f">{len(values)}d", *(NA if own is None else own for own in values))


def _chars(text: str | None) -> bytes:
    if text is None:
        return struct.pack(">ii", CHARS, -1)
    return struct.pack(">ii", CHARS | UTF8 << 4, len(text.encode())) + text.encode()


def _pairs(own: dict[str, Vector]) -> bytes:
    each = (struct.pack(">ii", PAIRS | HAS_TAG, SYMBOL) + _chars(name) + _object(value)
            for name, value in own.items())  # fmt: skip
    return b"".join(each) + struct.pack(">i", END)
