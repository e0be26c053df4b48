"""What a matrix costs an analyst: the expected squared error of the estimated counts.

With Q = P^-1 and y = u P the expected released counts, the estimate u_hat = Q' released is unbiased
[Cator, eq. 4], and its expected squared error over all cells is

    n^2 l2(P) = sum_l y_l sum_k Q_lk^2 - n                          [Cator, Sec. 3]

with the gradient  u_a r_b - 2 [Q' diag(y) Q Q']_ab,  r_b = sum_k Q_bk^2. Near the identity it is
twice the expected number of changes (the paper's own figures differ by that factor of 2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pramana.mechanisms.mechanism import SparseRows
from pramana.mechanisms.transition import TransitionMatrix
from pramana.types import FloatArray

BLOCK = 512


def dense_loss(P: FloatArray, numbers: FloatArray) -> float:
    """n^2 l2 of a matrix that is written out."""
    try:
        return _loss(P, np.linalg.inv(P), numbers)
    except np.linalg.LinAlgError:
        return np.inf


def dense_gradient(P: FloatArray, numbers: FloatArray) -> FloatArray:
    """The derivative of n^2 l2 by each entry of P, exact."""
    return _gradient(P, np.linalg.inv(P), numbers)


def loss_and_gradient(P: FloatArray, numbers: FloatArray) -> tuple[float, FloatArray]:
    """Both by one inverse; no way leads on where there is none."""
    try:
        Q = np.linalg.inv(P)
    except np.linalg.LinAlgError:
        return np.inf, np.zeros_like(P)
    return _loss(P, Q, numbers), _gradient(P, Q, numbers)


def _loss(P: FloatArray, Q: NDArray[np.floating], numbers: FloatArray) -> float:
    return float((numbers @ P) @ (Q * Q).sum(axis=1) - numbers.sum())


def _gradient(P: FloatArray, Q: NDArray[np.floating], numbers: FloatArray) -> FloatArray:
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
