"""Which joint cells can exist, against writing every cell out."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.schema.domains import Categories
from pramana.schema.joint_cells import CellRules, tied_columns
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Impossible, Schema

LABELS = {"a": (True, 1, "x"), "b": ("u", "v"), "c": ("1", "2", "3", "4")}
"""To Python the first two values are equal; to a schema they are two."""


def column(name: str, **more: object) -> Column:
    """A key with its labels."""
    return Column(name, Role.KEY, Categories(LABELS[name]), **more)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """Three keys and up to four rules about two or three of them."""
    rules = []
    for _ in range(draw(st.integers(0, 4))):
        names = draw(st.lists(st.sampled_from("abc"), min_size=2, max_size=3, unique=True))
        subsets = {n: st.lists(st.sampled_from(range(len(LABELS[n]))), min_size=1) for n in names}
        named = {n: sorted(set(draw(own))) for n, own in subsets.items()}
        rules.append(Impossible.of({n: [LABELS[n][at] for at in own] for n, own in named.items()}))
    return Schema((column("a"), column("b", exempt=("v",)), column("c")), tuple(rules))


def told(label: object) -> tuple[type, object]:
    """A label with its type."""
    return type(label), label


@given(schemas())
@settings(max_examples=60, deadline=None)
def test_cells_are_those_that_break_no_rule(schema):
    """Listed, as a table, and asked of all cells by their codes."""
    right = [
        cell
        for cell in itertools.product(*LABELS.values())
        if not any(
            all(told(cell["abc".index(n)]) in map(told, own) for n, own in rule.cells)
            for rule in schema.impossible
        )
    ]
    rules = CellRules.of(schema, "abc")
    codes = np.unravel_index(np.arange(24), (3, 2, 4))

    assert list(map(str, rules.cells())) == list(map(str, right))
    assert rules.table().sum() == len(right)
    assert np.array_equal(rules.possible(codes), rules.table().ravel())
    assert np.array_equal(rules.free(codes), rules.possible(codes) & (codes[1] == 0))


def test_rules_about_other_columns_are_left_aside():
    """What is asked about two columns says nothing of a third."""
    rule = Impossible.of({"a": ["x"], "c": ["1"]})
    schema = Schema((column("a"), column("b"), column("c")), (rule,))

    assert CellRules.of(schema, "ab").table().all()
    assert (~CellRules.of(schema, "ca").table()).nonzero()[0].tolist() == [0]


def test_ties_chain():
    """Two ties that share a column make one group."""
    assert tied_columns("abcde", [("e", "b"), ("c", "e")]) == (("a",), ("b", "c", "e"), ("d",))
    assert tied_columns("ab", []) == (("a",), ("b",))
