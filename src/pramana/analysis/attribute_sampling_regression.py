"""Models of columns that stand in some reports only: which tables they need, and who holds them.

The scores of least squares are sums of products of two terms, so that every two columns of the
formula must have been asked for together somewhere, and no more. Those of other families hang on
all covariates at once, and on the response beside each term.

A score is a function f(t) of the true columns t that were reported. Few of its tables are needed:
that of least squares is a sum of products of two terms of the formula, so that pairs of columns say
all of it. With m_j any distribution of column j, M_j the mean over m_j and D_j = 1 - M_j,

    f = sum over sets T of columns of f_T,      f_T = D_T M_(all but T) f,

and f_T depends on the columns of T alone. It is 0 unless the model has a term that needs T. A
report y of a set S with retention p that holds T says about f_T

    (f_T(y) - (1 - p) times the mean of f_T over the cells of S) / p,

which has the mean f_T(t). The sets that hold T are averaged with weights N_S p_S**2, as tables are
(attribute_sampling_sums.py). Parts of different T are uncorrelated in what is noise, so that
averaging them one by one loses next to nothing; m_j are the shares of the released values.

For f without terms beyond the sets U of a family, f is told by its values where the columns outside
some U stand at a fixed value, their anchor [Kuo10]: with P_j that value,

    f_T = sum over U holding T of D_T (M - P)_(U without T) P_(all but U) f.

So no table of all columns is ever written out.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import pyarrow as pa

from pramana.analysis.formulas import (
    ModelAsked,
    ModelCells,
    columns_of,
    complete,
    stand_for_missing,
)
from pramana.analysis.records import ReleasedRecords
from pramana.base.text import counted
from pramana.engine.base import SumsAsked, sums_in
from pramana.errors import InvalidTable, NotCovered, TooLarge
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet
from pramana.mechanisms.transition import Label
from pramana.release.released_codes import stated_sets
from pramana.schema.codec import encode_released
from pramana.schema.joint_cells import cell_numbers
from pramana.schema.schema import REPORTED, Schema
from pramana.types import FloatArray, IntArray

Part = frozenset[int]


@dataclass(frozen=True, eq=False)
class Needs:
    """The columns of a model that were reported, and which of them its scores need together.

    Attributes:
        sizes: How many values each column has.
        together: The sets of columns, by their places, that some term needs together.
    """

    sizes: tuple[int, ...]
    together: tuple[Part, ...]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All that is contained in one of the sets, the empty one first."""
        found: dict[Part, None] = {frozenset(): None}
        for whole in sorted(self.together, key=sorted):
            for size in range(1, len(whole) + 1):
                found |= dict.fromkeys(map(frozenset, itertools.combinations(sorted(whole), size)))
        return tuple(sorted(found, key=lambda part: (len(part), sorted(part))))

    @property
    def count(self) -> int:
        """How many points there are."""
        return sum(prod(self.sizes[place] - 1 for place in part) for part in self.parts)

    @cached_property
    def points(self) -> IntArray:
        """The truths at which a score must be known, as codes of the columns: 0 is the anchor."""
        blocks = []
        for part in self.parts:
            shape = [self.sizes[place] - 1 for place in sorted(part)]
            block = np.zeros((prod(shape), len(self.sizes)), dtype=np.int64)
            block[:, sorted(part)] = 1 + np.indices(shape).reshape(len(shape), prod(shape)).T
            blocks.append(block)
        return np.concatenate(blocks)

    def part_of(self, part: Part, shares: Sequence[FloatArray]) -> FloatArray:
        """f_T as a combination of the values at the points: cells of T by points."""
        moved = self.points != 0
        found = np.zeros((prod(self.sizes[place] for place in part), len(self.points)))
        for whole in self.parts:
            if not part <= whole:
                continue
            outside = [place for place in range(len(self.sizes)) if place not in whole]
            factor = (~moved[:, outside].any(axis=1)).astype(np.float64)
            for place in whole - part:
                codes = self.points[:, place]
                factor = factor * (shares[place][codes] - (codes == 0))
            table = factor[None, :]
            for place in sorted(part):
                codes = self.points[:, place]
                own = np.eye(self.sizes[place])[:, codes] - shares[place][codes]
                table = (table[:, None, :] * own[None, :, :]).reshape(-1, len(codes))
            found += table
        return found


@dataclass(frozen=True, eq=False)
class ToldBySet:
    """One set of columns that was asked for.

    Attributes:
        columns: The places of the model's columns among them, in order.
        reports: How many reports there are.
        retention: Of its matrix.
        base: The share of the set's cells in each cell of these columns.
    """

    columns: tuple[int, ...]
    reports: float
    retention: float
    base: FloatArray

    @property
    def precision(self) -> float:
        """What it weighs beside other sets that hold the same."""
        return self.reports * self.retention**2


