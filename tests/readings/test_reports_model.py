"""What the model of the whole table answers for a release by reports."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.errors import NotCovered
from pramana.model.beside import ReportsBeside, SetAnswers
from pramana.model.climb import ClassClimb, margins_of
from pramana.model.observed import Feature
from pramana.randomness import Keystream

N = 5_000


@pytest.fixture(scope="module")
def people():
    """Education goes with age, income and work with education; the region with nothing."""
    rng = np.random.default_rng(1)
    age = rng.integers(0, 6, N)
    education = np.clip(age // 2 + rng.integers(0, 3, N), 0, 4)
    return pa.table({
        "age": age, "education": education, "region": rng.integers(0, 4, N),
        "income": np.round(20_000 + 8_000 * education + rng.normal(0, 5_000, N)),
        "work": np.where(rng.random(N) < 0.2 + 0.15 * education, "yes", "no"),
    })  # fmt: skip


@pytest.fixture(scope="module")
def release(people):
    """Reports of pairs at most; income and work stand beside."""
    schema = pm.describe(people, keys=["age", "education", "region"], sensitive=["income", "work"])
    plan = pm.design(schema, pm.PkAnonymity(k=5), records=N, method="reports")
    return pm.protect(people, plan, seed=1)


def test_rebuilt_records_tie_reported_columns_to_those_beside(people, release):
    """Income by education comes back to within a tenth of its range; what stands beside stays."""
    made = release.rebuild(seed=1).to_pandas()
    truth = people.to_pandas()
    means = [own.groupby("education").income.mean().to_numpy() for own in (truth, made)]

    assert np.abs(means[0] - means[1]).max() < 0.1 * np.ptp(means[0])
    assert np.ptp(made.groupby("region").income.mean()) < 0.1 * np.ptp(means[0])
    assert sorted(made.income) == sorted(truth.income)
    shares = [own.groupby("education").work.apply(lambda w: (w == "yes").mean())
              for own in (truth, made)]  # fmt: skip
    assert np.abs(shares[0].to_numpy() - shares[1].to_numpy()).max() < 0.15


def test_a_table_that_no_report_holds_is_the_models_with_intervals(people, release):
    """Three columns at once: marked as a model's, most intervals hold the truth; nothing is there
    to be undone, and so inverse refuses."""
    names = ("age", "education", "region")
    found = release.crosstab(*names)
    truth = np.zeros(found.estimate.shape)
    np.add.at(truth, tuple(people[name].to_numpy() for name in names), 1)

    assert found.method == "model"
    assert "bootstrap" in found.why
    assert np.mean((found.low <= truth) & (truth <= found.high)) > 0.75
    assert (found.se > 0).mean() > 0.95
    with pytest.raises(NotCovered, match="nothing to undo"):
        release.crosstab(*names, method="inverse")


def test_a_report_with_what_stands_beside_climbs_its_likelihood():
    """Second road: the likelihood of y and z written out; every step climbs it."""
    rng = np.random.default_rng(3)
    beside = rng.integers(0, 3, 400)
    told = np.where(rng.random(400) < 0.6, beside, rng.integers(0, 3, 400))
    sets = (SetAnswers((0,), np.arange(400), told[:, None], 20.0),)
    features = (Feature(0, 3), Feature(1, 3))
    evidence = ReportsBeside((3, 3), features, sets, (beside,))
    observed, key = evidence.whole, Keystream.from_seed(1)
    climb = ClassClimb(observed, margins_of(observed, key), classes=2, pull=0.0, fits=1,
                       keystream=key)  # fmt: skip

    def likelihood():
        model = climb.models()[0]
        joint = np.einsum("r,ar,br->ab", model.weights, *model.profiles)
        return np.log(joint.sum(axis=0)[beside] + 20 * joint[told, beside]).sum()

    path = []
    for _ in range(25):
        climb.run(1)
        path.append(likelihood())
    # The pseudo-record of each class is the only thing besides the likelihood.
    assert all(after > before - 1e-2 for before, after in itertools.pairwise(path))
    assert path[-1] > path[0] + 10
