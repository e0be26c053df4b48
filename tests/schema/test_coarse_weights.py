"""A weight that singles people out: how coarse it must be, said so that it can be pasted."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.api import open_source
from pramana.errors import Infeasible, InvalidTable
from pramana.evaluation.schema_suggestions import changed_file
from pramana.schema.schema import Schema
from pramana.schema.tally import tally
from pramana.schema.weights import CoarseWeight, best_steps, coarse_weight, proposed_by

SCHEMA = """
[columns.sex]
role = "key"
categories = ["F", "M"]
[columns.w]
role = "weight"
"""


def people(seed=0, records=2_000):
    """Weights as those of a household survey: a long tail of values that one person has."""
    generator = np.random.default_rng(seed)
    weights = np.round(generator.lognormal(4.5, 0.7, records)).astype(np.int64)
    return pa.table({"sex": generator.choice(["F", "M"], records), "w": weights})


def in_steps(values, found):
    """The weights as a release would have them."""
    steps = np.maximum(np.floor(values / found.step + 0.5), values > 0) * found.step
    return np.minimum(steps, found.top)


def shared(values, found):
    """How many people share each value of a weight that is rounded and cut, the fewest."""
    return np.unique(in_steps(values, found), return_counts=True)[1].min()


def distance(values, found):
    """What is weighed up: how far weights are off, and three times how far their total is."""
    after = in_steps(values, found)
    off = np.sqrt(((after - values) ** 2).mean()) / values.std()
    return off, after.sum() / values.sum() - 1


@pytest.mark.parametrize("needed", [3, 10, 50])
def test_each_value_is_shared_and_no_other_step_would_do_better(needed):
    """Written out: every step and cut is tried on the people themselves."""
    values = np.asarray(people()["w"], dtype=float)
    found = best_steps(*np.unique(values, return_counts=True), needed)
    assert shared(values, found) >= needed
    assert distance(values, found) == pytest.approx((found.spread, found.shift), abs=1e-9)
    best = found.spread + 3 * abs(found.shift)
    for step in (10, 15, 20, 30, 40, 50, 60, 80, 100, 120):
        for top in range(step, 800, step):
            other = CoarseWeight(step, top, 0.0)
            if shared(values, other) >= needed:
                off, shift = distance(values, other)
                assert off + 3 * abs(shift) >= best - 1e-9


@pytest.mark.parametrize("width", [0.7, 1.2])
def test_the_total_is_kept_and_what_is_told_of_it_is_so(width):
    """Steps of the highest cut alone would nearly treble a total with a long tail."""
    values = np.round(np.random.default_rng(3).lognormal(4.5, width, 5_000))
    found = coarse_weight(*np.unique(values, return_counts=True))
    _, shift = distance(values, found)
    assert abs(shift) <= 0.05
    told = re.fullmatch(r"the sum of all weights is (\S+) % (more|less) than before", found.shifted)
    share = float(told[1]) / 100
    assert abs(shift) <= share < abs(shift) + 0.001
    assert told[2] == ("more" if shift > 0 else "less")


def test_one_in_fifty_shares_each_value_or_as_many_as_can():
    """Twenty who have no weight at all keep a value of their own: half as many, and half again."""
    values = np.asarray(people()["w"], dtype=float)
    assert shared(values, coarse_weight(*np.unique(values, return_counts=True))) >= 2_000 / 50
    some = np.where(np.arange(2_000) < 12, 0, values)
    found = coarse_weight(*np.unique(some, return_counts=True))
    assert 10 <= shared(some, found) <= 12


def test_the_refusal_says_it_and_what_it_says_leaves_more_than_noise():
    """The lines of the message go into the schema, as the command at its end would put them."""
    table = people()
    with pytest.raises(Infeasible) as found:
        pm.design(Schema.from_toml(SCHEMA), pm.PkAnonymity(10), data=table, method="retention")
    fields = found.value.fields
    assert found.value.code == "too-few-alike"
    assert (fields["column"], fields["coarser"]) == ("w", ("w",))

    text = changed_file(SCHEMA, coarsen=fields["coarser"], opened=open_source(table))
    rounded = fields["rounded"]
    coarse = Schema.from_toml(f"{SCHEMA}round = {rounded['round']}\ntop = {rounded['top']}\n")
    assert Schema.from_toml(text) == coarse
    made = pm.design(coarse, pm.PkAnonymity(10), data=table, method="retention")
    assert made.anonymity_set >= 40
    assert made.mechanism.steps[0].matrix.retention > 0.3


@pytest.mark.parametrize("given", [{}, {"weight": "w"}])
def test_describe_proposes_what_design_takes(given):
    """Step and cut, also of a weight that is given; the usual k is met by the schema as it is."""
    table = people()
    found = pm.describe(table, **given)
    text = changed_file(SCHEMA, coarsen=["w"], opened=open_source(table))
    assert found["w"].role is pm.Role.WEIGHT
    assert found["w"].recoding == Schema.from_toml(text)["w"].recoding
    assert found["w"].recoding.to_dict() == {"top": 350, "round": 50}
    assert {"round = 50", "top = 350"} <= set(found.to_toml().splitlines())
    assert pm.design(found, pm.PkAnonymity(20), data=table).anonymity_set >= 40

    (why,) = (own.why for own in found.profiles if own.name == "w")
    assert "few people share some weights: the sum of all weights is " in why


def test_describe_leaves_a_weight_alone_that_enough_people_share():
    """Twenty-one or more of each value, or as many as are asked for."""
    weights = [1.5] * 21 + [2.5] * 99
    table = pa.table({"sex": ["F", "M", "F"] * 40, "w": weights})
    assert not pm.describe(table, weight="w")["w"].recoding
    assert pm.describe(table, weight="w", k=22)["w"].recoding
    assert pm.describe(table.slice(1), weight="w")["w"].recoding

    alike = open_source(pa.table({"w": [1.5, 2.5] * 20}))
    assert proposed_by(tally(alike, ["w"])["w"], 5) is None


def test_no_step_will_do_where_too_few_have_a_weight():
    """Fewer people than needed, or weights below zero: nothing is proposed."""
    ones = np.ones(2, dtype=np.int64)
    assert coarse_weight(np.array([1.5, 2.5]), ones, 3) is None
    assert coarse_weight(np.array([-1.0, 2.5]), ones, 1) is None


def test_a_weight_that_is_coarse_enough_is_not_to_be_made_finer():
    """Where each value is shared by enough already, no step is proposed: 0.001 would be no help."""
    values, numbers = np.array([10_000.0, 20_000.0]), np.array([5, 4])
    assert coarse_weight(values, numbers, 4) is None
    assert coarse_weight(values, numbers, 5) is not None


@pytest.mark.parametrize("high", [1, 30])
@pytest.mark.parametrize("alike", [True, False])
def test_one_huge_weight_makes_nobody_else_count_for_it(high, alike):
    """A step of 1,500 kept the total, and had everyone who weighs 1 count 1,500 times."""
    values = np.ones(6_000) if alike else np.random.default_rng(5).gamma(3, 1, 6_000).round(3) + 0.2
    values[:high] = 1e6
    table = pa.table({"sex": ["F", "M"] * 3_000, "w": values})
    own = pm.describe(table, weight="w")["w"].recoding
    if alike and high > 1:  # enough share each of the two
        assert not own
        return
    after = in_steps(values, CoarseWeight(own.round, own.top, 0.0))
    assert np.median(after) == pytest.approx(np.median(values), rel=0.15)
    assert after[high:].mean() == pytest.approx(values[high:].mean(), rel=0.08)
    assert np.unique(after, return_counts=True)[1].min() >= 21


@pytest.mark.parametrize("verb", ["describe", "design", "protect"])
def test_infinite_weights_are_refused_with_what_to_do(verb, tmp_path):
    """One of them would be all that an answer says; as missing it counts nothing."""
    table = pa.table({"sex": ["F", "M"] * 50, "w": [1.5] * 99 + [float("inf")]})
    schema = Schema.from_toml(SCHEMA)
    fine = table.set_column(1, "w", pa.array([1.5] * 100))
    plan = pm.design(schema, pm.PkAnonymity(5), data=fine, method="retention")
    do = {
        "describe": lambda: pm.describe(table),
        "design": lambda: pm.design(schema, pm.PkAnonymity(5), data=table, method="retention"),
        "protect": lambda: pm.protect(table, plan),
    }
    with pytest.raises(
        InvalidTable, match=r"1 record has an infinite weight in 'w'.*leave it empty"
    ):
        do[verb]()
    empty = table.set_column(1, "w", pa.array([1.5] * 50 + [None] * 50))
    assert pm.design(schema, pm.PkAnonymity(5), data=empty, method="retention").records == 100
