"""Learn a class from a release: rebuild the records, hand them to any learner, test on clean ones.

[Dowd, Sec. 4 and 6]. The learner sees records that nobody has: each is a draw from what the release
allows. ``posterior`` draws around the target (see ``target_model``), several times over where the
table is small, so that a tree does not learn the luck of one draw. ``rank`` is the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from pramana.analysis.channels import Channels
from pramana.analysis.features import (
    Attribute,
    codes_in_test,
    default_tree,
    feature_names,
    feature_table,
    raw_feature_table,
    raw_records,
    released_attribute,
    scikit_learn,
)
from pramana.analysis.layout import Axis, Layout
from pramana.analysis.population_weights import RatioMethod, shifted
from pramana.analysis.release import Release, load_release
from pramana.analysis.synthesis import synthesize_records
from pramana.analysis.target_model import draw_records, fit_target_model
from pramana.base.measured_share import wilson
from pramana.base.randomness import Keystream
from pramana.base.rounding import require_choice, require_number
from pramana.errors import InvalidNumber, InvalidTable, NotCovered, UnknownColumn
from pramana.mechanisms.mechanism import Mechanism
from pramana.schema.domains import Label, label_text
from pramana.schema.schema import Role
from pramana.types import BoolArray, FloatArray, Form, IntArray, Learner, TableLike, Values

LearnFrom = Literal["posterior", "rank", "none"]
SYNTHESIS_METHODS = ("posterior", "rank", "none")

ENOUGH_ROWS = 60_000
MOST_DRAWS = 5


@dataclass(frozen=True, eq=False)
class Accuracy:
    """How often a model is right on clean records, with a 95 % interval [Wilson27].

    Attributes:
        value: the share of records whose class is found.
        low: the lower end of the interval.
        high: the upper end.
        baseline: the share of the most frequent class: what saying it always would reach.
        records: how many records were tested.
        without_class: how many more have no class, and were left out.
        confusion: numbers of records by true class (rows) and predicted class (columns).
    """

    value: float
    low: float
    high: float
    baseline: float
    records: int
    confusion: IntArray = field(repr=False)
    without_class: int = 0

    @classmethod
    def of(
        cls, truth: IntArray, predicted: IntArray, classes: int, without_class: int = 0
    ) -> Accuracy:
        """From codes of classes; a true class that the model cannot know is -1."""
        n = truth.size
        if not n:
            raise InvalidTable("No record of the test file has a class: nothing can be tested.")
        known = truth >= 0
        flat = np.bincount(truth[known] * classes + predicted[known], minlength=classes**2)
        confusion = flat.reshape(classes, classes)
        right = int(np.trace(confusion))
        low, high = wilson(right, n)
        baseline = float(confusion.sum(axis=1).max()) / n
        return cls(right / n, low, high, baseline, n, confusion, without_class)


@dataclass(frozen=True, eq=False)
class LearnedTree:
    """A fitted learner, what it was fitted on, and how well it does.

    Attributes:
        learner: the fitted scikit-learn classifier.
        target: the column that it predicts.
        classes: the labels of the target.
        attributes: the columns that it predicts from.
        answer: the target as the release has it, with all its labels.
        synthesis: how the records were drawn.
        draws: how many rebuilt tables it learned from.
        records: the number of released records.
        accuracy: on the test file, where one was given.
    """

    learner: Learner = field(repr=False)
    target: str
    classes: tuple[Label, ...]
    attributes: tuple[Attribute, ...] = field(repr=False)
    answer: Attribute = field(repr=False)
    synthesis: str
    draws: int
    records: int
    accuracy: Accuracy | None = None

    @property
    def features(self) -> list[str]:
        """The names of the learner's inputs."""
        return feature_names(list(self.attributes))

    def predict(self, table: TableLike) -> list[Label]:
        """The class of each record of a file or data frame with the release's columns."""
        codes = self._codes(raw_records(self.attributes, table))
        return [self.classes[code] for code in codes.tolist()]

    def test(self, table: TableLike) -> Accuracy:
        """How often the class is found on clean records; those without a class are left out."""
        rows = raw_records((*self.attributes, self.answer), table)
        there = ~_without_class(self.answer, rows[self.target])
        rows = rows.filter(pa.array(there))
        places = {label: place for place, label in enumerate(self.classes)}
        known = [places.get(label, -1) for label in self.answer.labels or ()]
        truth = np.array([*known, -1])[codes_in_test(self.answer, rows[self.target])]
        gone = int(np.count_nonzero(~there))
        return Accuracy.of(truth, self._codes(rows), len(self.classes), gone)

    def rules(self, depth: int = 4) -> str:
        """The upper levels of a tree in plain text; only trees have them."""
        tree = scikit_learn("tree")
        if not isinstance(self.learner, tree.DecisionTreeClassifier):
            raise NotCovered(f"Rules are read off trees; {type(self.learner).__name__} is none.")
        names = [label_text(self.classes[code]) for code in self.learner.classes_]
        text: str = tree.export_text(
            self.learner, feature_names=self.features, class_names=names, max_depth=depth
        )
        return text

    def to_json(self) -> Form:
        """The figures of the model."""
        form: Form = {
            "target": self.target,
            "classes": list(self.classes),
            "learner": type(self.learner).__name__,
            "synthesis": self.synthesis,
            "draws": self.draws,
            "records": self.records,
            "features": self.features,
        }
        if self.accuracy is not None:
            form["accuracy"] = self.accuracy.value
            form["accuracy_interval"] = [self.accuracy.low, self.accuracy.high]
            form["baseline"] = self.accuracy.baseline
            form["test_records"] = self.accuracy.records
            form["test_records_without_class"] = self.accuracy.without_class
            form["confusion"] = self.accuracy.confusion.tolist()
        return form

    def _codes(self, table: pa.Table) -> IntArray:
        x = raw_feature_table(self.attributes, table)
        return np.asarray(self.learner.predict(x)).astype(np.int64)


