"""A test of independence with weights: Pearson's statistic, corrected for how shares really vary.

With weights, and after matrices were undone, the shares of a table vary otherwise than those of so
many independent people: Pearson's statistic of them is a sum of chi-squares with weights d, the
eigenvalues of what the shares' covariance is against that of people counted once. Divided by the
mean of the d and by how unlike they are, it is close to a chi-square of fewer degrees of freedom
[Rao84].
"""

from __future__ import annotations

import numpy as np

from pramana.errors import NotCovered, TooLarge
from pramana.estimation.channels import Channels
from pramana.estimation.contrasts import Influence
from pramana.estimation.moments import Moments
from pramana.types import FloatArray

__all__ = ["weighted_statistic"]

MOST_CELLS = 400
"""Of so many cells the covariance is written out."""


def weighted_statistic(moments: Moments, channels: Channels) -> tuple[float, float]:
    """The corrected statistic of the table of two columns, and its degrees of freedom."""
    counts = channels.solve(moments.w)
    found = Influence.of_counts(moments, channels, counts, "population")
    table = found.unbiased
    rows, columns = table.sum(axis=1) != 0, table.sum(axis=0) != 0
    if table.size > MOST_CELLS:
        raise TooLarge(
            f"With weights the test takes tables of up to {MOST_CELLS} cells, and this one has "
            f"{table.size:,}. Merge values, or test records with weighted=False."
        )
    kept = table[np.ix_(rows, columns)]
    if min(kept.shape) < 2:
        return 0.0, 0.0
    places = [(int(i), int(j)) for i in np.flatnonzero(rows) for j in np.flatnonzero(columns)]
    contrasts = []
    for place in places:
        one = np.zeros(table.shape)
        one[place] = 1.0
        contrasts.append(one)
    return _corrected(kept, found.estimated(contrasts, infer="population"), moments.count)


def _corrected(table: FloatArray, covariance: FloatArray, records: float) -> tuple[float, float]:
    total = float(table.sum())
    shares = table / total
    down, across = shares.sum(axis=1), shares.sum(axis=0)
    if total <= 0 or (down <= 0).any() or (across <= 0).any():
        raise NotCovered(
            "By the estimate some values of the two columns have no weight at all, so that there "
            "is no test. Merge rare values, or test records with weighted=False."
        )
    gap = (shares - np.outer(down, across))[:-1, :-1].ravel()
    slopes = _slopes(shares, down, across) @ _of_shares(shares) / total
    spread = records * slopes @ covariance @ slopes.T
    plain = np.kron(_simple(down), _simple(across))
    statistic = records * float(gap @ np.linalg.solve(plain, gap))
    effects = np.linalg.solve(plain, spread)
    first, second = float(np.trace(effects)), float(np.trace(effects @ effects))
    return statistic * first / second, first**2 / second


def _simple(margin: FloatArray) -> FloatArray:
    own = margin[:-1]
    return np.asarray(np.diag(own) - np.outer(own, own), dtype=np.float64)


def _of_shares(shares: FloatArray) -> FloatArray:
    """The derivative of shares by counts, times the total."""
    flat = shares.ravel()
    return np.asarray(np.eye(flat.size) - np.outer(flat, np.ones(flat.size)), dtype=np.float64)


def _slopes(shares: FloatArray, down: FloatArray, across: FloatArray) -> FloatArray:
    """The derivative of share - row times column by shares, of all but the last row and column."""
    height, width = shares.shape
    found = []
    for i in range(height - 1):
        for j in range(width - 1):
            slope = np.zeros(shares.shape)
            slope[i, :] -= across[j]
            slope[:, j] -= down[i]
            slope[i, j] += 1.0
            found.append(slope.ravel())
    return np.array(found)
