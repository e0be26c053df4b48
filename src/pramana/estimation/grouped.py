"""Counts from a release whose keys were replaced within groups.

Keys are handed round (``permute``), drawn with replacement (``resample``) or drawn around the
groups (``gaussian``) so that their joint distribution stays [Wei, Lemma 1]: released counts of the
keys are unbiased as they stand. Handing round changes no count at all. Drawing adds at most the
variance of as many independent draws from the whole table, n p (1 - p), which is what is stated
here: groups are alike inside, so that the true variance is smaller.

What ties the keys to other columns is blurred within the groups, by an amount that the release does
not tell: tables of keys with other columns carry no error, and ``why`` says so.
"""

from __future__ import annotations

import numpy as np

from pramana.errors import InvalidTable, NotCovered
from pramana.estimation.layout import Layout
from pramana.estimation.moments import Moments
from pramana.estimation.results import Estimate
from pramana.estimation.variance import USUAL, Question, normal_interval

__all__ = ["grouped_counts"]


def grouped_counts(
    moments: Moments,
    layout: Layout,
    *,
    method: str,
    keys_only: bool,
    question: Question = USUAL,
    share: bool = False,
) -> Estimate:
    """Counts as they stand; with errors where the theory gives them."""
    if method == "centroid":
        raise NotCovered(
            "Keys were replaced by the centres of their groups, which keeps no distribution: "
            "tables of them say little about the truth, and no error can be stated."
        )
    counts, total = moments.w, float(moments.w.sum())
    if total <= 0:
        raise InvalidTable("There are no released records to count. Does the filter select any?")
    drawn = 0.0 if method == "permute" else 1.0
    sampled = 1.0 if question.infer == "population" else 0.0
    variance = (drawn + sampled) * counts * (1 - counts / total) * moments.ww.sum() / total
    se = np.sqrt(variance) if keys_only else np.full_like(counts, np.nan)
    if share:
        counts, se, total = counts / total, se / total, 1.0
    low, high = normal_interval(counts, se, z=question.z(counts.size))
    why = (
        "the release keeps the joint distribution of the keys; errors are upper bounds."
        if keys_only
        else "counts as released: how other columns go with the keys is blurred within groups."
    )
    return Estimate.of(
        layout,
        (counts, se, np.maximum(low, 0), np.minimum(high, total)),
        question,
        what="share" if share else "count",
        method="as released",
        why=why,
        records=moments.count,
    )
