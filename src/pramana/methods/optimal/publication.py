"""What is published of a matrix: digits, decoys, whether it is small enough, errors instead of it.

**Decoys.** The least loss leaves cells without records alone, so that the rows of a published
matrix would list the rare cells that occur. Some empty cells therefore get the row of a rare one.
No record meets such a row, and nothing arrives there, so that neither loss nor C1 changes. Which
cells are decoys is drawn: recomputing designs does not tell them apart.

**Bytes** (docs/proofs/withheld_matrices.md). A matrix is published if its certificate takes
less than the records. The decision depends on published quantities alone, so that it is the same
for every seed, engine and format. The entropy of the columns bounds the size of the records.

**Changes.** A combination of u < 1/alpha records is safe once s (1/alpha - u) others arrive, where
its own stay with probability s. An arrival costs about 2 of the loss and leaving u (1/s - s), least
at 1 / s^2 = price / (alpha u) - 1. All choices of keys together need 1 to 5 times what the worst
choice needs (tests/methods/test_estimated_changes.py).

**Digits.** The digits of a matrix would reveal counts: 0.07216505 is (1/alpha - 3) / 97. On a grid
of 1, 2, 5, 10, 20, ... many tables share a matrix. Moves are rounded up where a row has room.
Entries then go up and down the grid one at a time, by the step that lowers most

    n^2 l2(P) + sum_k w_k [max_m N_m(k) / alpha - D(k)]_+ ,

the exact loss plus the records that each combination k lacks at a price w_k, which rises while no
step helps. The best matrix that lacks none is kept. A step changes the inverse by a matrix of rank
one [Sherman50] (docs/proofs/spontaneous_recognition.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from pramana.base.randomness import Keystream, Stream
from pramana.base.rounding import TOTAL, coarse_up
from pramana.mechanisms.mechanism import Step
from pramana.mechanisms.sparse_rows import ListedCells, SparseRows
from pramana.mechanisms.transition import Dense, Label, TransitionMatrix, as_cells
from pramana.methods.context import DesignContext
from pramana.methods.optimal.cells import LEAST_KEPT, KeyCells
from pramana.release.certificate_fields import canonical, labels_to_json, schema_to_json
from pramana.schema.group_sizes import COUNT, MOST_ATTACHED, group_sizes
from pramana.schema.joint_cells import CellRules, cell_codes, cell_numbers
from pramana.types import Entries, FloatArray, Form, IntArray, Words

GRIDS: Final = (
    (1.0, 2.0, 5.0),
    tuple(float(step) for step in range(1, 10)),
    tuple(step / 10 for step in range(10, 100)),
)
"""The steps of a decade, coarse ones first."""

DECADES: Final = 12

FEW_CELLS, MANY_CELLS = 16, 300
"""The numbers of joint cells between which a matrix is improved on its grid. Of fewer cells,
whoever tries every table of counts would find fewer that fit (tests/methods/test_disclosure.py)."""

MOST: Final = 1_500
"""The largest number of steps."""

PRICES, DEARER, DEAREST = (4.0, 1e4), 1.5, 1e9
"""The initial prices of a lacking record, the factor by which they rise, and the largest price.

