"""Condition C1 on independent steps, through the margin of each: the joint matrix is never formed.

Numerators multiply, N_m(k0) = prod_s N_m_s(k0_s). So the largest numerator over the cells that
occur is a table of ones and zeros contracted with each margin by maxima of products, and the
denominator is the table of counts contracted by sums, one axis at a time.

The posterior of condition C1, for every choice of keys, through margins.

For a choice of keys pi and a combination k0 of their values, write N_m(k0) for the probability that
a record of cell m is released with k0. The posterior that a record seen with k0 is John's, who is
of cell m, is

    N_m(k0) / sum_l U(l) N_l(k0)                                            [Cator, eq. 1]

Only the margin of a matrix enters: its columns added up over the cells that share k0. A joint step
is read in integers through its transitions; independent steps through ``recognition_margins``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from pramana.base.rounding import TOTAL, float_up
from pramana.base.text import counted, records_that
from pramana.errors import OutsideDomain, TooLarge, UnknownColumn
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Label, TransitionMatrix, UniformMixture
from pramana.schema.joint_cells import Counts, cell_codes, cell_numbers
from pramana.types import BoolArray, FloatArray, IntArray

MOST_ENTRIES = 30_000_000
"""The largest table of combinations that is contracted axis by axis."""


def through_margins(mechanism: Mechanism, counts: Counts, keys: tuple[str, ...]) -> float:
    """Contract counts (by sums) and occurrence (by maxima) with the margin of each step."""
    steps = [step for step in mechanism.steps if set(step.columns) & set(keys)]
    moved = {name for step in steps for name in step.columns}
    fixed = [name for name in keys if name not in moved]
    strata = [name for step in steps for name in step.strata]
    needed = [*dict.fromkeys([*fixed, *(n for step in steps for n in step.columns), *strata])]
    if fixed and stands_alone(counts, fixed):
        return 1.0
    margin = counts.margin(*needed)
    below: FloatArray | None = None
    above: FloatArray | None = None
    units = 64.0
    unchanged, width = combined(margin, fixed)
    for stratum, part, inside in _by_stratum(margin, tuple(dict.fromkeys(strata))):
        table, maps = _tensor(part, steps, unchanged[inside], keys, stratum, width=width)
        units += sum(4 * own.matrix.size for own in maps)
        total, highest = table.astype(float), (table > 0).astype(float)
        for axis, own in enumerate(maps, start=1):
            total, highest = own.add(total, axis), own.highest(highest, axis)
        below = total if below is None else below + total
        above = highest if above is None else np.maximum(above, highest)
    if below is None or above is None:
        return 0.0
    ratio = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    return min(1.0, float(ratio.max(initial=0.0)) * (1 + units * 2.0**-52))


def stands_alone(counts: Counts, fixed: Sequence[str]) -> bool:
    """Whether what is released unchanged singles out a record: then nothing else matters."""
    return bool(counts.margin(*fixed).numbers.min(initial=2) < 2)


def combined(counts: Counts, columns: Sequence[str]) -> tuple[IntArray, int]:
    """The combinations of columns released unchanged that occur: one number a cell; how many."""
    codes, size = np.zeros(len(counts.cells), dtype=np.int64), 1
    for name in columns:
        place = counts.columns.index(name)
        wide = codes * len(counts.labels[place]) + counts.cells[:, place]
        seen, codes = np.unique(wide, return_inverse=True)
        size = len(seen)
    return codes, size


def _by_stratum(
    margin: Counts, strata: tuple[str, ...]
) -> list[tuple[dict[str, Label], Counts, BoolArray]]:
    """The counts of each stratum that occurs, and which cells they are."""
    if not strata:
        return [({}, margin, np.ones(len(margin.cells), dtype=np.bool_))]
    places = [margin.columns.index(name) for name in strata]
    parts = []
    for codes in np.unique(margin.cells[:, places], axis=0):
        inside = (margin.cells[:, places] == codes).all(axis=1)
        values = {
            name: margin.labels[place][code]
            for name, place, code in zip(strata, places, codes.tolist(), strict=True)
        }
        part = Counts(margin.columns, margin.labels, margin.cells[inside], margin.numbers[inside])
        parts.append((values, part, inside))
    return parts


def _tensor(
    part: Counts,
    steps: list[Step],
    as_they_are: IntArray,
    keys: tuple[str, ...],
    stratum: dict[str, Label],
    *,
    width: int,
) -> tuple[IntArray, list[_Margin]]:
    """Counts with one axis for the fixed keys together and one a step; and each step's margin."""
    axes, shape, maps = [as_they_are], [width], []
    for step in steps:
        inside = part.margin(*step.columns)
        codes = codes_of(step, inside)
        matrix = step.matrix if step.matrix is not None else _matrix_of(step, stratum)
        maps.append(_Margin.of(matrix, codes, step, keys, inside))
        widths = [len(labels) for labels in inside.labels]
        where = flat(codes, widths)
        order = np.argsort(where)
        places = [part.columns.index(name) for name in step.columns]
        cells = flat(part.cells[:, places].astype(np.int64), widths)
        found = order[np.minimum(np.searchsorted(where[order], cells), len(where) - 1)]
        if (where[found] != cells).any():
            raise OutsideDomain("Some records are in cells that a joint matrix does not list.")
        axes.append(found)
        shape.append(len(codes))
    largest = prod(shape)
    if largest > MOST_ENTRIES:
        names = ", ".join(f"'{name}'" for name in keys)
        raise TooLarge(
            f"The combinations of {names} need a table of {largest:,} entries, and at most "
            f"{MOST_ENTRIES:,} are formed. Coarsen the largest of these columns."
        )
    table = np.zeros(shape, dtype=np.int64)
    np.add.at(table, tuple(axes), part.numbers)
    return table, maps


