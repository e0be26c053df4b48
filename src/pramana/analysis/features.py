"""The door to scikit-learn, which comes with the extra ``mining``.

Columns of a release as numbers for a learner, and the columns of a test file in the same way.

A bin is read as its centre [Dowd, Sec. 3.2], a number as itself, an ordered category as its place,
an unordered one as one column a level. Missing numbers are nan, which trees take as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

from pramana.base.text import listed
from pramana.engine.base import open_truth
from pramana.errors import MissingExtra, UnknownColumn
from pramana.schema.codec import encode_released
from pramana.schema.domains import Bins, Categories, Label, label_text
from pramana.schema.schema import Column, Schema
from pramana.types import BoolArray, FloatArray, IntArray, TableLike, Values

if TYPE_CHECKING:
    from pramana.analysis.release import Release

LEAF = 0.002


def scikit_learn(module: str) -> Any:
    """A module of scikit-learn, or one line that says how to get it."""
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise MissingExtra(
            "Learning needs scikit-learn, an extra: pip install 'pramana[mining]'."
        ) from None


def logistic_regression(
    x: ArrayLike, y: ArrayLike, *, weight: ArrayLike
) -> Callable[[ArrayLike], FloatArray]:
    """The log odds of class 1 as a function of x, fitted without a penalty."""
    preprocessing, linear = scikit_learn("preprocessing"), scikit_learn("linear_model")
    scale = preprocessing.StandardScaler().fit(x, sample_weight=weight)
    model = linear.LogisticRegression(C=np.inf, max_iter=1000, tol=1e-8)
    model.fit(scale.transform(x), y, sample_weight=weight)

    def log_odds(points: ArrayLike) -> FloatArray:
        odds: FloatArray = model.decision_function(scale.transform(points))
        return odds

    return log_odds


def default_tree(records: int, draws: int = 1) -> Any:
    """A decision tree by information gain, as in [Dowd].

    A tree grown to purity learns the noise that randomisation left: a leaf holds at least 0.2 %
    of the records, counted in each of the synthetic tables.
    """
    trees = scikit_learn("tree")
    leaf = max(5, round(LEAF * records)) * draws
    return trees.DecisionTreeClassifier(criterion="entropy", min_samples_leaf=leaf, random_state=0)


def default_regressor(records: int) -> Any:
    """A regression tree with leaves as large as those of a tree of classes."""
    trees = scikit_learn("tree")
    leaf = max(5, round(LEAF * records))
    return trees.DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0)


MOST_LEVELS = 64
"""Columns with more distinct values and no declared domain are read as numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class Attribute:
    """One column: its labels, or ``None`` where it is a plain number; and its declared form."""

    name: str
    labels: tuple[Label, ...] | None
    column: Column | None = None

    def __repr__(self) -> str:
        """Its name: a model at the prompt lists what it is made of."""
        return self.name

    @property
    def levels(self) -> FloatArray | None:
        """The number that stands for each label; ``None`` for one column a level."""
        if self.labels is None:
            return None
        domain = self.column.domain if self.column else None
        if isinstance(domain, Bins):
            missing = [np.nan] * (len(self.labels) - domain.size)
            return np.array([*_centres(domain), *missing])
        gone = (None, *(domain.missing_labels if domain is not None else ()))
        known = [label for label in self.labels if label not in gone]
        if all(isinstance(label, int | float) for label in known):
            return np.array([np.nan if own in gone else own for own in self.labels], np.float64)
        if isinstance(domain, Categories) and domain.ordered:
            places = [np.nan if own in gone else place for place, own in enumerate(self.labels)]
            return np.array(places, np.float64)
        return None

    @property
    def names(self) -> list[str]:
        """The features that it becomes."""
        if self.labels is None or self.levels is not None:
            return [self.name]
        return [f"{self.name}={label_text(label) or 'missing'}" for label in self.labels]

    @property
    def is_number(self) -> bool:
        """Whether any number is a value of it: numbers without a declared domain."""
        if self.labels is None:
            return True
        declared = self.column is not None and self.column.domain is not None
        known = [label for label in self.labels if label is not None]
        numbers = all(isinstance(label, int | float) for label in known)
        return numbers and not declared and bool(known)

    def features(self, values: Values) -> FloatArray:
        """From codes (or plain numbers); a code of -1 is unknown."""
        if self.labels is None:
            return np.asarray(values, dtype=np.float64)[:, None]
        levels = self.levels
        if levels is None:
            found: FloatArray = (values[:, None] == np.arange(len(self.labels))).astype(np.float64)
            return found
        numbers: FloatArray = np.append(levels, np.nan)[values]
        return numbers[:, None]

    def features_of_raw(self, values: pa.ChunkedArray) -> FloatArray:
        """From a column of original records.

        A number stands for itself, also where it does not occur in the release. Other values have
        the features of their codes.
        """
        plain = _flat(values)
        if self.is_number and _is_number(plain.type):
            return numbers_of(plain)[:, None]
        return self.features(codes_in_test(self, values))

    def outside(self, values: pa.ChunkedArray) -> BoolArray:
        """Which original records have a value that the schema does not know."""
        if self.labels is None or (self.is_number and _is_number(_flat(values).type)):
            return np.zeros(len(values), dtype=bool)
        codes = codes_in_test(self, values)
        beyond: BoolArray = codes < 0
        domain = self.column.domain if self.column else None
        if isinstance(domain, Bins) and _is_number(_flat(values).type):
            numbers = numbers_of(_flat(values))
            low, high = domain.edges[0], domain.edges[-1]
            beyond |= (codes < domain.size) & ((numbers < low) | (numbers > high))
        return beyond


