"""Re-identification by the nearest record [Wei, sec. 4.3].

Somebody who knows a person's true keys picks the released record whose keys are nearest, one of
them at random where several are. The pick is right where it is the person's own record. What
comes of the random choice among ties is computed, not drawn: it is one over their number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pramana.errors import InvalidTable
from pramana.risk.measured import clopper_pearson
from pramana.types import FloatArray, IntArray

__all__ = ["ClassRisk", "link_chances", "reidentification"]


TIE = 1e-9
"""Distances that differ by less, in proportion, are equal."""


@dataclass(frozen=True, eq=False)
class ClassRisk:
    """How often people are found, by class of equal true keys.

    Attributes:
        sizes: the number of people of every class.
        frequency: the share of right links, over the people of the class and all trials.
        low: lower end of its interval.
        high: upper end of its interval.
        trials: the number of releases looked at.
        average: over all people and trials.
    """

    sizes: IntArray
    frequency: FloatArray
    low: FloatArray
    high: FloatArray
    trials: int
    average: float

    def above(self, bound: float) -> int:
        """The number of classes whose whole interval lies above ``bound``."""
        return int((self.low > bound).sum())


def link_chances(truth: FloatArray, released: FloatArray) -> FloatArray:
    """For every person the chance that the nearest released record is the person's own.

    Row i of both tables is the same person; columns are keys on comparable scales.

    >>> link_chances(np.array([[0.0], [1.0]]), np.array([[0.0], [0.0]])).tolist()
    [0.5, 0.5]
    """
    from scipy.spatial import cKDTree

    if truth.shape != released.shape:
        raise InvalidTable(
            f"Truth and release must hold the same people and keys: {truth.shape[0]} x "
            f"{truth.shape[1]} and {released.shape[0]} x {released.shape[1]}."
        )
    values, records = np.unique(released, axis=0, return_counts=True)
    people, of_person = np.unique(truth, axis=0, return_inverse=True)
    of_person = of_person.ravel()
    tree = cKDTree(values)
    reach = tree.query(people)[0] * (1 + TIE) + 1e-300
    found = np.linalg.norm(truth - released, axis=1) <= reach[of_person]
    wanted = np.unique(of_person[found])
    ties = np.zeros(len(people))
    balls = tree.query_ball_point(people[wanted], reach[wanted])
    ties[wanted] = [records[ball].sum() for ball in balls]
    chances = np.zeros(len(truth))
    chances[found] = 1 / ties[of_person[found]]
    return chances


def reidentification(
    truth: FloatArray, releases: Iterable[FloatArray], *, level: float = 0.95
) -> ClassRisk:
    """Frequencies of right links over several releases of the same people.

    Intervals are the exact binomial ones for one attack a release on every class: people of one
    class share a release, so their number is not counted as further evidence.
    """
    of_person = np.unique(truth, axis=0, return_inverse=True)[1].ravel()
    sizes = np.bincount(of_person)
    total, trials = np.zeros(len(truth)), 0
    for released in releases:
        total += link_chances(truth, released)
        trials += 1
    if trials == 0:
        raise InvalidTable("Re-identification needs at least one release.")
    frequency = np.bincount(of_person, total) / (sizes * trials)
    ends = np.array(
        [clopper_pearson(round(hits), trials, level=level) for hits in frequency * trials]
    )
    return ClassRisk(
        sizes.astype(np.int64),
        frequency,
        ends[:, 0],
        ends[:, 1],
        trials,
        float(total.mean()) / trials,
    )
