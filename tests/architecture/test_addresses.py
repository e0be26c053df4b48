"""Addresses of randomness are lists of parts, never texts that were put together."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pramana
from tests.architecture.source import nodes

SOURCES = Path(pramana.__file__).parent
DRAWS = {"words", "uniforms", "normals", "integers", "permutation"}
MADE_UP = {"experiments"}
"""Rooms that generate people who do not exist: nothing of theirs is ever a release."""


def addresses(code):
    """Every expression that is handed on, or kept, as the address of a stream."""
    for node in nodes(code):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in DRAWS:
                yield from node.args[:2]  # permutation has it in the second place
            yield from (word.value for word in node.keywords if word.arg == "stream")
        elif isinstance(node, ast.Assign):
            names = {getattr(own, "id", getattr(own, "attr", "")) for own in node.targets}
            if "stream" in names:
                yield node.value


def put_together(node):
    """Whether an expression is a text made of pieces."""
    adds = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod)
    return isinstance(node, ast.JoinedStr) or (
        adds and any(isinstance(getattr(part, "value", 0), str) for part in ast.walk(node))
    )


@pytest.mark.parametrize(
    "path",
    [path for path in SOURCES.rglob("*.py") if path.relative_to(SOURCES).parts[0] not in MADE_UP],
    ids=lambda path: str(path.relative_to(SOURCES)),
)
def test_no_address_is_put_together_as_a_text(path):
    """A text made of names is ambiguous as soon as a name holds what stands between them."""
    found = [
        ast.unparse(node)
        for node in addresses(path.read_text(encoding="utf-8"))
        if put_together(node)
    ]

    assert found == []


def test_the_rule_finds_what_it_is_meant_to_find():
    """The old spellings, each of them once."""
    old = [
        'self.stream = "release " + " x ".join(columns)',
        'keystream.words(f"inside {name}", 0, 3)',
        'keystream.permutation(n, f"halves {split}")',
        'randomise(matrix, codes, stream=f"run {run}")',
    ]

    assert all(any(map(put_together, addresses(line))) for line in old)
