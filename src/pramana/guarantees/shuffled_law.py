"""The blanket law of a channel: all that central privacy of a shuffled release depends on.

Write P[x, y] for the probability of releasing y if the original value is x, and

    omega(y) = min over x of P[x, y]

for the blanket: every person is released as y with at least this probability. For two original
values x0 and x1 the law is that of the pair

    (A, B) = (P[x0, y], P[x1, y]) / omega(y)    with probability omega(y), for every y,

and (0, 0) with the probability that is left. Both have the mean 1. A law that is larger in convex
order gives a bound that is larger, and so is safe. Proofs: docs/proofs/shuffled_privacy.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from pramana.base.rounding import TOTAL
from pramana.types import FloatArray, IntArray

ROUNDING = 2.0**-51
"""The relative error of a number that was rounded once or twice."""

MOST_ATOMS = 200_000
"""Above this, atoms of a product are moved to the corners of a grid."""

MANY_STEPS = 24
"""With more steps the number of atoms falls, so that no more work is done for all of them."""

GRID = 0.02
"""The width of a cell of that grid, in logarithms of A and of B."""


@dataclass(frozen=True, eq=False)
class BlanketLaw:
    """The pairs (A, B) of two truths and their probabilities; the rest of one is at (0, 0).

    Attributes:
        own: the values A, of the truth that a person has.
        other: the values B, of the truth that the same person might have had.
        chance: the probability of each pair.
        error: the largest relative error of all these numbers.

    >>> coin = BlanketLaw.of_mixture(2, Fraction(3))
    >>> coin.own, coin.other, coin.chance
    (array([3., 1.]), array([1., 3.]), array([0.25, 0.25]))
    """

    own: FloatArray
    other: FloatArray
    chance: FloatArray
    error: float = ROUNDING

    def __eq__(self, other: object) -> bool:
        """Whether every number is the same, to the last bit."""
        return isinstance(other, BlanketLaw) and self._mark == other._mark

    def __hash__(self) -> int:
        return hash(self._mark)

    @cached_property
    def _mark(self) -> bytes:
        digest = hashlib.sha256(repr((len(self.own), self.error)).encode())
        for numbers in (self.own, self.other, self.chance):
            digest.update(numbers.tobytes())
        return digest.digest()

    @classmethod
    def of_atoms(cls, atoms: Iterable[tuple[Fraction, Fraction, Fraction]]) -> BlanketLaw:
        """From exact triples (A, B, probability); what never happens is left out."""
        columns = [[float(part) for part in atom] for atom in atoms if atom[2] > 0]
        own, other, chance = np.array(columns, dtype=np.float64).reshape(-1, 3).T
        return cls(own, other, chance)

    @classmethod
    def of_mixture(cls, size: int, ratio: Fraction) -> BlanketLaw:
        """Of a uniform mixture over ``size`` values with the given diagonal over off-diagonal."""
        rare, one = 1 / (ratio + size - 1), Fraction(1)
        if size == 1 or ratio == 1:
            return cls.of_atoms([(one, one, one)])
        return cls.of_atoms([(ratio, one, rare), (one, ratio, rare), (one, one, (size - 2) * rare)])

    @classmethod
    def of_any_channel(cls, ratio: Fraction) -> BlanketLaw:
        """Above that of every channel whose columns hold no larger ratio, for every pair."""
        return cls.of_mixture(2, ratio)

    @classmethod
    def of_rows(
        cls, own: Sequence[int], other: Sequence[int], blanket: Sequence[int]
    ) -> BlanketLaw:
        """Of two rows of integers over 2**64 and the least entries of their columns.

        A value that is never released has no part in it. Any other zero in the blanket means that
        a released value can rule a truth out: there is no such law then, and whoever calls has
        looked.
        """
        return cls.of_atoms(
            (Fraction(a, least), Fraction(b, least), Fraction(least, TOTAL))
            for a, b, least in zip(own, other, blanket, strict=True)
            if least
        )

    @classmethod
    def of_parts(cls, parts: Iterable[tuple[float, BlanketLaw]]) -> BlanketLaw:
        """Of a channel that is drawn by a public coin which is released: each with its chance."""
        shares, laws = zip(*parts, strict=True)
        return cls(
            np.concatenate([law.own for law in laws]),
            np.concatenate([law.other for law in laws]),
            np.concatenate([share * law.chance for share, law in zip(shares, laws, strict=True)]),
            max(law.error for law in laws) + ROUNDING,
        )

    @classmethod
    def of_steps(cls, laws: Iterable[BlanketLaw]) -> BlanketLaw:
        """Of independent steps: pairs multiply."""
        whole, steps = cls(np.ones(1), np.ones(1), np.ones(1), 0.0), list(laws)
        most = MOST_ATOMS * MANY_STEPS // max(MANY_STEPS, len(steps))
        for law in steps:
            whole = whole._times(law, most=most)
        return whole

    def _times(self, law: BlanketLaw, *, most: int = MOST_ATOMS) -> BlanketLaw:
        own = np.outer(self.own, law.own).ravel()
        other = np.outer(self.other, law.other).ravel()
        chance = np.outer(self.chance, law.chance).ravel()
        error = self.error + law.error + ROUNDING
        # Pairs that are the same are merged: their probabilities add.
        pairs, where, counts = np.unique(own + 1j * other, return_inverse=True, return_counts=True)
        own, other, times = pairs.real, pairs.imag, int(counts.max())
        chance = np.bincount(where, weights=chance).astype(np.float64)
        if len(chance) > most:
            own, other, chance, met = _spread_on_grid(own, other, chance)
            times += met + 16
        return BlanketLaw(own, other, chance, error + times * ROUNDING)

    @property
    def ratio(self) -> float:
        """The largest A / B, rounded up: beyond its logarithm nothing is left to promise."""
        return float((self.own / self.other).max()) * (1 + 4 * self.error)

    @property
    def local_epsilon(self) -> float:
        """The epsilon of these two truths without any shuffle, rounded up."""
        return math.nextafter(math.log(self.ratio) * (1 + ROUNDING), math.inf)


Atoms = tuple[FloatArray, FloatArray, FloatArray, int]
"""Values A, values B, probabilities, and the most probabilities that were added up in one."""


def _spread_on_grid(own: FloatArray, other: FloatArray, chance: FloatArray) -> Atoms:
    """Each pair moved to the four corners of its cell so that both means stay.

    That is larger in the convex order of the plane, and so on the safe side. Rounding a share is
    as good as moving the pair by a few units of its last digit before sharing it out exactly.
    """
    rows, row_share, row_values = _between(own)
    columns, column_share, column_values = _between(other)
    table = np.zeros((len(row_values), len(column_values)))
    times = np.zeros(table.shape, dtype=np.int64)
    for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        share = (row_share if down else 1 - row_share) * (
            column_share if right else 1 - column_share
        )
        np.add.at(table, (rows + down, columns + right), chance * share)
        np.add.at(times, (rows + down, columns + right), 1)
    there = np.nonzero(table)
    return row_values[there[0]], column_values[there[1]], table[there], int(times.max())


def _between(values: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """The grid point below each value, the share that goes to the one above, and the grid."""
    cells = 1 + math.ceil(math.log(max(float(values.max()), 1.0)) / GRID)
    grid = np.exp(GRID * np.arange(cells + 1))
    below = np.clip(np.searchsorted(grid, values, side="right") - 1, 0, cells - 1)
    share = (values - grid[below]) / (grid[below + 1] - grid[below])
    return below, share, grid
