"""What exists is documented: rooms, guarantees, commands, public names, references."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from benchmarks.house import House, picture

import pramana
from pramana.cli.app import LINES, app
from pramana.guarantees.claims import GUARANTEES
from tests.architecture.source import nodes

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "pramana"
_GROUP: Any = typer.main.get_command(app)
COMMANDS = {name: _GROUP.get_command(None, name) for name in LINES}


@pytest.mark.parametrize("name", sorted(GUARANTEES))
def test_every_guarantee_has_a_proof_page(name: str) -> None:
    """The one it names, with what holds before, what is guaranteed, why, and what is not."""
    page = (ROOT / "docs" / "proofs" / f"{GUARANTEES[name].page}.md").read_text()
    headings = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert headings[:4] == ["Precondition", "Statement", "Proof", "What it does not guarantee"]


@pytest.mark.parametrize("verb", sorted(COMMANDS))
def test_every_option_has_a_help_text(verb: str) -> None:
    """The site makes the reference of the command line from these texts."""
    commands = getattr(COMMANDS[verb], "commands", {verb: COMMANDS[verb]})
    for command in commands.values():
        assert command.help, verb
        for parameter in command.get_params(typer.Context(command)):
            text = getattr(parameter, "help", "") or ""
            assert text.strip().endswith((".", ")")), f"{verb} {parameter.name}: {text!r}"


def test_every_verb_with_json_is_in_the_reference() -> None:
    """One row a verb on the page on JSON."""
    page = (ROOT / "docs" / "reference" / "json.md").read_text()
    for verb, command in COMMANDS.items():
        names = [name for p in command.get_params(typer.Context(command)) for name in p.opts]
        assert ("--json" in names) <= (f"| `{verb}` |" in page), verb


def test_every_public_name_is_in_the_reference() -> None:
    """The page on Python names all of ``__all__``."""
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    missing = [name for name in pramana.__all__ if f"`{name}" not in page]
    assert not missing


def test_the_picture_shows_the_rooms_that_are_there() -> None:
    """``docs/architecture.md`` lists every room, and no other but those in brackets below it."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    picture = page.split("```text\n")[1].split("```")[0]
    shown = set(re.findall(r"^  ([a-z_]+(?:/|\.py))", picture, re.MULTILINE))
    there = {f"{path.name}/" for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    there |= {path.name for path in SOURCE.glob("*.py")} - {"__init__.py"}
    contract = (ROOT / ".importlinter").read_text()
    assert there <= shown, f"not in the picture: {sorted(there - shown)}"
    for room in shown - there - {"__init__.py"}:
        assert f"({room.strip('/')})" in contract, f"in the picture and not there: {room}"


def test_the_layers_of_the_picture_are_those_that_the_linter_keeps() -> None:
    """The same lines in the page as in the contract."""
    contract = (ROOT / ".importlinter").read_text()
    layers = re.search(r"^layers =\n((?:    .+\n)+)", contract, re.MULTILINE)
    assert layers
    lines = [line.strip() for line in layers[1].splitlines()]
    page = (ROOT / "docs" / "architecture.md").read_text()
    assert "\n".join(lines) in page


def test_the_drawn_layers_are_those_that_the_linter_keeps() -> None:
    """``make pictures`` draws them anew."""
    drawn = (ROOT / "docs" / "pictures" / "layers.svg").read_text()
    assert drawn == picture(House(ROOT / "src").layers())


def test_every_theorem_of_the_picture_is_quoted_in_its_room() -> None:
    """A row names a paper's theorem or a proof of ours, and files that quote it."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.split("## The file of each theorem\n")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 15
    for what, source, files in rows:
        places = [SOURCE / name for name in re.findall(r"`(\w+/[\w./]+)`", files)]
        assert places, what
        modules = [
            p for place in places for p in (place.glob("*.py") if place.is_dir() else [place])
        ]
        words = " ".join(path.read_text() for path in modules)
        for theorem in re.findall(r"\[([A-Z][^\]]+)\](?!\()", source):
            assert f"[{theorem}]" in words, f"{what}: {theorem}"
        for proof in re.findall(r"\(proofs/(\w+)\.md\)", source):
            assert f"docs/proofs/{proof}.md" in words, f"{what}: {proof}"


def test_the_ten_lines_that_a_value_passes_are_there() -> None:
    """Each names a module and a function in it."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    lines = re.findall(r"^ ?\d+  (\S+\.py) +(\S+) ", page, re.MULTILINE)
    assert len(lines) == 10
    for file, function in lines:
        text = (SOURCE / file).read_text()
        for name in function.split("."):
            assert re.search(rf"\b(class|def) {name}\b", text), f"{file} {function}"


def test_every_reference_in_the_source_is_in_the_bibliography() -> None:
    """Comments cite by key, such as [Ikarashi, Thm 3]; each key has an entry."""
    page = (ROOT / "docs" / "references.md").read_text()
    entries = set(re.findall(r"^\*\*\[(\w+)\]\*\*", page, re.MULTILINE))
    cited = set()
    for path in SOURCE.rglob("*.py"):
        cited |= set(re.findall(r"\[([A-Z][A-Za-z]+\d*)(?:, [^\]\n]*)?\]", _words(path)))
    assert cited <= entries, f"without an entry: {sorted(cited - entries)}"


def _words(path: Path) -> str:
    """Docstrings and comments of a module."""
    text = path.read_text()
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    documents = [ast.get_docstring(n) or "" for n in nodes(text) if isinstance(n, kinds)]
    return "\n".join(documents + re.findall(r"#.*$", text, re.MULTILINE))
