"""Reports at scale, and what a learner gets from rebuilt records.

--show scale      one million people, 20 columns: design, protect beside whole records, rebuild
--show tables     two-way tables of reports over many releases: is each cell unbiased, and do 95 %
                  intervals cover? Plain columns, impossible combinations, missing values, strata,
                  households
--show learning   accuracy of a classifier learned on rebuilt records beside one learned on the
                  truth, for several k; needs --data with the files of Adult and MEPS
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from benchmarks import _worlds as worlds
from benchmarks._child import peak_memory
from benchmarks._measure import Result
from benchmarks.chosen import Truth, coded

SIZES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12) * 2
KS = (2, 10, 100)
LEARNED = {
    "adult": ("adult_train.csv", "adult_test.csv", "income"),
    "meps": ("meps2023_adults.csv", None, "POVCAT23"),
}
"""Training file, test file (a third of the first where there is none), what is to be learned."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--show", choices=("scale", "tables", "learning"), default="scale")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--k", type=float, default=100.0)
    parser.add_argument("--releases", type=int, default=1_000, help="of each kind of table")
    parser.add_argument("--data", help="folder of real data; or the variable PRAMANA_DATA")


def run(options: argparse.Namespace) -> Result:
    return {"scale": scale, "tables": tables, "learning": learning}[options.show](options)


# -- one million people --------------------------------------------------------------------


def scale(options: argparse.Namespace) -> Result:
    import pramana as pm

    result = Result("Reports at scale", ("what", "seconds", "processor seconds", "peak, MiB"))

    def timed(what, function):
        begin, spent = time.perf_counter(), time.process_time()
        made = function()
        clock, spent = time.perf_counter() - begin, time.process_time() - spent
        peak = f"{peak_memory() / 2**20:,.0f}"
        result.rows.append((what, f"{clock:.1f}", f"{spent:.1f}", peak))
        return made

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        pq.write_table(_people(options.records), folder / "people.parquet")
        names = [f"c{at}" for at in range(len(SIZES))]
        schema = pm.describe(folder / "people.parquet", keys=names)
        promise = pm.PkAnonymity(k=options.k)
        plans = {}
        for method in ("attribute-sampling", "retention"):
            plans[method] = timed(
                f"design, {method}",
                lambda method=method: pm.design(
                    schema, promise, records=options.records, method=method
                ),
            )
        result.rows += _protected(plans, folder)
        for method in plans:
            timed(f"rebuild, {method}", lambda method=method: pm.load(folder / method).synthesize())
    result.notes.append(
        f"{options.records:,} records, {len(SIZES)} columns, k = {options.k:g}; protect: once to "
        "warm up, then the median of five turns, one method after the other."
    )
    return result


def _protected(plans, folder: Path) -> list[tuple[str, str, str, str]]:
    """Seconds and processor seconds of both, turn by turn, and how they compare."""
    import pramana as pm

    spent = {method: [] for method in plans}
    for _ in range(6):
        for method, plan in plans.items():
            shutil.rmtree(folder / method, ignore_errors=True)  # to look at an old one takes time
            begin = np.array([time.perf_counter(), time.process_time()])
            pm.protect(folder / "people.parquet", plan, to=folder / method)
            spent[method].append([time.perf_counter(), time.process_time()] - begin)
    found = {method: np.median(own[1:], axis=0) for method, own in spent.items()}
    peak = f"{peak_memory() / 2**20:,.0f}"
    rows = [(f"protect, {method}", f"{clock:.2f}", f"{used:.2f}", peak)
            for method, (clock, used) in found.items()]  # fmt: skip
    ratio = found["attribute-sampling"] / found["retention"]
    return [*rows, ("protect, reports / retention", f"{ratio[0]:.2f} x", f"{ratio[1]:.2f} x", "")]


def _people(records: int) -> pa.Table:
    """Columns that depend on three hidden kinds of people."""
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 3, records)
    columns = {}
    for at, size in enumerate(SIZES):
        ends = rng.dirichlet(np.full(size, 0.7), 3).cumsum(axis=1)
        level = rng.random(records)
        codes = (ends[kind, :-1] < level[:, None]).sum(axis=1) if size > 1 else 0 * kind
        columns[f"c{at}"] = codes.astype(np.int8)
    return pa.table(columns)


# -- unbiased tables -----------------------------------------------------------------------


def tables(options: argparse.Namespace) -> Result:
    head = ("world", "tables", "cells", "largest |z|", "covered", "least, by table", "most")
    result = Result("Two-way tables of reports, unbiased estimates", head)
    for name in ("public", "impossible", "missing", "strata", "households"):
        result.rows.append((name, *_over_releases(name, options.releases)))
    result.notes.append(f"{options.releases:,} releases each, 2,000 records, k = 20, level 95 %.")
    return result


