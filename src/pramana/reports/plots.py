"""Plots as inline SVG: positions in percent and text in pixels, so that a phone can read them.

Every plot has a title and a description for who cannot see it, and the numbers stand in a table
below it. Nothing is told by colour alone: bars of a group come in the order of the legend.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pramana.numeric import percent_down, percent_up
from pramana.reports.markup import Markup, element, joined

__all__ = ["COLOURS", "Point", "Range", "Series", "bars", "frontier", "ranges"]

COLOURS = {"truth": "#3d3d3d", "released": "#a85400", "estimated": "#0b5f8a", "bound": "#a01c2f"}
"""Each at least 4.5 to 1 against white."""

LINE = 18
BAR = 11


@dataclass(frozen=True)
class Series:
    """One bar in every group."""

    name: str
    kind: str
    values: tuple[float, ...]
    words: tuple[str, ...]


@dataclass(frozen=True)
class Range:
    """A measured share with its interval, and what it is compared with."""

    name: str
    value: float
    low: float
    high: float
    baseline: float | None = None
    bound: float | None = None


@dataclass(frozen=True)
class Point:
    """A scenario: its loss, its risk, and whether nothing else is better in both."""

    name: str
    loss: float
    risk: float
    best: bool


def _svg(identity: str, height: float, title: str, text: str, *parts: Markup) -> Markup:
    return element(
        "svg",
        element("title", title, id=f"{identity}-title"),
        element("desc", text, id=f"{identity}-text"),
        *parts,
        role="img",
        aria_labelledby=f"{identity}-title {identity}-text",
        width="100%",
        height=f"{height:g}",
    )


def legend(series: Sequence[Series]) -> Markup:
    """What each bar of a group is, in their order."""
    entries = [
        element("span", element("span", "", class_=f"swatch {s.kind}", aria_hidden="true"), s.name)
        for s in series
    ]
    return element("p", *entries, class_="legend")


def bars(identity: str, labels: Sequence[str], series: Sequence[Series], *, title: str) -> Markup:
    """Groups of horizontal bars, the label of a group above it."""
    most = max((v for s in series for v in s.values), default=0) or 1
    step = LINE + (BAR + 2) * len(series) + 8
    parts = []
    for row, label in enumerate(labels):
        top = row * step
        parts.append(element("text", label, x="0", y=f"{top + 12}", class_="label"))
        for place, one in enumerate(series):
            width = 78 * max(one.values[row], 0) / most
            y = top + LINE + place * (BAR + 2)
            parts.append(
                element("rect", x="0", y=f"{y}", width=f"{width:.2f}%", height=f"{BAR}",
                        fill=COLOURS[one.kind])
            )  # fmt: skip
            parts.append(
                element("text", one.words[row], x=f"{width + 1:.2f}%", y=f"{y + BAR - 1}",
                        class_="value")
            )  # fmt: skip
    text = "; ".join(
        f"{label}: " + ", ".join(f"{s.name} {s.words[row]}" for s in series)
        for row, label in enumerate(labels)
    )
    picture = _svg(identity, step * len(labels) + 4, title, text, *parts)
    return joined([legend(series), picture])


def ranges(identity: str, entries: Sequence[Range], *, title: str) -> Markup:
    """Shares with intervals on a scale from one in ten thousand to one."""
    step = 44
    parts = []
    for share, word in (
        (1e-4, "0.01 %"),
        (1e-3, "0.1 %"),
        (0.01, "1 %"),
        (0.1, "10 %"),
        (1, "100 %"),
    ):
        at = _log_place(share)
        parts.append(
            element("line", x1=f"{at}%", x2=f"{at}%", y1="0", y2=f"{step * len(entries)}",
                    stroke="#c9c9c9")
        )  # fmt: skip
        anchor = {1e-4: "start", 1: "end"}.get(share, "middle")
        parts.append(
            element("text", word, x=f"{at}%", y=f"{step * len(entries) + 14}", class_="value",
                    text_anchor=anchor)
        )  # fmt: skip
    for row, entry in enumerate(entries):
        parts.extend(_range(entry, row * step))
    text = "; ".join(_range_words(entry) for entry in entries)
    return _svg(identity, step * len(entries) + 20, title, text, *parts)


def _range(entry: Range, top: float) -> list[Markup]:
    y = top + 27
    colour = COLOURS["released"]
    parts = [element("text", entry.name, x="0", y=f"{top + 13}", class_="label")]
    if entry.baseline is not None:
        at = f"{_log_place(entry.baseline)}%"
        parts.append(
            element("circle", cx=at, cy=f"{y}", r="6", fill="#fff", stroke=COLOURS["truth"],
                    stroke_width="2")
        )  # fmt: skip
    parts += [
        element("line", x1=f"{_log_place(entry.low)}%", x2=f"{_log_place(entry.high)}%", y1=f"{y}",
                y2=f"{y}", stroke=colour, stroke_width="3"),
        element("circle", cx=f"{_log_place(entry.value)}%", cy=f"{y}", r="4", fill=colour),
    ]  # fmt: skip
    if entry.bound is not None:
        at = f"{_log_place(entry.bound)}%"
        parts.append(
            element("line", x1=at, x2=at, y1=f"{y - 9}", y2=f"{y + 9}", stroke=COLOURS["bound"],
                    stroke_width="3")
        )  # fmt: skip
    return parts


def _range_words(entry: Range) -> str:
    words = f"{entry.name} {percent_up(entry.value)}"
    if entry.baseline is not None:
        words += f", guessing {percent_down(entry.baseline)}"
    return words + ("" if entry.bound is None else f", promised {percent_up(entry.bound)}")


def _log_place(share: float) -> float:
    """From 2 to 98 percent of the width for shares from 0.0001 to 1."""
    return round(2 + 96 * (math.log10(min(max(share, 1e-4), 1.0)) + 4) / 4, 2)


def frontier(identity: str, points: Sequence[Point], *, title: str) -> Markup:
    """Loss to the right, risk upwards: the frontier is what nothing else beats in both."""
    height = 320.0
    places = _placed(points, height)
    parts = [
        element("line", x1="0", x2="100%", y1=f"{height - 30}", y2=f"{height - 30}",
                stroke="#6b6b6b"),
        element("line", x1="0", x2="0", y1="8", y2=f"{height - 30}", stroke="#6b6b6b"),
        element("text", "more is lost \N{RIGHTWARDS ARROW}", x="100%", y=f"{height - 10}",
                class_="value", text_anchor="end"),
        element("text", "more risk \N{UPWARDS ARROW}", x="1%", y="16", class_="value"),
    ]  # fmt: skip
    for point, (x, y, label) in zip(points, places, strict=True):
        colour = COLOURS["estimated" if point.best else "truth"]
        parts.append(
            element("circle", cx=f"{x}%", cy=f"{y}", r="6", fill=colour if point.best else "#fff",
                    stroke=colour, stroke_width="2")
        )  # fmt: skip
        right = x > 55  # the label stands where there is room for it
        parts.append(
            element("text", point.name, x=f"{x}%", y=f"{label + 4}", dx="-11" if right else "11",
                    class_="value", text_anchor="end" if right else "start")
        )  # fmt: skip
    text = "; ".join(
        f"{p.name}: loss {100 * p.loss:.3g} %, risk {percent_up(p.risk)}"
        + (", on the frontier" if p.best else "")
        for p in points
    )
    return _svg(identity, height, title, text, *parts)


def _placed(points: Sequence[Point], height: float) -> list[tuple[float, float, float]]:
    """Where each point stands, and the height of its label: labels keep a line apart."""
    most = max((p.loss for p in points), default=0) or 1
    logs = [math.log10(max(p.risk, 1e-5)) for p in points]
    low, span = min(logs, default=0), (max(logs, default=0) - min(logs, default=0)) or 1
    spots = [
        (round(3 + 90 * p.loss / most, 2), round(height - 50 - (height - 90) * (v - low) / span, 1))
        for p, v in zip(points, logs, strict=True)
    ]
    labels = [0.0] * len(spots)
    taken: list[int] = []
    for place in sorted(range(len(spots)), key=lambda at: spots[at][1]):
        x, y = spots[place]
        near = [labels[other] for other in taken if abs(x - spots[other][0]) < 45]
        while any(abs(y - other) < 15 for other in near):
            y += 3
        labels[place] = y
        taken.append(place)
    return [(x, y, label) for (x, y), label in zip(spots, labels, strict=True)]
