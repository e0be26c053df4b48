"""Reports as an attacker sees them: which set was asked for, and the cell that was told.

The likelihood of a report (S, y) for a known record x is pi(S) P_S[x_S, y]: one number where the
report agrees with the record in all columns of S, a smaller one where it does not. Records have
one code a column, by the labels of the sets' matrices, and one more for what was not asked; the
last code is the number of the set (of true records 0).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana.attacks.records import Records
from pramana.matrices.reporting import AskedSet, Reporting
from pramana.matrices.uniform_mixture import UniformMixture
from pramana.randomise.sampling import sample
from pramana.randomness import Address, Keystream, Stream
from pramana.table.cells import JointCells, joint_groups
from pramana.types import FloatArray, IntArray

__all__ = [
    "ReportScores",
    "cells_of_reports",
    "expected_reports",
    "paired_cells",
    "rerun_reports",
]


@dataclass(frozen=True, eq=False)
class ReportScores:
    """Logarithms of the likelihood of reports."""

    mechanism: Reporting

    @cached_property
    def _asks(self) -> FloatArray:
        """Sets by columns: whether the set asks for the column."""
        columns = self.mechanism.columns
        return np.array([[name in one.columns for name in columns] for one in self.mechanism.sets])

    @cached_property
    def _logs(self) -> FloatArray:
        """For each set the score of a report that differs, and of one that agrees."""
        sets = self.mechanism.sets
        found: FloatArray = np.array([np.log(one.share) + np.log(_chances(one)) for one in sets])
        return found

    def between(self, truth: Records, released: Records) -> FloatArray:
        """The score of each pair of records that stand at the same position."""
        own = released.codes[-1]
        agree = np.ones(len(truth), dtype=bool)
        pairs = zip(truth.codes[:-1], released.codes[:-1], self._asks.T, strict=True)
        for known, told, asks in pairs:
            agree &= (known == told) | ~asks[own]
        found: FloatArray = self._logs[own, agree.astype(np.int64)]
        return found

    def block(self, truth: Records, released: Records) -> FloatArray:
        """The score of every truth (rows) with every released record (columns) of one crowd."""
        own = released.codes[-1]
        agree = np.ones((len(truth), len(released)), dtype=bool)
        pairs = zip(truth.codes[:-1], released.codes[:-1], self._asks.T, strict=True)
        for known, told, asks in pairs:
            places = np.flatnonzero(asks[own])
            if len(places):
                agree[:, places] &= known[:, None] == told[places]
        found: FloatArray = np.where(agree, self._logs[own, 1], self._logs[own, 0])
        return found


def _chances(one: AskedSet) -> tuple[float, float]:
    """The probability of a certain other cell, and of the own one."""
    kept = float(one.matrix.retention)
    other = (1 - kept) / one.matrix.size
    return other, kept + other


def expected_reports(mechanism: Reporting, truth: Records, released: Records) -> FloatArray:
    """ln of the expected number of records of the same crowd that report like each record."""
    crowds = int(max(truth.crowd.max(initial=0), released.crowd.max(initial=0))) + 1
    people = np.bincount(truth.crowd, minlength=crowds)
    found = np.zeros(len(released))
    for number, one in enumerate(mechanism.sets):
        rows = np.flatnonzero(released.codes[-1] == number)
        if not len(rows):
            continue
        crowd = released.crowd[rows]
        alike = _alike(mechanism, one, truth, released.at(rows))
        other, own = _chances(one)
        found[rows] = np.log(one.share * (other * people[crowd] + (own - other) * alike))
    return found


def _alike(mechanism: Reporting, one: AskedSet, truth: Records, reports: Records) -> IntArray:
    """How many true records of its crowd agree with each report of a set."""
    places = [mechanism.columns.index(name) for name in one.columns]
    both = [np.concatenate([truth.codes[at], reports.codes[at]]) for at in places]
    groups = joint_groups([np.concatenate([truth.crowd, reports.crowd]), *both])
    numbers = np.bincount(groups[: len(truth)], minlength=int(groups.max()) + 1)
    found: IntArray = numbers[groups[len(truth) :]]
    return found


def rerun_reports(
    mechanism: Reporting, truth: Records, *, keystream: Keystream, stream: Address
) -> Records:
    """Fresh reports of the same people, record by record."""
    people = len(truth)
    ends = list(itertools.accumulate(one.weight for one in mechanism.sets))[:-1]
    words = keystream.words(Stream(stream, "asked"), 0, people)
    asked = np.searchsorted(np.array(ends, np.uint64), words, side="right").astype(np.int64)
    words = keystream.words(Stream(stream, "report"), 0, people)
    labels = {name: mechanism.labels_of(name) for name in mechanism.columns}
    told = {name: np.full(people, len(own), dtype=np.int64) for name, own in labels.items()}
    known = dict(zip(mechanism.columns, truth.codes[:-1], strict=True))
    for number, one in enumerate(mechanism.sets):
        rows = np.flatnonzero(asked == number)
        cells = _cells(mechanism, one)
        codes = cells.codes([known[name][rows] for name in one.columns]).astype(np.uint32)
        drawn = sample(one.matrix, codes, words[rows])
        for name, part in zip(one.columns, cells.parts, strict=True):
            told[name][rows] = part[drawn]
    return truth.with_codes([*told.values(), asked])


def _cells(mechanism: Reporting, one: AskedSet) -> JointCells:
    """The cells of a set, by the codes of its columns."""
    return JointCells(tuple(mechanism.labels_of(name) for name in one.columns), one.cells)


def cells_of_reports(
    mechanism: Reporting, released: Records, known: Records | None
) -> Iterator[tuple[str, UniformMixture, IntArray, IntArray | None]]:
    """For each set that was told: its name, its matrix, the cells told, the cells of all truths."""
    for number, one in enumerate(mechanism.sets):
        rows = np.flatnonzero(released.codes[-1] == number)
        if not len(rows):
            continue
        cells = _cells(mechanism, one)
        places = [mechanism.columns.index(name) for name in one.columns]
        told = cells.codes([released.codes[at][rows] for at in places])
        truths = None if known is None else cells.codes([known.codes[at] for at in places])
        yield one.name, one.matrix, told, truths


def paired_cells(
    mechanism: Reporting, truth: Records, released: Records
) -> Iterator[tuple[AskedSet, IntArray, IntArray]]:
    """For each set the true and the told cells of those who were asked for it, record by record."""
    for number, one in enumerate(mechanism.sets):
        rows = np.flatnonzero(released.codes[-1] == number)
        cells = _cells(mechanism, one)
        places = [mechanism.columns.index(name) for name in one.columns]
        own, told = (cells.codes([r.codes[at][rows] for at in places]) for r in (truth, released))
        yield one, own, told
