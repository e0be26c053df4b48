"""Pages, help texts and templates have no dialect; texts in the source have ever less."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import typer
from benchmarks.house import PHRASES, House, dialect, prose, template_text

from tests.architecture.test_documents import COMMANDS, ROOT, SOURCE

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEMPLATES = sorted(SOURCE.rglob("templates/**/*.html"))

MOST = {
    "__init__.py": 10,
    "analysis": 150,
    "api.py": 10,
    "base": 50,
    "cli": 10,
    "collect": 40,
    "engine": 10,
    "errors.py": 10,
    "evaluation": 100,
    "experiments": 20,
    "guarantees": 60,
    "io": 40,
    "ledger": 30,
    "mechanisms": 40,
    "methods": 90,
    "microaggregation": 20,
    "protecting.py": 10,
    "release": 60,
    "reporting": 40,
    "risk": 60,
    "schema": 80,
    "studio": 60,
    "types.py": 10,
    "verification": 70,
}
"""Hits that remain in texts and docstrings, at most, by package. They may only fall."""

AMERICAN = re.compile(
    r"\b(?:random|anonym|general|minim|maxim|optim|regular|normal|recogn|organ|summar|categor|standard)"
    r"iz(?:e[ds]?|ing|ations?)\b|\b(?:behavior|neighbor|favor|color|center|modeling|modeled|labeled|"
    r"labeling|analyz\w+)s?\b",
    re.IGNORECASE,
)
"""Spellings that are not British; the verb ``synthesize`` keeps its name."""

TITLES = ROOT / "docs/references.md"
"""Titles are spelled as their authors did."""


def hits_by_package() -> Counter[str]:
    """Words of the dialect in texts and docstrings."""
    counts: Counter[str] = Counter()
    for module in House.at(SOURCE).modules:
        package = module.path.relative_to(SOURCE).parts[0]
        text = "\n".join(part for parts in module.texts() for part in parts).lower()
        counts[package] += sum(len(re.findall(rf"\b{re.escape(word)}\b", text)) for word in PHRASES)
    return counts


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_no_dialect(page: Path) -> None:
    """And British spelling; code and formulas apart. docs/glossary.md has the words to use."""
    text = prose(page.read_text())
    assert not dialect(text)
    assert page == TITLES or not AMERICAN.findall(text)


@pytest.mark.parametrize("verb", sorted(COMMANDS))
def test_a_help_text_has_no_dialect(verb: str) -> None:
    """Of a command, of its subcommands, and of every option."""
    for command in getattr(COMMANDS[verb], "commands", {verb: COMMANDS[verb]}).values():
        options = command.get_params(typer.Context(command))
        texts = [command.help or "", *(getattr(option, "help", "") or "" for option in options)]
        assert not dialect("\n".join(texts))
        assert not AMERICAN.findall("\n".join(texts))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_has_no_dialect(path: Path) -> None:
    """What it shows, its expressions apart."""
    text = template_text(path.read_text())
    assert not dialect(text)
    assert not AMERICAN.findall(text)


def test_dialect_is_found() -> None:
    """A page that says so is not passed."""
    assert dialect(prose("A value\nis told; `told` is code.")) == {"told": 1}
    assert dialect(template_text("{{ told }}<p class='plain'>It stands</p>")) == {"stands": 1}


def test_dialect_in_the_source_does_not_grow() -> None:
    """Lower a number of ``MOST`` where you have made it smaller."""
    grown = {name: count for name, count in hits_by_package().items() if count > MOST.get(name, 0)}
    assert not grown
