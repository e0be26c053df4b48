"""Sums over groups by the database: what plain Python adds up, record by record."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from pramana.engine.base import Condition, SumsAsked, open_source, sum_name
from pramana.engine.local import grouped_sums
from pramana.errors import InvalidNumber

TEXTS = ("a", "b", "", "missing", "x'y", "é", "1", None)


def records(number: int) -> list[dict[str, object]]:
    random = np.random.default_rng(number)
    return [
        {
            "a": TEXTS[random.integers(len(TEXTS))],
            "i": None if random.random() < 0.1 else int(random.integers(-2, 3)),
            "x": None if random.random() < 0.1 else round(float(random.normal()), 2),
            "w": float(random.choice([0.5, 1.0, 2.25])),
        }
        for _ in range(number)
    ]


@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize(
    ("where", "meant"),
    [
        ((), lambda _: True),
        ((Condition("a", "=", ("b", "x'y")),), lambda row: row["a"] in ("b", "x'y")),
        ((Condition("a", "!=", ("", None)),), lambda row: row["a"] not in ("", None)),
        ((Condition("i", ">", ("0",)),), lambda row: row["i"] is not None and row["i"] > 0),
    ],
)
def test_sums_are_those_of_plain_python(dictionary, weight, where, meant):
    """Records, weights, their squares, and both times values and their squares."""
    rows = records(200)
    table = pa.Table.from_pylist(rows)
    if dictionary:
        table = table.set_column(0, "a", table.column("a").dictionary_encode())
    answer = grouped_sums(open_source(table), SumsAsked(("a", "i"), "x", weight, where))
    expected = defaultdict(lambda: np.zeros(6))
    for row in rows:
        if meant(row) and row["x"] is not None:
            w, y = row["w"] if weight else 1.0, row["x"]
            expected[row["a"], row["i"]] += [1, w, w * w, w * y, w * w * y, w * w * y * y]
    found = {
        (row["a"], row["i"]): [row[sum_name(n)] for n in ("n", "w", "ww", "wy", "wwy", "wwyy")]
        for row in answer.to_pylist()
    }
    assert set(found) == set(expected)
    for cell, sums in found.items():
        assert sums == pytest.approx(expected[cell].tolist(), abs=1e-9)


def test_whether_a_value_lies_beyond_a_number_is_summed():
    """A share beyond a limit is the mean of zeros and ones; nan is missing."""
    table = pa.table({"x": [1.0, 2.0, 3.0, math.nan]})
    asked = SumsAsked((), "x", beyond=Condition("x", ">=", ("2",)))
    (row,) = grouped_sums(open_source(table), asked).to_pylist()
    assert (row[sum_name("n")], row[sum_name("wy")]) == (3, 2)


def test_texts_are_not_compared_like_numbers():
    """A column of texts has no order."""
    asked = SumsAsked(("a",), where=(Condition("a", "<", ("b",)),))
    with pytest.raises(InvalidNumber, match="'a' is not a number"):
        grouped_sums(open_source(pa.table({"a": ["x", "y"]})), asked)
