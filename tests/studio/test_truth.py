"""Nothing of the true table leaves: marks in every true cell are searched for wherever others read.

A release folder, the edition of its report for everybody and the pages of an analyst are read; and
the same is made from the release alone, by who never had the truth, and must be the same.
"""

from __future__ import annotations

import html
import io
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pandas as pd
import pyreadstat
import pytest
from starlette.testclient import TestClient

from pramana import api
from pramana.studio.app import studio_application
from pramana.studio.serving import Origin
from pramana.studio.session import StudioSession
from tests.studio.conftest import ORIGIN, TOKEN, Visitor

PEOPLE = 600
SCHEMA = """
[columns.person]
role = "identifier"
[columns.home]
role = "identifier"
[columns.town]
role = "key"
categories = [1, 2, 3]
[columns.age]
role = "key"
bins = [0, 30, 50, 100]
[columns.born]
role = "key"
date = "year"
categories = [1960, 1970, 1980]
[columns.children]
role = "key"
missing_codes = [-99871]
categories = [0, 1, 2]
missing = "category"
[columns.income]
role = "sensitive"
round = 1000
top = 52000
[columns.wealth]
role = "sensitive"
bins = [-inf, 60000, inf]
[columns.ill]
role = "sensitive"
"""
PAGES = ("/release", "/release/checked", "/codebook", "/codebook/listed", "/table", "/model",
         "/table/found?row=town", "/table/found?row=town&column=age&what=row",
         "/table/found?row=born&what=mean&of=income", "/table/export.csv?row=town",
         "/table/export.xlsx?row=town", "/model/found?outcome=income&factor=age")  # fmt: skip


