"""A document as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.pictures import inline_svg
from pramana.reports.blocks import (
    Block,
    Code,
    Document,
    Drawing,
    Facts,
    Figures,
    Grid,
    Group,
    Heading,
    Signature,
    Words,
)
from pramana.reports.markup import Markup, details_table, element, joined, table
from pramana.reports.style import STYLE

__all__ = ["block_html", "to_html"]

VERDICTS = ("good", "stated", "bad")


def to_html(document: Document) -> str:
    """Head, first page, table of contents, parts, footer."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", document.title),
        element("style", Markup(STYLE)),
    )
    about = " · ".join(document.about)
    lead = element("p", about, class_="quiet") if about else None
    body = element(
        "body",
        element("header", element("h1", document.title), lead),
        element("main", *map(block_html, document.first), _annex(document)),
        element("footer", element("p", document.closing, class_="quiet")),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _annex(document: Document) -> Markup:
    """The parts; under a heading of their own they begin a new sheet of paper."""
    inside = bool(document.annex)
    links = [element("li", element("a", p.head, href=f"#{p.key}")) for p in document.parts]
    nav = element("nav", element("ul", *links), aria_label="Sections")
    parts = [
        element(
            "section",
            element("h3" if inside else "h2", part.head, id=part.key),
            *(block_html(block, level=4 if inside else 3) for block in part.blocks),
            aria_labelledby=part.key,
        )
        for part in document.parts
    ]
    if not inside:
        return joined([nav, *parts])
    head = element("h2", document.annex, id="annex")
    return element("section", head, nav, *parts, class_="annex", aria_labelledby="annex")


def block_html(block: Block, *, level: int = 3) -> Markup:
    """One block; headings inside parts have this level."""
    if isinstance(block, Group):
        return element(
            "div", *(block_html(b, level=level) for b in block.blocks), class_=block.kind
        )
    if isinstance(block, Heading):
        return element(f"h{level}", block.text)
    if isinstance(block, Words):
        return _words(block)
    if isinstance(block, Grid):
        return _grid(block)
    if isinstance(block, Drawing):
        drawn = inline_svg(block.svg, identity=block.identity, title=block.title, text=block.text)
        return element("figure", Markup(drawn))
    return _plain(block)


def _plain(block: Facts | Figures | Code | Signature) -> Markup:
    if isinstance(block, Facts):
        return element("dl", *_pairs(block.pairs))
    if isinstance(block, Figures):
        entries = [
            element("div", element("dt", words), element("dd", number))
            for number, words in block.entries
        ]
        return element("dl", *entries, class_="figures")
    if isinstance(block, Code):
        return element("pre", element("code", block.text), tabindex="0")
    return element("div", *(element("div", field) for field in block.fields), class_="signature")


def _words(block: Words) -> Markup:
    if block.tone == "strong":
        return element("p", element("strong", block.text))
    if block.tone in VERDICTS:
        return element("p", block.text, class_=f"verdict {block.tone}")
    note = "note" if block.tone == "warning" else None
    return element("p", block.text, class_=block.tone or None, role=note)


def _grid(block: Grid) -> Markup:
    made = table(block.heads, block.rows, caption=block.caption, numbers=block.numbers)
    return details_table(block.folded, made) if block.folded else made


def _pairs(pairs: Sequence[tuple[str, str]]) -> list[Markup]:
    return [
        element(tag, text) for pair in pairs for tag, text in zip(("dt", "dd"), pair, strict=True)
    ]
