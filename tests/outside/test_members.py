"""A member of each registry from outside: from the help to the report."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

import pramana as pm
from pramana.analysis.released_records import READINGS
from pramana.api import ENGINES, FORMATS, GUARANTEES, METHODS, open_source
from pramana.engine.local import LocalEngine
from pramana.errors import InvalidTable
from pramana.release.kinds import KINDS
from pramana.schema.opened_table import OpenedTable, Part, placed
from tests.outside import journey, toys

REGISTRIES = (GUARANTEES, METHODS, KINDS, READINGS, FORMATS, ENGINES)

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
    """All are known while a test runs."""
    for registry in REGISTRIES:
        for name, attribute in toys.MEMBERS[registry.group].items():
            registry.register(name, getattr(toys, attribute))
    yield
    for registry in REGISTRIES:
        for name in toys.MEMBERS[registry.group]:
            registry.unregister(name)


@pytest.mark.usefixtures("here", "registered")
def test_registered_members_go_all_the_way() -> None:
    """By one call of ``register`` each."""
    journey.go_all_the_way()


@pytest.mark.usefixtures("here", "registered")
def test_a_kind_without_matrices_or_groups_goes_all_the_way() -> None:
    """What it offers to promises, its words and its answers are its own: no other file knows it."""
    journey.go_by_lot()


@pytest.mark.deep
def test_members_of_an_installed_package_go_all_the_way(here: Path) -> None:
    """By one entry point each: the package is found by its metadata, nothing is called."""
    package = here / "site"
    about = package / "toys-1.0.dist-info"
    about.mkdir(parents=True)
    shutil.copy(toys.__file__, package / "toys.py")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    points = []
    for group, members in toys.MEMBERS.items():
        points += [f"[{group}]", *(f"{name} = toys:{own}" for name, own in members.items())]
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
            plan = pm.design(schema, pm.PkAnonymity(k=2), data=opened, method="retention")
            pm.protect(
                opened,
                plan,
                to=here / "release",
                file_format="csv",
                force=True,
                accept_risk=["x"],
            )
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


@dataclass(frozen=True)
class Questions:
    """A table that is asked anew at every pass, and answers otherwise from some pass on."""

    table: pa.Table
    way: str
    asked: list[None]
    """One entry a pass."""

    steady_passes: int

    def opened(self, *, coded: Collection[str] = ()) -> OpenedTable:
        """With some columns as dictionaries; a view asks as well."""
        table = self.table
        for name in coded:
            at = table.column_names.index(name)
            table = table.set_column(at, name, table[name].dictionary_encode())

        def parts(columns: Sequence[str]) -> Iterator[Part]:
            self.asked.append(None)
            late = len(self.asked) > self.steady_passes
            rows = ANSWERS[self.way if late else "same"](table)
            return placed(rows.select(list(columns)).to_batches(max_chunksize=100))

        def fit(*, text: Collection[str], coded: Collection[str]) -> OpenedTable:
            del text
            return self.opened(coded=coded)

        return OpenedTable(table.schema, table.num_rows, "frame", self, parts, fit=fit)


ANSWERS = {
    "same": lambda table: table,
    "another value": lambda table: table.take([1, *range(1, table.num_rows)]),
    "another order": lambda table: table.take([1, 0, *range(2, table.num_rows)]),
    "one less": lambda table: table.slice(1),
    "one more": lambda table: pa.concat_tables([table, table.slice(0, 1)]),
}


class AskingEngine(toys.RowEngine):
    """Serves such tables; the rest is the local engine's."""

    name = "asking"

    def serves(self, source: object) -> bool:
        """Its own tables."""
        return isinstance(source, Questions)

    def open(self, source, *, schema=None):
        """Nothing is held: every pass asks again."""
        return LocalEngine.open(self, source.opened(), schema=schema)


HOW = {
    "retention": ("retention", pm.PkAnonymity(k=2)),
    "attribute-sampling": ("attribute-sampling", pm.PkAnonymity(k=2)),
    "optimal": ("optimal", pm.SpontaneousRecognition(alpha=0.4, width=1)),
    "inverse-frequency": ("inverse-frequency", pm.CorrectMatch(xi=0.1)),
    "invariant": (pm.Invariant(stay=0.5), None),
    "resample": ("resample", pm.KAnonymity(k=4)),
}


@pytest.mark.parametrize("way", [way for way in ANSWERS if way != "same"])
@pytest.mark.parametrize("method", HOW)
def test_an_engine_from_outside_that_answers_otherwise_is_refused(here, method, way) -> None:
    """From whichever pass of ``protect`` on, by values, by their order, by their number."""
    table = pa.table({"sex": [*"FMMFM"] * 80, "x": range(400)})
    schema = pm.Schema.load("schema.toml")
    name, asked = HOW[method]
    plan = pm.design(schema, *filter(None, [asked]), data=table, method=name)

    def released(steady_passes: int) -> int:
        """How often the table was asked."""
        source = Questions(table, way, [], steady_passes)
        pm.protect(source, plan, to=here / "release", file_format="csv", seed=1, accept_risk=["x"])
        return len(source.asked)

    ENGINES.register("asking", AskingEngine())
    try:
        passes = released(1000)
        shutil.rmtree(here / "release")
        assert passes >= 1
        for steady_passes in range(1, passes):
            with pytest.raises(InvalidTable, match="each time it is read"):
                released(steady_passes)
            assert not (here / "release").exists()
    finally:
        ENGINES.unregister("asking")
