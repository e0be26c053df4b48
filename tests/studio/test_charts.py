"""Charts that pages draw while they are being made."""

from __future__ import annotations

import re
import resource
from typing import Any

import pytest

from pramana.base.charts import WIDTHS
from pramana.studio.view import drawn
from tests.studio.conftest import words

PLACES = [(0.0, 0.4), (0.017, 0.39), (0.02, 0.41), (0.1, 0.0016), (0.23, 0.0016), (0.1, 0.5)]


def texts(svg: str) -> list[str]:
    """Every text of a chart that is seen."""
    return re.findall(r"<text[^>]*>([^<]*)<", svg)


def pointed(svg: str) -> list[str]:
    """What is told of each mark to who points at it."""
    return re.findall(r"<path[^>]*><title>([^<]*)</title></path>", svg)


def test_methods_have_names_axes_the_chance_and_words() -> None:
    """Two axes with titles, a name each, a line for what was asked; the numbers in the words."""
    points = tuple((f"m{at} k = 20", *place, at == 3) for at, place in enumerate(PLACES))
    svg = drawn("drawn_methods", points, (0.05,), "best so far", False)["svg"]
    shown = texts(svg)
    for at in range(len(PLACES)):
        assert f"m{at} k = 20" in shown
    assert "error of a typical table" in shown
    assert "risk: links or copies that succeed" in shown
    assert "one in 20" in shown
    assert "m3 k = 20: loss 10 %, risk 0.16 %, best so far" in svg
    assert svg.count("best so far") == 2 * len(WIDTHS)  # in words, and where one points at it
    assert pointed(svg)[0] == "m3 k = 20: loss 10 %, risk 0.16 %, best so far"
    assert len(pointed(svg)) == len(PLACES) * len(WIDTHS)
    assert 'role="img"' in svg


@pytest.mark.parametrize("points", [(), (("a", 0.0, 1.0, True),), (("a", 0.0, 0.0, True),)])
def test_a_chart_of_nothing_and_of_one_point_can_be_drawn(points: Any) -> None:
    """Axes have two ends whatever there is."""
    assert drawn("drawn_methods", points, (), "recommended", True)["svg"].startswith("<svg")


def test_truth_stands_beside_estimates_with_their_intervals() -> None:
    """An interval is a line; a value of which nothing is told has none."""
    rows = (("N", 60, 55.0, 50.0, 62.0), ("S", 40, None, None, None))
    svg = drawn("original_chart", "region", rows, identity="beside-0")["svg"]
    assert {"N", "S", "region", "estimated", "original"} <= set(texts(svg))
    assert len(re.findall(r'<line[^>]*stroke="#0b5f8a"', svg)) == len(WIDTHS)
    assert "N: estimated 55.0 % (50.0 % to 62.0 %), original 60.0 %" in words(svg)
    assert "N: estimated 55.0 % (50.0 % to 62.0 %)" in pointed(svg)
    assert "S: original 40.0 %" in pointed(svg)


def test_a_chart_that_cannot_be_drawn_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library cannot have its addresses; the page goes on without it."""
    monkeypatch.setattr("pramana.base.charts.RESERVED", 2**50)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (2**49, hard))
    try:
        told = drawn("original_chart", "a", (("y", 1, None, None, None),), identity="i")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert told["svg"] == ""
    assert "Charts" in told["no_chart"]