def attribute_of(name: str, column: Column, values: pa.ChunkedArray) -> tuple[Attribute, Any]:
    """A released column as an attribute, with its codes (or plain numbers)."""
    if column.domain is not None:
        return Attribute(name, column.labels, column), encode_released(column, values)
    plain = _flat(values)
    if _is_number(plain.type):
        numbers = numbers_of(plain)
        if pc.count_distinct(plain).as_py() > MOST_LEVELS:
            return Attribute(name, None, column), numbers
    coded = plain.dictionary_encode(null_encoding="encode")
    labels = tuple(coded.dictionary.to_pylist())
    return Attribute(name, labels, column), coded.indices.to_numpy().astype(np.int64)


def released_attribute(release: Release, name: str) -> Attribute:
    """What a column of a release is to a learner; cells that were not reported are left out."""
    values = release.opened.to_arrow([name])[name]
    told = values if release.certificate.nature.whole else values.drop_null()
    return attribute_of(name, release.certificate.true_schema.column(name), told)[0]


def raw_records(attributes: Sequence[Attribute], table: TableLike, *more: str) -> pa.Table:
    """The columns of a file or data frame of true records, recoded as they were for the release."""
    schema = Schema(tuple(own.column for own in attributes if own.column is not None))
    opened = open_truth(table, schema)
    names = [*(own.name for own in attributes), *more]
    lacking = [name for name in names if name not in opened.schema.names]
    if lacking:
        raise UnknownColumn(
            f"The records must have the columns of the release; the table lacks {len(lacking)}: "
            f"{listed(lacking)}."
        )
    return opened.to_arrow(names)


def codes_in_test(attribute: Attribute, values: pa.ChunkedArray) -> Values:
    """The same column of a file of original records.

    Numbers beyond the outer edges belong to the outer bins; categories that the release does not
    know are -1, and so is a number that is missing where the release has none missing.
    """
    plain = _flat(values)
    if attribute.labels is None:
        if not _is_number(plain.type):
            raise UnknownColumn(
                f"'{attribute.name}' must be a column of numbers in the test file.",
                column=attribute.name,
            )
        return numbers_of(plain)
    domain = attribute.column.domain if attribute.column else None
    if isinstance(domain, Bins) and _is_number(plain.type):
        numbers = numbers_of(plain)
        codes = np.searchsorted(np.array(domain.edges[1:-1]), numbers, side="right")
        for place, code in enumerate(domain.missing_values, start=domain.size):
            codes[numbers == code] = place
        missing = len(attribute.labels) - 1 if None in attribute.labels else -1
        return np.where(np.isnan(numbers), missing, codes).astype(np.int64)
    known = {label_text(label): place for place, label in enumerate(attribute.labels)}
    coded = plain.dictionary_encode(null_encoding="encode")
    found = [known.get(label_text(value), -1) for value in coded.dictionary.to_pylist()]
    places: IntArray = np.array(found, dtype=np.int64)[coded.indices.to_numpy()]
    return places


def raw_feature_table(attributes: Sequence[Attribute], rows: pa.Table) -> FloatArray:
    """All features of original records side by side."""
    return np.concatenate([own.features_of_raw(rows[own.name]) for own in attributes], axis=1)


def feature_table(attributes: list[Attribute], values: list[Values]) -> FloatArray:
    """All features side by side."""
    parts = [own.features(value) for own, value in zip(attributes, values, strict=True)]
    return np.concatenate(parts, axis=1)


def feature_names(attributes: list[Attribute]) -> list[str]:
    """The names of those features."""
    return [name for attribute in attributes for name in attribute.names]


def _centres(bins: Bins) -> list[float]:
    """Open outer bins are read as their finite edge."""
    low, high = bins.edges[0], bins.edges[-1]
    centres = [float(centre) for centre in bins.centres]
    if math.isinf(low):
        centres[0] = bins.edges[1] if math.isfinite(bins.edges[1]) else 0.0
    if math.isinf(high) and bins.size > 1:
        centres[-1] = bins.edges[-2]
    elif math.isinf(high) and math.isfinite(low):
        centres[-1] = low
    return centres


def _flat(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    plain = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return plain.dictionary_decode() if pa.types.is_dictionary(plain.type) else plain


def numbers_of(column: pa.Array | pa.ChunkedArray, missing: float = np.nan) -> FloatArray:
    """A column as numbers."""
    values = column.cast(pa.float64(), safe=False).fill_null(missing)
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