def rows_of_sets(
    needs: Needs, sets: Sequence[ToldBySet], shares: Sequence[FloatArray]
) -> list[FloatArray]:
    """For each set and each cell of it what a report says: a combination of values at the points.

    Summed over all reports, these combinations have the sum of f over all people as their mean.
    """
    kernels = {part: needs.part_of(part, shares) for part in needs.parts}
    records = sum(one.reports for one in sets)
    told = {
        part: sum(one.precision for one in sets if part <= set(one.columns)) for part in needs.parts
    }
    found = []
    for one in sets:
        shape = [needs.sizes[place] for place in one.columns]
        rows = np.repeat(kernels[frozenset()], prod(shape), axis=0)
        codes = np.indices(shape).reshape(len(shape), prod(shape))
        for part in needs.parts[1:]:
            if part <= set(one.columns) and told[part] > 0:
                at = np.zeros(codes.shape[1], dtype=np.int64)
                for place in sorted(part):
                    at = at * needs.sizes[place] + codes[one.columns.index(place)]
                own = kernels[part][at]
                own = own - (1 - one.retention) * (one.base @ own)
                rows += own * (records * one.retention / told[part])
        found.append(rows)
    return found


MOST_NUMBERS = 60_000_000
"""The largest table of what every report says about every truth."""


def cells_of_reports(
    records: ReleasedRecords, mechanism: AttributeSampler, asked: ModelAsked
) -> ModelCells:
    """What the reports say of the truths that a model needs to know."""
    inside = records.kept([c for c in asked.question.where if c.column in mechanism.columns])
    names = tuple(dict.fromkeys((*asked.changed, *inside)))
    table = _summed(records, mechanism, asked, names)
    schema = records.certificate.schema
    labels = [schema.column(name).labels for name in names]
    left_out = [_left_out(records, name, inside) for name in names]
    reports = _reports_by_set(table, mechanism, names, schema)
    told = [one.told for one in reports]
    masked = [bool(own) for own in left_out]
    together = _together(asked, names, masked)
    squares = any(len(one.columns) == len(names) for one in told)
    if squares and asked.question.infer == "records":
        together = [frozenset(range(len(names)))]
    needs = Needs(tuple(map(len, labels)), tuple(together))
    _require_held(asked, needs, names, told, masked)
    rows = sum(len(one.told.base) for one in reports)
    if rows * needs.count > MOST_NUMBERS:
        raise TooLarge(
            f"The model has {needs.count:,} truths to tell apart in {rows:,} cells of reports, "
            "which is more than can be served. Use fewer or coarser columns."
        )
    shares = [_released_shares(place, needs.sizes, reports) for place in range(len(names))]
    begins = np.cumsum([0, *(len(one.told.base) for one in reports)])
    row, draw = np.zeros(table.num_rows, dtype=np.int64), np.zeros(table.num_rows, dtype=np.int64)
    for number, one in enumerate(reports):
        row[one.rows], draw[one.rows] = begins[number] + one.cells, number
    truths = [
        tuple(
            None if own[code] in gone else own[code]
            for own, gone, code in zip(labels, left_out, point, strict=True)
        )
        for point in needs.points.tolist()
    ]
    undone = np.concatenate(rows_of_sets(needs, told, shares))
    errors = "robust standard errors" if squares else "robust standard errors, about the population"
    return ModelCells(table, names, truths, ((undone, row),), _basis(told), draw, squares, errors)


def _basis(told: Sequence[ToldBySet]) -> str:
    sets = sum(bool(one.columns) for one in told)
    used = sum(one.reports for one in told if one.columns)
    return (
        f"scores put together from the {used:,.0f} reports of "
        f"{counted(sets, 'set that holds', 'sets that hold')} columns of the model"
    )


def _summed(
    records: ReleasedRecords, mechanism: AttributeSampler, asked: ModelAsked, names: Sequence[str]
) -> pa.Table:
    """Sums by what was asked for, by its answer and by the columns kept."""
    question = asked.question
    records.require_without_noise([c.column for c in question.where])
    before = [c for c in question.where if c.column not in mechanism.columns]
    wanted = SumsAsked(
        tuple(dict.fromkeys((REPORTED, *names, *asked.kept))),
        value=asked.summed,
        weight=records.weight if question.weighted else None,
        where=records.with_values(before, [*asked.kept, asked.summed]),
    )
    table = records.summed(wanted)
    table = table.filter(pa.array(complete(table, asked.kept)))
    if not table.num_rows or not sums_in(table)["n"].sum():
        raise InvalidTable("No released record meets the filter. Loosen it.")
    return table


def _left_out(
    records: ReleasedRecords, name: str, inside: Mapping[str, tuple[Label, ...]]
) -> set[Label]:
    """The values of a column with which people are not in the model."""
    labels = records.certificate.schema.column(name).labels
    gone = {None, *stand_for_missing(records, name)} & set(labels)
    return gone | (set(labels) - set(inside[name]) if name in inside else set())


