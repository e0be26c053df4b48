"""One dial, three readings: k, the local epsilon and the central one, in one line."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pramana.guarantees.base import Guarantee
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.text import text_down, text_up

__all__ = ["central_text", "dials"]


def dials(attained: Iterable[Guarantee]) -> str | None:
    """The three numbers together, each rounded against us; nothing where one does not hold.

    >>> dials([PkAnonymity(100), DifferentialPrivacy(3.5), ShuffledPrivacy(0.09, 1e-6)])
    'One dial, three readings: k = 100, local epsilon = 3.5, central epsilon = 0.09 (delta 1e-6).'
    """
    by_kind = {type(one): one for one in attained}
    k, local, central = map(by_kind.get, (PkAnonymity, DifferentialPrivacy, ShuffledPrivacy))
    if not (
        isinstance(k, PkAnonymity)
        and isinstance(local, DifferentialPrivacy)
        and isinstance(central, ShuffledPrivacy)
        and math.isfinite(local.epsilon)
    ):
        return None
    return (
        f"One dial, three readings: k = {text_down(k.k)}, local epsilon = "
        f"{text_up(local.epsilon)}, central epsilon = {central_text(central)}."
    )


def central_text(central: ShuffledPrivacy) -> str:
    """Epsilon with its delta; with delta 0 it is the local one, whatever the crowd."""
    if math.isinf(central.epsilon):
        return "no bound"
    delta = "0" if not central.delta else _power(central.delta)
    return f"{text_up(central.epsilon)} (delta {delta})"


def _power(delta: float) -> str:
    """A round power of ten as such; all else rounded up."""
    power = round(math.log10(delta))
    return f"1e{power}" if math.isclose(delta, 10.0**power, rel_tol=1e-12) else text_up(delta, 3)
