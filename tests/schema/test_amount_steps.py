"""Amounts leave in steps or bins that keep zeros apart, with the cost of both in words."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.protecting import trial_release

N = 6_000


def spending() -> pa.Table:
    """A look-alike of medical costs: a fifth none, half below 1,000, and some above 100,000."""
    rng = np.random.default_rng(9)
    cost = np.round(rng.lognormal(7, 1.9, N)) * (rng.random(N) > 0.2)
    return pa.table({"sex": rng.choice(["F", "M"], N), "area": rng.integers(1, 7, N), "cost": cost})


def test_few_amounts_become_zero_and_means_by_keys_stay():
    """At most 2 % of the amounts, and the stated cost is what a count gives."""
    table = spending()
    found = pm.describe(table, keys=["sex", "area"])
    (profile,) = (profile for profile in found.profiles if profile.name == "cost")
    assert profile.role is pm.Role.SENSITIVE
    assert "this changes means by the keys by" in profile.why
    plan = pm.design(found.schema, pm.PkAnonymity(k=5), data=table)
    released = trial_release(table, plan, seed=1).table["cost"].to_numpy()
    exact = table["cost"].to_numpy()
    assert (exact > 0).sum() - (released > 0).sum() <= 0.02 * (exact > 0).sum()
    assert released.mean() == pytest.approx(exact.mean(), rel=0.05)
    assert len(np.unique(released)) < 60


def test_codes_below_zero_of_an_amount_are_missing():
    """An income of -8 is none: it would lower every mean."""
    rng = np.random.default_rng(3)
    income = rng.integers(10, 900, N) * 10
    income[rng.random(N) < 0.1] = -8
    found = pm.describe(pa.table({"sex": rng.integers(0, 2, N), "income": income}), keys=["sex"])
    assert found.column("income").recoding.missing_codes == (-8,)
