"""How many true records stand in the release, over all randomised and all kept columns together.

Where margins are even, records that were never randomised have the tables of a release. But true
records are not spread evenly over all cells of all columns, kept ones included, and randomising
spreads them. Count, for each released record, the true records of the same cell, and add up: under
the matrices that is a sum of one independent term for each true record,

    T = sum_i b(kept_i, Y_i),   Y_i drawn from row x_i,   b = true records of a cell,

with known mean and variance, and Bernstein's inequality bounds both tails without any limit law.
The truth itself has T = sum of b**2: where that would pass, the test cannot tell, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pramana.matrices.mechanism import Mechanism, Step
from pramana.release.checks import Check
from pramana.release.paired import Pair, PairedRecords, joined
from pramana.types import FloatArray, IntArray

__all__ = ["standing"]

MOST_PAIRS = 20_000_000
"""Pairs of cells that are looked at; of larger tables the most frequent cells are."""


def standing(mechanism: Mechanism, records: PairedRecords, *, level: float) -> Iterator[Check]:
    """One test a step and one of all steps together, each beside all kept columns."""
    steps = [step for step in mechanism if step.matrix is not None]
    cells = {step.columns: records.cells(step) for step in steps}
    steps = [step for step in steps if cells[step.columns] is not None]
    groups = [[step] for step in steps] + ([steps] if len(steps) > 1 else [])
    for group in groups:
        pairs = [pair for step in group if (pair := cells[step.columns]) is not None]
        name = f"true records of {' x '.join(name for step in group for name in step.columns)}"
        yield _test(name, group, pairs, records.kept_together, level / len(groups))


def _test(
    name: str, steps: Sequence[Step], pairs: Sequence[Pair], kept: Pair | None, level: float
) -> Check:
    whole = joined([*pairs, *([] if kept is None else [kept])])
    assert whole is not None  # noqa: S101 - there is a step
    numbers = np.bincount(whole.before, minlength=whole.size).astype(np.float64)
    codes, first = np.unique(whole.before, return_index=True)
    places = [pair.before[first] for pair in pairs]
    group = np.zeros(len(codes), np.int64) if kept is None else kept.before[first]
    weights = _targets(numbers[codes], group)
    means, squares = _moments(steps, places, group, weights)
    mean = float(numbers[codes] @ means)
    variance = float(numbers[codes] @ np.maximum(squares - means**2, 0.0))
    score = np.zeros(whole.size)
    score[codes] = weights
    found, truth = float(score[whole.after].sum()), float(score[whole.before].sum())
    most = _reach(means, weights, group)
    if _chance(truth - mean, variance, most) >= level:
        return Check.stated(name, "cannot tell here: the truth itself would be as likely")
    chance = _chance(found - mean, variance, most)
    words = "as the matrices make them" if chance >= level else (
        "more than the matrices leave" if found > mean else "fewer than the matrices leave"
    )  # fmt: skip
    return Check.of(
        name,
        chance >= level,
        f"{words} ({found:,.0f} meetings with true records, {mean:,.0f} expected, "
        f"{truth:,.0f} in the truth, p <= {chance:.2g})",
    )


def _reach(means: FloatArray, weights: FloatArray, group: IntArray) -> float:
    """How far a term can be from its mean."""
    top = np.zeros(int(group.max(initial=0)) + 1)
    np.maximum.at(top, group, weights)
    return float(np.maximum(top[group] - means, means).max(initial=0.0))


def _targets(numbers: FloatArray, group: IntArray) -> FloatArray:
    """The records of each cell; none for the rarest, where there are too many pairs of cells."""
    sizes = np.bincount(group)
    if float((sizes.astype(np.float64) ** 2).sum()) <= MOST_PAIRS:
        return numbers
    most = max(1, int(MOST_PAIRS / len(numbers)))
    order = np.lexsort((-numbers, group))
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    rank = np.arange(len(order)) - starts
    weights = np.zeros_like(numbers)
    weights[order[rank < most]] = numbers[order[rank < most]]
    return weights


def _moments(
    steps: Sequence[Step], places: Sequence[IntArray], group: IntArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and mean square of the term of a record of each cell."""
    means, squares = np.zeros(len(weights)), np.zeros(len(weights))
    matrices = [step.matrix for step in steps if step.matrix is not None]
    alone = np.bincount(group)[group] == 1  # most often, where kept columns tell people apart
    stays = np.prod([m.diagonal[at[alone]] for m, at in zip(matrices, places, strict=True)], axis=0)
    means[alone], squares[alone] = stays * weights[alone], stays * weights[alone] ** 2
    values = [matrix.values for matrix in matrices]
    order = np.flatnonzero(~alone)
    order = order[np.argsort(group[order], kind="stable")]
    for own in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        aims = own[weights[own] > 0]
        for part in np.array_split(own, max(1, len(own) * len(aims) // 1_000_000)):
            chance = np.ones((len(part), len(aims)))
            for table, at in zip(values, places, strict=True):
                chance *= table[np.ix_(at[part], at[aims])]
            means[part] = chance @ weights[aims]
            squares[part] = chance @ weights[aims] ** 2
    return means, squares


def _chance(off: float, variance: float, most: float) -> float:
    """Bernstein: how likely a sum of independent terms, none above ``most``, is so far off."""
    off = abs(off)
    if off <= 1e-6 * max(1.0, most):
        return 1.0
    return min(1.0, 2 * math.exp(-(off**2) / 2 / (variance + most * off / 3)))
