"""Values of small seeded releases stay what they are, whatever moves around in the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import renames
from tests.golden.cases import CASES
from tests.golden.corpus import VALUES, computed, stored
from tests.golden.facts import differences, plain


@pytest.mark.parametrize("name", CASES)
def test_computed_values_are_the_stored_ones(name: str, tmp_path: Path) -> None:
    assert list(differences(stored(name), computed(name, tmp_path)))[:10] == []


def test_every_stored_file_has_its_case() -> None:
    assert {path.stem for path in VALUES.iterdir()} == set(CASES)


def test_a_small_change_is_seen() -> None:
    facts = {"estimate": [1.5, 2.0], "labels": ["F", "M"], "records": 600}

    assert not list(differences(facts, {**facts, "estimate": [1.5 + 1e-9, 2.0]}))
    assert list(differences(facts, {**facts, "estimate": [1.5 + 1e-5, 2.0]}))
    assert list(differences(facts, {**facts, "labels": ["M", "F"]}))
    assert list(differences(facts, {**facts, "records": 601}))
    assert list(differences(facts, {**facts, "records": 600.0})) == []


def test_a_renamed_word_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where two words have become one."""
    monkeypatch.setitem(renames.WORDS, "em", "shrunk")
    monkeypatch.setitem(renames.KEYS, "figures", "statistics")

    computed_now = plain({"statistics": {"method": "shrunk"}})
    assert not list(differences({"figures": {"method": "em"}}, computed_now))
    assert not list(differences({"figures": {"method": "shrunk"}}, computed_now))
    assert list(differences({"figures": {"method": "inverse"}}, computed_now))
