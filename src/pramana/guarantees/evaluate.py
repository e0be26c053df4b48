"""The one place where what a guarantee needs meets what there is; the rest is refused."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.errors import NotCovered, TooLarge
from pramana.guarantees.base import Evidence, Guarantee, Need
from pramana.guarantees.claim import Claim
from pramana.guarantees.registry import GUARANTEES

__all__ = ["attained", "claims", "lacks", "paired"]


def claims(evidence: Evidence, asked: Sequence[Guarantee] = ()) -> tuple[Claim, ...]:
    """Every guarantee that the evidence covers, those asked first.

    Raises:
        NotCovered: one that is asked cannot be computed from this evidence, and why.
    """
    for guarantee in asked:
        missing = lacks(type(guarantee), evidence)
        if missing is not None:
            raise NotCovered(f"Nothing can be promised about {guarantee.name}: {missing}.")
    return paired(asked, attained(evidence, asked))


def lacks(kind: type[Guarantee], evidence: Evidence) -> str | None:
    """Why the evidence does not offer what a guarantee needs; nothing where it does."""
    missing = kind.needs - evidence.offers
    return next((need.value for need in Need if need in missing), None)


def attained(
    evidence: Evidence,
    asked: Sequence[Guarantee] = (),
    *,
    computed: Sequence[Guarantee] = (),
) -> tuple[Guarantee, ...]:
    """Every guarantee that the evidence covers, each the strongest that holds; those asked first.

    What the theory does not cover is left out, unless it is asked. ``computed`` are those that a
    design has computed from the same evidence already.
    """
    wanted = {guarantee.name: guarantee for guarantee in asked}
    found: list[Guarantee] = list(computed)
    ready, offers = {guarantee.name for guarantee in computed}, evidence.offers
    for name, kind in GUARANTEES.items():
        if name in ready or not kind.needs <= offers:
            continue
        try:
            found.append(kind.evaluate(evidence, asked=wanted.get(name)))
        except (NotCovered, TooLarge):
            if name in wanted:
                raise
    return tuple(sorted(found, key=lambda guarantee: guarantee.name not in wanted))


def paired(asked: Sequence[Guarantee], found: Sequence[Guarantee]) -> tuple[Claim, ...]:
    """What is attained beside what was asked of the same kind."""
    wanted = {guarantee.name: guarantee for guarantee in asked}
    return tuple(Claim(guarantee, wanted.get(guarantee.name)) for guarantee in found)