def _matrix_of(step: Step, stratum: dict[str, Label]) -> TransitionMatrix:
    key = tuple(stratum[name] for name in step.strata)
    if key not in step.by_stratum:
        raise OutsideDomain(
            f"A step on {step.columns} has no matrix for a stratum that occurs; it has "
            f"{len(step.by_stratum)}."
        )
    return step.by_stratum[key]


@dataclass(frozen=True)
class _Margin:
    """A matrix whose columns are added up over cells that share the asked keys.

    ``groups`` numbers the released combinations; nothing where each label is one of its own.
    """

    matrix: TransitionMatrix
    groups: IntArray | None

    @classmethod
    def of(
        cls,
        matrix: TransitionMatrix,
        codes: IntArray,
        step: Step,
        keys: tuple[str, ...],
        inside: Counts,
    ) -> _Margin:
        asked = [place for place, name in enumerate(step.columns) if name in keys]
        if len(asked) == len(step.columns):
            return cls(matrix, None)
        sizes = [len(inside.labels[place]) for place in asked]
        _, local = np.unique(flat(codes[:, asked], sizes), return_inverse=True)
        return cls(matrix, local.astype(np.int64))

    @cached_property
    def entries(self) -> Any:
        """The margin in compressed columns; only what is not zero takes part in maxima."""
        from scipy import sparse

        table = self.matrix.sparse if isinstance(self.matrix, SparseRows) else self.matrix.values
        columns = sparse.csc_array(table)
        if self.groups is None:
            return columns
        shape = (self.matrix.size, int(self.groups.max()) + 1)
        ones = np.ones(self.matrix.size)
        together = sparse.csc_array((ones, (np.arange(self.matrix.size), self.groups)), shape=shape)
        return (columns @ together).tocsc()

    def add(self, table: FloatArray, axis: int) -> FloatArray:
        """Sum over m of table(m) * margin(m, k) along one axis."""
        if self.groups is None:
            return self.matrix.apply(table, axis=axis)
        moved = np.moveaxis(table, axis, -1)
        lines = moved.reshape(-1, moved.shape[-1]) @ self.entries
        result: FloatArray = np.moveaxis(lines.reshape(*moved.shape[:-1], -1), -1, axis)
        return result

    def highest(self, table: FloatArray, axis: int) -> FloatArray:
        """Max over m of table(m) * margin(m, k) along one axis."""
        if isinstance(self.matrix, UniformMixture) and self.groups is None:
            own, other = self.matrix.kept / TOTAL, self.matrix.other / TOTAL  # own >= other
            top: FloatArray = np.maximum(own * table, other * table.max(axis=axis, keepdims=True))
            return top
        moved, margin = np.moveaxis(table, axis, -1), self.entries
        result = np.zeros((*moved.shape[:-1], margin.shape[1]))
        for k in range(margin.shape[1]):
            span = slice(margin.indptr[k], margin.indptr[k + 1])
            if span.stop > span.start:
                parts = moved[..., margin.indices[span]] * margin.data[span]
                np.max(parts, axis=-1, out=result[..., k])
        return np.moveaxis(result, -1, axis)


