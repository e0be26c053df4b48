"""Tests by betting: exact for tables of any size, with a power that can be written down.

Whoever doubts a release names what was done instead, and bets on it: each released record
multiplies the stake by how much likelier the doubt makes it, divided by what a sound release wins
on average [Shafer21].
Stakes of a sound release have mean 1, so that by Markov's inequality one grows to 1 / level less
often than level: no limit law, no smallest number of records. An average of bets is a bet, so that
many doubts and many shares of the records are bet on at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pramana.types import FloatArray

SHARES = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002)
"""Of how many records a doubt may speak; each is bet on."""

SURE = 3.0
"""So many standard deviations above what is needed, and a bet is nearly always won."""


@dataclass(frozen=True)
class Bet:
    """One doubt about a release.

    Attributes:
        doubt: What is bet on, in words.
        gain: The logarithm of what the stake has become.
        found_from: The smallest share of records that is found nearly always; ``None`` where not
            even all of them would be.
    """

    doubt: str
    gain: float
    found_from: float | None


def needed(level: float, bets: int) -> float:
    """What the best of some bets must have gained to be believed."""
    return math.log(max(bets, 1) / level)


def average(gains: Sequence[float] | FloatArray) -> float:
    """The gain of a stake that was divided among some bets."""
    own = np.asarray(gains, dtype=np.float64)
    most = float(own.max(initial=-math.inf))
    if not math.isfinite(most):
        return most
    return most + math.log(float(np.exp(own - most).mean()))


def found_from(
    shares: Sequence[float], hopes: Iterable[tuple[float, float]], *, level: float
) -> float | None:
    """The smallest share from which on a divided stake is nearly always won.

    ``hopes`` are mean and standard deviation of what is won at each share, if the doubt is right.
    """
    least = needed(level, len(shares))
    found = None
    for share, (mean, deviation) in zip(shares, hopes, strict=False):
        if mean - SURE * deviation < least:
            break
        found = share
    return found
