"""Which joint cells can exist and which must stay, asked of cells by their codes.

The joint cells of ten keys cannot be written out one by one. What the schema says about them can
still be asked of any cell: whether it breaks a rule, and whether it holds a value that stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.matrices import Label
from pramana.table.schema import Schema
from pramana.types import IntArray

__all__ = ["CellRules"]


@dataclass(frozen=True)
class CellRules:
    """For each key the values that stay, and combinations of values that cannot exist.

    Attributes:
        fixed: of each key, which of its values stay as they are.
        impossible: one entry a rule: the places of its keys, and which values of each it names.
    """

    fixed: tuple[NDArray[np.bool_], ...] = ()
    impossible: tuple[tuple[tuple[int, NDArray[np.bool_]], ...], ...] = ()

    @classmethod
    def of(
        cls, schema: Schema, columns: Sequence[str], labels: Sequence[tuple[Label, ...]]
    ) -> CellRules:
        """Those of a schema, by the codes of these labels."""
        own = dict(zip(columns, labels, strict=True))
        fixed = [_marked(own[name], schema.column(name).fixed) for name in columns]
        rules = [
            tuple((list(columns).index(name), _marked(own[name], named)) for name, named in r.cells)
            for r in schema.impossible
            if set(r.columns) <= set(columns)
        ]
        return cls(tuple(fixed), tuple(rules))

    def stay(self, codes: IntArray) -> NDArray[np.bool_]:
        """Whether each cell holds a value that stays as it is."""
        found = np.zeros(len(codes), dtype=bool)
        for place, marked in enumerate(self.fixed):
            found |= marked[codes[:, place]]
        return found

    def possible(self, codes: IntArray) -> NDArray[np.bool_]:
        """Whether each cell breaks no rule."""
        found = np.ones(len(codes), dtype=bool)
        for rule in self.impossible:
            broken = np.ones(len(codes), dtype=bool)
            for place, marked in rule:
                broken &= marked[codes[:, place]]
            found &= ~broken
        return found

    def free(self, codes: IntArray) -> NDArray[np.bool_]:
        """Whether each cell can exist and may be left and reached."""
        return self.possible(codes) & ~self.stay(codes)


def _marked(labels: Sequence[Label], named: Sequence[Label]) -> NDArray[np.bool_]:
    return np.array([label in set(named) for label in labels], dtype=bool)
