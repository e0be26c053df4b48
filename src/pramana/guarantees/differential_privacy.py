"""Differential privacy of the randomised columns.

Write P[i, j] for the probability of releasing j when the truth is i. One step has

    epsilon = ln max_j (max_i P[i, j] / min_i P[i, j])          [Ikarashi, Thm 1]

and independent steps add theirs [Ikarashi, Cor. 1]. Neighbours are two tables that differ in one
person's values of the randomised columns: columns released as they are lie outside the scope, and
no finite epsilon covers them. Proof: docs/proofs/differential_privacy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from pramana.matrices.mechanism import Mechanism, Step
from pramana.matrices.transition import TransitionMatrix
from pramana.numeric import log_up, require_number

__all__ = ["DifferentialPrivacy", "step_gamma"]


@dataclass(frozen=True, slots=True)
class DifferentialPrivacy:
    """No release favours one truth over another by more than exp(epsilon).

    >>> from pramana.matrices import UniformMixture
    >>> coin = UniformMixture.of(("no", "yes"), retention=0.5)
    >>> DifferentialPrivacy.of(coin).implies(DifferentialPrivacy(epsilon=1.1))
    True
    """

    epsilon: float

    name: ClassVar[str] = "differential-privacy"
    rests_on_data: ClassVar[bool] = False
    assumption: ClassVar[str] = (
        "Covers the randomised columns only; a column released as it is has no finite epsilon."
    )

    def __post_init__(self) -> None:
        require_number("epsilon", self.epsilon, low=0)

    @classmethod
    def of(cls, mechanism: Mechanism | TransitionMatrix) -> DifferentialPrivacy:
        """The strongest such guarantee that ``mechanism`` gives, rounded up.

        The ratios of all steps are multiplied as fractions and rounded once.
        """
        ratio: Fraction | float = Fraction(1)
        for gamma in _gammas(mechanism):
            if gamma == math.inf:
                return cls(math.inf)
            ratio *= Fraction(gamma)
        return cls(log_up(ratio))

    def implies(self, other: DifferentialPrivacy) -> bool:
        """Smaller is stronger."""
        return self.epsilon <= other.epsilon

    def sentence(self) -> str:
        """The promise in plain words."""
        if math.isinf(self.epsilon):
            return (
                "No differential privacy: some released value rules out some true value altogether."
            )
        factor = math.exp(self.epsilon) if self.epsilon < 700 else math.inf
        return (
            f"Whatever one person's true values in the randomised columns are, any release is at "
            f"most {factor:,.4g} times as likely as it would be with other values "
            f"(epsilon = {self.epsilon:.4g})."
        )

    def to_json(self) -> dict[str, Any]:
        """The number by name; JSON has no infinity, so an unbounded one is null."""
        return {"epsilon": None if math.isinf(self.epsilon) else self.epsilon}


def step_gamma(step: Step) -> Fraction | float:
    """The worst amplification over the strata of a step.

    A stratum is released as it is and is not part of what neighbours may differ in.
    """
    return max(matrix.gamma for matrix in step.matrices)


def _gammas(mechanism: Mechanism | TransitionMatrix) -> list[Fraction | float]:
    if isinstance(mechanism, TransitionMatrix):
        return [mechanism.gamma]
    return [step_gamma(step) for step in mechanism]
