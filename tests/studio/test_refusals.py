"""What nobody means to send, and what stands in the folder already: one line, and nothing lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pramana import Schema, verify
from pramana.cli.app import main
from pramana.studio import tasks
from tests.studio.conftest import Visitor, words

HOSTILE = ("²", "9" * 5000, "-1", "nan", "1e999", "\0", "[]", "")
COLUMN = {"role": "key", "missing": "keep", "edges": "20, 50, 80", "release": "label", "top": "70",
          "bottom": "3", "round": "2", "date": "year", "codes": "9", "into": "x"}  # fmt: skip
FORMS = {
    "/open": {"part": "x", "encoding": "utf-8"},
    "/columns/roles": {"role-0": "key"},
    "/columns/1": COLUMN,
    "/columns/2": {"role": "key", "tick": ["0", "1"], "into": "x"},
    "/columns/rules/add": {"a": "0", "b": "2", "value-a": "0", "value-b": "1"},
    "/columns/rules/drop": {"rule": "0"},
    "/columns/3/coarser": {"round": "10", "top": "90", "here": "/protect"},
    "/columns/use": {"schema": "none.toml"},
    "/asked/add": {"kind": "mean", "of": "3", "by": "0"},
    "/asked/drop": {"wish": "0"},
    "/choose/try": {"method": "retention", "chances": "5"},
    "/choose": {"chance": "5", "method": "retention", "letter": "k", "k": "5"},
    "/choose/foresee": {"letter": "alpha", "alpha": "0.2", "method": "king"},
    "/protect": {"release": "", "acknowledged": "yes", "copy": "csv"},
    "/report": {"edition": "public", "name": "x"},
    "/risk/apply": {"way": "0"},
    "/release": {"folder": "x"},
    "/code/back": {"at": "0"},
}
PATHS = ("/columns/{}", "/columns/{}/shape", "/surveys/{}", "/surveys/{}/live", "/report/read/{}",
         "/columns/rules?a={}&b={}", "/table?level={}", "/choose/foreseen/{}")  # fmt: skip


@pytest.fixture
def opened(visitor: Visitor) -> Visitor:
    """Someone who has opened the table and looked at its columns."""
    visitor.post("/open", {"file": "people.csv"})
    assert "Every change is saved at once" in visitor.part("/columns/list")
    return visitor


@pytest.mark.parametrize("path", FORMS)
def test_no_entry_of_a_form_is_a_fault(opened: Visitor, path: str) -> None:
    """Digits that are none, numbers without end, choices that are not offered."""
    form = FORMS[path]
    for name in form:
        for value in HOSTILE:
            answer = opened.post(path, form | {name: value}, **{"hx-request": "true"})
            assert answer.status_code < 500, (path, name, value[:9], words(answer.text)[-200:])
            assert "unforeseen" not in answer.text


def test_no_address_is_a_fault(opened: Visitor) -> None:
    """Places in lists that are asked for by an address."""
    for path in PATHS:
        for value in ("%C2%B2", "9" * 5000, "-1", "x"):
            assert opened.get(path.format(value, value)).status_code < 500, (path, value[:9])


def test_the_usual_method_takes_a_chance_too(opened: Visitor) -> None:
    """One in five without a method is k = 5."""
    opened.post("/choose", {"chance": "5", "method": ""})
    assert (opened.session.now.method, opened.session.now.target) == ("", {"k": 5.0})


@pytest.mark.parametrize(
    ("letter", "value", "said"),
    [
        ("alpha", "0", "alpha must be a number in (0, 1], got 0.0."),
        ("alpha", "1.5", "alpha must be a number in (0, 1], got 1.5."),
        ("alpha", "0.001", "400 records allow 1/400 at best"),
        (
            "k",
            "400",
            "k = 400 cannot be met with an anonymity set of 400: the largest attainable k is 399.",
        ),
        ("epsilon", "0", "epsilon = 0 can be met by pure noise only"),
    ],
)
def test_sliders_refuse_in_plain_words(opened: Visitor, letter: str, value: str, said: str) -> None:
    """As the command line does."""
    form = {"letter": letter, letter: value, "method": ""}
    answer = opened.post("/choose/foresee", form, **{"hx-request": "true"})
    studio = opened.client.app._app.state.studio  # type: ignore[attr-defined]
    job = next(own for own in reversed(studio.jobs._jobs.values()) if own.function is tasks.foresee)
    job.ended.wait(20)
    told = words(answer.text) + job.words
    assert said in told
    assert "(" + letter not in told


def test_a_refusal_leads_to_the_column_that_it_names(visitor: Visitor, folder: Path) -> None:
    """A weight that leaves too few people alike is rounded there; trying again would not help."""
    rows = "".join(f"{'FM'[at % 2]},{at * 0.001 + 0.5}\n" for at in range(300))
    (folder / "weighted.csv").write_text(f"sex,wgt\n{rows}")
    visitor.post("/open", {"file": "weighted.csv"})
    visitor.part("/columns/list")
    visitor.post("/columns/roles", {"role-0": "key", "role-1": "weight"})
    as_it_is = {"role": "weight", "round": "", "top": "", "bottom": ""}
    visitor.post("/columns/1", as_it_is)  # what a first look proposed is taken back
    visitor.post("/choose", {"letter": "k", "k": "20", "method": ""})
    told = visitor.part("/protect/plan")
    assert '<a href="/columns/1">Open the column wgt</a>' in told
    assert "Try again" not in told
    assert "The sum of all weights" in words(told)
    form = dict(re.findall(r'name="(\w+)" value="([^"]*)"', told))
    visitor.post("/columns/1/coarser", form | {"here": "/protect"})
    recoding = Schema.from_toml(visitor.session.now.schema).columns[1].recoding
    assert (recoding.round, recoding.top) == (float(form["round"]), float(form["top"]))
    assert "cannot be met" not in visitor.part("/protect/plan")


def test_nearly_all_records_are_not_counted() -> None:
    """A range from all to all says nothing."""
    assert tasks._roughly((9e9, 2e10), 5000) == "Nearly all of the 5,000 records have to change."
    assert tasks._roughly((120, 6000), 5000).startswith("Roughly 120 to 5,000 of 5,000")


def test_links_to_nothing_take_no_page_away(opened: Visitor) -> None:
    """Every page that lists files of the folder, or of a release."""
    folder = opened.session.folder
    for name in ("gone.csv", "gone.toml"):
        (folder / name).symlink_to(folder / "nowhere")
    try:
        for path in ("/", "/columns", "/release", "/surveys"):
            answer = opened.get(path)
            assert answer.status_code == 200
            assert "gone." not in answer.text
    finally:
        for name in ("gone.csv", "gone.toml"):
            (folder / name).unlink()


def test_files_of_a_colleague_are_written_all_or_none(opened: Visitor) -> None:
    """What stands is named, and nothing beside it appears."""
    folder = opened.session.folder
    (folder / "plan.toml").write_text("learn")
    opened.post("/choose", {"method": "retention", "letter": "k", "k": "4"})
    told = words(opened.post("/code").text)
    assert "plan.toml already exists, and nothing was written" in told
    assert not {"schema.toml", "protect.sh", "protect.py"} & {own.name for own in folder.iterdir()}
    assert (folder / "plan.toml").read_text() == "learn"
    (folder / "plan.toml").unlink()
    (folder / "protect.py").mkdir()
    opened.post("/code", {"force": "1"})
    assert not (folder / "schema.toml").exists()
    (folder / "protect.py").rmdir()


def test_a_report_replaces_nothing_unless_told(opened: Visitor) -> None:
    """Not what somebody wrote, not one of its own; and nobody else reads the one for us."""
    folder = opened.session.folder
    opened.post("/choose", {"method": "retention", "letter": "k", "k": "4"})
    opened.post("/protect", {"release": "told", "acknowledged": "yes"})
    opened.part("/protect/made")
    signed = folder / "told-report-owner.pdf"
    signed.write_text("signed")
    signed.chmod(0o644)
    told = words(opened.post("/report", {"edition": "owner"}).text)
    assert "told-report-owner.pdf already exists, and nothing was written" in told
    assert signed.read_text() == "signed"
    assert not signed.with_suffix(".html").exists()
    opened.post("/report", {"edition": "owner", "force": "1"})
    assert "told-report-owner.pdf" in opened.part("/report/written/owner")
    for place in (signed, signed.with_suffix(".html")):
        assert place.stat().st_mode & 0o777 == 0o600
    before = signed.read_bytes()
    told = words(opened.post("/report", {"edition": "owner"}).text)
    assert "told-report-owner.html and told-report-owner.pdf already exist" in told
    assert signed.read_bytes() == before


def test_no_release_is_written_into_a_release(
    opened: Visitor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By no road, and under no name of two lines; the one that stands stays valid."""
    folder = opened.session.folder
    opened.post("/choose", {"method": "retention", "letter": "k", "k": "4"})
    opened.post("/protect", {"release": "outer", "acknowledged": "yes"})
    opened.part("/protect/made")
    told = words(opened.post("/protect", {"release": "outer/sub", "acknowledged": "yes"}).text)
    assert "outer/sub lies inside the release outer." in told
    told = words(opened.post("/protect", {"release": "two\nlines", "acknowledged": "yes"}).text)
    assert "must be a name without line breaks" in told
    (folder / "own.toml").write_text(opened.session.now.schema)
    monkeypatch.chdir(folder)
    for name in ("outer/sub", "two\nlines"):
        with pytest.raises(SystemExit) as left:
            main(["protect", "people.csv", "--schema", "own.toml", "--k", "4", "-o", name])
        assert left.value.code == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert verify(folder / "outer").valid
    assert [own.name for own in (folder / "outer").iterdir() if own.is_dir()] == []


