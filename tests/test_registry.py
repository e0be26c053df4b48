"""Things found by name: built in, registered, or offered by installed packages."""

from __future__ import annotations

import sys
import threading
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pramana.base import registry
from pramana.base.registry import Registry


def test_a_list_of_names_imports_no_member() -> None:
    """A member is loaded when it is asked for, and only then."""
    found: Registry[object] = Registry("pramana.tests", {"broken": "no.such.module:thing"})
    assert list(found) == ["broken"]
    assert "broken" in found
    with pytest.raises(ModuleNotFoundError):
        found["broken"]


def test_members_stand_in_the_order_in_which_they_became_known() -> None:
    """Built-in ones first."""
    found: Registry[object] = Registry("pramana.tests", {"path": "pathlib:Path"})
    found.register("later", 1)
    assert list(found) == ["path", "later"]
    assert found["path"] is Path
    assert len(found) == 2


def test_a_name_that_is_taken_is_refused() -> None:
    """Nothing built in can be replaced unseen."""
    found: Registry[object] = Registry("pramana.tests", {"path": "pathlib:Path"})
    with pytest.raises(ValueError, match="'path' is already registered"):
        found.register("path", 1)
    found.register("own", 2)
    found.unregister("own")
    assert "own" not in found
    with pytest.raises(KeyError):
        found["own"]


def test_an_installed_package_offers_a_member_by_an_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its entry point names the group; a built-in name it cannot take over."""
    (tmp_path / "toy_shapes.py").write_text("SQUARE = 4\nTAKEN = 0\n")
    about = tmp_path / "toy-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[pramana.tests.shapes]\nsquare = toy_shapes:SQUARE\npath = toy_shapes:TAKEN\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    found: Registry[object] = Registry("pramana.tests.shapes", {"path": "pathlib:Path"})
    assert found["square"] == 4
    assert found["path"] is Path
    sys.modules.pop("toy_shapes", None)


def test_a_thread_that_asks_while_another_looks_outside_finds_as_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first one is still reading what packages offer."""
    found: Registry[object] = Registry("pramana.tests.shapes", {})
    reading, asked = threading.Event(), threading.Event()

    def installed(*, group: str) -> list[EntryPoint]:
        if threading.current_thread() is not threading.main_thread():
            reading.set()
            assert asked.wait(10)
        return [EntryPoint("own", "pathlib:Path", "pramana.tests.shapes")]

    monkeypatch.setattr(registry, "entry_points", installed)
    first = threading.Thread(target=found.__contains__, args=("own",))
    first.start()
    assert reading.wait(10)
    try:
        assert found["own"] is Path
    finally:
        asked.set()
        first.join()
