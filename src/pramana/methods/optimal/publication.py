"""What is published of a matrix: decoys, a grid, whether it is small enough, and changes to expect.

**Decoys.** The least loss leaves cells without records alone, so that the rows of a published
matrix would list the rare cells that occur. Some empty cells therefore get the row of a rare one.
No record meets such a row, and nothing arrives there, so that neither loss nor C1 changes. Which
cells are decoys is drawn: recomputing designs does not tell them apart.

**The grid.** The digits of a matrix would reveal counts: 0.07216505 is (1/alpha - 3) / 97. On a
grid of 1, 2, 5, 10, 20, ... many tables share a matrix. Moves are rounded up where a row has room,
and improved on the grid (iteration.py).

**Bytes** (docs/proofs/spontaneous_recognition.md). A matrix is published if its certificate takes
less than the records. The decision depends on published quantities alone, so that it is the same
for every seed, engine and format. The entropy of the columns bounds the size of the records.

**Changes.** A combination of u < 1/alpha records is safe once s (1/alpha - u) others arrive, where
its own stay with probability s. An arrival costs about 2 of the loss and leaving u (1/s - s), least
at 1 / s^2 = price / (alpha u) - 1. All choices of keys together need 1 to 5 times what the worst
choice needs (tests/methods/test_estimated_changes.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from pramana.base.randomness import Keystream, Stream
from pramana.base.rounding import TOTAL, coarse_up
from pramana.mechanisms.mechanism import Step
from pramana.mechanisms.sparse_rows import ListedCells, SparseRows
from pramana.mechanisms.transition import Dense, Label, TransitionMatrix
from pramana.methods.context import DesignContext
from pramana.methods.optimal.cells import LEAST_KEPT, KeyCells
from pramana.methods.optimal.iteration import stepped
from pramana.release.certificate_fields import canonical, labels_to_json, schema_to_json
from pramana.schema.groups import COUNT, MOST_ATTACHED, group_sizes
from pramana.schema.joint_cells import CellRules, cell_codes, cell_numbers
from pramana.types import BoolArray, Entries, FloatArray, Form, IntArray, Words

TRIES = 4
"""So many cells are drawn for each decoy: some are listed, or cannot be."""

DECOYS = 3
"""Decoys for each rare cell whose records move, as far as there are empty cells."""


def with_decoys(
    matrix: TransitionMatrix,
    numbers: FloatArray,
    keystream: Keystream,
    *,
    stays: Callable[[Label], bool] = lambda _: False,
) -> TransitionMatrix:
    """The matrix with decoys among the cells without records, drawn by the keystream."""
    rows, columns, _ = transitions(matrix)
    movers = np.unique(rows[numbers[rows] > 0])
    idle = (numbers == 0) & ~np.isin(np.arange(matrix.size), np.concatenate([rows, columns]))
    free = [place for place in np.flatnonzero(idle).tolist() if not stays(matrix.labels[place])]
    wanted = min(len(free), DECOYS * len(movers))
    if not wanted:
        return matrix
    chosen = np.asarray(free)[keystream.permutation(len(free), Stream("decoys", "cells"))[:wanted]]
    order = keystream.permutation(len(movers), Stream("decoys", "rows"))
    models = movers[order[np.arange(wanted) % len(movers)]]
    return rebuilt(matrix, *_dressed(matrix, models, chosen))


def with_listed_decoys(
    matrix: ListedCells,
    numbers: FloatArray,
    keystream: Keystream,
    *,
    columns: Sequence[tuple[Label, ...]],
    rules: CellRules,
) -> ListedCells:
    """The matrix with decoys among cells that it does not list.

    A decoy takes each key from one of two rare cells that move, by a coin, and looks like them.
    """
    codes = np.ascontiguousarray(cell_codes(columns, matrix.labels).T)
    movers = np.unique(matrix.sources[numbers[matrix.sources] > 0])
    drawn = _crossed(codes[movers], keystream, count=TRIES * DECOYS * len(movers))
    sizes = [len(own) for own in columns]
    flat, own = cell_numbers(list(drawn.T), sizes), cell_numbers(list(codes.T), sizes)
    _, first = np.unique(flat, return_index=True)
    fresh = np.zeros(len(flat), dtype=bool)
    fresh[first] = True
    fresh &= ~np.isin(flat, own) & rules.free(drawn.T)
    chosen = np.flatnonzero(fresh)[: DECOYS * len(movers)]
    order = keystream.permutation(len(movers), Stream("decoys", "rows"))
    models = movers[order[np.arange(len(chosen)) % max(len(movers), 1)]]
    every = np.concatenate([codes, drawn[chosen]])
    rank = np.argsort(np.argsort(np.concatenate([own, flat[chosen]])))
    labels = [tuple(own[code] for own, code in zip(columns, cell, strict=True))
              for cell in every[np.argsort(rank)].tolist()]  # fmt: skip
    sources, targets, moves = _dressed(matrix, models, np.arange(len(codes), len(every)))
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


def _dressed(
    matrix: TransitionMatrix, models: IntArray, chosen: IntArray
) -> tuple[IntArray, IntArray, np.ndarray]:
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


def transitions(matrix: TransitionMatrix) -> tuple[IntArray, IntArray, np.ndarray]:
    """Off-diagonal entries in integers over 2**64."""
    if isinstance(matrix, SparseRows):
        return matrix.sources, matrix.targets, matrix.moves
    weights = np.array(matrix.weights, dtype=object)
    np.fill_diagonal(weights, 0)
    rows, columns = np.nonzero(weights)
    return rows, columns, weights[rows, columns].astype(np.uint64)


def as_listed(matrix: TransitionMatrix) -> ListedCells:
    """The same integers in the form that takes least room in a certificate."""
    rows, columns, moves = transitions(matrix)
    return ListedCells.from_moves(matrix.labels, rows=rows, columns=columns, moves=moves)


def rebuilt(
    matrix: TransitionMatrix, rows: IntArray, columns: IntArray, moves: np.ndarray
) -> TransitionMatrix:
    """A matrix of the same family from its off-diagonal entries."""
    family = type(matrix) if isinstance(matrix, SparseRows) else SparseRows
    made = family.from_moves(matrix.labels, rows=rows, columns=columns, moves=moves)
    if isinstance(matrix, SparseRows):
        return made
    weights = np.zeros((matrix.size, matrix.size), dtype=object)
    weights[made.sources, made.targets] = [int(move) for move in made.moves]
    np.fill_diagonal(weights, made.kept)
    return Dense.from_weights(matrix.labels, weights)


GRIDS: Final = (
    (1.0, 2.0, 5.0),
    tuple(float(step) for step in range(1, 10)),
    tuple(step / 10 for step in range(10, 100)),
)
"""The steps of a decade, coarse ones first."""

DECADES: Final = 12
LEAST_STAY: Final = 0.05
"""A row on the grid stays as it is with at least this chance, or as it did."""


FEW_CELLS, STEPPED_CELLS = 16, 300
"""Up to so many joint cells the matrix is made better on its grid; not where there are so few that
whoever tries every table of counts would find fewer that fit (tests/methods/test_disclosure.py)."""


def best_on_grid(
    matrix: TransitionMatrix, steps: tuple[float, ...], cells: KeyCells, alpha: float
) -> TransitionMatrix:
    """The matrix with its moves on the grid, and of little loss there for these cells."""
    rounded = on_grid(matrix, steps)
    whole = FEW_CELLS < cells.size <= STEPPED_CELLS and not isinstance(matrix, ListedCells)
    if not whole or rounded is matrix:
        return rounded
    found = stepped(cells, rounded.values, alpha, _grid(steps))
    if found is None:
        return rounded
    rows, columns = np.nonzero((found > 0) & ~np.eye(cells.size, dtype=bool))
    return rebuilt(matrix, rows, columns, _weights(found[rows, columns]))


def on_grid(matrix: TransitionMatrix, steps: tuple[float, ...]) -> TransitionMatrix:
    """The matrix with its moves on the grid of these steps; what is left stays."""
    rows, columns, moves = transitions(matrix)
    if not len(rows):
        return matrix
    chances = moves.astype(np.float64) / 2.0**64
    grid = _grid(steps)
    place = np.searchsorted(grid, chances * (1 - 1e-12))
    up, down = grid[np.minimum(place, len(grid) - 1)], grid[np.maximum(place - 1, 0)]
    leaving = np.bincount(rows, up, minlength=matrix.size)
    stays = np.minimum(LEAST_STAY, np.asarray(matrix.diagonal, dtype=np.float64))
    full = leaving > 1 - stays
    lower = np.where(down < chances, down, chances)
    raised = ~full[rows] | _raised(rows, lower, up, 1 - stays)
    chosen: FloatArray = np.where(raised, up, lower)
    return rebuilt(matrix, rows, columns, _weights(chosen))


def _grid(steps: tuple[float, ...]) -> FloatArray:
    """The values that moves may have."""
    return np.array([step * 10.0**-power for power in range(DECADES, 0, -1) for step in steps])


def _weights(chances: FloatArray) -> Words:
    return np.floor(np.ldexp(chances, 64)).astype(np.uint64)


def _raised(rows: IntArray, lower: FloatArray, up: FloatArray, room: FloatArray) -> BoolArray:
    """Which moves can be rounded up where not all of a row can: the small steps first."""
    order = np.lexsort((up - lower, rows))
    steps = np.cumsum((up - lower)[order])
    first = np.searchsorted(rows[order], rows[order])
    within = steps - np.concatenate([[0.0], steps])[first]
    base = np.bincount(rows, lower, minlength=len(room))
    raised = np.zeros(len(rows), dtype=bool)
    raised[order] = base[rows[order]] + within <= room[rows[order]] * (1 - 1e-12)
    return raised


WORDS: Final = 4 * 1024
"""The bytes of a certificate's sentences, without columns, labels and the matrix."""

