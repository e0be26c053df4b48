"""Codes by which a survey says why there is no value are no numbers, in columns that are kept."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from pramana import api
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.methods.frequency_preserving import Invariant
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"pay", "years"}
SCHEMA = Schema(
    (
        Column("sex", Role.KEY, Categories(("f", "m"), missing_values=("x",))),
        Column("years", Role.SENSITIVE, Categories((1, 2, 3), missing_values=(97, 98))),
        Column("pay", Role.SENSITIVE),
    )
)
YEARS = [1, 2, 3, 2, 97, 98, None, 3]
PEOPLE = pa.table(
    {
        "sex": ["f", "m", "f", "m", "f", "m", "f", "x"] * 60,
        "years": pa.array(YEARS * 60, pa.int64()),
        "pay": [10.0, 20.0, 30.0, 22.0, 5.0, 5.0, 5.0, 28.0] * 60,
    }
)
MADE = {
    "retention": (DifferentialPrivacy(epsilon=4),),
    "attribute-sampling": (DifferentialPrivacy(epsilon=4),),
    "resample": (KAnonymity(k=5),),
    "invariant": (),
}
OWN = np.array([1, 2, 3, 2, 3] * 60, dtype=float)


@pytest.fixture(scope="module", params=MADE)
def release(request):
    """One release of each kind; years and pay are kept by all."""
    return released(request.param)


@cache
def released(name: str):
    """A release by one method."""
    method = Invariant(stay=0.6) if name == "invariant" else name
    return api.protect(PEOPLE, api.design(SCHEMA, *MADE[name], data=PEOPLE, method=method), seed=2)


def test_numbers_are_of_who_has_one(release):
    """By plain counting: 97 and 98 enter no mean, total, share, quantile, filter or model."""
    assert release.mean("years").estimate == pytest.approx(OWN.mean())
    assert release.total("years").estimate == pytest.approx(OWN.sum())
    assert release.proportion("years>=3").estimate == pytest.approx(0.4)
    assert release.quantile("years", 0.9).estimate == pytest.approx(3)
    assert release.total("pay", where=["years>=2"]).estimate == pytest.approx(100 * 60)
    pay = np.array([10.0, 20.0, 30.0, 22.0, 28.0] * 60)
    slope, start = np.polyfit(OWN, pay, 1)
    model = release.regress("pay ~ years")
    assert model.coefficients == pytest.approx([start, slope])
    assert model.records == 300
    assert release.regress("pay ~ C(years)").coefficients == pytest.approx([10.0, 11.0, 19.0])
    response = release.regress("years ~ 1")
    assert response.coefficients == pytest.approx([OWN.mean()])


def test_tables_keep_the_codes_apart_and_missing_too(release):
    """Each reason is a value of a table, and so is none at all, though no policy names it."""
    table = release.crosstab("years")
    assert table.labels == ((1, 2, 3, 97, 98, None),)
    assert table.estimate == pytest.approx(np.array([60, 120, 120, 60, 60, 60]))


def test_by_randomised_groups_and_in_models_of_them():
    """Means of years lie between 1 and 3; a model says who is left out of it."""
    for method in ("retention", "attribute-sampling"):
        made = released(method)
        means = made.mean("years", by=["sex"])
        assert 1 < means.cell("f")["estimate"] < 3
        assert 1 < means.cell("m")["estimate"] < 3
        assert "Records without sex are left out." in made.regress("pay ~ sex").note
        assert "left out" not in made.regress("pay ~ years").note
