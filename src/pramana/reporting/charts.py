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

from pramana.base.charts import altair, inline_svg, styled
from pramana.base.text import percent_down, percent_up
from pramana.reporting.document import ColumnView, Drawing
from pramana.types import Entries, Form

COLOURS = {"truth": "#3d3d3d", "released": "#a85400", "estimated": "#0b5f8a", "bound": "#a01c2f"}
"""Each at least 4.5 to 1 against white."""

SHAPES = {"truth": "cross", "released": "diamond", "estimated": "circle"}
WIDE, WIDER, TALL = 270, 420, 260
ROW, LABEL, LETTERS, PADDING = 9, 170, 26, 10
CURVE_TICKS, CURVE_WORDS = 8, 12
LEAST_SHARE = 1e-4
LETTER, LINE = 6, 13
FEW, LOW, SHORT = 6, 64, 70


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


def _rows(rows: Sequence[Entries]) -> Form:
    """Rows as the data of a chart; a list of them is copied whenever a chart is made of another."""
    return {"values": tuple(dict(row) for row in rows)}


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
    height = TALL if view.curve else altair().Step(max(ROW * len(names), 20), **{"for": "position"})
    chart = altair().layer(*layers, width=wide, height=height)
    return _drawing(chart, identity, title, "; ".join(words))


def _series(view: ColumnView) -> list[Series]:
    """What is drawn, in the order of the legend."""
    found = [
        Series("estimated", "estimated", view.estimated),
        Series("as released", "released", view.released),
        Series("truth", "truth", view.truth),
    ]
    return [one for one in found if one.values]


def _points(view: ColumnView, one: Series) -> list[Form]:
    rows = []
    for at, label in enumerate(view.labels):
        row = {
            "row": label if view.curve else _lines(label),
            "series": one.name,
            "share": _known(one.values, at),
            "told": f"{label}: {one.name} {rounded_percent((one.values or ())[at])}",
        }
        if one.kind == "estimated":
            row |= {"low": _known(view.low, at), "high": _known(view.high, at)}
            row["told"] = f"{row['told']}{_interval_text(view, at)}"
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


def _shades(view: ColumnView) -> Form:
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


def _axis(view: ColumnView) -> Form:
    """How shares are written; one scale from 0 for all layers."""
    alt = altair()
    level = f", with {100 * view.level:g} % intervals" if view.low is not None else ""
    axis = alt.Axis(format="~%", tickCount=5, labelFlush=False, labelOverlap="greedy")
    return {"title": f"share of records{level}", "axis": axis, "scale": alt.Scale(zero=True)}


def _dots(view: ColumnView, rows: list[Form]) -> list[Any]:
    alt = altair()
    names = [one.name for one in _series(view)]
    base = alt.Chart(_rows(rows)).encode(
        y=alt.Y("row:N", sort=[_lines(label) for label in view.labels], title=view.name,
                axis=alt.Axis(labelLimit=LABEL, titlePadding=PADDING, titleLimit=LABEL, grid=True,
                              labelExpr="split(datum.label, '\\n')")),
        yOffset=alt.YOffset("series:N", sort=names),
    )  # fmt: skip
    return _marks(view, base, {"share": "x", "end": "x2"}, rule=2, point=45)


def _curve(view: ColumnView, rows: list[Form]) -> list[Any]:
    alt = altair()
    shown = list(view.labels[:: max(math.ceil(len(view.labels) / CURVE_TICKS), 1)])
    base = alt.Chart(_rows(rows)).encode(
        x=alt.X("row:O", sort=list(view.labels), title=view.name,
                axis=alt.Axis(values=shown, labelLimit=LABEL, labelAngle=-40)),
    )  # fmt: skip
    return _marks(view, base, {"share": "y", "end": "y2"}, rule=1, point=16)


def _marks(
    view: ColumnView, base: Any, along: dict[str, str], *, rule: int, point: int
) -> list[Any]:
    """The interval of each estimate as a line, and every share as a point, along one axis."""
    alt = altair()
    channel, end = {"x": (alt.X, alt.X2), "y": (alt.Y, alt.Y2)}[along["share"]]
    ends = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    own = _axis(view)
    low = {along["share"]: channel("low:Q", **own), along["end"]: end("high:Q")}
    share = {along["share"]: channel("share:Q", **own)}
    return [
        ends.mark_rule(color=COLOURS["estimated"], strokeWidth=rule).encode(**low),
        base.mark_point(size=point, filled=True, opacity=1).encode(
            description=alt.Description("told:N"), **share, **_shades(view)
        ),
    ]


def _interval_text(view: ColumnView, at: int) -> str:
    if view.low is None or view.high is None:
        return ""
    return f" ({rounded_percent(view.low[at])} to {rounded_percent(view.high[at])})"


