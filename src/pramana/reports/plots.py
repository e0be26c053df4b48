"""Plots of reports: shares with intervals, attacks with what is promised, risk against loss.

Every plot has a title and a description for who cannot see it, and the numbers stand in a table
below it. Nothing is told by colour alone: marks differ in shape as well. Charts are narrow, so that
their letters stay readable on a phone, and none grows with the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from pramana.numeric import percent_down, percent_up
from pramana.pictures import altair, rows_of, styled
from pramana.reports.blocks import Drawing
from pramana.reports.content import ColumnView

__all__ = ["COLOURS", "Point", "Range", "Series", "frontier", "percent", "ranges", "shares"]

COLOURS = {"truth": "#3d3d3d", "released": "#a85400", "estimated": "#0b5f8a", "bound": "#a01c2f"}
"""Each at least 4.5 to 1 against white."""

SHAPES = {"truth": "cross", "released": "diamond", "estimated": "circle"}
WIDE, WIDER, TALL = 270, 420, 260
ROW, LABEL, LETTERS, PADDING = 9, 170, 26, 10
CURVE_TICKS, CURVE_WORDS = 8, 12
LEAST_SHARE = 1e-4
LETTER = 6


@dataclass(frozen=True)
class Series:
    """One mark for every value."""

    name: str
    kind: str
    values: tuple[float, ...] | None


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


def _drawing(chart: Any, identity: str, title: str, text: str) -> Drawing:
    return Drawing(identity, styled(chart), title, text)


def shares(identity: str, view: ColumnView, *, title: str, wide: int = WIDE) -> Drawing:
    """Shares of a column: estimates with their intervals, and what else is known of it.

    Few values stand below each other. Many values in an order are a curve, so that no chart grows
    with the number of values.
    """
    rows = [row for one in _series(view) for row in _points(view, one)]
    layers = _curve(view, rows) if view.curve else _dots(view, rows)
    names = [one.name for one in _series(view)]
    words = [f"{label}: {_share_words(view, at)}" for at, label in enumerate(view.labels)]
    if view.curve:
        words = words[:: max(len(words) // CURVE_WORDS, 1)]
    chart = altair().layer(*layers)
    height = TALL if view.curve else altair().Step(max(ROW * len(names), 20), **{"for": "position"})
    return _drawing(chart.properties(width=wide, height=height), identity, title, "; ".join(words))


def _series(view: ColumnView) -> list[Series]:
    """What is drawn, in the order of the legend."""
    found = [
        Series("estimated", "estimated", view.estimated),
        Series("as released", "released", view.released),
        Series("truth", "truth", view.truth),
    ]
    return [one for one in found if one.values is not None]


def _points(view: ColumnView, one: Series) -> list[dict[str, Any]]:
    rows = []
    for at, label in enumerate(view.labels):
        row = {
            "row": label if view.curve else _lines(label),
            "series": one.name,
            "share": _known(one.values, at),
        }
        if one.kind == "estimated":
            row |= {"low": _known(view.low, at), "high": _known(view.high, at)}
        rows.append(row)
    return rows


def _lines(label: str) -> str:
    """A long label in two lines, so that all of it can be read."""
    return "\n".join(wrap(label, LETTERS, max_lines=2, placeholder=" …")) or label


def _known(values: Sequence[float] | None, at: int) -> float | None:
    """A share that can be drawn."""
    if values is None or not math.isfinite(values[at]):
        return None
    return min(max(values[at], 0.0), 1.0)


def _shades(view: ColumnView) -> dict[str, Any]:
    alt = altair()
    names = [one.name for one in _series(view)]
    legend = alt.Legend(orient="top", direction="horizontal", title=None)
    domain = {"domain": names}
    return {
        "color": alt.Color(
            "series:N", sort=names, legend=legend,
            scale=alt.Scale(**domain, range=[COLOURS[one.kind] for one in _series(view)]),
        ),
        "shape": alt.Shape(
            "series:N", sort=names, legend=legend,
            scale=alt.Scale(**domain, range=[SHAPES[one.kind] for one in _series(view)]),
        ),
    }  # fmt: skip


def _axis(view: ColumnView) -> dict[str, Any]:
    """How shares are written; one scale from 0 for all layers."""
    alt = altair()
    level = f", with {100 * view.level:g} % intervals" if view.low is not None else ""
    axis = alt.Axis(format="~%", tickCount=5, labelFlush=False, labelOverlap="greedy")
    return {"title": f"share of records{level}", "axis": axis, "scale": alt.Scale(zero=True)}


def _dots(view: ColumnView, rows: list[dict[str, Any]]) -> list[Any]:
    alt = altair()
    names = [one.name for one in _series(view)]
    base = alt.Chart(rows_of(rows)).encode(
        y=alt.Y("row:N", sort=[_lines(label) for label in view.labels], title=view.name,
                axis=alt.Axis(labelLimit=LABEL, titlePadding=PADDING, titleLimit=LABEL, grid=True,
                              labelExpr="split(datum.label, '\\n')")),
        yOffset=alt.YOffset("series:N", sort=names),
    )  # fmt: skip
    return _marks(view, base, {"share": "x", "end": "x2"}, rule=2, point=45)


def _curve(view: ColumnView, rows: list[dict[str, Any]]) -> list[Any]:
    alt = altair()
    shown = list(view.labels[:: max(math.ceil(len(view.labels) / CURVE_TICKS), 1)])
    base = alt.Chart(rows_of(rows)).encode(
        x=alt.X("row:O", sort=list(view.labels), title=view.name,
                axis=alt.Axis(values=shown, labelLimit=LABEL, labelAngle=-40)),
    )  # fmt: skip
    return _marks(view, base, {"share": "y", "end": "y2"}, rule=1, point=16)


def _marks(
    view: ColumnView, base: Any, along: dict[str, str], *, rule: int, point: int
) -> list[Any]:
    """The interval of each estimate as a line, and every share as a point, along one axis."""
    alt = altair()
    channel = {"x": alt.X, "y": alt.Y}[along["share"]]
    ends = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    own = _axis(view)
    low = {along["share"]: channel("low:Q", **own), along["end"]: "high:Q"}
    share = {along["share"]: channel("share:Q", **own)}
    return [
        ends.mark_rule(color=COLOURS["estimated"], strokeWidth=rule).encode(**low),
        base.mark_point(size=point, filled=True, opacity=1).encode(**share, **_shades(view)),
    ]


def _share_words(view: ColumnView, at: int) -> str:
    said = [f"{one.name} {percent(one.values[at])}" for one in _series(view) if one.values]
    if view.low is not None and view.high is not None:
        said[0] += f" ({percent(view.low[at])} to {percent(view.high[at])})"
    return ", ".join(said)


def percent(share: float) -> str:
    """A share to the nearest tenth of a percent; small ones with two digits."""
    if not math.isfinite(share):
        return "not stated"
    return f"{100 * share:.1f} %" if abs(share) >= 0.01 or share == 0 else f"{100 * share:.2g} %"


def ranges(identity: str, entries: Sequence[Range], *, title: str, wide: int = WIDE) -> Drawing:
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
    chart = alt.layer(*layers).properties(width=wide, height=alt.Step(30))
    return _drawing(chart, identity, title, "; ".join(_range_words(entry) for entry in entries))


def _range_words(entry: Range) -> str:
    words = f"{entry.name} {percent_up(entry.value)}"
    if entry.baseline is not None:
        words += f", guessing {percent_down(entry.baseline)}"
    return words + ("" if entry.bound is None else f", promised {percent_up(entry.bound)}")


def frontier(identity: str, points: Sequence[Point], *, title: str) -> Drawing:
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
    return _drawing(chart, identity, title, text)


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
