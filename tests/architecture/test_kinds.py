"""What differs by kind of release is asked of the kind, never decided by its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pramana
from pramana.release.kinds import KINDS

SOURCE = Path(pramana.__file__).parent


def names_compared(code: str) -> Iterator[int]:
    """Lines on which something called kind is compared with the name of a kind of release."""
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.Compare):
            continue
        parts = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
        texts = {part.value for part in parts if isinstance(part, ast.Constant)}
        asked = {getattr(part, "attr", getattr(part, "id", None)) for part in parts}
        if "kind" in asked and texts & set(KINDS):
            yield node.lineno


def test_nobody_asks_for_the_name_of_a_kind():
    """So that a new kind is one object, and no verb can forget it."""
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SOURCE.rglob("*.py")
        for line in names_compared(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_a_comparison_is_seen():
    """The test above can fail."""
    assert list(names_compared('if certificate.kind in ("withheld", "groups"): ...')) == [1]
    assert list(names_compared('x = 1 if "reports" != kind else 2')) == [1]
