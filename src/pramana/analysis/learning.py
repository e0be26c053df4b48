"""Fit models of scikit-learn to a release; they predict for records in original values.

A learner sees synthetic records [Dowd, Sec. 4 and 6]. ``posterior`` draws them from a model around
the target (see ``synthesis_draws``), several times for a small table, so that a tree does not learn
the luck of one draw. ``rank`` is the paper's reconstruction.

Original records become the same features as synthetic ones: recoded, binned and coded as they were
for the release (``ReleasedFeatures``). ``learn`` returns a pipeline of these features and the
learner; ``learn_tree`` returns a model of classes that can be tested on clean records.

This module needs scikit-learn, which comes with the extra ``mining``.
"""

from __future__ import annotations

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
    default_learner,
    feature_table,
    fit_weighted,
    numbers_of,
    raw_feature_table,
    raw_records,
    released_attribute,
)
from pramana.analysis.layout import Layout
from pramana.analysis.population_weights import RATIO_METHODS, RatioMethod, shared_names, shifted
from pramana.analysis.release import Release, load_release
from pramana.analysis.synthesis import synthesize_records
from pramana.analysis.synthesis_draws import draw_given_target, fit_target_model
from pramana.base.measured_share import wilson
from pramana.base.randomness import Keystream
from pramana.base.rounding import require_choice, require_number
from pramana.errors import InvalidNumber, InvalidTable, MissingExtra, NotCovered
from pramana.mechanisms.mechanism import Mechanism
from pramana.schema.domains import Label, label_text
from pramana.types import FloatArray, Form, IntArray, Learner, TableLike, Values

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

WEIGHT_CLASSES = 8
"""The most classes of weights when records are drawn."""


