"""Weights that let the records of all tasks help to learn one of them [Wei, Sec. 2].

For task t, with records of all tasks pooled,

    w(x, y | t) = p(x, y | t) / sum_s p(s) p(x, y | s)  *  q(x | t) / p(x | t).

The first factor turns the pool into task t; by Bayes it is p(t | x, y) / p(t). The second turns the
training covariates of task t into those it will meet. A learner that takes the weights as
``sample_weight`` then minimises, in expectation, the risk of task t where it will be used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from pramana.errors import InvalidNumber, InvalidTable
from pramana.types import FloatArray
from pramana.workloads.cells import Coding, Mass, as_columns, as_weights, coding_of
from pramana.workloads.covariate_shift import ShiftWeights, ratio, require_support, scaled

__all__ = ["transfer_weights"]

RESPONSE = "\x00response"


def transfer_weights(
    x: Any,
    y: ArrayLike,
    task: ArrayLike,
    *,
    learn: Any,
    target: Any = None,
    target_weight: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    bins: int | None = None,
    max_unsupported: float = 0.0,
) -> ShiftWeights:
    """Weights for the pooled records of all tasks, for learning the task ``learn``.

    Args:
        x: the covariates of all records; only the columns that define the cells.
        y: the response of each record.
        task: the task that each record comes from.
        learn: the task to learn.
        target: covariates where the model will be used, records or an estimated table; without
            it they are those of the task's own records.
        target_weight: survey weights of the target.
        weight: survey weights of the records.
        bins: cut a response of numbers into this many bins of equal mass; otherwise each of its
            values is a level of its own.
        max_unsupported: the largest share of the target that may lie in cells where the task has
            no record; more is refused.

    >>> transfer_weights(["a", "a", "b"], [0, 1, 1], ["s", "t", "t"], learn="t").values.tolist()
    [0.0, 1.5, 1.5]
    """
    columns = as_columns(x)
    own = as_weights(weight, columns.num_rows)
    tasks = np.asarray(task)
    mine = tasks == learn
    if tasks.shape != (columns.num_rows,) or not mine.any():
        raise InvalidTable(f"Each record must name its task, and some must be of task {learn!r}.")
    pairs = columns.append_column(RESPONSE, pa.array(_levels(y, bins, own, columns.num_rows)))
    both = Coding.of(pairs)
    cells = both.cells(pairs)
    pool = Mass.of_cells(cells, both, weight=own)
    ours = Mass.of_cells(cells[mine], both, weight=own[mine])
    to_task = ratio(ours.at(cells), pool.at(cells))
    if target is None:
        return scaled(to_task, own, 0.0, 0.0, cells=cells, target=ours)
    coding = coding_of(columns, target)
    places = coding.cells(columns)
    p = Mass.of_cells(places[mine], coding, weight=own[mine])
    q = Mass.of(target, coding, weight=target_weight)
    unsupported = require_support(q, p, max_unsupported)
    below = p.at(places)
    unplaced = float(own[(below == 0) & (to_task > 0)].sum() / own.sum())
    values = to_task * ratio(q.at(places), below)
    return scaled(values, own, unsupported, unplaced, cells=places, target=q)


def _levels(y: ArrayLike, bins: int | None, weight: FloatArray, records: int) -> NDArray[Any]:
    """The response as levels, cut at weighted quantiles where asked."""
    values = np.asarray(y)
    if values.shape != (records,):
        raise InvalidNumber(f"The response must be one value a record: {records}.")
    if bins is None:
        return values
    if bins < 2 or not np.issubdtype(values.dtype, np.number):
        raise InvalidNumber(f"Only a response of numbers can be cut, into 2 bins or more: {bins}.")
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order]) / weight.sum()
    edges = values[order][np.searchsorted(reached, np.arange(1, bins) / bins)]
    cut: NDArray[np.int64] = np.searchsorted(np.unique(edges), values, side="right")
    return cut
