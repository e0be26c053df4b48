"""What every engine must do: one suite, whoever does the work.

A check takes ``engine``, a function that makes a table of the engine from an Arrow table, and a
folder to write in. It raises AssertionError where the engine falls short. ``test_engines.py`` runs
all checks on the local engine, ``tests/spark`` on Spark, and ``test_checks.py`` on engines that are
wrong on purpose.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from pramana.base.randomness import Keystream, Stream
from pramana.engine.base import Table
from pramana.errors import InvalidTable, OutsideDomain, UnknownColumn
from pramana.io.opening import open_table
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.randomiser import Randomiser
from pramana.mechanisms.transition import Dense, UniformMixture
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

LEVEL = 1e-6
"""How often a sound engine with another seed would fail a statistical check. Seeds are fixed."""

RECORDS = 20_000
SEEDED = Keystream.from_seed(81)

SCHEMA = Schema(
    (
        Column("sex", Role.KEY, Categories(("F", "M"))),
        Column("region", Role.KEY, Categories(tuple("abcd")), missing="category"),
        Column("age", Role.KEY, Bins((0, 20, 50, 100), release="draw")),
        Column("number", Role.SENSITIVE),
        Column("note", Role.SENSITIVE),
    )
)
MECHANISM = Mechanism(
    (
        Step(("sex",), UniformMixture.of(("F", "M"), retention=0.5)),
        Step(
            ("region",),
            Dense.of((*"abcd", None), 0.6 * np.eye(5) + 0.4 * np.array([0.1, 0.2, 0.3, 0.2, 0.2])),
        ),
        Step(("age",), UniformMixture.of(SCHEMA.column("age").labels, retention=0.4)),
    )
)


def people(records=RECORDS):
    """Keys with missing values, and a number that tells where a record stood."""
    rng = np.random.default_rng(9)
    missing = rng.random(records) < 0.1
    return pa.table(
        {
            "sex": rng.choice(["F", "M"], records, p=[0.3, 0.7]),
            "region": pa.array(rng.choice(list("abcd"), records), mask=missing),
            "age": rng.integers(0, 101, records),
            "number": np.arange(records),
            "note": pa.array([f"note {i % 97}" for i in range(records)], mask=missing),
        }
    )


def protected(table, keystream=SEEDED):
    """The pipeline of a release."""
    work = Randomiser(SCHEMA, MECHANISM, table.schema(), keystream)
    return (
        table.map_batches(work.encode, schema=work.coded)
        .shuffle(keystream=keystream)
        .map_batches(work.decode, schema=work.released)
    )


def read(path):
    """All records that lie at a place, in their order."""
    return open_table(path).to_arrow()


# -- the verbs -------------------------------------------------------------------------------


def check_it_is_a_table(engine, folder):
    """The five verbs are there, and records come as they went in."""
    table = engine(people())

    assert isinstance(table, Table)
    assert table.schema().names == people(1).column_names
    assert table.to_arrow().to_pydict() == people().to_pydict()


def check_counting(engine, folder):
    """By Arrow's own group by."""
    columns = [SCHEMA.column("region"), SCHEMA.column("sex")]
    counts = engine(people()).count(columns)

    truth = people().group_by(["region", "sex"]).aggregate([([], "count_all")]).to_pylist()
    seen = {
        tuple(labels[code] for labels, code in zip(counts.labels, cell, strict=True)): int(number)
        for cell, number in zip(counts.cells, counts.numbers, strict=True)
    }
    assert seen == {(row["region"], row["sex"]): row["count_all"] for row in truth}


def check_positions(engine, folder):
    """A function learns where the first record of its batch stands, before and after a shuffle."""
    schema = pa.schema([("number", pa.int64()), ("position", pa.int64())])

    def place(batch, position):
        positions = pa.array(range(position, position + len(batch)), pa.int64())
        return pa.record_batch([batch.column("number"), positions], schema=schema)

    before = engine(people()).map_batches(place, schema=schema).to_arrow()
    assert before["position"].to_pylist() == before["number"].to_pylist() == list(range(RECORDS))
    after = engine(people()).shuffle(keystream=SEEDED).map_batches(place, schema=schema).to_arrow()
    assert after["position"].to_pylist() == list(range(RECORDS))


def check_shuffling(engine, folder):
    """The order that the keystream states; whole records move."""
    made = engine(people()).shuffle(keystream=SEEDED, stream="order").to_arrow()

    order = SEEDED.permutation(RECORDS, "order")
    assert made.to_pydict() == people().take(order).to_pydict()


def check_writing(engine, folder):
    """What is written is what flows, and their number is given."""
    table = protected(engine(people()))

    assert table.write(folder / "out.parquet") == RECORDS
    assert read(folder / "out.parquet").to_pydict() == table.to_arrow().to_pydict()
    assert [place.name for place in folder.iterdir()] == ["out.parquet"]


def check_progress(engine, folder):
    """Every record is told once a pass."""
    heard = []
    table = protected(engine(people()))
    table.write(folder / "out.parquet", progress=heard.append)

    assert sum(heard) == 2 * RECORDS


# -- what they make together -----------------------------------------------------------------


