"""What the data decided is stated, and what is not stated was decided without them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import pramana as pm
from pramana import api
from pramana.cli.app import app
from pramana.errors import InvalidSchema, NotARelease
from pramana.evaluation.cli_hints import CliHints
from pramana.evaluation.schema_suggestions import changed_file, recoding_gains, suggest_changes
from pramana.ledger.ledger import Ledger
from pramana.methods.plan import PlanFile
from pramana.release.certificate import Certificate
from pramana.risk.frequencies import UniquenessCounter
from pramana.schema.origins import ALL_DECLARED, DataChoices, Provenance
from pramana.studio.pages.columns import changed_column
from pramana.studio.view import Form

SEXES, TOWNS = ("F", "M"), tuple(f"town {letter}" for letter in "abcdefgh")
READ, TRIED = "read off the data", "chosen by trials on the data"


def schema_of(origin: str = "declared", schema_origin: str = "declared") -> pm.Schema:
    """Two declared keys; the origins of the second and of the schema may be others."""
    return pm.Schema(
        (
            pm.Column("sex", pm.Role.KEY, pm.Categories(SEXES), missing="refuse"),
            pm.Column(
                "town",
                pm.Role.KEY,
                pm.Categories(TOWNS),
                missing="refuse",
                origin=Provenance(origin),
            ),
        ),
        origin=Provenance(schema_origin),
    )


def people(seed: int = 1, records: int = 300) -> pa.Table:
    """People in towns of very different sizes."""
    random = np.random.default_rng(seed)
    shares = np.array([0.6, 0.3, *[0.1 / 6] * 6])
    return pa.table(
        {
            "sex": random.choice(SEXES, records),
            "town": random.choice(TOWNS, records, p=shares / shares.sum()),
        }
    )


def neighbour(table: pa.Table, place: int = 0) -> pa.Table:
    """The table with one person's values changed."""
    rows = table.to_pylist()
    rows[place] = {
        "sex": SEXES[rows[place]["sex"] == "F"],
        "town": TOWNS[-1] if rows[place]["town"] != TOWNS[-1] else TOWNS[0],
    }
    return pa.Table.from_pylist(rows)


def epsilon_sentence(plan: pm.Plan, name: str = "differential-privacy") -> str:
    """The sentence of one guarantee of a plan."""
    return plan.promise(next(claim for claim in plan.claims if claim.name == name))


# -- the notion ------------------------------------------------------------------------------------


def test_the_weakest_origin_is_inherited():
    """Whatever rests on a trial rests on the data."""
    assert Provenance.weakest() is Provenance.DECLARED
    assert Provenance.weakest(Provenance.DECLARED, Provenance.READ_OFF) is Provenance.READ_OFF
    assert (
        Provenance.weakest(Provenance.TRIALS, Provenance.READ_OFF, Provenance.DECLARED)
        is Provenance.TRIALS
    )


@pytest.mark.parametrize("column", list(Provenance))
@pytest.mark.parametrize("whole", list(Provenance))
def test_origins_survive_schema_file_and_certificate(column, whole):
    """Both are read as they were written."""
    schema = schema_of(column, whole)
    assert pm.Schema.from_toml(schema.to_toml()) == schema
    plan = pm.design(schema, pm.DifferentialPrivacy(3), records=300)
    release = pm.protect(people(), plan, seed=1)
    certificate = Certificate.from_bytes(release.certificate.to_bytes())
    assert certificate.schema["town"].origin is column
    assert certificate.schema.origin is whole


def test_an_unknown_origin_is_refused():
    """The error names the column, or the entry at the top."""
    text = '[columns.a]\nrole = "key"\ncategories = ["x", "y"]\n'
    for more in ('origin = "guess"', "origin = 3"):
        with pytest.raises(InvalidSchema) as refusal:
            pm.Schema.from_toml(text + more)
        assert refusal.value.fields["column"] == "a"
    with pytest.raises(InvalidSchema) as refusal:
        pm.Schema.from_toml('origin = "luck"\n' + text)
    assert refusal.value.fields["entry"] == "origin"


def test_a_certificate_with_an_unknown_origin_is_refused():
    """The origin follows from the form, and the form knows three."""
    release = pm.protect(
        people(), pm.design(schema_of("trials"), pm.DifferentialPrivacy(3), records=300), seed=1
    )
    altered = release.certificate.to_bytes().replace(TRIED.encode(), b"chosen by a dream")
    with pytest.raises(NotARelease):
        Certificate.from_bytes(altered)


# -- sentences -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["differential-privacy", "shuffled-privacy", "privacy-breach"])
def test_what_compares_tables_says_what_the_data_decided(name):
    """Epsilon, central epsilon and the bound on breaches name it; without it nothing is added."""
    target = pm.DifferentialPrivacy(3)
    plain = epsilon_sentence(pm.design(schema_of(), target, records=300), name)
    assert "It does not cover" not in plain
    column = epsilon_sentence(pm.design(schema_of("trials"), target, records=300), name)
    assert column.startswith(plain)
    assert f"does not cover which values town can have, {TRIED}" in column
    whole = epsilon_sentence(pm.design(schema_of(), target, records=300, origin="trials"), name)
    assert whole.startswith(plain)
    assert f"does not cover the choice of roles, method and target, {TRIED}" in whole


