"""Small linear programs, of which a design solves hundreds."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pramana.types import FloatArray

__all__ = ["least_cost"]

FEW: Final = 1_000
"""Up to so many variables the quicker of two doors to the same solver is ``milp``."""


def least_cost(
    cost: FloatArray,
    upper: tuple[Any, FloatArray],
    equal: tuple[Any, FloatArray] | None,
    *,
    low: FloatArray,
    high: FloatArray,
) -> FloatArray | None:
    """The x of least cost with low <= x <= high, A x <= b and, of ``equal``, A x = b; or nothing.

    The same program reaches the same solver by ``milp``, with nothing that must be whole, and by
    ``linprog``. Of few variables the second takes twice as long around it as the solver itself, of
    many the first asks each whether it must be whole.
    """
    from scipy.optimize import Bounds, LinearConstraint, linprog, milp

    if len(cost) <= FEW:
        rows = [LinearConstraint(upper[0], -np.inf, upper[1])]
        rows += [LinearConstraint(equal[0], equal[1], equal[1])] if equal else []
        answer = milp(cost, constraints=rows, bounds=Bounds(low, high))
    else:
        between = np.column_stack([low, high])
        answer = linprog(cost, *upper, *(equal or ()), bounds=between, method="highs")
    return None if answer.x is None or answer.status != 0 else np.asarray(answer.x)
