"""Size estimates: bytes of a matrix and of the records, and records that a design changes.

**Bytes.** A matrix for records with mostly unique keys lists every cell, its targets, and three
decoys for each: more than the records themselves. Whether it is published depends only on the
matrix with decoys (drawn by a fixed key), the number of records, and the frequencies of the
released columns (expected ones if randomised). So the decision reveals less than the matrix, and is
the same for every seed, engine and format. The size of the records is bounded below by their
entropy: columns are stored separately and records are in random order, so that no lossless format
stores a column in fewer bits than the entropy of its frequencies.

**Changes.** A rule of thumb without a search. Take a single choice of keys. A combination with
u < 1/alpha records is safe once s (1/alpha - u) others are released with it, where its own records
stay with probability s. Each arrival costs about 2 of the loss, if frequent cells supply it;
leaving costs u (1/s - s) (covering.py) and supplies u (1 - s) arrivals elsewhere. The sum is least
at

    1 / s^2 = price / (alpha u) - 1,

with the price 2 of an arrival, or the price at which departures equal arrivals. All choices of keys
together need more than the worst choice, and matrices on a grid more than the best ones: 1 to 5
times as many on survey tables (tests/methods/test_estimated_changes.py).
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
    """Return a lower bound on the bytes of a file of the released records, at most ``enough``.

    Args:
        step: the joint step of the randomised columns.
        numbers: the number of records in each of its cells.
        context: the table to protect.
        enough: the bytes at which counting stops.
    """
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
    """The published statistics of a withheld matrix: the same error for all values of a column.

    It is the largest |b| + s, with the bias b and the standard deviation s of a value's released
    count, rounded up on a grid of 1, 2, 5, 10, ... and at least 1.
    """
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
    """Bounds on the number of records that a design for ``alpha`` changes.

    Args:
        totals: for each choice of keys, the records of each combination of values.
        alpha: the largest posterior probability allowed.
    """
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
