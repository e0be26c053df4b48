"""Documents as dataclasses, rendered as self-contained HTML and as tagged PDF.

Jinja2 renders the HTML and Typst sets the PDF, each from one template and the values of a document:
no text of a document is read as markup. The PDF has headings, alternative texts and searchable
text. The same document gives the same bytes where the same fonts are installed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, cached_property
from importlib.resources import as_file
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pramana.base.charts import fitting_svg, readable, standalone_svg, tokens
from pramana.base.translation import gettext, in_language, language
from pramana.errors import MissingExtra

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
        return standalone_svg(self.chart)

    @property
    def inline(self) -> str:
        """For a page, in the widths that its cards have."""
        return fitting_svg(self.chart, identity=self.identity, title=self.title, text=self.text)


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
        language: of all its texts.
    """

    title: str
    about: tuple[str, ...]
    first: tuple[Block, ...]
    parts: tuple[Chapter, ...]
    closing: str
    annex: str = ""
    language: str = field(default_factory=language)


def _read(name: str) -> str:
    return resources("pramana.reporting").joinpath(name).read_text(encoding="utf-8").strip()


CHART_STYLE = _read("charts.css")
"""The style sheet of charts, which the studio serves too."""

STYLE = f"{tokens()}{_read('look.css')}\n{CHART_STYLE}"


def to_html(document: Document) -> str:
    """Head, first page, table of contents, parts, footer."""
    from markupsafe import Markup

    style = Markup(STYLE)  # noqa: S704 - ours
    with in_language(document.language):
        sections = gettext("Sections")
    return _template().render(document=document, style=style, sections=sections) + "\n"


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

    return Markup(block.inline)  # noqa: S704 - drawn here, its texts escaped


ACCESSIBLE: Final = "ua-1"
"""The standard of PDFs for everybody; without it where a letter has no glyph in any font."""


def to_pdf(document: Document) -> bytes:
    """The document as the bytes of a PDF file."""
    try:
        import typst
    except ImportError:
        raise MissingExtra("PDF reports need an extra: pip install 'pramana[pdf]'.") from None
    with as_file(resources("pramana.reporting").joinpath("report.typ")) as template:
        inputs = {"data": json.dumps(_form(document))}
        try:
            made = typst.compile(str(template), sys_inputs=inputs, pdf_standards=[ACCESSIBLE])
        except typst.TypstError:
            made = typst.compile(str(template), sys_inputs=inputs)
    return bytes(made)


def _form(value: object) -> object:
    """A document, or a part of it, for the template; every text readable, each block by its name.

    >>> _form(Facts(((chr(0x202E) + "b", "c"),)))
    {'block': 'facts', 'pairs': [['\ufffdb', 'c']]}
    """
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, Drawing):
        text = readable(f"{value.title}. {value.text}")
        return {"block": "drawing", "svg": value.svg, "alt": text}
    if isinstance(value, list | tuple):
        return [_form(part) for part in value]
    if is_dataclass(value):
        named = {"block": type(value).__name__.lower()}
        return named | {field.name: _form(getattr(value, field.name)) for field in fields(value)}
    return value
