"""The expected standard errors of means of numbers on a grid, and the grid of least error.

A total over a group is a sum of scores that undo the randomisation: for a set of columns that goes
through a uniform mixture with retention p, and f the contribution of a cell,

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from pramana.base.text import significant
from pramana.errors import PramanaError
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, ShuffledRounds
from pramana.mechanisms.transition import UniformMixture
from pramana.schema.codec import between, encode
from pramana.schema.domains import NumberGrid
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column, Schema
from pramana.types import FloatArray, Form, IntArray

if TYPE_CHECKING:
    from pramana.methods.plan import Plan

ENOUGH: Final = 50_000
"""Errors are computed on about this many records, evenly spaced."""

PLACES: Final = 60
"""The numbers that stand for an even range."""

MOST_GROUPS: Final = 500
MOST_NAMED: Final = 8
"""The most groups of a mean, and the most means that a sentence names."""

CLEARLY: Final = 0.9
"""A grid is proposed if it reduces the error by more than a tenth."""

MOST_KEYS: Final = 3
"""Means by this many single keys are expected, where no table names the number."""

CANDIDATES: Final = (2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 21, 26, 31, 41, 51)
"""The numbers of points of proposed grids."""


@dataclass(frozen=True)
class MeanError:
    """The expected standard error of the mean of a number, on average over all people.

    Attributes:
        of: the number.
        by: the groups.
        error: the standard error about these records.
    """

    of: str
    by: tuple[str, ...]
    error: float

    @property
    def words(self) -> str:
        """Number, groups and error."""
        groups = f" by {' and '.join(self.by)}" if self.by else ""
        return f"mean of {self.of}{groups} {significant(self.error)}"

    def to_json(self) -> Form:
        """The JSON form."""
        return {"of": self.of, "by": list(self.by), "standard_error": self.error}


@dataclass(frozen=True, eq=False)
class _Sample:
    """Records: their numbers, the variance that rounding adds, and codes of other columns."""

    numbers: FloatArray
    rounding: FloatArray
    codes: dict[str, IntArray]

    def part(self, rows: IntArray) -> _Sample:
        codes = {name: values[rows] for name, values in self.codes.items()}
        return _Sample(self.numbers[rows], self.rounding[rows], codes)


def mean_errors(plan: Plan, opened: OpenedTable | None = None) -> tuple[MeanError, ...]:
    """The errors of means in the plan's tables, or of all numbers; on data if they are given."""
    if isinstance(plan.mechanism, ShuffledRounds):
        return ()  # its errors are those of tables put together from all rounds
    errors = []
    for of, by in _means(plan):
        schema = plan.schema
        sample = _even(schema, of, by) if opened is None else _read(schema, opened, of, by)
        error = math.nan if sample is None else _average_error(plan, sample, of, by)
        if math.isfinite(error):
            errors.append(MeanError(of, by, error))
    return tuple(errors)


def mean_error_sentence(errors: Sequence[MeanError], *, here: bool) -> str | None:
    """A sentence on the errors; ``None`` if there are none."""
    if not errors:
        return None
    basis = "" if here else ", for uniformly distributed numbers and groups of equal size"
    named = ", ".join(error.words for error in errors[:MOST_NAMED])
    more = f" and {len(errors) - MOST_NAMED} more" if len(errors) > MOST_NAMED else ""
    return f"Expected standard errors{basis}: {named}{more}."


def means_left_out(plan: Plan) -> Iterator[str]:
    """Planned means that cannot be estimated: no attribute set contains their columns."""
    if not isinstance(plan.mechanism, AttributeSampler) or not plan.wanted:
        return
    for of, by in _means(plan):
        names = [name for name in (of, *by) if plan.schema.column(name).randomised]
        if not plan.mechanism.containing(names):
            yield (
                f"The mean of {of} by {' and '.join(by)} cannot be estimated: no attribute set "
                "contains these columns together."
            )


def grid_words(plan: Plan) -> Iterator[str]:
    """Proposals of grids with clearly smaller errors for the same guarantee; no data are read."""
    for column in plan.schema.randomised if plan.asked else ():
        if isinstance(column.domain, NumberGrid):
            points, error, now = best_grid(plan, column.name)
            if error < CLEARLY * now:
                before = f" instead of {significant(now)}" if math.isfinite(now) else ""
                yield (
                    f"With grid = {points} instead of {column.domain.size} points, the standard "
                    f"error of means of {column.name} is {significant(error)}{before} for the same "
                    "guarantee."
                )


