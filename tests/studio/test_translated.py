"""Every text of every page comes from the catalogue: a language that marks them shows which."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from pramana import api
from pramana.base import translation
from tests.studio.conftest import PEOPLE, Visitor
from tests.studio.marked import mark, unmarked, work_marked

FILES: Final = ("crowd.csv", "other.csv", "people.csv", "data.csv", "schema.toml", "plan.toml",
                "protect.sh", "protect.py", "out", "release", "kB", "survey", "survey.toml",
                "bz2", "gz", "zst", "README.md", "codebook.csv", "load.py", "load.R", "load.do",
                "load.sps", "analyse.html", "analyse.R", "question_1")  # fmt: skip
COLUMNS: Final = ("sex", "age", "region", "income", "colour")
ENCODINGS: Final = ("utf-8", "cp1252", "latin-1", "cp1250", "cp1251", "utf-16", "shift_jis")
PROPER: Final = ("Pramana studio", "Python", "CSV", "Stata", "SPSS", "SHA-256", "epsilon",
                 "central", "delta",
                 "rho1", "rho2", "and", "SHOWN", "ALL")  # fmt: skip
FORMULAS: Final = ("by", "sex=2; region=1|2", "Intercept", "equal", "best", "k", "C(sex)")
"""What analysts type, and the words of options on the command line."""

NAMES: Final = {*FILES, *COLUMNS, *ENCODINGS, *PROPER, *FORMULAS, *api.METHODS, *api.GUARANTEES}
NAMES.update(ending for one in api.FORMATS.values() for ending in one.endings)
"""Values, names and code, which no catalogue translates."""


@pytest.fixture(scope="module", autouse=True)
def marks(brief_workers: None) -> Iterator[None]:
    """All pages of this module are in the language that marks its texts."""
    del brief_workers
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(translation, "_catalogue", translation._catalogue)
        patched.setattr("pramana.studio.jobs.work", work_marked)
        mark()
        yield


class Reader:
    """Someone who reads every word of each page, and notes those without a mark."""

    def __init__(self, visitor: Visitor, folder: str) -> None:
        self._visitor = visitor
        self._names = {*NAMES, folder}
        self.left: list[tuple[str, str]] = []
        visitor.client.headers["accept-language"] = "de"

    def see(self, place: str, text: str) -> None:
        """Read a page or a part of one."""
        self.left += [(place, words) for words in unmarked(text, self._names)]

    def page(self, path: str) -> None:
        """A page, the parts that it loads, and those that they load."""
        text = str(self._visitor.get(path).text)
        self.see(path, text)
        self._parts(text)

    def part(self, path: str) -> None:
        """A part that is loaded when its work is done."""
        self.see(path, self._visitor.part(path))

    def post(self, path: str, data: dict[str, object] | None = None) -> None:
        """What a form leads to."""
        self.see(path, str(self._visitor.post(path, data).text))

    def _parts(self, text: str) -> None:
        for part in dict.fromkeys(re.findall(r'hx-get="([^"]*)" hx-trigger="load', text)):
            loaded = self._visitor.part(part.replace("&amp;", "&"))
            self.see(part, loaded)
            if "/live" not in part:
                self._parts(loaded)


@pytest.fixture
def reader(visitor: Visitor, folder: Path) -> Reader:
    """Someone with a table of so many people that methods are usable on it."""
    head, *rows = PEOPLE.splitlines()
    (folder / "crowd.csv").write_text("\n".join([head, *rows * 4]))
    return Reader(visitor, folder.name)


def test_pages_without_data_are_translated(reader: Reader) -> None:
    """What they say before anything is opened, and what they refuse."""
    for path in ("/", "/columns", "/asked", "/choose", "/protect", "/report", "/code", "/surveys",
                 "/release", "/table", "/model", "/codebook", "/risk", "/nowhere"):  # fmt: skip
        reader.page(path)
    for path, form in (
        ("/open", {"file": "../else.csv"}),
        ("/open", {"file": "gone.csv"}),
        ("/release", {"folder": "gone"}),
        ("/columns/use", {"schema": "gone.toml"}),
    ):
        reader.post(path, form)
    assert reader.left == []


def test_the_path_from_table_to_estimates_is_translated(reader: Reader) -> None:
    """From the table to the release, its checks, its attacks, the report and estimates."""
    reader.post("/open", {"file": "crowd.csv"})
    for path in ("/", "/columns", "/columns/1", "/columns/2/panel", "/columns/rules", "/risk"):
        reader.page(path)
    reader.post("/columns/1", {"role": "key", "edges": "50, 20"})
    reader.post("/columns/1", {"role": "key", "edges": "20; 50; 80", "missing": "refuse"})
    reader.post("/columns/3", {"role": "sensitive", "round": "100", "top": "1150"})
    reader.page("/columns")
    reader.post("/asked/add", {"kind": "table", "of": "0", "by": ["1", ""]})
    reader.post("/asked/add", {"kind": "mean", "of": "3", "by": ["2"]})
    reader.post("/asked/add", {"kind": "model", "of": "3", "by": ["0", "1", "2"]})
    tried = ["retention", "attribute-sampling", "resample"]
    reader.post("/choose/try", {"method": tried, "chances": "5"})
    for path in ("/choose/tried", "/choose/options?method=retention"):
        reader.part(path)
    for path in ("/asked", "/choose"):
        reader.page(path)
    reader.post("/choose", {"method": "retention", "chance": "5"})
    for path in ("/protect/plan", "/protect/foretold"):
        reader.part(path)
    reader.post("/protect", {"release": "out", "acknowledged": "yes"})
    for path in ("/protect/made", "/protect/checked", "/protect/attacked"):
        reader.part(path)
    reader.post("/report", {"edition": "external"})
    for path in ("/protect", "/report", "/code"):
        reader.page(path)
    reader.post("/release", {"folder": "out"})
    for path in (
        "/release", "/codebook", "/table?row=sex&column=age", "/table?row=income",
        "/table?row=sex&what=mean&of=income", "/table?row=sex&only=nonsense",
        "/model?outcome=income&x=sex", "/model?formula=income+~+nothing",
    ):  # fmt: skip
        reader.page(path)
    assert reader.left == []


def test_the_builder_of_surveys_is_translated(reader: Reader) -> None:
    """Its form, its preview, and what is wrong with a draft."""
    reader.post("/surveys/new")
    for path in ("/surveys/edit", "/surveys/preview", "/surveys"):
        reader.page(path)
    assert reader.left == []


def test_a_text_without_a_mark_is_found(reader: Reader) -> None:
    """The tests above would fail."""
    reader.see("here", "<p>Some text</p><p title='of it'>\u27e6a <b>text</b>\u27e7 sex</p>")
    assert reader.left == [("here", "Some text"), ("here", "of it")]
