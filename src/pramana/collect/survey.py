"""A survey as an office writes it: questions with their answers, how many people, which target.

A survey file is TOML:

    title = "How we live"
    office = "Office for statistics"
    contact = "survey@office.example"
    retention = "until the end of 2030"
    expected = 5000
    minimum = 3000
    k = 20

    [[questions]]
    name = "employed"
    text = "Are you employed?"
    answers = ["yes", "no"]

    [[questions]]
    name = "hours"
    text = "How many hours did you work last week?"
    bins = [0, 10, 20, 30, 40, 80]
    ask_if = { employed = ["yes"] }

Everything that a plan needs follows from it: what can be answered, and which answers exclude each
other. No data are looked at, since there are none [Ikarashi, Sec. 4].

The consent text states the probability that a real answer is sent. It comes from the matrices, and
its range is rounded outward.
"""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Meta, Struct, ValidationError, convert, field
from msgspec.structs import replace

from pramana.base.atomic_files import read_file
from pramana.base.rounding import TOTAL, log_up
from pramana.base.text import names_of_table, percent_down, percent_up, text_down, text_up
from pramana.errors import InputError, InvalidSchema, OutsideDomain, PramanaError
from pramana.schema.domains import Bins, Categories, Labels, NumberGrid, label_text
from pramana.schema.roles import Role
from pramana.schema.schema import REPORTED, Column, Impossible, Schema
from pramana.schema.schema_file import entry_of, read_toml

if TYPE_CHECKING:
    from pramana.collect.definition import Definition
    from pramana.guarantees.base import Guarantee

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
MONTH: Final = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")
PLACEHOLDER: Final = re.compile(r"\{[a-z]+\}")
CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
LINE_BREAK: Final = re.compile(r"[\t\n\r\u2028\u2029]")
MOST_LETTERS: Final = 10_000
MOST_QUESTIONS: Final = 200
MOST_ANSWERS: Final = 1000
MOST_PEOPLE: Final = 10**10
MOST_EPSILON: Final = 50
MOST_NUMBER: Final = 1e15
"""Beyond it a browser's numbers are not exact."""

Answer = str | int | float
Text = Annotated[str, Meta(min_length=1)]


