"""Central privacy of whole releases: which anonymity set counts, what a seed takes away, what is
seen.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pramana as pm
from pramana.errors import NotCovered
from pramana.risk.attacks.repeated_releases import compose_releases
from pramana.schema.group_sizes import GroupSizes

PEOPLE = 4_000


def people(income) -> pl.DataFrame:
    random = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "sex": random.choice(["F", "M"], PEOPLE),
            "region": random.choice(["n", "e", "s", "w"], PEOPLE),
            "income": income,
        }
    )


FEW = people(["low"] * 3_000 + ["high"] * 1_000)
MANY = people(np.arange(PEOPLE) / 7)


def described(table: pl.DataFrame) -> pm.Schema:
    return pm.describe(table, keys=["sex", "region"], sensitive=["income"])


def claim_of(certificate: pm.Certificate):
    return next(claim for claim in certificate.claims if claim.name == "shuffled-privacy")


def test_a_sensitive_column_splits_the_anonymity_set_of_a_release(tmp_path: Path) -> None:
    """k counts all 4,000; central privacy the 1,000 with a high income; verify counts again."""
    asked = pm.ShuffledPrivacy(epsilon=0.5, delta=1e-6)
    plan = pm.design(described(FEW), asked, data=FEW, method="retention")
    release = pm.protect(FEW, plan, to=tmp_path / "release")
    certificate = release.certificate
    claim = claim_of(certificate)
    alone = pm.ShuffledPrivacy.of(certificate.mechanism, anonymity_set=1_000, delta=1e-6, most=0.5)

    assert (certificate.anonymity_set, certificate.smallest_unchanged_group) == (4_000, 1_000)
    assert claim.attained == alone
    assert 0.49 < claim.attained.epsilon <= 0.5
    assert (
        "1,000 records share the values of all columns released unchanged"
        in certificate.to_json()["anonymity_set"]["statement"]
    )
    alone_there = replace(certificate, smallest_unchanged_group=1).among_whom()
    assert alone_there.endswith("only ones with their values of the unchanged columns.")
    assert "share the values of all" not in alone_there
    checks = {check.name: check.ok for check in pm.verify(tmp_path / "release").checks}
    assert checks["unchanged columns"]
    assert checks["shuffled-privacy"]
    assert all(checks.values())


def test_a_larger_anonymity_set_than_there_is_is_found_out(tmp_path: Path) -> None:
    """Whoever states that 4,000 share an income is contradicted by the data."""
    plan = pm.design(described(FEW), data=FEW, method=pm.Retention(retention=0.5))
    release = pm.protect(FEW, plan, to=tmp_path / "release")
    forged = replace(release.certificate, smallest_unchanged_group=4_000)
    (tmp_path / "release" / "certificate.json").write_bytes(forged.to_bytes())

    checks = {check.name: check.ok for check in pm.verify(tmp_path / "release").checks}
    assert not checks["unchanged columns"]


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
@pytest.mark.parametrize("role", ["public", "weight", "sensitive"])
@pytest.mark.deep(every=2)
def test_how_many_share_what_is_kept_is_counted_whoever_may_know_it(
    tmp_path: Path, role: str, file_format: str
) -> None:
    """One of 300 is alone in the kept column: no other number verifies, none lowers epsilon."""
    table = pl.DataFrame(
        {"sex": ["F", "M"] * 150, "job": ["a", "b"] * 150, "kept": [2] * 299 + [3]}
    )
    one = _keyed("sex", hidden="job", more=f'[columns.kept]\nrole = "{role}"\n')
    two = _keyed("job", hidden="sex", more='[columns.kept]\nrole = "identifier"\n')
    asked = pm.DifferentialPrivacy(epsilon=3.0)
    made = [
        pm.protect(
            table, pm.design(schema, asked, data=table), to=tmp_path / name, file_format=file_format
        )
        for name, schema in (("one", one), ("two", two))
    ]
    true, other = (release.certificate for release in made)
    alone = pm.DifferentialPrivacy.of(true.mechanism).epsilon

    assert pm.verify(tmp_path / "one").valid
    for stated in (1, 2, 299, 300):
        forged = replace(true, smallest_unchanged_group=stated)
        (tmp_path / "one" / "certificate.json").write_bytes(forged.to_bytes())
        checks = {check.name: check.ok for check in pm.verify(tmp_path / "one").checks}
        assert checks["unchanged columns"] == (stated == 1)
        if role != "sensitive":  # what may be known is counted as the anonymity set
            central = compose_releases([forged, other]).promised.central
            assert central is not None
            assert central.epsilon >= alone  # a shuffle with nobody hides nothing


def _keyed(name: str, *, hidden: str, more: str) -> pm.Schema:
    """A key of two values, another column that does not leave, and what else there is."""
    values = {"sex": '["F", "M"]', "job": '["a", "b"]'}[name]
    return pm.Schema.from_toml(
        f'[columns.{name}]\nrole = "key"\ncategories = {values}\nmissing = "refuse"\n'
        f'[columns.{hidden}]\nrole = "identifier"\n{more}'
    )


def test_a_column_that_tells_everyone_apart_leaves_the_local_epsilon() -> None:
    """No two people share an income: nobody is shuffled with anybody."""
    plan = pm.design(
        described(MANY), pm.DifferentialPrivacy(epsilon=2), data=MANY, method="retention"
    )
    central = next(one for one in plan.attained if one.name == "shuffled-privacy")

    assert plan.smallest_unchanged_group == 1
    assert central == pm.ShuffledPrivacy(pm.DifferentialPrivacy.of(plan.mechanism).epsilon, 0.0)


def test_a_seed_takes_the_promise_away() -> None:
    """Not asked, it is left out of the certificate; asked, the release is refused."""
    schema = described(FEW)
    plan = pm.design(schema, pm.PkAnonymity(k=10), data=FEW, method="retention")
    asked = pm.design(schema, pm.ShuffledPrivacy(epsilon=0.5), data=FEW, method="retention")
    names = [claim.name for claim in pm.protect(FEW, plan, seed=1).certificate.claims]

    assert "pk-anonymity" in names
    assert "shuffled-privacy" not in names
    with pytest.raises(NotCovered, match="a seed was used"):
        pm.protect(FEW, asked, seed=1)


def test_a_plan_for_other_people_is_computed_anew() -> None:
    """As many records, and another smallest income: what was promised there does not hold here."""
    plan = pm.design(described(FEW), pm.ShuffledPrivacy(epsilon=0.5), data=FEW, method="retention")
    fewer = people(["low"] * 3_900 + ["high"] * 100)

    with pytest.raises(pm.DoesNotHold, match="short of the"):
        pm.protect(fewer, plan)


def test_without_data_a_sensitive_column_is_refused() -> None:
    """Nobody knows yet how small its groups will be."""
    with pytest.raises(NotCovered, match="Give the data"):
        pm.design(
            described(FEW), pm.ShuffledPrivacy(epsilon=0.5), records=PEOPLE, method="retention"
        )


def test_counting_ends_where_there_are_too_many_groups() -> None:
    """However the batches come: more combinations than the limit mean a group of one."""
    table = MANY.to_arrow()
    for most, expected in ((PEOPLE, 1), (PEOPLE - 1, 1)):
        sizes = GroupSizes(["income"], most=most)
        for batch in table.to_batches(max_chunksize=100):
            sizes.add(batch)
        assert sizes.smallest() == expected
        assert sizes.too_many == (most < PEOPLE)
    halves = [GroupSizes(["income"], most=3_000) for _ in range(2)]
    for sizes, part in zip(halves, (table[:2_000], table[2_000:]), strict=True):
        for batch in part.to_batches():
            sizes.add(batch)
    halves[0].merge(halves[1])
    assert halves[0].too_many


def test_the_anonymity_set_of_the_certificate_in_json() -> None:
    """Null where every column released unchanged may be known: the anonymity set counts then."""
    table = FEW.select("sex", "region")
    schema = pm.describe(table, keys=["sex", "region"])
    certificate = pm.protect(
        table, pm.design(schema, pm.PkAnonymity(k=5), data=table, method="retention")
    ).certificate
    form = json.loads(certificate.to_bytes())

    assert form["anonymity_set"]["smallest_unchanged_group"] is None
    assert claim_of(certificate).attained.epsilon < 1
