"""``pramana ledger`` and ``protect --ledger`` on real files."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.cli.conftest import MARKER, Run

PROTECT = "protect people.csv --schema schema.toml --method retention --k 5 --ledger book -o {}"


@pytest.fixture
def keys_only(steward: Path) -> Path:
    """The steward's folder, with keys alone: nothing ties releases together."""
    lines = (steward / "people.csv").read_text().splitlines()
    text = [",".join(line.split(",")[1:4]) for line in lines]
    (steward / "people.csv").write_text("\n".join(text) + "\n")
    schema = (steward / "schema.toml").read_text()
    start, end = schema.index("[columns.sex]"), schema.index("[columns.income]")
    (steward / "schema.toml").write_text(schema[start:end])
    return steward


def test_releases_are_entered_and_added_up(keys_only: Path, run: Run) -> None:
    """protect says what all promise together; show lists them; check finds nothing."""
    first = run(PROTECT.format("one"))
    assert first.code == 0, first
    assert "One release: its guarantees hold." in first.out
    second = run(PROTECT.format("two") + " --json")
    assert second.json["together"]["rule"] == "apart"
    shown = run("ledger show book")
    assert shown.code == 0, shown
    assert "Each keeps its k" in " ".join(shown.out.replace("*", "").split())
    form = run("ledger show book --json").json
    assert [entry["number"] for entry in form["entries"]] == [1, 2]
    assert form["tables"][0]["entries"] == [1, 2]
    assert form["tables"][0]["k"] == pytest.approx(5)
    assert "complete and unaltered" in run("ledger check book").out
    assert run("ledger check book --json").json["holds"] is True
    assert stat.S_IMODE(Path("book").stat().st_mode) == 0o600


def test_the_budget_is_kept(keys_only: Path, run: Run) -> None:
    """Beyond it: exit 1, one line, no folder, no entry."""
    assert run(PROTECT.format("one") + " --budget-epsilon 3").code == 0
    found = run(PROTECT.format("two") + " --budget-epsilon 0.01")

    assert found.code == 1
    assert "above the budget of 0.01. Nothing was written." in found.err
    assert not Path("two").exists()
    assert len(run("ledger show book --json").json["entries"]) == 1


def test_a_kept_column_ties_releases(steward: Path, run: Run) -> None:
    """income is shown by both: they count as one, and the budget of k is exceeded."""
    assert run(PROTECT.format("one") + " --budget-k 5").code == 0
    found = run(PROTECT.format("two") + " --budget-k 5")
    assert found.code == 1
    assert "below the budget of 5" in found.err
    allowed = run(PROTECT.format("two"))
    assert "can be linked record by record" in " ".join(allowed.out.split())
    assert MARKER not in Path("book").read_text() + allowed.out


def test_an_altered_ledger_is_one_line(keys_only: Path, run: Run) -> None:
    """For every command that reads it: exit 1."""
    assert run(PROTECT.format("one")).code == 0
    book = Path("book")
    book.write_text(book.read_text().replace("retention", "invariant"))
    for command in ("ledger check book", "ledger show book", PROTECT.format("two")):
        found = run(command)
        assert found.code == 1
        assert "was altered" in found.err
        assert found.err.count("\n") == 1
    assert not Path("two").exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("ledger show none", "There is no ledger none"),
        ("ledger burn book", "'show', 'check'"),
        (PROTECT.format("one") + " --seed 3", "leave out the seed or the ledger"),
        (PROTECT.format("one").replace("--ledger book", "--budget-k 3"), "need a ledger"),
        (PROTECT.format("one") + " --budget-k 0", "budget of k"),
    ],
)
def test_bad_input_is_one_line_and_two(steward: Path, run: Run, command: str, message: str) -> None:
    """What must hold, and what to do."""
    found = run(command)

    assert found.code == 2
    assert message in found.err
    assert not Path("one").exists()


def test_a_ledger_that_others_can_read_is_told_of(keys_only: Path, run: Run) -> None:
    """With the command that mends it; a new one is its owner's alone."""
    run(PROTECT.format("one"))
    assert run("ledger check book --json").json["open_to_others"] == []
    (keys_only / "book").chmod(0o644)
    checked = run("ledger check book")
    assert checked.code == 0
    assert "chmod 600 book" in checked.err
