"""Shuffled marginals of many records: the tables counted and released, beside DuckDB's GROUP BY.

Each road runs in a process of its own; seconds are from its start to its end, imports included.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path
from statistics import median

from benchmarks import _roads
from benchmarks._measure import Result, in_child

ROADS = {
    "duckdb_tables": "DuckDB, 210 GROUP BY",
    "rounds": "pramana protect, shuffled marginals",
    "design_rounds": "pramana design, from the schema and the number of records",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=1)


def run(options: argparse.Namespace) -> Result:
    result = Result(
        f"All tables of one and two columns of {options.records:,} records x "
        f"{len(_roads.TABLES)} keys, median of {options.rounds}",
        ("command", "seconds", "processor seconds", "of DuckDB's processor seconds", "peak GiB"),
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source, target = folder / f"people-{options.records}.parquet", folder / "out"
        _roads.generate(options.records, source, _roads.TABLES)
        runs = {road: [] for road in ROADS}
        for _ in range(options.rounds):
            for road, own in runs.items():
                shutil.rmtree(target, ignore_errors=True)
                target.unlink(missing_ok=True)
                own.append(in_child("benchmarks._roads", road, str(source), str(target)))
    bare = median(run.processor for run in runs["duckdb_tables"])
    for road, own in runs.items():
        spent = median(run.processor for run in own)
        result.rows.append((
            ROADS[road], f"{median(run.seconds for run in own):.1f}", f"{spent:.1f}",
            f"{spent / bare:.2f} x", f"{max(run.peak for run in own) / 2**30:.2f}",
        ))  # fmt: skip
    result.notes.append(f"Load of the machine: {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores.")
    return result
