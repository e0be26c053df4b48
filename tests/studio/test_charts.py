"""Where the marks and words of charts lie."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pramana.studio.charts import DOT, LINE, frontier, nice_ticks

shares = st.floats(0, 2, allow_nan=False)


@given(shares, shares)
def test_ticks_are_round_and_hold_the_range(one: float, other: float) -> None:
    """From at or below the lowest to at or above the highest, evenly, and not too many."""
    low, high = sorted((one, other))
    ticks = nice_ticks(low, high)
    assert ticks[0] <= low + 1e-9
    assert ticks[-1] >= high - 1e-9
    assert 2 <= len(ticks) <= 12


def test_names_cross_neither_each_other_nor_a_mark() -> None:
    """Eight methods, some of them at nearly the same place."""
    places = [(0.0, 0.4), (0.017, 0.39), (0.02, 0.41), (0.1, 0.0016), (0.23, 0.0016), (0.1, 0.5)]
    points = [
        {"loss": loss, "risk": risk, "name": "resample", "target": "k = 20", "best": False}
        for loss, risk in places
    ]
    made = frontier(points)["points"]
    for at, own in enumerate(made):
        wide = 6.6 * len("resample k = 20")
        left = own["label_x"] if own["side"] == "start" else own["label_x"] - wide
        for other in made[:at]:
            theirs = other["label_x"] if other["side"] == "start" else other["label_x"] - wide
            apart = left > theirs + wide or theirs > left + wide
            assert apart or abs(own["label_y"] - other["label_y"]) >= LINE
        for mark in made:
            beside = left > mark["x"] + DOT or mark["x"] - DOT > left + wide
            assert beside or abs(own["label_y"] - mark["y"] - 4) >= LINE


def test_a_chart_of_nothing_and_of_one_point_can_be_drawn() -> None:
    """Axes have two ends whatever there is."""
    assert frontier([])["points"] == []
    one = {"loss": 0.0, "risk": 1.0, "name": "a", "target": "", "best": True}
    assert len(frontier([one])["risks"]) >= 2
