"""The demonstration: the whole way on people who do not exist."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty present folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_demonstration_fits_on_one_screen_and_says_it_all(here: Path, run: Run) -> None:
    """Asked and attained in words, a table before and after, the check, the files, what next."""
    outcome = run("demo")
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) <= 46
    for words in (
        "100,000 people",
        "k = 20",
        "original",
        "estimated from the release",
        "Mean income by education",
        "95 % interval",
        "all checks passed",
        "AMBER Not for publication",
        "demo-release/",
        "Try next",
    ):
        assert words in outcome.out
    assert pq.read_table(here / "demo-data/people.parquet").num_rows == 100_000


@pytest.mark.deep
def test_what_the_demonstration_leaves_can_be_worked_on(here: Path, run: Run) -> None:
    """The commands that it suggests run, and it can be run again."""
    assert run("demo --records 2000 --k 10 --json").json["verify"]["valid"] is True
    suggested = run("demo --records 2000 --k 10").out.split("Try next")[1].splitlines()
    commands = [line.partition("pramana ")[2] for line in suggested if line.startswith("  pramana")]
    assert len(commands) >= 3
    for command in commands:
        outcome = run(command)
        assert outcome.code == 0, outcome


def test_the_demonstration_comes_out_the_same_every_time(here: Path, run: Run) -> None:
    """A seed makes it so, and the certificate says so."""
    releases = []
    for _ in range(2):
        assert run("demo --records 500 --k 5").code == 0
        releases.append(Path("demo-release/data.parquet").read_bytes())
    assert releases[0] == releases[1]
    assert "not for publication" in Path("demo-release/certificate.json").read_text()
