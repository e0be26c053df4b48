"""Folders of Parquet files: one table, or one line that says why not."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana.engine.base import SumsAsked, sum_name
from pramana.engine.local import LocalTable, grouped_sums
from pramana.errors import InvalidTable
from pramana.io import parquet
from pramana.io.base import RecordStream, validated
from pramana.io.databases import process_database
from pramana.io.opening import open_table
from pramana.io.parquet import PARQUET
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

SCHEMA = Schema((Column("sex", Role.KEY, Categories(("F", "M"))), Column("x", Role.SENSITIVE)))


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "data.parquet"
    place.mkdir()
    for number, sexes in enumerate((["F", "M"], ["M"], ["F", "F", "F"])):
        pq.write_table(
            pa.table({"sex": sexes, "x": [float(number)] * len(sexes)}),
            place / f"part-{number:05}.parquet",
        )
    (place / "_SUCCESS").touch()
    return place


def test_files_follow_each_other_by_name(folder):
    """All records, in the order of the names; files that are not Parquet are no data."""
    opened = open_table(folder)

    assert opened.rows == 6
    assert opened.to_arrow()["x"].to_pylist() == [0, 0, 1, 2, 2, 2]
    assert [len(batch) for batch in opened.batches(["sex"], size=2)] == [2, 1, 2, 1]


def test_randomised_text_comes_as_dictionaries(folder):
    """As from a single file, and the engine takes it."""
    opened = open_table(folder, schema=SCHEMA)

    assert pa.types.is_dictionary(opened.schema.field("sex").type)
    assert LocalTable.of(opened).count([SCHEMA.column("sex")]).numbers.tolist() == [4, 2]


def test_sums_read_the_folder_where_it_lies(folder):
    """The database takes the Parquet files and nothing else."""
    sums = grouped_sums(open_table(folder), SumsAsked(("sex",), value="x")).sort_by("sex")

    assert sums[sum_name("n")].to_pylist() == [4, 2]
    assert sums[sum_name("wy")].to_pylist() == [6, 1]


@pytest.mark.parametrize(
    ("other", "match"),
    [
        ({"sex": ["F"], "x": [1]}, "'x' is int64 in part-1.parquet and double before"),
        ({"sex": ["F"]}, "part-1.parquet lacks 'x'"),
        ({"sex": ["F"], "x": [1.0], "y": [1]}, "part-1.parquet has others"),
    ],
)
def test_files_that_disagree_are_refused(tmp_path, other, match):
    """Which file, which column, what to do; one line."""
    pq.write_table(pa.table({"sex": ["M"], "x": [0.5]}), tmp_path / "part-0.parquet")
    pq.write_table(pa.table(other), tmp_path / "part-1.parquet")

    with pytest.raises(InvalidTable, match=match) as error:
        open_table(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 16, 17, 100, 256])
@pytest.mark.parametrize("missing", [False, True])
def test_labels_are_read_as_they_were_by_everybody(tmp_path, count, missing):
    """Arrow and the database, whatever bits a label takes, beside columns of other kinds."""
    rng = np.random.default_rng(count)
    groups = [labelled(rng, size, count, missing) for size in (1000, 1000, 13)]
    path, expected = tmp_path / "t.parquet", pa.concat_tables(groups)
    PARQUET.write(path, RecordStream(expected.schema, iter(groups)))

    found = pq.read_table(path)
    found.validate(full=True)
    assert found.schema == expected.schema
    assert found.to_pylist() == expected.to_pylist()
    read = duckdb.read_parquet(str(path)).fetchall()
    assert read == [tuple(row.values()) for row in expected.to_pylist()]
    chunk = pq.read_metadata(path).row_group(2).column(0)
    assert (chunk.num_values, chunk.compression, chunk.is_stats_set) == (13, "SNAPPY", False)


def labelled(rng, size, count, missing):
    """Labels that may be missing, numbers, and labels that are all there, as in a slice."""
    gone = rng.random(size + 3) < 0.3 if missing else None
    codes = pa.array(rng.integers(0, count, size + 3), pa.uint8(), mask=gone)
    label = pa.DictionaryArray.from_arrays(codes, pa.array([f"lä{n}" for n in range(count)]))
    whole = pa.DictionaryArray.from_arrays(codes.fill_null(0), label.dictionary)
    kinds = [("label", label, missing), ("x", pa.array(rng.normal(size=size + 3)), True),
             ("more", whole, False)]  # fmt: skip
    schema = pa.schema([pa.field(name, own.type, nullable=may) for name, own, may in kinds])
    return pa.table([own for _, own, _ in kinds], schema=schema).slice(3)


def test_an_error_while_row_groups_are_encoded_comes_out(tmp_path):
    """Of whoever makes the groups, and of whoever encodes them."""
    groups = [pa.table({"x": [1.0]}), pa.table({"x": ["text"]})]
    with pytest.raises(ValueError, match="schema"):
        PARQUET.write(tmp_path / "out.parquet", RecordStream(groups[0].schema, groups))


def test_broken_files_and_empty_folders_are_refused(folder, tmp_path):
    """A file cut short, a folder without tables."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidTable, match="is a folder without Parquet files"):
        open_table(tmp_path / "empty")
    part = folder / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:50])
    with pytest.raises(InvalidTable, match="broken or truncated"):
        open_table(folder)


