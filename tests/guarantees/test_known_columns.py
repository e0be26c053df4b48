"""Columns that are released unchanged and that an adversary may know count like any key."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pramana as pm
from pramana.base.rounding import TOTAL
from pramana.errors import Infeasible, NotCovered
from pramana.guarantees.base import Evidence
from pramana.guarantees.claims import attained
from pramana.guarantees.recognition_posterior import worst_posterior
from pramana.io.opening import open_table
from pramana.mechanisms.transition import Dense
from pramana.schema.joint_cells import Counts, counts_with_kept

KEYS = tuple(pm.Column(name, pm.Role.KEY, pm.Categories(("x", "y", "z"))) for name in "abc")
AMOUNT = 2000


def people(**more: object) -> pa.Table:
    """Three keys with three values each, and what else is asked for."""
    numbers = np.random.default_rng(5).integers(0, 3, (3, AMOUNT))
    columns = {
        name: np.array(["x", "y", "z"])[own] for name, own in zip("abc", numbers, strict=True)
    }
    return pa.table({**columns, **more})


ZIP = pm.Schema((*KEYS, pm.Column("zip", pm.Role.PUBLIC)))
WEIGHT = pm.Schema((*KEYS, pm.Column("w", pm.Role.WEIGHT)))


@pytest.mark.parametrize(
    "asked", [pm.SpontaneousRecognition(alpha=0.1), pm.CorrectMatch(xi=0.1)], ids=["alpha", "xi"]
)
def test_a_unique_value_that_is_kept_is_recognised(asked):
    """Three randomised keys beside a unique zip code protect nobody."""
    with pytest.raises(Infeasible, match="zip"):
        pm.design(ZIP, asked, data=people(zip=np.arange(AMOUNT)))


@pytest.mark.parametrize(
    "asked", [pm.SpontaneousRecognition(alpha=0.1), pm.CorrectMatch(xi=0.1)], ids=["alpha", "xi"]
)
def test_a_column_that_is_kept_counts(asked, tmp_path):
    """Large groups leave room: the owner's check recomputes the number with them."""
    data = people(zip=np.arange(AMOUNT) % 4)
    plan = pm.design(ZIP, asked, data=data)
    pm.protect(data, plan, to=tmp_path / "release", seed=1)

    assert plan.claims[0].holds
    assert pm.verify(tmp_path / "release", original=data).valid


def test_weights_split_the_anonymity_set():
    """Unique weights single everybody out: no k above 1, by matrices or by groups."""
    data = people(w=np.linspace(1, 2, AMOUNT))
    assert pm.design(WEIGHT, data=data, method=pm.Retention(retention=0.5)).anonymity_set == 1
    for method in ("retention", "resample"):
        asked = pm.KAnonymity(k=5) if method == "resample" else pm.PkAnonymity(k=5)
        with pytest.raises(Infeasible):
            pm.design(WEIGHT, asked, data=data, method=method)
    rounded = people(w=np.arange(AMOUNT) % 4)
    assert (
        pm.design(WEIGHT, pm.PkAnonymity(k=5), data=rounded, method="retention").anonymity_set
        == AMOUNT // 4
    )


def test_counts_that_do_not_hold_a_kept_column_are_not_enough():
    """alpha cannot be computed; xi falls back to the anonymity set."""
    mixture = pm.UniformMixture.of(("x", "y", "z"), retention=0.5)
    mechanism = pm.Mechanism(tuple(pm.Step((name,), mixture) for name in "abc"))
    counts = counts_with_kept(open_table(people()), KEYS)
    evidence = Evidence(ZIP, AMOUNT, 4, mechanism, counts=counts)

    assert {g.name: g for g in attained(evidence)}["correct-match"].xi == 0.25
    with pytest.raises(NotCovered, match="zip"):
        attained(evidence, [pm.SpontaneousRecognition(alpha=0.1)])


def test_kept_columns_are_counted_by_their_values():
    """Missing is one of them; codes of randomised columns are those of the schema."""
    table = pa.table({"a": ["x", "z", "x", "x"], "zip": [1.5, None, 1.5, None]})
    counts = counts_with_kept(open_table(table), KEYS[:1], ["zip"])
    found = {
        (counts.labels[0][a], counts.labels[1][b]): int(number)
        for (a, b), number in zip(counts.cells, counts.numbers, strict=True)
    }
    assert found == {("x", 1.5): 2, ("x", None): 1, ("z", None): 1}


def exact(matrix: Dense, table: np.ndarray, choices: list[tuple[int, ...]]) -> Fraction:
    """Condition C1 by brute force: axes 0 and 1 are randomised together, axis 2 is kept."""
    cells = [cell for cell in np.ndindex(*table.shape) if table[cell]]
    rows = list(np.ndindex(*table.shape[:2]))
    worst = Fraction(0)
    for choice in choices:
        below: dict[tuple[int, ...], int] = {}
        above: dict[tuple[int, ...], int] = {}
        for cell in cells:
            own: dict[tuple[int, ...], int] = {}
            for place, target in enumerate(rows):
                seen = tuple((*target, cell[2])[axis] for axis in choice)
                weight = int(matrix.weights[rows.index(cell[:2]), place])
                own[seen] = own.get(seen, 0) + weight
            for seen, weight in own.items():
                below[seen] = below.get(seen, 0) + weight * int(table[cell])
                above[seen] = max(above.get(seen, 0), weight)
        worst = max(worst, *(Fraction(above[k], below[k]) for k in below if below[k]))
    return worst


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_joint_step_beside_a_kept_column_is_exact(data):
    """Second road: brute force in fractions over cells, choices and combinations."""
    table = np.array(data.draw(st.lists(st.integers(0, 4), min_size=12, max_size=12)))
    if not table.sum():
        table[0] = 1
    table = table.reshape(2, 2, 3)
    rows = data.draw(
        st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(sum), min_size=4,
                 max_size=4)
    )  # fmt: skip
    labels = tuple((a, b) for a in "pq" for b in "rs")
    values = np.array(rows, float) / np.sum(rows, axis=1, keepdims=True)
    matrix = Dense.of(labels, values)
    columns = ("one", "two", "kept")
    counts = Counts.from_dense(columns, (("p", "q"), ("r", "s"), (7, 8, 9)), table)
    mechanism = pm.Mechanism((pm.Step(("one", "two"), matrix),))
    width = data.draw(st.integers(1, 3))
    choices = list(combinations(range(3), width))
    names = [tuple(columns[axis] for axis in choice) for choice in choices]
    truth = exact(matrix, table, choices)
    found = worst_posterior(mechanism, counts, names).posterior

    assert Fraction(found) >= truth
    assert found == pytest.approx(float(truth), rel=1e-11)
    assert int(matrix.weights.sum()) == 4 * TOTAL
