"""A table is read once, and what was counted is what is released."""

from __future__ import annotations

import os
import threading

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.engine.base import open_source
from pramana.errors import InvalidTable
from pramana.io import csv
from pramana.io.disk_buffer import DiskBuffer
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"x"}

RNG = np.random.default_rng(3)
N = 2000
TRUTH = pa.table(
    {
        "sex": np.array(["F", "M"])[RNG.integers(0, 2, N)],
        "area": np.array(["n", "s"])[RNG.integers(0, 2, N)],
        "x": np.arange(N),
    }
)


def schema(*, declared=True):
    """With or without the categories of the key."""
    domain = Categories(("F", "M")) if declared else None
    return Schema(
        (Column("sex", Role.KEY, domain), Column("area", Role.PUBLIC), Column("x", Role.SENSITIVE))
    )


@pytest.fixture
def passes(monkeypatch):
    """How often text is parsed, counted where the library is asked to."""
    seen = []
    reader = csv._arrow_batches

    def counted(path, dialect, **how):
        seen.append(path)
        return reader(path, dialect, **how)

    monkeypatch.setattr(csv, "_arrow_batches", counted)
    return seen


@pytest.mark.parametrize("targets", [(pm.PkAnonymity(k=5),), (pm.CorrectMatch(xi=0.6),)])
def test_a_text_file_is_parsed_once(passes, targets, tmp_path):
    """Described, designed for, counted, protected and verified: one table that is handed on."""
    pa.csv.write_csv(TRUTH, tmp_path / "t.csv")
    opened = open_source(tmp_path / "t.csv")
    pm.describe(opened)
    plan = pm.design(schema(declared=False), *targets, data=opened)
    pm.protect(opened, plan, to=tmp_path / "release", file_format="parquet")
    assert len(passes) == 1


def test_the_command_line_parses_once(passes, tmp_path, capsys):
    """The plainest protect, and one with a plain column and a target that needs counts."""
    from pramana.cli.app import main

    pa.csv.write_csv(TRUTH, tmp_path / "t.csv")
    schema(declared=False).save(tmp_path / "schema.toml")
    for number, target in enumerate((["--k", "5"], ["--xi", "0.6"])):
        place = str(tmp_path / f"release{number}")
        form = ["--format", "parquet", "-o", place]
        asked = ["protect", str(tmp_path / "t.csv"), "--schema", str(tmp_path / "schema.toml")]
        with pytest.raises(SystemExit) as ended:
            main([*asked, *target, *form])
        assert ended.value.code == 0
        assert len(passes) == number + 1
    capsys.readouterr()


def test_an_open_table_fits_a_schema_without_being_parsed_again(passes, tmp_path):
    """Digits become text where the categories are texts, and the very text that stood there."""
    (tmp_path / "t.csv").write_text("a,b\n1.50,1\n2,2\n")
    opened = open_source(tmp_path / "t.csv")
    assert opened.to_arrow().to_pydict() == {"a": [1.5, 2.0], "b": [1, 2]}
    texts = Schema(
        (Column("a", Role.KEY, Categories(("1.50", "2"))), Column("b", Role.SENSITIVE)),
    )
    assert open_source(opened, schema=texts).to_arrow()["a"].to_pylist() == ["1.50", "2"]
    assert open_source(opened) is opened
    assert len(passes) == 1


def test_what_is_held_comes_back_from_memory_and_from_the_file():
    """Values, order, types, dictionaries short and long, missing values; some columns alone."""
    many = pa.array([f"m{n}" for n in range(300)])
    ordered = pa.array([1, None, 0], pa.int32())
    batches = [
        pa.record_batch(
            {
                "t": pa.array(["a", None, f"v{n}"]).dictionary_encode(),
                "n": [n, None, -n],
                "m": pa.DictionaryArray.from_arrays([299, n, None], many if n else many[::-1]),
                "b": pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.uint8()), ["x", "y"]),
                "o": pa.DictionaryArray.from_arrays(ordered, ["lo", "hi"], ordered=True),
            }
        )
        for n in range(50)
    ]
    whole = pa.Table.from_batches(batches).to_pydict()
    for memory in (0, 2000, 2**20):
        held = DiskBuffer(batches, memory=memory)
        for columns in (["t", "n", "m", "b", "o"], ["n"]):
            loaded = pa.Table.from_batches([part.load() for part in held.parts(columns)])
            assert loaded.schema.types == batches[0].select(columns).schema.types
            assert loaded.to_pydict() == {name: whole[name] for name in columns}
        assert held.rows == 150
        assert [part.position for part in held.parts(["n"])] == list(range(0, 150, 3))


def test_a_relation_is_asked_once(tmp_path):
    """An answer that differs each time: the certificate is about the records that are released."""
    duckdb.register("truth", TRUTH)
    try:
        relation = duckdb.sql("SELECT * FROM truth WHERE random() < 0.5")
        plan = pm.design(
            schema(), pm.PkAnonymity(k=5), records=N, smallest_group=100, method="retention"
        )
        for place in (None, tmp_path / "release"):
            release = pm.protect(relation, plan, to=place, seed=1)
            assert release.certificate.records == release.opened.to_arrow().num_rows < N
        assert pm.verify(tmp_path / "release").valid
    finally:
        duckdb.unregister("truth")


def test_a_generator_is_heard_once(tmp_path):
    """It could not be heard twice."""
    plan = pm.design(schema(), pm.PkAnonymity(k=5), data=TRUTH, method="retention")
    release = pm.protect(TRUTH.to_reader(), plan, to=tmp_path / "release", seed=1)
    assert release.certificate.records == N
    assert pm.verify(tmp_path / "release").valid


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_file_that_changes_while_it_is_read_is_refused(ending, tmp_path):
    """Rewritten after it was counted, with as many records: nothing is released."""
    path = tmp_path / f"t.{ending}"
    write = pq.write_table if ending == "parquet" else pa.csv.write_csv
    write(TRUTH, path)
    opened = open_source(path)
    plan = pm.design(schema(), pm.PkAnonymity(k=5), data=opened, method="retention")
    turned = TRUTH.set_column(0, "sex", pa.array(["F"] * N))
    write(turned, path)
    if ending == "csv":  # what was read is held
        release = pm.protect(opened, plan, seed=1)
        assert sorted(release.opened.to_arrow()["x"].to_pylist()) == list(range(N))
        return
    with pytest.raises(InvalidTable, match="broken|changed"):
        pm.protect(opened, plan, to=tmp_path / "release", seed=1)
    assert not (tmp_path / "release").exists()


def test_text_that_grows_while_it_is_read_is_refused(tmp_path):
    """The file is looked at before and after."""
    path = tmp_path / "t.csv"
    big = pa.concat_tables([TRUTH] * 400)
    pa.csv.write_csv(big, path)
    stop = threading.Event()

    def grow():
        while not stop.is_set():
            with path.open("a") as file:
                file.write('"F","n",1\n')

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        with pytest.raises(InvalidTable, match="changed while it was read"):
            open_source(path)
    finally:
        stop.set()
        thread.join()
    os.utime(path)
    assert open_source(path).rows >= 400 * N
