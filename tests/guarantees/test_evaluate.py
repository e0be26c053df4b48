"""Needs against evidence: what can be promised from what, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pramana as pm
from pramana.errors import InputError, NotCovered
from pramana.guarantees.base import Amplified, Evidence, Guarantee, Need, only_the_owner
from pramana.guarantees.claims import (
    GUARANTEES,
    Claim,
    attained,
    cli_options,
    guarantees_from_options,
    lacks,
    paired,
)
from pramana.schema.joint_cells import Counts

COLUMN = pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")), missing="refuse")
SCHEMA = pm.Schema((COLUMN,))
COIN = pm.UniformMixture.of(("F", "M"), retention=0.5)
FIXED = Evidence(SCHEMA, 10, 10, pm.Mechanism((pm.Step(("sex",), COIN),)))
COUNTS = Counts.from_dense(("sex",), (("F", "M"),), np.array([3, 7]))
OF_OTHER_TABLES = ("differential-privacy", "privacy-breach")


def names(found: tuple[Guarantee, ...]) -> list[str]:
    return [guarantee.name for guarantee in found]


def test_fixed_matrices_give_what_follows_from_matrices():
    """A stranger computes the same from a certificate."""
    found = attained(FIXED)

    assert names(found) == ["pk-anonymity", *OF_OTHER_TABLES, "shuffled-privacy"]
    assert found[0] == pm.PkAnonymity(k=2.0)


def test_matrices_made_from_the_data_promise_nothing_about_other_tables():
    """k fixes the table first and stays; epsilon and rho2 compare tables and go."""
    found = attained(replace(FIXED, data_dependent=True))

    assert names(found) == ["pk-anonymity"]
    for guarantee in (pm.DifferentialPrivacy(epsilon=2), pm.PrivacyBreach(rho1=0.1, rho2=0.5)):
        with pytest.raises(NotCovered, match="computed from this one"):
            attained(replace(FIXED, data_dependent=True), [guarantee])


def test_counts_add_what_rests_on_them():
    """Those asked stand first."""
    evidence = replace(FIXED, data_dependent=True, counts=COUNTS)
    asked = [pm.CorrectMatch(xi=0.5)]
    found = paired(asked, attained(evidence, asked))

    assert found[0].asked == pm.CorrectMatch(xi=0.5)
    assert {claim.name for claim in found} == {
        "correct-match",
        "pk-anonymity",
        "spontaneous-recognition",
    }


def test_groups_have_a_promise_of_their_own():
    """And none that speaks of matrices."""
    evidence = Evidence(SCHEMA, 24, 24, group_sizes=(5, 7, 12), data_dependent=True)

    assert attained(evidence) == (pm.KAnonymity(k=5),)
    with pytest.raises(NotCovered, match="matrix"):
        attained(evidence, [pm.PkAnonymity(k=2)])


@pytest.mark.parametrize("name", sorted(GUARANTEES))
def test_without_evidence_nothing_is_promised(name):
    """Every guarantee names a need that an empty hand does not meet."""
    kind = GUARANTEES[name]
    assert lacks(kind, Evidence(SCHEMA, 10, 10)) in {need.why_not for need in kind.needs}
    assert not attained(Evidence(SCHEMA, 10, 10))


def test_without_a_shuffle_nothing_about_linking_is_promised():
    """A release in the original order has k = 1."""
    assert names(attained(replace(FIXED, shuffled=False))) == list(OF_OTHER_TABLES)


@pytest.mark.parametrize("name", sorted(GUARANTEES))
def test_every_guarantee_carries_all_that_is_its_own(name):
    """Letters, needs, words, page: nothing else has to know it."""
    kind = GUARANTEES[name]

    assert kind.name == name
    assert kind.needs
    assert kind.assumption
    assert kind.not_promised
    assert kind.page
    assert any(letter.required for letter in kind.cli_options)
    numbers = {letter.number or letter.field for letter in kind.cli_options}
    assert numbers <= set(kind.__dataclass_fields__)
    assert only_the_owner(kind) == bool(kind.needs & {Need.COUNTS, Need.GROUPS})


def test_letters_become_guarantees():
    """A letter that two share is the one's that the method aims at; the main ones come first."""
    given = {"k": 5, "epsilon": None, "rho1": 0.1, "rho2": 0.5}

    assert guarantees_from_options(given) == [pm.PkAnonymity(k=5), pm.PrivacyBreach(0.1, 0.5)]
    assert guarantees_from_options({"k": 5}, aims=("k-anonymity",)) == [pm.KAnonymity(k=5)]
    assert guarantees_from_options({}) == []
    flags = [letter.flag for letter in cli_options()]
    assert flags[:3] == ["--k", "--epsilon", "--alpha"]
    assert flags[-2:] == ["--rho1", "--rho2"]  # what two numbers state comes last


def test_the_choices_of_the_schema_go_with_the_letter():
    """alpha speaks of the keys that the schema lists together."""
    schema = pm.Schema((COLUMN,), choices=(("sex",),))

    (asked,) = guarantees_from_options({"alpha": 0.1, "width": 1}, schema=schema)
    assert asked == pm.SpontaneousRecognition(alpha=0.1, width=1, choices=(("sex",),))


@pytest.mark.parametrize(
    ("given", "words"),
    [({"rho1": 0.1}, "--rho1 and --rho2"), ({"width": 2}, "--width goes with --alpha")],
)
def test_half_a_target_is_refused(given, words):
    """With the option that is lacking."""
    with pytest.raises(InputError, match=words):
        guarantees_from_options(given)


def test_a_claim_says_who_can_check_it_and_comes_back_from_json():
    """The sentence and the rest follow from the numbers."""
    claim = Claim(pm.PkAnonymity(k=3.5), pm.PkAnonymity(k=3))
    schema = pm.Schema((pm.Column("a", pm.Role.PUBLIC),))

    assert claim.holds
    assert not Claim(pm.PkAnonymity(k=2), pm.PkAnonymity(k=3)).holds
    assert Claim.from_json(claim.to_json(schema)) == claim
    assert (claim.checked_by, Claim(pm.KAnonymity(k=3)).checked_by) == ("anyone", "the owner only")


def test_those_that_a_bound_on_the_amplification_meets_say_so():
    """A design that turns one dial asks them, not their names."""
    dialled = [name for name, kind in GUARANTEES.items() if issubclass(kind, Amplified)]

    assert dialled == ["pk-anonymity", *OF_OTHER_TABLES]
    assert pm.PkAnonymity(k=11).log_amplification(anonymity_set=10) < 0
