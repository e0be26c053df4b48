"""Columns that one matrix randomises together, because a table of just these is wanted."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.evaluation.plan_preview import errors_on_data
from pramana.evaluation.schema_suggestions import suggest_changes
from pramana.schema.opened_table import OpenedTable

RNG = np.random.default_rng(12)
N = 3_000
SCHEMA = pm.Schema((
    pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))),
    pm.Column("age", pm.Role.KEY, pm.Categories(("a", "b", "c", "d", "e"))),
    pm.Column("job", pm.Role.KEY, pm.Categories(("1", "2", "3", "4", "5", "6"))),
))  # fmt: skip
PEOPLE = pa.table({
    "sex": RNG.choice(["F", "M"], N, p=[0.7, 0.3]),
    "age": RNG.choice(list("abcde"), N),
    "job": RNG.choice(list("123456"), N),
})  # fmt: skip


def error(plan: pm.Plan, *columns: str) -> float:
    """What a table is expected to be off by."""
    assert plan.expected_error is not None
    return {frozenset(own): value for own, value in plan.expected_error.tables}[frozenset(columns)]


def test_one_matrix_over_all_cells_at_the_budget_of_its_columns() -> None:
    """By hand: retention (g - 1) / (g - 1 + 10) of ten cells; k is the same to the last digit."""
    method = pm.Retention(joint=(("sex", "age"),))
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=50), records=N, method=method)

    steps = {step.columns: step for step in plan.mechanism}
    assert set(steps) == {("sex", "age"), ("job",)}
    epsilon = {
        own: math.log(step.matrix.diagonal.max() / step.matrix.values[0, 1])
        for own, step in steps.items()
    }
    assert sum(epsilon.values()) == pytest.approx(math.log((N - 1) / 49) / 2, rel=1e-6)
    kept = (math.exp(epsilon["sex", "age"]) - 1) / (math.exp(epsilon["sex", "age"]) + 9)
    stays = float(steps["sex", "age"].matrix.diagonal[0])
    assert stays == pytest.approx(kept + (1 - kept) / 10, rel=1e-9)
    assert plan.attained[0].implies(pm.PkAnonymity(k=50))


def test_its_table_is_told_far_better() -> None:
    """The wanted table loses less than half of what two matrices lose."""
    apart = pm.design(SCHEMA, pm.PkAnonymity(k=50), records=N, method="retention")
    tied = pm.design(
        SCHEMA, pm.PkAnonymity(k=50), records=N, method=pm.Retention(joint=(("sex", "age"),))
    )
    assert error(tied, "sex", "age") < error(apart, "sex", "age") / 2


def test_errors_on_data_follow_the_joint_matrix() -> None:
    """By hand: the variance of each cell is that of keeping or replacing it, over retention."""
    plan = pm.design(
        SCHEMA, pm.PkAnonymity(k=20), data=PEOPLE, method=pm.Retention(joint=(("sex", "age"),))
    )
    counts = PEOPLE.group_by(["sex", "age"]).aggregate([([], "count_all")])["count_all"]
    share = counts.to_numpy() / N
    stays, other = next(s for s in plan.mechanism if len(s.columns) == 2).matrix.values[0, :2]
    variance = share * stays * (1 - stays) + (1 - share) * other * (1 - other)
    by_hand = np.sqrt(2 / (math.pi * N) * variance).sum() / (stays - other)

    found = errors_on_data(plan, OpenedTable.of_arrow(PEOPLE))
    assert dict(found.tables)["sex", "age"] == pytest.approx(by_hand, rel=1e-6)


def test_released_checked_and_undone(tmp_path: Path) -> None:
    """A stranger checks the release and its price, and gets the table back within its errors."""
    plan = pm.design(
        SCHEMA, pm.PkAnonymity(k=20), data=PEOPLE, method=pm.Retention(joint=("sex*age",)[0])
    )
    pm.protect(PEOPLE, plan, to=tmp_path / "out", seed=5)
    release = pm.load(tmp_path / "out")
    assert release.verify().valid
    found = release.crosstab("sex", "age", method="unbiased")
    truth = np.array([
        [np.sum((PEOPLE["sex"].to_numpy() == s) & (PEOPLE["age"].to_numpy() == a)) for a in "abcde"]
        for s in "FM"
    ])  # fmt: skip
    assert (np.abs(found.estimate - truth) < 4.5 * found.se).all()


def test_a_poor_plan_is_told_the_tie_and_its_gain() -> None:
    """The way names option and figures, and the design that it leads to has them."""
    asked = pm.Schema(SCHEMA.columns, tables=(("sex", "age"),))
    plan = pm.design(asked, pm.PkAnonymity(k=50), records=N, method="retention")
    way = suggest_changes(plan)[-1]
    assert way.how == "Add to the command: --method retention --joint 'sex*age'"
    again = pm.design(
        asked, pm.PkAnonymity(k=50), records=N, method=pm.Retention(joint=(("sex", "age"),))
    )
    assert way.error == pytest.approx(error(again, "sex", "age"))
    assert way.was == pytest.approx(error(plan, "sex", "age"))
    assert not any("Without 'sex'" in own.what for own in suggest_changes(plan))


def test_only_randomised_columns_can_be_tied() -> None:
    """One line with the name and the keys."""
    with pytest.raises(pm.InvalidSchema, match="'income' is none of sex, age, job"):
        pm.design(
            SCHEMA, pm.PkAnonymity(k=5), records=N, method=pm.Retention(joint=(("sex", "income"),))
        )
