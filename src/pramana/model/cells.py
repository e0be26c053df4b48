"""The cells of answers, and how one step of a fit hands their mass to classes and to what was seen.

Cells can be a grid: what stands beside (or the first feature) down, the rest across, with few of
its places empty. Then the probabilities of all places are one product of matrices, and so is the
mass handed back; the numbers of cells by classes are never written down, which takes a tenth of
the time. Where most places of the grid were never released, each cell goes by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pramana.model.observed import Answers, Feature, Observed
from pramana.types import FloatArray, IntArray

__all__ = ["TINY", "AnsweredCells", "CellGrid", "tables_of"]

TINY = 1e-300

ROOMY = 4
"""A grid with more than so many places a cell is mostly empty: each cell goes by itself."""


def tables_of(observed: Observed) -> list[AnsweredCells]:
    """Questions of the same width and the same law, put together so that each is one array."""
    alike: dict[tuple[int, int], list[Answers]] = {}
    for answer in observed.answers:
        if len(answer.counts):
            alike.setdefault((len(answer.features), answer.beside), []).append(answer)
    return [AnsweredCells.of(group, observed.features) for group in alike.values()]


@dataclass(frozen=True, eq=False)
class AnsweredCells:
    """AnsweredCells of answers with equally many features.

    Attributes:
        rows: One row a cell, for each of its features the row of what was seen, all features
            stacked one below the other.
        beside: So many features, the first ones, were released as they are.
    """

    rows: IntArray
    counts: FloatArray
    base: FloatArray
    gain: FloatArray
    sizes: tuple[int, ...]
    beside: int

    @classmethod
    def of(cls, answers: list[Answers], features: tuple[Feature, ...]) -> AnsweredCells:
        """Put answers together."""
        sizes = tuple(feature.size for feature in features)
        starts = np.concatenate(([0], np.cumsum(sizes)))
        rows = [answer.cells + starts[list(answer.features)][None, :] for answer in answers]
        lengths = [len(answer.counts) for answer in answers]
        return cls(
            np.concatenate(rows),
            np.concatenate([answer.counts for answer in answers]),
            np.repeat([answer.base for answer in answers], lengths).astype(np.float64),
            np.repeat([answer.gain for answer in answers], lengths).astype(np.float64),
            sizes,
            answers[0].beside,
        )

    @cached_property
    def told(self):  # type: ignore[no-untyped-def]
        """Rows of what was answered by cells, 1 where a cell has it."""
        return _incidence(self.rows[:, self.beside :], sum(self.sizes))

    @cached_property
    def stands_beside(self):  # type: ignore[no-untyped-def]
        """The same of what stands beside."""
        return _incidence(self.rows[:, : self.beside], sum(self.sizes))

    @cached_property
    def grid(self) -> CellGrid | None:
        """The same cells as a grid, where few of its places are empty."""
        return CellGrid.of(self)

    def _joints(
        self, stacked: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray | None, FloatArray]:
        """q_r prod theta of what stands beside each cell, and of all of it: by fits times classes.

        ``None`` where nothing stands beside.
        """
        joint = (stacked * weights.ravel()).take(self.rows[:, 0], axis=0)
        kept = None
        for place in range(1, self.rows.shape[1]):
            if place == self.beside:
                kept = joint.copy()
            joint *= stacked.take(self.rows[:, place], axis=0)
        return kept, joint

    def handed(self, stacked: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mass of what was seen, all features one below the other, and of the classes."""
        road = self._handed if self.grid is None else self.grid.handed
        return road(stacked, weights)

    def _handed(self, stacked: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Cell by cell."""
        kept, joint = self._joints(stacked, weights)
        below = 1.0 if kept is None else _by_fit(kept, weights.shape)
        chance = self.base[:, None] * below + self.gain[:, None] * _by_fit(joint, weights.shape)
        share = self.counts[:, None] / np.maximum(chance, TINY)
        _scale(joint, share * self.gain[:, None], weights.shape)
        handed = self.told @ joint
        if kept is not None:
            _scale(kept, share * self.base[:, None], weights.shape)
            joint += kept
            handed += self.stands_beside @ joint
        return handed, np.add.reduce(joint, axis=0).reshape(weights.shape)

    def log_likelihoods(self, seen: list[FloatArray], weights: FloatArray) -> FloatArray:
        """The log-likelihood of one release of each cell under the average of all fits."""
        kept, joint = self._joints(np.concatenate(seen), weights)
        chance = joint.sum(axis=1) / len(weights)
        if kept is not None:
            chance /= np.maximum(kept.sum(axis=1) / len(weights), TINY)
        found: FloatArray = np.log(np.maximum(self.base + self.gain * chance, TINY))
        return found


@dataclass(frozen=True, eq=False)
class CellGrid:
    """Cells as a grid, with the law of each place; a place that was not released counts nothing.

    Attributes:
        down: For every row of the grid the rows of what was seen, as in ``AnsweredCells``.
        across: The same of its columns.
        split: Whether what stands beside is down, and all else across.
        size: How many values can be seen of all features.
    """

    down: IntArray
    across: IntArray
    counts: FloatArray
    base: FloatArray
    gain: FloatArray
    split: bool
    size: int

    @classmethod
    def of(cls, cells: AnsweredCells) -> CellGrid | None:
        """The grid of cells; ``None`` if it were mostly empty, or had two cells at one place."""
        cut = max(cells.beside, 1)
        if cells.rows.shape[1] == cut:
            return None
        down, rows = np.unique(cells.rows[:, :cut], axis=0, return_inverse=True)
        across, columns = np.unique(cells.rows[:, cut:], axis=0, return_inverse=True)
        shape = (len(down), len(across))
        places = rows.ravel() * shape[1] + columns.ravel()
        if shape[0] * shape[1] > ROOMY * len(places) or len(np.unique(places)) < len(places):
            return None
        counts, base, gain = (np.zeros(shape) for _ in range(3))
        counts.flat[places], base.flat[places] = cells.counts, cells.base
        gain.flat[places] = cells.gain
        beside = cells.beside > 0
        return cls(down, across, counts, base, gain, split=beside, size=sum(cells.sizes))

    @cached_property
    def _sides(self):  # type: ignore[no-untyped-def]
        """What was seen by rows and by columns of the grid; no sums where each has one feature."""
        return tuple(
            _run(rows[:, 0]) if rows.shape[1] == 1 else _incidence(rows, self.size)
            for rows in (self.down, self.across)
        )

    @cached_property
    def _plain(self) -> bool:
        """Whether all that was released comes from the model: nothing from a base."""
        return not (self.split or self.base.any() or (self.gain != 1)[self.counts > 0].any())

    def handed(self, stacked: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As of ``AnsweredCells``: everything by fits, rows or columns, and classes."""
        down, across = (
            self._along(rows, side, stacked, weights)
            for rows, side in zip((self.down, self.across), self._sides, strict=True)
        )
        down = down * weights[:, None]
        chance = down @ across.transpose(0, 2, 1)
        if self._plain:
            told = self.counts / np.maximum(chance, TINY)
        else:
            below = np.add.reduce(down, axis=2, keepdims=True) if self.split else 1.0
            chance = self.base * below + self.gain * chance
            share = self.counts / np.maximum(chance, TINY)
            told = share * self.gain
        across_mass = across * (told.transpose(0, 2, 1) @ down)
        factor = told @ across
        if self.split:
            factor += np.add.reduce(share * self.base, axis=2, keepdims=True)
        down_mass = down * factor
        handed = np.zeros((self.size, weights.size))
        for side, mass in zip(self._sides, (down_mass, across_mass), strict=True):
            flat = mass.transpose(1, 0, 2).reshape(mass.shape[1], -1)
            if isinstance(side, slice | np.ndarray):  # no two rows of a side have the same feature
                handed[side] += flat
            else:
                handed += side @ flat
        return handed, np.add.reduce(down_mass, axis=1)

    @staticmethod
    def _along(rows: IntArray, side: Any, stacked: FloatArray, weights: FloatArray) -> FloatArray:
        """The probability of what stands at each row (or column) of the grid."""
        joint = stacked[side] if isinstance(side, slice) else stacked.take(rows[:, 0], axis=0)
        for place in range(1, rows.shape[1]):
            joint *= stacked.take(rows[:, place], axis=0)
        return joint.reshape(-1, *weights.shape).transpose(1, 0, 2)


def _run(places: IntArray) -> slice | IntArray:
    """Places that follow each other, which are looked at where they lie; others as they are."""
    first, many = int(places[0]), len(places)
    if np.array_equal(places, np.arange(first, first + many)):
        return slice(first, first + many)
    return places


def _incidence(rows: IntArray, size: int):  # type: ignore[no-untyped-def]
    """What was seen by cells, 1 where a cell has it."""
    from scipy.sparse import csr_array

    cells, width = rows.shape
    places = np.repeat(np.arange(cells), width)
    return csr_array((np.ones(cells * width), (rows.ravel(), places)), shape=(size, cells))


# Sums along a short axis, and factors along it, take many times as long as a product of matrices.
SHORT = 8
"""Up to so many classes."""

PIECE = 8_192
"""A product of so many numbers is not handed to several threads, which wait for each other: of a
matrix and a vector the library does so from 9,216 on."""


def _by_fit(joint: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Sums over the classes of each fit."""
    if shape[1] > SHORT:
        summed: FloatArray = joint.reshape(-1, *shape).sum(axis=2)
        return summed
    return _product(joint.reshape(-1, shape[1]), np.ones((shape[1], 1))).reshape(-1, shape[0])


def _scale(joint: FloatArray, factors: FloatArray, shape: tuple[int, ...]) -> None:
    """Each class times the factor of its fit."""
    if shape[1] > SHORT:
        whole = joint.reshape(-1, *shape)
        whole *= factors[:, :, None]
    else:
        joint *= _product(factors.reshape(-1, 1), np.ones((1, shape[1]))).reshape(joint.shape)


def _product(left: FloatArray, right: FloatArray) -> FloatArray:
    found = np.empty((len(left), right.shape[1]))
    rows = PIECE // right.size
    for begin in range(0, len(left), rows):
        np.matmul(left[begin : begin + rows], right, out=found[begin : begin + rows])
    return found
