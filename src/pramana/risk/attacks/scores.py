"""Scores: how well a released value fits a true one, by steps, by cells, by columns.

Steps in two halves: a pair of records costs two look-ups, however many steps there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from pramana.mechanisms.mechanism import Mechanism
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.risk.attacks.records import Cells, Records
from pramana.risk.coded_table import EquivalenceClasses
from pramana.types import FloatArray, IntArray

IMPOSSIBLE = -1e30


def log_of(values: FloatArray) -> FloatArray:
    """Logarithms; what cannot happen scores next to nothing."""
    return np.where(values > 0, np.log(np.maximum(values, 1e-300)), IMPOSSIBLE)


class Scorer(Protocol):
    """How well released records fit true ones; higher is better."""

    def between(self, truth: Records, released: Records) -> FloatArray:
        """The score of each pair of records that stand at the same position."""

    def block(self, truth: Records, released: Records) -> FloatArray:
        """Scores of true records (rows) with released ones (columns) of one anonymity set."""


@dataclass(frozen=True, eq=False)
class Scores:
    """How well a released value fits a true one: ``tables[step][stratum][truth, released]``."""

    tables: tuple[tuple[FloatArray, ...], ...]

    def between(self, truth: Records, released: Records) -> FloatArray:
        """The score of each pair of records that stand at the same position."""
        total = np.zeros(len(truth))
        for step, own in enumerate(self.tables):
            strata = truth.strata[step]
            codes = truth.codes[step], released.codes[step]
            total += own[0][codes] if strata is None else np.stack(own)[strata, *codes]
        return total

    def block(self, truth: Records, released: Records) -> FloatArray:
        """Scores of true records (rows) with released ones (columns) of one anonymity set."""
        total = np.zeros((len(truth), len(released)))
        for step, own in enumerate(self.tables):
            strata = truth.strata[step]
            if strata is None:
                rows = own[0][truth.codes[step]]
            else:
                rows = np.stack(own)[strata, truth.codes[step]]
            total += np.take(rows, released.codes[step], axis=1)
        return total


@dataclass(frozen=True, eq=False)
class MovedScores:
    """Logarithms of the probabilities of a matrix with few transitions over many cells."""

    matrix: SparseRows

    @cached_property
    def _rows(self) -> Any:
        return self.matrix.sparse.tocsr()

    def between(self, truth: Records, released: Records) -> FloatArray:
        """The score of each pair of records that stand at the same position."""
        return log_of(np.asarray(self._rows[truth.codes[0], released.codes[0]]).ravel())

    def block(self, truth: Records, released: Records) -> FloatArray:
        """Scores of true records (rows) with released ones (columns) of one anonymity set."""
        return log_of(self._rows[truth.codes[0]][:, released.codes[0]].toarray())


@dataclass(frozen=True, eq=False)
class CellScores:
    """Scores of a step over cells, added up over its columns: ``tables[column][truth, released]``.

    ``places`` are the codes of each cell in each column.
    """

    tables: tuple[FloatArray, ...]
    places: tuple[IntArray, ...]

    def between(self, truth: Records, released: Records) -> FloatArray:
        """The score of each pair of records that stand at the same position."""
        own, told = truth.codes[0], released.codes[0]
        pairs = zip(self.tables, self.places, strict=True)
        found: FloatArray = np.sum([table[at[own], at[told]] for table, at in pairs], axis=0)
        return found

    def block(self, truth: Records, released: Records) -> FloatArray:
        """Scores of true records (rows) with released ones (columns) of one anonymity set."""
        total = np.zeros((len(truth), len(released)))
        for table, at in zip(self.tables, self.places, strict=True):
            total += np.take(table[at[truth.codes[0]]], at[released.codes[0]], axis=1)
        return total


BLOCK = 200_000
TIE = 1e-9
"""Scores that differ by less are equal."""

COMPILED = 20_000_000
"""More pairs than these are gone through by a compiled loop."""

THREADS = 2
MOST_HALF = 40_000_000
"""Pairs of values that a half of the steps may have."""


def in_halves(
    scores: Scorer, truth: Records, released: Records, sizes: Sequence[int]
) -> tuple[Scorer, Records, Records]:
    """The same scores and records by two steps, each standing for half of them.

    A pair then costs two look-ups instead of one a step. Left as they are where steps are few,
    matrices differ by stratum, or the halves have too many values.
    """
    if not isinstance(scores, Scores) or len(sizes) <= 2:
        return scores, truth, released
    if any(len(table) > 1 for table in scores.tables) or not len(truth) or not len(released):
        return scores, truth, released
    tables, codes = [], []
    for steps in halves_of(sizes):
        known, told = (half_of(side, steps, sizes) for side in (truth, released))
        if len(known.first) * len(told.first) > MOST_HALF:
            return scores, truth, released
        own = [table[0] for table in scores.tables]
        tables.append((_by_half(np.add, own, truth, released, known, told, steps),))
        codes.append((known.of_record, told.of_record))
    nowhere = (None, None)
    return (
        Scores(tuple(tables)),
        Records(tuple(own for own, _ in codes), truth.anonymity_set, nowhere),
        Records(tuple(own for _, own in codes), released.anonymity_set, nowhere),
    )


@dataclass(frozen=True, eq=False)
class HalvedLinks:
    """People and released records by halves of their steps, for the compiled loop."""

    scores: Scorer
    people: Records
    told: Records
    bonus: FloatArray
    numbers: IntArray

    def links(self, rows: IntArray, columns: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Best score, ties and mass of some people among the records of their anonymity set."""
        from pramana.risk.attacks.kernels import best_links

        assert isinstance(self.scores, Scores)  # noqa: S101 - for the type checker
        (first,), (second,) = self.scores.tables
        own = np.stack([codes[rows] for codes in self.people.codes])
        told = np.stack([codes[columns] for codes in self.told.codes])
        bonus, numbers = self.bonus[columns], self.numbers[columns].astype(np.float64)
        best, tied, mass = (np.empty(len(rows)) for _ in range(3))
        ends = np.linspace(0, len(rows), THREADS + 1).astype(int)

        def work(part: slice) -> None:
            best_links(
                first, second, np.ascontiguousarray(own[:, part]), told, bonus, numbers, TIE,
                best[part], tied[part], mass[part],
            )  # fmt: skip

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, (slice(*pair) for pair in pairwise(ends.tolist()))))
        return best, tied, mass


