"""Numbers that are drawn inside bins: what the owner can see of how they were made."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana import api
from pramana.io.opening import open_table
from pramana.verification.fit_tests import drawn_inside_bins

RECORDS = 3_000
BINS = pm.Bins((0, 20_000, 40_000, 100_000), release="draw")
INCOME = pm.Column("income", pm.Role.SENSITIVE, BINS, missing="refuse")
SEX = pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")), missing="refuse")


def people(whole: bool, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    income = np.round(rng.lognormal(10, 0.4, RECORDS).clip(1, 99_000), 0 if whole else 2)
    return pa.table(
        {"sex": rng.choice(["F", "M"], RECORDS), "income": income.astype("i8" if whole else "f8")}
    )


def checks(released: pa.Table, original: pa.Table, level: float = 1e-6):
    return drawn_inside_bins(INCOME, open_table(released), open_table(original), level=level)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("share", [0.59, 0.05])
def test_original_numbers_left_in_their_bins_are_found(whole, share):
    """59 % of incomes to the cent, and few of them; where numbers are drawn nothing is found."""
    truth = people(whole)
    plan = pm.design(pm.Schema((SEX, INCOME)), pm.PkAnonymity(k=20), data=truth)
    release = api.protect(truth, plan, seed=2)
    sound = checks(release.table, truth)
    assert sound.ok

    old, new = truth["income"].to_numpy(), release.table["income"].to_numpy().copy()
    rng = np.random.default_rng(3)
    for low, high in zip(BINS.edges, BINS.edges[1:], strict=False):
        places = np.flatnonzero((new >= low) & (new < high))
        places = rng.permutation(places)[: int(share * len(places))]
        new[places] = rng.choice(old[(old >= low) & (old < high)], len(places), replace=False)
    assert not checks(pa.table({"income": new}), truth).ok or (whole and share < 0.1)


def test_numbers_that_are_nearly_the_original_ones_are_found():
    """A cent added to each income is no draw."""
    truth = people(whole=False)
    near = pa.table({"income": truth["income"].to_numpy() + 0.001})
    assert not checks(near, truth).ok


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.deep(every=2)
def test_drawn_numbers_are_called_undrawn_less_often_than_the_level(whole):
    """200 sound releases at a level of 5 %: an e-value stays below it, mostly far below."""
    truth = people(whole)
    rng = np.random.default_rng(5)
    edges = np.array(BINS.edges)
    place = np.searchsorted(edges, truth["income"].to_numpy(), side="right") - 1
    failed = 0
    for _ in range(200):
        new = rng.uniform(edges[place], edges[place + 1])
        new = pa.table({"income": np.floor(new).astype("i8") if whole else new})
        failed += not checks(new, truth, level=0.05).ok
    assert failed <= 10


def test_the_owner_is_told_by_verify(tmp_path):
    """The check is one of the statistical tests of a verdict with the original."""
    truth = people(whole=False)
    plan = pm.design(pm.Schema((SEX, INCOME)), pm.PkAnonymity(k=20), data=truth)
    pm.protect(truth, plan, to=tmp_path / "release")
    verdict = pm.verify(tmp_path / "release", original=truth)
    (check,) = [c for c in verdict.checks if c.name == "numbers inside the bins of income"]
    assert (str(check.kind), str(check.state)) == ("statistical test", "passed")
    assert verdict.valid
    assert verdict.counts["guarantees_proven"] == sum(
        str(c.kind) == "guarantee" and str(c.state) == "passed" for c in verdict.checks
    )
    unchanged = [c for c in verdict.checks if c.name == "income in its bins"]
    assert str(unchanged[0].kind) == "unchanged column"
