"""Means, models and whole files with numbers under the guarantee, on real files.

Needs --data, the folder of real data. Income (American Community Survey 2018), cost (Medical
Expenditure Panel 2023), pay (labour survey 1988) and blood pressure (NHANES II) are rounded to a
grid by chance and randomised with two keys at one promise; ranges are stated, grids chosen by the
schema alone. Shown: bias and coverage of means by group, the error that a design states beside the
one measured, what other ways are off by at the same k, models, and a file of which every column is
under the guarantee.
"""  # noqa: A005

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import _worlds as worlds
from benchmarks._measure import Result
from pramana.errors import NotCovered


@dataclass(frozen=True)
class Case:
    """A file: its number with a stated range, two keys, and a second number for models."""

    name: str
    of: str
    ends: tuple[float, float]
    step: float
    keys: tuple[str, str]
    other: str
    other_ends: tuple[float, float]
    table: pa.Table


def cases(folder: Path) -> list[Case]:
    import pandas as pd
    import pyarrow.parquet as pq

    acs = pq.read_table(folder / "acs2018_income_sample.parquet").slice(0, 20_000).to_pandas()
    meps = pd.read_csv(folder / "meps2023_adults.csv")
    nlsw = pd.read_stata(folder / "nlsw88.dta")
    nhanes = pd.read_stata(folder / "nhanes2.dta")
    wanted = [
        ("income", acs, "Income", (0, 250_000), 50, ("Gender", "Nativity"), "Age", (15, 95)),
        ("cost", meps, "TOTEXP23", (0, 50_000), 10, ("SEX", "INSURC23"), "AGE23X", (18, 86)),
        ("pay", nlsw, "wage", (0, 42), 0.05, ("collgrad", "married"), "ttl_exp", (0, 30)),
        ("blood pressure", nhanes, "bpsystol", (60, 240), 1, ("sex", "region"), "age", (20, 75)),
    ]
    found = []
    for name, frame, of, ends, step, keys, other, other_ends in wanted:
        own = frame[[of, *keys, other]].dropna()
        own = own.assign(
            **{of: own[of].astype(float).clip(*ends), other: own[other].astype(float)},
            **{key: own[key].astype(str) for key in keys},
        )
        own[of] = (own[of] / step).round() * step  # what a grid sees of it
        own[other] = own[other].round().clip(*other_ends)
        table = pa.Table.from_pandas(own.reset_index(drop=True), preserve_index=False)
        found.append(Case(name, of, ends, step, keys, other, other_ends, table))
    return found


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", help="folder of real data; or the variable PRAMANA_DATA")
    parser.add_argument("--releases", type=int, default=1000, help="releases of each file")
    parser.add_argument("--others", type=int, default=40, help="releases by each other way")
    parser.add_argument("--k", type=float, default=10.0)
    parser.add_argument("--points", type=int, default=9, help="of the grids of models")
    parser.add_argument("--epsilon", type=float, default=16.0, help="local epsilon of models")
    parser.add_argument("--show", choices=("means", "methods", "models", "file"), default="means")


def run(options: argparse.Namespace) -> Result:
    data = worlds.folder(options.data)
    show = {"means": _means, "methods": _methods, "models": _models, "file": _file}[options.show]
    if data is None:
        result = Result("Numbers under the guarantee", ("file",))
        result.notes.append("Needs --data, the folder of real data.")
        return result
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return show(cases(data), options)


def _schema(case: Case, *, grid: int = 5, with_other: str | None = None):
    import pramana as pm

    columns = [
        pm.Column(key, pm.Role.KEY, pm.Categories(tuple(sorted(set(case.table[key].to_pylist())))),
                  missing="refuse")
        for key in case.keys
    ]  # fmt: skip
    points = pm.NumberGrid.even(*case.ends, grid, step=case.step)
    columns.append(pm.Column(case.of, pm.Role.SENSITIVE, points, missing="refuse"))
    if with_other == "grid":
        ends = pm.NumberGrid.even(*case.other_ends, grid)
        columns.append(pm.Column(case.other, pm.Role.SENSITIVE, ends, missing="refuse"))
    return pm.Schema(tuple(columns), tables=((case.keys[0], case.of), (case.keys[1], case.of)))


