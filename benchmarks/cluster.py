"""Time against records and executors on a standalone Spark cluster of this machine.

A master, the executors (one core each) and the driver are processes of their own. Each verb is
timed in the driver, session started: seconds on the clock, and processor seconds of all processes.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

from benchmarks import _roads
from benchmarks._measure import Result

DRIVER = """
import json, os, sys, time
import pramana as pm
from pathlib import Path
from benchmarks.cluster import processor_seconds
from pramana.engine.spark import session

_, master, source, schema, folder, benchmark = sys.argv
frame = session.read_path(source, master=master)
plan = pm.design(pm.Schema.load(schema), pm.PkAnonymity(k=100), records=frame.count(),
                 method="retention")
verbs = {
    "protect": lambda: pm.protect(frame, plan, to=folder),
    "verify": lambda: pm.verify(folder, engine="spark"),
}
for verb, work in verbs.items():
    begin, before = time.perf_counter(), processor_seconds(int(benchmark))
    work()
    seconds = time.perf_counter() - begin, processor_seconds(int(benchmark)) - before
    print(json.dumps([verb, *seconds, os.getloadavg()[0]]), flush=True)
print(len(list(Path(folder, "data.parquet").iterdir())))
"""


def processor_seconds(process: int) -> float:
    """User and system seconds of a process, of those it has started, and of those that ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        children = [
            int(number)
            for place in Path(f"/proc/{process}/task").glob("*/children")
            for number in place.read_text().split()
        ]
    except OSError:  # it has ended
        return 0.0
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(processor_seconds, children))


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--executors", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--folder", type=Path, help="keep the generated data here")


def run(options: argparse.Namespace) -> Result:
    from tests.spark.cluster import standalone

    result = Result(
        f"Spark cluster: {len(_roads.SIZES)} keys, Parquet to Parquet, method retention",
        ("records", "executors", "verb", "seconds", "processor seconds", "load"),
    )
    for records in options.records:
        for executors in options.executors:
            with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
                folder = Path(temporary)
                source = (options.folder or folder) / f"people-{records}.parquet"
                if not source.exists():
                    _roads.generate(records, source)
                settings = {
                    "spark_sql_files_maxPartitionBytes": "128m",
                    "spark_sql_files_openCostInBytes": "4m",
                    "spark_driver_memory": "2g",
                    "spark_executor_memory": "2g",
                    "spark_local_dir": str(folder / "local"),
                    "spark_speculation": "false",
                }
                cluster = standalone(
                    folder / "cluster", workers=executors, memory="2200m", **settings
                )
                with cluster as running:
                    driver = running.driver(
                        DRIVER, source, source.with_suffix(".toml"), folder / "r", os.getpid()
                    )
                    out, err = driver.communicate()
                if driver.returncode:
                    result.notes.append(err.splitlines()[-1])
                    result.wrong += 1
                    continue
                *rows, parts = map(json.loads, out.splitlines())
                for verb, seconds, processor, load in rows:
                    figures = (f"{seconds:.1f}", f"{processor:.1f}", f"{load:.1f}")
                    result.rows.append((f"{records:,}", str(executors), verb, *figures))
                    print(*result.rows[-1], flush=True)
                result.notes.append(f"{records:,} records: {parts} files.")
    return result
