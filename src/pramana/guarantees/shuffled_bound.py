"""Central privacy of a shuffled release as a number, never below the exact value.

For n records, a blanket law (A, B) and Z = A - e^epsilon B,

    delta(epsilon) <= (1/n) E (Z_1 + ... + Z_n)_+,      Z_i independent.

Three upper bounds of the right side, of which the least counts:

- *alone*: E Z_+, what one record promises without any shuffle;
- *tail*: (E e^(lambda Z))^n / (n e lambda) for any lambda, since s_+ <= e^(lambda s) / (e lambda);
- *sharp*: add to the sum S an independent normal variable of mean 0 and a hundredth of its standard
  deviation. That raises E S_+ (Jensen) by next to nothing, and makes the transform fall like a
  normal one, so that about two thousand points of the line lambda + it suffice in

      E S_+ = (1 / 2 pi) integral of E e^((lambda + it) S) / (lambda + it)^2 dt,

  whatever n is. A sum over equally spaced points in place of the integral adds copies of E S_+ that
  are shifted by a period, all of them positive: again too much, never too little.

What is cut off and what rounding may do is bounded term by term and added.
Proofs: docs/proofs/shuffled_bound.md.

The blanket law of a channel is all that central privacy of a shuffled release depends on. Write
P[x, y] for the probability of releasing y if the original value is x, and

    omega(y) = min over x of P[x, y]

for the blanket: every person is released as y with at least this probability. For two original
values x0 and x1 the law is that of the pair

    (A, B) = (P[x0, y], P[x1, y]) / omega(y)    with probability omega(y), for every y,

and (0, 0) with the probability that is left. Both have the mean 1. A law that is larger in convex
order gives a bound that is larger, and so is safe. Proofs: docs/proofs/shuffled_channels.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from pramana.base.rounding import TOTAL
from pramana.types import FloatArray, IntArray

ROUNDING = 2.0**-51
"""The relative error of a number that was rounded once or twice."""

MOST_ATOMS = 200_000
"""Above this, atoms of a product are moved to the corners of a grid."""

MANY_STEPS = 24
"""With more steps the number of atoms falls, so that no more work is done for all of them."""

GRID = 0.02
"""The width of a cell of that grid, in logarithms of A and of B."""


@dataclass(frozen=True, eq=False)
class BlanketLaw:
    """The pairs (A, B) of two truths and their probabilities; the rest of one is at (0, 0).

    Attributes:
        first: the values A, of the person's original value.
        second: the values B, of another possible original value.
        chance: the probability of each pair.
        error: the largest relative error of all these numbers.

    >>> coin = BlanketLaw.of_mixture(2, Fraction(3))
    >>> coin.first, coin.second, coin.chance
    (array([3., 1.]), array([1., 3.]), array([0.25, 0.25]))
    """

    first: FloatArray
    second: FloatArray
    chance: FloatArray
    error: float = ROUNDING

    def __eq__(self, other: object) -> bool:
        """Whether every number is the same, to the last bit."""
        return isinstance(other, BlanketLaw) and self._mark == other._mark

    def __hash__(self) -> int:
        return hash(self._mark)

    @cached_property
    def _mark(self) -> bytes:
        digest = hashlib.sha256(repr((len(self.first), self.error)).encode())
        for numbers in (self.first, self.second, self.chance):
            digest.update(numbers.tobytes())
        return digest.digest()

    @classmethod
    def of_atoms(cls, atoms: Iterable[tuple[Fraction, Fraction, Fraction]]) -> BlanketLaw:
        """From exact triples (A, B, probability); what never happens is left out."""
        columns = [[float(part) for part in atom] for atom in atoms if atom[2] > 0]
        first, second, chance = np.array(columns, dtype=np.float64).reshape(-1, 3).T
        return cls(first, second, chance)

    @classmethod
    def of_mixture(cls, size: int, ratio: Fraction) -> BlanketLaw:
        """Of a uniform mixture over ``size`` values with the given diagonal over off-diagonal."""
        rare, one = 1 / (ratio + size - 1), Fraction(1)
        if size == 1 or ratio == 1:
            return cls.of_atoms([(one, one, one)])
        return cls.of_atoms([(ratio, one, rare), (one, ratio, rare), (one, one, (size - 2) * rare)])

    @classmethod
    def of_any_channel(cls, ratio: Fraction) -> BlanketLaw:
        """Above that of every channel whose columns hold no larger ratio, for every pair."""
        return cls.of_mixture(2, ratio)

    @classmethod
    def of_rows(
        cls, first: Sequence[int], second: Sequence[int], blanket: Sequence[int]
    ) -> BlanketLaw:
        """Of two rows of integers over 2**64 and the least entries of their columns.

        A value that is never released has no part in it. Any other zero in the blanket means that
        a released value can rule a truth out: there is no such law then, and whoever calls has
        looked.
        """
        return cls.of_atoms(
            (Fraction(a, least), Fraction(b, least), Fraction(least, TOTAL))
            for a, b, least in zip(first, second, blanket, strict=True)
            if least
        )

    @classmethod
    def of_parts(cls, parts: Iterable[tuple[float, BlanketLaw]]) -> BlanketLaw:
        """Of a channel that is drawn by a public coin which is released: each with its chance."""
        shares, laws = zip(*parts, strict=True)
        return cls(
            np.concatenate([law.first for law in laws]),
            np.concatenate([law.second for law in laws]),
            np.concatenate([share * law.chance for share, law in zip(shares, laws, strict=True)]),
            max(law.error for law in laws) + ROUNDING,
        )

    @classmethod
    def of_steps(cls, laws: Iterable[BlanketLaw]) -> BlanketLaw:
        """Of independent steps: pairs multiply."""
        whole, steps = cls(np.ones(1), np.ones(1), np.ones(1), 0.0), list(laws)
        most = MOST_ATOMS * MANY_STEPS // max(MANY_STEPS, len(steps))
        for law in steps:
            whole = whole._times(law, most=most)
        return whole

    def _times(self, law: BlanketLaw, *, most: int = MOST_ATOMS) -> BlanketLaw:
        first = np.outer(self.first, law.first).ravel()
        second = np.outer(self.second, law.second).ravel()
        chance = np.outer(self.chance, law.chance).ravel()
        error = self.error + law.error + ROUNDING
        # Pairs that are the same are merged: their probabilities add.
        both = first + 1j * second
        pairs, where, counts = np.unique(both, return_inverse=True, return_counts=True)
        first, second, times = pairs.real, pairs.imag, int(counts.max())
        chance = np.bincount(where, weights=chance).astype(np.float64)
        if len(chance) > most:
            first, second, chance, met = _spread_on_grid(first, second, chance)
            times += met + 16
        return BlanketLaw(first, second, chance, error + times * ROUNDING)

    @property
    def ratio(self) -> float:
        """The largest A / B, rounded up: beyond its logarithm nothing is left to promise."""
        return float((self.first / self.second).max()) * (1 + 4 * self.error)

    @property
    def local_epsilon(self) -> float:
        """The epsilon of these two truths without any shuffle, rounded up."""
        return math.nextafter(math.log(self.ratio) * (1 + ROUNDING), math.inf)


Atoms = tuple[FloatArray, FloatArray, FloatArray, int]
"""Values A, values B, probabilities, and the most probabilities that were added up in one."""


def _spread_on_grid(first: FloatArray, second: FloatArray, chance: FloatArray) -> Atoms:
    """Each pair moved to the four corners of its cell so that both means stay.

    That is larger in the convex order of the plane, and so on the safe side. Rounding a share is
    as good as moving the pair by a few units of its last digit before sharing it out exactly.
    """
    rows, row_share, row_values = _between(first)
    columns, column_share, column_values = _between(second)
    width = len(column_values)
    below = rows * width + columns
    corners = np.concatenate([below, below + 1, below + width, below + width + 1])
    row_shares, column_shares = (1 - row_share, row_share), (1 - column_share, column_share)
    moved = np.concatenate(
        [chance * down * right for down in row_shares for right in column_shares]
    )
    sums: FloatArray = np.bincount(corners, moved, len(row_values) * width).astype(np.float64)
    there = np.flatnonzero(sums)
    most = int(np.bincount(corners).max())
    return row_values[there // width], column_values[there % width], sums[there], most


def _between(values: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """The grid point below each value, the share that goes to the one above, and the grid."""
    cells = 1 + math.ceil(math.log(max(float(values.max()), 1.0)) / GRID)
    grid = np.exp(GRID * np.arange(cells + 1))
    below = np.clip(np.searchsorted(grid, values, side="right") - 1, 0, cells - 1)
    share = (values - grid[below]) / (grid[below + 1] - grid[below])
    return below, share, grid


UNIT = 2.0**-53
"""Half a unit in the last place of one."""

FUNCTION = 16 * UNIT
"""More than exp, expm1, log1p, sin, cos, arctan2 and the products around them may be off."""

SMOOTHING = 0.01
"""The standard deviation of what is added to the sum, as a share of its standard deviation."""

REACH = 6.5
"""Where the transform is cut off, in units of that standard deviation: e^(-6.5^2 / 2) < 1e-9."""

VANISHING = 1e-4
"""A transform below this is left out of the sum, and what it could be is added as an error."""

MOST_STEPS = 150
"""Above this, the values of Z are moved to the points of a grid."""

MOST_POINTS = 10_000
"""At this many points of the line more noise is added rather than more points."""

MOST_KEPT, MOST_KEPT_ATOMS = 64, 10_000
"""This many numbers, of no larger laws: a design, its release and its report ask for the same."""

FEW = 0.005
"""With fewer expected steps upwards in the anonymity set, nobody hides: one record counts alone."""

MARGIN = 1e-9
"""By how much of itself a delta must be missed: sines of other processors differ by far less."""

BLOCK = 1 << 20
"""How many values of a transform are computed at once."""


# -- the bounds -----------------------------------------------------------------------------


def delta_of(law: BlanketLaw, *, anonymity_set: int, epsilon: float, enough: float = 0.0) -> float:
    """An upper bound of delta at ``epsilon`` for ``anonymity_set`` shuffled records.

    Args:
        law: of the pair of truths in question.
        anonymity_set: the number of records that are shuffled together.
        epsilon: at which epsilon.
        enough: a coarser bound will do as soon as it is at or below this.

    >>> from fractions import Fraction
    >>> coin = BlanketLaw.of_mixture(2, Fraction(3))
    >>> round(delta_of(coin, anonymity_set=1, epsilon=0.0), 12)     # 3/4 - 1/4
    0.5
    """
    steps = _Steps.of(law, epsilon)
    if steps is None:
        return 0.0
    alone = steps.alone()
    if anonymity_set == 1 or alone <= enough:
        return alone
    slope = steps.slope(anonymity_set)
    least = min(alone, steps.tail(anonymity_set, slope))
    if least <= enough or anonymity_set * steps.rising < FEW:
        return least
    return min(least, steps.sharp(anonymity_set, slope, enough=enough))


def holds(law: BlanketLaw, *, anonymity_set: int, epsilon: float, delta: float) -> bool:
    """Whether delta is small enough at epsilon, by so much that other machines say the same."""
    enough = delta * (1 - MARGIN)
    return delta_of(law, anonymity_set=anonymity_set, epsilon=epsilon, enough=enough) <= enough


def epsilon_of(
    laws: Sequence[BlanketLaw], *, anonymity_set: int, delta: float, most: float = math.inf
) -> float:
    """An epsilon at which delta holds for every one of the laws; the least up to 1 in 10,000.

    The laws are tried in the order of their spread; most of them only confirm the worst. If it
    holds at ``most`` for a law, what is found for it is at or below that.
    """
    small = sum(law.first.size for law in laws) <= MOST_KEPT_ATOMS
    return (_epsilon_of if small else _epsilon_of.__wrapped__)(
        tuple(laws), anonymity_set, delta, most
    )


@lru_cache(MOST_KEPT)
def _epsilon_of(
    laws: tuple[BlanketLaw, ...], anonymity_set: int, delta: float, most: float
) -> float:
    epsilon = 0.0
    for law in sorted(laws, key=_spread_of, reverse=True):
        if not holds(law, anonymity_set=anonymity_set, epsilon=epsilon, delta=delta):
            within = epsilon < most < math.inf and holds(
                law, anonymity_set=anonymity_set, epsilon=most, delta=delta
            )
            high = most if within else max(law.local_epsilon, epsilon)
            epsilon = _least_epsilon(law, anonymity_set, delta * (1 - MARGIN), epsilon, high)
    return epsilon


def _least_epsilon(
    law: BlanketLaw, anonymity_set: int, delta: float, low: float, high: float
) -> float:
    """Between ``low``, where delta is too large, and ``high``, where it is not.

    The coarse bounds first, which cost next to nothing, then the sharp one at what they found.
    """
    near = crossing(lambda at: _coarse(law, anonymity_set, at), delta, low, high, start=high / 2)
    if anonymity_set == 1:
        return near
    return crossing(
        lambda at: delta_of(law, anonymity_set=anonymity_set, epsilon=at),
        delta,
        low,
        near,
        start=0.95 * near,
    )


def _coarse(law: BlanketLaw, anonymity_set: int, epsilon: float) -> float:
    """The bounds that need no transform."""
    steps = _Steps.of(law, epsilon)
    if steps is None:
        return 0.0
    return min(steps.alone(), steps.tail(anonymity_set, steps.slope(anonymity_set)))


def crossing(
    falling: Callable[[float], float], level: float, low: float, high: float, *, start: float
) -> float:
    """Where a falling function comes down to a level, from the side where it is there.

    It is below at ``high`` and above at ``low``. The root of its negative logarithm is nearly a
    straight line, so that chords find the place; a chord that moves one end only is bent.
    """
    target = math.sqrt(-math.log(min(level, 0.9)))
    ends = {low: -target, high: math.inf}
    for turn in range(100):
        if high - low <= 1e-4 * high:
            break
        share = ends[low] / (ends[low] - ends[high]) if turn else 1.0
        middle = start if turn == 0 else low + (high - low) * share
        if not low + 1e-3 * (high - low) < middle < high - 1e-3 * (high - low) or turn % 4 == 3:
            middle = (low + high) / 2
        size = falling(middle)
        height = math.sqrt(max(-math.log(max(size, 1e-300)), 0.0)) - target
        if size <= level:
            high, ends = middle, {low: ends[low] / 2, middle: max(height, 0.0)}
        else:
            low, ends = middle, {middle: min(height, 0.0), high: ends[high] / 2}
    return high


def _spread_of(law: BlanketLaw) -> float:
    """The variance of A - B: which law is the widest, as a guess."""
    return float(law.chance @ (law.first - law.second) ** 2)


# -- the steps of the sum --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Steps:
    """Values of Z that are not 0, with their chances; at or above the true ones, step by step."""

    value: FloatArray
    chance: FloatArray

    @classmethod
    def of(cls, law: BlanketLaw, epsilon: float) -> _Steps | None:
        """Z = A - e^epsilon B, rounded up; ``None`` where no value is above 0.

        A step upwards is made a little likelier, one downwards a little rarer, and the latter by
        so much more that the chances sum to no more than they did: each change only raises Z.
        """
        factor = math.expm1(epsilon) * (1 - FUNCTION)
        size = law.first + (1 + factor) * law.second
        value = (law.first - law.second) - factor * law.second + (law.error + FUNCTION) * size
        if not (value > 0).any():
            return None
        change = 2 * (law.error + FUNCTION)
        chance = law.chance.copy()
        if len(value) > MOST_STEPS:
            change += 2 * len(value) * UNIT
            value, chance = _on_grid(value, chance)
        up = value > 0
        rising, falling = chance[up].sum(), chance[~up].sum()
        chance[up] *= 1 + change
        chance[~up] *= max(0.0, 1 - 2 * change * (1 + rising / max(falling, 1e-300)))
        return cls(value, chance)

    @property
    def rising(self) -> float:
        """The chance of a step upwards."""
        return float(self.chance[self.value > 0].sum())

    def alone(self) -> float:
        """E Z_+, rounded up."""
        rounding = 1 + (len(self.value) + 4) * UNIT
        return float(self.chance @ np.maximum(self.value, 0)) * rounding

    # -- the tail bound ------------------------------------------------------------------------

    def slope(self, anonymity_set: int) -> float:
        """Nearly the lambda at which (E e^(lambda Z))^n / lambda^2 is least; any is allowed."""
        variance = float(self.chance @ self.value**2)
        drift = -float(self.chance @ self.value)
        root = math.sqrt(drift**2 + 8 * variance / anonymity_set)
        # Two forms of one number: a difference of nearly equal numbers would come out as 0, which
        # no doubling raises.
        guess = (
            (drift + root) / (2 * variance) if drift > 0 else 4 / (anonymity_set * (root - drift))
        )
        guess = max(guess, 1e-300)
        most = 500 / float(self.value.max())
        low = high = min(guess, most)
        while low > 1e-300 and self._climb(low, anonymity_set) > 0:
            low /= 2
        while high < most and self._climb(high, anonymity_set) < 0:
            high = min(2 * high, most)
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (middle, high) if self._climb(middle, anonymity_set) < 0 else (low, middle)
        return (low + high) / 2

    def _climb(self, slope: float, anonymity_set: int) -> float:
        """The sign of the derivative of n ln E e^(lambda Z) - 2 ln lambda."""
        x = slope * self.value
        total = 1 + float(self.chance @ np.expm1(x))
        return anonymity_set * slope * float((self.chance * np.exp(x)) @ self.value) - 2 * total

    def tail(self, anonymity_set: int, slope: float) -> float:
        """(E e^(lambda Z))^n / (n e lambda), rounded up."""
        return _exp_up(self._log_moment(anonymity_set, slope) - 1 - math.log(anonymity_set * slope))

    def _log_moment(self, anonymity_set: int, slope: float) -> float:
        """N ln E e^(lambda Z), rounded up.

        A sum of c products has an error of at most c + 1 roundings of the sum of their sizes.
        """
        raised = np.expm1(slope * self.value)
        excess = float(self.chance @ raised) + self._doubt(slope, 0.0)
        return anonymity_set * math.log1p(excess) * (1 + math.copysign(FUNCTION, excess))

    def _doubt(self, slope: float, frequency: float | FloatArray) -> float | FloatArray:
        """How far E e^((lambda + it) Z) - 1 may be from what is computed.

        The sizes that are added up are |e^(x + iy) - 1| <= |e^x - 1| + e^x |y| with x = lambda Z
        and y = t Z; a rounding of x moves e^x by |x| e^x such roundings, one of y by |y| e^x.
        """
        x = slope * self.value
        lifted = np.exp(x)
        still = float(self.chance @ (np.abs(np.expm1(x)) + np.abs(x) * lifted))
        turning = float((self.chance * lifted) @ np.abs(self.value))
        return (FUNCTION + (len(x) + 1) * UNIT) * (still + 2 * turning * frequency)

    # -- the sharp bound -----------------------------------------------------------------------

    def sharp(self, anonymity_set: int, slope: float, *, enough: float) -> float:
        """The sum over the line; the period grows until copies no longer count."""
        moment = 1 + float(self.chance @ np.expm1(slope * self.value))
        weight = self.chance * np.exp(slope * self.value) / moment
        mean = float(weight @ self.value)
        width = math.sqrt(anonymity_set * max(float(weight @ self.value**2) - mean**2, 1e-300))
        period = 9 * width + 12 / slope + 2 * float(self.value.max())
        best = self._on_line(anonymity_set, slope, SMOOTHING * width, period)
        for _ in range(4):
            if best <= enough:
                break
            period *= 1.5
            wider = self._on_line(anonymity_set, slope, SMOOTHING * width, period)
            done, best = wider > best * (1 - 1e-4), min(best, wider)
            if done:
                break
        return best

    def _on_line(self, anonymity_set: int, slope: float, noise: float, period: float) -> float:
        """The sum over the line at multiples of 2 pi / period, with everything that is left out."""
        spacing = 2 * math.pi / period
        noise = max(noise, REACH / (spacing * MOST_POINTS))
        count = math.ceil(REACH / (noise * spacing))
        total = doubt = 0.0
        block = max(1, BLOCK // len(self.value))
        for start in range(0, count + 1, block):
            points = spacing * np.arange(start, min(start + block, count + 1), dtype=np.float64)
            sizes, parts, doubts = self._terms(anonymity_set, slope, noise, points)
            twice = np.where(points > 0, 2.0, 1.0)  # the other half of the line is conjugate
            total += float(twice @ parts)
            doubt += float(twice @ (doubts + sizes * (count + 64) * UNIT))
        end = spacing * count
        rest = math.exp(-((end * noise) ** 2) / 2) / (end**3 * noise**2)
        value = ((total + doubt) * spacing / 2 + rest) / math.pi
        if not 0 < value < math.inf:
            return math.inf
        scale = self._log_moment(anonymity_set, slope) + (slope * noise) ** 2 / 2
        return _exp_up(scale + math.log(value) - math.log(anonymity_set))

    def _terms(
        self, anonymity_set: int, slope: float, noise: float, points: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sizes, real parts and possible errors of the terms, over what the one at 0 would be.

        With w = E e^((lambda + it) Z) - 1 the n-th power is taken of (1 + w) / (1 + w at t = 0).
        An error of w turns into n times itself over |1 + w|, in size and in angle alike; the error
        of the logarithm is one of |w| (1 + |w|) / |1 + w|^2 at most.
        """
        real, imaginary = self._transform(slope, points)
        at_zero = float(self.chance @ np.expm1(slope * self.value))
        square = (1 + real) ** 2 + imaginary**2
        seen = square > VANISHING**2
        safe = np.where(seen, np.minimum(square, 1.0), 1.0)
        log_size = np.where(
            seen, np.log1p(np.maximum(2 * real + real**2 + imaginary**2, -0.5)), 0.0
        )
        small = seen & (square < 0.5)
        log_size[small] = np.log(safe[small])
        angle = anonymity_set * np.arctan2(imaginary, 1 + real) + slope * points * noise**2
        fall = -((points * noise) ** 2) / 2
        kernel_size = 1 / (slope**2 + points**2)  # of 1 / (slope + i t)^2
        size = kernel_size * np.exp(
            np.minimum(anonymity_set * (log_size / 2 - math.log1p(at_zero)) + fall, 0.0)
        )
        parts = size * np.cos(angle - 2 * np.arctan2(points, slope))
        bounds = self._doubt(slope, points) + self._doubt(slope, 0.0)
        spread = 1 + np.abs(real) + np.abs(imaginary)  # at least 1 + |w|
        error = 8 * anonymity_set * bounds * spread / safe + 64 * UNIT * (1 - fall)
        hidden = kernel_size * np.exp(fall) * (2 * VANISHING / (1 + at_zero)) ** anonymity_set
        return (
            np.where(seen, size, 0.0),
            np.where(seen, parts, 0.0),
            np.where(seen, size * np.expm1(np.minimum(error, 500.0)), hidden),
        )

    def _transform(self, slope: float, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Real and imaginary part of E e^((lambda + it) Z) - 1, without cancellation near t = 0.

        Points are equally spaced, so that half of each angle is one of a few far apart plus one of
        a few near 0: y = 2 (f + g). By the addition theorems sin y and 2 sin^2 (y / 2) are sums of
        products of a function of f and one of g, that is products of small matrices. The sizes of
        these products sum to at most |y|, as f and g are of one sign, so that nothing cancels that
        ``_doubt`` has not counted.
        """
        weight = self.chance * np.exp(slope * self.value)
        count = len(points)
        side = math.isqrt(count - 1) + 1
        far, near = (
            np.multiply.outer(steps / 2, self.value)
            for steps in (points[::side], points[:side] - points[0])
        )
        (s, c), (t, d) = ((np.sin(half), np.cos(half)) for half in (far, near))
        sines, others = 2 * weight * s * c, (t * d).T
        imaginary = sines @ (d * d - t * t).T + (2 * weight * (c * c - s * s)) @ others
        lost = (weight * s * s) @ (d * d).T + sines @ others + (weight * c * c) @ (t * t).T
        still = float(self.chance @ np.expm1(slope * self.value))
        return still - 2 * lost.ravel()[:count], imaginary.ravel()[:count]


def _on_grid(value: FloatArray, chance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values moved to the two grid points around them so that the mean stays: too wide, if at all.

    Points are a fiftieth of the spread apart around 0, and 6 % further out.
    """
    spread = math.sqrt(float(chance @ value**2))
    most = float(np.abs(value).max()) * (1 + 1e-9)
    inner = np.linspace(0, 0.3, 16) * spread
    count = 1 + max(0, math.ceil(math.log(most / (0.3 * spread)) / math.log(1.06)))
    outer = 0.3 * spread * 1.06 ** np.arange(1, 1 + count)
    half = np.concatenate([inner, outer[outer < most], [max(most, inner[-1] * 1.01)]])
    grid = np.concatenate([-half[:0:-1], half])
    below = np.clip(np.searchsorted(grid, value, side="right") - 1, 0, len(grid) - 2)
    share = (value - grid[below]) / (grid[below + 1] - grid[below])
    moved = np.bincount(below, weights=chance * (1 - share), minlength=len(grid))
    moved += np.bincount(below + 1, weights=chance * share, minlength=len(grid))
    there = (moved > 0) & (grid != 0)
    return grid[there], moved[there]


def _exp_up(exponent: float) -> float:
    """E to a power that is rounded up already, rounded up and never 0; at most 1."""
    if exponent > 0:
        return 1.0
    raised = math.exp(exponent) * (1 + FUNCTION * (1 - exponent))
    return max(raised, 5e-324)
