"""Attacks on reports: likelihoods by hand, runs by frequency, and the verbs of an owner."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from tests.analysis.releases import plan_of, released, truth

import pramana as pm
from pramana import api
from pramana.base.randomness import Keystream
from pramana.base.rounding import TOTAL
from pramana.io.opening import open_table
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet
from pramana.mechanisms.transition import UniformMixture
from pramana.risk.attacks.attacker_records import Records, read_pair, rerun
from pramana.risk.attacks.linkage import exact_posterior, expected_released, nearest_scores
from pramana.risk.attacks.scores import likelihood_scores

SEX, AGE = ("f", "m"), ("young", "middle", "old")
MECHANISM = AttributeSampler(
    sets=(
        AttributeSet(("sex", "age"), TOTAL // 2,
                 UniformMixture.of(tuple(itertools.product(SEX, AGE)), epsilon=2)),
        AttributeSet(("age",), TOTAL // 2, UniformMixture.of(AGE, epsilon=2)),
    )
)  # fmt: skip


def people(records: int = 12, seed: int = 3) -> Records:
    """Sex, age and no set; two anonymity sets."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, 2, records), random.integers(0, 3, records)
    anonymity_set = random.integers(0, 2, records)
    return Records((*codes, np.zeros(records, np.int64)), anonymity_set, (None,) * 3)


def by_hand(known: Records, reports: Records) -> np.ndarray:
    """pi(S) P_S[x_S, y], cell by cell, from the matrices themselves."""
    found = np.zeros((len(known), len(reports)))
    for row, column in np.ndindex(found.shape):
        one = MECHANISM.sets[reports.codes[-1][column]]
        sex, age = (SEX[reports.codes[0][column] % 2], AGE[reports.codes[1][column]])
        own = SEX[known.codes[0][row]], AGE[known.codes[1][row]]
        told, true = ((sex, age), own) if len(one.columns) == 2 else (age, own[1])
        found[row, column] = one.share * float(one.matrix.probability(true, told))
    return found


def test_the_likelihood_of_a_report_is_that_of_its_set_times_its_matrix():
    """Every pair of a known record and a report, and the expected numbers in each anonymity set."""
    known = people()
    reports = rerun(MECHANISM, known, keystream=Keystream.from_seed(1), stream="t")
    scores, right = likelihood_scores(MECHANISM), by_hand(known, reports)

    assert np.exp(scores.block(known, reports)) == pytest.approx(right)
    assert np.exp(scores.between(known, reports)) == pytest.approx(np.diagonal(right))
    together = known.anonymity_set[:, None] == reports.anonymity_set[None, :]
    expected = expected_released(MECHANISM, known, reports)
    assert np.exp(expected) == pytest.approx((right * together).sum(axis=0))


def test_a_run_has_the_law_of_the_mechanism():
    """40,000 reports of one record: sets, cells told and silence, to 5 standard errors."""
    number = 40_000
    known = Records((np.ones(number, int), np.full(number, 2), np.zeros(number, int)),
                    np.zeros(number, int), (None,) * 3)  # fmt: skip
    made = rerun(MECHANISM, known, keystream=Keystream.from_seed(2), stream="t")
    pairs = made.codes[-1] == 0

    assert abs(pairs.mean() - 0.5) < 5 * 0.5 / number**0.5
    assert (made.codes[0][~pairs] == 2).all()
    assert (made.codes[0][pairs] < 2).all()
    stays = float(MECHANISM.sets[0].matrix.probability(("m", "old"), ("m", "old")))
    same = (made.codes[0] == 1) & (made.codes[1] == 2)
    assert abs(same[pairs].mean() - stays) < 5 * 0.5 / (number / 2) ** 0.5


def test_the_nearest_report_agrees_where_it_speaks():
    """A report that agrees scores above one that differs; silence lies between."""
    known = people()
    near = nearest_scores(MECHANISM, _schema(), known)
    sex = near.tables[0][0]

    assert (np.diagonal(sex) > sex[:, 2]).all()
    assert (sex[:, 2] > sex[[0, 1], [1, 0]]).all()


