"""What a matrix costs an analyst: the expected squared error of the estimated counts.

With Q = P^-1 and y = u P the expected released counts, the estimate u_hat = Q' released is unbiased
[Cator, eq. 4], and its expected squared error over all cells is

    n^2 l2(P) = sum_l y_l sum_k Q_lk^2 - n                          [Cator, Sec. 3]

with the gradient  u_a r_b - 2 [Q' diag(y) Q Q']_ab,  r_b = sum_k Q_bk^2. Near the identity it is
twice the expected number of changes (the paper's own figures differ by that factor of 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.matrices import SparseRows, TransitionMatrix
from pramana.randomness import Address, Keystream, Stream
from pramana.types import FloatArray

__all__ = ["KlLoss", "dense_gradient", "dense_loss", "kl_loss", "squared_error"]

BLOCK = 512


def dense_loss(P: FloatArray, numbers: FloatArray) -> float:
    """n^2 l2 of a matrix that is written out."""
    try:
        Q = np.linalg.inv(P)
    except np.linalg.LinAlgError:
        return np.inf
    return float((numbers @ P) @ (Q * Q).sum(axis=1) - numbers.sum())


def dense_gradient(P: FloatArray, numbers: FloatArray) -> FloatArray:
    """The derivative of n^2 l2 by each entry of P, exact."""
    Q = np.linalg.inv(P)
    released = numbers @ P
    gradient: FloatArray = np.outer(numbers, (Q * Q).sum(axis=1)) - 2 * Q.T @ (
        released[:, None] * (Q @ Q.T)
    )
    return gradient


def squared_error(matrix: TransitionMatrix, numbers: FloatArray) -> float:
    """n^2 l2 of any matrix; a sparse one through its moving rows only.

    A row that does not move is a row of the identity in P and in Q. With M the moving cells,
    Q_M = P_MM^-1 [I, -P_MT]: one sparse factorisation, and blocks of right-hand sides.
    """
    if not isinstance(matrix, SparseRows):
        return dense_loss(matrix.values, numbers)
    from scipy import sparse
    from scipy.sparse.linalg import splu

    moving = np.unique(matrix.sources)
    if len(moving) == 0:
        return 0.0
    released = matrix.apply(numbers)
    rows = matrix.sparse.tocsr()[moving]
    still = np.setdiff1d(np.unique(matrix.targets), moving)
    factors = splu(rows[:, moving].tocsc())
    right = sparse.hstack([sparse.eye_array(len(moving)), -rows[:, still]]).tocsc()
    lengths = np.zeros(len(moving))
    for start in range(0, right.shape[1], BLOCK):
        part = factors.solve(right[:, start : start + BLOCK].toarray())
        lengths += (part * part).sum(axis=1)
    # Rows that stay have length 1 and add what is released there; n is all that is released.
    return float((released[moving] * (lengths - 1)).sum())


@dataclass(frozen=True)
class KlLoss:
    """The Kullback-Leibler loss by simulation, with its Monte Carlo error.

    The divergence is infinite in releases where the estimate of an occurring cell is not positive;
    ``undefined`` is their share, and ``value`` is the mean over the others.
    """

    value: float
    error: float
    undefined: float


def kl_loss(
    matrix: TransitionMatrix, numbers: FloatArray, *, keystream: Keystream, rounds: int = 200
) -> KlLoss:
    """E sum_k mu_k log(mu_k / mu_hat_k) over the cells that occur [Cator, Sec. 3]."""
    share = numbers / numbers.sum()
    occurring = numbers > 0
    values = []
    draw = _Draw.of(matrix, numbers)
    for round_ in range(rounds):
        estimate = matrix.solve(draw.released(keystream, Stream("kl", round_))) / numbers.sum()
        if (estimate[occurring] > 0).all():
            ratio = share[occurring] / estimate[occurring]
            values.append(float((share[occurring] * np.log(ratio)).sum()))
    if not values:
        return KlLoss(float("inf"), float("inf"), 1.0)
    spread = float(np.std(values) / np.sqrt(len(values)))
    return KlLoss(float(np.mean(values)), spread, 1 - len(values) / rounds)


@dataclass(frozen=True)
class _Draw:
    """Records of moving cells, and the running sums of their rows."""

    still: FloatArray
    cells: NDArray[np.int64]
    edges: FloatArray
    columns: NDArray[np.int64]

    @classmethod
    def of(cls, matrix: TransitionMatrix, numbers: FloatArray) -> _Draw:
        from scipy import sparse

        table: Any = matrix.sparse if isinstance(matrix, SparseRows) else matrix.values
        table = sparse.csr_array(table)
        moving = np.flatnonzero((matrix.diagonal < 1) & (numbers > 0))
        still = numbers.copy()
        still[moving] = 0
        rows = table[moving]
        place = np.repeat(np.arange(len(moving)), np.diff(rows.indptr))
        sums = (
            np.cumsum(rows.data) - np.concatenate([[0], np.cumsum(rows.data)])[rows.indptr[place]]
        )
        cells = np.repeat(np.arange(len(moving)), numbers[moving].astype(np.int64))
        return cls(still, cells, place + np.minimum(sums, 1.0), rows.indices.astype(np.int64))

    def released(self, keystream: Keystream, stream: Address) -> FloatArray:
        """The counts of one simulated release."""
        if len(self.cells) == 0:
            return self.still
        uniform = keystream.uniforms(stream, 0, len(self.cells))
        at = np.searchsorted(self.edges, self.cells + uniform, side="right")
        moved = np.bincount(
            self.columns[np.minimum(at, len(self.columns) - 1)], minlength=len(self.still)
        )
        return self.still + moved
