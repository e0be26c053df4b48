"""``pramana audit`` and ``pramana attack`` on real files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pramana.guarantees.claims import Claim
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.release.certificate import Certificate
from tests.cli.conftest import MARKER, Run

PROTECT = "protect people.csv --schema schema.toml --method retention --k 5 -o {}"


@pytest.fixture
def release(steward: Path, run: Run) -> Path:
    """A release folder of the steward's people, with incomes that are numbers."""
    lines = (steward / "people.csv").read_text().splitlines()
    random = np.random.default_rng(3)
    incomes = random.integers(1, 9, len(lines)) * 1000
    rows = [line.rsplit(",", 1)[0] for line in lines[1:]]
    text = [lines[0], *(f"{row},{income}" for row, income in zip(rows, incomes, strict=False))]
    (steward / "people.csv").write_text("\n".join(text) + "\n")
    assert run(PROTECT.format("release")).code == 0
    return steward / "release"


def test_audit_of_a_table_needs_no_schema(steward: Path, run: Run) -> None:
    """Frequencies by the values as they are; stdout is one JSON object."""
    found = run("audit people.csv --keys sex,age,region --k 3 --json")

    assert found.code == 0
    assert found.json["violations"] >= found.json["uniques"] > 0
    assert found.json["keys"] == ["sex", "age", "region"]
    assert len(found.json["subsets"]) == 7


def test_audit_takes_keys_from_the_schema(steward: Path, run: Run) -> None:
    """Keys and sensitive columns by their roles; no value is shown."""
    found = run("audit people.csv --schema schema.toml --k 3 --missing wildcard")

    assert found.code == 0
    assert "unique on sex, age, region" in found.out
    assert "'income'" in found.out
    assert "Missing values: wildcard." in found.out
    assert MARKER not in found.out


def test_audit_of_a_release_with_its_original(release: Path, run: Run) -> None:
    """Every attack with interval, guessing and promise; exit 0 where none is broken."""
    found = run("audit release --original people.csv --json")

    assert found.code == 0, found
    names = [entry["name"] for entry in found.json["attacks"]]
    assert names[:2] == ["nearest record", "likeliest record"]
    assert found.json["holds"] is True
    words = run("audit release --original people.csv").out
    assert "No guarantee is exceeded." in words
    assert "guessing" in words


def test_audit_of_a_release_alone_uses_its_keys(release: Path, run: Run) -> None:
    """Without the original the released table is counted."""
    found = run("audit release --json")

    assert found.code == 0
    assert found.json["keys"] == ["sex", "age", "region"]


def test_a_broken_promise_leaves_with_one(release: Path, run: Run) -> None:
    """A certificate changed to promise k = 300 is caught by the attacks themselves."""
    weak = run("protect people.csv --schema schema.toml --method retention --k 1.02 -o weak")
    assert weak.code == 0
    place = release.parent / "weak" / "certificate.json"
    certificate = Certificate.from_bytes(place.read_bytes())
    forged = [Claim(PkAnonymity(k=399.0)), *certificate.claims[1:]]
    place.write_bytes(replace(certificate, claims=tuple(forged)).to_bytes())
    found = run("audit weak --original people.csv --json")

    assert found.code == 1
    assert found.json["holds"] is False


@pytest.mark.parametrize(
    "command",
    [
        "verify release",
        "audit release --original people.csv",
        "attack repeated release",
        "estimate release --by sex",
        "report release -o page.html",
    ],
)
def test_an_altered_certificate_leaves_with_one(release: Path, run: Run, command: str) -> None:
    """Its digest fails, which is a check, whoever reads it; and it is said."""
    place = release / "certificate.json"
    text = place.read_text()
    assert text.count('"records": 400') == 1
    place.write_text(text.replace('"records": 400', '"records": 401'))
    found = run(command)

    assert found.code == 1
    assert "The certificate was altered" in found.err + found.out