def _designed(case: Case, promise):
    """The plan with the grid that is best at this promise, by the schema alone."""
    import pramana as pm
    from pramana.methods.number_errors import best_grid

    schema = _schema(case)
    plan = pm.design(schema, promise, records=case.table.num_rows)
    points, _, _ = best_grid(plan, case.of)
    return pm.design(_schema(case, grid=points), promise, records=case.table.num_rows,
                     method=plan.method.name)  # fmt: skip


def _group_means(table: pa.Table, key: str, of: str) -> dict[str, float]:
    codes, values = np.array(table[key].to_pylist()), table[of].to_numpy().astype(float)
    return {own: float(values[codes == own].mean()) for own in sorted(set(codes))}


def _means(found: list[Case], options: argparse.Namespace) -> Result:
    import pramana as pm
    from pramana.io.opening import open_table
    from pramana.methods.number_errors import mean_errors

    head = ("number, by", "records", "method", "points", "mean", "largest |z| of bias", "coverage",
            "error stated", "measured", "stated / measured")  # fmt: skip
    result = Result(f"Means of numbers by group at k = {options.k:g}", head)
    for case in found:
        plan = _designed(case, pm.PkAnonymity(k=options.k))
        names = [column.name for column in plan.schema.columns]
        table = case.table.select(names)
        stated = {own.by: own.error for own in mean_errors(plan, open_table(table))}
        seen = {key: ([], []) for key in case.keys}
        for seed in range(options.releases):
            release = pm.protect(table, plan, seed=seed)
            for key, (estimates, held) in seen.items():
                truth = np.array(list(_cached(case, key).values()))
                mean = release.mean(case.of, by=[key])
                estimates.append(np.asarray(mean.estimate))
                held.append((np.asarray(mean.low) <= truth) & (truth <= np.asarray(mean.high)))
        for key, (estimates, held) in seen.items():
            truth = np.array(list(_cached(case, key).values()))
            each = np.array(estimates)
            known = np.isfinite(each).mean(axis=0) > 0.99  # groups that are told from empty ones
            spread = np.nanstd(each, axis=0, ddof=1)
            z = np.abs(np.nanmean(each, axis=0) - truth) / spread * np.sqrt(len(each))
            shares = np.array([(np.array(table[key].to_pylist()) == own).mean()
                               for own in _cached(case, key)])  # fmt: skip
            measured, error = float(shares @ spread), stated.get((key,), np.nan)
            size = len(plan.schema.column(case.of).labels)
            result.rows.append((
                f"{case.name}, {key}", f"{table.num_rows:,}", plan.method.name, str(size),
                f"{truth.mean():,.4g}", f"{z[known].max():.2f}", f"{np.mean(held):.3f}",
                f"{error:,.3g}", f"{measured:,.3g}", f"{error / measured:.2f}",
            ))  # fmt: skip
            result.wrong += bool(z[known].max() > 4)
            print(result.rows[-1], file=sys.stderr, flush=True)
    result.notes.append(
        f"{options.releases:,} releases a file; errors are means over the records' groups."
    )
    return result


_MEANS: dict[tuple[str, str], dict[str, float]] = {}


def _cached(case: Case, key: str) -> dict[str, float]:
    if (case.name, key) not in _MEANS:
        _MEANS[case.name, key] = _group_means(case.table, key, case.of)
    return _MEANS[case.name, key]


