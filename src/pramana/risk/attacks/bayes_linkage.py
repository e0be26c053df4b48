"""The Bayes-optimal linker, who knows the original data, the matrices and the released table.

Every pairing of people and released records is equally likely before the randomness is looked at,
so the chance that record j is person i's is

    pi_ij = L_ij per(L without row i and column j) / per(L),    L_ij = P[truth i -> released j],

a ratio of permanents. For up to ``EXACT_RECORDS`` records they are summed exactly over subsets.
Beyond, L is scaled to row and column sums of one (Sinkhorn), cell by cell: the Bethe approximation
of the same marginals, whose error falls with the number of equal records. No linker with the
release and the same knowledge is right more often than the largest pi_ij says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pramana.base.text import counted, json_fields, percent_up
from pramana.errors import InvalidTable, TooLarge
from pramana.mechanisms.mechanism import Mechanism
from pramana.risk.attacks.attacker_records import Cells, Records
from pramana.risk.attacks.scores import Scorer, likelihood_scores
from pramana.types import FloatArray, Form, IntArray

EXACT_RECORDS = 14
MOST_PAIRS = 25_000_000
"""Up to this many pairs of cells all likelihoods are held at once, else made in every round."""

MOST_IN_BLOCKS = 10_000_000_000
ROUNDS = 500
CLOSE, CLOSE_IN_BLOCKS = 1e-10, 1e-5
"""How close to one sums are scaled; the approximation itself is judged with a percent of room."""


@dataclass(frozen=True)
class OptimalLinkage:
    """The beliefs of the strongest adversary, over all people of a release.

    Attributes:
        largest: the largest posterior of any person and record.
        mean: the average over people of their most likely record's posterior: the share of right
            answers of a linker who names it.
        records: the number of people.
        exact: whether permanents were summed exactly.
        bound: 1/k of the certificate, where it guarantees one.
    """

    largest: float
    mean: float
    records: int
    exact: bool
    bound: float | None = None

    def to_json(self) -> Form:
        """Values for JSON."""
        return json_fields(self, "records bound holds") | {
            "attack": "linkage",
            "largest_posterior": self.largest,
            "mean_posterior": self.mean,
            "calculation": "exact" if self.exact else "scaling",
        }

    @property
    def holds(self) -> bool:
        """Whether the guarantee is kept; scaling is an approximation and gets a percent of room."""
        room = 1e-9 if self.exact else 0.01
        return self.bound is None or self.largest <= self.bound * (1 + room)

    def sentence(self) -> str:
        """The finding in words."""
        bound = "" if self.bound is None else f"; guaranteed: at most {percent_up(self.bound)}"
        return (
            "Someone who knows the original data and the matrices names the right record for "
            f"{percent_up(self.mean)} of people at best, with a probability of at most "
            f"{percent_up(self.largest)} for any single "
            f"link{bound}{'.' if self.exact else ' (by scaling, an approximation).'}"
        )


def exact_posterior(likelihood: ArrayLike) -> FloatArray:
    """pi_ij for a square table of likelihoods, exactly: sums over subsets of the columns.

    >>> exact_posterior([[0.75, 0.25], [0.25, 0.75]])
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """
    table = np.asarray(likelihood, dtype=np.float64)
    size = len(table)
    if table.shape != (size, size) or not size:
        raise InvalidTable(
            "The original and the released table must have the same number of records."
        )
    if size > EXACT_RECORDS:
        raise TooLarge(f"Permanents are summed for up to {EXACT_RECORDS} records, got {size}.")
    forward = _permanents(table)
    backward = _permanents(table[::-1])[::-1]
    everyone = (1 << size) - 1
    masks = np.arange(1 << size)
    posterior = np.zeros((size, size))
    for i in range(size):
        # Rows before i take a set of i columns, rows after i the complement without j.
        for j in range(size):
            free = masks[(masks >> j) & 1 == 0]
            rest = everyone ^ free ^ (1 << j)
            posterior[i, j] = table[i, j] * (forward[i][free] * backward[i + 1][rest]).sum()
    total = posterior.sum(axis=1)
    if not (total > 0).all():
        raise InvalidTable("This original table cannot have produced the released table.")
    return np.asarray(posterior / total[:, None])


def _permanents(table: FloatArray) -> list[FloatArray]:
    """For r = 0 .. size: over sets of r columns, the permanent of the first r rows with them."""
    size = len(table)
    masks = np.arange(1 << size)
    levels = [np.zeros(1 << size)]
    levels[0][0] = 1.0
    for row in table:
        level = np.zeros(1 << size)
        for j, entry in enumerate(row):
            with_j = masks[(masks >> j) & 1 == 1]
            level[with_j] += entry * levels[-1][with_j ^ (1 << j)]
        levels.append(level)
    return levels


def scaled_posterior(logs: FloatArray, people: IntArray, released: IntArray) -> FloatArray:
    """Pi for cells: the posterior that one record of a released cell is one person of a true cell.

    ``logs`` are ln P between true cells (rows, with ``people``) and released ones (columns).
    """
    kernel = _kernel(logs)
    left, right = _scaling(lambda: iter([(slice(None), kernel)]), people, released, close=CLOSE)
    return np.asarray(kernel * left[:, None] * right[None, :])


def _kernel(logs: FloatArray) -> FloatArray:
    """Likelihoods, each row by its own largest."""
    return np.asarray(np.exp(np.maximum(logs - logs.max(axis=1, keepdims=True), -700)))


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
    mechanism: Mechanism, original: Records, released: Records, *, bound: float | None = None
) -> OptimalLinkage:
    """The strongest adversary against one release."""
    if len(original) != len(released):
        raise InvalidTable(
            f"The attacker's table has {counted(len(original), 'record')} and the release "
            f"{len(released):,}."
        )
    scores = likelihood_scores(mechanism)
    people = np.bincount(original.anonymity_set)
    exact = bool(people.max() <= EXACT_RECORDS)
    largest, total = 0.0, 0.0
    for number in np.flatnonzero(people):
        known = original.at(np.flatnonzero(original.anonymity_set == number))
        shown = released.at(np.flatnonzero(released.anonymity_set == number))
        if exact:
            likelihood = np.exp(np.maximum(scores.block(known, shown), -700))
            best = exact_posterior(likelihood).max(axis=1)
        else:
            wanted, seen = Cells.of(known), Cells.of(shown)
            best = _best_of_cells(scores, wanted, seen)[wanted.of_record]
        largest, total = max(largest, float(best.max())), total + float(best.sum())
    return OptimalLinkage(largest, total / len(original), len(original), exact, bound)


def _best_of_cells(scores: Scorer, wanted: Cells, seen: Cells) -> FloatArray:
    """The largest posterior of each true cell, by scaling."""
    pairs = len(wanted.numbers) * len(seen.numbers)
    if pairs > MOST_IN_BLOCKS:
        raise TooLarge(
            f"{len(wanted.numbers):,} original and {len(seen.numbers):,} released combinations are "
            f"{pairs:,} pairs, and at most {MOST_IN_BLOCKS:,} are compared. Give the attacker a "
            "coarser table, or measure linkage with 'pramana audit'."
        )
    if pairs <= MOST_PAIRS:
        logs = scores.block(wanted.records, seen.records)
        return np.asarray(scaled_posterior(logs, wanted.numbers, seen.numbers).max(axis=1))
    step = max(1, MOST_PAIRS // 4 // len(seen.numbers))

    def blocks() -> Iterator[tuple[slice, FloatArray]]:
        for begin in range(0, len(wanted.numbers), step):
            rows = slice(begin, min(begin + step, len(wanted.numbers)))
            records = wanted.records.at(np.arange(rows.start, rows.stop))
            yield rows, _kernel(scores.block(records, seen.records))

    left, right = _scaling(blocks, wanted.numbers, seen.numbers, close=CLOSE_IN_BLOCKS)
    best = np.zeros(len(wanted.numbers))
    for rows, kernel in blocks():
        best[rows] = (kernel * right).max(axis=1) * left[rows]
    return best
