"""A table from reports: every report that holds its columns, undone and weighed by precision.

Of the N_S reports of a set S that holds the table T, the cell t has the expected share
p_S f_t + (1 - p_S) b_t, where f_t is its share among all people and b_t the share of the cells of
S that lie in it. Each set gives the unbiased (r_t - (1 - p_S) b_t) / p_S; they are averaged with
weights N_S p_S**2, which do not look at the answers, so that the average stays unbiased.

The variance is that of independent draws from a large population less f (1 - f) / n: the n people
are all there are, and who answers what is a draw without replacement among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana.errors import InvalidTable
from pramana.types import FloatArray

__all__ = ["ReportedTable", "TableReports", "table_of_reports"]


@dataclass(frozen=True, eq=False)
class TableReports:
    """The reports of one set, counted by the cells of a table that it holds.

    Attributes:
        counts: Reports by cell of the table.
        retention: The retention of the set's matrix.
        base: The share of the set's possible cells that lies in each cell of the table.
    """

    counts: FloatArray
    retention: float
    base: FloatArray

    @property
    def records(self) -> float:
        """How many reports there are."""
        return float(self.counts.sum())

    @property
    def precision(self) -> float:
        """Records times squared retention."""
        return self.records * self.retention**2

    def undone(self) -> FloatArray:
        """The unbiased share of each cell."""
        seen = self.counts / self.records
        return (seen - (1 - self.retention) * self.base) / self.retention

    def variance(self, shares: FloatArray) -> FloatArray:
        """The variance of :meth:`undone` if these were the shares, people drawn anew."""
        expected = self.retention * shares + (1 - self.retention) * self.base
        spread: FloatArray = expected * (1 - expected) / self.precision
        return spread


@dataclass(frozen=True, eq=False)
class ReportedTable:
    """Estimated shares with their variances.

    Attributes:
        shares: Unbiased, and so perhaps below 0.
        people: The variance if the question is about these people.
        population: The variance if they are a sample of many more.
        reports: How many reports hold the table.
    """

    shares: FloatArray
    people: FloatArray
    population: FloatArray
    reports: float


def table_of_reports(parts: Sequence[TableReports], *, records: int) -> ReportedTable:
    """The shares of a table among ``records`` people."""
    told = [part for part in parts if part.precision > 0]
    if not told:
        raise InvalidTable("No report holds all columns of the table.")
    weights = np.array([part.precision for part in told])
    weights /= weights.sum()
    shares: FloatArray = sum(
        (weight * part.undone() for weight, part in zip(weights, told, strict=True)),
        start=np.zeros_like(told[0].counts),
    )
    likely = np.clip(shares, 0, 1)
    drawn: FloatArray = sum(
        (weight**2 * part.variance(likely) for weight, part in zip(weights, told, strict=True)),
        start=np.zeros_like(shares),
    )
    people = np.maximum(drawn - likely * (1 - likely) / records, 0)
    return ReportedTable(shares, people, drawn, sum(part.records for part in told))
