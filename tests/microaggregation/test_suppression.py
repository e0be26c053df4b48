"""Local suppression: every combination of keys occurs k times, with few missing cells."""

from __future__ import annotations

import csv
import itertools
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramana as pm
from pramana.base.rounding import coarse_up
from pramana.errors import Infeasible, InvalidSchema, NotCovered, OutsideDomain
from pramana.microaggregation.anonymisation import suppress
from pramana.verification.record_checks import record_checks

MISSING = 9_999


def after(codes: np.ndarray, k: int, strata: np.ndarray | None = None) -> tuple[np.ndarray, int]:
    """The codes with suppressed cells, and the least number that is stated."""
    result = suppress(list(codes.T), [MISSING] * codes.shape[1], k=k, strata=strata)
    return np.where(result.cells, MISSING, codes), result.least


def fewest(codes: np.ndarray, k: int) -> int:
    """The least number of missing cells by trying all of them."""
    for number in range(codes.size + 1):
        for places in itertools.combinations(range(codes.size), number):
            tried = codes.copy()
            tried.flat[list(places)] = MISSING
            if min(Counter(map(tuple, tried.tolist())).values()) >= k:
                return number
    raise AssertionError


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 4))
def test_every_combination_occurs_k_times_and_nothing_else_changes(seed, k, keys):
    """Missing cells count as a value; frequent combinations stay; strata are apart."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, size=(int(rng.integers(2 * k, 60)), keys))
    strata = np.arange(len(codes)) % 2
    released, least = after(codes, k, strata)

    cells = Counter(map(tuple, np.column_stack([released, strata]).tolist()))
    assert min(cells.values()) >= k
    assert ((released == codes) | (released == MISSING)).all()
    assert least <= (released == MISSING).sum()


@given(st.integers(0, 10**6), st.booleans())
def test_the_least_number_is_a_bound(seed, gaps):
    """By trying all cells of five records; nothing is suppressed where nothing has to be."""
    codes = np.random.default_rng(seed).integers(0, 3, size=(5, 2))
    codes[codes == 2] = MISSING if gaps else 2
    released, least = after(codes, 2)
    best = fewest(codes, 2)

    suppressed = (released == MISSING).sum() - (codes == MISSING).sum()
    assert least <= best <= suppressed
    assert (best == 0) == (suppressed == 0)


def test_the_example_of_sdcmicro():
    """francdat, keys 1 to 4: four records are unique, and six cells do.

    Records 5 and 6 differ in key 4 alone, and records 4 and 7 in keys 1 and 2.
    """
    codes = np.array([
        [1, 2, 5, 1], [1, 2, 1, 1], [1, 2, 1, 1], [3, 3, 1, 5],
        [4, 3, 1, 4], [4, 3, 1, 1], [6, 2, 1, 5], [1, 2, 5, 1],
    ])  # fmt: skip
    released, least = after(codes, 2)

    assert least == 4
    assert np.argwhere(released == MISSING).tolist() == [[3, 0], [3, 1], [4, 3], [5, 3], [6, 0],
                                                         [6, 1]]  # fmt: skip


@pytest.mark.parametrize(("k", "rare"), [(2, 2664), (3, 3452)])
def test_the_records_that_sdcmicro_counts_lose_one_cell_each(k, rare):
    """free1, keys REGION, SEX, AGE: as many cells as records with fk < k, which is the least."""
    path = Path(os.environ.get("PRAMANA_DATA", "")) / "sdcmicro_free1.csv"
    if not path.is_file():
        pytest.skip("needs sdcmicro_free1.csv in the folder PRAMANA_DATA")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    codes = np.array([[int(float(row[key])) for key in ("REGION", "SEX", "AGE")] for row in rows])
    released, least = after(codes, k)

    assert least == rare
    assert (released == MISSING).sum() == rare


def test_fewer_records_than_k_are_refused():
    """Not even with all keys missing are there k."""
    with pytest.raises(Infeasible):
        suppress([np.array([0, 1])], [9], k=3)


def people() -> pa.Table:
    """Two keys, one with missing values, with rare combinations, and a sensitive column."""
    rng = np.random.default_rng(3)
    town = rng.choice(["a", "b", "c", "d", "e"], 400, p=[0.6, 0.3, 0.06, 0.03, 0.01])
    age = np.minimum(rng.geometric(0.3, 400), 9)
    shown = [
        None if draw < 0.02 else value
        for draw, value in zip(rng.random(400), town.tolist(), strict=True)
    ]
    return pa.table({"town": shown, "age": age, "ill": rng.choice(["no", "yes"], 400)})


SCHEMA = pm.Schema(
    (
        pm.Column("town", pm.Role.KEY, pm.Categories(tuple("abcde")), missing="category"),
        pm.Column("age", pm.Role.KEY, pm.Categories(tuple(range(1, 10)), ordered=True)),
        pm.Column("ill", pm.Role.SENSITIVE),
    )
)


@pytest.mark.parametrize("method", [pm.Permute, pm.Resample, pm.Gaussian])
def test_a_release_says_what_was_suppressed(method, tmp_path):
    """In the certificate; anyone counts combinations again; estimates state no error."""
    asked = method(suppress=True)
    plan = pm.design(SCHEMA, pm.KAnonymity(k=5), data=people(), method=asked)
    release = pm.protect(people(), plan, to=tmp_path / "release", seed=1)
    columns = [release.table[name].to_pylist() for name in ("town", "age")]
    cells = Counter(zip(*columns, strict=True))
    certificate = release.certificate

    assert min(cells.values()) >= 5
    assert certificate.options["suppress"] is True
    missing = sum(release.table[name].null_count for name in ("town", "age"))
    before = people()["town"].null_count
    stated = certificate.statistics["suppressed_cells"]
    assert 0 < missing - 3 * before <= stated["at_most"]
    assert 0 < stated["least"] <= missing
    assert "missing" in certificate.statistics["meaning"]
    verdict = pm.verify(tmp_path / "release", original=people())
    assert verdict.valid, verdict
    assert "records with the same keys" in {check.name for check in verdict.checks}
    found = release.crosstab("town")
    assert "set to missing" in found.no_interval
    assert np.isnan(found.low).all()
    with pytest.raises(NotCovered):
        release.independence("town", "age")
    assert type(asked).from_certificate(certificate) == asked


def altered_checks(release, change):
    """The checks on suppressed cells of a certificate that states other numbers."""
    statistics = release.certificate.statistics
    stated = {**statistics, "suppressed_cells": statistics["suppressed_cells"] | change}
    certificate = replace(release.certificate, statistics=stated)
    checks = record_checks(certificate, release.opened, None)
    return [check for check in checks if check.name == "suppressed cells"]


def test_verify_counts_the_missing_cells_that_are_stated(tmp_path):
    """Ages could not be missing before: as many as are missing now were suppressed, no fewer."""
    plan = pm.design(SCHEMA, pm.KAnonymity(k=5), data=people(), method=pm.Permute(suppress=True))
    release = pm.protect(people(), plan, to=tmp_path / "release", seed=1)
    missing = sum(release.table[name].null_count for name in ("town", "age"))
    suppressed = release.table["age"].null_count
    stated = release.certificate.statistics["suppressed_cells"]
    (check,) = [c for c in release.verify().checks if c.name == "suppressed cells"]
    assert stated["complete_keys"] == ["age"]
    assert check.state == "asserted"
    assert f"{missing} cells of keys missing" in check.detail
    words = f"at least {stated['least']} and at most {stated['at_most']} cells of keys to missing"
    assert words in (tmp_path / "release" / "README.md").read_text()
    assert words in pm.report(release).html

    assert suppressed > 10
    too_many = ({"least": missing + 1, "at_most": 500}, {"at_most": 500}, {"at_most": 101})
    for change in (*too_many, {"least": 0, "at_most": 10}, {"least": 0, "at_most": 0}):
        (check,) = altered_checks(release, change)
        assert check.state == "failed", change


def test_suppressed_cells_are_proven_where_no_key_could_be_missing(tmp_path):
    """The number of missing cells is the number of suppressed ones."""
    table = people().set_column(0, "town", people()["town"].fill_null("a"))
    schema = pm.Schema(
        (pm.Column("town", pm.Role.KEY, pm.Categories(tuple("abcde"))), *SCHEMA.columns[1:])
    )
    plan = pm.design(schema, pm.KAnonymity(k=5), data=table, method=pm.Permute(suppress=True))
    release = pm.protect(table, plan, to=tmp_path / "release", seed=1)
    missing = sum(release.table[name].null_count for name in ("town", "age"))
    (check,) = altered_checks(release, {})

    assert check.state == "passed"
    assert release.certificate.statistics["suppressed_cells"]["at_most"] == coarse_up(missing)
    for at_most in (0, 1, 5, 10, 100, 200):
        (check,) = altered_checks(release, {"least": 0, "at_most": at_most})
        assert (check.state == "passed") == (at_most == coarse_up(missing))


def test_suppression_does_not_admit_missing_values_that_the_schema_refuses():
    """Designed without the data: missing cells of the release alone were suppressed."""
    town = pm.Column("town", pm.Role.KEY, pm.Categories(tuple("abcde")))
    schema = pm.Schema((town, *SCHEMA.columns[1:]))
    asked = pm.Permute(suppress=True)
    plan = pm.design(schema, pm.KAnonymity(k=5), records=400, method=asked)
    with pytest.raises(OutsideDomain):
        pm.protect(people(), plan, seed=1)


def test_without_suppression_certificates_are_as_before(tmp_path):
    """The option is stated only where it was used."""
    plan = pm.design(SCHEMA, pm.KAnonymity(k=5), data=people(), method="permute")
    certificate = pm.protect(people(), plan, to=tmp_path / "release", seed=1).certificate

    assert "suppress" not in certificate.options
    assert "suppressed_cells" not in certificate.statistics


def test_numbers_without_categories_are_served_and_drawn_ones_refused():
    """Whole numbers repeat; numbers drawn inside bins would nearly all be missing."""
    town, _, ill = SCHEMA.columns
    asked = pm.Permute(suppress=True)
    open_age = pm.Schema((town, pm.Column("age", pm.Role.KEY), ill))
    plan = pm.design(open_age, pm.KAnonymity(k=5), data=people(), method=asked)
    release = pm.protect(people(), plan, seed=1)
    columns = [release.table[name].to_pylist() for name in ("town", "age")]
    assert min(Counter(zip(*columns, strict=True)).values()) >= 5

    bins = pm.Bins((1, 4, 10), release="draw")
    schema = pm.Schema((town, pm.Column("age", pm.Role.KEY, bins), ill))
    with pytest.raises(InvalidSchema) as error:
        pm.design(schema, pm.KAnonymity(k=5), data=people(), method=asked)
    assert error.value.fields["column"] == "age"


@pytest.mark.parametrize(
    "method", [pm.Centroid(min_size=40), pm.Permute(min_size=40, suppress=True)]
)
def test_groups_may_be_larger_than_k(method, tmp_path):
    """The k that was asked for stays the guarantee; what members share, 40 share, and no fewer."""
    plan = pm.design(SCHEMA, pm.KAnonymity(k=5), data=people(), method=method)
    release = pm.protect(people(), plan, to=tmp_path / "release", seed=1)
    columns = [release.table[name].to_pylist() for name in ("town", "age")]
    assert min(Counter(zip(*columns, strict=True)).values()) >= 40
    assert [claim.attained.k for claim in release.certificate.claims] == [5]
    assert "at least 40" in release.certificate.statistics["meaning"]
    verdict = pm.verify(tmp_path / "release", original=people())
    assert verdict.valid, verdict

    certificate = release.certificate
    more = replace(certificate, options={**certificate.options, "min_size": 350})
    failed = [check.name for check in record_checks(more, release.opened, None) if not check.ok]
    assert "records with the same keys" in failed
    with pytest.raises(Infeasible):
        pm.design(SCHEMA, pm.KAnonymity(k=5), data=people(), method=pm.Permute(min_size=401))
