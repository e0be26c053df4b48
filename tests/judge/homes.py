"""What is true of two people who live together, by brute force from docs/proofs/households.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, permutations
from math import comb, inf
from random import Random
from typing import Any

from tests.judge.law import (
    MOST_LISTS,
    Case,
    Cell,
    Fault,
    amplification,
    permanent,
    shuffled,
    tables_and_releases,
)

__all__ = ["judge_homes"]

TWO = 2
"""People of a household: each of two may be any of the table."""


def judge_homes(case: Case, claims: Mapping[str, Any], seed: int = 0) -> int:
    """Every promise for two people of a household against the truth; how many were judged."""
    judges = {
        "pk-anonymity": _k,
        "differential-privacy": _epsilon,
        "privacy-breach": _rho,
        "shuffled-privacy": _central,
        "spontaneous-recognition": _sum_of("alpha"),
        "correct-match": _sum_of("xi"),
    }
    many = 0
    for name, claim in claims.items():
        numbers = claim.household(TWO)
        if numbers:
            judges[name](case, claim, numbers, Random(f"{seed} {name} home"))
            many += 1
    return many


def _k(case: Case, claim: Any, numbers: Mapping[str, float], random: Random) -> None:
    """No record is of one of the two beyond 1/k; nor is one of two guesses right."""
    del claim
    k = Fraction(numbers["k"])
    for group in case.groups():
        if k == 1 or len(group) < TWO:
            continue
        for people, released in tables_and_releases(case, group, random):
            worst = _either([case.row(person) for person in people], released)
            if worst * k > 1:
                raise Fault(f"k = {numbers['k']} for two, and a link is certain to {float(worst)}")


def _either(rows: Sequence[Mapping[Cell, int]], released: Sequence[Cell]) -> Fraction:
    """The largest chance that a record is of one of two people, or that one of two guesses holds.

    What the two guesses are right about together is counted once.
    """
    table = [[row.get(cell, 0) for cell in released] for row in rows]
    total = permanent(table)
    if not total:
        return Fraction(0)
    places = range(len(table))
    link = [[table[i][j] * permanent(_without(table, [i], [j])) for j in places] for i in places]
    one = max(link[a][j] + link[b][j] for a, b in combinations(places, 2) for j in places)
    for a, b in combinations(places, 2):
        for i, j in permutations(places, 2):
            both = table[a][i] * table[b][j]
            both = both and both * permanent(_without(table, [a, b], [i, j]))
            one = max(one, link[a][i] + link[b][j] - both)
    return Fraction(one, total)


def _without(
    table: Sequence[Sequence[int]], rows: Sequence[int], columns: Sequence[int]
) -> list[list[int]]:
    return [
        [entry for j, entry in enumerate(row) if j not in columns]
        for i, row in enumerate(table)
        if i not in rows
    ]


def _epsilon(case: Case, claim: Any, numbers: Mapping[str, float], random: Random) -> None:
    """Two records pass the channel, each by itself."""
    del claim
    ratio = amplification(case, random)
    with localcontext(prec=80):
        bound = Fraction(Decimal(numbers["epsilon"]).exp())
    if ratio == inf or Fraction(ratio) ** TWO > bound * (1 + Fraction(1, 10**60)):
        raise Fault(f"epsilon = {numbers['epsilon']} for two, and more is told")


def _rho(case: Case, claim: Any, numbers: Mapping[str, float], random: Random) -> None:
    """The odds of a fact about two records grow by the square of what those of one do."""
    before, after = Fraction(claim.rho1), Fraction(numbers["rho2"])
    ratio = amplification(case, random)
    if after == 1:
        return
    grown = Fraction(ratio) ** TWO * before
    if numbers["rho1"] != claim.rho1 or grown / (grown + 1 - before) > after:
        raise Fault(f"rho2 = {numbers['rho2']} for two, and a suspicion grows beyond")


def _central(case: Case, claim: Any, numbers: Mapping[str, float], random: Random) -> None:
    """Two neighbours at once: how much of one law the other lacks."""
    del claim
    with localcontext(prec=80):
        factor = Fraction(Decimal(numbers["epsilon"]).exp())
    for group in case.groups(case.attached):
        rows = [case.row(person) for person in case.domain(group[0])]
        cells = {cell for row in rows for cell in row}
        if len(group) < TWO or comb(len(cells) + len(group) - 1, len(group)) > MOST_LISTS // 4:
            continue
        for _ in range(6):
            others = random.choices(rows, k=len(group) - TWO)
            one, other = (shuffled([*random.choices(rows, k=TWO), *others]) for _ in range(2))
            lacks = sum(
                max(Fraction(0), w - factor * other.get(seen, 0)) for seen, w in one.items()
            )
            if lacks > Fraction(numbers["delta"]) * sum(one.values()):
                raise Fault(f"{numbers} for two does not hold: a release is likelier by more")


def _sum_of(name: str) -> Any:
    """Chances of two people add up, and no further than to one."""

    def judged(case: Case, claim: Any, numbers: Mapping[str, float], random: Random) -> None:
        del case, random
        if Fraction(numbers[name]) < min(Fraction(1), TWO * Fraction(getattr(claim, name))):
            raise Fault(f"{name} = {numbers[name]} for two, where it is {claim} for one")

    return judged
