"""Sample frequencies fk: how many records look like a record, under a named policy for missing.

    category   missing is one more value: it equals itself and nothing else
    wildcard   missing could be anything: it equals every value

Under ``wildcard`` records are alike if their values agree wherever neither is missing. That is no
longer a division into groups, so frequencies are counted for each pair of patterns of missing
columns: with few patterns this takes little more than one grouping each.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pramana.numeric import require_choice
from pramana.risk.coded_table import AlikeRecords, CodedTable
from pramana.types import Codes, FloatArray, IntArray

__all__ = ["MISSING_POLICIES", "Frequencies", "MissingPolicy"]

MissingPolicy = Literal["category", "wildcard"]
MISSING_POLICIES: tuple[MissingPolicy, ...] = ("category", "wildcard")


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How many records look like those of each group, and how many people they stand for.

    Attributes:
        grouping: records with the same values, missing counted as a value.
        sample: fk of each group.
        population: Fk of each group, the sum of weights; ``None`` without weights.
        people: the sum of all weights.
    """

    grouping: AlikeRecords
    sample: IntArray
    population: FloatArray | None = None
    people: float | None = None

    @classmethod
    def of(
        cls,
        table: CodedTable,
        *,
        weights: FloatArray | None = None,
        missing: MissingPolicy = "category",
        grouping: AlikeRecords | None = None,
    ) -> Frequencies:
        """Count, in all columns of ``table``."""
        require_choice("missing", missing, MISSING_POLICIES)
        groups = grouping or AlikeRecords.of(table.codes, table.sizes)
        people = None if weights is None else groups.total(weights)
        everyone = None if weights is None else float(weights.sum())
        if missing == "category" or max(table.missing) < 0:
            return cls(groups, groups.numbers, people, everyone)
        figures = [groups.numbers.astype(np.float64), *([] if people is None else [people])]
        alike = _alike(table.at(groups.first), figures)
        counts = alike[0].round().astype(np.int64)
        return cls(groups, counts, None if people is None else alike[1], everyone)

    @property
    def smallest(self) -> int:
        """k: the smallest frequency that occurs."""
        return int(self.sample.min())

    def below(self, k: float) -> int:
        """The number of records with fk < k."""
        return int(self.grouping.numbers[self.sample < k].sum())

    def histogram(self, limits: Sequence[int] = (1, 2, 3, 5, 10, 20, 50, 100)) -> dict[str, int]:
        """The number of records by frequency, in a few classes."""
        edges = np.array([*limits, np.inf])
        result = {}
        for low, high in itertools.pairwise(edges):
            inside = (self.sample >= low) & (self.sample < high)
            word = f"{low:g}" if high == low + 1 else f"{low:g} to {high - 1:g}"
            word = f"{low:g} and more" if high == np.inf else word
            result[word] = int(self.grouping.numbers[inside].sum())
        return result


def _alike(cells: CodedTable, figures: Sequence[FloatArray]) -> list[FloatArray]:
    """For each cell the total of each figure over the cells that could be the same."""
    gaps = np.stack(
        [column == gap for column, gap in zip(cells.codes, cells.missing, strict=True)], axis=1
    )
    patterns, pattern_of = np.unique(gaps, axis=0, return_inverse=True)
    members = [np.flatnonzero(pattern_of == number) for number in range(len(patterns))]
    totals = [np.zeros(cells.records) for _ in figures]
    for one, here in zip(patterns, members, strict=True):
        for other, there in zip(patterns, members, strict=True):
            shared = np.flatnonzero(~(one | other))
            found = _matching(cells, shared, here, there)
            for total, figure in zip(totals, figures, strict=True):
                sums = np.bincount(found[len(here) :], weights=figure[there])
                # A group without a member there has no total: np.bincount stops at the last one.
                sums = np.append(sums, np.zeros(max(0, int(found.max()) + 1 - len(sums))))
                total[here] += sums[found[: len(here)]]
    return totals


def _matching(cells: CodedTable, shared: Codes, here: Codes, there: Codes) -> Codes:
    """A group number for each cell here, then there: equal where the shared columns are."""
    both = np.concatenate([here, there])
    if not len(shared):
        return np.zeros(len(both), np.int64)
    part = cells.subset(shared.tolist()).at(both)
    return AlikeRecords.of(part.codes, part.sizes).of_record
