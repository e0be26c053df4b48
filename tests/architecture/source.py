"""The package as trees: whatever rules read it, each module is parsed and walked once."""

from __future__ import annotations

import ast
from functools import cache

__all__ = ["nodes", "parsed"]


@cache
def parsed(code: str) -> ast.Module:
    """The tree of some code, which nobody changes."""
    return ast.parse(code)


@cache
def nodes(code: str) -> tuple[ast.AST, ...]:
    """All nodes of that tree."""
    return tuple(ast.walk(parsed(code)))
