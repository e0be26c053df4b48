"""What is true of a release by groups, from docs/proofs/k_anonymity.md and [Li07].

The judge sees who is in which group, and what every outcome of chance releases the records with,
each with its exact probability. It knows no formula of the library: it goes through all releases
and all ways to hand out the records, and measures what each group holds of sensitive columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations, product
from math import factorial, lcm, prod
from typing import Any

from tests.judge.law import Cell, Fault

__all__ = ["Grouped", "judge_groups"]

Release = tuple[Cell, ...]
"""The keys of each record, in the order of the people."""

Law = Mapping[Release, Fraction]


@dataclass(frozen=True)
class Grouped:
    """A release by groups, before its records are shuffled.

    ``truth`` and ``released`` hold the keys of each record, ``known`` what is released unchanged
    and may be known, ``labels`` the group of each record. ``law`` is the chance of every release
    where they could be gone through; ``exchanged`` are releases where the members of each group
    had drawn one another's numbers, with whose. ``sensitive`` columns hold ``distinct`` values in
    each group, or are ``closeness`` from the table.
    """

    truth: Release
    released: Release
    known: tuple[Cell, ...]
    labels: tuple[int, ...]
    method: str
    law: Law = field(default_factory=dict)
    exchanged: tuple[tuple[tuple[int, ...], Release], ...] = ()
    sensitive: tuple[tuple[Any, ...], ...] = ()
    distinct: int = 1
    closeness: Fraction = Fraction(1)
    most: int | None = None

    def members(self) -> list[list[int]]:
        """The people of each group."""
        found: dict[int, list[int]] = {}
        for person, label in enumerate(self.labels):
            found.setdefault(label, []).append(person)
        return list(found.values())


def judge_groups(made: Grouped, claim: Any) -> None:
    """How sure is someone who knows all keys, groups and the method? What does a group hold?"""
    for group in made.members():
        _judge_group(made, group, claim)
    for whose, release in made.exchanged:
        if release != tuple(made.released[person] for person in whose):
            raise Fault("what a record is released with depends on whose it is")
    if made.law:
        _lawful(made)
        for release in _up_to_order(made.law):
            _judge_release(made, release, claim)
    elif made.method != "gaussian":  # whose law is not a rational one
        _judge_release(made, made.released, claim)


def _judge_group(made: Grouped, group: Sequence[int], claim: Any) -> None:
    """It is as large as was asked for, of people who are alike to who knows them, and mixed."""
    if len({made.known[person] for person in group}) > 1:
        raise Fault("a group crosses the values of a column that may be known")
    if len(group) < claim.k:
        raise Fault(f"k = {claim.k}, and a group has {len(group)} records")
    if made.most is not None and len(group) > made.most:
        raise Fault(f"at most {made.most} records are allowed, and a group has {len(group)}")
    for column in made.sensitive:
        _holds(made, column, [column[person] for person in group])


# -- who has which record ----------------------------------------------------------------------


def _judge_release(made: Grouped, release: Release, claim: Any) -> None:
    """All orders of the records, each as likely as it makes what was released."""
    orders = [
        (order, tuple(release[at] for at in order))
        for order in permutations(range(len(made.truth)))
        if all(made.known[person] == made.known[at] for person, at in enumerate(order))
    ]
    chances = {shown: _chance(made, shown) for shown in {shown for _, shown in orders}}
    whole = lcm(*(chance.denominator for chance in chances.values()))
    times = {shown: int(chance * whole) for shown, chance in chances.items() if chance}
    total, weights = 0, Counter[tuple[int, int]]()
    for order, shown in orders:
        if weight := times.get(shown, 0):
            total += weight
            for pair in enumerate(order):
                weights[pair] += weight
    if not total:
        raise Fault(f"method {made.method} cannot have made these records")
    if max(weights.values()) * claim.k > total:
        raise Fault(f"k = {claim.k}, and a link is certain to {max(weights.values()) / total}")


def _chance(made: Grouped, release: Release) -> Fraction:
    """Of these keys, person by person: by the law that was gone through, or by definition."""
    if made.law:
        return made.law.get(release, Fraction(0))
    return prod((_of_group(made, group, release) for group in made.members()), start=Fraction(1))


def _of_group(made: Grouped, group: Sequence[int], release: Release) -> Fraction:
    """The chance of the keys of one group, from the definition of the method."""
    drawn = [release[person] for person in group]
    own = [made.truth[person] for person in group]
    if made.method == "resample":
        return prod((Fraction(own.count(keys), len(own)) for keys in drawn), start=Fraction(1))
    if made.method == "permute":
        ways = prod(factorial(times) for times in Counter(own).values())
        return Fraction((Counter(drawn) == Counter(own)) * ways, factorial(len(own)))
    return Fraction(len(set(drawn)) == 1)  # centroid: one key for all


def _up_to_order(law: Law) -> list[Release]:
    """One release of all that are the same records in another order."""
    return list({tuple(sorted(map(repr, release))): release for release in law}.values())


# -- what is drawn -----------------------------------------------------------------------------


def _lawful(made: Grouped) -> None:
    """Every release has the chance that the page of the method gives it."""
    if sum(made.law.values()) != 1 or made.released not in made.law:
        raise Fault("what was released is none of what chance makes")
    if made.method != "sequential":
        true = _by_definition(made)
        if any(_chance(true, release) != chance for release, chance in made.law.items()):
            raise Fault(f"records are not drawn as {made.method} says")
    elif not any(_by_tree(made, tree) for tree in _trees(len(made.truth[0]))):
        raise Fault("no tree of pairs of keys gives what is drawn")


def _by_definition(made: Grouped) -> Grouped:
    """The same release, of which nothing was gone through."""
    return Grouped(made.truth, made.released, made.known, made.labels, made.method)


def _by_tree(made: Grouped, tree: Sequence[tuple[int, int | None]]) -> bool:
    """Whether each record is drawn by itself, each key given the one that the tree names."""
    groups = [made.members()[_at(made, person)] for person in range(len(made.truth))]
    return all(
        chance
        == prod(
            _by_key([made.truth[person] for person in group], keys, tree)
            for group, keys in zip(groups, release, strict=True)
        )
        for release, chance in made.law.items()
    )


def _at(made: Grouped, person: int) -> int:
    return next(at for at, group in enumerate(made.members()) if person in group)


def _by_key(group: Sequence[Cell], keys: Cell, tree: Sequence[tuple[int, int | None]]) -> Fraction:
    """The first key as in the group, each other as among those who have the key before it."""
    chance = Fraction(1)
    for own, parent in tree:
        fitting = [m for m in group if parent is None or m[parent] == keys[parent]]
        if not fitting:
            return Fraction(0)
        chance *= Fraction(sum(m[own] == keys[own] for m in fitting), len(fitting))
    return chance


def _trees(keys: int) -> Iterator[list[tuple[int, int | None]]]:
    """All ways to draw each key given one that was drawn before."""
    for order in permutations(range(keys)):
        for parents in product(*(order[:place] for place in range(1, keys))):
            yield list(zip(order, (None, *parents), strict=True))


# -- what a group holds ------------------------------------------------------------------------


def _holds(made: Grouped, column: Sequence[Any], own: Sequence[Any]) -> None:
    """So many values, and a distribution that is near the whole; a missing value is none."""
    found = len({value for value in own if value is not None})
    if found < made.distinct and made.distinct > 1:
        raise Fault(f"{made.distinct} distinct values were asked for, and a group has {found}")
    far = _distance(column, own)
    if far > made.closeness:
        raise Fault(f"a group is {far} from the table, and {made.closeness} was asked for")


def _distance(column: Sequence[Any], own: Sequence[Any]) -> Fraction:
    """How much must be moved how far: ranks of numbers, from any text to any other [Li07].

    Missing values are alike, and lie above all numbers.
    """
    values = sorted({v for v in column if v is not None}) + [None] * (None in column)
    gaps = [Fraction(own.count(v), len(own)) - Fraction(column.count(v), len(column))
            for v in values]  # fmt: skip
    if any(isinstance(value, str) for value in values):
        return sum(map(abs, gaps), Fraction(0)) / 2
    steps = [abs(sum(gaps[: place + 1])) for place in range(len(values) - 1)]
    return sum(steps, Fraction(0)) / max(1, len(steps))
