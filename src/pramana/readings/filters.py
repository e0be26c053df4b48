"""Which records a question is about: filters in their two spellings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pramana.engines.sums import NOTHING, Condition, Operator
from pramana.errors import InvalidNumber, NotCovered
from pramana.matrices.transition import Label
from pramana.table.domains import label_key, label_text
from pramana.table.schema import Column
from pramana.text import counted

__all__ = ["Where", "conditions_of", "meets"]

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