@dataclass(frozen=True, eq=False)
class Accuracy:
    """How often a model is right on clean records, with a 95 % interval [Wilson27].

    Attributes:
        value: The share of records whose class is predicted.
        low: The lower end of the interval.
        high: The upper end.
        baseline: The share of the most frequent class.
        records: The number of records tested.
        without_class: The number of records that have no class and were left out.
        confusion: Numbers of records by true class (rows) and predicted class (columns).
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
        cls, original: IntArray, predicted: IntArray, classes: int, without_class: int = 0
    ) -> Accuracy:
        """From codes of classes; a true class that the model cannot know is -1."""
        n = original.size
        if not n:
            raise InvalidTable("No record of the test file has a class: nothing can be tested.")
        known = original >= 0
        flat = np.bincount(original[known] * classes + predicted[known], minlength=classes**2)
        confusion = flat.reshape(classes, classes)
        right = int(np.trace(confusion))
        low, high = wilson(right, n)
        baseline = float(confusion.sum(axis=1).max()) / n
        return cls(right / n, low, high, baseline, n, confusion, without_class)


@dataclass(frozen=True, eq=False)
class LearnedTree:
    """A fitted classifier, the columns it was fitted to, and its accuracy.

    Attributes:
        learner: The fitted scikit-learn classifier.
        target: The column that it predicts.
        classes: The labels of the target.
        attributes: The columns that it predicts from.
        answer: The target as the release has it, with all its labels.
        synthesis: How the records were drawn.
        draws: The number of synthetic tables.
        records: The number of released records.
        accuracy: On the test file, if there is one.
        weights: About the weights for another population: how many records they leave in effect,
            whom they do not cover, and whether they are biased.
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
    weights: str = ""

    @property
    def features(self) -> list[str]:
        """The names of the learner's inputs."""
        return [name for attribute in self.attributes for name in attribute.names]

    def predict(self, table: TableLike) -> list[Label]:
        """The class of each record of a file or data frame with the release's columns."""
        codes = self._codes(raw_records(self.attributes, table))
        return [self.classes[code] for code in codes.tolist()]

    def test(self, table: TableLike) -> Accuracy:
        """The accuracy on clean records; records without a class are left out."""
        rows = raw_records((*self.attributes, self.answer), table)
        no_class, labels = no_classes(self.answer), [*(self.answer.labels or ()), ""]
        codes = codes_in_test(self.answer, rows[self.target])
        absent = np.array([label in no_class for label in labels])[codes]
        if None in no_class:
            absent |= np.asarray(rows[self.target].is_null(nan_is_null=True))
        places = {label: place for place, label in enumerate(self.classes)}
        original = np.array([*(places.get(label, -1) for label in labels[:-1]), -1])[codes]
        predicted = self._codes(rows.filter(pa.array(~absent)))
        return Accuracy.of(original[~absent], predicted, len(self.classes), int(absent.sum()))

    def rules(self, depth: int = 4) -> str:
        """The upper levels of a tree as text; only trees have them."""
        if not isinstance(self.learner, DecisionTreeClassifier):
            raise NotCovered(f"Only trees have rules, got {type(self.learner).__name__}.")
        names = [label_text(self.classes[code]) for code in self.learner.classes_]
        text: str = export_text(
            self.learner, feature_names=self.features, class_names=names, max_depth=depth
        )
        return text

    def to_json(self) -> Form:
        """The statistics of the model."""
        tested, accuracy = {}, self.accuracy
        if accuracy is not None:
            tested = {
                "accuracy": accuracy.value,
                "accuracy_interval": [accuracy.low, accuracy.high],
                "baseline": accuracy.baseline,
                "test_records": accuracy.records,
                "test_records_without_class": accuracy.without_class,
                "confusion": accuracy.confusion.tolist(),
            }
        return {
            "target": self.target,
            "classes": list(self.classes),
            "learner": type(self.learner).__name__,
            "synthesis": self.synthesis,
            "draws": self.draws,
            "records": self.records,
            "features": self.features,
            **({"weights": self.weights} if self.weights else {}),
            **tested,
        }

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
    """Learn to predict a column of the original data from the others, given a release alone.

    ``test`` are clean records (a file or data frame with the release's columns) to test on.
    ``learner`` is any scikit-learn classifier, a decision tree by information gain if not given.
    The other arguments are those of ``learn``.
    """
    opened, keystream = _opened(release, synthesis, ratio, seed)
    data = TrainingSet.of(opened, target, synthesis, draws, keystream)
    weight, note = data.weight, ""
    if target_population is not None:
        shift = shifted(
            opened, data.attributes, data.x, weight, target_population, ratio, synthesis
        )
        weight, note = shift.values, shift.why
    labels, without = data.answer.labels or (), no_classes(data.answer)
    is_class = np.array([label not in without for label in labels])
    kept = is_class[data.codes]
    model = default_learner(data.records, data.tables) if learner is None else learner
    codes = (np.cumsum(is_class) - 1)[data.codes[kept]]
    fit_weighted(model, data.x[kept], codes, None if weight is None else weight[kept])
    classes = tuple(label for label in labels if label not in without)
    learned = LearnedTree(
        model, target, classes, data.attributes, data.answer, synthesis, data.tables, data.records,
        weights=note,
    )  # fmt: skip
    return learned if test is None else replace(learned, accuracy=learned.test(test))


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
    """Fit a pipeline that scores original records, from a release alone.

    Args:
        release: A release, or the folder of one.
        target: The column to predict: classes, randomised or not, or a number released unchanged.
        learner: Any classifier or regressor of scikit-learn; a tree if not given.
        synthesis: ``posterior``, ``rank`` [Dowd, Alg. 2], or ``none`` to learn from the released
            records as if they were original.
        draws: The number of synthetic tables; more for small tables if not given.
        seed: For the same result again. Any seed will do: nobody's original values are drawn.
        target_population: Records of another population that the model is for, in original values:
            each record counts by how much more frequent its like is there [Wei, eq. 2].
        ratio: How that is estimated, ``classifier`` or ``nonparametric``.

    Returns:
        A ``sklearn.pipeline.Pipeline``: ``predict``, ``predict_proba`` and ``score`` take a file or
        data frame with the columns of the original table.
    """
    opened, keystream = _opened(release, synthesis, ratio, seed)
    if isinstance(learner, type):
        raise InvalidTable(f"Give an instance of the learner, not its class: {learner.__name__}().")
    features = ReleasedFeatures.of(opened, target=target)
    classes = released_attribute(opened, target).labels is not None
    if classes:
        data = TrainingSet.of(opened, target, synthesis, draws, keystream)
        labels, absent = data.answer.labels or (), {None, *no_classes(data.answer)}
        kept = np.array([label not in absent for label in labels])[data.codes]
        known = [label for label in labels if label not in absent]
        names = np.array([known[0] if label in absent else label for label in labels])
        x, y = data.x[kept], names[data.codes[kept]]
        weight = None if data.weight is None else data.weight[kept]
    else:
        x, y, weight = _numeric_records(opened, target, features, synthesis, keystream)
    if target_population is not None:
        weight = shifted(
            opened, features.attributes, x, weight, target_population, ratio, synthesis
        ).values
    model: Any = learner
    if model is None:
        model = default_learner(len(y), classes=classes)
    if classes and is_regressor(model) and y.dtype.kind not in "iufb":
        raise NotCovered(
            f"'{target}' has classes, and {type(model).__name__} predicts numbers. Take a "
            "classifier.",
            column=target,
        )
    fit_weighted(model, x, y, weight)
    return Pipeline([("release", features), ("learner", model)])


