"""Tests of the design by retention: one dial for k, epsilon and breaches."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import Infeasible, InvalidNumber, InvalidSchema
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.privacy_breach import PrivacyBreach
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.context import DesignContext
from pramana.methods.expected_error import ErrorModel, step_domains
from pramana.methods.retention import Retention
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Impossible, Schema


def schema_of(*sizes, **more):
    """Keys a, b, c, ... with so many values each."""
    columns = [
        Column(chr(97 + i), Role.KEY, Categories(tuple(f"{chr(97 + i)}{j}" for j in range(size))))
        for i, size in enumerate(sizes)
    ]
    return Schema(tuple(columns), **more)


def retention_design(schema, asked=(), *, records, anonymity_set=None, **options):
    """The plan of the method with these options."""
    people = DesignContext(schema, records, records if anonymity_set is None else anonymity_set)
    return Retention(**options).design(people, asked)


def retentions(plan):
    return [float(step.matrix.retention) for step in plan.mechanism]


def test_the_papers_example():
    """k = 100 of 100,000 records over 2, 5 and 10 values: retention 0.3032 in every column."""
    plan = retention_design(
        schema_of(2, 5, 10), [PkAnonymity(k=100)], records=100_000, spread="equal"
    )

    assert retentions(plan) == pytest.approx([0.3032] * 3, abs=5e-5)
    k, epsilon, *_ = plan.attained
    assert k.k >= 100
    assert k.k == pytest.approx(1 + 99_999 * math.exp(-2 * epsilon.epsilon))


def test_epsilon_by_hand():
    """One column of two values at epsilon = ln 3 is the fair coin toss."""
    plan = retention_design(schema_of(2), [DifferentialPrivacy(epsilon=math.log(3))], records=10)

    assert retentions(plan) == pytest.approx([0.5])


def test_a_breach_by_hand():
    """From 10 % to 50 % is gamma = 9: over five values retention 8/13."""
    plan = retention_design(schema_of(5), [PrivacyBreach(rho1=0.1, rho2=0.5)], records=10)

    assert retentions(plan) == pytest.approx([8 / 13])


targets = st.lists(
    st.one_of(
        st.floats(1, 1000).map(lambda k: PkAnonymity(k=k)),
        st.floats(1e-3, 12).map(lambda e: DifferentialPrivacy(epsilon=e)),
        st.floats(0.01, 0.4).map(lambda r: PrivacyBreach(rho1=r, rho2=r + 0.5)),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda guarantee: guarantee.name,
)


@settings(max_examples=40)
@given(
    st.lists(st.integers(2, 20), min_size=1, max_size=4),
    targets,
    st.integers(1000, 10**7),
    st.sampled_from(["equal", "best"]),
)
def test_every_target_is_met_to_the_last_bit(sizes, asked, records, spread):
    """Whatever is asked, the integers attain it, and little is given away."""
    plan = retention_design(schema_of(*sizes), asked, records=records, spread=spread)
    slack = []
    for claim in plan.claims:
        assert claim.holds
        match claim.asked:
            case PkAnonymity(k=k):
                slack.append(1.0 if k <= 1 + 1e-6 else (claim.attained.k - 1) / (k - 1) - 1)
            case DifferentialPrivacy(epsilon=epsilon):
                slack.append(1 - claim.attained.epsilon / epsilon)
            case PrivacyBreach():
                slack.append(1 - float(claim.attained.gamma / claim.asked.gamma))

    assert min(slack) < 1e-5 or min(retentions(plan)) > 1 - 1e-9


def test_both_targets_take_the_smaller_retention():
    """[Ikarashi, Alg. 3]."""
    k, epsilon = PkAnonymity(k=100), DifferentialPrivacy(epsilon=1)
    alone = [
        retentions(retention_design(schema_of(3, 4), [g], records=10_000, spread="equal"))
        for g in (k, epsilon)
    ]
    both = retention_design(schema_of(3, 4), [k, epsilon], records=10_000, spread="equal")

    assert retentions(both) == pytest.approx(min(alone))


def test_the_best_spread_gains_at_the_same_k_and_epsilon():
    """Very unlike columns: less error than one retention for all, and the plan says how much."""
    schema, asked = schema_of(2, 3, 60), [PkAnonymity(k=50)]
    equal = retention_design(schema, asked, records=100_000, spread="equal")
    best = retention_design(schema, asked, records=100_000, spread="best")

    gain = 1 - best.expected_error.mean / equal.expected_error.mean
    assert gain > 0.01
    assert best.statistics["gain_over_equal"] == pytest.approx(gain, rel=1e-3)
    assert best.attained[1].epsilon == pytest.approx(equal.attained[1].epsilon, rel=1e-9)


def test_no_other_division_of_the_dial_is_better():
    """A grid over all divisions between two columns is the judge."""
    schema = schema_of(2, 30)
    plan = retention_design(schema, [DifferentialPrivacy(epsilon=3)], records=1000)
    grid = []
    model = ErrorModel(step_domains(schema), records=1000)
    for share in np.linspace(0.01, 0.99, 99):
        gammas = math.exp(3 * share), math.exp(3 * (1 - share))
        rho = [(g - 1) / (g + n - 1) for g, n in zip(gammas, (2, 30), strict=True)]
        grid.append(model.mean(rho))

    assert plan.expected_error.mean <= min(grid) * (1 + 1e-4)


@pytest.mark.parametrize("spread", ["equal", "best"])
def test_expected_error_is_what_a_simulation_finds(spread):
    """2,000 releases of an even table: the mean L1 error is within 3 % of the stated one."""
    n, schema = 24_000, schema_of(2, 12)
    plan = retention_design(schema, [PkAnonymity(k=50)], records=n, spread=spread)
    stated = dict(plan.expected_error.tables)[("a", "b")]
    first, second = (step.matrix for step in plan.mechanism)
    joint = np.kron(first.values, second.values)
    truth = np.full(24, n // 24)
    random = np.random.default_rng(20)
    released = sum(random.multinomial(t, p, size=2000) for t, p in zip(truth, joint, strict=True))
    estimate = second.solve(first.solve(released.reshape(-1, 2, 12), axis=1), axis=2)
    found = np.abs(estimate.reshape(-1, 24) - truth).sum(axis=1).mean() / n

    assert found == pytest.approx(stated, rel=0.03)


def test_the_opposite_question():
    """The strongest guarantee within an error uses it up, and asking it back round-trips."""
    schema = schema_of(2, 5, 10)
    plan = retention_design(schema, max_error=0.05, records=100_000)
    again = retention_design(schema, [plan.attained[1]], records=100_000)

    assert plan.expected_error.mean == pytest.approx(0.05, rel=1e-6)
    assert plan.expected_error.mean <= 0.05 * (1 + 1e-9)
    assert again.expected_error.mean == pytest.approx(0.05, rel=1e-4)


def test_impossible_cells_tie_their_columns():
    """A child is never married: the joint step has no such cell, and k uses the joint domain."""
    rule = Impossible.of({"a": ["a0"], "b": ["b0", "b1"]})
    plan = retention_design(
        schema_of(3, 4, 2, impossible=(rule,)), [PkAnonymity(k=20)], records=5000, spread="equal"
    )
    joint, alone = plan.mechanism.steps

    assert joint.columns == ("a", "b")
    assert len(joint.labels) == 10
    assert ("a0", "b0") not in joint.labels
    assert alone.columns == ("c",)
    assert plan.attained[0].k >= 20


def test_a_smaller_anonymity_set_needs_more_noise():
    """Columns released as they are leave a smaller group to hide in."""
    whole = retention_design(schema_of(3), [PkAnonymity(k=20)], records=5000)
    split = retention_design(schema_of(3), [PkAnonymity(k=20)], records=5000, anonymity_set=60)

    assert retentions(split) < retentions(whole)
    assert split.attained[0] == PkAnonymity.of(split.mechanism, anonymity_set=60)


def test_limits():
    """Retention 0 leaves pure noise, k = 1 the table as it is."""
    noise = retention_design(schema_of(4), records=100, retention=0)
    still = retention_design(schema_of(4), [PkAnonymity(k=1)], records=100)

    assert retentions(noise) == [0]
    assert "pure noise" in noise.expected_error.sentence()
    assert retentions(still) == [1]


def test_more_than_the_anonymity_set_is_refused_with_the_nearest():
    """One line says what is attainable."""
    with pytest.raises(Infeasible, match="largest attainable k is 39"):
        retention_design(schema_of(3, 3), [PkAnonymity(k=50)], records=40)


@pytest.mark.parametrize("sizes", [(4,), (3, 3)])
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            PkAnonymity(k=40),
            "k = 40 cannot be met with an anonymity set of 40: the largest attainable k is",
        ),
        (DifferentialPrivacy(epsilon=0), "epsilon = 0 can be met by pure noise only"),
        (ShuffledPrivacy(epsilon=0, delta=0), "can be met by pure noise only"),
    ],
)
def test_pure_noise_is_refused_in_plain_words(sizes, asked, said):
    """Records that say nothing are no release; the largest k that is named can be met."""
    with pytest.raises(Infeasible, match=said):
        retention_design(schema_of(*sizes), [asked], records=40)
    near = retention_design(schema_of(*sizes), [PkAnonymity(k=39)], records=40)
    assert near.attained[0].k >= 39


def test_exempt_values_rule_out_every_finite_target():
    """And exactly that is said; a retention alone may still be stated."""
    column = Column("sex", Role.KEY, Categories(("F", "M", "X")), exempt=("X",))
    with pytest.raises(Infeasible, match="no finite epsilon and no k above 1"):
        retention_design(Schema((column,)), [PkAnonymity(k=2)], records=100)

    plan = retention_design(Schema((column,)), retention=0.5, records=100)
    assert plan.attained[0] == PkAnonymity(k=1)
    assert plan.attained[1].epsilon == math.inf


def test_a_mechanism_states_the_same_k_as_its_plan():
    """The certificate's road (matrices and anonymity set) and the design's agree."""
    plan = retention_design(schema_of(2, 5), [PkAnonymity(k=30)], records=900, spread="equal")
    synthesized = Mechanism(
        tuple(Step(s.columns, UniformMixture(s.labels, s.matrix.other)) for s in plan.mechanism)
    )

    assert PkAnonymity.of(synthesized, anonymity_set=900) == plan.attained[0]


def test_plan_in_json():
    """The agreed form, with the readings of every column."""
    form = retention_design(schema_of(2, 5), [PkAnonymity(k=30)], records=900).to_json()

    assert {"method", "records", "columns", "guarantees", "expected_error"} <= set(form)
    assert form["columns"]["a"].keys() >= {"retention", "gamma", "epsilon", "values"}
    assert form["guarantees"][0]["name"] == "pk-anonymity"
    assert form["guarantees"][0]["asked"] == {"k": 30}


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"max_error": 0.1, "retention": 0.5},
        {"max_error": 0},
        {"max_error": math.nan},
        {"retention": 2},
        {"retention": 0.5, "records": 0},
    ],
)
def test_unclear_or_impossible_numbers_are_refused(arguments):
    """Nothing to aim at, two things at once, or a number out of range."""
    with pytest.raises(InvalidNumber):
        retention_design(schema_of(2), **({"records": 100} | arguments))


def test_a_schema_without_keys_or_domains_is_refused():
    """Nothing to randomise, or nothing known to randomise over."""
    with pytest.raises(InvalidSchema, match="at least one key"):
        retention_design(Schema((Column("x", Role.PUBLIC),)), retention=0.5, records=9)
    with pytest.raises(InvalidSchema, match="'x' is not declared"):
        retention_design(Schema((Column("x", Role.KEY),)), retention=0.5, records=9)


def test_slopes_of_the_expected_error_are_those_of_moving_one_retention():
    """And where nothing is changed there is one too."""
    model = ErrorModel(step_domains(schema_of(2, 5, 9)), records=1000)
    here, moves = np.array([0.3, 0.2, 0.6]), 1e-6 * np.eye(3)
    ends = [(model.mean(here + m), model.mean(here - m)) for m in moves]

    assert model.slope(here) == pytest.approx([(up - down) / 2e-6 for up, down in ends], rel=1e-6)
    assert np.isfinite(model.slope(np.ones(3))).all()


@pytest.mark.parametrize("tied", [False, True])
def test_columns_that_can_be_exchanged_are_weighed_once_and_count_as_many(tied):
    """A model that is told its tables knows of no kinds: the same errors, and the same slopes."""
    impossible = (Impossible.of({"b": ["b0"], "e": ["e0"]}),) if tied else ()
    schema = schema_of(3, 4, 3, 3, 4, 3, 6, 4, impossible=impossible)
    model = ErrorModel(step_domains(schema), records=1000)
    plainly = ErrorModel(model.steps, records=1000, tables=model.tables)
    alike = 0.1 + 0.1 * model.kinds
    moved = alike + 0.01 * np.arange(len(alike))

    assert len(set(model.kinds)) < len(set(plainly.kinds)) == len(model.steps)
    for kept in (alike, moved):
        assert model.errors(kept) == pytest.approx(plainly.errors(kept), rel=1e-12)
        assert model.mean(kept) == pytest.approx(plainly.mean(kept), rel=1e-12)
        assert model.slope(kept) == pytest.approx(plainly.slope(kept), rel=1e-7)


def test_two_hundred_columns_are_planned_in_seconds():
    """As many as a survey has, with twenty thousand tables; columns alike are treated alike."""
    sizes = [2 + at % 9 for at in range(200)]
    begin = time.process_time()
    plan = retention_design(schema_of(*sizes), [PkAnonymity(k=10)], records=10**6)
    kept = np.array([float(step.matrix.retention) for step in plan.mechanism])

    assert time.process_time() - begin < 2
    assert all(np.ptp(kept[at::9]) < 1e-6 for at in range(9))
    assert np.ptp(kept) > 1e-4
