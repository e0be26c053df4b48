"""docs/proofs/collected.md against brute force: all tables, all orders, exact fractions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import pytest

TOTAL = 60
"""A small number of words in place of 2**64: everything is a fraction of it."""


def channel(cells: int, other: int) -> list[list[Fraction]]:
    """A uniform mixture as the page says it: ``other`` words for every other cell."""
    kept = TOTAL - (cells - 1) * other
    return [
        [Fraction(kept if row == column else other, TOTAL) for column in range(cells)]
        for row in range(cells)
    ]


def linked(matrix: list[list[Fraction]], truth: tuple[int, ...], seen: tuple[int, ...]) -> Fraction:
    """The chance that the first record seen is person 0's, for who knows the whole truth."""
    mine = total = Fraction(0)
    for order in itertools.permutations(range(len(seen))):
        chance = Fraction(1)
        for person, place in enumerate(order):
            chance *= matrix[truth[person]][seen[place]]
        total += chance
        mine += chance if order[0] == 0 else 0
    return mine / total


def worst(matrix: list[list[Fraction]], people: int) -> Fraction:
    """The largest over all truths and all that can be seen."""
    size = len(matrix)
    return max(
        linked(matrix, truth, seen)
        for truth in itertools.product(range(size), repeat=people)
        for seen in itertools.product(range(size), repeat=people)
    )


@pytest.mark.parametrize(("cells", "other"), [(2, 10), (2, 25), (3, 6), (3, 15)])
@pytest.mark.parametrize("people", [2, 3, 4])
def test_k_holds_and_is_reached_for_as_many_as_came(cells: int, other: int, people: int) -> None:
    """1 / k = 1 / (1 + (n - 1) gamma^-2), for each n with the same matrix."""
    if cells == 3 and people == 4:
        people = 3
    matrix = channel(cells, other)
    gamma = matrix[0][0] / matrix[0][1]
    assert worst(matrix, people) == 1 / (1 + (people - 1) / gamma**2)


def partly(matrix: list[list[Fraction]], truth: tuple[int, ...], shown: int) -> Iterator[Fraction]:
    """The chances that record 0 is person 0's, for who sees the first records only."""
    size, people = len(matrix), len(truth)
    for seen in itertools.product(range(size), repeat=shown):
        mine = total = Fraction(0)
        for rest in itertools.product(range(size), repeat=people - shown):
            for order in itertools.permutations(range(people)):
                chance = Fraction(1)
                for person, place in enumerate(order):
                    chance *= matrix[truth[person]][(seen + rest)[place]]
                total += chance
                mine += chance if order[0] == 0 else 0
        yield mine / total


def test_under_way_the_bound_is_that_of_all_who_will_answer() -> None:
    """Four will answer and two or three have: nobody is linked with more than 1 / k of four."""
    matrix = channel(2, 10)
    gamma = matrix[0][0] / matrix[0][1]
    bound = 1 / (1 + 3 / gamma**2)
    for shown in (1, 2, 3):
        found = [
            chance
            for truth in itertools.product(range(2), repeat=4)
            for chance in partly(matrix, truth, shown)
        ]
        assert max(found) <= bound
    assert worst(matrix, 2) > bound  # if no more come, the bound for two is what holds


@pytest.mark.parametrize("known", [1, 2])
@pytest.mark.parametrize("other", [10, 20])
def test_who_knows_some_records_stands_before_the_others(other: int, known: int) -> None:
    """Four records, of which one or two were invented or told: their values are known, and so who.

    Over all truths, all that can be seen and all orders that agree with what is known.
    """
    matrix, people = channel(2, other), 4
    gamma = matrix[0][0] / matrix[0][1]
    found = Fraction(0)
    cases = itertools.product(itertools.product(range(2), repeat=people), repeat=2)
    for truth, seen in cases:
        for told in itertools.product(range(2), repeat=known):
            mine = total = Fraction(0)
            for order in itertools.permutations(range(people)):
                if any(seen[order[people - known + at]] != told[at] for at in range(known)):
                    continue
                chance = Fraction(1)
                for person, place in enumerate(order[: people - known]):
                    chance *= matrix[truth[person]][seen[place]]
                total += chance
                mine += chance if order[0] == 0 else 0
            found = max(found, mine / total if total else Fraction(0))
    assert found == 1 / (1 + (people - known - 1) / gamma**2)
    assert found > 1 / (1 + (people - 1) / gamma**2)


@pytest.mark.parametrize("other", [10, 20, 25, 30])
@pytest.mark.parametrize(("records", "times"), [(3, 2), (4, 2), (4, 3)])
def test_k_of_who_answered_several_times_holds_and_is_reached(
    other: int, records: int, times: int
) -> None:
    """Over all truths of the others, all that can be seen and all orders; up to pure noise."""
    matrix = channel(2, other)
    gamma = matrix[0][0] / matrix[0][1]
    found = Fraction(0)
    for rest in itertools.product(range(2), repeat=records - times):
        truth = (0,) * times + rest
        for seen in itertools.product(range(2), repeat=records):
            hers = total = Fraction(0)
            for order in itertools.permutations(range(records)):
                chance = Fraction(1)
                for place, at in enumerate(order):
                    chance *= matrix[truth[place]][seen[at]]
                total += chance
                hers += chance if order.index(0) < times else 0
            found = max(found, hers / total)
    assert found == 1 / (1 + Fraction(records - times, times) / gamma**2)


def test_repeats_multiply_gamma() -> None:
    """Two records of a person are one draw from the product channel."""
    matrix = channel(2, 10)
    pairs = list(itertools.product(range(2), repeat=2))
    twice = [[matrix[row][a] * matrix[row][b] for a, b in pairs] for row in range(2)]
    ratio = max(twice[0][at] / twice[1][at] for at in range(4))
    gamma = matrix[0][0] / matrix[0][1]
    assert ratio == gamma**2
