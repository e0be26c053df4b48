"""An empty text and no text are two things, in every filter and table."""

from __future__ import annotations

import pyarrow as pa
import pytest

import pramana as pm

VALUES = ["", None, "x", "", "", "NA"]
NUMBERS = [1.0, None, 2.0, None, 1.0, None]
TABLE = pa.table({"k": ["", None, "p", "p", "p", "q"] * 50, "g": VALUES * 50, "n": NUMBERS * 50})
SCHEMA = pm.Schema(
    (
        pm.Column("k", pm.Role.KEY, pm.Categories(("", "p", "q")), missing="category"),
        pm.Column("g", pm.Role.SENSITIVE),
        pm.Column("n", pm.Role.SENSITIVE),
    )
)

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"g", "n"}


@pytest.fixture(scope="module")
def release():
    """Nothing changes, so that counts are those of the truth."""
    plan = pm.design(SCHEMA, data=TABLE, method=pm.Retention(retention=1))
    return pm.protect(TABLE, plan, seed=1)


COUNTS = [
    ({"g": ""}, 150), ({"g": None}, 50), ({"g": ["", None]}, 200), (["g="], 200), (["g!="], 100),
    ({"n": None}, 150), ({"n": [1, None]}, 250), ({"k": ""}, 50), ({"k": None}, 50),
    ({"k": ["", None]}, 100), (["k="], 100), (["k!="], 200), (["k!=p"], 150), (["g!=x"], 250),
    (["g=|x"], 250), (["n!=1"], 200),
]  # fmt: skip


@pytest.mark.parametrize(("where", "records"), COUNTS, ids=str)
def test_a_filter_tells_an_empty_text_from_none(release, where, records):
    """``None`` is missing, ``""`` an empty text; on a command line ``g=`` is both."""
    found = release.crosstab("k", where=where, method="unbiased")
    assert sum(found.estimate) == pytest.approx(records)


def test_rows_of_a_table_tell_an_empty_text_from_none(release):
    """Percentages within each value of a kept column."""
    found = release.crosstab("g", "k", share="row", method="unbiased")
    assert found.cell("", "")["estimate"] == pytest.approx(1 / 3)
    assert found.cell(None, None)["estimate"] == pytest.approx(1)
