"""Tests of bins on columns that are not randomised, and of centres of categories."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from pramana import api
from pramana.base.randomness import Keystream
from pramana.errors import InvalidSchema, OutsideDomain
from pramana.guarantees.correct_match import CorrectMatch
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
from pramana.methods.frequency_preserving import Invariant
from pramana.methods.microaggregated import Resample
from pramana.release.folder import read_certificate
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

EDGES = (0, 20_000, 50_000, 200_000)
METHODS = [
    "retention",
    "attribute-sampling",
    "optimal",
    "invariant",
    "inverse-frequency",
    "resample",
    "permute",
    "gaussian",
    "centroid",
]


def people(rows: int = 1_500, *, missing: bool = False) -> pa.Table:
    """Race by numbers, age as a number, and an income that is nobody's else."""
    draw = np.random.default_rng(5)
    income = np.floor(np.exp(draw.normal(10.2, 0.8, rows))).clip(1, 199_999)
    gone = draw.random(rows) < (0.1 if missing else 0)
    return pa.table({
        "race": pa.array(draw.choice([1, 2, 3, 9], rows, p=[0.6, 0.2, 0.15, 0.05])),
        "sex": pa.array(draw.choice(["f", "m"], rows)),
        "age": pa.array(draw.integers(18, 90, rows)),
        "income": pa.array(income.astype(np.int64), mask=gone),
    })  # fmt: skip


def schema(release: str = "label", **income: object) -> Schema:
    """Two keys, an age to coarsen, and an income that is cut into three bins."""
    return Schema((
        Column("race", Role.KEY, Categories((1, 2, 3, 9)), missing="refuse"),
        Column("sex", Role.KEY, Categories(("f", "m")), missing="refuse"),
        Column("age", Role.KEY, Bins((18, 40, 60, 90)), missing="refuse"),
        Column("income", Role.SENSITIVE, Bins(EDGES, release), **income),
    ))  # fmt: skip


def plan_of(method: str, own: Schema, table: pa.Table):
    """A plan of that method with a modest target."""
    aims = {
        "retention": (PkAnonymity(k=3),),
        "attribute-sampling": (PkAnonymity(k=3),),
        "optimal": (SpontaneousRecognition(alpha=0.3),),
        "invariant": (),
        "inverse-frequency": (CorrectMatch(xi=0.5),),
    }
    how = Invariant(stay=0.6) if method == "invariant" else method
    return api.design(own, *aims.get(method, (KAnonymity(k=3),)), data=table, method=how)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.deep(every=5)
def test_a_sensitive_number_leaves_in_its_bins(tmp_path, method):
    """Three labels leave, as many of each as the truth has; the certificate says what was done."""
    table = people()
    folder = tmp_path / "release"
    release = api.protect(table, plan_of(method, schema(), table), to=folder, seed=1)

    labels = ["[0, 20000)", "[20000, 50000)", "[50000, 200000]"]
    true = np.histogram(np.asarray(table["income"]), EDGES)[0].tolist()
    found = release.opened.to_arrow()["income"].to_pylist()
    assert [found.count(label) for label in labels] == true
    verdict = api.verify(folder, original=table)
    assert verdict.valid, [check for check in verdict.checks if not check.ok]
    assert "Binned, not randomised, covered by no epsilon: income." in verdict.notes
    form = read_certificate(folder).to_json()
    assert form["schema"]["columns"][3]["treatment"] == "binned, not randomised"
    assert form["scope"]["binned_not_randomised"] == ["income"]


@pytest.mark.parametrize("method", ["retention", "resample"])
@pytest.mark.parametrize(("release", "least"), [("centre", 3), ("draw", 500)])
def test_centres_and_draws_are_numbers_in_the_same_bins(method, release, least):
    """As many numbers in each bin as in the truth, and not the true ones; gaps stay gaps."""
    table = people(missing=True)
    made = api.protect(table, plan_of(method, schema(release), table), seed=2)

    found = made.opened.to_arrow()["income"]
    true = table["income"]
    assert found.null_count == true.null_count
    numbers, truth = (np.asarray(c.drop_null(), dtype=float) for c in (found, true))
    assert (np.histogram(numbers, EDGES)[0] == np.histogram(truth, EDGES)[0]).all()
    assert len(np.unique(numbers)) >= least
    assert np.intersect1d(numbers, truth).size < 0.2 * len(truth)


