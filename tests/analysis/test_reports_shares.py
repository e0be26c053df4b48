"""Shares of reports among records that a filter on reported columns leaves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"w"}


def test_shares_by_kept_groups_have_the_error_of_a_ratio():
    """Groups answer by themselves: of T1 / (T1 + T2) the error is that of the delta method, from
    the errors of the two counts; and shares within a row sum to one."""
    rng = np.random.default_rng(8)
    people = pa.table(
        {
            "a": rng.choice(["x", "y", "z"], 3000, p=[0.5, 0.3, 0.2]),
            "b": rng.choice(["u", "v"], 3000),
            "place": rng.choice(["north", "south"], 3000, p=[0.7, 0.3]),
        }
    )
    keys = [pm.Column(name, pm.Role.KEY, pm.Categories(values), missing="refuse")
            for name, values in (("a", ("x", "y", "z")), ("b", ("u", "v")))]  # fmt: skip
    schema = pm.Schema((*keys, pm.Column("place", pm.Role.PUBLIC)))
    plan = pm.design(schema, pm.PkAnonymity(k=5), data=people, method="attribute-sampling")
    release = pm.protect(people, plan, seed=2)

    counts = release.crosstab("place", where={"a": "y"}, method="unbiased")
    found = release.crosstab("place", where={"a": "y"}, method="unbiased", share=True)
    (one, two), (first, second) = counts.estimate, counts.se**2
    expected = np.sqrt(two**2 * first + one**2 * second) / (one + two) ** 2

    assert found.estimate == pytest.approx([one / (one + two), two / (one + two)])
    assert found.se == pytest.approx([expected, expected])
    rows = release.crosstab("a", "place", method="unbiased", share="row")
    assert rows.estimate.sum(axis=1) == pytest.approx(np.ones(3))
    assert rows.cell("y", "north")["se"] == pytest.approx(expected)

    assert release.crosstab("reported").estimate.sum() == 3000
    for ask in (
        lambda: release.crosstab("a", "reported"),
        lambda: release.crosstab("a", where={"reported": "a*b"}),
        lambda: release.independence("a", "reported"),
    ):
        with pytest.raises(pm.NotCovered, match="'reported' names the columns of a record"):
            ask()


def test_shares_within_rows_of_a_table_from_the_model_are_those_of_the_table():
    """No filter was asked for, and none is refused; no interval is stated."""
    rng = np.random.default_rng(4)
    names = ("a", "b", "c")
    people = pa.table({name: rng.choice(["x", "y", "z"], 900) for name in names})
    keys = [pm.Column(n, pm.Role.KEY, pm.Categories(("x", "y", "z"))) for n in names]
    plan = pm.design(
        pm.Schema(tuple(keys)), pm.PkAnonymity(k=50), data=people, method="attribute-sampling"
    )
    release = pm.protect(people, plan, seed=2)
    table = release.crosstab(*names).estimate

    for share, place in (("row", 0), ("column", 2)):
        found = release.crosstab(*names, share=share)
        axes = tuple(at for at in range(3) if at != place)
        assert found.method == "model"
        assert found.what == f"share within {names[place]}"
        assert found.estimate == pytest.approx(table / table.sum(axis=axes, keepdims=True))
        assert np.isnan(found.low).all()
        assert found.no_interval
    with pytest.raises(pm.NotCovered, match="nor filters"):
        release.crosstab(*names, where={"a": "x"}, share="row")


def test_weighted_shares_add_up_and_their_intervals_hold():
    """They were shares of the known sum of weights, and came out as 0.9 to 1.1 together."""
    rng = np.random.default_rng(8)
    sex = rng.choice(["f", "m"], 1_500)
    weight = np.where(sex == "m", 9.0, 1.0) * rng.choice([1.0, 2.0], 1_500)
    job = rng.choice(["x", "y", "z"], 1_500)
    truth = pa.table({"sex": sex, "job": job, "w": weight})
    schema = pm.Schema(
        (
            pm.Column("sex", pm.Role.KEY, pm.Categories(("f", "m"))),
            pm.Column("job", pm.Role.KEY, pm.Categories(("x", "y", "z"))),
            pm.Column("w", pm.Role.WEIGHT),
        ),
        tables=(("sex",), ("job",)),
    )
    plan = pm.design(schema, pm.PkAnonymity(3), data=truth, method="attribute-sampling")
    share = weight[sex == "f"].sum() / weight.sum()
    held = []
    for seed in range(60):
        release = pm.protect(truth, plan, seed=seed)
        found = release.crosstab("sex", share=True, method="unbiased")
        told = release.crosstab("sex", share=True)
        assert found.estimate.sum() == pytest.approx(1)
        assert told.estimate.sum() == pytest.approx(1)
        held.append(found.low[0] <= share <= found.high[0])
    assert "nearly unbiased" in found.why
    assert np.mean(held) > 0.85  # four standard errors below 0.95
