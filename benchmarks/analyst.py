"""How often intervals of quantiles, shares beyond a number, differences and ratios hold.

The people of the benchmark of regressions: sex and age are randomised, income is kept. About the
population a new sample is drawn each time, and a sample of 2,000,000 stands for the truth; about
these records one sample is released again and again.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchmarks._measure import Result
from benchmarks.regression import people, plan_of
from pramana import api

LIMIT = 2_500
QUESTIONS = {
    "quartiles of income by sex": lambda r, how: r.quantile(
        "income", (0.25, 0.5, 0.75), by=["sex"], **how
    ),
    "median of income by age": lambda r, how: r.quantile("income", by=["age"], **how),
    "share of income >= 2500 by age": lambda r, how: r.proportion(
        f"income>={LIMIT}", by=["age"], **how
    ),
    "mean income, M less F": lambda r, how: r.mean("income", by=["sex"], **how).difference(
        "M", "F"
    ),
    "mean income, M over F": lambda r, how: r.mean("income", by=["sex"], **how).ratio("M", "F"),
    "share of work, M less F": lambda r, how: r.crosstab(
        "sex", "work", share="row", method="unbiased", **how
    ).difference(("M", "yes"), ("F", "yes")),
    "working women over men": lambda r, how: r.crosstab(
        "sex", "work", method="unbiased", **how
    ).ratio(("F", "yes"), ("M", "yes")),
}


def truth_of(table: pa.Table) -> dict[str, np.ndarray]:
    """The same by plain counting."""
    sex, income = table["sex"].to_numpy(), table["income"].to_numpy()
    age, work = table["age"].to_numpy() // 10, table["work"].to_numpy() == "yes"
    women, men = sex == "F", sex == "M"

    def quantiles(own, q):
        return np.quantile(income[own], q, method="inverted_cdf")

    ages = [age == ten for ten in range(2, 7)]
    by_age = np.array([quantiles(own, 0.5) for own in ages])
    return dict(
        zip(
            QUESTIONS,
            (
                np.array([quantiles(own, (0.25, 0.5, 0.75)) for own in (women, men)]),
                by_age,
                np.array([(income[own] >= LIMIT).mean() for own in ages]),
                income[men].mean() - income[women].mean(),
                income[men].mean() / income[women].mean(),
                work[men].mean() - work[women].mean(),
                work[women].sum() / work[men].sum(),
            ),
            strict=True,
        )
    )


def coverage(retention: float, *, draws: int, records: int, infer: str, seed: int = 0):
    """For each question the shares of intervals that hold."""
    rng = np.random.default_rng(seed)
    table = people(records, rng)
    right = truth_of(table if infer == "records" else people(2_000_000, rng))
    plan = plan_of(retention, table)
    held: dict[str, list] = {name: [] for name in QUESTIONS}
    for draw in range(draws):
        if infer == "population":
            table = people(records, rng)
        release = api.protect(table, plan, seed=seed * 1_000_000 + draw)
        for name, ask in QUESTIONS.items():
            found = ask(release, {"infer": infer})
            held[name].append((found.low <= right[name]) & (right[name] <= found.high))
    return {name: np.mean(own, axis=0) for name, own in held.items()}


def arguments(parser) -> None:
    parser.add_argument("--draws", type=int, default=500, help="releases to draw")
    parser.add_argument("--records", type=int, default=4_000)
    parser.add_argument("--retention", type=float, nargs="*", default=[0.8, 0.6, 0.4])
    parser.add_argument("--infer", choices=("population", "records"), default="population")


def run(options) -> Result:
    head = ("question", "retention", "least", "mean", "most")
    result = Result(f"How often 95 % intervals hold ({options.infer})", head)
    for retention in options.retention:
        found = coverage(
            retention, draws=options.draws, records=options.records, infer=options.infer
        )
        for name, held in found.items():
            figures = (np.min(held), np.mean(held), np.max(held))
            result.rows.append((name, f"{retention:g}", *(f"{value:.3f}" for value in figures)))
    result.notes.append(f"{options.records:,} records, {options.draws} releases each.")
    return result
