"""Matrices that nobody is told and that leave nothing as it is: single columns, within an error.

A design by ``alpha`` for people who are mostly alone with their keys has a matrix that takes more
room than the records. Where it is withheld, an analyst knows of each column how far its counts may
be off, bias and chance together (estimation/bounded.py), and nothing of how columns go together:
all keys move in one step, so that not even their independence can be tested.
"""

from __future__ import annotations

from typing import ClassVar

from pramana.estimation.bounded import bounded_counts
from pramana.estimation.independence import IndependenceTest
from pramana.estimation.results import Estimate
from pramana.readings.base import Asked
from pramana.readings.records import Summed
from pramana.readings.withheld import WithheldReading
from pramana.types import FloatArray

__all__ = ["SealedReading"]


class SealedReading(WithheldReading):
    """Counts of single columns with the error stated, and all of columns released as they are."""

    stand: ClassVar[str] = "counts are read as they stand, with the error that is stated"
    crossed: ClassVar[str] = "changed by an amount that is not told"
    learned: ClassVar[str] = "How randomised columns go with others is not as in truth."

    def _column(self, sums: Summed, errors: FloatArray, asked: Asked, *, share: bool) -> Estimate:
        """One column as it stands, biased by no more than the error."""
        return bounded_counts(
            sums.moments.w, sums.layout, error=errors, question=asked.question, share=share
        )

    def independence(self, asked: Asked) -> IndependenceTest:
        """Where no randomised column is involved: these moved together."""
        self._only_plain([*asked.names])
        return self.plain.independence(asked)
