"""Labelled data sets for decision trees.

The loan applicants of Agrawal and Srikant have nine attributes: salary, commission, age, education
level, make of the car, zip code, value of the house, years of ownership, and the loan. The class is
a function of some of them with sharp borders, so that a learner of the original data can find it,
and the loss by randomisation is easily seen. Every applicant is a fixed function of the keystream
and of the applicant's number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from pramana import api
from pramana.analysis.release import Release
from pramana.base.randomness import Keystream
from pramana.base.rounding import require_number
from pramana.errors import InvalidNumber
from pramana.experiments.harness import Setting
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.given import GivenMatrices
from pramana.schema.domains import Bins, Categories, Domain
from pramana.schema.origins import Provenance
from pramana.schema.schema import Column, Role, Schema
from pramana.types import BoolArray, FloatArray, Form

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


def _bands(columns: Columns) -> tuple[BoolArray, BoolArray, BoolArray]:
    """A low, a middle and a high salary; the bands overlap."""
    salary = columns["salary"]
    return (
        _between(salary, 25_000, 75_000),
        _between(salary, 50_000, 100_000),
        _between(salary, 75_000, 125_000),
    )


def _by_age(columns: Columns, young: Any, middle: Any, old: Any) -> BoolArray:
    """One condition below 40, one from 40 to 60, one above."""
    age = columns["age"]
    return np.asarray(np.select([age < 40, age < 60], [young, middle], old))


def _age_alone(columns: Columns) -> BoolArray:
    return _by_age(columns, True, False, True)


def _age_and_salary(columns: Columns) -> BoolArray:
    low, middle, high = _bands(columns)
    return _by_age(columns, middle, high, low)


def _age_education_salary(columns: Columns) -> BoolArray:
    level = columns["elevel"]
    low, middle, high = _bands(columns)
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


Cut = Literal["width", "mass"]

SPAM_TRAINING = 3_101


@dataclass(frozen=True, eq=False)
class LearningSet:
    """Records to learn from, clean ones to test on, and what the paper's tree reached.

    Attributes:
        name: as in the paper's Table 1.
        train: the true records, of which a learner sees a release only.
        test: clean records.
        target: the column of classes.
        printed: the accuracy that the paper prints for the original data.
        ranges: where attributes lie, where that is known without looking.
    """

    name: str
    train: pa.Table = field(repr=False)
    test: pa.Table = field(repr=False)
    target: str = "class"
    printed: float | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def attributes(self) -> list[str]:
        """The columns to learn from."""
        return [name for name in self.train.column_names if name != self.target]


def applicants(function: int, *, records: int, tests: int, seed: int) -> LearningSet:
    """One of the five rules."""
    printed = {1: 1.0, 2: 0.8936, 3: 1.0, 4: 0.9922, 5: 0.9848}[function]
    train = make_applicants(records, function=function, keystream=Keystream.from_seed(seed))
    test = make_applicants(tests, function=function, keystream=Keystream.from_seed(seed + 1))
    return LearningSet(f"synth{function}", train, test, printed=printed, ranges=RANGES)


def pendigits(setting: Setting) -> LearningSet | None:
    """Pen digits, as split by their authors."""
    files = setting.file("pendigits.tra"), setting.file("pendigits.tes")
    if files[0] is None or files[1] is None:
        return None
    tables = [_named(np.loadtxt(file, delimiter=",")) for file in files if file is not None]
    return LearningSet("pendigits", tables[0], tables[1], printed=0.920526)


def spambase(setting: Setting) -> LearningSet | None:
    """Spam, divided at random into the paper's 3,101 and the rest."""
    file = setting.file("spambase_named.csv")
    if file is None:
        return None
    from pyarrow import csv

    table = csv.read_csv(file)
    table = table.rename_columns([*table.column_names[:-1], "class"])
    order = Keystream.from_seed(setting.seeded(57)).permutation(table.num_rows, "spam")
    train, test = table.take(order[:SPAM_TRAINING]), table.take(order[SPAM_TRAINING:])
    return LearningSet("spambase", train, test, printed=0.917333)


def _named(rows: FloatArray) -> pa.Table:
    columns: Form = {f"a{j}": rows[:, j] for j in range(rows.shape[1] - 1)}
    return pa.table(columns | {"class": rows[:, -1].astype(np.int64)})


# -- bins ----------------------------------------------------------------------------------


def domain_of(
    values: FloatArray, bins: int, *, cut: Cut = "width", ends: tuple[float, float] | None = None
) -> Domain:
    """At most ``bins`` values: the distinct ones where there are few enough, bins otherwise."""
    distinct = np.unique(values)
    if distinct.size <= max(bins, 2):
        if distinct.size == 1:  # a constant column still needs two values to be randomised
            distinct = np.append(distinct, distinct[0] + 1)
        return Categories(tuple(_plain(value) for value in distinct), ordered=True)
    if cut == "mass":
        return Bins(_mass_edges(values, bins))
    low, high = (distinct[0], distinct[-1]) if ends is None else ends
    return Bins(tuple(float(edge) for edge in np.linspace(low, high, bins + 1)))


def _plain(value: float) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def _mass_edges(values: FloatArray, bins: int) -> tuple[float, ...]:
    """Bins of about equal mass; a value that holds as much alone has a bin of its own."""
    distinct, counts = np.unique(values, return_counts=True)
    reached = np.cumsum(counts)
    edges, first, before = [float(distinct[0])], 0, 0
    for rest in range(bins, 1, -1):
        goal = before + (reached[-1] - before) / rest
        last = max(int(np.searchsorted(reached, goal)), first)
        if last > first and goal - reached[last - 1] < reached[last] - goal:
            last -= 1
        if last + 1 >= distinct.size:
            break
        edges.append(float(distinct[last + 1]))
        first, before = last + 1, int(reached[last])
    end = float(distinct[-1])
    return (*edges, end if end > edges[-1] else edges[-1] + 1.0)


def bin_schema(data: LearningSet, bins: int, *, cut: Cut = "width") -> Schema:
    """Every attribute a key with at most ``bins`` values; the class is released unchanged."""
    columns = []
    for name in data.attributes:
        values = data.train[name].to_numpy().astype(np.float64)
        domain = domain_of(values, bins, cut=cut, ends=data.ranges.get(name))
        columns.append(Column(name, Role.KEY, domain, missing="refuse", origin=Provenance.READ_OFF))
    classes = Categories(tuple(sorted(set(data.train[data.target].to_pylist()))))
    return Schema((*columns, Column(data.target, Role.SENSITIVE, classes, missing="refuse")))


def release_at(data: LearningSet, schema: Schema, *, gamma: float, seed: int) -> Release:
    """Every attribute through the gamma-diagonal matrix [Dowd, Sec. 5.1]."""
    matrices = {c.name: UniformMixture.of(c.labels, gamma=gamma) for c in schema.randomised}
    plan = api.design(schema, data=data.train, method=GivenMatrices(matrices))
    return api.protect(data.train, plan, seed=seed)
