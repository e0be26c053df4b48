"""Pk-anonymity: no released record can be pinned on a person with more than probability 1/k.

For records that are randomised independently and then shuffled, whatever the adversary knows
about the true table,

    k = 1 + (n - 1) min_{u,v,u',v'} (P[u,v'] P[v,u']) / (P[u,u'] P[v,v'])      [Ikarashi, Thm 3]

and for independent steps the minimum is the product of those of the steps [Ikarashi, Cor. 4].

Two things lie outside the theorem's letter and inside ours. Without the shuffle there is no
guarantee at all: a release in the original order has k = 1. And a column that is released as it
is and that an adversary may know splits the crowd: a person hides only among the records with
the same values there, so n is the size of the smallest such group.
Proof: docs/proofs/pk_anonymity.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from pramana.matrices.mechanism import Mechanism
from pramana.matrices.transition import TransitionMatrix
from pramana.numeric import float_down, require_number

__all__ = ["PkAnonymity"]


@dataclass(frozen=True, slots=True)
class PkAnonymity:
    """No one can say with more than probability 1/k which released record is a person's.

    >>> from pramana.matrices import UniformMixture
    >>> coin = UniformMixture.of(("no", "yes"), retention=0.5)
    >>> PkAnonymity.of(coin, crowd=10)      # 1 + 9 * (1/3)**2
    PkAnonymity(k=2.0)
    """

    k: float

    name: ClassVar[str] = "pk-anonymity"
    rests_on_data: ClassVar[bool] = False
    assumption: ClassVar[str] = (
        "Records are randomised independently and shuffled; the adversary may know the whole true "
        "table except who is which released record, and does not know the sensitive columns."
    )

    def __post_init__(self) -> None:
        require_number("k", self.k, low=1)

    @classmethod
    def of(cls, mechanism: Mechanism | TransitionMatrix, *, crowd: int) -> PkAnonymity:
        """The largest k that holds, rounded down.

        Args:
            mechanism: what is done to a record.
            crowd: the number of records; where columns are released that an adversary may know, the
                size of the smallest group that they form.
        """
        require_number("the number of records", crowd, low=1)
        ratio = Fraction(1)
        for part in _ratios(mechanism):
            ratio *= Fraction(part)
        return cls(float_down(1 + (crowd - 1) * ratio))

    def implies(self, other: PkAnonymity) -> bool:
        """Larger is stronger."""
        return self.k >= other.k

    def sentence(self) -> str:
        """The promise in plain words."""
        if self.k < 1.01:  # "1 in 1" would sound like a promise
            return "No anonymity is promised: some released record may be pinned on a person."
        return (
            f"Whatever is known about the true table, no released record can be pinned on a person "
            f"with more than {100 / self.k:.3g} % confidence (1 in {_plain(self.k)})."
        )

    def to_json(self) -> dict[str, Any]:
        """The number by name."""
        return {"k": self.k}


def _plain(k: float) -> str:
    return f"{int(k):,}" if k >= 10 else f"{math.floor(k * 100) / 100:g}"


def _ratios(mechanism: Mechanism | TransitionMatrix) -> list[Fraction | float]:
    if isinstance(mechanism, TransitionMatrix):
        return [mechanism.anonymity_ratio]
    return [min(matrix.anonymity_ratio for matrix in step.matrices) for step in mechanism]
