"""All experiments run quickly on generated data, say yes or no, and come out the same again."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from pramana.errors import InvalidNumber, InvalidTable, OutputExists
from pramana.experiments import harness
from pramana.experiments.harness import (
    EXPERIMENTS,
    Finding,
    Setting,
    count_steps,
    run_experiment,
    title,
)


@pytest.fixture(autouse=True)
def _no_data(monkeypatch):
    monkeypatch.delenv("PRAMANA_DATA", raising=False)


@pytest.mark.parametrize("name", sorted(EXPERIMENTS, key=lambda name: name != "ghatak"))
@pytest.mark.deep(every=5)
def test_a_quick_run_writes_tables_figures_and_a_page_and_its_findings_hold(name, tmp_path):
    """Without --data, and the page says so; progress adds up; every finding answers yes."""
    done: list[int] = []
    outcome = run_experiment(name, to=tmp_path, size="quick", progress=done.append)

    page = (tmp_path / "README.md").read_text()
    assert title(name) in page
    assert outcome.data in page
    assert sum(done) == count_steps(name, size="quick")
    for file, columns in outcome.tables.items():
        rows = list(csv.DictReader((tmp_path / f"{file}.csv").read_text().splitlines()))
        assert len(rows) == len(next(iter(columns.values())))
    for file in outcome.pictures:
        assert (tmp_path / f"{file}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / f"{file}.svg").read_text()
        assert f"({file}.svg)" in page
    assert [f.question for f in outcome.findings if not f.settled] == []
    assert all(f.threshold in page for f in outcome.findings)


@pytest.mark.deep
def test_the_same_seed_gives_the_same_files(tmp_path):
    """Byte for byte, figures included; another seed gives other numbers."""
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        run_experiment("ghatak", to=tmp_path / folder, size="quick", seed=seed)
    first, second, other = (
        {path.name: path.read_bytes() for path in sorted((tmp_path / folder).iterdir())}
        for folder in ("a", "b", "c")
    )

    assert first == second
    assert first["simulation.csv"] != other["simulation.csv"]


def test_parts_of_an_experiment_have_seeds_of_their_own():
    """Different numbers, different seeds; the same numbers, the same seed."""
    setting = Setting(None, "quick", seed=5)
    seeds = {setting.seeded(i, j) for i in range(20) for j in range(20)}

    assert len(seeds) == 400
    assert setting.seeded(3, 4) == Setting(None, "usual", seed=5).seeded(3, 4)


def test_bad_input_is_refused_in_one_line(tmp_path, monkeypatch):
    """An unknown name, a folder of data that is not there or lacks a file, a file in the way."""
    with pytest.raises(InvalidNumber, match="one of cator, dowd"):
        run_experiment("newton", to=tmp_path)
    with pytest.raises(InvalidTable, match="does not exist"):
        run_experiment("ikarashi", to=tmp_path, data=tmp_path / "nowhere")
    with pytest.raises(InvalidTable, match="must hold uscensus1990"):
        run_experiment("ikarashi", to=tmp_path, data=tmp_path, size="quick")
    monkeypatch.setenv("PRAMANA_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidTable, match="does not exist"):
        run_experiment("ikarashi", to=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputExists, match="new or empty folder"):
        run_experiment("ghatak", to=tmp_path / "file")


def test_every_kind_of_picture_is_drawn(tmp_path: Path):
    """One small picture of each kind; the same numbers give the same bytes."""
    series, grid = {"a": ([1, 10], [0.1, 0.2])}, {"p": np.ones((3, 2))}
    line = harness.lines("t", "x", "y", series)
    pictures = {
        "lines": harness.lines("t", "x", "y", series, log_x=True, log_y=True, level=0.15),
        "panels": harness.panels("t", {"p": line}),
        "points": harness.scatter("t", "x", "y", series),
        "surface": harness.surfaces("t", "x", "y", xs=[1, 2], ys=[1, 2, 3], values=grid),
        "histograms": harness.histograms("t", "x", "y", {"p": [1, 2]}, level=1.5),
    }
    for name, picture in pictures.items():
        picture.write(tmp_path / name)
        first = (tmp_path / f"{name}.svg").read_bytes()
        assert len(first) > 1_000
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        picture.write(tmp_path / name)
        assert (tmp_path / f"{name}.svg").read_bytes() == first


def test_a_finding_says_yes_no_or_why_it_differs():
    """A result beyond its threshold is never a yes."""
    made = [
        Finding("Mostly?", "88 %", "41 %", holds, "more than half", because)
        for holds, because in ((True, "flat"), (False, "flat"), (False, ""))
    ]

    assert [found.answer for found in made] == ["yes", "differs, because flat", "no"]
    assert [found.settled for found in made] == [True, True, False]
