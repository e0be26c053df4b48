"""Opening files: formats, and everything that can be wrong with them."""

from __future__ import annotations

import datetime as dt
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from tests.outside.toys import Lines

from pramana.errors import InvalidSchema, InvalidTable, MissingExtra, UnknownColumn
from pramana.io.base import FORMATS, format_of
from pramana.io.opening import open_table, require_columns
from pramana.io.output import write_table
from pramana.schema.codec import encode
from pramana.schema.domains import Categories, Labels
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

PEOPLE = pa.table(
    {
        "sex": ["F", "M", None, "F"],
        "zip": ["01234", "99999", "00001", ""],
        "age": pa.array([31, None, 28, 90], pa.int64()),
        "income": [1.5, -2.25, None, 1e6],
        "day": [dt.date(2020, 1, 31), None, dt.date(1999, 12, 31), dt.date(2000, 2, 29)],
    }
)
CELL = "CELLVALUE"


def refused(path, match):
    """The one-line error of opening ``path`` and reading it to its end; no cell is shown."""
    with pytest.raises(InvalidTable, match=match) as caught:
        list(open_table(path).batches())
    assert "\n" not in str(caught.value)
    assert CELL not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("ending", ["parquet", "pq", "feather", "arrow"])
def test_columnar_files_come_back_as_they_were(tmp_path, ending):
    """Types, missing values and order; as often as asked, in batches of any size."""
    path = tmp_path / f"people.{ending}"
    assert write_table(PEOPLE, path, file_format=format_of(path)) == 4
    opened = open_table(path)
    assert opened.rows == 4
    assert opened.to_arrow().equals(PEOPLE)
    assert opened.to_arrow().equals(PEOPLE)
    assert [b.num_rows for b in opened.batches(size=3)] == [3, 1]
    assert opened.to_arrow(["age", "sex"]).column_names == ["age", "sex"]


def test_arrow_streams_are_read_too(tmp_path):
    """The stream format has the same endings as the file format."""
    with pa.ipc.new_stream(str(tmp_path / "s.arrow"), PEOPLE.schema) as writer:
        writer.write_table(PEOPLE)
    assert open_table(tmp_path / "s.arrow").to_arrow().equals(PEOPLE)


def test_text_files_come_back_with_missing_and_empty_apart(tmp_path):
    """Dates become text; everything else has its type again."""
    write_table(PEOPLE, tmp_path / "people.csv", file_format="csv")
    again = open_table(tmp_path / "people.csv").to_arrow()
    assert again.drop_columns("day").equals(PEOPLE.drop_columns("day"))
    assert again["day"].to_pylist() == ["2020-01-31", None, "1999-12-31", "2000-02-29"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "sav", "dta"])
def test_dictionary_columns_can_be_written(tmp_path, ending):
    """Batches whose dictionaries differ are no obstacle."""
    first = pa.record_batch({"a": pa.array(["x", "y"]).dictionary_encode()})
    second = pa.record_batch({"a": pa.array(["z", None]).dictionary_encode()})
    path = tmp_path / f"t.{ending}"
    both = pa.Table.from_batches([first, second])
    assert write_table(both, path, file_format=format_of(path)) == 4
    column = open_table(path).to_arrow()["a"]
    assert column.to_pylist() == ["x", "y", "z", None]


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_labels_of_statistical_packages_are_kept(tmp_path, ending):
    """Whole numbers are integers again, missing text is missing, labels survive both ways."""
    table = pa.table({"sex": [1, 2, None], "name": ["x", None, "z"], "weight": [0.5, 1, None]})
    labels = Labels({"sex": "Sex of person"}, {"sex": {1: "male", 2: "female"}})
    path = tmp_path / f"t.{ending}"
    write_table(table, path, file_format=ending, labels=labels)
    opened = open_table(path)
    assert opened.schema.field("sex").type == pa.int64()
    assert opened.to_arrow()["name"].to_pylist() == ["x", None, "z"]
    assert opened.to_arrow()["weight"].to_pylist() == [0.5, 1, None]
    assert opened.labels.variables == {"sex": "Sex of person"}
    assert opened.labels.values == {"sex": {1: "male", 2: "female"}}
    write_table(opened.to_arrow(), path, file_format=ending, labels=opened.labels, force=True)
    assert open_table(path).labels == opened.labels


def test_value_labels_of_a_column_that_became_text_are_left_out(tmp_path):
    """A bin's label is no code."""
    labels = Labels({}, {"age": {1: "one"}})
    write_table(pa.table({"age": ["[0, 1)"]}), tmp_path / "t.sav", file_format="sav", labels=labels)
    assert open_table(tmp_path / "t.sav").labels.values == {}


