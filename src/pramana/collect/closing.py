"""Closing a survey, its state while answers come in, and signs of invented answers.

Whatever the original data are, a cell of a set is sent with at least ``other`` words. So each cell
has a smallest and a largest expected count: the first if nobody gave this answer, the second if
everybody did. The same holds for the answers to a question over all sets that ask it, and for whole
records. A count outside this range, by a margin that chance exceeds once in a million surveys,
means that somebody did not use the page, or used it more than once. It is reported, and nothing is
dropped: an invented record looks like any other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from pramana.analysis.release import Release
from pramana.base.atomic_files import require_free
from pramana.base.randomness import Keystream
from pramana.base.rounding import TOTAL, log_up
from pramana.base.text import as_table, floor_text, json_fields, text_up
from pramana.collect.channel import AnswerChannel, SentRecord
from pramana.collect.definition import DEFINITION, Definition
from pramana.collect.store import Store
from pramana.collect.survey_folder import answers, kept_elsewhere, load, seen_store
from pramana.errors import DoesNotHold, InputError, OutputExists, PramanaError
from pramana.guarantees.base import Guarantee
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

FEWEST: Final = 2
MOST_SURVEYS: Final = 100
"""Surveys that are looked for in a folder."""

MOST_SUSPICIONS: Final = 10
"""Suspicious counts that are reported; whoever invents answers moves many."""

LEVEL: Final = 1e-6
"""How often honest people raise a suspicion, over all counts of a survey together."""


def certificate_of(definition: Definition, records: int) -> Certificate:
    """The certificate for this many answers: guarantees, targets, and expected error.

    If fewer people came than were expected, a target may be missed, and the certificate says so.
    """
    asked = {one.name: one for one in definition.asked}
    claims = tuple(Claim(one, asked.get(one.name)) for one in definition.guarantees(records))
    certificate = replace(bare_certificate(definition, records), claims=claims)
    error = METHODS[definition.method]().expected_error_of(certificate)
    return certificate if error is None else replace(certificate, expected_error=error.sentence())


def bare_certificate(definition: Definition, records: int) -> Certificate:
    """The same without guarantees and without an expected error."""
    method = METHODS[definition.method]()
    survey = definition.survey
    return Certificate(
        schema=method.published_schema(survey.schema),
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
    channel, questions = definition.channel, definition.survey.schema.names
    order = Keystream.from_system().permutation(len(texts), "release")
    distinct, codes = np.unique(np.array(texts, dtype=str), return_inverse=True)
    rows = []
    for text in distinct.tolist():
        record = channel.read(text)
        row = channel.values(record)
        if channel.reports:
            asked = channel.asked[record.asked].columns
            row[REPORTED] = as_table([name for name in questions if name in asked])
        rows.append(row)
    places = pa.array(codes[order])
    columns = [*questions, *([REPORTED] if channel.reports else [])]
    return pa.table(
        {
            name: pa.array([row.get(name) for row in rows], pa.string()).take(places)
            for name in columns
        }
    )


def collected_release(definition: Definition, store: Store) -> Release:
    """The release as it would be if the survey were closed now, in memory."""
    texts = list(store.records())
    if len(texts) < FEWEST:
        raise InputError(
            "A release needs at least two answers, and {count} were received.", count=len(texts)
        )
    certificate = certificate_of(definition, len(texts))
    return Release(certificate, open_table(released_table(definition, texts)))


def failed_checks(release: Release) -> list[Check]:
    """The checks of ``pramana verify`` that a release in memory would fail."""
    table = release.opened
    data = DataFile("data", table.format, "", 0)
    records = record_checks(replace(release.certificate, data=data), table, None)
    checks = [*consistency_checks(release.certificate), *records]
    return [check for check in checks if not check.ok]


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
        raise OutputExists("{to} exists already. Choose another place for the release.", to=to)
    require_free(to, force=False)
    if sign_with is not None:
        signature_of(b"", sign_with)  # a key that cannot sign is found before anything is closed
    answers, minimum = store.count(), definition.survey.minimum
    if answers < minimum:
        raise InputError(
            "People were promised that nothing is published of fewer than {limit:,} answers, and "
            "{count:,} were received. Wait for more, or delete the answers.",
            code="too-few-answers",
            count=answers,
            limit=minimum,
        )
    release = _release_that_passes(definition, store, accept_failed=accept_failed)
    store.finish()
    if store.count() != answers:  # some arrived meanwhile
        release = _release_that_passes(definition, store, accept_failed=accept_failed)
    try:
        return release.save(to, file_format=file_format, sign_with=sign_with)
    except OutputExists:
        raise  # somebody else closed it there at the same moment
    except (OSError, PramanaError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error).rstrip(".")
        raise InputError(
            "{why}: the survey takes no more answers, and {to} was not written. Remove the cause "
            "and close it again.",
            why=why or "It could not be written",
            to=to,
        ) from None


def close_folder(
    folder: Path,
    to: Path,
    *,
    database: str | None = None,
    wave: int | None = None,
    accept_failed: bool = False,
) -> Release:
    """Close the survey in a folder, in a panel a wave of it; see ``close_survey``."""
    definition = load(folder, wave=wave)
    with answers(folder, database=database, wave=wave) as store:
        return close_survey(definition, store, to, accept_failed=accept_failed)


def _release_that_passes(definition: Definition, store: Store, *, accept_failed: bool) -> Release:
    release = collected_release(definition, store)
    failed = [] if accept_failed else failed_checks(release)
    if failed:
        details = "; ".join(f"{check.name}: {check.detail}" for check in failed)
        raise DoesNotHold(
            "A release of these answers would fail verification ({details}). Some answers may be "
            "forged. See 'pramana collect status', or close with --accept-failed.",
            code="failed-checks",
            checks=[check.name for check in failed],
            details=details,
        )
    return release


# -- the state of a survey -------------------------------------------------------------------------


@dataclass(frozen=True)
class Status:
    """How far a survey has come.

    Attributes:
        answers: how many were received.
        expected: how many were expected.
        minimum: how many are needed before anything is published.
        k: the Pk-anonymity of a release of these answers, for whoever knows that no more came.
        sentences: the guarantees of a release of them.
        suspicions: counts that no original data explain.
        short: the targets that these answers miss, in words.
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
        return json_fields(self)


