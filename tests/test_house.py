"""The measure of a source tree counts what it says."""

from __future__ import annotations

from pathlib import Path

from benchmarks.house import House

SOURCE = '''"""What stands beside the truth."""

import os

__all__ = ["verb"]

LIMIT: int = 3
alias = LIMIT


def verb(found):
    from json import dumps

    own = _once(found)
    return dumps(_twice(own) + _twice("so many"))


def _once(number):
    return number


def _twice(text):
    return _twice(text[1:]) if text else text


def __getattr__(name):
    return os
'''


def house(folder: Path) -> House:
    package = folder / "src" / "package"
    for name in ("a/cells.py", "b/cells.py", "b/__init__.py", "__init__.py"):
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SOURCE if name == "a/cells.py" else "")
    (folder / ".importlinter").write_text(
        "[importlinter:contract:rooms]\ntype = layers\nlayers =\n    a\n    b | c\n    d\n"
    )
    return House.at(folder / "src")


def test_figures_by_hand(tmp_path: Path) -> None:
    figures = house(tmp_path).figures()

    assert figures["lines"] == str(SOURCE.count("\n"))
    assert figures["modules"] == "4"
    assert figures["layers"] == "3"
    assert figures["imports inside functions"] == "1"
    assert figures["private module functions"] == "2"
    assert figures["  of them called once"] == "1"
    assert figures["  lines of those"] == "2"
    assert figures["file names that occur more than once"] == "1"
    assert figures["module constants per 1,000 lines"] == f"{2000 / SOURCE.count(chr(10)):.1f}"


def test_names_texts_and_docstrings_are_counted_apart(tmp_path: Path) -> None:
    words = house(tmp_path).words()

    assert words["own"] == words["found"] == (1, 0, 0)
    assert words["so many"] == (0, 1, 0)
    assert words["beside"] == (0, 0, 1)
    assert words["the truth"] == (0, 0, 1)