def codes_of(step: Step, counts: Counts) -> IntArray:
    """The cells of a step as codes of the counted columns, in the order of the counts."""
    # A design of one key lists its cells as tuples of one value.
    cells = [label if isinstance(label, tuple) else (label,) for label in step.labels]
    codes = np.zeros((len(cells), len(step.columns)), dtype=np.int64)
    wanted = [name for name in counts.columns if name in step.columns]
    for place, name in enumerate(wanted):
        labels = counts.labels[counts.columns.index(name)]
        part = step.columns.index(name)
        try:
            (codes[:, place],) = cell_codes([labels], [(cell[part],) for cell in cells])
        except KeyError:
            raise OutsideDomain(
                f"The matrix on '{name}' has labels that the counts of the column do not list.",
                column=name,
            ) from None
    return codes


def flat(codes: IntArray, sizes: Sequence[int]) -> IntArray:
    """One number a cell."""
    return cell_numbers(list(codes.T), sizes, records=len(codes))


CLOSE = 1e-12
EXACT_TRIES = 50_000


@dataclass(frozen=True)
class Worst:
    """The largest posterior, rounded up, and the choice of keys that gives it."""

    posterior: float
    keys: tuple[str, ...]


def worst_posterior(
    mechanism: Mechanism, counts: Counts, choices: Sequence[tuple[str, ...]]
) -> Worst:
    """The largest posterior over all cells that occur, all choices and all combinations."""
    worst = Worst(0.0, ())
    joint = _only_joint_step(mechanism, counts)
    entries = _Entries.of(joint, counts) if joint is not None else None
    for keys in choices:
        unknown = [name for name in keys if name not in counts.columns]
        if unknown:
            raise UnknownColumn(
                f"Choices of keys must be among the counted columns, and {unknown} are not."
            )
        if entries is not None:
            found = entries.posterior(keys, at_least=worst.posterior)
        else:
            found = through_margins(mechanism, counts, keys)
        if found > worst.posterior:
            worst = Worst(found, tuple(keys))
    return worst


def _only_joint_step(mechanism: Mechanism, counts: Counts) -> Step | None:
    """The one step on all randomised columns, if the mechanism is that and its entries are few."""
    if len(mechanism.steps) != 1:
        return None
    step = mechanism.steps[0]
    if step.matrix is None or not set(step.columns) <= set(counts.columns):
        return None
    if isinstance(step.matrix, UniformMixture) and step.matrix.size > 2_000:
        return None
    return step


# -- one joint step: integers --------------------------------------------------------------------


@dataclass(frozen=True)
class _Entries:
    """All entries of a joint matrix that are not zero, for the rows that hold records.

    A row is a cell of the matrix; where columns are released unchanged, a cell together with
    their values.
    """

    counts: Counts
    columns: tuple[str, ...]
    codes: IntArray  # (cells of the matrix, columns): positions of the labels of each column
    rows: IntArray  # the cell of ``counts`` that each row is; empty where a row is a cell
    numbers: IntArray
    sources: IntArray
    targets: IntArray
    limbs: FloatArray  # (4, entries): weights in pieces of 16 bits, so that sums are exact

    @classmethod
    def of(cls, step: Step, counts: Counts) -> _Entries:
        assert step.matrix is not None  # noqa: S101 - for the type checker
        columns = tuple(name for name in counts.columns if name in step.columns)
        sources, targets, limbs = _entries(step.matrix)
        codes = codes_of(step, counts)
        if len(columns) == len(counts.columns):
            numbers = np.zeros(len(codes), dtype=np.int64)
            numbers[_cells_of_counts(codes, columns, counts)] = counts.numbers
            none = np.zeros(0, dtype=np.int64)
            return cls(counts, columns, codes, none, numbers, sources, targets, limbs)
        cells = _cells_of_counts(codes, columns, counts)
        order = np.argsort(sources, kind="stable")
        first = np.searchsorted(sources[order], np.arange(len(codes) + 1))
        lengths = np.diff(first)[cells]
        if lengths.sum() > MOST_ENTRIES:
            raise TooLarge(
                f"The cells that occur with the columns released as they are have "
                f"{int(lengths.sum()):,} transitions, and at most {MOST_ENTRIES:,} are listed."
            )
        rows = np.repeat(np.arange(len(cells)), lengths)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        use = order[np.repeat(first[cells], lengths) + within]
        return cls(
            counts, columns, codes, np.arange(len(cells)), counts.numbers, rows, targets[use],
            limbs[:, use],
        )  # fmt: skip

    def posterior(self, keys: tuple[str, ...], *, at_least: float) -> float:
        """The largest posterior for one choice of keys, exact and rounded up."""
        fixed = [name for name in keys if name not in self.columns]
        if fixed and stands_alone(self.counts, fixed):
            return 1.0
        moved = [name for name in keys if name in self.columns]
        sizes = [len(self.counts.labels[self.counts.columns.index(name)]) for name in moved]
        places = [self.columns.index(name) for name in moved]
        seen, released = np.unique(flat(self.codes[:, places], sizes), return_inverse=True)
        local, width = released[self.targets], len(seen)
        if fixed:
            as_they_are = combined(self.counts, fixed)[0][self.rows[self.sources]]
            seen, local = np.unique(as_they_are * width + local, return_inverse=True)
            width = len(seen)
        below: list[FloatArray] = [
            _sums(local, self.numbers[self.sources] * limb, width) for limb in self.limbs
        ]
        return self._largest(local, below, _together(below), at_least)

    def _largest(
        self, local: IntArray, below: list[FloatArray], denominator: FloatArray, at_least: float
    ) -> float:
        """From rare rows to frequent ones: a posterior is at most 1 / U(m) [Cator, eq. 2]."""
        rows = self.numbers[self.sources]
        best, reach = 0.0, 0
        while reach < self.numbers.max(initial=0) and reach * max(best, at_least) < 1:
            low, reach = reach, max(16, 8 * reach)
            use = np.flatnonzero((rows > low) & (rows <= reach))
            if len(use):
                best = max(best, self._largest_of(use, local, below, denominator))
        return best

    def _largest_of(
        self, use: IntArray, local: IntArray, below: list[FloatArray], denominator: FloatArray
    ) -> float:
        """The largest posterior of some rows; those that look largest are compared as fractions."""
        width = len(denominator)
        place = self.sources[use] * width + local[use]
        pairs, inverse = np.unique(place, return_inverse=True)
        above = [_sums(inverse, limb[use], len(pairs)) for limb in self.limbs]
        combination = pairs % width
        ratio = _together(above) / denominator[combination]
        close = np.flatnonzero(ratio >= ratio.max() * (1 - CLOSE))
        if len(close) > EXACT_TRIES:  # too many ties to settle in fractions: one unit more
            return min(1.0, float(ratio.max()) * (1 + 2 * CLOSE))
        best = Fraction(0)
        for i in close.tolist():
            up = sum(int(part[i]) << (16 * k) for k, part in enumerate(above))
            down = sum(int(part[combination[i]]) << (16 * k) for k, part in enumerate(below))
            if up * best.denominator > best.numerator * down:
                best = Fraction(up, down)
        return float_up(best)