def _together(
    asked: ModelAsked, names: Sequence[str], masked: Sequence[bool]
) -> list[frozenset[int]]:
    """The columns that the scores need together.

    Who lacks a value, or does not meet the filter, is left out of every sum: columns by which that
    happens are needed everywhere.
    """
    place = {name: number for number, name in enumerate(names)}
    always = frozenset(itertools.compress(range(len(names)), masked))

    def reported(own: set[str]) -> frozenset[int]:
        return frozenset(place[name] for name in own if name in place) | always

    terms = list(dict.fromkeys(reported(columns_of([term])) for term in asked.model.right))
    response = reported(set(asked.model.response))
    if asked.family == "linear":
        products = [one | other for one in terms for other in terms]
    else:
        products = [frozenset().union(*terms)]
    found = dict.fromkeys([*products, *(response | own for own in terms)])
    return [own for own in found if not any(own < other for other in found)]


def _require_held(
    asked: ModelAsked,
    needs: Needs,
    names: Sequence[str],
    told: Sequence[ToldBySet],
    masked: Sequence[bool],
) -> None:
    """Refuse what no report tells."""
    for whole in needs.together:
        if whole and not any(whole <= set(one.columns) and one.precision > 0 for one in told):
            needed = " and ".join(names[place] for place in sorted(whole))
            always = [names[place] for place in whole if masked[place]]
            why = (
                f" Whoever lacks {' or '.join(always)}, or fails the filter, is left out of "
                "every sum, so that it is needed beside all others."
                if always and len(whole) > 2
                else " Least squares needs two columns at a time, other families all covariates."
            )
            raise NotCovered(
                f"This {asked.family} model needs {needed} together, and no report holds them."
                f"{why} Leave one of them out, or have the release made with this table among "
                "those asked for."
            )


@dataclass(frozen=True, eq=False)
class _Reports:
    """The reports of one set: its rows of the table, the cell of each, and how many of each."""

    told: ToldBySet
    rows: IntArray
    cells: IntArray
    counts: FloatArray


def _reports_by_set(
    table: pa.Table, mechanism: AttributeSampler, names: Sequence[str], schema: Schema
) -> list[_Reports]:
    """Sets that hold columns of the model, each by itself; all others together."""
    which = stated_sets(mechanism, table)
    people = sums_in(table)["n"]
    found, silent = [], np.ones(table.num_rows, dtype=np.bool_)
    for number, one in enumerate(mechanism.sets):
        places = tuple(place for place, name in enumerate(names) if name in one.columns)
        rows = np.flatnonzero(which == number)
        if not places or not len(rows):
            continue
        silent[rows] = False
        held = [names[place] for place in places]
        own = table.select(held).take(rows)
        columns = [schema.column(name) for name in held]
        codes = [encode_released(column, own.column(column.name)) for column in columns]
        cells = cell_numbers(codes, [len(column.labels) for column in columns])
        base = share_of_cells(one, held, schema)
        counts = np.bincount(cells, people[rows], len(base)).astype(np.float64)
        kept = float(one.matrix.retention)
        told = ToldBySet(places, float(counts.sum()), kept, base)
        found.append(_Reports(told, rows, cells, counts))
    rows = np.flatnonzero(silent)
    if len(rows):
        everyone = float(people[rows].sum())
        told = ToldBySet((), everyone, 1.0, np.ones(1))
        nothing = np.zeros(len(rows), dtype=np.int64)
        found.append(_Reports(told, rows, nothing, np.array([everyone])))
    return found


def _released_shares(place: int, sizes: Sequence[int], reports: Sequence[_Reports]) -> FloatArray:
    """The shares of a column's values as they were released, in all sets that hold it."""
    found: FloatArray = np.full(sizes[place], 1e-9)
    for one in reports:
        if place in one.told.columns:
            axis = one.told.columns.index(place)
            table = one.counts.reshape([sizes[own] for own in one.told.columns])
            found += np.moveaxis(table, axis, 0).reshape(sizes[place], -1).sum(axis=1)
    found /= found.sum()
    return found


def share_of_cells(
    one: AttributeSet,
    told: Sequence[str],
    schema: Schema,
    inside: Mapping[str, tuple[Label, ...]] | None = None,
) -> FloatArray:
    """The share of a set's cells that lies in each cell of some of its columns, and in a filter."""
    known = {
        name: {label: code for code, label in enumerate(schema.column(name).labels)}
        for name in one.columns
    }
    found: FloatArray = np.zeros(prod(len(known[name]) for name in told))
    for label in one.cells:
        cell = dict(zip(one.columns, label, strict=True))
        if all(cell[name] in allowed for name, allowed in (inside or {}).items()):
            place = 0
            for name in told:
                place = place * len(known[name]) + known[name][cell[name]]
            found[place] += 1
    found /= one.matrix.size
    return found
