"""What one verb refuses of a table and its schema all verbs refuse, in the same words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import MARKER, Run

COLUMNS = {
    "who": 'role = "identifier"',
    "sex": 'role = "key"\ncategories = ["F", "M"]',
    "age": 'role = "key"\nbins = [0, 30, 50, 120]',
    "note": 'role = "identifier"',
    "income": 'role = "sensitive"',
}
VERBS = {
    "design": "--k 3",
    "protect": "--k 3 -o out",
    "advise": "--k 3 --method retention",
    "compare": "--k 3 --method retention",
}
NOTE_KEY = 'role = "key"\ncategories = ["x", "y"]\nmissing = "refuse"'
BAD: dict[str, tuple[str, dict[str, str | None], str]] = {
    "column unknown": ("", {"nosuch": 'role = "sensitive"'}, "lacks 1 of the schema's columns"),
    "column not described": ("", {"note": None}, "does not describe 1 of the table's columns"),
    "value outside": ("", {"sex": 'role = "key"\ncategories = ["F", "X"]'}, "60 records of 'sex'"),
    "merged away": (
        "", {"sex": 'role = "key"\ncategories = ["M", "X"]\nmerge = {Z = ["F"]}'},
        "60 records of 'sex'",
    ),
    "bins too short": ("", {"age": 'role = "key"\nbins = [0, 30, 50]'}, "38 records of 'age'"),
    "bins of texts": ("", {"note": 'role = "key"\nbins = [0, 5, 9]'}, "96 records of 'note'"),
    "missing refused": ("", {"note": NOTE_KEY}, "24 records of 'note' are missing"),
    "no key": (
        "", {"sex": 'role = "sensitive"', "age": 'role = "sensitive"'}, "at least one key",
    ),
    "date of numbers": ("", {"income": 'role = "sensitive"\ndate = "year"'}, "must hold dates"),
    "rounded text": ("", {"note": 'role = "public"\nround = 5'}, "a number to be rounded"),
    "text cut at the top": ("", {"note": 'role = "public"\ntop = 5'}, "cut at its ends"),
    "noise on text": (
        "", {"note": 'role = "sensitive"\nnoise = {distribution = "normal", scale = 3}'},
        "'note' must be a number to add noise",
    ),
    "weight of text": ("", {"note": 'role = "weight"'}, "'note' must be a number to weigh"),
    "impossible ones occur": (
        'impossible = [{sex = ["F"], age = ["[0, 30)"]}]', {},
        "15 records hold a combination of 'sex' and 'age' that the schema calls impossible",
    ),
    "stratum is a key": ('strata = ["sex"]', {}, "strata: Stratum 'sex' must be released"),
    "table of nothing": ('tables = ["sex*nosuch"]', {}, "tables: tables must name"),
    "household unknown": ('household = "nosuch"', {"nosuch": None}, "nosuch"),
    "codes that are none": (
        "", {"income": 'role = "sensitive"\nmissing_codes = {a = 1}'}, "missing_codes",
    ),
    "one category": ("", {"sex": 'role = "key"\ncategories = ["F"]'}, "at least two values"),
    "word unknown": ("", {"sex": COLUMNS["sex"] + "\nbinz = [1]"}, "binz"),
    "no TOML": ("keys = [", {}, "line"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """120 people; a fifth of the notes is empty."""
    lines = ["who,sex,age,note,income"]
    lines += [
        f"{MARKER}{at},{'FM'[at % 2]},{20 + at % 50},{'x' if at % 5 else ''},{1000 + at * 7}"
        for at in range(120)
    ]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(top: str, changed: dict[str, str | None]) -> None:
    """The schema with some columns changed, and some gone."""
    columns = {name: text for name, text in (COLUMNS | changed).items() if text is not None}
    tables = "\n".join(f"[columns.{name}]\n{text}" for name, text in columns.items())
    Path("schema.toml").write_text(f"{top}\n{tables}\n")


def test_the_schema_that_is_spoilt_is_a_good_one(folder: Path, run: Run) -> None:
    """All verbs take it before anything is changed."""
    write("", {})
    for verb, options in VERBS.items():
        assert run(f"{verb} people.csv --schema schema.toml {options}").code == 0, verb


@pytest.mark.parametrize("name", BAD)
def test_all_verbs_refuse_alike(name: str, folder: Path, run: Run) -> None:
    """Exit 2 and one line, the same for design, protect, advise and compare; nothing is written."""
    top, changed, words = BAD[name]
    write(top, changed)
    found = {
        verb: run(f"{verb} people.csv --schema schema.toml {options}")
        for verb, options in VERBS.items()
    }
    assert {verb: own.code for verb, own in found.items()} == dict.fromkeys(VERBS, 2)
    lines = {own.err for own in found.values()}
    assert len(lines) == 1, lines
    (line,) = lines
    assert words in line
    assert line.count("\n") == 1
    assert MARKER not in line
    assert not Path("out").exists()


TARGETS = ("--k 500", "--k 0", "--epsilon -1", "--rho1 0.5 --rho2 0.1", "--alpha 0.001", "--xi 2",
           "--k 3 --method nosuch", "--k 3 --method optimal", "--k 3 --joint sex*income",
           "--alpha 0.1 --joint sex*age", "--k 3 --max-error 0.1", "")  # fmt: skip


@pytest.mark.parametrize("asked", TARGETS)
def test_design_refuses_the_targets_that_protect_refuses(
    asked: str, folder: Path, run: Run
) -> None:
    """In the same line, before any record is touched."""
    write("", {})
    designed = run(f"design people.csv --schema schema.toml {asked}")
    protected = run(f"protect people.csv --schema schema.toml {asked} -o out")
    assert (designed.code, protected.code) == (2, 2), (designed, protected)
    assert designed.err == protected.err
    assert designed.err.count("\n") == 1
    assert not Path("out").exists()
