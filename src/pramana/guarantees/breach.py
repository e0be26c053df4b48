"""Privacy breach: no property of a person that was unlikely becomes likely.

A release breaches from rho1 to rho2 if an adversary who held some property for at most rho1 likely
holds it for more than rho2 likely afterwards. It cannot, for any property and any prior, if

    gamma <= rho2 (1 - rho1) / (rho1 (1 - rho2))                  [Dowd, Sec. 5.1]

with gamma the amplification of all randomised columns together. Proof: docs/proofs/breach.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from pramana.errors import InvalidNumber
from pramana.guarantees.differential_privacy import step_gamma
from pramana.matrices.mechanism import Mechanism
from pramana.matrices.transition import TransitionMatrix
from pramana.numeric import float_up, require_number

__all__ = ["PrivacyBreach"]


@dataclass(frozen=True, slots=True)
class PrivacyBreach:
    """What was held for at most ``rho1`` likely is held for at most ``rho2`` likely afterwards.

    >>> from pramana.matrices import UniformMixture
    >>> coin = UniformMixture.of(("no", "yes"), retention=0.5)      # gamma = 3
    >>> PrivacyBreach.of(coin, rho1=0.25)                           # 0.75 / (0.75 + 0.75)
    PrivacyBreach(rho1=0.25, rho2=0.5)
    """

    rho1: float
    rho2: float

    name: ClassVar[str] = "privacy-breach"
    rests_on_data: ClassVar[bool] = False
    assumption: ClassVar[str] = "Speaks of one person's values in the randomised columns."

    def __post_init__(self) -> None:
        require_number("rho1", self.rho1, low=0, high=1, low_open=True, high_open=True)
        require_number("rho2", self.rho2, low=0, high=1, low_open=True)
        if self.rho2 < self.rho1:
            raise InvalidNumber(
                f"rho2 must be at or above rho1, got rho1 = {self.rho1:g}, rho2 = {self.rho2:g}: "
                "no release can make an adversary forget."
            )

    @property
    def gamma(self) -> Fraction | float:
        """The largest amplification that keeps the promise."""
        before, after = Fraction(self.rho1), Fraction(self.rho2)
        return math.inf if after == 1 else after * (1 - before) / (before * (1 - after))

    @classmethod
    def of(cls, mechanism: Mechanism | TransitionMatrix, *, rho1: float) -> PrivacyBreach:
        """The smallest ``rho2`` that holds for a given ``rho1``, rounded up."""
        gamma: Fraction | float = Fraction(1)
        parts = [mechanism.gamma] if isinstance(mechanism, TransitionMatrix) else []
        if isinstance(mechanism, Mechanism):
            parts = [step_gamma(step) for step in mechanism]
        for part in parts:
            if part == math.inf:
                return cls(rho1, 1.0)
            gamma *= Fraction(part)
        before = Fraction(rho1)
        after = gamma * before / (gamma * before + 1 - before)
        return cls(rho1, min(1.0, float_up(after)))

    def implies(self, other: PrivacyBreach) -> bool:
        """A smaller amplification is stronger, whichever rho1 each is stated for."""
        return self.gamma <= other.gamma

    def sentence(self) -> str:
        """The promise in plain words."""
        if self.rho2 > 0.9995:  # would be shown as 100 %
            return "No bound on a breach: a release may turn a suspicion into certainty."
        return (
            f"A fact about a person's randomised values that was at most {100 * self.rho1:.3g} % "
            f"likely before is at most {100 * self.rho2:.3g} % likely after seeing the release."
        )

    def to_json(self) -> dict[str, Any]:
        """The numbers by name."""
        return {"rho1": self.rho1, "rho2": self.rho2}
