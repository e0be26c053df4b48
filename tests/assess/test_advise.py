"""Advice: every method on the steward's own questions, and ways out of a poor plan."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.assess.advise import aiming_methods
from pramana.assess.ways import typical_error, ways_of
from pramana.cli.app import main
from pramana.methods.registry import METHODS

RECORDS = 600


def people() -> pa.Table:
    rng = np.random.default_rng(6)
    age = rng.integers(0, 90, RECORDS)
    return pa.table(
        {
            "sex": rng.choice(["F", "M"], RECORDS),
            "age": age,
            "region": rng.choice(["n", "s", "w", "e", "c"], RECORDS, p=[0.4, 0.3, 0.2, 0.06, 0.04]),
            "pay": age * 10 + rng.integers(0, 50, RECORDS),
        }
    )


SCHEMA = pm.Schema(
    (
        pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")), missing="refuse"),
        pm.Column("age", pm.Role.KEY, pm.Bins((0, 15, 30, 45, 60, 90)), missing="refuse"),
        pm.Column("region", pm.Role.KEY, pm.Categories(tuple("nswec")), missing="refuse"),
        pm.Column("pay", pm.Role.SENSITIVE),
    ),
    tables=(("sex", "age"), ("sex", "region")),
)


def test_methods_are_tried_and_one_is_recommended():
    """Within the chance and off least of those; the reason and the truth are beside it."""
    advice = pm.advise(people(), SCHEMA, k=5, methods=["retention", "reports", "optimal"])
    best = advice.recommended
    within = [one for one in advice.done if one.exposure <= 0.2]

    assert set(aiming_methods()) >= {"retention", "reports", "optimal", "resample", "centroid"}
    assert not set(METHODS) - set(aiming_methods()) - {"invariant", "matrix", "matrix-from-data"}
    assert best in within
    assert best.error == min(one.error for one in within)
    assert best.scenario.method in advice.why()[0]
    assert [answer.columns for answer in best.answers] == [("sex", "age"), ("sex", "region")]
    name, heads, rows = advice.beside()
    assert name == "sex by age"
    assert heads[:2] == ("sex by age", "truth")
    assert sum(int(row[1]) for row in rows) == pytest.approx(RECORDS, rel=0.3)


def test_the_error_of_an_answer_is_what_its_cells_are_off_by():
    """By hand from the release of the same seed, counted in plain Python."""
    table = people()
    advice = pm.advise(
        table, SCHEMA, k=5, methods=["inverse-frequency"], tables=[["sex", "region"]]
    )
    answer = advice.tried[0].answers[0]
    rows = list(zip(table["sex"].to_pylist(), table["region"].to_pylist(), strict=True))
    truth = [[rows.count((s, r)) for r in "nswec"] for s in "FM"]

    assert answer.truth.tolist() == truth
    off = np.abs(answer.found - np.array(truth)).sum() / RECORDS
    assert advice.tried[0].error == pytest.approx(off)


def test_ways_bring_what_they_say():
    """The changed schema, designed anew, is off by what was told; better ways come first."""
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=60), data=people(), method="retention")
    ways = ways_of(plan)
    bins = next(way for way in ways if "bins" in way.entry)
    coarse = pm.Schema.from_toml(
        plan.schema.to_toml().replace("bins = [0, 15, 30, 45, 60, 90]", bins.entry)
    )
    other = pm.design(coarse, pm.PkAnonymity(k=60), data=people(), method="retention")

    assert typical_error(other) == pytest.approx(bins.error)
    assert [w.error / w.was for w in ways] == sorted(w.error / w.was for w in ways)
    assert all(way.error < way.was for way in ways)


def run(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_commands_of_the_advice_can_be_pasted(tmp_path, capsys):
    """Design and protect as they are printed, and what design says of groups and of poor plans."""
    data, schema = tmp_path / "people.parquet", tmp_path / "schema.toml"
    pq.write_table(people(), data)
    SCHEMA.save(schema)
    about = (str(data), "--schema", str(schema))
    found = json.loads(
        run(capsys, "advise", *about, "--k", "5", "--method", "retention,reports", "--json")
    )
    for command in found["commands"]:
        words = shlex.split(command.replace("release/", str(tmp_path / "release")))
        run(capsys, *words[1:])

    assert pm.verify(tmp_path / "release").valid
    poor = run(capsys, "design", *about, "--k", "60", "--method", "retention")
    assert "Tables asked for are off by: sex*age" in poor
    assert "Better at the same promise." in poor
    groups = run(capsys, "design", *about, "--k", "5", "--method", "resample")
    assert "groups of" in groups
    assert "typical table is off by" in groups


def test_questions_about_what_is_no_key_are_refused():
    """By name, with the keys there are."""
    with pytest.raises(pm.UnknownColumn, match="'pay' is none"):
        pm.advise(people(), SCHEMA, k=5, tables=[["sex", "pay"]])
    with pytest.raises(pm.InvalidNumber, match="k must be"):
        pm.advise(people(), SCHEMA, k=1)


def test_audits_of_reports_take_empty_cells_for_what_they_are():
    """Keys that refuse missing values are empty where nothing was asked, and that is no error."""
    advice = pm.advise(people(), SCHEMA, k=5, methods=["reports"])
    assert advice.tried[0].link is not None
    assert not advice.tried[0].note
