"""Two columns of one name: an offer, and the way that it offers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import MARKER, Run

ROWS = [("F", "north", "1"), ("M", "south", "2")] * 30


@pytest.fixture
def doubled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A text file with two columns 'code' and one 'code_2', and an identifier with the marker."""
    lines = ["name,code,code,code_2"]
    lines += [f"{MARKER}{at},{','.join(row)}" for at, row in enumerate(ROWS)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_refusal_offers_a_way(doubled: Path, run: Run) -> None:
    """One line with the name and what it would become; exit 2, nothing written, no cell shown."""
    found = run("describe people.csv -o schema.toml")

    assert found.code == 2
    assert "'code' 2 times" in found.err
    assert "--rename: they are then called code, code_3" in found.err
    assert MARKER not in found.err
    assert not (doubled / "schema.toml").exists()


def test_every_step_takes_the_way(doubled: Path, run: Run) -> None:
    """Described, designed, protected and audited under the new names."""
    assert run("describe people.csv --rename -o schema.toml").code == 0
    schema = (doubled / "schema.toml").read_text()
    assert "[columns.code]" in schema
    assert "[columns.code_3]" in schema
    assert run("audit people.csv --rename --keys code,code_3").code == 0
    keys = 'identifiers = ["name"]\nsensitive = ["code_2"]\nkeys = ["code", "code_3"]\n'
    (doubled / "keys.toml").write_text(keys)
    assert run("design people.csv --schema keys.toml --k 3 --rename").code == 0
    made = run("protect people.csv --schema keys.toml --k 3 -o out --rename")
    assert made.code == 0, made
    assert (doubled / "out" / "data.csv").read_text().splitlines()[0].count("code") == 3
    assert run("verify out --original people.csv --rename").code == 0
