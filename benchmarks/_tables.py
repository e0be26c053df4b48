"""Tables for the benchmarks of k-anonymity: real ones where a folder is given, else generated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

POVERTY = ("Poor/Negative", "Near Poor", "Low Income", "Middle Income", "High Income")
AGES = (26, 35, 45, 55, 65, 75, 85)


def numbers(table, *names):
    columns = [table[name].cast("float64").fill_null(np.nan).to_numpy() for name in names]
    return np.column_stack(columns)


def ranks(column, order=None):
    texts = np.array(column.cast("string").fill_null("").to_pylist())
    order = sorted(set(texts)) if order is None else order
    return np.array([order.index(text) for text in texts], dtype=float)


def meps(folder: Path):
    """Sex, age in 8 groups, years of education, poverty category; age in years; expenditure."""
    table = pyarrow.csv.read_csv(folder / "meps2023_adults.csv")
    sex, age, education, cost = numbers(table, "SEX", "AGE23X", "EDUCYR", "TOTEXP23").T
    poverty = ranks(table["POVCAT23"], list(POVERTY))
    return {
        "sex": sex,
        "age group": np.digitize(age, AGES).astype(float),
        "education": ranks(table["educ_cat"]),
        "poverty": poverty,
        "years of education": education,
        "age": age,
        "expenditure": cost,
    }


def numeric_tables(folder: Path | None, seed: int = 1):
    """Named arrays of numbers, a row a record."""
    if folder is None:
        return _generated(np.random.default_rng(seed))
    people = meps(folder)
    acs = pyarrow.parquet.read_table(folder / "acs2018_income_sample.parquet").slice(0, 20_000)
    acs_numbers = numbers(acs, "Income", "Age", "Travel time to work")
    acs_education = ranks(pc.cast(acs["Education"], "string"))
    census, tarragona, eia = (
        pyarrow.csv.read_csv(folder / f"sdcmicro_{name}.csv")
        for name in ("CASCrefmicrodata", "Tarragona", "EIA")
    )
    return {
        "MEPS, keys in groups": np.column_stack(
            [people[name] for name in ("sex", "age group", "education", "poverty")]
        ),
        "MEPS, with expenditure": np.column_stack(
            [
                people[name]
                for name in ("sex", "age", "years of education", "poverty", "expenditure")
            ]
        ),
        "ACS, 20,000 records": np.column_stack([acs_numbers, acs_education]),
        "CASC, Census": numbers(census, *census.column_names),
        "CASC, Tarragona": numbers(tarragona, *tarragona.column_names),
        "CASC, EIA": numbers(eia, *eia.column_names[5:]),
    }


def _generated(rng):
    discrete = [rng.integers(0, size, 4000) for size in (2, 8, 5, 5)]
    return {
        "generated, discrete": np.column_stack(discrete).astype(float),
        "generated, normal": rng.normal(size=(4000, 4)) @ rng.normal(size=(4, 4)),
        "generated, clumped": rng.normal(size=(50, 3))[rng.integers(0, 50, 4000)]
        + 0.1 * rng.normal(size=(4000, 3)),
    }


def generated_people(rng, n=3000):
    """Keys and a response, for re-identification without a folder of data."""
    age = rng.binomial(7, 0.45, n)
    education = rng.binomial(4, 0.3 + 0.05 * age)
    poverty = rng.binomial(4, 0.3 + 0.1 * education)
    return {
        "sex": rng.integers(1, 3, n).astype(float),
        "age group": age.astype(float),
        "education": education.astype(float),
        "poverty": poverty.astype(float),
        "expenditure": np.exp(7 + 0.2 * age + rng.normal(size=n)),
    }
