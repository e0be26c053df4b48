"""The release that comes where no method is stated, reports, under every verb of the program.

With all that a table may have beside plain keys: columns released as they are, strata, households,
impossible combinations, missing values, weights.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import MARKER, Run

SCHEMA = """
strata = ["place"]
household = "home"
impossible = [{age = ["child"], wed = ["yes"]}]
[columns.home]
role = "identifier"
[columns.age]
role = "key"
categories = ["child", "adult", "old"]
[columns.wed]
role = "key"
categories = ["no", "yes"]
[columns.sex]
role = "key"
categories = ["f", "m"]
missing = "category"
[columns.job]
role = "key"
categories = ["a", "b", "c", "d"]
[columns.place]
role = "public"
[columns.income]
role = "sensitive"
missing = "keep"
[columns.weight]
role = "weight"
"""
RECORDS = 600
VERBS = (
    "verify release",
    "verify release --original people.csv",
    "estimate release --by age,sex",
    "estimate release --by sex,place --share row",
    "estimate release --by wed --where age=adult",
    "estimate release --by age,sex,job --unweighted",
    "estimate release --by age --mean income",
    "estimate release --by job --total income",
    "estimate release --by wed --quantile income",
    "estimate release --by sex --proportion income>=2500",
    "estimate release --by sex,job --independence --unweighted",
    "regress release income~age",
    "synthesize release -o synthetic.csv",
    "learn release --target job",
    "audit release",
    "audit release --original people.csv",
    "attack linkage release --knowledge people.csv",
    "attack repeated release",
    "attack recovery release --knowledge people.csv",
    "attack composition release release",
    "compare people.csv --schema schema.toml --k 5 --method retention,attribute-sampling",
    "advise people.csv --schema schema.toml --k 5 --method retention,attribute-sampling",
    "report release --external -o external.html",
    "report release --original people.csv -o internal.html",
)


def _people() -> str:
    rng = np.random.default_rng(4)
    hidden = rng.random(RECORDS)
    age = np.array(["child", "adult", "old"])[(3 * hidden).astype(int)]
    columns = {
        "home": [f"{MARKER}{at // 2}" for at in range(RECORDS)],
        "age": age,
        "wed": np.where(age == "child", "no", rng.choice(["no", "yes"], RECORDS)),
        "sex": rng.choice(["f", "m", ""], RECORDS, p=[0.5, 0.4, 0.1]),
        "job": np.array(list("abcd"))[(2 * (hidden + rng.random(RECORDS))).astype(int)],
        "place": rng.choice(["north", "south"], RECORDS),
        "income": np.where(rng.random(RECORDS) < 0.05, "", (1000 + 4000 * hidden).astype(int)),
        "weight": rng.choice(["1", "2"], RECORDS),
    }
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table and its schema; the first who asks makes the release."""
    folder = tmp_path_factory.mktemp("attribute-sampling")
    (folder / "people.csv").write_text(_people())
    (folder / "schema.toml").write_text(SCHEMA)
    return folder


@pytest.fixture
def release(world: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The release folder, in the present one."""
    monkeypatch.chdir(world)
    if not Path("release").exists():
        made = run("protect people.csv --schema schema.toml --k 2 --seed 3 -o release --json")
        assert made.code == 0, made.err
    return world / "release"


def test_reports_are_what_comes_where_no_method_is_stated(release: Path) -> None:
    """A pair of columns a record, each told or not asked for; kept columns beside all of them."""
    certificate = json.loads((release / "certificate.json").read_text())
    assert certificate["method"] == "attribute-sampling"
    head, *lines = (release / "data.csv").read_text().splitlines()
    names = [name.strip('"') for name in head.split(",")]
    assert names == ["age", "wed", "sex", "job", "place", "income", "weight", "reported"]
    for line in lines:
        row = dict(zip(names, (cell.strip('"') for cell in line.split(",")), strict=True))
        told = {name for name in ("age", "wed", "sex", "job") if row[name]}
        assert told <= set(row["reported"].split("*"))
        assert told >= set(row["reported"].split("*")) - {"sex"}  # whose missing values are told
        assert row["place"]
        assert (row["age"], row["wed"]) != ("child", "yes")


@pytest.mark.parametrize("command", VERBS)
@pytest.mark.deep(every=4)
def test_every_verb_knows_them(release: Path, run: Run, command: str) -> None:
    """It leaves with 0 and one JSON object, and names nobody."""
    outcome = run(f"{command} --json")
    assert outcome.code == 0, outcome.err
    assert isinstance(outcome.json, dict | list)
    assert MARKER not in outcome.out + outcome.err


def test_what_the_model_cannot_weigh_is_refused_in_one_line(release: Path, run: Run) -> None:
    """As are a column named twice and a formula of two parts: with the reason and the way out."""
    for command, reason in (
        ("estimate release --by age,sex,job", "on the command line --unweighted"),
        ("estimate release --by age,sex,job --unweighted --infer population", "--infer records"),
        ("estimate release --by sex,sex", "asked for once"),
        ("regress release income~age|sex", "no |"),
    ):
        outcome = run(command)
        assert outcome.code == 2
        assert reason in outcome.err
        assert len(outcome.err.strip().splitlines()) == 1


def test_the_folder_tells_what_was_not_asked_from_what_is_missing(release: Path) -> None:
    """In its codebook, column by column, and in its README."""
    rows = [line.split('","') for line in (release / "codebook.csv").read_text().splitlines()[1:]]
    kinds: dict[str, list[str]] = {}
    for name, *_, kind in rows:
        kinds.setdefault(name.strip('"'), []).append(kind.strip('"'))
    assert [kinds["age"].count(kind) for kind in ("value", "missing", "not asked")] == [3, 0, 1]
    assert [kinds["sex"].count(kind) for kind in ("value", "missing", "not asked")] == [2, 1, 1]
    certificate = json.loads((release / "certificate.json").read_text())
    assert kinds["reported"] == ["value"] * len(certificate["mechanism"])
    readme = (release / "README.md").read_text()
    assert "is not a missing value" in readme
    assert "reported: released unchanged" not in readme
