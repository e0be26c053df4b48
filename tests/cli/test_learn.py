"""``pramana learn`` and ``pramana experiment`` from the command line."""

from __future__ import annotations

import json

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pramana.cli.app import main
from pramana.experiments.tree_grid import applicants, bin_schema, release_at


def command(line: str, capsys) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(line.split())
    shown = capsys.readouterr()
    return int(left.value.code or 0), shown.out, shown.err


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learn")
    data = applicants(1, records=3_000, tests=500, seed=1)
    release_at(data, bin_schema(data, 6), gamma=8, seed=2).save(folder / "release")
    pq.write_table(data.test, folder / "clean.parquet")
    return folder


def test_mine_shows_accuracy_and_rules(learned, capsys):
    """In words for people, as one JSON object for machines; the rule is about age."""
    line = f"learn {learned}/release --target class --test {learned}/clean.parquet --seed 1"
    code, text, _ = command(line, capsys)
    assert code == 0
    assert "Accuracy on" in text
    assert "age" in text

    _, text, _ = command(f"{line} --json", capsys)
    assert json.loads(text)["accuracy"] > 0.85


def test_a_tree_for_another_population(learned, capsys):
    """Weights shift the tree to young applicants, of whom nearly all are of one class."""
    clean = pq.read_table(learned / "clean.parquet")
    young = clean.filter(pc.less(clean["age"], 40)).drop(["class"])
    pq.write_table(young, learned / "young.parquet")
    line = f"learn {learned}/release --target class --seed 1 --synthesis none --depth 1"
    plain, moved = (
        command(f"{line}{more}", capsys)
        for more in ("", f" --target-population {learned}/young.parquet --ratio classifier")
    )
    assert plain[0] == moved[0] == 0
    assert plain[1] != moved[1]
    assert "records count as" in moved[1]  # the effective sample size, in the result itself
    assert "records count as" not in plain[1]


def test_a_target_population_outside_the_schema_is_refused(learned, capsys):
    """One record of an age that no bin has: exit code 2 and one line; inside, few are warned of."""
    clean = pq.read_table(learned / "clean.parquet").drop(["class"]).slice(0, 1)
    place = clean.column_names.index("age")
    outside = clean.set_column(place, "age", pc.multiply(clean["age"], 1e6))
    pq.write_table(outside, learned / "one.parquet")
    line = f"learn {learned}/release --target class --seed 1 --depth 1 --target-population"
    code, _, error = command(f"{line} {learned}/one.parquet", capsys)
    assert code == 2
    assert "none is like a record of the release" in error
    assert len(error.strip().splitlines()) == 1

    pq.write_table(clean, learned / "inside.parquet")
    code, _, error = command(f"{line} {learned}/inside.parquet", capsys)
    assert code == 0
    assert "has 1 record:" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--target klass", "'klass' is not in the release"),
        (
            "--target class --target-population {folder}/clean.parquet --ratio magic",
            "ratio must be one of",
        ),
        ("--target class --synthesis magic", "synthesis must be one of"),
        ("--target class --test {folder}/release/certificate.json", ""),
    ],
)
def test_bad_input_leaves_with_two_and_one_line(learned, capsys, options, message):
    """Exit code 2; what is wrong is said in one line on stderr."""
    code, _, error = command(f"learn {learned}/release {options.format(folder=learned)}", capsys)

    assert code == 2
    assert message in error
    assert len(error.strip().splitlines()) == 1


def test_a_test_file_with_other_columns_is_refused(learned, capsys, tmp_path):
    """The lacking columns are named."""
    pq.write_table(pq.read_table(learned / "clean.parquet").drop(["age"]), tmp_path / "t.parquet")
    line = f"learn {learned}/release --target class --test {tmp_path}/t.parquet"
    code, _, error = command(line, capsys)

    assert code == 2
    assert "lacks 1: age" in error


def test_experiments_are_listed_and_run(capsys, tmp_path, monkeypatch):
    """Five of them; a run writes its page and says where."""
    monkeypatch.delenv("PRAMANA_DATA", raising=False)
    _, text, _ = command("experiment list --json", capsys)
    assert sorted(json.loads(text)["experiments"]) == ["cator", "dowd", "ghatak", "ikarashi", "wei"]

    code, text, _ = command(f"experiment run ghatak --quick -o {tmp_path}/out", capsys)
    assert code == 0
    assert "Yes." in text
    assert (tmp_path / "out" / "README.md").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("experiment walk", "'walk' is not one of"),
        ("experiment run ghatak", "needs a NAME and a folder"),
        ("experiment run newton -o out", "one of cator, dowd"),
        ("experiment run dowd -o out --data nowhere", "does not exist"),
    ],
)
def test_bad_experiments_leave_with_two(line, message, capsys):
    """One line on stderr."""
    code, _, error = command(line, capsys)

    assert code == 2
    assert message in error


def test_the_guide_finds_gamma_and_bins_for_a_table(learned, capsys):
    """A third of the table is held out; the grid and the choice as JSON."""
    line = (
        f"design {learned}/clean.parquet --target class --gamma 5:12 --accuracy 0.5 --quick --json"
    )
    code, text, _ = command(line, capsys)
    form = json.loads(text)

    assert code == 0
    assert form["reached"]
    assert (form["choice"]["bins"], form["choice"]["gamma"]) == (5, 5)
    assert len(form["grid"]) == 4


def test_the_guide_refuses_what_it_cannot_try(learned, capsys):
    """A range that is none; no class named; a class that is not there."""
    for options, message in (
        ("--gamma 12:5", "must read like 5:12"),
        ("--gamma 5:12", "add --target"),
        ("--gamma 5:12 --target colour", "no column 'colour'"),
    ):
        code, _, error = command(f"design {learned}/clean.parquet {options}", capsys)
        assert code == 2
        assert message in error
