"""Whatever is written is used: no function of the package is without a caller in it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pramana
from tests.architecture.source import nodes, parsed

SOURCE = Path(pramana.__file__).parent
CALLED_BY_OTHERS = {
    "_options": "typer",
    "_repr_html_": "notebooks",
    "bse": "analysts",
    "conf_int": "analysts",
    "corr": "analysts",
    "cov_params": "analysts",
    "eof_received": "asyncio",
    "exact_individual_risk": "tests compare the usual one with it",
    "format_commands": "click",
    "from_dense": "whoever has counts as an array",
    "get_feature_names_out": "scikit-learn",
    "match_risks": "tests compare the probability of each value with the exact one",
    "nobs": "analysts",
    "persistent_id": "pickle",
    "persistent_load": "pickle",
    "pvalue": "analysts",
    "pvalues": "analysts",
    "shift_weights": "analysts",
    "to_polars": "analysts",
    "to_frame": "analysts",
    "to_wide": "analysts",
    "transfer_weights": "analysts",
    "tvalues": "analysts",
    "unregister": "whoever registers",
}
"""What nobody in the package calls, and who does."""


def defined(code: str) -> Iterator[str]:
    """The names of functions and classes; a handler of the studio is entered by its decorator."""
    for node in nodes(code):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            entered = (ast.unparse(own).startswith("PAGES.") for own in node.decorator_list)
            if not any(entered):
                yield node.name


def used(code: str) -> Iterator[str]:
    """Every name that is looked up, also by its text: registries and templates name members so.

    What a function looks up under its own name is no use of it: it calls itself, or its namesakes.
    """
    tree = parsed(code)
    listed = {
        id(part)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for part in ast.walk(node.value)
    }
    left: list[tuple[ast.AST, frozenset[str]]] = [(tree, frozenset())]
    while left:
        node, inside = left.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside |= {node.name}
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield from {node.id} - inside
        elif isinstance(node, ast.Attribute):
            # Who calls that of the class above calls this one.
            yield from {node.attr} - (frozenset() if _above(node.value) else inside)
        elif isinstance(node, ast.Constant) and id(node) not in listed:
            word = node.value if isinstance(node.value, str) and " " not in node.value else ""
            yield from set(re.findall(r"\w+", word)) - inside
        left += [(child, inside) for child in ast.iter_child_nodes(node)]


def _above(node: ast.AST) -> bool:
    """Whether an expression is ``super()``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "super"
        and not (node.args or node.keywords)
    )


def unused(modules: dict[str, str], pages: str = "") -> set[str]:
    """Names that are defined and never looked up, given code by name and templates."""
    uses = Counter(name for code in modules.values() for name in used(code))
    uses.update(re.findall(r"\w+", pages))
    names = {name for code in modules.values() for name in defined(code)}
    return {name for name in names if not uses[name] and not name.startswith("__")}


def test_every_function_has_a_caller() -> None:
    """Or is public, or is called by somebody who is named above."""
    modules = {str(path): path.read_text() for path in SOURCE.rglob("*.py")}
    kinds = {".html", ".js"}
    pages = "\n".join(p.read_text() for p in SOURCE.rglob("*") if p.suffix in kinds)
    found = unused(modules, pages) - set(pramana.__all__)
    assert found - set(CALLED_BY_OTHERS) == set()


def test_a_function_without_a_caller_is_found() -> None:
    """The test above can fail."""
    assert unused({"a": "def f(): ...\ndef g(): f()", "b": "__all__ = ['g']"}) == {"g"}
    assert unused({"a": "class A:\n    def f(self): self.a.f()"}) == {"A", "f"}
