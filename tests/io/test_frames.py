"""Data frames in, the same kind out."""

from __future__ import annotations

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from pramana.engine.base import as_kind, empty_like
from pramana.engine.base import open_source as open_table
from pramana.errors import InvalidTable


def _as_kind(table, like):
    return as_kind(open_table(table), like)


TABLE = pa.table({"sex": ["F", "M", None], "age": [31, 28, 90]})


def frames():
    """The same table as every kind of object."""
    return {
        "pandas": pd.DataFrame({"sex": ["F", "M", None], "age": [31, 28, 90]}, index=[7, 8, 9]),
        "polars": pl.DataFrame({"sex": ["F", "M", None], "age": [31, 28, 90]}),
        "polars lazy": pl.LazyFrame({"sex": ["F", "M", None], "age": [31, 28, 90]}),
        "pyarrow": TABLE,
        "batch": TABLE.to_batches()[0],
        "reader": TABLE.to_reader(),
        "dataset": ds.dataset(TABLE),
        "duckdb": duckdb.sql("SELECT * FROM (VALUES ('F', 31), ('M', 28), (NULL, 90)) t(sex, age)"),
    }


@pytest.mark.parametrize("kind", frames())
def test_every_kind_of_frame_is_read_as_often_as_asked(kind):
    """Values, order and number of records; an index is no column."""
    opened = open_table(frames()[kind])
    for _ in range(2):
        assert opened.to_arrow().to_pydict() == TABLE.to_pydict()
    assert opened.rows == 3
    assert opened.format == "frame"
    assert opened.to_arrow(["age"]).to_pydict() == {"age": [31, 28, 90]}
    assert [b.num_rows for b in opened.batches(size=2)] == [2, 1]


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars lazy", "pyarrow", "reader", "duckdb"])
def test_the_same_kind_comes_out(kind):
    """Coded text comes back as the plain text that it was."""
    like = frames()[kind]
    coded = TABLE.set_column(0, "sex", TABLE["sex"].dictionary_encode())
    made = _as_kind(coded, like)
    assert type(made) is type(like)
    again = open_table(made)
    assert again.to_arrow().to_pydict() == TABLE.to_pydict()
    assert not pa.types.is_dictionary(again.schema.field("sex").type)


def test_categories_stay_categories():
    """Where they were categories to begin with."""
    like = pd.DataFrame({"sex": pd.Categorical(["F", "M"])})
    made = _as_kind(pa.table({"sex": pa.array(["F", "M"]).dictionary_encode()}), like)
    assert isinstance(made["sex"].dtype, pd.CategoricalDtype)
    polars = pl.DataFrame({"sex": ["F"]}, schema={"sex": pl.Categorical})
    made = _as_kind(pa.table({"sex": pa.array(["F", "M"]).dictionary_encode()}), polars)
    assert made.schema["sex"] == pl.Categorical


def test_a_path_gives_an_arrow_table():
    """There is no frame to be like."""
    assert _as_kind(TABLE, "people.csv").equals(TABLE)


@pytest.mark.parametrize(
    ("frame", "match"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' 2 times"),
        (pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), "'a' 2 times"),
        (pd.DataFrame({"a": []}), "no records"),
        (pd.DataFrame({"b": [1, 2], "a": ["secret", 3]}, dtype=object), "'a' holds values of diff"),
        (pl.DataFrame({"a": [[1, 2]]}), "'a' holds lists"),
        (42, "got int"),
        ({"a": [1]}, "got dict"),
    ],
)
def test_bad_frames_are_refused_in_one_line(frame, match):
    """The column is named, no cell is shown and no other error is chained."""
    with pytest.raises(InvalidTable, match=match) as caught:
        open_table(frame)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_frame_without_any_column_is_refused():
    """Nothing to protect."""
    with pytest.raises(InvalidTable, match="no records"):
        open_table(pd.DataFrame())


def test_a_relation_whose_query_fails_shows_no_cell():
    """The database would quote the value that it cannot convert."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 'secret' || range AS v FROM range(3)")
        with pytest.raises(InvalidTable, match="its query fails") as caught:
            open_table(connection.sql("SELECT v::INTEGER AS v FROM t")).to_arrow()
        assert "secret" not in str(caught.value)
        assert caught.value.__suppress_context__


def test_a_relation_can_be_left_half_read():
    """What is not read to its end does not stand in the way of the next pass."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS v FROM range(500_000)")
        opened = open_table(connection.table("t"))
        batches = opened.batches()
        next(batches)
        batches.close()
        assert sum(batch.num_rows for batch in opened.batches()) == opened.rows == 500_000


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars lazy", "pyarrow", "duckdb"])
def test_the_kind_of_a_table_can_be_kept_without_its_records(kind):
    """An empty object of the same kind is enough to give the same kind back."""
    frame = frames()[kind]
    empty = empty_like(frame)

    assert type(empty) is type(frame)
    with pytest.raises(InvalidTable, match="no records"):
        open_table(empty)
    assert type(_as_kind(TABLE, empty)) is type(frame)
