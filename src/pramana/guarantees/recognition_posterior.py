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

from pramana.errors import OutsideDomain, TooLarge, UnknownColumn
from pramana.guarantees.recognition_margins import (
    MOST_ENTRIES,
    codes_of,
    combined,
    flat,
    stands_alone,
    through_margins,
)
from pramana.matrices import Mechanism, SparseRows, Step, TransitionMatrix, UniformMixture
from pramana.numeric import float_up
from pramana.text import counted, records_that
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
    """The one step on all randomised columns, if the mechanism is that and its entries are few."""
    if len(mechanism.steps) != 1:
        return None
    step = mechanism.steps[0]
    if step.matrix is None or not set(step.columns) <= set(counts.columns):
        return None
    if isinstance(step.matrix, UniformMixture) and step.matrix.size > 2_000:
        return None
    return step


# -- one joint step: integers --------------------------------------------------------------------


@dataclass(frozen=True)
class _Entries:
    """All entries of a joint matrix that are not zero, for the rows that hold records.

    A row is a cell of the matrix; where columns are released as they are, a cell together with
    their values.
    """

    counts: Counts
    columns: tuple[str, ...]
    codes: IntArray  # (cells of the matrix, columns): positions of the labels of each column
    rows: IntArray  # the cell of ``counts`` that each row is; empty where a row is a cell
    numbers: IntArray
    sources: IntArray
    targets: IntArray
    limbs: FloatArray  # (4, entries): weights in pieces of 16 bits, so that sums are exact

    @classmethod
    def of(cls, step: Step, counts: Counts) -> _Entries:
        assert step.matrix is not None  # noqa: S101 - for the type checker
        columns = tuple(name for name in counts.columns if name in step.columns)
        sources, targets, limbs = _entries(step.matrix)
        codes = codes_of(step, counts)
        if len(columns) == len(counts.columns):
            numbers = _numbers_of_cells(codes, counts)
            none = np.zeros(0, dtype=np.int64)
            return cls(counts, columns, codes, none, numbers, sources, targets, limbs)
        cells = _cells_of_counts(codes, columns, counts)
        order = np.argsort(sources, kind="stable")
        first = np.searchsorted(sources[order], np.arange(len(codes) + 1))
        lengths = np.diff(first)[cells]
        if lengths.sum() > MOST_ENTRIES:
            raise TooLarge(
                f"The cells that occur with the columns released as they are have "
                f"{int(lengths.sum()):,} transitions, and at most {MOST_ENTRIES:,} are listed."
            )
        rows = np.repeat(np.arange(len(cells)), lengths)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        use = order[np.repeat(first[cells], lengths) + within]
        return cls(
            counts, columns, codes, np.arange(len(cells)), counts.numbers, rows, targets[use],
            limbs[:, use],
        )  # fmt: skip

    def posterior(self, keys: tuple[str, ...], *, at_least: float) -> float:
        """The largest posterior for one choice of keys, exact and rounded up."""
        fixed = [name for name in keys if name not in self.columns]
        if fixed and stands_alone(self.counts, fixed):
            return 1.0
        moved = [name for name in keys if name in self.columns]
        sizes = [len(self.counts.labels[self.counts.columns.index(name)]) for name in moved]
        places = [self.columns.index(name) for name in moved]
        seen, released = np.unique(flat(self.codes[:, places], sizes), return_inverse=True)
        local, width = released[self.targets], len(seen)
        if fixed:
            as_they_are = combined(self.counts, fixed).codes[self.rows[self.sources]]
            seen, local = np.unique(as_they_are * width + local, return_inverse=True)
            width = len(seen)
        below: list[FloatArray] = [
            _sums(local, self.numbers[self.sources] * limb, width) for limb in self.limbs
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
        width = len(denominator)
        place = self.sources[use] * width + local[use]
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
    numbers = np.zeros(len(codes), dtype=np.int64)
    numbers[_cells_of_counts(codes, counts.columns, counts)] = counts.numbers
    return numbers


def _cells_of_counts(codes: IntArray, columns: Sequence[str], counts: Counts) -> IntArray:
    """The cell of the matrix that each counted cell belongs to."""
    where = [counts.columns.index(name) for name in columns]
    sizes = [len(counts.labels[place]) for place in where]
    places = flat(codes, sizes)
    order = np.argsort(places)
    cells = flat(counts.cells[:, where].astype(np.int64), sizes)
    found = order[np.minimum(np.searchsorted(places[order], cells), len(places) - 1)]
    missing = places[found] != cells
    if missing.any():
        lost = records_that(int(counts.numbers[missing].sum()), "is", "are")
        raise OutsideDomain(
            f"{lost} in {counted(int(missing.sum()), 'cell')} that the joint matrix does not list."
        )
    return found