BIASED: Final = {"frequencies": "as they stand, with bias and chance within the standard errors"}


def room_of_matrix(matrix: TransitionMatrix) -> int:
    """The bytes that a matrix adds to a certificate."""
    return len(canonical({"matrix": matrix.to_json()}))


def room_of_values(context: DesignContext) -> int:
    """The bytes of the columns, values and labels, which are part of every certificate."""
    form: Form = {"schema": schema_to_json(context.schema)}
    if context.opened is not None:
        form["labels"] = labels_to_json(context.opened.labels)
    return len(canonical(form))


def room_of_certificate(matrix: TransitionMatrix, context: DesignContext) -> int:
    """The bytes of a certificate with this matrix."""
    named = sum(len(column.name) for column in context.schema.released)
    rest = WORDS + 4 * named  # names recur in sentences and lists
    return room_of_values(context) + room_of_matrix(matrix) + rest


def room_of_records(step: Step, numbers: FloatArray, context: DesignContext, *, enough: int) -> int:
    """A lower bound on the bytes of the released records; counting stops at ``enough``."""
    released = step.matrices[0].apply(numbers)
    bits = sum(_bits(_added(codes, released, 0)) for codes in _codes(step))
    for column_bits in _kept(context):
        if bits >= 8 * enough:
            break
        bits += column_bits
    return min(int(bits / 8), enough)


