"""The expected error of tables under retention matrices, before any record is seen.

The error of a table is the L1 distance between estimate and truth as a share of the records,
sum |estimate - truth| / n, expected over the randomisation [Ikarashi, Sec. 5]. For the unbiased
estimate each record adds to a cell the product, over the steps of the table, of

    w(released) = (1[released in the cell] - (1 - rho) g / N) / rho,

with g of the N values of the step in the cell. With A and B the mean squares of that product for
a record inside the cell and for one outside, and f the share of records inside, the variance of the
cell is n (f (A - 1) + (1 - f) B), and the expected absolute error of a Normal variable is
sqrt(2 / pi) of its standard deviation.

Nothing here depends on the data, so f is unknown. Real tables are uneven: few cells hold most of
the records, many hold none. The mean standard deviation of an uneven table is smaller than that of
an even one. So f follows a Dirichlet distribution with a quarter of a record per cell, which is as
uneven as the two-way tables of surveys and censuses.

Columns of a step are randomised jointly. A combination that cannot exist ties its columns into one
step over the possible cells, so that no impossible record is released. Columns can also be tied
because their joint table is wanted.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final, TypeAlias

import numpy as np

from pramana.base.translation import gettext, noop
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
    """The columns of a step, its values or joint cells, and those of them that are fixed."""

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
        """The values of the step, restricted to some of its columns."""
        if len(self.columns) == 1:
            return self.labels
        where = [self.columns.index(name) for name in columns]
        return tuple(tuple(cell[i] for i in where) for cell in self.labels)


def step_domains(schema: Schema, joint: Iterable[Sequence[str]] = ()) -> tuple[StepDomain, ...]:
    """A step for each randomised column, or group tied by impossible cells or ``joint``."""
    names = [column.name for column in schema.randomised]
    ties = [*(rule.columns for rule in schema.impossible), *joint]
    for name in (name for columns in ties for name in columns):
        if name not in names:
            raise InvalidSchema(
                "Only randomised columns can be tied, and '{column}' is none of {names}.",
                column=name,
                names=", ".join(names),
            )
    return tuple(_domain(schema, group) for group in tied_columns(names, ties))


def _domain(schema: Schema, columns: tuple[str, ...]) -> StepDomain:
    parts = [schema.column(name) for name in columns]
    if len(parts) == 1:
        return StepDomain(columns, parts[0].labels, parts[0].fixed)
    cells = math.prod(len(part.labels) for part in parts)
    if cells > CATEGORY_LIMIT:
        raise TooLarge(
            "{columns} are tied together, which makes {cells:,} cells; at most {category_limit:,} "
            "can be served. Coarsen one of them.",
            columns=" and ".join(columns),
            cells=cells,
            category_limit=CATEGORY_LIMIT,
        )
    rules = CellRules.of(schema, columns)
    possible = rules.cells()
    if len(possible) < 2:
        raise InvalidSchema(
            "The impossible combinations leave {count} possible cell of {columns}; at least two "
            "are needed.",
            count=len(possible),
            columns=" and ".join(columns),
        )
    stays = rules.stay(np.nonzero(rules.table()))
    fixed = tuple(cell for cell, stay in zip(possible, stays, strict=True) if stay)
    return StepDomain(columns, possible, fixed)


def joint_of(mechanism: Iterable[Step]) -> tuple[Set, ...]:
    """The groups of columns that a mechanism randomises jointly."""
    return tuple(step.columns for step in mechanism if len(step.columns) > 1)


UNEVEN = (
    5.34e-07, 4.33e-05, 0.000334, 0.00128, 0.00351, 0.00783, 0.0153, 0.0272, 0.045, 0.0706, 0.106,
    0.154, 0.217, 0.3, 0.408, 0.546, 0.724, 0.955, 1.26, 1.66, 2.22, 3.05, 4.44, 7.8,
)  # fmt: skip
"""The share of a cell relative to an even table: 24 equally likely quantiles of the gamma
distribution of shape 1/4 and mean 1, which Dirichlet shares with 1/4 record per cell follow."""

STEP = 1e-5
"""The relative step of the difference quotients by retention."""

PURE_NOISE: Final = noop(
    "The expected error of a {kind} exceeds 100 % of the records: nearly pure noise."
)
LEAST = 1e-4
"""Smaller errors are reported as below this share: they are mostly rounding."""

NEARLY = 1e-5
"""The relative amount by which matrices may be trimmed to meet a target in integers."""


@dataclass(frozen=True)
class ExpectedError:
    """The expected L1 error of tables, as shares of the records; ``asked`` are of interest."""

    tables: tuple[tuple[tuple[str, ...], float], ...]
    asked: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def mean(self) -> float:
        """The average error of the tables of interest, or of all: the objective of designs."""
        errors = [error for table, error in self.tables if not self.asked or table in self.asked]
        return math.fsum(errors) / len(errors)

    @cached_property
    def _typical(self) -> list[tuple[tuple[str, ...], float]]:
        """Candidates for a typical table: the widest, or the less precise tables of interest."""
        if self.asked:
            least = self.mean * (1 - 10 * NEARLY) if math.isfinite(self.mean) else 0.0
            return [row for row in self.tables if row[0] in self.asked and row[1] >= least]
        widest = max(len(columns) for columns, _ in self.tables)
        return [entry for entry in self.tables if len(entry[0]) == widest]

    def for_records(self, now: int, *, was: int) -> ExpectedError:
        """The error for another number of records: variances of shares are O(1 / n)."""
        factor = math.sqrt(was / now)
        tables = tuple((columns, factor * error) for columns, error in self.tables)
        return ExpectedError(tables, self.asked)

    def sentence(self) -> str:
        """A sentence on the error of a typical table."""
        if not math.isfinite(self.mean):
            return gettext("No table can be estimated: the release is pure noise.")
        columns, error = min(self._typical, key=lambda entry: abs(entry[1] - self.mean))
        words = (
            noop("two-way table of {columns}") if len(columns) == 2 else noop("table of {columns}")
        )
        kind = gettext(words, columns=gettext(" by ").join(columns))
        if error >= 1:
            return gettext(PURE_NOISE, kind=kind)
        if error < LEAST:
            return gettext(
                "The expected error of a {kind} is less than {least:g} % of the records.",
                kind=kind,
                least=100 * LEAST,
            )
        return gettext(
            "The expected error of a {kind} is about {share:.2g} % of the records.",
            kind=kind,
            share=100 * error,
        )

    def matches_text(self, words: str | None) -> bool:
        """Whether ``words`` is the sentence of these errors, up to rounding of the matrices."""
        gaps = [abs(error - self.mean) for _, error in self._typical]
        near = min(gaps) + NEARLY * self.mean if math.isfinite(self.mean) else math.inf
        for scale in (1 - NEARLY, 1.0, 1 + NEARLY):
            for columns, error in self._typical:
                if abs(error - self.mean) <= near:
                    alone = ExpectedError(((columns, error * scale),))
                    if alone.sentence() == words:
                        return True
        return self.sentence() == words

    def to_json(self) -> Form:
        """The errors by table; an infinite error is null."""
        return {
            "tables": [
                {"columns": list(columns), "error": error if math.isfinite(error) else None}
                for columns, error in self.tables
            ],
            "sentence": self.sentence(),
        }


@cache
def likely_shares(share: float) -> FloatArray:
    """Equally likely shares of a cell whose share of an even table is ``share``.

    >>> shares = likely_shares(0.05)
    >>> round(float(shares.mean()), 6), bool(shares.min() < 0.001), bool(shares.max() > 0.2)
    (0.05, True, True)
    """
    shares = np.array(UNEVEN)
    for _ in range(20):  # cap shares at 1 and restore the mean, until both hold
        shares = np.minimum(shares * (share / shares.mean()), 1.0)
    return shares


def mean_squares(retention: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean squares of w for a record inside the cell, and for a record outside."""
    base = (1 - retention) * share
    inside = (retention + base) * (1 - base) ** 2 + (1 - retention - base) * base**2
    return inside / retention**2, base * (1 - base) / retention**2


