"""A guarantee, a method, a format and an engine from outside: from the help to the report."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import pramana as pm
from pramana.api import ENGINES, FORMATS, GUARANTEES, METHODS, open_source
from pramana.errors import InvalidTable
from pramana.table.opened import OpenedTable, Part, placed
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


class Fickle(toys.Lines):
    """A format that reads its file anew each time, and another value from some pass on."""

    name, endings, writes = "fickle", (".fickle",), False

    def __init__(self, steady_passes: int) -> None:
        self.left = steady_passes

    def open(self, path: Path) -> OpenedTable:
        """Whatever it reads, as many records of the same kind."""
        table = super().open(path).to_arrow()

        def parts(columns: Sequence[str]) -> Iterator[Part]:
            self.left -= 1
            rows = table if self.left >= 0 else table.take([1, *range(1, table.num_rows)])
            return placed(rows.select(list(columns)).to_batches(max_chunksize=100))

        return OpenedTable(table.schema, table.num_rows, self.name, path, parts)


def test_a_format_from_outside_that_reads_otherwise_each_time_is_refused(here: Path) -> None:
    """From whichever pass on: what was counted is what is released, or nothing is."""
    rows = [{"sex": "FM"[i % 2], "x": i} for i in range(400)]
    (here / "people.fickle").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    schema = pm.Schema.load("schema.toml")

    def released(steady_passes: int) -> int:
        """How often the file was read for a plan and a release."""
        member = Fickle(steady_passes)
        FORMATS.register("fickle", member)
        try:
            opened = open_source(here / "people.fickle", schema=schema)
            plan = pm.design(schema, pm.PkAnonymity(k=2), data=opened)
            pm.protect(opened, plan, to=here / "release", file_format="csv", force=True)
        finally:
            FORMATS.unregister("fickle")
        return steady_passes - member.left

    passes = released(1000)
    assert passes > 1
    shutil.rmtree(here / "release")
    for steady_passes in range(1, passes):
        with pytest.raises(InvalidTable, match="held others"):
            released(steady_passes)
        assert not (here / "release").exists()
