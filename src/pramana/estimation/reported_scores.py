"""What a report of some columns says about sums of scores over all columns of a model.

A score is a function f(t) of the true columns t that were reported. Few of its tables are needed:
that of least squares is a sum of products of two terms of the formula, so that pairs of columns say
all of it. With m_j any distribution of column j, M_j the mean over m_j and D_j = 1 - M_j,

    f = sum over sets T of columns of f_T,      f_T = D_T M_(all but T) f,

and f_T depends on the columns of T alone. It is 0 unless the model has a term that needs T. A
report y of a set S with retention p that holds T says about f_T

    (f_T(y) - (1 - p) times the mean of f_T over the cells of S) / p,

which has the mean f_T(t). The sets that hold T are averaged with weights N_S p_S**2, as tables are
(estimation/reported.py). Parts of different T are uncorrelated in what is noise, so that averaging
them one by one loses next to nothing; m_j are the shares of the released values.

For f without terms beyond the sets U of a family, f is told by its values where the columns outside
some U stand at a fixed value, their anchor [Kuo10]: with P_j that value,

    f_T = sum over U holding T of D_T (M - P)_(U without T) P_(all but U) f.

So no table of all columns is ever written out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from pramana.types import FloatArray, IntArray

__all__ = ["Needs", "ToldBySet", "rows_of_sets"]

Part = frozenset[int]


@dataclass(frozen=True, eq=False)
class Needs:
    """The columns of a model that were reported, and which of them its scores need together.

    Attributes:
        sizes: How many values each column has.
        together: The sets of columns, by their places, that some term needs together.
    """

    sizes: tuple[int, ...]
    together: tuple[Part, ...]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All that is contained in one of the sets, the empty one first."""
        found: dict[Part, None] = {frozenset(): None}
        for whole in sorted(self.together, key=sorted):
            for size in range(1, len(whole) + 1):
                found |= dict.fromkeys(map(frozenset, itertools.combinations(sorted(whole), size)))
        return tuple(sorted(found, key=lambda part: (len(part), sorted(part))))

    @property
    def count(self) -> int:
        """How many points there are."""
        return sum(prod(self.sizes[place] - 1 for place in part) for part in self.parts)

    @cached_property
    def points(self) -> IntArray:
        """The truths at which a score must be known, as codes of the columns: 0 is the anchor."""
        blocks = []
        for part in self.parts:
            shape = [self.sizes[place] - 1 for place in sorted(part)]
            block = np.zeros((prod(shape), len(self.sizes)), dtype=np.int64)
            block[:, sorted(part)] = 1 + np.indices(shape).reshape(len(shape), prod(shape)).T
            blocks.append(block)
        return np.concatenate(blocks)

    def part_of(self, part: Part, shares: Sequence[FloatArray]) -> FloatArray:
        """f_T as a combination of the values at the points: cells of T by points."""
        moved = self.points != 0
        found = np.zeros((prod(self.sizes[place] for place in part), len(self.points)))
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
                own = np.eye(self.sizes[place])[:, codes] - shares[place][codes]
                table = (table[:, None, :] * own[None, :, :]).reshape(-1, len(codes))
            found += table
        return found


@dataclass(frozen=True, eq=False)
class ToldBySet:
    """One set of columns that was asked for.

    Attributes:
        columns: The places of the model's columns among them, in order.
        reports: How many reports there are.
        retention: Of its matrix.
        base: The share of the set's cells in each cell of these columns.
    """

    columns: tuple[int, ...]
    reports: float
    retention: float
    base: FloatArray

    @property
    def precision(self) -> float:
        """What it weighs beside other sets that hold the same."""
        return self.reports * self.retention**2


def rows_of_sets(
    needs: Needs, sets: Sequence[ToldBySet], shares: Sequence[FloatArray]
) -> list[FloatArray]:
    """For each set and each cell of it what a report says: a combination of values at the points.

    Summed over all reports, these combinations have the sum of f over all people as their mean.
    """
    kernels = {part: needs.part_of(part, shares) for part in needs.parts}
    records = sum(one.reports for one in sets)
    told = {part: sum(one.precision for one in _holding(part, sets)) for part in needs.parts}
    found = []
    for one in sets:
        shape = [needs.sizes[place] for place in one.columns]
        rows = np.repeat(kernels[frozenset()], prod(shape), axis=0)
        codes = np.indices(shape).reshape(len(shape), prod(shape))
        for part in needs.parts[1:]:
            if part <= set(one.columns) and told[part] > 0:
                at = np.zeros(codes.shape[1], dtype=np.int64)
                for place in sorted(part):
                    at = at * needs.sizes[place] + codes[one.columns.index(place)]
                own = kernels[part][at]
                own = own - (1 - one.retention) * (one.base @ own)
                rows += own * (records * one.retention / told[part])
        found.append(rows)
    return found


def _holding(part: Part, sets: Iterable[ToldBySet]) -> list[ToldBySet]:
    return [one for one in sets if part <= set(one.columns)]