@pytest.mark.parametrize(
    "command",
    [
        "verify release",
        "audit release --original people.csv",
        "attack repeated release",
        "estimate release --by sex",
        "regress release income~sex",
        "synthesize release -o whole.parquet",
        "learn release --target sex",
        "report release --external -o page.html",
    ],
)
def test_altered_data_of_the_same_size_leave_with_one(
    release: Path, run: Run, command: str
) -> None:
    """Whoever reads them is told in one line, and nothing is written."""
    place = next(release.glob("data.*"))
    whole = place.read_bytes()
    assert whole.count(b"south")
    place.write_bytes(whole.replace(b"south", b"north", 1))
    found = run(command)

    assert found.code == 1
    assert "SHA-256" in found.err + found.out
    assert found.err.count("\n") <= 1
    assert not {"whole.parquet", "page.html"} & {one.name for one in release.parent.iterdir()}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("audit people.csv --k 3", "--keys region,sex,age"),
        ("audit people.csv --keys town", "no column 'town'"),
        ("audit people.csv --keys sex --missing drop", "'category', 'wildcard'"),
        ("audit people.csv --keys sex --original people.csv", "is for a release folder"),
        ("audit nowhere.csv --keys sex", "does not exist"),
        ("audit nowhere --original people.csv --mechanism m.json", "nowhere does not exist"),
    ],
)
def test_bad_input_is_one_line_and_two(steward: Path, run: Run, command: str, message: str) -> None:
    """What must hold, and what to do."""
    found = run(command)

    assert found.code == 2
    assert message in found.err
    assert found.err.count("\n") == 1


def test_other_people_are_refused(release: Path, run: Run) -> None:
    """A truth with other records is said to be one, with counts."""
    lines = (release.parent / "people.csv").read_text().splitlines()
    (release.parent / "others.csv").write_text("\n".join(lines[:-50]) + "\n")
    found = run("audit release --original others.csv")

    assert found.code == 2
    assert "350 records where the release has 400" in found.err


def test_a_table_is_audited_by_the_schema_that_design_takes(steward: Path, run: Run) -> None:
    """It says what missing values are; where it is silent, design refuses them."""
    lines = Path("people.csv").read_text().splitlines()
    lines[3] = lines[3].replace(",F,", ",,").replace(",M,", ",,")
    Path("people.csv").write_text("\n".join(lines) + "\n")
    refused = run("design people.csv --schema schema.toml --k 2")
    assert refused.code == 2
    assert "1 record of 'sex' is missing" in refused.err
    stated = (
        Path("schema.toml")
        .read_text()
        .replace("[columns.sex]\n", '[columns.sex]\nmissing = "category"\n')
    )
    Path("schema.toml").write_text(stated)
    for verb in ("design", "audit"):
        assert run(f"{verb} people.csv --schema schema.toml --k 2").code == 0, verb


def test_every_attack_runs_from_release_and_knowledge(release: Path, run: Run) -> None:
    """Findings in words, and as one JSON object."""
    for name in ("linkage", "repeated", "recovery"):
        found = run(f"attack {name} release --knowledge people.csv --json")
        assert found.code == 0, found
        assert found.json["attack"] == name
    linked = run("attack linkage release --knowledge people.csv").out
    assert "names the right record" in linked
    assert "Not covered: an attacker who knows a person's" in " ".join(linked.split())
    assert run("attack linkage release --original people.csv").code == 0  # as audit calls it
    assert "without the release" in run("attack repeated release").out


def test_composition_composes_releases(release: Path, run: Run) -> None:
    """Twice the same epsilon adds up, and k falls; protect warns of the release beside it."""
    again = run(PROTECT.format("again"))
    assert again.code == 0
    assert "release has the same columns and number of records" in again.err
    found = run("attack composition release again --json").json

    assert found["together"]["epsilon"] == pytest.approx(
        sum(one["epsilon"] for one in found["alone"])
    )
    assert found["together"]["k"] < found["alone"][0]["k"]


def test_protect_warns_in_one_line_of_releases_beside_it(release: Path, run: Run) -> None:
    """The command that it gives works; where there is none that would, it gives none."""
    protect = "protect people.csv --schema schema.toml --k 3 --method resample -o {}"
    grouped = run(protect.format("grouped")).err
    assert "release has the same columns" in grouped
    assert "attack composition" not in grouped
    warned = run(PROTECT.format("again")).err
    assert warned.count("the same columns") == 1
    assert "grouped, release have the same columns" in warned
    command = warned.split("pramana ")[-1]
    assert "grouped" not in command
    assert run(command).code == 0
    for place in ("third", "fourth"):
        assert run(PROTECT.format(place)).code == 0
    many = run(PROTECT.format("fifth")).err
    assert "and 2 more have the same columns" in many
    assert "..." not in many
    assert all(f"/{place}" in many for place in ("release", "again", "third", "fourth"))
    assert run(many.split("pramana ")[-1]).code == 0


def test_attacks_say_what_they_lack(release: Path, run: Run) -> None:
    """Knowledge is an argument, and names are checked."""
    assert "what the attacker knows (--knowledge FILE)" in run("attack linkage release").err
    assert "one of 'linkage', 'repeated'" in run("attack magic release").err
    assert "takes one release, got 2" in run("attack repeated release release").err
