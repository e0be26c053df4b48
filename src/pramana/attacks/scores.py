"""Scores: how well a released value fits a true one, by steps, by cells, by columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from pramana.attacks.records import Records
from pramana.matrices.sparse_rows import SparseRows
from pramana.types import FloatArray, IntArray

__all__ = ["CellScores", "MovedScores", "Scorer", "Scores", "log_of"]

IMPOSSIBLE = -1e30


def log_of(values: FloatArray) -> FloatArray:
    """Logarithms; what cannot happen scores next to nothing."""
    return np.where(values > 0, np.log(np.maximum(values, 1e-300)), IMPOSSIBLE)


class Scorer(Protocol):
    """How well released records fit true ones; higher is better."""

    def between(self, truth: Records, released: Records) -> FloatArray:
        """The score of each pair of records that stand at the same position."""

    def block(self, truth: Records, released: Records) -> FloatArray:
        """The score of every truth (rows) with every released record (columns) of one crowd."""


@dataclass(frozen=True, eq=False)
class Scores:
    """How well a released value fits a true one: ``tables[step][stratum][truth, released]``."""

    tables: tuple[tuple[FloatArray, ...], ...]

    def between(self, truth: Records, released: Records) -> FloatArray:
        """The score of each pair of records that stand at the same position."""
        total = np.zeros(len(truth))
        for step, own in enumerate(self.tables):
            strata = truth.strata[step]
            codes = truth.codes[step], released.codes[step]
            total += own[0][codes] if strata is None else np.stack(own)[strata, *codes]
        return total

    def block(self, truth: Records, released: Records) -> FloatArray:
        """The score of every truth (rows) with every released record (columns) of one crowd."""
        total = np.zeros((len(truth), len(released)))
        for step, own in enumerate(self.tables):
            strata = truth.strata[step]
            if strata is None:
                rows = own[0][truth.codes[step]]
            else:
                rows = np.stack(own)[strata, truth.codes[step]]
            total += np.take(rows, released.codes[step], axis=1)
        return total


@dataclass(frozen=True, eq=False)
class MovedScores:
    """Logarithms of the probabilities of a matrix with few transitions over many cells."""

    matrix: SparseRows

    @cached_property
    def _rows(self) -> Any:
        return self.matrix.sparse.tocsr()

    def between(self, truth: Records, released: Records) -> FloatArray:
        """The score of each pair of records that stand at the same position."""
        return log_of(np.asarray(self._rows[truth.codes[0], released.codes[0]]).ravel())

    def block(self, truth: Records, released: Records) -> FloatArray:
        """The score of every truth (rows) with every released record (columns) of one crowd."""
        return log_of(self._rows[truth.codes[0]][:, released.codes[0]].toarray())


@dataclass(frozen=True, eq=False)
class CellScores:
    """Scores of a step over cells, added up over its columns: ``tables[column][truth, released]``.

    ``places`` are the codes of each cell in each column.
    """

    tables: tuple[FloatArray, ...]
    places: tuple[IntArray, ...]

    def between(self, truth: Records, released: Records) -> FloatArray:
        """The score of each pair of records that stand at the same position."""
        own, told = truth.codes[0], released.codes[0]
        pairs = zip(self.tables, self.places, strict=True)
        found: FloatArray = np.sum([table[at[own], at[told]] for table, at in pairs], axis=0)
        return found

    def block(self, truth: Records, released: Records) -> FloatArray:
        """The score of every truth (rows) with every released record (columns) of one crowd."""
        total = np.zeros((len(truth), len(released)))
        for table, at in zip(self.tables, self.places, strict=True):
            total += np.take(table[at[truth.codes[0]]], at[released.codes[0]], axis=1)
        return total
