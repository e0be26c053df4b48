"""Design after design before the judge: the loop that tests and the long command share."""

from __future__ import annotations

from dataclasses import dataclass

from tests.judge.draws import grouped_of
from tests.judge.groups import judge_groups
from tests.judge.homes import judge_homes
from tests.judge.law import judge
from tests.judge.worlds import GROUPED, World, case_of, worlds

__all__ = ["Done", "try_designs"]

MOST_REFUSED = 50
"""So many refusals for each design that is judged, and something is wrong with the worlds."""


@dataclass(frozen=True)
class Done:
    """How many designs were judged, refused by their method, and how many claims were looked at."""

    judged: int
    refused: int
    claims: int


def try_designs(kind: str, number: int, *, seed: int = 0) -> Done:
    """Judge so many designs of one kind; raises at the first claim that is too strong."""
    judged = refused = claims = 0
    for world in worlds(kind, seed):
        found = _try(world, seed=judged + refused, neighbours=judged % 10 == 0)
        judged, refused, claims = judged + bool(found), refused + (not found), claims + found
        if judged == number or refused > MOST_REFUSED * (number + 1):
            break
    return Done(judged, refused, claims)


def _try(world: World, *, seed: int, neighbours: bool) -> int:
    """How many claims of this world were judged; none where the method refuses it."""
    if world.method.name in GROUPED:
        made = grouped_of(world, seed=seed)
        if made is not None:
            judge_groups(*made)
        return made is not None
    plan = world.plan()
    if plan is None:
        return 0
    case = case_of(world, plan, try_others=neighbours)
    claims = {claim.name: claim.attained for claim in plan.claims}
    stated = {claim.name: claim.attained for claim in plan.published}
    others = {name: claim for name, claim in stated.items() if claim != claims[name]}
    homes = judge_homes(case, stated, seed) if world.schema.household else 0
    return len(judge(case, claims, seed)) + len(judge(case, others, seed)) + homes