def _methods(found: list[Case], options: argparse.Namespace) -> Result:
    """Root mean squared error of means by the first key, in percent of the mean."""
    import pramana as pm

    head = ("number, by", "grid, under k", "bins with centres, under k", "noise, outside k",
            "resample --response, outside k", "unprotected number")  # fmt: skip
    result = Result(f"Error of means by group at k = {options.k:g}, percent of the mean", head)
    promise = pm.PkAnonymity(k=options.k)
    for case in found:
        key = case.keys[0]
        truth = np.array(list(_cached(case, key).values()))
        plan = _designed(case, promise)
        table = case.table.select([column.name for column in plan.schema.columns])
        grid = plan.schema.column(case.of).domain
        edges = np.linspace(*case.ends, grid.size + 1)
        sd = float(np.std(table[case.of].to_numpy()))
        keys = [plan.schema.column(name) for name in case.keys]
        plain = pm.Column(case.of, pm.Role.SENSITIVE)
        noisy = replace(plain, recoding=pm.Recoding(noise=pm.Noise("laplace", sd)))
        bins = pm.Column(case.of, pm.Role.KEY, pm.Bins(tuple(edges), release="centre"),
                         missing="refuse")  # fmt: skip
        ways = {
            "grid": plan,
            "bins": pm.design(pm.Schema((*keys, bins), tables=plan.schema.tables), promise,
                              records=table.num_rows, method=plan.method.name),
            "noise": pm.design(pm.Schema((*keys, noisy)), promise, data=table),
            "resample": pm.design(pm.Schema((*keys, plain)), pm.KAnonymity(k=int(options.k)),
                                  data=table, method=pm.Resample(responses=(case.of,))),
            "plain": pm.design(pm.Schema((*keys, plain)), promise, data=table),
        }  # fmt: skip
        cells = [f"{case.name}, {key}"]
        for name, own in ways.items():
            off = []
            for seed in range(options.others):
                risk = [column.name for column in own.schema.released_as_is]
                release = pm.protect(table, own, seed=seed, accept_risk=risk)
                if name == "bins":
                    counts = release.crosstab(key, case.of, method="unbiased")
                    centres = np.asarray(own.schema.column(case.of).domain.centres, float)
                    told = np.asarray(counts.estimate)
                    means = told @ centres / told.sum(axis=1)
                else:
                    means = np.asarray(release.mean(case.of, by=[key]).estimate)
                off.append(means - truth)
            error = np.sqrt(np.nanmean(np.square(off), axis=0))
            cells.append(f"{100 * np.mean(error / np.abs(truth)):.2f}")
        result.rows.append(tuple(cells))
        print(cells, file=sys.stderr, flush=True)
    result.notes.append(
        f"Root mean squared errors of {options.others} releases, mean over groups. Noise has the "
        "number's standard deviation as its scale."
    )
    return result


def _models(found: list[Case], options: argparse.Namespace) -> Result:
    """Coverage of coefficients: the number as response by a key, and by another number."""
    import pramana as pm

    head = ("model", "points", "epsilon", "coefficient", "estimate / least squares", "coverage",
            "spread / stated")  # fmt: skip
    points, epsilon = str(options.points), f"{options.epsilon:g}"
    result = Result("Least squares with numbers on a grid, about these records", head)
    for case in found:
        schema = _schema(case, grid=options.points, with_other="grid")
        schema = pm.Schema(tuple(c for c in schema.columns if c.name != case.keys[1]))
        table = case.table.select([column.name for column in schema.columns])
        x, y = (table[name].to_numpy().astype(float) for name in (case.other, case.of))
        codes = np.array(table[case.keys[0]].to_pylist())
        _, *rest = sorted(set(codes))
        design = np.column_stack([np.ones(len(y)), x, *[(codes == own) * 1.0 for own in rest]])
        truth = np.linalg.lstsq(design, y, rcond=None)[0]
        formula = f"{case.of} ~ {case.other} + C({case.keys[0]})"
        names = ["Intercept", case.other, *[f"C({case.keys[0]})[T.{own}]" for own in rest]]
        promise = pm.DifferentialPrivacy(epsilon=options.epsilon)
        plan = pm.design(schema, promise, records=len(y), method="retention")
        try:
            fits = [
                pm.protect(table, plan, seed=seed).regress(formula, infer="records")
                for seed in range(options.releases)
            ]
        except NotCovered:
            result.rows.append((formula, points, epsilon, "not identified", "", "", ""))
            continue
        order = [fits[0].names.index(name) for name in names]
        each = np.array([np.asarray(fit.coefficients)[order] for fit in fits])
        low = np.array([np.asarray(fit.low)[order] for fit in fits])
        high = np.array([np.asarray(fit.high)[order] for fit in fits])
        se = np.array([np.asarray(fit.se)[order] for fit in fits])
        held = ((low <= truth) & (truth <= high)).mean(axis=0)
        for at in (1, 2):
            result.rows.append((
                formula, points, epsilon, names[at], f"{each[:, at].mean() / truth[at]:.3f}",
                f"{held[at]:.3f}", f"{each[:, at].std() / se[:, at].mean():.2f}",
            ))  # fmt: skip
            print(result.rows[-1], file=sys.stderr, flush=True)
    result.notes.append(f"{options.releases:,} releases a file; response and covariate on grids.")
    return result


