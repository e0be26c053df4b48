"""Tests of central privacy as a guarantee: what it is computed from, what it refuses, its words."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.errors import Infeasible, InvalidNumber, NotCovered
from pramana.guarantees.base import Evidence, Searched
from pramana.guarantees.claims import Claim, attained, guarantees_from_options
from pramana.guarantees.composition import compose
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy, usual_delta
from pramana.release.certificate import disclosed


def column(name: str, size: int = 2, role: pm.Role = pm.Role.KEY) -> pm.Column:
    labels = tuple(f"{name}{number}" for number in range(size))
    return pm.Column(name, role, pm.Categories(labels), missing="refuse")


KEYS = (column("sex"), column("age", 5), column("region", 10))
SCHEMA = pm.Schema(KEYS)


def mechanism_of(epsilon: float, *columns: pm.Column) -> pm.Mechanism:
    return pm.Mechanism(
        tuple(
            pm.Step((one.name,), pm.UniformMixture.of(one.labels, epsilon=epsilon))
            for one in columns
        )
    )


COINS = mechanism_of(1.0, *KEYS)
EVIDENCE = Evidence(SCHEMA, 10_000, 10_000, COINS)


def central(evidence: Evidence, asked: ShuffledPrivacy | None = None) -> ShuffledPrivacy:
    return ShuffledPrivacy.evaluate(evidence, asked=asked)


# -- what it is computed from --------------------------------------------------------------------


def test_a_large_anonymity_set_hides_a_record_that_shows_much_alone():
    """Local epsilon 3; central a tenth of it, at the usual delta of a tenth of a record."""
    found = central(EVIDENCE)

    assert found.epsilon < 0.2
    assert found.delta == usual_delta(10_000) == 1e-6
    assert usual_delta(10**9) == pytest.approx(1e-10)
    assert pm.DifferentialPrivacy.of(COINS).epsilon > 2.99


def test_a_column_released_as_it_is_splits_the_anonymity_set():
    """Sensitive or plain: what counts is the smallest group that all of them form."""
    plain = pm.Schema((*KEYS, column("town", 3, pm.Role.PUBLIC)))
    hidden = pm.Schema((*KEYS, column("income", 3, pm.Role.SENSITIVE)))
    alone = central(Evidence(SCHEMA, 10_000, 500, COINS))

    assert central(Evidence(plain, 10_000, 500, COINS)) == alone
    assert central(Evidence(hidden, 10_000, 10_000, COINS, smallest_unchanged_group=500)) == alone
    assert alone.epsilon > 2 * central(EVIDENCE).epsilon


def test_a_sensitive_column_whose_groups_nobody_counted_is_refused():
    """The anonymity set of k leaves sensitive columns out, and would be too large here."""
    hidden = pm.Schema((*KEYS, column("income", 3, pm.Role.SENSITIVE)))
    evidence = Evidence(hidden, 10_000, 10_000, COINS)

    with pytest.raises(
        NotCovered, match="'income' are released unchanged and split the anonymity set"
    ):
        central(evidence)
    assert "shuffled-privacy" not in {guarantee.name for guarantee in attained(evidence)}


def test_in_a_group_of_one_the_local_epsilon_is_left():
    """Nobody to be shuffled with: the same epsilon as before the shuffle, and delta 0."""
    found = central(replace(EVIDENCE, anonymity_set=1))

    assert found == ShuffledPrivacy(pm.DifferentialPrivacy.of(COINS).epsilon, 0.0)
    assert ShuffledPrivacy.of(COINS, anonymity_set=10_000, delta=0.0) == found


def test_never_above_the_local_epsilon():
    """In a pair, with a delta that is next to nothing, too."""
    found = ShuffledPrivacy.of(COINS, anonymity_set=2, delta=1e-15)

    assert found.epsilon <= pm.DifferentialPrivacy.of(COINS).epsilon


# -- what it refuses -----------------------------------------------------------------------------


def test_a_value_that_rules_a_truth_out_is_refused():
    """No anonymity set hides a value that only one truth can give."""
    exposed = pm.Dense.of(("sex0", "sex1"), [[1, 0], [0.5, 0.5]])
    evidence = replace(EVIDENCE, mechanism=pm.Mechanism((pm.Step(("sex",), exposed),)))

    with pytest.raises(NotCovered, match="rules out some original value"):
        central(evidence)


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (replace(EVIDENCE, data_dependent=True), "computed from this one"),
        (replace(EVIDENCE, shuffled=False), "keep their order"),
        (replace(EVIDENCE, mechanism=None, group_sizes=(5, 5)), "matrix"),
        (replace(EVIDENCE, seeded=True), "a seed was used"),
    ],
)
def test_what_the_theory_does_not_cover_is_refused_with_the_reason(evidence, words):
    """Matrices made from the data, records in their order, groups, seeds."""
    with pytest.raises(NotCovered, match=words):
        attained(evidence, [ShuffledPrivacy(epsilon=1)])
    assert "shuffled-privacy" not in {guarantee.name for guarantee in attained(evidence)}


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 1e-6), (math.nan, 1e-6), (1, -1e-9), (1, 1)])
def test_numbers_out_of_range_are_refused(epsilon, delta):
    """An epsilon below 0, a delta of 1."""
    with pytest.raises(InvalidNumber):
        ShuffledPrivacy(epsilon=epsilon, delta=delta)


# -- its words and letters -----------------------------------------------------------------------


def test_smaller_is_stronger_in_both_numbers():
    """A delta that is left open is met by any usual one."""
    found = ShuffledPrivacy(0.5, 1e-6)

    assert found.implies(ShuffledPrivacy(1, 1e-6))
    assert found.implies(ShuffledPrivacy(0.5))
    assert not found.implies(ShuffledPrivacy(1, 1e-7))
    assert not found.implies(ShuffledPrivacy(0.4, 1e-6))
    assert not ShuffledPrivacy(0.5, 1e-5).implies(ShuffledPrivacy(0.5))
    assert ShuffledPrivacy(0.5).implies(ShuffledPrivacy(0.5))


def test_letters_of_the_command_line():
    """The central epsilon is not the local one; delta goes with it."""
    asked = guarantees_from_options({"central_epsilon": 1.0, "delta": 1e-8, "epsilon": 6.0})

    assert asked == [pm.DifferentialPrivacy(6.0), ShuffledPrivacy(1.0, 1e-8)]
    assert guarantees_from_options({"central_epsilon": 1.0}) == [ShuffledPrivacy(1.0)]
    with pytest.raises(pm.InputError, match="--delta goes with --central-epsilon"):
        guarantees_from_options({"delta": 1e-8})


@pytest.mark.parametrize("asked", [None, ShuffledPrivacy(1), ShuffledPrivacy(1, 1e-8)])
def test_a_claim_comes_back_from_json(asked):
    """With a delta or without."""
    claim = Claim(ShuffledPrivacy(0.25, 1e-8), asked)

    schema = pm.Schema((pm.Column("a", pm.Role.PUBLIC),))
    assert Claim.from_json(claim.to_json(schema)) == claim
    assert claim.to_json(schema)["attained"] == {"epsilon": 0.25, "delta": 1e-8}


def test_the_sentence_says_what_it_rests_on():
    """Both numbers, rounded up, and every condition."""
    said = ShuffledPrivacy(0.312345, 1e-6).sentence()

    assert "0.3124" in said
    assert "1e-6" in said
    for word in ("shuffled", "unchanged columns", "fresh random numbers", "one record per person"):
        assert word in said
    assert said.count(". ") == 2
    assert "apart from a probability" not in ShuffledPrivacy(3, 0.0).sentence()


# -- as a target ---------------------------------------------------------------------------------


def test_it_can_be_tried_without_being_evaluated():
    """What a design turns its dial by; both agree on either side of what is attained."""
    found = central(EVIDENCE)

    assert isinstance(found, Searched)
    assert found.met_by(EVIDENCE)
    assert not ShuffledPrivacy(0.99 * found.epsilon, found.delta).met_by(EVIDENCE)
    assert central(EVIDENCE, asked=found).epsilon <= found.epsilon


@pytest.mark.parametrize("spread", ["equal", "best"])
def test_retention_aims_at_it(spread):
    """The target is met, nearly used up, and allows more than k = 2 does: 100,000 people."""
    asked = ShuffledPrivacy(epsilon=1, delta=1e-6)
    plan = pm.design(SCHEMA, asked, records=100_000, method=pm.Retention(spread=spread))
    by_name = {guarantee.name: guarantee for guarantee in plan.attained}

    assert 0.99 < by_name["shuffled-privacy"].epsilon <= 1
    assert by_name["differential-privacy"].epsilon > 7.76  # what any channel is allowed
    assert plan.claims[0].holds


def test_reports_aim_at_it():
    """Every set has the whole budget, and the target is nearly used up."""
    asked = ShuffledPrivacy(epsilon=0.2, delta=1e-6)
    plan = pm.design(SCHEMA, asked, records=100_000, method="attribute-sampling")
    by_name = {guarantee.name: guarantee for guarantee in plan.attained}

    assert 0.198 < by_name["shuffled-privacy"].epsilon <= 0.2
    assert plan.claims[0].holds


def test_the_stricter_of_several_targets_decides():
    """k = 100 allows a local epsilon of 3.45, and central 1 far more."""
    plan = pm.design(
        SCHEMA, ShuffledPrivacy(1), pm.PkAnonymity(k=100), records=100_000, method="retention"
    )

    by_name = {guarantee.name: guarantee for guarantee in plan.attained}

    assert by_name["shuffled-privacy"].epsilon < 0.05
    assert by_name["pk-anonymity"].k >= 100


def test_exempt_values_make_it_impossible():
    """Their records are released unchanged."""
    exempt = replace(column("sex"), exempt=("sex1",))

    with pytest.raises(Infeasible, match="exempt"):
        pm.design(pm.Schema((exempt,)), ShuffledPrivacy(1), records=1000, method="retention")


@pytest.mark.parametrize("steps", [14, 40])
def test_many_dense_steps_keep_nobody_waiting(steps):
    """A certificate may hold any matrices, and whoever verifies it computes them again."""
    random = np.random.default_rng(1)
    rows = random.random((steps, 3, 3)) + 3 * np.eye(3)
    rows /= rows.sum(axis=2, keepdims=True)
    made = pm.Mechanism(
        tuple(pm.Step((f"c{i}",), pm.Dense.of("abc", own)) for i, own in enumerate(rows))
    )
    start = time.process_time()
    found = ShuffledPrivacy.of(made, anonymity_set=10_000, delta=1e-6)

    assert time.process_time() - start < 2
    assert found.epsilon <= math.log(made.gamma) * (1 + 1e-9)


def plan_for(*, declared: bool, asked: ShuffledPrivacy) -> pm.Plan:
    """A plan for ten people, one of whom has a value of their own."""
    table = pa.table({"job": ["clerk"] * 6 + ["nurse"] * 3 + ["queen"]})
    domain = pm.Categories(("clerk", "nurse", "queen", "king")) if declared else None
    schema = pm.Schema((pm.Column("job", pm.Role.KEY, domain, missing="refuse"),))
    return pm.design(schema, asked, data=table)


def test_a_list_that_was_read_off_the_data_is_told_of_wherever_epsilon_is() -> None:
    """Plan, certificate, ledger: neighbours with another list are told apart for certain."""
    plan = plan_for(declared=False, asked=ShuffledPrivacy(4, 1e-6))
    words = "does not cover the list of values of job, which was read off the data"
    assert any(words in one for one in plan.sentences())
    assert "Declare in the schema" in plan.notices[0]
    assert "[columns.job] categories" in plan.notices[0]
    certificate = pm.protect(
        pa.table({"job": ["clerk"] * 6 + ["nurse"] * 3 + ["queen"]}), plan
    ).certificate
    assert disclosed(certificate).choices.read == ("job",)
    assert any(words in one for one in compose([disclosed(certificate)]).sentences())
    assert "read off the data is treated as public" in ShuffledPrivacy.assumption

    declared = plan_for(declared=True, asked=ShuffledPrivacy(4, 1e-6))
    assert declared.notices == []
    assert not any("public" in one for one in declared.sentences())


def test_a_delta_above_one_record_is_warned_about() -> None:
    """Half: every second release could give everything away. One record's worth is the limit."""
    notices = plan_for(declared=True, asked=ShuffledPrivacy(4, 0.5)).notices
    assert "above one record in 10" in notices[0]
    assert plan_for(declared=True, asked=ShuffledPrivacy(4, 0.1)).notices == []


def test_a_target_is_met_only_if_it_holds_for_every_pair_of_values():
    """Of three values two are nearly alike: their pair alone would meet far smaller targets."""
    rows = [[0.5, 0.3, 0.2], [0.49, 0.31, 0.2], [0.2, 0.2, 0.6]]
    mechanism = pm.Mechanism((pm.Step(("a",), pm.Dense.of(("x", "y", "z"), rows)),))
    column = pm.Column("a", pm.Role.KEY, pm.Categories(("x", "y", "z")), missing="refuse")
    evidence = Evidence(pm.Schema((column,)), 10_000, 10_000, mechanism)
    attained = ShuffledPrivacy.of(mechanism, anonymity_set=10_000, delta=1e-6)

    assert ShuffledPrivacy(attained.epsilon * 1.01, 1e-6).met_by(evidence)
    assert not ShuffledPrivacy(attained.epsilon * 0.9, 1e-6).met_by(evidence)