def learn_tree(
    release: Release | str | Path,
    *,
    target: str,
    test: TableLike | None = None,
    learner: Learner | None = None,
    synthesis: LearnFrom = "posterior",
    draws: int | None = None,
    seed: int | None = None,
    target_population: TableLike | None = None,
    ratio: RatioMethod = "classifier",
) -> LearnedTree:
    """Learn to predict a column of the truth from the others, given a release alone.

    Args:
        release: a release, or the folder of one.
        target: the column to predict, randomised or not.
        test: clean records (a file or data frame with the release's columns) to test on.
        learner: any scikit-learn classifier; a decision tree by information gain if not given.
        synthesis: ``posterior``, ``rank`` [Dowd, Alg. 2], or ``none`` to learn from the released
            records as if they were true.
        draws: how many rebuilt tables to learn from; more for small tables if not given.
        seed: for the same result again; the draws are of no one's truth, so any seed will do.
        target_population: records of another population that the model is for, in original values.
        ratio: how weights for it are estimated, ``classifier`` or ``nonparametric``.
    """
    require_synthesis_method(synthesis)
    opened = release if isinstance(release, Release) else load_release(release)
    keystream = Keystream.of(seed)
    columns = ReleasedColumns.of(opened, target, synthesis, keystream)
    x, codes, weight, tables = columns.training_set(synthesis, draws, keystream)
    if target_population is not None:
        weight = shifted(opened, columns.attributes, x, weight, target_population, ratio)
    answer = columns.target
    is_class = np.array([label not in no_classes(answer) for label in answer.labels or ()])
    kept = is_class[codes]
    model = default_tree(columns.records, tables) if learner is None else learner
    weighed = {} if weight is None else {"sample_weight": weight[kept]}
    model.fit(x[kept], (np.cumsum(is_class) - 1)[codes[kept]], **weighed)
    learned = LearnedTree(
        model,
        target,
        tuple(label for label, own in zip(answer.labels or (), is_class, strict=True) if own),
        tuple(columns.attributes),
        answer,
        synthesis,
        tables,
        columns.records,
    )
    return learned if test is None else replace(learned, accuracy=learned.test(test))


def no_classes(target: Attribute) -> tuple[Label, ...]:
    """Labels of a target that say that there is no class.

    Missing is one of them, unless the schema has it as a category.
    """
    column = target.column
    codes = () if column is None or column.domain is None else column.domain.missing_labels
    listed = column is not None and column.missing == "category"
    return codes if listed else (*codes, None)


def _without_class(target: Attribute, values: pa.ChunkedArray) -> BoolArray:
    """Which records of a test file have none."""
    gone = no_classes(target)
    codes = codes_in_test(target, values)
    labels = [*(target.labels or ()), ""]
    missing = np.asarray(values.is_null(nan_is_null=True))
    found = np.array([label in gone for label in labels])[codes]
    return np.asarray(found | missing if None in gone else found, dtype=bool)


def require_synthesis_method(synthesis: LearnFrom) -> None:
    """Refuse a word that is no way to rebuild."""
    require_choice("synthesis", synthesis, SYNTHESIS_METHODS)


