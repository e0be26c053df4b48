"""Whatever is chosen from a list is completed by the shell, from the same list."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pramana.api import FORMATS, METHODS

WRITTEN = [name for name, one in FORMATS.items() if one.writes]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("pramana design --method ", list(METHODS)),
        ("pramana compare people.csv --method ", list(METHODS)),
        ("pramana advise --method res", ["resample"]),
        ("pramana advise --method retention,res", ["retention,resample"]),
        ("pramana protect --format ", WRITTEN),
        ("pramana design --spread ", ["equal", "best"]),
    ],
)
def test_a_list_is_completed(typed: str, offered: list[str]) -> None:
    """Several names with commas between them too: the last one is."""
    asked = {"_PRAMANA_COMPLETE": "complete_bash", "COMP_WORDS": typed}
    done = subprocess.run(
        [sys.executable, "-m", "pramana"],
        env=os.environ | asked | {"COMP_CWORD": str(typed.count(" "))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == offered
