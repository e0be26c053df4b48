"""The owner's check of a column with noise: is what was added what the certificate says?

The sum of n released values is that of the true ones plus n draws of variance s^2, and the sum of
their squares grows by n s^2 in the mean. Both are compared with their own law, by the central limit
theorem, so that a release without noise and one with another scale are found.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pramana.release.checks import Check
from pramana.table.opened import OpenedTable, is_whole
from pramana.table.recoding import Noise
from pramana.table.schema import Column
from pramana.types import FloatArray

__all__ = ["with_noise_check"]

FOURTHS = {"laplace": 24.0, "normal": 3.0, "uniform": 1 / 5}
"""Fourth moments of noise of a scale of one."""


def with_noise_check(
    column: Column, released: OpenedTable, original: OpenedTable, *, level: float
) -> Check:
    """Sum and sum of squares against the stated distribution; ``level`` is of a false alarm."""
    from scipy.stats import norm

    name, noise = f"{column.name} with its noise", column.recoding.noise
    after, before = (_values(table, column.name) for table in (released, original))
    if noise is None or len(after) != len(before):
        return Check.of(name, False, "other values are missing than in the original")
    if len(before) and np.array_equal(np.sort(before), np.sort(after)):
        return Check.of(name, False, "the very values of the original: no noise was added")
    whole = is_whole(released.schema.field(column.name).type)
    shift, squares = _deviations(noise, before, after, whole=whole)
    limit = float(norm.isf(level / 4))
    good = abs(shift) <= limit and abs(squares) <= limit
    words = "fit the stated noise" if good else "do not fit the stated noise"
    return Check.of(
        name,
        good,
        f"sum and squares {words} ({shift:+.1f} and {squares:+.1f} standard deviations, "
        f"{limit:.1f} allowed)",
    )


def _values(table: OpenedTable, name: str) -> FloatArray:
    column = table.to_arrow([name]).column(0)
    values: FloatArray = np.asarray(
        column.cast(pa.float64(), safe=False).drop_null(), dtype=np.float64
    )
    return values[np.isfinite(values)]


def _deviations(
    noise: Noise, before: FloatArray, after: FloatArray, *, whole: bool
) -> tuple[float, float]:
    """How far sum and sum of squares are from their means, in standard deviations.

    Values are taken around the mean of the truth, which keeps squares small.
    """
    n = len(before)
    if not n:
        return 0.0, 0.0
    variance = noise.spread(whole=whole)
    rounding = variance - noise.variance
    fourth = FOURTHS[noise.distribution] * float(noise.scale) ** 4 + 6 * noise.variance * rounding
    centre = float(before.mean())
    x, y = before - centre, after - centre
    shift = float(y.sum() - x.sum()) / np.sqrt(n * variance)
    # Var (x + e)^2 = 4 x^2 s^2 + E e^4 - s^4, as the noise is symmetric.
    spread = 4 * variance * float((x**2).sum()) + n * max(fourth - variance**2, 0.0)
    spread += n * rounding**2
    squares = (float((y**2).sum()) - float((x**2).sum()) - n * variance) / np.sqrt(spread)
    return shift, squares
