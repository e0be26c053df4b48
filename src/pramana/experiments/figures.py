"""Pictures as values, drawn at the end: the same numbers, the same bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pramana.base.charts import COLOURS, altair, rows_of, styled, write_picture
from pramana.types import Entries, Form

__all__ = ["Histograms", "Lines", "Panels", "Picture", "Scatter", "Surface", "draw"]

Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]

WIDE, TALL = 330, 250
BINS = 30
MOST_TICKS = 12
NUMBERS = ",.4~r"


@dataclass(frozen=True)
class Picture:
    """What all pictures have."""

    title: str
    x: str
    y: str
    note: str = ""


@dataclass(frozen=True)
class Lines(Picture):
    """Curves by name."""

    series: Curves = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False
    level: float | None = None


@dataclass(frozen=True)
class Scatter(Picture):
    """Clouds of points by name."""

    series: Curves = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Panels(Picture):
    """Several pictures of curves side by side."""

    panels: Mapping[str, Lines] = field(default_factory=dict)


@dataclass(frozen=True)
class Surface(Picture):
    """Values over a grid, one panel a name: rows are y, columns are x."""

    xs: Sequence[float] = ()
    ys: Sequence[float] = ()
    panels: Entries = field(default_factory=dict)
    unit: str = ""


@dataclass(frozen=True)
class Histograms(Picture):
    """Distributions of values, one panel a name, with the same bins."""

    panels: Mapping[str, Sequence[float]] = field(default_factory=dict)
    level: float | None = None


def draw(picture: Picture, path: Path) -> None:
    """Write ``path``.png and ``path``.svg."""
    chart = _DRAWERS[type(picture)](picture).properties(title=picture.title)
    write_picture(styled(chart), path)


def _axis(picture: Lines | Scatter, side: str) -> Form:
    """One side of a picture; numbers are written out, also on axes of logarithms."""
    alt, log = altair(), picture.log_x if side == "x" else picture.log_y
    own = [row[side] for row in _points(picture)]
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False, nice=True)
    ticks = {"values": _ticks(min(own), max(own))} if log and own else {"tickCount": 6}
    axis = alt.Axis(format=NUMBERS, labelOverlap="greedy", labelFlush=False, **ticks)
    title = picture.x if side == "x" else picture.y
    return {"shorthand": f"{side}:Q", "title": title, "scale": scale, "axis": axis}


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten; powers alone where there are many."""
    steps = (1,) if high / low > 2_000 else (1, 2, 5)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [own for p in powers for s in steps if low * 0.99 <= (own := s * 10.0**p) <= high * 1.01]


def _points(picture: Lines | Scatter) -> list[Form]:
    """Rows that can be drawn: finite, and above 0 on an axis of logarithms."""
    return [
        {"series": name, "x": float(x), "y": float(y)}
        for name, (xs, ys) in picture.series.items()
        for x, y in zip(xs, ys, strict=True)
        if _shown(x, log=picture.log_x) and _shown(y, log=picture.log_y)
    ]


def _shown(value: float, *, log: bool) -> bool:
    return math.isfinite(value) and (value > 0 or not log)


def _base(picture: Lines | Scatter) -> Any:
    alt = altair()
    names = list(picture.series)
    shades = [COLOURS[at % len(COLOURS)] for at in range(len(names))]
    colour = alt.Color(
        "series:N", title=None, sort=names, scale=alt.Scale(domain=names, range=shades),
        legend=alt.Legend(orient="bottom", columns=2) if len(names) > 1 else None,
    )  # fmt: skip
    return alt.Chart(rows_of(_points(picture))).encode(
        x=alt.X(**_axis(picture, "x")),
        y=alt.Y(**_axis(picture, "y")),
        color=colour,
    )


