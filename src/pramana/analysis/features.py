"""Turn columns of a release, and of original records, into numbers for scikit-learn.

A bin becomes its centre [Dowd, Sec. 3.2], a number stays itself, an ordered category becomes its
place, and an unordered one becomes one indicator column a level. A missing number is nan, which
trees accept. scikit-learn comes with the extra ``mining``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.text import listed
from pramana.engine.base import open_original
from pramana.errors import MissingExtra, NotCovered, UnknownColumn
from pramana.schema.codec import encode_released
from pramana.schema.domains import Bins, Categories, Domain, Label, label_text
from pramana.schema.opened_table import one_array
from pramana.schema.schema import Column, Schema
from pramana.types import BoolArray, FloatArray, TableLike, Values

if TYPE_CHECKING:
    from pramana.analysis.release import Release

LEAF = 0.002
"""The least share of the records in a leaf."""


def scikit_learn(module: str) -> Any:
    """Import a module of scikit-learn; a missing extra is one line that names it."""
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise MissingExtra(
            "Learning needs scikit-learn, an extra: pip install 'pramana[mining]'."
        ) from None


def default_learner(records: int, draws: int = 1, *, classes: bool = True) -> Any:
    """A decision tree by information gain, as in [Dowd], or a regression tree.

    A leaf holds at least 0.2 % of the records of each synthetic table: a tree grown to purity would
    learn the noise of randomisation.
    """
    trees, leaf = scikit_learn("tree"), max(5, round(LEAF * records)) * draws
    if not classes:
        return trees.DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0)
    return trees.DecisionTreeClassifier(criterion="entropy", min_samples_leaf=leaf, random_state=0)


def fit_weighted(model: Any, x: FloatArray, y: Values, weight: FloatArray | None) -> None:
    """Fit a learner or a pipeline; refused where records have weights and it takes none."""
    if weight is None:
        model.fit(x, y)
    elif "sample_weight" in inspect.signature(model.fit).parameters:
        model.fit(x, y, sample_weight=weight)
    elif hasattr(model, "steps"):
        model.fit(x, y, **{f"{model.steps[-1][0]}__sample_weight": weight})
    else:
        raise NotCovered(
            f"{type(model).__name__} takes no weights, and these records have some. Take a "
            "learner that does."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Attribute:
    """One column: its labels, or ``None`` for a number; and its declared form."""

    name: str
    labels: tuple[Label, ...] | None
    column: Column | None = None

    def __repr__(self) -> str:
        """Its name: a model at the prompt lists what it is made of."""
        return self.name

    @property
    def _domain(self) -> Domain | None:
        return self.column.domain if self.column else None

    @property
    def levels(self) -> FloatArray | None:
        """The number that represents each label; ``None`` for one indicator column a level."""
        if self.labels is None:
            return None
        domain = self._domain
        if isinstance(domain, Bins):
            missing = [np.nan] * (len(self.labels) - domain.size)
            return np.array([*_centres(domain), *missing])
        absent = (None, *(domain.missing_labels if domain is not None else ()))
        known = [label for label in self.labels if label not in absent]
        if all(isinstance(label, int | float) for label in known):
            return np.array([np.nan if v in absent else v for v in self.labels], np.float64)
        if isinstance(domain, Categories) and domain.ordered:
            places = [np.nan if v in absent else place for place, v in enumerate(self.labels)]
            return np.array(places, np.float64)
        return None

    @property
    def names(self) -> list[str]:
        """The names of its features."""
        if self.labels is None or self.levels is not None:
            return [self.name]
        return [f"{self.name}={label_text(label) or 'missing'}" for label in self.labels]

    @property
    def is_number(self) -> bool:
        """Whether any number can be its value: a column of numbers without a declared domain."""
        if self.labels is None:
            return True
        known = [label for label in self.labels if label is not None]
        numbers = all(isinstance(label, int | float) for label in known)
        return numbers and self._domain is None and bool(known)

    def features(self, values: Values) -> FloatArray:
        """The features of codes (or numbers); a code of -1 is an unknown value."""
        if self.labels is None:
            return np.asarray(values, dtype=np.float64)[:, None]
        levels = self.levels
        if levels is None:
            indicators: FloatArray = (values[:, None] == np.arange(len(self.labels))) * 1.0
            return indicators
        numbers: FloatArray = np.append(levels, np.nan)[values]
        return numbers[:, None]

    def features_of_raw(self, values: pa.ChunkedArray) -> FloatArray:
        """The features of a column of original records.

        A number represents itself even if it does not occur in the release. Other values have the
        features of their codes.
        """
        flat_values = one_array(values)
        if self.is_number and _is_number(flat_values.type):
            return numbers_of(flat_values)[:, None]
        return self.features(codes_in_test(self, values))

    def outside(self, values: pa.ChunkedArray) -> BoolArray:
        """Which original records have a value outside the schema."""
        flat_values = one_array(values)
        if self.labels is None or (self.is_number and _is_number(flat_values.type)):
            return np.zeros(len(values), dtype=bool)
        codes = codes_in_test(self, values)
        beyond: BoolArray = codes < 0
        domain = self._domain
        if isinstance(domain, Bins) and _is_number(flat_values.type):
            numbers = numbers_of(flat_values)
            low, high = domain.edges[0], domain.edges[-1]
            beyond |= (codes < domain.size) & ((numbers < low) | (numbers > high))
        return beyond


def attribute_of(name: str, column: Column, values: pa.ChunkedArray) -> tuple[Attribute, Any]:
    """A released column as an attribute, with its codes (or numbers).

    Without a declared domain, more than 64 distinct numbers are read as numbers.
    """
    if column.domain is not None:
        return Attribute(name, column.labels, column), encode_released(column, values)
    flat_values = one_array(values)
    if _is_number(flat_values.type) and pc.count_distinct(flat_values).as_py() > 64:
        return Attribute(name, None, column), numbers_of(flat_values)
    coded = flat_values.dictionary_encode(null_encoding="encode")
    labels = tuple(coded.dictionary.to_pylist())
    return Attribute(name, labels, column), coded.indices.to_numpy().astype(np.int64)


def released_attribute(release: Release, name: str) -> Attribute:
    """A column of a release as an attribute; cells that were not reported are left out."""
    values = release.opened.to_arrow([name])[name]
    reported = values if release.certificate.nature.whole else values.drop_null()
    return attribute_of(name, release.certificate.true_schema.column(name), reported)[0]


def raw_records(attributes: Sequence[Attribute], table: TableLike, *more: str) -> pa.Table:
    """The columns of original records, recoded as they were for the release."""
    schema = Schema(tuple(a.column for a in attributes if a.column is not None))
    opened = open_original(table, schema)
    names = [*(attribute.name for attribute in attributes), *more]
    lacking = [name for name in names if name not in opened.schema.names]
    if lacking:
        raise UnknownColumn(
            f"The records must have the columns of the release; the table lacks {len(lacking)}: "
            f"{listed(lacking)}."
        )
    return opened.to_arrow(names)


def codes_in_test(attribute: Attribute, values: pa.ChunkedArray) -> Values:
    """The codes (or numbers) of a column of original records.

    Numbers beyond the outer edges belong to the outer bins. A category that the release does not
    know is -1, and so is a missing value where the release has none.
    """
    flat_values = one_array(values)
    if attribute.labels is None:
        if not _is_number(flat_values.type):
            raise UnknownColumn(
                f"'{attribute.name}' must be a column of numbers in the test file.",
                column=attribute.name,
            )
        return numbers_of(flat_values)
    domain = attribute.column.domain if attribute.column else None
    if isinstance(domain, Bins) and _is_number(flat_values.type):
        numbers = numbers_of(flat_values)
        codes = np.searchsorted(np.array(domain.edges[1:-1]), numbers, side="right")
        for place, code in enumerate(domain.missing_values, start=domain.size):
            codes[numbers == code] = place
        missing = len(attribute.labels) - 1 if None in attribute.labels else -1
        return np.where(np.isnan(numbers), missing, codes).astype(np.int64)
    places = {label_text(label): place for place, label in enumerate(attribute.labels)}
    coded = flat_values.dictionary_encode(null_encoding="encode")
    code_of = [places.get(label_text(value), -1) for value in coded.dictionary.to_pylist()]
    return np.asarray(np.array(code_of, dtype=np.int64)[coded.indices.to_numpy()])


def raw_feature_table(attributes: Sequence[Attribute], rows: pa.Table) -> FloatArray:
    """All features of original records side by side."""
    return np.concatenate([a.features_of_raw(rows[a.name]) for a in attributes], axis=1)


def feature_table(attributes: Sequence[Attribute], values: Sequence[Values]) -> FloatArray:
    """All features of codes side by side."""
    pairs = zip(attributes, values, strict=True)
    return np.concatenate([a.features(codes) for a, codes in pairs], axis=1)


def _centres(bins: Bins) -> list[float]:
    """The centres of bins; an open outer bin has its finite edge instead."""
    low, high = bins.edges[0], bins.edges[-1]
    centres = [float(centre) for centre in bins.centres]
    if math.isinf(low):
        centres[0] = bins.edges[1] if math.isfinite(bins.edges[1]) else 0.0
    if math.isinf(high) and bins.size > 1:
        centres[-1] = bins.edges[-2]
    elif math.isinf(high) and math.isfinite(low):
        centres[-1] = low
    return centres


def numbers_of(column: pa.Array | pa.ChunkedArray, missing: float = np.nan) -> FloatArray:
    """A column as numbers."""
    values = column.cast(pa.float64(), safe=False).fill_null(missing)
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
