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
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from pramana.analysis.counts import clip
from pramana.analysis.features import LEAF, attribute_of, codes_in_test, default_tree, feature_table
from pramana.analysis.learning import LearnFrom, learn_tree
from pramana.analysis.release import Release
from pramana.base.randomness import Keystream
from pramana.base.text import counted, listed
from pramana.engine.base import open_source
from pramana.errors import InvalidTable, UnknownColumn
from pramana.experiments.learning_sets import Cut, LearningSet, applicants, bin_schema, release_at
from pramana.methods.choice import GridPoint, Guide
from pramana.schema.codec import encode, encode_released
from pramana.schema.schema import Schema
from pramana.types import FloatArray, IntArray, TableLike

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
    classes, truth = (np.asarray(t[data.target].to_pylist()) for t in (data.train, data.test))
    tree = default_tree(1).fit(feature_table(attributes, values), classes)
    return float(np.mean(tree.predict(feature_table(attributes, tests)) == truth))


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
        truth = np.bincount(encode(column, data.train[column.name]), minlength=size)
        seen = np.bincount(encode_released(column, released[column.name]), minlength=size)
        estimate = clip(step.matrix.solve(seen))
        errors.append(float(np.abs(estimate - truth).sum() / truth.sum()))
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
