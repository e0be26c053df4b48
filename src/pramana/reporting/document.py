"""A document as plain values: made once, rendered as HTML and as PDF.

What a report says, as plain values: made by who computes, shown by who renders.

Documents as self-contained HTML and as tagged PDF.

Jinja2 renders HTML and Typst sets the PDF, both from one template and data: no text of a document
is read as markup. The PDF has headings, alternative texts and searchable text. The same document
gives the same bytes where the same fonts are installed.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pramana.base.charts import inline_svg, plain_svg, readable
from pramana.errors import MissingExtra
from pramana.release.certificate import Certificate
from pramana.types import Form
from pramana.verification.checks import Check, State, Verdict
from pramana.verification.whole_file import FileRisk

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


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


def _read(name: str) -> str:
    return files("pramana.reporting").joinpath(name).read_text(encoding="utf-8").strip()


CHART_STYLE = _read("charts.css")
"""The style sheet of charts, which the studio serves too."""

STYLE = f"{_read('look.css')}\n{CHART_STYLE}"


def to_html(document: Document) -> str:
    """Head, first page, table of contents, parts, footer."""
    from markupsafe import Markup

    return _template().render(document=document, style=Markup(STYLE)) + "\n"  # noqa: S704 - ours


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_shown)
    environment.filters |= {"kind": lambda block: type(block).__name__, "drawn": _drawn}
    return environment.from_string(_read("report.html"))


def _shown(value: object) -> object:
    """Text without control characters; no line ends between a number and a percent sign.

    >>> _shown("at most 20 %") == "at most 20" + chr(160) + "%"
    True
    """
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return re.sub(r"(?<=\d) %", "\u00a0%", readable(value))


def _drawn(block: Drawing) -> Markup:
    from markupsafe import Markup

    svg = inline_svg(block.svg, identity=block.identity, title=block.title, text=block.text)
    return Markup(svg)  # noqa: S704 - drawn here, its texts escaped


ACCESSIBLE: Final = "ua-1"
"""The standard of PDFs for everybody; without it where a letter has no glyph in any font."""


def to_pdf(document: Document) -> bytes:
    """The document as the bytes of a PDF file."""
    try:
        import typst
    except ImportError:
        raise MissingExtra("PDF reports need an extra: pip install 'pramana[pdf]'.") from None
    with as_file(files("pramana.reporting").joinpath("report.typ")) as template:
        inputs = {"data": json.dumps(_in_sight(_plain(document)))}
        try:
            made = typst.compile(str(template), sys_inputs=inputs, pdf_standards=[ACCESSIBLE])
        except typst.TypstError:
            made = typst.compile(str(template), sys_inputs=inputs)
    return bytes(made)


def _in_sight(form: object) -> object:
    """The same with every text readable: no name turns the direction of a line.

    >>> _in_sight({"rows": [(chr(0x202E) + "b", 1)]}) == {"rows": [[chr(0xFFFD) + "b", 1]]}
    True
    """
    if isinstance(form, str):
        return readable(form)
    if isinstance(form, dict):
        return {name: _in_sight(own) for name, own in form.items()}
    return [_in_sight(own) for own in form] if isinstance(form, list | tuple) else form


def _plain(document: Document) -> Form:
    return {
        "title": document.title,
        "about": " · ".join(document.about),
        "first": [_block(block) for block in document.first],
        "annex": document.annex,
        "parts": [
            {"head": part.head, "blocks": [_block(block) for block in part.blocks]}
            for part in document.parts
        ],
        "closing": document.closing,
    }


def _block(block: Block) -> Form:
    """Its fields by name, and which block it is."""
    name = {"block": type(block).__name__.lower()}
    if isinstance(block, Group):
        return name | {"kind": block.kind, "blocks": [_block(one) for one in block.blocks]}
    if isinstance(block, Drawing):
        return name | {"svg": block.svg, "alt": f"{block.title}. {block.text}"}
    return name | asdict(block)
