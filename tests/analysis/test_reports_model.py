"""What the model of the whole table answers for a release by reports."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.analysis.latent_class_choice import ReportsWithUnchanged
from pramana.analysis.latent_classes import ClassClimb, FitSetting, margins_of
from pramana.analysis.observed import Answers, Feature
from pramana.base.randomness import Keystream
from pramana.cli.estimate import show_estimate
from pramana.errors import NotCovered

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"w", "w1", "w2"}

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
    plan = pm.design(schema, pm.PkAnonymity(k=5), records=N, method="attribute-sampling")
    return pm.protect(people, plan, seed=1)


def test_rebuilt_records_tie_reported_columns_to_those_beside(people, release):
    """Income by education comes back to within a tenth of its range; what stands beside stays."""
    made = release.synthesize(seed=1).to_pandas()
    truth = people.to_pandas()
    means = [own.groupby("education").income.mean().to_numpy() for own in (truth, made)]

    assert np.abs(means[0] - means[1]).max() < 0.1 * np.ptp(means[0])
    assert np.ptp(made.groupby("region").income.mean()) < 0.1 * np.ptp(means[0])
    assert sorted(made.income) == sorted(truth.income)
    shares = [own.groupby("education").work.apply(lambda w: (w == "yes").mean())
              for own in (truth, made)]  # fmt: skip
    assert np.abs(shares[0].to_numpy() - shares[1].to_numpy()).max() < 0.15


def test_a_table_that_no_report_holds_is_the_models_without_an_interval(people, release, capsys):
    """Three columns at once: marked as a model's, near the truth, no error anywhere, printed,
    plotted or told; nothing is there to be undone, and so inverse refuses."""
    names = ("age", "education", "region")
    found = release.crosstab(*names)
    truth = np.zeros(found.estimate.shape)
    np.add.at(truth, tuple(people[name].to_numpy() for name in names), 1)

    assert found.method == "model"
    assert np.abs(found.estimate - truth).sum() < 0.4 * N
    assert np.isnan([found.se, found.low, found.high]).all()
    assert "No interval: the error of the model is unknown" in str(found)
    assert found.to_json()["no_interval"].endswith(
        "The tables of age and education, of age and region, of education and region "
        "have intervals."
    )
    show_estimate(found, release.certificate.labels)
    shown = capsys.readouterr().out
    assert "No interval" in shown
    assert "% interval" not in shown
    assert "Intervals are valid" not in shown
    with pytest.raises(NotCovered, match="no unbiased estimate"):
        release.crosstab(*names, method="unbiased")
    with pytest.raises(NotCovered, match="about the population"):
        release.crosstab(*names, infer="population")


@pytest.fixture(scope="module")
def weighted():
    """Who is in the last group weighs five times as much."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 5, N)
    b, c = (np.where(rng.random(N) < 0.6, a, rng.integers(0, 5, N)) for _ in range(2))
    heavy = np.where(a == 4, 50.0, 10.0)
    return pa.table({"a": a, "b": b, "c": c, "w": heavy, "w1": heavy, "w2": heavy})


def _released(table, method):
    schema = pm.describe(table, keys=["a", "b", "c"], weight="w", sensitive=["w1", "w2"])
    asked = pm.DifferentialPrivacy(epsilon=4)
    plan = pm.design(schema, asked, data=table, method=method)
    return pm.protect(table, plan, seed=3)


def test_a_table_from_the_model_is_never_said_to_be_weighted(weighted):
    """The model counts records: with weights or replicates it refuses and says the way out."""
    release, names = _released(weighted, "attribute-sampling"), ("a", "b", "c")
    by_parts = pm.Replicates("w1,w2", kind="jackknife")

    for asked in (
        {}, {"share": True}, {"infer": "population"},
        {"infer": "population", "replicates": by_parts},
    ):  # fmt: skip
        with pytest.raises(NotCovered, match="weighted=False.*--unweighted"):
            release.crosstab(*names, **asked)
    found = release.crosstab(*names, weighted=False)
    assert "Weighted by" not in str(found)
    assert found.estimate.sum() == pytest.approx(N)


@pytest.mark.parametrize("method", ["attribute-sampling", "retention"])
def test_rebuilt_records_keep_the_tie_of_the_weight(weighted, method):
    """Weighted shares of rebuilt records are those of the truth, and not those of the records."""
    table = weighted.drop_columns(["c", "w1", "w2"])
    schema = pm.describe(table, keys=["a", "b"], weight="w")
    plan = pm.design(schema, pm.DifferentialPrivacy(epsilon=6), data=table, method=method)
    made = pm.protect(table, plan, seed=3).synthesize(seed=1).to_pandas()
    truth = table.to_pandas()
    shares = [own.w[own.a == 4].sum() / own.w.sum() for own in (truth, made)]

    assert shares[0] > 0.5
    assert shares[1] == pytest.approx(shares[0], abs=0.06)


def test_a_report_with_what_stands_beside_climbs_its_likelihood():
    """Second road: the likelihood of y and z written out; every step climbs it."""
    rng = np.random.default_rng(3)
    beside = rng.integers(0, 3, 400)
    told = np.where(rng.random(400) < 0.6, beside, rng.integers(0, 3, 400))
    answers = Answers((0,), told[:, None], np.ones(400), 1.0, 20.0)
    sets = ((np.arange(400), answers),)
    features = (Feature(0, 3), Feature(1, 3))
    evidence = ReportsWithUnchanged((3, 3), features, sets, (beside,))
    observed, key = evidence.whole, Keystream.from_seed(1)
    climb = ClassClimb(observed, margins_of(observed, key), FitSetting(2, 0.0, 0), key)

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


def test_few_reports_tell_what_they_can():
    """By chance no record is asked for a pair, or for a column; a part held out may be empty."""
    keys = {"a": "xy", "b": "uvw", "c": "pq"}
    table = pa.table({name: list((own * 2)[:2]) for name, own in keys.items()})
    columns = (pm.Column(n, pm.Role.KEY, pm.Categories(tuple(own))) for n, own in keys.items())
    plan = pm.design(
        pm.Schema(tuple(columns)),
        pm.DifferentialPrivacy(1.0),
        data=table,
        method="attribute-sampling",
    )
    found = set()
    for seed in range(8):
        release = pm.protect(table, plan, seed=seed)
        assert len(release.synthesize(seed=1)) == 2
        told = {frozenset(own.split("*")) for own in release.table["reported"].to_pylist()}
        silent = {"a", "b"} - frozenset.union(*told)
        if any({"a", "b"} <= own for own in told):
            found.add("told")
        elif silent:
            found.add("silent")
            with pytest.raises(NotCovered, match=f"chance asked nobody for {min(silent)}"):
                release.crosstab("a", "b")
        else:
            found.add("modelled")
            assert release.crosstab("a", "b").method == "model"
            with pytest.raises(NotCovered, match="their dependence is unknown"):
                release.independence("a", "b")
    assert found == {"told", "silent", "modelled"}
