"""Grouped releases say what they copy, refuse to copy everything, and can copy less."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.base.rounding import SHARES
from pramana.errors import Copies, InvalidSchema
from pramana.methods.microaggregated import Permute, Resample
from pramana.risk.unchanged import numbers_of
from pramana.schema.domains import Categories
from pramana.schema.recoding import Noise, Recoding
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Impossible, Schema

NAMES = ("a", "b", "c", "d")


def people(*, income=False):
    """Six hundred records of four keys with eight values each."""
    rng = np.random.default_rng(1)
    table = {name: rng.integers(0, 8, 600) for name in NAMES}
    return pa.table(table | ({"income": np.arange(600)} if income else {}))


def schema(*, income=False, impossible=()):
    """Four keys, and an income or nothing beside them."""
    keys = [Column(name, Role.KEY, Categories(tuple(range(8)))) for name in NAMES]
    rest = [Column("income", Role.SENSITIVE)] if income else []
    return Schema((*keys, *rest), impossible=impossible)


@pytest.mark.parametrize("method", ["resample", "permute"])
def test_a_schema_of_keys_alone_is_refused(method):
    """Handing keys round would be publishing the records."""
    with pytest.raises(InvalidSchema, match="allow_unchanged"):
        pm.design(schema(), pm.KAnonymity(k=5), data=people(), method=method)


@pytest.mark.parametrize("method", ["resample", "permute"])
@pytest.mark.parametrize("role", [Role.PUBLIC, Role.WEIGHT, Role.SENSITIVE], ids=str)
@pytest.mark.parametrize("same", ["everywhere", "where the region is"])
def test_columns_that_go_with_the_keys_part_nothing(method, role, same):
    """One value, or one a region, beside the keys: the records are published all the same."""
    region = np.arange(600) % 2
    own = np.ones(600) if same == "everywhere" else region + 1.0
    table = people().append_column("region", pa.array(region)).append_column("own", pa.array(own))
    described = Schema((*schema().columns, Column("region", Role.PUBLIC), Column("own", role)))

    with pytest.raises(InvalidSchema, match="allow_unchanged"):
        pm.design(described, pm.KAnonymity(k=5), data=table, method=method)


@pytest.mark.parametrize("method", ["resample", "permute"])
def test_a_plan_that_saw_no_data_copies_no_table_either(method):
    """Nothing differs beside the keys of this table: refused where it is released."""
    table = people(income=True)
    same = table.set_column(4, "income", pa.array(np.ones(600)))
    by_number = pm.design(schema(income=True), pm.KAnonymity(k=5), records=600, method=method)
    by_others = pm.design(schema(income=True), pm.KAnonymity(k=5), data=table, method=method)

    for plan in (by_number, by_others):
        with pytest.raises(InvalidSchema, match="allow_unchanged"):
            pm.protect(same, plan, seed=1)


def test_the_library_warns_as_the_command_line_does():
    """More of the unique records as they were than 1 in k suggests: a notice says so."""
    plan = pm.design(
        schema(), pm.KAnonymity(k=5), data=people(), method=Permute(allow_unchanged=True)
    )
    with pytest.warns(Copies, match="a correct match by 20 %"):
        pm.protect(people(), plan, seed=1)


def test_permuting_keys_alone_says_that_all_records_are_there():
    """Allowed, it is said in the certificate: all of them, and more than 1 in k suggests."""
    plan = pm.design(
        schema(), pm.KAnonymity(k=5), data=people(), method=Permute(allow_unchanged=True)
    )
    release = pm.protect(people(), plan, seed=1)

    seen = release.certificate.statistics["unchanged_records"]
    assert seen["records_at_most"] == seen["unique_records_at_most"] == 1
    assert "Everybody can read these records." in release.certificate.sentences()[-1]


def test_with_a_column_beside_the_keys_little_is_copied():
    """Incomes that differ: a record is there if it got its own keys, once in k."""
    plan = pm.design(
        schema(income=True), pm.KAnonymity(k=10), data=people(income=True), method="permute"
    )
    told = []
    release = pm.protect(
        people(income=True), plan, seed=1, seen=told.append, accept_risk=["income"]
    )
    seen = release.certificate.statistics["unchanged_records"]

    assert told[0].unique_share <= 0.2
    assert seen["unique_records_at_most"] in SHARES
    assert 0.1 < seen["unique_records_at_most"] <= 0.3  # with what chance leaves of 600 records


@pytest.mark.parametrize("method", ["resample", "permute", "gaussian", "centroid"])
@pytest.mark.parametrize("noisy", [True, False])
def test_copies_are_counted_in_what_leaves(method, noisy):
    """Noise counts: in the warning and what the owner is told, and in the certificate, too."""
    ages, pay = np.arange(600) % 3, np.arange(600) // 100
    table = pa.table({"a": ages, "pay": pay, "note": np.arange(600) // 3})
    noise = Noise("laplace", scale=1000) if noisy else None
    described = Schema(
        (
            Column("a", Role.KEY, Categories((0, 1, 2))),
            Column("pay", Role.SENSITIVE, recoding=Recoding(noise=noise)),
            Column("note", Role.SENSITIVE),
        )
    )
    plan = pm.design(described, pm.KAnonymity(k=5), data=table, method=method)
    told = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        release = pm.protect(table, plan, seed=1, seen=told.append)

    (seen,) = told
    copies = [str(own.message) for own in said if issubclass(own.category, Copies)]
    assert seen.above(1 / 5) is not noisy
    assert (release.certificate.statistics["unchanged_records"]["records_at_most"] < 0.2) is noisy
    assert copies == [] if noisy else copies == [seen.warning(1 / 5)]


def test_key_after_key_copies_less():
    """The same groups, fewer records as they were; nothing has to be allowed."""
    told = []
    for method in (Resample(allow_unchanged=True), Resample(draw="sequential")):
        plan = pm.design(schema(), pm.KAnonymity(k=20), data=people(), method=method)
        pm.protect(people(), plan, seed=1, seen=told.append)

    assert told[0].unique_share >= 0.6
    assert told[1].unique_share <= 0.4


def test_key_after_key_is_refused_where_combinations_are_impossible():
    """It can make combinations that no record has."""
    ruled = schema(income=True, impossible=(Impossible.of({"a": [0], "b": [1]}),))
    table = people(income=True)
    table = table.filter(pa.array((table["a"].to_numpy() != 0) | (table["b"].to_numpy() != 1)))
    with pytest.raises(InvalidSchema, match="impossible"):
        pm.design(ruled, pm.KAnonymity(k=5), data=table, method=Resample(draw="sequential"))


def test_a_certificate_with_other_figures_is_not_valid(tmp_path):
    """Shares beside the grid are found out; those on it are the owner's word."""
    plan = pm.design(
        schema(income=True), pm.KAnonymity(k=10), data=people(income=True), method="permute"
    )
    release = pm.protect(people(income=True), plan, seed=1, accept_risk=["income"])
    good = release.save(tmp_path / "good").verify()
    shares = {"records_at_most": 0.123, "unique_records_at_most": 0.123}
    figures = {**release.certificate.statistics, "unchanged_records": shares}
    forged = replace(release, certificate=replace(release.certificate, statistics=figures))

    assert good.valid
    assert not forged.save(tmp_path / "forged").verify().valid