def check_words(engine, folder):
    """The word of every record is its own: each draw by hand, one column after the other."""
    truth, made = people(), protected(engine(people())).to_arrow().sort_by("number")

    words = SEEDED.words(Stream("release", "sex"), 0, RECORDS)
    other = UniformMixture.of(("F", "M"), retention=0.5).other
    sexes = [
        ("F", "M")[word // other] if word < 2 * other else sex
        for word, sex in zip(words.tolist(), truth["sex"].to_pylist(), strict=True)
    ]
    assert made["sex"].to_pylist() == sexes


def check_distributions(engine, folder):
    """Released counts fit truth times matrix: chi-square on each column of fresh draws."""
    keystream = Keystream.from_seed(82)
    truth, made = people(), protected(engine(people()), keystream).to_arrow()

    for step in MECHANISM:
        column = SCHEMA.column(step.columns[0])
        if column.name == "age":
            continue  # released as draws inside bins
        places = {label: at for at, label in enumerate(column.labels)}
        t, y = (
            np.bincount([places[v] for v in table[column.name].to_pylist()], minlength=len(places))
            for table in (truth, made)
        )
        P = step.matrix.values
        mean = t @ P
        covariance = np.diag(mean) - P.T @ np.diag(t) @ P
        off = (y - mean)[:-1]
        distance = off @ np.linalg.solve(covariance[:-1, :-1], off)
        assert stats.chi2.sf(distance, len(off)) > LEVEL / 2, column.name


def check_independence(engine, folder):
    """Draws of neighbours have nothing to do with each other: runs of changed values."""
    keystream = Keystream.from_seed(83)
    truth, made = people(), protected(engine(people()), keystream).to_arrow().sort_by("number")
    same = np.array(truth["sex"].to_pylist()) == np.array(made["sex"].to_pylist())

    for lag in (1, 2, 1000):
        first, second = same[:-lag], same[lag:]
        both = np.histogram2d(first, second, bins=2)[0]
        p_value = stats.chi2_contingency(both, correction=False).pvalue
        assert p_value > LEVEL / 3, lag


def check_same_release_as_stated(engine, folder):
    """A seeded release is a function of seed, plan and records: no engine enters."""
    made = protected(engine(people())).to_arrow()

    work = Randomiser(SCHEMA, MECHANISM, people().schema, SEEDED)
    batch = people().combine_chunks().to_batches()[0]
    order = SEEDED.permutation(RECORDS, "shuffle")
    stated = work.decode(work.encode(batch, 0).take(pa.array(order)), 0)
    assert made.to_pydict() == pa.Table.from_batches([stated]).to_pydict()


def check_fresh_keys_give_other_releases(engine, folder):
    """Nothing of the key is fixed: two releases differ in draws and in order."""
    first, second = (
        protected(engine(people()), Keystream.from_system()).to_arrow() for _ in range(2)
    )

    assert first["number"].to_pylist() != second["number"].to_pylist()
    assert first.sort_by("number")["sex"].to_pylist() != second.sort_by("number")["sex"].to_pylist()


# -- refusals --------------------------------------------------------------------------------


def check_values_outside_are_refused(engine, folder):
    """By column and count, never by value; nothing is written."""
    narrow = Column("region", Role.KEY, Categories(("a", "b")), missing="category")
    with pytest.raises(OutsideDomain, match="of 'region' hold values outside") as error:
        engine(people()).count([narrow])
    assert "'c'" not in str(error.value)

    wrong = people().set_column(0, "sex", pa.array(["F", "CELLVALUE"] * (RECORDS // 2)))
    with pytest.raises(OutsideDomain, match="of 'sex' hold values outside") as error:
        protected(engine(wrong)).write(folder / "out.parquet")
    assert "CELLVALUE" not in str(error.value)
    assert list(folder.iterdir()) == []


def check_unknown_columns_are_refused(engine, folder):
    """Counting a column that is not there."""
    with pytest.raises(UnknownColumn, match="no column 'height'"):
        engine(people()).count([Column("height", Role.KEY, Categories((1, 2)))])


def check_functions_that_lose_records_are_refused(engine, folder):
    """Words are addressed by position, so positions must hold."""
    table = engine(people())
    with pytest.raises(InvalidTable, match="must keep the"):
        table.map_batches(lambda batch, _: batch.slice(1), schema=table.schema()).to_arrow()


def check_a_failure_leaves_nothing(engine, folder):
    """Half-way through the last pass: no file, no folder; what was there stays."""
    table = protected(engine(people()))

    def fail(batch, position):
        if position + len(batch) == RECORDS:
            raise InvalidTable("stop")
        return batch

    (folder / "other.parquet").write_text("before")
    with pytest.raises(InvalidTable, match="stop"):
        table.map_batches(fail, schema=table.schema()).write(folder / "out.parquet")
    assert [place.name for place in folder.iterdir()] == ["other.parquet"]
    assert (folder / "other.parquet").read_text() == "before"


CHECKS = [check for name, check in globals().items() if name.startswith("check_")]
"""All of them."""


def failing(engine, folder):
    """The names of the checks that an engine fails."""
    names = []
    for number, check in enumerate(CHECKS):
        own = folder / str(number)
        own.mkdir()
        try:
            check(engine, own)
        except (Exception, pytest.fail.Exception):  # a check may also stumble
            names.append(check.__name__)
    return names
