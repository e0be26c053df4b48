"""From real answers and random words to the record that is sent, in integers.

The browser, Python and any other client compute the same record. A record is the place of its set
of questions (0 where there is one set) and a cell for each step:

    whole records        one step a question, or a group of questions that depend on each other;
                         step j takes word j
    attribute sampling   word 0 chooses the set of questions, word 1 randomises their joint cell

A cell c of N, with ``other`` words for every other value, becomes ``word // other`` if
``word < N * other``, and otherwise stays. This is the arithmetic of
:mod:`pramana.mechanisms.sampler`: one word a draw, exact to the last of the 2**64 words.

Definition and page leave out the cells of a set that has all combinations of answers, the last
question fastest. Readers list them from the questions.

A panel asks the same people several times. What is sent passes two mixtures. The permanent one, P,
is drawn once for every answer that can be given, and the device keeps the result. The other, Q, is
drawn in every wave. One wave sees the product PQ. All waves together tell no more than P about
people who always give the same answers, and no more than Q each time about the others
(docs/proofs/collected.md). Weights of P and Q are multiples of 2**32, so that their products are
integers over 2**64 again.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product
from math import prod
from operator import eq
from typing import Any, Final

from pramana.base.rounding import TOTAL, log_of
from pramana.base.text import text_down, text_up
from pramana.errors import Infeasible, InputError, InvalidMatrix, NotARelease, OutsideDomain
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism
from pramana.mechanisms.transition import UniformMixture, as_cells, label_to_json
from pramana.release.certificate_fields import attribute_set_of, mechanism_of
from pramana.schema.domains import label_text
from pramana.types import Form

Stages = tuple[int, int]
"""How many words give each other cell: once for life, and in every wave."""

GRID: Final = 2**32
MOST_PERMANENT: Final = 10_000
"""Permanent answers that a device keeps."""


def two_stages(
    mechanism: Mechanism, all_waves: float
) -> tuple[Mechanism, tuple[tuple[Stages, ...], ...]]:
    """The mechanism of one wave as a product whose first factor has this epsilon.

    What one wave may tell is shared among steps as it was; the permanent budget in proportion.
    """
    one = log_of(Fraction(mechanism.gamma))
    if all_waves < one:
        raise Infeasible(
            f"all_waves_epsilon must be at least that of one wave, {text_up(one, 3)}, got "
            f"{text_down(all_waves, 6)}."
        )
    scale = all_waves / one if one else 1.0
    if isinstance(mechanism, AttributeSampler):
        pairs = [_split(own.matrix, scale) for own in mechanism.sets]
        _require_few([own.matrix.size for own in mechanism.sets], together=False)
        sets = tuple(
            replace(own, matrix=matrix)
            for own, (matrix, _) in zip(mechanism.sets, pairs, strict=True)
        )
        return replace(mechanism, sets=sets), tuple((stages,) for _, stages in pairs)
    matrices = [step.matrix for step in mechanism.steps if isinstance(step.matrix, UniformMixture)]
    _require_few([matrix.size for matrix in matrices], together=True)
    pairs = [_split(matrix, scale) for matrix in matrices]
    steps = tuple(
        replace(own, matrix=matrix) for own, (matrix, _) in zip(mechanism.steps, pairs, strict=True)
    )
    return replace(mechanism, steps=steps), (tuple(stages for _, stages in pairs),)


def _require_few(sizes: Sequence[int], *, together: bool) -> None:
    most = sum(sizes) if together else max(sizes)
    if most > MOST_PERMANENT:
        raise Infeasible(
            f"A panel keeps an answer for each of {most:,} cells on every device; at most "
            f"{MOST_PERMANENT:,} can be kept. Coarsen a question."
        )


def _split(matrix: UniformMixture, scale: float) -> tuple[UniformMixture, Stages]:
    """A mixture at or below this one as a product; every rounding is towards more noise."""
    size = matrix.size
    if size == 1:
        return matrix, (0, 0)
    gamma = float(matrix.gamma) ** scale
    permanent = _on_grid(TOTAL / (Fraction(gamma) + size - 1), size)
    left = Fraction(TOTAL - size * matrix.other, TOTAL - size * permanent)
    wave = _on_grid((1 - left) * TOTAL / size, size)
    stages = (permanent, wave)
    return replace(matrix, other=product_of(size, stages)), stages


def _on_grid(weight: Fraction, size: int) -> int:
    """At or above, where there is room: a mixture is never more than pure noise, nor none."""
    most = TOTAL // size // GRID
    return GRID * max(1, min(-(-weight // GRID), most))


def product_of(size: int, stages: Stages) -> int:
    """The weight of each other cell after both stages; exact, or there is none."""
    first, second = stages
    kept = [TOTAL - (size - 1) * stage for stage in stages]
    exact = first * kept[1] + kept[0] * second + (size - 2) * first * second
    return exact // TOTAL if exact % TOTAL == 0 else -1


def gamma_of(sizes: Sequence[int], weights: Sequence[int]) -> Fraction:
    """The amplification of mixtures that are drawn independently."""
    found = Fraction(1)
    for size, other in zip(sizes, weights, strict=True):
        if size > 1:
            found *= Fraction(TOTAL - (size - 1) * other, other)
    return found


Cell = tuple[str, ...]


@dataclass(frozen=True)
class Draw:
    """The joint cell of some questions, and how it is drawn.

    Attributes:
        columns: the questions.
        cells: the answers that can be given together.
        other: how many of the 2**64 words give each other cell.
        stages: the same for life and for each wave, whose product it is; in a panel only.
    """

    columns: tuple[str, ...]
    cells: tuple[Cell, ...]
    other: int
    stages: Stages | None = None

    def __post_init__(self) -> None:
        if self.stages is not None and product_of(len(self.cells), self.stages) != self.other:
            raise InvalidMatrix("The two stages of a panel must give the matrix of a wave.")

    @cached_property
    def places(self) -> dict[Cell, int]:
        """The number of each cell."""
        return {cell: place for place, cell in enumerate(self.cells)}

    @property
    def kept(self) -> float:
        """The probability that what is sent is what was said."""
        return (TOTAL - (len(self.cells) - 1) * self.other) / TOTAL

    @property
    def kept_answers(self) -> list[float]:
        """The same for each answer by itself, for whatever was said.

        Of answers that are drawn together some come out as they were by chance: cells that agree
        in one question differ in another. A question with one possible answer is no question.
        """
        found = set()
        for column in zip(*self.cells, strict=True):
            alike = Counter(column)
            found |= set(alike.values()) if len(alike) > 1 else set()
        size = len(self.cells)
        return [(TOTAL - (size - own) * self.other) / TOTAL for own in sorted(found)]

    def place(self, truth: Cell) -> int:
        """The number of the cell that was answered."""
        if truth not in self.places:
            raise OutsideDomain(
                f"The answers to {' and '.join(self.columns)} cannot be given together."
            )
        return self.places[truth]

    def draw(self, truth: Cell, word: int) -> int:
        """The number of the cell that is sent."""
        return self.drawn(self.place(truth), word, self.other)

    def drawn(self, place: int, word: int, other: int) -> int:
        """The number of the cell that comes of one, by a mixture with this weight."""
        return word // other if word < len(self.cells) * other else place

    def to_json(self) -> Form:
        """As a page reads it; integers beyond 2**53 are texts."""
        form: Form = {"columns": list(self.columns), "other": str(self.other)}
        return form if self.stages is None else form | {"stages": list(map(str, self.stages))}


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
class Remembered:
    """What a person of a panel keeps for life: the set, and a permanent answer for every truth.

    It does not say which of them is true. Nobody else may have it.
    """

    asked: int
    cells: tuple[tuple[int, ...], ...]


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
    def of(
        cls, mechanism: Mechanism, stages: Sequence[Sequence[Stages]] | None = None
    ) -> AnswerChannel:
        """The channel of a plan that was made without data; of a panel with its two stages."""
        asked = cls._of(mechanism)
        if stages is None:
            return asked
        if [len(stage) for stage in stages] != [len(one.draws) for one in asked.asked]:
            raise InvalidMatrix("A panel must have two stages for every draw.")
        staged = tuple(
            replace(one, draws=tuple(replace(draw, stages=(first, second))
                                     for draw, (first, second) in zip(one.draws, own, strict=True)))
            for one, own in zip(asked.asked, stages, strict=True)
        )  # fmt: skip
        return replace(asked, asked=staged)

    @classmethod
    def _of(cls, mechanism: Mechanism) -> AnswerChannel:
        if isinstance(mechanism, AttributeSampler):
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

    def stage_gamma(self, stage: int) -> Fraction:
        """The amplification of one of the stages of a panel: of the set where it is largest."""
        return max(
            gamma_of([len(draw.cells) for draw in one.draws],
                     [draw.stages[stage] for draw in one.draws if draw.stages is not None])
            for one in self.asked
        )  # fmt: skip

    def remember(self, words: Callable[[int], Sequence[int]]) -> Remembered:
        """Draw what a person of a panel keeps for life; ``words`` gives this many fresh ones."""
        place = self.set_of(words(1)[0]) if self.reports else 0
        tables = []
        for draw in self.asked[place].draws:
            if draw.stages is None:
                raise InputError("This survey is no panel: nothing is kept for life.")
            fresh = words(len(draw.cells))
            other = draw.stages[0]
            tables.append(tuple(draw.drawn(at, word, other) for at, word in enumerate(fresh)))
        return Remembered(place, tuple(tables))

    def send_wave(
        self, remembered: Remembered, answers: Mapping[str, str], words: Sequence[int]
    ) -> SentRecord:
        """The record of a wave: from the permanent answer, one word a draw."""
        own = self.asked[remembered.asked]
        cells = []
        for draw, table, word in zip(own.draws, remembered.cells, words, strict=True):
            truth = tuple(_answer(answers, name) for name in draw.columns)
            assert draw.stages is not None  # noqa: S101 - something was remembered
            cells.append(draw.drawn(table[draw.place(truth)], word, draw.stages[1]))
        return SentRecord(remembered.asked, tuple(cells))

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
        cells = (
            draw.draw(tuple(_answer(answers, name) for name in draw.columns), word)
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

    def to_json(self) -> Form:
        """As a page reads it, but for the cells."""
        return {
            "reports": self.reports,
            "widths": list(self.widths),
            "asked": [
                {
                    "end": str(end),
                    "draws": [draw.to_json() for draw in one.draws],
                }
                for end, one in zip(self._ends, self.asked, strict=True)
            ],
        }


def _answer(answers: Mapping[str, str], name: str) -> str:
    if name not in answers:
        raise InputError(f"The question '{name}' must be answered.", column=name)
    return answers[name]


def _draw(columns: tuple[str, ...], matrix: UniformMixture) -> Draw:
    cells = tuple(
        label if all(type(part) is str for part in label) else tuple(map(label_text, label))
        for label in as_cells(matrix.labels, len(columns))
    )
    return Draw(columns, cells, matrix.other if matrix.size > 1 else 0)


MOST_CELLS: Final = 5_000_000
"""Over all sets of a survey: each is kept in memory by who serves it."""

Answers = Mapping[str, Sequence[str]]
"""The answers to each question."""


def follow(columns: Sequence[str], cells: Sequence[Any], answers: Answers) -> bool:
    """Whether these cells are all combinations, in their order."""
    if not all(name in answers for name in columns) or len(cells) != _size(columns, answers):
        return False
    return all(map(eq, cells, _every(columns, answers)))


def _size(columns: Sequence[str], answers: Answers) -> int:
    return prod(len(answers[name]) for name in columns)


def _every(columns: Sequence[str], answers: Answers) -> Iterator[tuple[str, ...]]:
    return product(*(answers[name] for name in columns))


def cells_over(mechanism: Mechanism) -> int:
    """How many cells all sets have together, or all steps."""
    return sum(len(part.cells) for part in _parts(mechanism) if part.matrix is not None)


def _parts(mechanism: Mechanism) -> Sequence[Any]:
    return mechanism.sets if isinstance(mechanism, AttributeSampler) else mechanism.steps


def shortened(mechanism: Mechanism, answers: Answers) -> list[Form]:
    """The plain form of a mechanism without the labels that follow from the questions."""
    forms = []
    for part in _parts(mechanism):
        form, cells = part.to_json(), () if part.matrix is None else part.cells
        if follow(part.columns, cells, answers):
            del form["matrix"]["labels"]
        forms.append(form)
    return forms


def spelled_out(forms: list[Any], answers: Answers, *, reports: bool) -> Mechanism:
    """The reverse: the mechanism, with the labels where there are none."""
    known = [form["columns"] if _is_short(form, answers) else None for form in forms]
    if sum(_size(own, answers) for own in known if own is not None) > MOST_CELLS:
        raise NotARelease(f"A survey may have at most {MOST_CELLS:,} cells over all its sets.")
    labels = [None if own is None else _labels(own, answers) for own in known]
    if reports:
        return AttributeSampler(tuple(map(attribute_set_of, forms, labels)))
    return mechanism_of([_spelled(form, own) for form, own in zip(forms, labels, strict=True)])


def _is_short(form: Any, answers: Answers) -> bool:
    """Whether it is of questions of the survey, and says nothing of their cells."""
    if not isinstance(form, dict):
        return False
    columns, matrix = form.get("columns"), form.get("matrix")
    if not isinstance(columns, list) or not isinstance(matrix, dict) or "labels" in matrix:
        return False
    return bool(columns) and all(
        isinstance(column, str) and column in answers for column in columns
    )


def _labels(columns: Sequence[str], answers: Answers) -> tuple[Any, ...]:
    """The labels of a matrix over all combinations."""
    return tuple(own[0] if len(own) == 1 else own for own in _every(columns, answers))


def _spelled(form: Any, labels: tuple[Any, ...] | None) -> Any:
    if labels is None:
        return form
    return form | {
        "matrix": form["matrix"] | {"labels": [label_to_json(label) for label in labels]}
    }
