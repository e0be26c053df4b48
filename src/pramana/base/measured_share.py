"""The success rate of an attack: its interval, a baseline, and the guaranteed bound.

An attack is a series of trials, each right or wrong. Its rate has a Wilson interval. A guaranteed
bound counts as broken only where the exact binomial tail of Clopper and Pearson is below 1e-4.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from pramana.base.rounding import require_number
from pramana.base.text import percent_down, percent_up
from pramana.base.translation import gettext, numeral
from pramana.errors import DoesNotHold, InvalidNumber
from pramana.types import Form

ERROR_LEVEL = 1e-4
"""How often a sound release is said to break its guarantee, for each attack."""

FEWEST_TRIALS = 10
"""With fewer trials an interval covers nearly everything."""


@dataclass(frozen=True)
class Measured:
    """How often an attack was right.

    >>> link = Measured.of("nearest record", hits=12, trials=1000, baseline=0.001, bound=0.05)
    >>> link.value, link.broken
    (0.012, False)

    Attributes:
        name: the attack.
        value: the share of right answers.
        low: lower end of its interval.
        high: upper end of its interval.
        trials: the number of people attacked.
        level: the level of the interval.
        baseline: what guessing without the release would give.
        control: the same attack on people who are not in the release.
        bound: what the certificate guarantees, if anything.
        guaranteed_by: the guarantee that states it.
        note: what was measured, in words.
    """

    name: str
    value: float
    low: float
    high: float
    trials: int
    level: float = 0.95
    baseline: float | None = None
    control: float | None = None
    bound: float | None = None
    guaranteed_by: str | None = None
    note: str = ""

    @classmethod
    def of(
        cls, name: str, *, hits: int, trials: int, level: float = 0.95, **about: Any
    ) -> Measured:
        """From the number of right answers; ``about`` are the remaining attributes."""
        if trials < FEWEST_TRIALS:
            raise InvalidNumber(
                "An interval for '{name}' needs at least {least} records to attack, got {trials}. "
                "Use a larger table.",
                name=name,
                least=FEWEST_TRIALS,
                trials=trials,
            )
        low, high = wilson(hits, trials, level=level)
        return cls(name, hits / trials, low, high, trials, level, **about)

    @property
    def hits(self) -> int:
        """The number of right answers."""
        return round(self.value * self.trials)

    @property
    def broken(self) -> bool:
        """Whether the promised bound is exceeded beyond the error level."""
        if self.bound is None:
            return False
        return clopper_pearson(self.hits, self.trials, level=1 - 2 * ERROR_LEVEL)[0] > self.bound

    def require_bound(self) -> None:
        """Raise if the bound is broken."""
        if self.broken:
            raise DoesNotHold(
                "The attack '{name}' was right for {share} of {trials:,} records, and {guarantee} "
                "promises at most {bound}: a valid release fails this test once in {times:,.0f}. "
                "Do not publish; verify the release with its original.",
                name=self.name,
                share=numeral(percent_up(self.value)),
                trials=self.trials,
                guarantee=self.guaranteed_by or gettext("the certificate"),
                bound=numeral(percent_up(self.bound or 0.0)),
                times=1 / ERROR_LEVEL,
            )

    def sentence(self) -> str:
        """The rate in words."""
        text = gettext(
            "{name}: right in {share} of {people:,} attempts (between {low} and {high})",
            name=gettext(self.name),
            share=numeral(percent_up(self.value)),
            people=self.trials,
            low=numeral(percent_down(self.low)),
            high=numeral(percent_up(self.high)),
        )
        if self.baseline is not None:
            share = numeral(percent_down(self.baseline))
            text += "; " + gettext("guessing gives {share}", share=share)
        if self.control is not None:
            share = numeral(percent_down(self.control))
            text += "; " + gettext("people who are not in the release {share}", share=share)
        if self.bound is not None:
            share = numeral(percent_up(self.bound))
            text += "; " + gettext("guarantee: at most {share}", share=share)
        return text + "."

    def cells(self) -> tuple[str, str, str, str, str, str]:
        """For a table, rounded conservatively: right, its ends, guessing, outside, bound."""
        return (
            percent_up(self.value),
            percent_down(self.low),
            percent_up(self.high),
            "" if self.baseline is None else percent_down(self.baseline),
            "" if self.control is None else percent_down(self.control),
            "" if self.bound is None else percent_up(self.bound),
        )

    def to_json(self) -> Form:
        """The JSON form."""
        return asdict(self) | {"broken": self.broken}


def wilson(hits: int, trials: int, *, level: float = 0.95) -> tuple[float, float]:
    """The interval of [Wilson27] for a share, which also suits no hits and all hits.

    >>> low, high = wilson(0, 10)
    >>> low, round(high, 4)
    (0.0, 0.2775)
    """
    _check(hits, trials, level)
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    share, spread = hits / trials, z * z / trials
    centre = (share + spread / 2) / (1 + spread)
    reach = z / (1 + spread) * math.sqrt(share * (1 - share) / trials + spread / (4 * trials))
    low = 0.0 if hits == 0 else max(0.0, centre - reach)
    high = 1.0 if hits == trials else min(1.0, centre + reach)
    return low, high


def clopper_pearson(hits: int, trials: int, *, level: float = 0.95) -> tuple[float, float]:
    """The exact binomial interval: each end is missed with at most half of 1 - level."""
    _check(hits, trials, level)
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, trials - hits + 1, tail))
    high = 1.0 if hits == trials else float(betaincinv(hits + 1, trials - hits, 1 - tail))
    return low, high


def _check(hits: int, trials: int, level: float) -> None:
    require_number("the number of trials", trials, low=1)
    require_number("the number of hits", hits, low=0, high=trials)
    require_number("the level", level, low=0, high=1, low_open=True, high_open=True)