def test_a_folder_and_a_saved_release_hold_the_same_bytes(tmp_path):
    """Drawn inside bins too."""
    table = people()
    plan = plan_of("retention", schema("draw"), table)
    api.protect(table, plan, to=tmp_path / "a", seed=3, file_format="parquet")
    api.protect(table, plan, seed=3).save(tmp_path / "b")
    for name in ("data.parquet", "certificate.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("role", [Role.PUBLIC, Role.WEIGHT])
def test_bins_that_nothing_would_use_are_refused(role):
    """A known column splits the anonymity set by its values, and weights are summed: no silent
    bins.
    """
    own = schema()
    own = own.replace_columns([replace(own.column("income"), role=role)])
    with pytest.raises(InvalidSchema, match="bins of 'income' would not be used"):
        api.design(own, PkAnonymity(k=3), data=people(), method="retention")


def test_bins_of_a_stratum_are_refused():
    """Strata are told apart by their values."""
    own = replace(schema(), strata=("income",))
    with pytest.raises(InvalidSchema, match="a stratum"):
        api.design(own, PkAnonymity(k=3), data=people(), method="retention")


def test_values_outside_the_bins_are_counted_not_shown():
    """A number beyond the last edge is refused by count."""
    table = people()
    incomes = [*table["income"].to_pylist()[2:], 200_001, 300_000]
    table = table.set_column(3, "income", pa.array(incomes))
    with pytest.raises(OutsideDomain, match="2 records of 'income'"):
        api.design(schema(), PkAnonymity(k=3), data=table, method="retention")
    plan = api.design(schema(), PkAnonymity(k=3), data=people(), method="retention")
    with pytest.raises(OutsideDomain, match="2 records of 'income'"):
        api.protect(table, plan, seed=1)


def test_distinct_values_in_a_group_are_counted_in_bins():
    """Two incomes in one bin are one released value, so that a group of them is not enough."""
    table = people()
    plan = api.design(schema(), KAnonymity(k=3), data=table, method=Resample(distinct=2))
    made = plan.method.regrouped(
        plan.schema, api.open_source(table), k=3, keystream=Keystream.from_seed(1)
    )
    assert min(made.sizes) >= 3
    assert len(set(made.table["income"].to_pylist())) == 3


@pytest.mark.deep
def test_a_centre_of_categories_is_one_of_them(tmp_path):
    """Race 1, 2, 3, 9 has no mean: each group gets its commonest; a number gets its mean."""
    table = people()
    own = Schema((
        Column("race", Role.KEY, Categories((1, 2, 3, 9)), missing="refuse"),
        Column("sex", Role.KEY, Categories(("f", "m")), missing="refuse"),
        Column("age", Role.KEY),
        Column("income", Role.SENSITIVE),
    ))  # fmt: skip
    plan = api.design(own, KAnonymity(k=4), data=table, method="centroid")
    release = api.protect(table, plan, to=tmp_path / "release", seed=1)

    released = release.opened.to_arrow()
    assert set(released["race"].to_pylist()) <= {1, 2, 3, 9}
    assert any(age % 1 for age in released["age"].to_pylist())
    verdict = api.verify(tmp_path / "release", original=table)
    assert verdict.valid, [check for check in verdict.checks if not check.ok]


def test_compare_measures_centroids_of_numbers_that_are_categories():
    """A comparison with ``centroid`` in it comes to its end."""
    table = people(600)
    found = api.compare(table, schema(), methods=["centroid", "resample"], k=[3])
    assert all(outcome.measured for outcome in found.outcomes)
    assert all("equal released record" in own.note for own in found.outcomes if own.note)
