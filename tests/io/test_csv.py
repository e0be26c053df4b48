"""Text files: dialects, encodings, types, broken rows."""

from __future__ import annotations

import bz2
import gzip

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InputError, InvalidTable, Notice
from pramana.io import csv
from pramana.io.csv import find_dialect
from pramana.io.opening import open_table
from pramana.io.output import write_table

CELL = "CELLVALUE"


def read(path, text, encoding="utf-8"):
    """What a file with this text holds."""
    path.write_bytes(text.encode(encoding))
    return open_table(path).to_arrow()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_delimiter_and_quotes_are_found_out(tmp_path, delimiter, quote):
    """Delimiters, newlines and doubled quotes inside quotes belong to the value."""
    value = f"x{delimiter}y\n{quote}{quote}z"
    rows = [["a", "b"], ["1", f"{quote}{value}{quote}"], ["2", f"{quote}w{quote}"]]
    table = read(tmp_path / "t.csv", "\n".join(delimiter.join(row) for row in rows) + "\n")
    assert table["a"].to_pylist() == [1, 2]
    assert table["b"].to_pylist() == [value.replace(quote * 2, quote), "w"]


def test_an_apostrophe_is_not_a_quote(tmp_path):
    """O'Brien is a name."""
    table = read(tmp_path / "t.csv", "a,b\nO'Brien,1\nl'Aquila,2\n")
    assert table["a"].to_pylist() == ["O'Brien", "l'Aquila"]


def test_backslashes_before_quotes_are_understood(tmp_path):
    """The other way to write a quote inside quotes."""
    table = read(tmp_path / "t.csv", 'a,b\n"x \\"y\\" z",1\n')
    assert table["a"].to_pylist() == ['x "y" z']


@pytest.mark.filterwarnings("ignore:.*read as cp1252:pramana.errors.Notice")
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be"]
)
def test_encodings_are_found_out(tmp_path, encoding):
    """With and without a mark at the beginning."""
    table = read(tmp_path / "t.csv", "naïve,größe\nÄrger,1\nçedille,2\n", encoding)
    assert table.column_names == ["naïve", "größe"]
    assert table["naïve"].to_pylist() == ["Ärger", "çedille"]


def test_a_letter_of_another_encoding_far_into_the_file_is_found(tmp_path):
    """The beginning alone looks like plain ASCII."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"x,1\n" * 200_000 + "é,2\n".encode("cp1252"))
    with pytest.warns(Notice, match="read as cp1252.*--encoding"):
        assert open_table(path).to_arrow()["a"][-1].as_py() == "é"
    path.write_bytes(b"a,b\n" + b"x,1\n" * 200_000 + b"\x81,2\n")
    with pytest.raises(InvalidTable, match="byte 1 of line 200,002"):
        open_table(path)
    assert open_table(path, encoding="latin-1").to_arrow()["a"][-1].as_py() == "\x81"


@pytest.mark.parametrize("before", [1, 100_000])
def test_one_bad_byte_does_not_change_the_encoding(tmp_path, before):
    """A file with letters of UTF-8 is UTF-8; the line says where it is broken."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + "Zürich,1\n".encode() * before + b"Z\xfcrich,2\n")
    with pytest.raises(
        InvalidTable, match=f"byte 2 of line {before + 2:,} cannot be decoded.*--encoding"
    ):
        open_table(path)
    assert open_table(path, encoding="CP1252").to_arrow()["a"][-1].as_py() == "Zürich"
    with pytest.raises(InvalidTable, match="not valid ascii text.*byte 2 of line 2 "):
        open_table(path, encoding="ascii")
    with pytest.raises(InputError, match="--encoding must be"):
        open_table(path, encoding="base64")
    with pytest.raises(InvalidTable, match="is none"):
        open_table(tmp_path / "t.parquet", encoding="utf-8")


def test_a_backslash_may_be_the_last_letter(tmp_path):
    """Also where the quote after it ends the field: the rows have as many fields as the header."""
    table = read(tmp_path / "t.csv", 'a,b\n"x\\","1"\n"y, z\\","2"\n')
    assert table["a"].to_pylist() == ["x\\", "y, z\\"]
    table = read(tmp_path / "t.csv", 'a,b\n"x \\", y",1\n"z",2\n')
    assert table["a"].to_pylist() == ['x ", y', "z"]


