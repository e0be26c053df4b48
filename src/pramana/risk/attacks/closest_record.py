"""Distance to the closest record: are released records nearer to those they were made from?

Each column counts for at most 1: numbers and ordered values by their difference as a share of the
range, other values by whether they differ [Gower71]. Half of the people are run through the
mechanism, the other half is held out: if released records are no closer to the first than to the
second, being in the release leaves no trace that a distance could see.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from pramana.base.measured_share import FEWEST_TRIALS, Measured
from pramana.base.randomness import Keystream
from pramana.base.text import percent_down, percent_up
from pramana.base.translation import gettext, noop, numeral
from pramana.errors import InvalidNumber, NotCovered
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism
from pramana.risk.attacks.attacker_records import Records, rerun
from pramana.schema.joint_cells import cell_codes, distinct_rows
from pramana.schema.schema import Schema
from pramana.types import Codes, FloatArray, IntArray

THREADS = 2
MOST_RECORDS = 50_000
"""The number of records of each half that are compared, if the table is larger."""


@dataclass(frozen=True, eq=False)
class GowerRecords:
    """Records as numbers, each in units of its range, and as codes."""

    numbers: NDArray[np.float32]
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, numbers: ArrayLike | None = None, codes: ArrayLike | None = None) -> GowerRecords:
        """One row per record; either part may be absent."""
        given = [part for part in (numbers, codes) if part is not None]
        empty = np.zeros((len(np.asarray(given[0])) if given else 0, 0))
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

    def distinct(self) -> tuple[GowerRecords, Codes]:
        """Each different record once, and which one every record is."""
        together = np.concatenate([self.numbers.view(np.int32), self.codes], axis=1)
        rows, of_record = distinct_rows(together)
        columns = self.width[0]
        numbers = np.ascontiguousarray(rows[:, :columns]).view(np.float32)
        return GowerRecords.of(numbers, rows[:, columns:]), of_record


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
    asked, of_record = left.distinct()
    known, _ = right.distinct()
    numbers = np.ascontiguousarray(known.numbers.T)
    codes, known_codes = _small_codes(asked.codes, known.codes)
    closest = np.empty(len(asked), dtype=np.float32)
    ends = np.linspace(0, len(asked), THREADS + 1).astype(int)

    def work(part: slice) -> None:
        closest_distances(asked.numbers[part], codes[part], numbers, known_codes, closest[part])

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, map(slice, ends[:-1], ends[1:])))
    return np.asarray(closest[of_record], dtype=np.float64)


def _small_codes(left: NDArray[np.int32], right: NDArray[np.int32]) -> tuple[Codes, Codes]:
    """Both sides in bytes where these tell all codes apart; the right one transposed."""
    both = np.concatenate([left, right])
    both = both[:, np.ptp(both, axis=0) > 0]  # what all share puts nobody further away
    small = [np.unique(column, return_inverse=True)[1] for column in both.T]
    table = np.stack(small, axis=1) if small else both
    fits = len(small) < 256 and table.max(initial=0) < 256
    table = table.astype(np.uint8 if fits else np.int32)
    return np.ascontiguousarray(table[: len(left)]), np.ascontiguousarray(table[len(left) :].T)


def closest_risk(
    schema: Schema, mechanism: Mechanism, original: Records, *, keystream: Keystream
) -> Measured:
    """How often a released record is closer to its own half of the people than to the other."""
    if isinstance(mechanism, AttributeSampler):
        raise NotCovered(
            "With attribute sampling a record has a few columns. The distance to the closest "
            "record compares whole records, and was not measured."
        )
    half = len(original) // 2
    if half < FEWEST_TRIALS:
        raise InvalidNumber(
            f"The distance to the closest record compares halves of at least {FEWEST_TRIALS} "
            f"records, and there are {len(original)} records."
        )
    order = keystream.permutation(len(original), "halves")
    many = min(half, MOST_RECORDS)
    members, others = original.at(order[:many]), original.at(order[half : half + many])
    released = rerun(mechanism, members, keystream=keystream, stream="closest")
    points = [_points(schema, mechanism, part) for part in (released, members, others)]
    inside = distance_to_closest(points[0], points[1])
    outside = distance_to_closest(points[0], points[2])
    # A tie says nothing: it counts for either side by the toss of a coin.
    coin = keystream.uniforms("closest ties", 0, many) < 0.5
    hits = int(((inside < outside) | ((inside == outside) & coin)).sum())
    return Measured.of(
        noop("closer to members"),
        hits=hits,
        trials=many,
        baseline=0.5,
        note=gettext(
            "Distance: half of the people were released and the others held out; {inside} of "
            "released records equal a member's and {outside} one of the others. 50 % is the value "
            "without any disclosure.",
            inside=numeral(percent_up(float((inside == 0).mean()))),
            outside=numeral(percent_down(float((outside == 0).mean()))),
        ),
    )


def _points(schema: Schema, mechanism: Mechanism, records: Records) -> GowerRecords:
    numbers: list[FloatArray] = []
    codes: list[IntArray] = [records.anonymity_set]
    for step, step_codes in zip(mechanism, records.codes, strict=True):
        columns = [schema.column(name) for name in step.columns]
        places = cell_codes([column.labels for column in columns], step.cells)
        for column, place in zip(columns, places, strict=True):
            positions = place[step_codes]
            if column.ordered and None not in column.labels:
                numbers.append(positions / max(len(column.labels) - 1, 1))
            else:
                codes.append(positions)
    return GowerRecords.of(np.stack(numbers, axis=1) if numbers else None, np.stack(codes, axis=1))


BLOCK = 512


@njit(cache=True, nogil=True, fastmath=True)
def closest_distances(left_numbers, left_codes, right_numbers, right_codes, out):  # type: ignore[no-untyped-def]
    """For each row on the left the smallest distance to a row on the right.

    Numbers count by their absolute difference, codes by whether they differ. The right side comes
    transposed, so that the inner loops run along memory and work on many rows at once. Differing
    codes are counted in integers as small as the codes.
    """
    rows = right_numbers.shape[1]
    distances = np.empty(BLOCK, dtype=np.float32)
    differing = np.empty(BLOCK, dtype=right_codes.dtype)
    out[:] = np.inf
    for begin in range(0, rows, BLOCK):  # a block of the right side stays in the cache
        size = min(BLOCK, rows - begin)
        for i in range(len(out)):
            if out[i] == 0:
                continue
            differing[:size] = 0
            for d in range(len(right_codes)):
                others = right_codes[d, begin : begin + size]
                code = left_codes[i, d]
                for j in range(size):
                    differing[j] += others[j] != code
            for j in range(size):
                distances[j] = np.float32(differing[j])
            for d in range(len(right_numbers)):
                line = right_numbers[d, begin : begin + size]
                x = left_numbers[i, d]
                for j in range(size):
                    distances[j] += abs(line[j] - x)
            closest = out[i]
            for j in range(size):
                closest = min(closest, distances[j])
            out[i] = closest
