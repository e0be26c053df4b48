"""How often intervals pooled over synthetic copies hold, by model, file and kind of release.

The rows of a real file are the population, and the same fit on all of them is the truth. Each
release is of a new sample with replacement. Sex, age (six groups), education (four levels), a yes
or no (income above a limit, high blood pressure) and a group of three (marital status, ethnic
origin) are randomised. A number is released unchanged: hours of work a week, minutes to work, or
the logarithm of expenditure on health.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

import pramana as pm
from benchmarks._measure import Result
from pramana.analysis.category_models import CategoryModel
from pramana.analysis.regression import CorrectedScores, solve_scores
from pramana.experiments.insurance import YEARS_OF_SCHOOL

SIZES = {"sex": 2, "age": 6, "education": 4, "yes": 2, "group": 3}
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
    sex, income, marital = (
        np.char.strip(np.array(table[name].to_pylist()).astype(str))
        for name in ("sex", "income", "marital-status")
    )
    return _table(
        sex == "Female",
        table["age"].to_numpy(),
        np.digitize(table["education-num"].to_numpy(), (9, 10, 13)),
        income == ">50K",
        np.where(np.char.startswith(marital, "Married"), 0, 1 + (marital == "Never-married")),
        table["hours-per-week"].to_numpy(),
    )


def acs(folder: Path) -> pa.Table:
    """The American Community Survey of 2018."""
    table = parquet.read_table(folder / "acs2018_income_sample.parquet")
    school = [YEARS_OF_SCHOOL.get(words, 0) for words in table["Education"].to_pylist()]
    marital = np.array(table["Marital Status"].to_pylist()).astype(str)
    return _table(
        np.array(table["Gender"].to_pylist()) == "Female",
        table["Age"].to_numpy(),
        np.digitize(school, SCHOOL),
        table["Income"].to_numpy() > 50_000,
        np.where(marital == "Married", 0, 1 + np.char.startswith(marital, "Never")),
        table["Travel time to work"].fill_null(0).to_numpy(),
    )


def meps(folder: Path) -> pa.Table:
    """The Medical Expenditure Panel Survey of 2023; the group is ethnic origin."""
    table = csv.read_csv(folder / "meps2023_adults.csv")
    table = table.select(["SEX", "AGE23X", "EDUCYR", "HIBPDX", "RACETHX", "TOTEXP23"]).drop_null()
    origin = np.array(table["RACETHX"].to_pylist())
    return _table(
        table["SEX"].to_numpy() == 2,
        table["AGE23X"].to_numpy(),
        np.digitize(table["EDUCYR"].to_numpy(), SCHOOL),
        table["HIBPDX"].to_numpy() == 1,
        np.where(origin == "Non-Hispanic White", 0, 1 + (origin == "Hispanic")),
        np.log1p(table["TOTEXP23"].to_numpy()).round(2),
    )


def _table(sex, age, education, yes, group, number) -> pa.Table:
    codes = {"sex": sex, "age": np.digitize(age, AGES), "education": education}
    codes |= {"yes": yes, "group": group}
    columns = {name: values.astype(np.int64) for name, values in codes.items()}
    return pa.table({**columns, "number": number.astype(np.float64)})


FILES = {"adult": adult, "acs": acs, "meps": meps}


def _design(table: pa.Table, *names: str) -> np.ndarray:
    columns = [np.asarray(table[name], dtype=np.float64) for name in names]
    return np.stack([np.ones(table.num_rows), *columns], axis=1)


def means(table: pa.Table):
    """The means of the yes or no, of education and of age."""
    x = _design(table, "yes", "education", "age")[:, 1:]
    return x.mean(axis=0), np.cov(x.T) / len(x)


def least_squares(table: pa.Table):
    """The number by sex, age and education, with robust errors."""
    x, y = _design(table, "sex", "age", "education"), np.asarray(table["number"], float)
    inverse = np.linalg.inv(x.T @ x)
    beta = inverse @ x.T @ y
    scores = x * (y - x @ beta)[:, None]
    return beta, inverse @ scores.T @ scores @ inverse


def logit(table: pa.Table):
    """The yes or no by sex, age and education."""
    x, y = _design(table, "sex", "age", "education"), np.asarray(table["yes"], float)
    beta = np.zeros(x.shape[1])
    for _ in range(25):
        mean = 1 / (1 + np.exp(-x @ beta))
        information = (x * (mean * (1 - mean))[:, None]).T @ x
        beta = beta + np.linalg.solve(information, x.T @ (y - mean))
    return beta, np.linalg.inv(information)


def multinomial(table: pa.Table):
    """The group by sex, age and education."""
    return _category_model(table, "multinomial", "group", "sex", "age", "education")


def ordered(table: pa.Table):
    """Education by sex, age and the yes or no."""
    return _category_model(table, "ordered", "education", "sex", "age", "yes")


def _category_model(table: pa.Table, family: str, response: str, *names: str):
    """Maximum likelihood, as statsmodels has it (tests/analysis/test_category_models.py)."""
    rows = np.column_stack([_design(table, *names), np.asarray(table[response], dtype=np.float64)])
    rows, counts = np.unique(rows, axis=0, return_counts=True)
    model = CategoryModel(family, tuple(map(str, range(SIZES[response]))), ("Intercept", *names))
    design, y = model.rows(rows[:, :-1], rows[:, -1].astype(np.int64))
    nothing = dict.fromkeys(("wy", "wwy", "wwyy"), np.zeros(len(rows)))
    scores = CorrectedScores(
        family, design[:, None], y[:, None], np.arange(len(rows)), (),
        **dict.fromkeys(("n", "w", "ww"), counts.astype(np.float64)), **nothing,
    )  # fmt: skip
    fit = solve_scores(scores, model.names, infer="population", z=1.96)
    return fit.coefficients, fit.covariance


FITS = {
    "means": means,
    "least squares": least_squares,
    "logit": logit,
    "multinomial": multinomial,
    "ordered": ordered,
}


def plan_of(release: str, sample: pa.Table) -> pm.Plan:
    """Whole records at a retention or for k, or attribute sampling at an epsilon."""
    kind, number = release.split("=")
    if kind == "k":
        return pm.design(SCHEMA, pm.PkAnonymity(k=float(number)), data=sample)
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
    parser.add_argument("--draws", type=int, default=100, help="releases of each kind")
    parser.add_argument("--records", type=int, default=3_000)
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("--release", nargs="*", default=["retention=0.8", "k=2"])


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
