"""Whatever is chosen from a list is completed by the shell, from the same list."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pramana.api import FORMATS, METHODS
from tests.cli.conftest import Run

WRITTEN = [name for name, one in FORMATS.items() if one.writes]
LISTS: list[tuple[str, list[str]]] = [
    ("pramana design --method ", list(METHODS)),
    ("pramana compare people.csv --method ", list(METHODS)),
    ("pramana advise --method res", ["resample"]),
    ("pramana advise --method retention,res", ["retention,resample"]),
    ("pramana protect --format ", WRITTEN),
    ("pramana design --spread ", ["equal", "best"]),
]


def asked(typed: str) -> dict[str, str]:
    """How a shell asks what could come next."""
    words = str(typed.count(" "))
    return {"_PRAMANA_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": words}


@pytest.mark.parametrize(("typed", "offered"), LISTS)
def test_a_list_is_completed(
    run: Run, monkeypatch: pytest.MonkeyPatch, typed: str, offered: list[str]
) -> None:
    """Several names with commas between them too: the last one is."""
    for name, value in asked(typed).items():
        monkeypatch.setenv(name, value)
    assert run().out.split() == offered


def test_a_shell_asks_the_program() -> None:
    """As a process, which it starts at every key."""
    typed, offered = LISTS[0]
    done = subprocess.run(
        [sys.executable, "-m", "pramana"],
        env=os.environ | asked(typed),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == offered