@pytest.mark.parametrize("name", ["plain/", "dotted/.", "up/../upper"])
def test_what_tells_of_the_truth_is_written_beside_a_release(opened: Visitor, name: str) -> None:
    """However the folder is spelled, nothing but the release lies in it."""
    opened.post("/choose", {"method": "retention", "letter": "k", "k": "4"})
    opened.post("/protect", {"release": name, "acknowledged": "yes"})
    opened.part("/protect/made")
    own = opened.session.folder / opened.session.now.release
    before = set(own.iterdir())
    opened.post("/report", {"edition": "owner"})
    assert f"{own.name}-report-owner.html" in opened.part("/report/written/owner")
    assert set(own.iterdir()) == before
    assert own.with_name(f"{own.name}-report-owner.pdf").exists()


def test_a_copy_that_cannot_be_written_is_left_out_by_a_click(
    visitor: Visitor, folder: Path
) -> None:
    """The column is named, and nothing that was acknowledged is asked for again."""
    rows = "".join(f"{'FM'[at % 2]},{'ab'[at // 2 % 2]}\n" for at in range(400))
    (folder / "spaced.csv").write_text(f"sex,marital status\n{rows}")
    visitor.post("/open", {"file": "spaced.csv"})
    visitor.part("/columns/list")
    visitor.post("/choose", {"letter": "k", "k": "3", "method": "retention"})
    form = {"release": "spaced", "acknowledged": "yes", "copy": ["csv", "dta"]}
    visitor.post("/protect", form)
    told = visitor.part("/protect/made")
    assert "Column 'marital status' has a name that Stata files cannot keep" in words(told)
    assert '<a href="/columns/1">Open the column marital status</a>' in told
    assert not (folder / "spaced").exists()
    fields = dict(re.findall(r'name="(copy|state)" value="([^"]*)"', told))
    assert fields["copy"] == "dta"
    visitor.post("/protect/without", fields)
    assert "400 records are released into spaced" in words(visitor.part("/protect/made"))
    assert (folder / "spaced" / "data.csv").exists()
    assert visitor.session.now.copies == ("csv",)
