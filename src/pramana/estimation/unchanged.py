"""Counts of a column whose matrix leaves frequencies unchanged in expectation.

Where t P = t for the true frequencies t (invariant and inverse-frequency matrices), the released
frequencies are unbiased as they stand, and an analyst needs no matrix for them [Ghatak, Sec. 2].
Their variance is sum_i t_i P_ij (1 - P_ij), which the steward must give: the matrix is withheld.

A certificate states one figure for all values of a column, rounded up, which is far too much for
the rare ones. The released count says more: it is a sum of n independent draws of ones and zeros
with mean t_j, and no such sum varies by more than t_j (1 - t_j / n), whatever the matrix. So both
bounds hold, and the interval has every t_j that neither refutes [Wilson27].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pramana.errors import InvalidTable, NotCovered
from pramana.estimation.layout import Layout
from pramana.estimation.question import USUAL, Question
from pramana.estimation.results import Estimate
from pramana.estimation.variance import half_a_record, not_refuted

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
    stated = np.asarray(variance, dtype=np.float64)
    drawn = 1.0 if question.infer == "population" else 0.0  # how often people were drawn themselves
    near = np.clip(counts, 1, max(total - 1, 1))  # a count of 0 may be of a value that some have
    most = near * (1 - near / total)
    se = np.sqrt(np.maximum(np.minimum(stated, most) + drawn * most, 0))
    whole = total if share else 1.0
    z = question.z(counts.size)
    low, high = not_refuted(counts, total, z=z, known=stated, times=drawn)
    least, largest = not_refuted(counts, total, z=z, times=drawn + 1)
    low, high = np.maximum(low, least) / whole, np.minimum(high, largest) / whole
    shown, se = counts / whole, se / whole
    half = half_a_record(se, 1 / whole)
    low, high = low - half, high + half
    return Estimate.of(
        layout,
        (shown, se, np.maximum(low, 0), np.minimum(high, total / whole)),
        question,
        what="share" if share else "count",
        method="as released",
        why="the matrix leaves frequencies unchanged in expectation: unbiased as they stand; se is "
        "the most that the certificate and the count itself leave possible.",
        records=total,
    )
