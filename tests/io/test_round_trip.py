"""Every type of values in every format: read back as they were, or refused by name beforehand."""

from __future__ import annotations

import datetime
import decimal
import itertools

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.errors import PramanaError
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

RECORDS = 60
DAYS = [datetime.datetime(2000, 1, day) for day in (1, 2, 3)]
VALUES = {
    "small integers": pa.array([-128, 127, 0], pa.int8()),
    "large integers": pa.array([2**63 - 1, -(2**63), 0]),
    "unsigned integers": pa.array([2**64 - 1, 2**64 - 2, 0], pa.uint64()),
    "truth values": pa.array([True, False, True]),
    "dates": pa.array([day.date() for day in DAYS]),
    "times": pa.array(DAYS),
    "times in a zone": pa.array(DAYS, pa.timestamp("us", "UTC")),
    "hours": pa.array([datetime.time(1), datetime.time(2), None]),
    "decimals": pa.array([decimal.Decimal("0.0"), decimal.Decimal("0.1"), decimal.Decimal("1.0")]),
    "odd floats": pa.array([float("nan"), -0.0, 0.0]),
    "infinite": pa.array([float("inf"), float("-inf"), 1.5]),
    "halves": pa.array(np.array([0.5, 1, 2], np.float16)),
    "extreme": pa.array([5e-324, 1e308, -1e308]),
    "bytes": pa.array([b"\xff", b"a", b"b"]),
    "bytes of text": pa.array([b"c", b"a", b"b"]),
    "nothing": pa.nulls(3),
    "no text": pa.nulls(3, pa.string()),
    "empty text": pa.array(["", "a", None]),
    "blanks": pa.array(["a ", "a", " a"]),
    "zero byte": pa.array(["a\x00b", "a", "b"]),
    "escapes": pa.array(["\x1b[31mred", "a\nb", "\u202e"]),
}
FORMATS = ("parquet", "feather", "csv", "sav", "dta")


def _table(name):
    at = pa.array(np.arange(RECORDS) % 3)
    keys = np.random.default_rng(1).choice(["x", "y"], RECORDS)
    return pa.table({"a": keys, "k": VALUES[name].take(at)})


@pytest.mark.parametrize("role", [Role.KEY, Role.PUBLIC, Role.SENSITIVE], ids=str)
@pytest.mark.parametrize(("name", "file_format"), [*itertools.product(VALUES, FORMATS)])
@pytest.mark.deep(every=16)
def test_what_is_written_verifies_or_is_refused(tmp_path, name, file_format, role):
    """No release fails its own verification, and no error is unforeseen."""
    table, folder = _table(name), tmp_path / "release"
    first = Column("a", Role.KEY, Categories(("x", "y")), missing="refuse")
    try:
        plan = pm.design(
            Schema((first, Column("k", role))), pm.DifferentialPrivacy(4), data=table,
            method=pm.Retention(spread="equal"),
        )  # fmt: skip
        pm.protect(table, plan, to=folder, file_format=file_format)
    except PramanaError as error:
        told = str(error)
    else:
        told = ""
    if told:
        assert "\n" not in told
        assert not folder.exists()
        return
    verdict = pm.verify(folder, original=table)
    assert verdict.valid, [check for check in verdict.checks if not check.ok]


@pytest.mark.parametrize(
    ("name", "file_format"),
    [("truth values", "sav"), ("decimals", "csv"), ("zero byte", "csv"), ("bytes", "csv"),
     ("unsigned integers", "dta"), ("empty text", "sav"), ("extreme", "dta"), ("infinite", "csv")],
)  # fmt: skip
def test_a_refusal_names_column_and_format(tmp_path, name, file_format):
    """One line says what cannot be kept where."""
    schema = Schema(
        (Column("a", Role.KEY, Categories(("x", "y")), missing="refuse"), Column("k", Role.PUBLIC))
    )
    plan = pm.design(schema, pm.DifferentialPrivacy(1), data=_table(name), method="retention")
    with pytest.raises(PramanaError, match=rf"'k'.*{file_format}"):
        pm.protect(_table(name), plan, to=tmp_path / "release", file_format=file_format)


@pytest.mark.parametrize("file_format", ["parquet", "feather"])
def test_no_bits_leave_beside_the_values(tmp_path, file_format):
    """A nan is missing and zero has one sign: payloads would be a place to write into."""
    bits = np.full(RECORDS, 0x7FF8000000000000, np.uint64) + np.arange(RECORDS, dtype=np.uint64)
    table = _table("odd floats").set_column(1, "k", pa.array(bits.view(np.float64)))
    schema = Schema(
        (Column("a", Role.KEY, Categories(("x", "y")), missing="refuse"), Column("k", Role.PUBLIC))
    )
    plan = pm.design(schema, pm.DifferentialPrivacy(1), data=table, method="retention")
    release = pm.protect(table, plan, to=tmp_path / "release", file_format=file_format)

    assert release.opened.to_arrow(["k"]).column(0).null_count == RECORDS
    assert pm.verify(tmp_path / "release", original=table).valid
