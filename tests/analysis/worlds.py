"""Small worlds to estimate in: true tables, mechanisms, releases drawn at the level of counts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np

from pramana.analysis.layout import Layout, Moments
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Dense, UniformMixture

FOUR_WAY = (2, 18, 12, 3)


def columns(shape: Sequence[int]) -> dict[str, tuple[str, ...]]:
    """Labels of columns a, b, c, ... of the given sizes."""
    return {
        "abcdefgh"[place]: tuple(f"{'abcdefgh'[place]}{value}" for value in range(size))
        for place, size in enumerate(shape)
    }


def mixtures(shape: Sequence[int], retention: float) -> Mechanism:
    """One uniform mixture a column."""
    return Mechanism(
        tuple(
            Step((name,), UniformMixture.of(labels, retention=retention))
            for name, labels in columns(shape).items()
        )
    )


def layout_of(shape: Sequence[int], mechanism: Mechanism, by: str | None = None, **rest) -> Layout:
    """The layout for the columns named by single letters; by default all."""
    names = list(by) if by is not None else list(columns(shape))
    return Layout.of(names, labels=columns(shape), mechanism=mechanism, **rest)


def joint_step(seed: int = 0) -> Step:
    """Two columns (3 and 2 values) that move together; the cell (a2, b1) cannot exist."""
    rng = np.random.default_rng(seed)
    cells = tuple(
        (a, b) for a in ("a0", "a1", "a2") for b in ("b0", "b1") if (a, b) != ("a2", "b1")
    )
    values = 0.5 * np.eye(5) + 0.5 * rng.dirichlet(np.ones(5), size=5)
    return Step(("a", "b"), Dense.of(cells, values))


def kronecker(layout: Layout) -> np.ndarray:
    """The whole mechanism written out: the second road for everything that never forms it."""
    whole = np.eye(1)
    for axis in layout.axes:
        part = np.eye(axis.size) if axis.step is None else axis.step.matrix.values
        whole = np.kron(whole, part)
    return whole


def released(truth: np.ndarray, layout: Layout, rng: np.random.Generator, times: int = 1):
    """Released tables, one multinomial draw a true cell; shape (times, *layout.shape)."""
    probabilities = kronecker(layout)
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
    flat = np.zeros((times, prod(layout.shape)), dtype=np.int64)
    for cell, count in enumerate(truth.ravel()):
        if count:
            flat += rng.multinomial(int(count), probabilities[cell], size=times)
    return flat.reshape(times, *layout.shape)


def released_by_axis(truth: np.ndarray, layout: Layout, rng: np.random.Generator) -> np.ndarray:
    """One released table, axis after axis: for tables whose mechanism is too large to write out."""
    table = truth.astype(np.int64)
    for place, axis in enumerate(layout.axes):
        values = axis.step.matrix.values
        values = values / values.sum(axis=1, keepdims=True)
        moved = np.moveaxis(table, place, -1)
        result = sum(
            rng.multinomial(moved[..., value], values[value]) for value in range(axis.size)
        )
        table = np.moveaxis(result, -1, place)
    return table.astype(float)


def dependent_truth(
    seed: int,
    shape: Sequence[int] = FOUR_WAY,
    records: int = 100_000,
    strengths: Sequence[float] = (0.6, 0.3, 0.12, 0.08),
) -> np.ndarray:
    """A true table with dependence of every order, up to all columns at once.

    Log-probabilities are sums of Gaussian effects of every subset of columns; pairs of longer
    columns depend on each other through two hidden scores, as real columns do.
    """
    rng = np.random.default_rng(seed)
    logs = np.zeros(shape)
    for order, strength in zip(range(1, len(shape) + 1), strengths, strict=False):
        for subset in combinations(range(len(shape)), order):
            size = [shape[axis] if axis in subset else 1 for axis in range(len(shape))]
            if order == 2:
                first, second = subset
                left = rng.normal(size=(shape[first], 2))
                right = rng.normal(size=(2, shape[second]))
                logs = logs + strength * (left @ right).reshape(size)
            else:
                logs = logs + strength * rng.normal(size=size)
    shares = np.exp(logs)
    return rng.multinomial(records, (shares / shares.sum()).ravel()).reshape(shape)


def moments_of_counts(table):
    """Counts alone: every weight is 1."""
    counts = np.asarray(table, dtype=np.float64)
    return Moments(counts, counts, counts)


def moments_of_records(layout, cells, *, values=None, weights=None):
    """From records: codes (one row a record, in the order of ``layout.columns``), values."""
    rows = np.asarray(cells)
    one = np.ones(len(rows))
    w = one if weights is None else np.asarray(weights, dtype=np.float64)
    sums = [layout.table(rows, term) for term in (one, w, w * w)]
    if values is not None:
        y = np.asarray(values, dtype=np.float64)
        sums += [layout.table(rows, term) for term in (w * y, w * w * y, w * w * y * y)]
    return Moments(*sums)
