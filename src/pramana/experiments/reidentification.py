"""How often a record is found again by its keys [Wei, Sec. 4.3].

Each original record is matched to the released record with the nearest keys, ties at random. The
chance over the ties is computed, not drawn, so that trials differ by the release alone.
"""

from __future__ import annotations

import numpy as np

from pramana.experiments.additive import levels_of
from pramana.experiments.markets import SIZES, Insured, anonymised, group
from pramana.randomness import Keystream
from pramana.types import FloatArray, IntArray

__all__ = ["found_again"]


def found_again(
    people: Insured,
    rows: IntArray,
    *,
    k: int,
    methods: tuple[str, ...],
    trials: int,
    keystream: Keystream,
) -> dict[str, FloatArray]:
    """For each method the frequency of re-identification of every record, over ``trials``."""
    cells = people.cells[rows]
    distance = _distances(people, rows)
    frequency = {method: np.zeros(rows.size) for method in methods}
    grouped = group(people, rows, k=k, keystream=keystream)  # once: trials differ by the draws
    for trial in range(trials):
        seed = int(keystream.words("trials", trial, 1)[0] >> np.uint64(16))
        released = anonymised(grouped, methods=methods, keystream=Keystream.from_seed(seed))
        for method, new in released.items():
            frequency[method] += _chance(cells, new, distance) / trials
    return frequency


def _distances(people: Insured, rows: IntArray) -> FloatArray:
    """Squared Euclidean distances between cells, each variable standardised."""
    places = levels_of(SIZES).astype(np.float64)
    for column in range(len(SIZES)):
        places[:, column] /= max(float(people.levels[column][rows].std()), 1e-9)
    gaps = places[:, None, :] - places[None, :, :]
    squared: FloatArray = np.square(gaps).sum(axis=2)
    return squared


def _chance(cells: IntArray, released: IntArray, distance: FloatArray) -> FloatArray:
    """For every record: the chance that its match is itself."""
    occupied, counts = np.unique(released, return_counts=True)
    asked, where = np.unique(cells, return_inverse=True)
    gaps = distance[np.ix_(asked, occupied)]
    nearest = gaps <= gaps.min(axis=1, keepdims=True) + 1e-9
    candidates = nearest @ counts
    hit = nearest[where.ravel(), np.searchsorted(occupied, released)]
    return np.where(hit, 1 / candidates[where.ravel()], 0.0)