def draws_for(records: int, synthesis: LearnFrom, draws: int | None) -> int:
    """How many rebuilt tables to learn from: those asked for, or more for small tables."""
    if draws is not None:
        require_number("draws", draws, low=1)
        if draws != int(draws):
            raise InvalidNumber(f"draws must be a whole number, got {draws}.")
    if synthesis != "posterior":
        return 1
    return draws or int(np.clip(ENOUGH_ROWS // max(records, 1), 1, MOST_DRAWS))


@dataclass(frozen=True, eq=False)
class ReleasedColumns:
    """The released columns as a learner needs them."""

    target: Attribute
    classes: Values
    attributes: list[Attribute]
    values: list[Values]
    mechanism: Mechanism
    weight: FloatArray | None
    weighed_by: str = ""

    @classmethod
    def of(
        cls, release: Release, target: str, synthesis: LearnFrom, keystream: Keystream
    ) -> ReleasedColumns:
        """Of a release, for a target; whole records are made of reports first."""
        schema = release.certificate.true_schema
        if release.certificate.nature.whole:
            table = release.opened.to_arrow()
        elif synthesis == "none":
            raise NotCovered("Reports tell some columns of each record: learn from rebuilt ones.")
        else:
            table = release.synthesized(keystream, method=synthesis)
        names = [c.name for c in schema.columns if c.role is not Role.WEIGHT]
        if target not in names:
            raise UnknownColumn(
                f"The target '{target}' is not in the release. It has: {', '.join(names)}.",
                column=target,
            )
        own = released_attribute(release, target)
        attributes = [released_attribute(release, name) for name in names if name != target]
        if own.labels is None or not attributes:
            raise InvalidTable(
                f"'{target}' must be a column of classes, and there must be others to learn from. "
                "Cut a column of numbers into bins first.",
                column=target,
            )
        weight = schema.weight
        return cls(
            own,
            codes_in_test(own, table[target]),
            attributes,
            [codes_in_test(attribute, table[attribute.name]) for attribute in attributes],
            Mechanism(()) if synthesis == "none" else release.reading.channel(),
            None if weight is None else _numbers(table[weight.name]),
            "" if weight is None else weight.name,
        )

    @property
    def records(self) -> int:
        """How many there are."""
        return len(self.classes)

    def training_set(
        self, synthesis: LearnFrom, draws: int | None, keystream: Keystream
    ) -> tuple[FloatArray, IntArray, FloatArray | None, int]:
        """Features, codes of the classes and weights of all drawn tables, and their number."""
        tables = self.synthesized(synthesis, draws_for(self.records, synthesis, draws), keystream)
        features = np.concatenate([feature_table(self.attributes, own) for own, _ in tables])
        codes = np.concatenate([codes for _, codes in tables]).astype(np.int64)
        weight = None if self.weight is None else np.tile(self.weight, len(tables))
        return features, codes, weight, len(tables)

    def synthesized(
        self, method: str, draws: int, keystream: Keystream
    ) -> list[tuple[list[Values], Values]]:
        """Rebuilt tables: the values of each attribute, and the classes."""
        if method == "none" or not self.mechanism.steps:
            return [(self.values, self.classes)]
        columns, values = [*self.attributes, self.target], [*self.values, self.classes]
        coded = {own.name: value for own, value in zip(columns, values, strict=True)}
        labels = {own.name: own.labels for own in columns if own.labels is not None}
        if self.weight is not None:  # who weighs much may be of another class than who does not
            coded[self.weighed_by], labels[self.weighed_by] = _classes_of(self.weight)
        layout = Layout.of_records(list(labels), labels=labels, mechanism=self.mechanism)
        codes = [np.asarray(coded[name]).astype(np.int64) for name in layout.columns]
        if method == "rank":
            made = synthesize_records(codes, layout, keystream=keystream, method="rank")
            return [self._table(dict(zip(made.columns, made.codes, strict=True)))]
        return [self._table(found) for found in self._drawn(layout, codes, draws, keystream)]

    def _drawn(
        self, layout: Layout, codes: list[Values], draws: int, keystream: Keystream
    ) -> list[dict[str, Values]]:
        channels = Channels(layout.only(range(len(layout.axes))))
        places = layout.positions(codes)
        axes = layout.axes
        target = next(i for i, axis in enumerate(axes) if self.target.name in axis.columns)
        model = fit_target_model(places, channels, target=target)
        found = []
        for drawn in draw_records(places, channels, model, keystream=keystream, draws=draws):
            columns: dict[str, Values] = {}
            for axis, place in zip(axes, drawn, strict=True):
                columns |= _columns_of(layout, axis, place)
            found.append(columns)
        return found

    def _table(self, found: dict[str, Values]) -> tuple[list[Values], Values]:
        values = [
            found.get(own.name, kept)
            for own, kept in zip(self.attributes, self.values, strict=True)
        ]
        return [np.asarray(value) for value in values], np.asarray(found[self.target.name])


def _numbers(column: pa.ChunkedArray) -> FloatArray:
    """Weights; a record without one counts nothing."""
    return np.asarray(column.cast(pa.float64()).fill_null(0.0).to_numpy(), dtype=np.float64)


MOST_WEIGHTS = 8
"""So many classes of weights are told apart when records are drawn."""


def _classes_of(weight: FloatArray) -> tuple[IntArray, tuple[Label, ...]]:
    """Weights in a few classes of about as many records: each value, or parts of their order."""
    values = np.unique(weight)
    if len(values) > MOST_WEIGHTS:
        values = np.unique(np.quantile(weight, np.arange(MOST_WEIGHTS) / MOST_WEIGHTS))
    codes = np.searchsorted(values, weight, side="right") - 1
    return codes, tuple(range(len(values)))


def _columns_of(layout: Layout, axis: Axis, places: Values) -> dict[str, Values]:
    """The code of each column of an axis; an axis may hold several columns that move together."""
    codes = zip(axis.columns, layout.codes_of(axis), strict=True)
    return {name: own[places] for name, own in codes}
