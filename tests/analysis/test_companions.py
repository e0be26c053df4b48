"""Columns released as they are help to rebuild the others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.analysis.layout import Layout
from pramana.analysis.synthesis import MOST_VALUES, companion_of, synthesize_records
from pramana.base.randomness import Keystream
from pramana.experiments import make_population
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import UniformMixture

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"income"}


def test_numbers_are_cut_into_tenths():
    """1,000 different numbers: ten bins of a hundred; missing ones apart."""
    numbers = np.random.default_rng(1).permutation(1000).astype(float)

    found = companion_of(pa.chunked_array([pa.array([*numbers, None])]))

    assert np.bincount(found.codes).tolist() == [100] * 10 + [1]
    assert len(found.labels) == 11


def test_a_number_of_few_values_keeps_them_apart():
    """0 and 1 are two bins, whatever their shares."""
    found = companion_of(pa.chunked_array([[0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]]))

    assert len(set(found.codes.tolist())) == 2


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([[f"name {number}" for number in range(MOST_VALUES + 1)]]),
        pa.chunked_array([pa.array([None, None], pa.string())]),
        pa.chunked_array([pa.array([None], pa.float64())]),
        pa.chunked_array([pa.array([[1]], pa.list_(pa.int64()))]),
    ],
)
def test_columns_that_cannot_help_are_left_out(column):
    """Names, columns without values, kinds that are no categories."""
    assert companion_of(column) is None


def test_dictionaries_are_read_by_value():
    """The order of appearance does not matter."""
    column = pa.chunked_array([pa.array(["b", "a", "b"]).dictionary_encode()])

    found = companion_of(column)

    assert found.labels == ("a", "b")
    assert found.codes.tolist() == [1, 0, 1]


def test_dependence_on_a_companion_comes_back():
    """A randomised column that follows an income: rebuilt with it, it follows it again."""
    rng = np.random.default_rng(2)
    income = rng.normal(size=20_000)
    degree = (income + 0.5 * rng.normal(size=20_000) > 0).astype(np.uint8)
    released = np.where(rng.random(20_000) < 0.4, degree, rng.integers(0, 2, 20_000))
    companion = companion_of(pa.chunked_array([income]))
    step = Step(("degree",), UniformMixture.of((0, 1), retention=0.4))
    labels = {"degree": (0, 1), "income": companion.labels}

    def correlation(columns, codes):
        layout = Layout.of(columns, labels=labels, mechanism=Mechanism((step,)), most=np.inf)
        found = synthesize_records(codes, layout, keystream=Keystream.from_seed(3))
        return np.corrcoef(found.codes[0], income)[0, 1]

    alone = correlation(["degree"], [released.astype(np.uint8)])
    together = correlation(["degree", "income"], [released.astype(np.uint8), companion.codes])

    truth = np.corrcoef(degree, income)[0, 1]
    assert abs(together - truth) < 0.05
    assert alone < truth / 2


def test_a_release_is_rebuilt_in_the_company_of_what_it_shows_as_it_is():
    """Education was randomised, income was not: in the rebuilt table they go together again.

    Six keys keep an eighth of their values each. Latent classes bring back half of what that took
    away, and no dependence among the keys that nothing confirms; ranks bring back nothing.
    """
    people = make_population(20_000, keystream=Keystream.from_seed(7))
    schema = pm.describe(
        people, keys=["sex", "education"], sensitive=["income"], identifiers=["person"]
    )
    plan = pm.design(schema, pm.PkAnonymity(k=20), records=people.num_rows, method="retention")
    release = pm.protect(people, plan, seed=1)

    def gap(table):
        frame = table.to_pandas()
        by = frame.groupby(frame["education"].astype(str))["income"].mean()
        return by["degree"] - by["primary"]

    tables = (
        people,
        release.table,
        release.synthesize(seed=2),
        release.synthesize(method="rank", seed=2),
    )
    truth, seen, synthesized, ranked = (gap(table) for table in tables)

    assert abs(synthesized - truth) < abs(seen - truth) / 2
    assert abs(synthesized - truth) < abs(ranked - truth) / 2
