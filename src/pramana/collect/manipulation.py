"""Records that honest randomisation cannot send often: a sign that somebody invents answers.

Whatever the truth is, a cell of a set is sent with at least ``other`` words: so every cell is
expected at least a known number of times, and one that everybody gave at most a known number. The
same holds for the answers to a question over all sets that ask it, and for whole records. Where a
count lies beyond what any truth allows, by a margin that chance passes once in a million surveys,
somebody did not use the page, or used it more than once. It is reported, and nothing is dropped:
what was invented looks like any other record.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pramana.base.rounding import TOTAL
from pramana.collect.channel import AnswerChannel, Draw, SentRecord

LEVEL: Final = 1e-6
"""How often honest people raise a suspicion, over all counts of a survey together."""


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


@dataclass(frozen=True)
class _Count:
    """How many of so many records say something, each with a chance between two."""

    columns: tuple[str, ...]
    cell: tuple[str, ...]
    count: int
    of: int
    least: float
    most: float

    def beyond(self) -> tuple[float, Suspicion] | None:
        """By how much no truth explains it: minus the logarithm of a bound on its chance.

        The records are independent. The mean of their chances lies between the two, and Chernoff's
        bound for that mean holds for their sum [Hoeffding63, Thm 1].
        """
        share = self.count / self.of
        if self.least <= share <= self.most:
            return None
        many = share > self.most
        chance = self.most if many else self.least
        found = Suspicion(self.columns, self.cell, self.count, self.of * chance, many)
        return self.of * _divergence(share, chance), found


def _divergence(share: float, chance: float) -> float:
    """Of one coin from another, in nats."""
    sides = ((share, chance), (1 - share, 1 - chance))
    return math.fsum(
        seen * (math.log(seen / own) if own > 0 else math.inf) for seen, own in sides if seen > 0
    )


def suspicions(channel: AnswerChannel, tally: Mapping[str, int]) -> list[Suspicion]:
    """Every count that lies beyond what any truth explains, the farthest first."""
    records = [(channel.read(text), times) for text, times in tally.items()]
    totals = Counter[int]()
    for record, times in records:
        totals[record.asked] += times
    part, whole = _limits(channel)
    tried = (
        (part, _cells(channel, records, totals, part)),
        (part, _answers(channel, records, totals)),
        (part, _sets(channel, totals)),
        (whole, _wholes(channel, records, totals)),
    )
    found = [
        own
        for limit, counts in tried
        for one in counts
        if (own := one.beyond()) is not None and own[0] > limit
    ]
    return [own for _, own in sorted(found, key=lambda own: -own[0])]


def _limits(channel: AnswerChannel) -> tuple[float, float]:
    """How far a count of a part of a record may lie beyond, and one of a whole record.

    Half of the level is for each, shared among all that could be sent: also what nobody has.
    """
    draws = [[(len(own.cells), len(own.columns)) for own in one.draws] for one in channel.asked]
    parts = sum(1 + sum(cells * (1 + columns) for cells, columns in one) for one in draws)
    wholes = max(math.fsum(math.log(cells) for cells, _ in one) for one in draws)
    return math.log(2 * 2 * parts / LEVEL), math.log(2 * len(draws) / LEVEL) + wholes


Records = Sequence[tuple[SentRecord, int]]


def _cells(
    channel: AnswerChannel, records: Records, totals: Mapping[int, int], limit: float
) -> Iterator[_Count]:
    """Cells of a set; those that nobody sent only where that could be too few."""
    counts = Counter[tuple[int, int, int]]()
    for record, times in records:
        for at, number in enumerate(record.cells):
            counts[record.asked, at, number] += times
    for place, n in totals.items():
        for at, draw in enumerate(channel.asked[place].draws):
            least = draw.other / TOTAL
            missed = n * _divergence(0, least) > limit
            for number, cell in enumerate(draw.cells):
                count = counts[place, at, number]
                if count or missed:
                    yield _Count(draw.columns, cell, count, n, least, draw.kept)


def _answers(
    channel: AnswerChannel, records: Records, totals: Mapping[int, int]
) -> Iterator[_Count]:
    """Answers to a question, over all records that were asked it."""
    counts, of = Counter[tuple[str, str]](), Counter[str]()
    least, most = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for record, times in records:
        for name, answer in channel.values(record).items():
            counts[name, answer] += times
    for place, n in totals.items():
        for draw in channel.asked[place].draws:
            for name, ways in _ways(draw).items():
                of[name] += n
                for answer in ways:
                    least[name, answer] += n * ways[answer] * draw.other
                    most[name, answer] += n * (ways[answer] - 1) * draw.other
                    most[name, answer] += n * (TOTAL - (len(draw.cells) - 1) * draw.other)
    for (name, answer), low in least.items():
        size = of[name] * TOTAL
        high = most[name, answer] / size
        yield _Count((name,), (answer,), counts[name, answer], of[name], low / size, high)


def _ways(draw: Draw) -> dict[str, Counter[str]]:
    """In how many cells each answer to each question stands."""
    columns = zip(*draw.cells, strict=True)
    return {name: Counter(own) for name, own in zip(draw.columns, columns, strict=True)}


def _sets(channel: AnswerChannel, totals: Mapping[int, int]) -> Iterator[_Count]:
    """Sets that were answered more or less often than chance asks for them."""
    n = sum(totals.values())
    for place, one in enumerate(channel.asked if n else ()):
        share = one.weight / TOTAL
        everything = ("any",) * len(one.columns)
        yield _Count(one.columns, everything, totals.get(place, 0), n, share, share)


def _wholes(
    channel: AnswerChannel, records: Records, totals: Mapping[int, int]
) -> Iterator[_Count]:
    """Whole records of several draws: no truth sends one more often than all are kept together."""
    for record, times in records:
        draws = channel.asked[record.asked].draws
        if len(draws) > 1:
            most = math.prod(draw.kept for draw in draws)
            values = channel.values(record)
            n = totals[record.asked]
            yield _Count(tuple(values), tuple(values.values()), times, n, 0.0, most)
