"""Models of scikit-learn that learn from a release and score raw records.

A learner sees numbers: bins by their centres, categories by their places or one column a level. Raw
records must become the same numbers, with values recoded, binned and coded as they were for the
release. ``ReleasedFeatures`` does that, and ``learn`` puts it before a learner that was fitted to
the rebuilt records, so that what comes out is a pipeline like any other.

This module needs scikit-learn, which comes with the extra ``mining``.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.analysis.features import (
    Attribute,
    feature_names,
    raw_feature_table,
    raw_records,
    released_attribute,
)
from pramana.analysis.population_weights import RatioMethod, shifted
from pramana.analysis.release import Release, load_release
from pramana.analysis.trees import LearnFrom, ReleasedColumns, require_synthesis_method
from pramana.base.randomness import Keystream
from pramana.errors import InvalidTable, MissingExtra, NotCovered, UnknownColumn
from pramana.schema.schema import Role
from pramana.types import FloatArray, Learner, TableLike, Values

try:
    from sklearn.base import BaseEstimator, TransformerMixin, is_regressor
    from sklearn.pipeline import Pipeline
except ImportError:
    raise MissingExtra(
        "Learning needs scikit-learn, an extra: pip install 'pramana[mining]'."
    ) from None

if TYPE_CHECKING:
    import pyarrow as pa


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
        schema = opened.certificate.true_schema
        names = [c.name for c in schema.columns if c.role is not Role.WEIGHT]
        if target is not None and target not in names:
            raise UnknownColumn(f"The target '{target}' is not in the release.", column=target)
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
        target: the column to predict: classes, randomised or not, or a number released as it is.
        learner: any classifier or regressor of scikit-learn; a tree if not given.
        synthesis: ``posterior``, ``rank`` [Dowd, Alg. 2], or ``none`` to learn from the released
            records as if they were true.
        draws: how many rebuilt tables to learn from; more for small tables if not given.
        seed: for the same result again; the draws are of no one's truth, so any seed will do.
        target_population: records of another population that the model is for, in original values:
            records count by how much more frequent their like is there [Wei, eq. 2].
        ratio: how that is estimated, ``classifier`` or ``nonparametric``.

    Returns:
        A ``sklearn.pipeline.Pipeline``: ``predict``, ``predict_proba`` and ``score`` take a file or
        data frame with the columns of the true table.
    """
    require_synthesis_method(synthesis)
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
    model = _default(own, len(y)) if learner is None else learner
    if own.labels is not None and is_regressor(model) and y.dtype.kind not in "iufb":
        raise NotCovered(
            f"'{target}' has classes, and {type(model).__name__} predicts numbers. Take a "
            "classifier.",
            column=target,
        )
    takes = "sample_weight" in inspect.signature(model.fit).parameters
    if weight is not None and not takes:
        raise NotCovered(
            f"{type(model).__name__} takes no weights, and the release has some. Take a learner "
            "that does, or release without the weight."
        )
    model.fit(x, y, **({} if weight is None else {"sample_weight": weight}))
    return Pipeline([("release", features), ("learner", model)])


def _default(target: Attribute, records: int) -> Any:
    from pramana.analysis.features import default_regressor, default_tree

    return default_tree(records) if target.labels is not None else default_regressor(records)


def _classes(
    release: Release, target: str, synthesis: LearnFrom, draws: int | None, keystream: Keystream
) -> tuple[FloatArray, Values, FloatArray | None]:
    """Features, labels and weights of rebuilt records; those without a class are left out."""
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
    """The same for a number released as it is."""
    whole = release.certificate.nature.whole
    if whole and (synthesis == "none" or not release.certificate.schema.randomised):
        table: pa.Table = release.opened.to_arrow()
    elif synthesis == "none":
        raise NotCovered("Reports tell some columns of each record: learn from rebuilt ones.")
    else:
        table = release.synthesized(keystream, method=synthesis)
    x, y = raw_feature_table(features.attributes, table), _column(table, target)
    kept = ~np.isnan(y)
    weight = release.certificate.true_schema.weight
    if weight is None:
        return x[kept], y[kept], None
    return x[kept], y[kept], np.nan_to_num(_column(table, weight.name)[kept])  # none: no weight


def _column(table: pa.Table, name: str) -> FloatArray:
    values = table[name].cast("float64").fill_null(np.nan)
    return np.asarray(values.to_numpy(), dtype=np.float64)
