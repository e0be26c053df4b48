"""Counts of a column as they stand, where a certificate states how far off they may be.

The matrix is withheld and moves frequencies. Of the value j with t_j records the released count has
a mean t_j + b_j and a standard deviation s_j. The certificate states one error e for the whole
column that no |b_j| + s_j exceeds. With z >= 1 standard deviations for the chance of drawing,

    |count - t_j|  <=  |b_j| + z s_j  <=  z e,

so that z e to both sides holds as often as z standard deviations do, whatever the bias. About a
population the deviation of its own sample is added to e: sqrt(s^2 + d^2) <= s + d. A difference of
two counts is off by z times both errors at most, for the same reason, and z >= 1 there as well.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from pramana.errors import InvalidTable
from pramana.estimation.contrasts import Apart
from pramana.estimation.layout import Layout
from pramana.estimation.question import USUAL, Question
from pramana.estimation.results import Estimate
from pramana.estimation.variance import half_a_record

__all__ = ["bounded_counts"]

BIAS: Final = 1.0
"""So many errors an interval reaches at least, however low its level: a bias may be all of one."""


def bounded_counts(
    released: ArrayLike,
    layout: Layout,
    *,
    error: ArrayLike,
    question: Question = USUAL,
    share: bool = False,
) -> Estimate:
    """Counts (or shares) as they stand, with intervals that hold whatever the bias.

    Args:
        released: Released counts of one column.
        layout: Its axis.
        error: What bias and standard deviation of each count make together at most.
        question: What the intervals shall mean.
        share: Shares of the records, whose number is known, instead of counts.
    """
    counts = np.asarray(released, dtype=np.float64)
    if counts.shape != layout.shape or counts.sum() <= 0:
        raise InvalidTable("There must be released records, one count for each value.")
    total = float(counts.sum())
    se = np.broadcast_to(np.asarray(error, dtype=np.float64), counts.shape)
    if question.infer == "population":
        near = np.clip(counts, 1, max(total - 1, 1))  # of 0 released there may be some
        se = se + np.sqrt(near * (1 - near / total))
    reach = max(question.z(counts.size), BIAS) * se + half_a_record(se, 1.0)
    low, high = np.maximum(counts - reach, 0), np.minimum(counts + reach, total)
    whole = total if share else 1.0
    return Estimate.of(
        layout,
        (counts / whole, se / whole, low / whole, high / whole),
        question,
        what="share" if share else "count",
        method="as released",
        why="the matrix is withheld and may move frequencies: se is the most that bias and chance "
        "make together, as the certificate states it.",
        records=total,
        together=Apart(1 / whole, BIAS),
    )
