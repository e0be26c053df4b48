"""``protect --steward-folder`` and ``audit --mechanism``: what the owner keeps, and audits by."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from tests.cli.conftest import MARKER, Run

PROTECT = (
    "protect people.csv --schema schema.toml --method inverse-frequency --xi 0.3 -o out "
    "--steward-folder mine"
)


def test_the_true_matrices_are_kept_for_the_owner_alone(steward: Path, run: Run) -> None:
    """0700 and 0600; the certificate withholds what the folder holds; it is said to be private."""
    found = run(PROTECT)

    assert found.code == 0, found
    assert "mine is for you alone" in found.err
    mine = steward / "mine"
    assert stat.S_IMODE(mine.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in mine.iterdir()} == {0o600}
    assert {file.name for file in mine.iterdir()} == {"README.txt", "plan.json", "mechanism.json"}
    certificate = json.loads((steward / "out" / "certificate.json").read_text())
    assert certificate.get("mechanism") is None
    assert json.loads((mine / "mechanism.json").read_text())[0]["columns"]
    assert not any(MARKER in file.read_text() for file in mine.iterdir())


def test_a_withheld_matrix_is_audited_from_the_command_line(steward: Path, run: Run) -> None:
    """With the file the mechanism is run again; without it only linkage is tried."""
    assert run(PROTECT).code == 0
    alone = run("audit out --original people.csv --json")
    found = run("audit out --original people.csv --mechanism mine/mechanism.json --json")

    assert found.code == 0, found
    assert len(found.json["attacks"]) > len(alone.json["attacks"])
    assert "likeliest record" in [entry["name"] for entry in found.json["attacks"]]
    folder = run("audit out --original people.csv --mechanism mine --json")
    assert folder.json["attacks"] == found.json["attacks"]
    assert "published mechanism" not in json.dumps(folder.json)


def test_an_attack_without_matrices_names_the_command_that_takes_them(
    steward: Path, run: Run
) -> None:
    """And that command is there."""
    assert run(PROTECT).code == 0
    refused = run("attack linkage out --knowledge people.csv")
    assert refused.code == 2
    command = refused.err.partition("pramana audit ")[2].rstrip().rstrip(".")
    words = command.replace("RELEASE", "out").replace("FILE", "people.csv")
    assert run("audit " + words.replace("STEWARD_FOLDER", "mine")).code == 0


def test_a_folder_without_matrices_says_so_and_names_what_works(steward: Path, run: Run) -> None:
    """Reports and groups have none to keep: no file is spoken of that is not there."""
    for asked in ("--method attribute-sampling --k 3", "--method resample --k 3"):
        place = asked.split()[1]
        made = run(
            f"protect people.csv --schema schema.toml {asked} -o {place} "
            f"--steward-folder mine-{place}"
        )
        assert made.code == 0, made
        note = (steward / f"mine-{place}" / "README.txt").read_text()
        assert "mechanism.json" not in note
        command = note.partition("pramana ")[2].strip()
        assert run(command.replace("RELEASE", place).replace("FILE", "people.csv")).code == 0
        for verb in ("audit", "verify"):
            found = run(f"{verb} {place} --original people.csv --mechanism mine-{place}")
            assert found.code == 2
            assert "keeps no matrices" in found.err


def test_a_folder_inside_the_release_or_around_it_is_refused(steward: Path, run: Run) -> None:
    """One line, exit 2, nothing written."""
    for place in ("out/mine", "out", "."):
        found = run(PROTECT.replace("mine", place))
        assert found.code == 2
        assert "outside the release" in found.err
        assert not (steward / "out").exists()
    (steward / "mine").mkdir()
    found = run(PROTECT)
    assert found.code == 2
    assert "exists already" in found.err


def test_a_file_that_is_no_mechanism_is_refused(steward: Path, run: Run) -> None:
    """Not JSON, another release's, none at all, or without an original."""
    assert run(PROTECT).code == 0
    for name, content in (("no.json", "{"), ("list.json", "[]")):
        (steward / name).write_text(content)
        found = run(f"audit out --original people.csv --mechanism {name}")
        assert found.code == 2
        assert f"{name} is no mechanism" in found.err
    found = run("audit out --original people.csv --mechanism lacking.json")
    assert found.code == 2
    assert "cannot be read" in found.err
    found = run("audit out --mechanism mine")
    assert found.code == 2
    assert "--original" in found.err
    other = json.loads((steward / "mine" / "mechanism.json").read_text())[:1]
    (steward / "other.json").write_text(json.dumps(other))
    found = run("audit out --original people.csv --mechanism other.json")
    assert found.code == 2
    assert "of another release" in found.err
    other = json.loads((steward / "mine" / "mechanism.json").read_text())
    other[0]["matrix"]["labels"][0] = "\x1b[31mnowhere"
    (steward / "other.json").write_text(json.dumps(other))
    for verb in ("audit", "verify"):
        found = run(f"{verb} out --original people.csv --mechanism other.json")
        assert found.code == 2
        assert "they change values that this one does not list" in found.err
        assert "nowhere" not in found.err


def test_matrices_of_another_release_are_refused_beside_published_ones(
    steward: Path, run: Run
) -> None:
    """An attack by them would say that a promise is broken which holds."""
    protect = "protect people.csv --schema schema.toml -o {0} --steward-folder mine-{0} {1}"
    kinds = {"one": "--method retention --k 3", "two": "--method retention --k 2",
             "three": "--alpha 0.4 --width 2 --publish-matrix always"}  # fmt: skip
    for name, asked in kinds.items():
        assert run(protect.format(name, asked)).code == 0
    for name in kinds:
        for kept in kinds:
            for verb in ("audit", "verify"):
                found = run(f"{verb} {name} --original people.csv --mechanism mine-{kept}")
                assert found.code == (0 if kept == name else 2), found
                assert kept == name or "differ from the published ones" in found.err
    assert run(protect.format("groups", "--method resample --k 3")).code == 0
    for verb in ("audit", "verify"):
        found = run(f"{verb} groups --original people.csv --mechanism mine-one")
        assert found.code == 2
        assert "by no matrices" in found.err


def test_withheld_matrices_are_verified_by_those_that_were_kept(steward: Path, run: Run) -> None:
    """What only the owner can say of the draws is looked at, given the matrices."""
    assert run(PROTECT).code == 0
    found = run("verify out --original people.csv --mechanism mine --json")
    assert found.code == 0, found
    names = [check["name"] for check in found.json["checks"]]
    assert "randomisation" not in names
    assert any(name.startswith("randomisation: ") for name in names)
