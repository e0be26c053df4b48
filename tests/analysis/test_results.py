"""What an estimate looks like to others."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pramana.analysis.counts import estimate_counts
from pramana.analysis.layout import Layout
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import UniformMixture
from tests.analysis.releases import released
from tests.analysis.worlds import layout_of, mixtures, moments_of_counts


@pytest.fixture
def estimate():
    """A two-way table by solving."""
    layout = layout_of((2, 2), mixtures((2, 2), 0.5))
    return estimate_counts(moments_of_counts([[60, 40], [30, 70]]), layout, method="unbiased")


def test_json_has_the_documented_form(estimate):
    """by, method, level, and cells with labels, estimate, se, low, high; it survives a dump."""
    form = json.loads(json.dumps(estimate.to_json()))

    assert form["by"] == ["a", "b"]
    assert form["method"] == "unbiased"
    assert form["level"] == 0.95
    assert list(form["cells"][0]) == ["a", "b", "estimate", "se", "low", "high"]
    assert [cell["b"] for cell in form["cells"]] == ["b0", "b1", "b0", "b1"]


def test_arrow_and_frames_hold_the_same_numbers(estimate):
    """The data frame is of the kind of the one given."""
    table = estimate.to_arrow()

    assert table.column_names == ["a", "b", "estimate", "se", "low", "high"]
    assert np.allclose(table["estimate"].to_numpy(), estimate.estimate.ravel())
    for like, kind in (
        (pd.DataFrame({"x": [1]}), pd.DataFrame),
        (pl.DataFrame({"x": [1]}), pl.DataFrame),
        (pa.table({"x": [1]}), pa.Table),
    ):
        frame = estimate.to_frame(like)
        assert isinstance(frame, kind)
        assert len(frame) == 4


def test_files_and_engines_give_arrow(estimate, tmp_path):
    """A place holds no kind of frame, and what is only planned cannot take numbers."""
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.from_arrow(pa.table({"x": [1]}))
    for like in ("people.csv", tmp_path / "people.csv", relation, None):
        assert estimate.to_frame(like).equals(estimate.to_arrow())
    assert isinstance(estimate.to_frame(pl.LazyFrame({"x": [1]})), pl.DataFrame)


def test_html_names_the_method_and_escapes_labels(estimate):
    """A notebook shows a table with a caption."""
    text = estimate._repr_html_()

    assert text.count("<tr>") == 5
    assert "unbiased" in text
    assert "<caption>" in text


def test_columns_named_like_figures_keep_their_labels():
    """In cells, tables and what is shown: such a name gets an underscore."""
    matrix = UniformMixture.of(("x", "y"), retention=0.5)
    mechanism = Mechanism((Step(("low",), matrix),))
    layout = Layout.of(("low",), labels={"low": matrix.labels}, mechanism=mechanism)
    made = estimate_counts(moments_of_counts([60, 40]), layout, method="unbiased")

    assert [cell["low_"] for cell in made.cells] == ["x", "y"]
    assert made.to_arrow().column_names == ["low_", "estimate", "se", "low", "high"]
    assert repr(made).splitlines()[1].split()[0] == "x"
    assert "<td>x</td>" in made._repr_html_()
    assert made.to_json()["cells"][0]["low_"] == "x"


def test_a_cell_is_found_by_its_labels(estimate):
    """Labels, not positions; an unknown one is a KeyError that names the columns only."""
    assert estimate.cell("a1", "b0")["estimate"] == estimate.estimate[1, 0]
    with pytest.raises(KeyError, match="no such cell"):
        estimate.cell("a9", "b0")


def test_an_estimate_cannot_be_changed(estimate):
    """Arrays are read-only."""
    with pytest.raises(ValueError, match="read-only"):
        estimate.estimate[0, 0] = 1


def test_labels_of_several_kinds_become_text():
    """A column may list 1, "x" and a missing value side by side."""
    labels = (1, "x", None)
    step = Step(("a",), UniformMixture.of(labels, retention=0.5))
    layout = Layout.of(["a"], labels={"a": labels}, mechanism=Mechanism((step,)))

    table = estimate_counts(moments_of_counts([5, 6, 7]), layout, method="unbiased").to_arrow()

    assert table["a"].to_pylist() == ["1", "x", None]


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
def test_estimates_survive_pickling_with_their_joint_errors(method):
    """A notebook that caches an estimate compares its cells as before."""
    release = released(method)
    for made in (
        release.crosstab("a", "b", share="row"),
        release.crosstab("a"),
        release.mean("inc", by=["a"]),
    ):
        again = pickle.loads(pickle.dumps(made))  # noqa: S301 - our own
        first, second = (made.labels[0][0], made.labels[0][1])
        cells = [(own, *(labels[0] for labels in made.labels[1:])) for own in (first, second)]
        assert again.difference(*cells) == made.difference(*cells)
