"""Conservative rounding, probabilities as integers, and checks of numbers.

A probability is an integer over ``TOTAL = 2**64``, which the sampler compares with a 64-bit word.
Guarantees are ratios of such integers. They are exact as fractions and are rounded once, at the
end, towards the weaker statement: an epsilon up, a k down.

>>> float_up(Fraction(1, 3)) > Fraction(1, 3) > float_down(Fraction(1, 3))
True
>>> log_up(Fraction(1))
0.0
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields
from fractions import Fraction
from typing import Any

from pramana.errors import InvalidNumber

TOTAL = 2**64
"""The integer that represents probability one."""


def float_up(exact: Fraction | float) -> float:
    """The smallest float at or above ``exact``."""
    if isinstance(exact, float):
        return exact
    if exact > Fraction(math.nextafter(math.inf, 0)):
        return math.inf
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


def float_down(exact: Fraction | float) -> float:
    """The largest float at or below ``exact``."""
    return -float_up(-exact)


def log_up(exact: Fraction | float) -> float:
    """A float at or above the natural logarithm of ``exact``, by at most a few units."""
    if exact == math.inf:
        return math.inf
    ratio = Fraction(exact)
    if ratio == 1:
        return 0.0
    # The logarithm of a correctly rounded libm is within one unit; two steps are outside it.
    # Near one, log1p of the exact difference keeps the digits that log would lose.
    near = math.log1p(float_up(ratio - 1)) if 0 < ratio < 2 else math.log(float_up(ratio))
    return math.nextafter(math.nextafter(near, math.inf), math.inf)


def log_of(exact: Fraction | float) -> float:
    """The natural logarithm, rounded to nearest; also of fractions beyond the range of floats."""
    if exact == math.inf:
        return math.inf
    ratio = Fraction(exact)
    if 0.5 < ratio < 2:
        return math.log1p(float(ratio - 1))
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def exp_down(exponent: float) -> Fraction:
    """A number at or below exp(``exponent``), by at most a few units."""
    if exponent > 700:  # beyond the floats: exp(700) > 2**1009 is below, and safe
        return Fraction(math.exp(700))
    near = math.expm1(exponent)
    return 1 + Fraction(math.nextafter(math.nextafter(near, -math.inf), -math.inf))


def coarse_up(number: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, 50, ... and of their tenths that is not below a number.

    A statistic of the original data is published on this grid: many tables share each value.

    >>> coarse_up(0.0781), coarse_up(3.0), coarse_up(0.0)
    (0.1, 5.0, 0.0)
    """
    if not 0 < number < math.inf:
        return number
    power = math.floor(math.log10(number)) - 1  # one below, should the logarithm be off
    steps = (float(f"{step}e{power + more}") for more in range(4) for step in (1, 2, 5))
    return next(step for step in steps if step >= number)


SHARES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Published shares of the original records: less than four bits about the original data, which the
change of one record moves only at a step."""


def share_up(share: float) -> float:
    """The smallest published share that is not below ``share``.

    >>> share_up(0.631), share_up(0.0), share_up(0.002)
    (0.7, 0.0, 0.01)
    """
    return min(step for step in SHARES if step >= share)


def share_bound(share: float, counted: int) -> float:
    """A published upper bound on an average share, from its count among this many records."""
    return share_up(min(1.0, share + six_sigma(share, counted)))


def six_sigma(share: float, counted: int) -> float:
    """How far a share of this many records may be from its average: six standard deviations.

    Records that exchange their keys are copied together or not at all, so that a count may vary
    as much as one of rare events does.
    """
    return 6 * math.sqrt(share / counted) + 36 / counted if counted else 1.0


def require_number(
    name: str,
    value: float,
    *,
    low: float,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
) -> None:
    """Refuse a parameter that is out of its range, or is not a number."""
    try:
        above = value > low if low_open else value >= low
        below = value < high if high_open else value <= high
        good = bool(above and below)  # a nan fails both
        good = good and not (value == low == 0 and math.copysign(1, value) < 0)
    except TypeError:
        good = False
    if good and not isinstance(value, bool | str):
        return
    opening, closing = "(" if low_open else "[", ")" if high_open or high == math.inf else "]"
    raise InvalidNumber(
        "{name} must be a number in {range}, got {value!r}.",
        name=name,
        range=f"{opening}{low:g}, {high:g}{closing}",
        value=value,
    )


def as_whole(value: Any) -> Any:
    """A whole floating number as an integer, anything else as it is.

    >>> as_whole(2.0), as_whole(2.5), as_whole("2")
    (2, 2.5, '2')
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value


