"""A first guess of a table from its one- and two-way margins, with the noise taken out.

The Pearson residuals of a released two-way table are noise of variance (nearly) 1 in every entry,
whatever the matrices, plus what is left of the dependence. Real dependence lives in a few
directions, noise in all of them; so the singular values of the residuals are shrunk by the rule
that is optimal under white noise [Gavish]. Undoing the matrices then amplifies little noise. The
two-way tables are put together by iterative proportional fitting, which adds nothing else: the
result is a log-linear model with pairwise terms.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from pramana.estimation.channels import Channels
from pramana.estimation.em import divide, fit_margins, margin_of
from pramana.estimation.layout import FloatArray

__all__ = ["first_guess", "onto_simplex", "shrink_singular_values"]

WIDEST = 600
"""Singular values of a pair are only taken up to this many values on its smaller side."""

INDEPENDENT_SHARE = 0.1
"""What the guess keeps of the table of independence, so that no cell starts at 0."""


def onto_simplex(estimate: FloatArray, total: float) -> FloatArray:
    """The nearest non-negative table with the given total.

    Subtracts one constant from all entries and cuts at 0. Unlike cutting and rescaling it does
    not take from large entries more than from small ones.

    >>> onto_simplex(np.array([6.0, 5.0, -1.0]), 10.0)
    array([5.5, 4.5, 0. ])
    """
    flat = np.sort(estimate.ravel())[::-1]
    excess = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    last = int(np.flatnonzero(flat > excess)[-1]) if total > 0 else 0
    return np.asarray(np.maximum(estimate - excess[last], 0), dtype=np.float64)


def shrink_singular_values(values: FloatArray, rows: int, columns: int) -> FloatArray:
    """Singular values of signal plus noise of variance 1, shrunk for the least squared error."""
    longer = max(rows, columns, 1)
    ratio = min(rows, columns) / longer
    scaled = values / np.sqrt(longer)
    inside = np.maximum((scaled**2 - ratio - 1) ** 2 - 4 * ratio, 0)
    shrunk = divide(np.sqrt(inside), scaled) * np.sqrt(longer)
    return np.where(scaled > 1 + np.sqrt(ratio), shrunk, 0)


def first_guess(released: FloatArray, channels: Channels) -> FloatArray:
    """A positive table that fits all denoised two-way margins of the truth."""
    total, ways = float(released.sum()), released.ndim
    singles = [_single(released, channels, axis) for axis in range(ways)]
    independent = np.full(released.shape, total)
    for single in singles:
        independent = independent * (single / max(total, 1e-300))
    guess = independent
    pairs = list(combinations(range(ways), 2))
    if pairs:
        targets = [_pair(released, channels, pair, singles) for pair in pairs]
        guess = _assemble(independent, targets, pairs)
    floor = 1e-6 * total / released.size  # EM can never leave an exact 0 again
    return (1 - INDEPENDENT_SHARE) * guess + INDEPENDENT_SHARE * independent + floor


def _assemble(
    start: FloatArray, targets: list[FloatArray], pairs: list[tuple[int, int]]
) -> FloatArray:
    table, total = start, float(start.sum())
    for _ in range(20 if start.size > 100_000 else 60):
        new = fit_margins(table, targets, pairs)
        moved = float(np.abs(new - table).sum())
        table = new
        if moved < 1e-3 * total:
            break
    return table


def _single(released: FloatArray, channels: Channels, axis: int) -> FloatArray:
    """The margin of one axis, non-negative, in a shape that broadcasts; shrunk if it is noise."""
    places = channels.closure((axis,))
    sub = Channels(channels.layout.only(places))
    seen = np.squeeze(
        margin_of(released, places), tuple(a for a in range(released.ndim) if a not in places)
    )
    estimate = _marginal(sub.solve(seen), places, (axis,))
    total = float(released.sum())
    shape = [1] * released.ndim
    shape[axis] = estimate.size
    even = np.full(estimate.size, total / estimate.size)
    variance = np.maximum(_marginal(sub.spread(seen), places, (axis,)) - estimate, 0)
    # [James-Stein]: towards even counts by as much as noise alone would have moved them away.
    distance = float(((estimate - even) ** 2).sum())
    keep = max(0.0, 1 - float(variance.sum()) / distance) if distance > 0 else 0.0
    shrunk = even + keep * (estimate - even)
    return onto_simplex(shrunk, total).reshape(shape)


def _marginal(table: FloatArray, places: tuple[int, ...], keep: tuple[int, ...]) -> FloatArray:
    out = tuple(at for at, place in enumerate(places) if place not in keep)
    return np.asarray(table.sum(axis=out), dtype=np.float64)


def _pair(
    released: FloatArray, channels: Channels, pair: tuple[int, int], singles: list[FloatArray]
) -> FloatArray:
    """The two-way margin, denoised, non-negative, with the given one-way margins."""
    rows, columns = (singles[axis].ravel() for axis in pair)
    total = float(released.sum())
    places = channels.closure(pair)
    sub = Channels(channels.layout.only(places))
    out = tuple(a for a in range(released.ndim) if a not in places)
    seen = released.sum(axis=out)
    if places == pair:
        dependence = _denoised(seen, sub, np.outer(rows, columns) / max(total, 1e-300))
    else:  # a matrix that depends on a third axis: the residuals are not white, so they stay
        dependence = _marginal(sub.solve(seen), places, pair)
        dependence = dependence - np.outer(dependence.sum(1), dependence.sum(0)) / total
    table = np.maximum(np.outer(rows, columns) / max(total, 1e-300) + dependence, 0)
    for _ in range(50):
        table = table * divide(rows, table.sum(axis=1))[:, None]
        factors = divide(columns, table.sum(axis=0))
        table = table * factors
        if np.abs(factors * (columns > 0) - (columns > 0)).max() < 1e-4:
            break
    shape = [1] * released.ndim
    shape[pair[0]], shape[pair[1]] = table.shape
    return table.reshape(shape)


def _denoised(seen: FloatArray, channels: Channels, independent: FloatArray) -> FloatArray:
    """Released minus independent, denoised, and undone."""
    total = float(seen.sum())
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / max(total, 1e-300)
    scale = np.sqrt(expected)
    residuals = divide(seen - expected, scale)
    # Values that stay put for sure make no noise: columns released as they are, retention near 1.
    noise = 1 - float(channels.squared(independent).sum()) / max(total, 1e-300)
    if noise > 1e-9:
        residuals = _shrunk(residuals / np.sqrt(noise)) * np.sqrt(noise)
    return channels.solve(residuals * scale)


def _shrunk(residuals: FloatArray) -> FloatArray:
    rows, columns = residuals.shape[0] - 1, residuals.shape[1] - 1
    if min(residuals.shape) > WIDEST:  # one factor for all of it [James-Stein]
        power = float((residuals**2).sum())
        return residuals * max(0.0, 1 - rows * columns / power) if power > 0 else residuals
    left, values, right = np.linalg.svd(residuals, full_matrices=False)
    return np.asarray((left * shrink_singular_values(values, rows, columns)) @ right)
