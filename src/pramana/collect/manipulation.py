"""Records that honest randomisation cannot send often: a sign that somebody invents answers.

Whatever the truth is, a cell of a set is sent with at least ``other`` words: so every cell is
expected at least a known number of times, and one that everybody gave at most a known number. Where
a count lies beyond what any truth allows, by a margin that chance passes once in a million surveys,
somebody did not use the page, or used it more than once. It is reported, and nothing is dropped:
what was invented looks like any other record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pramana.collect.channel import AnswerChannel
from pramana.numeric import TOTAL

__all__ = ["Suspicion", "suspicions"]

LEVEL: Final = 1e-6
"""How often honest people raise a suspicion, over all cells of a survey together."""


@dataclass(frozen=True)
class Suspicion:
    """A count that no truth explains."""

    columns: tuple[str, ...]
    cell: tuple[str, ...]
    count: int
    bound: float
    too_many: bool

    def sentence(self) -> str:
        """In plain words."""
        values = ", ".join(
            f"{name} = {value}" for name, value in zip(self.columns, self.cell, strict=True)
        )
        side, most = ("More", "at most") if self.too_many else ("Fewer", "at least")
        return (
            f"{side} records say {values} than people who use the page can send: {self.count:,}, "
            f"where {most} {self.bound:,.0f} are expected whatever is true."
        )


def suspicions(channel: AnswerChannel, tally: Mapping[str, int]) -> list[Suspicion]:
    """Every cell whose count lies beyond what any truth explains.

    A count of n records is a sum of independent draws, each with a probability between that of a
    lie and that of the truth; Hoeffding's bound holds for all of them.
    """
    counts: dict[tuple[int, int, int], int] = {}
    totals = [0] * len(channel.asked)
    for text, times in tally.items():
        record = channel.read(text)
        totals[record.asked] += times
        for at, number in enumerate(record.cells):
            own = (record.asked, at, number)
            counts[own] = counts.get(own, 0) + times
    draws = [
        (place, at, draw) for place, one in enumerate(channel.asked)
        for at, draw in enumerate(one.draws)
    ]  # fmt: skip
    tests = 2 * sum(len(draw.cells) for _, _, draw in draws)
    found = []
    for place, at, draw in draws:
        n = totals[place]
        margin = math.sqrt(n * math.log(tests / LEVEL) / 2)
        least, most = n * draw.other / TOTAL, n * draw.kept
        for number, cell in enumerate(draw.cells):
            count = counts.get((place, at, number), 0)
            if count > most + margin or count < least - margin:
                many = count > most
                bound = most if many else least
                found.append(Suspicion(draw.columns, cell, count, bound, many))
    return found + _sets(channel, totals, tests)


def _sets(channel: AnswerChannel, totals: list[int], tests: int) -> list[Suspicion]:
    """Sets that were answered more or less often than chance asks for them."""
    n = sum(totals)
    margin = math.sqrt(n * math.log(max(tests, 2 * len(totals)) / LEVEL) / 2)
    return [
        Suspicion(one.columns, ("any",) * len(one.columns), count, n * one.weight / TOTAL,
                  count > n * one.weight / TOTAL)
        for one, count in zip(channel.asked, totals, strict=True)
        if abs(count - n * one.weight / TOTAL) > margin
    ]  # fmt: skip
