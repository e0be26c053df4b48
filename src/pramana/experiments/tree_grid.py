"""Accuracy of trees over a grid of (gamma, N): the data of the guide in ``methods``.

Every point takes all steps: bins, release, synthetic records, tree, clean test.

[Dowd] learned trees by a version of C4.5, whose criterion scikit-learn lacks. ``GainRatioTree``
splits by gain ratio with error-based pruning, as in C4.5 [Quinlan93], and so shows how much of a
result is due to the learner. Attributes are numbers, and every split is a threshold.

    gain        H(classes) - sum of shares times H(classes within a side),
                less log2(number of thresholds) / records
    gain ratio  gain / H(shares of the two sides)

Among the attributes with at least an average gain the one with the largest gain ratio splits.
A subtree becomes a leaf if the upper confidence limit of the leaf's errors is not larger than the
sum of those of its leaves.

The loan applicants of Agrawal and Srikant have nine attributes: salary, commission, age, education
level, make of the car, zip code, value of the house, years of ownership, and the loan. The class is
a function of some of them with sharp borders, so that a learner of the original data can find it,
and the loss by randomisation is easily seen. Every applicant is a fixed function of the keystream
and of the applicant's number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from pramana import api
from pramana.analysis.counts import clip
from pramana.analysis.features import (
    LEAF,
    attribute_of,
    codes_in_test,
    default_learner,
    feature_table,
)
from pramana.analysis.learning import LearnFrom, learn_tree
from pramana.analysis.release import Release
from pramana.base.randomness import Keystream
from pramana.base.rounding import as_whole, require_number
from pramana.base.text import counted, listed
from pramana.engine.base import open_source
from pramana.errors import InvalidNumber, InvalidTable, UnknownColumn
from pramana.experiments.harness import Setting
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.choice import GridPoint, Guide
from pramana.methods.given import GivenMatrices
from pramana.schema.codec import encode, encode_released
from pramana.schema.domains import Bins, Categories, Domain
from pramana.schema.origins import Provenance
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from pramana.types import BoolArray, FloatArray, Form, IntArray, TableLike

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
"""Functions that return who is in class A."""


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
        return Categories(tuple(as_whole(float(value)) for value in distinct), ordered=True)
    if cut == "mass":
        return Bins(_mass_edges(values, bins))
    low, high = (distinct[0], distinct[-1]) if ends is None else ends
    return Bins(tuple(float(edge) for edge in np.linspace(low, high, bins + 1)))


def _mass_edges(values: FloatArray, bins: int) -> tuple[float, ...]:
    """Bins of about equal mass; a value with the mass of a bin is a separate bin."""
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


WAYS: dict[str, tuple[LearnFrom, bool]] = {
    "posterior": ("posterior", False),
    "rank": ("rank", False),
    "none": ("none", False),
    "posterior, gain ratio": ("posterior", True),
    "rank, gain ratio": ("rank", True),
}
"""How a tree may be learned: from which records, and whether by gain ratio instead of gain."""


@dataclass(frozen=True)
class Trial:
    """One data set at one point of the grid.

    Attributes:
        name: The data set.
        gamma: The largest ratio of two probabilities in a column of the matrix.
        bins: The number of bins.
        accuracy: The accuracy on clean records, by way, averaged over releases.
        error: The error of the estimated distributions, averaged over attributes and releases.
    """

    name: str
    gamma: float
    bins: int
    accuracy: Mapping[str, float]
    error: float


def try_grid(
    sets: Sequence[LearningSet],
    *,
    gammas: Sequence[float],
    bins: Sequence[int],
    seed: int,
    cut: Cut = "width",
    ways: Sequence[str] = ("posterior", "rank"),
    releases: int = 1,
    advance: Callable[[int], None] | None = None,
) -> list[Trial]:
    """Every data set at every point, as many releases each as asked."""
    trials = []
    for place, data in enumerate(sets):
        for number in bins:
            schema = bin_schema(data, number, cut=cut)
            for gamma in gammas:
                base = seed + 10_007 * place + 101 * number + int(13 * gamma)
                trials.append(_trial(data, schema, number, gamma, base, ways, releases))
                if advance is not None:
                    advance(1)
    return trials


def guide_of(trials: Iterable[Trial]) -> Guide:
    """The average over data sets at each point [Dowd, Fig. 6]."""
    by_point: dict[tuple[float, int], list[Trial]] = {}
    for trial in trials:
        by_point.setdefault((trial.gamma, trial.bins), []).append(trial)
    points = []
    for (gamma, bins), some in sorted(by_point.items()):
        accuracy = float(np.mean([trial.accuracy["posterior"] for trial in some]))
        error = float(np.mean([trial.error for trial in some]))
        points.append(GridPoint(gamma, bins, accuracy=accuracy, error=error))
    return Guide(tuple(points))


def reference_sets(*, quick: bool = False) -> list[LearningSet]:
    """The five rules, for stewards who have no data yet."""
    records, tests, functions = (
        (3_000, 1_000, (1, 2)) if quick else (20_000, 5_000, (1, 2, 3, 4, 5))
    )
    return [applicants(f, records=records, tests=tests, seed=2026 + f) for f in functions]


def table_sets(
    table: TableLike, *, target: str, test: TableLike | None = None
) -> list[LearningSet]:
    """A table of the steward's own, with a file to test on or a third of the records held out."""
    rows = open_source(table).to_arrow()
    _require_numbers(rows, target)
    if test is not None:
        clean = open_source(test).to_arrow()
        _require_numbers(clean.select([n for n in rows.column_names if n in clean.column_names]),
                         target)  # fmt: skip
        return [LearningSet("table", rows, clean, target=target)]
    order = Keystream.from_seed(2026).permutation(rows.num_rows, "held out")
    held = rows.num_rows // 3
    return [LearningSet("table", rows.take(order[held:]), rows.take(order[:held]), target=target)]


