"""What users of pandas and statsmodels write works."""

from __future__ import annotations

import numpy as np
import polars
import pyarrow as pa
import pytest

import pramana as pm


@pytest.fixture(scope="module")
def people():
    """Numbers released unchanged beside randomised keys."""
    draw = np.random.default_rng(1)
    age = draw.integers(18, 80, 4000)
    return pa.table({
        "sex": draw.choice(["F", "M"], 4000),
        "age": age,
        "income": np.round(20 * age + draw.normal(0, 300, 4000)),
    })  # fmt: skip


@pytest.fixture(scope="module")
def release(people, tmp_path_factory):
    """Whole records in a folder."""
    schema = pm.describe(people, keys=["sex"], sensitive=["income"], public=["age"])
    plan = pm.design(schema, pm.DifferentialPrivacy(4), data=people, method="retention")
    made = pm.protect(people, plan, seed=1, accept_risk=["income", "age"])
    return made.save(tmp_path_factory.mktemp("familiar") / "release")


def test_standard_deviations_and_correlations_are_those_of_the_records(release, people):
    """Of columns released unchanged to the digit, with errors about the population."""
    frame = people.to_pandas()
    deviation, correlation = release.std("income"), release.corr("age", "income")
    assert deviation.estimate == pytest.approx(frame.income.std(ddof=0))
    assert correlation.estimate == pytest.approx(frame.age.corr(frame.income))
    assert correlation.low < correlation.estimate < correlation.high <= 1
    # of a normal sample sd / sqrt(2 n); incomes are nearly even between two ends, so less
    assert 0.5 < deviation.se / (deviation.estimate / np.sqrt(2 * 4000)) < 1.1
    with pytest.raises(pm.InvalidTable, match="of two columns"):
        release.corr("income", "income")
    women = frame[frame.sex == "F"].income
    shown = release.std("income", where="sex == 'F'")
    assert abs(shown.estimate - women.std()) < 4 * shown.se


@pytest.mark.deep
def test_errors_of_standard_deviations_hold_over_samples():
    """Over 200 samples of 500 people the intervals hold the deviation of the population."""
    held = []
    for seed in range(200):
        numbers = np.random.default_rng(seed).gamma(4, 10, 500)
        table = pa.table({"x": np.round(numbers, 6), "a": ["u", "v"] * 250})
        schema = pm.describe(table, keys=["a"], sensitive=["x"])
        plan = pm.design(schema, pm.DifferentialPrivacy(2), data=table, method="retention")
        shown = pm.protect(table, plan, seed=seed, accept_risk=["x"]).std("x")
        held.append(bool(shown.low <= 20 <= shown.high))
    assert 0.89 < np.mean(held) < 0.985


def test_several_means_stand_in_one_table(release):
    """One row a column and group, each as if asked alone."""
    both = release.mean(["income", "age"], by=["sex"])
    assert both.by == ("column", "sex")
    alone = release.mean("age", by=["sex"])
    assert both["age", "F"] == alone["F"]
    assert len(both.to_pandas()) == 4
    with pytest.raises(pm.InvalidTable, match="at least one column"):
        release.mean([])


@pytest.mark.parametrize(("like", "kind"), [("arrow", pa.Table), ("polars", polars.DataFrame)])
def test_load_gives_frames_of_the_kind_that_is_asked_for(release, like, kind):
    """Records and results."""
    loaded = pm.load(release.folder, like=like)
    assert isinstance(loaded.table, kind)
    assert isinstance(loaded.crosstab("sex").to_frame(), kind)
    assert len(loaded.to_pandas()) == len(loaded.to_polars()) == len(loaded)
    with pytest.raises(pm.InputError, match="like must be one of arrow, pandas, polars"):
        pm.load(release.folder, like="spark")


def test_models_answer_as_those_of_statsmodels(release):
    """Coefficients by name, and their covariance."""
    model = release.regress("income ~ age + C(sex)")
    assert list(model.to_pandas().name) == list(model.params.index)
    covariance = model.cov_params()
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), model.bse)


def test_completion_shows_what_an_analyst_needs(release):
    """Verbs and records, and nothing of the estimators."""
    shown = {name for name in dir(release) if not name.startswith("_")}
    assert {"crosstab", "mean", "regress", "synthesize", "to_pandas", "verify"} <= shown
    assert not {"reading", "opened", "require_sound"} & shown
    assert "stacked" not in dir(release.crosstab("sex"))
