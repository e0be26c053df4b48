"""How far off the tables will be, before any record is looked at.

The error of a table is the L1 distance between estimate and truth as a share of the records,
sum |estimate - truth| / n, expected over the randomisation [Ikarashi, Sec. 5]. For the unbiased
estimate each record adds to a cell the product, over the steps of the table, of

    w(released) = (1[released in the cell] - (1 - rho) g / N) / rho,

with g of the N values of the step in the cell. With truths spread evenly the variance of a cell
is n * prod m - n * prod (g/N), where m is the mean square of w, and the expected absolute error of
a Normal variable is sqrt(2 / pi) of its standard deviation. Nothing here depends on the data.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pramana.methods.steps import StepDomain

__all__ = ["ErrorModel", "ExpectedError"]


NEARLY = 1e-5
"""Matrices are trimmed by less than this to meet a target in integers."""


@dataclass(frozen=True)
class ExpectedError:
    """The expected L1 error of all one- and two-way tables, as shares of the records."""

    tables: tuple[tuple[tuple[str, ...], float], ...]

    @property
    def mean(self) -> float:
        """The average over the tables: what designs make small."""
        return math.fsum(error for _, error in self.tables) / len(self.tables)

    def for_records(self, now: int, *, was: int) -> ExpectedError:
        """The same of another number of records: variances of shares go with 1 / n."""
        factor = math.sqrt(was / now)
        return ExpectedError(tuple((columns, factor * error) for columns, error in self.tables))

    def sentence(self) -> str:
        """The error of a typical table in plain words."""
        widest = max(len(columns) for columns, _ in self.tables)
        chosen = [entry for entry in self.tables if len(entry[0]) == widest]
        if not math.isfinite(self.mean):
            return "No table can be estimated: the release is pure noise."
        columns, error = min(chosen, key=lambda entry: abs(entry[1] - self.mean))
        kind = (
            "two-way table of " + " by ".join(columns) if widest > 1 else "table of " + columns[0]
        )
        if error >= 1:
            return f"A {kind} is off by more than all records together: nearly pure noise."
        return f"A {kind} is off by about {100 * error:.2g} % of the records."

    def may_say(self, words: str | None) -> bool:
        """Whether these are its words, or would be if rounding had gone another way."""
        widest = max(len(columns) for columns, _ in self.tables)
        gaps = [abs(error - self.mean) for columns, error in self.tables if len(columns) == widest]
        near = min(gaps) + NEARLY * self.mean if math.isfinite(self.mean) else math.inf
        for scale in (1 - NEARLY, 1.0, 1 + NEARLY):
            for columns, error in self.tables:
                if len(columns) == widest and abs(error - self.mean) <= near:
                    alone = ExpectedError(((columns, error * scale),))
                    if alone.sentence() == words:
                        return True
        return self.sentence() == words

    def to_json(self) -> dict[str, Any]:
        """Table by table; an error without bound is null."""
        return {
            "tables": [
                {"columns": list(columns), "error": error if math.isfinite(error) else None}
                for columns, error in self.tables
            ],
            "sentence": self.sentence(),
        }


class ErrorModel:
    """The expected errors as a function of the retention of each step."""

    def __init__(self, steps: Sequence[StepDomain], *, records: int) -> None:
        self.steps = tuple(steps)
        self.records = records

    @cached_property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """All sets of one and of two randomised columns."""
        names = [name for step in self.steps for name in step.columns]
        return tuple((name,) for name in names) + tuple(itertools.combinations(names, 2))

    @cached_property
    def _shares(self) -> list[list[tuple[int, list[tuple[float, int]]]]]:
        """For each table and each step in it: the shares g / N of its cells, and how many have it.

        Cells of a step mostly have one share, so that few terms stand for a large table.
        """
        shares = []
        for table in self.tables:
            parts = []
            for number, step in enumerate(self.steps):
                inside = tuple(name for name in step.columns if name in table)
                if inside:
                    sizes = Counter(Counter(step.parts(inside)).values())
                    parts.append((number, [(g / step.size, k) for g, k in sizes.items()]))
            shares.append(parts)
        return shares

    def errors(self, retentions: Sequence[float]) -> list[float]:
        """The expected error of each table."""
        return [self._error(parts, retentions) for parts in self._shares]

    def _error(
        self, parts: list[tuple[int, list[tuple[float, int]]]], retentions: Sequence[float]
    ) -> float:
        terms = [(1.0, 1.0, 1)]
        for number, shares in parts:
            rho = retentions[number]
            if rho <= 0:
                return math.inf
            terms = [
                (square * _mean_square(share, rho), cell * share, times * count)
                for square, cell, times in terms
                for share, count in shares
            ]
        spread = math.fsum(times * math.sqrt(max(m - cell, 0.0)) for m, cell, times in terms)
        return math.sqrt(2 / (math.pi * self.records)) * spread

    def mean(self, retentions: Sequence[float]) -> float:
        """The average expected error of all tables."""
        return math.fsum(self.errors(retentions)) / len(self.tables)

    def at(self, retentions: Sequence[float]) -> ExpectedError:
        """The expected errors with their tables."""
        return ExpectedError(tuple(zip(self.tables, self.errors(retentions), strict=True)))


def _mean_square(share: float, rho: float) -> float:
    """Of what a record adds to a cell that has this share of the values of its step."""
    base = (1 - rho) * share
    return float((share * (1 - base) ** 2 + (1 - share) * base**2) / rho**2)
