"""Values of an unchanged column that tell a randomised key: found, dropped, refused, verified."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.errors import NotCovered
from pramana.schema.telling_values import HiddenKey, telling_values
from pramana.verification.whole_file import Colour

AGES = pm.Column("age", pm.Role.KEY, pm.Bins((0, 16, 30, 45, 80, 100)))
SEX = pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")))


def households(records: int = 6000) -> dict[str, np.ndarray]:
    """A look-alike of a survey: children have no income, and the insurance of the oldest is NA."""
    rng = np.random.default_rng(5)
    age = rng.integers(0, 100, records)
    insurance = np.where(age >= 80, "NA", rng.choice(["private", "public", "none"], records))
    income = np.where(age < 16, np.nan, rng.integers(0, 40, records) * 500.0)
    return {
        "age": age,
        "sex": rng.choice(["F", "M"], records),
        "insurance": insurance,
        "income": income,
        "smokes": rng.choice(["no", "yes"], records),
    }


def found_in(values: np.ndarray, key: np.ndarray, size: int) -> list[tuple[int, int, int]]:
    found = telling_values("x", values, {"key": HiddenKey(key, size)})
    return [(one.values, one.left, one.people) for one in found]


def test_a_value_that_determines_a_key_for_its_holders_is_found():
    """By hand: 30 of 120 people hold it, and all have one value of four."""
    key = np.repeat([0, 1, 2, 3], 30)
    assert found_in((key == 3).astype(int), key, 4) == [(1, 1, 30)]
    assert found_in(np.where(key == 3, -1, 0), key, 4) == [(1, 1, 30)]


def test_an_exception_in_fifty_hides_nothing_and_more_do():
    """One of 60 holders with another value is still certain; six of 60 are not."""
    key = np.repeat([0, 1, 2, 3], 60)
    for exceptions, found in ((1, [(1, 1, 60)]), (6, [])):
        values = (key == 3).astype(int)
        values[180 : 180 + exceptions], values[:exceptions] = 0, 1
        assert found_in(values, key, 4) == found


def test_what_most_people_have_is_not_disclosed():
    """Nine of ten are citizens: a value that only citizens hold says little."""
    key = np.repeat([0, 1], [900, 100])
    values = np.zeros(1000, int)
    values[:200] = 1
    assert found_in(values, key, 2) == []


def test_a_rare_value_with_few_of_many_key_values_is_chance():
    """Independent columns: 40 holders have at most 40 of 300 regions, and tell nothing."""
    rng = np.random.default_rng(1)
    key, values = rng.integers(0, 300, 3000), rng.integers(0, 75, 3000)
    assert found_in(values, key, 300) == []


def test_independent_columns_tell_nothing():
    """Two hundred pairs of independent columns: no finding."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        key = rng.choice(5, 2000, p=(0.5, 0.2, 0.15, 0.1, 0.05))
        assert found_in(rng.integers(0, 60, 2000), key, 5) == []


def test_estimates_that_are_not_precise_are_no_findings():
    """Of a key with a retention of .15, fifty records of a value say nothing, whatever is drawn."""
    rng = np.random.default_rng(4)
    matrix = 0.15 * np.eye(5) + 0.85 / 5
    for _ in range(20):
        key, values = rng.integers(0, 5, 2000), rng.integers(0, 40, 2000)
        released = np.where(rng.random(2000) < 0.15, key, rng.integers(0, 5, 2000))
        hidden = HiddenKey(released, 5, np.linalg.inv(matrix))
        assert list(telling_values("x", values, {"key": hidden})) == []


def test_describe_drops_columns_whose_values_tell_a_key():
    """The insurance and the income go, with the reason; a column that tells nothing stays."""
    found = pm.describe(pa.table(households()), keys=["age", "sex"])
    roles = {column.name: column.role.traits.released for column in found.columns}
    assert roles == {
        "age": True, "sex": True, "insurance": False, "income": False, "smokes": True
    }  # fmt: skip
    why = {profile.name: profile.why for profile in found.profiles}
    assert "insurance gives age away" in why["insurance"]
    assert "income gives age away" in why["income"]


@pytest.mark.parametrize("column", ["insurance", "income"])
def test_protect_refuses_them_and_a_risk_that_is_accepted_is_amber(column):
    """The message names the columns and no value of the table."""
    people = pa.table(households()).select(["age", "sex", column])
    schema = pm.Schema((AGES, SEX, pm.Column(column, pm.Role.SENSITIVE)))
    plan = pm.design(schema, pm.PkAnonymity(k=2), records=people.num_rows)
    with pytest.raises(NotCovered) as refused:
        pm.protect(people, plan)
    assert refused.value.code == "gives-away"
    assert refused.value.fields["given_away"] == "age"
    assert "NA" not in str(refused.value)
    accepted = pm.protect(people, plan, accept_risk=[column])
    assert accepted.publishable.colour is Colour.AMBER


@pytest.mark.parametrize("column", ["insurance", "income", "smokes"])
def test_verify_estimates_them_from_the_release_alone(column, tmp_path, monkeypatch):
    """An owner who does not look: the folder shows it, unless nothing is told."""
    monkeypatch.setattr("pramana.protecting.require_covered", lambda *_: None)
    people = pa.table(households(20_000)).select(["age", "sex", column])
    schema = pm.Schema((AGES, SEX, pm.Column(column, pm.Role.SENSITIVE)))
    plan = pm.design(schema, pm.PkAnonymity(k=5), records=people.num_rows)
    pm.protect(people, plan, to=tmp_path / "r")
    verdict = pm.verify(tmp_path / "r")
    assert verdict.valid
    assert verdict.publishable is not None
    assert verdict.risk is not None
    found = [(one.column, one.key) for one in verdict.risk.telling]
    assert found == ([] if column == "smokes" else [(column, "age")])
    assert verdict.publishable.colour is (Colour.GREEN if column == "smokes" else Colour.AMBER)
    if found:
        share = {"insurance": 0.2, "income": 0.16}[column]
        assert verdict.risk.telling[0].share == pytest.approx(share, abs=0.02)
        assert f"{column} gives age away" in verdict.publishable.sentence
