"""The analyst's side over every kind of release: checks, codebook, tables, models, files."""

from __future__ import annotations

import csv
import html
import io
import math
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from pramana import api
from pramana.errors import PramanaError
from pramana.studio.analyst import Exported, _cell
from pramana.studio.app import studio_application
from pramana.studio.serving import Origin
from pramana.studio.session import StudioSession
from tests.reporting.editions import METHODS, released_to
from tests.studio.conftest import ORIGIN, TOKEN, Visitor, same, words


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release of every kind."""
    folder = tmp_path_factory.mktemp("analyst")
    for kind in METHODS:
        released_to(folder, kind)
    return folder


@pytest.fixture(scope="module")
def analyst(place: Path) -> Iterator[Visitor]:
    """One studio for all tests of this file: its worker stays warm."""
    session = StudioSession(place)
    app = studio_application(session, token=TOKEN, origin=Origin.of("127.0.0.1", 8123))
    with TestClient(app, base_url=ORIGIN, raise_server_exceptions=False) as client:
        assert client.get(f"/?token={TOKEN}").status_code == 200
        yield Visitor(client, session)


def opened(analyst: Visitor, kind: str) -> Visitor:
    answer = analyst.post("/release", {"folder": kind})
    assert answer.status_code == 200
    assert analyst.session.now.analysed == kind
    return analyst


def table(analyst: Visitor, **asked: str) -> str:
    """The words of a table."""
    return words(analyst.part(f"/table/found?{urlencode(asked)}"))


@pytest.mark.parametrize("kind", METHODS)
def test_checks_come_in_three_states(analyst, kind):
    """Passed, asserted by the owner, failed; and the guarantees in words."""
    text = words(opened(analyst, kind).part("/release/checked"))

    assert "All verifiable checks passed" in text
    for state in ("Passed", "Asserted by the owner", "Failed"):
        assert state in text
    assert "Guarantees" in text
    assert kind in words(analyst.get("/release").text)


def test_an_altered_release_is_said_to_fail(analyst, place):
    """At once, and with what was found."""
    import shutil

    shutil.copytree(place / "published", place / "altered")
    data = place / "altered" / "data.parquet"
    data.write_bytes(data.read_bytes()[:-4] + b"XXXX")
    text = words(opened(analyst, "altered").part("/release/checked"))
    shutil.rmtree(place / "altered")

    assert "does not hold. Do not use it" in text
    assert "Failed: 1" in text


@pytest.mark.parametrize("kind", METHODS)
def test_the_codebook_has_labels(analyst, kind):
    """Of columns and of values, hostile ones as text."""
    page = opened(analyst, kind).part("/codebook/listed")

    assert "Sex of the respondent" in page
    assert "Highest &lt;b&gt;school&lt;/b&gt;" in page
    assert "Refused &amp; gone" in page
    assert "<b>school" not in page


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("what", ["count", "share", "mean"])
def test_one_column(analyst, kind, what):
    """Numbers with intervals, in the words of the labels; whether they are weighted is said."""
    of = {"of": "income"} if what == "mean" else {}
    by = "ill" if what == "mean" else "sex"
    text = table(opened(analyst, kind), row=by, what=what, **of)

    if by == "sex":
        assert "Man" in text
        assert "Woman" in text
    assert " to " in text
    assert "Not weighted" in text
    assert "Save as CSV" in text


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("what", ["row", "column"])
def test_percentages_of_two_columns(analyst, kind, what):
    """What a kind of release cannot tell is refused by its own sentence, the same as in Python."""
    text = table(opened(analyst, kind), row="sex", column="school", what=what)
    release = api.load(analyst.session.folder / kind)
    if kind in ("withheld", "sealed"):
        with pytest.raises(PramanaError) as refused:
            release.crosstab("sex", "school", share=what)
        assert str(refused.value) in html.unescape(text)
    else:
        assert "Secondary" in text
        assert "%" in text


@pytest.mark.parametrize("kind", METHODS)
def test_a_model_is_a_table_or_a_sentence(analyst, kind):
    """Of kept columns every kind can tell; of keys some refuse, and say so."""
    opened(analyst, kind)
    kept = words(analyst.part(f"/model/found?{urlencode({'formula': 'income ~ ill'})}"))
    keys = words(analyst.part(f"/model/found?{urlencode({'formula': 'income ~ C(sex)'})}"))

    assert "Coefficient" in kept
    assert "Intercept" in kept
    if kind not in ("published", "attribute-sampling"):
        assert "Coefficient" not in keys
        assert len(keys.split()) > 5


def test_a_model_is_chosen_from_lists(analyst):
    """The formula follows from the kinds of the columns; the reference category is named."""
    opened(analyst, "published")
    answer = analyst.get(f"/model?{urlencode({'outcome': 'income', 'x': 'sex', 'level': '0.9'})}")
    asked = answer.url.query.decode()
    chosen = {"outcome": "income", "x": "sex", "level": "0.9"}
    assert asked == urlencode({"formula": "income ~ C(sex)", "family": "linear"} | chosen)
    lists = analyst.part(f"/model/choices?{asked}")
    assert len(re.findall('<option value="(?:income|sex)" selected>', lists)) == 2
    told = words(analyst.part(f"/model/found?{asked}"))
    assert "Reference categories: " in told
    assert "Man" in told.partition("Reference categories: ")[2].partition(".")[0]
    for wrong in ({"outcome": "income"}, {"outcome": "income", "x": "none"}):
        assert "Choose an outcome" in words(analyst.get(f"/model?{urlencode(wrong)}").text)


def test_the_chart_of_a_model_has_labels_and_no_intercept(analyst):
    """Values by their labels, as in the table; an intercept would hide the others by its size."""
    opened(analyst, "published")
    told = analyst.part(f"/model/found?{urlencode({'formula': 'income ~ C(sex)'})}")
    table, chart = told.split("<svg", 1)
    assert "Intercept" in table
    assert "Woman" in table
    assert ": Woman" in html.unescape(chart)
    assert "Intercept" not in chart
    assert "[T." not in chart


def test_labels_are_text_in_charts_too(analyst):
    """Where they would be markup, and in the titles of axes."""
    page = opened(analyst, "published").part("/table/found?row=school&column=sex")

    assert "<svg" in page
    assert "Refused &amp; gone" in page
    assert "<b>school" not in page


def test_unreliable_cells_are_grey_and_said(analyst):
    """Where the standard error is more than 30 % of the number; in letters as well."""
    page = opened(analyst, "published").part("/table/found?row=region")

    assert 'class="number unreliable"' in page
    assert "unreliable</span>" in page
    assert "more than 30 % of the number" in words(page)


def test_a_mean_that_can_be_anything_is_not_shown_as_a_number():
    """A group that may be empty: neither on the page nor in a file."""
    told = SimpleNamespace(names=("sex",))
    cell = {"sex": "F", "estimate": -17_166.0, "se": 9.0, "low": -math.inf, "high": math.inf}
    found = _cell(cell, told, "mean")
    assert (found["text"], found["interval"]) == ("unknown", "no bound")
    assert found["unreliable"]
    assert found["figures"] == [None, 9.0, None, None]
    assert _cell(cell | {"low": 2.0}, told, "mean")["interval"] == "2 to no bound"


@pytest.mark.parametrize("kind", ["published", "withheld"])
def test_what_is_exported_is_what_is_shown(analyst, kind):
    """CSV and Excel hold the numbers of Python, labels as texts, and say how they came about."""
    from python_calamine import load_workbook

    opened(analyst, kind)
    answer = analyst.get("/table/export.csv?row=school&what=share")
    rows = list(csv.reader(io.StringIO(answer.text)))
    found = api.load(analyst.session.folder / kind).crosstab("school", share=True)

    assert answer.headers["content-disposition"] == 'attachment; filename="table.csv"'
    assert rows[0][1:] == ["estimate", "standard error", "from", "to", "unreliable"]
    assert [row[0] for row in rows[1:]] == ["None", "Primary", "Secondary", "Refused & gone"]
    assert [float(row[1]) for row in rows[1:]] == pytest.approx(list(found.estimate))
    book = load_workbook(
        io.BytesIO(analyst.get("/table/export.xlsx?row=school&what=share").content)
    )
    sheet = book.get_sheet_by_name("Table").to_python()
    assert [row[1] for row in sheet[1:]] == pytest.approx(list(found.estimate))
    about = dict(book.get_sheet_by_name("About").to_python())
    assert about["Weighted by"] == "no column"
    assert about["Show code"].startswith(f"pramana estimate {kind} --by school")


def test_a_label_that_looks_like_a_formula_is_text_in_excel():
    """Whoever named a category does not make a spreadsheet compute."""
    from python_calamine import load_workbook

    made = Exported(("a",), (("=1+1",), (None,), (2.5,)), (("How", "=2+2"),)).write("xlsx")
    book = load_workbook(io.BytesIO(made))

    assert book.get_sheet_by_name("Table").to_python()[1][0] == "=1+1"
    assert book.get_sheet_by_name("About").to_python()[0][1] == "=2+2"


def test_nothing_in_a_text_file_is_computed_by_a_spreadsheet():
    """Heads and labels that begin as a formula are marked; numbers and other texts stay."""
    texts = ("=cmd|' /C calc'!A0", " =1+1", "@SUM(A1)", "+A1|x", "-HYPERLINK(1)", "\t=1", "+1+1",
             "-5-10", "-2+3", "+A1", "-A1*B2", "\uff1d1+1", "\uff0bA1", "-5 to 10", "+",
             "\rx")  # fmt: skip
    plain = ("-5", "+1.5", "-2e-3", "a=b", "mail@office", "x;=1+1", 'a "b", c', "")
    made = Exported(("=1+1",), tuple((own,) for own in (*texts, *plain, None, -2.5)), ())
    written = made.write("csv").decode()
    head, *rows = csv.reader(io.StringIO(written, newline=""))

    assert '\n"x;=1+1"\n' in written
    assert head == ["'=1+1"]
    assert [row[0] if row else "" for row in rows] == [
        *(f"'{own}" for own in texts),
        *plain,
        "",
        "-2.5",
    ]


def test_a_question_that_is_refused_leads_to_one_that_is_answered(analyst):
    """A click puts it otherwise; a condition that was stated stays."""
    opened(analyst, "attribute-sampling")
    query = "row=sex&inner=school&column=region&infer=population"
    current = {"hx-request": "true", "hx-current-url": f"{ORIGIN}/table?{query}"}
    analyst.part(f"/table/found?{query}")
    refused = analyst.get(f"/table/found?{query}", **current).text
    (way,) = re.findall(r'href="(/table[^"]*)">Show it for these records alone', refused)
    answer = words(analyst.part(html.unescape(way).replace("/table", "/table/found")))
    assert "Number of people by" in answer


def test_a_model_is_exported(analyst):
    """With the words of the terms beside their names."""
    opened(analyst, "published")
    query = urlencode({"formula": "income ~ C(ill)"})
    rows = list(csv.reader(io.StringIO(analyst.get(f"/model/export.csv?{query}").text)))

    assert rows[0][:3] == ["term", "in words", "coefficient"]
    assert rows[1][0] == "Intercept"


@pytest.mark.parametrize(
    ("query", "command", "python"),
    [
        (
            {"row": "sex", "column": "school", "what": "row", "only": "ill=0", "level": "0.9"},
            "pramana estimate published --by sex,school --share row --where ill=0 --level 0.9",
            "release.crosstab('sex', 'school', share='row', where=['ill=0'], level=0.9)",
        ),
        (
            {"row": "sex", "what": "mean", "of": "income", "unweighted": "1"},
            "pramana estimate published --by sex --mean income --unweighted",
            "release.mean('income', by=['sex'], weighted=False)",
        ),
    ],
)
def test_every_table_shows_what_does_the_same(analyst, query, command, python, run_here):
    """By the command line and by Python, and both run."""
    page = opened(analyst, "published").get(f"/table?{urlencode(query)}").text
    shown = re.search(r'aria-label="Commands">(.*?)</pre>', page, re.DOTALL)[1]
    code = re.search(r'aria-label="Python">(.*?)</pre>', page, re.DOTALL)[1].replace("&#39;", "'")

    assert shown == command
    assert python in code
    assert run_here(shlex.split(shown)[1:]) == 0
    exec(compile(code, "shown", "exec"), {})  # noqa: S102 - as an analyst would


ODD = {"dash": "-x", "comma": "pets, if any", "unseen": "in\u200bvisible", "edge": " edge "}
NUMBER = "-inc,ome"


@pytest.fixture(scope="module")
def odd(place: Path) -> str:
    """A release whose names and values no list and no shell takes as they are."""
    import pyarrow as pa

    from pramana import PkAnonymity, api

    values = {name: ["a;b", "c d", "e"] for name in ODD.values()}
    people = pa.table(
        {name: [own[at // 3**n % 3] for at in range(3000)] for n, (name, own) in
         enumerate(values.items())} | {NUMBER: [float(at % 7) for at in range(3000)]}
    )  # fmt: skip
    schema = api.describe(people, keys=list(values), sensitive=[NUMBER])
    plan = api.design(schema, PkAnonymity(k=2), data=people, method="retention")
    api.protect(people, plan, to=place / "-odd", seed=1)
    return "-odd"


@pytest.mark.parametrize("row", ODD)
def test_what_is_shown_can_be_pasted_whatever_a_column_is_called(analyst, odd, row, run_here):
    """Commas, spaces, letters that nobody sees and strokes; a condition may hold a semicolon."""
    other = ODD["comma" if row == "dash" else "dash"]
    query = {"row": ODD[row], "column": other, "only": f'"{other}=a;b"; {ODD["comma"]}!=e',
             "what": "mean", "of": NUMBER}  # fmt: skip
    opened(analyst, odd)
    assert "a;b" in words(analyst.part(f"/table/found?{urlencode(query)}"))
    chosen = analyst.part(f"/table/choices?{urlencode(query)}")
    assert chosen.count(" selected>") == 6
    formula = f"`{NUMBER}` ~ `{ODD[row]}`"
    for page, part in (
        (f"/table?{urlencode(query)}", "/table"),
        (f"/model?{urlencode({'formula': formula})}", "/model"),
    ):
        shell, code = same(analyst.get(page).text)
        assert shell.isprintable()
        spelled = ["bash", "-c", f'printf "%s\\0" {shell}']
        typed = subprocess.run(spelled, capture_output=True, check=True).stdout.decode()
        assert run_here(typed.split("\0")[1:-1]) == 0, (part, shell)
        exec(compile(code, "shown", "exec"), {})  # noqa: S102 - as an analyst would


@pytest.fixture
def run_here(place: Path, monkeypatch: pytest.MonkeyPatch):
    """The command line in the folder of the studio."""
    from typer.testing import CliRunner

    from pramana.cli.app import app

    monkeypatch.chdir(place)
    return lambda command: CliRunner().invoke(app, command).exit_code


@pytest.mark.parametrize(
    "path",
    ["/table/found?row=nowhere", "/table/found?row=sex&level=0.5", "/table/found?row=sex&what=all",
     "/table/found?row=sex&column=sex", "/table/found", "/model/found?formula=",
     "/table/export.exe?row=sex", "/table/found?row=sex&only=%3D",
     "/model/found?formula=income~C(", "/table/found?row=sex&infer=x"],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_words(analyst, path):
    """No fault, no trace, one sentence."""
    text = words(opened(analyst, "published").part(path))

    assert "unforeseen" not in text
    assert text.endswith(".") or "Try again" in text


@pytest.mark.parametrize("folder", ["..", "/etc", "nowhere", "", "../x", ".pramana-studio"])
def test_only_release_folders_inside_are_opened(analyst, folder):
    """Paths that lead out, and folders without a certificate, are refused."""
    before = opened(analyst, "published").session.now.analysed
    analyst.post("/release", {"folder": folder})

    assert analyst.session.now.analysed == before


def test_the_studio_may_be_opened_on_a_release_itself(place, tmp_path):
    """As an analyst does who has nothing else."""
    import shutil

    shutil.copytree(place / "published", tmp_path / "given")
    app = studio_application(
        StudioSession(tmp_path / "given"), token=TOKEN, origin=Origin.of("127.0.0.1", 8123)
    )
    with TestClient(app, base_url=ORIGIN, raise_server_exceptions=False) as client:
        client.get(f"/?token={TOKEN}")
        visitor = Visitor(client, app._app.state.studio.session)
        assert "given" in visitor.get("/release").text
        opened(visitor, ".")
        assert "All verifiable checks passed" in visitor.part("/release/checked")


def test_pages_without_a_release_say_what_to_do(visitor):
    """Nothing is opened: the parts say so."""
    for path in ("/release/checked", "/codebook/listed", "/table/choices", "/model/choices"):
        assert "Open a release first" in visitor.part(path)
    for path in ("/release", "/codebook", "/table", "/model"):
        assert "Show code" not in visitor.get(path).text
    assert "There is no release in this folder yet" in visitor.get("/release").text
