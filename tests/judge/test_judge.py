"""No claim is ever stronger than the truth: the judge, on random worlds of every method.

``python -m benchmarks judge --designs 10000`` does the same for longer.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import pramana as pm
from pramana.guarantees.claims import GUARANTEES
from pramana.methods.base import METHODS
from pramana.microaggregation.anonymisation import draw_members
from pramana.schema.group_sizes import closeness, codes_of
from tests.depth import DEEP
from tests.judge.groups import Grouped, judge_groups
from tests.judge.homes import judge_homes
from tests.judge.law import Fault, judge
from tests.judge.trials import try_designs
from tests.judge.worlds import KINDS, OPTIONS, World, case_of, table_of

JUDGED = {
    "pk-anonymity",
    "differential-privacy",
    "privacy-breach",
    "spontaneous-recognition",
    "correct-match",
    "k-anonymity",
    "shuffled-privacy",
}
A = pm.Column("a", pm.Role.KEY, pm.Categories(("p", "q")), missing="refuse")
PUBLIC = pm.Column("public", pm.Role.PUBLIC)
WEIGHT = pm.Column("w", pm.Role.WEIGHT)
DESIGNS = 100 if DEEP else 8


@pytest.mark.parametrize("kind", KINDS)
def test_no_claim_is_stronger_than_the_truth(kind):
    """Designs at random: all roles, strata, impossible combinations, missing policies, weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # small tables copy whole records
        done = try_designs(kind, DESIGNS)

    assert done.judged == DESIGNS
    assert done.claims >= DESIGNS


def test_every_method_has_its_worlds():
    """A new method must be put before the judge.

    Rounds of shuffled marginals are enumerated by tests/guarantees/test_shuffled_rounds.py.
    """
    assert set(KINDS) - set(OPTIONS) == set(METHODS) - {"shuffled-marginals"}


def test_every_guarantee_has_its_judge():
    """A new guarantee must be judged from its definition."""
    assert set(GUARANTEES) == JUDGED


# -- the judge finds what is wrong ---------------------------------------------------------------


def people(*values, **kept):
    return tuple(
        {"a": value, **{name: own[at] for name, own in kept.items()}}
        for at, value in enumerate(values)
    )


def world(records, *columns, method=None, asked=()):
    schema = pm.Schema((A, *columns))
    return World(schema, records, method or pm.Retention(retention=0.5), asked)


def test_a_k_that_is_a_millionth_too_large_is_found():
    """The bound is reached, so that nothing above it can be right."""
    found = world(people("p", "q", "q"))
    plan = found.plan()
    (k,) = (g for g in plan.attained if g.name == "pk-anonymity")
    judge(case_of(found, plan), {k.name: k})

    with pytest.raises(Fault, match="link"):
        judge(case_of(found, plan), {k.name: pm.PkAnonymity(k=k.k * (1 + 1e-6))})


def test_numbers_rounded_to_the_wrong_side_are_found():
    """One float below the exact epsilon, rho2, alpha or xi."""
    found = world(people("p", "q", "q", "q"), method=pm.MatricesFromData(
        {"a": pm.Dense.of(("p", "q"), [[0.7, 0.3], [0.1, 0.9]])}))  # fmt: skip
    data = case_of(found, found.plan())
    fixed = replace(data, from_data=False)
    gamma = max(matrix_ratio(fixed))
    rho = gamma * Fraction(1, 10) / (gamma * Fraction(1, 10) + Fraction(9, 10))
    alpha = next(g.alpha for g in found.plan().attained if g.name == "spontaneous-recognition")
    xi = next(g.xi for g in found.plan().attained if g.name == "correct-match")
    wrong = {
        "differential-privacy": pm.DifferentialPrivacy(epsilon=float(np.log(float(gamma))) - 1e-12),
        "privacy-breach": pm.PrivacyBreach(rho1=0.1, rho2=float(rho) - 1e-12),
        "spontaneous-recognition": pm.SpontaneousRecognition(alpha=alpha * (1 - 1e-9), width=1),
        "correct-match": pm.CorrectMatch(xi=xi * (1 - 1e-9)),
    }
    for name, claim in wrong.items():
        with pytest.raises(Fault):
            judge(fixed, {name: claim})