def test_matrices_made_from_the_data_say_what_they_leave(tmp_path):
    """The certificate has what the owner finds, with room for chance, on the grid; it verifies."""
    plan = pm.design(schema(income=True), pm.CorrectMatch(xi=0.9), data=people(income=True))
    release = pm.protect(
        people(income=True), plan, to=tmp_path / "release", seed=1, accept_risk=["income"]
    )
    seen = pm.unchanged_records(release, people(income=True))

    assert release.certificate.kind == "withheld"
    stated = release.certificate.statistics["unchanged_records"]
    assert seen.share <= stated["records_at_most"]
    assert seen.unique_share <= stated["unique_records_at_most"]
    assert release.verify().valid


def test_fixed_matrices_tell_nothing_of_the_truth_beside_them():
    """A count of copies would be a figure of the truth in a release that promises epsilon."""
    plan = pm.design(schema(), pm.PkAnonymity(k=5), data=people(), method="retention")

    assert "unchanged_records" not in pm.protect(people(), plan, seed=1).certificate.statistics


@pytest.mark.parametrize(
    ("method", "asked"),
    [
        ("retention", pm.PkAnonymity(k=2)),
        (pm.Invariant(stay=0.5), None),
        ("attribute-sampling", pm.PkAnonymity(k=2)),
        ("permute", pm.KAnonymity(k=5)),
        ("centroid", pm.KAnonymity(k=5)),
    ],
)
@pytest.mark.parametrize("saved", [True, False])
def test_the_owner_is_told_what_is_counted_afterwards(method, asked, saved, tmp_path):
    """Every kind of release, on the way to a folder and in memory."""
    table, described, told = people(income=True), schema(income=True), []
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    targets = () if asked is None else (asked,)
    plan = pm.design(described, *targets, data=tmp_path / "t.parquet", method=method)
    to = tmp_path / "out" if saved else None
    release = pm.protect(
        tmp_path / "t.parquet", plan, to=to, seed=3, seen=told.append, accept_risk=["income"]
    )

    counted = pm.unchanged_records(release, table)
    assert counted.records == 600
    if method == "attribute-sampling" and not told:  # no set has all columns
        assert counted.matched == 0
    else:
        assert told == [counted]


def test_a_number_of_a_record_is_the_same_however_its_columns_are_kept():
    """Dictionaries in any order, plain values, slices; and another record has another one."""
    table = people()
    texts = pa.table({n: table[n].cast(pa.string()) for n in NAMES}).combine_chunks()
    backwards = pa.array([str(v) for v in reversed(range(8))])
    turned = pa.table(
        {
            n: pa.DictionaryArray.from_arrays(
                pa.array(7 - table[n].to_numpy(), pa.int32()), backwards
            )
            for n in NAMES
        }
    )
    columns = schema().released
    plain, coded = (numbers_of(columns, t.to_batches()[0], released=False) for t in (texts, turned))

    assert (plain == coded).all()
    assert (
        numbers_of(columns, turned.to_batches()[0].slice(17), released=True) == plain[17:]
    ).all()
    assert len(set(plain.tolist())) == len(
        set(zip(*(table[n].to_pylist() for n in NAMES), strict=True))
    )


def test_texts_have_a_number_by_all_their_bytes():
    """Ends, zeros and lengths count; the number is the same wherever a text stands."""
    texts = ["", "a", "a\0", "\0a", "aaaaaaaa", "aaaaaaaab", "baaaaaaaa", "a" * 16, "a" * 17, None]
    column = Column("note", Role.SENSITIVE)
    batch = pa.record_batch({"note": pa.array(texts * 3)})
    numbers = numbers_of((column,), batch, released=False).reshape(3, -1)

    assert (numbers == numbers[0]).all()
    assert len(set(numbers[0].tolist())) == len(texts)
