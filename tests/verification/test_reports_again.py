"""Releases by reports that are loaded, saved again, or forged."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.errors import InvalidMatrix
from pramana.guarantees.claims import Claim
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet
from pramana.mechanisms.transition import UniformMixture
from pramana.release.folder import fingerprint

RNG = np.random.default_rng(3)
PEOPLE = pa.table({name: RNG.choice(list("xyz"), 900) for name in ("a", "b", "c")})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release that claims central privacy."""
    schema = pm.describe(PEOPLE, keys=["a", "b", "c"])
    plan = pm.design(
        schema,
        pm.ShuffledPrivacy(epsilon=1.0, delta=1e-6),
        data=PEOPLE,
        method="attribute-sampling",
    )
    place = tmp_path_factory.mktemp("attribute-sampling") / "release"
    pm.protect(PEOPLE, plan, to=place)
    return place


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of two pairs of columns."""
    schema = pm.describe(PEOPLE, keys=["a", "b", "c"])
    method = pm.AttributeSampling(tables=(("a", "b"), ("b", "c")))
    plan = pm.design(schema, pm.PkAnonymity(k=300), data=PEOPLE, method=method)
    place = tmp_path_factory.mktemp("pairs") / "release"
    pm.protect(PEOPLE, plan, to=place)
    return place


@pytest.mark.parametrize("file_format", ["parquet", "csv", "feather"])
def test_a_loaded_release_can_be_saved_again(
    folder: Path, tmp_path: Path, file_format: str
) -> None:
    """In any form, and it verifies there."""
    pm.load(folder).save(tmp_path / "again", file_format=file_format)
    assert pm.verify(tmp_path / "again").valid


def test_a_central_epsilon_without_its_delta_fails(folder: Path, tmp_path: Path) -> None:
    """Left open, it would read as zero."""
    release = pm.load(folder)
    claims = tuple(
        Claim(pm.ShuffledPrivacy(claim.attained.epsilon), None)
        if isinstance(claim.attained, pm.ShuffledPrivacy)
        else claim
        for claim in release.certificate.claims
    )
    forged = replace(release, certificate=replace(release.certificate, claims=claims))
    forged.save(tmp_path / "forged")
    assert not pm.verify(tmp_path / "forged").valid
    assert "delta = 0" not in pm.ShuffledPrivacy(0.5).sentence()


def test_a_set_names_different_columns_and_no_two_sets_read_alike() -> None:
    """A column twice is no set, and a star in a name must not make two sets one."""
    cells = UniformMixture.of((("x", "x"), ("x", "y")), retention=0.5)
    with pytest.raises(InvalidMatrix, match="different columns"):
        AttributeSet(("a", "a"), 2**64, cells)
    half = 2**63
    sets = AttributeSet(("a*b", "c"), half, cells), AttributeSet(("a", "b*c"), half, cells)
    assert [own.name for own in AttributeSampler(sets=sets).sets] == ['"a*b"*c', 'a*"b*c"']
    with pytest.raises(InvalidMatrix, match="listed once, and no two may have the same text"):
        AttributeSampler(sets=(AttributeSet(("a", "b"), half, cells),) * 2)


@pytest.mark.parametrize(
    ("who", "column", "value", "check"),
    [
        ("silent", "a", "x", "domain of a"),
        ("told", "a", None, "domain of a"),
        ("told", "a", "elsewhere", "domain of a"),
        ("told", "reported", "b*a", "attribute sets"),
        ("told", "reported", None, "attribute sets"),
    ],
)
def test_reports_that_do_not_fit_their_sets_are_seen(
    pairs: Path, tmp_path: Path, who: str, column: str, value: str | None, check: str
) -> None:
    """Told without being asked, asked without telling, values and sets that do not exist."""
    forged = tmp_path / "forged"
    shutil.copytree(pairs, forged)
    (place,) = forged.glob("data*")
    table = pq.read_table(place)
    asked = np.array(["a" in mark.split("*") for mark in table["reported"].to_pylist()])
    values = table[column].to_pylist()
    for row in np.flatnonzero(asked == (who == "told"))[:2]:
        values[row] = value
    at = table.schema.get_field_index(column)
    pq.write_table(table.set_column(at, column, pa.array(values, pa.string())), place)
    certificate = pm.load(pairs).certificate.with_data(fingerprint(place, "parquet"))
    (forged / "certificate.json").write_bytes(certificate.to_bytes())
    checks = {own.name: own for own in pm.verify(forged).checks}
    found = checks[check]
    assert not found.ok
    assert "record" in found.detail
