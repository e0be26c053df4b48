"""Synthetic records come with a warning where the release says little about two columns."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.errors import Imprecise

COLUMNS = {"sex": ("F", "M"), "region": ("n", "e", "s", "w"), "work": ("yes", "no", "seeks")}


def released(retention: float) -> pm.Release:
    rng = np.random.default_rng(7)
    people = pa.table({name: rng.choice(values, 3000) for name, values in COLUMNS.items()})
    schema = pm.Schema(
        tuple(pm.Column(n, pm.Role.KEY, pm.Categories(v)) for n, v in COLUMNS.items())
    )
    plan = pm.design(schema, data=people, method=pm.Retention(retention=retention))
    return pm.protect(people, plan, seed=1)


def test_a_release_that_says_little_warns_with_the_error():
    """At a retention of .2 a cell of 250 has a standard error of more than a tenth."""
    release = released(0.2)
    table = release.crosstab("sex", "region", weighted=False)
    assert np.median(np.asarray(table.se) / np.asarray(table.estimate)) > 0.1
    with pytest.warns(Imprecise, match="Half of the records are in cells"):
        release.synthesize(seed=1)


def test_rare_cells_alone_do_not_warn():
    """Nine records in ten are in one cell, which is known well; the median counts records."""
    rng = np.random.default_rng(7)
    names = ("a", "b")
    people = pa.table(
        {name: rng.choice(list("xyzuvw"), 20_000, p=[0.95, *[0.01] * 5]) for name in names}
    )
    schema = pm.Schema(
        tuple(pm.Column(name, pm.Role.KEY, pm.Categories(tuple("xyzuvw"))) for name in names)
    )
    plan = pm.design(schema, data=people, method=pm.Retention(retention=0.5))
    release = pm.protect(people, plan, seed=1)
    table = release.crosstab(*names, weighted=False)
    assert np.median(table.se / table.estimate) > 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release.synthesize(seed=1)


def test_a_precise_release_does_not_warn():
    """Hardly any value is randomised."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        released(0.95).synthesize(seed=1)


def test_a_file_of_synthetic_records_comes_with_the_warning(tmp_path):
    """The command line shows it with the other notices."""
    with pytest.warns(Imprecise):
        released(0.2).write_synthetic(tmp_path / "synthetic.csv", seed=1)
