"""The posterior of condition C1, for every choice of keys, through margins.

For a choice of keys pi and a combination k0 of their values, write N_m(k0) for the probability that
a record of cell m is released with k0. The posterior that a record seen with k0 is John's, who is
of cell m, is

    N_m(k0) / sum_l U(l) N_l(k0)                                            [Cator, eq. 1]

Only the margin of a matrix enters: its columns added up over the cells that share k0. A joint step
is read in integers through its transitions; independent steps through ``recognition_margins``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pramana.errors import OutsideDomain, UnknownColumn
from pramana.guarantees.recognition_margins import codes_of, flat, through_margins
from pramana.matrices import Mechanism, SparseRows, Step, TransitionMatrix, UniformMixture
from pramana.numeric import float_up
from pramana.types import FloatArray, IntArray

if TYPE_CHECKING:
    from pramana.table.counts import Counts

__all__ = ["Worst", "worst_posterior"]


CLOSE = 1e-12
EXACT_TRIES = 50_000


@dataclass(frozen=True)
class Worst:
    """The largest posterior, rounded up, and the choice of keys that gives it."""

    posterior: float
    keys: tuple[str, ...]


def worst_posterior(
    mechanism: Mechanism, counts: Counts, choices: Sequence[tuple[str, ...]]
) -> Worst:
    """The largest posterior over all cells that occur, all choices and all combinations."""
    worst = Worst(0.0, ())
    joint = _only_joint_step(mechanism, counts)
    entries = _Entries.of(joint, counts) if joint is not None else None
    for keys in choices:
        unknown = [name for name in keys if name not in counts.columns]
        if unknown:
            raise UnknownColumn(
                f"Choices of keys must be among the counted columns, and {unknown} are not."
            )
        if entries is not None:
            found = entries.posterior(keys, at_least=worst.posterior)
        else:
            found = through_margins(mechanism, counts, keys)
        if found > worst.posterior:
            worst = Worst(found, tuple(keys))
    return worst


def _only_joint_step(mechanism: Mechanism, counts: Counts) -> Step | None:
    """The one step on all columns, if the mechanism is that, and its entries can be listed."""
    if len(mechanism.steps) != 1:
        return None
    step = mechanism.steps[0]
    if step.matrix is None or set(step.columns) != set(counts.columns):
        return None
    if isinstance(step.matrix, UniformMixture) and step.matrix.size > 2_000:
        return None
    return step


# -- one joint step: integers --------------------------------------------------------------------


@dataclass(frozen=True)
class _Entries:
    """All entries of a joint matrix that are not zero, with the counts of their rows."""

    counts: Counts
    codes: IntArray  # (cells of the matrix, columns): positions of the labels of each column
    numbers: IntArray
    sources: IntArray
    targets: IntArray
    limbs: NDArray[np.float64]  # (4, entries): weights in pieces of 16 bits, so that sums are exact

    @classmethod
    def of(cls, step: Step, counts: Counts) -> _Entries:
        assert step.matrix is not None  # noqa: S101 - for the type checker
        sources, targets, limbs = _entries(step.matrix)
        codes = codes_of(step, counts)
        numbers = _numbers_of_cells(codes, counts)
        return cls(counts, codes, numbers, sources, targets, limbs)

    def posterior(self, keys: tuple[str, ...], *, at_least: float) -> float:
        """The largest posterior for one choice of keys, exact and rounded up."""
        places = [self.counts.columns.index(name) for name in keys]
        sizes = [len(self.counts.labels[place]) for place in places]
        combination = np.zeros(len(self.codes), dtype=np.int64)
        for place, size in zip(places, sizes, strict=True):
            combination = combination * size + self.codes[:, place]
        seen, local = np.unique(combination, return_inverse=True)
        below: list[FloatArray] = [
            _sums(local[self.targets], self.numbers[self.sources] * limb, len(seen))
            for limb in self.limbs
        ]
        return self._largest(local, below, _together(below), at_least)

    def _largest(
        self, local: IntArray, below: list[FloatArray], denominator: FloatArray, at_least: float
    ) -> float:
        """From rare rows to frequent ones: a posterior is at most 1 / U(m) [Cator, eq. 2]."""
        rows = self.numbers[self.sources]
        best, reach = 0.0, 0
        while reach < self.numbers.max(initial=0) and reach * max(best, at_least) < 1:
            low, reach = reach, max(16, 8 * reach)
            use = np.flatnonzero((rows > low) & (rows <= reach))
            if len(use):
                best = max(best, self._largest_of(use, local, below, denominator))
        return best

    def _largest_of(
        self, use: IntArray, local: IntArray, below: list[FloatArray], denominator: FloatArray
    ) -> float:
        """The largest posterior of some rows; those that look largest are compared as fractions."""
        width = int(local.max()) + 1
        place = self.sources[use] * width + local[self.targets[use]]
        pairs, inverse = np.unique(place, return_inverse=True)
        above = [_sums(inverse, limb[use], len(pairs)) for limb in self.limbs]
        combination = pairs % width
        ratio = _together(above) / denominator[combination]
        close = np.flatnonzero(ratio >= ratio.max() * (1 - CLOSE))
        if len(close) > EXACT_TRIES:  # too many ties to settle in fractions: one unit more
            return min(1.0, float(ratio.max()) * (1 + 2 * CLOSE))
        best = Fraction(0)
        for i in close.tolist():
            up = sum(int(part[i]) << (16 * k) for k, part in enumerate(above))
            down = sum(int(part[combination[i]]) << (16 * k) for k, part in enumerate(below))
            if up * best.denominator > best.numerator * down:
                best = Fraction(up, down)
        return float_up(best)


def _sums(groups: IntArray, weights: FloatArray, size: int) -> FloatArray:
    """Weights added up by group."""
    return np.asarray(np.bincount(groups, weights, size), dtype=np.float64)


def _together(limbs: list[FloatArray]) -> FloatArray:
    """Pieces of 16 bits as one number, rounded."""
    total = np.ldexp(limbs[0], 0)
    for place, limb in enumerate(limbs[1:], start=1):
        total = total + np.ldexp(limb, 16 * place)
    return total


def _entries(matrix: TransitionMatrix) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows, columns and weights of what is not zero, the weights in pieces of 16 bits.

    Each piece is small, so that sums of count times piece are exact in floating point.
    """
    if isinstance(matrix, SparseRows):
        numbers = np.arange(matrix.size)
        shifts = np.arange(0, 64, 16, dtype=np.uint64)[:, None]
        moves = (matrix.moves[None, :] >> shifts) & np.uint64(0xFFFF)
        limbs = np.hstack([moves.astype(np.float64), _pieces(matrix.kept)])
        sources = np.concatenate([matrix.sources, numbers])
        targets = np.concatenate([matrix.targets, numbers])
        return sources, targets, limbs
    weights = matrix.weights
    sources, targets = np.nonzero(weights)
    return sources, targets, _pieces([int(weight) for weight in weights[sources, targets]])


def _pieces(weights: list[int]) -> FloatArray:
    low = [[(weight >> (16 * part)) & 0xFFFF for weight in weights] for part in range(3)]
    return np.array([*low, [weight >> 48 for weight in weights]], dtype=np.float64)


def _numbers_of_cells(codes: IntArray, counts: Counts) -> IntArray:
    """How many records each cell of the matrix has."""
    sizes = [len(labels) for labels in counts.labels]
    numbers = np.zeros(len(codes), dtype=np.int64)
    places = flat(codes, sizes)
    order = np.argsort(places)
    cells = flat(counts.cells.astype(np.int64), sizes)
    found = order[np.minimum(np.searchsorted(places[order], cells), len(places) - 1)]
    missing = places[found] != cells
    if missing.any():
        raise OutsideDomain(
            f"{int(counts.numbers[missing].sum())} records are in {int(missing.sum())} cells that "
            "the joint matrix does not list."
        )
    numbers[found] = counts.numbers
    return numbers
