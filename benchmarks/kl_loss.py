"""The Kullback-Leibler loss of a matrix, by simulation: the paper's own figure [Cator, Sec. 3]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pramana.base.randomness import Address, Keystream, Stream
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import TransitionMatrix
from pramana.types import FloatArray, IntArray


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
    cells: IntArray
    edges: FloatArray
    columns: IntArray

    @classmethod
    def of(cls, matrix: TransitionMatrix, numbers: FloatArray) -> _Draw:
        from scipy import sparse

        table = matrix.sparse if isinstance(matrix, SparseRows) else matrix.values
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