def test_wide_letters_cut_in_half_are_a_broken_file(tmp_path):
    """A marked encoding is believed; nothing else is tried."""
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\n1,2\n".encode("utf-16")[:-1])
    with pytest.raises(InvalidTable, match="not valid utf-16 text"):
        open_table(path)


def test_names_are_one_line(tmp_path):
    """Blanks and newlines around and inside a name become single blanks."""
    table = read(tmp_path / "t.csv", '" a\n b", c\n1,2\n')
    assert table.column_names == ["a b", "c"]


@pytest.mark.parametrize("squeeze", [("gz", gzip.compress), ("bz2", bz2.compress)])
def test_compressed_text(tmp_path, squeeze):
    """By the second ending; cut short it is refused."""
    path = tmp_path / f"t.csv.{squeeze[0]}"
    raw = squeeze[1](b"a,b\n" + b"".join(b"%d,x%d\n" % (i, i * i) for i in range(50_000)))
    path.write_bytes(raw)
    assert open_table(path).rows == 50_000
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(InvalidTable, match="broken or truncated"):
        open_table(path)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "2", ""], [1, 2, None]),
        (["-5", "0", "999999999999999999"], [-5, 0, 999999999999999999]),
        (["1.5", "2", "-.5", "1e3"], [1.5, 2.0, -0.5, 1000.0]),
        (["1", "NA", "3"], [1, None, 3]),
        (["1.5", "NaN", '""'], [1.5, None, None]),
        ([" 1", "2 ", "3"], [1, 2, 3]),
        (["1", "  ", "3"], [1, None, 3]),
        (["01234", "12345"], ["01234", "12345"]),
        (["00", "1"], ["00", "1"]),
        (["+1", "2"], ["+1", "2"]),
        (["1234567890123456789", "1"], ["1234567890123456789", "1"]),
        (["00.5", "1.5"], ["00.5", "1.5"]),
        (["1-2", "3"], ["1-2", "3"]),
        (["x", "NA", "", '""'], ["x", "NA", None, ""]),
        (["NA", "NA", ""], ["NA", "NA", None]),
        (["TRUE", "false"], ["TRUE", "false"]),
        (["2020-01-31", "1"], ["2020-01-31", "1"]),
        ([".", "1"], [".", "1"]),
        (["inf", "1"], ["inf", "1"]),
        (["1e999999", "1"], ["1e999999", "1"]),
    ],
)
def test_numbers_and_codes(tmp_path, values, expected):
    """Only what loses nothing becomes a number."""
    text = "v,w\n" + "".join(f"{value},x\n" for value in values)
    assert read(tmp_path / "t.csv", text)["v"].to_pylist() == expected


def test_one_code_at_the_end_of_a_long_column_keeps_it_text(tmp_path):
    """The whole file decides, not its beginning: over several blocks of the reader."""
    path = tmp_path / "t.csv"
    path.write_text("v,w\n" + "12345,abcdefghijkl\n" * 900_000 + "01234,x\n")
    opened = open_table(path)
    assert opened.schema.field("v").type == pa.string()
    assert opened.rows == 900_001
    assert opened.to_arrow(["v"])["v"][-1].as_py() == "01234"


@pytest.mark.parametrize("name", ["zip", "ZIP_code", "postcode", "home-phone", "SSN", "Tel."])
def test_names_of_codes_keep_a_column_text(tmp_path, name):
    """Also where no leading zero happens to occur."""
    table = read(tmp_path / "t.csv", f"{name},tell\n12345,1\n")
    assert table.schema.types == [pa.string(), pa.int64()]


def test_decimal_commas_where_the_delimiter_is_another(tmp_path):
    """1,5 is a number between semicolons; 1.234,5 stays text."""
    table = read(tmp_path / "t.csv", "a;b;c\n1,5;1.234,5;1\n-2;2,5;NA\n")
    assert table["a"].to_pylist() == [1.5, -2.0]
    assert table["b"].to_pylist() == ["1.234,5", "2,5"]
    assert table["c"].to_pylist() == [1, None]


def test_a_comma_that_may_part_thousands_is_left_alone(tmp_path):
    """1,234 alone is text; beside 1,5 it is a decimal comma."""
    table = read(tmp_path / "t.tsv", "a\tb\n1,234\t1,234\n5,678\t1,5\n")
    assert table["a"].to_pylist() == ["1,234", "5,678"]
    assert table["b"].to_pylist() == [1.234, 1.5]


