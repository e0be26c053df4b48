"""How far intervals of coefficients reach: to the values that a test of the scores refutes.

An estimate and so many standard errors to both sides are right where the scores are straight lines
in the coefficients and their spread is the same along the interval. Through strong noise they are
not: a coefficient far out comes with a large standard error, from the same noise; and that of a
steep effect, or of a rare response, comes out small or runs away, so that the truth lies beyond
the end of whoever was small. But at every value the sum of the scores is a sum of independent
terms, of mean 0 if the value is true. So each value is judged by its own score and spread, the
other coefficients brought to where their scores are 0, and what is left of these taken off
[Neyman59]. Where no value however large is refuted, the interval has no end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pramana.analysis.question import Inference
from pramana.analysis.variance import half_a_record
from pramana.types import FloatArray, IntArray

if TYPE_CHECKING:
    from pramana.analysis.regression import CorrectedScores

MOST_TRIES, MOST_STEPS = 40, 25

NEAR = 0.01
"""An end is where the test says so, up to this part of the quantile."""

ASIDE = 1e-9
"""An end is known up to ``NEAR`` only: 0 that lies close to one is put clearly to its own side, so
that p-values are not 0.05 but for rounding."""

BEYOND = 4.0
"""So many times as far as the end, 0 is refuted beyond doubt, and by how much is not looked for."""

FLAT = 1.005
"""Where twice the distance is refuted by less than so many times as much, there is no end."""


@dataclass(frozen=True, eq=False)
class Tests:
    """Tests of all values that coefficients may have.

    Attributes:
        scores: of the model.
        root: of the scores.
        se: standard errors there.
        step: what one record that moves changes of each score, the others' part taken off.
        infer: about the records or the population.
        spread: of the scores, where that at the root serves for all values.
    """

    scores: CorrectedScores
    root: FloatArray
    se: FloatArray
    step: FloatArray
    infer: Inference
    spread: FloatArray | None

    def ends(self, z: float) -> tuple[FloatArray, FloatArray]:
        """How far each interval goes below and above the root, and how far off 0 each is.

        A value is refuted by ``z`` standard errors of its score; so is 0 if it lies outside.
        """
        reach = np.tile(z * self.se, (2, 1))
        from_zero: FloatArray = np.where(self.root == 0, 0.0, math.inf)
        for side, place in np.ndindex(reach.shape):
            if not self.se[place] > 0:
                continue
            path, distance = _Path(self, place, (-1.0, 1.0)[side]), abs(float(self.root[place]))
            end = path.end(float(reach[side, place]), z)
            reach[side, place] = end
            if path.sign * self.root[place] < 0:
                found = path.refuted(distance) if distance < BEYOND * end else math.nan
                found = distance / float(self.se[place]) if math.isnan(found) else max(found, 0.0)
                inside = distance <= end
                from_zero[place] = min(found, z - ASIDE) if inside else max(found, z + ASIDE)
        return reach, from_zero


@dataclass
class _Path:
    """Values of one coefficient to one side of the root, with the others that go along."""

    tests: Tests
    place: int
    sign: float
    others: IntArray = field(init=False)
    aside: tuple[IntArray, ...] = field(init=False)
    here: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.others = np.flatnonzero(np.arange(len(self.tests.root)) != self.place)
        self.aside = np.ix_(self.others, self.others)
        self.here = self.tests.root

    def end(self, begin: float, z: float) -> float:
        """The nearest distance that is refuted; ``begin`` where the scores do not tell."""
        inside, before = 0.0, 0.0
        outside, beyond = math.inf, math.inf
        tried = begin
        for _ in range(MOST_TRIES):
            found = self.refuted(tried)
            if math.isnan(found):
                return begin if tried <= begin else math.inf
            if abs(found - z) < NEAR * z:
                return tried
            if found > z:
                outside, beyond = tried, found
            elif outside == math.inf and tried > begin and not found > FLAT * before:
                return math.inf
            else:
                inside, before = tried, found
            part = (z - before) / (beyond - before)
            step = inside if outside == math.inf else (outside - inside) * min(max(part, 0.1), 0.9)
            tried = inside + step
        return tried

    def refuted(self, distance: float) -> float:
        """By how many standard errors the score at this distance is off 0, but for half a record.

        Where few records move the score is one of few numbers, and the next one may be true.
        """
        tests, beta = self.tests, self._along(distance)
        score, slope = tests.scores.at(beta)
        combined = np.ones(len(beta))
        combined[self.others] = -_solved(slope[self.aside], slope[self.others, self.place])
        spread = tests.spread
        if spread is None:
            fitted = tests.scores.fitted(tests.infer)
            spread = tests.scores.spread(beta, infer=tests.infer) * fitted
        variance = float(combined @ spread @ combined)
        if not variance > 0:
            return math.nan
        error = math.sqrt(variance)
        half = float(half_a_record(np.array(error), float(tests.step[self.place])))
        return (-self.sign * float(combined @ score) - half) / error

    def _along(self, distance: float) -> FloatArray:
        """The coefficients at this distance, the scores of all others nearly 0."""
        beta = self.here.copy()
        beta[self.place] = self.tests.root[self.place] + self.sign * distance
        se = self.tests.se[self.others]
        unsure = se > 0  # of a coefficient that is sure, any step will do
        for _ in range(MOST_STEPS):
            score, slope = self.tests.scores.at(beta)
            step = _solved(slope[self.aside], score[self.others])
            sizes = np.abs(step[unsure]) / se[unsure]
            most = float(np.max(sizes, initial=0.0))
            beta[self.others] += step / max(1.0, most)
            if most < NEAR:
                break
        self.here = beta
        return beta


def _solved(slope: FloatArray, score: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.lstsq(slope, score, rcond=1e-13)[0], dtype=np.float64)
