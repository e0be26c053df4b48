"""Whether a matrix takes more room than the records, and what is told where it is withheld.

A matrix for people who are mostly alone with their keys lists each of them, where records may go,
and three decoys each: more than the records themselves. Whether it is published is decided from
what would be published and from what is: the matrix with decoys (drawn by a fixed key, so that the
decision does not hang on chance), the number of records, and the frequencies of the released
columns (of those that are randomised, the expected ones). So the decision tells less than the
matrix would, and is the same for every seed, engine and format.

The size of the records is bounded below by their entropy: columns are stored one by one and
records lie in a random order, so no lossless format stores a column in fewer bits than the entropy
of its frequencies. Nothing is packed to find out, so that the decision depends on no library.

How many records will change for an alpha, told at once: no matrix is searched for.

Take one choice of keys alone. A combination that u < 1/alpha people share is safe once enough
others are released with it: s (1/alpha - u) of them where its own records stay with chance s.
Staying costs those arrivals, each about 2 of the loss where frequent cells supply them; leaving
costs u (1/s - s) (covering.py) and supplies u (1 - s) arrivals elsewhere. The least of both is at

    1 / s^2 = price / (alpha u) - 1,

with the price 2 of an arrival, or the one at which those who leave are as many as are needed.

All choices together need more than the one that needs most, and matrices on a grid more than the
best ones. On tables of people it is 1 to 5 times as many (tests/methods/test_foreseen.py), which is
what is told: a rule of thumb, and no bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from pramana.base.rounding import TOTAL, coarse_up
from pramana.mechanisms.mechanism import Step
from pramana.mechanisms.transition import TransitionMatrix
from pramana.methods.context import DesignContext
from pramana.methods.optimal.cells import LEAST_KEPT
from pramana.methods.optimal.coarse import transitions
from pramana.release.canonical_json import canonical
from pramana.release.certificate_fields import labels_to_json, schema_to_json
from pramana.schema.groups import COUNT, MOST_ATTACHED, group_sizes
from pramana.types import Entries, FloatArray, Form, IntArray

WORDS: Final = 4 * 1024
"""What a certificate says in sentences, beside columns, labels and the matrix."""

BIASED: Final = {"frequencies": "as they stand, with bias and chance within the standard errors"}


def room_of_matrix(matrix: TransitionMatrix) -> int:
    """The bytes that a matrix adds to a certificate."""
    return len(canonical({"matrix": matrix.to_json()}))


def room_of_values(context: DesignContext) -> int:
    """The bytes that every certificate takes: columns, their values, and labels of these."""
    form: Form = {"schema": schema_to_json(context.schema)}
    if context.opened is not None:
        form["labels"] = labels_to_json(context.opened.labels)
    return len(canonical(form))


def room_of_certificate(matrix: TransitionMatrix, context: DesignContext) -> int:
    """The bytes of a certificate with this matrix."""
    named = sum(len(column.name) for column in context.schema.released)
    rest = WORDS + 4 * named  # in sentences too, and in lists
    return room_of_values(context) + room_of_matrix(matrix) + rest


def room_of_records(step: Step, numbers: FloatArray, context: DesignContext, *, enough: int) -> int:
    """Return a lower bound on the bytes of a file of the released records, at most ``enough``.

    Args:
        step: what moves the randomised columns.
        numbers: how many records are in each of its cells.
        context: the table to protect.
        enough: where counting ends.
    """
    released = step.matrices[0].apply(numbers)
    bits = sum(_bits(_added(codes, released, 0)) for codes in _codes(step))
    for column_bits in _kept(context):
        if bits >= 8 * enough:
            break
        bits += column_bits
    return min(int(bits / 8), enough)


def _bits(numbers: FloatArray) -> float:
    """The entropy of all records of a column, of which so many have each value."""
    there = numbers[numbers > 0]
    return float((there * np.log2(there.sum() / there)).sum())


def _kept(context: DesignContext) -> Iterator[float]:
    """The entropy of each column that is released as it is."""
    for column in context.schema.released_as_is if context.opened is not None else ():
        assert context.opened is not None  # noqa: S101 - for the type checker
        binned = [column] if column.binned else []
        sizes = group_sizes(context.opened, [column.name], most=MOST_ATTACHED, binned=binned)
        if sizes.too_many:  # so many values, each of one record at least
            yield MOST_ATTACHED * math.log2(context.records)
        else:
            yield _bits(sizes.total().column(COUNT).to_numpy().astype(np.float64))


def published_errors(step: Step, numbers: FloatArray) -> Entries:
    """What analysts are told where the matrix is not: one error for all values of a column.

    It is the largest of |b| + s, where the released count of a value has b more records than the
    true one on average and varies by s, on a grid of 1, 2, 5, 10, ... and never below 1.
    """
    rows, columns, moves = transitions(step.matrices[0])
    chances = moves.astype(np.float64) / TOTAL
    errors = {}
    for name, codes in zip(step.columns, _codes(step), strict=True):
        found = _errors(codes, rows, columns, chances, numbers)
        errors[name] = coarse_up(max(1.0, found))
    return {**BIASED, "standard_errors": errors}


def _errors(
    codes: IntArray, rows: IntArray, columns: IntArray, chances: FloatArray, numbers: FloatArray
) -> float:
    """The largest |b| + s over the values of a column."""
    size = int(codes.max()) + 1
    apart = codes[rows] != codes[columns]  # other moves leave the value as it is
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
    """Amounts added up by place; of none at all the library makes whole numbers."""
    return np.bincount(places, amounts, size).astype(np.float64)


def _codes(step: Step) -> Iterator[IntArray]:
    """The values of each cell, column by column, as numbers."""
    for column in zip(*step.cells, strict=True):
        places = {label: code for code, label in enumerate(dict.fromkeys(column))}
        yield np.array([places[label] for label in column], dtype=np.int64)


TIMES = (1.0, 5.0)
"""So many times what the worst choice of keys needs by itself."""

PRICE, HALVINGS = 2.0, 40


def estimated_changes(totals: Iterable[FloatArray | IntArray], alpha: float) -> tuple[float, float]:
    """Between how many records will change so that nobody is recognised beyond ``alpha``.

    Args:
        totals: of each choice of keys, the records of each combination of values.
        alpha: the largest posterior allowed.
    """
    most = max(changes_of_choice(np.asarray(own, dtype=np.float64), alpha) for own in totals)
    return TIMES[0] * most, TIMES[1] * most


def changes_of_choice(totals: FloatArray, alpha: float) -> float:
    """How many records change where one choice of keys is looked at."""
    rare = totals[(totals > 0) & (totals * alpha < 1)]

    def at(price: float) -> tuple[float, float]:
        """Who arrives in rare combinations and who leaves them."""
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
