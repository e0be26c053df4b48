"""Plots of reports: shares side by side, attacks with what is promised, risk against loss.

Every plot has a title and a description for who cannot see it, and the numbers stand in a table
below it. Nothing is told by colour alone: bars of a group come in the order of the legend. Charts
are narrow, so that their letters stay readable on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pramana.numeric import percent_down, percent_up
from pramana.pictures import altair, inline_svg, rows_of, styled
from pramana.reports.markup import Markup

__all__ = ["COLOURS", "Point", "Range", "Series", "bars", "frontier", "ranges"]

COLOURS = {"truth": "#3d3d3d", "released": "#a85400", "estimated": "#0b5f8a", "bound": "#a01c2f"}
"""Each at least 4.5 to 1 against white."""

WIDE, WIDER, TALL = 300, 420, 260
BAR, GAP = 13, 1.35
LEAST_SHARE = 1e-4
LETTER = 6


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


def _drawn(chart: Any, identity: str, title: str, text: str) -> Markup:
    return Markup(inline_svg(styled(chart), identity=identity, title=title, text=text))


def bars(identity: str, labels: Sequence[str], series: Sequence[Series], *, title: str) -> Markup:
    """Groups of horizontal bars, with the number at the end of each."""
    alt = altair()
    rows = [
        {"row": label, "series": one.name, "share": max(one.values[at], 0.0), "word": one.words[at]}
        for at, label in enumerate(labels)
        for one in series
    ]
    names = [one.name for one in series]
    shades = alt.Scale(domain=names, range=[COLOURS[one.kind] for one in series])
    base = alt.Chart(rows_of(rows)).encode(
        y=alt.Y("row:N", sort=list(labels), title=None, scale=alt.Scale(paddingInner=0.25)),
        yOffset=alt.YOffset("series:N", sort=names),
        x=alt.X("share:Q", title="share", axis=alt.Axis(format="~%", tickCount=4)),
    )
    bar = base.mark_bar().encode(
        color=alt.Color("series:N", scale=shades, sort=names, title=None,
                        legend=alt.Legend(orient="top"))
    )  # fmt: skip
    words = base.mark_text(align="left", dx=4, fontSize=11, color="#474747").encode(text="word:N")
    height = alt.Step(max(BAR * GAP * len(series), 18), **{"for": "position"})
    text = "; ".join(
        f"{label}: " + ", ".join(f"{one.name} {one.words[row]}" for one in series)
        for row, label in enumerate(labels)
    )
    return _drawn(
        alt.layer(bar, words).properties(width=WIDE, height=height), identity, title, text
    )


def ranges(identity: str, entries: Sequence[Range], *, title: str) -> Markup:
    """Shares with intervals on a scale from one in ten thousand to one."""
    alt = altair()
    rows = [
        {
            "row": entry.name,
            **{
                name: None if value is None else min(max(value, LEAST_SHARE), 1.0)
                for name, value in (
                    ("value", entry.value),
                    ("low", entry.low),
                    ("high", entry.high),
                    ("baseline", entry.baseline),
                    ("bound", entry.bound),
                )
            },
        }
        for entry in entries
    ]
    scale = alt.Scale(type="log", domain=[LEAST_SHARE, 1], nice=False)
    axis = alt.Axis(format="~%", values=[1e-4, 1e-3, 0.01, 0.1, 1])
    base = alt.Chart(rows_of(rows)).encode(
        y=alt.Y("row:N", sort=[entry.name for entry in entries], title=None)
    )

    def at(field: str) -> Any:
        return alt.X(f"{field}:Q", scale=scale, axis=axis, title="share of records")

    known = "isValid(datum.{})".format
    colour = COLOURS["released"]
    layers = [
        base.transform_filter(known("baseline")).mark_point(
            size=110, color=COLOURS["truth"], strokeWidth=2, opacity=1
        ).encode(x=at("baseline")),
        base.mark_rule(color=colour, strokeWidth=3).encode(x=at("low"), x2="high:Q"),
        base.mark_point(size=60, filled=True, opacity=1, color=colour).encode(x=at("value")),
        base.transform_filter(known("bound")).mark_tick(
            color=COLOURS["bound"], thickness=3, size=20, opacity=1
        ).encode(x=at("bound")),
    ]  # fmt: skip
    chart = alt.layer(*layers).properties(width=WIDE, height=alt.Step(30))
    return _drawn(chart, identity, title, "; ".join(_range_words(entry) for entry in entries))


def _range_words(entry: Range) -> str:
    words = f"{entry.name} {percent_up(entry.value)}"
    if entry.baseline is not None:
        words += f", guessing {percent_down(entry.baseline)}"
    return words + ("" if entry.bound is None else f", promised {percent_up(entry.bound)}")


def frontier(identity: str, points: Sequence[Point], *, title: str) -> Markup:
    """Loss to the right, risk upwards: the frontier is what nothing else beats in both."""
    alt = altair()
    rows = [
        {"name": point.name, "loss": max(point.loss, 0.0), "risk": max(point.risk, 1e-5)}
        for point in points
    ]
    most, low, high = _frame(rows)
    ticks = [step * 10.0**power for power in range(-5, 1) for step in (1, 2, 5)]
    base = alt.Chart().encode(
        x=alt.X("loss:Q", title="loss", scale=alt.Scale(domain=[0, most], nice=False),
                axis=alt.Axis(format=".2~%", tickCount=5)),
        y=alt.Y("risk:Q", title="risk",
                scale=alt.Scale(type="log", domain=[low, high], nice=False),
                axis=alt.Axis(format="~%", values=[own for own in ticks if low <= own <= high])),
    )  # fmt: skip
    layers = []
    for best, colour in ((True, COLOURS["estimated"]), (False, COLOURS["truth"])):
        own = [row for row, point in zip(rows, points, strict=True) if point.best == best]
        if own:
            layers.append(
                base.properties(data=rows_of(own)).mark_point(
                    size=90, filled=best, opacity=1, color=colour, strokeWidth=2
                )
            )
    for row, right, lower in _labelled(rows):
        layers.append(
            base.properties(data=rows_of([row]))
            .mark_text(align="right" if right else "left", dx=-9 if right else 9, dy=lower,
                       fontSize=11, color="#474747")
            .encode(text="name:N")
        )  # fmt: skip
    text = "; ".join(
        f"{p.name}: loss {100 * p.loss:.3g} %, risk {percent_up(p.risk)}"
        + (", on the frontier" if p.best else "")
        for p in points
    )
    chart = alt.layer(*layers).properties(width=WIDER, height=TALL)
    return _drawn(chart, identity, title, text)


def _frame(rows: Sequence[dict[str, Any]]) -> tuple[float, float, float]:
    """The largest loss, the smallest and the largest risk that are drawn, with room around."""
    risks = [row["risk"] for row in rows] or [1.0]
    return 1.06 * max([row["loss"] for row in rows] + [0.01]), min(risks) / 1.4, max(risks) * 1.4


def _labelled(rows: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], bool, float]]:
    """On which side of its point a name stands, and how much lower: names cover nothing."""
    most, low, high = _frame(rows)
    span = math.log(high / low)
    spots = [(WIDER * r["loss"] / most, TALL * math.log(high / r["risk"]) / span) for r in rows]
    taken = [(x - 6, x + 6, y) for x, y in spots]
    found = []
    for at in sorted(range(len(rows)), key=lambda place: spots[place][1]):
        x, y = spots[at]
        right = x > WIDER / 2
        long = LETTER * len(rows[at]["name"])
        left, end = (x - 9 - long, x - 9) if right else (x + 9, x + 9 + long)
        place = y
        while any(a < end and left < b and abs(place - other) < 13 for a, b, other in taken):
            place += 1
        taken.append((left, end, place))
        found.append((rows[at], right, place - y))
    return found