def status_of(definition: Definition, store: Store) -> Status:
    """How far a survey has come."""
    answers, survey = store.count(), definition.survey
    warnings = [suspicion.sentence() for suspicion in suspicions(definition.channel, store.tally())]
    more = len(warnings) - MOST_SUSPICIONS
    if more > 0:
        warnings[MOST_SUSPICIONS:] = [f"{more:,} more counts are impossible in any original data."]
    if answers < FEWEST:
        return Status(answers, survey.expected, survey.minimum, None, (), tuple(warnings))
    warnings += [
        f"A release of these answers would fail verification: {check.name}, {check.detail}."
        for check in failed_checks(collected_release(definition, store))
    ]
    promised = definition.guarantees(answers)
    sentences = definition.sentences(promised)
    if not survey.codes:
        cases = [repeats(definition, answers, times=times) for times in (2, 5)]
        sentences.append(
            f"People can answer several times, which weakens the guarantee: {'; '.join(cases)}."
        )
    return Status(
        answers,
        survey.expected,
        survey.minimum,
        _k_of(promised),
        tuple(sentences),
        tuple(warnings),
        tuple(definition.short_of(answers)),
    )


def _k_of(promised: Sequence[Guarantee]) -> float | None:
    return next((one.k for one in promised if isinstance(one, PkAnonymity)), None)


