"""Stored and computed values of a case."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

from tests.golden.cases import CASES
from tests.golden.facts import Facts

VALUES = Path(__file__).parent / "values"


def place(name: str) -> Path:
    """The file that holds the values of a case."""
    return VALUES / f"{name}.json"


def stored(name: str) -> Facts:
    """The values as they were when the corpus was written."""
    return json.loads(place(name).read_text())


def computed(name: str, folder: Path) -> Facts:
    """The values as they are now, in the form in which they would be stored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small groups warn that records stay as they are
        return json.loads(json.dumps(CASES[name](folder)))
