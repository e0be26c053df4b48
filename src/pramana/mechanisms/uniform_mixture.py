"""Keep the truth, or else draw any value at random: one family under four names.

Retention-replacement [Ikarashi, Sec. 2.3], the gamma-diagonal matrix [Dowd, Sec. 5.1], k-ary
randomised response and the uniform mixture are the same matrix. With N values and retention rho

    P_ii = rho + (1 - rho) / N,    P_ij = (1 - rho) / N,
    gamma = P_ii / P_ij = (1 + (N - 1) rho) / (1 - rho),    epsilon = ln gamma,    AR = gamma**-2.

One integer says it all: ``other``, the weight of every other value. The sampler needs one word u a
record: u < N * other gives the value u // other, else the truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramana.base.rounding import TOTAL, exp_down, log_up, require_number
from pramana.base.text import text_up
from pramana.errors import InvalidMatrix, InvalidNumber, SingularMatrix
from pramana.mechanisms.transition import (
    SINGULAR,
    Label,
    TransitionMatrix,
    check_labels,
    label_from_json,
    labels_to_json,
)
from pramana.types import FloatArray, Form

__all__ = ["UniformMixture"]


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
        """The mixture with the given retention, or gamma, or epsilon: never a weaker one.

        Rounding goes to the next integer on the private side, so that the attained gamma and
        epsilon are at or below the ones asked.
        """
        given = [retention is not None, gamma is not None, epsilon is not None]
        if sum(given) != 1:
            raise InvalidNumber("Give exactly one of retention, gamma and epsilon.")
        labels = tuple(labels)
        check_labels(labels)
        if retention is not None:
            require_number("retention", float(retention), low=0, high=1)
            return cls(labels, _other_of_retention(len(labels), Fraction(retention)))
        if gamma is not None:
            require_number("gamma", float(gamma), low=1)
            return cls(labels, _other_of_gamma(len(labels), gamma))
        assert epsilon is not None  # noqa: S101 - for the type checker
        require_number("epsilon", epsilon, low=0)
        return cls._of_epsilon(labels, epsilon)

    @classmethod
    def _of_epsilon(cls, labels: tuple[Label, ...], epsilon: float) -> UniformMixture:
        if math.isinf(epsilon):
            return cls(labels, 0)
        most = TOTAL // len(labels)
        other = _other_of_gamma(len(labels), exp_down(epsilon))
        # Epsilon is rounded up when it is read off, by more than exp_down may have taken away:
        # step to the private side until what is read is what was asked.
        while other < most and cls(labels, other).epsilon > epsilon:
            other = min(most, other + (other >> 52) + 1)
        return cls(labels, other)

    # -- readings of the one dial ----------------------------------------------------------

    @property
    def retention(self) -> Fraction:
        """The probability of not drawing at all, exactly."""
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
        """ln gamma, rounded up."""
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
        """The probability of each value to stay as it is."""
        return np.full(self.size, self.kept / TOTAL)

    def probability(self, truth: Label, released: Label) -> Fraction:
        """The exact probability that ``truth`` is released as ``released``."""
        return Fraction(
            self.kept if self.positions[truth] == self.positions[released] else self.other, TOTAL
        )

    def apply(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Expected released counts, in time linear in the table."""
        return _mix(counts, axis, (self.kept - self.other) / TOTAL, self.other / TOTAL)

    def solve(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Unbiased true counts, in time linear in the table: no inverse is formed."""
        same, rest = self._inverse_entries
        return _mix(counts, axis, same - rest, rest)

    def spread(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Counts times the squared inverse, in time linear in the table."""
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
        """Bits of uncertainty that a release adds [Dowd, Sec. 5.2]."""
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
        """A plain form; the integer as text."""
        return {
            "family": self.family,
            "labels": labels_to_json(self.labels),
            "other": str(self.other),
        }

    @classmethod
    def from_json(cls, form: Form) -> UniformMixture:
        """The reverse of :meth:`to_json`."""
        return cls(tuple(label_from_json(label) for label in form["labels"]), int(form["other"]))


def _other_of_retention(size: int, retention: Fraction) -> int:
    """ceil((1 - rho) 2**64 / N), at most 2**64 // N."""
    return min(math.ceil((1 - retention) * TOTAL / size), TOTAL // size)


def _other_of_gamma(size: int, gamma: float | Fraction) -> int:
    """ceil(2**64 / (gamma + N - 1)), at most 2**64 // N."""
    if gamma == math.inf:
        return 0
    return min(math.ceil(TOTAL / (Fraction(gamma) + size - 1)), TOTAL // size)


def _mix(counts: ArrayLike, axis: int, own: float, everyone: float) -> FloatArray:
    """own * x + everyone * sum(x): what (own I + everyone J) does along an axis."""
    table = np.asarray(counts, dtype=np.float64)
    mixed: FloatArray = own * table
    mixed += everyone * table.sum(axis=axis, keepdims=True)  # no second table in between
    return mixed
