"""Types that every room shares: arrays by what they hold, and what counts as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BoolArray",
    "Codes",
    "Columnar",
    "ComplexArray",
    "Entries",
    "FloatArray",
    "Form",
    "IntArray",
    "Learner",
    "Opened",
    "Positions",
    "Progress",
    "Say",
    "SparkFrame",
    "TableLike",
    "Values",
    "Words",
]

ComplexArray: TypeAlias = NDArray[np.complexfloating[Any, Any]]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint64]
Codes: TypeAlias = NDArray[Any]
"""Positions of values in a domain, in the smallest unsigned integers that hold them."""
Positions: TypeAlias = NDArray[np.integer[Any]]
"""Places in a list, negative where there is none."""
Values: TypeAlias = NDArray[Any]
"""Values of a column, one a record, of whatever type the column has."""
Form: TypeAlias = dict[str, Any]
"""An object of JSON or TOML: entries by name."""
Entries: TypeAlias = Mapping[str, Any]
"""Such an object, to be read only."""


@runtime_checkable
class Columnar(Protocol):
    """A data frame of any library that hands over Arrow data: pandas, Polars, PyArrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The records as a stream in the Arrow C interface."""


@runtime_checkable
class SparkFrame(Protocol):
    """A data frame of Spark, which stays where it lies."""

    def mapInArrow(self, func: Any, schema: Any) -> Any:  # noqa: N802 - Spark's name
        """Its batches through a function, on the workers."""


@runtime_checkable
class Opened(Protocol):
    """A table that is already open."""

    def summaries(self, function: Any, columns: Any = None) -> Any:
        """What a function makes of all records."""


@runtime_checkable
class Learner(Protocol):
    """A classifier or regressor in the manner of scikit-learn."""

    def fit(self, X: Values, y: Values) -> object:
        """Learn from rows of features and what is to be predicted."""

    def predict(self, X: Values) -> Values:
        """What is predicted for each row."""


TableLike: TypeAlias = str | Path | Columnar | SparkFrame | Opened
"""A path, a data frame, or a table that has been opened already."""

Progress: TypeAlias = Callable[[int], None]
"""Is called with the number of further records, or other units, done."""
Say: TypeAlias = Callable[[str], None]
"""Is called with the name of the current step."""
