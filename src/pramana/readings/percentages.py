"""Row and column percentages: shares among the records that agree in one column.

Shares within a value of a column are the shares of all records whose truth has that value. So each
row is a question of its own with a filter, which every reading answers with the error of a ratio.
Where the table itself is shrunk by what noise explains, so are its shares: they are those of the
table that the same release gives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from pramana.engines.sums import Condition
from pramana.errors import InvalidNumber, InvalidTable
from pramana.estimation.contrasts import Apart, SharesWithin, VaryTogether
from pramana.estimation.counts import CountMethod
from pramana.estimation.results import Estimate
from pramana.matrices.transition import Label
from pramana.readings.base import Asked, Reading
from pramana.types import FloatArray

__all__ = ["SHARES", "Share", "shares_within"]

Share: TypeAlias = bool | Literal["total", "row", "column"]
"""No shares, shares of all records, or within the values of the first or the last column."""

SHARES: tuple[Share, ...] = (False, True, "total", "row", "column")


def shares_within(reading: Reading, asked: Asked, share: Share, *, method: CountMethod) -> Estimate:
    """Shares that sum to one within each value of the first (``row``) or last column."""
    if len(asked.by) < 2:
        raise InvalidNumber(f"Shares by {share} are of a table of two columns or more.")
    place = 0 if share == "row" else len(asked.by) - 1
    table = reading.counts(asked, method=method, share=False)
    if table.method == MODELLED:  # which takes no filters, and tells no errors
        return replace(table, what=_within(asked, place), estimate=_shares_of(table, place))
    whole = reading.counts(replace(asked, by=(asked.by[place],)), method=method, share=False)
    labels, question = whole.labels[0], asked.question
    if question.simultaneous:  # all rows together [Sidak], then all cells of a row together
        question = replace(question, level=question.level ** (1 / max(len(labels), 1)))
    rest = tuple(name for at, name in enumerate(asked.by) if at != place)
    rows = [
        _row(reading, replace(asked, by=rest, question=question), asked.by[place], label, method)
        for label in labels
    ]
    found = _of_table(_stacked(rows, asked, place, whole, table.records), table, place)
    together = _together(reading, asked, place, table if method == reading.unbiased else None)
    known = together is not None and together.unbiased.shape == found.estimate.shape
    return replace(found, together=together if known else None)


def _of_table(found: Estimate, table: Estimate, place: int) -> Estimate:
    """Shares of the shrunken table, errors of the unbiased ones; intervals take them in."""
    if table.method not in SHRUNKEN or table.labels != found.labels:
        return found
    estimate = _shares_of(table, place)
    return replace(
        found,
        method=table.method,
        why=f"shares of the table; {table.why}",
        estimate=estimate,
        low=np.fmin(found.low, estimate),
        high=np.fmax(found.high, estimate),
    )


def _shares_of(table: Estimate, place: int) -> FloatArray:
    """The shares of a table of counts within the values of one column."""
    counts = np.moveaxis(table.estimate, place, 0)
    whole = counts.reshape(len(counts), -1).sum(axis=1).reshape(-1, *[1] * (counts.ndim - 1))
    shares = np.divide(counts, whole, out=np.full(counts.shape, np.nan), where=whole > 0)
    return np.moveaxis(shares, 0, place)


def _within(asked: Asked, place: int) -> str:
    return f"share within {asked.by[place]}"


SHRUNKEN = ("clipped", "em", "shrunk")
"""Methods whose estimates are not the unbiased ones."""

MODELLED = "model"
"""The method of tables that no report holds."""


def _together(
    reading: Reading, asked: Asked, place: int, table: Estimate | None
) -> VaryTogether | None:
    """How the shares vary together: by the counts that they are made of, where they are there."""
    if table is None:
        table = reading.counts(asked, method=reading.unbiased, share=False)
    counts = table.together
    return None if counts is None or isinstance(counts, Apart) else SharesWithin(counts, place)


def _row(
    reading: Reading, asked: Asked, name: str, label: Label, method: CountMethod
) -> Estimate | None:
    """The shares within one value; none where nobody has it."""
    own = Condition(name, "=", (label,))
    try:
        return reading.counts(replace(asked, where=(*asked.where, own)), method=method, share=True)
    except InvalidTable:
        return None


def _stacked(
    rows: list[Estimate | None],
    asked: Asked,
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
        by=asked.by,
        labels=(*others[:place], whole.labels[0], *others[place:]),
        what=_within(asked, place),
        method=", ".join(dict.fromkeys(row.method for row in found)),
        why=f"one question for each value of {asked.by[place]}; {found[0].why}",
        level=asked.question.level,
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