def _require_numbers(rows: pa.Table, target: str) -> None:
    if target not in rows.column_names:
        raise UnknownColumn(f"The table has no column '{target}' to learn.", column=target)
    other = [
        field.name
        for field in rows.schema
        if field.name != target
        and not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type))
    ]
    missing = [name for name in rows.column_names if rows[name].null_count]
    if other or missing:
        wrong = other or missing
        raise InvalidTable(
            "The guide tries tables of numbers without gaps; "
            f"{counted(len(wrong), 'column is', 'columns are')} not: {listed(wrong)}. Leave them "
            "out, or fill them."
        )


def original_accuracy(data: LearningSet) -> float:
    """The same tree on the original data, without bins."""
    schema = bin_schema(data, 2)
    attributes, values = [], []
    for name in data.attributes:
        number = replace(schema.column(name), domain=None, randomise=False)
        attribute, codes = attribute_of(name, number, data.train[name])
        attributes.append(attribute)
        values.append(codes)
    tests = [codes_in_test(attribute, data.test[attribute.name]) for attribute in attributes]
    classes, original = (np.asarray(t[data.target].to_pylist()) for t in (data.train, data.test))
    tree = default_learner(1).fit(feature_table(attributes, values), classes)
    return float(np.mean(tree.predict(feature_table(attributes, tests)) == original))


def _trial(
    data: LearningSet,
    schema: Schema,
    bins: int,
    gamma: float,
    seed: int,
    ways: Sequence[str],
    releases: int,
) -> Trial:
    accuracies: dict[str, list[float]] = {way: [] for way in ways}
    errors = []
    # Leaves as large as those of the default tree, so that only the criterion differs.
    least = max(5, round(LEAF * data.train.num_rows))
    for number in range(releases):
        release = release_at(data, schema, gamma=gamma, seed=seed + 1_000_003 * number)
        errors.append(_estimation_error(data, schema, release))
        for way in ways:
            synthesis, by_gain_ratio = WAYS[way]
            learned = learn_tree(
                release,
                target=data.target,
                test=data.test,
                learner=GainRatioTree(least) if by_gain_ratio else None,
                synthesis=synthesis,
                seed=seed,
            )
            accuracies[way].append(learned.accuracy.value if learned.accuracy else float("nan"))
    means = {way: float(np.mean(values)) for way, values in accuracies.items()}
    return Trial(data.name, gamma, bins, means, float(np.mean(errors)))


def _estimation_error(data: LearningSet, schema: Schema, release: Release) -> float:
    """Mean over attributes of the corrected estimate's error [Dowd, Sec. 6.1]."""
    mechanism = release.certificate.mechanism
    released = release.opened.to_arrow(data.attributes)
    errors = []
    for column in schema.randomised:
        step = None if mechanism is None else mechanism.step_of(column.name)
        if step is None or step.matrix is None:
            continue
        size = len(column.labels)
        original = np.bincount(encode(column, data.train[column.name]), minlength=size)
        seen = np.bincount(encode_released(column, released[column.name]), minlength=size)
        estimate = clip(step.matrix.solve(seen))
        errors.append(float(np.abs(estimate - original).sum() / original.sum()))
    return float(np.mean(errors))


LEAST = 2
"""Records on each side of a split, at least."""

CONFIDENCE = 0.25
"""The level of the upper limit of errors: C4.5's default."""


@dataclass
class Node:
    """A node of the tree: a leaf, or a threshold on one attribute.

    Attributes:
        label: The most frequent class of its records.
        errors: The number of its records with another class.
        records: The number of its records.
        attribute: The attribute that splits, -1 in a leaf.
        threshold: Values up to it go to the first of ``sides``.
        sides: The nodes of smaller and of larger values, none in a leaf.
    """

    label: int
    errors: float
    records: float
    attribute: int = -1
    threshold: float = 0.0
    sides: tuple[Node, ...] = ()


