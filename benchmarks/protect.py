"""Protecting a Parquet file against the bare engine's shuffled copy of it.

Each road runs in a process of its own; seconds are from its start to its end, imports included.
Rounds alternate between the roads, and the fastest round of each counts.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from benchmarks import _roads
from benchmarks._measure import Result, in_child

ROADS = {
    "duckdb_shuffled": "DuckDB, ORDER BY random()",
    "duckdb_copy": "DuckDB, plain copy",
    "polars_copy": "Polars, plain copy",
    "pramana": "pramana: encode, draw, shuffle, decode, write",
    "release": "pramana.protect: the same, with design, certificate and fingerprint",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--roads", nargs="+", choices=ROADS, default=list(ROADS))
    parser.add_argument("--folder", type=Path, help="keep the generated data here")


def run(options: argparse.Namespace) -> Result:
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        source = folder / f"people-{options.records}.parquet"
        if not source.exists():
            _roads.generate(options.records, source)
        runs = {road: [] for road in options.roads}
        for _ in range(options.rounds):
            for road in options.roads:
                target = Path(temporary) / ("out" if road == "release" else "out.parquet")
                shutil.rmtree(target, ignore_errors=True)
                runs[road].append(in_child("benchmarks._roads", road, str(source), str(target)))
    best = {road: min(run.seconds for run in own) for road, own in runs.items()}
    result = Result(
        f"{options.records:,} records x {len(_roads.SIZES)} keys, Parquet to Parquet",
        ("road", "seconds", "of DuckDB's shuffle", "processor seconds", "peak GiB"),
    )
    for road, seconds in best.items():
        shuffled = best.get("duckdb_shuffled")
        ratio = f"{seconds / shuffled:.2f} x" if shuffled else "-"
        peak = max(run.peak for run in runs[road]) / 2**30
        busy = min(run.processor for run in runs[road])
        result.rows.append((ROADS[road], f"{seconds:.2f}", ratio, f"{busy:.2f}", f"{peak:.2f}"))
    return result