def test_codecs_of_all_columns_are_listed(tmp_path):
    """Of one file, and of all files of a folder."""
    for name, codec in (("one", "zstd"), ("other", "none")):
        table = pa.table({"a": [1, 2], "b": ["x", "y"]})
        pq.write_table(table, tmp_path / f"{name}.parquet", compression={"a": codec, "b": "lz4"})
    assert PARQUET.packing(tmp_path / "one.parquet")[0] == {"ZSTD", "LZ4_RAW"}
    assert PARQUET.packing(tmp_path)[0] == {"ZSTD", "LZ4_RAW", "UNCOMPRESSED"}


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint16()])
@pytest.mark.parametrize("sliced", [False, True])
def test_an_index_that_leads_nowhere_is_found(kind, sliced):
    """Beyond the last label or before the first; not where the value is missing, or cut off."""

    def column(numbers, missing=()):
        data = pa.py_buffer(np.array(numbers, kind.to_pandas_dtype()))
        there = np.packbits([at not in missing for at in range(len(numbers))], bitorder="little")
        indices = pa.Array.from_buffers(kind, len(numbers), [pa.py_buffer(there), data])
        made = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
        return pa.table({"x": made.slice(1) if sliced else made})

    assert validated(column([1, 0, 1])).num_rows == (2 if sliced else 3)
    assert validated(column([0, 99, 1], missing=[1])).column(0).null_count == 1
    for wrong in ([0, 1, 2], [0, np.iinfo(kind.to_pandas_dtype()).max, 1]):
        with pytest.raises(pa.ArrowInvalid):
            validated(column(wrong))
    if sliced:
        assert validated(column([99, 0, 1])).num_rows == 2


def test_a_label_that_is_no_text_is_found():
    """Dictionaries are looked at whole, not only the indices that lead to them."""
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    )
    with pytest.raises(pa.ArrowInvalid):
        validated(pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), bad)}))


def test_threads_that_ask_for_all_of_many_columns_read_them_once(tmp_path, monkeypatch):
    """They are read some at a time, and held: two that held the same batch could hold it twice."""
    many = {f"c{at}": np.arange(500) + at for at in range(200)}
    pq.write_table(pa.table(many), tmp_path / "wide.parquet", row_group_size=100)
    opened, read, own = open_table(tmp_path / "wide.parquet"), [], parquet._File.batches

    def slowly(file, group, columns, **more):
        read.append((group, *columns))
        time.sleep(0.01)
        return own(file, group, columns, **more)

    monkeypatch.setattr(parquet._File, "batches", slowly)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(lambda: list(opened.batches())) for _ in range(4)]
    assert all(pa.Table.from_batches(got.result()).equals(pa.table(many)) for got in asked)
    assert len(read) == len(set(read)) == 5 * 4


def test_footers_are_read_by_one_database_also_after_a_broken_file(tmp_path):
    """Opening a database takes longer than reading a footer."""
    file, broken = tmp_path / "good.parquet", tmp_path / "broken.parquet"
    pq.write_table(pa.table({"x": [1, 2]}), file)
    broken.write_bytes(b"PAR1" + b"\xff" * 40 + b"PAR1")
    PARQUET.packing(file)
    opened = process_database.cache_info().misses
    with pytest.raises(InvalidTable):
        PARQUET.packing(broken)

    assert PARQUET.packing(file)[0] == {"SNAPPY"}
    assert process_database.cache_info().misses == opened
