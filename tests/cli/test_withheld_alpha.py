"""A release by alpha whose matrix is withheld, read by every verb: right words, promises kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pramana.errors import TooLarge
from pramana.methods.optimal.method import Optimal
from tests.cli.conftest import Run

PROTECT = (
    "protect people.csv --schema schema.toml --alpha 0.4 --width 2 --publish-matrix never "
    "--steward-folder mine -o out"
)

REFUSED = {
    "estimate out --by sex,region": "withheld",
    "estimate out --by sex --where region=north": "withheld",
    "estimate out --by sex --method unbiased": "released counts have the stated error",
    "regress out income~C(sex)": "withheld",
    "synthesize out -o again.csv": "withholds",
    "attack linkage out --knowledge people.csv": "--mechanism STEWARD_FOLDER",
}
"""Questions that only the matrix could answer, and a part of what is said."""

ANSWERED = (
    "verify out",
    "verify out --original people.csv",
    "verify out --original people.csv --mechanism mine",
    "estimate out --by sex",
    "audit out --original people.csv",
    "audit out --original people.csv --mechanism mine",
    "report out --original people.csv -o report.html",
)


@pytest.fixture
def withheld(steward: Path, run: Run) -> Path:
    """Made for people of whom some are rare."""
    found = run(PROTECT)
    assert found.code == 0, found
    said = " ".join(found.out.split())
    assert "The matrix is withheld: analysts use released counts of single keys" in said
    return steward


def test_every_verb_answers_or_says_why_not(withheld: Path, run: Run) -> None:
    """No traceback, no word of frequencies that are unbiased, no matrix anywhere."""
    for command in ANSWERED:
        found = run(command)
        assert found.code == 0, (command, found)
        assert "unbiased" not in found.out
    for command, words in REFUSED.items():
        found = run(command)
        assert found.code == 2, (command, found)
        assert words in found.err, (command, found)
        assert "unforeseen" not in found.err
        assert "unbiased as released" not in found.err
    report = (withheld / "report.html").read_text()
    assert "The matrices are withheld" in report
    assert "unbiased as released" not in report


def test_the_folder_says_of_itself_what_holds(withheld: Path, run: Run) -> None:
    """README and certificate: errors stated, no matrix; single columns alone are told."""
    certificate = json.loads((withheld / "out" / "certificate.json").read_text())
    assert (certificate["kind"], certificate["mechanism"]) == ("sealed", None)
    assert certificate["matrices"] == {"depend_on_the_data": True, "published": False}
    assert set(certificate["statistics"]["standard_errors"]) == {"sex", "age", "region"}
    readme = (withheld / "out" / "README.md").read_text()
    assert "are withheld" in readme
    assert "right on average" not in readme
    table = run("estimate out --by region --json").json
    error = certificate["statistics"]["standard_errors"]["region"]
    assert [cell["se"] for cell in table["cells"]] == [error] * 3


def test_plan_files_carry_the_choice(steward: Path, run: Run) -> None:
    """What was decided once is done again from the file, and design says so beforehand."""
    asked = "--schema schema.toml --alpha 0.4 --width 2 --publish-matrix never"
    found = run(f"design people.csv {asked} --save-plan plan.toml --json")
    assert found.code == 0, found
    assert any("withheld" in words for words in found.json["notices"])
    assert 'publish-matrix = "never"' in (steward / "plan.toml").read_text()
    assert run("protect people.csv --plan plan.toml -o out").code == 0
    form = json.loads((steward / "out" / "certificate.json").read_text())
    assert form["kind"] == "sealed"
    assert run("design people.csv " + asked.replace("never", "often")).code == 2


@pytest.mark.parametrize("weighted", [False, True])
def test_commands_that_are_printed_and_published_can_be_run(
    steward: Path, run: Run, weighted: bool
) -> None:
    """What is said to ask first, by `protect` and by the README: one key, and without weights."""
    if weighted:
        lines = (steward / "people.csv").read_text().splitlines()
        lines = [f"{line},{'w' if at == 0 else 1 + at % 2}" for at, line in enumerate(lines)]
        (steward / "people.csv").write_text("\n".join(lines) + "\n")
        with (steward / "schema.toml").open("a") as schema:
            schema.write('\n[columns.w]\nrole = "weight"\n')
    found = run(PROTECT.replace("0.4", "0.6"))
    assert found.code == 0, found
    (asked,) = (line for line in found.err.splitlines() if line.startswith("Estimate: "))
    readme = (steward / "out" / "README.md").read_text().splitlines()
    (first,) = (line for line in readme if line.startswith("A first table"))
    told = first.split("`")[1].replace("estimate .", "estimate out")
    for command in (asked.removeprefix("Estimate: "), told):
        answer = run(command[command.index("estimate") :])
        assert answer.code == 0, (command, answer)


def test_a_design_too_large_to_be_made_again_says_nothing_of_the_claim(
    withheld: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither that it holds nor that it does not: it is the owner's word, and the rest is told."""

    def too_large(*_: object, **__: object) -> None:
        raise TooLarge("more than a design takes")

    monkeypatch.setattr(Optimal, "design", too_large)
    found = run("verify out --original people.csv --json")
    assert found.code == 0, found
    (claim,) = [own for own in found.json["checks"] if own["name"] == "spontaneous-recognition"]
    assert claim["state"] == "asserted"
    assert "too large to be computed from the original again" in claim["detail"]
    assert "--mechanism" in claim["detail"]
