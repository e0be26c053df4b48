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
(docs/proofs/collected_panels.md). Weights of P and Q are multiples of 2**32, so that their products
are integers over 2**64 again.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
"""How many of the 2**64 words give each other cell: in the permanent draw, and in every wave."""

GRID: Final = 2**32
MOST_PERMANENT: Final = 10_000
"""Permanent answers that a device keeps."""

MOST_CELLS: Final = 5_000_000
"""Over all sets of a survey: whoever serves it keeps each in memory."""

Cell = tuple[str, ...]
Answers = Mapping[str, Sequence[str]]
"""The answers to each question."""


# -- the two stages of a panel ---------------------------------------------------------------------


def two_stages(
    mechanism: Mechanism, all_waves: float
) -> tuple[Mechanism, tuple[tuple[Stages, ...], ...]]:
    """The mechanism of one wave as a product whose first factor has this epsilon.

    Each step keeps its share of the epsilon of one wave; the permanent epsilon is shared alike.
    """
    one_wave = log_of(Fraction(mechanism.gamma))
    if all_waves < one_wave:
        raise Infeasible(
            f"all_waves_epsilon must be at least the epsilon of one wave, {text_up(one_wave, 3)}, "
            f"got {text_down(all_waves, 6)}."
        )
    sampled = isinstance(mechanism, AttributeSampler)
    steps = _steps_of(mechanism)
    sizes = [step.matrix.size for step in steps if isinstance(step.matrix, UniformMixture)]
    kept = max(sizes) if sampled else sum(sizes)
    if kept > MOST_PERMANENT:
        raise Infeasible(
            f"A panel keeps an answer for each of {kept:,} cells on every device; at most "
            f"{MOST_PERMANENT:,} can be kept. Coarsen a question."
        )
    scale = all_waves / one_wave if one_wave else 1.0
    pairs = [_split(step.matrix, scale) for step in steps]
    staged = tuple(
        replace(step, matrix=matrix) for step, (matrix, _) in zip(steps, pairs, strict=True)
    )
    stages = [pair for _, pair in pairs]
    if isinstance(mechanism, AttributeSampler):
        return replace(mechanism, sets=staged), tuple((pair,) for pair in stages)
    return replace(mechanism, steps=staged), (tuple(stages),)


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
    """The weight of each other cell after both stages; -1 if it is not an integer."""
    first, second = stages
    kept = [TOTAL - (size - 1) * stage for stage in stages]
    exact = first * kept[1] + kept[0] * second + (size - 2) * first * second
    return exact // TOTAL if exact % TOTAL == 0 else -1


