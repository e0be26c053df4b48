"""Values that tables rarely hold, in every verb that a steward begins with."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.errors import InvalidTable
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {".x", "a.b", "moments", "times of day", "v"}

N = 300
DRAW = np.random.default_rng(1)
ODD = {
    "halves": pa.array(DRAW.normal(size=N).astype(np.float16)),
    "singles": pa.array(DRAW.normal(size=N).astype(np.float32)),
    "both zeros and nan": pa.array(DRAW.choice([-0.0, 0.0, math.nan, 1.5], N)),
    "infinite": pa.array(DRAW.choice([math.inf, 1.0, 2.0], N)),
    "times of day": pa.array(DRAW.integers(0, 86_400, N), pa.int32()).cast(pa.time32("s")),
    "dates in milliseconds": pa.array(DRAW.integers(0, 9, N) * 86_400_000).cast(pa.date64()),
    "moments": pa.array(DRAW.integers(0, 10**9, N)).cast(pa.timestamp("s")),
    "long decimals": pa.array(DRAW.integers(0, 99, N)).cast(pa.decimal256(50, 3)),
    "long numbers": pa.array([9_151_314_442_816_847_875, *range(N - 1)]),
    "views": pa.array(DRAW.choice(["a", "b"], N)).cast(pa.string_view()),
}


@pytest.mark.parametrize("name", ["v", ".x", "a.b"])
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.deep(every=4)
def test_they_are_described_released_and_found_again(tmp_path, kind, name):
    """And a sound release is called sound, also under names with dots."""
    truth = pa.table({"sex": DRAW.choice(["F", "M"], N), name: ODD[kind]})
    assert name in pm.describe(truth).names
    columns = (Column("sex", Role.KEY, Categories(("F", "M"))), Column(name, Role.SENSITIVE))
    plan = pm.design(Schema(columns), pm.PkAnonymity(k=2), data=truth, method="retention")
    pm.protect(truth, plan, to=tmp_path / "r")
    verdict = pm.verify(tmp_path / "r", original=truth)
    assert verdict.valid, [check for check in verdict.checks if not check.ok]


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_they_are_found_again_from_files(tmp_path, form):
    """A file gives them back in types of its own, which other functions may not know."""
    truth, path = pa.table({"sex": DRAW.choice(["F", "M"], N), **ODD}), tmp_path / f"t.{form}"
    pq.write_table(truth, path) if form == "parquet" else pa.feather.write_feather(truth, path)
    assert set(pm.describe(path).names) == {"sex", *ODD}
    columns = [Column(name, Role.SENSITIVE) for name in ODD]
    schema = Schema((Column("sex", Role.KEY, Categories(("F", "M"))), *columns))
    pm.protect(path, pm.design(schema, pm.PkAnonymity(k=2), data=path), to=tmp_path / "r")
    verdict = pm.verify(tmp_path / "r", original=path)
    assert verdict.valid, [check for check in verdict.checks if not check.ok]


@pytest.mark.parametrize(
    "values", [[-math.inf] * N, [-math.inf, math.inf] * (N // 2), [math.nan] * N,
               [*(np.linspace(-0.9, 0.9, N - 1) * 1.7e308), math.inf]]
)  # fmt: skip
def test_numbers_without_bins_are_refused_by_the_name_of_their_column(values):
    """There is nothing to cut, or no step that is a number."""
    with np.errstate(all="ignore"), pytest.raises(InvalidTable, match="'pay'"):
        pm.describe(pa.table({"sex": ["F", "M"] * (N // 2), "pay": values}), keys=["sex", "pay"])


def test_numbers_that_no_float_holds_are_described():
    """Every number but one is its own, so that ranks are asked for."""
    ages = [9_151_314_442_816_847_875, *range(39)]
    names = [f"n{at}" for at in range(40)]
    table = pa.table({"name": names, "sex": ["F", "M"] * 20, "age": ages, "income": names})
    assert pm.describe(table).names == ("name", "sex", "age", "income")


@pytest.mark.parametrize(
    ("values", "role", "method", "form"),
    [
        (pa.array([918_273_600_000_000_000] * N, pa.timestamp("s")), Role.SENSITIVE, None, None),
        (pa.array([2_147_483_640] * N, pa.date32()), Role.PUBLIC, pm.Invariant(stay=0.5), None),
        (pa.array([2_147_483_640] * N, pa.date32()), Role.SENSITIVE, None, "sav"),
    ],
    ids=["leaving", "counted", "written"],
)
def test_times_that_nothing_holds_are_refused_and_not_told(tmp_path, values, role, method, form):
    """Words of a library would quote the time, or its year."""
    truth = pa.table({"sex": DRAW.choice(["F", "M"], N), "seen": values})
    schema = Schema((Column("sex", Role.KEY, Categories(("F", "M"))), Column("seen", role)))
    asked = () if method else (pm.PkAnonymity(k=2),)
    with pytest.raises(InvalidTable, match="dates and times") as found:
        pm.protect(
            truth,
            pm.design(schema, *asked, data=truth, method=method or "retention"),
            to=tmp_path / "r",
            file_format=form,
        )
    assert not any(digits in str(found.value) for digits in ("9182736", "58815", "21474836"))
