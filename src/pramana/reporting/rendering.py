"""Documents as self-contained HTML and as tagged PDF.

Jinja2 renders HTML and Typst sets the PDF, both from one template and data: no text of a document
is read as markup. The PDF has headings, alternative texts and searchable text. The same document
gives the same bytes where the same fonts are installed.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from pramana.base.charts import inline_svg, readable
from pramana.reporting.document import Document, Drawing

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


import json
from dataclasses import asdict
from importlib.resources import as_file
from typing import Final

from pramana.errors import MissingExtra
from pramana.reporting.document import Block, Group
from pramana.types import Form


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
