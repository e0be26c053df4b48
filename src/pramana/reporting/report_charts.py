"""Plots of reports: shares with intervals, attacks with what is promised, risk against loss.

Every plot has a title and a description for readers who cannot see it, and a table below it has the
numbers. Marks differ in shape as well as in colour. A page has each chart in several widths. No
chart grows with the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, NamedTuple

from pramana.base.charts import PERCENT, WIDTHS, altair, rows_of, styled
from pramana.base.measured_share import Measured
from pramana.base.text import percent_down, percent_up
from pramana.base.translation import gettext, noop, numeral
from pramana.reporting.document import Drawing
from pramana.types import Form

COLOURS = {"original": "#3d3d3d", "released": "#a85400", "estimated": "#0b5f8a", "bound": "#a01c2f"}
"""Each at least 4.5 to 1 against white."""

SHAPES = {"original": "cross", "released": "diamond", "estimated": "circle"}
SERIES = {
    "estimated": noop("estimated"),
    "released": noop("as released"),
    "original": noop("original"),
}
WIDE, WIDER, TALL = 270, 560, 300
NARROWEST = WIDTHS[0] - 80
"""Pixels between the axes."""

ROW, TALLEST, LABEL, LETTERS, PADDING = 9, 44, 170, 26, 10
CURVE_TICKS, CURVE_WORDS = 8, 12
LEAST_SHARE = 1e-4
LETTER, LINE = 7, 15
MOST_ROWS = 24
"""More values than these are drawn as a curve next to the original ones."""


@dataclass(frozen=True)
class ColumnView:
    """One released column and the shares of its values.

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
        original: shares in the original data; only in a report for the owner.
        curve: whether the values are many and in an order, so that a curve shows them.
        widths: of the bins that the values are, where they differ: their shares are drawn for
            each unit, since a wide bin has more records.
        note: what else there is to say.
    """

    name: str
    title: str
    role: str = ""
    treatment: str = ""
    domain: str = ""
    labels: tuple[str, ...] = ()
    released: tuple[float, ...] = ()
    estimated: tuple[float, ...] | None = None
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    level: float = 0.95
    original: tuple[float, ...] | None = None
    curve: bool = False
    widths: tuple[float, ...] = ()
    note: str = ""

    @property
    def widest(self) -> float | None:
        """The largest distance of an end of an interval from its estimate."""
        if self.estimated is None or self.low is None or self.high is None:
            return None
        ends = zip(self.estimated, self.low, self.high, strict=True)
        return max(max(share - low, high - share) for share, low, high in ends)

    @property
    def series(self) -> dict[str, tuple[float, ...]]:
        """The shares that are known, in the order of the legend."""
        known = {kind: getattr(self, kind) for kind in SERIES}
        return {kind: values for kind, values in known.items() if values}


class Point(NamedTuple):
    """A scenario: its loss, its risk, and whether it is among the best."""

    name: str
    loss: float
    risk: float
    best: bool


def _drawing(chart: Any, identity: str, title: str, descriptions: Sequence[str]) -> Drawing:
    return Drawing(identity, styled(chart), title, "; ".join(descriptions))


def rounded_percent(share: float) -> str:
    """A share to the nearest tenth of a percent; small ones with two digits."""
    if not math.isfinite(share):
        return gettext("not stated")
    digits = ".1f" if abs(share) >= 0.01 or share == 0 else ".2g"
    return numeral(f"{100 * share:{digits}} %")


# -- shares of a column ----------------------------------------------------------------------------


def shares(
    identity: str, view: ColumnView, *, title: str, wide: int = WIDE, roomy: bool = False
) -> Drawing:
    """Shares of a column: estimates with their intervals, and what else is known of it.

    Few values stand below each other. Many values in an order are a curve, so that no chart grows
    with the number of values.
    """
    alt = altair()
    rows = [
        row
        for kind, values in view.series.items()
        for place in range(len(view.labels))
        if (row := _point(view, kind, values, place))
    ]
    base = alt.Chart(rows_of(rows))
    if view.curve:
        shown = list(view.labels[:: max(math.ceil(len(view.labels) / CURVE_TICKS), 1)])
        axis = alt.Axis(values=shown, labelLimit=LABEL, labelAngle=-40)
        base = base.encode(x=alt.X("row:O", sort=list(view.labels), title=view.name, axis=axis))
        layers, height = _marks(view, base, "y", rule=1, point=16), TALL
    else:
        axis = alt.Axis(labelLimit=LABEL, titlePadding=PADDING, titleLimit=LABEL, grid=True,
                        labelExpr="split(datum.label, '\\n')")  # fmt: skip
        base = base.encode(
            y=alt.Y("row:N", sort=[_lines(lab) for lab in view.labels], title=view.name, axis=axis),
            yOffset=alt.YOffset("series:N", sort=[gettext(SERIES[kind]) for kind in view.series]),
        )
        layers = _marks(view, base, "x", rule=2, point=45)
        step = max(ROW * len(view.series), 20, wide // (2 * len(view.labels)) if roomy else 0)
        height = alt.Step(min(step, TALLEST), **{"for": "position"})
    words = [_description(view, place) for place in range(len(view.labels))]
    if view.curve:
        words = words[:: max(len(words) // CURVE_WORDS, 1)]
    return _drawing(alt.layer(*layers, width=wide, height=height), identity, title, words)


def _point(view: ColumnView, kind: str, values: Sequence[float], place: int) -> Form:
    """One row of the chart's data."""
    label, series = view.labels[place], gettext(SERIES[kind])
    row = {
        "row": label if view.curve else _lines(label),
        "series": series,
        "share": _drawable(view, values, place),
        "words": f"{label}: {series} {rounded_percent(values[place])}",
    }
    if kind == "estimated":
        row |= {
            "low": _drawable(view, view.low, place), "high": _drawable(view, view.high, place)
        }  # fmt: skip
        row["words"] = f"{row['words']}{_interval_text(view, place)}"
    return row


