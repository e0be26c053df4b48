"""Whole numbers as a text in little room: a matrix of ten keys lists a hundred thousand of them.

A number is cut into groups of so many bits, the first ones first, and before each group stands a
bit that says whether another follows. Six bits make a digit (A to Z, a to z, 0 to 9, - and _); the
first digit of the text is the size of a group, and the last one is filled up with ones, which begin
no number that ends. Small numbers take few bits and large ones no more than they need.

A sparse matrix on a list of joint cells, written down in little room.

Several columns have many joint cells, of which few occur. The matrix lists those that occur or are
reached; any other cell has no records, and none goes there. Its plain form gives the values of each
column once, and numbers the cells among all their combinations, the last column fastest. Every
row that several cells share, and every weight, is written once. Lists of numbers are packed into
texts, so that a certificate stays smaller than the records that it is about:

- ``cells``: how many combinations are passed over before each; empty where every one is listed.
  Where cells do not rise, which ``rising`` says, their numbers;
- ``sources``: how many cells are passed over before each that is left;
- ``rows``: of each of these, 0 for the next row that is new, else 1 + the number of an earlier one;
- ``lengths``: how many moves each row has;
- ``targets``: of each row the place of its first target, then how many cells are passed over;
- ``which``: the place of the weight of each move among ``weights``, the frequent ones first: each a
  share of 2**64 such as 0.02, rounded down, or a whole number where no short share is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import islice, pairwise
from math import prod
from typing import Any, ClassVar, Final

import numpy as np

from pramana.base.rounding import TOTAL
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Label, label_from_json, labels_to_json
from pramana.types import Form, IntArray

__all__ = ["WEIGHTS", "ListedCells", "listed_form", "listed_weights", "packed", "unpacked"]

DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
BITS: Final = {digit: f"{place:06b}" for place, digit in enumerate(DIGITS)}
DIGIT: Final = {bits: digit for digit, bits in BITS.items()}

FILLED: Final = tuple("1" * many for many in range(6))

LARGEST, MOST_GROUPS = 63, 64
"""The largest group, and the most groups of a number: nothing is read without end."""


def packed(numbers: Sequence[int]) -> str:
    """The text of these numbers, with the groups that make it shortest.

    >>> packed([3, 0, 1])
    'B0f'
    >>> unpacked("B0f")
    [3, 0, 1]
    """
    if not numbers:
        return ""
    lengths = np.array([max(number.bit_length(), 1) for number in numbers])
    least = max(-(-int(lengths.max()) // MOST_GROUPS), 1)
    group = min(
        range(least, LARGEST + 1),
        key=lambda size: ((-(-lengths // size)) * (size + 1)).sum(),
    )
    bits = "".join(_bits(number, group) for number in numbers)
    bits += "1" * (-len(bits) % 6)
    return DIGITS[group] + "".join(DIGIT[bits[at : at + 6]] for at in range(0, len(bits), 6))


def _bits(number: int, group: int) -> str:
    own = f"{number:b}"
    own = "0" * (-len(own) % group) + own
    *more, last = (own[at : at + group] for at in range(0, len(own), group))
    return "".join(f"1{part}" for part in more) + f"0{last}"


def unpacked(text: str) -> list[int]:
    """The numbers of a text; a ``ValueError`` where it holds none.

    Whether groups are of the best size is not asked: whoever spells a certificate anew sees that.
    """
    if not text:
        return []
    try:
        group = DIGITS.index(text[0])
        bits = "".join(map(BITS.__getitem__, text[1:]))
    except (ValueError, KeyError):
        raise ValueError("not digits of packed numbers") from None
    found: list[int] = []
    at = begin = number = 0
    while 0 < group < len(bits) - at and at - begin < MOST_GROUPS * (group + 1):
        number = number << group | int(bits[at + 1 : at + group + 1], 2)
        at += group + 1
        if bits[at - group - 1] == "0":
            found.append(number)
            begin, number = at, 0
    if not found or bits[begin:] not in FILLED:
        raise ValueError("packed numbers must end where their text does")
    return found


WEIGHT: Final = r"(0\.[0-9]{1,22}|[1-9](\.[0-9]{1,17})?e-[0-9]{2}|[1-9][0-9]{0,19})"
WEIGHTS: Final = rf"({WEIGHT}( {WEIGHT})*)?"
"""Weights one after the other, with a blank between them; none at all where nothing moves."""


class ListedCells(SparseRows):
    """The identity plus a few transitions between listed joint cells, or values of one column.

    >>> matrix = ListedCells.of((("a", 1), ("b", 2)), rows=[0], columns=[1], probabilities=[0.25])
    >>> form = matrix.to_json()
    >>> form["axes"], unpacked(form["cells"]), unpacked(form["sources"]), unpacked(form["targets"])
    ([['a', 'b'], [1, 2]], [0, 2], [0], [1])
    >>> ListedCells.from_json(form).values
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """

    family: ClassVar[str] = "listed-cells"

    def to_json(self) -> Form:
        """A plain form; the weights as text."""
        axes, codes = _axes(self.labels)
        cells = _numbered(codes, [len(axis) for axis in axes])
        rising = all(one < other for one, other in pairwise(cells))
        every = rising and len(cells) == prod(len(axis) for axis in axes)
        weights, which = _by_frequency(self.moves)
        sources, rows, patterns = _patterns(self, which)
        return {
            "family": self.family,
            "axes": [labels_to_json(axis) for axis in axes],
            "rising": rising,
            "cells": "" if every else packed(_passed(cells) if rising else cells),
            "sources": packed(_passed(sources)),
            "rows": packed(rows),
            "lengths": packed([len(targets) for targets, _ in patterns]),
            "targets": packed([step for own, _ in patterns for step in _passed(own)]),
            "which": packed([place for _, places in patterns for place in places]),
            "weights": " ".join(map(_share, weights)),
        }

    @classmethod
    def from_json(cls, form: Form) -> ListedCells:
        """The reverse of :meth:`to_json`."""
        axes = [[label_from_json(label) for label in axis] for axis in form["axes"]]
        sizes = [len(axis) for axis in axes]
        own = listed_form(form, sizes)
        labels: list[Any] = [
            tuple(axis[code] for axis, code in zip(axes, cell, strict=True))
            for cell in _codes(own["cells"], sizes)
        ]
        if len(axes) == 1:
            labels = [label for (label,) in labels]
        weights = np.array(listed_weights(form["weights"]), dtype=np.uint64)
        ends = np.concatenate([[0], np.cumsum(np.array(own["lengths"], dtype=np.int64))])
        rows = np.array(own["rows"], dtype=np.int64)
        lengths = np.diff(ends)[rows]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        entry = np.repeat(ends[rows], lengths) + within
        return cls.from_moves(
            labels,
            rows=np.repeat(np.array(own["sources"], dtype=np.int64), lengths),
            columns=np.array(own["targets"], dtype=np.int64)[entry],
            moves=weights[np.array(own["which"], dtype=np.int64)[entry]],
        )


def listed_form(form: Form, sizes: list[int]) -> dict[str, list[int]]:
    """The numbers of a plain form: cells, sources, rows, lengths, targets and which.

    A ``ValueError`` where a text holds none. ``sizes`` are those of the axes.
    """
    names = ("cells", "sources", "rows", "lengths", "targets", "which")
    own = {name: unpacked(form[name]) for name in names}
    if form["rising"]:
        own["cells"] = _places(own["cells"]) if form["cells"] else list(range(prod(sizes)))
    own["sources"] = _places(own["sources"])
    rows, new = [], 0
    for row in own["rows"]:
        rows.append(row - 1 if row else new)
        new += not row
    if max(own["lengths"], default=0) > len(own["targets"]):
        raise ValueError("a row is longer than all of them")
    targets = iter(own["targets"])
    own["targets"] = [
        place for length in own["lengths"] for place in _places(islice(targets, length))
    ] + list(targets)
    return own | {"rows": rows}


def listed_weights(text: str) -> list[int]:
    """The weights of a plain form: whole numbers, or shares times 2**64, rounded down."""
    if not re.fullmatch(WEIGHTS, text):
        raise ValueError("not weights")
    return [int(own) if own.isdigit() else int(float(own) * TOTAL) for own in text.split()]


def _share(weight: int) -> str:
    """The shortest share of 2**64 that a weight is, or the weight itself."""
    for digits in range(1, 18):
        text = f"{weight / TOTAL:.{digits}g}"
        if not text.isdigit() and int(float(text) * TOTAL) == weight:
            return text
    return str(weight)


def _by_frequency(moves: np.ndarray) -> tuple[list[int], list[int]]:
    """The weights, the frequent ones first, and the place of each move's among them."""
    weights, which, times = np.unique(moves, return_inverse=True, return_counts=True)
    order = np.argsort(-times, kind="stable")
    rank = np.argsort(order, kind="stable")
    return weights[order].tolist(), rank[which].tolist()


