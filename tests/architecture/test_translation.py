"""Catalogues hold every text that pages show, and templates show no other text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import pytest
from jinja2 import Environment, nodes

from pramana.base.translation import FIELD, LANGUAGES
from tests.architecture.catalogue import CATALOGUES, PACKAGE, marked, read, texts_in

TEMPLATES: Final = sorted((PACKAGE / "studio" / "templates").rglob("*.html"))
ENVIRONMENT: Final = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
ENVIRONMENT.newstyle_gettext = True  # type: ignore[attr-defined]
LETTERS: Final = re.compile(r"[A-Za-z]{2}")
READ_ALOUD: Final = ("aria-label", "title", "placeholder", "alt", "data-head")
AS_IT_IS: Final = ("Pramana studio", "- Pramana studio", "Python", "sex=2; region=1|2")
"""Names and an example of codes."""

MARKS: Final = ("_", "gettext", "ngettext")
VALUE: Final = re.compile(rf"%(?:\(\w+\)s|%)|{FIELD.pattern}")
ELEMENT: Final = re.compile(r"</?\w[^>]*>")


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.stem)
def test_a_catalogue_has_every_text_and_no_other(path: Path) -> None:
    """As ``python -m tests.architecture.catalogue`` and a translator leave it."""
    texts = {message.id: message.string for message in read(path) if message.id}
    assert path.stem in LANGUAGES
    assert {*texts} == marked()
    assert [text for text, translated in texts.items() if not translated] == []
    assert [message.id for message in read(path) if message.fuzzy and message.id] == []


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.stem)
def test_a_translation_has_the_values_and_elements_of_its_text(path: Path) -> None:
    """What stands in parentheses after a percent sign, or in braces, is filled in; spaces count."""
    for message in filter(lambda one: one.id, read(path)):
        text, translated = str(message.id), str(message.string)
        assert _values(text) == _values(translated), text
        assert sorted(ELEMENT.findall(text)) == sorted(ELEMENT.findall(translated)), text
        assert text.endswith(" ") == translated.endswith(" "), text


def _values(text: str) -> list[str]:
    return sorted(value[0] for value in VALUE.finditer(text))


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.name)
def test_texts_that_pages_show_are_fixed(path: Path) -> None:
    """A text with values in it is a fixed text with fields, which a catalogue can translate."""
    assert None not in texts_in(path)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_marks_every_text(path: Path) -> None:
    """Between elements, in what is read aloud, in expressions and in lists."""
    assert _unmarked(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "<p>Some text</p>",
        '<p title="Some text"></p>',
        '{{ "some text" if a else b }}',
        '{{ drawn("Some text") }}',
        '{% for a in (("x", "Some text"),) %}{{ a }}{% endfor %}',
    ],
)
def test_a_text_that_is_not_marked_is_found(source: str) -> None:
    """The test above would fail."""
    assert _unmarked(source)


def _unmarked(source: str) -> list[str]:
    """The texts of a template that no catalogue can translate."""
    tree = ENVIRONMENT.parse(source)
    page = _Texts()
    for output in tree.find_all(nodes.Output):
        for node in output.nodes:
            page.feed(node.data if isinstance(node, nodes.TemplateData) else " ".join(_shown(node)))
    page.close()
    lists = [one.iter for one in tree.find_all(nodes.For)]
    lists += [value for one in tree.find_all(nodes.With) for value in one.values]
    found = page.found + [text for node in lists for text in _shown(node) if _is_phrase(text)]
    return [text for text in found if LETTERS.search(text) and text not in AS_IT_IS]


def _shown(node: nodes.Node) -> list[str]:
    """The fixed texts that an expression may show, without those that are marked."""
    if isinstance(node, nodes.Const):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, nodes.Call):
        if getattr(node.node, "name", "") in MARKS:
            return []
        return [text for argument in node.args for text in _shown(argument) if _is_phrase(text)]
    if isinstance(node, nodes.CondExpr):
        parts = [node.expr1, node.expr2] if node.expr2 else [node.expr1]
    elif isinstance(node, nodes.Getitem):
        parts = (
            [pair.value for pair in node.node.items] if isinstance(node.node, nodes.Dict) else []
        )
    elif isinstance(node, nodes.Filter | nodes.Getattr):
        parts = [node.node] if node.node else []
    elif isinstance(node, nodes.Compare | nodes.Test):
        parts = []
    else:
        parts = [*node.iter_child_nodes()]
    return [text for part in parts for text in _shown(part)]


def _is_phrase(text: str) -> bool:
    """Whether it is a text for people, and not the name of something."""
    return bool(re.match(r"[A-Z][a-z]|\S*[a-z] [a-z]", text)) and "<" not in text


class _Texts(HTMLParser):
    """Collects what a page shows or reads aloud."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """What is read aloud of an element."""
        self.found += [value for name, value in attrs if name in READ_ALOUD and value]

    def handle_data(self, data: str) -> None:
        """A text."""
        self.found.append(data.strip())
