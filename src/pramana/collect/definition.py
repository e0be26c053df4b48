"""The definition of a survey: what is asked, how answers are randomised, what is promised.

It is made from metadata alone, before anybody has answered, and signed by the office. Anyone can
check it: the channel follows from the matrices, the promises from the matrices and the number of
people, and the page that people open is the very file whose digest is here.

From a survey to its definition: the plan by the better of two methods, from metadata alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from pramana.base.atomic_files import read_file
from pramana.base.randomness import Keystream
from pramana.base.rounding import log_up
from pramana.base.text import percent_up
from pramana.collect.channel import (
    MOST_CELLS,
    AnswerChannel,
    Answers,
    Remembered,
    SentRecord,
    Stages,
    from_short_form,
    number_of_cells,
    to_short_form,
    two_stages,
)
from pramana.collect.survey import Survey, consent_of, read_survey
from pramana.errors import (
    AlteredRelease,
    Infeasible,
    InputError,
    InvalidNumber,
    InvalidSchema,
    NotARelease,
    PramanaError,
    TooLarge,
)
from pramana.guarantees.base import Evidence, Guarantee
from pramana.guarantees.claims import (
    Claim,
    Made,
    attained,
    guarantee_from_json,
    guarantees_from_options,
)
from pramana.mechanisms.mechanism import Mechanism
from pramana.methods.choice import design
from pramana.methods.plan import Plan
from pramana.release.certificate import Panel
from pramana.release.certificate_fields import Struct, Text, Weight, canonical, converted, parse
from pramana.release.signing import has_signature_of, signature_of
from pramana.types import Entries, Form

FORMAT: Final = "pramana-survey"
VERSION: Final = 3

DEFINITION: Final = "definition.json"
PAGE: Final = "survey.html"
TRIAL: Final = "trial.html"
METHODS: Final = ("retention", "attribute-sampling")
MOST_KEPT: Final = 0.999
"""Answers that are sent unchanged with a higher probability cannot be said to be chance."""

FLAG: Final = re.compile(r"--([a-z-]+)")


class DefinitionForm(Struct):
    """The file of a definition."""

    format: Literal["pramana-survey"]
    version: int
    survey: Text
    method: Literal["retention", "attribute-sampling"]
    mechanism: Annotated[list[Any], Meta(min_length=1)]
    page: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    identity: Text
    guarantees: Annotated[list[dict[Text, Text | int | float | bool | None]], Meta(min_length=1)]
    consent: list[Text]
    pramana: Annotated[str, Meta(pattern=r"\A[0-9A-Za-z.+!_-]{1,40}\Z")]
    signature: Annotated[str, Meta(pattern=r"\A[0-9a-f]{128}\Z")] | None = None
    stages: list[list[tuple[Weight, Weight]]] | None = None


@dataclass(frozen=True)
class Definition:
    """What people agree to.

    Attributes:
        source: the survey file, unchanged.
        method: ``retention`` (whole records) or ``attribute-sampling``.
        mechanism: what is done to the answers of a person.
        page: the SHA-256 of the page that people open.
        signature: of the office, hexadecimal.
        stages: the two stages of each draw, in a panel.
        wave: which one, in a panel; no part of what is signed.
        maker: the version of pramana that made it.
        stated_consent: the text of the page, as it was signed; this version's for a new survey.
        stated: what is promised to them, as it was signed; the same.
    """

    source: str
    method: str
    mechanism: Mechanism
    page: str = ""
    signature: str | None = None
    stages: tuple[tuple[Stages, ...], ...] | None = None
    wave: int = 1
    maker: str = ""
    stated_consent: tuple[str, ...] = ()
    stated: tuple[Entries, ...] = ()

    def changed(self, **what: Any) -> Definition:
        """The same with another page, signature or wave: what was computed still holds."""
        changed = replace(self, **what)
        computed = ("survey", "channel", "identity", "keys", "overstated", "_at_minimum",
                    "_at_expected", "_matrices", "_consent_of_this_version")  # fmt: skip
        kept = {name: value for name, value in self.__dict__.items() if name in computed}
        changed.__dict__.update(kept)
        return changed

    @cached_property
    def survey(self) -> Survey:
        """The questions, the expected number of people, and the target."""
        return read_survey(self.source)

    @cached_property
    def channel(self) -> AnswerChannel:
        """From answers to what is sent."""
        return AnswerChannel.of(self.mechanism, self.stages)

    @property
    def asked(self) -> tuple[Guarantee, ...]:
        """The targets."""
        return tuple(guarantees_from_options(self.survey.target))

    def guarantees(self, people: int | None = None) -> tuple[Guarantee, ...]:
        """The guarantees for this many answers; for the promised minimum where not stated."""
        if people == self.survey.expected:
            return self._at_expected
        return self._at_minimum if people is None else self._for(people)

    @cached_property
    def _at_minimum(self) -> tuple[Guarantee, ...]:
        return self._for(self.survey.minimum)

    @cached_property
    def _at_expected(self) -> tuple[Guarantee, ...]:
        return self._for(self.survey.expected)

    def _for(self, people: int) -> tuple[Guarantee, ...]:
        evidence = Evidence(self.survey.schema, people, people, self.mechanism)
        return attained(evidence, self.asked)

    def sentences(self, guarantees: Sequence[Guarantee]) -> list[str]:
        """The guarantees in words, as in the certificate."""
        schema = self.survey.schema
        made = Made.of(schema, {}, self.mechanism.marks)
        return [Claim(one).sentence(schema, made) for one in guarantees]

    @cached_property
    def identity(self) -> str:
        """The digest of questions and channel: what page, server and records agree on."""
        return hashlib.sha256(canonical(self._content())).hexdigest()

    @property
    def key(self) -> str:
        """What answers are sent to: the survey, or one wave of it."""
        return self.keys[self.wave - 1]

    @cached_property
    def keys(self) -> list[str]:
        """The keys of all waves."""
        if self.stages is None:
            return [self.identity]
        waves = range(1, self.survey.waves + 1)
        return [hashlib.sha256(f"{self.identity}.{wave}".encode()).hexdigest() for wave in waves]

    def of_wave(self, wave: int | None) -> Definition:
        """The same for one wave; a panel needs one, and nothing else has one."""
        waves = self.survey.waves
        if self.stages is None and wave is not None:
            raise InputError("This survey is no panel: it has no waves.")
        if self.stages is not None and (wave is None or not 1 <= wave <= waves):
            raise InputError(
                "This survey is a panel: say which wave, from 1 to {waves}.", waves=waves
            )
        return self if wave is None else self.changed(wave=wave)

    @cached_property
    def panel(self) -> Panel | None:
        """What all waves together tell."""
        if self.stages is None:
            return None
        changing = self.survey.waves * log_up(self.channel.stage_gamma(1))
        steady = min(log_up(self.channel.stage_gamma(0)), changing)
        return Panel(self.wave, self.survey.waves, steady, changing)

    def consent(self) -> list[str]:
        """The consent text, as it was signed."""
        return list(self.stated_consent or self._consent_of_this_version)

    @cached_property
    def _consent_of_this_version(self) -> list[str]:
        return consent_of(self)

    def short_of(self, answers: int) -> list[str]:
        """The targets that this many answers miss, in words."""
        attained = {one.name: one for one in self.guarantees(answers)}
        return [
            f"{answers:,} people answered where {self.survey.expected:,} were expected: "
            f"{asked} was asked, and {attained.get(asked.name, 'nothing')} is attained. The "
            "certificate states it; inform the respondents."
            for asked in self.asked
            if asked.name not in attained or not attained[asked.name].implies(asked)
        ]

    @cached_property
    def overstated(self) -> bool:
        """Whether people or the office read stronger guarantees than this version computes."""
        attained = {one.name: one for one in self.guarantees()}
        if not all(_is_implied(attained.get(str(form.get("name"))), form) for form in self.stated):
            return True
        if self.panel is not None:
            asked = self.survey.all_waves_epsilon
            if asked is not None and self.panel.epsilon > asked * (1 + 1e-9):
                return True
        return bool(self.short_of(self.survey.expected))

    def require_kept(self) -> None:
        """Refuse to take answers under a guarantee that does not hold."""
        if self.overstated:
            raise AlteredRelease(
                "{definition} was altered, or made by a faulty version of pramana: it states more "
                "than its matrices guarantee. It accepts no more answers; 'pramana collect close' "
                "states what is guaranteed for the answers received.",
                definition=DEFINITION,
            )

    @property
    def answers(self) -> Answers:
        """The answers to each question."""
        return {question.name: question.answers for question in self.survey.questions}

    @cached_property
    def _matrices(self) -> list[Form]:
        return to_short_form(self.mechanism, self.answers)

    def _content(self) -> Form:
        content: Form = {
            "format": FORMAT,
            "version": VERSION,
            "survey": self.source,
            "method": self.method,
            "mechanism": self._matrices,
        }
        if self.stages is None:
            return content
        # As texts: the numbers are beyond 2**53.
        stages = [[list(map(str, pair)) for pair in group] for group in self.stages]
        return content | {"stages": stages}

    def _signed(self) -> Form:
        stated = list(self.stated) or [
            {"name": one.name, **one.to_json()} for one in self.guarantees()
        ]
        return self._content() | {
            "page": self.page,
            "identity": self.identity,
            "guarantees": stated,
            "consent": self.consent(),
            "pramana": self.maker,
        }

    def signed_part(self) -> bytes:
        """The bytes that a signature covers."""
        return canonical(self._signed())

    def to_bytes(self) -> bytes:
        """The file of the definition."""
        signature = {} if self.signature is None else {"signature": self.signature}
        return canonical(self._signed() | signature)

    @classmethod
    def from_bytes(cls, content: bytes) -> Definition:
        """Read a definition strictly: every computed entry must follow from the others.

        Consent text and guarantees are those of the version that made the survey: people have read
        them, and the office has signed them. Whether they hold is for ``require_kept``.
        """
        form = converted(parse(content, what=DEFINITION), DefinitionForm, what=DEFINITION)
        if form.version != VERSION:
            raise NotARelease(
                "{definition} has format version {version}, and this version of pramana reads "
                "{known}. Serve and close the survey with pramana {pramana}.",
                definition=DEFINITION,
                version=form.version,
                known=VERSION,
                pramana=form.pramana,
            )
        try:
            bare = cls(
                source=form.survey,
                method=form.method,
                mechanism=Mechanism(()),
                maker=form.pramana,
                stages=None
                if form.stages is None
                else tuple(tuple((int(a), int(b)) for a, b in pairs) for pairs in form.stages),
                page=form.page,
                signature=form.signature,
                stated_consent=tuple(form.consent),
                stated=tuple(form.guarantees),
            )
            reports = form.method == "attribute-sampling"
            mechanism = from_short_form(form.mechanism, bare.answers, reports=reports)
            definition = bare.changed(mechanism=mechanism)
            written = definition.to_bytes()
        except NotARelease:
            raise
        except PramanaError as error:
            way = way_out(form.pramana)
            raise NotARelease(
                "{definition} contradicts itself: {error} {way}",
                definition=DEFINITION,
                error=error,
                way=way,
            ) from None
        if written != content:
            raise AlteredRelease(
                "{definition} was altered: its entries do not agree. {way_out}",
                definition=DEFINITION,
                way_out=way_out(definition.maker),
            )
        return definition

    @classmethod
    def load(cls, folder: str | Path) -> Definition:
        """The definition in a survey folder."""
        path = Path(folder) / DEFINITION
        try:
            content = read_file(path)
        except InputError:
            raise NotARelease(
                "{folder} is not a survey folder: it has no {definition}.",
                folder=folder,
                definition=DEFINITION,
            ) from None
        return cls.from_bytes(content)

    def signed(self, key_file: Path) -> Definition:
        """The same with the signature of an office."""
        return self.changed(signature=signature_of(self.signed_part(), key_file))

    def has_signature_of(self, key_file: Path) -> bool:
        """Whether the holder of the private key to this public one signed it."""
        return has_signature_of(self, key_file)


def way_out(maker: str) -> str:
    """What to do with a survey that this version cannot read: nothing of it is lost."""
    return f"If pramana {maker} made it so, that version also serves and closes it."


def _is_implied(attained: Guarantee | None, stated: Entries) -> bool:
    """Whether a signed guarantee holds; one that is not known here does not."""
    numbers = {entry: value for entry, value in stated.items() if entry != "name"}
    try:
        return attained is not None and attained.implies(
            guarantee_from_json(attained.name, numbers)
        )
    except PramanaError:
        return False


def remember(definition: Definition) -> Remembered:
    """Draw what a person of a panel keeps for life, before the first wave."""
    definition.require_kept()
    stream = Keystream.from_system()  # of this person alone: nobody shares chance with another
    begin = 0

    def words(count: int) -> list[int]:
        nonlocal begin
        begin += count
        return list(map(int, stream.words("remember", begin - count, count)))

    return definition.channel.remember(words)


def respond(
    definition: Definition,
    answers: Mapping[str, str | float],
    *,
    remembered: Remembered | None = None,
) -> SentRecord:
    """Randomise the answers of one person: what may be sent, and all that may be kept.

    Answers to questions with points are numbers, which are rounded by chance first.

    A person who is asked again must send the same record again, not a new one. In a panel, what
    they remember goes into the record of every wave.
    """
    definition.require_kept()
    stream = Keystream.from_system()  # of this record alone: two that share chance can be compared
    if (definition.stages is None) != (remembered is None):
        raise InputError("A panel, and nothing else, needs what the person keeps: remember(...).")
    texts = {name: str(answer) for name, answer in answers.items()}
    for place, question in enumerate(definition.survey.questions):
        if question.points is not None and question.name in answers:
            (word,) = stream.words("round", place, 1).tolist()
            texts[question.name] = question.point(answers[question.name], word)
    if remembered is not None:
        words = stream.words("respond", 0, len(remembered.cells)).tolist()
        return definition.channel.send_wave(remembered, texts, words)
    words = stream.words("respond", 0, definition.channel.words).tolist()
    return definition.channel.send(texts, words)


def define(survey: Survey, source: str) -> tuple[Definition, Plan]:
    """The plan that meets the target at the least error on the tables that will be asked for.

    It is made from metadata alone, by each method that meets the target and can be served.
    """
    try:
        asked = guarantees_from_options(survey.target)
    except InputError as error:  # a survey file has entries, not options
        words = FLAG.sub(lambda flag: flag[1].replace("-", "_"), str(error))
        raise InvalidSchema(words) from None
    plans, refused = list[Plan](), list[PramanaError]()
    for name in (survey.method,) if survey.method else METHODS:
        try:
            plan = design(survey.schema, *asked, records=survey.expected, method=name)
            if number_of_cells(plan.mechanism) > MOST_CELLS:
                raise TooLarge(
                    "A survey may have at most {most_cells:,} cells over all its sets. Ask fewer "
                    "questions, or offer fewer answers.",
                    most_cells=MOST_CELLS,
                )
            plans.append(plan)
        except PramanaError as error:
            refused.append(error)
    if not plans:
        raise refused[-1]
    best = min(plans, key=_mean_error)
    mechanism, stages = best.mechanism, None
    if survey.all_waves_epsilon is not None:
        mechanism, stages = two_stages(mechanism, survey.all_waves_epsilon)
        if mechanism.gamma == 1 or mechanism.gamma > best.mechanism.gamma:
            raise Infeasible("A panel with this epsilon sends pure noise: state a larger epsilon.")
    maker = version_of("pramana")
    definition = Definition(source, best.method.name, mechanism, stages=stages, maker=maker)
    kept = max(draw.kept for together in definition.channel.asked for draw in together.draws)
    if kept >= MOST_KEPT:
        raise InvalidNumber(
            "Answers would be sent unchanged with a probability of {kept}, and the page says that "
            "an answer may be random. Ask for a smaller epsilon or a larger k.",
            kept=percent_up(kept),
        )
    return definition, best


def _mean_error(plan: Plan) -> float:
    """The mean error over the planned tables, or over the widest ones if none are planned."""
    if plan.expected_error is None:
        return float("inf")
    tables = plan.expected_error.tables
    widest = max(len(columns) for columns, _ in tables)
    planned = {frozenset(table) for table in plan.schema.tables}
    errors = [
        error
        for columns, error in tables
        if (frozenset(columns) in planned if planned else len(columns) == widest)
    ]
    return sum(errors) / len(errors) if errors else float("inf")
