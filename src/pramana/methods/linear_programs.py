"""Linear programs: small ones, of which a design solves hundreds, and none of them twice."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pramana.types import FloatArray

FEW: Final = 1_000
"""Up to so many variables the quicker of two doors to the same solver is ``milp``."""

KEPT, MOST_VARIABLES = 200, 15_000
"""So many answers, to no larger programs: a design, a release and its check ask for the same."""

_ANSWERS: dict[bytes, Any] = {}
_LOCK: Final = threading.Lock()


def least_cost(
    cost: FloatArray,
    rows: Any,
    least: FloatArray | float,
    most: FloatArray,
    *,
    low: FloatArray,
    high: FloatArray,
) -> FloatArray | None:
    """The x of least cost with low <= x <= high and, of sparse rows, least <= A x <= most.

    A row has no least (minus infinity) or is an equation; nothing comes of a program that no x
    meets. The same program reaches the same solver by ``milp``, with nothing that must be whole,
    and by ``linprog``, which wants equations last. Of few variables the second takes twice as long
    around it as the solver itself, of many the first asks each whether it must be whole.
    """
    door = _by_milp if len(cost) <= FEW else _by_linprog
    x = solved_once(door, cost, rows, np.broadcast_to(least, most.shape), most, low, high).x
    return None if x is None else np.array(x)


@dataclass(frozen=True, eq=False)
class _Found:
    """All that is kept of an answer, of which prices and slacks are several times as much."""

    x: FloatArray | None

    @classmethod
    def of(cls, answer: Any) -> _Found:
        return cls(answer.x if answer.status == 0 else None)


def _by_milp(cost: FloatArray, rows: Any, *ends: FloatArray) -> _Found:
    from scipy.optimize import Bounds, LinearConstraint, milp

    least, most, low, high = ends
    asked = LinearConstraint(rows, least, most)
    return _Found.of(milp(cost, constraints=asked, bounds=Bounds(low, high)))


def _by_linprog(cost: FloatArray, rows: Any, *ends: FloatArray) -> _Found:
    from scipy.optimize import linprog

    least, most, low, high = ends
    below, equal = (np.flatnonzero(own) for own in (least != most, least == most))
    asked = [own for which in (below, equal) for own in (rows[which], most[which])]
    return _Found.of(linprog(cost, *asked, bounds=np.column_stack([low, high]), method="highs"))


def solved_once(solve: Callable[..., Any], cost: FloatArray, *rows: Any, **options: Any) -> Any:
    """What a solver answers to a program; one that was solved lately is not solved again.

    A program is known by all its numbers. Whoever is answered leaves the answer as it is.
    """
    if len(cost) > MOST_VARIABLES:
        return solve(cost, *rows, **options)
    known = hashlib.sha256(solve.__name__.encode())
    for part in (cost, *rows, *(own for pair in sorted(options.items()) for own in pair)):
        known.update(_bytes(part))
    with _LOCK:
        answer = _ANSWERS.pop(known.digest(), None)
    if answer is None:
        answer = solve(cost, *rows, **options)
    with _LOCK:
        _ANSWERS[known.digest()] = answer  # the last to be forgotten
        while len(_ANSWERS) > KEPT:
            del _ANSWERS[next(iter(_ANSWERS))]
    return answer


def _bytes(part: Any) -> bytes:
    """All that a part of a program says: an array, a sparse one by its columns, or an option."""
    if isinstance(part, np.ndarray):
        return f"{part.shape}{part.dtype.str}".encode() + part.tobytes()
    if hasattr(part, "indptr"):
        kind = f"{part.shape}{part.format}".encode()
        return kind + b"".join(map(_bytes, (part.indptr, part.indices, part.data)))
    return repr(part).encode()
