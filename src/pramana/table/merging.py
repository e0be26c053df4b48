"""Categories of a column taken together: the recoding and the domain that follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pramana.errors import InvalidSchema
from pramana.table.domains import Categories, Label, label_text
from pramana.table.schema import Column

__all__ = ["merge_values"]


def merge_values(column: Column, values: Sequence[Label], into: str) -> Column:
    """The column with these values as one; a value that was merged before brings all its own.

    >>> from pramana.table.schema import Role
    >>> way = Column("way", Role.KEY, Categories(("bus", "car", "tram")))
    >>> merged = merge_values(way, ["bus", "tram"], "public")
    >>> merged.labels, merged.recoding.merged
    (('public', 'car'), (('public', ('bus', 'tram')),))
    """
    domain = column.domain
    if not isinstance(domain, Categories):
        raise InvalidSchema(
            f"'{column.name}' must have categories to be merged.", column=column.name
        )
    gone = {label_text(value) for value in values}
    before = dict(column.recoding.merged)
    taken: list[Label] = []
    for value in domain.values:
        if label_text(value) in gone:
            taken += before.pop(label_text(value), (value,))
    taken += before.pop(into, ())
    if len(taken) < 2:
        raise InvalidSchema("Merging takes at least two values.")
    kept: list[Label] = []
    for value in domain.values:
        text = into if label_text(value) in gone else label_text(value)
        if text not in kept:
            kept.append(text)
    return replace(
        column,
        domain=replace(domain, values=tuple(kept)),
        recoding=replace(column.recoding, merge={**before, into: taken}),
        exempt=(),
    )
