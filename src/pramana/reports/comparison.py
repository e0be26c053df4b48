"""A comparison of scenarios as one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.reports.content import Row
from pramana.reports.markup import element, joined, table
from pramana.reports.page import document
from pramana.reports.plots import Point, frontier

__all__ = ["render_comparison"]


def render_comparison(
    *, heads: Row, rows: Sequence[Row], points: Sequence[Point], sentences: Sequence[str]
) -> str:
    """Recommendation, frontier, and all scenarios side by side."""
    words = joined(element("p", sentence) for sentence in sentences)
    plot = joined(
        [
            element(
                "p",
                "Filled: on the frontier. To the right more is lost, upwards attacks are right "
                "more often.",
                class_="quiet",
            ),
            frontier("frontier", points, title="Risk and loss of each scenario"),
        ]
    )
    sections = [
        ("recommendation", "Recommendation", words),
        ("plot", "Risk and loss", plot),
        (
            "scenarios",
            "All scenarios",
            table(heads, rows, caption="What each promises, measures and costs", numbers=2),
        ),
    ]
    return document(
        "Comparison of scenarios",
        lead=element("p", f"{len(rows)} scenarios on the same table.", class_="big"),
        sections=sections,
        closing="For the owner of the data: contains figures of the true table. Do not publish.",
    )
