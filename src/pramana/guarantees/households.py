"""What promises about people say about households (docs/proofs/households.md).

The household's number is dropped, its records are randomised and shuffled apart. A household of m
is then found if one of its m people is, so that chances add up; and it changes m records, so that
epsilons do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from pramana.guarantees.base import Guarantee
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
from pramana.numeric import float_down, float_up, text_down, text_up

__all__ = ["for_households", "group_delta", "household_sentences"]


def for_households(guarantee: Guarantee, members: int) -> dict[str, float] | None:
    """The numbers of a promise for households of up to so many people; none where it says nothing.

    >>> for_households(PkAnonymity(k=20), 4)
    {'k': 5.0}
    """
    if isinstance(guarantee, PkAnonymity):
        return {"k": max(1.0, float_down(Fraction(guarantee.k) / members))}
    if isinstance(guarantee, DifferentialPrivacy):
        return {"epsilon": _times(guarantee.epsilon, members)}
    if isinstance(guarantee, SpontaneousRecognition):
        return {"alpha": min(1.0, float_up(Fraction(guarantee.alpha) * members))}
    if isinstance(guarantee, ShuffledPrivacy) and guarantee.delta is not None:
        epsilon = guarantee.epsilon
        return {
            "epsilon": _times(epsilon, members),
            "delta": group_delta(epsilon, guarantee.delta, members),
        }
    return None


def group_delta(epsilon: float, delta: float, members: int) -> float:
    """delta (1 + e^eps + ... + e^((m - 1) eps)), rounded up, at most 1; none of none."""
    if not delta or members == 1:
        return delta
    try:
        total = math.fsum(math.exp(epsilon * step) for step in range(1, members))
    except OverflowError:
        return 1.0
    return min(1.0, math.nextafter(delta * (1 + total) * (1 + 1e-12), math.inf))


def _times(epsilon: float, members: int) -> float:
    """So many epsilons, rounded up."""
    return epsilon if math.isinf(epsilon) else float_up(Fraction(epsilon) * members)


def household_sentences(found: Sequence[Guarantee], members: int) -> list[str]:
    """What is promised to a household of up to so many people, in plain words."""
    numbers = {guarantee.name: for_households(guarantee, members) for guarantee in found}
    lines = []
    linking = numbers.get(PkAnonymity.name)
    if linking is not None:
        own = next(one for one in found if isinstance(one, PkAnonymity))
        lines.append(
            f"k = {text_down(own.k)} for a person and {text_down(linking['k'])} for a household of "
            f"{members}: no released record can be pinned on one of its people beyond 1 in that."
        )
    privacy = numbers.get(DifferentialPrivacy.name)
    if privacy is not None and math.isfinite(privacy["epsilon"]):
        lines.append(f"All records of a household of {members} together have epsilon = "
                     f"{text_up(privacy['epsilon'])}.")  # fmt: skip
    central = numbers.get(ShuffledPrivacy.name)
    if central is not None and math.isfinite(central["epsilon"]):
        lines.append(
            f"In the centre a household of {members} has epsilon = {text_up(central['epsilon'])} "
            f"and delta = {text_up(central['delta'], 3)}."
        )
    sure = numbers.get(SpontaneousRecognition.name)
    if sure is not None:
        lines.append(
            f"Who looks at a few keys is at most {text_up(100 * sure['alpha'], 3)} % sure that a "
            f"record is of a given household of {members}."
        )
    return lines
