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

What people read on the page and agree to.

The probability that a real answer is sent comes from the matrices. Its range is rounded outward.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from pramana.base.atomic_files import read_file
from pramana.base.rounding import log_up
from pramana.base.text import names_of_table, percent_down, percent_up, text_up
from pramana.errors import InputError, InvalidSchema, PramanaError
from pramana.schema.domains import Bins, Categories, Domain, Labels, label_text
from pramana.schema.schema import REPORTED, Column, Impossible, Role, Schema
from pramana.schema.schema_file import read_toml
from pramana.types import Entries

if TYPE_CHECKING:
    from pramana.collect.definition import Definition


NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
FILLED: Final = re.compile(r"\{[a-z]+\}")
MONTH: Final = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")
UNSEEN: Final = ("Cc", "Cs", "Zl", "Zp")
MOST_LETTERS: Final = 10_000
MOST_QUESTIONS: Final = 200
MOST_ANSWERS: Final = 1000
MOST_WORK: Final = 24
MOST_WAVES: Final = 100
MOST_PEOPLE: Final = 10**10
MOST_EPSILON: Final = 50
MOST_WHOLE: Final = 10**15
MOST_EDGE: Final = 1e15
"""Beyond it a browser's numbers are not exact."""

TOP: Final = ("title", "office", "about", "contact", "retention", "language", "direction",
              "expected", "minimum", "method", "tables", "codes", "work", "words", "waves",
              "all_waves_epsilon", "questions")  # fmt: skip
ENTRIES: Final = ("name", "text", "answers", "labels", "bins", "months", "optional", "ordered",
                  "ask_if")  # fmt: skip


@dataclass(frozen=True)
class SurveyQuestion:
    """A question and all that can be answered.

    Attributes:
        name: the column of the release.
        text: as people read it.
        domain: the answers, those of who is not asked or would rather not among them.
        labels: what people read for an answer, where it is not the answer itself.
        bins: the edges, where people type a number.
        ask_if: it is asked only of those who gave one of these answers to each of these questions.
    """

    name: str
    text: str
    domain: Domain
    labels: Mapping[str, str] = field(default_factory=dict)
    bins: tuple[float, ...] = ()
    ask_if: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def answers(self) -> tuple[str, ...]:
        """All answers as texts, in order."""
        return tuple(label_text(label) for label in self.domain.labels)

    @property
    def optional(self) -> bool:
        """Whether one may prefer not to say."""
        return NOT_SAID in self.answers

    def rules(self, others: Mapping[str, SurveyQuestion]) -> list[Impossible]:
        """The combinations that cannot be: skipped though asked, and answered though skipped."""
        if not self.ask_if:
            return []
        asked = {name: list(answers) for name, answers in self.ask_if}
        found = [Impossible.of({**asked, self.name: [SKIPPED]})]
        own = [answer for answer in self.answers if answer != SKIPPED]
        for name, answers in self.ask_if:
            rest = [answer for answer in others[name].answers if answer not in answers]
            if rest:
                found.append(Impossible.of({name: rest, self.name: own}))
        return found


