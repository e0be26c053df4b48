"""``pramana protect --engine spark``: the same words as on one machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pramana.engine.spark.session import read_path
from tests.release.people import SCHEMA, people

BINARY = Path(sys.executable).parent / "pramana"


def run(*arguments, **environment):
    return subprocess.run(
        [str(BINARY), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "people").mkdir()
    table = people(2000)
    pq.write_table(table.slice(0, 900), folder / "people" / "a.parquet")
    pq.write_table(table.slice(900), folder / "people" / "b.parquet")
    SCHEMA.save(folder / "schema.toml")
    return folder


def asked(home, *more):
    schema = home / "schema.toml"
    return run(
        "protect", home / "people", "--schema", schema, "--k", "20", "--engine", "spark", *more
    )


def one_line(done, text):
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert text in done.stderr


def test_an_address_of_a_folder_becomes_a_release(home):
    """As it was typed, with all its slashes: no host, as in file:/// and hdfs:///, is not a host.

    The result is on stdout and nothing else anywhere; the release verifies without Spark.
    """
    done = run(
        "protect", (home / "people").as_uri(), "--schema", home / "schema.toml", "--k", "20",
        "--engine", "spark", "--master", "local[2]", "-o", home / "release", "--json",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout)["records"] == 2000
    assert run("verify", home / "release").returncode == 0


def test_a_folder_is_read_by_its_path(spark, home):
    """All of its files."""
    assert read_path(str(home / "people")).sparkSession is spark
    assert read_path(str(home / "people")).count() == 2000


def test_bad_input_is_one_line(home, tmp_path):
    """A wrong master, a wrong engine, no Java, a master without Spark, no schema."""
    place = tmp_path / "release"
    one_line(asked(home, "-o", place, "--master", "lokal"), "must read like local[2]")
    one_line(asked(home, "-o", place, "--master", "local[x]"), "does not on 'local[x]'")
    one_line(
        run("protect", home / "people", "-o", place, "--engine", "dask", "--schema",
            home / "schema.toml"),
        "--engine must be one of local, spark",
    )  # fmt: skip
    one_line(
        run("protect", home / "people", "-o", place, "--master", "yarn", "--schema",
            home / "schema.toml"),
        "add --engine spark",
    )  # fmt: skip
    schema = ("--schema", home / "schema.toml", "--k", "20", "--engine", "spark")
    one_line(
        run("protect", home / "people", "-o", place, *schema, JAVA_HOME=str(tmp_path)),
        "Java runtime of version 17 or later",
    )
    assert list(tmp_path.iterdir()) == []


def test_values_outside_are_one_line(home, tmp_path):
    """The failure of Spark's tasks, with all its pages, is one line without a value."""
    table = people(500)
    sexes = ["CELLVALUE" if at == 7 else sex for at, sex in enumerate(table["sex"].to_pylist())]
    pq.write_table(table.set_column(1, "sex", [sexes]), tmp_path / "people.parquet")

    done = run(
        "protect", tmp_path / "people.parquet", "--schema", home / "schema.toml", "--k", "20",
        "--engine", "spark", "--master", "local[2]", "-o", tmp_path / "release",
    )  # fmt: skip
    one_line(done, "1 record of 'sex' holds values outside the schema")
    assert "CELLVALUE" not in done.stderr
    assert [place.name for place in tmp_path.iterdir()] == ["people.parquet"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_end_while_spark_works_it_says_so_in_one_line(home, number):
    """Also where the whole group hears it, as from a terminal; no process and no file is left."""
    before = sorted(home.iterdir())
    words = ["protect", home / "people", "--schema", home / "schema.toml", "--k", "20"]
    words += ["--engine", "spark", "--master", "local[1]", "-o", home / "ended"]
    process = subprocess.Popen(
        [str(BINARY), *map(str, words)], stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # unheard behind the scenes
    )  # fmt: skip
    while process.poll() is None and not list(home.glob(f".pramana-{process.pid}-*")):
        time.sleep(0.01)
    os.killpg(process.pid, number)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert told.count("\n") == 1
    assert "Unfinished output was removed" in told
    assert sorted(home.iterdir()) == before
    deadline = time.monotonic() + 60
    while _group_lives(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _group_lives(process.pid)


def _group_lives(number):
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True
