"""Sets that go with a column beside them were not drawn by chance."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import REPORTED
from pramana.verification.record_checks import independence_checks

N = 4_000


def looked_at(asked, income):
    """The checks of these sets beside a column of numbers and one of texts."""
    table = pa.table({REPORTED: asked, "income": income, "work": np.where(income > 1, "yes", "no")})
    checks = independence_checks(OpenedTable.of_arrow(table), ["income", "work"])
    return [check.ok for check in checks]


@pytest.mark.parametrize("share", [0.0, 0.15])
def test_sets_that_follow_a_column_are_found(share):
    """Chance alone passes (level 1e-6); a seventh of the records asked by their income does not."""
    rng = np.random.default_rng(1)
    income = rng.lognormal(size=N)
    asked = np.where(rng.random(N) < 0.5, "age*sex", np.where(rng.random(N) < 0.5, "age", "sex"))
    asked = np.where((rng.random(N) < share) & (income > 1), "sex", asked)

    assert looked_at(asked, income) == [share == 0] * 2


def test_a_stranger_sees_the_check(tmp_path):
    """One a column beside, and it holds for a release by reports; missing values are no matter."""
    rng = np.random.default_rng(2)
    income = [None if missing else value for missing, value in
              zip(rng.random(N) < 0.1, rng.normal(size=N), strict=True)]  # fmt: skip
    people = pa.table({"a": rng.integers(0, 4, N), "b": rng.integers(0, 3, N), "income": income})
    schema = pm.describe(people, keys=["a", "b"], sensitive=["income"])
    plan = pm.design(schema, pm.PkAnonymity(k=10), data=people, method="attribute-sampling")
    pm.protect(people, plan, to=tmp_path / "release")
    verdict = pm.verify(tmp_path / "release")

    assert verdict.valid
    assert [check.ok for check in verdict.checks if check.name == "attribute sets and income"] == [
        True
    ]
