"""What the site has beyond the pages: files of the project's root, references, mathematics.

Mathematics becomes MathML when the site is built, so that a reader's browser fetches nothing.
"""

# ruff: noqa: ARG001 - MkDocs hands over what it has
from __future__ import annotations

import ast
import html
import os
import posixpath
import re
import textwrap
from pathlib import Path

import typer
from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

import pramana.errors
from pramana.cli.app import LINES, app
from pramana.errors import Notice, PramanaError

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
    files.append(File.generated(config, "reference/command_line.md", content=command_line()))
    files.append(File.generated(config, "reference/errors.md", content=errors()))
    return files


def command_line() -> str:
    """A page with every verb and option, from the help of the command line."""
    group = typer.main.get_command(app)
    start = """# Command line

The result goes to stdout, progress and advice go to stderr. `--json` prints the result as one
[JSON object](json.md). Exit codes: **0** done, **1** a guarantee or a check does not hold, **2**
bad input, 130 interrupted, 143 terminated. A command that fails leaves nothing behind. Its message
names columns and counts, never values of the original data.

A file that holds several tables takes a mark: `people.xlsx#Sheet2` (`#Sheet2!3`: names in row 3),
`survey.rda#adults`, `base.duckdb#people`, `postgres://user@host/base#people`. Plan files and matrix
files have [a page](files.md).
"""
    return "\n".join([start, *(verb_help(name, group.get_command(None, name)) for name in LINES)])


def verb_help(name: str, command, level: int = 2) -> str:
    """The section of one verb: what it does, its example, a table of its arguments and options."""
    text, _, example = (command.help or LINES[name]).replace("\b\n", "").partition("Example:\n")
    parts = [f"{'#' * level} pramana {name}\n", text.strip() + "\n"]
    if example:
        parts.append(f"```sh\n{textwrap.dedent(example).rstrip()}\n```\n")
    rows = [row for row in map(option_row, command.get_params(typer.Context(command))) if row]
    if rows:
        parts.append("\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n")
    for inner, inside in getattr(command, "commands", {}).items():
        parts.append(verb_help(f"{name} {inner}", inside, level + 1))
    return "\n".join(parts)


def option_row(parameter) -> str:
    """One row of a table: every spelling of an option, its value, its help and its default."""
    words = (getattr(parameter, "help", "") or "").replace("|", "\\|")
    if parameter.param_type_name == "argument":
        return f"| `{parameter.human_readable_name.upper()}` | {words} |"
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.type.name.upper()}"
    names = [f"`{name}{value if name.startswith('--') else ''}`".replace("|", "\\|")
             for name in (*parameter.opts, *parameter.secondary_opts)]  # fmt: skip
    given = parameter.default
    default = (
        f" Default: {given}."
        if given not in (None, False, (), []) and parameter.show_default
        else ""
    )
    return f"| {', '.join(names)} | {words}{default} |"


def errors() -> str:
    """A page with every error and notice, and the codes that are given to each."""
    codes: dict[str, set[str]] = {}
    for file in (ROOT / "src" / "pramana").rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                given = {word.arg: word.value for word in call.keywords}.get("code")
                if isinstance(given, ast.Constant):
                    codes.setdefault(call.func.id, set()).add(str(given.value))
    parts = [
        "# Errors and notices\n",
        "A message is one line. Programs compare class, `code` and `fields` of `pramana.errors`.",
        "The code is the name of the class, `invalid-schema`, or one of those listed.\n",
        "| class | exit code | meaning | codes |",
        "|---|---|---|---|",
    ]
    for kind in vars(pramana.errors).values():
        if isinstance(kind, type) and issubclass(kind, PramanaError | Notice):
            meaning = (kind.__doc__ or "").partition("\n")[0]
            listed = ", ".join(f"`{code}`" for code in sorted(codes.get(kind.__name__, ())))
            exit_code = getattr(kind, "exit_code", "")
            parts.append(f"| `{kind.__name__}` | {exit_code} | {meaning} | {listed} |")
    return "\n".join([*parts, ""])


def public_names() -> str:
    """A page with every public name, room by room, as the package lists them."""
    stub = ast.parse((ROOT / "src" / "pramana" / "__init__.pyi").read_text())
    rooms: dict[str, list[str]] = {room: [] for room in ROOMS}
    for node in stub.body:
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