def _lines(label: str) -> str:
    """A long label in two lines, so that all of it can be read."""
    return "\n".join(wrap(label, LETTERS, max_lines=2, placeholder=" …")) or label


def _drawable(view: ColumnView, values: Sequence[float] | None, place: int) -> float | None:
    """A share between 0 and 1, for each unit of its bin where bins differ in width."""
    if values is None or not math.isfinite(values[place]):
        return None
    return min(max(values[place], 0.0), 1.0) / (view.widths[place] if view.widths else 1)


def _marks(view: ColumnView, base: Any, along: str, *, rule: int, point: int) -> list[Any]:
    """The interval of each estimate as a line, and every share as a point, along one axis."""
    alt = altair()
    channel, end = (alt.X, alt.X2) if along == "x" else (alt.Y, alt.Y2)
    title = gettext("share of records")
    if view.widths:
        title += " " + gettext("per unit of {column}", column=view.name)
    if view.low is not None:
        title += ", " + gettext("with {level} % intervals", level=f"{100 * view.level:g}")
    scale = {
        "title": title,
        "axis": alt.Axis(labelExpr=PERCENT, tickCount=5, labelFlush=False, labelOverlap="greedy"),
        "scale": alt.Scale(zero=True),
    }
    names = [gettext(SERIES[kind]) for kind in view.series]
    legend = {
        "sort": names,
        "legend": alt.Legend(orient="top", direction="horizontal", title=None),
    }
    colours = alt.Scale(domain=names, range=[COLOURS[kind] for kind in view.series])
    shapes = alt.Scale(domain=names, range=[SHAPES[kind] for kind in view.series])
    interval = {along: channel("low:Q", **scale), f"{along}2": end("high:Q")}
    return [
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_rule(color=COLOURS["estimated"], strokeWidth=rule)
        .encode(**interval),
        base.mark_point(size=point, filled=True, opacity=1).encode(
            description=alt.Description("words:N"),
            color=alt.Color("series:N", scale=colours, **legend),
            shape=alt.Shape("series:N", scale=shapes, **legend),
            **{along: channel("share:Q", **scale)},
        ),
    ]


def _interval_text(view: ColumnView, place: int) -> str:
    if view.low is None or view.high is None:
        return ""
    low, high = rounded_percent(view.low[place]), rounded_percent(view.high[place])
    return f" ({gettext('{low} to {high}', low=low, high=high)})"