def _lines(picture: Lines) -> Any:
    alt, base = altair(), _base(picture)
    layers = [base.mark_line(point=alt.OverlayMarkDef(size=25))]
    if picture.level is not None:
        rule = alt.Chart(rows_of([{"level": picture.level}]))
        layers.append(rule.mark_rule(color="#6b6b6b", strokeDash=[4, 3]).encode(y=alt.Y("level:Q")))
    return alt.layer(*layers).properties(width=WIDE, height=TALL)


def _scatter(picture: Scatter) -> Any:
    marks = _base(picture).mark_point(filled=True, size=28, opacity=0.7)
    return marks.properties(width=WIDE, height=TALL)


def _panels(picture: Panels) -> Any:
    parts = [_lines(panel).properties(title=name) for name, panel in picture.panels.items()]
    return _beside(parts).resolve_scale(color="independent")


def _beside(parts: Sequence[Any]) -> Any:
    return altair().hconcat(*parts, bounds="flush", spacing=70)


def _surface(picture: Surface) -> Any:
    alt = altair()
    values = [np.asarray(panel, dtype=np.float64) for panel in picture.panels.values()]
    ends = [min(float(v.min()) for v in values), max(float(v.max()) for v in values)]
    colour = alt.Color(
        "value:Q", title=picture.unit or None, scale=alt.Scale(scheme="viridis", domain=ends)
    )
    parts = []
    for name, value in zip(picture.panels, values, strict=True):
        rows = [
            {"x": _number(x), "y": _number(y), "value": float(value[down, across])}
            for down, y in enumerate(picture.ys)
            for across, x in enumerate(picture.xs)
        ]
        grid = alt.Chart(rows_of(rows)).mark_rect()
        across = alt.X("x:N", title=picture.x, sort=_named(picture.xs), axis=_few(picture.xs))
        down = alt.Y("y:N", title=picture.y, sort=_named(picture.ys)[::-1], axis=_few(picture.ys))
        parts.append(
            grid.encode(x=across, y=down, color=colour).properties(
                width=WIDE - 60, height=TALL, title=name
            )
        )
    return _beside(parts)


def _number(value: float) -> str:
    return f"{value:g}"


def _named(values: Sequence[float]) -> list[str]:
    return [_number(value) for value in values]


def _few(values: Sequence[float]) -> Any:
    """Names of some values, so that they do not touch."""
    step = -(-len(values) // MOST_TICKS)
    return altair().Axis(values=_named(values)[::step], labelAngle=0)


def _histograms(picture: Histograms) -> Any:
    alt = altair()
    values = np.concatenate([np.asarray(panel, float) for panel in picture.panels.values()])
    edges = np.linspace(values.min(), values.max() + 1e-12, BINS + 1)
    parts = []
    for name, panel in picture.panels.items():
        counts, _ = np.histogram(panel, bins=edges)
        rows = [
            {"from": float(low), "to": float(high), "count": int(count)}
            for low, high, count in zip(edges, edges[1:], counts, strict=False)
        ]
        layers = [
            alt.Chart(rows_of(rows))
            .mark_bar(color=COLOURS[0])
            .encode(
                x=alt.X("from:Q", title=picture.x, axis=alt.Axis(format=NUMBERS, tickCount=6),
                        scale=alt.Scale(domain=[float(edges[0]), float(edges[-1])], nice=False)),
                x2=alt.X2("to:Q"),
                y=alt.Y("count:Q", title=picture.y),
                y2=alt.Y2Datum(0),
            )
        ]  # fmt: skip
        if picture.level is not None:
            rule = alt.Chart(rows_of([{"level": picture.level}]))
            layers.append(
                rule.mark_rule(color=COLOURS[1], strokeDash=[4, 3]).encode(x=alt.X("level:Q"))
            )
        parts.append(alt.layer(*layers).properties(width=WIDE - 90, height=TALL - 40, title=name))
    return _beside(parts)


_DRAWERS: dict[type[Picture], Callable[[Any], Any]] = {
    Histograms: _histograms,
    Lines: _lines,
    Panels: _panels,
    Scatter: _scatter,
    Surface: _surface,
}