def _sums(groups: IntArray, weights: FloatArray, size: int) -> FloatArray:
    """Weights added up by group."""
    return np.asarray(np.bincount(groups, weights, size), dtype=np.float64)


def _together(limbs: list[FloatArray]) -> FloatArray:
    """Pieces of 16 bits as one number, rounded."""
    total = np.ldexp(limbs[0], 0)
    for place, limb in enumerate(limbs[1:], start=1):
        total = total + np.ldexp(limb, 16 * place)
    return total


def _entries(matrix: TransitionMatrix) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows, columns and weights of what is not zero, the weights in pieces of 16 bits.

    Each piece is small, so that sums of count times piece are exact in floating point.
    """
    if isinstance(matrix, SparseRows):
        numbers = np.arange(matrix.size)
        shifts = np.arange(0, 64, 16, dtype=np.uint64)[:, None]
        moves = (matrix.moves[None, :] >> shifts) & np.uint64(0xFFFF)
        limbs = np.hstack([moves.astype(np.float64), _pieces(matrix.kept)])
        sources = np.concatenate([matrix.sources, numbers])
        targets = np.concatenate([matrix.targets, numbers])
        return sources, targets, limbs
    weights = matrix.weights
    sources, targets = np.nonzero(weights)
    return sources, targets, _pieces([int(weight) for weight in weights[sources, targets]])


def _pieces(weights: list[int]) -> FloatArray:
    low = [[(weight >> (16 * part)) & 0xFFFF for weight in weights] for part in range(3)]
    return np.array([*low, [weight >> 48 for weight in weights]], dtype=np.float64)


def _cells_of_counts(codes: IntArray, columns: Sequence[str], counts: Counts) -> IntArray:
    """The cell of the matrix that each counted cell belongs to."""
    where = [counts.columns.index(name) for name in columns]
    sizes = [len(counts.labels[place]) for place in where]
    places = flat(codes, sizes)
    order = np.argsort(places)
    cells = flat(counts.cells[:, where].astype(np.int64), sizes)
    found = order[np.minimum(np.searchsorted(places[order], cells), len(places) - 1)]
    missing = places[found] != cells
    if missing.any():
        lost = records_that(int(counts.numbers[missing].sum()), "is", "are")
        raise OutsideDomain(
            f"{lost} in {counted(int(missing.sum()), 'cell')} that the joint matrix does not list."
        )
    return found
