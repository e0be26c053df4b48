"""Tests of which sets of columns are asked for, and how often."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.base.rounding import TOTAL
from pramana.errors import InvalidNumber
from pramana.methods.attribute_sampling import report_shares, reported_tables, whole_weights
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

SIZES = {"a": 2, "b": 3, "c": 5, "d": 8, "e": 12}
PAIRS = dict.fromkeys(itertools.combinations(SIZES, 2), 1.0)


def cells(columns):
    return math.prod(SIZES[name] for name in columns)


def shares_at(gamma, tables=PAIRS, records=10_000):
    return report_shares(tuple(SIZES), tables, cells, gamma=gamma, records=records)


def objective(found, tables=PAIRS):
    return sum(
        weight * math.sqrt(cells(table) / found.information(table))
        for table, weight in tables.items()
    )


def test_it_is_the_least_error_of_all_shares():
    """No other shares of the same sets do better: by a general optimiser."""
    from scipy.optimize import minimize

    found = shares_at(20.0)
    kept = np.array(found.retentions)
    held = np.array([[set(t) <= set(s) for s in found.sets] for t in PAIRS])
    price = np.sqrt([cells(t) for t in PAIRS])

    def error(logs):
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        return float((price / np.sqrt((held * kept**2) @ shares)).sum())

    best = minimize(error, np.zeros(len(kept)), options={"maxiter": 500}).fun
    assert objective(found) <= best * 1.001


def test_pairs_alone_follow_the_closed_form():
    """Small gamma: no larger set pays, and shares go as (w sqrt(D) / p)^(2/3)."""
    gamma = 5.0
    found = shares_at(gamma)
    assert {len(asked) for asked in found.sets} == {2}
    price = np.array(
        [
            (math.sqrt(cells(s)) / p) ** (2 / 3)
            for s, p in zip(found.sets, found.retentions, strict=True)
        ]
    )
    np.testing.assert_allclose(found.shares, price / price.sum(), rtol=1e-3)


def test_larger_sets_come_with_larger_budgets():
    """Sets of three and more hold at most gamma cells, and lower the error."""
    found = shares_at(200.0)
    large = [asked for asked in found.sets if len(asked) > 2]
    assert large
    assert all(cells(asked) <= 200 for asked in large)
    price = sum(
        math.sqrt(cells(t)) ** (2 / 3) / ((199) / (199 + cells(t))) ** (2 / 3) for t in PAIRS
    )
    assert objective(found) < price**1.5


def test_without_limit_the_whole_record_is_asked():
    """At an endless budget one set of all columns is all that is needed."""
    found = shares_at(math.inf)
    assert found.information(("a", "b")) == pytest.approx(1, abs=0.02)


def test_what_is_asked_for_more_is_asked_more_often():
    """Weights move shares."""
    weighted = PAIRS | {("a", "e"): 20.0}
    assert shares_at(10.0, weighted).information(("a", "e")) > 2 * shares_at(10.0).information(
        ("a", "e")
    )


def test_a_table_too_large_is_asked_for_by_its_pairs():
    """A table of many cells cannot be reported whole; a small one can."""
    asked = reported_tables({("c", "d", "e"): 1.0, ("a", "b", "c"): 2.0}, cells, 60.0)
    assert asked == {("c", "d"): 1.0, ("c", "e"): 1.0, ("d", "e"): 1.0, ("a", "b", "c"): 2.0}


def test_columns_in_no_table_are_asked_for_too():
    """Every column of the release says something."""
    found = shares_at(10.0, {("a", "b"): 1.0})
    assert all(found.information((name,)) > 0 for name in SIZES)


@pytest.mark.parametrize("gamma", [3.0, 10.0, 30.0])
@pytest.mark.parametrize("tables", [{("c",): 1.0}, {("a", "b"): 1.0}, {("d", "e"): 2.0}])
def test_columns_in_no_table_cost_the_tables_little(tables, gamma):
    """A tenth of the records for them: the sum of errors is 1 / sqrt(0.9) of what it could be, and
    no more where larger sets hold them beside the table."""
    found = shares_at(gamma, tables)
    named = [name for name in SIZES if any(name in table for table in tables)]
    least = report_shares(named, tables, cells, gamma=gamma, records=10_000)

    assert objective(found, tables) <= objective(least, tables) / math.sqrt(0.9) * 1.01


def test_few_people_are_asked_for_single_columns():
    """Where pairs would drown, margins are asked for."""
    assert any(len(asked) == 1 for asked in shares_at(5.0, records=100).sets)
    assert not any(len(asked) == 1 for asked in shares_at(5.0, records=1_000_000).sets)


def test_expected_error_is_what_is_measured():
    """Truths spread evenly: within 10 % of the mean over releases."""
    found, records = shares_at(30.0), 20_000
    table, rng = ("d", "e"), np.random.default_rng(1)
    truth = np.full(96, records / 96)
    gaps = []
    for _ in range(30):
        weights, estimates = [], []
        for asked, share, kept in zip(found.sets, found.shares, found.retentions, strict=True):
            if set(table) <= set(asked):
                number = rng.binomial(records, share)
                some = rng.multivariate_hypergeometric(truth.round().astype(int), number)
                stay = rng.binomial(some, kept)
                seen = stay + rng.multinomial(number - stay.sum(), np.full(96, 1 / 96))
                estimates.append((seen / number - (1 - kept) / 96) / kept)
                weights.append(number * kept**2)
        estimate = np.average(estimates, axis=0, weights=weights)
        gaps.append(np.abs(estimate - 1 / 96).sum())
    assert found.error(table, 96, records=records) == pytest.approx(np.mean(gaps), rel=0.1)


def test_weights_are_integers_that_sum_to_one():
    """Over 2**64, none of them 0."""
    weights = whole_weights([0.3, 0.7 - 1e-30, 1e-30])
    assert sum(weights) == TOTAL
    assert min(weights) >= 1


def test_a_weight_of_nothing_is_refused():
    """A table that is not wanted is left out instead."""
    with pytest.raises(InvalidNumber, match="must be above 0"):
        reported_tables({("a", "b"): 0.0}, cells, 10.0)


def test_of_very_many_columns_single_columns_count():
    """All pairs of 201 columns would be 20,100 sets with almost no records each."""
    codes = pa.array([0, 1] * 200)

    def asked(columns):
        table = pa.table({f"c{i}": codes for i in range(columns)})
        domain = Categories((0, 1))
        keys = tuple(Column(name, Role.KEY, domain, "refuse") for name in table.column_names)
        plan = pm.design(Schema(keys), pm.PkAnonymity(k=2), data=table, method="attribute-sampling")
        return [each.columns for each in plan.mechanism.sets], " ".join(plan.notices)

    sets, notices = asked(20)
    assert min(map(len, sets)) >= 2
    assert "too many pairs" not in notices
    sets, notices = asked(201)
    assert {name for each in sets for name in each} == {f"c{i}" for i in range(201)}
    assert len(sets) <= 3_000
    assert "The 201 columns have too many pairs" in notices
