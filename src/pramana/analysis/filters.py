"""Which records a question is about: filters in their two spellings.

Numbers that left coarser than they were: in bins, cut at the ends, rounded.

What stands for a bin, its centre or a number drawn inside it, is in the right bin and nothing more.
Shares at the edges of bins are exact; a mean, a total or a quantile may be off by as much as bins
are wide, and a number between two edges divides people whom the release does not tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pramana.base.text import counted
from pramana.engine.choose import NOTHING, Condition, Operator
from pramana.errors import InvalidNumber, NotCovered
from pramana.mechanisms.transition import Label
from pramana.schema.domains import Bins, label_key, label_text
from pramana.schema.recoding import Recoding
from pramana.schema.schema import Column, Schema

if TYPE_CHECKING:
    from pramana.analysis.estimates import Estimate

Where: TypeAlias = Mapping[str, Label | Sequence[Label]] | Sequence[str] | None
"""A filter: ``{"sex": "F", "age": ["[20, 30)", "[30, 40)"]}`` or ``["sex=F", "income>=50000"]``.

In the first spelling ``None`` is missing and ``""`` an empty text; in the second, ``sex=`` is both,
and ``sex=missing``, as tables print it, is missing beside that word.
"""

COMPARISONS: tuple[Operator, ...] = ("!=", "<=", ">=", "=", "<", ">")


def conditions_of(where: Where) -> tuple[Condition, ...]:
    """A filter in either spelling as comparisons."""
    if where is None:
        return ()
    if isinstance(where, Mapping):
        return tuple(
            Condition(
                name, "=", tuple(value) if isinstance(value, list | tuple | set) else (value,)
            )
            for name, value in where.items()
        )
    return tuple(_parsed(text) for text in ([where] if isinstance(where, str) else where))


def _parsed(text: str) -> Condition:
    """``sex=F``, ``region=north|south``, ``income>=50000``."""
    found = [(text.find(sign), -len(sign), sign) for sign in COMPARISONS if sign in text]
    if not found or min(found)[0] == 0:
        raise InvalidNumber(
            f"A filter must read like sex=F, region=north|south or income>=50000, got {text!r}."
        )
    place, _, sign = min(found)
    values: tuple[Label, ...] = tuple(part.strip() for part in text[place + len(sign) :].split("|"))
    if NOTHING & set(values):  # on a command line these are both texts and none
        values = (*values, None)
    return Condition(text[:place].strip(), sign, values if sign in ("=", "!=") else values[:1])


def meets(label: Label, condition: Condition, column: Column) -> bool:
    """Whether a label of a randomised column passes; only = and != make sense there."""
    keys = {label_key(value) for value in condition.values}
    if condition.comparison not in ("=", "!="):
        raise NotCovered(
            f"'{column.name}' is randomised: filter it by = or != and its labels "
            f"({_listed(column, 4)}).",
            column=column.name,
        )
    own = {label_key(one) for one in column.labels}
    nothing = NOTHING & keys
    if nothing and None in keys and own & {*nothing, None}:
        keys -= {*nothing, None} - own
    unknown = keys - own
    if unknown:
        raise InvalidNumber(
            f"{counted(len(unknown), 'value')} of the filter on '{column.name}' "
            f"{'is' if len(unknown) == 1 else 'are'} none of its labels: "
            f"{_listed(column, 6)}.",
            column=column.name,
        )
    return (label_key(label) in keys) == (condition.comparison == "=")


def _listed(column: Column, most: int) -> str:
    """The first labels, and dots where there are more."""
    names = [label_text(own) or "missing" for own in column.labels]
    return ", ".join(names if len(names) <= most else [*names[:most], "..."])


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