def matrix_ratio(case):
    """The ratios of two entries of a column, from the integers."""
    for matrix in case.steps[0].matrices.values():
        for column in zip(*matrix.weights, strict=True):
            yield Fraction(max(column), min(column))


def test_an_epsilon_for_matrices_made_from_the_data_is_found():
    """One a and nine b, invariant: the neighbour with ten b never releases an a."""
    found = world(people("p", *["q"] * 9), method=pm.Invariant(stay=0.5))
    plan = found.plan()
    pretended = pm.DifferentialPrivacy.of(plan.mechanism)

    assert pretended.epsilon == pytest.approx(np.log(9), rel=1e-6)
    assert "differential-privacy" not in {claim.name for claim in plan.claims}
    with pytest.raises(Fault, match="rules a table out"):
        judge(case_of(found, plan), {pretended.name: pretended})


def test_a_central_epsilon_that_is_too_small_is_found():
    """Half the local one, for three people."""
    found = world(people("p", "q", "q"))
    case = case_of(found, found.plan())
    kind = GUARANTEES["shuffled-privacy"]

    judge(case, {kind.name: kind(epsilon=1.11, delta=0.0)})
    with pytest.raises(Fault, match="likelier"):
        judge(case, {kind.name: kind(epsilon=0.5, delta=1e-6)})


def test_an_anonymity_set_that_overlooks_a_weight_is_found():
    """Who has a weight of one's own hides among nobody."""
    found = world(people("p", "q", "q", w=[1.0, 2.0, 2.0]), WEIGHT)
    case = case_of(found, found.plan())

    judge(case, {})
    with pytest.raises(Fault, match="anonymity set"):
        judge(replace(case, anonymity_set=3), {})


def test_a_recognition_that_overlooks_a_kept_column_is_found():
    """Counts of the randomised columns alone say nothing about who is alone in a region."""
    even = pm.MatricesFromData({"a": pm.UniformMixture.of(("p", "q"), retention=0)})
    found = world(people(*"pqpqpq", public=list("nnnnnm")), PUBLIC, method=even)
    plan = found.plan()
    own = {claim.name: claim.attained for claim in plan.claims}
    judge(case_of(found, plan), own)

    assert own["spontaneous-recognition"].alpha == 1
    assert own["correct-match"].xi == 1
    for claim in (pm.SpontaneousRecognition(alpha=1 / 6, width=1), pm.CorrectMatch(xi=1 / 6)):
        with pytest.raises(Fault):
            judge(case_of(found, plan), {claim.name: claim})


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("pk-anonymity", {"k": 1.2}), ("differential-privacy", {"epsilon": 1.2}),
     ("privacy-breach", {"rho1": 0.1, "rho2": 0.3}), ("correct-match", {"xi": 0.3}),
     ("shuffled-privacy", {"epsilon": 1.0, "delta": 0.0}),
     ("spontaneous-recognition", {"alpha": 0.3})],
)  # fmt: skip
def test_a_number_for_two_who_live_together_that_is_that_of_one_is_found(name, numbers):
    """About what is true of one person of three, whose value stays with 3 to 1."""
    found = world(people("p", "q", "q"))
    case = case_of(found, found.plan())
    one = SimpleNamespace(rho1=0.1, xi=0.3, alpha=0.3, household=lambda _: numbers)

    with pytest.raises(Fault, match="for two"):
        judge_homes(case, {name: one})


def test_a_combination_that_cannot_exist_and_a_value_that_must_stay_are_looked_for():
    """Whatever a method says about its numbers, it must keep to the schema."""
    found = world(people("p", "q"))
    case = case_of(found, found.plan())

    with pytest.raises(Fault, match="cannot exist"):
        judge(replace(case, impossible=[{"a": ["p"]}]), {})
    with pytest.raises(Fault, match="must stay"):
        judge(replace(case, fixed={"a": ["q"]}), {})


