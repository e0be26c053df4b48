"""The page for management: its verdict, its three numbers; and how long the annex may become."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.reporting.editions import pdf_text, released_to, truth

from pramana import api
from pramana.base.measured_share import Measured
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.reporting.document import (
    Attacks,
    ColumnView,
    Drawing,
    Figures,
    Grid,
    Group,
    ReportContent,
    Signature,
    Words,
)
from pramana.reporting.pages import FEW_CHECKS, MOST_ROWS, _checks, first_page, verdict_words
from pramana.schema.domains import Categories
from pramana.schema.schema import Column, Role, Schema
from pramana.verification.checks import Check, Verdict
from pramana.verification.whole_file import FileRisk, SubsetUniqueness

HOLDS = Verdict((Check.decided("data", True, "d"), Check.asserted("anonymity_set", "c")))
VIEW = ColumnView(
    "q1", "Sex (q1)", "key", "", "", labels=("Man", "Woman"), released=(0.5, 0.5),
    estimated=(0.49, 0.51), low=(0.40001, 0.42), high=(0.58, 0.6),
)  # fmt: skip

EVERYBODY = SubsetUniqueness(("number",), 100, 100)
IDENTIFIED = FileRisk(100, ("number",), (EVERYBODY,), (EVERYBODY,))
FOUND = FileRisk(100, ("job", "pay"), (), (SubsetUniqueness(("job", "pay"), 99, 100),))


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> ReportContent:
    """A release that holds, not made with a seed."""
    release = api.load(released_to(tmp_path_factory.mktemp("first"), "published"))
    sound = replace(release.certificate, reproducible=False)
    return ReportContent(sound, (VIEW,), HOLDS, "", FileRisk(sound.records), external=True)


def attacks(hits: int) -> Attacks:
    found = Measured.of("nearest record", hits=hits, trials=3000, baseline=0.001, bound=0.2)
    return Attacks((), measured=(found,), holds=not found.broken)


def test_a_sound_release_is_said_to_hold(content):
    """In green, with how many checks were proven and how many stated."""
    assert verdict_words(content).tone == "good"
    assert verdict_words(content).text.startswith("The guarantees hold.")
    reasons = first_page(content)[1].text
    assert content.verdict.counted() in reasons


@pytest.mark.parametrize(
    ("change", "word", "tone"),
    [
        ({"verdict": Verdict((Check.decided("data", False, "d"),))}, "Do not publish", "bad"),
        ({"attacks": attacks(2900), "external": False}, "Do not publish", "bad"),
        ({"verdict": None}, "The release was not verified", "stated"),
        ({"risk": IDENTIFIED}, "Do not publish: column number", "bad"),
        ({"risk": FOUND}, "The guarantees do not cover all", "stated"),
    ],
)
def test_what_fails_is_said_first(content, change, word, tone):
    """Whatever else holds: a check that failed, a promise that an attack broke, nothing checked."""
    said = verdict_words(replace(content, **change))

    assert said.text.startswith(word)
    assert said.tone == tone


def test_a_seed_and_no_promise_are_no_good_verdict(content):
    """Nor is a target that was missed."""
    missed = replace(content.certificate.claims[0], asked=PkAnonymity(k=1e6))
    for change in ({"reproducible": True}, {"claims": ()}, {"claims": (missed,)}):
        changed = replace(content, certificate=replace(content.certificate, **change))
        assert verdict_words(changed).tone == "stated"


def test_three_numbers_rounded_against_us(content):
    """The promise and the attack up, guessing down, half of the widest interval up."""
    claim = replace(content.certificate.claims[0], attained=PkAnonymity(k=2.9999))
    certificate = replace(content.certificate, claims=(claim,))
    owner = replace(content, certificate=certificate, attacks=attacks(1000), external=False)
    (figures,) = (block for block in first_page(owner) if isinstance(block, Figures))
    numbers = [number for number, _ in figures.entries]

    assert numbers == ["at most 33.4 %", "33.4 %", "± 9 points"]
    assert "promised: at most 20 %" in figures.entries[1][1]
    assert "Guessing: 0.1 %" in figures.entries[1][1]


def test_a_release_that_tells_nothing_is_said_to_be_of_little_use(content):
    """However well it holds its promise: by the end of an interval that lies farthest."""
    poor = replace(VIEW, low=(0.0, 0.42), high=(0.5, 0.6))
    told = [b.text for b in first_page(replace(content, columns=(poor,))) if isinstance(b, Words)]

    assert any(text.startswith("Of little use for 1 column (q1)") for text in told)
    assert not any("little use" in b.text for b in first_page(content) if isinstance(b, Words))


@pytest.mark.parametrize("external", [True, False])
def test_one_page_has_one_chart_and_a_line_to_sign(content, external):
    """In both editions three numbers as well."""
    given = content if external else replace(content, attacks=attacks(10), external=False)
    page = first_page(given)

    assert sum(isinstance(block, Drawing) for block in page) == 1
    assert isinstance(page[-1], Signature)
    assert [len(block.entries) for block in page if isinstance(block, Figures)] == [3]


def test_the_annex_has_a_bounded_length():
    """Thirty columns of forty values: ten charts, short tables, and it says what is left out."""
    random = np.random.default_rng(1)
    table = pa.table({f"c{at}": random.integers(0, 40, 300) for at in range(30)})
    names = tuple(f"v{at}" for at in range(40))
    texts = [pa.array([names[v] for v in column.to_pylist()]) for column in table.columns]
    columns = [Column(name, Role.KEY, Categories(names)) for name in table.column_names]
    schema = Schema(tuple(columns))
    plan = api.design(schema, PkAnonymity(k=5), records=300, method="retention")
    release = api.protect(pa.table(texts, names=table.column_names), plan, seed=1)
    document = api.report(release).document

    (part,) = (part for part in document.parts if part.key == "columns")
    (charts,) = (block for block in part.blocks if isinstance(block, Group))
    assert len(charts.blocks) == 10
    assert any("10 of 30 changed columns" in b.text for b in part.blocks if isinstance(b, Words))
    for chart in charts.blocks:
        assert chart.blocks[1].text.startswith("The 12 most frequent of 40 values; the other 28")
        assert all(len(b.rows) == 12 for b in chart.blocks if isinstance(b, Grid))
    for own in document.parts:
        assert all(len(b.rows) <= MOST_ROWS for b in own.blocks if isinstance(b, Grid))


def test_a_pdf_of_letters_that_no_font_has_is_still_made(content):
    """Names in any script; those without a glyph make no accessible standard, but a file."""
    report = api.report(released(content), name="\U000102a0 名前 شمار", date="")

    assert report.to_pdf().startswith(b"%PDF")


def released(content: ReportContent):
    plan = api.design(
        Schema((Column("sex", Role.KEY, Categories((1, 2))),)),
        PkAnonymity(k=5),
        records=600,
        method="retention",
    )
    return api.protect(truth().select(["sex"]), plan, seed=1)


def test_no_name_turns_the_words_of_a_pdf_around(content):
    """A sign that would is shown as one."""
    report = api.report(released(content), name="", office="Office\u202e", date="")
    told = pdf_text(report.to_pdf())
    assert "Office\ufffd" in told
    assert "Releasereport" in told


def test_what_failed_is_always_seen_and_many_stated_checks_are_folded():
    """A reader looks for what is wrong; a list of fifty that nobody can decide hides it."""
    failed = [Check.decided(f"f{at}", False, "d") for at in range(FEW_CHECKS + 1)]
    stated = [Check.asserted(f"s{at}", "d") for at in range(FEW_CHECKS + 1)]
    few = [own for own in _checks(Verdict(tuple(stated[1:]))) if isinstance(own, Grid)]
    many = [own for own in _checks(Verdict((*failed, *stated))) if isinstance(own, Grid)]

    assert [own.folded for own in few] == [""]
    assert [own.folded for own in many] == ["", "The 13 checks that rest on the owner's word"]
    assert [len(own.rows) for own in many] == [13, 13]