def _description(view: ColumnView, place: int) -> str:
    """All that the chart shows of one value, in words."""
    words = [
        f"{gettext(SERIES[kind])} {rounded_percent(shares[place])}"
        for kind, shares in view.series.items()
    ]
    if words:
        words[0] += _interval_text(view, place)
    return f"{view.labels[place]}: {', '.join(words)}"


# -- attacks ---------------------------------------------------------------------------------------


def ranges(identity: str, attacks: Sequence[Measured], *, title: str, wide: int = WIDE) -> Drawing:
    """Measured shares with their intervals on a scale from one in ten thousand to one."""
    alt = altair()
    numbers = ("value", "low", "high", "baseline", "bound")
    rows = [
        {"row": gettext(attack.name)}
        | {
            name: None if (share := getattr(attack, name)) is None
            else min(max(share, LEAST_SHARE), 1.0)
            for name in numbers
        }
        for attack in attacks
    ]  # fmt: skip
    scale = alt.Scale(type="log", domain=[LEAST_SHARE, 1], nice=False)
    axis = alt.Axis(labelExpr=PERCENT, values=[1e-4, 1e-3, 0.01, 0.1, 1])
    base = alt.Chart(rows_of(rows)).encode(
        y=alt.Y("row:N", sort=[gettext(attack.name) for attack in attacks], title=None)
    )
    at = {
        name: alt.X(f"{name}:Q", scale=scale, axis=axis, title=gettext("share of records"))
        for name in numbers
    }
    known = "isValid(datum.{})".format
    colour = COLOURS["released"]
    layers = [
        base.transform_filter(known("baseline")).mark_point(
            size=110, color=COLOURS["original"], strokeWidth=2, opacity=1
        ).encode(x=at["baseline"]),
        base.mark_rule(color=colour, strokeWidth=3).encode(x=at["low"], x2=alt.X2("high:Q")),
        base.mark_point(size=60, filled=True, opacity=1, color=colour).encode(x=at["value"]),
        base.transform_filter(known("bound")).mark_tick(
            color=COLOURS["bound"], thickness=3, size=20, opacity=1
        ).encode(x=at["bound"]),
    ]  # fmt: skip
    words = [
        f"{gettext(attack.name)} {numeral(percent_up(attack.value))}"
        + (
            ""
            if attack.baseline is None
            else f", {gettext('guessing')} {numeral(percent_down(attack.baseline))}"
        )
        + (
            ""
            if attack.bound is None
            else f", {gettext('promised')} {numeral(percent_up(attack.bound))}"
        )
        for attack in attacks
    ]
    return _drawing(alt.layer(*layers, width=wide, height=alt.Step(30)), identity, title, words)


# -- risk and loss ---------------------------------------------------------------------------------


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
         "words": gettext(
             "{name}: loss {loss} %, risk {risk}", name=point.name,
             loss=numeral(f"{100 * point.loss:.3g}"), risk=percent_up(point.risk))
         + (f", {best}" if point.best else "")}
        for point in points
    ]  # fmt: skip
    most, low, high = frame = _frame(rows, chances)
    steps = (step * 10.0**power for power in range(-5, 1) for step in (1, 2, 5))
    ticks = [tick for tick in steps if low <= tick <= high]
    base = alt.Chart().encode(
        x=alt.X("loss:Q", title=axes[0], scale=alt.Scale(domain=[0, most], nice=False),
                axis=alt.Axis(labelExpr=PERCENT, tickCount=5)),
        y=alt.Y("risk:Q", title=axes[1],
                scale=alt.Scale(type="log", domain=[low, high], nice=False),
                axis=alt.Axis(labelExpr=PERCENT, values=ticks)),
    )  # fmt: skip
    layers = _chance_lines(base, chances, most)
    for filled, colour in ((True, COLOURS["estimated"]), (False, COLOURS["original"])):
        drawn = [row for row, point in zip(rows, points, strict=True) if point.best == filled]
        mark = {"size": 90, "filled": filled, "opacity": 1, "color": colour, "strokeWidth": 2}
        dots = base.properties(data=rows_of(drawn)).mark_point(**mark)
        layers.append(dots.encode(description=alt.Description("words:N")))
    labels = _labelled(rows, frame, chances)
    for right in (True, False):
        side = [label for label in labels if label["right"] == right]
        layers.append(_names(base, side, align="right" if right else "left", dx=-9 if right else 9))
    chart = alt.layer(*layers, width=WIDER, height=TALL)
    return _drawing(chart, identity, title, [str(row["words"]) for row in rows])


