"""Sparse matrices: the identity plus a few transitions, for domains of many thousand cells.

Only the off-diagonal entries that are not zero are kept, in compressed rows; the diagonal takes
what is left of 2**64. Solving uses a sparse factorisation.

``ListedCells`` lists the joint cells that occur or are reached; any other cell has no records. So
that a certificate stays smaller than the records, its JSON form gives the values of each column
once, numbers cells among all combinations (the last column fastest), writes rows that several
cells share once, and packs lists of numbers into texts:

- ``cells``: how many combinations are skipped before each; empty if every one is listed. If cells
  do not rise (``rising`` is false), their numbers;
- ``sources``: how many cells are skipped before each that is left;
- ``rows``: of each source, 0 for the next new row, else 1 + the number of an earlier one;
- ``lengths``: how many transitions each row has;
- ``targets``: of each row the place of its first target, then how many cells are skipped;
- ``which``: the place of each weight among ``weights``, the frequent ones first: a share of 2**64
  such as 0.02, rounded down, or an integer where no short share is exact.

A packed number is cut into groups of bits, each after a bit that says whether another follows. Six
bits make a digit (A-Z, a-z, 0-9, -, _). The first digit of a text is the size of a group; the last
one is padded with ones, which begin no complete number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import islice, pairwise
from math import prod
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramana.base.rounding import TOTAL
from pramana.errors import InvalidMatrix, SingularMatrix, TooLarge
from pramana.mechanisms.transition import (
    SINGULAR,
    Label,
    TransitionMatrix,
    amplification,
    check_labels,
    crossed_ratio,
    label_from_json,
    labels_to_json,
)
from pramana.types import FloatArray, Form, IntArray, Words

DENSE_LIMIT = 5_000
"""The largest domain for which all entries are written out."""

NEGLIGIBLE = 1e-17
"""Entries of a series that are left out."""


@dataclass(frozen=True, eq=False, repr=False)
class SparseRows(TransitionMatrix):
    """Row i moves to ``targets[starts[i]:starts[i+1]]`` with the weights ``moves``, else stays.

    >>> matrix = SparseRows.of(("a", "b", "c"), rows=[0], columns=[2], probabilities=[0.25])
    >>> matrix.values
    array([[0.75, 0.  , 0.25],
           [0.  , 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    labels: tuple[Label, ...]
    starts: IntArray = field(repr=False)
    targets: IntArray = field(repr=False)
    moves: Words = field(repr=False)

    family: ClassVar[str] = "sparse-rows"

    def __post_init__(self) -> None:
        check_labels(self.labels)
        for name, kind in (("starts", np.int64), ("targets", np.int64), ("moves", np.uint64)):
            array = np.array(getattr(self, name), dtype=kind)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        self._check_structure()
        if min(self.kept, default=0) < 0:
            raise InvalidMatrix(
                "The transitions out of a value must have at most probability 1 together."
            )

    def _check_structure(self) -> None:
        size, sources = self.size, self.sources
        good = (
            len(self.starts) == size + 1
            and self.starts[0] == 0
            and self.starts[-1] == len(self.targets) == len(self.moves)
            and (np.diff(self.starts) >= 0).all()
            and (len(self.targets) == 0 or (self.targets.min() >= 0 and self.targets.max() < size))
        )
        if not good:
            raise InvalidMatrix(
                f"The transitions must run between the {size} labels of the matrix."
            )
        if (self.targets == sources).any() or len(np.unique(sources * size + self.targets)) < len(
            sources
        ):
            raise InvalidMatrix("Each transition must be given once and lead to another value.")

    @classmethod
    def of(
        cls,
        labels: Sequence[Label],
        *,
        rows: ArrayLike,
        columns: ArrayLike,
        probabilities: ArrayLike,
    ) -> Self:
        """From a list of off-diagonal transitions; probabilities are rounded down to integers."""
        weights = np.ldexp(np.asarray(probabilities, dtype=np.float64), 64)
        if not ((weights >= 0) & (weights < TOTAL)).all():
            raise InvalidMatrix("A transition to another value must have a probability in [0, 1).")
        return cls.from_moves(labels, rows=rows, columns=columns, moves=weights.astype(np.uint64))

    @classmethod
    def from_moves(
        cls, labels: Sequence[Label], *, rows: ArrayLike, columns: ArrayLike, moves: ArrayLike
    ) -> Self:
        """From a list of off-diagonal transitions in integers over 2**64; zeros are left out."""
        row, column = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
        weight = np.asarray(moves, dtype=np.uint64)
        order = np.lexsort((column, row))
        order = order[weight[order] > 0]
        starts = np.zeros(len(labels) + 1, dtype=np.int64)
        np.cumsum(np.bincount(row[order], minlength=len(labels)), out=starts[1:])
        return cls(tuple(labels), starts, column[order], weight[order])

    @cached_property
    def worked_out(self) -> dict[Hashable, Any]:
        """A cache of results computed from this matrix, by name."""
        return {}

    @cached_property
    def sources(self) -> IntArray:
        """The row of each transition."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def kept(self) -> list[int]:
        """The weight of each diagonal entry."""
        kept = [TOTAL] * self.size
        for source, move in zip(self.sources.tolist(), self.moves.tolist(), strict=True):
            kept[source] -= move
        return kept

    @cached_property
    def diagonal(self) -> FloatArray:
        """The probability that each value is unchanged."""
        return np.ldexp(np.array(self.kept, dtype=np.float64), -64)

    @cached_property
    def aside(self) -> Any:
        """D^-1 O, with D the diagonal and O the other entries, sparse."""
        from scipy import sparse

        diagonal = sparse.diags_array(self.diagonal)
        return sparse.diags_array(1 / self.diagonal) @ (self.sparse.tocsr() - diagonal)

    @cached_property
    def sparse_inverse(self) -> Any:
        """The inverse if ``aside`` is small, made once.

        P = D (I + D^-1 O), so that P^-1 = (I - D^-1 O + (D^-1 O)^2 - ...) D^-1 ends after a few
        terms that are all sparse.
        """
        from scipy import sparse

        term = total = sparse.eye_array(self.size, format="csr")
        while term.nnz:
            term = -(term @ self.aside)
            term.data[np.abs(term.data) < NEGLIGIBLE] = 0
            term.eliminate_zeros()
            total = total + term
        return (total @ sparse.diags_array(1 / self.diagonal)).tocsr()

    @cached_property
    def sparse(self) -> Any:
        """All entries in floating point, as a SciPy array in compressed columns."""
        from scipy import sparse

        numbers = np.arange(self.size)
        entries = np.concatenate([np.ldexp(self.moves.astype(np.float64), -64), self.diagonal])
        rows = np.concatenate([self.sources, numbers])
        columns = np.concatenate([self.targets, numbers])
        return sparse.csc_array((entries, (rows, columns)), shape=(self.size, self.size))

    @property
    def weights(self) -> NDArray[np.object_]:
        """All entries as integers over 2**64, for domains that can be written out."""
        if self.size > DENSE_LIMIT:
            raise TooLarge(
                f"A matrix over {self.size:,} values is not written out in full, only up to "
                f"{DENSE_LIMIT:,}. Use its transitions."
            )
        weights = np.zeros((self.size, self.size), dtype=object)
        weights[self.sources, self.targets] = [int(move) for move in self.moves]
        np.fill_diagonal(weights, self.kept)
        return weights

    @cached_property
    def _full(self) -> bool:
        """Whether every original value can become every value that can be released."""
        columns = np.bincount(self.targets, minlength=self.size) + (self.diagonal > 0)
        return bool(np.isin(columns, (0, self.size)).all())

    @property
    def gamma(self) -> Fraction | float:
        """Unbounded if some released value is impossible for some original values."""
        return amplification(self.weights) if self._full else math.inf

    @property
    def anonymity_ratio(self) -> float:
        """0 if some released value is impossible for some original values [Ikarashi, Thm 3]."""
        return crossed_ratio(self.values) if self._full else 0.0

    def probability(self, original: Label, released: Label) -> Fraction:
        """The exact probability that ``truth`` is released as ``released``."""
        row, column = self.positions[original], self.positions[released]
        if row == column:
            return Fraction(self.kept[row], TOTAL)
        span = slice(self.starts[row], self.starts[row + 1])
        moves = self.moves[span][self.targets[span] == column]
        return Fraction(int(moves[0]) if len(moves) else 0, TOTAL)

    def apply(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Expected released counts, in time linear in the transitions."""
        return self._columns(counts, axis, lambda table: self.sparse.T @ table)

    def solve(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Unbiased original counts by a sparse factorisation."""
        return self._columns(counts, axis, lambda table: self._factors.solve(table, "T"))

    def spread(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Counts times the squared inverse, a block of columns of the inverse at a time."""

        def squared(table: FloatArray) -> FloatArray:
            result = np.zeros_like(table)
            for block, squares in self._inverse_squares():
                result[block] = squares.T @ table
            return result

        return self._columns(counts, axis, squared)

    @property
    def expected_spread(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Expected ``spread`` of a record by value: own (twice), most and least of others."""
        diagonal, most, least = (np.zeros(self.size) for _ in range(3))
        for block, squares in self._inverse_squares():
            expected, each = self.sparse @ squares, np.arange(len(block))
            diagonal[block] = expected[block, each]
            expected[block, each] = -np.inf
            most[block] = expected.max(axis=0)
            expected[block, each] = np.inf
            least[block] = expected.min(axis=0)
        return diagonal, diagonal, most, least

    def _inverse_squares(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Columns of the inverse, squared, a block at a time: it is never written out."""
        for start in range(0, self.size, 512):
            block = np.arange(start, min(start + 512, self.size))
            unit = np.zeros((self.size, len(block)))
            unit[block, np.arange(len(block))] = 1
            yield block, self._factors.solve(unit) ** 2

    @cached_property
    def _factors(self) -> Any:
        if self.condition_number > SINGULAR:
            raise SingularMatrix(
                f"A matrix over {self.size:,} values cannot be undone: it is singular."
            )
        return self._any_factors

    @cached_property
    def _any_factors(self) -> Any:
        """The factors; ``None`` if the matrix is exactly singular."""
        from scipy.sparse.linalg import splu

        try:
            return splu(self.sparse)
        except RuntimeError:
            return None

    @cached_property
    def condition_number(self) -> float:
        """An estimate in the 1-norm: the matrix is never inverted."""
        from scipy.sparse.linalg import LinearOperator, onenormest

        factors = self._any_factors
        if factors is None:
            return math.inf
        undo = LinearOperator(
            (self.size, self.size), matvec=factors.solve, rmatvec=lambda x: factors.solve(x, "T")
        )
        return float(onenormest(undo) * abs(self.sparse).sum(axis=0).max())

    @property
    def entropy(self) -> float:
        """Bits of entropy of a release, each original value equally likely."""
        entries = self.sparse.data[self.sparse.data > 0]
        return float(-(entries * np.log2(entries)).sum() / self.size)

    @staticmethod
    def _columns(counts: ArrayLike, axis: int, function: Any) -> FloatArray:
        """Put the axis first, flatten the rest, apply, and put all back."""
        table = np.moveaxis(np.asarray(counts, dtype=np.float64), axis, 0)
        result = function(np.ascontiguousarray(table.reshape(len(table), -1)))
        return np.moveaxis(result.reshape(table.shape), 0, axis)

    def to_json(self) -> Form:
        """The JSON form; the integers as text."""
        return {
            "family": self.family,
            "labels": labels_to_json(self.labels),
            "starts": self.starts.tolist(),
            "targets": self.targets.tolist(),
            "moves": [str(move) for move in self.moves.tolist()],
        }

    @classmethod
    def from_json(cls, form: Form) -> SparseRows:
        """The reverse of :meth:`to_json`."""
        labels = tuple(label_from_json(label) for label in form["labels"])
        moves = np.array([int(move) for move in form["moves"]], dtype=np.uint64)
        return cls(
            labels, np.array(form["starts"]), np.array(form["targets"], dtype=np.int64), moves
        )


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
    groups = []
    for number in numbers:
        digits = f"{number:b}"
        digits = digits.zfill(len(digits) + -len(digits) % group)
        *more, last = (digits[at : at + group] for at in range(0, len(digits), group))
        groups += [*(f"1{part}" for part in more), f"0{last}"]
    bits = "".join(groups)
    bits += "1" * (-len(bits) % 6)
    return DIGITS[group] + "".join(DIGIT[bits[at : at + 6]] for at in range(0, len(bits), 6))


def unpacked(text: str) -> list[int]:
    """The numbers of a text; a ``ValueError`` where it holds none."""
    if not text:
        return []
    try:
        group = DIGITS.index(text[0])
        bits = "".join(map(BITS.__getitem__, text[1:]))
    except (ValueError, KeyError):
        raise ValueError("not digits of packed numbers") from None
    numbers: list[int] = []
    at = begin = number = 0
    while 0 < group < len(bits) - at and at - begin < MOST_GROUPS * (group + 1):
        number = number << group | int(bits[at + 1 : at + group + 1], 2)
        at += group + 1
        if bits[at - group - 1] == "0":
            numbers.append(number)
            begin, number = at, 0
    if not numbers or bits[begin:] not in FILLED:
        raise ValueError("packed numbers must end where their text does")
    return numbers


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
        """The JSON form; the weights as text."""
        axes, codes = _axes(self.labels)
        sizes = [len(axis) for axis in axes]
        strides = [prod(sizes[at + 1 :]) for at in range(len(sizes))]
        cells = [sum(map(int.__mul__, cell, strides)) for cell in codes.tolist()]
        rising = all(one < other for one, other in pairwise(cells))
        every = rising and len(cells) == prod(len(axis) for axis in axes)
        # The weights, the frequent ones first, and the place of each move's among them.
        weights, which, times = np.unique(self.moves, return_inverse=True, return_counts=True)
        order = np.argsort(-times, kind="stable")
        rank = np.argsort(order, kind="stable")
        sources, rows, patterns = _patterns(self, rank[which].tolist())
        return {
            "family": self.family,
            "axes": [labels_to_json(axis) for axis in axes],
            "rising": rising,
            "cells": "" if every else packed(_passed(cells) if rising else cells),
            "sources": packed(_passed(sources)),
            "rows": packed(rows),
            "lengths": packed([len(targets) for targets, _ in patterns]),
            "targets": packed([step for steps, _ in patterns for step in _passed(steps)]),
            "which": packed([place for _, places in patterns for place in places]),
            "weights": " ".join(map(_share, weights[order].tolist())),
        }

    @classmethod
    def from_json(cls, form: Form) -> ListedCells:
        """The reverse of :meth:`to_json`."""
        axes = [[label_from_json(label) for label in axis] for axis in form["axes"]]
        sizes = [len(axis) for axis in axes]
        listed = listed_form(form, sizes)
        labels: list[Any] = []
        for cell in listed["cells"]:
            values: list[Label] = []
            for axis in reversed(axes):
                cell, code = divmod(cell, len(axis))
                values.append(axis[code])
            labels.append(tuple(reversed(values)) if len(axes) > 1 else values[0])
        weights = np.array(listed_weights(form["weights"]), dtype=np.uint64)
        ends = np.concatenate([[0], np.cumsum(np.array(listed["lengths"], dtype=np.int64))])
        rows = np.array(listed["rows"], dtype=np.int64)
        lengths = np.diff(ends)[rows]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        entry = np.repeat(ends[rows], lengths) + within
        return cls.from_moves(
            labels,
            rows=np.repeat(np.array(listed["sources"], dtype=np.int64), lengths),
            columns=np.array(listed["targets"], dtype=np.int64)[entry],
            moves=weights[np.array(listed["which"], dtype=np.int64)[entry]],
        )


def listed_form(form: Form, sizes: list[int]) -> dict[str, list[int]]:
    """The numbers of a JSON form; a ``ValueError`` where a text holds none."""
    names = ("cells", "sources", "rows", "lengths", "targets", "which")
    lists = {name: unpacked(form[name]) for name in names}
    if form["rising"]:
        lists["cells"] = _places(lists["cells"]) if form["cells"] else list(range(prod(sizes)))
    lists["sources"] = _places(lists["sources"])
    rows, new = [], 0
    for row in lists["rows"]:
        rows.append(row - 1 if row else new)
        new += not row
    if max(lists["lengths"], default=0) > len(lists["targets"]):
        raise ValueError("a row is longer than all of them")
    targets = iter(lists["targets"])
    lists["targets"] = [
        place for length in lists["lengths"] for place in _places(islice(targets, length))
    ] + list(targets)
    return lists | {"rows": rows}


def listed_weights(text: str) -> list[int]:
    """The weights of a JSON form: whole numbers, or shares times 2**64, rounded down."""
    if not re.fullmatch(WEIGHTS, text):
        raise ValueError("not weights")
    return [int(word) if word.isdigit() else int(float(word) * TOTAL) for word in text.split()]


def _share(weight: int) -> str:
    """The shortest share of 2**64 that a weight is, or the weight itself."""
    for digits in range(1, 18):
        text = f"{weight / TOTAL:.{digits}g}"
        if not text.isdigit() and int(float(text) * TOTAL) == weight:
            return text
    return str(weight)


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
    before, passed = -1, []
    for place in places:
        passed.append(place - before - 1)
        before = place
    return passed


def _places(passed: Iterable[int]) -> list[int]:
    """The reverse of :func:`_passed`."""
    place, places = -1, []
    for step in passed:
        place += step + 1
        places.append(place)
    return places


def _axes(labels: tuple[Any, ...]) -> tuple[list[list[Label]], IntArray]:
    """The values of each column, in an order in which cells rise, and the codes of each cell."""
    cells = labels if isinstance(labels[0], tuple) else [(label,) for label in labels]
    axes, codes = [], []
    for column in zip(*cells, strict=True):
        places: dict[tuple[type, Label], int] = {}
        codes.append([places.setdefault((type(value), value), len(places)) for value in column])
        axes.append([value for _, value in places])
    positions = np.array(codes, dtype=np.int64)
    orders = [_order(len(axis), positions[: key + 1]) for key, axis in enumerate(axes)]
    axes = [[axis[place] for place in order] for axis, order in zip(axes, orders, strict=True)]
    ranks = [
        np.argsort(order)[column_codes]
        for order, column_codes in zip(orders, positions, strict=True)
    ]
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
