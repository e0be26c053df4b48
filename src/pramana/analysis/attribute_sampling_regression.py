"""Regressions from attribute sampling, where each record reports some columns only.

A score is a function f(t) of the original values t of the reported columns. Few of its tables are
needed: the function of least squares is a sum of products of two terms of the formula, so that
every two columns must be reported together somewhere, and no more. Scores of other families depend
on all covariates at once, and on the response with each term; ordered models on all of them at
once.

With m_j any distribution of column j, M_j the mean over m_j and D_j = 1 - M_j,

    f = sum over sets T of columns of f_T,      f_T = D_T M_(all but T) f,

and f_T depends on the columns of T alone. It is 0 unless the model has a term that needs T. From a
report y of a set S with retention p that holds T, f_T is estimated by

    (f_T(y) - (1 - p) times the mean of f_T over the cells of S) / p,

which has the mean f_T(t). The sets that hold T are averaged with weights N_S p_S**2, as tables are
(attribute_sampling_sums.py). The noise of parts of different T is uncorrelated, so that averaging
them one by one loses next to nothing; m_j are the shares of the released values.

For f without terms beyond the sets U of a family, f is given by its values where the columns
outside some U have a fixed value, their anchor [Kuo10]: with P_j that value,

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
)
from pramana.analysis.released_records import ReleasedRecords
from pramana.base.text import counted
from pramana.base.translation import gettext
from pramana.engine.base import SumsAsked, sums_in
from pramana.errors import InvalidTable, NotCovered, TooLarge
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet, stated_sets
from pramana.mechanisms.transition import Label
from pramana.schema.codec import encode_released
from pramana.schema.joint_cells import cell_codes, cell_numbers
from pramana.schema.schema import REPORTED, Schema
from pramana.types import FloatArray, IntArray

Part = frozenset[int]


@dataclass(frozen=True, eq=False)
class Needs:
    """The reported columns of a model, and which of them its scores need together.

    Attributes:
        sizes: The number of values of each column.
        together: The sets of columns, by their places, that some term needs together.
    """

    sizes: tuple[int, ...]
    together: tuple[Part, ...]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All subsets of one of the sets, the empty one first."""
        parts = {
            frozenset(part)
            for whole in self.together
            for size in range(len(whole) + 1)
            for part in itertools.combinations(sorted(whole), size)
        }
        return tuple(sorted({frozenset(), *parts}, key=lambda part: (len(part), sorted(part))))

    @property
    def count(self) -> int:
        """The number of points."""
        return sum(prod(self.sizes[place] - 1 for place in part) for part in self.parts)

    @cached_property
    def points(self) -> IntArray:
        """The values at which a score must be known, as codes of the columns: 0 is the anchor."""
        blocks = []
        for part in self.parts:
            shape = [self.sizes[place] - 1 for place in sorted(part)]
            block = np.zeros((prod(shape), len(self.sizes)), dtype=np.int64)
            block[:, sorted(part)] = 1 + np.indices(shape).reshape(len(shape), prod(shape)).T
            blocks.append(block)
        return np.concatenate(blocks)

    def kernel(self, part: Part, shares: Sequence[FloatArray]) -> FloatArray:
        """f_T as a combination of the values at the points: cells of T by points."""
        moved = self.points != 0
        total = np.zeros((prod(self.sizes[place] for place in part), len(self.points)))
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
                centred = np.eye(self.sizes[place])[:, codes] - shares[place][codes]
                table = (table[:, None, :] * centred[None, :, :]).reshape(-1, len(codes))
            total += table
        return total


@dataclass(frozen=True, eq=False)
class ReportedSet:
    """The reports of one attribute set.

    Attributes:
        columns: The places of the model's columns among them, in order.
        reports: The number of reports.
        retention: The retention of its matrix.
        base: The share of the set's cells in each cell of these columns.
    """

    columns: tuple[int, ...]
    reports: float
    retention: float
    base: FloatArray

    @property
    def precision(self) -> float:
        """Its weight among sets that hold the same columns."""
        return self.reports * self.retention**2


