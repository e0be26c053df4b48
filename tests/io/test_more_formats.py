"""Spreadsheets, files of R, SAS transport, databases, compressed text: read and released.

Files are made here, by what writes such files: zipped XML by hand, R's own format by rdata,
transport files by pyreadstat, databases by DuckDB.
"""

from __future__ import annotations

import datetime as dt
import zipfile

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
import rdata

import pramana as pm
from pramana import api
from pramana.api import open_source
from pramana.engine.base import SumsAsked
from pramana.engine.local import grouped_sums
from pramana.errors import InvalidTable, Notice
from pramana.io.databases import ISOLATED, process_database
from pramana.io.opening import open_table

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"age", "pay"}

ROWS = [("F", 31, dt.date(1990, 5, 17), 1.5), ("M", None, dt.date(1985, 1, 2), 2.0)] * 30
FRAME = pd.DataFrame(ROWS, columns=["sex", "age", "born", "pay"])


def _cell(at: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f'<c r="{at}" t="inlineStr"><is><t>{value}</t></is></c>'
    if isinstance(value, dt.date):
        return f'<c r="{at}" s="1"><v>{(value - dt.date(1899, 12, 30)).days}</v></c>'
    return f'<c r="{at}"><v>{value}</v></c>'


def _sheet(rows: list[tuple[object, ...]]) -> str:
    lines = "".join(
        f'<row r="{n}">'
        + "".join(_cell(f"{'ABCD'[i]}{n}", v) for i, v in enumerate(row))
        + "</row>"
        for n, row in enumerate(rows, 1)
    )
    return f'<worksheet xmlns="{MAIN}"><sheetData>{lines}</sheetData></worksheet>'


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def xlsx(path, **sheets: list[tuple[object, ...]]):
    """A workbook of inline texts, numbers and dates."""
    with zipfile.ZipFile(path, "w") as file:
        for name, text in _workbook(list(sheets)).items():
            file.writestr(name, text)
        for i, rows in enumerate(sheets.values()):
            file.writestr(f"xl/worksheets/s{i}.xml", _sheet(rows))
    return path


def _workbook(names: list[str]) -> dict[str, str]:
    """All parts of a workbook but its sheets: what is in it, and how it hangs together."""
    each = range(len(names))
    kinds = "".join(f'<Override PartName="/xl/worksheets/s{i}.xml" '
                    f'ContentType="{OFFICE}.worksheet+xml"/>' for i in each)  # fmt: skip
    listed = "".join(f'<sheet name="{names[i]}" sheetId="{i + 1}" r:id="s{i}"/>' for i in each)
    targets = "".join(f'<Relationship Id="s{i}" Type="{REL}/worksheet" '
                      f'Target="worksheets/s{i}.xml"/>' for i in each)  # fmt: skip
    targets += f'<Relationship Id="st" Type="{REL}/styles" Target="styles.xml"/>'
    return {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override '
        f'PartName="/xl/workbook.xml" ContentType="{OFFICE}.sheet.main+xml"/>{kinds}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r" '
        f'Type="{REL}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{REL}"><sheets>{listed}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{targets}'
        "</Relationships>",
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><cellXfs count="2"><xf numFmtId="0"/>'
        '<xf numFmtId="14"/></cellXfs></styleSheet>',
    }


def ods(path, rows: list[tuple[object, ...]]):
    """A sheet of OpenDocument."""

    def cell(value):
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, str):
            return ('<table:table-cell office:value-type="string"><text:p>'
                    f"{value}</text:p></table:table-cell>")  # fmt: skip
        if isinstance(value, dt.date):
            return f'<table:table-cell office:value-type="date" office:date-value="{value}"/>'
        return f'<table:table-cell office:value-type="float" office:value="{value}"/>'

    body = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    space = "urn:oasis:names:tc:opendocument:xmlns"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr(
            "META-INF/manifest.xml", f'<manifest:manifest xmlns:manifest="{space}:manifest:1.0"/>'
        )
        file.writestr(
            "content.xml",
            f'<office:document-content xmlns:office="{space}:office:1.0" '
            f'xmlns:table="{space}:table:1.0" xmlns:text="{space}:text:1.0"><office:body>'
            f'<office:spreadsheet><table:table table:name="people">{body}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    return path


HEAD = ("sex", "age", "born", "pay")


def made(kind: str, folder):
    """The same sixty records as a file of each kind."""
    path = folder / f"people.{kind}"
    if kind == "xlsx":
        return xlsx(path, people=[HEAD, *ROWS])
    if kind == "ods":
        return ods(path, [HEAD, *ROWS])
    if kind in ("rds", "rda"):
        plain = FRAME.assign(born=FRAME["born"].map(str)).astype({"sex": object, "born": object})
        write = rdata.write_rds if kind == "rds" else rdata.write_rda
        write(path, plain if kind == "rds" else {"people": plain, "n": 3})
    elif kind == "xpt":
        pyreadstat.write_xport(FRAME, str(path))
    elif kind == "duckdb":
        with duckdb.connect(str(path)) as base:
            base.register("frame", pa.Table.from_pandas(FRAME))
            base.execute("create table people as select * from frame")
    else:
        with pa.CompressedOutputStream(
            str(path), {"csv.gz": "gzip", "csv.zst": "zstd"}[kind]
        ) as out:
            out.write(FRAME.to_csv(index=False).encode())
    return path


@pytest.mark.parametrize(
    "kind", ["xlsx", "ods", "rds", "rda", "xpt", "duckdb", "csv.gz", "csv.zst"]
)
def test_a_file_of_each_kind_is_read_described_and_released(kind, tmp_path):
    """The same values, dates as dates or as their texts; describe makes years of them."""
    path = made(kind, tmp_path)
    table = open_source(path).to_arrow()

    assert table.column_names == list(HEAD)
    assert table["sex"].cast(pa.string()).to_pylist() == ["F", "M"] * 30
    assert table["age"].cast(pa.float64()).fill_null(-1).to_pylist() == [31, -1] * 30
    assert [str(day)[:10] for day in table["born"].to_pylist()[:2]] == ["1990-05-17", "1985-01-02"]
    assert table["pay"].to_pylist()[:2] == [1.5, 2.0]
    schema = pm.describe(path, keys=["sex", "born"], sensitive=["age", "pay"])
    assert schema.column("born").domain.labels == (1985, 1990)
    plan = pm.design(schema, pm.PkAnonymity(k=3), data=path, method="retention")
    pm.protect(path, plan, to=tmp_path / "release")
    assert pm.verify(tmp_path / "release", original=path).valid


def test_a_sheet_is_named_and_the_row_of_names_is_told(tmp_path):
    """The first sheet where none is named; one that is not there is refused with those that are."""
    notes = [("A file about people",), (), HEAD, *ROWS]
    path = xlsx(tmp_path / "people.xlsx", intro=[("x",), (1,)], data=notes)

    with pytest.warns(Notice, match=r"2 sheets \(intro, data\), .*write 'people.xlsx#data'"):
        assert open_source(path).schema.names == ["x"]
    assert open_source(f"{path}#data!3").rows == 60
    first = xlsx(tmp_path / "first.xlsx", intro=[("about",)], data=[HEAD, *ROWS])
    with pytest.raises(InvalidTable, match=r"no records. first.xlsx has 2 .*'first.xlsx#data'"):
        open_source(first)
    with pytest.raises(InvalidTable, match=r"no sheet 'dta'. It has: intro, data"):
        open_source(f"{path}#dta")
    with pytest.raises(InvalidTable, match="row with the column names"):
        open_source(f"{path}#data!x")
    with pytest.raises(InvalidTable, match="has 62 rows|has 63 rows"):
        open_source(f"{path}#data!99")


def test_names_stand_in_the_first_row_that_is_not_empty(tmp_path):
    """A title above the table is no name of its first column: refused, with the row to say."""
    below = xlsx(tmp_path / "below.xlsx", people=[(), (), HEAD, *ROWS])
    assert open_source(below).schema.names == list(HEAD)
    assert open_source(below).rows == 60
    titled = xlsx(tmp_path / "titled.xlsx", people=[("All people",), (), HEAD, *ROWS])
    with pytest.raises(InvalidTable, match=r"names 1 of 4 columns.*'titled.xlsx#people!3'"):
        open_source(titled)
    assert open_source(f"{titled}#people!3").schema.names == list(HEAD)


def test_one_of_several_frames_or_tables_must_be_named(tmp_path):
    """Objects that are no data frames do not count."""
    path = tmp_path / "all.rda"
    rdata.write_rda(path, {"a": FRAME[["age"]], "b": FRAME[["pay"]]})
    assert open_source(f"{path}#b").schema.names == ["pay"]
    with pytest.raises(InvalidTable, match=r"2 data frames: name one, as all.rda#NAME"):
        open_source(path)


def test_the_tables_of_a_file_are_told_by_name(tmp_path):
    """Where a format has names for them; what else it holds is not among them."""
    rda, base = tmp_path / "all.rda", tmp_path / "all.duckdb"
    rdata.write_rda(rda, {"a": FRAME[["age"]], "n": 3, "b": FRAME[["pay"]]})
    with duckdb.connect(str(base)) as made_here:
        made_here.execute("create table one as select 1 as x; create view two as select 2 as y")

    assert api.parts(rda) == ("a", "b")
    assert api.parts(base) == ("one", "two")
    assert api.parts(xlsx(tmp_path / "all.xlsx", intro=[("x",)], data=[("y",)])) == (
        "intro",
        "data",
    )
    assert api.parts(made("rds", tmp_path)) == api.parts(made("csv.gz", tmp_path)) == ()
    assert api.look(f"{base}#two").parts == ("one", "two")
    assert api.look(f"{base}#two").part == "two"


def test_a_view_of_a_database_reads_no_other_file(tmp_path):
    """Whoever made the database does not choose what is read from this machine."""
    (tmp_path / "secret.txt").write_text("secret")
    with duckdb.connect(str(tmp_path / "all.duckdb")) as base:
        secret = tmp_path / "secret.txt"
        base.execute(f"create view x as select * from read_text('{secret}')")  # noqa: S608
    with pytest.raises(InvalidTable, match="a view of it reads other files"):
        open_source(tmp_path / "all.duckdb")


def test_databases_lay_no_records_down(tmp_path, monkeypatch):
    """Neither beside a file nor in the folder of the command, for all to read: it is an error."""
    monkeypatch.chdir(tmp_path)
    many = "select i, hash(i) as h from range(4000000) t(i) order by h"
    duckdb.connect("all.duckdb").close()
    small = {**ISOLATED, "memory_limit": "60MB", "threads": 1}
    full = pytest.raises(duckdb.OutOfMemoryException)
    with duckdb.connect("all.duckdb", read_only=True, config=small) as base, full:
        base.sql(many).to_arrow_table()
    pq.write_table(pa.table({"h": range(1_000_000)}), "data.parquet")
    released = open_table("data.parquet")
    with process_database().cursor() as connection:
        ((usual,),) = connection.execute("select current_setting('memory_limit')").fetchall()
        connection.execute("SET memory_limit = '10MB'")
        try:
            with pytest.raises(MemoryError):
                grouped_sums(released, SumsAsked(("h",)))
        finally:
            connection.execute(f"SET memory_limit = '{usual}'")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.duckdb", "data.parquet"]


@pytest.mark.parametrize("kind", ["xlsx", "ods", "rds", "xpt", "duckdb"])
def test_a_broken_file_is_refused_in_one_line(kind, tmp_path):
    """Cut short in the middle, and without a word of what is in it."""
    path = made(kind, tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2 + 1])
    with pytest.raises(InvalidTable) as refused:
        open_source(path)
    assert "\n" not in str(refused.value)
    assert "1990" not in str(refused.value)


def test_numbers_and_texts_in_one_column_are_texts(tmp_path):
    """A code beside numbers; describe takes it out where it means missing."""
    rng = np.random.default_rng(1)
    rows = [("pay", "ok"), *[(int(v), True) for v in rng.integers(0, 999, 50)], ("N", False)]
    rows = [(a, "yes" if b is True else "no" if b is False else b) for a, b in rows]
    path = xlsx(tmp_path / "people.xlsx", people=rows)
    assert pa.types.is_string(open_source(path).schema.field("pay").type)
    found = pm.describe(path, sensitive=["pay"])
    assert found.column("pay").recoding.missing_codes == ("N",)


def test_columns_of_one_name_in_a_sheet_are_offered_numbers(tmp_path):
    """The refusal says what they would be called, and the option calls them so."""
    from pramana import api

    path = xlsx(tmp_path / "people.xlsx", people=[("sex", "sex"), ("F", 1), ("M", 2)])

    with pytest.raises(InvalidTable, match="--rename: they are then called sex, sex_2"):
        open_source(path)
    assert api.read(path, rename=True).schema.names == ["sex", "sex_2"]
