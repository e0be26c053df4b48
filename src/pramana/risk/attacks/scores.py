"""Scores: how well a released record fits a true one, added up over the steps of a mechanism.

A pair of records costs one look-up per step. Steps put together in two halves cost two look-ups,
however many steps there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from pramana.mechanisms.mechanism import AttributeSampler, Mechanism
from pramana.mechanisms.sparse_rows import DENSE_LIMIT, SparseRows
from pramana.risk.attacks.attacker_records import Cells, Records, set_chances
from pramana.risk.coded_table import EquivalenceClasses
from pramana.types import FloatArray, IntArray

IMPOSSIBLE = -1e30
SELDOM = float(np.log(1e-300))

BLOCK = 200_000
"""Scores that are worked on at once: they stay in the cache."""

MOST_HALF = 40_000_000
"""Pairs of values that a half of the steps may have."""


def log_of(values: FloatArray) -> FloatArray:
    """Logarithms; what cannot happen scores next to nothing."""
    return np.where(values > 0, np.log(np.maximum(values, 1e-300)), IMPOSSIBLE)


class Scorer(Protocol):
    """How well released records fit true ones; higher is better."""

    def between(self, original: Records, released: Records) -> FloatArray:
        """The score of each pair of records at the same position."""

    def block(self, original: Records, released: Records) -> FloatArray:
        """Scores of true records (rows) with released ones (columns) of one anonymity set."""


def likelihood_scores(mechanism: Mechanism) -> Scorer:
    """Logarithms of the probabilities."""
    if isinstance(mechanism, AttributeSampler):
        return SetScores(mechanism)
    large = large_matrix(mechanism)
    if large is not None:
        return SparseScores(large)
    return Scores(
        tuple(tuple(log_of(matrix.values) for matrix in step.matrices) for step in mechanism)
    )


def large_matrix(mechanism: Mechanism) -> SparseRows | None:
    """The matrix of a mechanism that has one, over too many cells to write it out."""
    matrices = [matrix for step in mechanism for matrix in step.matrices]
    if len(matrices) != 1 or not isinstance(matrices[0], SparseRows):
        return None
    return matrices[0] if matrices[0].size > DENSE_LIMIT else None


@dataclass(frozen=True, eq=False)
class Scores:
    """One table per step and stratum: ``tables[step][stratum][truth, released]``."""

    tables: tuple[tuple[FloatArray, ...], ...]

    def between(self, original: Records, released: Records) -> FloatArray:
        """The score of each pair of records at the same position."""
        total = np.zeros(len(original))
        for step, tables in enumerate(self.tables):
            strata = original.strata[step]
            codes = original.codes[step], released.codes[step]
            total += tables[0][codes] if strata is None else np.stack(tables)[strata, *codes]
        return total

    def block(self, original: Records, released: Records) -> FloatArray:
        """Scores of true records (rows) with released ones (columns) of one anonymity set."""
        total = np.zeros((len(original), len(released)))
        for step, tables in enumerate(self.tables):
            strata, codes = original.strata[step], original.codes[step]
            rows = tables[0][codes] if strata is None else np.stack(tables)[strata, codes]
            total += np.take(rows, released.codes[step], axis=1)
        return total


@dataclass(frozen=True, eq=False)
class SparseScores:
    """Logarithms of the probabilities of a matrix with few transitions over many cells."""

    matrix: SparseRows

    @cached_property
    def _rows(self) -> Any:
        return self.matrix.sparse.tocsr()

    def between(self, original: Records, released: Records) -> FloatArray:
        """The score of each pair of records at the same position."""
        return log_of(np.asarray(self._rows[original.codes[0], released.codes[0]]).ravel())

    def block(self, original: Records, released: Records) -> FloatArray:
        """Scores of true records (rows) with released ones (columns) of one anonymity set."""
        return log_of(self._rows[original.codes[0]][:, released.codes[0]].toarray())


@dataclass(frozen=True, eq=False)
class ColumnScores:
    """Scores of one step over cells, added up over its columns: ``tables[column][code, code]``.

    ``places`` are the codes of each cell in each column.
    """

    tables: tuple[FloatArray, ...]
    places: tuple[IntArray, ...]

    def between(self, original: Records, released: Records) -> FloatArray:
        """The score of each pair of records at the same position."""
        pairs = zip(self.tables, self.places, strict=True)
        scores = [table[at[original.codes[0]], at[released.codes[0]]] for table, at in pairs]
        return np.asarray(np.sum(scores, axis=0), dtype=np.float64)

    def block(self, original: Records, released: Records) -> FloatArray:
        """Scores of true records (rows) with released ones (columns) of one anonymity set."""
        total = np.zeros((len(original), len(released)))
        for table, at in zip(self.tables, self.places, strict=True):
            total += np.take(table[at[original.codes[0]]], at[released.codes[0]], axis=1)
        return total


@dataclass(frozen=True, eq=False)
class SetScores:
    """Logarithms of the likelihood of reported attribute sets.

    The likelihood of a report (S, y) for a known record x is pi(S) P_S[x_S, y]: one number where
    the report agrees with the record in all columns of S, a smaller one where it does not.
    """

    mechanism: AttributeSampler

    @cached_property
    def _asks(self) -> FloatArray:
        """Sets by columns: whether the set has the column."""
        columns = self.mechanism.columns
        return np.array(
            [[name in asked.columns for name in columns] for asked in self.mechanism.sets]
        )

    @cached_property
    def _logs(self) -> FloatArray:
        """For each set the score of a report that differs, and of one that agrees."""
        sets = self.mechanism.sets
        return np.array([np.log(asked.share) + np.log(set_chances(asked)) for asked in sets])

    def between(self, original: Records, released: Records) -> FloatArray:
        """The score of each pair of records at the same position."""
        sets = released.codes[-1]
        agree = np.ones(len(original), dtype=bool)
        for column, asks in enumerate(self._asks.T):
            agree &= (original.codes[column] == released.codes[column]) | ~asks[sets]
        return np.asarray(self._logs[sets, agree.astype(np.int64)], dtype=np.float64)

    def block(self, original: Records, released: Records) -> FloatArray:
        """Scores of true records (rows) with released ones (columns) of one anonymity set."""
        sets = released.codes[-1]
        agree = np.ones((len(original), len(released)), dtype=bool)
        for column, asks in enumerate(self._asks.T):
            places = np.flatnonzero(asks[sets])
            if len(places):
                agree[:, places] &= (
                    original.codes[column][:, None] == released.codes[column][places]
                )
        return np.asarray(np.where(agree, self._logs[sets, 1], self._logs[sets, 0]))


def blocks(wanted: Cells, seen: Cells) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows and columns of each anonymity set, as many rows as keep a block in the cache."""
    nobody = np.zeros(0, np.int64)
    for number, rows in enumerate(wanted.by_anonymity_set):
        others = seen.by_anonymity_set
        columns = others[number] if number < len(others) else nobody
        step = max(1, BLOCK // max(len(columns), 1))
        for begin in range(0, len(rows), step):
            yield rows[begin : begin + step], columns


# -- two halves of the steps -----------------------------------------------------------------------


def in_halves(
    scores: Scorer, original: Records, released: Records
) -> tuple[Scorer, Records, Records]:
    """The same scores and records by two steps, each standing for half of them.

    Left as they are where steps are few, matrices differ by stratum, or a half has too many values.
    """
    if not isinstance(scores, Scores) or len(scores.tables) <= 2:
        return scores, original, released
    if any(len(table) > 1 for table in scores.tables) or not len(original) or not len(released):
        return scores, original, released
    tables, codes = [], []
    for steps in halves_of([table[0].shape[1] for table in scores.tables]):
        rows, columns = (_half(side, steps) for side in (original, released))
        if len(rows.first) * len(columns.first) > MOST_HALF:
            return scores, original, released
        single = [table[0] for table in scores.tables]
        tables.append((_half_table(np.add, single, original, released, rows, columns, steps),))
        codes.append((rows.of_record, columns.of_record))
    nowhere = (None, None)
    (first, first_released), (second, second_released) = codes
    return (
        Scores(tuple(tables)),
        Records((first, second), original.anonymity_set, nowhere),
        Records((first_released, second_released), released.anonymity_set, nowhere),
    )


def expected_in_halves(mechanism: Mechanism, cells: Cells, seen: Cells) -> FloatArray | None:
    """Logarithms of the expected numbers of the released cells; ``None`` where halves are large.

    With the steps in halves A and B, the expected number of y is the sum over true cells x of
    n(x) A[x, y] B[x, y]: the counts as a matrix of A-cells by B-cells, between A and B.
    """
    from scipy.sparse import csr_array

    logs = np.full(len(seen.numbers), SELDOM)
    matrices = [step.matrices[0].values for step in mechanism]
    halves = halves_of([len(matrix) for matrix in matrices])
    for rows, columns in zip(cells.by_anonymity_set, seen.by_anonymity_set, strict=False):
        if not len(rows) or not len(columns):
            continue
        original, released = cells.records.at(rows), seen.records.at(columns)
        sides = [(_half(original, steps), _half(released, steps), steps) for steps in halves]
        if any(len(x.first) * len(y.first) > MOST_HALF for x, y, _ in sides):
            return None
        (xa, ya, _), (xb, yb, _) = sides
        first, second = (
            _half_table(np.multiply, matrices, original, released, *side) for side in sides
        )
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


def _half_table(
    joining: np.ufunc,
    tables: Sequence[FloatArray],
    original: Records,
    released: Records,
    rows: EquivalenceClasses,
    columns: EquivalenceClasses,
    steps: Sequence[int],
) -> FloatArray:
    """A number for each true and each released value of half of the steps, joined over them."""
    joined = np.full((len(rows.first), len(columns.first)), float(joining.identity))
    block = max(1, BLOCK // max(1, len(columns.first)))
    for begin in range(0, len(rows.first), block):  # what one step adds stays in the cache
        part = slice(begin, begin + block)
        for step in steps:
            values = tables[step][original.codes[step][rows.first[part]]]
            places = released.codes[step][columns.first]
            joining(joined[part], values.take(places, axis=1), out=joined[part])
    return joined


def halves_of(sizes: Sequence[int]) -> tuple[range, range]:
    """The steps in two halves that have about as many values each.

    >>> halves_of([2, 50, 10, 10])
    (range(0, 2), range(2, 4))
    """
    logs = np.cumsum(np.log(np.maximum(sizes, 1)))
    middle = int(np.argmin(np.abs(logs[:-1] - logs[-1] / 2))) + 1 if len(sizes) > 1 else 1
    return range(middle), range(middle, len(sizes))


def _half(records: Records, steps: Sequence[int]) -> EquivalenceClasses:
    """Which records agree in half of the steps."""
    everybody = np.zeros(len(records), np.int64)
    return EquivalenceClasses.by([everybody, *(records.codes[step] for step in steps)])