Row = tuple[tuple[int, ...], tuple[int, ...]]


def _patterns(matrix: SparseRows, which: list[int]) -> tuple[list[int], list[int], list[Row]]:
    """The cells that are left, the row of each as it is written, and the different rows."""
    sources = np.flatnonzero(np.diff(matrix.starts)).tolist()
    starts, targets = matrix.starts.tolist(), matrix.targets.tolist()
    patterns: dict[Row, int] = {}
    rows = []
    for source in sources:
        span = slice(starts[source], starts[source + 1])
        row = (tuple(targets[span]), tuple(which[span]))
        rows.append(patterns.get(row, -1) + 1)
        patterns.setdefault(row, len(patterns))
    return sources, rows, list(patterns)


def _passed(places: Iterable[int]) -> list[int]:
    """How many places are passed over before each of some that rise."""
    before, found = -1, []
    for place in places:
        found.append(place - before - 1)
        before = place
    return found


def _places(passed: Iterable[int]) -> list[int]:
    """The reverse of :func:`_passed`."""
    place, found = -1, []
    for step in passed:
        place += step + 1
        found.append(place)
    return found


def _axes(labels: tuple[Any, ...]) -> tuple[list[list[Label]], IntArray]:
    """The values of each column, in an order in which cells rise, and the codes of each cell."""
    cells = labels if isinstance(labels[0], tuple) else [(label,) for label in labels]
    axes, codes = [], []
    for column in zip(*cells, strict=True):
        places: dict[tuple[type, Label], int] = {}
        codes.append([places.setdefault((type(value), value), len(places)) for value in column])
        axes.append([value for _, value in places])
    found = np.array(codes, dtype=np.int64)
    orders = [_order(len(axis), found[: key + 1]) for key, axis in enumerate(axes)]
    axes = [[axis[place] for place in order] for axis, order in zip(axes, orders, strict=True)]
    ranks = [np.argsort(order)[own] for order, own in zip(orders, found, strict=True)]
    return axes, np.array(ranks).T


def _order(size: int, codes: IntArray) -> list[int]:
    """An order of a column's values in which cells that agree so far rise, where there is one."""
    same = (codes[:-1, 1:] == codes[:-1, :-1]).all(axis=0) & (codes[-1, 1:] != codes[-1, :-1])
    graph = TopologicalSorter(dict.fromkeys(range(size), ()))
    steps = np.stack([codes[-1, :-1], codes[-1, 1:]])[:, same]
    for lower, higher in np.unique(steps, axis=1).T.tolist():
        graph.add(higher, lower)
    try:
        return list(graph.static_order())
    except CycleError:
        return list(range(size))


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
