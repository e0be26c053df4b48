"""What is written in one place, and must not be written again."""

from __future__ import annotations

from pathlib import Path

import pytest

import pramana

SOURCE = Path(pramana.__file__).parent

PLACES = {"ravel_multi_index": "schema/joint_cells.py"}
"""What stands in one file of the package alone: the coding of joint cells."""


@pytest.mark.parametrize("what", PLACES)
def test_it_stands_in_its_place_alone(what: str) -> None:
    """Whoever needs it calls the function there."""
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if what in path.read_text(encoding="utf-8")
    }
    assert found == {PLACES[what]}
