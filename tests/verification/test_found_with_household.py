"""People who are found together with their household: counted by the owner, stated everywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.schema.households import people_in_identified_households
from pramana.verification.consistency import consistency_checks
from pramana.verification.whole_file import Colour


def people(homes: int = 1500, single: int = 30) -> pa.Table:
    """Homes of four; some people have a disease that nobody else has."""
    rng = np.random.default_rng(3)
    number = 4 * homes
    ill = np.zeros(number, np.int64)
    ill[rng.choice(number, single, replace=False)] = np.arange(1, single + 1)
    return pa.table(
        {
            "home": np.repeat(np.arange(homes), 4) + 10_000,
            "sex": rng.choice(["F", "M"], number),
            "age": rng.integers(0, 9, number),
            "ill": ill,
        }
    )


SCHEMA = pm.Schema(
    (
        pm.Column("home", pm.Role.IDENTIFIER),
        pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))),
        pm.Column("age", pm.Role.KEY, pm.Categories(tuple(range(9)))),
        pm.Column("ill", pm.Role.SENSITIVE),
    ),
    household="home",
)


def released(single: int, k: float, **options: object) -> pm.Release:
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=k), records=6000)
    return pm.protect(people(single=single), plan, **options)


def test_people_are_counted_by_hand():
    """One of four homes has a member whom nobody equals: its two people are found."""
    homes, values = np.array([0, 0, 1, 1, 2, 3]), np.array([5, 6, 6, 7, 7, 7])
    assert people_in_identified_households(homes, values) == 2


@pytest.mark.parametrize(("single", "colour"), [(30, Colour.GREEN), (100, Colour.AMBER)])
def test_four_times_as_many_are_found_with_their_household(single, colour, tmp_path):
    """.5 % and 1.7 % of the people alone; 2 % and 6.5 % with their homes, and 1/k is 5 %."""
    release = released(single, 20, to=tmp_path / "r")
    verdict = release.verify()
    assert verdict.valid
    assert verdict.risk is not None
    assert verdict.risk.household is not None
    assert verdict.risk.worst is not None
    assert verdict.risk.worst.unique == single
    assert 3.5 * single < verdict.risk.household.unique <= 4 * single
    assert verdict.publishable is not None
    assert verdict.publishable.colour is colour
    assert "Members of one household together" in verdict.publishable.sentence
    assert "Members of one household together" in " ".join(verdict.risk.sentences())


@pytest.mark.parametrize("found", [{"found": -1, "people": 6000}, {"found": 1, "people": 9}, 3])
def test_an_impossible_number_is_refused(found):
    """It has to be a number of people of this table."""
    certificate = released(30, 20).certificate
    forged = replace(
        certificate, statistics={**certificate.statistics, "found_with_household": found}
    )
    (check,) = (one for one in consistency_checks(forged) if one.name == "found with household")
    assert not check.ok


def test_describe_says_it_beside_its_number():
    """Also where nobody named the household: its number is found."""
    notices = " ".join(pm.describe(people(), keys=["sex", "age"], household="home").notices)
    assert "Members of one household together" in notices
