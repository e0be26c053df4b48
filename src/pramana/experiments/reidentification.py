"""How often a record is found again by its keys [Wei, Sec. 4.3].

Each original record is matched to the released record with the nearest keys, ties at random. The
chance over the ties is computed, not drawn, so that trials differ by the release alone.
"""

from __future__ import annotations

import numpy as np

from pramana.base.randomness import Keystream
from pramana.experiments.additive import levels_of
from pramana.experiments.markets import SIZES, Insured, anonymised, group
from pramana.risk.attacks.microaggregated import link_chances
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
    places = _places(people, rows)
    truth = places[people.cells[rows]]
    frequency = {method: np.zeros(rows.size) for method in methods}
    grouped = group(people, rows, k=k, keystream=keystream)  # once: trials differ by the draws
    for trial in range(trials):
        seed = int(keystream.words("trials", trial, 1)[0] >> np.uint64(16))
        released = anonymised(grouped, methods=methods, keystream=Keystream.from_seed(seed))
        for method, new in released.items():
            frequency[method] += link_chances(truth, places[new]) / trials
    return frequency


def _places(people: Insured, rows: IntArray) -> FloatArray:
    """Where each cell lies, every variable in units of its standard deviation."""
    places = levels_of(SIZES).astype(np.float64)
    for column in range(len(SIZES)):
        places[:, column] /= max(float(people.levels[column][rows].std()), 1e-9)
    return places