def test_a_single_column_keeps_its_empty_lines(tmp_path):
    """An empty line is a missing value there, and nothing elsewhere."""
    assert read(tmp_path / "t.csv", "a\n1\n\n3\n")["a"].to_pylist() == [1, None, 3]
    assert read(tmp_path / "t.csv", "a,b\n1,2\n\n3,4\n")["a"].to_pylist() == [1, 3]


def test_a_quoted_empty_field_is_missing_in_a_single_column(tmp_path):
    """As pandas writes it. In our own files it is a text; beside others too, as always."""
    path = tmp_path / "people.csv"
    pd.DataFrame({"age": [30, None, 31]}, dtype="Int64").to_csv(path, index=False)
    assert '""' in path.read_text()
    found = open_table(path).to_arrow()["age"]
    assert found.type == pa.int64()
    assert found.to_pylist() == [30, None, 31]

    path.unlink()
    write_table(pa.table({"name": ["x", "", None]}), path, file_format="csv")
    assert csv.CSV.open_written(path).to_arrow()["name"].to_pylist() == ["x", "", None]
    path.write_text('name,age\n"x",1\n"",2\n,3\n')
    assert open_table(path).to_arrow()["name"].to_pylist() == ["x", "", None]


def test_line_ends_of_every_system(tmp_path):
    """Windows and old Macintosh."""
    for end in ("\n", "\r\n", "\r"):
        assert read(tmp_path / "t.csv", f"a,b{end}1,2{end}3,4{end}")["b"].to_pylist() == [2, 4]


def test_a_column_of_row_numbers_without_a_name_gets_one(tmp_path):
    """As written by data frames with their index."""
    assert read(tmp_path / "t.csv", ",a\n0,x\n1,y\n").column_names == ["column_1", "a"]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("\n\n  \n", "is empty"),
        ("a,b\n", "header and no records"),
        ("a,b", "header and no records"),
        ("1,2,3\n4,5,6\n", "must name the columns"),
        (f"a,b\n1,2\n3,4\n{CELL},6,7\n8,9\n", "2 fields in every row, and row 4 has 3"),
        (f"a,b\n1,2\n{CELL}", "2 fields in every row, and row 3 has 1"),
        ("a,b\n" + "1,2\n" * 100_000 + f"{CELL},2,3\n", "row 100002 has 3"),
        (f'a,b\n1,2\n3,"{CELL}\n5,6\n', "ends inside quotes"),
        (f'a,b\n"1",2\n3,"{CELL}, ""', "ends inside quotes"),
        (f'a,b\n"1",2\n"{CELL},"', "fields in every row"),
    ],
)
def test_broken_text_is_refused_without_its_cells(tmp_path, text, match):
    """The number of the row and of its fields, nothing else; no chained error either."""
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InvalidTable, match=match) as caught:
        open_table(tmp_path / "t.csv")
    assert "\n" not in str(caught.value)
    assert CELL not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_the_dialect_says_what_was_found(tmp_path):
    """A value of its own, to show to the user."""
    (tmp_path / "t.txt").write_text("a;b\n1;2\n")
    dialect = find_dialect(tmp_path / "t.txt")
    assert (dialect.delimiter, dialect.encoding, dialect.names) == (";", "utf-8", ("a", "b"))


letters = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]), max_size=8
)


@given(st.lists(st.tuples(st.none() | letters, st.none() | st.floats(allow_nan=False,
       allow_infinity=False), st.none() | st.integers(-(10**17), 10**17)), min_size=1))  # fmt: skip
def test_what_is_written_is_read_again(tmp_path_factory, rows):
    """Any text, also with quotes and newlines; numbers bit for bit; missing stays missing."""
    text, real, whole = (list(column) for column in zip(*rows, strict=True))
    table = pa.table(
        {
            "text": pa.array(["x", *text], pa.string()),
            "real": pa.array([0.5, *real], pa.float64()),
            "whole": pa.array([1, *whole], pa.int64()),
        }
    )
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    write_table(table, path, file_format="csv")
    assert open_table(path).to_arrow().equals(table)


def test_a_stray_quote_inside_a_field_is_part_of_it(tmp_path):
    """Five inches are no broken file."""
    table = read(tmp_path / "t.csv", 'a,b\n1,5"\n2,6\n')
    assert table["b"].to_pylist() == ['5"', "6"]
    table = read(tmp_path / "t.csv", 'a,b\n1,6\n2,5"\n')
    assert table["b"].to_pylist() == ["6", '5"']