def _bits(numbers: FloatArray) -> float:
    """The entropy of a column, from the number of records of each value."""
    positive = numbers[numbers > 0]
    return float((positive * np.log2(positive.sum() / positive)).sum())


def _kept(context: DesignContext) -> Iterator[float]:
    """The entropy of each column released unchanged."""
    for column in context.schema.released_as_is if context.opened is not None else ():
        assert context.opened is not None  # noqa: S101 - for the type checker
        binned = [column] if column.binned else []
        sizes = group_sizes(context.opened, [column.name], most=MOST_ATTACHED, binned=binned)
        if sizes.too_many:  # at least one record for each of the values
            yield MOST_ATTACHED * math.log2(context.records)
        else:
            yield _bits(sizes.total().column(COUNT).to_numpy().astype(np.float64))


def published_errors(step: Step, numbers: FloatArray) -> Entries:
    """The published standard errors of a withheld matrix: one coarse number for each column."""
    rows, columns, moves = transitions(step.matrices[0])
    chances = moves.astype(np.float64) / TOTAL
    errors = {}
    for name, codes in zip(step.columns, _codes(step), strict=True):
        errors[name] = coarse_up(max(1.0, _largest_error(codes, rows, columns, chances, numbers)))
    return {**BIASED, "standard_errors": errors}


def _largest_error(
    codes: IntArray, rows: IntArray, columns: IntArray, chances: FloatArray, numbers: FloatArray
) -> float:
    """The largest |b| + s over the values of a column."""
    size = int(codes.max()) + 1
    apart = codes[rows] != codes[columns]  # other moves keep the value
    rows, to, chances = rows[apart], codes[columns[apart]], chances[apart]
    where, place = np.unique(rows * size + to, return_inverse=True)
    chance, row = _added(place, chances, len(where)), where // size
    leaving = _added(row, chance, len(numbers))
    arriving = _added(where % size, numbers[row] * chance, size)
    bias = arriving - _added(codes, numbers * leaving, size)
    spread = _added(where % size, numbers[row] * chance * (1 - chance), size)
    spread += _added(codes, numbers * leaving * (1 - leaving), size)
    return float((np.abs(bias) + np.sqrt(np.maximum(spread, 0.0))).max())


def _added(places: IntArray, amounts: FloatArray, size: int) -> FloatArray:
    """Amounts summed by place, as floats even if there are none."""
    return np.bincount(places, amounts, size).astype(np.float64)


def _codes(step: Step) -> Iterator[IntArray]:
    """The codes of the cells, by column."""
    for column in zip(*step.cells, strict=True):
        places = {label: code for code, label in enumerate(dict.fromkeys(column))}
        yield np.array([places[label] for label in column], dtype=np.int64)


TIMES = (1.0, 5.0)
"""The changes of all choices of keys, relative to the worst choice alone."""

PRICE, HALVINGS = 2.0, 40


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
