"""Closing a survey, and its state while answers come in.

Records that honest randomisation cannot send often: a sign that somebody invents answers.

Whatever the original data are, a cell of a set is sent with at least ``other`` words: so every cell
is expected at least a known number of times, and one that everybody gave at most a known number.
The same holds for the answers to a question over all sets that ask it, and for whole records. Where
a count lies beyond what any truth allows, by a margin that chance passes once in a million surveys,
somebody did not use the page, or used it more than once. It is reported, and nothing is dropped:
what was invented looks like any other record.
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
from pramana.base.text import as_table, floor_text, plain, text_up
from pramana.collect.channel import AnswerChannel, Draw, SentRecord
from pramana.collect.definition import DEFINITION, Definition
from pramana.collect.folder import kept_elsewhere, load, seen_store
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
    """What holds for this many answers, and what error to expect.

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
    names = [question.name for question in definition.survey.questions if question.name in asked]
    return values | {REPORTED: as_table(names)}


def collected_release(definition: Definition, store: Store) -> Release:
    """The release as it would be if the survey were closed now, in memory."""
    texts = list(store.records())
    answers = len(texts)
    if answers < 2:
        raise InputError(f"A release needs at least two answers, and {answers} came so far.")
    certificate = certificate_of(definition, len(texts))
    return Release(certificate, open_table(released_table(definition, texts)))


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
    """What is left for a person who sent this many of these answers (docs/proofs/collected.md)."""
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
        return plain(self)


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
    for path in [place for place in places if _stays(place.parent, base)][:MOST]:
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
        return all(file.resolve().is_relative_to(top) for file in files)
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
    with seen_store(Path(folder), definition, database) as store:
        return _live(definition, store, questions)


def _live(definition: Definition, store: Store, questions: Sequence[str] | None) -> Live:
    survey, status = definition.survey, status_of(definition, store)
    names = [question.name for question in survey.questions] if questions is None else questions
    release = collected_release(definition, store) if status.answers >= LEAST and names else None
    targets = definition.promised(survey.expected)
    expected = [target.k for target in targets if isinstance(target, PkAnonymity)]
    return Live(
        title=survey.title,
        status=status,
        k_expected=expected[0] if expected else None,
        closed=store.finished(),
        tables=()
        if release is None
        else tuple(_table(definition, release, name) for name in names),
    )


def _table(definition: Definition, release: Release, name: str) -> LiveTable:
    question, people = definition.survey[name], release.records
    rows = []
    for cell in release.crosstab(name).cells:
        numbers = [min(max(cell[own] / people, 0.0), 1.0) for own in ("estimate", "low", "high")]
        answer = label_text(cell[name])
        rows.append((question.labels.get(answer, answer), *numbers))
    return LiveTable(name, question.text, tuple(rows))


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
    """How many of this many records say something, each with a chance between two."""

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
    draws = [[(len(draw.cells), len(draw.columns)) for draw in one.draws] for one in channel.asked]
    parts = sum(1 + sum(cells * (1 + columns) for cells, columns in draw) for draw in draws)
    wholes = max(math.fsum(math.log(cells) for cells, _ in draw) for draw in draws)
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
