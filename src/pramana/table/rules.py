"""Which joint cells can exist and which must stay, asked of cells by their codes.

A schema ties columns by combinations that no record can have. What it says is asked of any cells
here, so that joint cells need not be written out one by one; where they can be, they are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pramana.table.domains import Label, label_key
from pramana.table.schema import Schema
from pramana.types import BoolArray, Codes

__all__ = ["CellRules", "tied_columns"]


@dataclass(frozen=True)
class CellRules:
    """For each column the values that stay, and combinations of values that cannot exist.

    Attributes:
        labels: of each column.
        fixed: of each column, which of its values stay as they are.
        impossible: one entry a rule: the places of its columns, and which values of each it names.
    """

    labels: tuple[tuple[Label, ...], ...] = ()
    fixed: tuple[BoolArray, ...] = ()
    impossible: tuple[tuple[tuple[int, BoolArray], ...], ...] = ()

    @classmethod
    def of(
        cls,
        schema: Schema,
        columns: Sequence[str],
        labels: Sequence[tuple[Label, ...]] | None = None,
    ) -> CellRules:
        """Those of a schema that speak of these columns alone, by the codes of their labels."""
        listed = [schema.column(n).labels for n in columns] if labels is None else labels
        place = {name: at for at, name in enumerate(columns)}
        fixed = [
            _marked(own, schema.column(n).fixed) for n, own in zip(columns, listed, strict=True)
        ]
        rules = [
            tuple((place[name], _marked(listed[place[name]], named)) for name, named in rule.cells)
            for rule in schema.impossible
            if set(rule.columns) <= set(columns)
        ]
        return cls(tuple(map(tuple, listed)), tuple(fixed), tuple(rules))

    def stay(self, codes: Sequence[Codes] | Codes) -> BoolArray:
        """Whether each cell, given by one array of codes a column, holds a value that stays."""
        found = np.zeros(len(codes[0]), dtype=bool)
        for own, marked in zip(codes, self.fixed, strict=False):
            found |= marked[own]
        return found

    def possible(self, codes: Sequence[Codes] | Codes) -> BoolArray:
        """Whether each cell breaks no rule."""
        found = np.ones(len(codes[0]), dtype=bool)
        for rule in self.impossible:
            found &= ~np.logical_and.reduce([marked[codes[place]] for place, marked in rule])
        return found

    def free(self, codes: Sequence[Codes] | Codes) -> BoolArray:
        """Whether each cell can exist and may be left and reached."""
        return self.possible(codes) & ~self.stay(codes)

    def table(self) -> BoolArray:
        """Which of all cells can exist, one axis a column."""
        found = np.ones([len(own) for own in self.labels], dtype=bool)
        for rule in self.impossible:
            named = dict(rule)
            found[np.ix_(*(named.get(at, range(n)) for at, n in enumerate(found.shape)))] = False
        return found

    def cells(self) -> tuple[tuple[Label, ...], ...]:
        """All cells that can exist, the last column fastest."""
        places = np.argwhere(self.table()).tolist()
        return tuple(
            tuple(own[at] for own, at in zip(self.labels, row, strict=True)) for row in places
        )


def tied_columns(
    names: Sequence[str], ties: Iterable[Sequence[str]]
) -> tuple[tuple[str, ...], ...]:
    """Names grouped so that each tie lies inside one group, in their order.

    >>> tied_columns("abcd", [("a", "c"), ("c", "d")])
    (('a', 'c', 'd'), ('b',))
    """
    group = {name: {name} for name in names}
    for columns in ties:
        merged = set().union(*(group[name] for name in columns))
        group |= dict.fromkeys(merged, merged)
    ordered = (tuple(name for name in names if name in group[own]) for own in names)
    return tuple(dict.fromkeys(ordered))


def _marked(labels: Sequence[Label], named: Sequence[Label]) -> BoolArray:
    """Which labels are named; to Python 1 and true are the same, to a schema they are not."""
    keys = set(map(label_key, named))
    return np.array([label_key(label) in keys for label in labels], dtype=bool)
