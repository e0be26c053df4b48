"""Weighted counts and totals say how far rounded weights may be off."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pramana import api
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.schema.domains import Categories
from pramana.schema.recoding import Recoding
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from pramana.schema.weights import coarse_weight

FILES, LEAST = 25, 0.92
"""Of 160 intervals; 0.92 is less than two of its own errors below 0.95."""

REGIONS = ("n", "e", "s", "w")


def people(seed: int, records: int = 800):
    """Regions whose weights differ, and a key."""
    rng = np.random.default_rng(seed)
    region = rng.choice(4, records, p=[0.4, 0.3, 0.2, 0.1])
    level = rng.normal(0, 0.3, 4)
    weight = 100 * np.exp(level[region] + 0.6 * rng.normal(size=records))
    return pa.table(
        {
            "sex": np.array(["F", "M"])[rng.choice(2, records)],
            "region": np.array(REGIONS)[region],
            "hours": rng.integers(1, 40, records).astype(float),
            "weight": weight,
        }
    )


def jitter(seed: int, records: int = 800):
    """Parts of hours."""
    return np.random.default_rng(seed + 10_000).random(records)


def released(table: pa.Table, seed: int = 1):
    """With the step and the cut that a steward is offered."""
    weights = np.array(table["weight"])
    coarse = coarse_weight(weights, np.ones(len(weights), dtype=np.int64))
    assert coarse is not None
    schema = Schema(
        (
            Column("sex", Role.KEY, Categories(("F", "M"))),
            Column("region", Role.SENSITIVE, Categories(REGIONS)),
            Column("hours", Role.SENSITIVE),
            Column("weight", Role.WEIGHT, recoding=Recoding(round=coarse.step, top=coarse.top)),
        )
    )
    plan = api.design(schema, DifferentialPrivacy(epsilon=8), data=table, method="retention")
    return api.protect(table, plan, seed=seed)


@pytest.mark.parametrize("what", ["count", "total", "difference"])
@pytest.mark.deep
def test_intervals_of_weighted_counts_and_totals_hold_for_the_original_weights(what):
    """Of 25 files by 4 regions: 0.93 and more (the stated error was 0), and
    the stated error is less than twice the root mean square of the errors."""
    held, errors, stated = [], [], []
    for seed in range(40):
        table = people(seed)
        release = released(table)
        region, weight = np.array(table["region"]), np.array(table["weight"])
        values = np.array(table["hours"]) if what == "total" else np.ones(len(weight))
        right = np.array([(weight * values)[region == name].sum() for name in REGIONS])
        found = (
            release.total("hours", by=["region"]) if what == "total" else release.crosstab("region")
        )
        if what == "difference":
            gaps = [found.difference("n", name) for name in REGIONS[1:]]
            held += [g.low <= right[0] - r <= g.high for g, r in zip(gaps, right[1:], strict=True)]
            errors += [g.estimate - right[0] + r for g, r in zip(gaps, right[1:], strict=True)]
            stated += [g.se for g in gaps]
            continue
        held += list((found.low <= right) & (right <= found.high))
        errors += list(found.estimate - right)
        stated += list(found.se)

    assert np.mean(held) >= 0.93, np.mean(held)
    assert np.mean(stated) < 2 * np.sqrt(np.mean(np.square(errors)))


def quantile_of(values, weights, share):
    """The smallest value at which a share or more of the weights lies at or below it."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[order]) / weights.sum()
    return values[order][np.searchsorted(upto, share - 1e-12)]


def right_answers(what: str, table: pa.Table) -> np.ndarray:
    """Of the original weights, by region."""
    region, weight, sex, hours = (
        np.array(table[name]) for name in ("region", "weight", "sex", "hours")
    )
    found = []
    for name in REGIONS:
        own = region == name
        w, y = weight[own], hours[own]
        found.append(
            {
                "mean": lambda w=w, y=y: (w * y).sum() / w.sum(),
                "proportion": lambda w=w, y=y: w[y >= 25].sum() / w.sum(),
                "share": lambda w=w: w.sum() / weight.sum(),
                "row": lambda w=w, own=own: w[sex[own] == "F"].sum() / w.sum(),
                "quantile": lambda w=w, y=y: quantile_of(y, w, 0.3),
            }[what]()
        )
    return np.array(found)


ASKED = {
    "mean": lambda r: r.mean("hours", by=["region"]),
    "proportion": lambda r: r.proportion("hours>=25", by=["region"]),
    "share": lambda r: r.crosstab("region", share=True),
    "row": lambda r: r.crosstab("region", "sex", share="row"),
    "quantile": lambda r: r.quantile("hours", 0.3, by=["region"]),
}


@pytest.mark.parametrize("what", ASKED)
@pytest.mark.deep(every=5)
def test_intervals_of_means_shares_and_quantiles_hold_for_the_original_weights(what):
    """Of 25 files by 4 regions: 0.92 and more (the stated error was 0)."""
    held, errors, stated = [], [], []
    for seed in range(FILES):
        table = people(seed)
        table = table.set_column(2, "hours", pa.array(np.array(table["hours"]) + jitter(seed)))
        found, right = ASKED[what](released(table)), right_answers(what, table)
        figures = [found.low, found.high, found.estimate, found.se]
        if what == "row":
            figures = [own[:, 0] for own in figures]
        low, high, estimate, se = figures
        held += list((low - 1e-12 <= right) & (right <= high + 1e-12))
        errors += list(estimate - right)
        stated += list(se)
    assert "weights were rounded" in found.why
    assert np.mean(held) >= LEAST, np.mean(held)
    assert np.mean(stated) < 2 * np.sqrt(np.mean(np.square(errors)))


def test_the_error_is_there_and_named_only_where_weights_were_rounded():
    """A total of rounded weights had the standard error 0."""
    release = released(people(3))
    weighted, counted = release.crosstab("region"), release.crosstab("region", weighted=False)
    assert (weighted.se > 0).all()
    assert "weights were rounded" in weighted.why
    assert (counted.se == 0).all()
    assert "rounded" not in counted.why
    by_key = release.crosstab("sex")
    assert (by_key.se > 0).all()
    assert "weights were rounded" in by_key.why
