"""A document as plain values: made once, rendered as HTML and as PDF."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from pramana.base.charts import plain_svg

Row: TypeAlias = tuple[str, ...]
Tone: TypeAlias = Literal["", "quiet", "big", "strong", "warning", "good", "stated", "bad"]


@dataclass(frozen=True)
class Words:
    """A paragraph; ``good``, ``stated`` and ``bad`` make it a verdict."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Heading:
    """A heading inside a part."""

    text: str


@dataclass(frozen=True)
class Figures:
    """A few numbers in large letters, each with what it says."""

    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Facts:
    """Names and what goes with them."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Grid:
    """A table; the first column heads its row, from ``numbers`` on all are figures.

    Attributes:
        heads: of the columns.
        rows: of text.
        caption: what it shows.
        numbers: the first column of figures.
        folded: what is clicked to see it; nothing where it is shown at once.
    """

    heads: Row
    rows: tuple[Row, ...]
    caption: str
    numbers: int = 1
    folded: str = ""


@dataclass(frozen=True)
class Drawing:
    """A chart with its title, and in words all that it shows."""

    identity: str
    chart: Any = field(repr=False)
    title: str
    text: str

    @cached_property
    def svg(self) -> str:
        """Drawn once, whatever it becomes part of."""
        return plain_svg(self.chart)


@dataclass(frozen=True)
class Code:
    """Lines that run."""

    text: str


@dataclass(frozen=True)
class Signature:
    """Lines to sign on."""

    fields: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """Blocks that belong together: one promise, or charts side by side."""

    kind: Literal["promise", "charts", "chart"]
    blocks: tuple[Block, ...]


Block: TypeAlias = Words | Heading | Figures | Facts | Grid | Drawing | Code | Signature | Group


@dataclass(frozen=True)
class Chapter:
    """A part with a heading that can be linked to."""

    key: str
    head: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """One page to begin with, then the parts.

    Attributes:
        title: in the largest letters.
        about: who made it, when, for whom.
        first: the first page.
        annex: what the parts are called together; nothing where they follow without a break.
        parts: in order.
        closing: who may see it.
    """

    title: str
    about: tuple[str, ...]
    first: tuple[Block, ...]
    parts: tuple[Chapter, ...]
    closing: str
    annex: str = ""