def test_sas_files_are_not_written(tmp_path):
    """It says what to write instead, and writes nothing."""
    with pytest.raises(InvalidTable, match="not written"):
        write_table(PEOPLE, tmp_path / "t.sas7bdat", file_format="sas7bdat")
    assert not (tmp_path / "t.sas7bdat").exists()


def test_a_missing_extra_explains_itself(tmp_path, monkeypatch):
    """The command to install it is in the message."""
    (tmp_path / "t.sav").write_bytes(b"$FL2" + bytes(100))
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(MissingExtra) as caught:
        open_table(tmp_path / "t.sav")
    assert str(caught.value) == "Reading SPSS files needs an extra: pip install 'pramana[files]'."


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "sav", "dta", "sas7bdat"])
def test_absent_empty_and_folders(tmp_path, ending):
    """Whatever the format."""
    refused(tmp_path / f"no.{ending}", "does not exist")
    (tmp_path / f"empty.{ending}").write_bytes(b"")
    refused(tmp_path / f"empty.{ending}", "is empty")
    (tmp_path / f"folder.{ending}").mkdir()
    refused(tmp_path / f"folder.{ending}", "is a folder")


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "sav", "dta"])
def test_no_records(tmp_path, ending):
    """A header alone is no table."""
    path = tmp_path / f"t.{ending}"
    write_table(pa.table({"a": pa.array([], pa.int64())}), path, file_format=ending)
    refused(path, "no records")


@pytest.mark.parametrize("ending", ["parquet", "feather", "sav", "dta"])
def test_files_cut_short(tmp_path, ending):
    """Half of the bytes are refused, wherever the library notices it."""
    path = tmp_path / f"t.{ending}"
    write_table(PEOPLE.slice(0, 3), path, file_format=ending)  # the last zip is an empty text
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    refused(path, "broken")


def test_a_parquet_file_with_a_damaged_page(tmp_path):
    """The footer is whole, a page is not: the error comes while the batches flow."""
    path = tmp_path / "t.parquet"
    table = pa.table({"a": [f"{CELL}{i}" for i in range(20_000)]})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    raw = bytearray(path.read_bytes())
    raw[200:5000] = bytes(4800)
    path.write_bytes(bytes(raw))
    refused(path, "broken")


def test_files_that_are_not_what_their_ending_says(tmp_path):
    """Parquet called csv, text called parquet, and so on round."""
    write_table(PEOPLE, tmp_path / "t.parquet", file_format="parquet")
    raw = (tmp_path / "t.parquet").read_bytes()
    for ending in ("csv", "feather", "sav", "dta", "sas7bdat"):
        (tmp_path / f"p.{ending}").write_bytes(raw)
        refused(tmp_path / f"p.{ending}", "holds Parquet data")
    for ending in ("parquet", "feather", "sav", "dta", "sas7bdat"):
        (tmp_path / f"c.{ending}").write_text(f"a,b\n{CELL},2\n" * 10)
        refused(tmp_path / f"c.{ending}", "despite its extension|of another format")
    (tmp_path / "binary.csv").write_bytes(b"a,b\n1,\x00\x01\x02\n")
    refused(tmp_path / "binary.csv", "not a text file")
    (tmp_path / "packed.csv").write_bytes(b"\x1f\x8b\x08\x00")
    refused(tmp_path / "packed.csv", "gzip")


def test_a_format_from_outside_may_begin_with_many_bytes(tmp_path):
    """Files of a database say who they are in sixteen."""

    class Long(Lines):
        name, title, endings = "long", "Long", (".long",)
        marks = (b"{" + b" " * 40 + b'"a"',)

    FORMATS.register("long", Long())
    try:
        (tmp_path / "good.long").write_bytes(Long.marks[0] + b": 1}")
        assert open_table(tmp_path / "good.long").rows == 1
        (tmp_path / "bad.long").write_bytes(b'{"a": 1}')
        with pytest.raises(InvalidTable, match="is not Long data"):
            open_table(tmp_path / "bad.long")
    finally:
        FORMATS.unregister("long")


def test_an_unknown_ending_is_refused_with_those_known(tmp_path):
    """No guessing."""
    (tmp_path / "t.qqq").write_text("x")
    refused(tmp_path / "t.qqq", r"Known: \.csv")


def test_duplicate_column_names(tmp_path):
    """In every format that allows them."""
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "'a' 2 times")
    (tmp_path / "t.csv").write_text("a,b,a\n1,2,3\n")
    refused(tmp_path / "t.csv", "'a' 2 times")


def test_nested_columns_are_refused(tmp_path):
    """The column is named."""
    write_table(pa.table({"a": [[1], [2]]}), tmp_path / "t.parquet", file_format="parquet")
    refused(tmp_path / "t.parquet", "'a' holds lists")


