"""Missing values in filters, in both spellings, of randomised columns and of those that are not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pramana import api
from pramana.analysis.question import conditions_of
from pramana.errors import InvalidNumber
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"kept", "pay"}

PEOPLE = pa.table(
    {
        "key": [None, "a", "b", "b"] * 50,
        "kept": [None, "missing", "x", "x"] * 50,
        "pay": pa.array([None, 1.0, 2.0, 3.0] * 50, pa.float64()),
    }
)


@pytest.fixture(scope="module")
def release():
    """Two hundred people, of whom fifty lack everything."""
    schema = Schema(
        (
            Column("key", Role.KEY, Categories(("a", "b")), missing="category"),
            Column("kept", Role.SENSITIVE),
            Column("pay", Role.SENSITIVE),
        )
    )
    plan = api.design(schema, DifferentialPrivacy(epsilon=3), data=PEOPLE, method="retention")
    return api.protect(PEOPLE, plan, seed=1)


@pytest.mark.parametrize("word", ["missing", ""])
def test_what_is_typed_for_missing_is_missing(release, word):
    """The word of the tables, or nothing: the same as None, also where it is excluded."""
    for name in ("key", "pay"):
        typed = release.crosstab("kept", where=[f"{name}={word}"], method="unbiased")
        assert typed.estimate == pytest.approx(
            release.crosstab("kept", where={name: None}, method="unbiased").estimate
        )
    assert release.total("pay", where=[f"key!={word}"]).estimate == pytest.approx(
        release.total("pay", where={"key": ["a", "b"]}).estimate
    )
    assert release.crosstab("key", where=[f"pay!={word}"]).records == 150
    assert release.crosstab("key", where=[f"pay={word}|2"]).records == 100


def test_a_text_that_reads_missing_is_found_beside_it(release):
    """Typed, the word is both; None is none alone, and the word in the other spelling a text."""
    counted = {
        "typed": release.crosstab("kept", where=["kept=missing"]),
        "none": release.crosstab("kept", where={"kept": None}),
        "text": release.crosstab("kept", where={"kept": "missing"}),
    }
    assert {name: float(own.estimate.sum()) for name, own in counted.items()} == {
        "typed": 100,
        "none": 50,
        "text": 50,
    }
    assert conditions_of(["pay>=missing"])[0].values == ("missing",)
    with pytest.raises(InvalidNumber, match="cannot be compared with text"):
        release.crosstab("key", where=["pay>=missing"])


def test_a_wide_table_keeps_both(release):
    """A column for the text and one for none, though both read alike."""
    wide = release.crosstab("key", "kept", method="unbiased").to_wide()
    assert wide.column_names == ["key", "kept=missing", "kept=x", "kept missing"]
    assert sum(map(sum, (wide[name].to_pylist() for name in wide.column_names[1:]))) == (
        pytest.approx(200)
    )
