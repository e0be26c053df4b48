"""Counts and shares of a cross table, shares within rows and columns, and shares beyond a number.

Shares within a value of a column are the shares of all records whose original value it is: each row
is a question with a filter, which every reading answers with the error of a ratio. Where the table
is shrunk, so are its shares. A share beyond a number is the mean of a column that is 1 where the
value lies beyond it and 0 where it does not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from pramana.analysis.estimates import SHRUNK_FIGURES, Estimate
from pramana.analysis.features import numbers_of
from pramana.analysis.layout import Layout
from pramana.analysis.quantiles import OrderedRecords
from pramana.analysis.question import CountMethod, Question, conditions_of
from pramana.analysis.released_records import Reading, ReleasedRecords
from pramana.analysis.variance import errors_of_shares
from pramana.base.translation import gettext
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

SHRUNKEN = ("clipped", "shrunk")
"""Methods whose estimates are not the unbiased ones."""


def cross_table(
    reading: Reading, question: Question, *, method: CountMethod, share: Share
) -> Estimate:
    """Counts, shares of all, or shares that sum to one within the first or the last column."""
    if share not in ("row", "column"):
        return _filtered_counts(reading, question, method=method, share=bool(share))
    if len(question.by) < 2:
        raise InvalidNumber("Shares by {share} are of a table of two columns or more.", share=share)
    place = 0 if share == "row" else len(question.by) - 1
    name, what = question.by[place], f"share within {question.by[place]}"
    table = _filtered_counts(reading, question, method=method, share=False)
    if table.method == "model":  # which takes no filters, and has no errors
        return replace(table, what=what, estimate=_shares_of(table, place))
    whole = reading.counts(replace(question, by=(name,)), method=reading.unbiased, share=False)
    level = question.level
    if question.simultaneous:  # all rows together [Sidak], then all cells of a row together
        level = level ** (1 / max(len(whole.labels[0]), 1))
    rest = replace(question, by=tuple(n for n in question.by if n != name), level=level)
    rows: list[Estimate | None] = []
    for label in whole.labels[0]:
        row = replace(rest, where=(*rest.where, Condition(name, "=", (label,))))
        try:
            rows.append(reading.counts(row, method=reading.unbiased, share=True))
        except InvalidTable:  # nobody has it
            rows.append(None)
    shares = _stacked(rows, question, place, whole)
    shares = replace(shares, what=what, records=table.records)
    same = table.labels == shares.labels
    if same and table.method in SHRUNKEN:
        why = gettext("shares of the table; {why}", why=table.why)
        shares = replace(shares, method=table.method, why=why, estimate=_shares_of(table, place))
    return replace(shares, together=errors_of_shares(table.together, place) if same else None)


def _filtered_counts(
    reading: Reading, question: Question, *, method: CountMethod, share: bool
) -> Estimate:
    """Counts or shares by one estimator, whether a value is a cell of the table or a filter.

    Filters by values are cells of the table that has their columns as well. That table decides
    whether the estimate is shrunk, and gives the shrunken numbers; errors are the same anyway.
    """
    counts, records = reading.counts(question, method=method, share=share), reading.records
    crossed = [c for c in question.where if records.crossable(c)]
    undone = counts.method == "unbiased" or counts.method in SHRUNKEN
    if not crossed or not undone or not records.changed(question.names) or method == "unbiased":
        return counts
    columns = tuple(dict.fromkeys((*question.by, *(c.column for c in crossed))))
    others = tuple(c for c in question.where if c not in crossed)
    table = reading.counts(replace(question, by=columns, where=others), method=method, share=False)
    if table.method not in SHRUNKEN:
        if counts.method == "unbiased":
            return counts
        return reading.counts(question, method=reading.unbiased, share=share)
    estimate = table.estimate
    for condition in crossed:
        at = columns.index(condition.column)
        kept = _kept_labels(reading, question, condition)
        inside = np.array([label in kept for label in table.labels[at]], dtype=np.float64)
        estimate = estimate * inside.reshape(
            [-1 if axis == at else 1 for axis in range(len(columns))]
        )
    estimate = estimate.sum(axis=tuple(range(len(question.by), len(columns))))
    # An unchanged column whose values are filtered has fewer labels than in the unfiltered table.
    places = [
        [every.index(label) for label in labels]
        for every, labels in zip(table.labels, counts.labels, strict=False)
    ]
    estimate = np.asarray(estimate[np.ix_(*places)], dtype=np.float64)
    if share:
        whole = float(estimate.sum())
        estimate = estimate / whole if whole > 0 else np.full_like(estimate, np.nan)
    return replace(counts, method=table.method, why=table.why, estimate=estimate)


def _kept_labels(reading: Reading, question: Question, condition: Condition) -> set[Label]:
    """The labels that a filter keeps; of an unchanged column those that some record has."""
    name, records = condition.column, reading.records
    if records.certificate.schema.column(name).randomised:
        return set(records.kept([condition])[name])
    alone = replace(question, by=(name,), where=(condition,))
    values = reading.counts(alone, method=reading.unbiased, share=False)
    return {label for label, count in zip(values.labels[0], values.estimate, strict=True) if count}


def _shares_of(table: Estimate, place: int) -> FloatArray:
    """The shares of a table of counts within the values of one column."""
    axes = tuple(axis for axis in range(table.estimate.ndim) if axis != place)
    whole = np.broadcast_to(table.estimate.sum(axis=axes, keepdims=True), table.estimate.shape)
    shares: FloatArray = np.full(whole.shape, np.nan)
    np.divide(table.estimate, whole, out=shares, where=whole > 0)
    return shares


def _stacked(
    rows: list[Estimate | None], question: Question, place: int, whole: Estimate
) -> Estimate:
    """The rows as one table.

    Of a value that nobody has by the estimate, but some may have, every share is possible.
    """
    present = [row for row in rows if row is not None]
    if not present:
        raise InvalidTable("No released record meets the filter. Loosen it.")
    others = []
    for at, labels in enumerate(present[0].labels):  # a column without a domain lists what occurs
        every = dict.fromkeys(label for row in present for label in row.labels[at])
        in_order = sorted(every, key=lambda label: (label is None, label))
        others.append(labels if len(every) == len(labels) else tuple(in_order))
    shape = [len(rows), *map(len, others)]
    figures: dict[str, Any] = {figure: np.zeros(shape) for figure in SHRUNK_FIGURES}
    for at, row in enumerate(rows):
        ends = {"low": 0.0, "high": 1.0} if whole.high[at] > 0 else {}
        places = [
            [every.index(label) for label in labels]
            for every, labels in zip(others, row.labels if row is not None else others, strict=True)
        ]
        for figure, table in figures.items():
            value = getattr(row, figure) if row is not None else ends.get(figure, np.nan)
            table[at][np.ix_(*places)] = value
    return replace(
        present[0],
        by=question.by,
        labels=(*others[:place], whole.labels[0], *others[place:]),
        method=", ".join(dict.fromkeys(row.method for row in present)),
        why=gettext(
            "estimated for each value of {column}; {why}",
            column=question.by[place],
            why=present[0].why,
        ),
        level=question.level,
        **{figure: np.moveaxis(table, 0, place) for figure, table in figures.items()},
    )


def beyond_of(text: str) -> Condition:
    """``income>=50000``: a column compared with one finite number."""
    (condition,) = conditions_of([text])
    if condition.comparison == "!=" or len(condition.values) != 1:
        raise InvalidNumber(
            "A share beyond a number must read like income>=50000 or income<0, got {text!r}.",
            text=text,
        )
    if not np.isfinite(number_in(label_text(condition.values[0]), condition.column)):
        raise InvalidNumber(
            "A share beyond a number needs a finite number, got {text!r}.", text=text
        )
    return condition


def proportion(reading: Reading, question: Question, beyond: Condition) -> Estimate:
    """The mean of 1 where the value lies beyond the number; cut where no share can lie."""
    mean = reading.values(replace(question, beyond=beyond), beyond.column, total=False)
    limit = label_text(beyond.values[0])
    return replace(
        mean,
        what=gettext(
            "share with {column} {comparison} {limit}",
            column=beyond.column,
            comparison=beyond.comparison,
            limit=limit,
        ),
        estimate=np.clip(mean.estimate, 0.0, 1.0) if mean.method == "shrunk" else mean.estimate,
        low=np.clip(mean.low, 0.0, 1.0),
        high=np.clip(mean.high, 0.0, 1.0),
    )


def ordered_records(
    records: ReleasedRecords, mechanism: Mechanism, question: Question, of: str
) -> tuple[OrderedRecords, Layout]:
    """The records in the order of a column of numbers, and the axes of their cells."""
    records.require_number(of)
    cells = records.cells(question, mechanism, also=[of])
    places = cells.layout.positions([cells.codes[name] for name in cells.layout.columns])
    flat = cell_numbers(places, cells.layout.shape, records=cells.table.num_rows)
    sums, values = sums_in(cells.table), numbers_of(cells.table.column(of))
    return OrderedRecords.of(values, flat, sums["n"], sums["w"], sums["ww"]), cells.layout