class SurveyQuestion(Struct, frozen=True, dict=True, forbid_unknown_fields=True, kw_only=True):
    """A question and all that can be answered.

    Attributes:
        name: the column of the release.
        text: as people read it.
        listed: the answers to choose from; a table also gives the text of each.
        texts: what people read for an answer, where it is not the answer itself.
        bins: the edges, where people type a number.
        points: the numbers to which a typed number is rounded by chance, so that sums and means of
            the answers have no bias; ``step`` is the unit of what is typed.
        months: the first and the last, where people choose a month.
        optional: whether people may prefer not to say.
        ordered: whether the answers are in order.
        ask_if: it is asked only of those who gave one of these answers to each of these questions.
    """

    name: str
    text: Text
    listed: list[Answer] | dict[str, Text] | None = field(default=None, name="answers")
    texts: dict[str, Text] = field(default_factory=dict, name="labels")
    bins: tuple[int | float, ...] | None = None
    points: tuple[int | float, ...] | None = None
    step: int | float = 1
    months: tuple[str, str] | None = None
    optional: bool = False
    ordered: bool = False
    ask_if: dict[str, list[Answer]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name) or self.name == REPORTED:
            raise self._wrong("name must be a word of letters, digits and _, got {column!r}.")
        if [self.listed, self.bins, self.points, self.months].count(None) != 3:
            raise self._wrong("'{column}' must have one of answers, bins, points and months.")
        if self.points is not None and (self.optional or self.ask_if):
            raise self._wrong(
                "'{column}' has points: it cannot be optional, and cannot have ask_if."
            )
        answers = [] if self.points is not None else self._stated_answers()
        extra = {SKIPPED, NOT_SAID}.intersection(answers)
        if extra:
            raise self._wrong(
                "'{column}' lists '{pop}', which is added by itself.", pop=extra.pop()
            )
        if len(self.answers) > MOST_ANSWERS:
            raise self._wrong(
                "'{column}' may have at most {most_answers} answers.", most_answers=MOST_ANSWERS
            )
        if not {*self.texts} <= {*self.answers}:
            raise self._wrong("labels of '{column}' must give texts for its answers.")

    def _wrong(self, words: str, **fields: Any) -> InvalidSchema:
        return InvalidSchema(words, column=self.name, **fields)

    def _stated_answers(self) -> list[str]:
        """The answers without those that are added."""
        if self.bins is not None:
            if len(self.bins) < 3 or not all(abs(edge) <= MOST_NUMBER for edge in self.bins):
                raise self._wrong(
                    "bins of '{column}' must be at least three numbers in rising order, none "
                    "beyond {most_number:g}.",
                    most_number=MOST_NUMBER,
                )
            return [str(label) for label in Bins(self.bins).labels]
        if self.months is not None:
            ends = [MONTH.fullmatch(month) for month in self.months]
            first, last = (12 * int(end[1]) + int(end[2]) - 1 if end else 0 for end in ends)
            if not 0 < first < last:
                raise self._wrong(
                    "months of '{column}' must be the first and the last: 2020-01, 2026-12."
                )
            return [f"{month // 12:04d}-{month % 12 + 1:02d}" for month in range(first, last + 1)]
        answers = [label_text(answer) for answer in self.listed or ()]
        if len(answers) < 2 or len({*answers}) < len(answers) or not all(map(str.strip, answers)):
            raise self._wrong("'{column}' must have at least two answers, each listed once.")
        if any(CONTROL.search(answer) or LINE_BREAK.search(answer) for answer in answers):
            raise self._wrong(
                "Answers of '{column}' must hold no line breaks and no control characters."
            )
        return answers

    @cached_property
    def domain(self) -> Categories:
        """The answers, with those of people who are not asked or prefer not to say."""
        if self.points is not None:
            return NumberGrid(self.points, step=self.step)
        extra = [SKIPPED] if self.ask_if else []
        extra += [NOT_SAID] if self.optional else []
        ordered = self.ordered or self.listed is None
        return Categories((*self._stated_answers(), *extra), ordered=ordered and not extra)

    @property
    def answers(self) -> tuple[str, ...]:
        """All answers as texts, in order."""
        return tuple(label_text(label) for label in self.domain.labels)

    @property
    def labels(self) -> Mapping[str, str]:
        """What people read for an answer, where it is not the answer itself."""
        return (self.listed if isinstance(self.listed, dict) else {}) | self.texts

    def point(self, number: str | float, word: int) -> str:
        """The point that a number becomes: the next one for k / n of the words, k of n steps up."""
        assert isinstance(self.domain, NumberGrid)  # noqa: S101 - a question with points has one
        low, high = (float(str(self.domain.values[end])) for end in (0, -1))
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise OutsideDomain(
                "The answer to '{column}' must be a number from {low:g} to {high:g}.",
                column=self.name,
                low=low,
                high=high,
            )
        marks = self.domain.marks
        steps = math.floor((value - low) / self.step + 0.5)
        below = min(bisect.bisect_right(marks, steps), len(marks) - 1) - 1
        above, width = steps - marks[below], marks[below + 1] - marks[below]
        return self.answers[below + (word < above * TOTAL // width)]

    def conditions(self) -> dict[str, list[str]]:
        """The answers to earlier questions with which it is asked."""
        return {name: list(map(label_text, answers)) for name, answers in self.ask_if.items()}

    def rules(self, others: Mapping[str, SurveyQuestion]) -> Iterator[Impossible]:
        """The impossible combinations: skipped though asked, and answered though skipped."""
        conditions = self.conditions()
        if not conditions:
            return
        yield Impossible.of({**conditions, self.name: [SKIPPED]})
        answered = [answer for answer in self.answers if answer != SKIPPED]
        for name, answers in conditions.items():
            rest = [answer for answer in others[name].answers if answer not in answers]
            if rest:
                yield Impossible.of({name: rest, self.name: answered})


class Translation(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The texts of a survey in another language; what is left out stays as it is.

    Attributes:
        questions: the text of each question, by its name.
        answers: the texts of its answers, by the answer.
        words: texts of the page in other words.
    """

    title: Text | None = None
    office: Text | None = None
    about: Text | None = None
    contact: Text | None = None
    retention: Text | None = None
    questions: dict[str, Text] = field(default_factory=dict)
    answers: dict[str, dict[str, Text]] = field(default_factory=dict)
    words: dict[str, Text] = field(default_factory=dict)
    direction: Literal["ltr", "rtl"] = "ltr"


class Survey(Struct, frozen=True, dict=True, forbid_unknown_fields=True, kw_only=True):
    """The questions of a survey, its expected number of people, and its target.

    Attributes:
        title: as people read it.
        questions: in the order in which they are asked.
        expected: how many people are expected to answer.
        target: the numbers of the guarantee by their names on the command line, such as ``k``.
        minimum: fewer answers are never published.
        office: who asks.
        about: what the answers are for, in a sentence or two.
        contact: whom people can ask.
        retention: how long the answers are kept.
        planned: the tables that will be asked for, such as ``age*travel``.
        method: ``retention`` or ``attribute-sampling``; the better one for the tables if not given.
        codes: whether people need an invitation code, so that each answers once.
        work: bits of proof of work that a page does before it sends, against floods; 0 for none.
        words: texts of the page that the office has put in other words or another language.
        language: of the texts, as in HTML.
        direction: ``ltr`` or ``rtl``.
        translations: the texts in other languages, among which people choose.
        waves: how often the same people are asked; 1 if it is no panel.
        all_waves_epsilon: the epsilon of all waves together, in a panel.
    """

    title: Text
    questions: tuple[SurveyQuestion, ...]
    expected: int
    target: dict[str, int | float]
    minimum: int
    office: str = ""
    about: str = ""
    contact: str = ""
    retention: str = ""
    planned: list[str] = field(default_factory=list, name="tables")
    method: Literal["retention", "attribute-sampling"] | None = None
    codes: bool = False
    work: Annotated[int, Meta(ge=0, le=24)] = 0
    words: dict[str, Text] = field(default_factory=dict)
    language: str = "en"
    direction: Literal["ltr", "rtl"] = "ltr"
    translations: dict[str, Translation] = field(default_factory=dict)
    waves: Annotated[int, Meta(ge=1, le=100)] = 1
    all_waves_epsilon: Annotated[float, Meta(gt=0, le=MOST_EPSILON)] | None = None

    def __post_init__(self) -> None:
        if self.waves > 1 and any(question.points for question in self.questions):
            raise InvalidSchema("A panel cannot have points: each wave would round anew. Use bins.")
        if (self.waves > 1) != (self.all_waves_epsilon is not None):
            raise InvalidSchema("A panel must state both waves, at least 2, and all_waves_epsilon.")
        if not 1 <= len(self.questions) <= MOST_QUESTIONS:
            raise InvalidSchema(
                "A survey must ask between 1 and {most_questions} questions, got {count}.",
                most_questions=MOST_QUESTIONS,
                count=len(self.questions),
            )
        if not 2 <= self.expected <= MOST_PEOPLE:
            raise InvalidSchema(
                "expected must lie between 2 and {most_people:,} people.", most_people=MOST_PEOPLE
            )
        if not 2 <= self.minimum <= self.expected:
            raise InvalidSchema(
                "minimum must lie between 2 and {expected:,}, the number expected, got "
                "{minimum:,}.",
                entry="minimum",
                expected=self.expected,
                minimum=self.minimum,
            )
        for name, number in self.target.items():
            if isinstance(number, int) and abs(number) > MOST_NUMBER:
                raise InvalidSchema("{name} is too large.", name=name)
            if name.endswith("epsilon") and number > MOST_EPSILON:
                raise InvalidSchema(
                    "{name} must be at most {most_epsilon}: a larger one guarantees nothing.",
                    name=name,
                    most_epsilon=MOST_EPSILON,
                )
        self._check_questions()
        _check_words(self.words)
        for language, texts in self.translations.items():
            self._check_translation(language, texts)

    def _check_translation(self, language: str, texts: Translation) -> None:
        where = f"translations.{language}"
        if language == self.language:
            raise InvalidSchema(
                "{where} must be another language than that of the survey.", where=where
            )
        _check_words(texts.words)
        named = {question.name: question for question in self.questions}
        for name in (*texts.questions, *texts.answers):
            if name not in named:
                raise InvalidSchema(
                    "{where} names a question '{name}', and there is none.", where=where, name=name
                )
        for name, answers in texts.answers.items():
            if not {*answers} <= {*named[name].answers}:
                raise InvalidSchema(
                    "{where}.answers.{name} must give texts for its answers.",
                    where=where,
                    name=name,
                )

    def _check_questions(self) -> None:
        before: dict[str, SurveyQuestion] = {}
        for question in self.questions:
            if question.name in before:
                raise InvalidSchema(
                    "Two questions are named '{question}'. Rename one.", question=question.name
                )
            for name, answers in question.conditions().items():
                if name not in before:
                    raise InvalidSchema(
                        "ask_if of '{question}' must name a question before it, got '{name}'.",
                        question=question.name,
                        name=name,
                    )
                if before[name].points is not None:
                    raise InvalidSchema("ask_if cannot name '{name}', which has points.", name=name)
                if not answers or not {*answers} <= {*before[name].answers}:
                    raise InvalidSchema(
                        "ask_if of '{question}' must list answers of '{name}': {answers}.",
                        question=question.name,
                        name=name,
                        answers=", ".join(before[name].answers),
                    )
            before[question.name] = question

    def __getitem__(self, name: str) -> SurveyQuestion:
        return next(question for question in self.questions if question.name == name)

    def in_language(self, language: str) -> Survey:
        """The same survey with its texts in another language."""
        texts = self.translations[language]
        heads = ("title", "office", "about", "contact", "retention")
        return replace(
            self,
            **{name: getattr(texts, name) or getattr(self, name) for name in heads},
            language=language,
            direction=texts.direction,
            translations={},
            words=texts.words,
            questions=tuple(
                replace(
                    question,
                    text=texts.questions.get(question.name, question.text),
                    texts=question.texts | texts.answers.get(question.name, {}),
                )
                for question in self.questions
            ),
        )

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The tables that will be asked for."""
        return tuple(map(names_of_table, self.planned))

    @property
    def translation(self) -> dict[str, Any]:
        """The texts of the page in its language; in English where there is no translation."""
        return TRANSLATIONS.get(self.language.partition("-")[0], WORDS)

    def said(self, word: str, **filled: str | int) -> str:
        """A text of the page, in the office's words where it has them."""
        return _filled(self.words.get(word, self.translation[word]), filled)

    def number(self, text: str) -> str:
        """A number with the point and the groups of digits of the language."""
        marks = {".": self.said("number_point"), ",": self.said("number_group")}
        return re.sub(r"(?<=\d)[.,](?=\d)", lambda match: marks[match[0]], text)

    def guarantee(self, guarantee: Guarantee) -> str | None:
        """A guarantee in the language of the survey, rounded conservatively; or nothing."""
        text = self.translation.get("guarantees", {}).get(guarantee.name)
        if text is None:
            return None
        rounded = {
            option.entry: (text_up if option.up else text_down)(getattr(guarantee, option.entry), 3)
            for option in guarantee.cli_options
        }
        return _filled(text, {entry: self.number(value) for entry, value in rounded.items()})

    @cached_property
    def schema(self) -> Schema:
        """Every question is a randomised column."""
        named = {question.name: question for question in self.questions}
        return Schema(
            columns=tuple(
                Column(question.name, Role.KEY, question.domain, missing="refuse")
                for question in self.questions
            ),
            impossible=tuple(rule for one in self.questions for rule in one.rules(named)),
            tables=self.tables,
        )

    @property
    def labels(self) -> Labels:
        """The texts of questions and answers, for the codebook of the release."""
        return Labels(
            {question.name: question.text for question in self.questions},
            {one.name: dict(one.labels.items()) for one in self.questions if one.labels},
        )

    @classmethod
    def load(cls, path: str | Path) -> Survey:
        """The survey in a TOML file; every error names the file."""
        return cls.load_with_text(Path(path))[0]

    @classmethod
    def load_with_text(cls, path: Path) -> tuple[Survey, str]:
        """The survey and the text of its file, which is read once."""
        try:
            text = read_file(path, what="survey file").decode("utf-8-sig")
        except InputError as error:
            raise InvalidSchema(str(error)) from None
        except UnicodeDecodeError:
            raise InvalidSchema(
                "The survey file {path} cannot be read as UTF-8 text.", path=path
            ) from None
        try:
            return read_survey(text), text
        except PramanaError as error:
            raise error.reworded("{path}: {error}", path=path, error=error) from None


def read_survey(text: str) -> Survey:
    """The survey that a TOML text states.

    >>> survey = read_survey('''
    ... title = "Smoking"
    ... expected = 1000
    ... k = 10
    ... [[questions]]
    ... name = "smokes"
    ... text = "Do you smoke?"
    ... answers = ["yes", "no"]
    ... ''')
    >>> survey["smokes"].answers, survey.target
    (('yes', 'no'), {'k': 10})
    """
    from pramana.guarantees.claims import GUARANTEES
    from pramana.methods.retention import Retention

    form = read_toml(text, what="The survey")
    _check_texts(form, "")
    letters = [x.field for name in Retention.aims for x in GUARANTEES[name].cli_options]
    form["target"] = {name: form.pop(name) for name in letters if name in form}
    if not form["target"]:
        raise InvalidSchema(
            "A survey must state a target, one of {letters}: such as k = 20.",
            letters=", ".join(letters),
        )
    if isinstance(form.get("expected"), int):
        form.setdefault("minimum", max(2, -(-form["expected"] // 2)))
    _check_numbers(form)
    try:
        return convert(form, Survey)
    except ValidationError as error:
        if isinstance(error.__cause__, PramanaError):
            raise error.__cause__ from None
        what, _, where = str(error).partition(" - at `$")
        place = where.strip(".`") or "the survey"
        raise InvalidSchema(
            "The survey file is not valid at {place}: {what}.", place=place, what=what
        ) from None


def survey_toml(form: Mapping[str, Any]) -> str:
    """The text of a survey file from its entries, whether or not they make a survey.

    >>> print(survey_toml({"title": "Smoking", "k": 10, "questions": [{"name": "smokes"}]}), end="")
    title = "Smoking"
    k = 10
    <BLANKLINE>
    [[questions]]
    name = "smokes"
    """
    lines = [entry_of(name, value) for name, value in form.items() if name != "questions"]
    for question in form.get("questions", ()):
        lines += ["", "[[questions]]", *(entry_of(*entry) for entry in question.items())]
    return "\n".join(lines) + "\n"


def _check_words(words: Mapping[str, str]) -> None:
    """Refuse texts that the page does not have, or that omit a placeholder."""
    for word, text in words.items():
        if word not in WORDS:
            raise InvalidSchema("[words] has an unknown entry '{word}'.", word=word)
        for mark in PLACEHOLDER.findall(WORDS[word]):
            if mark not in text:
                raise InvalidSchema("words.{word} must contain {mark}.", word=word, mark=mark)


def _check_texts(value: Any, place: str) -> None:
    """Refuse long texts, and characters that screens and programs obey and nobody sees."""
    if isinstance(value, str):
        if len(value) > MOST_LETTERS:
            raise InvalidSchema(
                "{place} must be a text of at most {most_letters:,} letters.",
                place=place,
                most_letters=MOST_LETTERS,
            )
        if CONTROL.search(value):
            raise InvalidSchema(
                "{place} must hold no control characters but line breaks.", place=place
            )
    elif isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value, 1)
        for name, inner in entries:
            _check_texts(inner, f"{place}.{name}".lstrip("."))


def _check_numbers(form: Mapping[str, Any]) -> None:
    """Refuse bins and points that hold something else than numbers, with what to type."""
    questions = form.get("questions")
    tables = questions if isinstance(questions, list) else []
    for question in (table for table in tables if isinstance(table, dict)):
        for entry in ("bins", "points"):
            numbers = question.get(entry, [])
            if not isinstance(numbers, list) or {*map(type, numbers)} - {int, float}:
                raise InvalidSchema(
                    "{entry} of '{column}' must be numbers in rising order, such as 0, 10, 20.",
                    entry=entry,
                    column=question.get("name", ""),
                )


def _filled(text: str, values: Mapping[str, str | int]) -> str:
    for mark, value in values.items():
        text = text.replace(f"{{{mark}}}", str(value))
    return text


NOT_SAID: Final = "prefer not to say"
"""The answer of a person who prefers not to answer."""

SKIPPED: Final = "does not apply"
"""The answer to a question that a person is not asked, by the answers before it."""

TRANSLATIONS: Final[dict[str, dict[str, Any]]] = {
    file.name.removesuffix(".toml"): read_toml(file.read_text(encoding="utf-8"), what=file.name)
    for file in (files("pramana.collect") / "words").iterdir()
    if file.name.endswith(".toml")
}
"""All that a page says, by language; an office may say it in other words."""

WORDS: Final[dict[str, str]] = TRANSLATIONS["en"]


def consent_of(definition: Definition, language: str | None = None) -> list[str]:
    """The consent text of a survey; the page shows the first five sentences before all else."""
    survey = definition.survey
    survey = survey if language is None else survey.in_language(language)
    not_stated = survey.said("not_stated")
    draws = [draw for asked in definition.channel.asked for draw in asked.draws]
    kept = [chance for draw in draws for chance in draw.kept_answers]
    once = "consent_code" if survey.codes else "consent_once"
    each = "" if survey.waves == 1 else "_each"
    return [
        survey.said("consent_voluntary"),
        survey.said("consent"),
        survey.said("consent_each", tenths=tenths(kept, survey), chance=_chances(kept, survey)),
        survey.said("consent_doubt"),
        survey.said("consent_contact", contact=survey.contact or not_stated),
        survey.said("consent_retention", retention=survey.retention or not_stated),
        *_rounding(survey),
        survey.said("consent_after"),
        survey.said("consent_use"),
        *_number_of_questions(definition, survey),
        *_guarantees(definition, survey),
        *_panel(definition, survey),
        survey.said(f"consent_least{each}", least=survey.number(f"{survey.minimum:,}")),
        survey.said(f"{once}{each}"),
    ]


def _guarantees(definition: Definition, survey: Survey) -> Iterator[str]:
    """In the language of the survey, or as the certificate says it."""
    attained = definition.guarantees()
    for guarantee, sentence in zip(attained, definition.sentences(attained), strict=True):
        yield survey.guarantee(guarantee) or sentence


def _rounding(survey: Survey) -> list[str]:
    """That typed numbers are rounded, if any are."""
    rounded = any(question.points for question in survey.questions)
    return [survey.said("consent_points")] if rounded else []


def tenths(kept: Sequence[float], survey: Survey) -> str:
    """In how many of ten cases: the lowest probability rounded down, the highest rounded up."""
    low, high = (math.floor(10 * Fraction(min(kept))), math.ceil(10 * Fraction(max(kept))))
    if high == 10:
        return _range(str(low), survey.said("consent_above", chance=9), survey, alone=low >= 9)
    return _range(str(low), str(high), survey, alone=low == high)


def _chances(kept: Sequence[float], survey: Survey) -> str:
    """The range of probabilities, rounded outward; an uncertain one is never said to be certain."""
    low, high = percent_down(min(kept)), percent_up(max(kept))
    if max(kept) < 1 and high == percent_up(1):
        almost = percent_down(max(kept))
        return _range(low, survey.said("consent_above", chance=almost), survey, alone=low == almost)
    return _range(low, high, survey, alone=low == high)


def _range(low: str, high: str, survey: Survey, *, alone: bool) -> str:
    low, high = survey.number(low), survey.number(high)
    return high if alone else f"{low} {survey.said('to')} {high}"


def _number_of_questions(definition: Definition, survey: Survey) -> list[str]:
    """How many of the questions a person is asked, if they are drawn at random."""
    sizes = [len(asked.columns) for asked in definition.channel.asked]
    low, high, questions = min(sizes), max(sizes), len(survey.questions)
    if low == questions:  # everybody is asked all of them
        return []
    number = _range(str(low), str(high), survey, alone=low == high)
    return [survey.said("consent_sets", number=number, questions=questions)]


def _panel(definition: Definition, survey: Survey) -> list[str]:
    """The epsilons of one wave and of all waves."""
    panel = definition.panel
    if panel is None:
        return []
    return [
        survey.said(
            "consent_panel",
            waves=survey.waves,
            one=survey.number(text_up(log_up(definition.mechanism.gamma), 3)),
            alike=survey.number(text_up(panel.epsilon, 3)),
            changing=survey.number(text_up(panel.changing_epsilon, 3)),
        )
    ]
