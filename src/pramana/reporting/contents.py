"""What a report says, as plain values: made by who computes, shown by who renders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pramana.release.certificate import Certificate
from pramana.reporting.document import Row
from pramana.verification.checks import Check, State, Verdict
from pramana.verification.whole_file import FileRisk


@dataclass(frozen=True)
class About:
    """What the first page says about the release: whose it is, and of which day the report is."""

    name: str = ""
    office: str = ""
    date: str = ""


@dataclass(frozen=True)
class ColumnView:
    """One released column.

    Attributes:
        name: its name.
        title: its label with the name, or the name alone.
        role: what it means to an adversary.
        treatment: what was done to it, in words.
        domain: the values it can have, in words.
        labels: the values shown, in words.
        released: shares as released.
        estimated: shares as estimated, where they can be.
        low: lower ends of their intervals, where they can be stated.
        high: upper ends of their intervals.
        level: of the intervals.
        truth: shares in truth; only in a report for the owner.
        curve: whether the values are many and in an order, so that a curve shows them.
        note: what else there is to say.
    """

    name: str
    title: str
    role: str
    treatment: str
    domain: str
    labels: tuple[str, ...] = ()
    released: tuple[float, ...] = ()
    estimated: tuple[float, ...] | None = None
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    level: float = 0.95
    truth: tuple[float, ...] | None = None
    curve: bool = False
    note: str = ""

    @property
    def widest(self) -> float | None:
        """The farthest that an end of an interval lies from its estimate."""
        if self.estimated is None or self.low is None or self.high is None:
            return None
        found = zip(self.estimated, self.low, self.high, strict=True)
        return max(max(own - low, high - own) for own, low, high in found)


@dataclass(frozen=True)
class Measures:
    """A part of the report that only the owner gets: sentences and one table."""

    sentences: tuple[str, ...]
    heads: Row = ()
    rows: tuple[Row, ...] = ()
    caption: str = ""


@dataclass(frozen=True)
class Attacks(Measures):
    """Attacks on these people, for the owner.

    Attributes:
        measured: every attack with its interval, baseline and bound.
        holds: whether none broke a promise.
    """

    measured: tuple[Any, ...] = ()
    holds: bool = True


@dataclass(frozen=True)
class ReportContent:
    """Everything that a report shows.

    Attributes:
        certificate: the claim; what is promised is read from it.
        columns: one view a released column; those with labels are drawn.
        verdict: what verification found; ``None`` for a release that lies nowhere.
        code: how to analyse the data, as lines that run.
        risk: the risk of the whole released file.
        external: whether nothing but release and certificate went in.
        about: name, office, date.
        attacks: attacks on these people; for the owner.
        worst: the worst few keys before protection; for the owner.
        utility: what is lost; for the owner.
        notes: what could not be measured.
    """

    certificate: Certificate
    columns: tuple[ColumnView, ...]
    verdict: Verdict | None
    code: str
    risk: FileRisk
    external: bool
    about: About = About()
    attacks: Attacks | None = None
    worst: Measures | None = None
    utility: Measures | None = None
    notes: tuple[str, ...] = ()

    @property
    def drawn(self) -> tuple[ColumnView, ...]:
        """The columns that have a chart."""
        return tuple(column for column in self.columns if column.labels)

    def checks(self, state: State) -> tuple[Check, ...]:
        """The checks of one state."""
        return () if self.verdict is None else self.verdict.of_state(state)
