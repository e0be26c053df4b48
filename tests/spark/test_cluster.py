"""A real cluster: other processes than the driver, without pramana, one of which is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramana as pm
from tests.spark.cluster import LIBRARIES, PYTHON, standalone

RECORDS = 60_000
SEED = 11

VERBS = """
import json, os, shutil, signal, sys, time
from dataclasses import replace
from pathlib import Path
import pramana as pm
from pramana.base.randomness import Keystream
from pramana.engine.spark import opening, session, table
from pramana.engine.spark.table import SparkTable

_, master, source, schema, folder = sys.argv
table.RANGE_RECORDS, opening.SLICE = 2**13, 2**14  # several ranges, counted by several tasks
frame = session.read_path(source, master=master)
schema = pm.Schema.load(schema)
described = pm.describe(frame)
plan = pm.design(schema, pm.PkAnonymity(k=20), data=frame, method="retention")
release = pm.protect(frame, plan, to=folder + "/release", seed=11)
sampled = pm.design(schema, pm.PkAnonymity(k=20), data=frame, method="attribute-sampling")
sets = pm.protect(frame, sampled, to=folder + "/sets", seed=11)
held = pm.protect(frame, plan, seed=11)  # stays with the workers, who answer questions
table = held.crosstab("sex", "region")
mean = held.mean("income", by=["sex"])
cluster = {"engine": "spark", "master": master}
verdict = pm.verify(release, original=frame, **cluster)
verdicts = [pm.verify(folder + name, **cluster).to_json() for name in ("/release", "/sets")]
shutil.copytree(folder + "/release", folder + "/forged")
part = sorted(Path(folder, "forged", "data.parquet").iterdir())[-1]
part.write_bytes(part.read_bytes()[:-9] + b"x" + part.read_bytes()[-8:])
verdicts.append(pm.verify(folder + "/forged", **cluster).to_json())
for name in ("release", "sets"):
    synthetic = f"{folder}/synthetic-{name}.parquet"
    pm.load(f"{folder}/{name}").write_synthetic(synthetic, seed=7, **cluster)
audit = pm.audit(frame, keys=["sex", "region", "income"])
keys, central = pm.Schema(schema.columns[:2]), pm.ShuffledPrivacy(epsilon=1, delta=1e-6)
counts = pm.design(keys, central, records=frame.count(), method="shuffled-marginals")
counts = replace(counts, asked=(), attained=())  # a seed voids a central guarantee
rounds = pm.protect(frame.select("sex", "region"), counts, seed=11)

