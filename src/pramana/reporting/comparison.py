"""A comparison of scenarios as one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.base.text import counted
from pramana.reporting.annex import OWNER
from pramana.reporting.document import Chapter, Document, Grid, Row, Words
from pramana.reporting.html import to_html
from pramana.reporting.plots import Point, frontier

__all__ = ["render_comparison"]


def render_comparison(
    *, heads: Row, rows: Sequence[Row], points: Sequence[Point], sentences: Sequence[str]
) -> str:
    """Recommendation, frontier, and all scenarios side by side."""
    plot = (
        Words(
            "Filled: on the frontier. To the right more is lost, upwards attacks are right "
            "more often.",
            "quiet",
        ),
        frontier("frontier", points, title="Risk and loss of each scenario"),
    )
    everything = Grid(heads, tuple(rows), "What each promises, measures and costs", numbers=2)
    return to_html(
        Document(
            title="Comparison of scenarios",
            about=(),
            first=(Words(f"{counted(len(rows), 'scenario')} on the same table.", "big"),),
            parts=(
                Chapter("recommendation", "Recommendation", tuple(map(Words, sentences))),
                Chapter("plot", "Risk and loss", plot),
                Chapter("scenarios", "All scenarios", (everything,)),
            ),
            closing=OWNER,
        )
    )
