"""The Bayes-optimal linker: who knows the original data, the matrices and the released table.

Every pairing of people and released records is equally likely before the randomness is looked at,
so the chance that record j is person i's is

    pi_ij = L_ij per(L without row i and column j) / per(L),    L_ij = P[truth i -> released j],

a ratio of permanents. For up to ``EXACT_RECORDS`` records they are summed exactly over subsets.
Beyond, L is scaled to row and column sums of one (Sinkhorn), cell by cell: the Bethe approximation
of the same marginals, whose error falls with the number of records that look alike. No linker that
uses the release and the same knowledge is right more often than the largest pi_ij says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pramana.base.text import counted, percent_up, plain
from pramana.errors import InvalidTable, TooLarge
from pramana.mechanisms.mechanism import Mechanism
from pramana.risk.attacks.linkage import likelihood_scores
from pramana.risk.attacks.records import Cells, Records, code_sizes
from pramana.risk.attacks.scores import Scorer
from pramana.types import FloatArray, Form, IntArray

EXACT_RECORDS = 14
MOST_PAIRS = 25_000_000
"""Up to this many pairs of cells all likelihoods are held at once."""

MOST_HELD = 150_000_000
"""Up to this many they are held in half the precision, else made anew in every round."""

MOST_IN_BLOCKS = 10_000_000_000
ROUNDS = 500
CLOSE = 1e-10
CLOSE_IN_BLOCKS = 1e-5
"""The approximation itself is judged with a percent of room."""


@dataclass(frozen=True)
class OptimalLinkage:
    """What the strongest adversary believes, over all people of a release.

    Attributes:
        largest: the largest posterior of any person and record.
        mean: the average over people of their most likely record's posterior: the share of right
            answers of a linker who names it.
        records: the number of people.
        exact: whether permanents were summed exactly.
        bound: 1/k of the certificate, where it promises one.
    """

    largest: float
    mean: float
    records: int
    exact: bool
    bound: float | None = None

    def to_json(self) -> Form:
        """Values for JSON."""
        return plain(self, "records bound holds") | {
            "attack": "linkage",
            "largest_posterior": self.largest,
            "mean_posterior": self.mean,
            "calculation": "exact" if self.exact else "scaling",
        }

    @property
    def holds(self) -> bool:
        """Whether the promise is kept; scaling is an approximation and gets a percent of room."""
        room = 1e-9 if self.exact else 0.01
        return self.bound is None or self.largest <= self.bound * (1 + room)

    def sentence(self) -> str:
        """The finding in plain words."""
        text = (
            f"Someone who knows the whole true table and the matrices names the right record for "
            f"{percent_up(self.mean)} of people at best, and is never surer than "
            f"{percent_up(self.largest)} of any single link"
        )
        if self.bound is not None:
            text += f"; promised: at most {percent_up(self.bound)}"
        return text + ("." if self.exact else " (by scaling, an approximation).")


def exact_posterior(likelihood: ArrayLike) -> FloatArray:
    """pi_ij for a square table of likelihoods, exactly: sums over subsets of the columns.

    >>> exact_posterior([[0.75, 0.25], [0.25, 0.75]])
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """
    table = np.asarray(likelihood, dtype=np.float64)
    size = len(table)
    if table.shape != (size, size) or not size:
        raise InvalidTable("The true and the released table must have the same number of records.")
    if size > EXACT_RECORDS:
        raise TooLarge(f"Permanents are summed for up to {EXACT_RECORDS} records, got {size}.")
    forward = _partial(table)
    backward = _partial(table[::-1])[::-1]
    everyone = (1 << size) - 1
    masks = np.arange(1 << size)
    result = np.zeros((size, size))
    for i in range(size):
        # Rows before i take a set of i columns, rows after i the complement without j.
        for j in range(size):
            free = masks[(masks >> j) & 1 == 0]
            rest = everyone ^ free ^ (1 << j)
            result[i, j] = table[i, j] * (forward[i][free] * backward[i + 1][rest]).sum()
    total = result.sum(axis=1)
    if not (total > 0).all():
        raise InvalidTable("The released table cannot have come from this true table.")
    posterior: FloatArray = result / total[:, None]
    return posterior


def _partial(table: FloatArray) -> list[FloatArray]:
    """For r = 0 .. size: over sets of r columns, the permanent of the first r rows with them."""
    size = len(table)
    masks = np.arange(1 << size)
    levels = [np.zeros(1 << size)]
    levels[0][0] = 1.0
    for row in table:
        nxt = np.zeros(1 << size)
        for j, entry in enumerate(row):
            with_j = masks[(masks >> j) & 1 == 1]
            nxt[with_j] += entry * levels[-1][with_j ^ (1 << j)]
        levels.append(nxt)
    return levels


def scaled_posterior(logs: FloatArray, people: IntArray, released: IntArray) -> FloatArray:
    """Pi for cells: the posterior that one record of a released cell is one person of a true cell.

    ``logs`` are ln P between true cells (rows, with ``people``) and released ones (columns).
    """
    kernel = _kernel(logs)
    left, right = _scaling(lambda: iter([(slice(None), kernel)]), people, released, close=CLOSE)
    found: FloatArray = kernel * left[:, None] * right[None, :]
    return found


def _kernel(logs: FloatArray) -> FloatArray:
    """Likelihoods, each row by its own largest."""
    kernel: FloatArray = np.exp(np.maximum(logs - logs.max(axis=1, keepdims=True), -700))
    return kernel


def _scaling(
    blocks: Callable[[], Iterator[tuple[slice, FloatArray]]],
    people: IntArray,
    released: IntArray,
    *,
    close: float,
) -> tuple[FloatArray, FloatArray]:
    """Factors of rows and columns that make all sums one; the kernel comes in blocks of rows.

    A round passes over the blocks once: a row's factor needs its own block alone.
    """
    left, right = np.ones(len(people)), np.ones(len(released))
    for _ in range(ROUNDS):
        sums = np.zeros(len(released))
        for rows, kernel in blocks():
            left[rows] = 1 / np.maximum(kernel @ (right * released), 1e-300)
            sums += (left[rows] * people[rows]) @ kernel
        sums *= right
        right = right / np.maximum(sums, 1e-300)
        if np.abs(sums - 1).max() < close:
            break
    for rows, kernel in blocks():
        left[rows] = 1 / np.maximum(kernel @ (right * released), 1e-300)
    return left, right


def optimal_linkage(
    mechanism: Mechanism, truth: Records, released: Records, *, bound: float | None = None
) -> OptimalLinkage:
    """The strongest adversary against one release."""
    if len(truth) != len(released):
        raise InvalidTable(
            f"The attacker's table has {counted(len(truth), 'record')} and the release "
            f"{len(released):,}."
        )
    scores = likelihood_scores(mechanism)
    sizes = code_sizes(mechanism)
    anonymity_sets = np.bincount(truth.anonymity_set)
    exact = bool(anonymity_sets.max() <= EXACT_RECORDS)
    posterior = _exact if exact else _scaled
    largest, total = 0.0, 0.0
    for anonymity_set in np.flatnonzero(anonymity_sets):
        here, there = (
            np.flatnonzero(truth.anonymity_set == anonymity_set),
            np.flatnonzero(released.anonymity_set == anonymity_set),
        )
        best = posterior(scores, truth.at(here), released.at(there), sizes)
        largest, total = max(largest, float(best.max())), total + float(best.sum())
    return OptimalLinkage(largest, total / len(truth), len(truth), exact, bound)


def _exact(scores: Scorer, truth: Records, released: Records, _: Sequence[int]) -> FloatArray:
    """The largest posterior of each person."""
    likelihood = np.exp(np.maximum(scores.block(truth, released), -700))
    best: FloatArray = exact_posterior(likelihood).max(axis=1)
    return best


def _scaled(scores: Scorer, truth: Records, released: Records, sizes: Sequence[int]) -> FloatArray:
    wanted, seen = Cells.of(truth, sizes), Cells.of(released, sizes)
    pairs = len(wanted.numbers) * len(seen.numbers)
    if pairs > MOST_IN_BLOCKS:
        raise TooLarge(
            f"{len(wanted.numbers):,} true and {len(seen.numbers):,} released combinations are "
            f"{pairs:,} pairs, and at most {MOST_IN_BLOCKS:,} are compared. Give the attacker a "
            "coarser table, or measure linkage with 'pramana audit'."
        )
    if pairs <= MOST_PAIRS:
        logs = scores.block(wanted.records, seen.records)
        posterior = scaled_posterior(logs, wanted.numbers, seen.numbers)
        return np.asarray(posterior.max(axis=1)[wanted.of_record])
    return _in_blocks(scores, wanted, seen)[wanted.of_record]


def _in_blocks(scores: Scorer, wanted: Cells, seen: Cells) -> FloatArray:
    """The same, a block of rows at a time."""
    step = max(1, MOST_PAIRS // 4 // len(seen.numbers))
    starts = range(0, len(wanted.numbers), step)

    held: dict[int, Any] = {}
    hold = len(wanted.numbers) * len(seen.numbers) <= MOST_HELD

    def blocks() -> Iterator[tuple[slice, FloatArray]]:
        for begin in starts:
            rows = slice(begin, min(begin + step, len(wanted.numbers)))
            if begin in held:
                yield rows, held[begin].astype(np.float64)
                continue
            own = wanted.records.at(np.arange(rows.start, rows.stop))
            kernel = _kernel(scores.block(own, seen.records))
            if hold:
                held[begin] = kernel.astype(np.float32)
            yield rows, kernel

    left, right = _scaling(blocks, wanted.numbers, seen.numbers, close=CLOSE_IN_BLOCKS)
    best = np.zeros(len(wanted.numbers))
    for rows, kernel in blocks():
        best[rows] = (kernel * right).max(axis=1) * left[rows]
    return best
