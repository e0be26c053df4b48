"""Tests of charts of estimates: every number with its interval, every axis with its name."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana import api
from pramana.errors import InvalidNumber, TooLarge


@pytest.fixture(scope="module")
def release():
    """A seeded release of people with two keys and an income."""
    draw = np.random.default_rng(2)
    rows = 3_000
    age = draw.choice(["young", "middle", "old"], rows, p=[0.3, 0.5, 0.2])
    sex = draw.choice(["f", "m"], rows)
    income = 1_000 * (20 + 10 * (age == "old") + 5 * (sex == "m")) + draw.normal(0, 3_000, rows)
    table = pa.table({"age": age, "sex": sex, "income": income.round()})
    ages = pm.Categories(("young", "middle", "old"), ordered=True)
    schema = pm.Schema((
        pm.Column("age", pm.Role.KEY, ages, missing="refuse"),
        pm.Column("sex", pm.Role.KEY, pm.Categories(("f", "m")), missing="refuse"),
        pm.Column("income", pm.Role.SENSITIVE),
    ))  # fmt: skip
    return pm.protect(
        table, pm.design(schema, pm.PkAnonymity(k=2), data=table, method="retention"), seed=1
    )


def _rows(chart, layer=-1):
    """The numbers behind a layer: those of the points are last."""
    form = chart.to_dict()
    return [dict(row) for row in form["datasets"][form["layer"][layer]["data"]["name"]]]


@pytest.mark.parametrize("by", [("age",), ("age", "sex")])
def test_a_table_becomes_points_with_intervals(release, by):
    """Each cell once, with the ends of its interval, in the order of the domain."""
    found = release.crosstab(*by)
    chart = found.plot()
    cells = list(found.cells)
    rows = _rows(chart)
    assert [row["row"] for row in rows] == [cell["age"] for cell in cells]
    for row, cell in zip(rows, cells, strict=True):
        assert (row["estimate"], row["low"], row["high"]) == pytest.approx(
            (cell["estimate"], cell["low"], cell["high"])
        )
    form = chart.to_dict()
    axes = form["layer"][-1]["encoding"]
    assert axes["y"]["title"] is None
    assert axes["y"]["sort"] == ["young", "middle", "old"]
    assert axes["x"]["title"] == "count, with 95 % intervals"
    assert form["layer"][0]["encoding"]["x2"]["field"] == "high"
    if len(by) == 2:
        assert axes["color"]["title"] == "sex"
    assert "Intervals at level 0.95" in " ".join(form["title"]["subtitle"])


def test_a_chart_of_two_columns_has_room_for_its_points_and_no_more():
    """A line a point, however many colours; values that share a colour differ in shape."""
    draw = np.random.default_rng(3)
    values = [f"v{at}" for at in range(10)]
    names = pm.Categories(tuple(values))
    table = pa.table({name: draw.choice(values, 3_000) for name in ("a", "b")})
    schema = pm.Schema((pm.Column("a", pm.Role.KEY, names, missing="refuse"),
                        pm.Column("b", pm.Role.KEY, names, missing="refuse")))  # fmt: skip
    plan = pm.design(schema, pm.PkAnonymity(k=2), data=table, method="retention")
    release = pm.protect(table, plan, seed=1)
    for by, points in ((("a", "b"), 100), (("a",), 10)):
        svg = api.drawn(release.crosstab(*by))
        height = float(re.search(r'viewBox="0 0 \S+ ([0-9.]+)"', svg)[1])
        assert 10 * points < height < 24 * points + 100
    form = release.crosstab("a", "b").plot().to_dict()["layer"][-1]["encoding"]
    looks = zip(form["color"]["scale"]["range"], form["shape"]["scale"]["range"], strict=True)
    assert len(set(looks)) == 10


def test_means_and_coefficients_have_charts_too(release):
    """A mean by group, and a regression with a rule at 0."""
    assert len(_rows(release.mean("income", by=["age"]).plot())) == 3
    fitted = release.regress("income ~ C(age) + sex")
    chart = fitted.plot()
    assert fitted.names[0] == "Intercept"  # left out: its size would hide the others
    assert [row["row"] for row in _rows(chart)] == list(fitted.names)[1:]
    assert _rows(chart, 0) == [{"at": 0.0}]


def test_a_chart_is_written_without_a_browser(release, tmp_path):
    """As SVG, with the names of its axes, and as PNG."""
    chart = release.crosstab("age", "sex").plot()
    chart.save(str(tmp_path / "chart.svg"))
    text = (tmp_path / "chart.svg").read_text()
    assert text.startswith("<svg")
    assert all(word in text for word in ("young", "middle", "old", "sex", "Estimated count"))
    chart.save(str(tmp_path / "chart.png"))
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_read_is_not_drawn(release):
    """Three columns, or too many cells, are refused in one line."""
    from dataclasses import replace

    found = release.crosstab("age", "sex")
    wide = replace(found, by=(*found.by, "x"), labels=(*found.labels, ("y",)))
    with pytest.raises(InvalidNumber, match="one or two columns"):
        wide.plot()
    many = np.zeros(201)
    labels = (tuple(range(201)),)
    long = replace(found, by=("age",), labels=labels, estimate=many, se=many, low=many, high=many)
    with pytest.raises(TooLarge, match="up to 200"):
        long.plot()