# -- the channel -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Draw:
    """The joint cell of some questions, and how it is drawn.

    Attributes:
        columns: the questions.
        cells: the answers that can be given together.
        other: how many of the 2**64 words give each other cell.
        stages: the same for the permanent draw and for each wave; in a panel only.
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
        """The probability that the true cell is sent."""
        return (TOTAL - (len(self.cells) - 1) * self.other) / TOTAL

    @property
    def kept_answers(self) -> list[float]:
        """The probability, for each question, that the answer sent is the true one.

        A cell that replaces the true one may have the same answer to one question and another
        answer to the next. Such answers count as true ones. Questions with one answer are left out.
        """
        agreeing = set()
        for column in zip(*self.cells, strict=True):
            counts = Counter(column)
            agreeing |= {*counts.values()} if len(counts) > 1 else set()
        size = len(self.cells)
        return [(TOTAL - (size - cells) * self.other) / TOTAL for cells in sorted(agreeing)]

    def place(self, original: Cell) -> int:
        """The number of the cell that was answered."""
        if original not in self.places:
            raise OutsideDomain(
                f"These answers to {' and '.join(self.columns)} are impossible together."
            )
        return self.places[original]

    def draw(self, original: Cell, word: int) -> int:
        """The number of the cell that is sent."""
        return self.drawn(self.place(original), word, self.other)

    def drawn(self, place: int, word: int, other: int) -> int:
        """The number of the cell drawn for a cell, by a mixture with this weight."""
        return word // other if word < len(self.cells) * other else place

    def to_json(self) -> Form:
        """As a page reads it; integers beyond 2**53 are texts."""
        form: Form = {"columns": list(self.columns), "other": str(self.other)}
        return form if self.stages is None else form | {"stages": list(map(str, self.stages))}


@dataclass(frozen=True)
class AskedTogether:
    """The questions of whole records, or one set of attribute sampling."""

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
    """The record that the page of a person sends.

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
        return ".".join(f"{number:0{width}d}" for number, width in zip(padded, widths, strict=True))


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
        reports = isinstance(mechanism, AttributeSampler)
        steps = _steps_of(mechanism)
        pairs: list[Stages | None] = [None] * len(steps)
        if stages is not None:
            sizes = [1] * len(steps) if reports else [len(steps)]
            if [len(group) for group in stages] != sizes:
                raise InvalidMatrix("A panel must have two stages for every draw.")
            pairs = [(first, second) for group in stages for first, second in group]
        draws = tuple(
            _draw(step.columns, step.matrix, pair) for step, pair in zip(steps, pairs, strict=True)
        )
        if isinstance(mechanism, AttributeSampler):
            weights = [one.weight for one in mechanism.sets]
            sets = zip(draws, weights, strict=True)
            return cls(tuple(AskedTogether((draw,), weight) for draw, weight in sets), reports=True)
        return cls((AskedTogether(draws),), reports=False)

    def stage_gamma(self, stage: int) -> Fraction:
        """The amplification of one of the stages of a panel: of the set where it is largest."""
        gammas = []
        for asked in self.asked:
            gamma = Fraction(1)
            for draw in asked.draws:
                if draw.stages is not None and len(draw.cells) > 1:
                    other = draw.stages[stage]
                    gamma *= Fraction(TOTAL - (len(draw.cells) - 1) * other, other)
            gammas.append(gamma)
        return max(gammas)

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
        cells = []
        draws = self.asked[remembered.asked].draws
        for draw, table, word in zip(draws, remembered.cells, words, strict=True):
            assert draw.stages is not None  # noqa: S101 - something was remembered
            original = _answers_to(draw, answers)
            cells.append(draw.drawn(table[draw.place(original)], word, draw.stages[1]))
        return SentRecord(remembered.asked, tuple(cells))

    @property
    def words(self) -> int:
        """How many random words a record needs."""
        return 2 if self.reports else len(self.asked[0].draws)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(asked.weight for asked in self.asked))

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Digits of the set and of each cell."""
        longest = max(len(asked.draws) for asked in self.asked)
        cells = [
            max(len(asked.draws[at].cells) for asked in self.asked if at < len(asked.draws))
            for at in range(longest)
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
        cells = (
            draw.draw(_answers_to(draw, answers), word)
            for draw, word in zip(self.asked[place].draws, rest, strict=True)
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
            raise InputError("A record must have the format of the survey, and this one has not.")
        place, *cells = map(int, parts)
        draws = self.asked[place].draws if place < len(self.asked) else ()
        inside = all(cell < len(draw.cells) for cell, draw in zip(cells, draws, strict=False))
        if not draws or not inside or any(cells[len(draws) :]):
            raise InputError(
                "A record must be one that the page of the survey can send, and this one is not."
            )
        return SentRecord(place, tuple(cells[: len(draws)]))

    def values(self, record: SentRecord) -> dict[str, str]:
        """The answers in a record, by question."""
        return {
            name: answer
            for draw, cell in zip(self.asked[record.asked].draws, record.cells, strict=True)
            for name, answer in zip(draw.columns, draw.cells[cell], strict=True)
        }

    def to_json(self) -> Form:
        """As a page reads it, but for the cells."""
        return {
            "reports": self.reports,
            "widths": list(self.widths),
            "asked": [
                {"end": str(end), "draws": [draw.to_json() for draw in asked.draws]}
                for end, asked in zip(self._ends, self.asked, strict=True)
            ],
        }


def _draw(columns: tuple[str, ...], matrix: Any, stages: Stages | None) -> Draw:
    if not isinstance(matrix, UniformMixture):
        raise InvalidMatrix("People randomise their answers by uniform mixtures only.")
    cells = tuple(
        label if all(type(part) is str for part in label) else tuple(map(label_text, label))
        for label in as_cells(matrix.labels, len(columns))
    )
    return Draw(columns, cells, matrix.other if matrix.size > 1 else 0, stages)


def _answers_to(draw: Draw, answers: Mapping[str, str]) -> Cell:
    for name in draw.columns:
        if name not in answers:
            raise InputError(f"The question '{name}' must be answered.", column=name)
    return tuple(answers[name] for name in draw.columns)


def _steps_of(mechanism: Mechanism) -> Sequence[Any]:
    """The parts of a mechanism that have one matrix each: its steps, or its attribute sets."""
    return mechanism.sets if isinstance(mechanism, AttributeSampler) else mechanism.steps


# -- a mechanism in the file of a definition -------------------------------------------------------


def are_all_combinations(columns: Sequence[str], cells: Sequence[Any], answers: Answers) -> bool:
    """Whether these cells are all combinations, in their order."""
    if not all(name in answers for name in columns) or len(cells) != _size(columns, answers):
        return False
    return all(map(eq, cells, product(*(answers[name] for name in columns))))


def _size(columns: Sequence[str], answers: Answers) -> int:
    return prod(len(answers[name]) for name in columns)


def number_of_cells(mechanism: Mechanism) -> int:
    """How many cells all sets have together, or all steps."""
    return sum(len(step.cells) for step in _steps_of(mechanism) if step.matrix is not None)


def to_short_form(mechanism: Mechanism, answers: Answers) -> list[Form]:
    """The JSON form of a mechanism without the labels that follow from the questions."""
    forms = []
    for step in _steps_of(mechanism):
        form, cells = step.to_json(), () if step.matrix is None else step.cells
        if are_all_combinations(step.columns, cells, answers):
            del form["matrix"]["labels"]
        forms.append(form)
    return forms


def from_short_form(forms: list[Any], answers: Answers, *, reports: bool) -> Mechanism:
    """The reverse: the mechanism, with the labels where there are none."""
    short = [form["columns"] if _is_short(form, answers) else None for form in forms]
    if sum(_size(columns, answers) for columns in short if columns is not None) > MOST_CELLS:
        raise NotARelease(f"A survey may have at most {MOST_CELLS:,} cells over all its sets.")
    labels = [
        None
        if columns is None
        else tuple(
            cell[0] if len(cell) == 1 else cell
            for cell in product(*(answers[name] for name in columns))
        )
        for columns in short
    ]
    if reports:
        return AttributeSampler(tuple(map(attribute_set_of, forms, labels)))
    return mechanism_of(
        [
            form
            if step_labels is None
            else form
            | {"matrix": form["matrix"] | {"labels": list(map(label_to_json, step_labels))}}
            for form, step_labels in zip(forms, labels, strict=True)
        ]
    )


def _is_short(form: Any, answers: Answers) -> bool:
    """Whether a form is of questions of the survey, and lists no cells."""
    if not isinstance(form, dict):
        return False
    columns, matrix = form.get("columns"), form.get("matrix")
    if not isinstance(columns, list) or not isinstance(matrix, dict) or "labels" in matrix:
        return False
    return bool(columns) and all(isinstance(name, str) and name in answers for name in columns)