def _world(name: str):
    """Four keys that go together, and what each world has beside."""
    import pramana as pm

    rng = np.random.default_rng(7)
    hidden = rng.random(2_000)
    codes = {f"c{n}": ((hidden + rng.random(2_000)) / 2 * n).astype(int) for n in (2, 3, 4, 5)}
    columns = {own: np.array([f"v{code}" for code in found]) for own, found in codes.items()}
    known = {own: tuple(f"v{at}" for at in range(int(own[1:]))) for own in columns}
    rules, strata, household = (), (), None
    if name == "impossible":
        columns["c3"][columns["c2"] == "v0"] = "v0"
        rules = (pm.Impossible.of({"c2": ["v0"], "c3": ["v1", "v2"]}),)
    if name == "missing":
        columns["c4"] = np.where(rng.random(2_000) < 0.1, None, columns["c4"])
    keys = [
        pm.Column(own, pm.Role.KEY, pm.Categories(values),
                  missing="category" if name == "missing" else "refuse")
        for own, values in known.items()
    ]  # fmt: skip
    if name == "strata":
        columns["part"] = np.array(["x", "y"])[(hidden < 0.4).astype(int)]
        keys.append(pm.Column("part", pm.Role.PUBLIC))
        strata = ("part",)
    if name == "households":
        columns["home"] = np.arange(2_000) // 2
        keys.append(pm.Column("home", pm.Role.IDENTIFIER))
        household = "home"
    schema = pm.Schema(tuple(keys), rules, strata, household=household)
    return pa.table(columns), schema, [*itertools.combinations(known, 2)]


def _over_releases(name: str, releases: int) -> tuple[str, ...]:
    import pramana as pm

    table, schema, pairs = _world(name)
    plan = pm.design(schema, pm.PkAnonymity(k=20), data=table, method="attribute-sampling")
    truth = Truth(table)
    off = {pair: [] for pair in pairs}
    inside = {pair: [] for pair in pairs}
    for seed in range(releases):
        release = pm.protect(table, plan, seed=seed)
        for pair in pairs:
            found = release.crosstab(*pair, method="unbiased")
            true = truth.counts(found)
            off[pair].append(found.estimate - true)
            inside[pair].append((found.low <= true) & (true <= found.high))
    scores, covered = [], []
    for pair in pairs:
        errors = np.array(off[pair])
        moved = errors.std(axis=0) > 0
        spread = errors.std(axis=0, ddof=1)[moved] / releases**0.5
        scores.append(np.abs(errors.mean(axis=0)[moved] / spread))
        covered.append(float(np.array(inside[pair])[:, moved].mean()))
    cells = np.concatenate(scores)
    shares = (f"{100 * own:.1f} %" for own in (np.mean(covered), min(covered), max(covered)))
    return str(len(pairs)), str(len(cells)), f"{cells.max():.2f}", *shares


# -- learning ------------------------------------------------------------------------------


def learning(options: argparse.Namespace) -> Result:
    head = ("file and target", "records", "truth", "most frequent", *(f"k = {k}" for k in KS))
    result = Result("Accuracy on clean records of a classifier learned on rebuilt ones", head)
    data = worlds.folder(options.data)
    for name, (train, test, target) in LEARNED.items() if data is not None else ():
        if (data / train).is_file():
            learn, check = _split(data, train, test)
            result.rows.append((f"{name}, {target}", f"{learn.num_rows:,}",
                                *_accuracies(learn, check, target)))  # fmt: skip
    result.notes.append(
        "Reports of pairs with the target among the tables asked for; a forest of 200 trees."
        if result.rows
        else "Needs --data, the folder of real data."
    )
    return result


def _split(data: Path, train: str, test: str | None) -> tuple[pa.Table, pa.Table]:
    learn = csv.read_csv(data / train)
    if test is not None:
        both = pa.concat_tables([learn, csv.read_csv(data / test).select(learn.column_names)])
        whole = coded(both, learn.column_names)
        return whole.slice(0, learn.num_rows), whole.slice(learn.num_rows)
    whole = coded(learn, [name for name in learn.column_names if not _is_weight(name)])
    order = np.random.default_rng(0).permutation(whole.num_rows)
    third = whole.num_rows // 3
    return whole.take(np.sort(order[third:])), whole.take(np.sort(order[:third]))


def _is_weight(name: str) -> bool:
    return name.upper() in {"PERWT23F", "VARSTR", "VARPSU", "DUPERSID", "FNLWGT"}


def _accuracies(learn: pa.Table, check: pa.Table, target: str) -> list[str]:
    import pramana as pm

    names = [name for name in learn.column_names if not _is_weight(name)]
    learn, check = learn.select(names), check.select(names)
    truth = np.array(check[target].to_pylist())
    numbers = np.unique(truth, return_counts=True)[1]
    found = [_accuracy(learn, check, target), numbers.max() / len(truth)]
    others = [name for name in names if name != target]
    pairs = tuple((name, target) for name in others)
    for k in KS:
        schema = pm.describe(learn, keys=names)
        method = pm.AttributeSampling(tables=pairs)
        plan = pm.design(schema, pm.PkAnonymity(k=k), records=learn.num_rows, method=method)
        made = pm.protect(learn, plan, seed=k).synthesize(seed=k)
        texts = {name: made[name].cast(pa.string()).fill_null("none") for name in names}
        found.append(_accuracy(pa.table(texts), check, target))
    return [f"{100 * own:.1f} %" for own in found]


def _accuracy(learn: pa.Table, check: pa.Table, target: str) -> float:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.preprocessing import OneHotEncoder

    others = [name for name in learn.column_names if name != target]
    rows = [np.array([own[name].to_pylist() for name in others], dtype=object).T
            for own in (learn, check)]  # fmt: skip
    encoder = OneHotEncoder(handle_unknown="ignore").fit(rows[0])
    forest = RandomForestClassifier(200, min_samples_leaf=10, random_state=1)
    forest.fit(encoder.transform(rows[0]), np.array(learn[target].to_pylist()))
    told = forest.predict(encoder.transform(rows[1]))
    return float((told == np.array(check[target].to_pylist())).mean())
