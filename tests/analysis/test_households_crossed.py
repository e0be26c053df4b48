"""Every verb of an analyst on releases of households: the same answers, no word of the number."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from pramana import api
from pramana.errors import NotCovered, UnknownColumn
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from tests.analysis.releases import DESIGNS, RECORDS, SCHEMA, truth
from tests.analysis.test_crossing import QUESTIONS, REFUSED, ask, due

HOUSEHOLDS = Schema((*SCHEMA.columns, Column("hh", Role.IDENTIFIER)), household="hh")
METHODS = ("retention", "attribute-sampling", "optimal", "invariant", "resample", "permute")


@cache
def released(method: str, *, households: bool):
    """The same people with one seed, by threes in households or not."""
    table, schema = truth(), SCHEMA
    if households:
        number = np.random.default_rng(5).permutation(RECORDS) // 3
        table, schema = table.append_column("hh", pa.array(number)), HOUSEHOLDS
    asked, options = DESIGNS[method]
    plan = api.design(schema, *asked, data=table, **options)
    return api.protect(table, plan, seed=3)


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.deep(every=6)
def test_households_change_no_answer(method, name):
    """Promises to households are about what is known, not about what is drawn: each question has
    the answer, the error or the refusal that it has of the same people without a number."""
    ours, plain = (released(method, households=own) for own in (True, False))
    if due(method, name) == REFUSED:
        with pytest.raises(NotCovered):
            ask(ours, name)
        return
    found, right = (ask(own, name) for own in (ours, plain))
    for figure in ("estimate", "se", "low", "high", "coefficients", "covariance", "p_value"):
        if hasattr(right, figure):
            one, other = getattr(found, figure), getattr(right, figure)
            assert np.allclose(one, other, rtol=1e-9, atol=0, equal_nan=True)
    if isinstance(right, pa.Table):
        assert found.drop_columns([]).equals(right)


@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_a_household_cannot_be_asked_for(method):
    """It did not leave, and every verb says so."""
    release = released(method, households=True)
    assert "hh" not in release.table.column_names
    for verb in (
        lambda: release.crosstab("hh"),
        lambda: release.crosstab("ill", where={"hh": 1}),
        lambda: release.mean("hh"),
        lambda: release.total("inc", by=["hh"]),
        lambda: release.quantile("inc", 0.5, by=["hh"]),
        lambda: release.independence("ill", "hh"),
        lambda: release.regress("inc ~ hh"),
    ):
        with pytest.raises(UnknownColumn, match="'hh'"):
            verb()


def test_errors_about_a_population_say_that_they_know_no_households():
    """People of one household are alike, and no release tells who they are: errors as if people
    had been drawn one by one are too narrow then, which the answer says; about these records, and
    of a release without households, there is nothing to say."""
    ours, plain = (released("retention", households=own) for own in (True, False))
    for release, said in ((ours, True), (plain, False)):
        found = (release.crosstab("a", infer="population"), release.regress("inc ~ a"))
        assert all(("too narrow where households were" in own.note) == said for own in found)
        assert "households" not in release.crosstab("a").note