def best_grid(plan: Plan, name: str, opened: OpenedTable | None = None) -> tuple[int, float, float]:
    """The number of even points with the least error at the plan's targets; the error then and now.

    Every candidate is designed anew.
    """
    from pramana.methods.context import DesignContext

    def average(plan: Plan) -> float:
        errors = [mean.error for mean in mean_errors(plan, opened) if mean.of == name]
        return sum(errors) / len(errors) if errors else math.inf

    column, now = plan.schema.column(name), average(plan)
    grid = column.domain
    assert isinstance(grid, NumberGrid)  # noqa: S101 - for the type checker
    low, high = (
        int(end) if end.is_integer() else end
        for end in (float(str(grid.values[place])) for place in (0, -1))
    )
    best = now, grid.size
    for points in CANDIDATES:
        if points == grid.size or points > grid.marks[-1] + 1:
            continue
        even = NumberGrid.even(
            low, high, points, step=grid.step, missing_values=grid.missing_values
        )
        schema = plan.schema.replace_columns([replace(column, domain=even)])
        context = DesignContext(schema, plan.records, plan.anonymity_set, None)
        try:
            best = min(best, (average(plan.method.design(context, plan.asked)), points))
        except PramanaError:
            continue
    return best[1], best[0], now


def _means(plan: Plan) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Numbers and groups of the tables that are wanted, or of single keys."""
    schema = plan.schema
    for column in schema.randomised:
        if not column.gridded:
            continue
        tables = [table for table in plan.wanted if column.name in table]
        groups = [tuple(name for name in table if name != column.name) for table in tables]
        if not groups:
            keys = [other.name for other in schema.randomised if not other.gridded]
            groups = [(), *((name,) for name in keys[:MOST_KEYS])]
        for by in dict.fromkeys(groups):
            if not any(schema.column(name).gridded for name in by):
                yield column.name, by


# -- records ---------------------------------------------------------------------------------------


def _points(column: Column) -> FloatArray:
    """The number of each label; nan for missing values."""
    codes = (None, *column.codes_for_missing)
    return np.array([math.nan if v in codes else float(str(v)) for v in column.labels])


def _even(schema: Schema, of: str, by: Sequence[str]) -> _Sample | None:
    """Every combination of groups with numbers that are even over the range."""
    columns = [schema.column(name) for name in by]
    sizes = [len(column.labels) if column.randomised else 1 for column in columns]
    if math.prod(sizes) > MOST_GROUPS:
        return None
    grid = schema.column(of).domain
    assert isinstance(grid, NumberGrid)  # noqa: S101 - for the type checker
    points = _points(schema.column(of))[: grid.size]
    x = points[0] + (np.arange(PLACES) + 0.5) / PLACES * (points[-1] - points[0])
    at = np.searchsorted(points, x, side="right")
    rounding = (x - points[at - 1]) * (points[at] - x) * (np.diff(grid.marks)[at - 1] > 1)
    cells = np.indices((*sizes, PLACES)).reshape(len(sizes) + 1, -1)
    codes = {name: cells[place] for place, name in enumerate(by)}
    return _Sample(x[cells[-1]], rounding[cells[-1]], codes)


def _read(schema: Schema, opened: OpenedTable, of: str, by: Sequence[str]) -> _Sample:
    """The records themselves, or some of them."""
    step = max(1, opened.rows // ENOUGH)
    names = [of, *by]
    parts = opened.summaries(partial(_every_record, names, step), names)
    table = pa.concat_tables(itertools.chain.from_iterable(parts))
    below, above, share = between(schema.column(of), table.column(of).combine_chunks())
    points = _points(schema.column(of))
    low, gap = points[below], points[above] - points[below]
    codes: dict[str, IntArray] = {}
    for name in by:
        if schema.column(name).randomised:
            codes[name] = encode(schema.column(name), table.column(name)).astype(np.int64)
        else:
            values = table.column(name).combine_chunks()
            coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
            codes[name] = np.asarray(coded.indices.fill_null(-1)).astype(np.int64)
    return _Sample(low + share * gap, share * (1 - share) * gap**2, codes)


def _every_record(
    names: Sequence[str], step: int, batches: Iterable[pa.RecordBatch]
) -> list[pa.Table]:
    """Some columns of every ``step``-th record."""
    taken = (batch.take(pa.array(np.arange(0, batch.num_rows, step))) for batch in batches)
    return [pa.Table.from_batches([batch.select(names)]).unify_dictionaries() for batch in taken]


# -- errors ----------------------------------------------------------------------------------------


def _average_error(plan: Plan, sample: _Sample, of: str, by: Sequence[str]) -> float:
    """The error on average over people; groups of unchanged columns are estimated separately."""
    schema = plan.schema
    unchanged = [name for name in by if not schema.column(name).randomised]
    randomised = [name for name in by if name not in unchanged]
    sizes = [len(schema.column(name).labels) for name in randomised]
    if math.prod(sizes) > MOST_GROUPS:
        return math.nan
    parts = [sample]
    if unchanged:
        cells = np.stack([sample.codes[name] for name in unchanged])
        _, where = np.unique(cells, axis=1, return_inverse=True)
        parts = [sample.part(np.flatnonzero(where == k)) for k in range(int(where.max()) + 1)]
    errors: list[tuple[float, int]] = []
    for part in parts:
        records = plan.records * len(part.numbers) / len(sample.numbers)
        for cell in itertools.product(*map(range, sizes)):
            group = dict(zip(randomised, cell, strict=True))
            error, members = _error(schema, plan.mechanism, part, of, group, records)
            if math.isfinite(error):
                errors.append((error, members))
    whole = sum(members for _, members in errors)
    return sum(error * members for error, members in errors) / whole if whole else math.nan


def _error(
    schema: Schema,
    mechanism: Mechanism,
    sample: _Sample,
    of: str,
    group: Mapping[str, int],
    records: float,
) -> tuple[float, int]:
    """The error of the mean of a group (nan without a formula), and its records in the sample."""
    inside = {name: sample.codes[name] == code for name, code in group.items()}
    members = np.asarray(np.logical_and.reduce([~np.isnan(sample.numbers), *inside.values()]))
    share = float(members.mean())
    if not share:
        return math.nan, 0
    middle = float(sample.numbers[members].mean())

    def mean_square(columns: Iterable[str], retention: float) -> FloatArray:
        """E[z^2] of each record, of one mixture over these columns."""
        first, square = np.ones(len(sample.numbers)), np.ones(len(sample.numbers))
        base = base_square = 1.0
        for name in columns:
            if name == of:
                known = ~np.isnan(sample.numbers)
                off = np.nan_to_num(sample.numbers) - middle
                scores = np.nan_to_num(_points(schema.column(name)) - middle)
                first = first * off * known
                square = square * (off**2 + np.nan_to_num(sample.rounding)) * known
                base, base_square = base * scores.mean(), base_square * (scores**2).mean()
            elif name in inside:
                size = len(schema.column(name).labels)
                first, square = first * inside[name], square * inside[name]
                base, base_square = base / size, base_square / size
        lost = 1 - retention
        seen = retention * first + lost * base
        total = retention * square + lost * base_square - 2 * lost * base * seen
        squares: FloatArray = (total + (lost * base) ** 2) / retention**2
        return squares

    wanted = {of, *group}
    if isinstance(mechanism, AttributeSampler):
        sets = [attributes for attributes in mechanism.sets if wanted <= set(attributes.columns)]
        retentions = np.array([float(attributes.matrix.retention) for attributes in sets])
        asked = np.array([attributes.share for attributes in sets])
        if not sets or not (retentions > 0).all():
            return math.nan, 0
        weights = asked * retentions**2 / (asked @ retentions**2)
        by_set = [
            mean_square(attributes.columns, retention).mean()
            for attributes, retention in zip(sets, retentions, strict=True)
        ]
        drawn = float((weights**2 / asked) @ np.array(by_set))
    else:
        product = np.ones(len(sample.numbers))
        for step in mechanism.steps:
            if wanted & set(step.columns):
                matrix = step.matrix
                if not isinstance(matrix, UniformMixture) or not matrix.retention > 0:
                    return math.nan, 0
                product = product * mean_square(step.columns, float(matrix.retention))
        drawn = float(product.mean())
    variance = share * float(((sample.numbers[members] - middle) ** 2).mean())
    return math.sqrt(max(drawn - variance, 0.0) / records) / share, int(members.sum())
