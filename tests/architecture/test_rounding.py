"""No number of privacy is printed rounded to the nearest: it goes through pramana.base.rounding."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pramana
from tests.architecture.source import nodes

SOURCES = Path(pramana.__file__).parent
PRIVACY = {
    "k", "k_expected", "epsilon", "central_epsilon", "all_waves", "delta", "rho1", "rho2", "alpha",
    "xi", "gamma", "retention", "closeness", "budget", "asked", "risk", "highest", "global_risk",
    "expected_reidentifications", "unique", "uniques", "unique_share", "unchanged_records",
    "copies", "link", "guess", "prior", "posterior", "left", "exact", "released_exact",
    "smallest_diagonal",
}  # fmt: skip
"""What numbers of privacy are called in the code, the forms and the templates."""

MADE_UP = {"experiments"}
"""Rooms that compare with numbers of papers, as papers round them."""

NEAREST = re.compile(r"(?<!\.12)[gf%e]$")
"""Formats that round; those of commands to be typed keep twelve digits."""


def names_in(node: ast.AST) -> set[str]:
    """Variables, attributes and keys that an expression speaks of."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute):
            found.add(part.attr)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            found.add(part.value)
    return found


def rounded(code: str) -> list[str]:
    """Numbers of privacy that some code formats to the nearest."""
    found = []
    for node in nodes(code):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            parts = (getattr(part, "value", "") for part in node.format_spec.values)
            spec = "".join(part for part in parts if isinstance(part, str))
            if NEAREST.search(spec) and names_in(node.value) & PRIVACY:
                found.append(ast.unparse(node.value))
    return found


def rounded_in_page(template: str) -> list[str]:
    """Numbers of privacy that a template formats to the nearest."""
    shown = re.findall(r"\{\{(.*?)\}\}", template, re.DOTALL)
    ways = re.compile(r"([^{}]*?)\|\s*(percent|round|count)\b(\([^)]*\))?")
    found = []
    for text in shown:
        formats = [(own, args) for own, way, args in ways.findall(text) if way != "count"]
        formats += [(own, "") for own in re.findall(r"""%\.\d[gfe]['"]\|format\(([^)]*)\)""", text)]
        last = [re.split(r"\bif\b|\belse\b|~", own)[-1] for own, args in formats
                if "ceil" not in args and "floor" not in args]  # fmt: skip
        found += [own for own in last if set(re.findall(r"\w+", own)) & PRIVACY]
    return found


def found_in(pattern: str, rule: Callable[[str], list[str]]) -> dict[str, list[str]]:
    """What a rule finds in which file."""
    names = {path: path.relative_to(SOURCES) for path in SOURCES.rglob(pattern)}
    found = {str(name): rule(path.read_text(encoding="utf-8")) for path, name in names.items()
             if name.parts[0] not in MADE_UP}  # fmt: skip
    return {name: own for name, own in found.items() if own}


def test_no_number_of_privacy_is_rounded_to_the_nearest():
    """2.9999 is not 3, and one in 2.9999 is not 33.3 %."""
    assert found_in("*.py", rounded) == {}


def test_nor_on_a_page():
    """Pages have ``risk`` for what may be too small, ``below`` for what may be too large."""
    assert found_in("*.html", rounded_in_page) == {}


def test_the_rule_finds_what_it_is_meant_to_find():
    """Spellings that stood in the code once."""
    for line in ('f"{self.k:g}"', 'f"{100 * first.guess:.3g} %"', """f"{one['retention']:.4f}" """):
        assert rounded(line), line
    for line in ('f"--k {k:.12g}"', 'f"{records:,}"', 'f"{text_up(self.alpha)}"'):
        assert not rounded(line), line
    for line in (
        '{{ "%.1f"|format(live.status.k) if live.status.k else "none" }}',
        "{{ (result.uniques / result.records)|percent }}",
        "{{ row.link|percent(2) if row.link is not none else '' }}",
        "{{ population.expected_reidentifications|round }}",
    ):
        assert rounded_in_page(line), line
    assert not rounded_in_page('{{ x.expected_reidentifications|round(0, "ceil")|count }}')
    assert not rounded_in_page("{{ row.error|percent }}")
