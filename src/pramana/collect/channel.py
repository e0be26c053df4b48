"""From true answers and random words to the record that is sent: the same function everywhere.

The browser, Python and any other client compute it alike, by integers alone. A record is the place
of its set (0 where there is one) and a cell for each step:

    whole records   one step a question, or a group of questions that are tied to each other;
                    step j takes word j
    reports         word 0 says which set of questions is asked, word 1 randomises their joint cell

A cell c of N, with ``other`` words for every other value, becomes ``word // other`` if
``word < N * other``, else stays: the arithmetic of :mod:`pramana.randomise.sampling`, one word a
draw, exact to the last of the 2**64 words.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from pramana.errors import InputError, InvalidMatrix, OutsideDomain
from pramana.matrices.families import UniformMixture
from pramana.matrices.mechanism import Mechanism
from pramana.matrices.reporting import Reporting
from pramana.numeric import TOTAL
from pramana.table.domains import label_text

__all__ = ["AnswerChannel", "AskedTogether", "Draw", "SentRecord"]

Cell = tuple[str, ...]


@dataclass(frozen=True)
class Draw:
    """The joint cell of some questions, and how it is drawn.

    Attributes:
        columns: the questions.
        cells: the answers that can be given together.
        other: how many of the 2**64 words give each other cell.
    """

    columns: tuple[str, ...]
    cells: tuple[Cell, ...]
    other: int

    @cached_property
    def places(self) -> dict[Cell, int]:
        """The number of each cell."""
        return {cell: place for place, cell in enumerate(self.cells)}

    @property
    def kept(self) -> float:
        """The probability that what is sent is what was said."""
        return (TOTAL - (len(self.cells) - 1) * self.other) / TOTAL

    def draw(self, truth: Cell, word: int) -> int:
        """The number of the cell that is sent."""
        if truth not in self.places:
            raise OutsideDomain(
                f"The answers to {' and '.join(self.columns)} cannot be given together."
            )
        drawn = word < len(self.cells) * self.other
        return word // self.other if drawn else self.places[truth]

    def to_json(self) -> dict[str, Any]:
        """As a page reads it; integers beyond 2**53 are texts."""
        return {"columns": list(self.columns), "other": str(self.other)}


@dataclass(frozen=True)
class AskedTogether:
    """What is asked together: the questions of whole records, or one set of a report."""

    draws: tuple[Draw, ...]
    weight: int = TOTAL

    @property
    def columns(self) -> tuple[str, ...]:
        """The questions."""
        return tuple(name for draw in self.draws for name in draw.columns)


@dataclass(frozen=True)
class SentRecord:
    """What leaves the page of a person.

    >>> record = SentRecord(3, (41,))
    >>> record.spelled(widths=(2, 3))
    '03.041'
    """

    asked: int
    cells: tuple[int, ...]

    def spelled(self, *, widths: Sequence[int]) -> str:
        """Of the same length whatever was answered and drawn."""
        numbers = (self.asked, *self.cells)
        padded = (*numbers, *([0] * (len(widths) - len(numbers))))
        return ".".join(f"{one:0{width}d}" for one, width in zip(padded, widths, strict=True))


@dataclass(frozen=True)
class AnswerChannel:
    """All that decides what is sent, in integers.

    Attributes:
        asked: the sets of questions; all in one where records are whole.
        reports: whether a set is drawn first.
    """

    asked: tuple[AskedTogether, ...]
    reports: bool

    @classmethod
    def of(cls, mechanism: Mechanism) -> AnswerChannel:
        """The channel of a plan that was made without data."""
        if isinstance(mechanism, Reporting):
            return cls(
                tuple(
                    AskedTogether((_draw(one.columns, one.matrix),), one.weight)
                    for one in mechanism.sets
                ),
                reports=True,
            )
        draws = []
        for step in mechanism.steps:
            if not isinstance(step.matrix, UniformMixture):
                raise InvalidMatrix("People randomise their answers by uniform mixtures only.")
            draws.append(_draw(step.columns, step.matrix))
        return cls((AskedTogether(tuple(draws)),), reports=False)

    @property
    def words(self) -> int:
        """How many random words a record needs."""
        return 2 if self.reports else len(self.asked[0].draws)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(one.weight for one in self.asked))

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Digits of the set and of each cell."""
        most = [max(len(one.draws) for one in self.asked)]
        cells = [
            max(len(one.draws[at].cells) for one in self.asked if at < len(one.draws))
            for at in range(most[0])
        ]
        return tuple(len(str(number - 1)) for number in (len(self.asked), *cells))

    def set_of(self, word: int) -> int:
        """Which set a word asks for."""
        return bisect.bisect_right(self._ends, word) if self.reports else 0

    def send(self, answers: Mapping[str, str], words: Sequence[int]) -> SentRecord:
        """The record that is sent: a fixed function of the answers and the words."""
        if len(words) != self.words or not all(0 <= word < TOTAL for word in words):
            raise InputError(f"A record needs {self.words} words of 64 bits.")
        place = self.set_of(words[0])
        rest = words[1:] if self.reports else words
        own = self.asked[place]
        missing = [name for name in own.columns if name not in answers]
        if missing:
            raise InputError(f"The question '{missing[0]}' must be answered.")
        cells = (
            draw.draw(tuple(answers[name] for name in draw.columns), word)
            for draw, word in zip(own.draws, rest, strict=True)
        )
        return SentRecord(place, tuple(cells))

    def read(self, text: str) -> SentRecord:
        """The record that was sent; whatever the channel cannot send is refused."""
        parts = text.split(".")
        fits = len(parts) == len(self.widths) and all(
            len(part) == width and part.isascii() and part.isdigit()
            for part, width in zip(parts, self.widths, strict=True)
        )
        if not fits:
            raise InputError("A record must be spelled as the survey says, and this one is not.")
        place, *cells = map(int, parts)
        own = self.asked[place].draws if place < len(self.asked) else ()
        inside = all(cell < len(draw.cells) for cell, draw in zip(cells, own, strict=False))
        if not own or not inside or any(cells[len(own) :]):
            raise InputError("A record must be one that the survey can send, and this one is not.")
        return SentRecord(place, tuple(cells[: len(own)]))

    def values(self, record: SentRecord) -> dict[str, str]:
        """What a record says: the answers of the questions that were asked."""
        own = self.asked[record.asked]
        return {
            name: answer
            for draw, cell in zip(own.draws, record.cells, strict=True)
            for name, answer in zip(draw.columns, draw.cells[cell], strict=True)
        }

    def to_json(self) -> dict[str, Any]:
        """As a page reads it."""
        return {
            "reports": self.reports,
            "widths": list(self.widths),
            "asked": [
                {
                    "end": str(end),
                    "draws": [
                        draw.to_json() | {"cells": [list(cell) for cell in draw.cells]}
                        for draw in one.draws
                    ],
                }
                for end, one in zip(self._ends, self.asked, strict=True)
            ],
        }


def _draw(columns: tuple[str, ...], matrix: UniformMixture) -> Draw:
    cells = tuple(
        tuple(label_text(part) for part in label) if len(columns) > 1 else (label_text(label),)
        for label in matrix.labels
    )
    return Draw(columns, cells, matrix.other if matrix.size > 1 else 0)
