"""Linkers: given a person's true keys, which released record is theirs?

A linker is a table of scores for each step, added up over the steps, plus a score for the released
cell itself. It picks a record with the highest score, ties at random. Two of them:

    nearest      minus the squared distance between true and released values       [Wei, Sec. 4.3]
    likelihood   ln P[truth -> released] - ln (expected number released so): the posterior that
                 a record is the person's, up to a factor, for who knows all matrices and the truth

The denominator of the second is exact for one record and nearly so for many: given the released
table, Sinkhorn's scaling (see optimal.py) would change it by terms of the order of one record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from pramana.attacks.records import Cells, Records, code_sizes
from pramana.attacks.reported import ReportScores, expected_reports
from pramana.errors import TooLarge
from pramana.matrices.mechanism import Mechanism, Step
from pramana.matrices.reporting import Reporting
from pramana.matrices.transition import TransitionMatrix
from pramana.risk.coded_table import AlikeRecords
from pramana.table.domains import Bins, Categories
from pramana.table.schema import Column, Schema
from pramana.types import FloatArray, IntArray

__all__ = [
    "Found",
    "Scorer",
    "Scores",
    "blocks",
    "expected_in_halves",
    "expected_released",
    "likelihood_scores",
    "link",
    "nearest_scores",
]


TIE = 1e-9
BLOCK = 200_000
"""Scores that are worked on at once: they stay in the cache."""

MOST_PAIRS = 2_000_000_000
"""Pairs of cells that are compared before targets are sampled."""

DENSE_CELLS = 20_000_000
COMPILED = 20_000_000
"""More pairs than these are gone through by a compiled loop."""

THREADS = 2
MOST_HALF = 40_000_000
"""Pairs of values that a half of the steps may have."""

IMPOSSIBLE = -1e30


class Scorer(Protocol):
    """How well released records fit true ones; higher is better."""

    def between(self, truth: Records, released: Records) -> FloatArray:
        """The score of each pair of records that stand at the same position."""

    def block(self, truth: Records, released: Records) -> FloatArray:
        """The score of every truth (rows) with every released record (columns) of one crowd."""


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
        """The score of every truth (rows) with every released record (columns) of one crowd."""
        total = np.zeros((len(truth), len(released)))
        for step, own in enumerate(self.tables):
            strata = truth.strata[step]
            if strata is None:
                rows = own[0][truth.codes[step]]
            else:
                rows = np.stack(own)[strata, truth.codes[step]]
            total += np.take(rows, released.codes[step], axis=1)
        return total


def in_halves(
    scores: Scorer, truth: Records, released: Records, sizes: Sequence[int]
) -> tuple[Scorer, Records, Records]:
    """The same scores and records by two steps, each standing for half of them.

    A pair then costs two look-ups instead of one a step. Left as they are where steps are few,
    matrices differ by stratum, or the halves have too many values.
    """
    if not isinstance(scores, Scores) or len(sizes) <= 2:
        return scores, truth, released
    if any(len(own) > 1 for own in scores.tables) or not len(truth) or not len(released):
        return scores, truth, released
    tables, codes = [], []
    for steps in halves_of(sizes):
        known, told = (half_of(side, steps, sizes) for side in (truth, released))
        if len(known.first) * len(told.first) > MOST_HALF:
            return scores, truth, released
        total = np.zeros((len(known.first), len(told.first)))
        for step in steps:
            rows = scores.tables[step][0][truth.codes[step][known.first]]
            total += rows[:, released.codes[step][told.first]]
        tables.append((total,))
        codes.append((known.of_record, told.of_record))
    nowhere = (None, None)
    return (
        Scores(tuple(tables)),
        Records(tuple(own for own, _ in codes), truth.crowd, nowhere),
        Records(tuple(own for _, own in codes), released.crowd, nowhere),
    )


def likelihood_scores(mechanism: Mechanism) -> Scorer:
    """Logarithms of the probabilities; what cannot happen scores next to nothing."""
    if isinstance(mechanism, Reporting):
        return ReportScores(mechanism)
    return Scores(tuple(tuple(_logs(matrix) for matrix in step.matrices) for step in mechanism))


def _logs(matrix: TransitionMatrix) -> FloatArray:
    values = matrix.values
    return np.where(values > 0, np.log(np.maximum(values, 1e-300)), IMPOSSIBLE)


def nearest_scores(mechanism: Mechanism, schema: Schema, truth: Records) -> Scores:
    """Minus squared distances, each column in units of its own spread among the true records."""
    if isinstance(mechanism, Reporting):
        return _nearest_reports(mechanism, schema, truth)
    tables = []
    for step, codes in zip(mechanism, truth.codes, strict=True):
        size = len(step.labels)
        shares = np.bincount(codes, minlength=size) / max(len(codes), 1)
        places = _places(step, schema)
        squared = np.zeros((size, size))
        for column, own in zip(step.columns, places, strict=True):
            squared += _distances(schema.column(column), own, shares)
        tables.append((-squared,) * len(step.matrices))
    return Scores(tuple(tables))


def _nearest_reports(mechanism: Reporting, schema: Schema, truth: Records) -> Scores:
    """The same for reports: a column that was not asked is as far as others are on average."""
    tables = []
    for name, codes in zip(mechanism.columns, truth.codes[:-1], strict=True):
        labels = mechanism.labels_of(name)
        shares = np.bincount(codes, minlength=len(labels))[: len(labels)] / max(len(codes), 1)
        known = {label: at for at, label in enumerate(schema.column(name).labels)}
        places = np.array([known[label] for label in labels])
        squared = _distances(schema.column(name), places, shares)
        tables.append((-np.column_stack([squared, squared @ shares]),))
    return Scores((*tables, (np.zeros((1, len(mechanism.sets))),)))


def _places(step: Step, schema: Schema) -> list[IntArray]:
    """For each column of a step the code of each cell of the step."""
    if len(step.columns) == 1:
        return [np.arange(len(step.labels))]
    found = []
    for place, name in enumerate(step.columns):
        codes = {label: code for code, label in enumerate(schema.column(name).labels)}
        found.append(np.array([codes[cell[place]] for cell in step.labels]))
    return found


def _distances(column: Column, places: IntArray, shares: FloatArray) -> FloatArray:
    """Squared distances between the cells of a step by one of its columns.

    Ordered values stand at their positions, divided by the standard deviation; between unordered
    ones, and to a missing one, every step is as far as two standard deviations of a fair coin.
    """
    domain = column.domain
    ordered = isinstance(domain, Bins) or (isinstance(domain, Categories) and domain.ordered)
    differ = (places[:, None] != places[None, :]).astype(np.float64)
    if not ordered or domain is None:
        return np.asarray(differ, dtype=np.float64)
    missing = places >= domain.size
    mean = float((shares * places)[~missing].sum()) / max(float(shares[~missing].sum()), 1e-12)
    spread = float((shares * (places - mean) ** 2)[~missing].sum())
    squared = (places[:, None] - places[None, :]) ** 2 / max(spread, 1e-12)
    apart = missing[:, None] | missing[None, :]
    return np.asarray(np.where(apart, differ, squared), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Found:
    """What a linker finds for the targets.

    Attributes:
        targets: the people attacked.
        chance: for each the chance to pick the right record, ties at random.
        confidence: what the linker itself believes that chance to be.
    """

    targets: IntArray
    chance: FloatArray
    confidence: FloatArray


def link(
    scores: Scorer,
    truth: Records,
    released: Records,
    *,
    sizes: Sequence[int],
    targets: IntArray,
    offsets: FloatArray | None = None,
) -> Found:
    """Attack some people of a table whose released records stand in the same order.

    ``offsets`` are added to the scores of each released record: minus ln of the expected number.
    """
    seen = Cells.of(released, sizes)
    wanted = Cells.of(truth.at(targets), sizes)
    bonus = np.zeros(len(seen.numbers))
    if offsets is not None:
        bonus[seen.of_record] = offsets
    best = np.full(len(wanted.numbers), -np.inf)
    tied, mass = np.zeros(len(wanted.numbers)), np.zeros(len(wanted.numbers))
    quick, people, told = in_halves(scores, wanted.records, seen.records, sizes)
    if quick is not scores and len(people) * len(told) > COMPILED:
        sides = _Sides(quick, people, told, bonus, seen.numbers)
        for rows, columns in blocks(wanted, seen, most=2**62):
            best[rows], tied[rows], mass[rows] = sides.links(rows, columns)
    else:
        for rows, columns in blocks(wanted, seen):
            block = quick.block(people.at(rows), told.at(columns)) + bonus[columns]
            highest = block.max(axis=1)
            best[rows] = highest
            tied[rows] = (block >= highest[:, None] - TIE) @ seen.numbers[columns]
            mass[rows] = np.exp(np.maximum(block - highest[:, None], -700)) @ seen.numbers[columns]
    own = scores.between(truth.at(targets), released.at(targets)) + bonus[seen.of_record[targets]]
    cell = wanted.of_record
    right = own >= best[cell] - TIE
    return Found(targets, np.where(right, 1 / tied[cell], 0.0), 1 / mass[cell])


@dataclass(frozen=True, eq=False)
class _Sides:
    """People and released records by halves of their steps, for the compiled loop."""

    scores: Scorer
    people: Records
    told: Records
    bonus: FloatArray
    numbers: IntArray

    def links(self, rows: IntArray, columns: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Best score, ties and mass of some people among the records of their crowd."""
        from pramana.attacks.kernels import best_links

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


