"""Which columns go through a matrix together.

A combination that cannot exist ties its columns into one joint step whose domain is the set of
possible cells: a record can then only move to a record that could exist. Columns may also be tied
because their table is wanted: it is then told by one matrix at the budget of all of them.

How far off the tables will be, before any record is looked at.

The error of a table is the L1 distance between estimate and truth as a share of the records,
sum |estimate - truth| / n, expected over the randomisation [Ikarashi, Sec. 5]. For the unbiased
estimate each record adds to a cell the product, over the steps of the table, of

    w(released) = (1[released in the cell] - (1 - rho) g / N) / rho,

with g of the N values of the step in the cell. With A and B the mean squares of that product for
a record inside the cell and for one outside, and f the share of records inside, the variance of the
cell is n (f (A - 1) + (1 - f) B), and the expected absolute error of a Normal variable is
sqrt(2 / pi) of its standard deviation.

Nothing here depends on the data, so f is not known. Real tables are far from even: few cells hold
most of the records, many hold none, and the square root of the variance of an uneven table is less
on average than that of an even one. So f is taken as drawn from a Dirichlet law with a quarter of a
record a cell, which is as uneven as two-way tables of surveys and censuses are found to be.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np

from pramana.errors import InvalidSchema, TooLarge
from pramana.mechanisms.mechanism import Step
from pramana.mechanisms.transition import Label
from pramana.schema.joint_cells import CellRules, tied_columns
from pramana.schema.schema import CATEGORY_LIMIT, Schema
from pramana.types import FloatArray, Form, IntArray

Set: TypeAlias = tuple[str, ...]


def randomised_in(schema: Schema, table: Iterable[str]) -> Set:
    """The columns of a table that are randomised, in the order of the schema."""
    wanted = set(table)
    return tuple(column.name for column in schema.randomised if column.name in wanted)


@dataclass(frozen=True)
class StepDomain:
    """The columns of a step, its values (cells where columns are several), the fixed ones."""

    columns: tuple[str, ...]
    labels: tuple[Label, ...]
    fixed: tuple[Label, ...] = ()

    @property
    def size(self) -> int:
        """The number of values or possible cells."""
        return len(self.labels)

    @property
    def name(self) -> str:
        """The columns in words."""
        return " x ".join(self.columns)

    def parts(self, columns: tuple[str, ...]) -> tuple[Label, ...]:
        """Each value of the step, seen through some of its columns only."""
        if len(self.columns) == 1:
            return self.labels
        where = [self.columns.index(name) for name in columns]
        return tuple(tuple(cell[i] for i in where) for cell in self.labels)


def step_domains(schema: Schema, joint: Iterable[Sequence[str]] = ()) -> tuple[StepDomain, ...]:
    """One step a randomised column, or a group of columns tied by impossible combinations.

    ``joint`` ties further columns.
    """
    names = [column.name for column in schema.randomised]
    ties = [*(rule.columns for rule in schema.impossible), *joint]
    for name in (name for columns in ties for name in columns):
        if name not in names:
            raise InvalidSchema(
                f"Only columns that are randomised can be tied, and '{name}' is none of "
                f"{', '.join(names)}.",
                column=name,
            )
    return tuple(_domain(schema, group) for group in tied_columns(names, ties))


def _domain(schema: Schema, columns: tuple[str, ...]) -> StepDomain:
    parts = [schema.column(name) for name in columns]
    if len(parts) == 1:
        return StepDomain(columns, parts[0].labels, parts[0].fixed)
    cells = math.prod(len(part.labels) for part in parts)
    if cells > CATEGORY_LIMIT:
        raise TooLarge(
            f"{' and '.join(columns)} are tied together, which makes {cells:,} cells; at most "
            f"{CATEGORY_LIMIT:,} can be served. Coarsen one of them."
        )
    rules = CellRules.of(schema, columns)
    possible = rules.cells()
    if len(possible) < 2:
        raise InvalidSchema(
            f"The impossible combinations leave {len(possible)} possible cell of "
            f"{' and '.join(columns)}; at least two are needed."
        )
    stays = rules.stay(np.nonzero(rules.table()))
    fixed = tuple(cell for cell, own in zip(possible, stays, strict=True) if own)
    return StepDomain(columns, possible, fixed)


def joint_of(mechanism: Iterable[Step]) -> tuple[Set, ...]:
    """The columns that a mechanism ties."""
    return tuple(step.columns for step in mechanism if len(step.columns) > 1)


UNEVEN = (
    5.34e-07, 4.33e-05, 0.000334, 0.00128, 0.00351, 0.00783, 0.0153, 0.0272, 0.045, 0.0706, 0.106,
    0.154, 0.217, 0.3, 0.408, 0.546, 0.724, 0.955, 1.26, 1.66, 2.22, 3.05, 4.44, 7.8,
)  # fmt: skip
"""How many times its even share a cell has, each as likely: 24 quantiles of the gamma law of shape
1/4 and mean 1, which the shares of a Dirichlet law with 1/4 record a cell follow."""

STEP = 1e-5
"""By how much of itself a retention is moved to see how fast errors grow."""

LEAST = 1e-4
"""Smaller errors are nothing that anyone would notice, and mostly what rounding left of them."""

TWO = 2
"""A table has so many columns at most, unless tables were stated."""

NEARLY = 1e-5
"""Matrices are trimmed by less than this to meet a target in integers."""


@dataclass(frozen=True)
class ExpectedError:
    """The expected L1 error of all one- and two-way tables, as shares of the records.

    Attributes:
        tables: each table with its error.
        asked: those that will be asked for, where that was stated; words speak of these alone.
    """

    tables: tuple[tuple[tuple[str, ...], float], ...]
    asked: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def mean(self) -> float:
        """The average over the tables, those asked for where stated: what designs make small."""
        errors = [error for table, error in self.tables if not self.asked or table in self.asked]
        return math.fsum(errors) / len(errors)

    @cached_property
    def _spoken(self) -> list[tuple[tuple[str, ...], float]]:
        """What a typical table is chosen from: the widest; of those asked for the less precise."""
        if self.asked:
            least = self.mean * (1 - 10 * NEARLY) if math.isfinite(self.mean) else 0.0
            return [own for own in self.tables if own[0] in self.asked and own[1] >= least]
        widest = max(len(columns) for columns, _ in self.tables)
        return [entry for entry in self.tables if len(entry[0]) == widest]

    def for_records(self, now: int, *, was: int) -> ExpectedError:
        """The same of another number of records: variances of shares go with 1 / n."""
        factor = math.sqrt(was / now)
        tables = tuple((columns, factor * error) for columns, error in self.tables)
        return ExpectedError(tables, self.asked)

    def sentence(self) -> str:
        """The error of a typical table in plain words."""
        if not math.isfinite(self.mean):
            return "No table can be estimated: the release is pure noise."
        columns, error = min(self._spoken, key=lambda entry: abs(entry[1] - self.mean))
        kind = f"{'two-way ' if len(columns) == 2 else ''}table of {' by '.join(columns)}"
        if error >= 1:
            return f"A {kind} is off by more than all records together: nearly pure noise."
        if error < LEAST:
            return f"A {kind} is off by less than {100 * LEAST:g} % of the records."
        return f"A {kind} is off by about {100 * error:.2g} % of the records."

    def matches_text(self, words: str | None) -> bool:
        """Whether these are its words, or would be if rounding had gone another way."""
        gaps = [abs(error - self.mean) for _, error in self._spoken]
        near = min(gaps) + NEARLY * self.mean if math.isfinite(self.mean) else math.inf
        for scale in (1 - NEARLY, 1.0, 1 + NEARLY):
            for columns, error in self._spoken:
                if abs(error - self.mean) <= near:
                    alone = ExpectedError(((columns, error * scale),))
                    if alone.sentence() == words:
                        return True
        return self.sentence() == words

    def to_json(self) -> Form:
        """Table by table; an error without bound is null."""
        return {
            "tables": [
                {"columns": list(columns), "error": error if math.isfinite(error) else None}
                for columns, error in self.tables
            ],
            "sentence": self.sentence(),
        }


@cache
def likely_shares(share: float) -> FloatArray:
    """Shares that a cell may have in truth, each as likely, where an even table has ``share``.

    >>> found = likely_shares(0.05)
    >>> round(float(found.mean()), 6), bool(found.min() < 0.001), bool(found.max() > 0.2)
    (0.05, True, True)
    """
    found = np.array(UNEVEN)
    for _ in range(20):  # none is above 1, and the mean stays
        found = np.minimum(found * (share / found.mean()), 1.0)
    return found


def mean_squares(retention: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean squares of w for a record inside the cell, and for one whose truth is any other."""
    base = (1 - retention) * share
    inside = (retention + base) * (1 - base) ** 2 + (1 - retention - base) * base**2
    return inside / retention**2, base * (1 - base) / retention**2


