"""What a release itself says against a stated alpha: a bet that anyone can make.

Where alpha holds, a combination k of keys that can be released at all is released D(k) >= c(k) /
alpha times on average, with c(k) the least chance above zero that any cell has to be released with
k: somebody has such a cell, and must hide. Combinations that are seen hardly ever, while all who
could have made them would make them often, speak against it. Records are drawn one by one, so for
fixed lambda and share w the stake

    product over k seen of  1 - w + w exp((1 - exp(-lambda)) c(k) / alpha - lambda Y(k))

has a mean of at most 1 where alpha holds. Proof: docs/proofs/spontaneous_recognition.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from pramana.matrices.mechanism import Mechanism, Step
from pramana.table.cells import cell_codes, cell_numbers
from pramana.table.counts import Counts
from pramana.types import FloatArray

__all__ = ["log_stake"]

RATES = (0.25, 0.5, 1.0, 2.0, 4.0)
SHARES = (0.003, 0.03, 0.3, 1.0)
"""What is bet at once: how strongly, and on what share of the combinations."""

MOST_CHOICES = 200
MOST_ENTRIES = 4_000_000
MOST_CELLS = 1_000_000
"""Choices of keys, entries of all matrices and combinations of a step's keys that are looked at."""

MOST_WORK = 200_000_000
"""Entries that are looked at over all choices, the first ones first: a second or two."""

HAIR = 1 - 1e-9
"""Chances are added in floating numbers here: so much less than they come out is taken."""


def log_stake(
    mechanism: Mechanism, released: Counts, choices: Sequence[Sequence[str]], alpha: float
) -> float:
    """The logarithm of the stake, the mean of those of all choices, rates and shares.

    Args:
        mechanism: the published matrices.
        released: how many released records each combination of keys has.
        choices: keys that are looked at together.
        alpha: what is stated.
    """
    entries = sum(len(step.labels) ** 2 * len(step.matrices) for step in mechanism.steps)
    if not alpha or not 0 < entries <= MOST_ENTRIES:
        return 0.0
    chances = [[matrix.values for matrix in step.matrices] for step in mechanism.steps]
    found = [
        _stakes(least / alpha * HAIR, own.numbers.astype(np.float64))
        for keys in choices[: min(MOST_CHOICES, max(MOST_WORK // entries, 1))]
        if (least := _least(mechanism, chances, own := released.margin(*keys))) is not None
    ]
    if not found:
        return 0.0
    stakes = np.concatenate(found)
    return float(np.logaddexp.reduce(stakes) - math.log(len(stakes)))


def _stakes(mean: FloatArray, seen: FloatArray) -> FloatArray:
    """One for each rate and share, over all combinations that are seen."""
    found = []
    for rate, share in product(RATES, SHARES):
        gain = -math.expm1(-rate) * mean - rate * seen
        rest = -math.inf if share == 1 else math.log1p(-share)
        found.append(float(np.logaddexp(rest, math.log(share) + gain).sum()))
    return np.array(found)


def _least(
    mechanism: Mechanism, chances: Sequence[Sequence[FloatArray]], seen: Counts
) -> FloatArray | None:
    """Of each combination seen, the least chance above zero of any cell; none where too large."""
    least = np.ones(len(seen.numbers))
    for step, own in zip(mechanism.steps, chances, strict=True):
        places = [at for at, name in enumerate(seen.columns) if name in step.columns]
        if not places:
            continue
        sizes = [seen.sizes[at] for at in places]
        if math.prod(sizes) > MOST_CELLS:
            return None
        table = _least_of(step, own, [seen.columns[at] for at in places], seen)
        least *= table[cell_numbers([seen.cells[:, at] for at in places], sizes)]
    return least


def _least_of(
    step: Step, matrices: Sequence[FloatArray], names: Sequence[str], seen: Counts
) -> FloatArray:
    """The same of some columns of a step, by the numbers of their combinations; 0 if none is."""
    labels = [seen.labels[seen.columns.index(name)] for name in names]
    axes = [step.columns.index(name) for name in names]
    cells = [tuple(cell[axis] for axis in axes) for cell in step.cells]
    where = cell_numbers(list(cell_codes(labels, cells)), [len(own) for own in labels])
    order = np.argsort(where, kind="stable")
    there, first = np.unique(where[order], return_index=True)
    least = np.full(len(there), np.inf)
    for matrix in matrices:
        chances = np.add.reduceat(matrix[:, order], first, axis=1)
        least = np.minimum(least, np.where(chances > 0, chances, np.inf).min(axis=0))
    table = np.zeros(math.prod(len(own) for own in labels))
    table[there] = np.where(np.isinf(least), 0.0, least)
    return table
