"""Which axes a released table needs so that some columns of the original table can be estimated.

An axis is what one step of the mechanism moves: one column, or several at once whose cells are
tuples (combinations that cannot exist are not among them, so their estimate is exactly 0), or a
column that was released unchanged. Only the columns asked for, those tied to them in a joint step,
those on whose values their matrix depends and the randomised ones that are filtered on become
axes: everything else is summed out before anything is undone.

Moments are the sums over released records in each cell: with weights w (1 where there are none)
and a value y, the sums of w, w^2, wy, w^2 y and w^2 y^2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from pramana.errors import InvalidNumber, InvalidTable, OutsideDomain, TooLarge, UnknownColumn
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Label
from pramana.schema.joint_cells import cell_codes, cell_numbers
from pramana.types import FloatArray, IntArray

MOST_CELLS = 20_000_000
"""The largest table that is estimated: a few arrays of this size fit in 2 GiB."""


@dataclass(frozen=True)
class Axis:
    """One axis: its columns, what can stand at each position, and the step that moved it.

    Attributes:
        columns: The columns that share the axis; more than one for a joint step.
        cells: What stands at each position, one label a column.
        step: The step of the mechanism, or ``None`` where the column was released unchanged.
        groups: For each position the group of the result that a truth there belongs to,
            -1 where a filter leaves it out.
        group_cells: What stands at each group: one label for each column asked for.
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
        """Whether each position is its own group, so that nothing is merged or left out."""
        return self.groups == tuple(range(self.size))

    @cached_property
    def membership(self) -> FloatArray:
        """Positions by groups, 1 where a truth counts."""
        table = np.zeros((self.size, max(len(self.group_cells), 1)))
        inside = np.array(self.groups) >= 0
        table[np.flatnonzero(inside), np.array(self.groups)[inside]] = 1
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
        """The axes for a table of ``by``, among the records whose truth meets ``where``.

        ``labels`` gives the values of each column in the order of its codes. A filter on a column
        that was released unchanged may be given here too, but is cheaper before counting.
        """
        kept = {name: tuple(values) for name, values in (where or {}).items()}
        _check_names(by, labels, kept)
        layout = cls(tuple(by), dict(labels), _axes(by, labels, mechanism, kept))
        cells = prod(layout.shape)
        if cells > most:
            raise TooLarge(
                f"The table of {', '.join(layout.columns)} has {cells:,} cells, and at most "
                f"{most:,} can be estimated at once. Ask for fewer columns, or coarser ones."
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
        """The same axes, only those at ``places`` and each whole: nothing merged or left out."""
        axes = tuple(_whole(self.axes[place]) for place in places)
        return Layout(tuple(name for axis in axes for name in axis.columns), self.labels, axes)

    # -- from records to the released table ------------------------------------------------

    def positions(self, codes: Sequence[ArrayLike]) -> list[IntArray]:
        """Where records stand on each axis, from their codes in the order of ``columns``."""
        found, start = [], 0
        for axis in self.axes:
            width = len(axis.columns)
            part = [np.asarray(column) for column in codes[start : start + width]]
            start += width
            place = self._places[axis.columns][tuple(part)]
            if (place < 0).any():
                raise OutsideDomain(
                    f"The released data hold combinations of {', '.join(axis.columns)} that the "
                    "certificate's matrix does not know: they were changed, or belong to another "
                    "certificate. 'pramana verify' says which."
                )
            found.append(place)
        return found

    def table(self, cells: ArrayLike, numbers: ArrayLike) -> FloatArray:
        """The released table from cells (one row a cell, codes in the order of ``columns``).

        ``numbers`` are counts, or sums of anything that adds up.
        """
        rows = np.asarray(cells)
        values = np.asarray(numbers, dtype=np.float64)
        places = self.positions([rows[:, place] for place in range(rows.shape[1])])
        flat = cell_numbers(places, self.shape) if places else np.zeros(len(rows))
        sums = np.bincount(flat.astype(np.int64), weights=values, minlength=prod(self.shape))
        return np.asarray(sums, dtype=np.float64).reshape(self.shape)

    @cached_property
    def _places(self) -> dict[tuple[str, ...], IntArray]:
        """For each axis an array from the codes of its columns to positions, -1 for none."""
        places = {}
        for axis in self.axes:
            sizes = [len(self.labels[name]) for name in axis.columns]
            where = np.full(sizes, -1, dtype=np.int64)
            where[tuple(self.codes_of(axis))] = np.arange(axis.size)
            places[axis.columns] = where
        return places

    def codes_of(self, axis: Axis) -> IntArray:
        """The code of each position of an axis in each of its columns, one row a column."""
        return cell_codes([self.labels[name] for name in axis.columns], axis.cells)

    # -- from the estimate to the columns asked for ----------------------------------------

    def lay_out(self, grouped: ArrayLike) -> FloatArray:
        """A table with one axis a column of ``by``; combinations that cannot exist hold 0."""
        values = np.asarray(grouped, dtype=np.float64).reshape(self.grouped_shape)
        sizes, order = self._laid
        spread = np.zeros(sizes)
        spread[self._targets] = values.reshape(self._target_sizes)
        return spread.transpose(order)

    def gather(self, table: ArrayLike) -> FloatArray:
        """The reverse of ``lay_out``: by groups; combinations that cannot exist are dropped."""
        values = np.asarray(table, dtype=np.float64)
        names = [name for axis in self.axes for name in axis.columns if name in self.by]
        found = values.transpose([self.by.index(name) for name in names])
        return np.asarray(found[self._targets], dtype=np.float64).reshape(self.grouped_shape)

    @cached_property
    def _laid(self) -> tuple[list[int], list[int]]:
        """The lengths of the columns asked for as axes have them, and the order asked for."""
        names = [name for axis in self.axes for name in axis.columns if name in self.by]
        return [len(self.labels[name]) for name in names], [names.index(name) for name in self.by]

    @cached_property
    def _target_sizes(self) -> list[int]:
        return [max(len(axis.group_cells), 1) for axis in self.axes if _asked(axis, self.by)]

    @cached_property
    def _targets(self) -> tuple[IntArray, ...]:
        """For each column asked for, the code of each group, shaped to span its axis."""
        index: list[IntArray] = []
        asked = [axis for axis in self.axes if _asked(axis, self.by)]
        for place, axis in enumerate(asked):
            names = [name for name in axis.columns if name in self.by]
            for column in cell_codes([self.labels[name] for name in names], axis.group_cells):
                shape = [1] * len(asked)
                shape[place] = len(column)
                index.append(column.reshape(shape))
        return tuple(index)


def _whole(axis: Axis) -> Axis:
    return Axis(axis.columns, axis.cells, axis.step, tuple(range(axis.size)), axis.cells)


def _asked(axis: Axis, by: tuple[str, ...]) -> bool:
    return any(name in by for name in axis.columns)


def _check_names(
    by: Sequence[str],
    labels: Mapping[str, tuple[Label, ...]],
    where: Mapping[str, tuple[Label, ...]],
) -> None:
    if len(set(by)) != len(by):
        raise InvalidNumber("Each column must be asked for once.")
    for name in [*by, *where]:
        if name not in labels:
            raise UnknownColumn(
                f"The release has no column '{name}' with listed values. "
                f"It has: {', '.join(labels)}.",
                column=name,
            )
    for name, values in where.items():
        unknown = [value for value in values if value not in labels[name]]
        if unknown or not values:
            raise OutsideDomain(
                f"The filter on '{name}' selects nothing: "
                f"{len(unknown)} of its {len(values)} values are not in its domain.",
                column=name,
            )


def _step(name: str, mechanism: Mechanism) -> Step | None:
    return mechanism.step_of(name) if name in mechanism.columns else None


def _needed(names: Sequence[str], mechanism: Mechanism) -> list[str]:
    """The columns and, after them, those on whose values their matrix depends."""
    steps = [_step(name, mechanism) for name in names]
    strata = [stratum for step in steps if step is not None for stratum in step.strata]
    return list(dict.fromkeys([*names, *strata]))


def _axes(
    by: Sequence[str],
    labels: Mapping[str, tuple[Label, ...]],
    mechanism: Mechanism,
    where: Mapping[str, tuple[Label, ...]],
) -> tuple[Axis, ...]:
    axes, done = [], set[str]()
    for name in _needed([*by, *where], mechanism):
        if name in done:
            continue
        step = _step(name, mechanism)
        columns = step.columns if step else (name,)
        axes.append(_axis(columns, step, tuple(by), labels, where))
        done.update(columns)
    return tuple(axes)


def _axis(
    columns: tuple[str, ...],
    step: Step | None,
    by: tuple[str, ...],
    labels: Mapping[str, tuple[Label, ...]],
    where: Mapping[str, tuple[Label, ...]],
) -> Axis:
    if step is None:
        cells: tuple[tuple[Label, ...], ...] = tuple((label,) for label in labels[columns[0]])
    else:
        cells = step.cells
    asked = [place for place, name in enumerate(columns) if name in by]
    kept = [
        all(
            label in where[name] for name, label in zip(columns, cell, strict=True) if name in where
        )
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
        released: The number of released records, those that a filter leaves out included.
    """

    records: FloatArray
    w: FloatArray
    ww: FloatArray
    wy: FloatArray | None = None
    wwy: FloatArray | None = None
    wwyy: FloatArray | None = None
    released: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("records", "w", "ww", "wy", "wwy", "wwyy"):
            value = getattr(self, name)
            if value is None:
                continue
            array = np.asarray(value, dtype=np.float64)
            if array.shape != np.shape(self.records) or not np.isfinite(array).all():
                raise InvalidTable("Sums by released cell must be finite and of the same shape.")
            object.__setattr__(self, name, array)

    @property
    def totals(self) -> dict[str, float]:
        """Each over all cells."""
        sums = {name: getattr(self, name) for name in ("records", "w", "ww", "wy", "wwy", "wwyy")}
        return {name: float(own.sum()) for name, own in sums.items() if own is not None}

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
        """The number of records that a population gave: a filter is part of the question."""
        return self.count if self.released is None else self.released

    @property
    def effective(self) -> float:
        """The number of equally weighted records that tell as much [Kish]."""
        squares = float(self.ww.sum())
        return float(self.w.sum()) ** 2 / squares if squares > 0 else 0.0
