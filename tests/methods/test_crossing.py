"""Every method with every role of a column and every policy for missing values.

Either a plan is made and a valid release follows, or there is one line that says why not.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.api import open_source
from pramana.errors import PramanaError
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.base import METHODS

RECORDS = 400
ROLES = ("key", "sensitive", "public", "weight", "identifier", "strata", "none")
POLICIES = ("refuse", "category", "keep", None)


def table(*, missing: bool) -> pa.Table:
    """Two keys, of which one may lack values, and a third column that plays all roles."""
    rng = np.random.default_rng(5)
    sex = rng.choice(["F", "M"], RECORDS, p=[0.6, 0.4]).tolist()
    if missing:
        sex[::10] = [None] * len(sex[::10])
    return pa.table(
        {
            "sex": sex,
            "region": rng.choice(["north", "south", "west"], RECORDS).tolist(),
            "third": rng.choice([1.0, 2.0], RECORDS),
            "income": rng.integers(0, 50, RECORDS),
        }
    )


def schema(role: str, policy: str | None) -> pm.Schema:
    """The third column in a role; the policy is that of the first key."""
    third = {
        "key": [pm.Column("third", pm.Role.KEY, pm.Categories((1.0, 2.0)))],
        "strata": [pm.Column("third", pm.Role.PUBLIC)],
        "none": [],
    }
    columns = [
        pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")), missing=policy),
        pm.Column("region", pm.Role.KEY, pm.Categories(("north", "south", "west"))),
        *(third[role] if role in third else [pm.Column("third", pm.Role(role))]),
        pm.Column("income", pm.Role.SENSITIVE),
    ]
    return pm.Schema(tuple(columns), strata=("third",) if role == "strata" else ())


def method_of(name: str, described: pm.Schema) -> pm.Method:
    """The method with the options that it cannot do without."""
    if name == "invariant":
        return pm.Invariant(stay=0.8)
    if not name.startswith("matrix"):
        return METHODS[name]()
    columns = [column for column in described.columns if column.role is pm.Role.KEY]
    matrices = {c.name: UniformMixture.of(c.labels, retention=0.5) for c in columns}
    return METHODS[name](matrices)


TARGETS = {
    "pk-anonymity": pm.PkAnonymity(k=3),
    "spontaneous-recognition": pm.SpontaneousRecognition(alpha=0.2, width=2),
    "correct-match": pm.CorrectMatch(xi=0.1),
    "k-anonymity": pm.KAnonymity(k=4),
    "shuffled-privacy": pm.ShuffledPrivacy(epsilon=3.0, delta=1e-3),
}
RECORDWISE = [name for name in METHODS if name != "shuffled-marginals"]
"""The methods that release records, with unchanged columns if there are any."""


def tried(name, described, people, where):
    """The release, or the line that refuses it."""
    asked = [TARGETS[aim] for aim in METHODS[name].aims[:1]]
    try:
        plan = pm.design(described, *asked, data=people, method=method_of(name, described))
        return pm.protect(people, plan, to=where, seed=1)
    except PramanaError as error:
        return str(error)


@pytest.mark.parametrize("name", list(METHODS))
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.deep(every=9)
def test_a_release_or_one_line(tmp_path, name, role):
    """Crossed with the policies, on a table with and without missing values."""
    for policy, missing in product(POLICIES, (True, False)):
        people = table(missing=missing)
        if role == "none":
            people = people.drop_columns("third")
        where = tmp_path / f"{policy}-{missing}"
        release = tried(name, schema(role, policy), people, where)
        if isinstance(release, str):
            assert "\n" not in release
            assert not where.exists()
            if (policy, missing) == ("refuse", True):
                assert "40 records of 'sex' are missing" in release
            continue
        assert (policy, missing) != ("refuse", True)
        assert release.records == RECORDS
        assert release.certificate.kind == METHODS[name].kind
        assert pm.verify(where, original=people).valid
        assert ("third" in release.table.column_names) == (role not in ("identifier", "none"))


@pytest.mark.parametrize("name", RECORDWISE)
def test_the_plainest_case_is_served_by_every_method(name):
    """Keys and a sensitive column, nothing missing: nobody may hide behind a refusal."""
    described, people = schema("sensitive", "refuse"), table(missing=False)
    asked = [TARGETS[aim] for aim in METHODS[name].aims[:1]]
    plan = pm.design(described, *asked, data=people, method=method_of(name, described))
    assert pm.protect(people, plan, seed=1).certificate.method == name


@pytest.mark.parametrize("name", ["retention", "inverse-frequency", "resample"])
@pytest.mark.parametrize("file_format", ["parquet", "csv", "feather"])
def test_saved_later_or_written_at_once_is_the_same_release(tmp_path, name, file_format):
    """One seed, one class, the same bytes of data and certificate."""
    described, people = schema("sensitive", "refuse"), table(missing=False)
    asked = [TARGETS[aim] for aim in METHODS[name].aims[:1]]
    plan = pm.design(described, *asked, data=people, method=name)
    once = pm.protect(people, plan, seed=1, to=tmp_path / "once", file_format=file_format)
    later = pm.protect(people, plan, seed=1).save(tmp_path / "later", file_format=file_format)

    assert type(once) is type(later)
    names = sorted(path.name for path in (tmp_path / "once").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "later").iterdir())
    for file in names:
        assert (tmp_path / "once" / file).read_bytes() == (tmp_path / "later" / file).read_bytes()


def test_an_opened_table_is_handed_on():
    """Design and protect take what is open already, and give the same release."""
    described, people = schema("public", "refuse"), table(missing=False)
    opened = open_source(people, schema=described)
    asked = pm.PkAnonymity(k=3)
    once = pm.protect(people, pm.design(described, asked, data=people), seed=1)
    plan = pm.design(described, asked, data=opened)
    assert pm.protect(opened, plan, seed=1).table.equals(once.table)
