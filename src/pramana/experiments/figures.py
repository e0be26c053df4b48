"""Pictures as values, drawn at the end: the same numbers, the same bytes.

Matplotlib comes with the extra ``plots``. Its object interface is used, never the global one, so
that no window, no back end and no state of the caller is touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pramana.errors import MissingExtra

__all__ = [
    "Histograms",
    "Lines",
    "Panels",
    "Picture",
    "Scatter",
    "Surface",
    "draw",
    "require_plots",
]

Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]

COLOURS = ("#0b6e99", "#c8553d", "#588b3a", "#7d4f9e", "#b8860b", "#444444", "#d48bb0", "#3aa6a6")


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
    panels: Mapping[str, Any] = field(default_factory=dict)
    unit: str = ""


@dataclass(frozen=True)
class Histograms(Picture):
    """Distributions of values, one panel a name, with the same bins."""

    panels: Mapping[str, Sequence[float]] = field(default_factory=dict)
    level: float | None = None


def require_plots() -> None:
    """Refuse in one line where there is nothing to draw with."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "Figures need matplotlib, an extra: pip install 'pramana[plots]'."
        ) from None


def draw(picture: Picture, path: Path) -> None:
    """Write ``path``.png and ``path``.svg."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # a fixed salt and no date: the same numbers give the same file
    settings = {"svg.hashsalt": "pramana", "svg.fonttype": "none", "font.size": 9}
    with mpl.rc_context(settings):
        panels = len(getattr(picture, "panels", ())) or 1
        width = 4.2 * panels + 0.6
        figure = Figure(figsize=(width, 3.6))
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, panels, squeeze=False)[0]
        figure.subplots_adjust(
            left=0.75 / width, right=1 - 0.2 / width, bottom=0.15, top=0.86, wspace=0.25
        )
        _DRAWERS[type(picture)](picture, axes)
        figure.suptitle(picture.title)
        figure.savefig(path.with_suffix(".png"), dpi=130, metadata={"Software": None})
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def _frame(axis: Any, picture: Picture) -> None:
    axis.set_xlabel(picture.x)
    axis.set_ylabel(picture.y)
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)


def _scales(axis: Any, picture: Lines | Scatter) -> None:
    """Plain numbers on logarithmic axes too: typeset powers take most of the drawing time."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for own, wanted in ((axis.xaxis, picture.log_x), (axis.yaxis, picture.log_y)):
        if wanted:
            own.axes.set(**{f"{own.axis_name}scale": "log"})
            own.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            own.set_minor_formatter(NullFormatter())


def _panels(picture: Any, axes: Any) -> None:
    for axis, (name, panel) in zip(axes, picture.panels.items(), strict=True):
        _lines(panel, [axis])
        axis.set_title(name, fontsize=9)


def _lines(picture: Any, axes: Any) -> None:
    axis = axes[0]
    for place, (name, (x, y)) in enumerate(picture.series.items()):
        axis.plot(x, y, marker="o", ms=3, color=COLOURS[place % len(COLOURS)], label=name)
    if picture.level is not None:
        axis.axhline(picture.level, color="#888888", lw=1, ls="--")
    _scales(axis, picture)
    _frame(axis, picture)
    axis.legend(frameon=False, fontsize=8)


def _points(picture: Any, axes: Any) -> None:
    axis = axes[0]
    for place, (name, (x, y)) in enumerate(picture.series.items()):
        axis.scatter(x, y, s=14, alpha=0.7, color=COLOURS[place % len(COLOURS)], label=name)
    _scales(axis, picture)
    _frame(axis, picture)
    axis.legend(frameon=False, fontsize=8)


def _surface(picture: Any, axes: Any) -> None:
    values = [np.asarray(panel, dtype=np.float64) for panel in picture.panels.values()]
    low, high = min(v.min() for v in values), max(v.max() for v in values)
    mesh = None
    for axis, name, value in zip(axes, picture.panels, values, strict=True):
        mesh = axis.pcolormesh(
            picture.xs, picture.ys, value, vmin=low, vmax=high, cmap="viridis", shading="nearest"
        )
        axis.set_title(name, fontsize=9)
        axis.set_xlabel(picture.x)
        axis.set_ylabel(picture.y)
    axes[0].figure.colorbar(mesh, ax=list(axes), label=picture.unit)


def _histograms(picture: Any, axes: Any) -> None:
    values = np.concatenate([np.asarray(panel, float) for panel in picture.panels.values()])
    edges = np.linspace(values.min(), values.max() + 1e-12, 31)
    for axis, (name, panel) in zip(axes, picture.panels.items(), strict=True):
        axis.hist(panel, bins=edges, color=COLOURS[0])
        if picture.level is not None:
            axis.axvline(picture.level, color="#c8553d", lw=1, ls="--")
        axis.set_title(name, fontsize=9)
        _frame(axis, picture)


_DRAWERS = {
    Histograms: _histograms,
    Lines: _lines,
    Panels: _panels,
    Scatter: _points,
    Surface: _surface,
}