def repeats(definition: Definition, answers: int, *, times: int) -> str:
    """The guarantee of a person who sent this many of the answers (docs/proofs/collected.md)."""
    ratio = Fraction(definition.mechanism.anonymity_ratio)
    k = 1 + Fraction(max(answers - times, 0), times) * ratio
    epsilon = text_up(times * log_up(definition.mechanism.gamma), 3)
    return f"epsilon {epsilon} and a k of {floor_text(k)} for a person who answered {times} times"


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

    A link out of the folder, or a folder that holds one, is not looked at.
    """
    base, places_of_surveys = Path(folder), list[SurveyPlace]()
    places = sorted([*base.glob(f"*/{DEFINITION}"), *base.glob(f"*/*/{DEFINITION}")])
    for path in [place for place in places if _is_inside(place.parent, base)][:MOST_SURVEYS]:
        try:
            survey = load(path.parent).survey
        except PramanaError:
            continue
        waves = [None] if survey.waves == 1 else list(range(1, survey.waves + 1))
        name = str(path.parent.relative_to(base))
        elsewhere = kept_elsewhere(path.parent)
        places_of_surveys += [SurveyPlace(name, survey.title, wave, elsewhere) for wave in waves]
    return places_of_surveys


def _is_inside(survey: Path, base: Path) -> bool:
    """Whether a survey folder and all that is in it lie in another folder, links followed."""
    try:
        files, top = [survey, *survey.iterdir()], base.resolve()
        return all(file.resolve().is_relative_to(top) for file in files)
    except (OSError, RuntimeError):  # gone meanwhile, closed to us, or a link in a circle
        return False


@dataclass(frozen=True)
class LiveTable:
    """The estimated answers to a question.

    Attributes:
        name: the column.
        text: the question.
        rows: for each answer its label, the share of people who gave it, and the ends of a 95 %
            interval, all between 0 and 1.
        mean: of a number that is rounded to points, with the ends of a 95 % interval.
    """

    name: str
    text: str
    rows: tuple[tuple[str, float, float, float], ...]
    mean: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Live:
    """A survey at this moment.

    Attributes:
        title: of the survey.
        status: answers, guarantees of a release of them, suspicious counts, missed targets.
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
        """Values for JSON."""
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
    survey = definition.survey
    names = [question.name for question in survey.questions] if questions is None else questions
    with seen_store(Path(folder), definition, database) as store:
        status, closed = status_of(definition, store), store.finished()
        tables = []
        if status.answers >= FEWEST and names:
            release = collected_release(definition, store)
            tables = [_live_table(definition, release, name) for name in names]
    k_expected = _k_of(definition.guarantees(survey.expected))
    return Live(survey.title, status, k_expected, closed, tuple(tables))


def _live_table(definition: Definition, release: Release, name: str) -> LiveTable:
    question, people = definition.survey[name], release.records
    rows = []
    for cell in release.crosstab(name).cells:
        share, low, high = (
            min(max(cell[figure] / people, 0.0), 1.0) for figure in ("estimate", "low", "high")
        )
        answer = label_text(cell[name])
        rows.append((question.labels.get(answer, answer), share, low, high))
    mean = None
    if question.points:
        (cell,) = release.mean(name).cells
        mean = (cell["estimate"], cell["low"], cell["high"])
    return LiveTable(name, question.text, tuple(rows), mean)


# -- signs of invented answers ---------------------------------------------------------------------


@dataclass(frozen=True)
class Suspicion:
    """A count, and the range of chances with which a record adds to it.

    Attributes:
        columns, cell: what the records say.
        count: how many do.
        of: how many could.
        least, most: the smallest and the largest chance, over all original data.
    """

    columns: tuple[str, ...]
    cell: tuple[str, ...]
    count: int
    of: int
    least: float
    most: float

    @property
    def too_many(self) -> bool:
        """Whether there are more than expected, and not fewer."""
        return self.count / self.of > self.most

    def distance(self) -> float:
        """Minus the logarithm of a bound on the chance of such a count; 0 inside the range.

        The records are independent. The mean of their chances lies between the two, and Chernoff's
        bound for that mean holds for their sum [Hoeffding63, Thm 1].
        """
        share = self.count / self.of
        if self.least <= share <= self.most:
            return 0.0
        return self.of * _divergence(share, self.most if self.too_many else self.least)

    def sentence(self) -> str:
        """In words."""
        pairs = zip(self.columns, self.cell, strict=True)
        values = ", ".join(f"{name} = {value}" for name, value in pairs)
        side, most = ("More", "at most") if self.too_many else ("Fewer", "at least")
        bound = self.of * (self.most if self.too_many else self.least)
        return (
            f"{side} records say {values} than the page can send: {self.count:,}, where {most} "
            f"{bound:,.0f} are expected in any original data."
        )