def in_numbers_of_python(guarantee: Any) -> None:
    """Replace NumPy numbers in a dataclass by Python numbers, which do not overflow."""
    for field in fields(guarantee):
        value = getattr(guarantee, field.name)
        if hasattr(value, "dtype") and not getattr(value, "shape", ()):
            object.__setattr__(guarantee, field.name, value.item())


def require_choice(name: str, value: object, choices: Iterable[object]) -> None:
    """Refuse a word that is none of those offered."""
    offered = list(choices)
    if value not in offered:
        raise InvalidNumber(
            "{name} must be one of {known}, got {value!r}.",
            name=name,
            known=", ".join(map(str, offered)),
            value=value,
        )


LARGEST_LOG_GAMMA = 30.0
"""The largest ln gamma that is tried: not even 10**12 records hide one that is kept so surely."""

LEAST_LOG_GAMMA = 2.0**-40
"""The smallest ln gamma that is tried: such a record reveals nothing."""


def largest_parameter(
    holds: Callable[[float], bool], *, low: float, high: float, tolerance: float = 1e-4
) -> float:
    """The largest parameter at which a monotone condition holds; ``low`` if there is none.

    The result was tried, unless it is ``low``.

    >>> 1.99 < largest_parameter(lambda value: value <= 2, low=0, high=10, tolerance=1e-3) <= 2
    True
    """
    if holds(high):
        return high
    while high - low > tolerance * high and high > LEAST_LOG_GAMMA:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def root_between(
    function: Callable[[float], float],
    low: float,
    high: float,
    *,
    nearness: float = 2e-12,
    relative: float = 4 * sys.float_info.epsilon,
) -> float:
    """Where a function of opposite signs at the ends is zero, by Brent's method [Brent73].

    Step by step as ``scipy.optimize.brentq`` finds it, which takes half a second to load. The root
    lies within ``nearness`` plus ``relative`` times its size.

    >>> round(root_between(lambda x: x**3 - 2, 0, 2), 12)
    1.259921049895
    """
    before, at, across = low, high, 0.0
    value_before, value, value_across = function(low), function(high), 0.0
    if value_before == 0:
        return low
    step_before = step = 0.0
    for _ in range(100):
        if value_before != 0 and value != 0 and (value_before < 0) != (value < 0):
            across, value_across = before, value_before
            step_before = step = at - before
        if abs(value_across) < abs(value):
            before, at, across = at, across, at
            value_before, value, value_across = value, value_across, value
        close = (nearness + relative * abs(at)) / 2
        half = (across - at) / 2
        if value == 0 or abs(half) < close:
            break
        if abs(step_before) > close and abs(value) < abs(value_before):
            if before == across:  # interpolate
                tried = -value * (at - before) / (value - value_before)
            else:  # extrapolate
                first = (value_before - value) / (before - at)
                second = (value_across - value) / (across - at)
                rise = value_across * second - value_before * first
                tried = -value * rise / (second * first * (value_across - value_before))
            if 2 * abs(tried) < min(abs(step_before), 3 * abs(half) - close):
                step_before, step = step, tried
            else:
                step_before = step = half
        else:
            step_before = step = half
        before, value_before = at, value
        at += step if abs(step) > close else math.copysign(close, half)
        value = function(at)
    return at


def chi_square_tail(statistic: float, degrees: int) -> float:
    """The probability that a chi-square variable of whole degrees exceeds a statistic.

    A finite sum, two degrees at a time: Q(d + 2) = Q(d) + h**(d / 2) exp(-h) / Gamma(d / 2 + 1)
    with h half the statistic, from Q(1) = erfc(sqrt(h)) or Q(2) = exp(-h).

    >>> [round(chi_square_tail(x, d), 6) for x, d in ((3.841459, 1), (18.307038, 10), (0, 5))]
    [0.05, 0.05, 1.0]
    """
    half = max(statistic, 0.0) / 2
    if not half or degrees < 1:
        return 1.0
    first = math.erfc(math.sqrt(half)) if degrees % 2 else math.exp(-half)
    powers = (twice / 2 for twice in range(2 - degrees % 2, degrees, 2))
    rest = (math.exp(p * math.log(half) - half - math.lgamma(p + 1)) for p in powers)
    return min(1.0, first + math.fsum(rest))
