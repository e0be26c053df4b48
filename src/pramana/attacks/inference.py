"""Attribute inference: what the release tells about a person's sensitive value.

The attacker knows a person's true keys and all matrices, weighs every released record by how likely
it is that person's, adds up the weights of each sensitive value, and says the heaviest. People who
were left out of the release are attacked in the same way: what the attacker gets right about them
comes from the statistics and not from their being in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pramana.attacks.linkers import blocks, expected_released, likelihood_scores
from pramana.attacks.records import Cells, Records, code_sizes
from pramana.attacks.rerun import rerun
from pramana.attacks.scores import Scorer
from pramana.errors import InvalidNumber
from pramana.matrices.mechanism import Mechanism
from pramana.randomness import Keystream, Stream
from pramana.risk.measured import FEWEST_TRIALS, Measured
from pramana.types import FloatArray, IntArray

__all__ = ["SensitiveValues", "inference_risk"]

HELD_OUT = 0.2
MOST_TARGETS = 5_000
CLASSES = 10
"""A number is guessed to the tenth of the records that it lies in."""


@dataclass(frozen=True, eq=False)
class SensitiveValues:
    """A sensitive column as a few classes."""

    column: str
    codes: IntArray
    size: int

    @classmethod
    def of(cls, column: str, codes: IntArray, size: int, *, ordered: bool) -> SensitiveValues:
        """As it is with few values; numbers with many in tenths, other values in the frequent."""
        if size <= 2 * CLASSES:
            return cls(column, codes, size)
        if ordered:
            numbers = np.cumsum(np.bincount(codes, minlength=size))
            tenths = np.minimum((numbers - 1) * CLASSES // len(codes), CLASSES - 1)
            return cls(column, tenths[codes], CLASSES)
        frequent = np.argsort(-np.bincount(codes, minlength=size), kind="stable")
        place = np.full(size, 2 * CLASSES)
        place[frequent[: 2 * CLASSES]] = np.arange(2 * CLASSES)
        return cls(column, place[codes], 2 * CLASSES + 1)


def inference_risk(
    mechanism: Mechanism, truth: Records, sensitive: SensitiveValues, *, keystream: Keystream
) -> Measured:
    """How often the heaviest value is right, for members and for people left out."""
    records = len(truth)
    held = int(records * HELD_OUT)
    if held < FEWEST_TRIALS:
        raise InvalidNumber(
            f"Inference of '{sensitive.column}' holds out a fifth of the records as a control, and "
            f"needs at least {FEWEST_TRIALS} of them; there are {records} records."
        )
    order = keystream.permutation(records, Stream("held out", sensitive.column))
    inside, outside = order[held:], order[:held]
    members = truth.at(inside)
    released = rerun(
        mechanism, members, keystream=keystream, stream=Stream("inference", sensitive.column)
    )
    values = sensitive.codes[inside]
    offsets = -expected_released(mechanism, members, released)
    scores = likelihood_scores(mechanism)
    many = min(held, MOST_TARGETS)
    table = _Table(scores, code_sizes(mechanism), released, values, sensitive.size, offsets)
    guesses = [table.guess(truth.at(rows[:many])) for rows in (inside, outside)]
    right = [
        int((guess == sensitive.codes[rows[:many]]).sum())
        for guess, rows in zip(guesses, (inside, outside), strict=True)
    ]
    return Measured.of(
        f"inference of {sensitive.column}",
        hits=right[0],
        trials=many,
        baseline=float(np.bincount(values).max() / len(values)),
        control=right[1] / many,
        note="Inference: the attacker knows the true keys of a person and the matrices. No "
        "guarantee about linking bounds this: what statistics tell can be told of everybody.",
    )


@dataclass(frozen=True, eq=False)
class _Table:
    """A released table with a sensitive column, ready to be asked."""

    scores: Scorer
    sizes: list[int]
    released: Records
    values: IntArray
    size: int
    offsets: FloatArray

    def guess(self, people: Records) -> IntArray:
        """The heaviest value for each of these people."""
        seen, wanted = Cells.of(self.released, self.sizes), Cells.of(people, self.sizes)
        counts = np.zeros((len(seen.numbers), self.size))
        np.add.at(counts, (seen.of_record, self.values), 1)
        bonus = np.zeros(len(seen.numbers))
        bonus[seen.of_record] = self.offsets
        overall = np.bincount(self.values, minlength=self.size)
        best = np.full(len(wanted.numbers), int(overall.argmax()))
        for rows, columns in blocks(wanted, seen):
            if not len(columns):
                continue
            block = self.scores.block(wanted.records.at(rows), seen.records.at(columns))
            block += bonus[columns]
            weights = np.exp(np.maximum(block - block.max(axis=1, keepdims=True), -700))
            best[rows] = (weights @ counts[columns]).argmax(axis=1)
        found: IntArray = best[wanted.of_record]
        return found