def test_k_does_not_depend_on_who_chose():
    """An intruder of k-anonymity may know the whole table, and so every choice."""
    target = pm.PkAnonymity(20)
    plain = pm.design(schema_of(), target, records=300)
    tried = pm.design(schema_of("trials", "trials"), target, records=300, origin="trials")
    assert plain.attained == tried.attained
    words = [epsilon_sentence(plan, "pk-anonymity") for plan in (plain, tried)]
    assert words[0] == words[1]


def test_the_choice_is_stated_wherever_epsilon_is(tmp_path):
    """Certificate, README, verification, notices and the ledger inherit it."""
    plan = pm.design(schema_of(), pm.DifferentialPrivacy(3), data=people(), origin="trials")
    assert any("--blind" in notice for notice in plan.notices)
    release = pm.protect(people(), plan, to=tmp_path / "r", ledger=tmp_path / "ledger.jsonl")
    certificate = json.loads((tmp_path / "r" / "certificate.json").read_text())
    assert certificate["schema"]["origin"] == TRIED
    assert sum(TRIED in claim["sentence"] for claim in certificate["guarantees"]) >= 2
    assert TRIED in " ".join((tmp_path / "r" / "README.md").read_text().split())
    assert any(TRIED in note for note in pm.verify(release).notes)
    together = Ledger.load(tmp_path / "ledger.jsonl").together()
    assert together.choices == DataChoices(choices=Provenance.TRIALS)
    assert any(TRIED in sentence for sentence in together.sentences())


def test_releases_together_inherit_every_choice():
    """Of several releases each column that the data decided is named."""
    parts = [DataChoices(read=("a",)), DataChoices(tried=("b",)), ALL_DECLARED]
    both = DataChoices.together(parts)
    assert both == DataChoices(("a",), ("b",))
    assert DataChoices.from_json(both.to_json()) == both
    assert both
    assert not DataChoices.together([ALL_DECLARED])


# -- what decides by the data says so --------------------------------------------------------------


def test_merging_by_true_counts_is_marked_in_the_schema():
    """One person moves a value between merged and not merged: the result is no declaration."""
    text = schema_of().to_toml()
    merged = pm.Schema.from_toml(
        changed_file(text, coarsen=["town"], opened=api.open_source(people()))
    )
    assert merged["town"].origin is Provenance.READ_OFF
    plan = pm.design(merged, pm.DifferentialPrivacy(3), records=300)
    assert READ in epsilon_sentence(plan)
    blind = pm.Schema.from_toml(changed_file(text, coarsen=["town"]))
    assert blind["town"].origin is Provenance.DECLARED
    assert blind["town"].recoding.merged[0][1] == TOWNS[4:]


def test_what_is_chosen_after_trials_is_marked_in_the_schema():
    """The option of the command says it for a dropped and for a coarser column."""
    text = schema_of().to_toml()
    coarser = pm.Schema.from_toml(changed_file(text, coarsen=["town"], origin="trials"))
    assert coarser["town"].origin is Provenance.TRIALS
    dropped = pm.Schema.from_toml(changed_file(text, without=["town"], origin="trials"))
    assert dropped.origin is Provenance.TRIALS


def test_suggestions_that_were_tried_carry_their_origin():
    """Their entry and their command say so; those found without the table do not."""
    table = api.open_source(people())
    plan = pm.design(schema_of(), pm.PkAnonymity(100), data=table)
    tried, blind = suggest_changes(plan, opened=table), suggest_changes(plan)
    assert tried
    assert blind
    assert all(way.origin is Provenance.TRIALS for way in tried)
    assert all('origin = "trials"' in way.how or "--origin trials" in way.how for way in tried)
    assert all(way.origin is Provenance.DECLARED and "origin" not in way.how for way in blind)
    hints = CliHints("schema.toml", "people.csv", targets=("--k", "100"))
    assert all("--origin trials" in hint.command for hint in hints.ways(tried))
    assert all("--origin" not in hint.command for hint in hints.ways(blind))
    assert all("--table" not in hint.command for hint in hints.ways(blind))


def test_recodings_chosen_by_unique_records_are_marked():
    """The studio offers them by how many people would still be unique."""
    table = api.open_source(people())
    for gain in recoding_gains(UniquenessCounter(table), schema_of(), table):
        origins = {gain.schema.origin, gain.schema[gain.column].origin}
        assert Provenance.TRIALS in origins


def test_advice_from_trials_says_so_in_its_commands():
    """Whoever pastes them gets a certificate that states it."""
    advice = pm.advise(people(), schema_of(), k=5, methods=["retention", "resample"])
    for command in advice.commands("people.csv", "schema.toml"):
        assert "--origin trials" in command


