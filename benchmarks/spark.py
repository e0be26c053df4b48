"""Protecting by Spark against Spark's own copies of the same file, in one session.

Rounds alternate between the roads, and the fastest round of each counts. Seconds are those of the
actions: the session is started, and every road has run once on a small file, before. The shuffled
copies are ``orderBy(rand())``, a random order as a release has it, and ``repartition``, which moves
every record without giving it an order.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

from benchmarks import _roads
from benchmarks._measure import Result

ROADS = {
    "copy": "Spark, plain copy",
    "moved": "Spark, copy with repartition",
    "shuffled": "Spark, copy with orderBy(rand())",
    "release": "pramana.protect, method retention",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--roads", nargs="+", choices=ROADS, default=list(ROADS))
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--folder", type=Path, help="keep the generated data here")


def run(options: argparse.Namespace) -> Result:
    result = Result(
        f"Spark {options.master}: {options.records:,} records x {len(_roads.SIZES)} keys, "
        "Parquet to Parquet",
        ("road", "seconds", "of orderBy(rand())", "of repartition"),
    )
    from pramana.engine.spark.session import start_session
    from pramana.errors import MissingExtra

    try:
        session = start_session(master=options.master, settings={"spark.driver.memory": "2g"})
    except MissingExtra as reason:
        result.notes.append(f"Skipped: {reason}")
        return result
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        source, small = folder / f"people-{options.records}.parquet", Path(temporary) / "s.parquet"
        if not source.exists():
            _roads.generate(options.records, source)
        _roads.generate(10_000, small)
        seconds = {road: [] for road in options.roads}
        for road in options.roads:
            _timed(session, road, small, Path(temporary))
        for _ in range(options.rounds):
            for road in options.roads:
                seconds[road].append(_timed(session, road, source, Path(temporary)))
    session.stop()
    best = {road: min(own) for road, own in seconds.items()}
    for road, own in best.items():
        ratios = [
            f"{own / best[other]:.2f} x" if other in best else "-"
            for other in ("shuffled", "moved")
        ]
        result.rows.append((ROADS[road], f"{own:.2f}", *ratios))
    load = os.getloadavg()[0]
    result.notes.append(f"Load of the machine at the end: {load:.1f}.")
    return result


def _timed(session, road: str, source: Path, folder: Path) -> float:
    target = folder / "out.parquet"
    begin = time.perf_counter()
    frame = session.read.parquet(source.as_uri())
    if road == "release":
        _release(frame, source, target)
    else:
        _copied(frame, road).write.parquet(target.as_uri())
    seconds = time.perf_counter() - begin
    shutil.rmtree(target)
    return seconds


def _copied(frame, road: str):
    from pyspark.sql.functions import rand

    if road == "shuffled":
        return frame.orderBy(rand())
    return frame.repartition(16) if road == "moved" else frame


def _release(frame, source: Path, target: Path) -> None:
    import pyarrow.parquet as pq

    import pramana as pm

    records = pq.read_metadata(source).num_rows
    target_k = pm.PkAnonymity(k=100)
    plan = pm.design(_roads.schema(), target_k, records=records, method="retention")
    pm.protect(frame, plan, to=target, file_format="parquet")
