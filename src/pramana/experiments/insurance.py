"""Insurance markets: rates, regressions and re-identification [Wei, Sec. 4].

Additive regressions on four variables with levels 0, 1, 2, ...: ``dummy`` has one coefficient a
level, ``numeric`` a slope a variable. Least squares needs the number of records and the total of
the response in each cell alone.

A market is the same people with other weights: a smooth tilt of sex, age, education and income and
of their pairs [Wei, Sec. 4.2]. Joining a plan depends on age alone.

An attacker matches each original record to the released record with the nearest keys, ties at
random. The chance over the ties is computed, so that trials differ by the release alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np

from pramana.analysis.features import scikit_learn
from pramana.base.randomness import Keystream
from pramana.experiments.harness import GENERATED, Setting
from pramana.experiments.population import make_population
from pramana.methods.microaggregated import Centroid, Gaussian, Resample
from pramana.microaggregation.anonymisation import new_keys
from pramana.microaggregation.clustering import form_groups
from pramana.microaggregation.groups import Key
from pramana.risk.attacks.microaggregated import link_chances
from pramana.schema.joint_cells import cell_numbers
from pramana.types import FloatArray, IntArray

Form = Literal["numeric", "dummy"]


def levels_of(shape: Sequence[int]) -> IntArray:
    """The levels of every cell, one row per cell, in the order of their numbers.

    >>> levels_of((2, 2)).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    cells = np.arange(int(np.prod(shape)))
    return np.stack(np.unravel_index(cells, tuple(shape)), axis=1).astype(np.int64)


def features(shape: Sequence[int], *, form: Form) -> FloatArray:
    """One row per cell, without the constant: a column a variable, or one for each later level."""
    levels = levels_of(shape)
    if form == "numeric":
        return levels.astype(np.float64)
    parts = [levels[:, j, None] == np.arange(1, size) for j, size in enumerate(shape)]
    return np.concatenate(parts, axis=1).astype(np.float64)


def predict_cells(
    shape: Sequence[int], counts: FloatArray, totals: FloatArray, *, form: Form
) -> FloatArray:
    """The response predicted for every cell, from weights and weighted totals of the response.

    Directions that the cells leave open (a level that does not occur) get coefficient zero.

    >>> predict_cells((2,), np.array([1.0, 2.0]), np.array([2.0, 8.0]), form="dummy").round(9)
    array([2., 4.])
    """
    x = np.concatenate([np.ones((counts.size, 1)), features(shape, form=form)], axis=1)
    size = np.sqrt(x.T**2 @ np.abs(counts))
    scale = np.where(size > 0, size, 1.0)  # one unit for all terms that occur
    gram = (x.T * counts) @ x / scale[:, None] / scale
    coefficients = np.linalg.lstsq(gram, x.T @ totals / scale, rcond=1e-10)[0] / scale
    return np.asarray(x @ coefficients, dtype=np.float64)


FILE = "meps2023_adults.csv"
SHAPE = {"sex": 2, "age": 8, "education": 6, "income": 5}
POVERTY = ("Poor/Negative", "Near Poor", "Low Income", "Middle Income", "High Income")
AGES = (26, 35, 45, 55, 65, 70, 75)
SCHOOL = (9, 12, 13, 16, 17)
JOINS = (1.0, 0.9, 0.9, 1.0, 1.0, 0.4, 0.3, 0.2)
"""The chance to join a plan by age group: few beyond 65, who have another insurance."""

TILT = 0.3
SIZES = tuple(SHAPE.values())
CELLS = int(np.prod(SIZES))