class ErrorModel:
    """The expected errors as a function of the retention of each step.

    A table counts as often as its weight says; once where none are given.
    """

    def __init__(
        self,
        steps: Sequence[StepDomain],
        *,
        records: int,
        tables: Sequence[tuple[str, ...]] | None = None,
        weights: Sequence[int] | None = None,
    ) -> None:
        self.steps = tuple(steps)
        self.records = records
        self._tables = None if tables is None else tuple(tables)
        self._weights = weights

    @cached_property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The tables; all sets of one and of two randomised columns where none were given."""
        if self._tables is not None:
            return self._tables
        names = [name for step in self.steps for name in step.columns]
        return tuple((name,) for name in names) + tuple(itertools.combinations(names, 2))

    @cached_property
    def weights(self) -> FloatArray:
        """How often each table counts."""
        return np.array(self._weights or [1] * len(self.tables), dtype=np.float64)

    @cached_property
    def kinds(self) -> IntArray:
        """Which kind each step is of: those of one kind can be exchanged, and no error changes."""
        alone = [len(step.columns) == 1 and self._tables is None for step in self.steps]
        kinds = [
            (step.size, len(step.fixed)) if own else (at,)
            for at, (step, own) in enumerate(zip(self.steps, alone, strict=True))
        ]
        numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
        return np.array([numbers[kind] for kind in kinds], dtype=np.int64)

    @cached_property
    def _fewer(self) -> _Fewer | None:
        """A model of two steps a kind, where there are kinds of more."""
        if int(np.bincount(self.kinds).max()) <= TWO:
            return None
        many = int(self.kinds.max()) + 1
        own = [np.flatnonzero(self.kinds == kind)[:TWO].tolist() for kind in range(many)]
        steps = sorted(itertools.chain.from_iterable(own))
        stands_for = {  # the first of a kind and, beside it in a table, the second
            name: [self.steps[at].columns[0] for at in own[kind]] if len(own[kind]) > 1 else [name]
            for kind, step in zip(self.kinds, self.steps, strict=True)
            for name in step.columns
        }
        tables = [_same_table(table, stands_for) for table in self.tables]
        weights = Counter(tables)
        places = {table: place for place, table in enumerate(weights)}
        model = ErrorModel(
            [self.steps[at] for at in steps],
            records=self.records,
            tables=tuple(weights),
            weights=tuple(weights.values()),
        )
        return _Fewer(np.array(steps), np.array([places[table] for table in tables]), model)

    def _of_kinds(self, retentions: FloatArray | Sequence[float]) -> _Fewer | None:
        """The model of fewer steps, where those of one kind have one retention."""
        kept = np.asarray(retentions, dtype=np.float64)
        fewer = self._fewer
        if fewer is None:
            return None
        first = np.unique(self.kinds, return_index=True)[1]
        return fewer if (kept == kept[first][self.kinds]).all() else None

    @cached_property
    def _alike(self) -> _AlikeCells:
        """The cells of all tables, those alike together."""
        rows = []
        place_of = {name: at for at, step in enumerate(self.steps) for name in step.columns}
        kinds_of = cache(lambda at, inside: _kinds(self.steps[at], inside))
        for number, (table, weight) in enumerate(zip(self.tables, self.weights, strict=True)):
            places = tuple(sorted({place_of[name] for name in table if name in place_of}))
            inside = (
                tuple(name for name in self.steps[at].columns if name in table) for at in places
            )
            for kinds in itertools.product(*map(kinds_of, places, inside)):
                shares = tuple(share for share, _ in kinds)
                times = weight * math.prod(times for _, times in kinds)
                rows.append((number, places, shares, times))
        return _AlikeCells.of(rows)

    def errors(self, retentions: FloatArray | Sequence[float]) -> FloatArray:
        """The expected error of each table, as often as it counts."""
        fewer = self._of_kinds(retentions)
        if fewer is not None:
            kept = np.asarray(retentions, dtype=np.float64)[fewer.steps]
            each: FloatArray = (fewer.model.errors(kept) / fewer.model.weights)[fewer.tables]
            return each
        alike = self._alike
        found: FloatArray = np.add.reduceat(self._of_cells(self._kept(retentions)), alike.starts)
        return found

    def mean(self, retentions: FloatArray | Sequence[float]) -> float:
        """The average expected error of all tables."""
        return float(self.errors(retentions).sum() / self.weights.sum())

    def slope(self, retentions: FloatArray) -> FloatArray:
        """How fast that average grows with each retention.

        By differences, and of all retentions at once: a cell has to do with few steps, so that
        those are moved that stand first in their cells, then those that stand second.
        """
        fewer = self._of_kinds(retentions)
        if fewer is not None:
            many = np.bincount(self.kinds)
            rises = fewer.model.slope(retentions[fewer.steps])
            of_kinds = np.bincount(self.kinds[fewer.steps], weights=rises, minlength=len(many))
            each: FloatArray = (of_kinds / many)[self.kinds]
            return each
        alike, kept, steps = self._alike, self._kept(retentions), len(self.steps)
        total = np.zeros(steps + 1)
        for place, own in enumerate(alike.steps):
            above, below = kept.copy(), kept.copy()
            above[place] = np.minimum(above[place] * (1 + STEP), 1.0)
            below[place] *= 1 - STEP
            shown = (kept > 0).all(axis=0)
            rise = self._of_cells(above)[shown] - self._of_cells(below)[shown]
            rise /= (above[place] - below[place])[shown]
            total += np.bincount(own[shown] % (steps + 1), weights=rise, minlength=steps + 1)
        found: FloatArray = total[:steps] / self.weights.sum()
        return found

    def _kept(self, retentions: FloatArray | Sequence[float]) -> FloatArray:
        """The retention of each step of each cell; that of a step that is not there is 1."""
        found: FloatArray = np.append(np.asarray(retentions, dtype=np.float64), 1.0)
        return found[self._alike.steps]

    def _of_cells(self, kept: FloatArray) -> FloatArray:
        """The expected error of each cell, times how many are alike."""
        alike = self._alike
        inside, outside = mean_squares(np.where(kept > 0, kept, 1.0), alike.shares)
        even = alike.shares * inside + (1 - alike.shares) * outside
        own, whole = inside.prod(axis=0), even.prod(axis=0)
        share = alike.shares.prod(axis=0)
        rest = np.where(share < 1, whole - share * own, 0) / np.where(share < 1, 1 - share, 1)
        likely = alike.likely
        variance = likely * (own - 1 - rest)[:, None]
        variance += rest[:, None]
        np.sqrt(np.maximum(variance, 0, out=variance), out=variance)
        scale = math.sqrt(2 / (math.pi * self.records))
        shown = (kept > 0).all(axis=0)
        found: FloatArray = np.where(shown, alike.times * variance.mean(axis=1) * scale, np.inf)
        return found

    def at(self, retentions: Sequence[float]) -> ExpectedError:
        """The expected errors with their tables."""
        return ExpectedError(tuple(zip(self.tables, self.errors(retentions).tolist(), strict=True)))


@dataclass(frozen=True, eq=False)
class _Fewer:
    """A model in which few steps stand for many that can be exchanged.

    Attributes:
        steps: where those that stand for others are.
        tables: the table that stands for each.
        model: of these steps and tables, each weighed by how many it stands for.
    """

    steps: IntArray
    tables: IntArray
    model: ErrorModel


def _same_table(table: tuple[str, ...], stands_for: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The table of columns that stand for these."""
    if len(table) == 1:
        return (stands_for[table[0]][0],)
    one, other = (stands_for[name] for name in table)
    if one == other:
        return tuple(one)
    return tuple(sorted((one[0], other[0])))


