"""Privacy loss of independent rounds: what several of them guarantee together.

A round is known by its profile, an upper bound of delta at every epsilon for each pair of
neighbours in either order. As a function of alpha = e^epsilon the exact delta is convex, falls, and
is 1 at alpha = 0. So the largest convex function below the bounds at some points, joined by
straight lines, is still above it [Doroshenko22]. That function is the exact profile of a pair of
discrete distributions whose losses are the logarithms of these points. Such pairs compose by
products [Zhu22], so that losses of independent rounds add:

    delta(epsilon) = P(loss = inf) + E (1 - e^(epsilon - loss))_+

Below epsilon = 0 the bound follows from that above: delta(-e) = 1 - e^-e + e^-e delta(e).

Points are multiples of one step for all rounds, so that a sum of losses is a multiple as well and
nothing is rounded to the grid. The sum is computed by a Fourier transform of the losses under an
exponential tilt that centres it at epsilon: errors of the transform are then small compared with
delta. What the transform leaves out, and what rounding may do, is bounded and added. Proof:
docs/proofs/privacy_loss.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from pramana.guarantees.shuffled_bound import crossing
from pramana.types import FloatArray

UNIT = 2.0**-53
"""Half a unit in the last place of one."""

ROUNDING = 1e-9
"""By how much of itself a delta or an epsilon is raised: more than all logarithms are off."""

REACH = 12.0
"""Standard deviations of the tilted sum on each side of its mean that the transform covers."""

LARGEST_TRANSFORM = 1 << 22


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """The privacy loss of one round: probabilities of multiples of a step, and of infinity.

    Attributes:
        step: The distance of two losses.
        lowest: The smallest loss, in steps.
        chance: The probability of each loss from the smallest one on.
        infinite: The probability of an infinite loss.
    """

    step: float
    lowest: int
    chance: FloatArray
    infinite: float

    @classmethod
    def of_profile(
        cls, profile: Callable[[float], float], *, step: float, points: int, end: float = 0.0
    ) -> LossDistribution:
        """From upper bounds of delta at 0, ``step``, ... up to ``points`` steps, or to ``end``.

        >>> pure = LossDistribution.of_profile(lambda e: max(0, 0.75 - 0.25 * math.exp(e)),
        ...                                    step=math.log(3), points=1)
        >>> pure.chance.round(6).tolist(), round(pure.infinite, 6)   # one answer, 3 to 1
        ([0.25, 0.0, 0.75], 0.0)
        """
        bounds: list[float] = []
        while len(bounds) <= points and (not bounds or bounds[-1] > end):
            bounds.append(min(1.0, profile(step * len(bounds))))
        points = len(bounds) - 1
        epsilons = step * np.arange(points + 1)
        above = np.minimum.accumulate(bounds)
        below = -np.expm1(-epsilons[1:]) + np.exp(-epsilons[1:]) * above[1:]
        deltas = [Fraction(float(d)) for d in (*(below[::-1] * (1 + ROUNDING)), *above)]
        alphas = [Fraction(math.exp(step * place)) for place in range(-points, points + 1)]
        chance = np.zeros(2 * points + 1)
        for place, jump in _slope_jumps(alphas, deltas):
            chance[place] = float(jump * alphas[place])
        return cls(step, -points, chance, float(deltas[-1]))


def _slope_jumps(
    alphas: Sequence[Fraction], deltas: Sequence[Fraction]
) -> list[tuple[int, Fraction]]:
    """Where the largest convex function below (0, 1) and the points bends, and by how much.

    After the last point it is constant. Arithmetic is exact, so that small differences are right.
    """
    corners: list[tuple[int, Fraction, Fraction]] = [(-1, Fraction(0), Fraction(1))]
    slopes: list[Fraction] = []
    for place, (alpha, delta) in enumerate(zip(alphas, deltas, strict=True)):
        slope = (delta - corners[-1][2]) / (alpha - corners[-1][1])
        while slopes and slope <= slopes[-1]:
            corners.pop()
            slopes.pop()
            slope = (delta - corners[-1][2]) / (alpha - corners[-1][1])
        corners.append((place, alpha, delta))
        slopes.append(slope)
    while slopes and slopes[-1] >= 0:
        corners.pop()
        slopes.pop()
    later = [*slopes[1:], Fraction(0)]
    return [
        (place, after - before)
        for (place, _, _), before, after in zip(corners[1:], slopes, later, strict=True)
    ]


def composed_epsilon(rounds: Sequence[tuple[LossDistribution, int]], *, delta: float) -> float:
    """The least epsilon, up to 1 in 10,000, at which all rounds together have at most delta.

    Args:
        rounds: Distributions of one step, and the number of rounds with each of them.
        delta: More than the probability of an infinite loss; infinite where it is not.
    """
    largest = sum(times * one.step * (one.lowest + len(one.chance) - 1) for one, times in rounds)
    if composed_delta(rounds, epsilon=largest) > delta:
        return math.inf
    if composed_delta(rounds, epsilon=0.0) <= delta:
        return 0.0
    variance = _Rounds.of(rounds).moments(0.0)[1]
    guess = variance / 2 + math.sqrt(2 * variance * math.log(1 / min(delta, 0.5)))
    root = crossing(
        lambda epsilon: composed_delta(rounds, epsilon=epsilon),
        delta, 0.0, largest, start=min(guess, largest / 2),
    )  # fmt: skip
    return root * (1 + ROUNDING)


@dataclass(frozen=True, eq=False)
class _Rounds:
    """Independent rounds as arrays: a row for all rounds that are alike, a column for each loss.

    Attributes:
        step: The distance of two losses.
        lowest: The smallest loss of any round, in steps.
        chance: The probability of each loss in each row.
        times: How many rounds are alike.
    """

    step: float
    lowest: int
    chance: FloatArray
    times: FloatArray

    @classmethod
    def of(cls, rounds: Sequence[tuple[LossDistribution, int]]) -> _Rounds:
        lowest = min(one.lowest for one, _ in rounds)
        width = max(one.lowest - lowest + len(one.chance) for one, _ in rounds)
        chance = np.zeros((len(rounds), width))
        for row, (one, _) in zip(chance, rounds, strict=True):
            row[one.lowest - lowest :][: len(one.chance)] = one.chance
        times = np.array([times for _, times in rounds], dtype=np.float64)
        return cls(rounds[0][0].step, lowest, chance, times)

    @cached_property
    def losses(self) -> FloatArray:
        """All losses that some round may have."""
        return self.step * np.arange(self.lowest, self.lowest + self.chance.shape[1])

    @cached_property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """The smallest and the largest loss of positive probability in each row."""
        there = self.chance > 0
        return self.losses[there.argmax(axis=1)], self.losses[::-1][there[:, ::-1].argmax(axis=1)]

    @cached_property
    def largest(self) -> float:
        """The largest sum of losses."""
        return float(self.times @ self.ends[1])

    def tilted(self, tilt: float) -> tuple[FloatArray, FloatArray]:
        """Tilted probabilities, and for each row the logarithm of what they were divided by."""
        most = tilt * self.ends[int(tilt > 0)]
        weight = self.chance * np.exp(np.minimum(tilt * self.losses - most[:, None], 0.0))
        total = weight.sum(axis=1)
        return weight / total[:, None], most + np.log(total)

    def moments(self, tilt: float) -> tuple[float, float]:
        """Mean and variance of the tilted sum."""
        weight, _ = self.tilted(tilt)
        centre = weight @ self.losses
        spread = (weight * (self.losses - centre[:, None]) ** 2).sum(axis=1)
        return float(self.times @ centre), float(self.times @ spread)


def composed_delta(rounds: Sequence[tuple[LossDistribution, int]], *, epsilon: float) -> float:
    """An upper bound of delta at ``epsilon`` for all rounds together.

    >>> coin = LossDistribution(math.log(3), -1, np.array([0.25, 0.0, 0.75]), 0.0)
    >>> round(composed_delta([(coin, 2)], epsilon=math.log(3)), 9)      # 9/16 (1 - 3/9)
    0.375
    """
    infinite = 1.0 - math.prod((1.0 - one.infinite) ** times for one, times in rounds)
    infinite += 4 * UNIT * sum(times for _, times in rounds)
    some = [(one, times) for one, times in rounds if one.chance.any()]
    if not some:
        return min(1.0, infinite)
    finite = _Rounds.of(some)
    if epsilon >= finite.largest:
        return min(1.0, infinite)
    tilt = _tilt(finite, epsilon)
    scale, losses, chances, doubt = _tilted_sum(finite, tilt)
    above = losses > epsilon
    gained = np.exp(-tilt * losses[above]) * -np.expm1(epsilon - losses[above])
    largest = math.exp(min(scale - tilt * epsilon, 700.0))
    value = float(chances[above] @ gained) * math.exp(min(scale, 700.0))
    return min(1.0, infinite + value * (1 + ROUNDING) + doubt * largest)


def _tilt(rounds: _Rounds, epsilon: float) -> float:
    """The tilt under which the mean of the sum is about epsilon, 0 where it is above without."""
    low, high = 0.0, 1.0
    while rounds.moments(high)[0] < epsilon and high < 1e6:
        low, high = high, 2 * high
    for _ in range(20):  # any tilt is allowed
        middle = (low + high) / 2
        low, high = (middle, high) if rounds.moments(middle)[0] < epsilon else (low, middle)
    return low


def _tilted_sum(rounds: _Rounds, tilt: float) -> tuple[float, FloatArray, FloatArray, float]:
    """Logarithm of the scale, losses and probabilities of the tilted sum, and what may be missing.

    The circle of the transform covers ``REACH`` standard deviations on each side. A lower loss that
    is cut off returns as a higher one, which only raises delta. Higher losses are bounded.
    """
    step = rounds.step
    mean, variance = rounds.moments(tilt)
    half = min(REACH * math.sqrt(variance) + 8 * step, rounds.largest + abs(mean) + step)
    size = 1 << max(4, math.ceil(math.log2(2 * half / step + 2)))
    if size > LARGEST_TRANSFORM:
        return 0.0, np.zeros(1), np.zeros(1), 1.0
    first = math.floor(mean / step) - size // 2
    transform = np.ones(size // 2 + 1, dtype=np.complex128)
    weights, log_totals = rounds.tilted(tilt)
    places = np.arange(weights.shape[1]) % size
    for weight, times in zip(weights, rounds.times, strict=True):
        transform *= np.fft.rfft(np.bincount(places, weight, size)) ** times
    scale = float(rounds.times @ log_totals)
    shift = int(rounds.times.sum()) * rounds.lowest
    circle = np.fft.irfft(transform, size)
    chances = np.roll(np.maximum(circle, 0.0), shift - first)
    losses: FloatArray = step * np.arange(first, first + size, dtype=np.float64)
    # A transform has an error of a few roundings for each of log2(size) stages, by the root of the
    # sum of squares; factors are at most 1, so that errors of a product add; and a sum of sizes
    # is at most sqrt(size) times that root.
    terms = 1 + int(rounds.times.sum())
    error = 16 * UNIT * (math.log2(size) + 2) * math.sqrt(size) * terms
    return scale, losses, chances, error + _beyond(rounds, tilt, float(losses[-1]) + step)


def _beyond(rounds: _Rounds, tilt: float, end: float) -> float:
    """At most the probability that the tilted sum reaches ``end``: the least of some bounds."""
    if end > rounds.largest:
        return 0.0
    mean, variance = rounds.moments(tilt)
    whole = float(rounds.times @ rounds.tilted(tilt)[1])
    best = 1.0
    for slope in (end - mean) / max(variance, 1e-300) * np.array([0.5, 0.75, 1.0, 1.5]):
        log_moment = float(rounds.times @ rounds.tilted(tilt + slope)[1]) - whole
        best = min(best, math.exp(min(0.0, log_moment - slope * end)))
    return best * (1 + ROUNDING)
