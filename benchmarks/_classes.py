"""How often people are found again over several releases, by class of equal true keys [Wei]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pramana.base.measured_share import clopper_pearson
from pramana.errors import InvalidTable
from pramana.risk.attacks.microaggregated import link_chances
from pramana.types import FloatArray, IntArray


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
