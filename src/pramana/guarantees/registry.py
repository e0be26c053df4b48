"""Guarantees by name, as certificates and commands spell them."""

from __future__ import annotations

import math
from typing import Any

from pramana.errors import NotARelease
from pramana.guarantees.base import Guarantee
from pramana.guarantees.breach import PrivacyBreach
from pramana.guarantees.correct_match import CorrectMatch
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition

__all__ = ["GUARANTEES", "guarantee_from_json"]

GUARANTEES: dict[str, Any] = {
    kind.name: kind
    for kind in (
        PkAnonymity,
        DifferentialPrivacy,
        PrivacyBreach,
        SpontaneousRecognition,
        CorrectMatch,
        KAnonymity,
    )
}


def guarantee_from_json(name: str, numbers: dict[str, Any]) -> Guarantee:
    """The guarantee of that name with those numbers; null stands for no bound."""
    try:
        kind = GUARANTEES[name]
        guarantee: Guarantee = kind(**{letter: _back(value) for letter, value in numbers.items()})
    except (KeyError, TypeError):
        raise NotARelease(
            f"A guarantee must be one of {', '.join(GUARANTEES)} with its numbers, got {name!r}. "
            "A newer version of pramana may know it."
        ) from None
    return guarantee


def _back(value: Any) -> Any:
    """Null is no bound; a list of lists is a tuple of tuples."""
    if value is None:
        return math.inf
    return tuple(_back(part) for part in value) if isinstance(value, list) else value
