"""The axes of the released table from which some columns of the original table are estimated.

An axis is a column that was released unchanged, or the columns that one step of the mechanism
moves. The cells of a joint step are tuples; combinations that cannot exist are not among them, so
that their estimate is exactly 0. Axes are the columns asked for, those in a joint step with them,
the strata of their matrices, and the randomised columns of the filter. Everything else is summed
out before.

Moments are the sums over released records in each cell: with weights w (1 where there are none)
and a value y, the sums of w, w^2, wy, w^2 y and w^2 y^2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from pramana.errors import InvalidTable, OutsideDomain, TooLarge
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Label
from pramana.schema.joint_cells import cell_codes, cell_numbers
from pramana.types import FloatArray, IntArray

MOST_CELLS = 20_000_000
"""The largest table that is estimated: a few arrays of this size fit in 2 GiB."""


@dataclass(frozen=True)
class Axis:
    """One axis: its columns, the labels at each position, and the step that moved it.

    Attributes:
        columns: The columns that share the axis; more than one for a joint step.
        cells: The labels at each position, one a column.
        step: The step of the mechanism, or ``None`` where the column was released unchanged.
        groups: For each original position its group in the result, -1 where a filter excludes it.
        group_cells: The labels of each group: one for each column asked for.
    """

    columns: tuple[str, ...]
    cells: tuple[tuple[Label, ...], ...]
    step: Step | None
    groups: tuple[int, ...]
    group_cells: tuple[tuple[Label, ...], ...]

    @property
    def size(self) -> int:
        """The number of positions."""
        return len(self.cells)

    @cached_property
    def whole(self) -> bool:
        """Whether each position is a group by itself, so that nothing is merged or left out."""
        return self.groups == tuple(range(self.size))

    @cached_property
    def membership(self) -> FloatArray:
        """Positions by groups: 1 where a position belongs to a group."""
        table = np.zeros((self.size, max(len(self.group_cells), 1)))
        groups = np.array(self.groups)
        inside = np.flatnonzero(groups >= 0)
        table[inside, groups[inside]] = 1
        table.flags.writeable = False
        return table


@dataclass(frozen=True)
class Layout:
    """The axes of a released table, and how its estimate is read as a table of ``by``.

    >>> from pramana.mechanisms.mechanism import Mechanism, Step, UniformMixture
    >>> sex = Step(("sex",), UniformMixture.of(("F", "M"), retention=0.5))
    >>> labels = {"sex": ("F", "M"), "region": ("N", "S", "W")}
    >>> layout = Layout.of(["region", "sex"], labels=labels, mechanism=Mechanism((sex,)))
    >>> layout.columns, layout.shape
    (('region', 'sex'), (3, 2))
    """

    by: tuple[str, ...]
    labels: Mapping[str, tuple[Label, ...]] = field(repr=False)
    axes: tuple[Axis, ...]

    @classmethod
    def of(
        cls,
        by: Sequence[str],
        *,
        labels: Mapping[str, tuple[Label, ...]],
        mechanism: Mechanism,
        where: Mapping[str, Collection[Label]] | None = None,
        most: float = MOST_CELLS,
    ) -> Layout:
        """The axes for a table of ``by``, among the records whose original values meet ``where``.

        ``labels`` gives the values of each column in the order of its codes. A filter on a column
        that was released unchanged may be given here too, but is cheaper before counting.
        """
        kept = {name: tuple(values) for name, values in (where or {}).items()}
        for name, values in kept.items():
            if not set(values) <= set(labels[name]) or not values:
                raise OutsideDomain(
                    "The filter on '{column}' selects no value of its domain.", column=name
                )
        steps = {
            name: mechanism.step_of(name) if name in mechanism.columns else None for name in labels
        }
        asked = [*by, *kept]
        strata = [
            name for step in map(steps.get, asked) if step is not None for name in step.strata
        ]
        axes: dict[tuple[str, ...], Axis] = {}
        for name in dict.fromkeys([*asked, *strata]):
            step = steps[name]
            columns = step.columns if step else (name,)
            if columns not in axes:
                cells = step.cells if step else tuple((label,) for label in labels[name])
                axes[columns] = _axis(columns, cells, step, tuple(by), kept)
        layout = cls(tuple(by), dict(labels), tuple(axes.values()))
        number = prod(layout.shape)
        if number > most:
            raise TooLarge(
                "The table of {columns} has {number:,} cells, and at most {most:,} can be "
                "estimated at once. Ask for fewer columns, or coarser ones.",
                columns=", ".join(layout.columns),
                number=number,
                most=most,
            )
        return layout

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to count the released records by, in the order of the axes."""
        return tuple(name for axis in self.axes for name in axis.columns)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the released table."""
        return tuple(axis.size for axis in self.axes)

    @cached_property
    def grouped_shape(self) -> tuple[int, ...]:
        """The shape of the estimate before it is laid out by columns."""
        return tuple(max(len(axis.group_cells), 1) for axis in self.axes)

    @cached_property
    def by_labels(self) -> tuple[tuple[Label, ...], ...]:
        """The labels of each column asked for."""
        return tuple(self.labels[name] for name in self.by)

    def only(self, places: Sequence[int]) -> Layout:
        """Some of the axes, each whole: nothing merged or left out."""
        axes = tuple(
            replace(axis, groups=tuple(range(axis.size)), group_cells=axis.cells)
            for axis in (self.axes[place] for place in places)
        )
        return Layout(tuple(name for axis in axes for name in axis.columns), self.labels, axes)

    # -- from records to the released table ------------------------------------------------

    def positions(self, codes: Sequence[ArrayLike]) -> list[IntArray]:
        """The position of each record on each axis, from codes in the order of ``columns``."""
        remaining, places = iter(codes), []
        for axis in self.axes:
            part = tuple(np.asarray(next(remaining)) for _ in axis.columns)
            place = self._places[axis.columns][part]
            if (place < 0).any():
                raise OutsideDomain(
                    "The released data hold combinations of {columns} that the certificate's "
                    "matrix does not know: they were changed, or belong to another certificate: "
                    "run 'pramana verify'.",
                    columns=", ".join(axis.columns),
                )
            places.append(place)
        return places

    def table(self, cells: ArrayLike, numbers: ArrayLike) -> FloatArray:
        """The released table from cells (one row per cell, codes in the order of ``columns``).

        ``numbers`` are counts, or sums of anything that adds up.
        """
        rows = np.asarray(cells)
        values = np.asarray(numbers, dtype=np.float64)
        places = self.positions([rows[:, place] for place in range(rows.shape[1])])
        flat = cell_numbers(places, self.shape, records=len(rows))
        sums = np.bincount(flat, weights=values, minlength=prod(self.shape))
        return np.asarray(sums, dtype=np.float64).reshape(self.shape)

    @cached_property
    def _places(self) -> dict[tuple[str, ...], IntArray]:
        """For each axis an array from the codes of its columns to positions, -1 for none."""
        places = {}
        for axis in self.axes:
            where = np.full([len(self.labels[name]) for name in axis.columns], -1, dtype=np.int64)
            where[tuple(self.codes_of(axis))] = np.arange(axis.size)
            places[axis.columns] = where
        return places

    def codes_of(self, axis: Axis) -> IntArray:
        """The code of each position of an axis in each of its columns, one row per column."""
        return cell_codes([self.labels[name] for name in axis.columns], axis.cells)

    # -- from the estimate to the columns asked for ----------------------------------------

    def lay_out(self, grouped: ArrayLike) -> FloatArray:
        """A table with one axis per column of ``by``; combinations that cannot exist hold 0."""
        values = np.asarray(grouped, dtype=np.float64).reshape(self.grouped_shape)
        names, index, sizes = self._asked
        spread = np.zeros([len(self.labels[name]) for name in names])
        spread[index] = values.reshape(sizes)
        return spread.transpose([names.index(name) for name in self.by])

    def gather(self, table: ArrayLike) -> FloatArray:
        """The reverse of ``lay_out``: by groups; combinations that cannot exist are dropped."""
        names, index, _ = self._asked
        values = np.asarray(table, dtype=np.float64)
        values = values.transpose([self.by.index(name) for name in names])
        return np.asarray(values[index], dtype=np.float64).reshape(self.grouped_shape)

    @cached_property
    def _asked(self) -> tuple[list[str], tuple[IntArray, ...], list[int]]:
        """The columns asked for as axes have them, with codes of groups and numbers of groups.

        Codes of a column are shaped to span its axis.
        """
        axes = [axis for axis in self.axes if any(name in self.by for name in axis.columns)]
        columns: list[str] = []
        index: list[IntArray] = []
        for place, axis in enumerate(axes):
            names = [name for name in axis.columns if name in self.by]
            columns += names
            shape = [-1 if at == place else 1 for at in range(len(axes))]
            codes = cell_codes([self.labels[name] for name in names], axis.group_cells)
            index += [column.reshape(shape) for column in codes]
        return columns, tuple(index), [max(len(axis.group_cells), 1) for axis in axes]


def _axis(
    columns: tuple[str, ...],
    cells: tuple[tuple[Label, ...], ...],
    step: Step | None,
    by: tuple[str, ...],
    where: Mapping[str, tuple[Label, ...]],
) -> Axis:
    asked = [place for place, name in enumerate(columns) if name in by]
    kept = [
        all(label in where.get(name, (label,)) for name, label in zip(columns, cell, strict=True))
        for cell in cells
    ]
    parts = [tuple(cell[place] for place in asked) for cell in cells]
    group_cells = tuple(dict.fromkeys(part for part, keep in zip(parts, kept, strict=True) if keep))
    number = {cell: group for group, cell in enumerate(group_cells)}
    groups = tuple(number[p] if keep else -1 for p, keep in zip(parts, kept, strict=True))
    return Axis(columns, cells, step, groups, group_cells)


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums by released cell, each shaped like the layout.

    Attributes:
        records: The number of records.
        w: Sums of weights.
        ww: Sums of squared weights.
        wy: Sums of weight times value.
        wwy: Sums of squared weight times value.
        wwyy: Sums of squared weight times squared value.
        released: The number of released records, including those that a filter excludes.
    """

    records: FloatArray
    w: FloatArray
    ww: FloatArray
    wy: FloatArray | None = None
    wwy: FloatArray | None = None
    wwyy: FloatArray | None = None
    released: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for name, value in self.tables.items():
            array = np.asarray(value, dtype=np.float64)
            if array.shape != np.shape(self.records) or not np.isfinite(array).all():
                raise InvalidTable("Sums by released cell must be finite and of the same shape.")
            object.__setattr__(self, name, array)

    @property
    def tables(self) -> dict[str, FloatArray]:
        """The sums by name."""
        names = ("records", "w", "ww", "wy", "wwy", "wwyy")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def values(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The sums of values: wy, wwy and wwyy."""
        if self.wy is None or self.wwy is None or self.wwyy is None:
            raise InvalidTable("Means and totals need sums of values and of squares.")
        return self.wy, self.wwy, self.wwyy

    @property
    def totals(self) -> dict[str, float]:
        """Each sum over all cells."""
        return {name: float(table.sum()) for name, table in self.tables.items()}

    @property
    def weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return not (np.array_equal(self.w, self.records) and np.array_equal(self.ww, self.w))

    @property
    def count(self) -> float:
        """The number of records."""
        return float(self.records.sum())

    @property
    def sample(self) -> float:
        """The size of the sample from a population: a filter is part of the question."""
        return self.count if self.released is None else self.released

    @property
    def effective(self) -> float:
        """The number of equally weighted records with the same precision [Kish]."""
        squares = float(self.ww.sum())
        return float(self.w.sum()) ** 2 / squares if squares > 0 else 0.0