def _divergence(share: float, chance: float) -> float:
    """The Kullback-Leibler divergence of one coin from another."""
    sides = ((share, chance), (1 - share, 1 - chance))
    return math.fsum(
        seen * (math.log(seen / expected) if expected > 0 else math.inf)
        for seen, expected in sides
        if seen > 0
    )


def suspicions(channel: AnswerChannel, tally: Mapping[str, int]) -> list[Suspicion]:
    """Every count that lies beyond what any truth explains, the farthest first.

    Half of the level is for parts of records, half for whole ones, each shared among all that could
    be sent: also what nobody sent.
    """
    records = [(channel.read(text), times) for text, times in tally.items()]
    totals = Counter[int]()
    for record, times in records:
        totals[record.asked] += times
    parts = sum(
        1 + sum(len(draw.cells) * (1 + len(draw.columns)) for draw in asked.draws)
        for asked in channel.asked
    )
    largest = max(
        math.fsum(math.log(len(draw.cells)) for draw in asked.draws) for asked in channel.asked
    )
    part_limit = math.log(2 * 2 * parts / LEVEL)
    whole_limit = math.log(2 * len(channel.asked) / LEVEL) + largest
    counts = (
        (part_limit, _counts_of_cells(channel, records, totals, part_limit)),
        (part_limit, _counts_of_answers(channel, records, totals)),
        (part_limit, _counts_of_sets(channel, totals)),
        (whole_limit, _counts_of_records(channel, records, totals)),
    )
    beyond = [
        (distance, count)
        for limit, group in counts
        for count in group
        if (distance := count.distance()) > limit
    ]
    return [count for _, count in sorted(beyond, key=lambda pair: -pair[0])]


Records = Sequence[tuple[SentRecord, int]]


def _counts_of_cells(
    channel: AnswerChannel, records: Records, totals: Mapping[int, int], limit: float
) -> Iterator[Suspicion]:
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
                    yield Suspicion(draw.columns, cell, count, n, least, draw.kept)


def _counts_of_answers(
    channel: AnswerChannel, records: Records, totals: Mapping[int, int]
) -> Iterator[Suspicion]:
    """Answers to a question, over all records that were asked it."""
    counts, asked = Counter[tuple[str, str]](), Counter[str]()
    least, most = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for record, times in records:
        for name, answer in channel.values(record).items():
            counts[name, answer] += times
    for place, n in totals.items():
        for draw in channel.asked[place].draws:
            kept = TOTAL - (len(draw.cells) - 1) * draw.other
            for name, column in zip(draw.columns, zip(*draw.cells, strict=True), strict=True):
                asked[name] += n
                for answer, cells in Counter(column).items():
                    least[name, answer] += n * cells * draw.other
                    most[name, answer] += n * ((cells - 1) * draw.other + kept)
    for (name, answer), low in least.items():
        words = asked[name] * TOTAL
        high = most[name, answer] / words
        yield Suspicion((name,), (answer,), counts[name, answer], asked[name], low / words, high)


def _counts_of_sets(channel: AnswerChannel, totals: Mapping[int, int]) -> Iterator[Suspicion]:
    """Sets that were answered more or less often than chance asks for them."""
    n = sum(totals.values())
    for place, asked in enumerate(channel.asked if n else ()):
        share = asked.weight / TOTAL
        any_cell = ("any",) * len(asked.columns)
        yield Suspicion(asked.columns, any_cell, totals.get(place, 0), n, share, share)


def _counts_of_records(
    channel: AnswerChannel, records: Records, totals: Mapping[int, int]
) -> Iterator[Suspicion]:
    """Whole records of several draws: no truth sends one more often than all are kept together."""
    for record, times in records:
        draws = channel.asked[record.asked].draws
        if len(draws) > 1:
            most = math.prod(draw.kept for draw in draws)
            values = channel.values(record)
            n = totals[record.asked]
            yield Suspicion(tuple(values), tuple(values.values()), times, n, 0.0, most)