@dataclass(frozen=True, eq=False)
class Insured:
    """Levels of the four variables, the cost of a year, and the weight of each record.

    Attributes:
        levels: One array per variable.
        cost: The cost of a year.
        weight: How many people a record represents, with a mean of 1.
        words: Where they come from.
    """

    levels: tuple[IntArray, ...] = field(repr=False)
    cost: FloatArray = field(repr=False)
    weight: FloatArray = field(repr=False)
    words: str

    @property
    def size(self) -> int:
        """The number of people."""
        return len(self.cost)

    @cached_property
    def cells(self) -> IntArray:
        """The cell of every person."""
        return cell_numbers(self.levels, SIZES)

    @cached_property
    def joins(self) -> FloatArray:
        """The chance of each cell to join."""
        return np.array(JOINS)[levels_of(SIZES)[:, 1]]

    def sums(self, cells: IntArray, rows: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weighted number, total cost and total squared cost by cell."""
        cost, weight, size = self.cost[rows], self.weight[rows], CELLS
        return (
            np.bincount(cells, weight, size).astype(np.float64),
            np.bincount(cells, weight * cost, size).astype(np.float64),
            np.bincount(cells, weight * cost**2, size).astype(np.float64),
        )


def load_people(setting: Setting) -> Insured:
    """The Medical Expenditure Panel Survey, or a generated population."""
    path = setting.file(FILE)
    if path is not None:
        return _surveyed(path)
    people = make_population(12_000 if setting.quick else 20_000, keystream=setting.keystream)
    age = people["age"].to_numpy()
    adult = age >= 18
    school = people["education"].fill_null("primary").to_pylist()
    order = {"primary": 1, "secondary": 2, "vocational": 3, "degree": 4}
    income = people["income"].fill_null(0).to_numpy()[adult]
    levels = (
        (people["sex"].to_numpy(zero_copy_only=False)[adult] == "M").astype(np.int64),
        np.digitize(age[adult], AGES),
        np.array([order[level] for level in school])[adult],
        np.digitize(income, np.quantile(income, (0.15, 0.3, 0.5, 0.75))),
    )
    # costs that depend on pairs of variables, so that a sum of functions of one is not the truth
    sick = 1 + levels[1] * (4 - levels[3]) * (1 + levels[0]) / 4
    cost = people["cost"].to_numpy()[adult] * sick
    return Insured(levels, cost, np.ones(cost.size), GENERATED)


def _surveyed(path: Path) -> Insured:
    from pyarrow import csv

    options = csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    table = csv.read_csv(path, convert_options=options)
    table = table.filter(table["EDUCYR"].is_valid())
    levels = (
        table["SEX"].to_numpy() - 1,
        np.digitize(table["AGE23X"].to_numpy(), AGES),
        np.digitize(table["EDUCYR"].to_numpy(), SCHOOL),
        np.array([POVERTY.index(level) for level in table["POVCAT23"].to_pylist()]),
    )
    weight = table["PERWT23F"].to_numpy().astype(np.float64)
    return Insured(
        tuple(level.astype(np.int64) for level in levels),
        table["TOTEXP23"].to_numpy().astype(np.float64),
        weight / weight.mean(),
        f"{FILE}: {len(weight):,} adults whose education is known, with the survey's weights",
    )


def make_markets(number: int, setting: Setting) -> dict[str, FloatArray]:
    """How much more frequent each cell is in a market: exp of a random quadratic form."""
    places = levels_of(SIZES).astype(np.float64)
    z = (places - places.mean(axis=0)) / places.std(axis=0)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    terms = np.column_stack([z, *(z[:, i] * z[:, j] for i, j in pairs)])
    markets = {}
    for market in range(number):
        size = terms.shape[1]
        draws = setting.keystream.normals("markets", market * size, size)
        markets[f"market {market + 1}"] = np.exp(TILT * terms @ draws)
    return markets


STATES_FILE = "acs2018_income_sample.parquet"
YEARS_OF_SCHOOL = {
    "Regular high school diploma": 12, "GED or alternative credential": 12,
    "Some college, but less than 1 year": 13, "Associate's degree": 14,
    "1 or more years of college credit, no degree": 14, "Bachelor's degree": 16,
    "Master's degree": 17, "Professional degree beyond a bachelor's degree": 17,
    "Doctorate degree": 17, "12th grade - no diploma": 11,
} | {f"Grade {grade}": grade for grade in range(1, 12)}  # fmt: skip
"""By the words of the American Community Survey; anything else is less than a grade."""

NATION = 50.0
"""This many records of the nation are added to of a state, whose rare cells are few."""


def make_states(number: int, setting: Setting) -> dict[str, FloatArray]:
    """The same for the largest states, by sex, age and education; none without their records."""
    if setting.data is None or not (setting.data / STATES_FILE).is_file():
        return {}
    from pyarrow import parquet

    table = parquet.read_table(
        setting.data / STATES_FILE, columns=["State", "Gender", "Age", "Education"]
    )
    school = [YEARS_OF_SCHOOL.get(words, 0) for words in table["Education"].to_pylist()]
    levels = (
        (np.array(table["Gender"].to_pylist()) == "Female").astype(np.int64),
        np.digitize(table["Age"].to_numpy(), AGES),
        np.digitize(school, SCHOOL),
    )
    sizes = SIZES[:3]
    cells, state = cell_numbers(levels, sizes), np.array(table["State"].to_pylist())
    nation = np.bincount(cells, minlength=int(np.prod(sizes))).astype(np.float64)
    share = nation / nation.sum()
    names, counts = np.unique(state, return_counts=True)
    markets = {}
    for name in names[np.argsort(-counts, kind="stable")[:number]]:
        people = np.bincount(cells[state == name], minlength=nation.size) + NATION * share
        tilt = np.divide(people / people.sum(), share, out=np.ones_like(share), where=share > 0)
        markets[str(name)] = np.repeat(tilt, SIZES[3])
    return markets


class Split(NamedTuple):
    """The people who train, those who test, and those of the first who are enrolled."""

    train: IntArray
    test: IntArray
    enrolled: IntArray


def make_splits(people: Insured, number: int, keystream: Keystream) -> list[Split]:
    """Random halves, each used both ways, so that luck of the division cancels."""
    splits, half = [], people.size // 2
    for split in range(number):
        order = keystream.permutation(people.size, f"halves {split // 2}")
        first, second = order[:half], order[half:]
        train, test = (first, second) if split % 2 == 0 else (second, first)
        chance = keystream.uniforms(f"enrolled {split}", 0, train.size)
        splits.append(Split(train, test, train[chance < people.joins[people.cells[train]]]))
    return splits


GroupedKeys = tuple[list[Key], IntArray]


def group(people: Insured, rows: IntArray, *, k: int, keystream: Keystream) -> GroupedKeys:
    """The keys of enrolled people, and groups of at least k by keys and cost."""
    keys = [
        Key(name, level[rows].astype(np.float64), "ordered")
        for name, level in zip(SHAPE, people.levels, strict=True)
    ]
    cost = Key("cost", people.cost[rows], "number")
    return keys, form_groups(keys, k=k, keystream=keystream, responses=[cost]).labels


LOADINGS = {f"loading {loading:.2g}": loading for loading in (0.01, 0.1, 1 / 3, 1.0, 3.0)}
"""The loading of the Gaussian dither; the paper takes 1/3 and says what less of it does."""

WAYS: Final = {method.name: method().donors for method in (Centroid, Resample, Gaussian)} | {
    name: Gaussian(loading=loading).donors for name, loading in LOADINGS.items()
}


def anonymised(
    grouped: GroupedKeys, *, methods: tuple[str, ...], keystream: Keystream
) -> dict[str, IntArray]:
    """The cells that enrolled people are released with, by method, from the same groups."""
    keys, labels = grouped
    released = {}
    for method in methods:
        new = new_keys(keys, labels, WAYS[method], keystream)
        levels = tuple(key.values.astype(np.int64) for key in new)
        released[method] = cell_numbers(levels, SIZES)
    return released


def market_weight(shift: str, existing: FloatArray, new: FloatArray) -> FloatArray:
    """w(x) of every cell: 1, by logistic regression, or cell by cell."""
    if shift == "none":
        return np.ones(existing.size)
    p, q = existing / existing.sum(), new / new.sum()
    if shift == "nonparametric":
        # Where p is 0 there is no record to carry a weight.
        return np.asarray(np.divide(q, p, out=np.zeros_like(q), where=p > 0), dtype=np.float64)
    x = features(SIZES, form="numeric")
    both = np.flatnonzero(p > 0), np.flatnonzero(q > 0)
    sides = np.concatenate([x[both[0]], x[both[1]]])
    classes = np.repeat([0, 1], [both[0].size, both[1].size])
    weight = np.concatenate([p[both[0]], q[both[1]]]) * existing.size
    scale = scikit_learn("preprocessing").StandardScaler().fit(sides, sample_weight=weight)
    model = scikit_learn("linear_model").LogisticRegression(C=np.inf, max_iter=1000, tol=1e-8)
    model.fit(scale.transform(sides), classes, sample_weight=weight)
    return np.exp(np.asarray(model.decision_function(scale.transform(x)), dtype=np.float64))


class Score(NamedTuple):
    """Relative bias, R squared, and the overlap of the reached with the true distribution."""

    bias: float
    r_squared: float
    similarity: float


def score(
    people: Insured,
    split: Split,
    released: IntArray,
    *,
    tilt: FloatArray,
    weight: FloatArray,
    form: Form,
) -> Score:
    """Learn on the released cells of enrolled people; predict the plan of a new market."""
    count, total, _ = people.sums(released, split.enrolled)
    predicted = predict_cells(SIZES, weight * count, weight * total, form=form)
    joined = people.joins * tilt
    n, y, yy = (joined * part for part in people.sums(people.cells[split.test], split.test))
    mean = y.sum() / n.sum()
    residual = float((yy - 2 * predicted * y + predicted**2 * n).sum())
    spread = float(yy.sum() - 2 * mean * y.sum() + mean**2 * n.sum())
    reached = weight * count
    overlap = np.minimum(reached / max(reached.sum(), 1e-300), n / n.sum()).sum()
    bias = float((n * predicted).sum() / y.sum()) - 1
    return Score(bias, 1 - residual / spread, float(overlap))


def mean_score(scores: list[Score]) -> Score:
    """The average over splits."""
    return Score(*map(float, np.mean(scores, axis=0)))


def reidentified(
    people: Insured,
    rows: IntArray,
    *,
    k: int,
    methods: tuple[str, ...],
    trials: int,
    keystream: Keystream,
) -> dict[str, FloatArray]:
    """For each method the frequency of re-identification of every record, over ``trials``."""
    # Where each cell lies, every variable in units of its standard deviation.
    places = levels_of(SIZES).astype(np.float64)
    for column in range(len(SIZES)):
        places[:, column] /= max(float(people.levels[column][rows].std()), 1e-9)
    original = places[people.cells[rows]]
    frequency = {method: np.zeros(rows.size) for method in methods}
    grouped = group(people, rows, k=k, keystream=keystream)  # once: trials differ by the draws
    for trial in range(trials):
        seed = int(keystream.words("trials", trial, 1)[0] >> np.uint64(16))
        released = anonymised(grouped, methods=methods, keystream=Keystream.from_seed(seed))
        for method, new in released.items():
            frequency[method] += link_chances(original, places[new]) / trials
    return frequency
