"""The risk of a household: it is found if one of its members is.

With r_i the chance that member i is re-identified, that of the household is 1 - prod (1 - r_i), as
if members were looked for one by one; and each of its members is found with it, since a household
tells who its people are. These are sdcMicro's hierarchical risks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pramana.text import percent_up, text_up
from pramana.types import FloatArray, Form, IntArray

__all__ = ["HouseholdRisk"]


@dataclass(frozen=True)
class HouseholdRisk:
    """What a table tells about households.

    Attributes:
        column: what numbers them.
        households: how many there are.
        largest: the most people in one.
        expected: the expected number of households that are found.
        people: the expected number of people who are found by themselves or by another member.
        highest: the largest risk of a household.
    """

    column: str
    households: int
    largest: int
    expected: float
    people: float
    highest: float

    @classmethod
    def of(cls, column: str, homes: IntArray, risk: FloatArray) -> HouseholdRisk:
        """From the household and the risk of each record.

        >>> HouseholdRisk.of("hh", np.array([0, 0, 1]), np.array([0.5, 0.5, 0.1])).highest
        0.75
        """
        _, home = np.unique(homes, return_inverse=True)
        sizes = np.bincount(home)
        certain = np.bincount(home, risk >= 1) > 0
        logs = np.bincount(home, np.log1p(-np.minimum(risk, 1 - 1e-16)))
        own = np.where(certain, 1.0, -np.expm1(logs))
        return cls(
            column,
            len(sizes),
            int(sizes.max()),
            float(own.sum()),
            float((own * sizes).sum()),
            float(own.max()),
        )

    def sentence(self) -> str:
        """The finding in plain words."""
        return (
            f"A household ('{self.column}') is found if one of its people is: about "
            f"{text_up(self.expected)} of {self.households:,} households could be, and with them "
            f"{text_up(self.people)} people; the largest risk of a household is "
            f"{percent_up(self.highest)}."
        )

    def to_json(self) -> Form:
        """A plain form."""
        return {
            "column": self.column,
            "households": self.households,
            "largest": self.largest,
            "expected_households": self.expected,
            "expected_people": self.people,
            "highest_risk": self.highest,
        }
