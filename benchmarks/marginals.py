"""Bias, coverage and expected error of tables of one and two columns, by shuffled marginals.

Each of many releases of a real file (an excerpt of the American Community Survey, or the census of
1994) answers all single columns and pairs. Needs --data, the folder of real data.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

import pramana as pm
from benchmarks import _worlds as worlds
from benchmarks import crc
from benchmarks._measure import Result
from benchmarks.pooling import adult
from pramana.engine.base import open_source
from pramana.schema.codec import encode

HEAD = ("file", "records", "epsilon", "tables", "cells", "largest |z| of bias", "coverage",
        "of a table", "expected / measured error", "of a table")  # fmt: skip


def _excerpt(name: str):
    return lambda folder: crc._binned(crc._read(folder / "crc_ma2019.csv", crc.SETS[name]))


FILES = {
    "crc-dem": _excerpt("dem"),
    "crc-ind": _excerpt("ind"),
    "adult": lambda folder: adult(folder).drop_columns(["number"]),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", help="folder of real data; or the variable PRAMANA_DATA")
    parser.add_argument("--files", nargs="+", choices=list(FILES), default=list(FILES))
    parser.add_argument("--releases", type=int, default=1000)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0])


def run(options: argparse.Namespace) -> Result:
    result = Result("Tables of one and two columns by shuffled marginals", HEAD)
    folder = worlds.folder(options.data)
    if folder is None:
        result.notes.append("Needs --data, the folder of real data.")
        return result
    for name in options.files:
        for epsilon in options.epsilon:
            row, wrong = measured(FILES[name](Path(folder)), epsilon, options.releases)
            result.rows.append((name, *row))
            result.wrong += wrong
            print(result.rows[-1], file=sys.stderr, flush=True)
    result.notes.append(
        f"{options.releases:,} releases a row at delta 1e-6; intervals of 95 %. "
        "z is the bias of a cell over its standard error. The coverage of a table is a mean over "
        "its cells; the error of a table is the mean absolute error, summed over its cells."
    )
    return result


def measured(table: pa.Table, epsilon: float, releases: int) -> tuple[tuple[str, ...], bool]:
    """One row: bias and coverage of all cells, expected errors of all tables."""
    schema = pm.describe(table, keys=table.column_names)
    target = pm.ShuffledPrivacy(epsilon=epsilon, delta=1e-6)
    plan = pm.design(schema, target, records=table.num_rows, method="shuffled-marginals")
    expected = dict(plan.expected_error.tables)
    plan = replace(plan, asked=(), attained=())  # a seed voids a central guarantee
    records = open_source(table, schema=schema).to_arrow()
    true = {names: _counted(records, [schema.column(name) for name in names]) for names in expected}
    sums = {names: np.zeros((4, *counts.shape)) for names, counts in true.items()}
    for seed in range(releases):
        release = pm.protect(table, plan, seed=seed)
        for names, own in sums.items():
            found = release.crosstab(*names, method="unbiased")
            gap = found.estimate - true[names]
            held = (found.low <= true[names]) & (true[names] <= found.high)
            own += np.array([gap, gap**2, np.abs(gap), held])
    means = {names: own / releases for names, own in sums.items()}
    z = max(_largest_z(gap, square, releases) for gap, square, _, _ in means.values())
    cover = np.array([held.mean() for _, _, _, held in means.values()])
    cells = sum(counts.size for counts in true.values())
    ratio = np.array([expected[names] * table.num_rows / size.sum()
                      for names, (_, _, size, _) in means.items()])  # fmt: skip
    overall = sum(held.sum() for _, _, _, held in means.values()) / cells
    row = (f"{table.num_rows:,}", f"{epsilon:g}", str(len(true)), f"{cells:,}", f"{z:.2f}",
           f"{overall:.3f}", f"{cover.min():.3f}, {cover.max():.3f}", f"{ratio.mean():.3f}",
           f"{ratio.min():.2f}, {ratio.max():.2f}")  # fmt: skip
    return row, bool(z > 4.5 or not 0.93 <= overall <= 0.97)


def _largest_z(gap: np.ndarray, square: np.ndarray, releases: int) -> float:
    return float(np.max(np.abs(gap) / np.sqrt((square - gap**2) / (releases - 1))))


def _counted(records: pa.Table, columns: list[pm.Column]) -> np.ndarray:
    """The true table, values in the order of the schema."""
    counts = np.zeros([len(column.labels) for column in columns])
    np.add.at(counts, tuple(encode(column, records[column.name]) for column in columns), 1)
    return counts
