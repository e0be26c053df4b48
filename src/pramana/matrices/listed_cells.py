"""A sparse matrix on a list of joint cells, written down in little room.

Several columns have many joint cells, of which few occur. The matrix lists those that occur or are
reached; any other cell has no records, and none goes there. Its plain form numbers the cells among
all combinations of the columns' values, the last column fastest, and writes every row that
several cells share, and every weight, once.
"""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np

from pramana.matrices.sparse_rows import SparseRows
from pramana.matrices.transition import Label, label_from_json, labels_to_json
from pramana.types import Form, IntArray

__all__ = ["ListedCells"]


class ListedCells(SparseRows):
    """The identity plus a few transitions between listed joint cells.

    >>> matrix = ListedCells.of((("a", 1), ("b", 2)), rows=[0], columns=[1], probabilities=[0.25])
    >>> form = matrix.to_json()
    >>> form["axes"], form["cells"], form["sources"], form["targets"]
    ([['a', 'b'], [1, 2]], [0, 3], [0], [1])
    >>> ListedCells.from_json(form).values
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """

    family: ClassVar[str] = "listed-cells"

    def to_json(self) -> Form:
        """A plain form; the integers as text."""
        axes, codes = _axes(self.labels)
        weights, which = np.unique(self.moves, return_inverse=True)
        sources = np.flatnonzero(np.diff(self.starts))
        patterns: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        rows = []
        for source in sources.tolist():
            span = slice(self.starts[source], self.starts[source + 1])
            row = (tuple(self.targets[span].tolist()), tuple(which[span].tolist()))
            rows.append(patterns.setdefault(row, len(patterns)))
        return {
            "family": self.family,
            "axes": [labels_to_json(axis) for axis in axes],
            "cells": [int(cell) for cell in _numbered(codes, [len(axis) for axis in axes])],
            "sources": sources.tolist(),
            "rows": rows,
            "lengths": [len(targets) for targets, _ in patterns],
            "targets": [target for targets, _ in patterns for target in targets],
            "which": [place for _, places in patterns for place in places],
            "weights": [str(weight) for weight in weights.tolist()],
        }

    @classmethod
    def from_json(cls, form: Form) -> ListedCells:
        """The reverse of :meth:`to_json`."""
        axes = [[label_from_json(label) for label in axis] for axis in form["axes"]]
        labels = [tuple(axis[code] for axis, code in zip(axes, cell, strict=True))
                  for cell in _codes(form["cells"], [len(axis) for axis in axes])]  # fmt: skip
        weights = np.array([int(weight) for weight in form["weights"]], dtype=np.uint64)
        ends = np.concatenate([[0], np.cumsum(np.array(form["lengths"], dtype=np.int64))])
        rows = np.array(form["rows"], dtype=np.int64)
        lengths = np.diff(ends)[rows]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        entry = np.repeat(ends[rows], lengths) + within
        return cls.from_moves(
            labels,
            rows=np.repeat(np.array(form["sources"], dtype=np.int64), lengths),
            columns=np.array(form["targets"], dtype=np.int64)[entry],
            moves=weights[np.array(form["which"], dtype=np.int64)[entry]],
        )


def _axes(labels: tuple[Any, ...]) -> tuple[list[list[Label]], IntArray]:
    """The values of each column, in order of their first cell, and the codes of each cell."""
    axes, codes = [], []
    for column in zip(*labels, strict=True):
        places: dict[tuple[type, Label], int] = {}
        codes.append([places.setdefault((type(value), value), len(places)) for value in column])
        axes.append([value for _, value in places])
    return axes, np.array(codes, dtype=np.int64).T


def _numbered(codes: IntArray, sizes: list[int]) -> list[int]:
    """The number of each cell: as Python integers, so that no number of keys is too many."""
    strides = [prod(sizes[at + 1 :]) for at in range(len(sizes))]
    return [sum(map(int.__mul__, cell, strides)) for cell in codes.tolist()]


def _codes(cells: list[int], sizes: list[int]) -> list[list[int]]:
    found = []
    for cell in cells:
        codes = []
        for size in reversed(sizes):
            cell, code = divmod(cell, size)
            codes.append(code)
        found.append(codes[::-1])
    return found