def marked() -> pd.DataFrame:
    """People whose true values that must not leave are written as nothing else is."""
    every = range(PEOPLE)
    return pd.DataFrame(
        {
            "person": [f"PERSON-{31_000_017 + at}" for at in every],
            "home": [7_000_003 + at // 2 for at in every],
            "town": [1.0 + at * 7 % 3 for at in every],
            "age": [20 + at % 61 + 0.0137 + at * 1e-6 for at in every],
            "born": [f"{1960 + 10 * (at % 3)}-03-{1 + at % 28:02d}" for at in every],
            "children": [-99871.0 if at % 11 == 0 else float(at % 3) for at in every],
            "income": [40_000 + at * 37 + 0.617 for at in every],
            "wealth": [50_000 + at * 41 + 0.391 for at in every],
            "ill": [float(at % 4) for at in every],
        }
    )


@cache
def marks() -> set[str]:
    """What must be found nowhere: true cells, what they are called, and where they lay."""
    people = marked()
    texts = {*people.person, *people.born, "nobody-may-see", "Number of a home"}
    for name in ("age", "income", "wealth"):
        texts |= {repr(float(value)) for value in people[name]}
        texts |= {form.format(value) for form in ("{:.5f}", "{:,.5f}") for value in people[name]}
    texts |= {str(value) for value in people.home} | {f"{value:,}" for value in people.home}
    return texts


@cache
def beginnings() -> dict[str, list[str]]:
    """The same by their first letters: where these are not found, none of them is."""
    found: dict[str, list[str]] = {}
    for one in marks():
        found.setdefault(one[:6], []).append(one)
    return found


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """The owner's studio, with the true table open."""
    folder = tmp_path_factory.mktemp("owner")
    labels = {"person": "nobody-may-see this", "home": "Number of a home", "town": "Town"}
    people = marked()
    pyreadstat.write_sav(
        people,
        str(folder / "nobody-may-see.sav"),
        column_labels=[labels.get(name, name) for name in people],
        variable_value_labels={"town": {1: "North", 2: "South", 3: "West"}},
    )
    with entered(folder) as visitor:
        visitor.post("/open", {"file": "nobody-may-see.sav"})
        visitor.part("/columns/list")
        visitor.session.change("Stated", schema=SCHEMA)
        yield visitor


@contextmanager
def entered(folder: Path) -> Iterator[Visitor]:
    """A studio on a folder, and someone in it."""
    session = StudioSession(folder)
    app = studio_application(session, token=TOKEN, origin=Origin.of("127.0.0.1", 8123))
    with TestClient(app, base_url=ORIGIN, raise_server_exceptions=False) as client:
        assert client.get(f"/?token={TOKEN}").status_code == 200
        yield Visitor(client, session)


def texts(path: Path) -> str:
    """All that can be read in a file: of a PDF its words and what it says of itself."""
    if path.suffix == ".pdf":
        return " ".join(readable(path.read_bytes()))
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        return f"{table.to_pylist()} {table.schema.metadata} {path.read_bytes().decode('latin-1')}"
    return html.unescape(path.read_bytes().decode("utf-8", "replace"))


def found_in(text: str) -> set[str]:
    """The marks of a text; a whole number counts as one by itself.

    Pictures are full of digits that chance has drawn, and the number of some home is among them.
    """
    begun = {begin: ones for begin, ones in beginnings().items() if begin in text}
    found = {one for ones in begun.values() for one in ones if one in text}
    return {one for one in found if not one.isdigit() or re.search(rf"(?<![\d.]){one}(?!\d)", text)}


def pages(visitor: Visitor) -> dict[str, str]:
    """What an analyst sees of a release: the pages without what stands around all of them."""
    seen = {}
    for path in PAGES:
        if "export" in path:
            answer = visitor.get(path)
            seen[path] = unzipped(answer.content) if "xlsx" in path else answer.text
        else:
            whole = visitor.part(path)
            seen[path] = html.unescape(whole[whole.find("<main") :])
    return seen


def unzipped(content: bytes) -> str:
    """The parts of a workbook, but for when it was made."""
    import zipfile

    with zipfile.ZipFile(io.BytesIO(content)) as book:
        names = [own for own in book.namelist() if "docProps" not in own]
        return " ".join(book.read(own).decode() for own in names)


@pytest.mark.parametrize("method", ["retention", "attribute-sampling", "resample"])
@pytest.mark.deep(every=3)
def test_what_others_read_is_made_of_the_release_alone(
    owner: Visitor, method: str, tmp_path: Path
) -> None:
    """No mark in release, report or page; and who has the release alone gets the same of each."""
    folder = owner.session.folder
    owner.post("/choose", {"method": method, "letter": "k", "k": "3"})
    owner.post(
        "/protect",
        {
            "release": method,
            "acknowledged": "yes",
            "copy": ["csv", "sav", "dta"],
            "accept": "income",  # a value of it is held by people of one age
        },
    )
    assert "600 records are released" in owner.part("/protect/made")
    owner.post("/report", {"name": "People", "office": "Office", "edition": "public"})
    assert "Download" in owner.part("/report/written/public")
    for path in [own for own in (folder / method).rglob("*") if own.is_file()]:
        assert not found_in(texts(path)), path.name
    reports = [folder / f"{method}-report-public.{own}" for own in ("html", "pdf")]
    assert not found_in("".join(map(texts, reports)))

    shutil.copytree(folder / method, tmp_path / method)
    alone = api.report(tmp_path / method, external=True, name="People", office="Office")
    for report in reports:
        alone.save(tmp_path / report.name)
        assert report.suffix == ".pdf" or texts(tmp_path / report.name) == texts(report)
    pdfs = [readable((own / reports[1].name).read_bytes()) for own in (tmp_path, folder)]
    assert pdfs[0][:-1] == pdfs[1][:-1]  # what it says of itself may name when it was made

    owner.post("/release", {"folder": method})
    with entered(tmp_path) as analyst:
        analyst.post("/release", {"folder": method})
        theirs, ours = pages(analyst), pages(owner)
    for path, text in ours.items():
        assert not found_in(text), path
        if path != "/release":  # which lists the folders that stand there
            own = settled(theirs[path]).replace(str(tmp_path), str(folder))  # where commands run
            assert own == settled(text), path


@cache
def readable(pdf: bytes) -> list[str]:
    """The words of each page of a PDF, and last what it says of itself."""
    from pypdf import PdfReader

    read = PdfReader(io.BytesIO(pdf))
    return [*(page.extract_text() for page in read.pages), str(read.metadata)]


def settled(text: str) -> str:
    """Without the number of the state, which counts clicks."""
    return re.sub(r'name="state" value="\d+"', "", text)


def test_the_marks_would_be_found(owner: Visitor) -> None:
    """The owner's own page shows cells: the search sees them there, of every column."""
    text = html.unescape(owner.part("/open/found"))
    seen = found_in(text)
    assert len(seen) > 300
    assert any(one.startswith("PERSON") for one in seen)
    assert "nobody-may-see" in seen
    assert {str(value) for value in marked().home[:100]} <= seen
