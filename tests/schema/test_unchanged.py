"""Which columns leave unchanged, by what they add to the risk of the whole file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pramana as pm
from pramana.io.opening import open_table
from pramana.schema.describe import describe
from pramana.schema.domains import Labels
from pramana.schema.recoding import NOTHING
from pramana.schema.suggestions import contributions
from pramana.schema.tally import tally

RNG = np.random.default_rng(12)
N = 4_000


def added(columns, settled=(), most=0.05):
    """What each column adds, in the order given."""
    opened = open_table(pa.table(columns))
    rest = [name for name in columns if name not in settled]
    return contributions(
        opened, dict.fromkeys(settled, NOTHING), dict.fromkeys(rest), tally(opened), most
    )


def test_contributions_by_hand():
    """Four people: 'a' alone finds one, with 'b' all four are found; more than half of them."""
    found = added({"a": ["x", "y", "y", "y"], "b": ["p", "p", "q", "r"]}, most=0.5)
    assert (found["a"].before, found["a"].unique, found["a"].admitted) == (0, 1, True)
    assert (found["b"].before, found["b"].unique, found["b"].admitted) == (1, 4, False)
    assert "with it 4 of 4 people are unique on the unchanged columns (100 %)" in found["b"].words


def test_what_leaves_unchanged_agrees_with_pandas():
    """A second road: people unique on all admitted columns, as pandas counts them."""
    frame = pd.DataFrame({f"q{i}": RNG.integers(0, 3 + i, N) for i in range(12)})
    found = added({name: frame[name].to_numpy() for name in frame})
    stays = [name for name, own in found.items() if own.admitted]
    unique = int((~frame[stays].duplicated(keep=False)).sum())
    assert 2 <= len(stays) < 12
    assert unique == max(own.unique for own in found.values() if own.admitted) <= 0.05 * N


def test_an_amount_leaves_in_steps_that_keep_its_mean():
    """Its mean changes by less than a tenth of its mean distance from the median."""
    income = RNG.lognormal(10, 0.5, N).round()
    table = pa.table({"sex": RNG.integers(0, 2, N), "income": income})
    found = pm.describe(table, keys=["sex"])
    form = found.column("income").recoding
    coarse = np.clip(income, form.bottom, form.top)
    coarse = np.floor(coarse / form.round + 0.5) * form.round
    assert abs(coarse.mean() - income.mean()) <= 0.1 * np.abs(income - np.median(income)).mean()
    assert len(np.unique(coarse)) >= 20
    assert "rounded to multiples of" in found.profiles[1].why


def test_what_nobody_proposed_is_not_dropped():
    """A sensitive column that is given leaves as it is; what it adds is said."""
    table = pa.table({"sex": RNG.integers(0, 2, N), "income": RNG.permutation(N) * 7.5})
    found = pm.describe(table, keys=["sex"], sensitive=["income"])
    assert found.column("income").role is pm.Role.SENSITIVE
    assert not found.column("income").recoding
    assert f"it makes {N:,} more of {N:,} people unique" in found.profiles[1].why


def test_named_keys_are_all_keys():
    """Others that strangers see are dropped, unless more are to be suggested."""
    columns = {name: RNG.integers(0, 4, N) for name in ("sex", "region", "education", "trust")}
    table = pa.table(columns)
    roles = {own.name: str(own.role) for own in pm.describe(table, keys=["sex", "region"]).columns}
    assert roles == {
        "sex": "key", "region": "key", "education": "dropped", "trust": "sensitive"
    }  # fmt: skip
    more = pm.describe(table, keys=["sex", "region"], suggest=True)
    assert [column.name for column in more.keys] == ["sex", "region", "education"]


@pytest.mark.parametrize(
    ("label", "role"),
    [
        ("Gender of respondent", "key"),
        ("Interviewer number", "dropped"),
        ("Length of interview in minutes", "dropped"),
        ("How much do you trust your neighbours, whatever their age?", "sensitive"),
    ],
)
def test_labels_say_what_names_do_not(label, role):
    """A code with a name that says nothing is known by its label; long labels are questions."""
    columns = {f"q{i}": RNG.integers(0, 4, N) for i in range(1, 5)}
    texts = {"q1": label, "q2": "Age group", "q3": "Marital status", "q4": "Region of the country"}
    opened = replace(open_table(pa.table(columns)), labels=Labels(variables=texts))
    assert str(describe(opened).column("q1").role) == role


def test_columns_that_are_not_named_are_dropped_where_the_schema_says_so(tmp_path):
    """Else the table is refused. What the schema drops is in no release."""
    table = pa.table({name: RNG.integers(0, 2, 200) for name in ("sex", "work", "note")})
    text = '{}keys = ["sex", "work"]\n[columns.sex]\ncategories = [0, 1]\n'
    with pytest.raises(pm.InvalidSchema, match='state rest = "drop"'):
        pm.design(pm.Schema.from_toml(text.format("")), pm.PkAnonymity(k=5), data=table)
    schema = pm.Schema.from_toml(text.format('rest = "drop"\n'))
    assert pm.Schema.from_toml(schema.to_toml()) == schema
    plan = pm.design(schema, pm.PkAnonymity(k=5), data=table)
    release = pm.protect(table, plan, to=tmp_path / "r")
    assert release.opened.schema.names == ["sex", "work", "reported"]
    with pytest.raises(pm.InvalidSchema, match="rest must state refuse or drop"):
        pm.Schema.from_toml(text.format('rest = "keep"\n'))


def test_a_wide_table_is_described_by_what_stays(tmp_path):
    """The schema file names what is released; dropped columns are comments with their reasons."""
    columns = {name: RNG.integers(0, 4, 1_000) for name in ("sex", "region", "education")}
    columns |= {f"v{i}": RNG.integers(0, 9, 1_000) for i in range(60)}
    found = pm.describe(pa.table(columns))
    text = found.to_toml()
    read = pm.Schema.from_toml(text)
    assert read.drops_rest
    assert [c.name for c in read.columns] == [c.name for c in found.released]
    assert "# v59 is dropped: outsiders hardly know it; dropped: with it" in text
    found.save(tmp_path / "s.toml")
    pm.design(read, pm.PkAnonymity(k=2), data=pa.table(columns))
