"""Tests of roles: what follows from a role, and that pages and files know each of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pramana.errors import InvalidSchema
from pramana.schema.domains import Categories
from pramana.schema.roles import TERMS, TRAITS, Role
from pramana.schema.schema import Column, Schema

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "schema.md"
KEY = Column("sex", Role.KEY, Categories(("F", "M")), missing="refuse")


def test_the_traits_of_the_roles_are_those_of_the_page():
    """The page says what is dropped, what is randomised, and what outsiders may know."""
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", PAGE.read_text(), re.MULTILINE)
    stated = {name: (meaning, fate) for name, meaning, fate in rows if name in list(Role)}
    assert set(stated) == set(map(str, TRAITS))
    for role, traits in TRAITS.items():
        meaning, fate = stated[str(role)]
        assert traits.released == (fate != "dropped")
        assert traits.randomised == (fate == "randomised")
        assert traits.known == ("outsiders do not know" not in meaning)
        assert traits.analysed == ("weight" not in meaning)


def test_no_term_names_two_roles():
    """Each role is named by itself, and each term once."""
    assert len(TERMS) == sum(len(traits.terms.split()) for traits in TRAITS.values())
    assert all(TERMS[str(role)] is role for role in Role)


@pytest.mark.parametrize("role", Role)
def test_a_schema_treats_a_column_by_its_traits(role):
    """Released or not, known or not; only what may be randomised can be."""
    column = Column("other", role, KEY.domain if role.traits.randomised else None, missing="refuse")
    schema = Schema((KEY, column))
    names = {kept.name for kept in schema.released_as_is}
    assert (column in schema.released) == role.traits.released
    assert (column in schema.randomised) == role.traits.randomised
    assert ("other" in schema.known) == ("other" in names and role.traits.known)
    if role.traits.randomisable:
        assert Column("other", role, KEY.domain, missing="refuse", randomise=True).randomised
    else:
        with pytest.raises(InvalidSchema, match="cannot be randomised"):
            Column("other", role, KEY.domain, missing="refuse", randomise=True)