def _share_words(view: ColumnView, at: int) -> str:
    said = [f"{one.name} {rounded_percent(one.values[at])}" for one in _series(view) if one.values]
    if said:
        said[0] += _interval_text(view, at)
    return ", ".join(said)


def rounded_percent(share: float) -> str:
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
    base = alt.Chart(_rows(rows)).encode(
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
        base.mark_rule(color=colour, strokeWidth=3).encode(x=at("low"), x2=alt.X2("high:Q")),
        base.mark_point(size=60, filled=True, opacity=1, color=colour).encode(x=at("value")),
        base.transform_filter(known("bound")).mark_tick(
            color=COLOURS["bound"], thickness=3, size=20, opacity=1
        ).encode(x=at("bound")),
    ]  # fmt: skip
    chart = alt.layer(*layers, width=wide, height=alt.Step(30))
    return _drawing(chart, identity, title, "; ".join(_range_words(entry) for entry in entries))


def _range_words(entry: Range) -> str:
    words = f"{entry.name} {percent_up(entry.value)}"
    if entry.baseline is not None:
        words += f", guessing {percent_down(entry.baseline)}"
    return words + ("" if entry.bound is None else f", promised {percent_up(entry.bound)}")


def frontier(
    identity: str,
    points: Sequence[Point],
    *,
    title: str,
    chances: Sequence[float] = (),
    axes: tuple[str, str] = ("loss", "risk"),
    best: str = "on the frontier",
) -> Drawing:
    """Loss to the right, risk upwards, the best ones filled; a line for each chance asked for."""
    alt = altair()
    rows = [
        {"name": point.name, "loss": max(point.loss, 0.0), "risk": max(point.risk, 1e-5),
         "told": f"{point.name}: loss {100 * point.loss:.3g} %, risk {percent_up(point.risk)}"
         + (f", {best}" if point.best else "")}
        for point in points
    ]  # fmt: skip
    most, low, high = frame = _frame(rows, chances)
    ticks = [step * 10.0**power for power in range(-5, 1) for step in (1, 2, 5)]
    base = alt.Chart().encode(
        x=alt.X("loss:Q", title=axes[0], scale=alt.Scale(domain=[0, most], nice=False),
                axis=alt.Axis(format=".2~%", tickCount=5)),
        y=alt.Y("risk:Q", title=axes[1],
                scale=alt.Scale(type="log", domain=[low, high], nice=False),
                axis=alt.Axis(format="~%", values=[tick for tick in ticks if low <= tick <= high])),
    )  # fmt: skip
    layers = _bounds(base, chances, most)
    for filled, colour in ((True, COLOURS["estimated"]), (False, COLOURS["truth"])):
        own = [row for row, point in zip(rows, points, strict=True) if point.best == filled]
        mark = {"size": 90, "filled": filled, "opacity": 1, "color": colour, "strokeWidth": 2}
        dots = base.properties(data=_rows(own)).mark_point(**mark)
        layers.append(dots.encode(description=alt.Description("told:N")))
    labels = _labelled(rows, frame, chances)
    for right in (True, False):
        own = [label for label in labels if label["right"] == right]
        layers.append(_names(base, own, align="right" if right else "left", dx=-9 if right else 9))
    text = "; ".join(str(row["told"]) for row in rows)
    chart = alt.layer(*layers, width=WIDER, height=TALL)
    return _drawing(chart, identity, title, text)


def _bounds(base: Any, chances: Sequence[float], most: float) -> list[Any]:
    """The chances asked for as lines, each named at its right end."""
    rows = [
        {"loss": most, "risk": chance, "name": f"one in {1 / chance:.12g}"} for chance in chances
    ]
    whole = [row | {"from": 0.0} for row in rows]
    line = {"color": COLOURS["bound"], "strokeDash": [5, 4], "strokeWidth": 1}
    lines = base.properties(data=_rows(whole)).mark_rule(**line).encode(x2=altair().X2("from:Q"))
    return [lines, _names(base, rows, align="right", dx=0, dy=-7)] if rows else []


def _names(base: Any, rows: Sequence[Form], **mark: Any) -> Any:
    """Texts at places of a chart."""
    named = base.properties(data=_rows(rows)).encode(text=altair().Text("name:N"))
    return named.mark_text(fontSize=11, color="#474747", **mark)


def _frame(rows: Sequence[Form], chances: Sequence[float] = ()) -> tuple[float, float, float]:
    """The largest loss, the smallest and the largest risk that are drawn, with room around."""
    risks = [*(row["risk"] for row in rows), *chances] or [1.0]
    return 1.06 * max([row["loss"] for row in rows] + [0.01]), min(risks) / 1.4, max(risks) * 1.4


