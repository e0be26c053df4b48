"""Attribute inference: what the release tells about a person's sensitive value.

The attacker knows a person's true keys and all matrices, weighs every released record by its
probability to be that person's, adds up the weights of each sensitive value, and names the
heaviest. People who were left out of the release are attacked in the same way: what the attacker
gets right about them comes from the statistics and not from their being in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pramana.base.measured_share import FEWEST_TRIALS, Measured
from pramana.base.randomness import Keystream, Stream
from pramana.base.text import counted
from pramana.base.translation import gettext
from pramana.errors import InvalidNumber
from pramana.mechanisms.mechanism import Mechanism
from pramana.risk.attacks.attacker_records import Cells, Records, rerun
from pramana.risk.attacks.linkage import MOST_PAIRS, expected_released
from pramana.risk.attacks.scores import blocks, likelihood_scores
from pramana.types import FloatArray, IntArray, Say

HELD_OUT = 0.2
MOST_TARGETS, FEWEST_TARGETS = 5_000, 1_000
PAIRS = MOST_PAIRS // 4
"""Targets are fewer where they would be compared with too many cells."""

CLASSES = 10
"""A number is guessed to a tenth of the records."""


@dataclass(frozen=True, eq=False)
class SensitiveValues:
    """A sensitive column as a few classes."""

    column: str
    codes: IntArray
    size: int

    @classmethod
    def of(cls, column: str, codes: IntArray, size: int, *, ordered: bool) -> SensitiveValues:
        """Few values as they are; many numbers in tenths; of many other values the frequent."""
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
    original: Records,
    sensitive: Sequence[SensitiveValues],
    *,
    keystream: Keystream,
    say: Say | None = None,
) -> list[Measured]:
    """How often the heaviest value is right, for members and for people left out.

    All columns are guessed from the same weights: many take hardly longer than one. ``say`` gets
    the progress in words.
    """
    first = sensitive[0].column
    records = len(original)
    held = int(records * HELD_OUT)
    if held < FEWEST_TRIALS:
        raise InvalidNumber(
            f"Inference of '{first}' holds out a fifth of the records as a control, and "
            f"needs at least {FEWEST_TRIALS} of them; there are {records} records.",
            column=first,
        )
    order = keystream.permutation(records, Stream("held out", first))
    inside, outside = order[held:], order[:held]
    members = original.at(inside)
    released = rerun(mechanism, members, keystream=keystream, stream=Stream("inference", first))
    seen = Cells.of(released)
    bonus = np.zeros(len(seen.numbers))
    bonus[seen.of_record] = -expected_released(mechanism, members, released)
    targets = min(len(outside), MOST_TARGETS, max(PAIRS // len(seen.numbers), FEWEST_TARGETS))
    advance = _progress(say, counted(len(sensitive), "sensitive column"))
    known = [values.at(inside) for values in sensitive]
    right = []
    for rows in (inside[:targets], outside[:targets]):
        guesses = _guesses(mechanism, original.at(rows), seen, known, bonus, advance)
        pairs = zip(guesses, sensitive, strict=True)
        right.append([int((guess == values.codes[rows]).sum()) for guess, values in pairs])
    return [
        Measured.of(
            gettext("inference of {column}", column=values.column),
            hits=hits,
            trials=targets,
            baseline=float(np.bincount(values.codes).max() / len(values.codes)),
            control=control / targets,
            note=gettext(
                "Inference: the attacker knows the original keys of a person and the matrices. "
                "Guarantees about linking do not bound inference from statistics."
            ),
        )
        for values, hits, control in zip(known, *right, strict=True)
    ]


def _guesses(
    mechanism: Mechanism,
    people: Records,
    seen: Cells,
    known: Sequence[SensitiveValues],
    bonus: FloatArray,
    advance: Callable[[float], None],
) -> IntArray:
    """The heaviest value of each column (rows) for each of these people."""
    from scipy.sparse import csc_array

    # How many records of each value (rows), of one column after the other, each cell has.
    ends = np.cumsum([values.size for values in known])
    starts = ends - [values.size for values in known]
    rows_of = [values.codes + at for values, at in zip(known, starts, strict=True)]
    places = np.concatenate(rows_of), np.tile(seen.of_record, len(known))
    counts = csc_array((np.ones(len(places[0])), places), shape=(int(ends[-1]), len(seen.numbers)))
    frequent = np.array([np.bincount(values.codes).argmax() for values in known])
    scores = likelihood_scores(mechanism)
    wanted = Cells.of(people)
    best = np.repeat(frequent[:, None], len(wanted.numbers), axis=1)
    current, counts_of_set = None, counts
    for rows, columns in blocks(wanted, seen):
        if not len(columns):
            continue
        if columns is not current:
            current, counts_of_set = columns, counts[:, columns]
        block = scores.block(wanted.records.at(rows), seen.records.at(columns)) + bonus[columns]
        weights = np.exp(np.maximum(block - block.max(axis=1, keepdims=True), -700))
        sums = np.split(counts_of_set @ weights.T, ends[:-1])
        best[:, rows] = [weights_of.argmax(axis=0) for weights_of in sums]
        advance(len(rows) / len(wanted.numbers))
    return np.asarray(best[:, wanted.of_record])


def _progress(say: Say | None, what: str) -> Callable[[float], None]:
    """Takes the part of one of both sides that is done, and says it in steps of five percent."""
    done, said = 0.0, -1

    def advance(part: float) -> None:
        nonlocal done, said
        done += part / 2
        if say is not None and int(20 * done) > said:
            said = int(20 * done)
            say(gettext("Inferring {column}, {share} %", column=what, share=5 * said))

    advance(0)
    return advance
