"""Whether rebuilt records are ever further from the truth than margins alone, or than rank.

Real tables are released whole and by reports, rebuilt, and all pairs of columns are read off: by
the default, by rank (whole records alone), and off records that have the estimated margins of the
release and nothing else. The same releases serve all; the default is called worse where it is
further off by more than two standard errors of the difference, and by more than 2 %.
Needs --data; tables without their file are left out.
"""

from __future__ import annotations

import argparse
import itertools
import sys

import numpy as np
import pyarrow as pa

from benchmarks import _worlds as worlds
from benchmarks import chosen, crc
from benchmarks._measure import Result

WAYS = ("default", "rank", "margins")
TABLES = (
    *(("crc_ma2019.csv", name) for name in crc.SETS),
    ("adult_train.csv", 12),
    ("meps2023_adults.csv", 10),
    ("acs2018_income_sample.parquet", 10),
)
"""Files, with a set of the yardstick, or the first so many columns that have few values."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", help="folder of real data; or the variable PRAMANA_DATA")
    parser.add_argument("--k", type=float, nargs="+", default=[2.0, 10.0], help="promises to try")
    parser.add_argument("--most", type=int, default=20_000, help="records taken of a larger file")
    parser.add_argument("--releases", type=int, default=5, help="releases of each")
    parser.add_argument("--methods", nargs="+", choices=chosen.METHODS, default=chosen.METHODS)
    parser.add_argument("--only", nargs="+", default=[], help="parts of the names of tables")


def run(options: argparse.Namespace) -> Result:
    head = ("table", "k", "released", *WAYS, "worse than")
    result = Result("Mean L1 distance of all pairs of rebuilt records from the truth", head)
    data, tried, worse = worlds.folder(options.data), 0, 0
    for file, columns in TABLES if data is not None else ():
        name = f"{file.split('.')[0]}, {columns}"
        if not (data / file).is_file() or not all(part in name for part in options.only):
            continue
        table = _table(data / file, columns, options.most)
        for k, method in itertools.product(options.k, options.methods):
            found = _measured(table, k, method, options.releases)
            beaten = [way for way in WAYS[1:] if _worse(found, way)]
            cells = (f"{np.mean(found[way]):.3f}" if way in found else "" for way in WAYS)
            result.rows.append((name, f"{k:g}", method, *cells, ", ".join(beaten) or "none"))
            print(*result.rows[-1], sep=" | ", file=sys.stderr, flush=True)
            tried, worse = tried + 1, worse + bool(beaten)
    result.notes.append(
        f"{options.releases} releases each; the default is worse in {worse} of {tried}."
        if tried else "Needs --data, the folder of real data."
    )  # fmt: skip
    return result


def _table(path, columns: str | int, most: int) -> pa.Table:
    if isinstance(columns, int):
        return chosen._read(path, columns, most)
    return crc._binned(crc._read(path, crc.SETS[columns]))


def _worse(found: dict[str, list[float]], way: str) -> bool:
    if way not in found:
        return False
    more = np.array(found["default"]) - np.array(found[way])
    error = more.std(ddof=1) / len(more) ** 0.5 if len(more) > 1 else 0.0
    return bool(more.mean() > max(2 * error, 0.02 * np.mean(found[way])))


def _measured(table: pa.Table, k: float, method: str, releases: int) -> dict[str, list[float]]:
    import pramana as pm

    names = table.column_names
    schema = pm.describe(table, keys=names)
    plan = pm.design(schema, pm.PkAnonymity(k=k), records=table.num_rows, method=method)
    truth = _Codes(table)
    found: dict[str, list[float]] = {
        way: [] for way in WAYS if (way, method) != ("rank", "attribute-sampling")
    }
    for seed in range(releases):
        release = pm.protect(table, plan, seed=seed)
        made = {"default": release.synthesize(seed=seed)}
        if "rank" in found:
            made["rank"] = release.synthesize(method="rank", seed=seed)
        made["margins"] = _margins(release, names, table.num_rows, seed)
        for way, own in made.items():
            found[way].append(truth.apart(own))
    return found


def _margins(release, names: list[str], records: int, seed: int) -> pa.Table:
    """Records with the estimated margins, every column drawn by itself."""
    chance = np.random.default_rng(seed)
    columns = {}
    for name in names:
        found = release.crosstab(name)
        share = np.maximum(found.estimate, 0)
        codes = chance.choice(len(share), records, p=share / share.sum())
        (labels,) = found.labels
        columns[name] = [None if labels[at] is None else str(labels[at]) for at in codes]
    return pa.table(columns)


class _Codes:
    """The truth as codes, beside which other tables are coded."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.known = {}
        for name in table.column_names:
            self.known[name] = {
                value: at for at, value in enumerate(table[name].unique().to_pylist())
            }
        self.codes = self._coded(table)

    def _coded(self, made: pa.Table) -> dict[str, np.ndarray]:
        found = {}
        for name, known in self.known.items():
            texts = chosen._texts(made[name], self.table[name])
            found[name] = np.array([known.get(text, len(known)) for text in texts])
        return found

    def apart(self, made: pa.Table) -> float:
        ours, gaps = self._coded(made), []
        for one, other in itertools.combinations(self.known, 2):
            width = len(self.known[other]) + 1
            cells = (len(self.known[one]) + 1) * width
            true, own = (
                np.bincount(codes[one] * width + codes[other], minlength=cells) / len(codes[one])
                for codes in (self.codes, ours)
            )
            gaps.append(np.abs(true - own).sum())
        return float(np.mean(gaps))
