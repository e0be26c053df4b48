"""Charts of Altair as SVG and PNG, by vl-convert: no browser is needed. The style of pages.

The same numbers give the same bytes. All other modules use the plotting library through this one.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from pramana.base.processes import require_addresses
from pramana.base.translation import MARKS, language, numeral
from pramana.types import Entries

COLOURS = ("#0b5f8a", "#a85400", "#3f6b1f", "#7a4a8c", "#6b5d00", "#8a1b3c", "#3d3d3d", "#006b6b")
"""Each at least 4.5 to 1 against white."""

RESERVED = 72 * 2**30
"""Addresses that vl-convert reserves; it ends the process if it cannot."""

STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
RESERVED_NAMES = re.compile(
    r"constructor|__\w+__|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString"
    r"|valueOf"
)
"""Names that every object of JavaScript has: as names of columns they mislead Vega."""

LOOKED_THROUGH = False
"""Whether Altair validates each chart, which takes as long as drawing it: in tests alone."""

PERCENT: Final = "format(100 * datum.value, '.6~g') + ' %'"
"""How an axis of shares writes them, as texts do."""


@cache
def tokens() -> str:
    """The style sheet that comes first in every page."""
    return files("pramana.base").joinpath("tokens.css").read_text(encoding="utf-8")


def altair() -> Any:
    """The library, loaded when a chart is made."""
    import altair as library

    return library


def rows_of(rows: Sequence[Entries]) -> Any:
    """Rows as the data of a chart; Altair does not inspect this form."""
    return {"values": [dict(row) for row in rows]}


def styled(chart: Any) -> Any:
    """The same chart in the common style; one call, since each copies the chart."""
    letters = {"labelFontSize": 13, "titleFontSize": 13, "titleFontWeight": "normal"}
    axis = {"gridColor": "#dddddd", "labelColor": "#474747", "titleColor": "#1f1f1f"}
    title = {"fontSize": 14, "subtitleColor": "#474747", "subtitleFontSize": 13}
    return chart.configure(
        view={"stroke": None},
        axis={"labelLimit": 180, **axis, **letters},
        axisY={"labelLimit": 300},
        legend={"labelLimit": 240, **letters},
        title={"anchor": "start", **title},
    )


MARK: Final = re.compile(r'<(path aria-label="([^"]*)" role="graphics-symbol"[^>]*[^/>])/>')
"""A point or a bar of a chart, with its label."""


WIDTHS: Final = (340, 480, 690, 1060)
"""Of the same chart in a page, in pixels; charts.css shows the one that fits its card."""

NARROW: Final = 500
"""Below this width, the legend is below a chart, and names of values are cut off sooner."""


def fitting_svg(chart: Any, *, identity: str, title: str, text: str) -> str:
    """A chart in each of the widths, so that its letters have one size on a phone and a desk."""
    size = {"type": "fit-x", "contains": "padding"}
    narrow = _for_phones(chart)
    return "".join(
        inline_svg((narrow if wide < NARROW else chart).properties(width=wide, autosize=size),
                   identity=f"{identity}-{wide}", title=title, text=text)
        for wide in WIDTHS
    )  # fmt: skip


def _for_phones(chart: Any) -> Any:
    """A styled chart whose marks keep room on a phone."""
    narrow = chart.copy(deep=True)
    narrow.config["legend"] |= {"orient": "bottom", "columns": 1}
    narrow.config["axisY"] |= {"labelLimit": 130}
    narrow.config["axisX"] = {"titleAnchor": "end", "titleLimit": WIDTHS[0],
                              "labelOverlap": "greedy", "labelSeparation": 8}  # fmt: skip
    return narrow


def inline_svg(chart: Any, *, identity: str, title: str, text: str) -> str:
    """SVG for a page, with name and description, and without styles, which a page may forbid."""
    body = standalone_svg(chart)
    opening = re.match(r"<svg[^>]*>", body)
    assert opening is not None  # noqa: S101 - the library writes nothing else
    size = re.search(r'viewBox="0 0 (\S+) (\S+)"', opening.group())
    assert size is not None  # noqa: S101 - as above
    wide = float(size.group(1))
    head = (
        f'<svg role="img" aria-labelledby="{identity}-title {identity}-text" '
        f'viewBox="0 0 {size.group(1)} {size.group(2)}" width="{wide:g}">'
        f'<title id="{identity}-title">{html.escape(readable(title))}</title>'
        f'<desc id="{identity}-text">{html.escape(readable(text))}</desc>'
    )
    # Screen readers read the description; pointing at a mark shows its numbers.
    named = MARK.sub(r"<\1><title>\2</title></path>", body[opening.end() :])
    rest = re.sub(r' (?:role|aria-[a-z]+|class)="[^"]*"', "", named)
    return head + re.sub(r"(clip\d+|gradient_\d+)", rf"{identity}-\1", rest)


def standalone_svg(chart: Any) -> str:
    """A complete SVG; clips are numbered anew, so that the same numbers give the same bytes."""
    require_addresses(RESERVED, what="Charts")
    transformers = altair().data_transformers
    from altair.utils.mimebundle import spec_to_mimebundle

    with transformers.enable("default"), transformers.disable_max_rows():
        form = chart.to_dict(validate=LOOKED_THROUGH, context={"pre_transform": False})
        spec = _readable(form)
        if language() in MARKS:  # of the numbers on axes
            thousands, decimal = (numeral(mark) for mark in ",.")
            number = {"decimal": decimal, "thousands": thousands, "grouping": [3]}
            spec["config"] = spec.get("config", {}) | {"locale": {"number": number}}
        made = spec_to_mimebundle(spec, mode="vega-lite", format="svg")
    body = made["image/svg+xml"]
    identifiers = dict.fromkeys(re.findall(r"\b(?:clip|gradient_)\d+\b", body))
    numbers = {name: re.sub(r"\d+", str(at), name) for at, name in enumerate(identifiers)}
    return re.sub(r"\b(?:clip|gradient_)\d+\b", lambda name: numbers[name.group()], body)


def readable(text: str) -> str:
    """Text without control characters of terminals, and without marks of writing direction.

    >>> readable("a" + chr(27) + "[31m") == "a" + chr(0xFFFD) + "[31m"
    True
    """
    return STEERING.sub("\ufffd", text)


def _readable(value: Any) -> Any:
    """The specification of a chart with readable texts of one line.

    Line breaks would end an expression; names with a meaning in JavaScript get a trailing space.
    """
    if isinstance(value, str):
        text = re.sub(r"[\n\t]", " ", readable(value))
        return f"{text} " if RESERVED_NAMES.fullmatch(text) else text
    if isinstance(value, dict):
        return {_readable(name): _readable(item) for name, item in value.items()}
    return [_readable(item) for item in value] if isinstance(value, list | tuple) else value


def write_picture(chart: Any, path: Path) -> None:
    """Write ``path``.svg and ``path``.png."""
    path.with_suffix(".svg").write_text(standalone_svg(chart))
    # Dots of a PNG for each unit of the chart
    chart.save(str(path.with_suffix(".png")), scale_factor=2)
