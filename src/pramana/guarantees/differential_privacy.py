"""Differential privacy of the randomised columns.

Write P[i, j] for the probability of releasing j when the original value is i. One step has

    epsilon = ln max_j (max_i P[i, j] / min_i P[i, j])          [Ikarashi, Thm 1]

and independent steps add theirs [Ikarashi, Cor. 1]. Neighbours are two tables that differ in one
person's values of the randomised columns: columns released unchanged lie outside the scope, and
no finite epsilon covers them. The matrix must be the same for both, so that one which was chosen by
looking at the table has no epsilon. Proof: docs/proofs/differential_privacy.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pramana.base.rounding import float_up, in_numbers_of_python, log_up, require_number
from pramana.base.text import exp_text_up, text_up
from pramana.base.translation import gettext, numeral
from pramana.guarantees.base import CliOption, Evidence, Guarantee, Need
from pramana.mechanisms.mechanism import Mechanism
from pramana.mechanisms.transition import TransitionMatrix


@dataclass(frozen=True, slots=True)
class DifferentialPrivacy(Guarantee):
    """No release favours one truth over another by more than exp(epsilon).

    >>> from pramana.mechanisms.mechanism import UniformMixture
    >>> coin = UniformMixture.of(("no", "yes"), retention=0.5)
    >>> DifferentialPrivacy.of(coin).implies(DifferentialPrivacy(epsilon=1.1))
    True
    """

    epsilon: float

    name: ClassVar[str] = "differential-privacy"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.FIXED_MATRICES})
    assumption: ClassVar[str] = (
        "Two tables are compared that differ in one person's values of the randomised columns. A "
        "list of values that was read off the data is treated as public."
    )
    not_promised: ClassVar[str] = (
        "It covers only the randomised columns: no finite epsilon covers a column released "
        "unchanged. The epsilons of several releases about the same people are added."
    )
    cli_options: ClassVar[tuple[CliOption, ...]] = (
        CliOption(
            "--epsilon",
            "Differential privacy of the randomised columns.",
            first=True,
            slider=("Differential privacy of a record: epsilon", 0.1, 20.0, 6.0),
        ),
    )
    page: ClassVar[str] = "differential_privacy"
    of_household: ClassVar[str] = "m epsilon"

    def __post_init__(self) -> None:
        in_numbers_of_python(self)
        require_number("epsilon", self.epsilon, low=0)

    @classmethod
    def of(cls, mechanism: Mechanism | TransitionMatrix) -> DifferentialPrivacy:
        """The strongest such guarantee that ``mechanism`` gives, rounded up.

        The ratios of all steps are multiplied as fractions and rounded once.
        """
        return cls(log_up(mechanism.gamma))

    @classmethod
    def evaluate(
        cls, evidence: Evidence, *, asked: DifferentialPrivacy | None = None
    ) -> DifferentialPrivacy:
        """From the matrices."""
        assert evidence.mechanism is not None  # noqa: S101 - it is among the needs
        return cls.of(evidence.mechanism)

    def implies(self, other: DifferentialPrivacy) -> bool:
        """Smaller is stronger."""
        return self.epsilon <= other.epsilon

    def log_amplification(self, *, anonymity_set: int) -> float:
        """Epsilon is the total of ln gamma [Ikarashi, Cor. 2]."""
        return self.epsilon

    def household(self, members: int) -> Mapping[str, float]:
        """Epsilons add up."""
        finite = math.isfinite(self.epsilon)
        return {"epsilon": float_up(Fraction(self.epsilon) * members)} if finite else {}

    def sentence(self) -> str:
        """The guarantee in words."""
        if math.isinf(self.epsilon):
            return gettext(
                "No differential privacy: a released value can rule out an original value."
            )
        return gettext(
            "epsilon = {epsilon}: any release is at most {times} times as likely with a "
            "person's original values in the randomised columns as with any other values.",
            epsilon=numeral(text_up(self.epsilon)),
            times=numeral(exp_text_up(self.epsilon)),
        )
