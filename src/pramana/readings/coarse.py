"""Numbers that left coarser than they were: in bins, cut at the ends, rounded.

What stands for a bin, its centre or a number drawn inside it, is in the right bin and nothing more.
Shares at the edges of bins are exact; a mean, a total or a quantile may be off by as much as bins
are wide, and a number between two edges divides people whom the release does not tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pramana.engines.sums import Condition
from pramana.errors import NotCovered
from pramana.table.domains import Bins, label_text
from pramana.table.recoding import Recoding
from pramana.table.schema import Column, Schema

if TYPE_CHECKING:
    from pramana.estimation.results import Estimate

__all__ = ["of_values", "recoded_words", "require_told", "require_values"]

MOST = 6


def require_told(schema: Schema, conditions: Iterable[Condition]) -> None:
    """Refuse comparisons that divide what the release does not tell apart."""
    for condition in conditions:
        if condition.comparison in ("=", "!=") or condition.column not in schema.names:
            continue
        column = schema.column(condition.column)
        try:
            limit = float(label_text(condition.values[0]))
        except ValueError:
            continue  # no number: refused by who compares
        if column.binned and isinstance(column.domain, Bins):
            _require_edge(column.name, column.domain.edges, limit, condition.comparison)
        elif not column.randomised:
            _require_within(column, limit, condition.comparison)


def _require_edge(name: str, edges: Sequence[float], limit: float, comparison: str) -> None:
    """Bins hold their lower edge, the last one both: at any other number people are mixed."""
    last = edges[-1]
    beyond = limit < edges[0] or limit > last
    inner = limit in edges[:-1] and comparison in (">=", "<")
    if not (beyond or inner or (limit == last and comparison in (">", "<="))):
        shown = ", ".join(label_text(edge) for edge in edges[:MOST])
        more = ", ..." if len(edges) > MOST else ""
        raise NotCovered(
            f"'{name}' was released in bins, which tells who lies below an edge and who does not: "
            f"compare it by >= or < with one of {shown}{more}.",
            column=name,
        )


def _require_within(column: Column, limit: float, comparison: str) -> None:
    """All beyond where values were cut have the same one."""
    top, bottom = column.recoding.top, column.recoding.bottom
    above = top is not None and (limit > top or (limit == top and comparison in (">", "<=")))
    below = bottom is not None and (
        limit < bottom or (limit == bottom and comparison in ("<", ">="))
    )
    if above or below:
        done = _cut(column.recoding).sentence()
        raise NotCovered(
            f"'{column.name}' left recoded ({done}): who lies beyond cannot be told apart. Compare "
            "it with a number inside.",
            column=column.name,
        )


def of_values(found: Estimate, column: Column) -> Estimate:
    """A number made of the values of a column: without an error where they are those of bins."""
    if column.binned and isinstance(column.domain, Bins):
        stands = "a number drawn in each bin" if column.drawn else "the centre of each bin"
        unknown = np.full(found.estimate.shape, math.nan)
        return replace(
            found,
            method="as released",
            why=f"{stands} stands for the values in it.",
            se=unknown,
            low=unknown,
            high=unknown,
            together=None,
            no_interval=f"'{column.name}' left in bins, and its values may lie anywhere in them. "
            f"Ask for shares of the bins: by {column.name}, or >= one of their edges.",
        )
    return replace(found, why=f"{found.why}{recoded_words([column])}")


def recoded_words(columns: Iterable[Column]) -> str:
    """What was done to values before they left, where numbers made of them are not of the truth."""
    told = {
        column.name: _cut(column.recoding).sentence() for column in columns if not column.randomised
    }
    words = "; ".join(f"{name}, {own}" for name, own in told.items() if own)
    return f" As released: {words}." if words else ""


def require_values(response: Iterable[Column], covariates: Iterable[Column]) -> None:
    """Refuse a model of values of which only bins were released.

    A covariate in bins may stand for their centres, as a randomised one does, or for its labels.
    """
    for column in (*response, *(own for own in covariates if own.drawn)):
        if column.binned:
            raise NotCovered(
                f"'{column.name}' left in bins, so that there is no model of its values. Ask for "
                f"shares of the bins by groups: share='row' of a table by {column.name}.",
                column=column.name,
            )


def _cut(recoding: Recoding) -> Recoding:
    """What was done to the values themselves, without codes, dates and noise."""
    return Recoding(bottom=recoding.bottom, top=recoding.top, round=recoding.round)