At the low price the search violates C1 and returns to it; at the high price it stays inside."""

INSIDE: Final = 1e-9
"""The share below alpha in floating point that makes C1 hold in integers."""

NOISE: Final = 1e-6
"""Smaller probabilities are dropped at first: they are residues of the programs."""

SHIFTS: Final = np.array([-3, -2, -1, 1, 2, 3])
"""The places on the grid by which an entry may move at once; it may also become zero."""

FRESH: Final = np.array([0.001, 0.01, 0.1])
SOURCES: Final = 24
"""Initial values of new entries, and the number of frequent cells that may get some."""

ENOUGH: Final = 1e-6
"""Steps that lower the objective by a smaller share are not made."""


def transitions(matrix: TransitionMatrix) -> tuple[IntArray, IntArray, Words]:
    """Off-diagonal entries in integers over 2**64."""
    if isinstance(matrix, SparseRows):
        return matrix.sources, matrix.targets, matrix.moves
    weights = np.array(matrix.weights, dtype=object)
    np.fill_diagonal(weights, 0)
    rows, columns = np.nonzero(weights)
    return rows, columns, weights[rows, columns].astype(np.uint64)


def with_moves(
    matrix: TransitionMatrix, rows: IntArray, columns: IntArray, moves: Words
) -> TransitionMatrix:
    """A matrix of the same family from its off-diagonal entries."""
    if isinstance(matrix, SparseRows):
        return type(matrix).from_moves(matrix.labels, rows=rows, columns=columns, moves=moves)
    made = SparseRows.from_moves(matrix.labels, rows=rows, columns=columns, moves=moves)
    weights = np.zeros((matrix.size, matrix.size), dtype=object)
    weights[made.sources, made.targets] = [int(move) for move in made.moves]
    np.fill_diagonal(weights, made.kept)
    return Dense.from_weights(matrix.labels, weights)


def best_on_grid(
    matrix: TransitionMatrix, steps: tuple[float, ...], cells: KeyCells, alpha: float
) -> TransitionMatrix:
    """The matrix with its moves on the grid, and of little loss there for these cells."""
    rounded = on_grid(matrix, steps)
    improvable = FEW_CELLS < cells.size <= MANY_CELLS and not isinstance(matrix, ListedCells)
    if rounded is matrix or not improvable:
        return rounded
    better = stepped(cells, rounded.values, alpha, _grid(steps))
    if better is None:
        return rounded
    rows, columns = np.nonzero((better > 0) & ~np.eye(cells.size, dtype=bool))
    return with_moves(matrix, rows, columns, _weights(better[rows, columns]))


def on_grid(matrix: TransitionMatrix, steps: tuple[float, ...]) -> TransitionMatrix:
    """The matrix with its moves on the grid, rounded up where a row has room."""
    rows, columns, moves = transitions(matrix)
    if not len(rows):
        return matrix
    chances = moves.astype(np.float64) / 2.0**64
    grid = _grid(steps)
    place = np.searchsorted(grid, chances * (1 - 1e-12))
    up, down = grid[np.minimum(place, len(grid) - 1)], grid[np.maximum(place - 1, 0)]
    lower = np.where(down < chances, down, chances)
    room = 1 - np.minimum(LEAST_KEPT, np.asarray(matrix.diagonal, dtype=np.float64))
    # Where not all moves of a row can be rounded up, the smallest steps are made first
    order = np.lexsort((up - lower, rows))
    total = np.cumsum((up - lower)[order])
    first = np.searchsorted(rows[order], rows[order])
    within = total - np.concatenate([[0.0], total])[first]
    base = np.bincount(rows, lower, minlength=matrix.size)
    raised = np.bincount(rows, up, minlength=matrix.size)[rows] <= room[rows]
    raised[order] |= base[rows[order]] + within <= room[rows[order]] * (1 - 1e-12)
    return with_moves(matrix, rows, columns, _weights(np.where(raised, up, lower)))


def _grid(steps: tuple[float, ...]) -> FloatArray:
    """The probabilities that moves may have."""
    return np.array([step * 10.0**-power for power in range(DECADES, 0, -1) for step in steps])


def _weights(chances: FloatArray) -> Words:
    return np.floor(np.ldexp(chances, 64)).astype(np.uint64)


def stepped(
    cells: KeyCells, start: FloatArray, alpha: float, grid: FloatArray, *, keep: float = LEAST_KEPT
) -> FloatArray | None:
    """The best matrix on the grid that meets C1; ``None`` if none was found.

    ``start`` need not meet C1; ``grid`` holds the probabilities of moves, rising; records stay with
    probability ``keep`` at least, unless that is lower already.
    """
    grid = np.append(0.0, grid)
    results = [_GridSearch(cells, start, alpha, grid, keep, price).run() for price in PRICES]
    least, best = min(results, key=lambda result: result[0])
    return best if np.isfinite(least) else None


def loss_changes(
    P: FloatArray,
    numbers: FloatArray,
    weights: FloatArray | float,
    steps: tuple[IntArray, IntArray, FloatArray],
) -> tuple[float, FloatArray]:
    """n^2 l2 of a matrix, and its change by each step (row, column, change of entry) alone.

    With r = Q_j - Q_i, a step changes the inverse to Q - c q r' with q the i-th column of Q and
    c = d / (1 + d (Q_ji - Q_ii)); released counts change at i and at j.
    """
    rows, columns, change = steps
    try:
        Q = np.linalg.inv(P).astype(np.float64)
    except np.linalg.LinAlgError:  # the loss is not a number, which ends the search
        Q = np.full_like(P, np.nan)
    released = numbers @ P
    inner = (Q * weights) @ Q.T
    weighed = Q.T @ (released[:, None] * inner)
    loss = float(released @ (Q * Q * weights).sum(axis=1) - (numbers * weights).sum())
    length = np.diag(inner)
    with np.errstate(divide="ignore", invalid="ignore"):  # steps to what has no inverse
        c = change / (1 + change * (Q[columns, rows] - Q[rows, rows]))
        r = length[columns] - 2 * inner[rows, columns] + length[rows]

        def after(cell: IntArray) -> FloatArray:
            along = Q[cell, rows]
            squared: FloatArray = (
                length[cell]
                - 2 * c * along * (inner[cell, columns] - inner[cell, rows])
                + c**2 * along**2 * r
            )
            return squared

        changes: FloatArray = (
            c**2 * (released @ (Q * Q))[rows] * r
            - 2 * c * (weighed[rows, columns] - weighed[rows, rows])
            + numbers[rows] * change * (after(columns) - after(rows))
        )
    return loss, changes


class _GridSearch:
    """The matrix of a search, its chances N_m(k), and the records that combinations lack."""

    def __init__(
        self,
        cells: KeyCells,
        start: FloatArray,
        alpha: float,
        grid: FloatArray,
        keep: float,
        price: float,
    ) -> None:
        P = np.where(start < NOISE, 0.0, start)
        np.fill_diagonal(P, 0.0)
        moves = P > 0
        np.fill_diagonal(P, 1 - P.sum(axis=1))
        self.cells, self.P, self.grid, self.keep = cells, P, grid, keep
        # By alpha itself: just inside it, 1/alpha records would lack what no step can supply
        self.rare = np.isin(np.arange(cells.size), cells.rare(alpha))
        self.alpha = alpha * (1 - INSIDE)
        self.price = np.full(len(cells.totals), price)
        common = np.argsort(-cells.numbers, kind="stable")[:SOURCES]
        reached = np.any(moves, axis=0)
        used = reached | np.any(moves, axis=1) | self.rare
        used[common] = True
        # Cells that move, are reached, or may be; the others stay as they are
        self.active = np.flatnonzero(used & ~cells.fixed)
        self.reached = reached[self.active]
        gives = cells.movable & (~self.rare | (cells.donors == "any"))
        self.gives = gives[self.active]
        self.numbers = cells.numbers[self.active]
        self.weights = np.broadcast_to(cells.weights, cells.numbers.shape)[self.active]
        self.chance = np.stack([cells.by_combination(row) for row in P])
        self._look()

    def _look(self) -> None:
        """What each combination lacks, and the two rare cells that are the most likely there."""
        self.expected = self.cells.numbers @ self.chance
        rare, every = np.where(self.rare[:, None], self.chance, 0.0), np.arange(len(self.price))
        self.worst = rare.argmax(axis=0)
        self.first = rare[self.worst, every]
        rare[self.worst, every] = 0.0
        self.second = rare.max(axis=0)
        self.lacks = self._lacking(self.first, self.expected)

    def _lacking(self, worst: FloatArray, expected: FloatArray) -> FloatArray:
        lacks: FloatArray = np.maximum(worst / self.alpha - expected, 0.0)
        return lacks

    def run(self) -> tuple[float, FloatArray]:
        """The least loss of the matrices that meet C1, and its matrix."""
        best, least = self.P, np.inf
        for _ in range(MOST):
            loss, shifted = self._best_of(*self._shifted_entries())
            lacking = self.lacks > 0
            if not lacking.any() and loss < least:
                best, least = self.P.copy(), loss
            if not np.isfinite(loss):
                break
            step = shifted or self._best_of(*self._new_entries())[1]
            if step is not None:
                self._take(*step)
                continue
            if not lacking.any() or self.price.max() > DEAREST:
                break
            self.price[lacking] *= DEARER
        return least, best

    def _moves(self) -> FloatArray:
        """The moves among the active cells; -1 on the diagonal."""
        moves = self.P[np.ix_(self.active, self.active)]
        np.fill_diagonal(moves, -1.0)
        return moves

    def _shifted_entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Row, column and new value of steps that move an entry along the grid, or to zero."""
        moves = self._moves()
        rows, columns = np.nonzero(moves > 0)
        level = np.searchsorted(self.grid, moves[rows, columns] * (1 - 1e-12))
        to = np.column_stack([level[:, None] + SHIFTS, np.zeros_like(level)])
        entry, which = np.nonzero((to >= 0) & (to < len(self.grid)))
        return rows[entry], columns[entry], self.grid[to[entry, which]]

    def _new_entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Row, column and new value of new moves to cells that are targets already."""
        rows, columns = np.nonzero((self._moves() == 0) & self.reached & self.gives[:, None])
        many = len(FRESH)
        return np.tile(rows, many), np.tile(columns, many), np.repeat(FRESH, len(rows))

    def _best_of(
        self, rows: IntArray, columns: IntArray, values: FloatArray
    ) -> tuple[float, tuple[int, int, float] | None]:
        """The loss, and the step that lowers the objective most, if one does."""
        P = self.P[np.ix_(self.active, self.active)]
        change = values - P[rows, columns]
        room = (P[rows, rows] - change >= self.keep) | (change < 0)
        rows, columns, values, change = rows[room], columns[room], values[room], change[room]
        loss, gain = loss_changes(P, self.numbers, self.weights, (rows, columns, change))
        gain[~np.isfinite(gain)] = np.inf
        least = -ENOUGH * max(loss, 1.0)
        # No step saves more than the price of all that is lacking at its two cells
        cost = (self.price * self.lacks)[self.cells.combination[self.active]].sum(axis=1)
        hope = np.flatnonzero(gain - (cost[rows] + cost[columns]) * (1 + INSIDE) < least)
        if not len(hope):
            return loss, None
        rows, columns, values, change = rows[hope], columns[hope], values[hope], change[hope]
        gain = gain[hope] + self._lack_changes(self.active[rows], self.active[columns], change)
        best = int(np.argmin(gain))
        if not gain[best] < least:
            return loss, None
        return loss, (int(rows[best]), int(columns[best]), float(values[best]))

    def _lack_changes(self, rows: IntArray, columns: IntArray, change: FloatArray) -> FloatArray:
        """The change of the price of all lacking records by each step."""
        combination = self.cells.combination
        apart = combination[rows] != combination[columns]
        total = np.zeros(len(rows))
        for cells, sign in ((columns, 1), (rows, -1)):
            k = combination[cells]
            moved = sign * change[:, None]
            others = np.where(self.worst[k] == rows[:, None], self.second[k], self.first[k])
            chance = np.where(self.rare[rows][:, None], self.chance[rows[:, None], k] + moved, 0.0)
            expected = self.expected[k] + self.cells.numbers[rows][:, None] * moved
            more = self._lacking(np.maximum(others, chance), expected) - self.lacks[k]
            total += (apart * self.price[k] * more).sum(axis=1)
        return total

    def _take(self, row: int, column: int, value: float) -> None:
        """Set the probability of a move between two active cells, and adjust the diagonal."""
        row, column = int(self.active[row]), int(self.active[column])
        self.P[row, row] -= value - self.P[row, column]
        self.P[row, column] = value
        self.chance[row] = self.cells.by_combination(self.P[row])
        self._look()


TRIES = 4
"""The cells that are drawn for each decoy: some are listed, or cannot be."""

DECOYS = 3
"""Decoys for each rare cell whose records move, as far as there are empty cells."""

WORDS: Final = 4 * 1024
"""The bytes of a certificate's sentences, without columns, labels and the matrix."""

