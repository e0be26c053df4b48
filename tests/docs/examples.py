"""Runs what the pages show: commands and Python, in order, in an empty folder.

A page is a story: its blocks run one after the other and see what the earlier ones left.

- ``console``: lines after ``$`` are commands, the lines below are what they print (``...`` stands
  for anything, white space does not count);
- ``sh``: every line is a command;
- ``python``: runs; a block with ``>>>`` is compared with what it shows;
- ``toml NAME``: is written to the file of that name.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
MATCH = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```(\w*) ?(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    name: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page in order."""
    text = page.read_text()
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 2
        yield Block(str(page.relative_to(ROOT)), line, *found.groups())


def pictures(page: Path) -> list[str]:
    """The pictures of a page of examples, which its own blocks draw."""
    if page.parent.name != "examples":
        return []
    return re.findall(r"!\[[^\]]*\]\((\w+\.svg)\)", page.read_text())


def titles(picture: Path) -> list[str]:
    """What a picture says in words: its numbers are drawn anew where no seed is used."""
    said = re.findall(r"<text[^>]*>([^<]*[a-z]{3}[^<]*)</text>", picture.read_text())
    assert said, f"{picture.name} says nothing"
    return sorted(said)


@dataclass(frozen=True)
class Outside:
    """An environment other than that of the tests: where its commands are, and its variables."""

    bin: Path
    environment: dict[str, str]


OWN = Outside(
    BIN, os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
)


def run(block: Block, names: dict[str, Any], folder: Path, *, place: Outside = OWN) -> None:
    """Run one block in a folder; ``names`` are the Python names of the page so far.

    In another environment each Python block is a process of its own, as if pasted there.
    """
    if block.language == "sh":
        for command in block.text.splitlines():
            _command(block, command, folder, place)
    elif block.language == "console":
        _session(block, folder, place)
    elif block.language == "python" and place is not OWN:
        _process(block, [str(place.bin / "python"), "-c", block.text], folder, place)
    elif block.language == "python":
        _python(block, names)
    elif block.language == "toml" and block.name:
        (folder / block.name).write_text(block.text)


def _session(block: Block, folder: Path, place: Outside) -> None:
    for part in re.split(r"^\$ ", block.text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, _, wanted = part.partition("\n")
        got = _command(block, command, folder, place)
        if not _matches(wanted, got):
            raise AssertionError(f"{block.page}:{block.line}: {command}\nprinted:\n{got}")


def _matches(wanted: str, got: str) -> bool:
    """Word by word, with ``...`` for any words or none."""
    words = [".*" if word == "..." else re.escape(word) for word in wanted.split()]
    pattern = " ".join(words).replace(" .*", "(?: .*)?").replace(".* ", "(?:.* )?")
    return re.fullmatch(pattern, " ".join(got.split())) is not None


def _command(block: Block, command: str, folder: Path, place: Outside) -> str:
    command = command.partition("  #")[0]
    for target in re.findall(r"make ([a-z-]+)", command):
        recipe = _recipe(target)
        if target != "demo":
            return ""  # the tests do not run themselves
        command = recipe
    if not command.strip():
        return ""
    bare = command.rstrip().removesuffix("|| true")
    first, *rest = shlex.split(bare)
    if first == "pramana" and place is OWN:
        return _inside(block, rest, folder, wanted=0 if bare == command.rstrip() else 1)
    own = place.bin / first
    words = [str(own) if own.exists() else first, *rest]
    return _process(block, words, folder, place, wanted=0 if bare == command.rstrip() else 1)


def _inside(block: Block, words: list[str], folder: Path, *, wanted: int) -> str:
    """What the command prints, without a process of its own: starting takes longer than most do."""
    from pramana.cli.app import main

    out, told = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with (
        chdir(folder),
        pytest.MonkeyPatch.context() as patched,
        warnings.catch_warnings(),
        redirect_stdout(out),
        redirect_stderr(told),
    ):
        patched.setenv("COLUMNS", OWN.environment["COLUMNS"])
        warnings.simplefilter("default")
        with pytest.raises(SystemExit) as left:
            main(words)
    texts = []
    for stream in (out, told):
        stream.seek(0)
        texts.append(stream.read())
    where = f"{block.page}:{block.line}: pramana {' '.join(words)}"
    assert left.value.code == wanted, f"{where}\n{texts[1]}"
    return texts[0]


def _process(
    block: Block, words: list[str], folder: Path, place: Outside, *, wanted: int = 0
) -> str:
    done = subprocess.run(words, cwd=folder, env=place.environment, capture_output=True, text=True)
    where = f"{block.page}:{block.line}: {' '.join(words)}"
    assert done.returncode == wanted, f"{where}\n{done.stderr}"
    return done.stdout


def _recipe(target: str) -> str:
    """What the Makefile does for a target, with our own environment in place of its own."""
    makefile = (ROOT / "Makefile").read_text()
    found = re.search(rf"^{target}:[^\n]*\n\t@?([^\n]+)", makefile, re.MULTILINE)
    assert found, f"the Makefile has no target {target}"
    return found[1].replace("$(BIN)/", "")


def _python(block: Block, names: dict[str, Any]) -> None:
    if ">>>" in block.text:
        test = doctest.DocTestParser().get_doctest(
            block.text, names, block.page, block.page, block.line
        )
        failed = doctest.DocTestRunner(optionflags=MATCH).run(test, clear_globs=False).failed
        names.update(test.globs)
        assert not failed, f"{block.page}:{block.line}: {failed} examples show something else"
    else:
        exec(compile("\n" * block.line + block.text, block.page, "exec"), names)  # noqa: S102
