"""Transition matrices: the probability that an original value is released as each value.

Rows are original values, columns are released values. A category is found by its label. Entries are
integers over 2**64 and each row sums to 2**64, so that guarantees are computed from the integers
that the sampler uses.

The uniform mixture is known under four names: retention-replacement [Ikarashi, Sec. 2.3], the
gamma-diagonal matrix [Dowd, Sec. 5.1], k-ary randomised response, uniform mixture. With N values
and retention rho

    P_ii = rho + (1 - rho) / N,    P_ij = (1 - rho) / N,
    gamma = P_ii / P_ij = (1 + (N - 1) rho) / (1 - rho),    epsilon = ln gamma,    AR = gamma**-2.

Its one parameter is the integer ``other``, the weight of every other value.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramana.base.rounding import TOTAL, exp_down, log_up, require_number
from pramana.base.text import text_up
from pramana.errors import InvalidMatrix, InvalidNumber, SingularMatrix, UnknownColumn
from pramana.types import FloatArray, Form

Label = Any
"""A category: text, number, truth value, ``None`` for missing; a tuple of them for a joint cell."""


SINGULAR = 1e12
"""A condition number above this leaves no correct digit in an estimate."""


def check_labels(labels: tuple[Label, ...]) -> None:
    """Refuse repeated labels, and an empty list."""
    if not labels:
        raise InvalidMatrix("A matrix needs at least one label.")
    if len(set(labels)) != len(labels):
        raise InvalidMatrix(
            f"Labels of a matrix must differ, and {len(labels) - len(set(labels))} repeat."
        )


def as_cells(labels: Sequence[Label], width: int) -> tuple[tuple[Label, ...], ...]:
    """The labels of a matrix on several columns, each as a tuple with one value per column."""
    if width > 1:
        return tuple(labels)
    return tuple(label if isinstance(label, tuple) else (label,) for label in labels)


def are_cells(labels: Sequence[Label], width: int) -> bool:
    """Whether all labels are joint cells of ``width`` columns."""
    return set(map(type, labels)) == {tuple} and set(map(len, labels)) == {width}


def label_to_json(label: Label) -> Any:
    """A joint cell becomes a list, everything else stays.

    >>> label_to_json(("a", (("b", 1), 2)))
    ['a', [['b', 1], 2]]
    """
    return [label_to_json(part) for part in label] if isinstance(label, tuple) else label


def labels_to_json(labels: Sequence[Label]) -> list[Any]:
    """All labels of a matrix in that form."""
    return [label_to_json(label) for label in labels]


def label_from_json(label: Any) -> Label:
    """The reverse of :func:`label_to_json`."""
    return tuple(label_from_json(part) for part in label) if isinstance(label, list) else label


class TransitionMatrix(ABC):
    """Base of all families of matrices; those with the same labels and integers are equal."""

    family: ClassVar[str]
    labels: tuple[Label, ...]

    # -- defined by each family ------------------------------------------------------------

    @property
    @abstractmethod
    def weights(self) -> NDArray[np.object_]:
        """All entries as integers over 2**64."""

    @property
    @abstractmethod
    def gamma(self) -> Fraction | float:
        """The amplification factor [Dowd, Sec. 5.1]: the largest ratio in a column, or ``inf``."""

    @property
    @abstractmethod
    def anonymity_ratio(self) -> Fraction | float:
        """AR of [Ikarashi, Cor. 4], exact or rounded down: k = 1 + (n - 1) AR."""

    @abstractmethod
    def to_json(self) -> Form:
        """The JSON form with the integers as text; JSON numbers would lose digits."""

    # -- derived from the weights ----------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of categories."""
        return len(self.labels)

    @cached_property
    def positions(self) -> Mapping[Label, int]:
        """The position of each label."""
        return {label: position for position, label in enumerate(self.labels)}

    @property
    def values(self) -> FloatArray:
        """All entries in floating point, correctly rounded."""
        return np.ldexp(self.weights.astype(np.float64), -64)

    @property
    def diagonal(self) -> FloatArray:
        """The probability that each value is unchanged."""
        return np.diagonal(self.values).copy()

    def probability(self, original: Label, released: Label) -> Fraction:
        """The exact probability that ``truth`` is released as ``released``."""
        try:
            row, column = self.positions[original], self.positions[released]
        except KeyError:
            raise UnknownColumn("Both values must be labels of the matrix.") from None
        return Fraction(int(self.weights[row, column]), TOTAL)

    @cached_property
    def inverse(self) -> FloatArray:
        """The inverse in floating point."""
        if self.condition_number > SINGULAR:
            raise SingularMatrix(
                f"A matrix over {self.size} values cannot be undone: its rows are (nearly) "
                "dependent, so that some original values cannot be distinguished. Use a larger "
                "retention."
            )
        return np.asarray(np.linalg.inv(self.values), dtype=np.float64)

    def apply(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Expected released counts from original counts, along one axis of a table."""
        return _along(axis, counts, lambda table: table @ self.values)

    def solve(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Unbiased original counts from released counts, along one axis [Cator, eq. 4]."""
        return _along(axis, counts, lambda table: table @ self.inverse)

    def spread(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Counts times the squared entries of the inverse.

        [Cator, Sec. 3]: the variance of an estimated count k is
        ``sum_l (P^-1)_lk**2 E[released_l] - true_k``.
        """
        return _along(axis, counts, lambda table: table @ self.inverse**2)

    @property
    def expected_spread(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Expected ``spread`` of a record by value: own (twice), most and least of others."""
        expected = self.values @ self.inverse**2
        staying = expected.diagonal().copy()
        np.fill_diagonal(expected, -np.inf)
        most = expected.max(axis=0)
        np.fill_diagonal(expected, np.inf)
        return staying, staying, most, expected.min(axis=0)

    @property
    def entropy(self) -> float:
        """Bits of entropy of a release, each original value equally likely [Dowd, Sec. 5.2]."""
        values = self.values
        logs = np.log2(values, out=np.zeros_like(values), where=values > 0)
        return float(-(values * logs).sum() / self.size)

    @property
    def condition_number(self) -> float:
        """The condition number in the spectral norm."""
        return float(np.linalg.cond(self.values))

    def power(self, times: int) -> TransitionMatrix:
        """The matrix of ``times`` releases one after the other."""
        return Dense.of(self.labels, np.linalg.matrix_power(self.values, times))

    # -- value semantics -------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TransitionMatrix):
            return NotImplemented
        return self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.family, self.labels))

    def __repr__(self) -> str:
        lowest = self.diagonal.min()
        return f"{type(self).__name__}({self.size} values, smallest diagonal {lowest:.4f})"


