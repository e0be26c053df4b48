"""Advice: every method on the steward's own questions, and ways out of a poor plan."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.api import open_source
from pramana.cli.app import main
from pramana.evaluation.cli_hints import CliHints
from pramana.evaluation.questions import on_average, trial_errors, typical
from pramana.evaluation.schema_suggestions import changed_file, suggest_changes, typical_error
from pramana.evaluation.trials import compared
from pramana.methods.base import METHODS
from pramana.methods.choice import alternative_summary
from pramana.schema.domains import Labels

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
    advice = pm.advise(
        people(), SCHEMA, k=5, methods=["retention", "attribute-sampling", "optimal"]
    )
    best = advice.recommended
    within = [one for one in advice.done if one.exposure <= 0.2]

    assert set(compared()) >= {
        "retention",
        "attribute-sampling",
        "optimal",
        "resample",
        "centroid",
    }
    assert not set(METHODS) - set(compared()) - {"invariant", "matrix", "matrix-from-data"}
    assert best in within
    assert best.error == min(one.error for one in within)
    assert best.scenario.method in advice.why()[0]
    fixed = next(one for one in advice.done if one.scenario.method == "retention")
    opened = open_source(people(), schema=SCHEMA)
    told = on_average(trial_errors(fixed.plan, opened))  # as design tells it
    assert fixed.error == pytest.approx(typical(told, told))
    assert [answer.columns for answer in best.answers] == [("sex", "age"), ("sex", "region")]
    name, heads, rows = advice.side_by_side()
    assert name == "sex by age"
    assert heads[:2] == ("sex by age", "original")
    assert sum(int(row[1]) for row in rows) == pytest.approx(RECORDS, rel=0.3)
    code, rest = rows[0][0].split(", ", 1)
    worded = advice.side_by_side(Labels(values={"sex": {code: "In words"}}))
    assert worded[2][0] == (f"{code} In words, {rest}", *rows[0][1:])


def test_one_reason_of_many_methods_is_stated_once():
    """One record is too few for all of them."""
    with pytest.raises(pm.errors.Infeasible) as caught:
        pm.advise(people().slice(0, 1), SCHEMA, k=5)
    assert str(caught.value).count("The table has 1 record: ask more people.") == 2
    assert "retention, attribute-sampling: k = 5 cannot be met" in str(caught.value)


def test_releases_are_designed_for_the_tables_asked_for():
    """As if the schema stated them; the commands to paste do the same."""
    advice = pm.advise(people(), SCHEMA, k=5, methods=["attribute-sampling"], tables=[["region"]])
    stated = replace(SCHEMA, tables=(("region",),))
    plan = pm.design(stated, pm.PkAnonymity(k=5), data=people(), method="attribute-sampling")

    assert advice.tried[0].plan.mechanism == plan.mechanism
    assert all("--tables region" in one for one in advice.commands("t.csv", "s.toml"))
    of_schema = pm.advise(people(), SCHEMA, k=5, methods=["attribute-sampling"])
    assert not any("--tables" in one for one in of_schema.commands("t.csv", "s.toml"))


def test_the_error_of_an_answer_is_what_its_cells_are_off_by():
    """By hand from the release of the same seed, counted in plain Python."""
    table = people()
    advice = pm.advise(
        table, SCHEMA, k=5, methods=["inverse-frequency"], tables=[["sex", "region"]]
    )
    answer = advice.tried[0].answers[0]
    rows = list(zip(table["sex"].to_pylist(), table["region"].to_pylist(), strict=True))
    truth = [[rows.count((s, r)) for r in "nswec"] for s in "FM"]

    assert answer.original.tolist() == truth
    off = np.abs(answer.released - np.array(truth)).sum() / RECORDS
    assert advice.tried[0].error == pytest.approx(off)


def test_ways_bring_what_they_say():
    """The changed schema, designed anew, is off by what was told; better ways come first."""
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=60), data=people(), method="retention")
    ways = suggest_changes(plan)
    bins = next(way for way in ways if "bins" in way.entry)
    coarse = pm.Schema.from_toml(
        plan.schema.to_toml().replace("bins = [0, 15, 30, 45, 60, 90]", bins.entry)
    )
    other = pm.design(coarse, pm.PkAnonymity(k=60), data=people(), method="retention")

    assert typical_error(other) == pytest.approx(bins.error)
    assert [w.error / w.was for w in ways] == sorted(w.error / w.was for w in ways)
    assert all(way.error < way.was for way in ways)


def test_a_column_of_one_value_hides_no_way():
    """Released as it is, it splits nobody: what helps without it helps beside it."""
    alike = people().append_column("country", pa.array(["here"] * RECORDS))
    columns = (*SCHEMA.columns, pm.Column("country", pm.Role.PUBLIC))
    beside = pm.Schema(columns, tables=SCHEMA.tables)
    plans = [
        pm.design(schema, pm.PkAnonymity(k=60), data=table, method="retention")
        for schema, table in ((SCHEMA, people()), (beside, alike))
    ]
    found = [suggest_changes(plan) for plan in plans]
    assert found[0]
    assert found[1] == found[0]
    instead = [alternative_summary(plan) for plan in plans]
    assert "--method attribute-sampling" in instead[0]
    assert instead[1] == instead[0]


@pytest.mark.deep
def test_commands_of_ways_write_what_was_tried(tmp_path, capsys):
    """Every one as it is printed, beside hints and codes for missing: the gain is what was said."""
    table = people().append_column("town of birth", pa.array([f"t{n % 7}" for n in range(RECORDS)]))
    data, place = tmp_path / "people.parquet", tmp_path / "my schema.toml"
    pq.write_table(table, data)
    text = SCHEMA.to_toml().replace('tables = ["sex*age", "sex*region"]\n', "")
    towns = ", ".join(f'"t{n}"' for n in range(7))
    text += (
        f'\n[columns."town of birth"]  # of the mother\nrole = "key"\ncategories = [{towns}]\n'
        'missing_codes = ["t6"]\n'
    )
    place.write_text(text)
    about = ("design", str(data), "--schema", str(place), "--k", "60", "--method", "retention")
    printed = run(capsys, *about)
    ways = json.loads(run(capsys, *about, "--json"))["ways"]
    plan = pm.design(pm.Schema.load(place), pm.PkAnonymity(k=60), data=data, method="retention")
    found = [way for way in suggest_changes(plan, opened=None) if way.column]
    told = CliHints(str(place), str(data)).ways(found)

    assert any(way["column"] == "town of birth" for way in ways)
    assert {"merge", "role"} <= {way.entry.split(" = ")[0] for way in found}
    for way, one in zip(found, told, strict=True):
        words, command = shlex.split(one.command), one.command
        better = tmp_path / words[-1]
        run(capsys, *words[1:-1], str(better))
        changed = pm.Schema.load(better)
        both = frozenset(column.name for column in changed.randomised)
        other = pm.design(changed, pm.PkAnonymity(k=60), data=data, method="retention")
        assert typical_error(other, both) == pytest.approx(way.error), command
        kept = better.read_text()
        assert "# of the mother" in kept or way.column == "town of birth"
    assert printed.count(f"\n  pramana schema {shlex.quote(str(place))} --") >= 3


def test_a_weight_that_splits_the_anonymity_set_is_the_first_way(tmp_path, capsys):
    """Without it all people are alike in what leaves as it is; the gain is that of the design."""
    weights = pa.array([100 * (1 + n % 60) for n in range(RECORDS)])
    table = people().append_column("w", weights)
    schema = pm.Schema((*SCHEMA.columns, pm.Column("w", pm.Role.WEIGHT)), tables=SCHEMA.tables)
    plan = pm.design(schema, pm.PkAnonymity(k=5), data=table)
    opened = open_source(table, schema=schema)
    first = suggest_changes(plan, opened=opened)[0]
    place, better = tmp_path / "schema.toml", tmp_path / "better.toml"
    schema.save(place)
    words = shlex.split(CliHints(str(place)).ways([first])[0].command)
    run(capsys, *words[1:-1], str(better))
    other = pm.design(pm.Schema.load(better), pm.PkAnonymity(k=5), data=table, method=plan.method)

    assert plan.anonymity_set == 10
    assert other.anonymity_set == RECORDS
    assert (first.column, first.entry) == ("w", 'role = "dropped"')
    errors = on_average(trial_errors(other, opened))
    assert typical(errors, errors) == pytest.approx(first.error)
    assert first.error < 0.5 * first.was


def test_two_values_of_a_schema_are_changed_at_once(tmp_path, capsys):
    """Dropped and coarsened together; what cannot be is refused in a line, and nothing written."""
    place, better = tmp_path / "schema.toml", tmp_path / "better.toml"
    SCHEMA.save(place)
    run(capsys, "schema", str(place), "--without", "region", "--coarsen", "age", "-o", str(better))
    changed = pm.Schema.load(better)
    assert changed["region"].role is pm.Role.DROPPED
    assert changed["age"].labels == ("[0, 30)", "[30, 60)", "[60, 90]")
    assert changed.tables == (("sex", "age"),)
    for words in (["--coarsen", "sex"], ["--coarsen", "pay"], ["--without", "nosuch"]):
        with pytest.raises(SystemExit) as left:
            main(("schema", str(place), *words, "-o", str(tmp_path / "none.toml")))
        assert left.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "none.toml").exists()


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
        run(
            capsys,
            "advise",
            *about,
            "--k",
            "5",
            "--method",
            "retention,attribute-sampling",
            "--json",
        )
    )
    for command in found["commands"]:
        words = shlex.split(command.replace("release/", str(tmp_path / "release")))
        run(capsys, *words[1:])

    assert pm.verify(tmp_path / "release").valid
    poor = run(capsys, "design", *about, "--k", "60", "--method", "retention")
    assert "errors of planned tables, smallest to largest in " in poor
    assert "Better at the same guarantee." in poor
    groups = run(capsys, "design", *about, "--k", "5", "--method", "resample")
    assert "groups of" in groups
    assert "error of a typical table of keys is" in groups


def test_questions_that_nothing_can_be_advised_on_are_refused():
    """By name, with the columns or keys there are."""
    with pytest.raises(pm.UnknownColumn, match="'nothing' is not released"):
        pm.advise(people(), SCHEMA, k=5, tables=[["sex", "nothing"]])
    with pytest.raises(pm.UnknownColumn, match="must contain a key"):
        pm.advise(people(), SCHEMA, k=5, tables=[["pay"]])
    with pytest.raises(pm.InvalidNumber, match="k must be"):
        pm.advise(people(), SCHEMA, k=1)


def test_audits_of_reports_take_empty_cells_for_what_they_are():
    """Keys that refuse missing values are empty where nothing was asked, and that is no error."""
    advice = pm.advise(people(), SCHEMA, k=5, methods=["attribute-sampling"])
    assert advice.tried[0].link is not None
    assert not advice.tried[0].note


def wide(records: int = 3_000) -> tuple[pa.Table, pm.Schema]:
    """Two keys whose table has more cells than can be served, and two small ones."""
    rng = np.random.default_rng(2)
    codes = {"work": 400, "born": 300, "sex": 2, "area": 3}
    table = pa.table({name: rng.integers(0, size, records) for name, size in codes.items()})
    keys = (
        pm.Column(name, pm.Role.KEY, pm.Categories(tuple(range(size))), missing="refuse")
        for name, size in codes.items()
    )
    return table, pm.Schema(tuple(keys))


@pytest.fixture
def no_ways(monkeypatch):
    """Nothing is tried beyond what was asked: what is seen here is seen without it."""
    for room in ("advise", "plan_preview"):
        monkeypatch.setattr(f"pramana.evaluation.{room}.suggest_changes", lambda *_, **__: [])


@pytest.mark.usefixtures("no_ways")
@pytest.mark.deep
def test_a_pair_of_very_many_cells_stops_neither_reports_nor_advice(tmp_path, capsys):
    """Records are asked for the other pairs, and design says which is left out."""
    table, schema = wide()
    plan = pm.design(schema, pm.PkAnonymity(k=5), data=table, method="attribute-sampling")
    asked = {asked.columns for asked in plan.mechanism.sets}
    advice = pm.advise(table, schema, k=5, methods=["attribute-sampling", "retention"])

    assert ("work", "born") not in asked
    assert {("work", "sex"), ("born", "area"), ("sex", "area")} <= asked
    assert not any(one.note for one in advice.tried)
    stated = pm.Schema(schema.columns, tables=(("work", "born"),))
    with pytest.raises(pm.TooLarge, match="120,000 cells"):
        pm.design(stated, pm.PkAnonymity(k=5), data=table, method="attribute-sampling")
    data, place = tmp_path / "wide.parquet", tmp_path / "schema.toml"
    pq.write_table(table, data)
    schema.save(place)
    said = run(capsys, "design", str(data), "--schema", str(place), "--k", "5")
    assert "Method attribute-sampling" in said
    assert "No attribute set contains work*born" in " ".join(said.split())


@pytest.mark.usefixtures("no_ways")
@pytest.mark.deep
def test_links_among_more_people_than_can_be_compared_are_of_fewer(monkeypatch):
    """A release that copies everybody is found out, and not recommended over one that does not."""
    from pramana.risk.attacks import linkage as linkers
    from pramana.risk.attacks import scores as halves

    table, schema = wide()
    exact = pm.advise(table, schema, k=5, methods=["inverse-frequency", "retention"])
    monkeypatch.setattr(linkers, "MOST_PAIRS", 2_000_000)
    monkeypatch.setattr(halves, "MOST_HALF", 0)
    monkeypatch.setattr("pramana.evaluation.audit.SAMPLED", 1_000)
    fewer = pm.advise(table, schema, k=5, methods=["inverse-frequency", "retention"])
    link = {one.scenario.method: one.link for one in fewer.tried}
    all_of_them = {one.scenario.method: one.link for one in exact.tried}

    assert not any(one.note for one in fewer.tried)
    assert link["inverse-frequency"] >= all_of_them["inverse-frequency"] - 0.05 > 0.5
    assert link["retention"] <= 1 / 5
    assert fewer.recommended == exact.recommended is None  # the wide tables are drowned in noise


@pytest.mark.deep
def test_what_is_told_comes_out_again(monkeypatch):
    """Other draws of the same plan, and of the best way: off by what was said, within a fifth."""
    monkeypatch.setattr("pramana.evaluation.questions.ANSWERS", 20)
    table = people()
    opened = open_source(table, schema=SCHEMA)
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=20), data=opened, method="retention")
    before = on_average(trial_errors(plan, opened))
    best = suggest_changes(plan, opened=opened, before=before)[0]
    text = changed_file(SCHEMA.to_toml(), coarsen=[best.column], opened=opened)
    changed = pm.Schema.from_toml(text)
    other = pm.design(changed, pm.PkAnonymity(k=20), data=table, method="retention")
    monkeypatch.setattr("pramana.evaluation.questions.SEED", 900)
    again = on_average(trial_errors(plan, opened))
    after = on_average(trial_errors(other, open_source(table, schema=changed)))

    assert "dropped" not in best.entry
    assert typical(before, before) == pytest.approx(typical(again, again), rel=0.2)
    assert best.error == pytest.approx(typical(after, after), rel=0.2)
    assert best.was == pytest.approx(typical(before, before))
    assert typical_error(plan) > 1.5 * typical(before, before)  # of the unbiased estimate


def test_groups_by_many_values_are_left_out_with_the_command_for_them():
    """Tried on so many records they would take minutes; on fewer they are tried."""
    towns = pm.Categories(tuple(f"town {number}" for number in range(300)))
    schema = pm.Schema([pm.Column("town", pm.Role.KEY, towns), *SCHEMA.columns])
    resample = METHODS["resample"]
    assert resample.slow_reason(schema, 30_000) == ""
    assert "for 100,000 records" in resample.slow_reason(schema, 100_000)
    assert resample.slow_reason(SCHEMA, 100_000) == ""
    assert METHODS["retention"].slow_reason(schema, 10**9) == ""
    wider = pm.Categories(tuple(f"town {number}" for number in range(600)))
    refused = pm.Schema([pm.Column("town", pm.Role.KEY, wider), *SCHEMA.columns])
    assert resample.slow_reason(refused, 100_000) == ""  # at once, and in its own words
