"""A document as one self-contained HTML file."""

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

__all__ = ["CHART_STYLE", "STYLE", "to_html"]


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
