"""Estimates as charts: a point a number, a line from the lower to the upper end of its interval.

Charts are Altair's: they show themselves in notebooks, and ``chart.save("x.svg")`` or ``.png``
writes them without a browser.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from pramana.base.charts import COLOURS, PERCENT, altair, rows_of, styled
from pramana.base.translation import gettext, numeral
from pramana.errors import InvalidNumber, TooLarge
from pramana.types import Form

if TYPE_CHECKING:
    from pramana.analysis.estimates import Estimate
    from pramana.analysis.regression_results import Regression

MOST_CELLS = 200
"""More points are illegible."""

WIDE, STEP, OFFSET = 420, 24, 12

SHAPES = ("circle", "square", "triangle-up", "diamond")
OPEN = 0.15
"""Of the range of all numbers is how far an interval without an end goes on."""


def estimate_chart(estimate: Estimate) -> Any:
    """One column down the side, a second one as colours; an interval for each number."""
    if len(estimate.by) not in (1, 2):
        raise InvalidNumber(
            "A chart shows tables of one or two columns, and this one has {count}.",
            count=len(estimate.by),
        )
    if len(estimate) > MOST_CELLS:
        raise TooLarge(
            "A chart shows up to {most_cells} numbers, and this table has {count:,}.",
            most_cells=MOST_CELLS,
            count=len(estimate),
        )
    rows, words = [], estimate.words
    for cell in estimate.cells:
        labels = [words[name][cell[name]] for name in estimate.names]
        place = {"row": labels[0], "colour": labels[-1]}
        rows.append(place | {name: float(cell[name]) for name in ("estimate", "low", "high")})
    sides = [list(texts.values()) for texts in words.values()]
    interval = _interval(estimate.level)
    if estimate.no_interval:
        interval = gettext("no interval can be stated")
    colour = (estimate.by[1], sides[1]) if len(estimate.by) > 1 else None
    return _chart(
        rows,
        sort=sides[0],
        value=f"{gettext(estimate.what)}, {interval}",
        shares=estimate.what.partition(" ")[0] == "share",
        colour=colour,
        title=gettext(
            "Estimated {what} by {columns}",
            what=gettext(estimate.what),
            columns=gettext(" and ").join(estimate.by),
        ),
        note=estimate.note,
    )


def regression_chart(regression: Regression) -> Any:
    """A coefficient a line, with its interval, and a rule at 0.

    The intercept is left out where there are others: its size would hide theirs.
    """
    names = [name for name in regression.names if name != "Intercept"] or list(regression.names)
    rows = []
    for name in names:
        number = regression[name]
        ends = {"low": number["low"], "high": number["high"]}
        rows.append({"row": name, "colour": name, "estimate": number["coefficient"], **ends})
    return _chart(
        rows,
        sort=names,
        value=f"{gettext('coefficient')}, {_interval(regression.question.level)}",
        colour=None,
        title=f"{gettext(regression.family)}: {regression.formula}",
        note=regression.note,
        rule=0.0,
    )


def _interval(level: float) -> str:
    return gettext("with {level:g} % intervals", level=100 * level)


def _chart(
    rows: Sequence[Form],
    *,
    sort: list[str],
    value: str,
    colour: tuple[str, list[str]] | None,
    title: str,
    note: str,
    rule: float | None = None,
    shares: bool = False,
) -> Any:
    """The chart; its title names the columns, and ``sort`` has the values down the side."""
    alt = altair()
    whole = [row | {"words": _words(row)} for row in rows if math.isfinite(row["estimate"])]
    offset = len(colour[1]) if colour else 1
    scale = alt.Scale(zero=False, nice=True)
    # In full; by powers of ten only where all numbers are small.
    largest = max((abs(row["estimate"]) for row in whole), default=1)
    axis = alt.Axis(format=",.6~f" if largest >= 0.01 else ".3~g", tickCount=6)
    if shares:
        axis = alt.Axis(labelExpr=PERCENT, tickCount=6)
    across = partial(alt.X, title=value, scale=scale, axis=axis)
    shared: Form = {
        "y": alt.Y("row:N", sort=sort, title=None),
        "description": alt.Description("words:N"),
    }
    shaped: Form = {}
    if colour:
        name, values = colour
        shared["yOffset"] = alt.YOffset("colour:N", sort=values)
        colours = [COLOURS[at % len(COLOURS)] for at in range(offset)]
        named = {"sort": values, "title": name}
        shared["color"] = alt.Color(
            "colour:N", scale=alt.Scale(domain=values, range=colours), **named
        )
        # Values that share a colour differ in shape.
        shapes = [SHAPES[at // len(COLOURS) % len(SHAPES)] for at in range(offset)]
        shaped["shape"] = alt.Shape(
            "colour:N", scale=alt.Scale(domain=values, range=shapes), **named
        )
    fixed = {} if colour else {"color": COLOURS[0]}
    drawn, arrows, edges = _drawn(whole)
    ends = [row for row in drawn if None not in (row["low"], row["high"])]
    # A number that could be any is not known: its interval has arrows at both ends and no point.
    known = [row for row in drawn if not {row["low"], row["high"]} >= edges]
    base = alt.Chart(rows_of(known))
    bars = alt.Chart(rows_of(ends)).mark_rule(strokeWidth=2, **fixed)
    tips = [
        alt.Chart(rows_of(open_ends))
        .mark_point(filled=True, size=60, opacity=1, shape=shape, **fixed)
        .encode(x=across("end:Q"), **shared)
        for shape, open_ends in arrows.items()
    ]
    layers = [
        bars.encode(x=across("low:Q"), x2=alt.X2("high:Q"), **shared),
        *tips,
        base.mark_point(filled=True, size=60, opacity=1, **fixed).encode(
            x=across("estimate:Q"), **shared, **shaped
        ),
    ]
    if rule is not None:
        line = alt.Chart(rows_of([{"at": rule}]))
        layers.insert(0, line.mark_rule(color="#999", strokeDash=[4, 3]).encode(x=alt.X("at:Q")))
    return styled(
        alt.layer(*layers).properties(
            width=WIDE,
            height=alt.Step(max(STEP / offset, OFFSET)),  # of each point, where there are colours
            title=alt.TitleParams(title, subtitle=wrap(note, 90), anchor="start"),
        )
    )


def _words(row: Form) -> str:
    """The labels of a number and the number, for those who listen to a chart."""
    labels = dict.fromkeys((row["row"], row["colour"]))
    return f"{', '.join(labels)}: {numeral(format(row['estimate'], ',.6g'))}"


def _drawn(rows: Sequence[Form]) -> tuple[list[Form], dict[str, list[Form]], set[float]]:
    """Rows as they are drawn, arrows where an interval has no end, and the edges of the chart."""
    numbers = [row[name] for row in rows for name in ("estimate", "low", "high")]
    finite = [number for number in numbers if math.isfinite(number)]
    lowest, highest = min(finite, default=0.0), max(finite, default=0.0)
    room = OPEN * (highest - lowest or abs(highest) or 1.0)
    edges = {"low": lowest - room, "high": highest + room}

    def end(row: Form, name: str) -> float | None:
        number: float = row[name]
        return None if math.isnan(number) else edges[name] if math.isinf(number) else number

    drawn = [row | {name: end(row, name) for name in edges} for row in rows]
    arrows = {
        shape: [
            {**{field: row[field] for field in ("row", "colour", "words")}, "end": edges[name]}
            for row in rows
            if math.isinf(row[name])
        ]
        for name, shape in (("low", "triangle-left"), ("high", "triangle-right"))
    }
    arrows = {shape: shape_rows for shape, shape_rows in arrows.items() if shape_rows}
    return drawn, arrows, set(edges.values())
