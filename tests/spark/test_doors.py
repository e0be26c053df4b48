"""Spark's data frames come in and go out by the doors of everybody."""

from __future__ import annotations

import pytest

import pramana as pm
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


def test_audit_compare_and_report_take_data_frames(frame, truth, plan, tmp_path):
    """With the numbers of the same table in memory."""
    release = pm.protect(truth, plan, to=tmp_path / "release", seed=4)
    keys = [column.name for column in SCHEMA.keys]

    assert pm.audit(frame, keys=keys).to_json() == pm.audit(truth, keys=keys).to_json()
    audits = [pm.audit(release, original=table).to_json() for table in (frame, truth)]
    assert audits[0] == audits[1]
    assert len(pm.report(release, original=frame).html) > 1000
    compared = pm.compare(frame, SCHEMA, k=[20])
    assert [outcome.promises for outcome in compared.outcomes] == [
        outcome.promises for outcome in pm.compare(truth, SCHEMA, k=[20]).outcomes
    ]
