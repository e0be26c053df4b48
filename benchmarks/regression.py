"""How often intervals of regressions on randomised records hold, by family and retention.

A new sample of people is drawn and released each time; the coefficients that made them are known.
Sex, age (five bins, used as a number) and work are randomised, region, years and children are kept,
so that covariates, response and both are randomised in turn. With --infer records one sample is
released again and again, and the same fit on its true records is the truth. With --release reports
each record answers one set of columns only, region is reported as well, and instead of a retention
epsilon is given: a report of sex and age then keeps 0.84, 0.66 or 0.39 of its records' answers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from benchmarks._measure import Result
from pramana import api
from pramana.errors import NotCovered
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.given import GivenMatrices
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

SCHEMA = Schema(
    (
        Column("sex", Role.KEY, Categories(("F", "M"))),
        Column("age", Role.KEY, Bins((20, 30, 40, 50, 60, 70))),
        Column("work", Role.KEY, Categories(("no", "yes"))),
        Column("region", Role.PUBLIC, Categories(("north", "south", "west"))),
        Column("years", Role.SENSITIVE),
        Column("children", Role.SENSITIVE),
        Column("income", Role.SENSITIVE),
    )
)

REPORTED = Schema(
    tuple(replace(own, role=Role.KEY) if own.name == "region" else own for own in SCHEMA.columns)
)

HEALTH, REGIONS = ("bad", "fair", "good", "great"), ("north", "south", "west")
CATEGORIES = Schema(
    (
        Column("sex", Role.KEY, Categories(("F", "M"))),
        Column("age", Role.KEY, Categories((0, 1, 2, 3))),
        Column("health", Role.KEY, Categories(HEALTH, ordered=True)),
        Column("region", Role.KEY, Categories(REGIONS)),
        Column("years", Role.SENSITIVE),
    )
)

MODELS = {
    "linear, covariates": ("income ~ age + sex + C(region) + years", "linear"),
    "logistic, both": ("work ~ age + sex", "logistic"),
    "logistic, response": ("work ~ years", "logistic"),
    "poisson, covariates": ("children ~ age + sex", "poisson"),
    "multinomial, both": ("region ~ sex + age + years", "multinomial"),
    "ordered, both": ("health ~ sex + age + years", "ordered"),
}

TRUTHS = {
    "linear, covariates": (1000.0, 20.0, 300.0, -200.0, 0.0, 50.0),
    "logistic, both": (-2.5, 0.05, 0.8),
    "poisson, covariates": (-1.0, 0.02, -0.3),
    "multinomial, both": (0.0, 0.4, 0.2, 0.0, -0.5, 0.5, -0.3, 0.1),
    "ordered, both": (-0.5, 0.7, 2.0, 0.8, 0.3, -0.2),
}


def people(records: int, rng) -> pa.Table:
    """Errors of income are far from Normal and grow with age: nothing of that is modelled."""
    sex, age = rng.random(records) < 0.5, rng.integers(20, 70, records)
    region, years = rng.integers(0, 3, records), rng.integers(0, 10, records)
    middle = age // 10 * 10 + 5
    work = rng.random(records) < 1 / (1 + np.exp(2.5 - 0.05 * middle - 0.8 * sex))
    children = rng.poisson(np.exp(-1 + 0.02 * middle - 0.3 * sex))
    noise = (rng.gamma(2, 1, records) - 2) * 4 * middle
    income = 1000 + 20 * middle + 300 * sex - 200 * (region == 1) + 50 * years + noise
    return pa.table(
        {
            "sex": np.where(sex, "M", "F"),
            "age": age,
            "work": np.where(work, "yes", "no"),
            "region": np.array(["north", "south", "west"])[region],
            "years": years,
            "children": children,
            "income": income,
        }
    )


def people_in_categories(records: int, rng) -> pa.Table:
    """Health by proportional odds, region by multinomial logits."""
    sex, age = rng.random(records) < 0.5, rng.integers(0, 4, records)
    years = rng.integers(0, 6, records)
    latent = 0.8 * sex + 0.3 * age - 0.2 * years + rng.logistic(size=records)
    utility = [np.zeros(records), 0.4 * sex + 0.2 * age, 0.5 * sex - 0.3 * age + 0.1 * years - 0.5]
    region = (np.stack(utility, axis=1) + rng.gumbel(size=(records, 3))).argmax(axis=1)
    return pa.table(
        {
            "sex": np.where(sex, "M", "F"),
            "age": age,
            "health": np.array(HEALTH)[np.digitize(latent, [-0.5, 0.7, 2.0])],
            "region": np.array(REGIONS)[region],
            "years": years,
        }
    )


def plan_of(
    retention: float, table: pa.Table, release: str = "whole", schema: Schema | None = None
):
    """Every key through a uniform mixture; or reports, with what stands for epsilon."""
    if release == "attribute-sampling":
        promise = DifferentialPrivacy(epsilon=retention)
        schema = schema or REPORTED
        return api.design(schema, promise, data=table, method="attribute-sampling")
    schema = schema or SCHEMA
    matrices = {
        column.name: UniformMixture.of(column.labels, retention=retention)
        for column in schema.randomised
    }
    return api.design(schema, data=table, method=GivenMatrices(matrices))


def coverage(
    name: str,
    retention: float,
    *,
    draws: int,
    records: int,
    infer: str,
    release: str = "whole",
    seed: int = 0,
):
    """Shares of intervals that hold; mean error; spread; refusals; do errors hang together?"""
    rng = np.random.default_rng(seed)
    formula, family = MODELS[name]
    make, schema = people, None
    if family in ("multinomial", "ordered"):
        make, schema = people_in_categories, CATEGORIES
    table, right = make(records, rng), TRUTHS.get(name)
    plan = plan_of(retention, table, release, schema)
    exact = plan_of(1.0, table, schema=schema)
    held, errors, ses, refused = [], [], [], 0
    if infer == "records" or right is None:
        whole = table if infer == "records" else people(400_000, rng)
        fit = api.protect(whole, exact if infer == "records" else plan_of(1.0, whole), seed=1)
        right = tuple(fit.regress(formula, family=family, infer="records").coefficients)
    for draw in range(draws):
        if infer == "population":
            table = make(records, rng)
        made = api.protect(table, plan, seed=seed * 1_000_000 + draw)
        try:
            found = made.regress(formula, family=family, infer=infer)
        except NotCovered:
            refused += 1
            continue
        held.append((found.low <= right) & (np.array(right) <= found.high))
        errors.append(found.coefficients - right)
        ses.append(found.se)
    if not held:
        return None, None, None, refused, None
    spread = np.std(errors, axis=0)
    return (
        np.mean(held, axis=0),
        np.mean(errors, axis=0) / spread,
        np.mean(ses, 0) / spread,
        refused,
        np.diag(np.corrcoef(np.transpose(errors), np.transpose(ses)), len(spread)),
    )


def arguments(parser) -> None:
    parser.add_argument("--draws", type=int, default=500, help="releases to draw")
    parser.add_argument("--records", type=int, default=4_000)
    parser.add_argument("--release", choices=("whole", "attribute-sampling"), default="whole")
    parser.add_argument("--retention", type=float, nargs="*", help="epsilon for reports")
    parser.add_argument("--seed", type=int, default=0, help="another one for another slice")
    parser.add_argument("--infer", choices=("population", "records"), default="population")
    parser.add_argument("--model", choices=list(MODELS), nargs="*", default=list(MODELS))


def run(options) -> Result:
    head = (
        "model",
        "retention",
        "least",
        "mean",
        "most",
        "bias / spread",
        "se / spread",
        "se with coefficient",
        "refused",
    )
    result = Result(f"How often 95 % intervals of coefficients hold ({options.infer})", head)
    usual = [0.8, 0.6, 0.4] if options.release == "whole" else [4.0, 3.0, 2.0]
    for name in options.model:
        for retention in options.retention or usual:
            held, bias, width, refused, along = coverage(
                name, retention, draws=options.draws, records=options.records, infer=options.infer,
                release=options.release, seed=options.seed,
            )  # fmt: skip
            if held is None:
                result.rows.append((name, f"{retention:g}", *["-"] * 6, str(refused)))
                continue
            figures = (held.min(), held.mean(), held.max())
            result.rows.append(
                (name, f"{retention:g}", *(f"{value:.3f}" for value in figures),
                 f"{np.abs(bias).max():.2f}", f"{width.min():.2f}-{width.max():.2f}",
                 f"{np.abs(along).max():.2f}", str(refused))
            )  # fmt: skip
    result.notes.append(f"{options.records:,} records, {options.draws} releases each.")
    return result
