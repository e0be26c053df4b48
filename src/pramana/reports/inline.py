"""Charts for pages that draw at once: SVG that may stand in them, each with a name and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pramana.pictures import inline_svg
from pramana.reports.blocks import Drawing
from pramana.reports.content import ColumnView
from pramana.reports.plots import Point, counts, frontier, shares

__all__ = ["drawn_beside", "drawn_methods", "drawn_shape"]

MOST_ROWS = 24


def drawn_methods(
    points: Sequence[tuple[str, float, float, bool]], chances: Sequence[float], best: str
) -> str:
    """Methods by loss and risk.

    Args:
        points: Name, loss, risk, and whether it is the best one.
        chances: Asked for: a line each.
        best: What the best one is called.
    """
    plot = frontier(
        "methods",
        [Point(*own) for own in points],
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
        tuple(math.nan if own is None else own / records for own in one) for one in numbers
    )
    view = ColumnView(
        name, name, "", "", "", labels, estimated=estimated, low=low, high=high, truth=truth,
        curve=len(rows) > MOST_ROWS,
    )  # fmt: skip
    return _inline(shares(identity, view, title=f"{name}: truth and estimates"))


def _inline(plot: Drawing) -> str:
    return inline_svg(plot.svg, identity=plot.identity, title=plot.title, text=plot.text)
