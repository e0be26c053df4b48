"""Privacy breach: no property of a person that was unlikely becomes likely.

A release breaches from rho1 to rho2 if an adversary who held some property for at most rho1 likely
holds it for more than rho2 likely afterwards. It cannot, for any property and any prior, if

    gamma <= rho2 (1 - rho1) / (rho1 (1 - rho2))                  [Dowd, Sec. 5.1]

with gamma the amplification of all randomised columns together. The adversary weighs this table
against others, so that a matrix which was chosen by looking at this one gives no such bound.
Proof: docs/proofs/breach.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pramana.base.rounding import float_up, in_numbers_of_python, log_of, log_up, require_number
from pramana.base.text import percent_down, percent_up
from pramana.base.translation import gettext, numeral
from pramana.errors import InvalidNumber
from pramana.guarantees.base import CliOption, Evidence, Guarantee, Need
from pramana.mechanisms.mechanism import Mechanism
from pramana.mechanisms.transition import TransitionMatrix

LARGEST_EXPONENT = 700.0
"""Beyond it odds are no number any more."""

USUAL_PRIOR = 0.1
"""The rho1 for which a breach is stated where none was asked for."""


@dataclass(frozen=True, slots=True)
class PrivacyBreach(Guarantee):
    """What was held for at most ``rho1`` likely is held for at most ``rho2`` likely afterwards.

    >>> from pramana.mechanisms.mechanism import UniformMixture
    >>> coin = UniformMixture.of(("no", "yes"), retention=0.5)      # gamma = 3
    >>> PrivacyBreach.of(coin, rho1=0.25)                           # 0.75 / (0.75 + 0.75)
    PrivacyBreach(rho1=0.25, rho2=0.5)
    """

    rho1: float
    rho2: float

    name: ClassVar[str] = "privacy-breach"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.FIXED_MATRICES})
    assumption: ClassVar[str] = (
        "Covers one person's values in the randomised columns; a list of values that was read "
        "off the data is treated as public."
    )
    not_promised: ClassVar[str] = (
        "It bounds what is learned about one person's randomised values. It covers neither "
        "columns released unchanged nor facts that were likely before."
    )
    cli_options: ClassVar[tuple[CliOption, ...]] = (
        CliOption(
            "--rho1", "Prior probability of a fact, at most (with --rho2).", up=False, first=True
        ),
        CliOption("--rho2", "Its posterior probability, at most.", first=True),
    )
    page: ClassVar[str] = "breach"
    of_household: ClassVar[str] = "odds may grow to the m-th power"

    def __post_init__(self) -> None:
        in_numbers_of_python(self)
        require_number("rho1", self.rho1, low=0, high=1, low_open=True, high_open=True)
        require_number("rho2", self.rho2, low=0, high=1, low_open=True)
        if self.rho2 < self.rho1:
            raise InvalidNumber(
                "rho2 must be at or above rho1, got rho1 = {rho1!r}, rho2 = {rho2!r}: no release "
                "makes a fact less likely than it was.",
                rho1=self.rho1,
                rho2=self.rho2,
            )

    @property
    def gamma(self) -> Fraction | float:
        """The largest amplification that keeps the promise."""
        before, after = Fraction(self.rho1), Fraction(self.rho2)
        return math.inf if after == 1 else after * (1 - before) / (before * (1 - after))

    @classmethod
    def of(cls, mechanism: Mechanism | TransitionMatrix, *, rho1: float) -> PrivacyBreach:
        """The smallest ``rho2`` that holds for a given ``rho1``, rounded up."""
        gamma = mechanism.gamma
        if gamma == math.inf:
            return cls(rho1, 1.0)
        likely, unlikely = Fraction(gamma) * Fraction(rho1), 1 - Fraction(rho1)
        return cls(rho1, min(1.0, float_up(likely / (likely + unlikely))))

    @classmethod
    def evaluate(cls, evidence: Evidence, *, asked: PrivacyBreach | None = None) -> PrivacyBreach:
        """From the matrices, for the prior that was asked about."""
        assert evidence.mechanism is not None  # noqa: S101 - it is among the needs
        return cls.of(evidence.mechanism, rho1=USUAL_PRIOR if asked is None else asked.rho1)

    def implies(self, other: PrivacyBreach) -> bool:
        """A smaller amplification is stronger, whichever rho1 each is stated for."""
        return self.gamma <= other.gamma

    def log_amplification(self, *, anonymity_set: int) -> float:
        """The total of ln gamma may be that of the odds after over the odds before."""
        return log_of(self.gamma)

    def household(self, members: int) -> Mapping[str, float]:
        """Its people pass as many matrices, one each: amplifications are multiplied."""
        if self.gamma == math.inf:
            return {}
        total, before = members * log_up(self.gamma), Fraction(self.rho1)
        if total > LARGEST_EXPONENT:
            return {"rho1": self.rho1, "rho2": 1.0}
        likely = Fraction(math.exp(total)) * (1 + Fraction(1, 10**9)) * before
        return {"rho1": self.rho1, "rho2": min(1.0, float_up(likely / (likely + 1 - before)))}

    def sentence(self) -> str:
        """The guarantee in words."""
        after = percent_up(self.rho2)
        if after == "100 %":
            return gettext(
                "No bound on a privacy breach: a release can turn a suspicion into certainty."
            )
        return gettext(
            "rho1 = {before}, rho2 = {after}: a fact about a person's randomised values with "
            "a probability of at most rho1 before the release has a probability of at most rho2 "
            "after it.",
            before=numeral(percent_down(self.rho1)),
            after=numeral(after),
        )