def _labelled(
    rows: Sequence[Form],
    frame: tuple[float, float, float],
    chances: Sequence[float] = (),
) -> list[Form]:
    """Where names stand, beside their points and as near as they cover nothing."""
    most, low, high = frame
    scale = TALL / math.log(high / low)
    spots = [(WIDER * r["loss"] / most, scale * math.log(high / r["risk"])) for r in rows]
    lines = [scale * math.log(high / chance) for chance in chances]
    taken: list[tuple[float, float, float, float]] = [(x - 6, x + 6, y, LINE) for x, y in spots]
    taken += [(WIDER - LETTER * 10, WIDER, y - 7, LINE) for y in lines]
    taken += [(0, WIDER, y, LINE / 2) for y in lines]
    found = []
    for at in sorted(range(len(rows)), key=lambda place: spots[place][1]):
        x, y = spots[at]
        right = x > WIDER / 2
        long = LETTER * len(rows[at]["name"])
        left, end = (x - 9 - long, x - 9) if right else (x + 9, x + 9 + long)
        free = (
            place
            for place in sorted(range(-5, TALL + 5), key=lambda own: abs(own - y))
            if not any(a < end and left < b and abs(place - y) < gap for a, b, y, gap in taken)
        )
        place = next(free, y)
        taken.append((left, end, place, LINE))
        found.append(rows[at] | {"right": right, "risk": high * math.exp(-place / scale)})
    return found


def counts(identity: str, name: str, bars: Sequence[tuple[str, int]], *, title: str) -> Drawing:
    """How many records hold each value of a column, side by side; few bars have their numbers."""
    alt = altair()
    rows = [
        {"value": label, "records": number, "told": f"{label}: {number:,} records"}
        for label, number in bars
    ]
    axis = alt.Axis(
        labelAngle=0,
        labelOverlap="greedy",
        labelSeparation=4,
        labelLimit=SHORT,
        labelPadding=9,  # below the zero of the other axis
        ticks=False,
        titleLimit=WIDE,
    )
    base = alt.Chart(_rows(rows)).encode(
        x=alt.X("value:N", sort=[label for label, _ in bars], title=name, axis=axis),
        y=alt.Y("records:Q", title="records", axis=alt.Axis(tickCount=2, format=",d")),
    )
    layers = [
        base.mark_bar(color=COLOURS["estimated"]).encode(description=alt.Description("told:N"))
    ]
    if len(bars) <= FEW:
        layers.append(
            base.mark_text(dy=-6, fontSize=11, color="#474747").encode(
                text=alt.Text("records:Q", format=",")
            )
        )
    chart = alt.layer(*layers, width=WIDE - 10, height=LOW)
    return _drawing(chart, identity, title, "; ".join(str(row["told"]) for row in rows))


# -- as SVG for pages that draw at once ----------------------------------------------------------

MOST_ROWS = 24
"""More values than these are drawn as a curve next to the original ones."""


def drawn_methods(
    points: Sequence[tuple[str, float, float, bool]], chances: Sequence[float], best: str
) -> str:
    """Methods by loss and risk."""
    plot = frontier(
        "methods",
        [Point(*point) for point in points],
        title="Loss and risk of every method that was tried",
        chances=chances,
        axes=("loss: a typical table is off by so much", "risk: links or copies that succeed"),
        best=best,
    )
    return _inline(plot)


def drawn_shape(name: str, bars: Sequence[tuple[str, int]], *, identity: str) -> str:
    """The records of a column by value."""
    return _inline(counts(identity, name, bars, title=f"Distribution of {name}"))


def drawn_beside(
    name: str,
    rows: Sequence[tuple[str, float, float | None, float | None, float | None]],
    *,
    identity: str,
) -> str:
    """Truth and estimates of a column, the latter with their intervals.

    Args:
        name: The column.
        rows: A value, its true count, its estimate and the ends of its interval.
        identity: Of the chart in the page.
    """
    records = sum(row[1] for row in rows) or 1
    labels, *numbers = zip(*rows, strict=True)
    truth, estimated, low, high = (
        tuple(math.nan if own is None else own / records for own in number) for number in numbers
    )
    view = ColumnView(
        name, name, "", "", "", labels, estimated=estimated, low=low, high=high, truth=truth,
        curve=len(rows) > MOST_ROWS,
    )  # fmt: skip
    return _inline(shares(identity, view, title=f"{name}: truth and estimates"))


def _inline(plot: Drawing) -> str:
    return inline_svg(plot.svg, identity=plot.identity, title=plot.title, text=plot.text)