def _chance_lines(base: Any, chances: Sequence[float], most: float) -> list[Any]:
    """The chances asked for as lines, each named at its right end."""
    rows = [
        {
            "loss": most,
            "risk": chance,
            "from": 0.0,
            "name": gettext("one in {k}", k=f"{1 / chance:.12g}"),
        }
        for chance in chances
    ]
    line = {"color": COLOURS["bound"], "strokeDash": [5, 4], "strokeWidth": 1}
    lines = base.properties(data=rows_of(rows)).mark_rule(**line).encode(x2=altair().X2("from:Q"))
    return [lines, _names(base, rows, align="right", dx=0, dy=-7)] if rows else []


def _names(base: Any, rows: Sequence[Form], **mark: Any) -> Any:
    named = base.properties(data=rows_of(rows)).encode(text=altair().Text("name:N"))
    return named.mark_text(fontSize=13, color="#474747", **mark)


def _frame(rows: Sequence[Form], chances: Sequence[float] = ()) -> tuple[float, float, float]:
    """The largest loss, the smallest and the largest risk that are drawn, with room around."""
    risks = [*(row["risk"] for row in rows), *chances] or [1.0]
    return 1.06 * max([row["loss"] for row in rows] + [0.01]), min(risks) / 1.4, max(risks) * 1.4


def _labelled(
    rows: Sequence[Form], frame: tuple[float, float, float], chances: Sequence[float] = ()
) -> list[Form]:
    """Places of the names: next to their points, as near as they cover nothing.

    What is apart in the narrowest chart is apart in all.
    """
    most, low, high = frame
    scale = TALL / math.log(high / low)
    spots = [(NARROWEST * r["loss"] / most, scale * math.log(high / r["risk"])) for r in rows]
    lines = [scale * math.log(high / chance) for chance in chances]
    taken: list[tuple[float, float, float, float]] = [(x - 6, x + 6, y, LINE) for x, y in spots]
    taken += [(NARROWEST - LETTER * 10, NARROWEST, y - 7, LINE) for y in lines]
    taken += [(0, NARROWEST, y, LINE / 2) for y in lines]
    labels = []
    for at in sorted(range(len(rows)), key=lambda place: spots[place][1]):
        x, y = spots[at]
        right = x > NARROWEST / 2
        long = LETTER * len(rows[at]["name"])
        left, end = (x - 9 - long, x - 9) if right else (x + 9, x + 9 + long)
        free = (
            place
            for place in sorted(range(-5, TALL + 5), key=lambda height: abs(height - y))
            if not any(a < end and left < b and abs(place - y) < gap for a, b, y, gap in taken)
        )
        place = next(free, y)
        taken.append((left, end, place, LINE))
        labels.append(rows[at] | {"right": right, "risk": high * math.exp(-place / scale)})
    return labels


# -- as SVG for the studio -------------------------------------------------------------------------


def drawn_methods(
    points: Sequence[tuple[str, float, float, bool]],
    chances: Sequence[float],
    best: str,
    planned: bool,
) -> str:
    """Methods by loss and risk; the loss is of planned analyses, or of a typical table."""
    loss = noop("error of the planned analyses") if planned else noop("error of a typical table")
    plot = frontier(
        "methods",
        [Point(*point) for point in points],
        title=gettext("Loss and risk of every method that was tried"),
        chances=chances,
        axes=(
            gettext(loss),
            gettext("risk: links or copies that succeed"),
        ),
        best=gettext(best),
    )
    return plot.inline


def original_chart(
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
    original, estimated, low, high = (
        tuple(math.nan if count is None else count / records for count in counts)
        for counts in numbers
    )
    view = ColumnView(
        name, name, labels=labels, estimated=estimated, low=low, high=high, original=original,
        curve=len(rows) > MOST_ROWS,
    )  # fmt: skip
    return shares(
        identity, view, title=gettext("{column}: original data and estimates", column=name)
    ).inline
