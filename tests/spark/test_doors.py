"""Spark's data frames come in and go out by the doors of everybody."""

from __future__ import annotations

import pyarrow as pa
import pytest

import pramana as pm
from pramana.engine.spark import opening
from pramana.errors import InvalidTable, NotCovered
from tests.release.people import SCHEMA, people


@pytest.fixture(scope="module")
def truth():
    return people(3000)


@pytest.fixture
def frame(frame_of, truth):
    return frame_of(truth)


@pytest.fixture(scope="module")
def plan(truth):
    return pm.design(SCHEMA, pm.PkAnonymity(k=20), data=truth, method="retention")


def test_workers_write_the_bytes_of_the_local_engine(frame, truth, plan, tmp_path):
    """A release of one part holds the very file; so does one that was kept and then saved."""
    pm.protect(truth, plan, to=tmp_path / "local", file_format="parquet", seed=4)
    pm.protect(frame, plan, to=tmp_path / "spark", seed=4)
    pm.protect(frame, plan, seed=4).save(tmp_path / "saved")
    expected = (tmp_path / "local" / "data.parquet").read_bytes()

    for name in ("spark", "saved"):
        (part,) = sorted((tmp_path / name / "data.parquet").iterdir())
        assert part.name == "part-00000.parquet"
        assert part.read_bytes() == expected


def test_groups_of_a_data_frame_leave_by_the_same_door(frame, truth, tmp_path):
    """Formed on the driver, written as from any other table."""
    plan = pm.design(SCHEMA, pm.KAnonymity(k=5), data=truth)
    pm.protect(truth, plan, to=tmp_path / "local", file_format="parquet", seed=4)
    with pytest.warns(UserWarning, match="brought to the driver"):
        pm.protect(frame, plan, to=tmp_path / "spark", file_format="parquet", seed=4)

    files = [tmp_path / name / "data.parquet" for name in ("local", "spark")]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("more", [{}, {"missing": "wildcard"}, {"weight": "income"}])
def test_frequencies_are_counted_by_workers(more, frame, truth, monkeypatch):
    """The audit of the same table in memory; combinations come to the driver, and no records."""

    def brought(*_):
        raise AssertionError("records came to the driver")

    monkeypatch.setattr(opening, "_to_driver", brought)
    for keys in (["sex", "marital", "region"], ["sex", "age"]):
        here, there = (pm.audit(table, keys=keys, schema=SCHEMA, sensitive=[], **more)
                       for table in (truth, frame))  # fmt: skip

        assert _rounded(there.to_json()) == _rounded(here.to_json())
        with pytest.raises(NotCovered, match="not listed one by one"):
            there.individual.to_arrow()


def test_weights_that_are_no_numbers_are_refused_by_their_number(frame_of, truth):
    """As on one machine."""
    pay = [None, float("nan"), *truth["income"].to_pylist()[2:]]
    table = truth.set_column(truth.schema.get_field_index("income"), "income", pa.array(pay))
    for own in (table, frame_of(table)):
        with pytest.raises(InvalidTable, match="must be a number in every record; 2 are not"):
            pm.audit(own, keys=["sex"], weight="income")


def _rounded(form):
    """Sums of weights in another order end in other digits."""
    if isinstance(form, dict):
        return {name: _rounded(value) for name, value in form.items()}
    if isinstance(form, list):
        return [_rounded(value) for value in form]
    return float(f"{form:.9g}") if isinstance(form, float) else form


def test_audit_compare_and_report_take_data_frames(frame, truth, plan, tmp_path):
    """With the numbers of the same table in memory."""
    release = pm.protect(truth, plan, to=tmp_path / "release", seed=4)

    audits = [pm.audit(release, original=table).to_json() for table in (frame, truth)]
    assert audits[0] == audits[1]
    assert len(pm.report(release, original=frame).html) > 1000
    how = {"k": [20], "methods": ["retention", "attribute-sampling"]}
    here, there = (pm.compare(table, SCHEMA, **how).outcomes for table in (truth, frame))
    assert [own.attained for own in there] == [own.attained for own in here]
