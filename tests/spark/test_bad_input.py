"""What cannot be used is refused in one line."""

from __future__ import annotations

import datetime as dt
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.engine.spark.opening import open_spark
from pramana.engine.spark.session import read_path, require_java, start_session
from pramana.errors import InputError, InvalidSchema, InvalidTable, MissingExtra, UnknownColumn
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from tests.release.people import SCHEMA, people, plan


def refused(error, match, function, *arguments, **options):
    with pytest.raises(error, match=match) as caught:
        function(*arguments, **options)
    assert "\n" not in str(caught.value)


def test_no_java(monkeypatch, tmp_path):
    """None on the path, none under JAVA_HOME, one that is too old."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    refused(MissingExtra, "Java runtime of version 17 or later, and none", require_java)
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    refused(MissingExtra, "version 17 or later, found 11", require_java)


@pytest.mark.parametrize(
    ("master", "match"),
    [
        ("lokal[2]", "must read like local"),
        ("http://localhost", "must read like local"),
        ("spark://127.0.0.1:9", "No Spark master answers"),
        ("spark://nowhere.invalid:7077", "No Spark master answers"),
    ],
)
def test_a_wrong_master(master, match):
    """At once, and not after the minutes that Spark would try."""
    refused(InputError, match, start_session, master=master)


def test_files_whose_types_differ(spark, tmp_path):
    """Found by Spark in a task, and told by column; found before any work for a path."""
    pq.write_table(pa.table({"sex": ["F"], "x": [1.5]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"sex": [7], "x": [1.5]}), tmp_path / "b.parquet")
    frame = spark.read.schema("sex string, x double").parquet(tmp_path.as_uri())

    refused(InvalidTable, "must agree on the type.*'sex' differs", pm.describe, frame)
    refused(InvalidTable, "'sex' is int64 in b.parquet", read_path, str(tmp_path))


def test_files_that_lack_a_column(tmp_path):
    """Spark alone would fill up with missing values and say nothing."""
    pq.write_table(pa.table({"sex": ["F"], "x": [1.5]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"sex": ["M"]}), tmp_path / "b.parquet")

    refused(InvalidTable, "b.parquet lacks 'x'", read_path, str(tmp_path))


def test_types_that_the_schema_does_not_fit(frame_of):
    """Dates where numbers are cut into bins; lists; the number of records is not even counted."""
    dates = frame_of(pa.table({"age": [dt.date(2000, 1, 1)] * 10}))
    bins = Schema((Column("age", Role.KEY, Bins((0, 50, 100)), missing="refuse"),))
    made = pm.design(bins, pm.PkAnonymity(k=2), records=10, method="retention")

    refused(InvalidTable, "'age' must hold numbers to be cut into bins", pm.protect, dates, made)
    numbers = frame_of(pa.table({"sex": [1.5] * 10}))
    words = Schema((Column("sex", Role.KEY, Categories(("F", "M")), missing="refuse"),))
    told = "'sex' is double in Spark, and none of the schema's 2 categories is a number"
    refused(InvalidTable, told, pm.design, words, pm.PkAnonymity(k=2), data=numbers)
    lists = frame_of(pa.table({"age": [[1, 2]] * 10}))
    refused(InvalidTable, "Column 'age' holds lists or records", pm.protect, lists, made)


def test_types_that_no_table_has(spark):
    """Spans of time, and types that only Spark knows."""
    span = spark.sql("SELECT INTERVAL '3' DAY AS span")
    refused(InvalidTable, "'span'", open_spark, span)
    variant = spark.sql("SELECT parse_json('{}') AS v")
    refused(InvalidTable, "'v'", open_spark, variant)


def test_columns_that_are_not_described(frame_of):
    """The same errors as on one machine."""
    frame = frame_of(people(100))

    refused(UnknownColumn, "lacks 1 of", pm.protect, frame.drop("sex"), plan())
    refused(
        InvalidSchema, "does not describe 1", pm.protect, frame.selectExpr("*", "1 AS more"), plan()
    )
    refused(InvalidTable, "Column names must differ", open_spark, frame.selectExpr("sex", "sex"))


def test_no_records(frame_of, spark):
    """An empty table."""
    refused(InvalidTable, "no records", open_spark, frame_of(people(10)).filter("age > 1000"))


def test_an_output_that_exists(frame_of, tmp_path):
    """Before any work is done."""
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "learn").touch()
    made = pm.design(SCHEMA, pm.PkAnonymity(k=20), data=people(500), method="retention")
    refused(
        InputError,
        "exists already",
        pm.protect,
        frame_of(people(500)),
        made,
        to=tmp_path / "release",
    )


def test_a_path_that_is_absent(tmp_path):
    """Before Spark is started."""
    refused(InvalidTable, "does not exist", read_path, str(tmp_path / "nothing.parquet"))


@pytest.mark.parametrize("fickle", ["known", "counted"])
def test_a_frame_that_holds_other_values_each_time(spark, fickle, tmp_path):
    """Spark takes a function for one that answers alike; what was counted is looked at again."""

    def draw(batches):
        chance = np.random.default_rng()  # another one in every task
        for batch in batches:
            region = chance.choice(["north", "south"], batch.num_rows)
            yield pa.record_batch({"sex": batch.column("sex"), "region": region})

    frame = spark.range(400, numPartitions=2).selectExpr("IF(id % 2 = 0, 'F', 'M') AS sex")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = frame.mapInArrow(draw, "sex string, region string")
    if fickle == "known":
        columns = (Column("sex", Role.KEY, Categories(("F", "M"))), Column("region", Role.PUBLIC))
        method = pm.Retention(retention=0.5)
    else:
        places = Categories(("north", "south"))
        columns = (Column("sex", Role.PUBLIC), Column("region", Role.KEY, places))
        even = pm.UniformMixture.of(places.values, retention=0.5)
        method = pm.MatricesFromData({"region": even})
    schema = Schema(columns)
    here = pa.table({"sex": ["F", "M"] * 200, "region": ["north", "south", "south", "north"] * 100})
    made = pm.design(schema, data=here, method=method)
    with pytest.raises(InvalidTable, match="'region' held others"):
        pm.protect(frame, made, to=tmp_path / "release", seed=1)
    assert not (tmp_path / "release").exists()
