"""``pramana compare`` on real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

COMPARE = "compare people.csv --schema schema.toml --k 5,20 --method retention"


def test_compare_shows_scenarios_and_recommends(steward: Path, run: Run) -> None:
    """A table, the recommendation, and a page with the plot."""
    found = run(f"{COMPARE} -o page.html")

    assert found.code == 0, found
    words = " ".join(found.out.split())
    assert "strongest" in words
    assert "central" in words
    # Every income is kept and is somebody's alone, so that the shuffle hides nobody.
    assert "(delta 0)" in Path("page.html").read_text()
    assert "on the frontier" in found.out
    assert "Risk and loss" in Path("page.html").read_text()
    assert run(f"{COMPARE} -o page.html").code == 2


def test_no_method_is_cut_and_copies_are_said_of_the_scenario(steward: Path, run: Run) -> None:
    """Every name stands whole in the table, and a warning names whose copies it speaks of."""
    found = run("compare people.csv --schema schema.toml --k 3 --method retention,resample")

    assert found.code == 0, found
    assert "…" not in found.out
    assert "resample, k = 3: " in " ".join(found.out.split())
    assert "word for word" not in found.err


def test_compare_as_json(steward: Path, run: Run) -> None:
    """One object with scenarios, frontier and recommendation."""
    form = run(f"{COMPARE} --json").json
    assert all(one["measuring"] > 0 for one in form["scenarios"] if one["loss"] is not None)

    assert [s["target"] for s in form["scenarios"]] == ["k = 5", "k = 20"]
    assert form["recommended"] in form["frontier"]
    assert form["scenarios"][0]["risk"]["bound"] == pytest.approx(0.2, rel=0.01)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("compare people.csv --schema schema.toml", "needs methods and targets"),
        ("compare people.csv --schema schema.toml --k ten", "--k takes numbers"),
        ("compare people.csv --k 5", "schema"),
    ],
)
def test_bad_input_is_said(steward: Path, run: Run, command: str, message: str) -> None:
    """What is missing, and how it is given."""
    found = run(command)

    assert found.code == 2
    assert message in found.err


def test_where_everything_is_refused_it_fails(steward: Path, run: Run) -> None:
    """More than there are people: exit 2, one line with the reason, and no page."""
    verb = "compare people.csv --schema schema.toml --k 100000"
    found = run(f"{verb} --method retention -o page.html")

    assert found.code == 2, found
    assert "Every scenario was refused: k = 100,000 cannot be met" in found.err
    assert found.out == ""
    assert len(found.err.strip().splitlines()) == 1
    assert not Path("page.html").exists()
    several = run(f"{verb} --method retention,resample")
    assert several.code == 2
    assert "for the reasons given with each" in several.err
    words = " ".join(several.out.split())
    assert "retention, k = 100000: " in words
    assert "resample, k = 100000: " in words
