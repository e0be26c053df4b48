"""Models of scikit-learn that learn from a release and predict for records in original values.

A learner sees synthetic records [Dowd, Sec. 4 and 6]: each is a draw from what the release allows.
``posterior`` draws around the target (see ``target_model``), several times over where the table is
small, so that a tree does not learn the luck of one draw. ``rank`` is the paper's.

A learner sees numbers: bins by their centres, categories by their places or one column a level. Raw
records must become the same numbers, with values recoded, binned and coded as they were for the
release. ``ReleasedFeatures`` does that; ``learn`` puts it before a fitted learner, so that what
comes out is a pipeline like any other. ``learn_tree`` tests its model on clean records.

This module needs scikit-learn, which comes with the extra ``mining``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from pramana.analysis.channels import Channels
from pramana.analysis.features import (
    Attribute,
    codes_in_test,
    default_regressor,
    default_tree,
    feature_names,
    feature_table,
    numbers_of,
    raw_feature_table,
    raw_records,
    released_attribute,
)
from pramana.analysis.layout import Layout
from pramana.analysis.population_weights import RATIO_METHODS, RatioMethod, shifted
from pramana.analysis.release import Release, load_release
from pramana.analysis.synthesis import synthesize_records
from pramana.analysis.target_model import draw_records, fit_target_model
from pramana.base.measured_share import wilson
from pramana.base.randomness import Keystream
from pramana.base.rounding import require_choice, require_number
from pramana.errors import InvalidNumber, InvalidTable, MissingExtra, NotCovered, UnknownColumn
from pramana.mechanisms.mechanism import Mechanism
from pramana.schema.domains import Label, label_text
from pramana.schema.schema import Role
from pramana.types import BoolArray, FloatArray, Form, IntArray, Learner, TableLike, Values

try:
    from sklearn.base import BaseEstimator, TransformerMixin, is_regressor
    from sklearn.pipeline import Pipeline
    from sklearn.tree import DecisionTreeClassifier, export_text
except ImportError:
    raise MissingExtra(
        "Learning needs scikit-learn, an extra: pip install 'pramana[mining]'."
    ) from None

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
        draws: how many synthetic tables it learned from.
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
        if not isinstance(self.learner, DecisionTreeClassifier):
            raise NotCovered(f"Rules are read off trees; {type(self.learner).__name__} is none.")
        names = [label_text(self.classes[code]) for code in self.learner.classes_]
        text: str = export_text(
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
        draws: how many synthetic tables to learn from; more for small tables if not given.
        seed: for the same result again; the draws are of no one's truth, so any seed will do.
        target_population: records of another population that the model is for, in original values.
        ratio: how weights for it are estimated, ``classifier`` or ``nonparametric``.
    """
    require_choice("synthesis", synthesis, SYNTHESIS_METHODS)
    require_choice("ratio", ratio, RATIO_METHODS)
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


def draws_for(records: int, synthesis: LearnFrom, draws: int | None) -> int:
    """How many synthetic tables to learn from: those asked for, or more for small tables."""
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
        names = _without_weight(release, target)
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
            None if weight is None else numbers_of(table[weight.name], 0.0),
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
        """Synthetic tables: the values of each attribute, and the classes."""
        if method == "none" or not self.mechanism.steps:
            return [(self.values, self.classes)]
        columns, values = [*self.attributes, self.target], [*self.values, self.classes]
        coded = {own.name: value for own, value in zip(columns, values, strict=True)}
        labels = {own.name: own.labels for own in columns if own.labels is not None}
        if self.weight is not None:  # who weighs much may be of another class than who does not
            coded[self.weighed_by], labels[self.weighed_by] = _classes_of(self.weight)
        layout = Layout.of(list(labels), labels=labels, mechanism=self.mechanism, most=math.inf)
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
                codes_by_column = zip(axis.columns, layout.codes_of(axis), strict=True)
                columns |= {name: own[place] for name, own in codes_by_column}
            found.append(columns)
        return found

    def _table(self, found: dict[str, Values]) -> tuple[list[Values], Values]:
        values = [
            found.get(own.name, kept)
            for own, kept in zip(self.attributes, self.values, strict=True)
        ]
        return [np.asarray(value) for value in values], np.asarray(found[self.target.name])


def _without_weight(release: Release, target: str | None) -> list[str]:
    """The released columns but the weight; the target must be among them."""
    schema = release.certificate.true_schema
    names = [column.name for column in schema.columns if column.role is not Role.WEIGHT]
    if target is not None and target not in names:
        raise UnknownColumn(
            f"The target '{target}' is not in the release. It has: {', '.join(names)}.",
            column=target,
        )
    return names


MOST_WEIGHTS = 8
"""This many classes of weights are told apart when records are drawn."""


def _classes_of(weight: FloatArray) -> tuple[IntArray, tuple[Label, ...]]:
    """Weights in a few classes of about as many records: each value, or parts of their order."""
    values = np.unique(weight)
    if len(values) > MOST_WEIGHTS:
        values = np.unique(np.quantile(weight, np.arange(MOST_WEIGHTS) / MOST_WEIGHTS))
    codes = np.searchsorted(values, weight, side="right") - 1
    return codes, tuple(range(len(values)))


class ReleasedFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Raw records as the numbers that a learner sees of a release.

    It is fitted when it is made of a release, and holds what the columns are, none of the records.
    Numbers beyond the outer edges belong to the outer bins; categories that the release does not
    know become a column of zeros, or nan where a column is one number.

    Attributes:
        attributes: the columns that features are made of.
    """

    def __init__(self, attributes: Sequence[Attribute] = ()) -> None:
        self.attributes = attributes

    @classmethod
    def of(cls, release: Release | str | Path, *, target: str | None = None) -> ReleasedFeatures:
        """All released columns but the target and the weight."""
        opened = release if isinstance(release, Release) else load_release(release)
        names = _without_weight(opened, target)
        return cls(tuple(released_attribute(opened, name) for name in names if name != target))

    def fit(self, X: object = None, y: object = None) -> ReleasedFeatures:  # noqa: ARG002
        """Nothing is learned from raw records: the release has said what the columns are."""
        if not self.attributes:
            raise InvalidTable("Features are made of a release: ReleasedFeatures.of(release).")
        return self

    def transform(self, X: TableLike) -> FloatArray:
        """One row of numbers a record of a file or data frame with the release's columns."""
        return raw_feature_table(self.attributes, raw_records(self.attributes, X))

    def get_feature_names_out(self, input_features: object = None) -> Values:  # noqa: ARG002
        """The names of the numbers."""
        return np.array(feature_names(list(self.attributes)), dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return bool(self.attributes)


def learn(
    release: Release | str | Path,
    target: str,
    *,
    learner: Learner | None = None,
    synthesis: LearnFrom = "posterior",
    draws: int | None = None,
    seed: int | None = None,
    target_population: TableLike | None = None,
    ratio: RatioMethod = "classifier",
) -> Pipeline:
    """A model of the truth from a release alone: a fitted pipeline that scores raw records.

    Args:
        release: a release, or the folder of one.
        target: the column to predict: classes, randomised or not, or a number released unchanged.
        learner: any classifier or regressor of scikit-learn; a tree if not given.
        synthesis: ``posterior``, ``rank`` [Dowd, Alg. 2], or ``none`` to learn from the released
            records as if they were true.
        draws: how many synthetic tables to learn from; more for small tables if not given.
        seed: for the same result again; the draws are of no one's truth, so any seed will do.
        target_population: records of another population that the model is for, in original values:
            records count by how much more frequent their like is there [Wei, eq. 2].
        ratio: how that is estimated, ``classifier`` or ``nonparametric``.

    Returns:
        A ``sklearn.pipeline.Pipeline``: ``predict``, ``predict_proba`` and ``score`` take a file or
        data frame with the columns of the original table.
    """
    require_choice("synthesis", synthesis, SYNTHESIS_METHODS)
    require_choice("ratio", ratio, RATIO_METHODS)
    if isinstance(learner, type):
        raise InvalidTable(f"A learner is made before it is given: {learner.__name__}().")
    opened = release if isinstance(release, Release) else load_release(release)
    features = ReleasedFeatures.of(opened, target=target)
    keystream = Keystream.of(seed)
    own = released_attribute(opened, target)
    if own.labels is None:
        x, y, weight = _numbers(opened, target, features, synthesis, keystream)
    else:
        x, y, weight = _classes(opened, target, synthesis, draws, keystream)
    if target_population is not None:
        weight = shifted(opened, features.attributes, x, weight, target_population, ratio)
    model: Any = learner
    if model is None:
        model = default_regressor(len(y)) if own.labels is None else default_tree(len(y))
    if own.labels is not None and is_regressor(model) and y.dtype.kind not in "iufb":
        raise NotCovered(
            f"'{target}' has classes, and {type(model).__name__} predicts numbers. Take a "
            "classifier.",
            column=target,
        )
    takes = "sample_weight" in inspect.signature(model.fit).parameters
    if weight is not None and not takes:
        raise NotCovered(
            f"{type(model).__name__} takes no weights, and these records have some. Take a "
            "learner that does."
        )
    model.fit(x, y, **({} if weight is None else {"sample_weight": weight}))
    return Pipeline([("release", features), ("learner", model)])


def _classes(
    release: Release, target: str, synthesis: LearnFrom, draws: int | None, keystream: Keystream
) -> tuple[FloatArray, Values, FloatArray | None]:
    """Features, labels and weights of synthetic records; those without a class are left out."""
    columns = ReleasedColumns.of(release, target, synthesis, keystream)
    x, codes, weight, _ = columns.training_set(synthesis, draws, keystream)
    domain = release.certificate.schema.column(target).domain
    gone = {None, *(() if domain is None else domain.missing_labels)}
    labels = columns.target.labels or ()
    kept = np.array([label not in gone for label in labels])[codes]
    known = [label for label in labels if label not in gone]
    names = np.array([known[0] if label in gone else label for label in labels])
    return x[kept], names[codes[kept]], None if weight is None else weight[kept]


def _numbers(
    release: Release,
    target: str,
    features: ReleasedFeatures,
    synthesis: LearnFrom,
    keystream: Keystream,
) -> tuple[FloatArray, Values, FloatArray | None]:
    """The same for a number released unchanged."""
    whole = release.certificate.nature.whole
    if whole and (synthesis == "none" or not release.certificate.schema.randomised):
        table: pa.Table = release.opened.to_arrow()
    elif synthesis == "none":
        raise NotCovered("Reports tell some columns of each record: learn from rebuilt ones.")
    else:
        table = release.synthesized(keystream, method=synthesis)
    x, y = raw_feature_table(features.attributes, table), numbers_of(table[target])
    kept = ~np.isnan(y)
    weight = release.certificate.true_schema.weight
    return x[kept], y[kept], None if weight is None else numbers_of(table[weight.name], 0.0)[kept]
