"""Numbers that left in bins, cut at the ends or rounded: what is said of their values."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from pramana import api
from pramana.errors import NotCovered
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.methods.frequency_preserving import Invariant
from pramana.schema.domains import Bins, Categories
from pramana.schema.recoding import Recoding
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"cut", "pay"}

PAY = np.array([1.0, 4, 9, 10, 15, 19, 20, 35, 60, 100] * 40)
PEOPLE = pa.table({"sex": ["f", "m"] * 200, "pay": PAY, "cut": PAY})
EDGES = (0, 10, 20, 100)
KINDS = {
    "retention": (DifferentialPrivacy(epsilon=2),),
    "attribute-sampling": (DifferentialPrivacy(epsilon=2),),
    "resample": (KAnonymity(k=5),),
    "invariant": (),
}


@cache
def released(kind: str, how: str):
    """Pay in bins, and once more, cut at 4 and at 60."""
    schema = Schema((
        Column("sex", Role.KEY, Categories(("f", "m"))),
        Column("pay", Role.SENSITIVE, Bins(EDGES, how)),
        Column("cut", Role.SENSITIVE, recoding=Recoding(bottom=4, top=60)),
    ))  # fmt: skip
    method = Invariant(stay=0.6) if kind == "invariant" else kind
    plan = api.design(schema, *KINDS[kind], data=PEOPLE, method=method)
    return api.protect(PEOPLE, plan, seed=1)


@pytest.mark.parametrize("how", ["centre", "draw"])
@pytest.mark.parametrize("kind", KINDS)
def test_values_of_bins_have_no_error(kind, how):
    """A mean of centres is off by an amount that the release does not tell, and says so."""
    release = released(kind, how)
    for found in (release.mean("pay"), release.total("pay"), release.quantile("pay", 0.5)):
        assert np.isfinite(found.estimate).all()
        assert np.isnan([found.se, found.low, found.high]).all()
        assert "released in bins" in found.no_interval
    with pytest.raises(NotCovered, match="'pay' was released in bins"):
        release.regress("pay ~ 1")


@pytest.mark.parametrize("how", ["centre", "draw"])
@pytest.mark.parametrize("kind", KINDS)
def test_shares_at_edges_are_exact_and_others_refused(kind, how):
    """By plain counting of the truth: each bin holds its lower edge, the last one both."""
    release = released(kind, how)
    for told, right in {
        "pay>=10": 0.7, "pay<10": 0.3, "pay>=20": 0.4, "pay>=0": 1, "pay<=100": 1, "pay>100": 0,
        "pay>=200": 0, "pay>-5": 1,
    }.items():  # fmt: skip
        assert release.proportion(told).estimate == pytest.approx(right)
    assert release.total("cut", where=["pay<10"]).estimate == pytest.approx(40 * (4 + 4 + 9))
    for wrong in ("pay>=15", "pay>10", "pay<=20", "pay>=100", "pay<100"):
        with pytest.raises(NotCovered, match="compare it by >= or < with one of 0, 10, 20, 100"):
            release.proportion(wrong)
        with pytest.raises(NotCovered, match="released in bins"):
            release.crosstab("sex", where=[wrong])
        with pytest.raises(NotCovered, match="released in bins"):
            release.independence("sex", "cut", where=[wrong])


def test_means_of_bins_by_groups_and_what_is_made_of_them():
    """Neither a difference nor a ratio has an interval, and the centre is a covariate as ever."""
    release = released("retention", "centre")
    means = release.mean("pay", by=["sex"])
    assert math.isnan(means.difference("f", "m").low)
    assert math.isnan(means.ratio("f", "m").high)
    centres = np.array([5.0, 15, 60])[np.digitize(PAY, EDGES[1:-1])]
    slope = np.polyfit(centres, PAY.clip(4, 60), 1)[0]
    assert release.regress("cut ~ pay").coefficients[1] == pytest.approx(slope)
    with pytest.raises(NotCovered, match="'pay' was released in bins"):
        released("retention", "draw").regress("cut ~ pay")


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_cut_is_said_and_not_compared_beyond(kind):
    """The number is that of the values as they left; who lies beyond is not told apart."""
    release = released(kind, "centre")
    for found in (release.mean("cut"), release.quantile("cut", 0.9), release.regress("cut ~ 1")):
        assert "As released: cut, below 4 set to 4; above 60 set to 60." in found.why
    assert release.mean("cut").estimate == pytest.approx(PAY.clip(4, 60).mean())
    assert release.proportion("cut>=60").estimate == pytest.approx(0.2)
    assert release.proportion("cut<=4").estimate == pytest.approx(0.2)
    for wrong in ("cut>60", "cut>=80", "cut<4", "cut<=1"):
        with pytest.raises(NotCovered, match="beyond are equal"):
            release.proportion(wrong)


def test_weights_that_were_cut_are_said_to_be():
    """Every answer that they weigh, and none that they do not."""
    table = PEOPLE.append_column("w", pa.array(PAY + 100))
    schema = Schema((
        Column("sex", Role.KEY, Categories(("f", "m"))),
        Column("pay", Role.SENSITIVE),
        Column("cut", Role.SENSITIVE),
        Column("w", Role.WEIGHT, recoding=Recoding(round=100)),
    ))  # fmt: skip
    plan = api.design(schema, DifferentialPrivacy(epsilon=2), data=table, method="retention")
    release = api.protect(table, plan, seed=1)
    words = "As released: w, rounded to multiples of 100."
    for found in (
        release.crosstab("sex"),
        release.mean("pay"),
        release.regress("pay ~ sex"),
        release.independence("sex", "cut"),
    ):
        assert words in found.why
    assert words not in release.crosstab("sex", weighted=False).why


def ages(*, integers: bool):
    """Whole years of age, randomised in bins, and an income that rises with age."""
    draw = np.random.default_rng(5)
    years = draw.integers(20, 60, 4_000)
    income = 100.0 * years + draw.normal(0, 10, 4_000)
    schema = Schema((
        Column("age", Role.KEY, Bins((20, 30, 40, 50, 59), integers=integers)),
        Column("income", Role.SENSITIVE),
    ))  # fmt: skip
    table = pa.table({"age": years, "income": income})
    plan = api.design(schema, DifferentialPrivacy(epsilon=8), method="retention", records=4_000)
    return api.protect(table, plan, seed=3)


def test_bins_of_whole_numbers_stand_for_the_middle_of_these():
    """Income at age 0 is 0: with centres half a unit too high it was -50, with a tight interval."""
    found = ages(integers=True).regress("income ~ age")
    assert found["Intercept"]["low"] < 0 < found["Intercept"]["high"]
    assert ages(integers=False).regress("income ~ age")["Intercept"]["high"] < 0


def test_a_model_says_that_centres_stand_for_bins_and_has_none_of_a_binned_response():
    """As means do: bins do not tell the mean of their values, and no interval covers that."""
    release = ages(integers=True)
    assert "centre of each bin represents the values of age" in release.regress("income ~ age").why
    assert "centre" not in release.regress("income ~ C(age)").why
    for formula in ("age ~ 1", "age ~ income"):
        with pytest.raises(NotCovered) as caught:
            release.regress(formula)
        assert caught.value.fields["column"] == "age"
