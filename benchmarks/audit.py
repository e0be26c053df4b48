"""The audit of a million records by all triples of six keys, and distances to the closest record.

Each in a process of its own, start-up included, with its peak memory.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import pyarrow as pa

from benchmarks._measure import Result, in_child

SIZES = (90, 2, 50, 20, 100, 500)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--points", type=int, default=100_000)


def run(options: argparse.Namespace) -> Result:
    result = Result("Audits, start-up included", ("what", "seconds", "processor", "peak memory"))
    for name, what, size in (
        ("triples", f"{options.records:,} records x 6 keys, all triples", options.records),
        ("weighted", "the same with weights and a sensitive column", options.records),
        ("wildcard", "the same keys, 2 % missing in two, as wildcards", options.records),
        ("closest", f"{options.points:,} against {options.points:,} records", options.points),
    ):
        took = in_child("benchmarks.audit", name, str(size))
        result.rows.append(
            (what, f"{took.seconds:.1f}", f"{took.processor:.1f}", f"{took.peak / 2**20:,.0f} MiB")
        )
    return result


def _table(records: int) -> pa.Table:
    random = np.random.default_rng(1)
    columns = {f"k{i}": random.integers(0, size, records) for i, size in enumerate(SIZES)}
    columns["s"] = random.integers(0, 1000, records)
    columns["w"] = random.random(records) * 10 + 1
    return pa.table(columns)


def _audit(records: int, **how) -> None:
    from pramana.io.opening import open_table
    from pramana.risk.table_audit import audit_table

    table = _table(records)
    if how.get("missing") == "wildcard":
        random = np.random.default_rng(2)
        for place in (0, 3):
            gaps = random.random(records) < 0.02
            values = pa.array(table.column(place).to_numpy(), mask=gaps)
            table = table.set_column(place, f"k{place}", values)
    audit_table(open_table(table), keys=[f"k{i}" for i in range(6)], k=3, **how)


def _closest(records: int) -> None:
    from pramana.risk.attacks.closest_record import GowerRecords, distance_to_closest

    random = np.random.default_rng(1)
    sides = [
        GowerRecords.of(random.random((records, 3)), random.integers(0, 50, (records, 5)))
        for _ in range(2)
    ]
    distance_to_closest(*sides)


if __name__ == "__main__":
    size = int(sys.argv[2])
    if sys.argv[1] == "closest":
        _closest(size)
    else:
        _audit(size, **{
            "triples": {},
            "weighted": {"weight": "w", "sensitive": ["s"]},
            "wildcard": {"missing": "wildcard"},
        }[sys.argv[1]])  # fmt: skip