def _kinds(step: StepDomain, columns: tuple[str, ...]) -> list[tuple[float, int]]:
    """Cells of some columns of a step: the share of its values in each, and how many have that."""
    sizes = Counter(Counter(step.parts(columns)).values())
    return [(size / step.size, times) for size, times in sizes.items()]


@dataclass(frozen=True, eq=False)
class _AlikeCells:
    """Cells of tables, one entry for all that are alike.

    Attributes:
        starts: where the entries of each table begin.
        steps: the places of its steps, one below the other; filled up with one past the last.
        shares: the share of each step's values in the cell, filled up with 1.
        times: how many cells are so.
        likely: shares of the records that such a cell may have in truth.
    """

    starts: IntArray
    steps: IntArray
    shares: FloatArray
    times: FloatArray
    likely: FloatArray

    @classmethod
    def of(
        cls, rows: Sequence[tuple[int, tuple[int, ...], tuple[float, ...], float]]
    ) -> _AlikeCells:
        """From table, steps, shares and number of cells."""
        widest = max(len(row[1]) for row in rows)
        starts = np.unique([row[0] for row in rows], return_index=True)[1].astype(np.int64)
        steps = np.array([(*row[1], *[-1] * (widest - len(row[1]))) for row in rows]).T
        shares = np.array([(*row[2], *[1.0] * (widest - len(row[2]))) for row in rows]).T
        times = np.array([row[3] for row in rows], dtype=np.float64)
        likely = [likely_shares(share) for share in shares.prod(axis=0).tolist()]
        return cls(starts, steps.astype(np.int64), shares, times, np.array(likely))
