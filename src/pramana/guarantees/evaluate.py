"""The one place where what a guarantee needs meets what there is; the rest is refused."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.errors import NotCovered, TooLarge
from pramana.guarantees.base import Evidence, Guarantee, Need
from pramana.guarantees.claim import Claim
from pramana.guarantees.registry import GUARANTEES

__all__ = ["attained", "lacks", "never_offered", "paired", "recomputed"]


def attained(
    evidence: Evidence,
    asked: Sequence[Guarantee] = (),
    *,
    computed: Sequence[Guarantee] = (),
) -> tuple[Guarantee, ...]:
    """Every guarantee that the evidence covers, each the strongest that holds; those asked first.

    Args:
        evidence: what there is to compute from.
        asked: the targets.
        computed: those that a design has computed from the same evidence already.

    Raises:
        NotCovered: one that is asked cannot be computed from this evidence, and why. What is not
            asked and not covered is left out.
    """
    for guarantee in asked:
        missing = lacks(type(guarantee), evidence)
        if missing is not None:
            raise NotCovered(f"Nothing can be promised about {guarantee.name}: {missing}.")
    wanted = {guarantee.name: guarantee for guarantee in asked}
    found = [*computed, *_evaluated(evidence, wanted, {one.name for one in computed})]
    return tuple(sorted(found, key=lambda guarantee: guarantee.name not in wanted))


def recomputed(evidence: Evidence, stated: Sequence[Guarantee]) -> dict[str, Guarantee]:
    """What the evidence gives of the kinds that are stated, by name; what it lacks is left out."""
    covered = [guarantee for guarantee in stated if lacks(type(guarantee), evidence) is None]
    found = attained(evidence, covered)
    names = {guarantee.name for guarantee in stated}
    return {guarantee.name: guarantee for guarantee in found if guarantee.name in names}


def lacks(kind: type[Guarantee], evidence: Evidence) -> str | None:
    """Why the evidence does not offer what a guarantee needs; nothing where it does."""
    return _first(kind.needs - evidence.offers)


def never_offered(kind: type[Guarantee], evidence: Evidence, owner: frozenset[Need]) -> str | None:
    """Why not even the owner of a release can compute a guarantee; nothing where it can be.

    Args:
        kind: the guarantee.
        evidence: what a stranger has.
        owner: what the owner has beyond that.
    """
    return _first(kind.needs - evidence.offers - owner)


def _first(missing: frozenset[Need]) -> str | None:
    """Why not, of what is missing: of several the one that is known longest."""
    known = (Need.MATRICES, Need.FIXED_MATRICES, Need.COUNTS, Need.GROUPS, Need.SHUFFLE, Need.CROWD)
    rest = sorted(missing - set(known), key=lambda need: need.why_not)
    return next((need.why_not for need in (*known, *rest) if need in missing), None)


def paired(asked: Sequence[Guarantee], found: Sequence[Guarantee]) -> tuple[Claim, ...]:
    """What is attained beside what was asked of the same kind."""
    wanted = {guarantee.name: guarantee for guarantee in asked}
    return tuple(Claim(guarantee, wanted.get(guarantee.name)) for guarantee in found)


def _evaluated(
    evidence: Evidence, wanted: dict[str, Guarantee], ready: set[str]
) -> list[Guarantee]:
    """Each kind that is covered, in the order of the registry, but those that are ready."""
    found: list[Guarantee] = []
    offers = evidence.offers
    for name, kind in GUARANTEES.items():
        if name in ready or not kind.needs <= offers:
            continue
        try:
            found.append(kind.evaluate(evidence, asked=wanted.get(name)))
        except (NotCovered, TooLarge):
            if name in wanted:
                raise
    return found