BIASED: Final = {"frequencies": "as released, with bias and noise within the standard errors"}

TIMES = (1.0, 5.0)
"""The changes of all choices of keys, relative to the worst choice alone."""

PRICE, HALVINGS = 2.0, 40


def with_decoys(
    matrix: TransitionMatrix,
    numbers: FloatArray,
    keystream: Keystream,
    *,
    columns: Sequence[tuple[Label, ...]],
    rules: CellRules,
) -> TransitionMatrix:
    """The matrix with decoys among the cells without records, drawn by the keystream.

    Decoys of a matrix that lists some cells are among the cells that it does not list. Such a decoy
    takes each key from one of two rare cells that move, by a coin, and looks like them.
    """
    rows, targets, _ = transitions(matrix)
    movers = np.unique(rows[numbers[rows] > 0])
    most = DECOYS * len(movers)
    order = keystream.permutation(len(movers), Stream("decoys", "rows"))
    codes = np.ascontiguousarray(cell_codes(columns, as_cells(matrix.labels, len(columns))).T)
    if not isinstance(matrix, ListedCells):
        idle = (numbers == 0) & ~np.isin(np.arange(matrix.size), np.concatenate([rows, targets]))
        free = np.flatnonzero(idle & ~rules.stay(codes.T))
        most = min(len(free), most)
        if not most:
            return matrix
        chosen = free[keystream.permutation(len(free), Stream("decoys", "cells"))[:most]]
        models = movers[order[np.arange(most) % len(movers)]]
        return with_moves(matrix, *_with_copies(matrix, models, chosen))
    drawn = _crossed(codes[movers], keystream, count=TRIES * most)
    sizes = [len(labels) for labels in columns]
    flat, listed = cell_numbers(list(drawn.T), sizes), cell_numbers(list(codes.T), sizes)
    first = np.zeros(len(flat), dtype=bool)
    first[np.unique(flat, return_index=True)[1]] = True
    chosen = np.flatnonzero(first & ~np.isin(flat, listed) & rules.free(drawn.T))[:most]
    models = movers[order[np.arange(len(chosen)) % max(len(movers), 1)]]
    every = np.concatenate([codes, drawn[chosen]])
    rank = np.argsort(np.argsort(np.concatenate([listed, flat[chosen]])))
    labels = [tuple(values[code] for values, code in zip(columns, cell, strict=True))
              for cell in every[np.argsort(rank)].tolist()]  # fmt: skip
    sources, targets, moves = _with_copies(matrix, models, np.arange(len(codes), len(every)))
    return ListedCells.from_moves(labels, rows=rank[sources], columns=rank[targets], moves=moves)