def test_saving_a_form_of_the_studio_declares_nothing():
    """A list that was read off the data stays one until the owner says otherwise."""
    column = schema_of("read-off")["town"]
    saved = changed_column(column, Form([("role", "key"), ("missing", "refuse")]))
    assert saved.origin is Provenance.READ_OFF
    stated = changed_column(column, Form([("role", "key"), ("origin", "declared")]))
    assert stated.origin is Provenance.DECLARED
    merged = changed_column(
        schema_of()["town"], Form([("role", "key"), ("tick", "0"), ("tick", "1"), ("into", "x")])
    )
    assert merged.origin is Provenance.READ_OFF


def test_a_plan_file_keeps_the_origin():
    """It is written only where the data decided, and read again."""
    plan = PlanFile(target={"epsilon": 3}, origin="trials")
    assert PlanFile.from_toml(plan.to_toml()) == plan
    assert "origin" not in PlanFile(target={"epsilon": 3}).to_toml()
    with pytest.raises(InvalidSchema):
        PlanFile(origin="luck")


# -- the default does not depend on the records ----------------------------------------------------

targets = st.sampled_from(
    [
        (pm.DifferentialPrivacy(1.0),),
        (pm.DifferentialPrivacy(4.0),),
        (pm.ShuffledPrivacy(1.0, 1e-5),),
        (pm.DifferentialPrivacy(4.0), pm.PkAnonymity(5)),
        (pm.PrivacyBreach(0.1, 0.5),),
    ]
)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 299), targets)
def test_the_default_plan_is_the_same_for_neighbouring_tables(seed, place, asked):
    """Method, matrices, guarantees and sentences follow from schema and number of records."""
    table = people(seed)
    plans = [
        pm.design(schema_of(), *asked, data=table),
        pm.design(schema_of(), *asked, data=neighbour(table, place)),
        pm.design(schema_of(), *asked, records=len(table)),
    ]
    forms = [json.dumps(plan.to_json()) for plan in plans]
    assert forms[0] == forms[1] == forms[2]
    assert plans[0].mechanism.to_json() == plans[1].mechanism.to_json()
    assert plans[0].method == plans[1].method == plans[2].method


@pytest.mark.parametrize("options", [["--epsilon", "1"], ["--central-epsilon", "0.5"]])
def test_design_shows_nothing_of_the_records_where_epsilon_is_the_target(options, tmp_path):
    """Whatever a steward chooses by what design prints is then chosen without the data."""
    schema_of().save(tmp_path / "schema.toml")
    shown = []
    for table in (people(), neighbour(people())):
        pyarrow.csv.write_csv(table, tmp_path / "people.csv")
        words = ["design", str(tmp_path / "people.csv"), "--schema", str(tmp_path / "schema.toml")]
        for more in ([], ["--json"]):
            result = CliRunner().invoke(app, [*words, *options, *more])
            assert result.exit_code == 0, result.output
            shown.append(result.output)
    assert shown[:2] == shown[2:]
    assert "--by-trials" in " ".join(shown[0].split())
    assert "On these data" not in shown[0]


def test_design_tries_ways_on_the_table_where_asked_to(tmp_path):
    """With trials the errors on these data are shown, and every way is marked."""
    schema_of().save(tmp_path / "schema.toml")
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    words = ["design", str(tmp_path / "people.csv"), "--schema", str(tmp_path / "schema.toml")]
    result = CliRunner().invoke(app, [*words, "--epsilon", "1", "--by-trials", "--json"])
    form = json.loads(result.stdout)
    assert "expected_errors_here" in form
    assert form["ways"]
    assert {way["origin"] for way in form["ways"]} == {"trials"}
    blind = CliRunner().invoke(app, [*words, "--k", "100", "--blind", "--json"])
    assert "expected_errors_here" not in json.loads(blind.stdout)


def test_what_is_pasted_is_stated(tmp_path):
    """From the options of the command line to the certificate."""
    schema_of().save(tmp_path / "schema.toml")
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    words = ["protect", str(tmp_path / "people.csv"), "--schema", str(tmp_path / "schema.toml")]
    words += ["--epsilon", "3", "--origin", "trials", "-o", str(tmp_path / "release")]
    assert CliRunner().invoke(app, words).exit_code == 0
    certificate = pm.load(tmp_path / "release").certificate
    assert certificate.schema.origin is Provenance.TRIALS
    refused = CliRunner().invoke(app, [*words[:-1], str(tmp_path / "other"), "--origin", "luck"])
    assert isinstance(refused.exception, InvalidSchema)


def test_a_choice_made_elsewhere_is_not_made_better():
    """A schema with a weaker origin keeps it, whatever the design says."""
    plan = pm.design(schema_of("declared", "trials"), pm.DifferentialPrivacy(3), records=300)
    assert plan.schema.origin is Provenance.TRIALS
    described = pm.describe(people(), keys=["sex"])
    assert described.origin is Provenance.READ_OFF
    assert pm.Schema.from_toml(described.to_toml()).origin is Provenance.READ_OFF
    stated = pm.describe(people(), keys=["sex"], sensitive=["town"])
    assert stated.origin is Provenance.DECLARED
    described = pm.describe(people())
    assert all(column.origin is Provenance.READ_OFF for column in described.keys)
    assert replace(described, origin=Provenance.TRIALS).schema.origin is Provenance.TRIALS
