"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pramana
from pramana.files import whole_file, whole_folder, write_whole

SOURCE = Path(pramana.__file__).parent


def test_a_file_appears_when_it_is_complete(tmp_path):
    """Not before; what stood there stays until then, and nothing is left beside it."""
    path = tmp_path / "a.txt"
    path.write_text("old")
    with whole_file(path) as place:
        place.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    with pytest.raises(IsADirectoryError), whole_file(path) as place:
        place.parent.write_text("half")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_appears_when_it_is_complete(tmp_path):
    """With all of its files, in the place of the one that stood there."""
    path = tmp_path / "release"
    for content in ("old", "new"):
        with whole_folder(path) as place:
            (place / content).write_text(content)
            assert content == "old" or (path / "old").exists()
        assert [file.name for file in path.iterdir()] == [content]
    with pytest.raises(ValueError, match="stop"), whole_folder(path):
        raise ValueError("stop")
    assert [file.name for file in path.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [path]


def test_small_files_have_the_permissions_asked_for(tmp_path):
    """A private key is nobody else's."""
    write_whole(tmp_path / "key", b"secret", mode=0o600)
    write_whole(tmp_path / "text", "ü")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "text").read_bytes() == "ü".encode()
    write_whole(Path("/dev/null"), "nowhere")


def test_every_writer_goes_through_here():
    """No other module writes files, moves them into place, or makes folders to do so.

    The certificate is written inside a folder that is not there yet.
    """
    verbs = {"write_text", "write_bytes", "rename", "mkdtemp"}
    allowed = {"files.py": verbs, "release/folder.py": {"write_bytes"}}
    found = {}
    for path in SOURCE.rglob("*.py"):
        name = str(path.relative_to(SOURCE))
        if name.startswith("experiments/"):
            continue
        calls = {
            node.func.attr
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        found[name] = (calls & verbs) - allowed.get(name, set())
    assert {name: calls for name, calls in found.items() if calls} == {}