def rows_of_sets(
    needs: Needs, sets: Sequence[ReportedSet], shares: Sequence[FloatArray]
) -> list[FloatArray]:
    """For each set and each cell of it the score of a report, by the values at the points.

    Summed over all reports, these combinations have the sum of f over all people as their mean.
    """
    kernels = {part: needs.kernel(part, shares) for part in needs.parts}
    records = sum(s.reports for s in sets)
    precision = {
        part: sum(s.precision for s in sets if part <= set(s.columns)) for part in needs.parts
    }
    rows_by_set = []
    for one_set in sets:
        shape = [needs.sizes[place] for place in one_set.columns]
        rows = np.repeat(kernels[frozenset()], prod(shape), axis=0)
        codes = np.indices(shape).reshape(len(shape), prod(shape))
        for part in needs.parts[1:]:
            if part <= set(one_set.columns) and precision[part] > 0:
                at = np.zeros(codes.shape[1], dtype=np.int64)
                for place in sorted(part):
                    at = at * needs.sizes[place] + codes[one_set.columns.index(place)]
                kernel = kernels[part][at]
                kernel = kernel - (1 - one_set.retention) * (one_set.base @ kernel)
                rows += kernel * (records * one_set.retention / precision[part])
        rows_by_set.append(rows)
    return rows_by_set


def cells_of_reports(
    records: ReleasedRecords, mechanism: AttributeSampler, asked: ModelAsked
) -> ModelCells:
    """The reports by cells, and their scores at the points that a model needs."""
    inside = records.kept([c for c in asked.question.where if c.column in mechanism.columns])
    names = tuple(dict.fromkeys((*asked.changed, *inside)))
    table = _summed(records, mechanism, asked, names)
    schema = records.certificate.schema
    labels = [schema.column(name).labels for name in names]
    left_out = []  # values with which people are not in the model
    for name, known in zip(names, labels, strict=True):
        gone = {None, *schema.column(name).labels_for_missing} & set(known)
        left_out.append(gone | (set(known) - set(inside.get(name, known))))
    sets, cells, set_of_row, shares = _reports_by_set(table, mechanism, names, schema)
    together = _together(asked, names, [bool(gone) for gone in left_out])
    squares = any(len(s.columns) == len(names) for s in sets)
    if squares and asked.question.infer == "records":
        together = [frozenset(range(len(names)))]
    needs = Needs(tuple(map(len, labels)), tuple(together))
    _require_held(asked, needs, names, sets, [bool(gone) for gone in left_out])
    begins = np.cumsum([0, *(len(s.base) for s in sets)])
    if begins[-1] * needs.count > 60_000_000:
        raise TooLarge(
            "The model has {count:,} combinations of values in {cells:,} cells of attribute "
            "sets, which is too many. Use fewer or coarser columns.",
            count=needs.count,
            cells=begins[-1],
        )
    truths = [
        tuple(
            None if known[code] in gone else known[code]
            for known, gone, code in zip(labels, left_out, point, strict=True)
        )
        for point in needs.points.tolist()
    ]
    undone = np.concatenate(rows_of_sets(needs, sets, shares))
    errors = (
        gettext("robust standard errors")
        if squares
        else gettext("robust standard errors, about the population")
    )
    used = [s for s in sets if s.columns]
    basis = gettext(
        "scores combined from the {total:,.0f} records that report columns of the model ({sets})",
        total=sum(s.reports for s in used),
        sets=counted(len(used), "attribute set"),
    )
    rows = begins[set_of_row] + cells
    return ModelCells(table, names, truths, ((undone, rows),), basis, set_of_row, squares, errors)


def _summed(
    records: ReleasedRecords, mechanism: AttributeSampler, asked: ModelAsked, names: Sequence[str]
) -> pa.Table:
    """Sums by reported set, by its answer and by the unchanged columns."""
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


def _together(
    asked: ModelAsked, names: Sequence[str], masked: Sequence[bool]
) -> list[frozenset[int]]:
    """The columns that the scores need together.

    A record without a value, or outside the filter, is left out of every sum: columns by which that
    happens are needed everywhere.
    """
    place = {name: number for number, name in enumerate(names)}
    always = frozenset(itertools.compress(range(len(names)), masked))

    def reported(columns: set[str]) -> frozenset[int]:
        return frozenset(place[name] for name in columns if name in place) | always

    terms = list(dict.fromkeys(reported(columns_of([term])) for term in asked.model.right))
    response = reported(set(asked.model.response))
    if asked.family == "linear":
        products = [left | right for left in terms for right in terms]
    else:
        everything = [*terms, response] if asked.family == "ordered" else terms
        products = [frozenset().union(*everything)]
    needed = dict.fromkeys([*products, *(response | term for term in terms)])
    return [part for part in needed if not any(part < other for other in needed)]