def blocks(wanted: Cells, seen: Cells, *, most: int = BLOCK) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows and columns of a crowd, so many rows that a block fits in memory."""
    released = seen.by_crowd
    for crowd, rows in enumerate(wanted.by_crowd):
        if not len(rows):
            continue
        columns = released[crowd] if crowd < len(released) else np.zeros(0, np.int64)
        step = max(1, most // max(len(columns), 1))
        for begin in range(0, len(rows), step):
            yield rows[begin : begin + step], columns


def expected_released(mechanism: Mechanism, truth: Records, released: Records) -> FloatArray:
    """ln of the expected number of records of the same crowd released like each record."""
    if isinstance(mechanism, Reporting):
        return expected_reports(mechanism, truth, released)
    sizes = code_sizes(mechanism)
    cells, seen = Cells.of(truth, sizes), Cells.of(released, sizes)
    logs = np.zeros(len(seen.numbers))
    scores = likelihood_scores(mechanism)
    crowds = int(max(truth.crowd.max(initial=0), released.crowd.max(initial=0))) + 1
    simple = all(len(step.matrices) == 1 for step in mechanism)
    if simple and crowds * int(np.prod(sizes, dtype=np.float64)) <= DENSE_CELLS:
        logs = _expected_dense(mechanism, cells, seen, [crowds, *sizes])
    elif simple and (found := expected_in_halves(mechanism, cells, seen, sizes)) is not None:
        logs = found
    else:
        _require_few(cells, seen)
        for columns, rows in blocks(seen, cells):
            block = scores.block(cells.records.at(rows), seen.records.at(columns))
            logs[columns] = np.log(cells.numbers[rows] @ np.exp(np.maximum(block, -700)))
    every: FloatArray = logs[seen.of_record]
    return every


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
    for crowd, columns in enumerate(seen.by_crowd):
        rows = cells.by_crowd[crowd] if crowd < len(cells.by_crowd) else np.zeros(0, np.int64)
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
        first, second = (_chances(matrices, truth, told, *side) for side in sides)
        shape = len(xa.first), len(xb.first)
        counts = csr_array((cells.numbers[rows], (xa.of_record, xb.of_record)), shape=shape)
        between = np.asarray(counts.T @ first)
        step = max(1, BLOCK // shape[1])
        for begin in range(0, len(columns), step):
            part = slice(begin, begin + step)
            expected = between[:, ya.of_record[part]] * second[:, yb.of_record[part]]
            logs[columns[part]] = np.log(np.maximum(expected.sum(axis=0), 1e-300))
    return logs


SELDOM = float(np.log(1e-300))


def _chances(
    matrices: Sequence[FloatArray],
    truth: Records,
    told: Records,
    known: AlikeRecords,
    seen: AlikeRecords,
    steps: Sequence[int],
) -> FloatArray:
    """The probabilities of half of the steps, for every true and every released value of it."""
    found = np.ones((len(known.first), len(seen.first)))
    for step in steps:
        rows = matrices[step][truth.codes[step][known.first]]
        found *= rows[:, told.codes[step][seen.first]]
    return found


def halves_of(sizes: Sequence[int]) -> tuple[range, range]:
    """The steps in two halves that have about as many values each.

    >>> halves_of([2, 50, 10, 10])
    (range(0, 2), range(2, 4))
    """
    logs = np.cumsum(np.log(np.maximum(sizes, 1)))
    middle = int(np.argmin(np.abs(logs[:-1] - logs[-1] / 2))) + 1 if len(sizes) > 1 else 1
    return range(middle), range(middle, len(sizes))


def half_of(records: Records, steps: Sequence[int], sizes: Sequence[int]) -> AlikeRecords:
    """Which records agree in half of the steps."""
    if not len(steps):
        return AlikeRecords.of([np.zeros(len(records), np.int64)], [1])
    return AlikeRecords.of([records.codes[step] for step in steps], [sizes[step] for step in steps])


def _expected_dense(
    mechanism: Mechanism, cells: Cells, seen: Cells, shape: Sequence[int]
) -> FloatArray:
    """By pushing the whole table through the matrices, axis by axis."""
    table = np.zeros(shape)
    table[(cells.records.crowd, *cells.records.codes)] = cells.numbers
    for axis, step in enumerate(mechanism, start=1):
        table = step.matrices[0].apply(table, axis=axis)
    values = table[(seen.records.crowd, *seen.records.codes)]
    return np.asarray(np.log(np.maximum(values, 1e-300)), dtype=np.float64)


def _require_few(cells: Cells, seen: Cells) -> None:
    pairs = len(cells.numbers) * len(seen.numbers)
    if pairs > MOST_PAIRS:
        raise TooLarge(
            f"{len(cells.numbers):,} true and {len(seen.numbers):,} released combinations are more "
            "than can be compared. Audit a sample of the records."
        )
