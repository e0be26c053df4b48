"""Every library that the package imports, also inside functions, is declared in pyproject.toml."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pramana
from tests.architecture.source import nodes

SOURCE = Path(pramana.__file__).parent
PROJECT = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["project"]
FOR_PEOPLE = PROJECT["optional-dependencies"].keys() - {"dev", "docs", "browser"}
BESIDE = {
    "click": "typer",
    "markupsafe": "jinja2",
    "httptools": "uvicorn[standard]",
    "polars": "whoever hands over such a frame",
}
"""Libraries that come with another one, or with the table that is handed over."""


def imported(code: str) -> set[str]:
    """The packages that some code imports anywhere, for type checkers aside."""
    found = set()
    for node in nodes(code):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module).partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"pramana"}


def declared() -> set[str]:
    """The names of all libraries that people can get with the package."""
    extras = [one for extra in FOR_PEOPLE for one in PROJECT["optional-dependencies"][extra]]
    names = [re.match(r"[\w.-]+", one)[0] for one in [*PROJECT["dependencies"], *extras]]
    return {name.lower().replace("_", "-") for name in names}


def test_every_import_is_declared() -> None:
    """As a dependency, or in an extra that a message names."""
    known = packages_distributions()
    for path in SOURCE.rglob("*.py"):
        for package in imported(path.read_text()) - set(BESIDE):
            names = {name.lower().replace("_", "-") for name in known.get(package, [package])}
            assert names & declared(), f"{path.relative_to(SOURCE)} imports {package}"


def test_an_import_inside_a_function_is_seen() -> None:
    """The test above can fail."""
    assert imported("def f():\n    import requests.sessions") == {"requests"}
    assert "requests" not in declared()
