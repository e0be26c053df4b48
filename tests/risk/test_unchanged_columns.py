"""Unchanged columns that undo a release are refused, unless the owner accepts their risk."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import pramana as pm
from pramana.cli.app import app
from pramana.errors import NotARelease, NotCovered, UnknownColumn
from pramana.release.certificate import Certificate
from pramana.risk.unchanged import avoided_errors

AGES = tuple(range(20, 80))
KEYS = (
    pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))),
    pm.Column("age", pm.Role.KEY, pm.Bins((20, 40, 60, 80))),
)


def health(records: int = 2000) -> dict[str, np.ndarray]:
    """A look-alike of a health survey: a respondent number, an age group, an illness of women."""
    rng = np.random.default_rng(2)
    sex, age = rng.choice(["F", "M"], records), rng.integers(20, 80, records)
    group = np.where(age < 40, "young", np.where(age < 60, "middle", "old"))
    group[:4] = "unknown"
    return {
        "sex": sex,
        "age": age,
        "respondent": rng.choice(6 * records, records, replace=False),
        "age_group": group,
        "blood": rng.normal(120, 15, records).round(1),
        "ill": rng.choice(["no", "yes"], records),
    }


def protected(*unchanged: str, **options: object) -> pm.Release:
    people = health()
    rest = (pm.Column(name, pm.Role.SENSITIVE) for name in unchanged)
    schema = pm.Schema((*KEYS, *rest))
    table = pa.table({name: people[name] for name in schema.names})
    plan = pm.design(schema, pm.PkAnonymity(k=5), records=table.num_rows)
    return pm.protect(table, plan, **options)


def test_a_respondent_number_is_refused():
    """It is unique and would name everybody, whatever happens to the keys."""
    with pytest.raises(NotCovered) as refused:
        protected("respondent", "ill")
    assert refused.value.code == "identifies"
    assert refused.value.fields["columns"] == ["respondent"]
    assert "--accept-risk respondent" in str(refused.value)


def test_a_column_from_which_a_key_follows_is_refused():
    """An age group from the age, though a few are missing."""
    with pytest.raises(NotCovered) as refused:
        protected("age_group", "ill")
    assert refused.value.code == "gives-away"
    assert refused.value.fields["column"] == "age_group"
    assert refused.value.fields["given_away"] == "age"


def test_amounts_and_ordinary_columns_are_not_refused():
    """A measurement is no identifier, and an illness tells no key."""
    assert protected("blood", "ill").records == 2000


def test_a_risk_that_is_accepted_is_repeated(tmp_path):
    """By the certificate, verification, the verdict and the first page of the report."""
    accepted = ["respondent", "age_group"]
    release = protected("respondent", "age_group", accept_risk=accepted, to=tmp_path / "r")
    assert release.certificate.accepted_risk == tuple(accepted)
    again = Certificate.from_bytes((tmp_path / "r" / "certificate.json").read_bytes())
    assert again.accepted_risk == tuple(accepted)
    words = "The owner accepted the risk of respondent, age_group"
    assert any(sentence.startswith(words) for sentence in again.sentences())
    verdict = release.verify()
    assert verdict.valid
    assert verdict.publishable is not None
    assert str(verdict.publishable.colour) == "amber"
    assert words in verdict.publishable.sentence
    first_page = release.report(external=True).html.split("Technical annex")[0]
    assert words in first_page


def test_only_an_unchanged_column_can_be_accepted():
    """A misspelled or randomised column is refused, and no certificate names one."""
    for name in ("respondant", "age"):
        with pytest.raises(UnknownColumn) as refused:
            protected("ill", accept_risk=[name])
        assert refused.value.fields["column"] == name
    certificate = protected("ill").certificate
    with pytest.raises(NotARelease):
        pm_replace(certificate, accepted_risk=("sex",))


def pm_replace(certificate: Certificate, **changes: object) -> Certificate:
    from dataclasses import replace

    return replace(certificate, **changes)


def test_the_command_line_refuses_and_accepts(tmp_path):
    """--accept-risk COLUMN, once a column."""
    people = health()
    csv, schema = tmp_path / "people.csv", tmp_path / "schema.toml"
    from pyarrow import csv as writer

    names = ["sex", "age", "respondent"]
    writer.write_csv(pa.table({name: people[name] for name in names}), csv)
    columns = (*KEYS, pm.Column("respondent", pm.Role.SENSITIVE))
    schema.write_text(pm.Schema(columns).to_toml())
    words = ["protect", str(csv), "--schema", str(schema), "--k", "5", "-o", str(tmp_path / "r")]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code != 0
    assert not (tmp_path / "r").exists()
    accepted = CliRunner().invoke(app, [*words, "--accept-risk", "respondent"])
    assert accepted.exit_code == 0
    assert "AMBER" in accepted.output


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40))
def test_avoided_errors_are_those_of_leaving_one_out(pairs):
    """A second road: every record is guessed from the others that share its known value."""
    known, hidden = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    right = 0
    for place, (shared, value) in enumerate(pairs):
        others = [h for at, (k, h) in enumerate(pairs) if k == shared and at != place]
        right += others.count(value) > max(
            (others.count(h) for h in {*others} - {value}), default=0
        )
    guessed = max(np.bincount(hidden))
    wrong = len(pairs) - guessed
    expected = (right - guessed) / wrong if wrong else 0.0
    assert avoided_errors(known, hidden) == pytest.approx(expected)


def joined(records: int, *, slips: float = 0.0) -> tuple[pa.Table, pm.Schema]:
    """A key that is the sum of two unchanged columns, and follows from none of them alone."""
    rng = np.random.default_rng(4)
    first, second, other = (rng.integers(0, 3, records) for _ in range(3))
    key = (first + second) % 3
    key = np.where(rng.random(records) < slips, rng.integers(0, 3, records), key)
    columns = {"key": key, "first": first, "second": second, "other": other}
    rest = (pm.Column(name, pm.Role.SENSITIVE) for name in ("first", "second", "other"))
    return pa.table(columns), pm.Schema(
        (pm.Column("key", pm.Role.KEY, pm.Categories((0, 1, 2))), *rest)
    )


@pytest.mark.parametrize("records", [400, 30_000])
def test_columns_that_give_a_key_away_together_are_refused(records):
    """Though none does alone, and a few records differ; not where many differ."""
    table, schema = joined(records, slips=0.05)
    plan = pm.design(schema, pm.PkAnonymity(k=5), records=records)
    with pytest.raises(NotCovered, match="'first' and 'second' together give .* 'key' away") as no:
        pm.protect(table, plan)
    assert no.value.code == "gives-away"
    assert no.value.fields["columns"] == ["first", "second"]
    assert pm.protect(table, plan, accept_risk=["first"]).certificate.accepted_risk == ("first",)
    table, _ = joined(records, slips=0.3)
    pm.protect(table, plan)


def test_unrelated_columns_give_nothing_away_together():
    """Many columns of many values tell records apart, but not what their keys are."""
    rng = np.random.default_rng(5)
    columns = {f"c{n}": rng.integers(0, 2 + n, 1_000) for n in range(14)}
    schema = pm.Schema(
        (
            pm.Column("key", pm.Role.KEY, pm.Categories((0, 1))),
            *(pm.Column(name, pm.Role.SENSITIVE) for name in columns),
        )
    )
    table = pa.table({"key": rng.integers(0, 2, 1_000), **columns})
    pm.protect(table, pm.design(schema, pm.PkAnonymity(k=5), records=1_000))