def test_spans_of_time_and_bytes_that_are_no_text_are_refused(tmp_path):
    """The column is named where one can be."""
    write_table(
        pa.table({"a": pa.array([1], pa.duration("s"))}),
        tmp_path / "t.parquet",
        file_format="parquet",
    )
    refused(tmp_path / "t.parquet", "'a' holds spans of time")
    column = Column("a", Role.KEY, Categories(("x", "y")))
    with pytest.raises(InvalidTable, match="UTF-8"):
        encode(column, pa.array([b"\xff"], pa.binary()))


@pytest.mark.parametrize("text", ['""\n""\n', " , \n , \n", '"', '"\n"\n'])
def test_a_text_file_without_a_name_is_refused(tmp_path, text):
    """Blanks and empty quotes name nothing."""
    (tmp_path / "t.csv").write_text(text)
    refused(tmp_path / "t.csv", "must name the columns, and none has a name")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "\n"])
@pytest.mark.parametrize("coded", [False, True])
def test_times_of_a_zone_that_nobody_knows_are_refused(tmp_path, zone, coded):
    """A file may say anything there; UTC and known ones are read."""
    times = pa.array([0, 60], pa.timestamp("s", tz=zone or None))
    times = times.dictionary_encode() if coded else times
    feather.write_feather(pa.table({"at": times, "a": ["x", "y"]}), tmp_path / "t.feather")
    if zone:
        refused(tmp_path / "t.feather", "'at' holds times of an unknown time zone")
    else:
        assert open_table(tmp_path / "t.feather").rows == 2


def test_a_mixed_domain_keeps_a_column_text(tmp_path):
    """NA is a category there, not a missing number."""
    (tmp_path / "t.csv").write_text("a,b\n1,x\nNA,y\n")
    column = Column("a", Role.KEY, Categories((1, 2, "NA")))
    schema = Schema((column, Column("b", Role.PUBLIC)))
    array = open_table(tmp_path / "t.csv", schema=schema).to_arrow()["a"]
    assert encode(column, array).tolist() == [0, 2]


def test_the_table_must_have_the_columns_of_the_schema_and_no_others(tmp_path):
    """Both ways round, with the names."""
    write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "t.parquet", file_format="parquet")
    with pytest.raises(UnknownColumn, match="lacks 1 of the schema's columns: c"):
        open_table(tmp_path / "t.parquet", schema=_schema("a", "b", "c"))
    with pytest.raises(InvalidSchema, match="does not describe 1 of the table's columns: b"):
        open_table(tmp_path / "t.parquet", schema=_schema("a"))
    require_columns(_schema("b", "a"), ["a", "b"])


def test_a_list_that_is_cut_says_so():
    """Fourteen columns too many: five names, and how many more there are."""
    names = [f"c{i}" for i in range(14)]
    with pytest.raises(InvalidSchema, match="describe 14 .*: c0, c1, c2, c3, c4 and 9 more"):
        require_columns(_schema("a"), ["a", *names])
    with pytest.raises(UnknownColumn, match="lacks 14 .*: c0, c1, c2, c3, c4 and 9 more"):
        require_columns(_schema("a", *names), ["a"])


def _schema(*names):
    return Schema(tuple(Column(name, Role.PUBLIC) for name in names))


def test_a_schema_decides_between_digits_and_numbers(tmp_path):
    """Where the categories are texts the column stays text, and comes coded."""
    (tmp_path / "t.csv").write_text("a,b\n1,1\n2,2\n")
    schema = Schema(
        (Column("a", Role.KEY, Categories(("1", "2"))), Column("b", Role.KEY, Categories((1, 2))))
    )
    types = open_table(tmp_path / "t.csv", schema=schema).schema.types
    assert types == [pa.dictionary(pa.int32(), pa.string()), pa.int64()]
    write_table(
        pa.table({"a": ["1", "2"], "b": [1, 2]}), tmp_path / "t.parquet", file_format="parquet"
    )
    kinds = open_table(tmp_path / "t.parquet", schema=schema).schema.types
    assert pa.types.is_dictionary(kinds[0])


def test_unknown_columns_cannot_be_read(tmp_path):
    """The name is in the message."""
    write_table(PEOPLE, tmp_path / "t.parquet", file_format="parquet")
    with pytest.raises(UnknownColumn, match="'x'"):
        list(open_table(tmp_path / "t.parquet").batches(["x"]))


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_no_columns_have_as_many_records(tmp_path, ending):
    """In every format, and when looked at in pieces."""
    path = tmp_path / f"people.{ending}"
    write_table(PEOPLE, path, file_format=ending)
    opened = open_table(path)

    assert [batch.num_rows for batch in opened.batches([])] == [4]
    assert [batch.num_rows for batch in opened.batches([], size=3)] == [3, 1]
    assert opened.to_arrow([]).shape == (4, 0)