def _crossed(codes: IntArray, keystream: Keystream, *, count: int) -> IntArray:
    """Cells that take each key from one of two others, by a coin."""
    if not len(codes):
        return codes
    parents = keystream.integers(Stream("decoys", "cells"), 0, len(codes), count=2 * count)
    one, other = codes[parents.astype(np.int64)].reshape(2, count, -1)
    coins = keystream.words(Stream("decoys", "keys"), 0, count)
    first = (coins[:, None] >> np.arange(codes.shape[1], dtype=np.uint64)) & np.uint64(1)
    crossed: IntArray = np.where(first == 1, one, other)
    return crossed


def _with_copies(
    matrix: TransitionMatrix, models: IntArray, chosen: IntArray
) -> tuple[IntArray, IntArray, Words]:
    """The transitions, and those of the models once more from the chosen cells."""
    rows, columns, moves = transitions(matrix)
    first, last = np.searchsorted(rows, models), np.searchsorted(rows, models, side="right")
    lengths = last - first
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    copied = np.repeat(first, lengths) + within
    return (
        np.concatenate([rows, np.repeat(chosen, lengths)]),
        np.concatenate([columns, columns[copied]]),
        np.concatenate([moves, moves[copied]]),
    )


def as_listed(matrix: TransitionMatrix) -> ListedCells:
    """The same integers in the form that takes least room in a certificate."""
    if isinstance(matrix, ListedCells):
        return matrix
    rows, columns, moves = transitions(matrix)
    return ListedCells.from_moves(matrix.labels, rows=rows, columns=columns, moves=moves)


