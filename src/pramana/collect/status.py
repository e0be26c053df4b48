"""What a page that an office watches needs: how many came, what holds for them, what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from pramana.analysis.release import Release
from pramana.collect.closing import Status, collected_release, status_of
from pramana.collect.definition import DEFINITION, Definition
from pramana.collect.folder import kept_elsewhere, load, seen_store
from pramana.collect.store import Store
from pramana.errors import PramanaError
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.schema.domains import label_text
from pramana.types import Form

__all__ = ["Live", "LiveTable", "SurveyPlace", "live", "surveys"]

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
    expected = [one.k for one in definition.promised() if isinstance(one, PkAnonymity)]
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
