"""Counts of a column whose matrix leaves frequencies unchanged in expectation.

Where t P = t for the true frequencies t (invariant and inverse-frequency matrices), the released
frequencies are unbiased as they stand, and an analyst needs no matrix for them [Ghatak, Sec. 2].
Their variance is sum_i t_i P_ij (1 - P_ij), which the steward must give: the matrix is withheld.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pramana.errors import InvalidTable, NotCovered
from pramana.estimation.layout import Layout
from pramana.estimation.results import Estimate
from pramana.estimation.variance import USUAL, Question, half_a_record, normal_interval

__all__ = ["invariant_counts"]


def invariant_counts(
    released: ArrayLike,
    layout: Layout,
    *,
    variance: ArrayLike,
    question: Question = USUAL,
    share: bool = False,
) -> Estimate:
    """Counts (or shares) as they stand, with errors.

    Args:
        released: Released counts of one column.
        layout: Its axis.
        variance: The variance of each count as the certificate states it.
        question: What the intervals shall mean.
        share: Shares of the records, whose number is known, instead of counts.
    """
    counts = np.asarray(released, dtype=np.float64)
    if len(layout.axes) != 1 or not layout.axes[0].whole:
        raise NotCovered(
            "Frequencies of a matrix that was withheld are unbiased one column at a time only: "
            "its dependence on other columns is blurred by an unknown amount. Ask for one column."
        )
    if counts.shape != layout.shape or counts.sum() <= 0:
        raise InvalidTable("There must be released records, one count for each value.")
    total = float(counts.sum())
    spread = np.asarray(variance, dtype=np.float64)
    if question.infer == "population":
        spread = spread + counts * (1 - counts / total)
    se = np.sqrt(np.maximum(spread, 0))
    whole = total if share else 1.0
    shown, se = counts / whole, se / whole
    low, high = normal_interval(shown, se, z=question.z(counts.size))
    half = half_a_record(se, 1 / whole)
    low, high = low - half, high + half
    return Estimate.of(
        layout,
        (shown, se, np.maximum(low, 0), np.minimum(high, total / whole)),
        question,
        what="share" if share else "count",
        method="as released",
        why="the matrix leaves frequencies unchanged in expectation: unbiased as they stand.",
        records=total,
    )
