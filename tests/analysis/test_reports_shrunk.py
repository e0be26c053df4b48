"""The default estimate of a table of reports: no dependence that noise alone would make."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.errors import NotCovered
from pramana.evaluation.utility import cramers_v
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Impossible, Schema

N = 2_000
SIZES = {"a": 6, "b": 5, "c": 4}
SCHEMA = Schema(
    tuple(
        Column(name, Role.KEY, Categories(tuple(range(size))), missing="refuse")
        for name, size in SIZES.items()
    )
)


def releases_of(truth, schema, *, k, times):
    """Releases by reports of all pairs."""
    plan = pm.design(schema, pm.PkAnonymity(k=k), records=N, method="attribute-sampling")
    return [pm.protect(truth, plan, seed=seed) for seed in range(times)]


def counted(truth):
    """The true table of a and b."""
    found = np.zeros((6, 5))
    np.add.at(found, (truth["a"].to_numpy(), truth["b"].to_numpy()), 1)
    return found


@pytest.fixture(scope="module")
def independent():
    """Three columns that have nothing to do with each other."""
    rng = np.random.default_rng(1)
    return pa.table(
        {name: rng.choice(size, N, p=rng.dirichlet(np.full(size, 3.0)))
         for name, size in SIZES.items()}
    )  # fmt: skip


def test_independent_columns_stay_nearly_independent(independent):
    """k = 20: the undone table is off by half of the people and shows a V of 0.2 and more; the
    default is nearer to the truth, adds up, and keeps the unbiased one and its errors beside it."""
    truth, strengths, errors, held = counted(independent), [], [], []
    for release in releases_of(independent, SCHEMA, k=20, times=20):
        found, plain = release.crosstab("a", "b"), release.crosstab("a", "b", method="unbiased")
        strengths.append([cramers_v(found.estimate), cramers_v(np.maximum(plain.estimate, 0))])
        errors.append([np.abs(own.estimate - truth).sum() / N for own in (found, plain)])
        held.append((found.low <= truth) & (truth <= found.high))

        assert found.method == "shrunk"
        assert np.array_equal(found.unbiased, plain.estimate)
        assert np.array_equal(found.se, plain.se)
        assert found.estimate.min() >= 0
        assert found.estimate.sum() == pytest.approx(N)
        assert ((found.low <= found.estimate) & (found.estimate <= found.high)).all()

    (default, undone), worst = np.mean(strengths, axis=0), np.max(strengths, axis=0)[0]
    assert default < 0.05 < 0.2 < undone
    assert worst < 0.35
    assert np.mean(errors, axis=0)[0] < np.mean(errors, axis=0)[1] / 2
    assert 0.93 < np.mean(held) < 0.98


def test_strong_dependence_is_followed():
    """V 0.6 along a diagonal, k = 3: as near as undoing, and nearer than margins by far."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 6, N)
    truth = pa.table({"a": a, "b": np.clip(a - rng.integers(0, 2, N), 0, 4),
                      "c": rng.integers(0, 4, N)})  # fmt: skip
    table, errors = counted(truth), []
    for release in releases_of(truth, SCHEMA, k=3, times=5):
        found = release.crosstab("a", "b", share=True)
        margins = np.outer(found.estimate.sum(axis=1), found.estimate.sum(axis=0))
        errors.append([np.abs(own - table / N).sum()
                       for own in (found.estimate, found.unbiased, margins)])  # fmt: skip

    default, undone, margins = np.mean(errors, axis=0)
    assert default < 1.05 * undone
    assert default < margins / 3


def test_what_cannot_be_is_not_estimated_and_small_errors_stay_unbiased(independent):
    """Impossible cells are 0, by group too; a table that is told well is undone; the method that a
    table names may be asked for, and a method of whole records is refused."""
    rule = Impossible((("a", (0,)), ("b", (0,))))
    kept = Column("g", Role.SENSITIVE, Categories(("x", "y")))
    schema = Schema((*SCHEMA.columns, kept), (rule,))
    b = np.where(independent["a"].to_numpy() == 0, 1, independent["b"].to_numpy())
    truth = independent.set_column(1, "b", pa.array(b))
    truth = truth.append_column("g", pa.array(["x", "y"] * (N // 2)))
    release = releases_of(truth, schema, k=50, times=1)[0]

    table, apart = release.crosstab("a", "b"), release.crosstab("g", "a")
    assert table.method == apart.method == "shrunk"
    assert table.estimate[0, 0] == 0
    assert table.estimate.min() >= 0
    assert apart.estimate.min() >= 0
    assert apart.estimate.sum(axis=1) == pytest.approx([N / 2, N / 2])
    with pytest.raises(NotCovered, match="for whole records"):
        release.crosstab("a", "b", method="clipped")
    assert release.crosstab("a", "b", method="shrunk").estimate == pytest.approx(table.estimate)
    plan = pm.design(
        SCHEMA, pm.DifferentialPrivacy(epsilon=9), records=N, method="attribute-sampling"
    )
    assert pm.protect(independent, plan, seed=1).crosstab("a").method == "unbiased"


@pytest.mark.parametrize("method", ["attribute-sampling", "retention"])
@pytest.mark.parametrize(("share", "axis"), [("row", 1), ("column", 0)])
def test_shares_within_rows_and_columns_are_those_of_the_table(independent, method, share, axis):
    """Shrunk where the table is shrunk, with the unbiased ones and their errors beside them."""
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=20), records=N, method=method)
    release = pm.protect(independent, plan, seed=1)
    table, found = release.crosstab("a", "b"), release.crosstab("a", "b", share=share)
    plain = release.crosstab("a", "b", share=share, method="unbiased")

    assert table.method in ("shrunk", "shrunk")
    assert found.method == table.method
    assert found.estimate == pytest.approx(
        table.estimate / table.estimate.sum(axis=axis, keepdims=True)
    )
    assert np.array_equal(found.se, plain.se)
    assert found.unbiased == pytest.approx(plain.estimate)
    assert ((found.low <= found.estimate) & (found.estimate <= found.high)).all()


def test_a_refusal_to_test_independence_says_what_is_true():
    """All values of a and b go together; c, which the same reports hold, has one that does not."""
    two = [Column(name, Role.KEY, Categories((0, 1)), missing="refuse") for name in "abc"]
    never = Impossible.of({"a": [0], "c": [0]})
    schema = Schema(tuple(two), impossible=(never,), tables=(("a", "b", "c"),))
    rng = np.random.default_rng(1)
    codes = {name: rng.integers(0, 2, N) for name in "abc"}
    people = pa.table(codes | {"c": np.where(codes["a"] == 0, 1, codes["c"])})
    plan = pm.design(schema, pm.PkAnonymity(k=2), records=N, method="attribute-sampling")
    release = pm.protect(people, plan, seed=1)

    assert any(len(one.columns) == 3 for one in release.certificate.mechanism.sets)
    with pytest.raises(NotCovered, match="have further columns"):
        release.independence("a", "b")
    with pytest.raises(NotCovered, match="combinations of a and c cannot exist"):
        release.independence("a", "c")
