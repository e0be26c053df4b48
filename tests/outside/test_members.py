"""A guarantee, a method, a format and an engine from outside: from the help to the report."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pramana.api import ENGINES, FORMATS, GUARANTEES, METHODS
from tests.outside import journey, toys

REGISTRIES = (GUARANTEES, METHODS, FORMATS, ENGINES)

SCHEMA = """
[columns.sex]
role = "key"
categories = ["F", "M"]

[columns.x]
role = "sensitive"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small table and its schema."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{'FM'[i % 2]},{i}\n" for i in range(400))
    Path("people.csv").write_text(f"sex,x\n{rows}")
    Path("schema.toml").write_text(SCHEMA)
    return tmp_path


@pytest.fixture
def registered() -> Iterator[None]:
    """All four are known while a test runs."""
    for registry in REGISTRIES:
        name, attribute = toys.MEMBERS[registry.group]
        registry.register(name, getattr(toys, attribute))
    yield
    for registry in REGISTRIES:
        registry.unregister(toys.MEMBERS[registry.group][0])


@pytest.mark.usefixtures("here", "registered")
def test_registered_members_go_all_the_way() -> None:
    """By one call of ``register`` each."""
    journey.go_all_the_way()


def test_members_of_an_installed_package_go_all_the_way(here: Path) -> None:
    """By one entry point each: the package is found by its metadata, nothing is called."""
    package = here / "site"
    about = package / "toys-1.0.dist-info"
    about.mkdir(parents=True)
    shutil.copy(toys.__file__, package / "toys.py")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    points = (f"[{g}]\n{name} = toys:{own}\n" for g, (name, own) in toys.MEMBERS.items())
    (about / "entry_points.txt").write_text("\n".join(points))
    path = os.pathsep.join([str(package), *filter(None, sys.path)])

    done = subprocess.run(
        [sys.executable, journey.__file__],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        check=False,
    )

    assert done.returncode == 0, done.stderr
