"""Closing a survey, and its state while answers come in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from pramana.analysis.release import Release
from pramana.base.atomic_files import require_free
from pramana.base.randomness import Keystream
from pramana.base.rounding import log_up
from pramana.base.text import as_table, floor_text, text_up
from pramana.collect.channel import AnswerChannel
from pramana.collect.definition import DEFINITION, Definition
from pramana.collect.folder import kept_elsewhere, load, seen_store
from pramana.collect.manipulation import Suspicion, suspicions
from pramana.collect.store import Store
from pramana.errors import DoesNotHold, InputError, OutputExists, PramanaError
from pramana.guarantees.claims import Claim
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.io.opening import open_table
from pramana.methods.base import METHODS
from pramana.release.certificate import Certificate, Collected, DataFile
from pramana.release.signing import signature_of
from pramana.schema.domains import label_text
from pramana.schema.opened_table import TableFormat
from pramana.schema.schema import REPORTED
from pramana.types import Form
from pramana.verification.checks import Check
from pramana.verification.consistency import consistency_checks
from pramana.verification.record_checks import record_checks


def certificate_of(definition: Definition, records: int) -> Certificate:
    """What holds for so many answers, and what error to expect.

    What was asked for is stated beside what is attained; where fewer people came than were
    expected, a target may be missed, and the certificate says so.
    """
    asked = {one.name: one for one in definition.asked}
    claims = tuple(Claim(one, asked.get(one.name)) for one in definition.promised(records))
    found = replace(bare_certificate(definition, records), claims=claims)
    price = METHODS[definition.method]().expected_error_of(found)
    return found if price is None else replace(found, expected_error=price.sentence())


def bare_certificate(definition: Definition, records: int) -> Certificate:
    """The same without promises and without an error to expect."""
    method = METHODS[definition.method]()
    schema, survey = definition.survey.schema, definition.survey
    return Certificate(
        schema=method.published_schema(schema),
        kind=method.kind,
        mechanism=definition.mechanism,
        method=method.name,
        records=records,
        anonymity_set=records,
        claims=(),
        labels=method.published_labels(survey.labels),
        collected=Collected(definition.identity, survey.expected, survey.codes, definition.panel),
    )


def released_table(definition: Definition, texts: list[str]) -> pa.Table:
    """The records in random order, one column a question."""
    channel = definition.channel
    order = Keystream.from_system().permutation(len(texts), "release")
    spelled, codes = np.unique(np.array(texts, dtype=str), return_inverse=True)
    rows = [_row(definition, channel, text) for text in spelled.tolist()]
    names = [column.name for column in definition.survey.schema.columns]
    columns = [*names, *([REPORTED] if channel.reports else [])]
    places = pa.array(codes[order])
    arrays = [pa.array([row.get(name) for row in rows], pa.string()).take(places)
              for name in columns]  # fmt: skip
    return pa.table(dict(zip(columns, arrays, strict=True)))


def _row(definition: Definition, channel: AnswerChannel, text: str) -> dict[str, str]:
    record = channel.read(text)
    values = channel.values(record)
    if not channel.reports:
        return values
    asked = channel.asked[record.asked].columns
    names = [one.name for one in definition.survey.questions if one.name in asked]
    return values | {REPORTED: as_table(names)}


def collected_release(definition: Definition, store: Store) -> Release:
    """The release as it would be if the survey were closed now, in memory."""
    texts = list(store.records())
    _require_two(len(texts))
    certificate = certificate_of(definition, len(texts))
    return Release(certificate, open_table(released_table(definition, texts)))


def _require_two(answers: int) -> None:
    if answers < 2:
        raise InputError(f"A release needs at least two answers, and {answers} came so far.")


def require_minimum(definition: Definition, answers: int) -> None:
    """Refuse to publish fewer answers than people were promised."""
    least = definition.survey.minimum
    if answers < least:
        raise InputError(
            f"People were promised that nothing is published of fewer than {least:,} answers, and "
            f"{answers:,} came so far. Wait for more, or delete the answers.",
            code="too-few-answers",
            count=answers,
            limit=least,
        )


def failed_checks(release: Release) -> list[Check]:
    """The checks of ``pramana verify`` that a release in memory would fail."""
    table = release.opened
    data = DataFile("data", table.format, "", 0)
    records = record_checks(replace(release.certificate, data=data), table, None)
    checks = [*consistency_checks(release.certificate), *records]
    return [check for check in checks if not check.ok]


def _require_passing(release: Release) -> None:
    failed = failed_checks(release)
    if failed:
        told = "; ".join(f"{check.name}: {check.detail}" for check in failed)
        raise DoesNotHold(
            f"A release of these answers would fail 'pramana verify' ({told}). Somebody may have "
            "invented answers. Look at 'pramana collect status', or close with --accept-failed.",
            code="failed-checks",
            checks=[check.name for check in failed],
        )


def close_survey(
    definition: Definition,
    store: Store,
    to: Path,
    *,
    file_format: TableFormat = "parquet",
    sign_with: Path | None = None,
    accept_failed: bool = False,
) -> Release:
    """Take no more answers, and write the release folder.

    Nothing is final before the promised minimum is reached and the release passes the checks of
    ``verify``; ``accept_failed`` publishes a release that does not pass. Later answers would be
    recognised by comparing two releases. Closing again writes the same answers.
    """
    if to.exists():
        raise OutputExists(f"{to} exists already. Choose another place for the release.")
    require_free(to, force=False)
    if sign_with is not None:
        signature_of(b"", sign_with)  # a key that cannot sign is found before anything is closed
    came = store.count()
    require_minimum(definition, came)
    release = collected_release(definition, store)
    if not accept_failed:
        _require_passing(release)
    store.finish()
    if store.count() != came:  # answers arrived meanwhile
        release = collected_release(definition, store)
        if not accept_failed:
            _require_passing(release)
    try:
        return release.save(to, file_format=file_format, sign_with=sign_with)
    except OutputExists:
        raise  # somebody else closed it there at the same moment
    except (OSError, PramanaError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error).rstrip(".")
        raise InputError(
            f"{why or 'It could not be written'}: the survey takes no more answers, and there is "
            f"no {to} yet. Close it again when that is mended."
        ) from None


def repeats(definition: Definition, answers: int, *, times: int) -> str:
    """What is left for a person who sent so many of these answers (docs/proofs/collected.md)."""
    ratio = Fraction(definition.mechanism.anonymity_ratio)
    k = 1 + Fraction(max(answers - times, 0), times) * ratio
    epsilon = text_up(times * log_up(definition.mechanism.gamma), 3)
    return f"epsilon {epsilon} and a k of {floor_text(k)} for who answered {times} times"


def _not_covered(definition: Definition, answers: int) -> tuple[str, ...]:
    if definition.survey.codes:
        return ()
    known = [repeats(definition, answers, times=times) for times in (2, 5)]
    return (f"Nothing keeps people from answering again, which covers less: {'; '.join(known)}.",)


@dataclass(frozen=True)
class Status:
    """How far a survey has come.

    Attributes:
        answers: how many came so far.
        expected: how many were expected.
        minimum: how many are needed before anything is published.
        k: the Pk-anonymity of a release of these answers alone, for who knows that no more came.
        sentences: what a release of them would promise.
        suspicions: counts that no truth explains.
        short: where these answers are too few for what was asked, in words.
    """

    answers: int
    expected: int
    minimum: int
    k: float | None
    sentences: tuple[str, ...]
    suspicions: tuple[str, ...] = ()
    short: tuple[str, ...] = ()

    def to_json(self) -> Form:
        """As ``pramana collect status --json`` gives it."""
        return {
            "answers": self.answers,
            "expected": self.expected,
            "minimum": self.minimum,
            "k": self.k,
            "sentences": list(self.sentences),
            "suspicions": list(self.suspicions),
            "short": list(self.short),
        }


MOST_TOLD: Final = 10
"""Counts that are told of; whoever invents answers moves many."""


def _told(found: Sequence[Suspicion]) -> tuple[str, ...]:
    """The farthest counts in words, and how many more there are."""
    rest = len(found) - MOST_TOLD
    more = (f"{rest:,} more counts lie beyond what any truth explains.",) if rest > 0 else ()
    return (*(one.sentence() for one in found[:MOST_TOLD]), *more)


def status_of(definition: Definition, store: Store) -> Status:
    """How far a survey has come."""
    answers = store.count()
    promised = definition.promised(answers) if answers >= 2 else ()
    k = next((one.k for one in promised if isinstance(one, PkAnonymity)), None)
    sentences = tuple(definition.promises(promised))
    sentences += _not_covered(definition, answers) if promised else ()
    odd = _told(suspicions(definition.channel, store.tally()))
    if answers >= LEAST:
        odd += tuple(
            f"A release of these answers would fail 'pramana verify': {check.name}, {check.detail}."
            for check in failed_checks(collected_release(definition, store))
        )
    short = tuple(definition.short_of(answers)) if promised else ()
    survey = definition.survey
    return Status(answers, survey.expected, survey.minimum, k, sentences, odd, short)


LEAST: Final = 2
MOST: Final = 100
"""Surveys that are looked for in a folder."""


@dataclass(frozen=True)
class SurveyPlace:
    """A survey folder, or one wave of it.

    Attributes:
        name: the folder, as seen from the one that it was looked for in.
        title: of the survey.
        wave: which one, of a panel.
        elsewhere: whether its answers are kept in a database.
    """

    name: str
    title: str
    wave: int | None
    elsewhere: bool = False


def surveys(folder: str | Path) -> list[SurveyPlace]:
    """The surveys in a folder or one below it that can be read, and each wave of a panel.

    What is a link out of the folder, or holds one, is not looked at.
    """
    base, found = Path(folder), list[SurveyPlace]()
    places = sorted([*base.glob(f"*/{DEFINITION}"), *base.glob(f"*/*/{DEFINITION}")])
    for path in [own for own in places if _stays(own.parent, base)][:MOST]:
        try:
            survey = load(path.parent).survey
        except PramanaError:
            continue
        waves = [None] if survey.waves == 1 else list(range(1, survey.waves + 1))
        name = str(path.parent.relative_to(base))
        elsewhere = kept_elsewhere(path.parent)
        found += [SurveyPlace(name, survey.title, wave, elsewhere) for wave in waves]
    return found


def _stays(survey: Path, base: Path) -> bool:
    """Whether a survey folder and all that is in it lie in another folder, links followed."""
    try:
        files, top = [survey, *survey.iterdir()], base.resolve()
        return all(own.resolve().is_relative_to(top) for own in files)
    except (OSError, RuntimeError):  # gone meanwhile, closed to us, or a link in a circle
        return False


@dataclass(frozen=True)
class LiveTable:
    """A question, and how many people gave each answer by what came so far.

    Attributes:
        name: the column.
        text: the question.
        rows: for each answer its label, the share of people who gave it, and the ends of a 95 %
            interval, all between 0 and 1.
    """

    name: str
    text: str
    rows: tuple[tuple[str, float, float, float], ...]


@dataclass(frozen=True)
class Live:
    """A survey at this moment.

    Attributes:
        title: of the survey.
        status: answers, what a release of them would promise, what is suspicious or missed.
        k_expected: k if as many come as are expected.
        closed: whether no more are taken.
        tables: estimates for the questions that were asked for.
    """

    title: str
    status: Status
    k_expected: float | None
    closed: bool
    tables: tuple[LiveTable, ...]

    def to_json(self) -> Form:
        """A plain form."""
        return asdict(self) | {"status": self.status.to_json()}


def live(
    folder: str | Path,
    *,
    questions: Sequence[str] | None = None,
    database: str | None = None,
    wave: int | None = None,
) -> Live:
    """Everything that a live page shows; all questions are estimated where none are named.

    It is for the office: who sees two moments can compare them.
    """
    definition = load(folder).of_wave(wave)
    with seen_store(Path(folder), definition, database) as store:
        return _live(definition, store, questions)


def _live(definition: Definition, store: Store, questions: Sequence[str] | None) -> Live:
    survey, status = definition.survey, status_of(definition, store)
    names = [one.name for one in survey.questions] if questions is None else questions
    release = collected_release(definition, store) if status.answers >= LEAST and names else None
    targets = definition.promised(survey.expected)
    expected = [one.k for one in targets if isinstance(one, PkAnonymity)]
    return Live(
        title=survey.title,
        status=status,
        k_expected=expected[0] if expected else None,
        closed=store.finished(),
        tables=() if release is None else tuple(_table(definition, release, own) for own in names),
    )


def _table(definition: Definition, release: Release, name: str) -> LiveTable:
    question, people = definition.survey[name], release.records
    rows = []
    for cell in release.crosstab(name).cells:
        numbers = [min(max(cell[own] / people, 0.0), 1.0) for own in ("estimate", "low", "high")]
        answer = label_text(cell[name])
        rows.append((question.labels.get(answer, answer), *numbers))
    return LiveTable(name, question.text, tuple(rows))
