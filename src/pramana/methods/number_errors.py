"""The expected standard errors of means of numbers on a grid, and the grid that makes them least.

A total over a group is a sum of scores that undo what was done: for a set of columns that goes
through a uniform mixture with retention p, and f what a cell counts,

    z = (f(released) - (1 - p) mean(f)) / p,     E[z^2] = (p E[f^2] + (1 - p) mean(f^2)
                                     - 2 (1 - p) mean(f) E[f(released)] + (1 - p)^2 mean(f)^2) / p^2

with means over all cells, and E[f^2] over the numbers and the chance of rounding. Independent steps
multiply. With f the distance from the mean of the group, the squared error of a mean about these
records is (E[z^2] - share var) / (n share^2). So few points are best where p is small, as a mean of
f^2 over few points counts (1 - p) / p^2 times, and many where p is near 1 and rounding is left.

Without data numbers are taken as even over the range, and groups as alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from pramana.errors import PramanaError
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, ShuffledRounds
from pramana.mechanisms.transition import UniformMixture
from pramana.schema.codec import between, encode
from pramana.schema.domains import NumberGrid
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column, Schema
from pramana.types import BoolArray, FloatArray, Form, IntArray

if TYPE_CHECKING:
    from pramana.methods.plan import Plan

ENOUGH: Final = 50_000
"""Records that are looked at, evenly spaced."""

PLACES: Final = 60
"""Numbers that stand for an even range."""

MOST_GROUPS: Final = 500
MOST_TOLD: Final = 8
CLEARLY: Final = 0.9
"""A grid is worth a word that takes off more than a tenth."""

MOST_KEYS: Final = 3
"""Means by single keys are foreseen for so many, where no table names the number."""

CANDIDATES: Final = (2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 21, 26, 31, 41, 51)


@dataclass(frozen=True)
class MeanError:
    """How far off the mean of a number is expected to be.

    Attributes:
        of: The number.
        by: The groups.
        error: The standard error about these records, on average over the people of all groups.
    """

    of: str
    by: tuple[str, ...]
    error: float

    @property
    def words(self) -> str:
        """Groups and error."""
        groups = f" by {' and '.join(self.by)}" if self.by else ""
        return f"mean of {self.of}{groups} {self.error:,.3g}"

    def to_json(self) -> Form:
        """A plain form."""
        return {"of": self.of, "by": list(self.by), "standard_error": self.error}


@dataclass(frozen=True, eq=False)
class _People:
    """Some records: their numbers, what rounding adds to each, and the codes of other columns."""

    numbers: dict[str, tuple[FloatArray, FloatArray]]
    codes: dict[str, IntArray]
    size: int

    def only(self, rows: IntArray) -> _People:
        """Some of them."""
        numbers = {name: (x[rows], r[rows]) for name, (x, r) in self.numbers.items()}
        return _People(numbers, {n: own[rows] for n, own in self.codes.items()}, len(rows))


def mean_errors(plan: Plan, opened: OpenedTable | None = None) -> tuple[MeanError, ...]:
    """Of the means that are asked for, or of all numbers by single keys; on data where given."""
    found: list[MeanError] = []
    if isinstance(plan.mechanism, ShuffledRounds):
        return ()  # its errors are those of tables put together from all rounds
    for of, by in _asked(plan):
        people = (
            _even(plan.schema, of, by) if opened is None else _read(plan.schema, opened, of, by)
        )
        error = math.nan if people is None else _error(plan, people, of, by)
        if math.isfinite(error):
            found.append(MeanError(of, by, error))
    return tuple(found)


def mean_error_sentence(errors: Sequence[MeanError], *, here: bool) -> str | None:
    """All of them in a line."""
    if not errors:
        return None
    basis = "" if here else ", with numbers even over their range and groups alike"
    told = ", ".join(own.words for own in errors[:MOST_TOLD])
    more = f" and {len(errors) - MOST_TOLD} more" if len(errors) > MOST_TOLD else ""
    return f"Expected standard errors{basis}: {told}{more}."


def grid_words(plan: Plan) -> Iterator[str]:
    """Grids that would make means clearly more accurate at the same promise; no data are read."""
    for column in plan.schema.randomised if plan.asked else ():
        if column.gridded:
            points, error, now = best_grid(plan, column.name)
            if error < CLEARLY * now:
                assert column.domain is not None  # noqa: S101 - it has a grid
                yield (
                    f"With grid = {points} instead of {column.domain.size} points, means of "
                    f"{column.name} are off by {error:,.3g} instead of {now:,.3g} at the same "
                    "promise."
                )


def best_grid(plan: Plan, name: str, opened: OpenedTable | None = None) -> tuple[int, float, float]:
    """The number of even points that makes errors of its means least at the plan's targets.

    With the error then and now. Every candidate is designed anew; without ``opened`` no data are
    looked at.
    """
    from pramana.methods.context import DesignContext

    column, now = plan.schema.column(name), _total(plan, name, opened)
    grid = column.domain
    assert isinstance(grid, NumberGrid)  # noqa: S101 - the caller has looked
    best = grid.size, now
    low, high = float(str(grid.values[0])), float(str(grid.values[-1]))
    for points in CANDIDATES:
        if points == grid.size or points > grid.marks[-1] + 1:
            continue
        even = NumberGrid.even(_plain(low), _plain(high), points, step=grid.step,
                               missing_values=grid.missing_values)  # fmt: skip
        schema = plan.schema.replace_columns([replace(column, domain=even)])
        context = DesignContext(schema, plan.records, plan.anonymity_set, None)
        try:
            error = _total(plan.method.design(context, plan.asked), name, opened)
        except PramanaError:
            continue
        best = min(best, (points, error), key=lambda own: own[1])
    return best[0], best[1], now


def _plain(number: float) -> float:
    return int(number) if number.is_integer() else number


def _total(plan: Plan, name: str, opened: OpenedTable | None) -> float:
    own = [one.error for one in mean_errors(plan, opened) if one.of == name]
    return sum(own) / len(own) if own else math.inf


def _asked(plan: Plan) -> Iterator[tuple[str, tuple[str, ...]]]:
    schema = plan.schema
    for column in (own for own in schema.randomised if own.gridded):
        tables = [table for table in plan.wanted if column.name in table]
        asked = [tuple(name for name in table if name != column.name) for table in tables]
        if not asked:
            keys = [own.name for own in schema.randomised if not own.gridded]
            asked = [(), *((name,) for name in keys[:MOST_KEYS])]
        for by in dict.fromkeys(asked):
            if not any(schema.column(name).gridded for name in by):
                yield column.name, by


# -- records ---------------------------------------------------------------------------------------


def _even(schema: Schema, of: str, by: Sequence[str]) -> _People | None:
    """Every combination of groups with numbers that are even over the range."""
    columns = [schema.column(name) for name in by]
    sizes = [len(own.labels) if own.randomised else 1 for own in columns]
    if math.prod(sizes) > MOST_GROUPS:
        return None
    grid = schema.column(of).domain
    assert isinstance(grid, NumberGrid)  # noqa: S101 - the caller has looked
    points = _points(schema.column(of))[: grid.size]
    x = points[0] + (np.arange(PLACES) + 0.5) / PLACES * (points[-1] - points[0])
    at = np.searchsorted(points, x, side="right")
    rounding = (x - points[at - 1]) * (points[at] - x) * (np.diff(grid.marks)[at - 1] > 1)
    cells = np.indices((*sizes, PLACES)).reshape(len(sizes) + 1, -1)
    codes = {name: cells[place] for place, name in enumerate(by)}
    return _People({of: (x[cells[-1]], rounding[cells[-1]])}, codes, cells.shape[1])


def _points(column: Column) -> FloatArray:
    """What each label stands for; nan where it is no number."""
    codes = (None, *column.codes_for_missing)
    return np.array([math.nan if own in codes else float(str(own)) for own in column.labels])


def _read(schema: Schema, opened: OpenedTable, of: str, by: Sequence[str]) -> _People:
    """The records themselves, or some of them."""
    step = max(1, opened.rows // ENOUGH)
    columns = [schema.column(name) for name in (of, *by)]
    parts = list(opened.summaries(partial(_sampled, columns, step), [of, *by]))
    table = pa.concat_tables(itertools.chain.from_iterable(parts))
    below, above, share = between(columns[0], table.column(of).combine_chunks())
    points = _points(columns[0])
    low, gap = points[below], points[above] - points[below]
    codes: dict[str, IntArray] = {}
    for column in columns[1:]:
        values = table.column(column.name)
        if column.randomised:
            codes[column.name] = encode(column, values).astype(np.int64)
        else:
            own = values.combine_chunks()
            own = own if pa.types.is_dictionary(own.type) else own.dictionary_encode()
            codes[column.name] = np.asarray(own.indices.fill_null(-1)).astype(np.int64)
    numbers = low + share * gap, share * (1 - share) * gap**2
    return _People({of: numbers}, codes, table.num_rows)


def _sampled(
    columns: Sequence[Column], step: int, batches: Iterable[pa.RecordBatch]
) -> list[pa.Table]:
    names = [column.name for column in columns]
    taken = (batch.take(pa.array(np.arange(0, batch.num_rows, step))) for batch in batches)
    return [pa.Table.from_batches([batch.select(names)]).unify_dictionaries() for batch in taken]


# -- errors ----------------------------------------------------------------------------------------


def _error(plan: Plan, people: _People, of: str, by: Sequence[str]) -> float:
    """On average over people, groups of unchanged columns apart."""
    schema = plan.schema
    kept = [name for name in by if not schema.column(name).randomised]
    told = [name for name in by if name not in kept]
    parts = [people]
    if kept:
        cells = np.stack([people.codes[name] for name in kept])
        _, where = np.unique(cells, axis=1, return_inverse=True)
        parts = [people.only(np.flatnonzero(where == own)) for own in range(int(where.max()) + 1)]
    errors: list[tuple[float, float]] = []
    for part in parts:
        records = plan.records * part.size / people.size
        sizes = [len(schema.column(name).labels) for name in told]
        if math.prod(sizes) > MOST_GROUPS:
            return math.nan
        for cell in itertools.product(*map(range, sizes)):
            group = dict(zip(told, cell, strict=True))
            scored = _Scored(plan.schema, part, of, group)
            error, people_in = scored.error(plan.mechanism, records), scored.among.sum()
            errors += [(error, float(people_in))] if math.isfinite(error) else []
    whole = sum(own for _, own in errors)
    return sum(error * own for error, own in errors) / whole if whole else math.nan


@dataclass(frozen=True, eq=False)
class _Scored:
    """Some records, and what each counts for the mean of a number in a group."""

    schema: Schema
    people: _People
    of: str
    group: dict[str, int]

    @cached_property
    def inside(self) -> dict[str, BoolArray]:
        """Who is in the group, by each of its columns."""
        return {name: self.people.codes[name] == code for name, code in self.group.items()}

    @cached_property
    def among(self) -> BoolArray:
        """Who is in the group and has a number."""
        known = ~np.isnan(self.people.numbers[self.of][0])
        return np.asarray(np.logical_and.reduce([known, *self.inside.values()]))

    @cached_property
    def middle(self) -> float:
        """The mean that is asked for."""
        return float(self.people.numbers[self.of][0][self.among].mean())

    def error(self, mechanism: Mechanism, records: float) -> float:
        """Of the mean about these records; nan where there is no formula."""
        share = float(self.among.mean())
        drawn = self._drawn(mechanism) if share else math.nan
        off = self.people.numbers[self.of][0][self.among] - (self.middle if share else 0.0)
        less = share * float((off**2).mean()) if share else 0.0
        return math.sqrt(max(drawn - less, 0.0) / records) / share if drawn >= 0 else math.nan

    def _drawn(self, mechanism: Mechanism) -> float:
        """The mean square of what a record counts."""
        wanted = {self.of, *self.group}
        if isinstance(mechanism, AttributeSampler):
            sets = [one for one in mechanism.sets if wanted <= set(one.columns)]
            kept = np.array([float(one.matrix.retention) for one in sets])
            asked = np.array([one.share for one in sets])
            if not sets or not (kept > 0).all():
                return math.nan
            weights = asked * kept**2 / (asked @ kept**2)
            each = [self._squares(one.columns, p).mean() for one, p in zip(sets, kept, strict=True)]
            return float((weights**2 / asked) @ np.array(each))
        product = np.ones(self.people.size)
        for step in mechanism.steps:
            if wanted & set(step.columns):
                matrix = step.matrix
                if not isinstance(matrix, UniformMixture) or not matrix.retention > 0:
                    return math.nan
                product = product * self._squares(step.columns, float(matrix.retention))
        return float(product.mean())

    def _squares(self, columns: Iterable[str], kept: float) -> FloatArray:
        """The mean square of what each record counts, of one mixture over these columns."""
        first, square = np.ones(self.people.size), np.ones(self.people.size)
        base = base_square = 1.0
        for name in columns:
            if name == self.of:
                x, rounding = (np.nan_to_num(own) for own in self.people.numbers[self.of])
                known = ~np.isnan(self.people.numbers[self.of][0])
                off = x - self.middle
                scores = np.nan_to_num(_points(self.schema.column(name)) - self.middle)
                first, square = first * off * known, square * (off**2 + rounding) * known
                base, base_square = base * scores.mean(), base_square * (scores**2).mean()
            elif name in self.inside:
                size = len(self.schema.column(name).labels)
                first, square = first * self.inside[name], square * self.inside[name]
                base, base_square = base / size, base_square / size
        cut = 1 - kept
        seen = kept * first + cut * base
        found = kept * square + cut * base_square - 2 * cut * base * seen + (cut * base) ** 2
        squares: FloatArray = found / kept**2
        return squares