@dataclass(frozen=True)
class Survey:
    """What will be asked, of how many people, and what is promised to them.

    Attributes:
        title: as people read it.
        office: who asks.
        questions: in the order in which they are asked.
        expected: how many people are expected to answer.
        target: the numbers of the promise by the letters of the command line, such as ``k``.
        about: what the answers are for, in a sentence or two.
        tables: the tables that will be asked for.
        method: ``retention`` or ``attribute-sampling``; whichever is better for the tables where
        not stated. codes: whether people need an invitation code, so that each answers once.
        work: bits of proof of work that a page does before it sends, against floods; 0 for none.
        words: what the page says, in other words or another language.
        language: of the texts, as in HTML.
        direction: ``ltr`` or ``rtl``.
        waves: how often the same people are asked; 1 where it is no panel.
        all_waves_epsilon: what all waves together may tell, in a panel.
    """

    title: str
    office: str
    questions: tuple[SurveyQuestion, ...]
    expected: int
    target: Mapping[str, float]
    minimum: int = 2
    about: str = ""
    contact: str = ""
    retention: str = ""
    tables: tuple[tuple[str, ...], ...] = ()
    method: str | None = None
    codes: bool = False
    work: int = 0
    words: Mapping[str, str] = field(default_factory=dict)
    language: str = "en"
    direction: str = "ltr"
    waves: int = 1
    all_waves_epsilon: float | None = None

    def __post_init__(self) -> None:
        if (self.waves > 1) != (self.all_waves_epsilon is not None):
            raise InvalidSchema("A panel must state both waves, at least 2, and all_waves_epsilon.")
        if not self.questions:
            raise InvalidSchema("A survey must ask at least one question, got none.")
        if len(self.questions) > MOST_QUESTIONS:
            raise InvalidSchema(
                f"A survey may ask at most {MOST_QUESTIONS} questions, got {len(self.questions)}."
            )
        self._check_names()
        if not 2 <= self.expected <= MOST_PEOPLE:
            raise InvalidSchema(f"expected must lie between 2 and {MOST_PEOPLE:,} people.")
        if not 2 <= self.minimum <= self.expected:
            raise InvalidSchema(
                f"minimum must lie between 2 and {self.expected:,}, the number expected, got "
                f"{self.minimum:,}.",
                entry="minimum",
            )
        if self.method not in (None, "retention", "attribute-sampling"):
            raise InvalidSchema(
                f"method must be retention or attribute-sampling, got {self.method!r}."
            )

    def _check_names(self) -> None:
        seen: dict[str, SurveyQuestion] = {}
        for question in self.questions:
            if question.name in seen:
                raise InvalidSchema(f"Two questions are named '{question.name}'. Rename one.")
            for name, answers in question.ask_if:
                if name not in seen:
                    raise InvalidSchema(
                        f"ask_if of '{question.name}' must name a question before it, got '{name}'."
                    )
                strange = [answer for answer in answers if answer not in seen[name].answers]
                if strange or not answers:
                    raise InvalidSchema(
                        f"ask_if of '{question.name}' must list answers of '{name}': "
                        f"{', '.join(seen[name].answers)}."
                    )
            seen[question.name] = question

    def __getitem__(self, name: str) -> SurveyQuestion:
        return next(question for question in self.questions if question.name == name)

    def said(self, word: str, **filled: str | int) -> str:
        """What the page says, in the office's words where it has them."""
        text = self.words.get(word, WORDS[word])
        for mark, value in filled.items():
            text = text.replace(f"{{{mark}}}", str(value))
        return text

    @property
    def schema(self) -> Schema:
        """Every question is a column that goes through a matrix."""
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
            {
                question.name: dict(question.labels.items())
                for question in self.questions
                if question.labels
            },
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
            raise InvalidSchema(f"The survey file {path} cannot be read as UTF-8 text.") from None
        try:
            return read_survey(text), text
        except PramanaError as error:
            raise error.reworded(f"{path}: {error}") from None


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
    raw = read_toml(text, what="The survey")
    letters = _letters()
    for word in raw:
        if word not in TOP and word not in letters:
            _unknown(word, (*TOP, *letters), "The survey")
    target = {word: _number(word, raw[word]) for word in letters if word in raw}
    if not target:
        raise InvalidSchema(
            f"A survey must state a target, one of {', '.join(letters)}: such as k = 20."
        )
    questions = raw.get("questions")
    if not isinstance(questions, list) or not all(
        isinstance(question, dict) for question in questions
    ):
        raise InvalidSchema("Questions must be given as tables: [[questions]].")
    expected = raw.get("expected")
    if type(expected) is not int:
        raise InvalidSchema("expected must be a whole number: how many people will answer.")
    return Survey(
        title=_text("title", raw.get("title"), needed=True),
        office=_text("office", raw.get("office")),
        about=_text("about", raw.get("about")),
        contact=_text("contact", raw.get("contact")),
        retention=_text("retention", raw.get("retention")),
        questions=tuple(_question(number, one) for number, one in enumerate(questions, 1)),
        expected=expected,
        minimum=_whole("minimum", raw.get("minimum", max(2, -(-expected // 2))), most=MOST_PEOPLE),
        target=target,
        tables=tuple(names_of_table(one) for one in _texts("tables", raw.get("tables", []))),
        method=raw.get("method"),
        codes=_truth("codes", raw.get("codes", False)),
        work=_whole("work", raw.get("work", 0), most=MOST_WORK),
        words=_words(raw.get("words", {})),
        language=_text("language", raw.get("language")) or "en",
        direction=_choice("direction", raw.get("direction", "ltr"), ("ltr", "rtl")),
        waves=_whole("waves", raw.get("waves", 1), least=1, most=MOST_WAVES),
        all_waves_epsilon=_positive("all_waves_epsilon", raw.get("all_waves_epsilon")),
    )


def _letters() -> tuple[str, ...]:
    """The numbers by which targets are stated, of methods that need no data."""
    from pramana.guarantees.registry import GUARANTEES
    from pramana.methods.retention import Retention

    kinds = (GUARANTEES[name] for name in Retention.aims)
    return tuple(letter.field for kind in kinds for letter in kind.cli_options)


def _question(number: int, given: Entries) -> SurveyQuestion:
    where = f"Question {number}"
    for word in given:
        if word not in ENTRIES:
            _unknown(word, ENTRIES, where)
    name = _text("name", given.get("name"), needed=True)
    if not NAME.fullmatch(name) or name == REPORTED:
        raise InvalidSchema(
            f"{where}: name must be a word of letters, digits and _, got {name!r}.", column=name
        )
    ways = [way for way in ("answers", "bins", "months") if way in given]
    if len(ways) != 1:
        raise InvalidSchema(f"'{name}' must have one of answers, bins and months.", column=name)
    ask_if = _ask_if(name, given.get("ask_if", {}))
    extra = [SKIPPED] if ask_if else []
    extra += [NOT_SAID] if _truth("optional", given.get("optional", False)) else []
    answers, labels = _answers(name, ways[0], given)
    clash = [own for own in extra if own in answers]
    if clash:
        raise InvalidSchema(f"'{name}' lists '{clash[0]}', which is added by itself.", column=name)
    if len(answers) + len(extra) > MOST_ANSWERS:
        raise InvalidSchema(f"'{name}' may have at most {MOST_ANSWERS} answers.", column=name)
    ordered = ways[0] != "answers" or _truth("ordered", given.get("ordered", False))
    return SurveyQuestion(
        name=name,
        text=_text("text", given.get("text"), needed=True),
        domain=Categories((*answers, *extra), ordered=ordered and not extra),
        labels=labels | _texts_of(name, given.get("labels", {}), [*answers, *extra]),
        bins=tuple(given["bins"]) if ways[0] == "bins" else (),
        ask_if=ask_if,
    )


def _answers(name: str, way: str, given: Entries) -> tuple[list[str], dict[str, str]]:
    """The answers and what people read for them."""
    if way == "bins":
        edges = given["bins"]
        numbers = isinstance(edges, list) and all(
            isinstance(edge, int | float) and abs(edge) <= MOST_EDGE for edge in edges
        )
        if not numbers or len(edges) < 3:
            raise InvalidSchema(
                f"bins of '{name}' must be at least three numbers in rising order, none beyond "
                f"{MOST_EDGE:g}.",
                column=name,
            )
        return [str(label) for label in Bins(tuple(edges)).labels], {}
    if way == "months":
        return _months(name, given["months"]), {}
    own = given["answers"]
    answers = list(own) if isinstance(own, dict) else _texts(f"answers of '{name}'", own)
    if len(answers) < 2 or len(set(answers)) < len(answers) or not all(map(str.strip, answers)):
        raise InvalidSchema(
            f"'{name}' must have at least two answers, each listed once.", column=name
        )
    if any(map(_steers, answers)):
        raise InvalidSchema(
            f"Answers of '{name}' must hold no line breaks and no controls.", column=name
        )
    texts = own if isinstance(own, dict) else {}
    return answers, {text: _text(f"answer of '{name}'", texts[text], needed=True) for text in texts}


def _months(name: str, given: object) -> list[str]:
    """All months from the first to the last."""
    ends = [MONTH.fullmatch(one) for one in _texts(f"months of '{name}'", given)]
    if len(ends) != 2 or not all(ends):
        raise InvalidSchema(
            f"months of '{name}' must be the first and the last: 2020-01, 2026-12.", column=name
        )
    first, last = (12 * int(end[1]) + int(end[2]) - 1 for end in ends if end is not None)
    if not first < last:
        raise InvalidSchema(f"months of '{name}' must end after they begin.", column=name)
    return [f"{month // 12:04d}-{month % 12 + 1:02d}" for month in range(first, last + 1)]


def _ask_if(name: str, given: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(given, dict):
        raise InvalidSchema(f"ask_if of '{name}' must name questions with answers.", column=name)
    return tuple(
        (other, tuple(_texts(f"ask_if of '{name}'", answers))) for other, answers in given.items()
    )


def _words(given: object) -> dict[str, str]:
    if not isinstance(given, dict):
        raise InvalidSchema("words must be a table of texts: [words].")
    for word in given:
        if word not in WORDS:
            _unknown(word, tuple(WORDS), "[words]")
    found = {word: _text(f"words.{word}", given[word], needed=True) for word in given}
    for word, text in found.items():
        for mark in FILLED.findall(WORDS[word]):
            if mark not in text:
                raise InvalidSchema(f"words.{word} must say where {mark} stands.")
    return found


def _texts_of(name: str, given: object, answers: Sequence[str]) -> dict[str, str]:
    if not isinstance(given, dict) or not set(given) <= set(answers):
        raise InvalidSchema(f"labels of '{name}' must give texts for its answers.", column=name)
    return {answer: _text(f"labels of '{name}'", given[answer], needed=True) for answer in given}


def _unknown(word: str, words: Sequence[str], where: str) -> NoReturn:
    near = difflib.get_close_matches(word, words, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(words)}."
    raise InvalidSchema(f"{where} has an unknown entry '{word}'. {hint}")


def _text(what: str, given: object, *, needed: bool = False) -> str:
    if given is None and not needed:
        return ""
    if not isinstance(given, str) or (needed and not given.strip()) or len(given) > MOST_LETTERS:
        raise InvalidSchema(f"{what} must be a text of at most {MOST_LETTERS:,} letters.")
    if _steers(given, but="\n\r\t\u2028\u2029"):
        raise InvalidSchema(f"{what} must hold no control characters but line breaks.")
    return given


def _steers(text: str, *, but: str = "") -> bool:
    """Whether letters stand in it that nobody sees, and that screens and programs obey."""
    return any(unicodedata.category(own) in UNSEEN and own not in but for own in text)


def _texts(what: str, given: object) -> list[str]:
    numbers = (int, float)
    if not isinstance(given, list) or not all(
        isinstance(one, str) or (isinstance(one, numbers) and not isinstance(one, bool))
        for one in given
    ):
        raise InvalidSchema(f"{what} must be a list of texts.")
    return [label_text(one) for one in given]


def _truth(what: str, given: object) -> bool:
    if not isinstance(given, bool):
        raise InvalidSchema(f"{what} must be true or false.")
    return given


def _whole(what: str, given: object, *, least: int = 0, most: int) -> int:
    if type(given) is not int or not least <= given <= most:
        raise InvalidSchema(f"{what} must be a whole number from {least} to {most}.")
    return given


def _choice(what: str, given: object, choices: Sequence[str]) -> str:
    if given not in choices:
        raise InvalidSchema(f"{what} must be one of {', '.join(choices)}.")
    return str(given)


def _positive(what: str, given: object) -> float | None:
    if given is None:
        return None
    number = _number(what, given)
    if not number > 0:
        raise InvalidSchema(f"{what} must be a number above 0.")
    return number


def _number(what: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise InvalidSchema(f"{what} must be a number.")
    if isinstance(given, int) and abs(given) > MOST_WHOLE:
        raise InvalidSchema(f"{what} is too large a number.")
    if what.endswith("epsilon") and given > MOST_EPSILON:
        raise InvalidSchema(f"{what} must be at most {MOST_EPSILON}: more promises nothing.")
    return given


NOT_SAID: Final = "prefer not to say"
"""The answer of a person who prefers not to answer."""

SKIPPED: Final = "does not apply"
"""The answer to a question that a person is not asked, by the answers before it."""

WORDS: Final[dict[str, str]] = tomllib.loads(
    (files("pramana.collect") / "words.toml").read_text(encoding="utf-8")
)
"""All that a page says; an office may say it in another language."""


def consent_of(definition: Definition) -> list[str]:
    """What this version of pramana tells people of a survey; the first five before all else."""
    survey = definition.survey
    not_stated = survey.said("not_stated")
    once = "consent_code" if survey.codes else "consent_once"
    each = "" if survey.waves == 1 else "_each"
    return [
        survey.said("consent_voluntary"),
        survey.said("consent"),
        _chances(definition),
        survey.said("consent_doubt"),
        survey.said("consent_contact", contact=survey.contact or not_stated),
        survey.said("consent_retention", retention=survey.retention or not_stated),
        survey.said("consent_after"),
        survey.said("consent_use"),
        *_sets(definition),
        *definition.promises(definition.promised()),
        *_panel(definition),
        survey.said(f"consent_least{each}", least=f"{survey.minimum:,}"),
        survey.said(f"{once}{each}"),
    ]


def _chances(definition: Definition) -> str:
    """How likely it is that the real answer to a question is sent."""
    survey = definition.survey
    draws = [draw for asked in definition.channel.asked for draw in asked.draws]
    kept = [chance for draw in draws for chance in draw.kept_answers]
    return survey.said("consent_each", tenths=tenths(kept, survey), chance=_between(kept, survey))


def tenths(kept: Sequence[float], survey: Survey) -> str:
    """In how many of ten cases: the lowest probability rounded down, the highest rounded up."""
    low, high = (math.floor(10 * Fraction(min(kept))), math.ceil(10 * Fraction(max(kept))))
    if high == 10:
        most = survey.said("consent_above", chance=9)
        return most if low >= 9 else f"{low} {survey.said('to')} {most}"
    return str(high) if low == high else f"{low} {survey.said('to')} {high}"


def _sets(definition: Definition) -> list[str]:
    """How many of the questions a person is asked, where chance decides it."""
    survey = definition.survey
    sizes = [len(asked.columns) for asked in definition.channel.asked]
    fewest, most, questions = min(sizes), max(sizes), len(survey.questions)
    if fewest == questions:  # everybody is asked all of them
        return []
    number = str(fewest) if fewest == most else f"{fewest} {survey.said('to')} {most}"
    return [survey.said("consent_sets", number=number, questions=questions)]


def _panel(definition: Definition) -> list[str]:
    """All epsilons of a panel."""
    if definition.panel is None:
        return []
    one = log_up(definition.mechanism.gamma)
    filled = {
        "one": one,
        "alike": definition.panel.epsilon,
        "changing": definition.panel.changing_epsilon,
    }
    told = {mark: text_up(number, 3) for mark, number in filled.items()}
    return [definition.survey.said("consent_panel", waves=definition.survey.waves, **told)]


def _between(kept: Sequence[float], survey: Survey) -> str:
    """The smallest and the largest chance, each rounded so that no more is said than holds.

    What is not certain is never said to be.
    """
    most = max(kept)
    low, high = percent_down(min(kept)), percent_up(most)
    if most < 1 and high == percent_up(1):
        high = survey.said("consent_above", chance=percent_down(most))
        return high if low == percent_down(most) else f"{low} {survey.said('to')} {high}"
    return high if low == high else f"{low} {survey.said('to')} {high}"
