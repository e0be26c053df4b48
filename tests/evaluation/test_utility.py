"""What a release is worth, at face value and by estimates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.release.people import people, plan

from pramana import api
from pramana.evaluation.utility import assess_utility
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.io.opening import open_table
from pramana.methods.attribute_sampling import AttributeSampling


@pytest.fixture(scope="module")
def truth() -> pa.Table:
    return people(3000)


def test_estimates_are_nearer_to_the_truth_than_the_release(truth):
    """Undoing the matrices pays: on average over tables by more than half of the distance."""
    release = api.protect(truth, plan(20, records=3000), seed=1)
    found = assess_utility(release, open_table(truth))

    assert [t.columns for t in found.tables] == [
        ("sex",), ("age",), ("marital",), ("sex", "age"), ("sex", "marital"), ("age", "marital"),
    ]  # fmt: skip
    for width in (1, 2):
        assert found.mean_l1(width=width) < 0.6 * found.mean_l1(width=width, estimated=False)
    assert found.model.ratio > 1
    assert "face value" in found.sentences()[0]


def test_nothing_changed_loses_nothing(truth):
    """With retention 1 both roads give the truth."""
    release = api.protect(truth, plan(1, records=3000), seed=1)
    found = assess_utility(release, open_table(truth))

    assert found.mean_l1(width=2) == pytest.approx(0, abs=1e-9)
    assert found.tables[0].overlap_raw == pytest.approx(1)
    assert all(t.association.raw == pytest.approx(t.association.original) for t in found.tables[3:])
    assert found.model.ratio == pytest.approx(0, abs=1e-6)


def test_a_release_without_matrices_is_taken_at_face_value(truth):
    """Withheld matrices: two-way tables cannot be estimated, and are compared as released."""
    release = api.protect(truth, plan(20, records=3000), seed=1)
    secret = replace(
        release, certificate=replace(release.certificate, kind="withheld", mechanism=None)
    )
    found = assess_utility(secret, open_table(truth))

    assert all(t.estimated is None for t in found.tables)
    assert found.mean_l1(width=2) == found.mean_l1(width=2, estimated=False)
    assert found.tables[0].method == "as released"


def test_a_pair_that_no_report_holds_is_the_models_and_has_no_interval_to_compare():
    """Its estimate counts all the same, and nothing that is written holds a number that is none."""
    random = np.random.default_rng(5)
    table = pa.table({name: random.integers(0, 6, 2000) for name in "abcd"})
    schema, method = api.describe(table, keys=list("abcd")), AttributeSampling(tables="a*b,c*d")
    stated = api.design(schema, PkAnonymity(k=2), data=table, method=method)
    found = assess_utility(api.protect(table, stated, seed=1), open_table(table))
    modelled = [table for table in found.tables if table.method == "model"]

    assert modelled
    for table in found.tables:
        assert table.estimated is not None
        assert (table.overlap_estimated is None) == (table in modelled)
    assert np.isfinite(list(found.losses.values())).all()
