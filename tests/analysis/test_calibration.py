"""Tables calibrated to published totals: exact margins, least errors, intervals that hold."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm

RECORDS = 4_000
SCHEMA = pm.Schema(
    (
        pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))),
        pm.Column("edu", pm.Role.KEY, pm.Categories(("a", "b", "c"))),
        pm.Column("place", pm.Role.PUBLIC),
        pm.Column("car", pm.Role.PUBLIC),
    )
)


@cache
def people() -> pa.Table:
    rng = np.random.default_rng(8)
    sex = rng.choice(2, RECORDS, p=[0.6, 0.4])
    edu = np.minimum(sex + rng.choice(3, RECORDS, p=[0.5, 0.3, 0.2]), 2)
    place = rng.choice(2, RECORDS, p=[0.3, 0.7])
    car = np.where(rng.random(RECORDS) < 0.5, place, rng.choice(2, RECORDS))
    return pa.table(
        {
            "sex": np.array(["F", "M"])[sex],
            "edu": np.array(["a", "b", "c"])[edu],
            "place": np.array(["n", "s"])[place],
            "car": np.array(["no", "yes"])[car],
        }
    )


@cache
def released(method: str, seed: int):
    if method == "shuffled-marginals":
        schema = pm.Schema(SCHEMA.columns[:2])
        target = pm.ShuffledPrivacy(epsilon=1, delta=1e-6)
        plan = pm.design(schema, target, records=RECORDS, method=method)
        plan = replace(plan, asked=(), attained=())  # a seed voids a central guarantee
        return pm.protect(people().select(["sex", "edu"]), plan, seed=seed)
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=10), data=people(), method=method)
    return pm.protect(people(), plan, seed=seed)


def _counted(names) -> np.ndarray:
    columns = [np.unique(people()[name].to_pylist(), return_inverse=True) for name in names]
    counts = np.zeros([len(values) for values, _ in columns])
    np.add.at(counts, tuple(codes for _, codes in columns), 1)
    return counts


def margins(*names: str) -> dict[str, dict[str, float]]:
    found = {}
    for name in names:
        values, counts = np.unique(people()[name].to_pylist(), return_counts=True)
        found[name] = dict(zip(values.tolist(), counts.tolist(), strict=True))
    return found


def test_one_margin_of_unrandomised_columns_is_post_stratification():
    """About the population a simple sample is calibrated by N_h n_hc / n_h in every stratum."""
    table = released("retention", 1).crosstab("place", "car", infer="population")
    made = table.calibrate({"place": {"n": 310, "s": 690}})
    counts, sizes = _counted(("place", "car")), RECORDS * np.array([[0.31], [0.69]])

    expected = sizes * counts / counts.sum(axis=1, keepdims=True)
    assert made.estimate == pytest.approx(expected)
    within = counts / counts.sum(axis=1, keepdims=True)
    variance = sizes**2 * within * (1 - within) / counts.sum(axis=1, keepdims=True)
    assert made.se == pytest.approx(np.sqrt(variance), rel=0.05)
    assert (made.se < table.se).all()


@pytest.mark.parametrize("method", ["retention", "attribute-sampling", "shuffled-marginals"])
def test_margins_are_met_and_errors_are_those_of_least_squares(method):
    """The solution of the linear equations of a constrained least-squares problem."""
    table = released(method, 2).crosstab("sex", "edu", method="unbiased")
    made = table.calibrate(margins("sex", "edu"))
    units = [unit.reshape(2, 3) for unit in np.eye(6)]
    covariance = table.together.covariance(units)
    totals, cell = _counted(("sex", "edu")), np.indices((2, 3))
    wanted = np.concatenate([totals.sum(axis=1), totals.sum(axis=0)[:2]])
    masks = (cell[0] == 0, cell[0] == 1, cell[1] == 0, cell[1] == 1)
    rows = np.array([mask.ravel() for mask in masks], dtype=float)
    # The least (x - t)' C (x - t) with rows x = wanted, C the inverse covariance.
    inverse = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)
    free = np.linalg.svd(rows)[2][4:].T
    start = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    gap = table.unbiased.ravel() - start
    best = (
        start
        + free @ np.linalg.lstsq(free.T @ inverse @ free, free.T @ inverse @ gap, rcond=None)[0]
    )

    assert made.estimate.sum(axis=1) == pytest.approx(totals.sum(axis=1))
    assert made.estimate.sum(axis=0) == pytest.approx(totals.sum(axis=0))
    assert made.estimate.ravel() == pytest.approx(best, rel=1e-4)
    assert (made.se < table.se).all()
    assert made.method == "calibrated"


@pytest.mark.parametrize("method", ["retention", "shuffled-marginals"])
@pytest.mark.deep
def test_calibrated_tables_are_unbiased_and_their_intervals_hold(method):
    """Over 100 releases: mean within 4.5 of its errors, 92 to 98 % inside, errors within 15 %,
    and smaller than those of the table before."""
    true, found = _counted(("sex", "edu")), []
    for seed in range(100, 200):
        table = released(method, seed).crosstab("sex", "edu", method="unbiased")
        made = table.calibrate(margins("sex", "edu"))
        found.append((made.estimate, made.se, made.low, made.high, table.se))
    estimate, se, low, high, before = (np.array(part) for part in zip(*found, strict=True))
    spread = estimate.std(axis=0)

    assert np.abs((estimate.mean(axis=0) - true) / spread * np.sqrt(100)).max() < 4.5
    assert 0.92 <= ((low <= true) & (true <= high)).mean() <= 0.98
    assert np.sqrt((se**2).mean(axis=0)) == pytest.approx(spread, rel=0.15)
    assert before.mean() > 1.02 * spread.mean()


def test_shares_are_calibrated_as_counts_are(tmp_path):
    """Of all records; from a file too."""
    release = released("retention", 3)
    counts = release.crosstab("sex", "edu").calibrate(margins("edu"))
    shares = release.crosstab("sex", "edu", share=True)
    lines = [f"edu,{value},{total}" for value, total in margins("edu")["edu"].items()]
    (tmp_path / "margins.csv").write_text("\n".join(["column,value,total", *lines]) + "\n")
    made = shares.calibrate(tmp_path / "margins.csv")

    assert made.estimate == pytest.approx(counts.estimate / RECORDS)
    assert made.se == pytest.approx(counts.se / RECORDS)
    assert made.difference(("F", "a"), ("M", "a")).estimate == pytest.approx(
        float(made.estimate[0, 0] - made.estimate[1, 0])
    )


def test_what_cannot_be_calibrated_is_refused():
    """Row shares, means, other columns, and counts that are known to be others."""
    release = released("retention", 3)
    with pytest.raises(pm.NotCovered, match="shares of all records"):
        release.crosstab("sex", "edu", share="row").calibrate(margins("edu"))
    with pytest.raises(pm.UnknownColumn, match="'edu', which is no column of the table"):
        release.crosstab("sex").calibrate(margins("edu"))
    with pytest.raises(pm.NotCovered, match="contradict counts"):
        release.crosstab("place", "sex").calibrate({"place": {"n": 1, "s": 1}})


def test_a_total_that_errs_does_not_end_intervals():
    """With a filter by a randomised column the total is estimated: it is no upper end of a cell."""
    release = released("retention", 1)
    table = release.crosstab("place", where="edu == 'c' and place == 's'")
    made = table.calibrate({"place": {"s": 1}})
    assert made.high.max() > table.unbiased.sum() + made.se.max()
    assert made.why.endswith(table.why)
    whole = release.crosstab("sex", "edu").calibrate({"sex": {"F": 6, "M": 4}})
    assert whole.high.max() <= RECORDS


def test_a_value_given_twice_is_refused(tmp_path):
    """The last one would win in silence."""
    file = tmp_path / "margins.csv"
    file.write_text("column,value,total\nsex,F,1\nsex,M,2\nsex,F,3\n")
    with pytest.raises(pm.InvalidNumber, match="a value twice"):
        released("retention", 1).crosstab("sex", "edu").calibrate(file)
