"""Tests of what the owner can count again where matrices are withheld or there are groups."""

from __future__ import annotations

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana import api
from pramana.guarantees.correct_match import CorrectMatch
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.io.output import write_table
from pramana.methods.frequency_preserving import Invariant
from pramana.methods.microaggregated import Gaussian, Permute, Resample
from pramana.release.folder import complete_folder, release_folder
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

RECORDS = 1_200
JOBS, PLACES = tuple("abcdefghijkl"), tuple(f"z{i:02}" for i in range(30))
SCHEMA = Schema(
    (
        Column("age", Role.KEY, Categories(tuple(range(18, 90))), missing="refuse"),
        Column("job", Role.KEY, Categories(JOBS), missing="refuse"),
        Column("place", Role.KEY, Categories(PLACES), missing="refuse"),
        Column("income", Role.SENSITIVE),
    )
)
METHODS = [
    (Invariant(stay=0.1), ()),
    ("inverse-frequency", (CorrectMatch(xi=0.01),)),
    (Resample(), (KAnonymity(k=20),)),
    (Permute(), (KAnonymity(k=20),)),
    (Gaussian(), (KAnonymity(k=20),)),
    ("centroid", (KAnonymity(k=20),)),
]


@pytest.fixture(scope="module")
def truth():
    """People of whom nearly all are unique."""
    random = np.random.default_rng(2)
    return pa.table(
        {
            "age": random.integers(18, 90, RECORDS),
            "job": random.choice(JOBS, RECORDS),
            "place": random.choice(PLACES, RECORDS),
            "income": random.permutation(10**6)[:RECORDS],
        }
    )


@pytest.fixture(scope="module")
def released(tmp_path_factory, truth):
    """Makes a release by a method once, and gives every test a copy of its own."""
    made = {}

    def release(folder, method, *asked):
        if str(method) not in made:
            made[str(method)] = tmp_path_factory.mktemp("made") / "release"
            plan = api.design(SCHEMA, *asked, data=truth, method=method)
            api.protect(truth, plan, to=made[str(method)], file_format="parquet", seed=1)
        shutil.copytree(made[str(method)], folder)
        return api.load(folder)

    return release


def _around(folder, release, records, **figures):
    """A release folder around other records, all of its digests made anew."""
    certificate = release.certificate
    kept = {name: own for name, own in certificate.statistics.items() if name not in figures}
    added = {name: own for name, own in figures.items() if own is not None}
    object.__setattr__(certificate, "statistics", kept | added)
    types = pq.read_schema(next(folder.glob("data*.parquet")))
    other = records.select(types.names).cast(types)

    with release_folder(folder, force=True) as work:
        write_table(other, work / "data.parquet", file_format="parquet")
        complete_folder(work, certificate, file_format="parquet")


@pytest.mark.parametrize(("method", "asked"), METHODS, ids=str)
@pytest.mark.deep(every=6)
def test_the_truth_itself_is_no_release(tmp_path, truth, released, method, asked):
    """A sound release passes; the shuffled truth in its place does not, for any method."""
    folder = tmp_path / "release"
    release = released(folder, method, *asked)
    sound = api.verify(folder, original=truth)
    assert sound.valid, [check for check in sound.checks if not check.ok]
    assert "unchanged records" in {check.name for check in sound.of_state("passed")}

    _around(folder, release, truth.take(np.random.default_rng(1).permutation(RECORDS)))
    forged = api.verify(folder, original=truth)
    assert "unchanged records" in {check.name for check in forged.of_state("failed")}


@pytest.mark.parametrize("method", [Resample(), Permute()], ids=str)
@pytest.mark.parametrize("told", [{"records_at_most": 1.0, "unique_records_at_most": 1.0}, None])
def test_a_share_that_no_group_allows_is_found(tmp_path, truth, released, method, told):
    """Who states that all is there, or says nothing, is caught by the law of the draw."""
    folder = tmp_path / "release"
    release = released(folder, method, KAnonymity(k=20))
    _around(folder, release, truth.take(np.arange(RECORDS)[::-1]), unchanged_records=told)

    failed = {check.name for check in api.verify(folder, original=truth).of_state("failed")}
    assert "records with their own keys" in failed


def test_frequencies_farther_off_than_stated_are_found(tmp_path, truth, released):
    """Standard errors are compared with what the owner counts."""
    folder = tmp_path / "release"
    release = released(folder, Invariant(stay=0.1))
    job = pa.array(np.where(np.arange(RECORDS) % 2, "a", truth["job"].to_numpy()))
    _around(folder, release, truth.set_column(1, "job", job))

    failed = {check.name for check in api.verify(folder, original=truth).of_state("failed")}
    assert "standard errors" in failed
