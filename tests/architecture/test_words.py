"""Pages, help texts, templates, messages and docstrings have no dialect."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import typer
from benchmarks.house import House, dialect, prose, template_text

from tests.architecture.test_documents import COMMANDS, ROOT, SOURCE

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEMPLATES = sorted(SOURCE.rglob("templates/**/*.html"))

AMERICAN = re.compile(
    r"\b(?:random|anonym|general|minim|maxim|optim|regular|normal|recogn|organ|summar|categor|standard)"
    r"iz(?:e[ds]?|ing|ations?)\b|\b(?:behavior|neighbor|favor|color|center|modeling|modeled|labeled|"
    r"labeling|analyz\w+)s?\b",
    re.IGNORECASE,
)
"""Spellings that are not British; the verb ``synthesize`` keeps its name."""

TITLES = ROOT / "docs/references.md"
"""Titles are spelled as their authors did."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_no_dialect(page: Path) -> None:
    """And British spelling; code and formulas apart. docs/glossary.md has the words to use."""
    text = prose(page.read_text())
    assert not dialect(text)
    assert page == TITLES or not AMERICAN.findall(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_short(page: Path) -> None:
    """At most 1,500 words, without code and formulas."""
    assert len(prose(page.read_text()).split()) <= 1_500


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


@cache
def _words() -> dict[str, tuple[int, int, int]]:
    """How often the source has each word of the dialect: in names, texts and docstrings."""
    return House.at(SOURCE).words()


def test_texts_and_docstrings_have_no_dialect() -> None:
    """Apart from uses that are ordinary English, which ``benchmarks/house.py`` lists."""
    words = _words()
    assert {word: counts[1:] for word, counts in words.items() if any(counts[1:])} == {}


def test_names_have_no_dialect() -> None:
    """Variables, arguments, functions and classes."""
    assert not {word: names for word, (names, _, _) in _words().items() if names}
