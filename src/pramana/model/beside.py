"""Reports with columns beside them that were released as they are, as evidence for one model.

With z what stands beside a report y of a set, the probability of both is in proportion to
P(z) + gain P(y, z): whatever the report says, z is true. A model is fitted to every report with
each column beside it in turn (a composite likelihood, in which a report counts once), and to all
pairs of these columns; it is judged by the likelihood of reports held out given all that stands
beside.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pramana.model.observed import Answers, Feature, Observed
from pramana.model.whole_records import MOST_HELD, different
from pramana.randomness import Keystream
from pramana.types import IntArray

__all__ = ["ReportsBeside", "SetAnswers"]


@dataclass(frozen=True, eq=False)
class SetAnswers:
    """The reports of one set.

    Attributes:
        features: Places of what they show.
        rows: Which records they are.
        cells: One row a report, one code a feature.
        gain: See pramana.model.observed.
    """

    features: tuple[int, ...]
    rows: IntArray
    cells: IntArray
    gain: float


@dataclass(frozen=True, eq=False)
class ReportsBeside:
    """Reports, and what stands beside each.

    Attributes:
        sizes: How many values each axis has; those beside come last.
        features: What can be seen; the columns beside come last, as they are.
        sets: The reports of each set.
        beside: One array of codes a column beside, one code a record.
    """

    dear: ClassVar[bool] = True

    sizes: tuple[int, ...]
    features: tuple[Feature, ...]
    sets: tuple[SetAnswers, ...]
    beside: tuple[IntArray, ...]

    @property
    def _own(self) -> range:
        """The places of the features beside."""
        return range(len(self.features) - len(self.beside), len(self.features))

    @cached_property
    def whole(self) -> Observed:
        """All reports, to fit to."""
        return self._fitted(np.ones(len(self.beside[0]), dtype=bool))

    def folds(self, number: int, keystream: Keystream) -> Iterator[tuple[Observed, Observed]]:
        """What to fit to, and the reports to judge by."""
        part = keystream.integers("folds", 0, number, count=len(self.beside[0])).astype(np.int64)
        for held in range(number):
            if 0 < (part == held).sum() < len(part):
                yield self._fitted(part != held), self._judged(part == held)

    def _fitted(self, some: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Observed:
        answers = []
        for one in self.sets:
            inside = some[one.rows]
            cells, rows = one.cells[inside].T, one.rows[inside]
            for place, codes in zip(self._own, self.beside, strict=True):
                answers.append(
                    self._answers((place, *one.features), [codes[rows], *cells], one.gain, 1)
                )
        pairs = itertools.combinations(zip(self._own, self.beside, strict=True), 2)
        for (first, left), (second, right) in pairs:
            plain = self._answers((first, second), [left[some], right[some]], 1.0, 0)
            answers.append(_times(plain, 1 / (len(self.beside) - 1)))
        return Observed(self.sizes, self.features, tuple(own for own in answers if len(own.counts)))

    def _judged(self, some: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Observed:
        most = MOST_HELD / max(int(some.sum()), 1)
        answers = []
        for one in self.sets:
            rows = np.flatnonzero(some[one.rows])
            rows = rows[: max(1, int(most * len(rows)))] if most < 1 else rows
            around = [codes[one.rows[rows]] for codes in self.beside]
            cells, counts = different([*around, *one.cells[rows].T])
            places = (*self._own, *one.features)
            answers.append(Answers(places, cells, counts, 1.0, one.gain, beside=len(self.beside)))
        return Observed(self.sizes, self.features, tuple(own for own in answers if len(own.counts)))

    def _answers(
        self, places: tuple[int, ...], codes: Sequence[IntArray], gain: float, beside: int
    ) -> Answers:
        cells, counts = different(codes)
        share = 1 / len(self.beside) if beside else 1.0
        base = 1.0 if beside else 0.0
        return Answers(places, cells, share * counts, base, gain, beside=beside)


def _times(answers: Answers, factor: float) -> Answers:
    return answers.with_counts(factor * answers.counts)
