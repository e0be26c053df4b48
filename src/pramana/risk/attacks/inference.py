"""Attribute inference: what the release tells about a person's sensitive value.

The attacker knows a person's true keys and all matrices, weighs every released record by how likely
it is that person's, adds up the weights of each sensitive value, and says the heaviest. People who
were left out of the release are attacked in the same way: what the attacker gets right about them
comes from the statistics and not from their being in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pramana.base.measured_share import FEWEST_TRIALS, Measured
from pramana.base.randomness import Keystream, Stream
from pramana.base.text import counted
from pramana.errors import InvalidNumber
from pramana.mechanisms.mechanism import Mechanism
from pramana.risk.attacks.linkage import MOST_PAIRS, blocks, expected_released, likelihood_scores
from pramana.risk.attacks.records import Cells, Records, code_sizes, rerun
from pramana.types import FloatArray, IntArray, Say

HELD_OUT = 0.2
MOST_TARGETS = 5_000
FEWEST_TARGETS = 1_000
PAIRS = MOST_PAIRS // 4
"""So many people are asked about, fewer where they would be compared with too many cells."""

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

    def at(self, rows: IntArray) -> SensitiveValues:
        """The values of some people."""
        return replace(self, codes=self.codes[rows])


def inference_risks(
    mechanism: Mechanism,
    truth: Records,
    sensitive: Sequence[SensitiveValues],
    *,
    keystream: Keystream,
    say: Say | None = None,
) -> list[Measured]:
    """How often the heaviest value is right, for members and for people left out.

    All columns are guessed from the same weights: many take hardly longer than one. ``say`` is
    told how far it is.
    """
    first = sensitive[0].column
    inside, outside = _parted(len(truth), first, keystream)
    members = truth.at(inside)
    released = rerun(mechanism, members, keystream=keystream, stream=Stream("inference", first))
    offsets = -expected_released(mechanism, members, released)
    seen = Cells.of(released, code_sizes(mechanism))
    many = min(len(outside), MOST_TARGETS, max(PAIRS // len(seen.numbers), FEWEST_TARGETS))
    table = _Table.of(mechanism, seen, [own.at(inside) for own in sensitive], offsets)
    sides = [rows[:many] for rows in (inside, outside)]
    advance = _telling(say, counted(len(sensitive), "sensitive column"))
    guesses = [table.guess(truth.at(rows), advance) for rows in sides]
    found = []
    for at, own in enumerate(sensitive):
        pairs = zip(sides, guesses, strict=True)
        right = [int((guess[at] == own.codes[rows]).sum()) for rows, guess in pairs]
        found.append(_measured(own, own.codes[inside], right, many))
    return found


def _telling(say: Say | None, what: str) -> Callable[[float], None]:
    """Is told what part of one of both sides is done, and says it in steps of five percent."""
    done, told = 0.0, -1

    def advance(part: float) -> None:
        nonlocal done, told
        done += part / 2
        if say is not None and int(20 * done) > told:
            told = int(20 * done)
            say(f"Inferring {what}, {5 * told} %")

    advance(0)
    return advance


def _parted(records: int, column: str, keystream: Keystream) -> tuple[IntArray, IntArray]:
    """Members, and a fifth of the people who are left out as a control."""
    held = int(records * HELD_OUT)
    if held < FEWEST_TRIALS:
        raise InvalidNumber(
            f"Inference of '{column}' holds out a fifth of the records as a control, and "
            f"needs at least {FEWEST_TRIALS} of them; there are {records} records.",
            column=column,
        )
    order = keystream.permutation(records, Stream("held out", column))
    return order[held:], order[:held]


def _measured(
    sensitive: SensitiveValues, values: IntArray, right: Sequence[int], many: int
) -> Measured:
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
    """A released table with its sensitive columns, ready to be asked.

    Attributes:
        mechanism: the matrices.
        seen: the released cells.
        counts: how many records of each value (rows), of one column after the other, each has.
        ends: where the values of each column end.
        bonus: added to the score of each cell.
        frequent: of each column the value that most have.
    """

    mechanism: Mechanism
    seen: Cells
    counts: Any
    ends: IntArray
    bonus: FloatArray
    frequent: IntArray

    @classmethod
    def of(
        cls,
        mechanism: Mechanism,
        seen: Cells,
        sensitive: Sequence[SensitiveValues],
        offsets: FloatArray,
    ) -> _Table:
        """From the records and the sensitive values that were released with them."""
        from scipy.sparse import csc_array

        ends = np.cumsum([own.size for own in sensitive])
        starts = ends - [own.size for own in sensitive]
        rows = np.concatenate([own.codes + at for own, at in zip(sensitive, starts, strict=True)])
        cells = np.tile(seen.of_record, len(sensitive))
        shape = (int(ends[-1]), len(seen.numbers))
        counts = csc_array((np.ones(len(rows)), (rows, cells)), shape=shape)
        bonus = np.zeros(len(seen.numbers))
        bonus[seen.of_record] = offsets
        frequent = np.array([np.bincount(own.codes).argmax() for own in sensitive])
        return cls(mechanism, seen, counts, ends, bonus, frequent)

    def guess(self, people: Records, advance: Callable[[float], None]) -> IntArray:
        """The heaviest value of each column (rows) for each of these people."""
        scores = likelihood_scores(self.mechanism)
        wanted = Cells.of(people, code_sizes(self.mechanism))
        best = np.repeat(self.frequent[:, None], len(wanted.numbers), axis=1)
        anonymity_set, counts = None, self.counts
        for rows, columns in blocks(wanted, self.seen):
            if not len(columns):
                continue
            if columns is not anonymity_set:
                anonymity_set, counts = columns, self.counts[:, columns]
            block = scores.block(wanted.records.at(rows), self.seen.records.at(columns))
            block += self.bonus[columns]
            weights = np.exp(np.maximum(block - block.max(axis=1, keepdims=True), -700))
            sums = np.split(counts @ weights.T, self.ends[:-1])
            best[:, rows] = [own.argmax(axis=0) for own in sums]
            advance(len(rows) / len(wanted.numbers))
        found: IntArray = best[:, wanted.of_record]
        return found
