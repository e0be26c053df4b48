"""A document as PDF: tagged, with headings, alternative texts and letters that can be searched.

Typst sets it, from one template and data; no word of a document is ever read as markup. Neither a
browser nor a package of the system is needed. The same document gives the same bytes where the same
fonts are installed.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.resources import as_file, files
from typing import Final

from pramana.base.charts import readable
from pramana.errors import MissingExtra
from pramana.reporting.document import Block, Document, Drawing, Group
from pramana.types import Form

__all__ = ["to_pdf"]

ACCESSIBLE: Final = "ua-1"
"""The standard of PDFs for everybody; without it where a letter has no glyph in any font."""


def to_pdf(document: Document) -> bytes:
    """The document as the bytes of a PDF file."""
    try:
        import typst
    except ImportError:
        raise MissingExtra("PDF reports need an extra: pip install 'pramana[pdf]'.") from None
    with as_file(files("pramana.reporting").joinpath("report.typ")) as template:
        inputs = {"data": json.dumps(_in_sight(_plain(document)))}
        try:
            made = typst.compile(str(template), sys_inputs=inputs, pdf_standards=[ACCESSIBLE])
        except typst.TypstError:
            made = typst.compile(str(template), sys_inputs=inputs)
    return bytes(made)


def _in_sight(form: object) -> object:
    """The same with every text readable: no name turns the direction of a line.

    >>> _in_sight({"rows": [(chr(0x202E) + "b", 1)]}) == {"rows": [[chr(0xFFFD) + "b", 1]]}
    True
    """
    if isinstance(form, str):
        return readable(form)
    if isinstance(form, dict):
        return {name: _in_sight(own) for name, own in form.items()}
    return [_in_sight(own) for own in form] if isinstance(form, list | tuple) else form


def _plain(document: Document) -> Form:
    return {
        "title": document.title,
        "about": " · ".join(document.about),
        "first": [_block(block) for block in document.first],
        "annex": document.annex,
        "parts": [
            {"head": part.head, "blocks": [_block(block) for block in part.blocks]}
            for part in document.parts
        ],
        "closing": document.closing,
    }


def _block(block: Block) -> Form:
    """Its fields by name, and which block it is."""
    name = {"block": type(block).__name__.lower()}
    if isinstance(block, Group):
        return name | {"kind": block.kind, "blocks": [_block(one) for one in block.blocks]}
    if isinstance(block, Drawing):
        return name | {"svg": block.svg, "alt": f"{block.title}. {block.text}"}
    return name | asdict(block)