def expected_in_halves(
    mechanism: Mechanism, cells: Cells, seen: Cells, sizes: Sequence[int]
) -> FloatArray | None:
    """ln of the expected numbers, by a product of two halves; nothing where these are too large.

    With the steps in halves A and B, the expected number of y is the sum over true cells x of
    n(x) A[x, y] B[x, y]: the counts as a matrix of A-cells by B-cells, between A and B.
    """
    from scipy.sparse import csr_array

    logs = np.zeros(len(seen.numbers))
    matrices = [step.matrices[0].values for step in mechanism]
    for anonymity_set, columns in enumerate(seen.by_anonymity_set):
        rows = (
            cells.by_anonymity_set[anonymity_set]
            if anonymity_set < len(cells.by_anonymity_set)
            else np.zeros(0, np.int64)
        )
        if not len(rows) or not len(columns):
            logs[columns] = SELDOM
            continue
        truth, told = cells.records.at(rows), seen.records.at(columns)
        sides = [
            (half_of(truth, steps, sizes), half_of(told, steps, sizes), steps)
            for steps in halves_of(sizes)
        ]
        if any(len(x.first) * len(y.first) > MOST_HALF for x, y, _ in sides):
            return None
        (xa, ya, _), (xb, yb, _) = sides
        first, second = (_by_half(np.multiply, matrices, truth, told, *side) for side in sides)
        shape = len(xa.first), len(xb.first)
        counts = csr_array((cells.numbers[rows], (xa.of_record, xb.of_record)), shape=shape)
        between = np.ascontiguousarray(np.asarray(counts.T @ first).T)
        after = np.ascontiguousarray(second.T)
        step = max(1, BLOCK // shape[1])
        for begin in range(0, len(columns), step):
            part = slice(begin, begin + step)
            pairs = between[ya.of_record[part]], after[yb.of_record[part]]
            expected = np.einsum("ij,ij->i", *pairs)
            logs[columns[part]] = np.log(np.maximum(expected, 1e-300))
    return logs


SELDOM = float(np.log(1e-300))


def _by_half(
    joining: np.ufunc,
    tables: Sequence[FloatArray],
    truth: Records,
    told: Records,
    known: EquivalenceClasses,
    seen: EquivalenceClasses,
    steps: Sequence[int],
) -> FloatArray:
    """A number for every true and every released value of half of the steps, joined over them.

    A block of rows at a time: what one step adds stays in the cache.
    """
    joined = np.full((len(known.first), len(seen.first)), float(joining.identity))
    columns = [told.codes[step][seen.first] for step in steps]
    block = max(1, BLOCK // max(1, len(seen.first)))
    for begin in range(0, len(known.first), block):
        part = slice(begin, begin + block)
        for step, places in zip(steps, columns, strict=True):
            rows = tables[step][truth.codes[step][known.first[part]]]
            joining(joined[part], rows.take(places, axis=1), out=joined[part])
    return joined


def halves_of(sizes: Sequence[int]) -> tuple[range, range]:
    """The steps in two halves that have about as many values each.

    >>> halves_of([2, 50, 10, 10])
    (range(0, 2), range(2, 4))
    """
    logs = np.cumsum(np.log(np.maximum(sizes, 1)))
    middle = int(np.argmin(np.abs(logs[:-1] - logs[-1] / 2))) + 1 if len(sizes) > 1 else 1
    return range(middle), range(middle, len(sizes))


def half_of(records: Records, steps: Sequence[int], sizes: Sequence[int]) -> EquivalenceClasses:
    """Which records agree in half of the steps."""
    if not len(steps):
        return EquivalenceClasses.of([np.zeros(len(records), np.int64)], [1])
    return EquivalenceClasses.of(
        [records.codes[step] for step in steps], [sizes[step] for step in steps]
    )
