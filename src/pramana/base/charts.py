"""The one door to the plotting library: charts are Altair's, and become SVG and PNG by vl-convert.

A chart is data. It shows itself in notebooks, and neither SVG nor PNG of it needs a browser; the
same numbers give the same bytes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pramana.base.processes import require_addresses
from pramana.types import Entries

COLOURS = ("#0b5f8a", "#a85400", "#3f6b1f", "#7a4a8c", "#6b5d00", "#8a1b3c", "#3d3d3d", "#006b6b")
"""Each at least 4.5 to 1 against white."""

RESERVED = 72 * 2**30
"""Addresses that the library's engine reserves: it ends the process where it cannot."""

STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
OWN = re.compile(
    r"constructor|__\w+__|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString"
    r"|valueOf"
)
"""Names that everything has in the library's language: as names of columns they mislead it."""

LOOKED_THROUGH = False
"""Whether the library looks through each chart for mistakes in its form, which takes as long as
drawing it: in tests alone, as all charts are our own."""

SCALE = 2
"""Dots of a PNG for each unit of the chart."""


def altair() -> Any:
    """The library, loaded when a chart is made."""
    import altair as library

    return library


def rows_of(rows: Sequence[Entries]) -> Any:
    """Rows as the data of a chart, as they are: the library would look through each of them."""
    return {"values": [dict(row) for row in rows]}


def styled(chart: Any) -> Any:
    """The same chart with the look that all of them share, at once: each step copies a chart."""
    letters = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    axis = {"gridColor": "#dddddd", "labelColor": "#474747", "titleColor": "#1f1f1f"}
    title = {"fontSize": 14, "subtitleColor": "#474747", "subtitleFontSize": 11}
    return chart.configure(
        view={"stroke": None},
        axis={"labelLimit": 180, **axis, **letters},
        legend={"labelLimit": 240, **letters},
        title={"anchor": "start", **title},
    )


MARK: Final = re.compile(r'<(path aria-label="([^"]*)" role="graphics-symbol"[^>]*[^/>])/>')
"""A point or a bar of a chart, with what the library calls it."""


def inline_svg(chart: Any, *, identity: str, title: str, text: str) -> str:
    """SVG for a page, with a name and a description and without styles, which a page may forbid."""
    body = chart if isinstance(chart, str) else plain_svg(chart)
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
    # The description above says it all to who hears it; who points at a mark is told its numbers.
    named = MARK.sub(r"<\1><title>\2</title></path>", body[opening.end() :])
    rest = re.sub(r' (?:role|aria-[a-z]+|class)="[^"]*"', "", named)
    return head + re.sub(r"(clip\d+|gradient_\d+)", rf"{identity}-\1", rest)


def plain_svg(chart: Any) -> str:
    """SVG to stand alone; the same numbers give the same bytes, as clips are numbered anew."""
    require_addresses(RESERVED, what="Charts")
    transformers = altair().data_transformers
    from altair.utils.mimebundle import spec_to_mimebundle

    with transformers.enable("default"), transformers.disable_max_rows():
        form = chart.to_dict(validate=LOOKED_THROUGH, context={"pre_transform": False})
        spec = _readable(form)
        made = spec_to_mimebundle(spec, mode="vega-lite", format="svg")
    body = made["image/svg+xml"]
    found = dict.fromkeys(re.findall(r"\b(?:clip|gradient_)\d+\b", body))
    numbers = {name: re.sub(r"\d+", str(at), name) for at, name in enumerate(found)}
    return re.sub(r"\b(?:clip|gradient_)\d+\b", lambda name: numbers[name.group()], body)


def readable(text: str) -> str:
    """Text without signs that steer a screen, or turn the direction of what stands behind them.

    >>> readable("a" + chr(27) + "[31m") == "a" + chr(0xFFFD) + "[31m"
    True
    """
    return STEERING.sub("\ufffd", text)


def _readable(value: Any) -> Any:
    """The form of a chart in readable texts of one line: others would end its expressions.

    What has a meaning of its own to the library gets a space behind it, which nobody sees.
    """
    if isinstance(value, str):
        plain = re.sub(r"[\n\t]", " ", readable(value))
        return f"{plain} " if OWN.fullmatch(plain) else plain
    if isinstance(value, dict):
        return {_readable(name): _readable(own) for name, own in value.items()}
    return [_readable(own) for own in value] if isinstance(value, list | tuple) else value


def write_picture(chart: Any, path: Path) -> None:
    """Write ``path``.svg and ``path``.png."""
    path.with_suffix(".svg").write_text(plain_svg(chart))
    chart.save(str(path.with_suffix(".png")), scale_factor=SCALE)
