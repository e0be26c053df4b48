"""Individual risk: the chance that a record is its person's, given the population behind a sample.

A record that looks like fk - 1 others stands in a population where Fk people look so. Fk is not
known: given fk, and with p = fk / (sum of sampling weights), it is negative binomial, and the risk
is the mean of 1 / Fk [BenedettiFranconi98]. In the form that sdcMicro uses by default:

    fk = 1:   p / (1 - p) ln(1 / p)
    fk = 2:   p / (1 - p) - (p / (1 - p))**2 ln(1 / p)
    fk >= 3:  p / (fk - (1 - p)),  an approximation

The exact mean is p times the integral of s**(fk - 1) / (p + (1 - p) s) over [0, 1]; it equals the
first two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pramana.errors import InvalidNumber
from pramana.risk.frequencies import Frequencies
from pramana.types import FloatArray, Form

__all__ = ["PopulationRisk", "exact_individual_risk", "individual_risk"]


HIGH = 0.1
"""A record with a larger risk is counted as a high one."""


def individual_risk(frequency: ArrayLike, population: ArrayLike) -> FloatArray:
    """The risk of records with these fk and estimated Fk.

    >>> individual_risk([1, 2, 1], [17, 110, 1]).round(5)
    array([0.17708, 0.01714, 1.     ])
    """
    fk, p = _checked(frequency, population)
    risk = np.asarray(p / (fk - (1 - p)))
    inside = p < 1
    odds = np.divide(p, 1 - p, out=np.zeros_like(p), where=inside)
    logs = -np.log(p)
    once, twice = (fk == 1) & inside, (fk == 2) & inside
    risk[once] = (odds * logs)[once]
    risk[twice] = (odds - odds**2 * logs)[twice]
    # Near p = 1 the two terms for fk = 2 cancel; the mean itself does not.
    close = twice & (p > 0.99)
    if close.any():
        risk[close] = _mean(fk[close], p[close])
    risk[~inside] = 1 / fk[~inside]
    return risk


def exact_individual_risk(frequency: ArrayLike, population: ArrayLike) -> FloatArray:
    """The mean of 1 / Fk under the negative binomial law, without the approximation."""
    fk, p = _checked(frequency, population)
    return np.where(p < 1, _mean(fk, p), 1 / fk)


def _mean(fk: FloatArray, p: FloatArray) -> FloatArray:
    """p times the integral of s**(fk - 1) / (p + (1 - p) s) over [0, 1], by two roads.

    For p >= 1/2 the series sum_j j! / (fk (fk + 1) ... (fk + j)) (1 - p)**j, whose terms at least
    halve; below, the recursion I(f + 1) = (1 / f - p I(f)) / (1 - p) from I(1), which damps errors.
    """
    q = 1 - p
    term = 1 / fk
    series = term.copy()
    for j in range(1, 64):
        term = term * (j / (fk + j)) * q
        series = series + term
    rare = np.minimum(p, 0.5)
    step = -np.log(rare) / (1 - rare)
    for f in range(1, int(fk.max(initial=1.0))):
        step = np.where(fk > f, (1 / f - rare * step) / (1 - rare), step)
    return np.asarray(p * np.where(p >= 0.5, series, step), dtype=np.float64)


def _checked(frequency: ArrayLike, population: ArrayLike) -> tuple[FloatArray, FloatArray]:
    fk, people = np.broadcast_arrays(
        np.asarray(frequency, np.float64), np.asarray(population, np.float64)
    )
    if (fk < 1).any() or not (people >= 0).all():
        raise InvalidNumber("Frequencies must be at least 1 and sums of weights at least 0.")
    return fk, fk / np.maximum(people, fk)  # who is there stands for one person at least


@dataclass(frozen=True)
class PopulationRisk:
    """What a table tells about the people it was drawn from.

    Attributes:
        expected: the expected number of records that are re-identified.
        share: the same as a share of the records.
        highest: the largest individual risk.
        high: how many records have a risk above one in ten.
        population: the number of people that the weights stand for.
    """

    expected: float
    share: float
    highest: float
    high: int
    population: float

    @classmethod
    def of(cls, frequencies: Frequencies) -> PopulationRisk | None:
        """From frequencies in sample and population; ``None`` without weights."""
        if frequencies.population is None:
            return None
        risk = individual_risk(frequencies.sample, frequencies.population)
        numbers = frequencies.grouping.numbers
        expected, records = float((risk * numbers).sum()), int(numbers.sum())
        return cls(
            expected=expected,
            share=expected / records,
            highest=float(risk.max()),
            high=int(numbers[risk > HIGH].sum()),
            population=float(frequencies.people or 0.0),
        )

    def to_json(self) -> Form:
        """A plain form."""
        return {
            "expected_reidentifications": self.expected,
            "global_risk": self.share,
            "highest_risk": self.highest,
            "records_above_one_in_ten": self.high,
            "population": self.population,
        }