def test_nobody_is_surer_than_one_in_k_of_small_tables():
    """All links of 300 tables of five people, exactly: at most 1/k, and it is nearly reached."""
    k, largest = 1 + 4 * float(MECHANISM.anonymity_ratio), 0.0
    for seed in range(300):
        known = people(5, seed)
        known = Records(known.codes, np.zeros(5, np.int64), known.strata)
        reports = rerun(MECHANISM, known, keystream=Keystream.from_seed(seed), stream="t")
        likely = np.exp(likelihood_scores(MECHANISM).block(known, reports))
        largest = max(largest, float(exact_posterior(likely).max()))

    assert 0.8 / k < largest <= 1 / k * (1 + 1e-9)


def _schema() -> pm.Schema:
    return pm.Schema(
        (
            pm.Column("sex", pm.Role.KEY, pm.Categories(SEX)),
            pm.Column("age", pm.Role.KEY, pm.Categories(AGE)),
        )
    )


def test_reports_are_read_by_what_they_were_asked_for():
    """A missing value that was told is a value; what was not asked is none."""
    schema = pm.Schema(
        (
            pm.Column("sex", pm.Role.KEY, pm.Categories(SEX), missing="category"),
            pm.Column("age", pm.Role.KEY, pm.Categories(AGE)),
        )
    )
    table = pa.table({"sex": ["f", None, "m"] * 300, "age": ["old", "young", "old"] * 300})
    plan = pm.design(
        schema, pm.DifferentialPrivacy(epsilon=3), data=table, method="attribute-sampling"
    )
    release = pm.protect(table, plan, seed=1)
    mechanism = release.certificate.mechanism
    known, told = read_pair(schema, mechanism, original=open_table(table), released=release.opened)

    silent = ["sex" not in mechanism.sets[number].columns for number in told.codes[-1].tolist()]
    assert ((told.codes[0] == 3) == np.array(silent)).all()
    assert set(known.codes[0].tolist()) == {0, 1, 2}


def test_an_owner_audits_attacks_and_reports_on_reports():
    """Every attack that the theory covers is measured, and none breaks the promise."""
    release = released("attribute-sampling")
    audit = api.audit(release, original=truth())
    names = [found.name for found in audit.measured]

    assert audit.holds
    assert {"likeliest record", "nearest record", "inference of ill"} <= set(names)
    assert audit.measured[1].value > audit.measured[1].baseline
    assert "whole records" in " ".join(audit.notes)
    assert audit.unchanged.matched == 0
    assert api.attack("linkage", release, knowledge=truth()).holds
    assert api.attack("repeated", release, knowledge=truth(), times=2).holds
    recovered = api.attack("recovery", release, knowledge=truth()).figures
    assert [own["method"] for own in recovered["replacement"]] == ["spectral", "pca", "posterior"]
    assert recovered["exact"] >= recovered["guess"] - 0.02
    page = api.report(release, original=truth()).html
    assert "attribute sets:" in page
    assert "Fit models with" in page


def test_two_releases_of_reports_add_up():
    """Epsilons add, and what remains of k is that of the sum."""
    one = released("attribute-sampling")
    found = api.attack("composition", one, released("retention"))
    epsilons = [
        pm.DifferentialPrivacy.of(release.certificate.mechanism).epsilon
        for release in (one, released("retention"))
    ]

    assert found.figures["together"]["epsilon"] == pytest.approx(sum(epsilons))


def test_reports_are_compared_with_other_methods():
    """Risk and loss are measured for both."""
    scenarios = api.compare(
        truth(), plan_of("attribute-sampling").schema, k=[5], methods=["attribute-sampling"]
    )

    assert scenarios.outcomes[0].measured, scenarios.outcomes[0].note
