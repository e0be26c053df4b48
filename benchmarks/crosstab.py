"""A table of a release against the bare GROUP BY on the same file.

Both run in this process, with everything loaded before; rounds alternate, the fastest counts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks import _roads
from benchmarks._measure import Result

TABLES = (("key0",), ("key0", "key1"), ("key2", "key4"), ("key0", "key1", "key5"))


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)


def run(options: argparse.Namespace) -> Result:
    import duckdb

    import pramana as pm

    result = Result(
        f"crosstab of {options.records:,} released records against GROUP BY",
        ("table", "cells", "GROUP BY", "crosstab", "ratio"),
    )
    with tempfile.TemporaryDirectory() as temporary:
        source, release = Path(temporary) / "people.parquet", Path(temporary) / "release"
        _roads.generate(options.records, source)
        schema = _roads.schema()
        made = pm.design(schema, records=options.records, method=pm.Retention(retention=0.3))
        pm.protect(source, made, to=release)
        data, loaded = release / "data.parquet", pm.load(release)
        connection = duckdb.connect()
        for by in TABLES:
            columns = ", ".join(by)
            query = f"SELECT {columns}, count(*) FROM '{data}' GROUP BY {columns}"
            bare, ours = [], []
            for _ in range(options.rounds + 1):  # the first round warms up
                bare.append(_timed(lambda query=query: connection.sql(query).fetchall()))
                ours.append(_timed(lambda by=by: loaded.crosstab(*by)))
            first, second = min(bare[1:]), min(ours[1:])
            cells = connection.sql(f"SELECT count(*) FROM ({query})").fetchall()[0][0]
            result.rows.append(
                (
                    " x ".join(by),
                    f"{cells:,}",
                    f"{first:.3f} s",
                    f"{second:.3f} s",
                    f"{second / first:.2f} x",
                )
            )
    return result


def _timed(work) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
