"""Reports: self-contained, accessible, and silent about the truth where they must be."""

from __future__ import annotations

import html
import itertools
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.release.people import people, plan

import pramana as pm
from pramana import api
from pramana.api import report
from pramana.base.charts import COLOURS as PALETTE
from pramana.base.charts import altair, rows_of, standalone_svg
from pramana.base.measured_share import Measured
from pramana.errors import DoesNotHold
from pramana.guarantees.claims import GUARANTEES
from pramana.reporting import report_charts as plots
from pramana.reporting.document import STYLE, Chapter, Document, Grid, Words, to_html
from pramana.reporting.report_charts import COLOURS, ColumnView, Point, frontier, ranges, shares


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("report") / "release"
    api.protect(people(1500), plan(20, records=1500), to=place, seed=1)
    return place


@pytest.fixture(scope="module")
def internal(folder) -> str:
    return report(folder, original=people(1500)).html


@pytest.fixture(scope="module")
def external(folder) -> str:
    return report(folder, external=True).html


class Outline(HTMLParser):
    """Tags with their attributes, in order; refuses what is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "hr"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def contrast(one: str, two: str) -> float:
    """The contrast ratio of two colours by WCAG 2."""

    def light(colour: str) -> float:
        digits = colour.lstrip("#")
        digits = "".join(d * 2 for d in digits) if len(digits) == 3 else digits
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    bright, dark = sorted((light(one), light(two)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("which", ["internal", "external"])
def test_structure_is_accessible(which, request):
    """Language, viewport, one h1, headings without gaps, captions, names for regions and plots."""
    text = request.getfixturevalue(which)
    outline = Outline(text)
    assert outline.all("html")[0]["lang"] == "en"
    assert any(m.get("name") == "viewport" for m in outline.all("meta"))
    levels = [int(tag[1]) for tag, _ in outline.tags if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert len(outline.all("caption")) == len(outline.all("table"))
    assert all(a.get("scope") in ("col", "row") for a in outline.all("th"))
    for picture in outline.all("svg"):
        assert picture["role"] == "img"
        names = str(picture["aria-labelledby"]).split()
        assert all(f'id="{name}"' in text for name in names)
    for region in outline.all("div"):
        if region.get("class") == "scroll":
            assert region["tabindex"] == "0"
            assert region["aria-label"]
    identities = [a["id"] for _, a in outline.tags if "id" in a]
    assert len(identities) == len(set(identities))
    for link in outline.all("a"):
        assert str(link["href"])[1:] in identities


def test_nothing_is_loaded_from_elsewhere(internal):
    """One file: no script, no address, no image of another place."""
    for mark in ("http", "<script", "<link", "src=", "url(", "@import"):
        assert mark not in internal


def schemes() -> dict[str, dict[str, str]]:
    """The colours of the stylesheet by name, by light and by dark."""
    light, dark = STYLE.split("prefers-color-scheme: dark", 1)
    found = re.compile(r"--([a-z-]+): (#[0-9a-f]{3,6})")
    return {"light": dict(found.findall(light)), "dark": dict(found.findall(dark))}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_have_contrast(scheme):
    """Text 4.5 to 1 against whatever it stands on, marks of charts as well, computed."""
    own = schemes()[scheme]
    assert own.keys() == schemes()["light"].keys()
    for text in ("ink", "quiet", "link", "accent", "good", "warn", "bad"):
        assert contrast(own[text], own["paper"]) >= 4.5
        assert contrast(own[text], own["ground"]) >= 4.5
    for tone in ("good", "warn", "bad"):
        assert contrast(own[tone], own[f"{tone}-soft"]) >= 4.5
        assert contrast(own["ink"], own[f"{tone}-soft"]) >= 4.5
    assert contrast(own["accent-ink"], own["accent"]) >= 4.5
    assert contrast(own["edge"], own["paper"]) >= 3
    for colour in {*COLOURS.values(), *PALETTE}:
        turned = re.search(rf'\[fill="{colour}"\]{{fill:(#[0-9a-f]{{6}})}}', STYLE)
        assert turned is not None
        shown = colour if scheme == "light" else turned[1]
        assert contrast(shown, own["paper"]) >= 4.5


def test_every_guarantee_says_what_it_does_not_promise(internal):
    """In plain words, for each that a certificate may carry; those of this one stand in it."""
    assert all(kind.not_promised for kind in GUARANTEES.values())
    for name in ("pk-anonymity", "differential-privacy", "privacy-breach"):
        assert GUARANTEES[name].not_promised in html.unescape(internal)


@pytest.mark.deep
def test_the_external_report_is_the_same_for_two_truths(folder, external):
    """Whatever original is given, nothing of it is looked at."""
    one = report(folder, original=people(1500), external=True).html
    two = report(folder, original=people(1500, seed=99), external=True).html

    assert one == two == external
    assert "For publication" in one
    assert ">original<" not in one


def test_the_internal_report_has_what_the_owner_needs(internal):
    """Truth beside release, attacks, the worst keys, the loss, and a warning not to publish."""
    for words in (
        "What attacks achieve",
        "Unique records in the original data",
        "What is lost",
        "Do not publish",
    ):
        assert words in internal
    assert ">original<" in internal
    assert "for a test or a demonstration" in internal  # this release was seeded


def test_the_owner_reads_of_every_check_that_the_truth_allows(folder, internal, external):
    """As many as verify makes with the truth; whoever has the release alone reads of fewer."""
    with_truth = api.verify(folder, original=people(1500))
    alone = api.verify(folder)
    assert len(alone.checks) < len(with_truth.checks)
    for verdict, page in ((with_truth, internal), (alone, external)):
        assert sum(verdict.counts.values()) == len(verdict.checks)
        assert verdict.counted() in html.unescape(page)
    assert with_truth.counted() not in html.unescape(external)


@pytest.mark.deep
def test_internal_reports_of_two_truths_differ(folder, internal):
    """So the test on the external one has teeth."""
    truth = people(1500)
    # A few records only: a truth that does not fit the release is refused.
    married = truth["marital"].to_pylist()
    married[:12] = married[11::-1]
    swapped = truth.set_column(3, "marital", pa.array(married))

    assert report(folder, original=swapped).html != internal


def test_other_people_are_refused_though_attacks_ran_beside_the_check(folder):
    """As many people who share what left as it is, and not the truth of what was drawn."""
    truth = people(1500)
    swapped = truth.set_column(2, "age", pa.array([70] * 1500))
    with pytest.raises(DoesNotHold, match="does not belong to this release"):
        report(folder, original=swapped)


def test_the_code_in_it_runs(folder, external, monkeypatch, capsys):
    """The lines under 'How to analyse' are run beside the folder, as they stand."""
    code = re.search(r"<code>(.*?)</code>", external, re.DOTALL)[1]
    code = html.unescape(code)
    monkeypatch.chdir(folder.parent)
    exec(code, {})  # noqa: S102
    said = capsys.readouterr().out

    assert "valid: True" in said
    assert "+-" in said


def test_labels_of_the_data_are_escaped(folder):
    """A category that looks like markup stays text."""
    release = api.load(folder)
    columns = list(release.certificate.schema.columns)
    place = next(i for i, c in enumerate(columns) if c.name == "region")
    columns[place] = replace(columns[place], name="<script>x</script>")
    schema = replace(release.certificate.schema, columns=tuple(columns))
    strange = replace(release, certificate=replace(release.certificate, schema=schema), folder=None)

    assert "<script" not in report(strange).html


def test_withheld_matrices_are_said(folder):
    """What needs matrices is not measured, no table estimated, and the report says so."""
    release = api.load(folder)
    secret = replace(
        release, certificate=replace(release.certificate, kind="withheld", mechanism=None)
    )
    text = report(secret, original=people(1500)).html

    assert "the strongest linker, inference and the distance" in text
    assert "withheld" in text


def test_a_report_shows_itself_in_a_notebook(folder):
    """As the same HTML."""
    made = report(folder)

    assert made._repr_html_() == made.html


def test_every_text_of_a_document_is_escaped():
    """Title, paragraphs, cells, and captions, which are attributes too."""
    mark = '<i>"'
    grid = Grid((mark,), ((mark,),), mark, folded=mark)
    part = Chapter("part", mark, (Words(mark), Words(mark, "strong"), grid))
    text = to_html(Document(mark, (mark,), (Words(mark, "good"),), (part,), mark, annex=mark))
    body = text.partition("</style>")[2]
    assert "<i>" not in text
    assert body.count("&lt;i&gt;") == 14


def test_plots_say_in_words_what_they_show():
    """Every entry with its numbers, also where the frontier has one point or a share is 0."""
    shown = ranges(
        "r", [Measured("link", 0.0, 0.0, 0.1, 10, baseline=0.01, bound=0.05)], title="t"
    ).text
    assert "link 0 %, guessing 1 %, promised 5 %" in shown
    plot = frontier(
        "f", [Point("k = 10", 0.1, 0.02, True), Point("k = 2", 0.0, 0.5, False)], title="t"
    ).text
    assert "k = 10: loss 10 %, risk 2 %, on the frontier" in plot
    assert plot.count("on the frontier") == 1
    assert shares("s", VIEW, title="t").text == (
        "Man: estimated 49.0 % (40.0 % to 58.0 %), as released 50.0 %; "
        "Woman: estimated 51.0 % (42.0 % to 60.0 %), as released 50.0 %"
    )


def test_names_of_points_cross_neither_each_other_nor_a_point_nor_a_line():
    """Eight methods, some of them at nearly the same place, and the chance asked for."""
    places = [(0.0, 0.4), (0.017, 0.39), (0.02, 0.41), (0.1, 0.0016), (0.23, 0.0016), (0.1, 0.5),
              (0.02, 0.048), (0.22, 0.052)]  # fmt: skip
    rows = [
        {"name": f"resample {at} k = 20", "loss": x, "risk": y} for at, (x, y) in enumerate(places)
    ]
    most, low, high = frame = plots._frame(rows, [0.05])

    def place(row):
        return plots.WIDER * row["loss"] / most, math.log(high / row["risk"]) / math.log(high / low)

    boxes = []
    for label in plots._labelled(rows, frame, [0.05]):
        x, y = place(label)
        long = plots.LETTER * len(label["name"])
        boxes.append((x - 9 - long if label["right"] else x + 9, long, plots.TALL * y))
    for at, (left, long, y) in enumerate(boxes):
        for other, width, row in boxes[:at]:
            assert left >= other + width or other >= left + long or abs(y - row) >= 12.9
        for x, row in map(place, rows):
            assert left >= x + 6 or x - 6 >= left + long or abs(y - plots.TALL * row) >= 12.9
        assert abs(y - plots.TALL * place({"loss": 0, "risk": 0.05})[1]) >= 6


VIEW = ColumnView(
    "q1", "Sex (q1)", "key", "", "", labels=("Man", "Woman"), released=(0.5, 0.5),
    estimated=(0.49, 0.51), low=(0.4, 0.42), high=(0.58, 0.6),
)  # fmt: skip


def test_names_that_the_library_has_itself_stop_no_chart(capfd):
    """Columns and answers called as everything is in its language are drawn as any others.

    The library draws no bars of such a value, and tells the terminal alone.
    """
    words = ("constructor", "toString")
    for name in (*words, "valueOf", "public"):
        rows = rows_of([{name: word, "n": 1} for word in words])
        chart = altair().Chart(rows, mark="bar").encode(x="n:Q", y=f"{name}:N", color=f"{name}:N")
        drawn = standalone_svg(chart)
        assert drawn.count('aria-roledescription="bar"') == 2
        assert all(word in drawn for word in words)
    assert capfd.readouterr().err == ""


def test_charts_have_axes_labels_and_error_bars():
    """Both axes have titles, values their labels in words, and each estimate a line."""
    drawn = shares("s", VIEW, title="t").svg

    for word in ("q1", "Man", "Woman", "share of records, with 95 % intervals"):
        assert word in drawn
    assert len(re.findall(r'<line[^>]*stroke="#0b5f8a"', drawn)) == 2


def test_a_curve_shows_many_values_at_the_same_height():
    """A hundred values in an order need no more room than twenty."""

    def tall(number: int) -> float:
        part = (1 / number,) * number
        view = replace(VIEW, labels=tuple(map(str, range(number))), released=part, estimated=part,
                       low=part, high=part, curve=True)  # fmt: skip
        return float(re.search(r'height="([0-9.]+)"', shares("s", view, title="t").svg)[1])

    assert tall(100) <= tall(20) + 10


def test_signs_that_steer_in_names_stop_no_chart(tmp_path):
    """Escapes, ends of lines and signs that turn the direction of text, in the name of a column."""
    name = "a\x1b[31mred\x07\r\n\x9b\u202e"
    schema = pm.Schema((pm.Column(name, pm.Role.KEY, pm.Categories(("p", "q"))),))
    plan = pm.design(schema, pm.PkAnonymity(k=3), records=100)
    pm.protect(pa.table({name: ["p", "q"] * 50}), plan, to=tmp_path / "release")
    page = report(tmp_path / "release").html

    assert "<svg" in page
    assert not set(page) & set("\x1b\x07\r\x9b\u202e")


def test_what_was_done_to_columns_that_are_not_randomised_is_told():
    """Bins, steps and noise were called 'released unchanged'; a merge was not spoken of."""
    rng = np.random.default_rng(6)
    truth = pa.table(
        {
            "sex": rng.choice(["F", "M", "X"], 400),
            "pay": rng.integers(1, 100, 400),
            "age": rng.integers(20, 60, 400),
            "debt": rng.integers(0, 500, 400),
        }
    )
    schema = pm.Schema.from_toml(
        """
        [columns.sex]
        role = "key"
        categories = ["F", "other"]
        merge = { other = ["M", "X"] }
        [columns.pay]
        role = "sensitive"
        round = 10
        [columns.age]
        role = "sensitive"
        bins = [20, 40, 60]
        [columns.debt]
        role = "sensitive"
        noise = { distribution = "laplace", scale = 20 }
        """
    )
    release = pm.protect(
        truth, pm.design(schema, pm.PkAnonymity(5), data=truth, method="retention")
    )
    page = re.sub("<[^>]+>", " ", report(release).html)
    words = " ".join(page.split())

    assert re.search(r"sex key M(,| and) X merged into other; kept with probability ", words)
    assert "pay sensitive rounded to multiples of 10; released unchanged" in words
    assert "age sensitive binned, not randomised 3 bins, declared, missing is one of them" in words
    assert re.search(r"debt sensitive [^.]*; released with noise, not randomised", words)
    assert "For unbiased estimates: The expected error" in words


def test_shares_without_weights_are_named_so_beside_the_first_chart():
    """On the first page and above the charts of columns, before anyone reads a share."""
    table = pa.table({"sex": ["F", "M"] * 100, "w": [1.0, 2.0] * 100})
    schema = pm.Schema((
        pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))), pm.Column("w", pm.Role.WEIGHT)
    ))  # fmt: skip
    plan = pm.design(schema, pm.PkAnonymity(k=2), data=table, method="retention")
    page = pm.report(pm.protect(table, plan, seed=1, accept_risk=["w"])).html
    words = "Shares are of records, not weighted by"
    assert page.count(words) == 2
    assert page.index(words) < page.index("What is guaranteed")
