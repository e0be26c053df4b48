"""A decision tree by gain ratio with error-based pruning, as in C4.5 [Quinlan93].

[Dowd] learned its trees by a version of C4.5. scikit-learn has no gain ratio, so that this tree
shows how much of a result is due to the learner. Attributes are numbers, and every split is a
threshold.

    gain        H(classes) - sum of shares times H(classes within a side),
                less log2(number of thresholds) / records
    gain ratio  gain / H(shares of the two sides)

Among the attributes with at least an average gain the one with the largest gain ratio splits.
A subtree becomes a leaf where the upper confidence limit of the leaf's errors is not larger than
the sum of those of its leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from pramana.types import FloatArray, IntArray

LEAST = 2
"""Records on each side of a split, at least."""

CONFIDENCE = 0.25
"""The level of the upper limit of errors: C4.5's default."""


@dataclass
class Node:
    """A node of the tree: a leaf, or a threshold on one attribute.

    Attributes:
        label: The most frequent class of its records.
        errors: How many of its records have another class.
        records: How many there are.
        attribute: The attribute that splits, -1 in a leaf.
        threshold: Values up to it go to ``below``.
        below: The node of smaller values.
        above: The node of larger ones.
    """

    label: int
    errors: float
    records: float
    attribute: int = -1
    threshold: float = 0.0
    below: Node | None = None
    above: Node | None = None


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
        levels = [np.unique(column) for column in values.T]
        places = np.column_stack(
            [np.searchsorted(own, column) for own, column in zip(levels, values.T, strict=True)]
        )
        grower = _Grower(places, codes, weight, levels, self.least, len(self.classes_))
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
            if node.below is None or node.above is None:
                labels[rows] = node.label
                continue
            smaller = values[rows, node.attribute] <= node.threshold
            waiting += [(node.below, rows[smaller]), (node.above, rows[~smaller])]
        return np.asarray(self.classes_[labels])


@dataclass
class _Grower:
    places: IntArray
    codes: IntArray
    weight: FloatArray
    levels: list[FloatArray]
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
        node.below, node.above = self.node(rows[below]), self.node(rows[~below])
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
        useful = [one for one in best if one[0] > 0]
        if not useful:
            return -1, 0
        average = np.mean([gain for gain, *_ in useful]) - 1e-12
        _, _, attribute, place = max(
            (one for one in useful if one[0] >= average), key=lambda one: one[1]
        )
        return attribute, place


def _entropy(counts: FloatArray) -> FloatArray:
    """Bits of each row of counts."""
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    shares = counts / total
    bits: FloatArray = -(shares * np.log2(np.maximum(shares, 1e-300))).sum(axis=1)
    return bits


def _prune(node: Node) -> float:
    """Make leaves of subtrees that are not expected to err less; the errors expected."""
    alone = expected_errors(node.errors, node.records)
    if node.below is None or node.above is None:
        return alone
    split = _prune(node.below) + _prune(node.above)
    if alone > split + 0.1:
        return split
    node.below = node.above = None
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
