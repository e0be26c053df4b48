"""The definition of a survey: what is asked, how answers are randomised, what is promised.

It is made from metadata alone, before anybody has answered, and signed by the office. Anyone can
check it: the channel follows from the matrices, the promises from the matrices and the number of
people, and the page that people open is the very file whose digest stands here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pramana.collect.channel import AnswerChannel, SentRecord
from pramana.collect.survey import Survey, read_survey
from pramana.errors import AlteredRelease, NotARelease, PramanaError
from pramana.guarantees.base import Evidence, Guarantee
from pramana.guarantees.evaluate import attained
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.registry import asked_by_letters
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.matrices.mechanism import Mechanism
from pramana.methods.plan import Plan
from pramana.numeric import percent_down, percent_up
from pramana.planning import design
from pramana.randomness import Keystream
from pramana.release.certificate import canonical
from pramana.release.forms import mechanism_of, reporting_of
from pramana.release.signing import has_signature_of, signature_of
from pramana.release.strict import parse

__all__ = ["DEFINITION", "PAGE", "Definition", "define", "respond"]

FORMAT: Final = "pramana-survey"
VERSION: Final = 1
DEFINITION: Final = "definition.json"
PAGE: Final = "survey.html"
TRIAL: Final = "trial.html"
METHODS: Final = ("retention", "reports")


@dataclass(frozen=True)
class Definition:
    """What people agree to.

    Attributes:
        source: the survey file, word for word.
        method: ``retention`` (whole records) or ``reports``.
        mechanism: what is done to the answers of a person.
        page: the SHA-256 of the page that people open.
        signature: of the office, hexadecimal.
    """

    source: str
    method: str
    mechanism: Mechanism
    page: str = ""
    signature: str | None = None

    @cached_property
    def survey(self) -> Survey:
        """What is asked."""
        return read_survey(self.source)

    @cached_property
    def channel(self) -> AnswerChannel:
        """From answers to what is sent."""
        return AnswerChannel.of(self.mechanism)

    @property
    def asked(self) -> tuple[Guarantee, ...]:
        """The targets."""
        return tuple(asked_by_letters(self.survey.target))

    def promised(self, people: int | None = None) -> tuple[Guarantee, ...]:
        """What holds for so many answers; for those expected where not stated."""
        people = self.survey.expected if people is None else people
        evidence = Evidence(self.survey.schema, people, people, self.mechanism)
        return attained(evidence, self.asked)

    @cached_property
    def identity(self) -> str:
        """The digest of questions and channel: what page, server and records agree on."""
        return hashlib.sha256(canonical(self._content())).hexdigest()

    def consent(self) -> list[str]:
        """What people are told before they answer, in plain words; numbers rounded against us."""
        survey = self.survey
        said = [
            "Your answers are changed by chance on this device before anything is sent. The "
            "changed answers are all that leaves it: nobody, not even the office, gets the true "
            "ones.",
            *self._chances(),
            "From many changed answers the office can compute how many people gave which answer, "
            "and not what you did. You can always say that what was sent was chance.",
        ]
        said += [one.sentence() for one in self.promised()]
        said += self._turnout()
        if survey.codes:
            said.append(
                "Your code lets you answer once. It is kept as a mark that it was used, and not "
                "beside your answers."
            )
        else:
            said.append(
                "Answer once only. This device keeps what it sent, changed as it was, and sends "
                "the same again; answers from several devices would tell more about you."
            )
        return said

    def _turnout(self) -> list[str]:
        """Which of the promises hang on how many people answer."""
        names = [
            words
            for kind, words in _BY_TURNOUT
            if any(isinstance(one, kind) for one in self.promised())
        ]
        if not names:
            return []
        numbers = " and ".join(names)
        return [
            f"{numbers[0].upper()}{numbers[1:]} above hold if {self.survey.expected:,} people "
            "answer. If fewer do, they are weaker, and the release says by how much. What is said "
            "of one record by itself (epsilon) holds however many answer."
        ]

    def short_of(self, answers: int) -> list[str]:
        """Where those who came are too few for what was asked, in words."""
        found = {one.name: one for one in self.promised(answers)}
        return [
            f"{answers:,} people answered where {self.survey.expected:,} were expected: "
            f"{asked} was asked, and {found.get(asked.name, 'nothing')} is what holds. The "
            "certificate states that; tell those who answered."
            for asked in self.asked
            if asked.name not in found or not found[asked.name].implies(asked)
        ]

    def _chances(self) -> list[str]:
        draws = [draw for one in self.channel.asked for draw in one.draws]
        kept = [draw.kept for draw in draws]
        if self.channel.reports:
            fewest = min(len(one.columns) for one in self.channel.asked)
            most = max(len(one.columns) for one in self.channel.asked)
            number = str(fewest) if fewest == most else f"{fewest} or {most}"
            return [
                f"Chance also decides which {number} of the {len(self.survey.questions)} questions "
                "you are asked.",
                f"With a probability of {_between(kept)} what is sent is what you said; otherwise "
                "it is other answers, drawn by chance.",
            ]
        return [
            f"With a probability of {_between(kept)} an answer is sent as you gave it; otherwise "
            "another one is sent, drawn by chance. That is decided for each answer by itself."
        ]

    def _content(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "survey": self.source,
            "method": self.method,
            "mechanism": self.mechanism.to_json(),
        }

    def signed_part(self) -> bytes:
        """The bytes that a signature covers."""
        promises = [{"name": one.name, **one.to_json()} for one in self.promised()]
        return canonical(
            self._content()
            | {"page": self.page, "identity": self.identity, "promises": promises,
               "consent": self.consent()}
        )  # fmt: skip

    def to_bytes(self) -> bytes:
        """The file of the definition."""
        form = json.loads(self.signed_part())
        return canonical(form | ({} if self.signature is None else {"signature": self.signature}))

    @classmethod
    def from_bytes(cls, content: bytes) -> Definition:
        """Read a definition: strictly, and only if all that follows from it is as it follows."""
        root = parse(content, what=DEFINITION)
        form = root.fields(
            ["format", "version", "survey", "method", "mechanism", "page", "identity", "promises",
             "consent"],
            free=["signature"],
        )  # fmt: skip
        form["format"].text(FORMAT)
        if form["version"].whole() != VERSION:
            raise NotARelease(f"{DEFINITION} is of another version than {VERSION}.")
        method = form["method"].text(*METHODS)
        read = reporting_of if method == "reports" else mechanism_of
        digits = "small hexadecimal digits"
        try:
            found = cls(
                source=form["survey"].text(),
                method=method,
                mechanism=read(form["mechanism"]),
                page=form["page"].matching(r"[0-9a-f]{64}", f"64 {digits}"),
                signature=form["signature"].matching(r"[0-9a-f]{128}", f"128 {digits}")
                if "signature" in form
                else None,
            )
            written = found.to_bytes()
        except NotARelease:
            raise
        except PramanaError as error:
            raise NotARelease(f"{DEFINITION} contradicts itself: {error}") from None
        if written != content:
            raise AlteredRelease(f"{DEFINITION} was altered: it does not follow from itself.")
        return found

    @classmethod
    def load(cls, folder: str | Path) -> Definition:
        """The definition in a survey folder."""
        path = Path(folder) / DEFINITION
        try:
            content = path.read_bytes()
        except OSError:
            raise NotARelease(f"{folder} is not a survey folder: it has no {DEFINITION}.") from None
        return cls.from_bytes(content)

    def signed(self, key_file: Path) -> Definition:
        """The same with the signature of an office."""
        return replace(self, signature=signature_of(self.signed_part(), key_file))

    def has_signature_of(self, key_file: Path) -> bool:
        """Whether the holder of the private key to this public one signed it."""
        return has_signature_of(self, key_file)


_BY_TURNOUT: Final = (
    (PkAnonymity, "the bound of 1 in k"),
    (ShuffledPrivacy, "the central epsilon"),
)


def _between(kept: Sequence[float]) -> str:
    """The smallest and the largest chance, each rounded so that no more is said than holds."""
    low, high = percent_down(min(kept)), percent_up(max(kept))
    return high if low == high else f"{low} to {high}"


def define(survey: Survey, source: str) -> tuple[Definition, Plan]:
    """The plan that keeps the promise at the least error on the tables that will be asked for."""
    asked = asked_by_letters(survey.target)
    plans = []
    for name in (survey.method,) if survey.method else METHODS:
        try:
            plans.append(design(survey.schema, *asked, records=survey.expected, method=name))
        except PramanaError:
            if survey.method or name == METHODS[-1]:
                raise
    best = min(plans, key=_error)
    return Definition(source, best.method.name, best.mechanism), best


def _error(plan: Plan) -> float:
    """The mean error over the tables asked for, of whichever sets of columns both state."""
    error = plan.expected_error
    if error is None:
        return float("inf")
    widest = max(len(columns) for columns, _ in error.tables)
    wanted = {frozenset(table) for table in plan.schema.tables}
    own = [
        value
        for columns, value in error.tables
        if (frozenset(columns) in wanted if wanted else len(columns) == widest)
    ]
    return sum(own) / len(own) if own else float("inf")


def respond(
    definition: Definition, answers: Mapping[str, str], *, keystream: Keystream | None = None
) -> SentRecord:
    """Randomise the answers of one person: what may be sent, and all that may be kept.

    A person who is asked again must send the same record again, not a new one.
    """
    stream = keystream or Keystream.from_system()
    words = stream.words("respond", 0, definition.channel.words).tolist()
    return definition.channel.send(answers, words)
