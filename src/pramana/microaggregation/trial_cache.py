"""Cache of groups and Gaussian draws for trial releases of the same records.

Every release and every attack shuffles its records before it groups them. Groups are therefore
computed for the records sorted by their values, and each caller puts them back into its order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np

from pramana.types import IntArray, Values

Made = TypeVar("Made")


@dataclass(frozen=True)
class _Shared:
    """What was made, by what it was made of."""

    held: dict[bytes, Any] = field(default_factory=dict)
    locks: dict[bytes, threading.Lock] = field(default_factory=dict)


_SHARED: ContextVar[_Shared | None] = ContextVar("shared groups", default=None)


@contextmanager
def shared_groups() -> Iterator[None]:
    """Inside, groups of the same records are formed once, whatever the keystream: for trials.

    So are draws of Gaussian dither, which cost as much.
    """
    token = _SHARED.set(_Shared())
    try:
        yield
    finally:
        _SHARED.reset(token)


def sharing() -> bool:
    """Whether groups and draws are shared here."""
    return _SHARED.get() is not None


def made_once(options: object, columns: Sequence[Values], make: Callable[[], Made]) -> Made:
    """What is made as asked of these columns; who comes while it is being made waits for it."""
    shared = _SHARED.get()
    if shared is None:
        return make()
    digest = blake2b(repr(options).encode())
    for column in columns:
        digest.update(column.tobytes())
    entry = digest.digest()
    with shared.locks.setdefault(entry, threading.Lock()):
        if entry not in shared.held:
            shared.held[entry] = make()
    made: Made = shared.held[entry]
    return made


def order_of_values(columns: Sequence[Values]) -> IntArray:
    """The records by their values: the same values in the same places, however they came."""
    return np.lexsort(columns[::-1])


def put_back(values: IntArray, order: IntArray) -> IntArray:
    """What belongs to the records in that order, in the order that they came in."""
    back = np.empty_like(values)
    back[order] = values
    return back
