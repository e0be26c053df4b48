"""The verbs of the command line, on real files."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from pramana.release.documentation import explanations
from pramana.release.folder import read_certificate
from tests.cli.conftest import MARKER, SCHEMA, Run

PROTECT = "protect people.csv --schema schema.toml --method retention --k 5 --epsilon 6 -o release"


@pytest.fixture
def released(steward: Path, run: Run) -> Path:
    """A release folder made by the command line."""
    outcome = run(PROTECT)
    assert outcome.code == 0, outcome
    return steward / "release"


# -- describe ------------------------------------------------------------------------------


def test_describe_shows_every_column_with_a_reason(steward: Path, run: Run) -> None:
    """One line a column, the uniques, and advice on stderr; the values stay unseen."""
    outcome = run("describe people.csv")
    assert outcome.code == 0
    for column in ("name", "sex", "age", "region", "income"):
        assert column in outcome.out
    assert "records are unique on" in outcome.out
    assert "-o schema-2.toml" in outcome.err  # one is there already
    assert MARKER not in outcome.out


def test_describe_takes_roles_as_given_and_writes_a_schema_that_works(
    steward: Path, run: Run
) -> None:
    """What describe writes, design reads."""
    given = "--keys sex,age --keys region --sensitive income --identifiers name"
    outcome = run(f"describe people.csv {given} -o new.toml --json")
    assert outcome.code == 0
    assert outcome.json["records"] == 400
    assert outcome.json["keys"] == ["sex", "age", "region"]
    assert outcome.json["schema"] == "new.toml"
    roles = {row["column"]: row["role"] for row in outcome.json["columns"]}
    assert roles["income"] == "sensitive"
    assert roles["name"] == "identifier"
    planned = run("design people.csv --schema new.toml --k 5 --method retention --json")
    assert planned.code == 0, planned
    assert set(planned.json["columns"]) == {"sex", "age", "region"}


def test_describe_replaces_a_schema_only_when_told(steward: Path, run: Run) -> None:
    """With --force it does."""
    outcome = run("describe people.csv -o schema.toml --force")
    assert outcome.code == 0
    assert Path("schema.toml").read_text() != SCHEMA


# -- design --------------------------------------------------------------------------------


def test_design_before_any_data_gives_the_retention_of_the_paper(steward: Path, run: Run) -> None:
    """Domain sizes 2, 5, 10, n = 100,000, k = 100: 0.3032 in every column [Ikarashi, Sec. 4]."""
    text = "\n".join(
        f'[columns.c{n}]\nrole = "key"\ncategories = {list(range(n))}\n' for n in (2, 5, 10)
    )
    Path("sizes.toml").write_text(text)
    command = "design --schema sizes.toml --records 100000 --k 100 --spread equal --json"
    form = run(command).json
    assert form["method"] == "retention"
    assert form["records"] == 100_000
    for column in form["columns"].values():
        assert round(column["retention"], 4) == 0.3032
    by_name = {entry["name"]: entry for entry in form["guarantees"]}
    k, epsilon = by_name["pk-anonymity"], by_name["differential-privacy"]
    assert k["asked"] == {"k": 100}
    assert k["holds"] is True
    assert 100 <= k["attained"]["k"] < 100.000001
    # k = 1 + (n - 1) exp(-2 epsilon)
    assert 2.718281828459045 ** (-2 * epsilon["attained"]["epsilon"]) * 99_999 + 1 == pytest.approx(
        100, rel=1e-9
    )


def test_design_in_words_names_promise_and_price(steward: Path, run: Run) -> None:
    """A table of columns, each guarantee as a sentence, and how far off tables will be."""
    outcome = run("design people.csv --schema schema.toml --k 5 --method retention")
    assert outcome.code == 0
    assert "k = 5: " in outcome.out
    assert "at most 20 %" in " ".join(outcome.out.split())
    assert "% of the records" in " ".join(outcome.out.split())
    assert "income" in outcome.out
    about = "people.csv --schema schema.toml --k 5 --method retention"
    assert outcome.err == f"Make the release: pramana protect {about} -o release/\n"


def test_design_says_which_method_it_chose_and_what_the_other_would_cost(run, steward):
    """On all pairs where no tables are stated; protect too. A method that is stated is taken."""
    command = "design people.csv --schema schema.toml --k 5 --json"
    chosen, stated = run(command).json, run(f"{command} --method retention").json
    made = run("protect people.csv --schema schema.toml --k 5 -o release").out

    assert chosen["method"] == "attribute-sampling"
    assert "with --method retention at the same guarantee" in chosen["choice"]
    assert "instead" not in chosen
    assert "was chosen. The mean expected error of two-way tables" in " ".join(made.split())
    assert (stated["method"], "choice" in stated) == ("retention", False)
    assert "--method attribute-sampling" in stated["instead"]
    assert "the planned tables" in run(f"{command} --tables pairs").json["choice"]


def test_design_by_error_answers_the_opposite_question(steward: Path, run: Run) -> None:
    """The strongest guarantee whose expected error stays within bounds."""
    form = run("design people.csv --schema schema.toml --max-error 0.2 --json").json
    assert form["expected_error"] == pytest.approx(0.2, rel=1e-6)
    assert form["expected_error"] <= 0.2


def test_design_with_all_targets_meets_all(steward: Path, run: Run) -> None:
    """k, epsilon and a breach at once."""
    command = "design people.csv --schema schema.toml --k 2 --epsilon 3 --rho1 .1 --rho2 .6 --json"
    form = run(command).json
    assert all(entry["holds"] for entry in form["guarantees"])
    assert sum(entry["asked"] is not None for entry in form["guarantees"]) == 3


def test_design_with_ones_own_matrix_says_what_it_guarantees(steward: Path, run: Run) -> None:
    """Labels decide, not their order."""
    Path("s.toml").write_text(SCHEMA.replace('"key"', '"sensitive"') + "[columns.x]\n"
                              'role = "key"\ncategories = ["a", "b"]\n')  # fmt: skip
    Path("x.csv").write_text("truth,b,a\na,0.25,0.75\nb,0.75,0.25\n")
    form = run("design --schema s.toml --records 10 --matrix x=x.csv --json").json
    by_name = {entry["name"]: entry["attained"] for entry in form["guarantees"]}
    assert by_name["pk-anonymity"]["k"] == pytest.approx(2)  # 1 + 9 * (1/3)**2
    assert form["method"] == "matrix"


def test_matrices_are_shown_on_request(steward: Path, run: Run) -> None:
    """In JSON with their labels, and in words where they fit on a screen."""
    command = "design people.csv --schema schema.toml --retention 0.5 --show-matrix"
    found = {tuple(m["columns"]): m for m in run(f"{command} --json").json["matrices"]}
    assert found["sex",]["labels"] == ["F", "M"]
    assert found["sex",]["values"] == [[0.75, 0.25], [0.25, 0.75]]
    shown = run(command).out
    assert "sex: rows are original values" in shown
    assert "0.7500" in shown
    assert "matrices" not in run("design people.csv --schema schema.toml --k 2 --json").json


# -- protect and verify --------------------------------------------------------------------


def test_a_release_folder_holds_data_certificate_and_explanations_and_nothing_else(
    released: Path,
) -> None:
    """The same format out as in; identifiers are gone."""
    names = {path.name for path in released.iterdir()}
    assert names == {"certificate.json", "data.csv", *explanations(read_certificate(released))}
    table = pyarrow.csv.read_csv(released / "data.csv")
    assert table.column_names == ["sex", "age", "region", "income"]
    assert table.num_rows == 400


def test_protect_says_in_words_what_it_did(steward: Path, run: Run) -> None:
    """The place, the promises, and what no promise covers."""
    outcome = run(PROTECT)
    assert "400 released records" in outcome.out
    assert "k = 5: " in outcome.out
    assert "income" in outcome.out
    assert "pramana verify release" in outcome.err
    assert "seed" not in outcome.out
    assert MARKER not in outcome.out + outcome.err


def test_protect_as_json_is_the_plan_and_the_place(steward: Path, run: Run) -> None:
    """One object, with the names that design uses."""
    form = run(f"{PROTECT} --format parquet --json").json
    assert form["release"] == "release"
    assert form["data"] == "data.parquet"
    assert form["for_publication"] is True
    assert form["signed"] is False
    assert all(entry["holds"] for entry in form["guarantees"])
    assert pq.read_table("release/data.parquet").num_rows == 400


def test_verify_of_a_sound_release_leaves_with_zero(released: Path, run: Run) -> None:
    """In words and as JSON, alone and with the original."""
    assert run("verify release").code == 0
    outcome = run("verify release --original people.csv --json")
    assert outcome.code == 0
    assert outcome.json["valid"] is True
    assert {"name", "ok", "detail"} <= set(outcome.json["checks"][0])
    assert any(check["name"].startswith("transitions") for check in outcome.json["checks"])
    assert MARKER not in outcome.out


@pytest.mark.parametrize("where", [0.02, 0.3, 0.5, 0.7, 0.98])
@pytest.mark.parametrize("file", ["data.csv", "certificate.json"])
def test_verify_finds_any_changed_byte(released: Path, run: Run, file: str, where: float) -> None:
    """Exit 1 and the reason, whichever byte of whichever file it is."""
    path = released / file
    content = bytearray(path.read_bytes())
    place = int(where * len(content))
    content[place] ^= 1
    path.write_bytes(bytes(content))
    outcome = run("verify release")
    assert outcome.code == 1, outcome
    assert "FAIL" in outcome.out
    assert "not valid" in outcome.out


def test_a_seeded_release_is_flagged_wherever_it_is_shown(steward: Path, run: Run) -> None:
    """And two of them are the same to the byte."""
    outcome = run(f"{PROTECT} --seed 1")
    assert "Not for publication" in outcome.out
    first = Path("release/data.csv").read_bytes()
    assert "not for publication" in run("verify release").out
    assert run(f"{PROTECT} --seed 1 --force").code == 0
    assert Path("release/data.csv").read_bytes() == first
    assert json.loads(Path("release/certificate.json").read_text())["seed"].startswith("repro")


def test_signatures_tell_who_made_a_release(steward: Path, run: Run) -> None:
    """The right key passes; another key, and a release without signature, do not."""
    assert run("keygen office.key --json").json == {
        "private": "office.key",
        "public": "office.key.pub",
    }
    assert "keep it secret" in run("keygen other.key").out
    assert Path("office.key").stat().st_mode & 0o077 == 0
    assert run(f"{PROTECT} --sign office.key").code == 0
    assert run("verify release --key office.key.pub").code == 0
    assert run("verify release --key other.key.pub").code == 1
    assert run(f"{PROTECT} --force").code == 0
    assert run("verify release --key office.key.pub").code == 1
    assert run("keygen office.key").code == 2


def test_a_release_against_the_wrong_original_does_not_hold(steward: Path, run: Run) -> None:
    """Other people did not go in here: all women became men."""
    text = Path("people.csv").read_text()
    made = "protect people.csv --schema schema.toml --retention 0.8 -o release --seed 5"
    assert run(made).code == 0
    assert run("verify release --original people.csv").code == 0
    Path("others.csv").write_text(text.replace(",F,", ",M,"))
    outcome = run("verify release --original others.csv")
    assert outcome.code == 1
    assert "does not fit" in outcome.out


def test_a_plan_that_a_known_column_breaks_is_refused(steward: Path, run: Run) -> None:
    """A plain column splits the anonymity set: k counts the smallest group."""
    Path("schema.toml").write_text(
        SCHEMA.replace('[columns.region]\nrole = "key"', '[columns.region]\nrole = "public"')
    )
    smallest = Path("people.csv").read_text().count(",west,")
    outcome = run(f"design people.csv --schema schema.toml --k {smallest + 1}")
    assert outcome.code == 2
    assert f"largest attainable k is {smallest - 1}" in outcome.err
    before = run("design --schema schema.toml --records 400 --k 5")
    assert "smallest_group" in before.err
    stated = "design --schema schema.toml --records 400 --k 5 --smallest-group 30 --json"
    assert run(stated).json["anonymity_set"] == 30


def test_what_a_seed_takes_away_is_not_shown_as_promised(steward: Path, run: Run) -> None:
    """protect and demo print what stands in the certificate, and say what does not."""
    for command, place in (
        ("protect people.csv --schema schema.toml --k 5 --seed 3 -o out --force", "out"),
        ("demo --records 2000", "demo-release"),
    ):
        shown = run(command)
        assert shown.code == 0, shown
        words = " ".join(shown.out.replace("*", "").split())
        assert "Not guaranteed with a seed, and not in the certificate: central epsilon" in words
        assert "To an attacker who knows the records of everybody else" not in words
        form = run(f"{command} --json").json
        stated = json.loads(Path(place, "certificate.json").read_text())["guarantees"]
        assert [own["name"] for own in form["guarantees"]] == [own["name"] for own in stated]
