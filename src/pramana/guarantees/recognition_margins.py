"""Condition C1 on independent steps, through the margin of each: the joint matrix is never formed.

Numerators multiply, N_m(k0) = prod_s N_m_s(k0_s). So the largest numerator over the cells that
occur is a table of ones and zeros contracted with each margin by maxima of products, and the
denominator is the table of counts contracted by sums, one axis at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.errors import OutsideDomain, TooLarge
from pramana.matrices import Label, Mechanism, SparseRows, Step, TransitionMatrix, UniformMixture
from pramana.numeric import TOTAL
from pramana.table.cells import cell_codes, cell_numbers
from pramana.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from pramana.table.counts import Counts

__all__ = ["Combined", "codes_of", "combined", "flat", "stands_alone", "through_margins"]


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
    as_they_are = combined(margin, fixed)
    for stratum, part, inside in _by_stratum(margin, tuple(dict.fromkeys(strata))):
        table, maps = _tensor(part, steps, as_they_are.codes[inside], keys, stratum,
                              width=as_they_are.size)  # fmt: skip
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
    """Whether what is released as it is singles out a record: then nothing else matters."""
    return bool(counts.margin(*fixed).numbers.min(initial=2) < 2)


@dataclass(frozen=True)
class Combined:
    """The combinations of some columns that occur, numbered; one number a cell."""

    codes: IntArray
    size: int


def combined(counts: Counts, columns: Sequence[str]) -> Combined:
    """Number the combinations of columns that are released as they are, however many values."""
    codes, size = np.zeros(len(counts.cells), dtype=np.int64), 1
    for name in columns:
        place = counts.columns.index(name)
        wide = codes * len(counts.labels[place]) + counts.cells[:, place]
        seen, codes = np.unique(wide, return_inverse=True)
        size = len(seen)
    return Combined(codes, size)


def _by_stratum(
    margin: Counts, strata: tuple[str, ...]
) -> list[tuple[dict[str, Label], Counts, BoolArray]]:
    """The counts of each stratum that occurs, and which cells they are."""
    if not strata:
        return [({}, margin, np.ones(len(margin.cells), dtype=np.bool_))]
    from pramana.table.counts import Counts

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
        """sum over m of table(m) * margin(m, k) along one axis."""
        if self.groups is None:
            return self.matrix.apply(table, axis=axis)
        moved = np.moveaxis(table, axis, -1)
        lines = moved.reshape(-1, moved.shape[-1]) @ self.entries
        result: FloatArray = np.moveaxis(lines.reshape(*moved.shape[:-1], -1), -1, axis)
        return result

    def highest(self, table: FloatArray, axis: int) -> FloatArray:
        """max over m of table(m) * margin(m, k) along one axis."""
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
