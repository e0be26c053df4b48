"""Loan applicants who do not exist, in two classes by one of five rules [Agrawal00, Sec. 5].

Nine attributes: salary, commission, age, education level, make of the car, zip code, value of the
house, years that it has been owned, and the amount of the loan. The class is a function of some
of them, sharp at its borders, so that a learner that sees the truth can find it in full and what a
randomised table costs is easily seen.

Every applicant is a fixed function of the keystream and of the applicant's number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.base.randomness import Keystream
from pramana.base.rounding import require_number
from pramana.errors import InvalidNumber
from pramana.types import BoolArray, FloatArray, Form

__all__ = ["ATTRIBUTES", "FUNCTIONS", "RANGES", "make_applicants"]

Columns = dict[str, FloatArray]

RANGES: dict[str, tuple[float, float]] = {
    "salary": (20_000, 150_000),
    "commission": (0, 75_000),
    "age": (20, 80),
    "elevel": (0, 4),
    "car": (1, 20),
    "zipcode": (1, 9),
    "hvalue": (50_000, 1_350_000),
    "hyears": (1, 30),
    "loan": (0, 500_000),
}
"""Where each attribute lies: known without looking at any data."""

ATTRIBUTES = tuple(RANGES)
WHOLE = ("elevel", "car", "zipcode", "hyears")


def make_applicants(records: int, *, function: int, keystream: Keystream) -> pa.Table:
    """Nine attributes and the class, ``A`` or ``B``.

    >>> applicants = make_applicants(1_000, function=1, keystream=Keystream.from_seed(1))
    >>> applicants.num_columns, applicants.column_names[-1]
    (10, 'class')
    """
    require_number("the number of records", records, low=1)
    if function not in FUNCTIONS:
        raise InvalidNumber(f"function must be one of 1 to {len(FUNCTIONS)}, got {function!r}.")

    def uniform(name: str, low: float, high: float) -> FloatArray:
        return low + (high - low) * keystream.uniforms(f"applicants {name}", 0, records)

    def whole(name: str) -> FloatArray:
        low, high = RANGES[name]
        return np.floor(uniform(name, low, high + 1))

    salary = uniform("salary", *RANGES["salary"])
    zipcode = whole("zipcode")
    columns = {
        "salary": salary,
        # who earns well earns no commission
        "commission": np.where(salary >= 75_000, 0.0, uniform("commission", 10_000, 75_000)),
        "age": uniform("age", *RANGES["age"]),
        "elevel": whole("elevel"),
        "car": whole("car"),
        "zipcode": zipcode,
        "hvalue": zipcode * uniform("hvalue", 50_000, 150_000),
        "hyears": whole("hyears"),
        "loan": uniform("loan", *RANGES["loan"]),
    }
    in_a = FUNCTIONS[function](columns)
    arrays: Form = {
        name: values.astype(np.int64) if name in WHOLE else values
        for name, values in columns.items()
    }
    return pa.table(arrays | {"class": np.where(in_a, "A", "B")})


def _between(values: FloatArray, low: float, high: float) -> BoolArray:
    return (values >= low) & (values <= high)


def _by_age(columns: Columns, young: Any, middle: Any, old: Any) -> BoolArray:
    """One condition below 40, one from 40 to 60, one above."""
    age = columns["age"]
    chosen: BoolArray = np.select([age < 40, age < 60], [young, middle], old)
    return chosen


def _age_alone(columns: Columns) -> BoolArray:
    return (columns["age"] < 40) | (columns["age"] >= 60)


def _age_and_salary(columns: Columns) -> BoolArray:
    salary = columns["salary"]
    return _by_age(
        columns,
        _between(salary, 50_000, 100_000),
        _between(salary, 75_000, 125_000),
        _between(salary, 25_000, 75_000),
    )


def _age_education_salary(columns: Columns) -> BoolArray:
    salary, level = columns["salary"], columns["elevel"]
    low, middle, high = (
        _between(salary, 25_000, 75_000),
        _between(salary, 50_000, 100_000),
        _between(salary, 75_000, 125_000),
    )
    return _by_age(
        columns,
        np.select([level <= 1, level <= 3], [low, middle], False),
        np.select([_between(level, 1, 3), level == 4], [middle, high], False),
        np.select([level >= 2, level == 1], [middle, low], False),
    )


def _disposable(columns: Columns) -> FloatArray:
    income = columns["salary"] + columns["commission"]
    return 0.67 * income - 0.2 * columns["loan"] - 10_000


def _income_and_loan(columns: Columns) -> BoolArray:
    return _disposable(columns) > 0


def _income_loan_and_house(columns: Columns) -> BoolArray:
    equity = 0.1 * columns["hvalue"] * np.maximum(columns["hyears"] - 20, 0)
    return _disposable(columns) + 0.2 * equity > 0


FUNCTIONS: dict[int, Callable[[Columns], BoolArray]] = {
    1: _age_alone,
    2: _age_and_salary,
    3: _age_education_salary,
    4: _income_and_loan,
    5: _income_loan_and_house,
}
"""Who is in class A."""