def _file(found: list[Case], options: argparse.Namespace) -> Result:  # noqa: ARG001
    """Every column of the expenditure panel under the guarantee: what an analyst gets."""
    import pandas as pd

    import pramana as pm

    folder = worlds.folder(options.data)
    frame = pd.read_csv(folder / "meps2023_adults.csv")
    frame = frame.drop(columns=["VARSTR", "VARPSU", "PERWT23F", "educ_cat"]).dropna()
    numbers = {"TOTEXP23": ((0, 50_000), 10), "AGE23X": ((18, 86), 1), "EDUCYR": ((0, 17), 1)}
    columns = []
    for name in frame.columns:
        if name in numbers:
            (low, high), step = numbers[name]
            frame[name] = (frame[name].clip(low, high) / step).round() * step
            grid = pm.NumberGrid.even(low, high, 4 if name != "TOTEXP23" else 3, step=step)
            columns.append(pm.Column(name, pm.Role.KEY, grid, missing="refuse"))
        else:
            frame[name] = frame[name].astype(str)
            values = pm.Categories(tuple(sorted(set(frame[name]))))
            columns.append(pm.Column(name, pm.Role.KEY, values, missing="refuse"))
    tables = (("TOTEXP23", "SEX"), ("TOTEXP23", "INSURC23"), ("TOTEXP23", "AGE23X"),
              ("EDUCYR", "RACETHX"), ("AGE23X", "DIABDX_M18"), ("SEX", "HIBPDX"),
              ("POVCAT23", "INSURC23"), ("RACETHX", "CANCERDX"))  # fmt: skip
    schema = pm.Schema(tuple(columns), tables=tables)
    table = pa.Table.from_pandas(frame.reset_index(drop=True), preserve_index=False)
    head = ("asked", "original", "central (1, 1e-6), shuffled marginals",
            "central (1, 1e-6), attribute sampling", "k = 10, attribute sampling")  # fmt: skip
    result = Result(f"{table.num_rows:,} records, every column under the guarantee", head)
    central = pm.ShuffledPrivacy(epsilon=1, delta=1e-6)
    ways = (("shuffled-marginals", central), ("attribute-sampling", central),
            ("attribute-sampling", pm.PkAnonymity(k=10)))  # fmt: skip
    plans = [pm.design(schema, own, records=table.num_rows, method=method)
             for method, own in ways]  # fmt: skip
    releases = [
        [pm.protect(table, plan) for _ in range(20)] for plan in plans
    ]  # a seed voids central
    for of, by in (("TOTEXP23", ()), ("TOTEXP23", ("SEX",)), ("TOTEXP23", ("INSURC23",)),
                   ("AGE23X", ()), ("EDUCYR", ("RACETHX",))):  # fmt: skip
        truth = frame.groupby(list(by))[of].mean() if by else pd.Series([frame[of].mean()])
        cells = [f"mean of {of}{' by ' + by[0] if by else ''}", f"{truth.mean():,.4g}"]
        for own in releases:
            each = [np.ravel(release.mean(of, by=list(by)).estimate) for release in own]
            cells.append(f"+- {np.nanstd(each, axis=0).mean():,.3g}")
        result.rows.append(tuple(cells))
    for pair in (("POVCAT23", "INSURC23"), ("SEX", "HIBPDX")):
        truth = pd.crosstab(frame[pair[0]], frame[pair[1]]).to_numpy() / len(frame)
        cells = [f"table {pair[0]} by {pair[1]}", f"{truth.size} cells"]
        for own in releases:
            gaps = [np.abs(np.asarray(r.crosstab(*pair, share=True).estimate) - truth).sum()
                    for r in own]  # fmt: skip
            cells.append(f"{100 * np.mean(gaps):.1f} % of records off")
        result.rows.append(tuple(cells))
    result.notes.append("Spread over 20 releases, on average over groups.")
    return result