def test_a_name_that_does_not_end_is_refused(tmp_path):
    """A quote in the first line that nobody closes, before more than any name has."""
    path = tmp_path / "people.csv"
    path.write_text('sex,"age\n' + "f,1\n" * 100_000)
    with pytest.raises(InvalidTable, match="a quoted name is not closed|cannot be read"):
        open_table(path)


PLAIN = "".join(f"{at},{'xyz'[at % 3]},{'' if at % 7 else at}\n" for at in range(60))


@pytest.mark.parametrize(
    "text",
    [
        f"a,b,c\n{PLAIN}",
        f"a,b,c\n{PLAIN}1,last,2",
        f"a,b,c\n{PLAIN}".replace("\n", "\r\n"),
        f"a,b,c\n{PLAIN}".replace("\n", "\r"),
        f"a,b,c\n{PLAIN}1,{chr(10) * 300}{PLAIN}".replace("1,\n", "1,y,2\n"),
        f'a,b,c\n{PLAIN}1,"two\nlines",2\n{PLAIN}',
        f'a,b,c\n"1","two\nlines","2"\n{PLAIN}',
        f'a,b,c\n{PLAIN}1,5" wide,2\n{PLAIN}',
        "a\n" + "x\n\n" * 80,
        "a\nx\n" + "\n" * 300 + "y\n",
        "a,b\n" + "\ufeffx,1\n" * 80,
    ],
)
def test_blocks_of_any_size_are_the_file(tmp_path, monkeypatch, text):
    """Line ends of all kinds, quotes early and late, empty lines."""
    (tmp_path / "t.csv").write_bytes(text.encode())
    whole = open_table(tmp_path / "t.csv").to_arrow()
    monkeypatch.setattr(csv, "BLOCK", 64)
    cut = open_table(tmp_path / "t.csv")

    assert cut.to_arrow().to_pydict() == whole.to_pydict()
    assert len(list(cut.parts())) > 1


@pytest.mark.parametrize("encoding", ["utf-32", "utf-7", "iso2022_kr", "cp037", "gb18030"])
def test_blocks_are_cut_where_an_encoding_lets_them(tmp_path, monkeypatch, encoding):
    """Line ends may be no byte of their own, and a letter may need what stood long before it."""
    letter = "가" if encoding == "iso2022_kr" else "é"
    text = "a,b\n" + f"{letter} + y,1\n" * 80
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    monkeypatch.setattr(csv, "BLOCK", 64)
    read = csv.CSV.open(tmp_path / "t.csv", encoding=encoding).to_arrow().to_pydict()

    assert read == {"a": [f"{letter} + y"] * 80, "b": [1] * 80}


def test_a_row_that_is_too_short_is_named_in_whichever_block_it_stands(tmp_path, monkeypatch):
    """By its number in the file."""
    (tmp_path / "t.csv").write_text(f"a,b,c\n{PLAIN}1,2\n{PLAIN}")
    monkeypatch.setattr(csv, "BLOCK", 64)
    with pytest.raises(InvalidTable, match="row 62 has 2"):
        open_table(tmp_path / "t.csv")


def test_labels_are_spelled_as_all_other_texts_are(tmp_path):
    """Quotes, separators, line ends, empty and missing ones: as texts, and in quotes."""
    labels = ["public", "", 'a "word"', "a,b", "two\nlines", "é"]
    codes = pa.array([*range(len(labels)), None], "uint8")
    column = pa.DictionaryArray.from_arrays(codes, labels)
    written = []
    for name, table in (("labels", column), ("texts", column.cast(pa.string()))):
        group = pa.table({"a": table, "b": table})
        csv.CSV.write(tmp_path / name, csv.RecordStream(group.schema, [group]))
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]
    assert written[0].startswith(b'"a","b"\n"public","public"\n"",""\n"a ""word""","a ""word"""\n')
    assert written[0].endswith(b"\n,\n")


@pytest.mark.parametrize("line", [0, 900, 1999])
def test_what_is_no_text_is_found_in_whichever_block_it_stands(tmp_path, monkeypatch, line):
    """Of every distinct value, though values are not looked at one by one."""
    monkeypatch.setattr(csv, "BLOCK", 64)
    lines = [b"a text,1\n"] * 2000
    lines[line] = b"a t\xffxt,1\n"
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"".join(lines))
    with pytest.raises(InvalidTable, match=f"line {line + 2:,}"):
        csv.CSV.open(tmp_path / "t.csv", encoding="utf-8")