def _opened(
    release: Release | str | Path, synthesis: str, ratio: str, seed: int | None
) -> tuple[Release, Keystream]:
    require_choice("synthesis", synthesis, SYNTHESIS_METHODS)
    require_choice("ratio", ratio, RATIO_METHODS)
    return release if isinstance(release, Release) else load_release(release), Keystream.of(seed)


def no_classes(target: Attribute) -> tuple[Label, ...]:
    """Labels of a target that say that there is no class.

    A missing value is one of them, unless the schema makes it a category.
    """
    if target.column is None:
        return (None,)
    codes = target.column.labels_for_missing
    return codes if target.column.missing == "category" else (*codes, None)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Synthetic records as a classifier needs them.

    Attributes:
        attributes: The columns to predict from.
        answer: The column to predict.
        x: The features of all records of all tables.
        codes: The codes of the answer.
        weight: The weights, if the release has any.
        tables: The number of synthetic tables.
        records: The number of records in each.
    """

    attributes: tuple[Attribute, ...]
    answer: Attribute
    x: FloatArray
    codes: IntArray
    weight: FloatArray | None
    tables: int
    records: int

    @classmethod
    def of(
        cls,
        release: Release,
        target: str,
        synthesis: LearnFrom,
        draws: int | None,
        keystream: Keystream,
    ) -> TrainingSet:
        """Draw tables from a release; reports of a few columns are made whole records first."""
        attributes = tuple(ReleasedFeatures.of(release, target=target).attributes)
        whole = release.certificate.nature.whole
        table = release.opened.to_arrow() if whole else _whole(release, synthesis, keystream)
        answer = released_attribute(release, target)
        if answer.labels is None or not attributes:
            raise InvalidTable(
                f"'{target}' must be a column of classes, and there must be others to learn from. "
                "Cut a column of numbers into bins first.",
                column=target,
            )
        column = release.certificate.true_schema.weight
        weight = None if column is None else numbers_of(table[column.name], 0.0)
        codes = {a.name: codes_in_test(a, table[a.name]) for a in (*attributes, answer)}
        labels = {a.name: a.labels for a in (*attributes, answer) if a.labels is not None}
        if column is not None and weight is not None:
            codes[column.name], labels[column.name] = _weight_classes(weight)
        tables = [codes]
        mechanism = Mechanism(()) if synthesis == "none" else release.reading.channel()
        number = _number_of_draws(len(codes[target]), synthesis, draws)
        if mechanism.steps:
            layout = Layout.of(list(labels), labels=labels, mechanism=mechanism, most=math.inf)
            drawn = _drawn_codes(codes, layout, target, synthesis, number, keystream)
            tables = [codes | synthetic for synthetic in drawn]
        return cls(
            attributes,
            answer,
            np.concatenate(
                [feature_table(attributes, [t[a.name] for a in attributes]) for t in tables]
            ),
            np.concatenate([synthetic[target] for synthetic in tables]).astype(np.int64),
            None if weight is None else np.tile(weight, len(tables)),
            len(tables),
            table.num_rows,
        )


def _whole(release: Release, synthesis: LearnFrom, keystream: Keystream) -> pa.Table:
    """Synthetic whole records."""
    if synthesis == "none":
        raise NotCovered(
            "Each released record holds some columns only: learn from synthetic records."
        )
    return release.synthesized(keystream, method=synthesis)


def _drawn_codes(
    codes: dict[str, Values],
    layout: Layout,
    target: str,
    method: LearnFrom,
    draws: int,
    keystream: Keystream,
) -> list[dict[str, Values]]:
    """Codes by column of synthetic tables."""
    released = [np.asarray(codes[name]).astype(np.int64) for name in layout.columns]
    if method == "rank":
        ranked = synthesize_records(released, layout, keystream=keystream, method="rank")
        return [dict(zip(ranked.columns, ranked.codes, strict=True))]
    channels = Channels(layout.only(range(len(layout.axes))))
    places = layout.positions(released)
    axis = next(at for at, axis in enumerate(layout.axes) if target in axis.columns)
    model = fit_target_model(places, channels, target=axis)
    return [
        {
            name: codes_at_place[place]
            for axis, place in zip(layout.axes, drawn, strict=True)
            for name, codes_at_place in zip(axis.columns, layout.codes_of(axis), strict=True)
        }
        for drawn in draw_given_target(places, channels, model, keystream=keystream, draws=draws)
    ]


def _number_of_draws(records: int, synthesis: LearnFrom, draws: int | None) -> int:
    """The number of synthetic tables: as asked, or up to 5 until they have 60,000 rows."""
    if draws is not None:
        require_number("draws", draws, low=1)
        if draws != int(draws):
            raise InvalidNumber(f"draws must be a whole number, got {draws}.")
    if synthesis != "posterior":
        return 1
    return draws or int(np.clip(60_000 // max(records, 1), 1, 5))


def _weight_classes(weight: FloatArray) -> tuple[IntArray, tuple[Label, ...]]:
    """Weights in a few classes of about as many records: each value, or quantiles.

    The class joins the model, since the distribution of the target may depend on the weight.
    """
    values = np.unique(weight)
    if len(values) > WEIGHT_CLASSES:
        values = np.unique(np.quantile(weight, np.arange(WEIGHT_CLASSES) / WEIGHT_CLASSES))
    return np.searchsorted(values, weight, side="right") - 1, tuple(range(len(values)))


class ReleasedFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transform original records into the features that a learner sees of a release.

    It is fitted when it is made of a release, and holds the columns' form, none of the records.
    Numbers beyond the outer edges belong to the outer bins. A category that the release does not
    know becomes a row of zeros, or nan where a column is one number.

    Attributes:
        attributes: The columns that features are made of.
    """

    def __init__(self, attributes: Sequence[Attribute] = ()) -> None:
        self.attributes = attributes

    @classmethod
    def of(cls, release: Release | str | Path, *, target: str | None = None) -> ReleasedFeatures:
        """All released columns but the target and the weight."""
        opened = release if isinstance(release, Release) else load_release(release)
        names = shared_names([opened], [] if target is None else [target])
        return cls(tuple(released_attribute(opened, name) for name in names if name != target))

    def fit(self, X: object = None, y: object = None) -> ReleasedFeatures:  # noqa: ARG002
        """Learn nothing: the release defines the features."""
        if not self.attributes:
            raise InvalidTable("Features are made of a release: ReleasedFeatures.of(release).")
        return self

    def transform(self, X: TableLike) -> FloatArray:
        """One row of numbers a record of a file or data frame with the release's columns."""
        return raw_feature_table(self.attributes, raw_records(self.attributes, X))

    def get_feature_names_out(self, input_features: object = None) -> Values:  # noqa: ARG002
        """The names of the features."""
        names = [name for attribute in self.attributes for name in attribute.names]
        return np.array(names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return bool(self.attributes)


def _numeric_records(
    release: Release,
    target: str,
    features: ReleasedFeatures,
    synthesis: LearnFrom,
    keystream: Keystream,
) -> tuple[FloatArray, Values, FloatArray | None]:
    """Features, values and weights for a number that was released unchanged."""
    certificate = release.certificate
    unchanged = synthesis == "none" or not certificate.schema.randomised
    if certificate.nature.whole and unchanged:
        table: pa.Table = release.opened.to_arrow()
    else:
        release.reading.channel()  # refused where matrices are unknown, with what to do instead
        table = _whole(release, synthesis, keystream)
    x, y = raw_feature_table(features.attributes, table), numbers_of(table[target])
    kept, weight = ~np.isnan(y), certificate.true_schema.weight
    return x[kept], y[kept], None if weight is None else numbers_of(table[weight.name], 0.0)[kept]
