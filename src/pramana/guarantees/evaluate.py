"""Every guarantee on every mechanism that it covers, beside what was asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pramana.guarantees.base import Guarantee
from pramana.guarantees.breach import PrivacyBreach
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.matrices.mechanism import Mechanism

__all__ = ["Standing", "from_matrices", "standings"]

USUAL_PRIOR = 0.1
"""The rho1 for which a breach is stated where none was asked for."""


@dataclass(frozen=True)
class Standing:
    """One guarantee: what was asked (if anything), what is attained, whether that suffices."""

    asked: Guarantee | None
    attained: Guarantee

    @property
    def name(self) -> str:
        """The name in certificates."""
        return self.attained.name

    @property
    def holds(self) -> bool:
        """Nothing asked, or at least as strong as asked."""
        return self.asked is None or bool(self.attained.implies(self.asked))

    def to_json(self) -> dict[str, Any]:
        """The entry in the JSON of a design."""
        return {
            "name": self.name,
            "asked": None if self.asked is None else self.asked.to_json(),
            "attained": self.attained.to_json(),
            "holds": self.holds,
        }


def from_matrices(
    mechanism: Mechanism, *, crowd: int, asked: Iterable[Guarantee] = ()
) -> tuple[Guarantee, ...]:
    """The guarantees that follow from the matrices and the size of the crowd alone.

    A stranger can recompute these from a certificate.
    """
    prior = next((a.rho1 for a in asked if isinstance(a, PrivacyBreach)), USUAL_PRIOR)
    return (
        PkAnonymity.of(mechanism, crowd=crowd),
        DifferentialPrivacy.of(mechanism),
        PrivacyBreach.of(mechanism, rho1=prior),
    )


def standings(asked: Sequence[Guarantee], attained: Sequence[Guarantee]) -> tuple[Standing, ...]:
    """Pair what was asked with what is attained of the same kind."""
    wanted = {guarantee.name: guarantee for guarantee in asked}
    return tuple(Standing(wanted.get(guarantee.name), guarantee) for guarantee in attained)
