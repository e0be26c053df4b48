"""What the driver collects grows with the number of values, not with the number of records.

Combinations of unchanged columns end at 100,000, hashes of records at 2**18.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

import pramana as pm
from pramana.engine.spark import opening
from pramana.engine.spark import table as engine_module
from pramana.verification import whole_file

SCHEMA = pm.Schema(
    (
        pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))),
        pm.Column("region", pm.Role.KEY, pm.Categories(("n", "e", "s", "w"))),
        pm.Column("income", pm.Role.SENSITIVE),
    )
)


def people(records):
    """Two keys and an income."""
    random = np.random.default_rng(1)
    return pa.table(
        {
            "sex": pa.array(["F", "M"]).take(pa.array(random.integers(0, 2, records))),
            "region": pa.array(list("nesw")).take(pa.array(random.integers(0, 4, records))),
            "income": random.integers(0, 40, records),
        }
    )


def collected(places):
    """The bytes that tasks have sent to the driver so far, by Spark's event log."""
    logs = sorted((places / "events").rglob("events_*"))
    lines = [line for log in logs for line in log.read_text().splitlines(keepends=True)]
    events = [json.loads(line) for line in lines if line.endswith("\n")]
    ended = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
    tasks = [event for event in ended if event["Task End Reason"]["Reason"] == "Success"]
    return sum(event["Task Metrics"]["Result Size"] for event in tasks), len(tasks)


def test_the_driver_collects_no_more_of_sixteen_times_the_records(
    frame_of, places, tmp_path, monkeypatch
):
    """Design, protect, verify and synthesize: as many tasks, and as many bytes up to a tenth."""
    monkeypatch.setattr(whole_file, "COUNTED", 2**9)  # as many hashes as small tables have
    sizes = []
    for records in (4_000, 64_000):
        monkeypatch.setattr(engine_module, "RANGE_RECORDS", records // 4)
        monkeypatch.setattr(opening, "SLICE", records // 3)
        frame, folder = frame_of(people(records)), tmp_path / str(records)
        before = collected(places)
        plan = pm.design(SCHEMA, pm.PkAnonymity(k=20), data=frame, method="retention")
        release = pm.protect(frame, plan, to=folder, seed=4)
        assert pm.verify(folder, engine="spark").valid
        release.write_synthetic(tmp_path / f"{records}.parquet", method="rank", engine="spark")
        sizes.append(np.subtract(collected(places), before))
    (small, tasks), (large, as_many) = sizes

    assert tasks == as_many > 20
    assert large < 1.1 * small