def bytes_of_matrix(matrix: TransitionMatrix) -> int:
    """The bytes that a matrix adds to a certificate."""
    return len(canonical({"matrix": matrix.to_json()}))


def bytes_of_values(context: DesignContext) -> int:
    """The bytes of the columns, values and labels, which are part of every certificate."""
    form: Form = {"schema": schema_to_json(context.schema)}
    if context.opened is not None:
        form["labels"] = labels_to_json(context.opened.labels)
    return len(canonical(form))


def bytes_of_certificate(matrix: TransitionMatrix, context: DesignContext) -> int:
    """The bytes of a certificate with this matrix."""
    names = sum(len(column.name) for column in context.schema.released)
    rest = WORDS + 4 * names  # names recur in sentences and lists
    return bytes_of_values(context) + bytes_of_matrix(matrix) + rest


def bytes_of_records(
    step: Step, numbers: FloatArray, context: DesignContext, *, enough: int
) -> int:
    """A lower bound on the bytes of the released records; counting stops at ``enough``."""
    released = step.matrices[0].apply(numbers)
    bits = sum(_entropy(_sums(codes, released, 0)) for codes in _codes(step))
    opened = context.opened
    for column in context.schema.released_as_is if opened is not None else ():
        assert opened is not None  # noqa: S101 - for the type checker
        if bits >= 8 * enough:
            break
        binned = [column] if column.binned else []
        sizes = group_sizes(opened, [column.name], most=MOST_ATTACHED, binned=binned)
        if sizes.too_many:  # at least one record for each of the values
            bits += MOST_ATTACHED * math.log2(context.records)
        else:
            bits += _entropy(sizes.total().column(COUNT).to_numpy().astype(np.float64))
    return min(int(bits / 8), enough)