def test_groups_that_tell_their_members_apart_are_found():
    """A group that crosses a known column, keys that stay with their record, too small a group."""
    made = Grouped(
        truth=(("p",), ("q",), ("p",), ("q",)),
        released=(("q",), ("p",), ("p",), ("q",)),
        known=((),) * 4,
        labels=(0, 0, 1, 1),
        method="permute",
    )
    judge_groups(made, pm.KAnonymity(k=2))
    with pytest.raises(Fault, match="a group has"):
        judge_groups(replace(made, labels=(0, 0, 0, 1)), pm.KAnonymity(k=3))
    with pytest.raises(Fault, match="crosses"):
        judge_groups(replace(made, known=((1,), (2,), (1,), (2,))), pm.KAnonymity(k=2))
    with pytest.raises(Fault, match="cannot have made"):
        judge_groups(replace(made, released=(("q",), ("q",), ("p",), ("q",))), pm.KAnonymity(k=2))


def own_keys(labels, keystream):
    """Everybody's own keys."""
    return np.arange(labels.size)


def own_keys_once(labels, keystream):
    """A member of the group, but for the first record, which keeps its keys."""
    drawn = draw_members(labels, keystream)
    drawn[0] = 0
    return drawn


def around_oneself(dither, keystream):
    """The record itself and not the middle of its group."""
    return dither.points + keystream.normals("around", 0, dither.points.size).reshape(
        dither.points.shape
    )


def no_value_missing(values):
    """Missing values counted as a value."""
    codes, missing, number = codes_of(values)
    return codes, missing + 1, number


BROKEN = [
    ("resample", "pramana.microaggregation.anonymisation.draw_members", own_keys),
    ("resample", "pramana.microaggregation.anonymisation.draw_members", own_keys_once),
    ("permute", "pramana.microaggregation.anonymisation.permute_members",
     lambda labels, *_: own_keys(labels, 0)),
    ("gaussian", "pramana.microaggregation.rosenblatt.GaussianDither.draw", around_oneself),
    ("sequential", "pramana.microaggregation.anonymisation.draw_members", own_keys),
    ("sequential", "pramana.microaggregation.anonymisation.draw_members", own_keys_once),
    ("sequential", "pramana.microaggregation.anonymisation._members",
     lambda cells, *_: own_keys(cells, 0)),
    ("sequential", "pramana.microaggregation.anonymisation.tree_of",
     lambda codes: [(at, None) for at in range(len(codes))]),
    ("distinct", "pramana.microaggregation.clustering.codes_of", no_value_missing),
    ("distinct", "pramana.microaggregation.clustering.Sensitive.short",
     lambda *given: np.zeros(given[2].size, bool)),
    ("closeness", "pramana.microaggregation.clustering.Sensitive.short",
     lambda *given: np.zeros(given[2].size, bool)),
    ("closeness", "pramana.microaggregation.clustering.closeness",
     lambda *given, ordered: 0.8 * closeness(*given, ordered=ordered)),
    ("closeness", "pramana.microaggregation.clustering.closeness",
     lambda *given, **_: closeness(*given, ordered=True)),
    ("response", "pramana.microaggregation.anonymisation.draw_members", own_keys),
    ("resample", "pramana.microaggregation.anonymisation.known_groups", lambda *_: None),
    ("response", "pramana.microaggregation.anonymisation.permute_members",
     lambda labels, *_: own_keys(labels, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "where", "broken"), BROKEN)
def test_groups_and_draws_that_are_not_as_they_should_be_are_found(
    kind, where, broken, monkeypatch
):
    """Code broken on purpose does not pass a hundred designs."""
    monkeypatch.setattr(where, broken)
    monkeypatch.setattr(warnings, "filters", [("ignore", None, UserWarning, None, 0)])

    with pytest.raises(Fault):
        try_designs(kind, 100)


def test_the_table_of_a_world_is_what_the_judge_looks_at():
    """The same values in the same order."""
    found = world(people("p", "q", public=["n", "m"]), PUBLIC)
    assert table_of(found.schema, found.records).to_pylist() == list(found.records)