class ErrorModel:
    """The expected errors of tables as a function of the retention of each step.

    By default of all one- and two-way tables of randomised columns. Steps of the same kind are
    exchangeable then, so that a model of two steps of each kind serves many columns of one kind.
    """

    def __init__(
        self,
        steps: Sequence[StepDomain],
        *,
        records: int,
        tables: Sequence[Set] | None = None,
        weights: Sequence[int] | None = None,
    ) -> None:
        self.steps = tuple(steps)
        self.records = records
        self._tables = None if tables is None else tuple(tables)
        self._weights = weights

    @cached_property
    def tables(self) -> tuple[Set, ...]:
        """The tables; by default all one- and two-way tables of randomised columns."""
        if self._tables is not None:
            return self._tables
        names = [name for step in self.steps for name in step.columns]
        return tuple((name,) for name in names) + tuple(itertools.combinations(names, 2))

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of each table in the mean; 1 by default."""
        return np.array(self._weights or [1] * len(self.tables), dtype=np.float64)

    @cached_property
    def kinds(self) -> IntArray:
        """The kind of each step: exchanging steps of the same kind changes no error."""
        kinds = [
            (step.size, len(step.fixed))
            if len(step.columns) == 1 and self._tables is None
            else (at,)
            for at, step in enumerate(self.steps)
        ]
        numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
        return np.array([numbers[kind] for kind in kinds], dtype=np.int64)

    @cached_property
    def _reduced(self) -> tuple[IntArray, IntArray, ErrorModel] | None:
        """Two steps of each kind, the place of each table's like among theirs, and their model."""
        if int(np.bincount(self.kinds).max()) <= 2:
            return None
        first_two = [
            np.flatnonzero(self.kinds == kind)[:2].tolist()
            for kind in range(int(self.kinds.max()) + 1)
        ]
        steps = sorted(itertools.chain.from_iterable(first_two))
        alike = {
            name: [self.steps[at].columns[0] for at in first_two[kind]]
            if len(first_two[kind]) > 1
            else [name]
            for kind, step in zip(self.kinds, self.steps, strict=True)
            for name in step.columns
        }

        def like(table: Set) -> Set:
            if len(table) == 1:
                return (alike[table[0]][0],)
            first, second = (alike[name] for name in table)
            return tuple(first) if first == second else tuple(sorted((first[0], second[0])))

        tables = [like(table) for table in self.tables]
        weights = Counter(tables)
        places = {table: place for place, table in enumerate(weights)}
        model = ErrorModel(
            [self.steps[at] for at in steps],
            records=self.records,
            tables=tuple(weights),
            weights=tuple(weights.values()),
        )
        return np.array(steps), np.array([places[table] for table in tables]), model

    def _reduced_for(
        self, retentions: FloatArray | Sequence[float]
    ) -> tuple[IntArray, IntArray, ErrorModel] | None:
        """The reduced model, if all steps of a kind have the same retention."""
        if self._reduced is None:
            return None
        kept = np.asarray(retentions, dtype=np.float64)
        first = np.unique(self.kinds, return_index=True)[1]
        return self._reduced if (kept == kept[first][self.kinds]).all() else None

    @cached_property
    def _cells(self) -> _CellClasses:
        """The cells of all tables, with equal cells as one class."""
        place_of = {name: at for at, step in enumerate(self.steps) for name in step.columns}

        @cache
        def shares(at: int, columns: Set) -> list[tuple[float, int]]:
            """The shares of a step's values in the cells of some columns, and their frequencies."""
            step = self.steps[at]
            sizes = Counter(Counter(step.parts(columns)).values())
            return [(size / step.size, times) for size, times in sizes.items()]

        starts: list[int] = []
        steps: list[tuple[int, ...]] = []
        by_step, times = [], []
        for table, weight in zip(self.tables, self.weights, strict=True):
            places = tuple(sorted({place_of[name] for name in table if name in place_of}))
            inside = [
                shares(at, tuple(name for name in self.steps[at].columns if name in table))
                for at in places
            ]
            starts.append(len(steps))
            for classes in itertools.product(*inside):
                steps.append(places)
                by_step.append(tuple(share for share, _ in classes))
                times.append(weight * math.prod(number for _, number in classes))
        widest = max(map(len, steps))
        padded = [(*share, *[1.0] * (widest - len(share))) for share in by_step]
        share_of_steps = np.array(padded).T
        likely = [likely_shares(share) for share in share_of_steps.prod(axis=0).tolist()]
        return _CellClasses(
            starts=np.array(starts),
            steps=np.array([(*at, *[-1] * (widest - len(at))) for at in steps]).T,
            shares=share_of_steps,
            times=np.array(times, dtype=np.float64),
            likely=np.array(likely),
        )

    def errors(self, retentions: FloatArray | Sequence[float]) -> FloatArray:
        """The expected error of each table, times its weight."""
        reduced = self._reduced_for(retentions)
        errors: FloatArray
        if reduced is not None:
            steps, tables, model = reduced
            kept = np.asarray(retentions, dtype=np.float64)[steps]
            errors = (model.errors(kept) / model.weights)[tables]
        else:
            cell_errors = self._cell_errors(self._retention_by_cell(retentions))
            errors = np.add.reduceat(cell_errors, self._cells.starts)
        return errors

    def mean(self, retentions: FloatArray | Sequence[float]) -> float:
        """The average expected error of all tables."""
        return float(self.errors(retentions).sum() / self.weights.sum())

    def slope(self, retentions: FloatArray) -> FloatArray:
        """The derivative of the average error by each retention, by difference quotients."""
        reduced = self._reduced_for(retentions)
        slopes: FloatArray
        if reduced is not None:
            first, _, model = reduced
            sizes = np.bincount(self.kinds)
            rises = model.slope(retentions[first])
            by_kind = np.bincount(self.kinds[first], weights=rises, minlength=len(sizes))
            slopes = (by_kind / sizes)[self.kinds]
            return slopes
        kept, steps = self._retention_by_cell(retentions), len(self.steps)
        total = np.zeros(steps + 1)
        for place, cell_steps in enumerate(self._cells.steps):
            above, below = kept.copy(), kept.copy()
            above[place] = np.minimum(above[place] * (1 + STEP), 1.0)
            below[place] *= 1 - STEP
            shown = (kept > 0).all(axis=0)
            rise = self._cell_errors(above)[shown] - self._cell_errors(below)[shown]
            rise /= (above[place] - below[place])[shown]
            moved = cell_steps[shown] % (steps + 1)
            total += np.bincount(moved, weights=rise, minlength=steps + 1)
        slopes = total[:steps] / self.weights.sum()
        return slopes

    def _retention_by_cell(self, retentions: FloatArray | Sequence[float]) -> FloatArray:
        """The retention of each step of each cell; 1 where the cell has fewer steps."""
        padded: FloatArray = np.append(np.asarray(retentions, dtype=np.float64), 1.0)
        return padded[self._cells.steps]

    def _cell_errors(self, kept: FloatArray) -> FloatArray:
        """The expected error of each class of cells, times its weight."""
        cells = self._cells
        inside, outside = mean_squares(np.where(kept > 0, kept, 1.0), cells.shares)
        even = cells.shares * inside + (1 - cells.shares) * outside
        member, anyone = inside.prod(axis=0), even.prod(axis=0)
        share = cells.shares.prod(axis=0)
        other = np.where(share < 1, anyone - share * member, 0) / np.where(share < 1, 1 - share, 1)
        variance = cells.likely * (member - 1 - other)[:, None]
        variance += other[:, None]
        np.sqrt(np.maximum(variance, 0, out=variance), out=variance)
        scale = math.sqrt(2 / (math.pi * self.records))
        shown = (kept > 0).all(axis=0)
        errors: FloatArray = np.where(shown, cells.times * variance.mean(axis=1) * scale, np.inf)
        return errors

    def at(self, retentions: Sequence[float]) -> ExpectedError:
        """The expected error at these retentions."""
        return ExpectedError(tuple(zip(self.tables, self.errors(retentions).tolist(), strict=True)))


@dataclass(frozen=True, eq=False)
class _CellClasses:
    """Classes of equal cells of tables.

    Attributes:
        starts: where the classes of each table begin.
        steps: the places of the steps of a cell, padded with -1.
        shares: the share of each step's values in the cell, padded with 1.
        times: the number of cells of the class, times the weight of the table.
        likely: equally likely shares of the records in such a cell.
    """

    starts: IntArray
    steps: IntArray
    shares: FloatArray
    times: FloatArray
    likely: FloatArray
