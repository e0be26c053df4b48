"""Tests of reports as a channel, with enumeration of small worlds as the judge of its numbers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from pramana.base.rounding import TOTAL
from pramana.errors import InvalidMatrix
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet
from pramana.mechanisms.transition import UniformMixture

VALUES = {"a": (0, 1), "b": (0, 1, 2)}


def asked(columns, weight, gamma):
    cells = tuple(itertools.product(*(VALUES[name] for name in columns)))
    labels = cells if len(columns) > 1 else tuple(cell[0] for cell in cells)
    return AttributeSet(columns, weight, UniformMixture.of(labels, gamma=gamma))


def channel(reporting):
    """P[truth, (set, cell)] as fractions, for all records of the columns."""
    truths = list(itertools.product(*(VALUES[name] for name in reporting.columns)))
    rows = []
    for truth in truths:
        record = dict(zip(reporting.columns, truth, strict=True))
        row = []
        for one in reporting.sets:
            cell = tuple(record[name] for name in one.columns)
            own = cell if len(cell) > 1 else cell[0]
            row += [
                Fraction(one.weight, TOTAL) * one.matrix.probability(own, label)
                for label in one.matrix.labels
            ]
        rows.append(row)
    return rows


def worst_link(rows, n):
    """The largest chance that a report is person 0's, over all true and all released tables."""
    scale = math.lcm(*(Fraction(p).denominator for row in rows for p in row))
    rows = [[int(p * scale) for p in row] for row in rows]
    truths, outputs = range(len(rows)), range(len(rows[0]))
    orders, worst = list(itertools.permutations(range(n))), (0, 1)
    for first, released in itertools.product(truths, outputs):
        for rest in itertools.combinations_with_replacement(truths, n - 1):
            people = [rows[truth] for truth in (first, *rest)]
            for others in itertools.combinations_with_replacement(outputs, n - 1):
                linked, total = link(people, (released, *others), orders)
                if linked * worst[1] > worst[0] * total:
                    worst = linked, total
    return Fraction(*worst)


def link(people, released, orders):
    """How much of the weight of all orders is of those in which person 0 made report 0."""
    linked = total = 0
    seen = [[row[report] for report in released] for row in people]
    for order in orders:
        chance = math.prod(map(list.__getitem__, seen, order))
        total += chance
        linked += chance if order[0] == 0 else 0
    assert total > 0
    return linked, total


QUARTER = TOTAL // 4
WORLDS = [
    (asked(("a",), QUARTER, 3), asked(("b",), 3 * QUARTER, 3)),
    (asked(("a",), TOTAL - 5, 3), asked(("b",), 5, 3)),
    (asked(("a",), 2 * QUARTER, 2), asked(("b",), 2 * QUARTER, 4)),
    (asked(("a", "b"), TOTAL, 5),),
]


@pytest.mark.parametrize("sets", WORLDS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_worst_link_is_exactly_one_over_k_whatever_the_shares(sets, n):
    """All true and all released tables of up to three people: pi cancels, 1/k is reached."""
    reporting = AttributeSampler(sets=sets)
    assert worst_link(channel(reporting), n) == 1 / (1 + (n - 1) * reporting.anonymity_ratio)


def test_four_people():
    """The same for four, with the shares far apart."""
    reporting = AttributeSampler(sets=(asked(("a",), 1, 3), asked(("b",), TOTAL - 1, 2)))
    rows = [[int(p * TOTAL**2) for p in row] for row in channel(reporting)[:4]]
    assert worst_link(rows, 4) == 1 / (1 + 3 * reporting.anonymity_ratio)


@pytest.mark.parametrize("sets", WORLDS)
def test_epsilon_is_the_largest_ratio_of_the_whole_channel(sets):
    """By all truths and outputs."""
    rows = channel(AttributeSampler(sets=sets))
    largest = max(
        max(column) / min(column) for column in zip(*rows, strict=True) if min(column) > 0
    )
    assert largest == AttributeSampler(sets=sets).gamma
    assert all(sum(row) == 1 for row in rows)


def test_who_knows_the_set_has_a_smaller_anonymity_set():
    """With the sets known, two of four reports remain, and the link is worse than 1/k says."""
    reporting = AttributeSampler(sets=(asked(("a",), TOTAL // 2, 3), asked(("b",), TOTAL // 2, 3)))
    alone = AttributeSampler(sets=(asked(("a",), TOTAL, 3),))
    known = worst_link(channel(alone), 2)
    promised = 1 / (1 + (4 - 1) * reporting.anonymity_ratio)
    assert known == 1 / (1 + (2 - 1) * reporting.anonymity_ratio) > promised


def test_shares_that_hang_on_the_record_would_break_it():
    """The condition is needed: where pi depends on the truth, the ratio passes gamma."""
    rows = channel(
        AttributeSampler(sets=(asked(("a",), TOTAL // 2, 3), asked(("b",), TOTAL // 2, 3)))
    )
    bent = [[p * (Fraction(3, 2) if out < 2 else Fraction(1, 2)) for out, p in enumerate(row)]
            if truth < 3 else row for truth, row in enumerate(rows)]  # fmt: skip
    assert max(max(column) / min(column) for column in zip(*bent, strict=True)) > 3


def test_there_and_back():
    """The plain form says everything."""
    reporting = AttributeSampler(sets=(asked(("a", "b"), 7, 5), asked(("a",), TOTAL - 7, 5)))
    again = AttributeSampler.from_json(reporting.to_json())
    assert again.to_json() == reporting.to_json()
    assert [one.weight for one in again.containing(["a"])] == [7, TOTAL - 7]
    assert [one.name for one in again.containing(["b", "a"])] == ["a*b"]


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ((asked(("a",), 5, 3),), "sum to 2"),
        ((asked(("a",), 5, 3), asked(("a",), TOTAL - 5, 3)), "listed once"),
    ],
)
def test_refusals(sets, message):
    """Weights that are no distribution, and a set twice."""
    with pytest.raises(InvalidMatrix, match=message):
        AttributeSampler(sets=sets)


def test_a_set_that_is_never_asked_is_refused():
    """Its weight must be above 0."""
    with pytest.raises(InvalidMatrix, match="weight of a"):
        asked(("a",), 0, 3)