def shaken(batch, position, marks=folder):
    from pyspark import TaskContext

    context, seen = TaskContext.get(), Path(marks)
    if context.partitionId() == 0 and not list(seen.glob("killed-*")):
        (seen / "killed-").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if context.partitionId() == 1:
        (seen / f"twice-{context.taskAttemptId()}").touch()
        deadline = time.monotonic() + 120
        while len(list(seen.glob("twice-*"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
    return batch

made = SparkTable.of(frame).shuffle(keystream=Keystream.from_seed(3))
made.write(Path(folder, "calm"))
made.map_batches(shaken, schema=made.schema()).write(Path(folder, "shaken"))
print(json.dumps({
    "roles": [[row.name, str(row.role)] for row in described.columns],
    "plan": plan.to_json(),
    "valid": verdict.valid,
    "verdicts": verdicts,
    "table": [float(value) for value in table.estimate.ravel()],
    "mean": [float(value) for value in mean.estimate.ravel()],
    "audit": audit.to_json(),
    "rounds": rounds.opened.to_arrow().to_pydict(),
}))
"""

PROTECT = """
import sys
import pramana as pm
from pramana.engine.spark import session, table

_, master, source, schema, folder = sys.argv
table.RANGE_RECORDS = 2**13
frame = session.read_path(source, master=master)
target = pm.PkAnonymity(k=20)
plan = pm.design(pm.Schema.load(schema), target, data=frame, method="retention")
pm.protect(frame, plan, to=folder, seed=11)
"""


def people(records: int) -> pa.Table:
    """Two keys, and an income that depends on one of them."""
    rng = np.random.default_rng(5)
    sex, region = rng.integers(0, 2, records), rng.integers(0, 5, records)
    low = np.where(rng.random(records) < 0.3 * sex, 20, 0)
    return pa.table(
        {
            "sex": pa.array(["F", "M"]).take(pa.array(sex)),
            "region": pa.array(["n", "e", "s", "w", "c"]).take(pa.array(region)),
            "income": 1000 + 10 * rng.integers(low, 40),
        }
    )


SCHEMA = pm.Schema(
    (
        pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))),
        pm.Column("region", pm.Role.KEY, pm.Categories(("n", "e", "s", "w", "c"))),
        pm.Column("income", pm.Role.SENSITIVE),
    )
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A master and two workers."""
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A Parquet file of several row groups and a schema, which driver and workers see."""
    folder = tmp_path_factory.mktemp("shared")
    pq.write_table(people(RECORDS), folder / "people.parquet", row_group_size=RECORDS // 8)
    SCHEMA.save(folder / "schema.toml")
    return folder


@pytest.fixture(scope="module")
def here(home):
    """The release that the local engine makes with the same seed."""
    table = people(RECORDS)
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=20), data=table, method="retention")
    return pm.protect(table, plan, to=home / "local", seed=SEED)


def finished(driver: subprocess.Popen[str]) -> str:
    """What a driver printed; it must end well."""
    out, err = driver.communicate(timeout=600)
    assert driver.returncode == 0, err
    return out


def parts_of(folder: Path) -> dict[str, bytes]:
    """The names and bytes of the files of a folder."""
    return {part.name: part.read_bytes() for part in folder.iterdir()}


def test_the_workers_have_no_pramana():
    """Its libraries alone are on their import path: the driver sends the rest."""
    environment = os.environ | {"PYTHONPATH": LIBRARIES, "PYTHONSAFEPATH": "1"}
    code = "import pyarrow, importlib.util; print(importlib.util.find_spec('pramana'))"
    done = subprocess.run(
        [PYTHON, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "None"


@pytest.fixture(scope="module")
def there(cluster, home):
    """What the verbs gave on the cluster; what they wrote lies in the folder out."""
    (home / "out").mkdir()
    driver = cluster.driver(VERBS, home / "people.parquet", home / "schema.toml", home / "out")
    return json.loads(finished(driver))


def test_the_verbs_give_what_the_local_engine_gives(there, home, here):
    """Describe, design, protect, tables, means, audit and rounds, of the same seed."""
    table = people(RECORDS)

    assert there["roles"] == [[c.name, str(c.role)] for c in pm.describe(table).columns]
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=20), data=table, method="retention")
    assert there["plan"] == json.loads(json.dumps(plan.to_json()))
    assert there["valid"]
    release = pm.load(home / "out" / "release")
    assert len(list((home / "out" / "release" / "data.parquet").iterdir())) > 1
    assert release.opened.to_arrow().to_pydict() == here.opened.to_arrow().to_pydict()
    assert there["table"] == pytest.approx(here.crosstab("sex", "region").estimate.ravel())
    assert there["mean"] == pytest.approx(here.mean("income", by=["sex"]).estimate.ravel())
    sampled = pm.design(SCHEMA, pm.PkAnonymity(k=20), data=table, method="attribute-sampling")
    sets = pm.protect(table, sampled, seed=SEED).opened.to_arrow().to_pydict()
    assert pm.load(home / "out" / "sets").opened.to_arrow().to_pydict() == sets
    audit = pm.audit(table, keys=["sex", "region", "income"])
    assert there["audit"] == json.loads(json.dumps(audit.to_json()))
    keys, central = pm.Schema(SCHEMA.columns[:2]), pm.ShuffledPrivacy(epsilon=1, delta=1e-6)
    counts = pm.design(keys, central, records=RECORDS, method="shuffled-marginals")
    counts = replace(counts, asked=(), attained=())
    rounds = pm.protect(table.select(["sex", "region"]), counts, seed=SEED)
    assert there["rounds"] == rounds.opened.to_arrow().to_pydict()


def test_workers_verify_as_one_machine_does(there, home):
    """Every check in the same words, of two kinds of release and of an altered file."""
    folders = [home / "out" / name for name in ("release", "sets", "forged")]
    here = [json.loads(json.dumps(pm.verify(folder).to_json())) for folder in folders]

    assert there["verdicts"] == here
    assert [verdict["valid"] for verdict in here] == [True, True, False]


def test_workers_write_the_synthetic_records_of_one_machine(there, home):
    """File by file the same bytes for the same seed, and the table that is drawn in memory."""
    for name in ("release", "sets"):
        release = pm.load(home / "out" / name)
        release.write_synthetic(home / f"{name}.parquet", seed=7)
        theirs = home / "out" / f"synthetic-{name}.parquet"

        assert parts_of(home / f"{name}.parquet") == parts_of(theirs)
        assert len(parts_of(theirs)) > 4
        drawn = release.synthesize(seed=7)
        assert pq.read_table(theirs).to_pydict() == drawn.to_pydict()
        assert drawn.num_rows == RECORDS


def test_a_task_that_fails_and_one_that_runs_twice_change_no_byte(there, home):
    """One worker process was killed; another task waited until Spark had started a copy of it."""
    out = home / "out"
    marks = [mark.name.partition("-")[0] for mark in (*out.glob("killed-*"), *out.glob("twice-*"))]
    calm, shaken = (parts_of(out / name) for name in ("calm", "shaken"))

    assert there["valid"]
    assert sorted(marks) == ["killed", "twice", "twice"]
    assert len(calm) > 4
    assert shaken == calm


def test_a_killed_worker_changes_no_byte(cluster, there, home, here):
    """Killed with its executor while files are written; every part has the bytes of a calm run."""
    assert there["valid"]
    driver = cluster.driver(PROTECT, home / "people.parquet", home / "schema.toml", home / "shaken")
    deadline = time.monotonic() + 300
    while not list(home.glob(".pramana-*/**/part-*.parquet")):
        assert time.monotonic() < deadline
        assert driver.poll() is None, driver.communicate()[1]
        time.sleep(0.005)
    os.killpg(cluster.workers[0].pid, signal.SIGKILL)
    finished(driver)

    shaken = parts_of(home / "shaken" / "data.parquet")
    assert len(shaken) > 4
    assert shaken == parts_of(home / "out" / "release" / "data.parquet")
    records = pm.load(home / "shaken").opened.to_arrow().to_pydict()
    assert records == here.opened.to_arrow().to_pydict()