def _require_held(
    asked: ModelAsked,
    needs: Needs,
    names: Sequence[str],
    sets: Sequence[ReportedSet],
    masked: Sequence[bool],
) -> None:
    """Refuse a model that needs columns together which no set holds."""
    for whole in needs.together:
        if whole and not any(whole <= set(s.columns) and s.precision > 0 for s in sets):
            needed = " and ".join(names[place] for place in sorted(whole))
            always = [names[place] for place in whole if masked[place]]
            why = (
                f" Records without {' or '.join(always)}, and records that the filter excludes, "
                "are left out of every sum, so every attribute set needs these columns."
                if always and len(whole) > 2
                else " Least squares needs two columns at a time, other families all covariates, "
                "ordered models the response as well."
            )
            raise NotCovered(
                "This {family} model needs {needed} together, and no attribute set contains "
                "them.{why} Leave one of them out, or have the release made with this table among "
                "those asked for.",
                family=asked.family,
                needed=needed,
                why=why,
            )


def _reports_by_set(
    table: pa.Table, mechanism: AttributeSampler, names: Sequence[str], schema: Schema
) -> tuple[list[ReportedSet], IntArray, IntArray, list[FloatArray]]:
    """The sets that hold columns of the model, and one for all others together.

    Then the cell and the set of each row of the table, and the released shares of the values of
    each column.
    """
    which = stated_sets(mechanism, table)
    people = sums_in(table)["n"]
    sizes = [len(schema.column(name).labels) for name in names]
    shares: list[FloatArray] = [np.full(size, 1e-9) for size in sizes]
    cells = np.zeros(table.num_rows, dtype=np.int64)
    set_of_row = np.full(table.num_rows, -1, dtype=np.int64)
    sets: list[ReportedSet] = []
    for number, attributes in enumerate(mechanism.sets):
        places = tuple(place for place, name in enumerate(names) if name in attributes.columns)
        rows = np.flatnonzero(which == number)
        if not places or not len(rows):
            continue
        held = [names[place] for place in places]
        reports = table.select(held).take(rows)
        codes = [encode_released(schema.column(name), reports.column(name)) for name in held]
        shape = [sizes[place] for place in places]
        cells[rows], set_of_row[rows] = cell_numbers(codes, shape), len(sets)
        base = share_of_cells(attributes, held, schema)
        counts = np.bincount(cells[rows], people[rows], len(base)).astype(np.float64)
        for axis, place in enumerate(places):
            by_value = np.moveaxis(counts.reshape(shape), axis, 0).reshape(sizes[place], -1)
            shares[place] += by_value.sum(axis=1)
        retention = float(attributes.matrix.retention)
        sets.append(ReportedSet(places, float(counts.sum()), retention, base))
    others = set_of_row < 0
    if others.any():
        set_of_row[others] = len(sets)
        sets.append(ReportedSet((), float(people[others].sum()), 1.0, np.ones(1)))
    return sets, cells, set_of_row, [share / share.sum() for share in shares]


def share_of_cells(
    attributes: AttributeSet,
    names: Sequence[str],
    schema: Schema,
    inside: Mapping[str, tuple[Label, ...]] | None = None,
) -> FloatArray:
    """The share of a set's cells in each cell of some of its columns, and in a filter."""
    labels = {name: schema.column(name).labels for name in attributes.columns}
    codes = dict(zip(labels, cell_codes(list(labels.values()), attributes.cells), strict=True))
    number = len(attributes.cells)
    inside_filter = np.ones(number, dtype=bool)
    for name, allowed in (inside or {}).items():
        inside_filter &= np.isin(codes[name], [labels[name].index(label) for label in allowed])
    shape = [len(labels[name]) for name in names]
    cells = cell_numbers([codes[name] for name in names], shape, records=number)
    return np.bincount(cells, inside_filter, prod(shape)) / attributes.matrix.size
