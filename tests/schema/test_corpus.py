"""Roles proposed for look-alikes of public files, with the roles that an expert would give.

``python -m tests.corpus`` prints each file, precision and recall.
"""

from __future__ import annotations

import pytest
from tests.corpus.__main__ import proposed
from tests.corpus.files import FILES, accepted
from tests.corpus.scores import Score, scores

from pramana.schema.roles import Role

NEVER_UNCHANGED = {Role.SENSITIVE, Role.PUBLIC, Role.WEIGHT}


@pytest.fixture(scope="module")
def rows():
    """The accepted roles and the proposed one of every column of every file."""
    found = []
    for make in FILES:
        file = make()
        roles = proposed(file)
        found += [(file.name, name, accepted(file.roles, name), own) for name, own in roles.items()]
    return found


def test_scores_by_hand():
    """Four columns: one wrong proposal as key costs precision of keys and recall of the other."""
    found = scores([(("key",), "key"), (("key", "identifier"), "identifier"),
                    (("sensitive",), "key"), (("sensitive",), "sensitive")])  # fmt: skip
    assert found == {"key": Score(0.5, 1.0, 2), "sensitive": Score(1.0, 0.5, 2)}


def test_proposed_roles_are_those_of_an_expert(rows):
    """On at least twelve files: nearly every role, with a margin for a change of a rule."""
    assert len({file for file, *_ in rows}) >= 12
    for role, own in scores([(wanted, role) for _, _, wanted, role in rows]).items():
        assert own.precision >= 0.9, (role, own)
        assert own.recall >= 0.9, (role, own)


def test_no_identifier_is_released_unchanged(rows):
    """The mistake that matters most: what names a person or a place never leaves as it is."""
    released = [
        (file, name)
        for file, name, wanted, role in rows
        if wanted == (Role.IDENTIFIER,) and role in NEVER_UNCHANGED
    ]
    assert released == []
