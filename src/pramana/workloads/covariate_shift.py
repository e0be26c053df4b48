"""Weights that make one population look like another [Wei, Sec. 2 and 4.1].

A model is learned where the covariates follow p and used where they follow q. The weight of a
record is w(x) = q(x) / p(x); hand it to any learner as ``sample_weight``.

    cell_weights        p and q are the shares of cells
    logistic_weights    q / p is read off a logistic regression of "which population"
    market_weights      p and q are those of two markets; the records are members of the first

Tables are data frames, files, arrays, or estimated tables of a release (``release.crosstab``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramana.errors import InvalidTable
from pramana.numeric import require_number
from pramana.types import FloatArray
from pramana.workloads.cells import Mass, as_weights, coding_of, located
from pramana.workloads.features import Form, features
from pramana.workloads.learners import logistic_regression

__all__ = [
    "ShiftWeights",
    "cell_weights",
    "effective_size",
    "histogram_intersection",
    "logistic_weights",
    "market_weights",
    "ratio",
    "require_support",
    "scaled",
]


@dataclass(frozen=True, eq=False)
class ShiftWeights:
    """One weight a record of the source, with mean one, and what to know before using them.

    Attributes:
        values: the weights, in the order of the records.
        unsupported: the share of the target that lies in cells which the source lacks: no weight
            can stand for it.
        unplaced: the share of the records that got weight 0 because their cell is unknown to the
            tables that the weights came from.
        similarity: the histogram intersection of the weighted source and the target; 1 is equal.
    """

    values: FloatArray = field(repr=False)
    unsupported: float
    unplaced: float
    similarity: float

    @property
    def effective_size(self) -> float:
        """How many equally weighted records would be as informative."""
        return effective_size(self.values)

    @property
    def largest(self) -> float:
        """The largest weight; the mean is one."""
        return float(self.values.max())

    def sentence(self) -> str:
        """The diagnostics in plain words."""
        return (
            f"{self.values.size:,} records weigh as much as {self.effective_size:,.0f} equal ones, "
            f"the largest weight is {self.largest:.3g}, the weighted source overlaps the target "
            f"by {self.similarity:.1%}, and {self.unsupported:.2%} of the target has no support."
        )


def effective_size(weights: ArrayLike) -> float:
    """(sum w)^2 / sum w^2.

    >>> effective_size([1, 1, 0, 0])
    2.0
    """
    values = as_weights(weights, np.asarray(weights).size)
    return float(values.sum() ** 2 / np.square(values).sum())


def histogram_intersection(
    first: Any,
    second: Any,
    *,
    first_weight: ArrayLike | None = None,
    second_weight: ArrayLike | None = None,
) -> float:
    """The mass that two tables share, cell by cell: sum of the smaller share. 1 means equal.

    >>> histogram_intersection(["a", "a", "b", "b"], ["a", "b", "b", "b"])
    0.75
    """
    coding = coding_of(first, second)
    one = Mass.of(first, coding, weight=first_weight)
    two = Mass.of(second, coding, weight=second_weight)
    return float(np.minimum(one.shares, two.at(one.cells)).sum())


def ratio(target: ArrayLike, source: ArrayLike) -> FloatArray:
    """q / p cell by cell, 0 where p is 0: there is no record to carry the weight."""
    q, p = np.asarray(target, dtype=np.float64), np.asarray(source, dtype=np.float64)
    return np.divide(q, p, out=np.zeros(np.broadcast(q, p).shape), where=p > 0)


def cell_weights(
    source: Any,
    target: Any,
    *,
    source_weight: ArrayLike | None = None,
    target_weight: ArrayLike | None = None,
    max_unsupported: float = 0.0,
) -> ShiftWeights:
    """w(x) = q(x) / p(x) with both read off the cells.

    Args:
        source: the records that will be weighted (only the columns that define the cells), or an
            estimated table: then there is one weight a cell.
        target: records of the other population, or its estimated table, with the same columns.
        source_weight: survey weights of the source.
        target_weight: survey weights of the target.
        max_unsupported: the largest share of the target that may lie in cells which the source
            lacks; more is refused.

    >>> cell_weights(["a", "a", "b", "b"], ["a", "b", "b", "b"]).values.tolist()
    [0.5, 0.5, 1.5, 1.5]
    """
    return market_weights(
        source,
        existing=source,
        new=target,
        existing_weight=source_weight,
        new_weight=target_weight,
        member_weight=source_weight,
        max_unsupported=max_unsupported,
    )


def market_weights(
    members: Any,
    *,
    existing: Any,
    new: Any,
    member_weight: ArrayLike | None = None,
    existing_weight: ArrayLike | None = None,
    new_weight: ArrayLike | None = None,
    max_unsupported: float = 0.0,
) -> ShiftWeights:
    """Weights for members of a plan: w(x) = p(x | new market) / p(x | existing market).

    Joining the plan depends on x and not on the market, so that it cancels [Wei, eq. 16]: the
    markets' own tables are enough, and what members of the new market look like is not needed.
    """
    require_number("max_unsupported", max_unsupported, low=0, high=1)
    coding = coding_of(members, existing, new)
    p = Mass.of(existing, coding, weight=existing_weight)
    q = Mass.of(new, coding, weight=new_weight)
    unsupported = require_support(q, p, max_unsupported)
    cells, own = located(members, coding, weight=member_weight)
    below = p.at(cells)
    values = ratio(q.at(cells), below)
    unplaced = float(own[below == 0].sum() / own.sum())
    return scaled(values, own, unsupported, unplaced, cells=cells, target=q)


def logistic_weights(
    source: Any,
    target: Any,
    *,
    source_weight: ArrayLike | None = None,
    target_weight: ArrayLike | None = None,
    form: Form = "numeric",
    at: Any = None,
) -> ShiftWeights:
    """w(x) proportional to P(target | x) / P(source | x), by logistic regression on x.

    Args:
        source: records of the first population.
        target: records of the second, or its estimated table.
        source_weight: survey weights of the source.
        target_weight: survey weights of the target.
        form: ``numeric`` reads levels as numbers, ``dummy`` gives each level its own term.
        at: the records to weight, where they are not the source (members of a plan).
    """
    at = source if at is None else at
    levels = coding_of(source, target, at)
    p = Mass.of(source, levels, weight=source_weight)
    q = Mass.of(target, levels, weight=target_weight)
    log_odds = logistic_regression(
        features(levels, np.concatenate([p.cells, q.cells]), form=form),
        np.repeat([0, 1], [p.cells.size, q.cells.size]),
        weight=np.concatenate([p.shares, q.shares]) * (p.cells.size + q.cells.size),
    )
    cells, own = located(at, levels, weight=source_weight if at is source else None)
    occupied, where = np.unique(cells, return_inverse=True)
    values = np.exp(log_odds(features(levels, occupied, form=form)))[where.ravel()]
    unsupported = float(q.shares[p.at(q.cells) == 0].sum())
    return scaled(values, own, unsupported, 0.0, cells=cells, target=q)


def require_support(target: Mass, source: Mass, most: float) -> float:
    """The share of the target in cells that the source lacks; refused beyond the limit."""
    lacking = source.at(target.cells) == 0
    share = float(target.shares[lacking].sum())
    if share > most:
        raise InvalidTable(
            f"The source must have records in every cell of the target; it has none in "
            f"{int(lacking.sum()):,} of {lacking.size:,} cells, which hold {share:.2%} of the "
            f"target's mass. Use coarser columns, or accept it: max_unsupported={share:.2g}."
        )
    return share


def scaled(
    values: FloatArray,
    own: FloatArray,
    unsupported: float,
    unplaced: float,
    *,
    cells: NDArray[np.int64],
    target: Mass,
) -> ShiftWeights:
    """Weights with mean one over the records as they are weighted already."""
    total = float((own * values).sum())
    if not total > 0:
        raise InvalidTable(
            "Source and target share no cell: no weights can make one look like the other. "
            "Use coarser columns."
        )
    values = values * (own.sum() / total)
    reached = Mass.of_cells(cells, target.coding, weight=own * values)
    similarity = float(np.minimum(reached.shares, target.at(reached.cells)).sum())
    return ShiftWeights(values, unsupported, unplaced, similarity)
