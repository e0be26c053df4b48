"""Words in the number that goes with them: one column is, two columns are."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.base.text import counted
from pramana.schema.schema import Schema

THINGS = (
    "records|columns|people|values|groups|files|households|cells|tables|sets|checks|keys|labels|"
    "strata|releases|scenarios|entries|persons|features|matrices|steps|bytes|copies|rows|"
    "are|have|hold|share|differ|were"
)
WRONG = re.compile(rf"(?<![\d.,/])\b1 (?:\w+ )?(?:{THINGS})\b")
ONE_NAME = re.compile(
    r"(?<!, )\b(?:pay|sex) (?:[^.,:;]* and )?(?:are|were)\b|lists of values of (?:pay|sex)\b(?!,)"
)
PEOPLE = 40
KEYS = """
[columns.sex]
role = "key"
categories = ["F", "M"]
[columns.age]
role = "key"
categories = ["y", "o"]
"""
BESIDE = {
    "one sensitive": '[columns.pay]\nrole = "sensitive"\n',
    "each its own": '[columns.pay]\nrole = "public"\n',
    "in bins": '[columns.pay]\nrole = "sensitive"\nbins = [0, 20, 40]\n',
    "with noise": '[columns.pay]\nrole = "sensitive"\n'
    'noise = {distribution = "normal", scale = 3}\n',
    "one key": "",
    "households": "",
}


def world(kind: str) -> tuple[pa.Table, Schema]:
    """Forty people, with one of what sentences count."""
    words = np.random.default_rng(1)
    columns = {"sex": words.choice(["F", "M"], PEOPLE), "age": words.choice(["y", "o"], PEOPLE)}
    if kind == "one key":
        alone = KEYS.split("[columns.age]")[0].replace('categories = ["F", "M"]', "")
        return pa.table({"sex": columns["sex"]}), Schema.from_toml(alone)
    if kind == "households":
        homes = np.arange(PEOPLE) // 2
        return pa.table({**columns, "home": homes}), Schema.from_toml(f'household = "home"\n{KEYS}')
    table = pa.table({**columns, "pay": np.arange(PEOPLE) * 1.0})
    return table, Schema.from_toml(KEYS + BESIDE[kind])


def words_of(folder, table, plan, release):
    """All that is said of a plan and of its release, to everyone and to the owner."""
    yield from (*plan.sentences(), *release.certificate.sentences(), repr(plan), str(plan.schema))
    yield from ((folder / name).read_text() for name in ("certificate.json", "README.md"))
    for verdict in (pm.verify(folder), pm.verify(folder, original=table)):
        yield json.dumps(verdict.to_json())
    for document in (pm.report(folder), pm.report(folder, original=table)):
        yield re.sub("<[^>]+>", " ", document.html)
    yield from pm.audit(folder, original=table).sentences()


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("one sensitive", "retention"),
        ("one sensitive", "resample"),
        ("each its own", "retention"),
        ("in bins", "attribute-sampling"),
        ("with noise", "retention"),
        ("one key", "retention"),
        ("one key", "attribute-sampling"),
        ("households", "attribute-sampling"),
    ],
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.deep(every=8)
def test_one_of_a_thing_is_spoken_of_as_one(tmp_path, kind, method):
    """In plan, certificate, README, verification, report and audit."""
    table, schema = world(kind)
    target = pm.KAnonymity(2) if method == "resample" else pm.DifferentialPrivacy(2)
    plan = pm.design(schema, target, data=table, method=method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # copies are what is asked for here
        release = pm.protect(table, plan, to=tmp_path / "release")

    for text in words_of(tmp_path / "release", table, plan, release):
        found = WRONG.search(text)
        assert found is None, text[max(0, found.start() - 60) : found.end() + 20]
        named = ONE_NAME.search(text)
        assert named is None, named[0]


def test_the_search_finds_what_it_is_for():
    """And leaves alone what is right."""
    assert WRONG.search("the smallest group has 1 records, 1 are stated")
    assert WRONG.search("1 columns are released")
    assert not WRONG.search("1 column is released, 31 records are, 2.1 values, 1 in 5 people")
    assert ONE_NAME.search("pay may be known to an adversary and are released unchanged")
    assert ONE_NAME.search("the lists of values of sex were read off the data")
    assert not ONE_NAME.search("age, pay are released, 5 values of sex left as they were")
    assert (counted(1, "column"), counted(2, "column")) == ("1 column", "2 columns")
