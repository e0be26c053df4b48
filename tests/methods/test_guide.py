"""The guide: its two rules by hand, its law, its limits, refusals."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import Infeasible, InvalidNumber
from pramana.methods.choice import BINS, GAMMAS, GridPoint, Guide, parse_range


def point(gamma: float, bins: int, accuracy: float) -> GridPoint:
    return GridPoint(gamma, bins, accuracy, error=0.1)


GRID = Guide(
    (
        point(5, 5, 0.70),
        point(5, 10, 0.78),
        point(5, 20, 0.80),
        point(12, 5, 0.75),
        point(12, 10, 0.85),
        point(12, 20, 0.84),
        point(21, 5, 0.95),
    )
)


def test_least_bins_among_the_best_of_each_gamma():
    """Best for 5 is N = 20, for 12 it is N = 10: the smaller N wins [Dowd, Sec. 7.1]."""
    assert GRID.choose(gammas=(5, 12)) == point(12, 10, 0.85)


def test_with_an_accuracy_the_least_bins_then_the_least_gamma():
    """0.75 is reached with N = 5 at gamma 12; 0.78 with N = 10 already at gamma 5 [Sec. 7.2]."""
    assert GRID.choose(gammas=(5, 12), accuracy=0.75) == point(12, 5, 0.75)
    assert GRID.choose(gammas=(5, 12), accuracy=0.78) == point(5, 10, 0.78)


def test_an_accuracy_that_nothing_reaches_gives_the_highest():
    """As the paper says: settle with the highest."""
    assert GRID.choose(gammas=(5, 12), accuracy=0.99) == point(12, 10, 0.85)


points = st.builds(
    GridPoint,
    gamma=st.integers(2, 21),
    bins=st.sampled_from(BINS),
    accuracy=st.floats(0, 1),
    error=st.floats(0, 2),
)


@given(st.lists(points, min_size=1, max_size=30), st.floats(0, 1))
def test_nothing_that_reaches_the_accuracy_has_fewer_bins(grid, accuracy):
    """By going through all of them."""
    choice = Guide(tuple(grid)).choose(gammas=(2, 21), accuracy=accuracy)
    enough = [p for p in grid if p.accuracy >= accuracy]

    if enough:
        assert choice in enough
        assert all((choice.bins, choice.gamma) <= (p.bins, p.gamma) for p in enough)
    else:
        assert choice.accuracy == max(p.accuracy for p in grid)


def test_entropy_is_the_closed_form():
    """2.9781 bits at gamma = 5, N = 10; log2 N as gamma goes to 1."""
    gamma, bins = 8, 20
    total = gamma + bins - 1
    by_hand = -gamma / total * math.log2(gamma / total) + (bins - 1) / total * math.log2(total)

    assert point(gamma, bins, 0.5).entropy == pytest.approx(by_hand)
    assert point(5, 10, 0.5).entropy == pytest.approx(2.9781, abs=5e-5)
    assert point(1, 16, 0.5).entropy == pytest.approx(4)


def test_the_grid_of_the_paper_has_240_combinations():
    """Twenty gammas, twelve numbers of bins."""
    assert len(GAMMAS) * len(BINS) == 240


def test_refusals():
    """An empty grid, a range outside it, an accuracy that is none, a range that is none."""
    with pytest.raises(InvalidNumber, match="at least one combination"):
        Guide(())
    with pytest.raises(Infeasible, match="No gamma between 30 and 40"):
        GRID.choose(gammas=(30, 40))
    with pytest.raises(InvalidNumber, match="accuracy"):
        GRID.choose(accuracy=80)
    for text in ("12:5", "5:8:12", "five", "0.5:2", ""):
        with pytest.raises(InvalidNumber, match="must read like 5:12"):
            parse_range(text)