def _along(
    axis: int, counts: ArrayLike, function: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Apply a function of the last axis to another one."""
    table = np.moveaxis(np.asarray(counts, dtype=np.float64), axis, -1)
    result: FloatArray = np.moveaxis(function(table), -1, axis)
    return result


def amplification(weights: NDArray[np.object_]) -> Fraction | float:
    """The largest ratio inside a column, over the columns that can be released."""
    worst = Fraction(1)
    for column in weights.T:
        lowest, highest = min(column), max(column)
        if highest == 0:
            continue  # never released, so it reveals nothing
        if lowest == 0:
            return math.inf
        worst = max(worst, Fraction(int(highest), int(lowest)))
    return worst


def crossed_ratio(values: FloatArray) -> float:
    """Min over u, v, u', v' of (A_uv' A_vu') / (A_uu' A_vv') [Ikarashi, Thm 3], rounded down.

    For a pair of truths (u, v) the four-fold ratio is (min_x r_x) / (max_x r_x) with
    r_x = A_ux / A_vx, so that the minimum over four indices takes two: O(N^3) time, O(N^2) memory.
    A column that only one of the two can reach gives 0: its release tells them apart.
    """
    reachable = values[:, values.max(axis=0) > 0]
    if (reachable == 0).any():
        return 0.0
    logs = np.log(reachable)
    spread = 0.0
    for row in logs:
        difference = logs - row
        spread = max(spread, float((difference.max(axis=1) - difference.min(axis=1)).max()))
    # An absolute error e in a logarithm is a relative error e in the ratio. Each of the four
    # logarithms has an error of at most a unit of 2**-47 (|log| < 45), and the entry by 2**-53.
    return math.exp(-spread) * (1 - 2.0**-44)


ROW_SUM_TOLERANCE = 1e-9
"""How far the rows of a matrix in floating point may be from one before it is refused."""


def integer_rows(
    values: NDArray[np.floating[Any]], *, what: str = "the matrix"
) -> NDArray[np.object_]:
    """Rows of probabilities as rows of integers that sum to ``TOTAL`` exactly.

    Zeros and ones are exact. The remainder of rounding goes to the largest entry of the row.
    """
    values = np.asarray(values, dtype=np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        raise InvalidMatrix(
            f"Entries of {what} must be probabilities, and some are negative or not finite."
        )
    sums = values.sum(axis=1)
    wrong = np.abs(sums - 1) > ROW_SUM_TOLERANCE
    if wrong.any():
        raise InvalidMatrix(
            f"Each row of {what} must sum to 1, and {int(wrong.sum())} of {len(sums)} do not. Rows "
            "are original values, columns released values."
        )
    scaled = np.ldexp(values, 64)  # exact: only the exponent changes
    weights: NDArray[np.object_] = np.frompyfunc(int, 1, 1)(scaled).astype(object)
    largest = values.argmax(axis=1)
    rows = np.arange(len(values))
    weights[rows, largest] += TOTAL - weights.sum(axis=1)
    return weights


@dataclass(frozen=True, eq=False, repr=False)
class Dense(TransitionMatrix):
    """A matrix of any entries.

    >>> swap = Dense.of(("F", "M"), [[0.875, 0.125], [0.25, 0.75]])
    >>> float(swap.gamma)
    6.0
    """

    labels: tuple[Label, ...]
    rows: tuple[tuple[int, ...], ...]

    family: ClassVar[str] = "dense"

    def __post_init__(self) -> None:
        check_labels(self.labels)
        if len(self.rows) != self.size or any(len(row) != self.size for row in self.rows):
            widths = sorted({len(row) for row in self.rows})
            raise InvalidMatrix(
                f"The matrix must be square with one row a label, got {len(self.rows)} rows of "
                f"{' or '.join(map(str, widths))} for {self.size} labels. Rows are original "
                "values, columns released values."
            )
        if any(min(row) < 0 or sum(row) != TOTAL for row in self.rows):
            raise InvalidMatrix(
                "Each row of integer weights must be at or above 0 and sum to 2**64."
            )

    @classmethod
    def of(cls, labels: Sequence[Label], values: ArrayLike, *, what: str = "the matrix") -> Dense:
        """From probabilities in floating point: zeros stay zero, ones stay one."""
        table = np.asarray(values, dtype=np.float64)
        if table.ndim != 2 or table.shape[0] != table.shape[1]:
            shape = " x ".join(map(str, table.shape))
            raise InvalidMatrix(
                f"{what[:1].upper()}{what[1:]} must be square, got {shape}. Rows are original "
                "values, columns released values."
            )
        return cls(tuple(labels), tuple(map(tuple, integer_rows(table, what=what))))

    @classmethod
    def from_weights(cls, labels: Sequence[Label], weights: NDArray[np.object_]) -> Dense:
        """From integers over 2**64."""
        return cls(tuple(labels), tuple(tuple(map(int, row)) for row in weights.tolist()))

    @cached_property
    def weights(self) -> NDArray[np.object_]:
        """All entries as integers over 2**64."""
        weights = np.empty((self.size, self.size), dtype=object)
        weights[:] = self.rows
        weights.flags.writeable = False
        return weights

    @cached_property
    def values(self) -> FloatArray:
        """All entries in floating point, correctly rounded."""
        values = np.ldexp(self.weights.astype(np.float64), -64)
        values.flags.writeable = False
        return values

    @cached_property
    def gamma(self) -> Fraction | float:
        """The largest ratio inside a column."""
        return amplification(self.weights)

    @cached_property
    def anonymity_ratio(self) -> float:
        """The smallest crossed ratio [Ikarashi, Thm 3], rounded down."""
        return crossed_ratio(self.values)

    def to_json(self) -> Form:
        """The JSON form; the integers as text."""
        return {
            "family": self.family,
            "labels": labels_to_json(self.labels),
            "rows": [[str(weight) for weight in row] for row in self.rows],
        }

    @classmethod
    def from_json(cls, form: Form) -> Dense:
        """The reverse of :meth:`to_json`."""
        labels = tuple(label_from_json(label) for label in form["labels"])
        return cls(labels, tuple(tuple(int(weight) for weight in row) for row in form["rows"]))


@dataclass(frozen=True, eq=False, repr=False)
class UniformMixture(TransitionMatrix):
    """A value is kept with probability ``retention``, else drawn uniformly from all values.

    >>> coin = UniformMixture.of(("no", "yes"), retention=0.5)
    >>> coin.values
    array([[0.75, 0.25],
           [0.25, 0.75]])
    >>> float(coin.gamma)
    3.0
    """

    labels: tuple[Label, ...]
    other: int

    family: ClassVar[str] = "uniform-mixture"

    def __post_init__(self) -> None:
        check_labels(self.labels)
        if not 0 <= self.other <= TOTAL // self.size:
            raise InvalidMatrix(
                f"The weight of every other value must lie in [0, 2**64 / {self.size}], "
                f"got {self.other}."
            )

    @classmethod
    def of(
        cls,
        labels: tuple[Label, ...],
        *,
        retention: float | Fraction | None = None,
        gamma: float | Fraction | None = None,
        epsilon: float | None = None,
    ) -> UniformMixture:
        """The mixture with the given retention, gamma or epsilon, rounded to the private side."""
        given = [retention is not None, gamma is not None, epsilon is not None]
        if sum(given) != 1:
            raise InvalidNumber("Give exactly one of retention, gamma and epsilon.")
        labels = tuple(labels)
        check_labels(labels)
        if retention is not None:
            require_number("retention", float(retention), low=0, high=1)
            other = math.ceil((1 - Fraction(retention)) * TOTAL / len(labels))
            return cls(labels, min(other, TOTAL // len(labels)))
        if gamma is not None:
            require_number("gamma", float(gamma), low=1)
            return cls(labels, _other_of_gamma(len(labels), gamma))
        assert epsilon is not None  # noqa: S101 - for the type checker
        require_number("epsilon", epsilon, low=0)
        if math.isinf(epsilon):
            return cls(labels, 0)
        most = TOTAL // len(labels)
        mixture = cls(labels, _other_of_gamma(len(labels), exp_down(epsilon)))
        # Epsilon is rounded up when it is read off, by more than exp_down may have taken away:
        # step to the private side until what is read is what was asked.
        while mixture.other < most and mixture.epsilon > epsilon:
            mixture = cls(labels, min(most, mixture.other + (mixture.other >> 52) + 1))
        return mixture

    # -- forms of the parameter ------------------------------------------------------------

    @property
    def retention(self) -> Fraction:
        """The probability that a value is kept without drawing, exactly."""
        return 1 - Fraction(self.size * self.other, TOTAL)

    @property
    def kept(self) -> int:
        """The weight of the diagonal."""
        return TOTAL - (self.size - 1) * self.other

    @property
    def gamma(self) -> Fraction | float:
        """Diagonal over off-diagonal."""
        if self.size == 1:
            return Fraction(1)
        return Fraction(self.kept, self.other) if self.other else math.inf

    @property
    def epsilon(self) -> float:
        """Ln gamma, rounded up."""
        return log_up(self.gamma)

    @property
    def anonymity_ratio(self) -> Fraction | float:
        """gamma**-2 [Ikarashi, Cor. 5], exactly."""
        gamma = self.gamma
        return 0.0 if gamma == math.inf else 1 / Fraction(gamma) ** 2

    # -- structure -------------------------------------------------------------------------

    @property
    def weights(self) -> NDArray[np.object_]:
        """All entries as integers over 2**64."""
        weights = np.full((self.size, self.size), self.other, dtype=object)
        np.fill_diagonal(weights, self.kept)
        return weights

    @property
    def diagonal(self) -> FloatArray:
        """The probability that each value is unchanged."""
        return np.full(self.size, self.kept / TOTAL)

    def probability(self, original: Label, released: Label) -> Fraction:
        """The exact probability that ``truth`` is released as ``released``."""
        return Fraction(
            self.kept if self.positions[original] == self.positions[released] else self.other, TOTAL
        )

    def apply(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Expected released counts, in linear time."""
        return _mix(counts, axis, (self.kept - self.other) / TOTAL, self.other / TOTAL)

    def solve(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Unbiased original counts, in linear time: no inverse is formed."""
        same, rest = self._inverse_entries
        return _mix(counts, axis, same - rest, rest)

    def spread(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Counts times the squared inverse, in linear time."""
        same, rest = self._inverse_entries
        return _mix(counts, axis, same**2 - rest**2, rest**2)

    @property
    def inverse(self) -> FloatArray:
        """The inverse in floating point."""
        same, rest = self._inverse_entries
        return np.full((self.size, self.size), rest) + (same - rest) * np.eye(self.size)

    @cached_property
    def _inverse_entries(self) -> tuple[float, float]:
        """Diagonal and off-diagonal of the inverse: (I - (1 - rho)/N J) / rho."""
        if self.condition_number > SINGULAR:
            raise SingularMatrix(
                f"A retention of {text_up(self.retention, 2)} over {self.size} values cannot be "
                "undone: the release is pure noise. Use a larger retention."
            )
        rest = -Fraction(self.other, TOTAL) / self.retention
        return float(rest + 1 / self.retention), float(rest)

    @property
    def entropy(self) -> float:
        """Bits of entropy of a release [Dowd, Sec. 5.2]."""
        entries = ((1, self.kept / TOTAL), (self.size - 1, self.other / TOTAL))
        return -sum(times * p * math.log2(p) for times, p in entries if p > 0)

    @property
    def condition_number(self) -> float:
        """The eigenvalues are 1 (once) and rho (N - 1 times)."""
        if self.size == 1:
            return 1.0
        return float(1 / self.retention) if self.retention > Fraction(1, 2**100) else math.inf

    def power(self, times: int) -> UniformMixture:
        """``times`` releases in a row are one with retention rho**times [Dowd, Lemma 2]."""
        require_number("times", times, low=0)
        return UniformMixture.of(self.labels, retention=self.retention**times)

    def to_json(self) -> Form:
        """The JSON form; the integer as text."""
        return {
            "family": self.family,
            "labels": labels_to_json(self.labels),
            "other": str(self.other),
        }

    @classmethod
    def from_json(cls, form: Form) -> UniformMixture:
        """The reverse of :meth:`to_json`."""
        return cls(tuple(label_from_json(label) for label in form["labels"]), int(form["other"]))


def _other_of_gamma(size: int, gamma: float | Fraction) -> int:
    """ceil(2**64 / (gamma + N - 1)), at most 2**64 // N."""
    if gamma == math.inf:
        return 0
    return min(math.ceil(TOTAL / (Fraction(gamma) + size - 1)), TOTAL // size)


def _mix(counts: ArrayLike, axis: int, stays: float, everyone: float) -> FloatArray:
    """Own * x + everyone * sum(x): what (stays I + everyone J) does along an axis."""
    table = np.asarray(counts, dtype=np.float64)
    mixed: FloatArray = stays * table
    mixed += everyone * table.sum(axis=axis, keepdims=True)  # no second table in between
    return mixed