def _entropy(numbers: FloatArray) -> float:
    """The bits of a column, from the number of records of each value."""
    positive = numbers[numbers > 0]
    return float((positive * np.log2(positive.sum() / positive)).sum())


def published_errors(step: Step, numbers: FloatArray) -> Entries:
    """The published standard errors of a withheld matrix: one coarse number for each column.

    It is at least the largest |bias| + standard error over the values of the column.
    """
    rows, targets, moves = transitions(step.matrices[0])
    chances = moves.astype(np.float64) / TOTAL
    errors = {}
    for name, codes in zip(step.columns, _codes(step), strict=True):
        size = int(codes.max()) + 1
        apart = codes[rows] != codes[targets]  # other moves keep the value
        pairs = rows[apart] * size + codes[targets[apart]]
        where, place = np.unique(pairs, return_inverse=True)
        chance, row = _sums(place, chances[apart], len(where)), where // size
        leaving = _sums(row, chance, len(numbers))
        arriving = _sums(where % size, numbers[row] * chance, size)
        bias = arriving - _sums(codes, numbers * leaving, size)
        variance = _sums(where % size, numbers[row] * chance * (1 - chance), size)
        variance += _sums(codes, numbers * leaving * (1 - leaving), size)
        largest = float((np.abs(bias) + np.sqrt(np.maximum(variance, 0.0))).max())
        errors[name] = coarse_up(max(1.0, largest))
    return {**BIASED, "standard_errors": errors}


def _sums(places: IntArray, amounts: FloatArray, size: int) -> FloatArray:
    """Amounts summed by place, as floats even if there are none."""
    return np.bincount(places, amounts, size).astype(np.float64)


def _codes(step: Step) -> Iterator[IntArray]:
    """The codes of the cells, by column."""
    for column in zip(*step.cells, strict=True):
        places = {label: code for code, label in enumerate(dict.fromkeys(column))}
        yield np.array([places[label] for label in column], dtype=np.int64)


def estimated_changes(totals: Iterable[FloatArray | IntArray], alpha: float) -> tuple[float, float]:
    """Bounds on the changed records, from the records by combination of each choice of keys."""
    most = max(changes_of_choice(np.asarray(by_key, dtype=np.float64), alpha) for by_key in totals)
    return TIMES[0] * most, TIMES[1] * most


def changes_of_choice(totals: FloatArray, alpha: float) -> float:
    """The number of records that change if a single choice of keys is protected."""
    rare = totals[(totals > 0) & (totals * alpha < 1)]

    def at(price: float) -> tuple[float, float]:
        """Arrivals in rare combinations, and departures from them."""
        stays = np.maximum(price / (alpha * rare) - 1, 1) ** -0.5
        stays = np.maximum(stays, LEAST_KEPT)
        return float((stays * (1 / alpha - rare)).sum()), float((rare * (1 - stays)).sum())

    low, high = 0.0, PRICE
    arriving, leaving = at(high)
    for _ in range(HALVINGS if arriving < leaving else 0):
        middle = (low + high) / 2
        arriving, leaving = at(middle)
        low, high = (low, middle) if arriving < leaving else (middle, high)
    return max(arriving, leaving)
