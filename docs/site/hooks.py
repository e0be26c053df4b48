"""What the site has beyond the pages: files of the project's root, every public name, mathematics.

Mathematics becomes MathML when the site is built, so that a reader's browser fetches nothing.
"""

# ruff: noqa: ARG001 - MkDocs hands over what it has
from __future__ import annotations

import ast
import html
import os
import posixpath
import re
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
FROM_ROOT = {
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/RESULTS.md": "measured.md",
}
"""Files outside this folder, and the pages that they become."""

ROOMS = {
    "api": "Verbs",
    "schema": "Schemas",
    "guarantees": "Guarantees",
    "methods": "Methods",
    "mechanisms": "Transition matrices",
    "analysis": "Releases and estimates",
    "release": "Certificates",
    "verification": "Verification",
    "microaggregation": "Microaggregation",
    "ledger": "Several releases",
    "errors": "Errors",
}
"""Rooms of the package in the order in which their public names are shown."""

LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)]*)?\))")
MATH = re.compile(r'<(span|div) class="arithmatex">(?:\\\(|\\\[)(.*?)(?:\\\)|\\\])</\1>', re.DOTALL)
NAMED = re.compile(r"^(```toml) (\S+)$", re.MULTILINE)
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config) -> Files:
    """Add what is made: pages from the root, their pictures, the reference of public names."""
    for source, page in FROM_ROOT.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    for picture in sorted((ROOT / "benchmarks" / "plots").glob("*.svg")):
        uri = f"plots/{picture.name}"
        files.append(File.generated(config, uri, content=picture.read_text()))
    files.append(File.generated(config, "reference/api.md", content=public_names()))
    return files


def public_names() -> str:
    """A page with every public name, room by room, as the package lists them."""
    tree = ast.parse((ROOT / "src" / "pramana" / "__init__.py").read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    rooms: dict[str, list[str]] = {room: [] for room in ROOMS}
    for node in guarded.body:
        for name in node.names:
            rooms[node.module.split(".")[1]].append(f"{node.module}.{name.name}")
    parts = ["# Every public name\n", "`import pramana as pm`: all of them are there.\n"]
    for room, names in rooms.items():
        parts += [f"## {ROOMS[room]}\n"]
        parts += [f"::: {name}\n    options:\n      heading_level: 3\n" for name in names]
    return "\n".join(parts)


def on_page_markdown(markdown: str, page, config, files: Files) -> str:
    """Links mean the same here as in the repository, and files that a page writes have a title."""
    markdown = NAMED.sub(r'\1 title="\2"', markdown)
    own = next((s for s, p in FROM_ROOT.items() if p == page.file.src_uri), "")
    place = posixpath.dirname(own or f"docs/{page.file.src_uri}")

    def led(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(place, found[2]))
        if target == "README.md":
            target = "docs/index.md"
        target = FROM_ROOT.get(target, target.removeprefix("docs/"))
        target = re.sub(r"^benchmarks/(plots/)", r"\1", target)
        start = posixpath.dirname(page.file.src_uri) or "."
        return found[1] + os.path.relpath(target, start) + found[3]

    parts = FENCED.split(markdown)
    return "".join(part if part.startswith("```") else LINK.sub(led, part) for part in parts)


def on_page_content(content: str, page, config, files: Files) -> str:
    """Typeset mathematics."""

    def typeset(found: re.Match[str]) -> str:
        display = "block" if found[1] == "div" else "inline"
        return convert(html.unescape(found[2]), display=display)

    return MATH.sub(typeset, content)
