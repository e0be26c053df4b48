"""How often intervals pooled over synthetic copies hold, for means, least squares and logit.

The rows of a real file are the population, and the same fit on all of them is the truth. Each
release is of a new sample with replacement. Sex, age (six groups), education (four levels) and
income (above a limit or not) are randomised. A number is released unchanged: hours of work a week,
or minutes to work.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

import pramana as pm
from benchmarks._measure import Result
from pramana.experiments.insurance import YEARS_OF_SCHOOL

SIZES = {"sex": 2, "age": 6, "education": 4, "income": 2}
SCHEMA = pm.Schema(
    (
        *(
            pm.Column(name, pm.Role.KEY, pm.Categories(tuple(range(size))), missing="refuse")
            for name, size in SIZES.items()
        ),
        pm.Column("number", pm.Role.SENSITIVE),
    )
)
AGES, SCHOOL = (25, 35, 45, 55, 65), (12, 13, 16)
HEAD = (
    "file",
    "release",
    "fit",
    "estimates",
    "mean coverage",
    "least",
    "most",
    "largest bias / sd",
    "se / sd",
    "width / original",
)


def adult(folder: Path) -> pa.Table:
    """The census of 1994."""
    table = csv.read_csv(folder / "adult_train.csv")
    sex, income = np.array(table["sex"].to_pylist()), np.array(table["income"].to_pylist())
    columns = {
        "sex": np.char.strip(sex.astype(str)) == "Female",
        "age": np.digitize(table["age"].to_numpy(), AGES),
        "education": np.digitize(table["education-num"].to_numpy(), (9, 10, 13)),
        "income": np.char.strip(income.astype(str)) == ">50K",
        "number": table["hours-per-week"].to_numpy(),
    }
    return pa.table({name: values.astype(np.int64) for name, values in columns.items()})


def acs(folder: Path) -> pa.Table:
    """The American Community Survey of 2018."""
    table = parquet.read_table(folder / "acs2018_income_sample.parquet")
    school = [YEARS_OF_SCHOOL.get(words, 0) for words in table["Education"].to_pylist()]
    columns = {
        "sex": np.array(table["Gender"].to_pylist()) == "Female",
        "age": np.digitize(table["Age"].to_numpy(), AGES),
        "education": np.digitize(school, SCHOOL),
        "income": table["Income"].to_numpy() > 50_000,
        "number": table["Travel time to work"].fill_null(0).to_numpy(),
    }
    return pa.table({name: values.astype(np.int64) for name, values in columns.items()})


FILES = {"adult": adult, "acs": acs}


def _design(table: pa.Table, *names: str) -> np.ndarray:
    columns = [np.asarray(table[name], dtype=np.float64) for name in names]
    return np.stack([np.ones(table.num_rows), *columns], axis=1)


def means(table: pa.Table):
    """The means of income, education and age."""
    x = _design(table, "income", "education", "age")[:, 1:]
    return x.mean(axis=0), np.cov(x.T) / len(x)


def least_squares(table: pa.Table):
    """The number by sex, age and education, with robust errors."""
    x, y = _design(table, "sex", "age", "education"), np.asarray(table["number"], float)
    inverse = np.linalg.inv(x.T @ x)
    beta = inverse @ x.T @ y
    scores = x * (y - x @ beta)[:, None]
    return beta, inverse @ scores.T @ scores @ inverse


def logit(table: pa.Table):
    """Income by sex, age and education."""
    x, y = _design(table, "sex", "age", "education"), np.asarray(table["income"], float)
    beta = np.zeros(x.shape[1])
    for _ in range(25):
        mean = 1 / (1 + np.exp(-x @ beta))
        information = (x * (mean * (1 - mean))[:, None]).T @ x
        beta = beta + np.linalg.solve(information, x.T @ (y - mean))
    return beta, np.linalg.inv(information)


FITS = {"means": means, "least squares": least_squares, "logit": logit}


def plan_of(release: str, sample: pa.Table) -> pm.Plan:
    """Whole records at a retention, or attribute sampling at an epsilon."""
    kind, number = release.split("=")
    if kind == "epsilon":
        target = pm.DifferentialPrivacy(epsilon=float(number))
        return pm.design(SCHEMA, target, data=sample, method="attribute-sampling")
    matrices = {
        name: pm.UniformMixture.of(tuple(range(size)), retention=float(number))
        for name, size in SIZES.items()
    }
    return pm.design(SCHEMA, data=sample, method=pm.GivenMatrices(matrices))


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with the files")
    parser.add_argument("--file", choices=list(FILES), nargs="*", default=list(FILES))
    parser.add_argument("--draws", type=int, default=60, help="releases of each kind")
    parser.add_argument("--records", type=int, default=3_000)
    parser.add_argument("--copies", type=int, default=5)
    parser.add_argument(
        "--release", nargs="*", default=["retention=0.8", "retention=0.5", "epsilon=4"]
    )


def run(options: argparse.Namespace) -> Result:
    """Coverage by file, kind of release and fit."""
    result = Result("How often 95 % intervals pooled over synthetic copies hold", HEAD)
    for name in options.file:
        people = FILES[name](options.data)
        truths = {fit: FITS[fit](people)[0] for fit in FITS}
        for release in options.release:
            pooled, widths = {fit: [] for fit in FITS}, {fit: [] for fit in FITS}
            for draw in range(options.draws):
                rng = np.random.default_rng(draw)
                sample = people.take(rng.integers(0, people.num_rows, options.records))
                made = pm.protect(sample, plan_of(release, sample), seed=draw)
                tables = made.synthesize(copies=options.copies, seed=draw)
                for fit, fitted in FITS.items():
                    pooled[fit].append(pm.pool([fitted(table) for table in tables]))
                    widths[fit].append(2 * 1.96 * np.sqrt(np.diag(fitted(sample)[1])))
            for fit, truth in truths.items():
                held = np.mean([(p.low <= truth) & (truth <= p.high) for p in pooled[fit]], axis=0)
                estimates = np.array([p.coefficients for p in pooled[fit]])
                sd, bias = estimates.std(axis=0, ddof=1), estimates.mean(axis=0) - truth
                se = np.mean([p.se for p in pooled[fit]], axis=0)
                width = np.mean([p.high - p.low for p in pooled[fit]], axis=0)
                row = (
                    name, release, fit, str(len(truth)), f"{held.mean():.3f}", f"{held.min():.3f}",
                    f"{held.max():.3f}", f"{np.abs(bias / sd).max():.2f}",
                    f"{np.mean(se / sd):.2f}",
                    f"{np.mean(width / np.mean(widths[fit], axis=0)):.1f}",
                )  # fmt: skip
                result.rows.append(row)
    result.notes.append(
        f"{options.draws} releases of {options.records:,} records each, {options.copies} copies."
    )
    return result
