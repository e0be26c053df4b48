"""What tables are off by on the data at hand: expected over the draws, as measured."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana import api

RECORDS, RELEASES = 2_000, 60


def people(seed=3):
    """Nearly everybody is in a few cells; no child is married."""
    rng = np.random.default_rng(seed)
    age = rng.choice(["child", "adult", "old"], RECORDS, p=[0.1, 0.85, 0.05])
    married = np.where((age != "child") & (rng.random(RECORDS) < 0.9), "yes", "no")
    size = rng.choice([1, 2, 3, 4, 5], RECORDS, p=[0.9, 0.07, 0.01, 0.01, 0.01])
    return pa.table({"age": age, "married": married, "size": size})


def schema(*, tied):
    """Three keys, two of them tied or not."""
    columns = (
        pm.Column("age", pm.Role.KEY, pm.Categories(("child", "adult", "old"))),
        pm.Column("married", pm.Role.KEY, pm.Categories(("yes", "no"))),
        pm.Column("size", pm.Role.KEY, pm.Categories((1, 2, 3, 4, 5))),
    )
    rule = pm.Impossible.of({"age": ["child"], "married": ["yes"]})
    return pm.Schema(columns, (rule,) if tied else ())


def distance(true, found, names):
    """How far an estimate is from the numbers of people who have these values, cell by cell."""
    cells = itertools.product(*([*map(str, labels)] for labels in found.labels))
    told = dict(zip(cells, found.estimate.ravel().tolist(), strict=True))
    assert not true[names].keys() - told.keys()
    return sum(abs(own - true[names][cell]) for cell, own in told.items()) / RECORDS


def truth(table, *asked):
    """How many people have which values, of each table that is asked for."""
    return {
        names: Counter(zip(*(map(str, table[name].to_pylist()) for name in names), strict=True))
        for names in asked
    }


def measured(table, plan):
    """The distances of unbiased pairs from the truth, release by release."""
    off = {pair: [] for pair in itertools.combinations(table.column_names, 2)}
    true = truth(table, *off)
    for seed in range(RELEASES):
        release = pm.protect(table, plan, seed=seed)
        for pair, errors in off.items():
            errors.append(distance(true, release.crosstab(*pair, method="unbiased"), pair))
    return off


@pytest.mark.parametrize("tied", [False, True], ids=["free", "tied"])
@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
@pytest.mark.deep
def test_each_table_is_off_by_what_is_foreseen(method, tied):
    """Within 10 % on average, and each within chance, though these are far from even."""
    table = people()
    plan = pm.design(
        schema(tied=tied), pm.DifferentialPrivacy(epsilon=5), data=table, method=method
    )
    here = dict(api.errors_on_data(plan, api.open_source(table, schema=plan.schema)).tables)

    off = {pair: np.array(errors) / here[pair] for pair, errors in measured(table, plan).items()}
    for pair, ratios in off.items():
        assert abs(ratios.mean() - 1) <= 4 * ratios.std() / RELEASES**0.5, pair
    assert np.mean([*off.values()]) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
def test_tables_with_kept_columns_are_foreseen_as_they_are_measured(method):
    """One column released unchanged in the table: its groups are told one by one."""
    table, stated = people(), (("size", "married"), ("married", "age", "size"))
    columns = [*schema(tied=False).columns]
    columns[2] = pm.Column("size", pm.Role.SENSITIVE)
    kept = pm.Schema(tuple(columns), tables=stated)
    plan = pm.design(kept, pm.DifferentialPrivacy(epsilon=3), data=table, method=method)
    here = api.errors_on_data(plan, api.open_source(table, schema=plan.schema))
    ratios, true = {one: [] for one in stated}, truth(table, *stated)
    for seed in range(RELEASES // 3):
        release = pm.protect(table, plan, seed=seed)
        for one in stated:
            off = distance(true, release.crosstab(*one, method="unbiased"), one)
            ratios[one].append(off / dict(here.tables)[one])

    assert here.asked == stated
    for one, own in ratios.items():
        assert np.mean(own) == pytest.approx(1, abs=0.1), one


def test_none_is_foreseen_where_no_law_is_known():
    """Of groups."""
    table = people()
    method = pm.Resample(allow_unchanged=True)
    grouped = pm.design(schema(tied=False), pm.KAnonymity(k=3), data=table, method=method)

    assert api.errors_on_data(grouped, api.open_source(table, schema=grouped.schema)) is None
