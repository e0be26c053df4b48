"""Row and column percentages: shares among the records that agree in one column.

Shares within a value of a column are the shares of all records whose truth has that value. So each
row is a question of its own with a filter, which every reading answers with the error of a ratio.
Where the table itself is shrunk by what noise explains, so are its shares: they are those of the
table that the same release gives.

Shares beyond a number and quantiles of a column released unchanged, for every reading.

A share beyond a number is the mean of a column that is 1 where the value lies beyond it and 0 where
it does not: a reading that has means has these. Quantiles need the records in the order of their
values (pramana.analysis.quantiles).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from pramana.analysis.contrasts import Apart, SharesWithin
from pramana.analysis.estimates import Estimate
from pramana.analysis.layout import Layout
from pramana.analysis.quantiles import OrderedRecords
from pramana.analysis.question import CountMethod, Question, conditions_of
from pramana.analysis.records import Reading, ReleasedRecords
from pramana.engine.base import Condition, number_in, sums_in
from pramana.errors import InvalidNumber, InvalidTable
from pramana.mechanisms.mechanism import Mechanism
from pramana.mechanisms.transition import Label
from pramana.schema.domains import label_text
from pramana.schema.joint_cells import cell_numbers
from pramana.types import FloatArray

Share: TypeAlias = bool | Literal["total", "row", "column"]
"""No shares, shares of all records, or within the values of the first or the last column."""

SHARES: tuple[Share, ...] = (False, True, "total", "row", "column")

Normalize: TypeAlias = bool | Literal["all", "index", "columns"]
"""The same in the words of pandas."""

NORMALIZE: dict[Normalize, Share] = {
    False: False,
    True: True,
    "all": "total",
    "index": "row",
    "columns": "column",
}


def cross_table(
    reading: Reading,
    records: ReleasedRecords,
    question: Question,
    *,
    method: CountMethod,
    share: Share,
) -> Estimate:
    """Counts, or shares of all, of rows or of columns."""
    if share in ("row", "column"):
        return shares_within(reading, records, question, share, method=method)
    return filtered_counts(reading, records, question, method=method, share=bool(share))


def filtered_counts(
    reading: Reading,
    records: ReleasedRecords,
    question: Question,
    *,
    method: CountMethod,
    share: bool,
) -> Estimate:
    """Counts or shares by one estimator, whether a value is a cell of the table or a filter.

    Filters by values are cells of the table that has their columns as well. That table decides
    whether the estimate is shrunk, and gives the shrunken numbers; errors are the same anyway.
    """
    found = reading.counts(question, method=method, share=share)
    crossed = [c for c in question.where if records.crossable(c)]
    undone = found.method == "unbiased" or found.method in SHRUNKEN
    if not crossed or not undone or not records.changed(question.names) or method == "unbiased":
        return found
    columns = tuple(dict.fromkeys((*question.by, *(c.column for c in crossed))))
    others = tuple(c for c in question.where if c not in crossed)
    table = reading.counts(replace(question, by=columns, where=others), method=method, share=False)
    if table.method not in SHRUNKEN:
        if found.method == "unbiased":
            return found
        return reading.counts(question, method=reading.unbiased, share=share)
    estimate = _kept_cells(reading, records, question, table, crossed)
    # An unchanged column whose values are filtered has fewer labels than in the unfiltered table.
    places = [
        [all_labels.index(label) for label in labels]
        for all_labels, labels in zip(table.labels[: len(found.labels)], found.labels, strict=True)
    ]
    estimate = np.asarray(estimate[np.ix_(*places)], dtype=np.float64)
    if share:
        whole = float(estimate.sum())
        estimate = estimate / whole if whole > 0 else np.full_like(estimate, np.nan)
    assert found.unbiased is not None  # noqa: S101 - for the type checker
    return replace(found, method=table.method, why=table.why, estimate=estimate)


def _kept_cells(
    reading: Reading,
    records: ReleasedRecords,
    question: Question,
    table: Estimate,
    conditions: list[Condition],
) -> FloatArray:
    """The cells that a filter keeps, summed over the columns that are not asked for."""
    estimate = table.estimate
    for condition in conditions:
        at = table.by.index(condition.column)
        column = records.certificate.schema.column(condition.column)
        if column.randomised:
            kept = set(records.kept([condition])[column.name])
        else:
            alone = replace(question, by=(column.name,), where=(condition,))
            values = reading.counts(alone, method=reading.unbiased, share=False)
            kept = {
                label
                for label, count in zip(values.labels[0], values.estimate, strict=True)
                if count
            }
        shape = [1] * estimate.ndim
        shape[at] = -1
        inside = np.array([label in kept for label in table.labels[at]], dtype=np.float64)
        estimate = estimate * inside.reshape(shape)
    axes = tuple(at for at, name in enumerate(table.by) if name not in question.by)
    return np.asarray(estimate.sum(axis=axes), dtype=np.float64)


def shares_within(
    reading: Reading,
    records: ReleasedRecords,
    question: Question,
    share: Share,
    *,
    method: CountMethod,
) -> Estimate:
    """Shares that sum to one within each value of the first (``row``) or last column.

    Each row is a question with a filter, which gives its error; where the table is shrunk, the
    shares are those of the table.
    """
    if len(question.by) < 2:
        raise InvalidNumber(f"Shares by {share} are of a table of two columns or more.")
    place = 0 if share == "row" else len(question.by) - 1
    table = filtered_counts(reading, records, question, method=method, share=False)
    if table.method == MODELLED:  # which takes no filters, and tells no errors
        return replace(table, what=_within(question, place), estimate=_shares_of(table, place))
    margin = replace(question, by=(question.by[place],))
    whole = reading.counts(margin, method=reading.unbiased, share=False)
    labels, level = whole.labels[0], question.level
    if question.simultaneous:  # all rows together [Sidak], then all cells of a row together
        level = level ** (1 / max(len(labels), 1))
    rest = tuple(name for at, name in enumerate(question.by) if at != place)
    rows = [
        _row(reading, replace(question, by=rest, level=level), question.by[place], label)
        for label in labels
    ]
    found = _stacked(rows, question, place, whole, table.records)
    if table.method in SHRUNKEN and table.labels == found.labels:
        why = f"shares of the table; {table.why}"
        found = replace(found, method=table.method, why=why, estimate=_shares_of(table, place))
    counts = table.together
    if counts is None or isinstance(counts, Apart) or table.labels != found.labels:
        return replace(found, together=None)
    return replace(found, together=SharesWithin(counts, place))


def _shares_of(table: Estimate, place: int) -> FloatArray:
    """The shares of a table of counts within the values of one column."""
    counts = np.moveaxis(table.estimate, place, 0)
    whole = counts.reshape(len(counts), -1).sum(axis=1).reshape(-1, *[1] * (counts.ndim - 1))
    shares = np.divide(counts, whole, out=np.full(counts.shape, np.nan), where=whole > 0)
    return np.moveaxis(shares, 0, place)


def _within(question: Question, place: int) -> str:
    return f"share within {question.by[place]}"


SHRUNKEN = ("clipped", "shrunk")
"""Methods whose estimates are not the unbiased ones."""

MODELLED = "model"
"""The method of tables that no report holds."""


def _row(reading: Reading, question: Question, name: str, label: Label) -> Estimate | None:
    """The shares within one value; none where nobody has it."""
    inside = Condition(name, "=", (label,))
    try:
        return reading.counts(
            replace(question, where=(*question.where, inside)),
            method=reading.unbiased,
            share=True,
        )
    except InvalidTable:
        return None


def _stacked(
    rows: list[Estimate | None],
    question: Question,
    place: int,
    whole: Estimate,
    records: int,
) -> Estimate:
    """The rows as one table.

    Where its values are randomised each row is estimated from all of the records, so that those of
    the table are counted and not those of its rows. Of a value that nobody has by the estimate,
    while some may, every share is possible.
    """
    anyone = np.nan_to_num(whole.high, nan=0.0) > 0
    found = [row for row in rows if row is not None]
    if not found:
        raise InvalidTable("No released record meets the filter. Loosen it.")
    others = _all_labels(found)

    def stack(figure: str, *, nobody: float = np.nan) -> FloatArray:
        parts = [
            _spread(row, figure, others, nobody if some else np.nan)
            for row, some in zip(rows, anyone, strict=True)
        ]
        return np.stack(parts, axis=place)

    return replace(
        found[0],
        by=question.by,
        labels=(*others[:place], whole.labels[0], *others[place:]),
        what=_within(question, place),
        method=", ".join(dict.fromkeys(row.method for row in found)),
        why=f"one question for each value of {question.by[place]}; {found[0].why}",
        level=question.level,
        estimate=stack("estimate"),
        unbiased=stack("unbiased"),
        se=stack("se"),
        low=stack("low", nobody=0.0),
        high=stack("high", nobody=1.0),
        records=records,
    )


def _all_labels(rows: list[Estimate]) -> list[tuple[Label, ...]]:
    """The labels of each column in any row; a column without a domain lists what it finds."""
    found = []
    for at, first in enumerate(rows[0].labels):
        every = dict.fromkeys(label for row in rows for label in row.labels[at])
        if len(every) == len(first):
            found.append(first)
        else:
            found.append(tuple(sorted(every, key=lambda label: (label is None, label))))
    return found


def _spread(
    row: Estimate | None, figure: str, labels: list[tuple[Label, ...]], nobody: float
) -> FloatArray:
    """The figures of a row among all labels; 0 for those that it does not have."""
    shape = [len(own) for own in labels]
    if row is None:
        return np.full(shape, nobody)
    places = [
        [own.index(label) for label in have] for own, have in zip(labels, row.labels, strict=True)
    ]
    whole = np.zeros(shape)
    whole[np.ix_(*places)] = getattr(row, figure)
    return whole


def beyond_of(text: str) -> Condition:
    """``income>=50000``: a column compared with one finite number."""
    (found,) = conditions_of([text])
    if found.comparison == "!=" or len(found.values) != 1:
        raise InvalidNumber(
            f"A share beyond a number must read like income>=50000 or income<0, got {text!r}."
        )
    if not np.isfinite(number_in(label_text(found.values[0]), found.column)):
        raise InvalidNumber(f"A share beyond a number needs a finite number, got {text!r}.")
    return found


def proportion(reading: Reading, question: Question, beyond: Condition) -> Estimate:
    """The mean of 1 where the value lies beyond the number; cut where no share can lie."""
    found = reading.values(replace(question, beyond=beyond), beyond.column, total=False)
    limit = label_text(beyond.values[0])
    return replace(
        found,
        what=f"share with {beyond.column} {beyond.comparison} {limit}",
        estimate=np.clip(found.estimate, 0.0, 1.0) if found.method == "shrunk" else found.estimate,
        low=np.clip(found.low, 0.0, 1.0),
        high=np.clip(found.high, 0.0, 1.0),
    )


def ordered_records(
    records: ReleasedRecords, mechanism: Mechanism, question: Question, of: str
) -> tuple[OrderedRecords, Layout]:
    """The records in the order of a column of numbers, and the axes of their cells."""
    records.require_number(of)
    cells = records.cells(question, mechanism, also=[of])
    layout, table = cells.layout, cells.table
    places = layout.positions([cells.codes[name] for name in layout.columns])
    flat = cell_numbers(places, layout.shape, records=table.num_rows)
    sums = sums_in(table)
    ordered = OrderedRecords.of(_numbers(table, of), flat, sums["n"], sums["w"], sums["ww"])
    return ordered, layout


def _numbers(table: pa.Table, name: str) -> FloatArray:
    column = table.column(name).cast(pa.float64(), safe=False).fill_null(np.nan)
    return np.asarray(column.to_numpy(), dtype=np.float64)
