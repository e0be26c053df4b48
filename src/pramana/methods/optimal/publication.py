"""What is published of a matrix: decoys, whether it is small enough, and errors instead of it.

**Decoys.** The least loss leaves cells without records alone, so that the rows of a published
matrix would list the rare cells that occur. Some empty cells therefore get the row of a rare one.
No record meets such a row, and nothing arrives there, so that neither loss nor C1 changes. Which
cells are decoys is drawn: recomputing designs does not tell them apart.

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
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from pramana.base.randomness import Keystream, Stream
from pramana.base.rounding import TOTAL, coarse_up
from pramana.mechanisms.mechanism import Step
from pramana.mechanisms.sparse_rows import ListedCells
from pramana.mechanisms.transition import Label, TransitionMatrix
from pramana.methods.context import DesignContext
from pramana.methods.optimal.cells import LEAST_KEPT
from pramana.methods.optimal.grid import rebuilt, transitions
from pramana.release.certificate_fields import canonical, labels_to_json, schema_to_json
from pramana.schema.groups import COUNT, MOST_ATTACHED, group_sizes
from pramana.schema.joint_cells import CellRules, cell_codes, cell_numbers
from pramana.types import Entries, FloatArray, Form, IntArray, Words

TRIES = 4
"""The cells that are drawn for each decoy: some are listed, or cannot be."""

DECOYS = 3
"""Decoys for each rare cell whose records move, as far as there are empty cells."""

WORDS: Final = 4 * 1024
"""The bytes of a certificate's sentences, without columns, labels and the matrix."""

BIASED: Final = {"frequencies": "as they stand, with bias and chance within the standard errors"}

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
    codes = np.ascontiguousarray(cell_codes(columns, _as_cells(matrix, columns)).T)
    if not isinstance(matrix, ListedCells):
        idle = (numbers == 0) & ~np.isin(np.arange(matrix.size), np.concatenate([rows, targets]))
        free = np.flatnonzero(idle & ~rules.stay(codes.T))
        most = min(len(free), most)
        if not most:
            return matrix
        chosen = free[keystream.permutation(len(free), Stream("decoys", "cells"))[:most]]
        models = movers[order[np.arange(most) % len(movers)]]
        return rebuilt(matrix, *_with_copies(matrix, models, chosen))
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


def _as_cells(
    matrix: TransitionMatrix, columns: Sequence[tuple[Label, ...]]
) -> Sequence[tuple[Label, ...]]:
    """The labels as tuples, those of a single column too."""
    return matrix.labels if len(columns) > 1 else [(label,) for label in matrix.labels]


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
