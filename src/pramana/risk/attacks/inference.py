"""Attribute inference: what the release tells about a person's sensitive value.

The attacker knows a person's true keys and all matrices, weighs every released record by how likely
it is that person's, adds up the weights of each sensitive value, and says the heaviest. People who
were left out of the release are attacked in the same way: what the attacker gets right about them
comes from the statistics and not from their being in it.

Distance to the closest record: do released records lie nearer to those they were made from?

Each column counts for at most 1: numbers and ordered values by their difference as a share of the
range, other values by whether they differ [Gower71]. A half of the people is run through the
mechanism, the other half held out: if released records are no closer to the first than to the
second, being in the release leaves no trace that a distance could see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramana.base.measured_share import FEWEST_TRIALS, Measured
from pramana.base.randomness import Keystream, Stream
from pramana.base.text import counted, percent_down, percent_up
from pramana.errors import InvalidNumber, NotCovered
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism
from pramana.risk.attacks.linkage import MOST_PAIRS, blocks, expected_released, likelihood_scores
from pramana.risk.attacks.records import Cells, Records, code_sizes, rerun
from pramana.risk.coded_table import EquivalenceClasses
from pramana.schema.joint_cells import cell_codes
from pramana.schema.schema import Schema
from pramana.types import Codes, FloatArray, IntArray, Say

HELD_OUT = 0.2
MOST_TARGETS = 5_000
FEWEST_TARGETS = 1_000
PAIRS = MOST_PAIRS // 4
"""This many people are asked about, fewer where they would be compared with too many cells."""

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
    # Members, and a fifth of the people who are left out as a control.
    records = len(truth)
    held = int(records * HELD_OUT)
    if held < FEWEST_TRIALS:
        raise InvalidNumber(
            f"Inference of '{first}' holds out a fifth of the records as a control, and "
            f"needs at least {FEWEST_TRIALS} of them; there are {records} records.",
            column=first,
        )
    order = keystream.permutation(records, Stream("held out", first))
    inside, outside = order[held:], order[:held]
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


THREADS = 2
MOST_RECORDS = 50_000
"""Of a larger table this many records of each half are compared."""


@dataclass(frozen=True, eq=False)
class GowerRecords:
    """Records as numbers, each in units of its range, and as codes."""

    numbers: NDArray[np.float32]
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, numbers: ArrayLike | None = None, codes: ArrayLike | None = None) -> GowerRecords:
        """One row a record; either part may be absent."""
        given = [part for part in (numbers, codes) if part is not None]
        rows = len(np.asarray(given[0])) if given else 0
        empty = np.zeros((rows, 0))
        return cls(
            np.ascontiguousarray(empty if numbers is None else numbers, dtype=np.float32),
            np.ascontiguousarray(empty if codes is None else codes, dtype=np.int32),
        )

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def width(self) -> tuple[int, int]:
        """How many columns of numbers and of codes."""
        return self.numbers.shape[1], self.codes.shape[1]

    def at(self, rows: Codes) -> GowerRecords:
        """Some of the records."""
        return replace(self, numbers=self.numbers[rows], codes=self.codes[rows])

    def distinct(self) -> tuple[GowerRecords, Codes]:
        """Each different record once, and which one every record is."""
        together = np.concatenate([self.numbers.view(np.int32), self.codes], axis=1)
        groups = EquivalenceClasses.of(*_small_codes(together))
        return self.at(groups.first), groups.of_record


def _small_codes(table: NDArray[np.int32]) -> tuple[list[Codes], list[int]]:
    codes, sizes = [], []
    for column in table.T:
        values, code = np.unique(column, return_inverse=True)
        codes.append(code)
        sizes.append(len(values))
    return codes, sizes


def distance_to_closest(left: GowerRecords, right: GowerRecords) -> FloatArray:
    """For each record on the left the distance to the closest one on the right.

    >>> left = GowerRecords.of(codes=[[0, 1], [2, 2]])
    >>> right = GowerRecords.of(codes=[[0, 1], [0, 2]])
    >>> distance_to_closest(left, right)
    array([0., 1.])
    """
    if not len(left) or not len(right) or left.width != right.width or not sum(left.width):
        raise InvalidNumber(
            "A distance to the closest record needs records on both sides, with the same columns."
        )
    from pramana.risk.attacks.kernels import closest_distances

    asked, of_record = left.distinct()
    known, _ = right.distinct()
    numbers = np.ascontiguousarray(known.numbers.T)
    own, codes = _narrow(asked.codes, known.codes)
    out = np.empty(len(asked), dtype=np.float32)
    parts = np.array_split(np.arange(len(asked)), THREADS)

    def work(rows: Codes) -> None:
        part = slice(int(rows[0]), int(rows[-1]) + 1) if len(rows) else slice(0, 0)
        closest_distances(asked.numbers[part], own[part], numbers, codes, out[part])

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, parts))
    found: FloatArray = out[of_record].astype(np.float64)
    return found


def _narrow(left: NDArray[np.int32], right: NDArray[np.int32]) -> tuple[Codes, ...]:
    """Both sides in the smallest integers that tell all codes apart; the right one transposed."""
    both = np.concatenate([left, right])
    both = both[:, np.ptp(both, axis=0) > 0]  # what all share puts nobody further away
    columns, sizes = _small_codes(both)
    byte = len(columns) < 256 and max(sizes, default=0) <= 256
    table = np.stack(columns, axis=1) if columns else both
    table = table.astype(np.uint8 if byte else np.int32)
    return np.ascontiguousarray(table[: len(left)]), np.ascontiguousarray(table[len(left) :].T)


def closest_risk(
    schema: Schema, mechanism: Mechanism, truth: Records, *, keystream: Keystream
) -> Measured:
    """How often a released record is closer to its own half of the people than to the other."""
    if isinstance(mechanism, AttributeSampler):
        raise NotCovered(
            "The distance to the closest record is one between whole records, and reports tell a "
            "few columns each: it was not measured."
        )
    half = len(truth) // 2
    if half < FEWEST_TRIALS:
        raise InvalidNumber(
            f"The distance to the closest record compares halves of at least {FEWEST_TRIALS} "
            f"records, and there are {len(truth)} records."
        )
    order = keystream.permutation(len(truth), "halves")
    many = min(half, MOST_RECORDS)
    members, others = truth.at(order[:many]), truth.at(order[half : half + many])
    released = rerun(mechanism, members, keystream=keystream, stream="closest")
    points = [_points(schema, mechanism, part) for part in (released, members, others)]
    inside = distance_to_closest(points[0], points[1])
    outside = distance_to_closest(points[0], points[2])
    # A tie says nothing: it counts for either side by the toss of a coin.
    coin = keystream.uniforms("closest ties", 0, many) < 0.5
    hits = int(((inside < outside) | ((inside == outside) & coin)).sum())
    return Measured.of(
        "closer to members",
        hits=hits,
        trials=many,
        baseline=0.5,
        note=f"Distance: a half of the people was released and the other held out; "
        f"{percent_up(float((inside == 0).mean()))} of released records equal a member's and "
        f"{percent_down(float((outside == 0).mean()))} one of the others. Half is no trace.",
    )


def _points(schema: Schema, mechanism: Mechanism, records: Records) -> GowerRecords:
    numbers: list[FloatArray] = []
    codes: list[IntArray] = [records.anonymity_set]
    for step, own in zip(mechanism, records.codes, strict=True):
        columns = [schema.column(name) for name in step.columns]
        places = cell_codes([column.labels for column in columns], step.cells)
        for column, place in zip(columns, places, strict=True):
            positions = place[own]
            if column.ordered and None not in column.labels:
                numbers.append(positions / max(len(column.labels) - 1, 1))
            else:
                codes.append(positions)
    return GowerRecords.of(_columns(numbers), _columns(codes))


def _columns(parts: Sequence[Codes]) -> Codes | None:
    return np.stack(parts, axis=1) if parts else None