@dataclass
class GainRatioTree:
    """A tree by gain ratio, with ``fit`` and ``predict`` as in scikit-learn.

    Attributes:
        least: The least number of records on each side of a split.

    >>> tree = GainRatioTree().fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> tree.predict([[1.5], [3.5]]).tolist()
    [0, 1]
    """

    least: int = LEAST
    classes_: IntArray = field(init=False, repr=False)
    root_: Node = field(init=False, repr=False)

    def fit(
        self, x: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> GainRatioTree:
        """Grow the tree, then prune it."""
        values = np.asarray(x, dtype=np.float64)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        weight = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight)
        levels, places = zip(
            *(np.unique(column, return_inverse=True) for column in values.T), strict=True
        )
        grower = _Grower(
            np.column_stack(places), codes, weight, levels, self.least, len(self.classes_)
        )
        self.root_ = grower.node(np.arange(len(values)))
        _prune(self.root_)
        return self

    def predict(self, x: ArrayLike) -> IntArray:
        """The class of each row."""
        values = np.asarray(x, dtype=np.float64)
        labels = np.empty(len(values), dtype=np.int64)
        waiting = [(self.root_, np.arange(len(values)))]
        while waiting:
            node, rows = waiting.pop()
            if not node.sides:
                labels[rows] = node.label
                continue
            smaller = values[rows, node.attribute] <= node.threshold
            waiting += zip(node.sides, (rows[smaller], rows[~smaller]), strict=True)
        return np.asarray(self.classes_[labels])


@dataclass
class _Grower:
    places: IntArray
    codes: IntArray
    weight: FloatArray
    levels: Sequence[FloatArray]
    least: int
    classes: int

    def node(self, rows: IntArray) -> Node:
        """The subtree of some records."""
        counts = np.bincount(self.codes[rows], self.weight[rows], self.classes)
        total, label = float(counts.sum()), int(counts.argmax())
        node = Node(label, total - float(counts[label]), total)
        if node.errors == 0 or total < 2 * self.least:
            return node
        attribute, place = self._split(rows)
        if attribute < 0:
            return node
        below = self.places[rows, attribute] <= place
        node.attribute = attribute
        node.threshold = float(self.levels[attribute][place : place + 2].mean())
        node.sides = (self.node(rows[below]), self.node(rows[~below]))
        return node

    def _split(self, rows: IntArray) -> tuple[int, int]:
        """The attribute and the last place below the threshold; -1 where no split gains."""
        codes, weight = self.codes[rows], self.weight[rows]
        best: list[tuple[float, float, int, int]] = []
        for attribute, values in enumerate(self.levels):
            cells = self.places[rows, attribute] * self.classes + codes
            table = np.bincount(cells, weight, len(values) * self.classes)
            table = table.reshape(-1, self.classes)
            below = np.asarray(np.cumsum(table, axis=0)[:-1], dtype=np.float64)
            whole = table.sum(axis=0)
            sizes = below.sum(axis=1)
            thresholds = np.flatnonzero(
                (sizes >= self.least) & (whole.sum() - sizes >= self.least)
                & (table.sum(axis=1)[:-1] > 0)
            )  # fmt: skip
            if not thresholds.size:
                continue
            below, sizes = below[thresholds], sizes[thresholds]
            inside = _entropy(below) * sizes + _entropy(whole - below) * (whole.sum() - sizes)
            gains = _entropy(np.atleast_2d(whole))[0] - inside / whole.sum()
            at = int(gains.argmax())
            gain = float(gains[at] - np.log2(thresholds.size) / whole.sum())
            sides = np.array([[sizes[at], whole.sum() - sizes[at]]], dtype=np.float64)
            best.append((gain, gain / float(_entropy(sides)[0]), attribute, int(thresholds[at])))
        useful = [split for split in best if split[0] > 0]
        if not useful:
            return -1, 0
        average = np.mean([gain for gain, *_ in useful]) - 1e-12
        large = (split for split in useful if split[0] >= average)
        _, _, attribute, place = max(large, key=lambda split: split[1])
        return attribute, place


def _entropy(counts: FloatArray) -> FloatArray:
    """Bits of each row of counts."""
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    shares = counts / total
    bits: FloatArray = -(shares * np.log2(np.maximum(shares, 1e-300))).sum(axis=1)
    return bits


def _prune(node: Node) -> float:
    """Make leaves of subtrees without fewer expected errors; returns the expected errors."""
    alone = expected_errors(node.errors, node.records)
    if not node.sides:
        return alone
    split = sum(map(_prune, node.sides))
    if alone > split + 0.1:
        return split
    node.sides = ()
    return alone


def expected_errors(errors: float, records: float) -> float:
    """Records times the upper limit of their error rate at the level of pruning.

    The limit is the rate at which so few errors have the probability ``CONFIDENCE``.

    >>> round(expected_errors(0, 6), 2), round(expected_errors(1, 16), 2)
    (1.24, 2.55)
    """
    from scipy.special import betaincinv

    if records <= errors:
        return records
    return float(records * betaincinv(errors + 1, records - errors, 1 - CONFIDENCE))
