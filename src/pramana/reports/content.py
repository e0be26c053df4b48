"""What a report says, as plain values: made by who computes, shown by who renders."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pramana.release.certificate import Certificate

__all__ = ["ColumnView", "ReportContent", "Row", "Section"]

Row = tuple[str, ...]


@dataclass(frozen=True)
class ColumnView:
    """One released column.

    Attributes:
        name: its name.
        role: what it means to an adversary.
        treatment: what was done to it, in words.
        domain: the values it can have, in words.
        labels: the values shown.
        released: shares as released.
        estimated: shares as estimated, where a matrix is published.
        low: lower ends of their intervals.
        high: upper ends of their intervals.
        truth: shares in truth; only in a report for the owner.
        note: what else there is to say.
    """

    name: str
    role: str
    treatment: str
    domain: str
    labels: tuple[str, ...] = ()
    released: tuple[float, ...] = ()
    estimated: tuple[float, ...] | None = None
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    truth: tuple[float, ...] | None = None
    note: str = ""


@dataclass(frozen=True)
class Section:
    """A part of the report that only the owner gets: sentences, one table, measured shares."""

    sentences: tuple[str, ...]
    heads: Row = ()
    rows: tuple[Row, ...] = ()
    caption: str = ""
    measured: tuple[Any, ...] = ()


@dataclass(frozen=True)
class ReportContent:
    """Everything that a report shows.

    Attributes:
        certificate: the claim; what is promised is read from it.
        columns: one view a released column.
        checks: what verification found, each with its verdict and detail.
        code: how to analyse the data, as lines that run.
        risk: attacks on these people; for the owner.
        worst: the worst few keys before protection; for the owner.
        utility: what is lost; for the owner.
        external: whether nothing but release and certificate went in.
    """

    certificate: Certificate
    columns: tuple[ColumnView, ...]
    checks: tuple[tuple[str, bool, str], ...]
    code: str
    external: bool
    title: str = "Release report"
    risk: Section | None = None
    worst: Section | None = None
    utility: Section | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)
