"""The page for management: its verdict, its three numbers; and how long the annex may become."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.reporting.editions import pdf_text, released_to, truth

from pramana import api
from pramana.base.measured_share import Measured
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.reporting.document import Drawing, Facts, Figures, Grid, Group, Signature, Words
from pramana.reporting.report_charts import ColumnView
from pramana.reporting.sections import (
    FEW_CHECKS,
    MOST_ROWS,
    checks_blocks,
    first_page,
    verdict_words,
)
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
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
def certificate(tmp_path_factory):
    """The certificate of a release that holds, not made with a seed."""
    release = api.load(released_to(tmp_path_factory.mktemp("first"), "published"))
    return replace(release.certificate, reproducible=False)


def attack(hits: int) -> Measured:
    return Measured.of("nearest record", hits=hits, trials=3000, baseline=0.001, bound=0.2)


def page_of(certificate, views=(VIEW,), **changes):
    """The first page of a release that holds, but for the changes."""
    about = {"risk": FileRisk(certificate.records), "verdict": HOLDS} | changes
    return first_page(certificate, views, **about)


def facts_of(page) -> dict[str, str]:
    (facts,) = (block for block in page if isinstance(block, Facts))
    return dict(facts.pairs)


def test_a_sound_release_is_said_to_hold(certificate):
    """In green, with how many checks were proven and how many asserted."""
    page = page_of(certificate)

    assert page[0].tone == "good"
    assert page[0].text.startswith("Can be published. The guarantees hold.")
    assert facts_of(page)["Checks"] == HOLDS.counted()


@pytest.mark.parametrize(
    ("change", "word", "tone"),
    [
        ({"verdict": Verdict((Check.decided("data", False, "d"),))}, "Do not publish", "bad"),
        ({"attacks": [attack(2900)]}, "Do not publish", "bad"),
        ({"verdict": None}, "Needs a decision before it is published. The release was", "stated"),
        ({"risk": IDENTIFIED}, "Do not publish: column number", "bad"),
        ({"risk": FOUND}, "Needs a decision before it is published. The guarantees", "stated"),
    ],
)
def test_what_fails_is_said_first(certificate, change, word, tone):
    """Whatever else holds: a failed check, a guarantee that an attack exceeds, nothing checked."""
    verdict = page_of(certificate, **change)[0]

    assert verdict.text.startswith(word)
    assert verdict.tone == tone


def test_a_seed_and_no_guarantee_are_no_good_verdict(certificate):
    """Nor is a target that was missed."""
    missed = replace(certificate.claims[0], asked=PkAnonymity(k=1e6))
    for change in ({"reproducible": True}, {"claims": ()}, {"claims": (missed,)}):
        changed = replace(certificate, **change)
        assert verdict_words(changed, FileRisk(changed.records), HOLDS).tone == "stated"


def test_three_numbers_rounded_conservatively(certificate):
    """The guarantee and the attack up, guessing down, half of the widest interval up."""
    claim = replace(certificate.claims[0], attained=PkAnonymity(k=2.9999))
    page = page_of(replace(certificate, claims=(claim,)), attacks=[attack(1000)])
    (figures,) = (block for block in page if isinstance(block, Figures))

    assert [number for number, _ in figures.entries] == ["at most 33.4 %", "33.4 %", "± 9 points"]
    assert "guessing: 0.1 %" in figures.entries[1][1]


def test_a_release_that_tells_nothing_is_said_to_be_of_little_use(certificate):
    """However well it keeps its guarantee: by the end of an interval that lies farthest."""
    poor = replace(VIEW, low=(0.0, 0.42), high=(0.5, 0.6))
    texts = [b.text for b in page_of(certificate, (poor,)) if isinstance(b, Words)]

    assert any(text.startswith("Of little use for q1") for text in texts)
    good = page_of(certificate)
    assert not any("little use" in b.text for b in good if isinstance(b, Words))


@pytest.mark.parametrize("external", [True, False])
def test_one_page_has_one_chart_and_the_owner_signs(certificate, external):
    """In both editions three numbers as well; a published page is not signed."""
    page = page_of(certificate, attacks=() if external else [attack(10)], external=external)

    assert sum(isinstance(block, Drawing) for block in page) == 1
    assert isinstance(page[-1], Signature) is not external
    assert [len(block.entries) for block in page if isinstance(block, Figures)] == [3]


def test_the_page_has_what_a_board_signs(certificate):
    """Guarantee and its limits, risk of the whole file, unchanged columns, digest."""
    page = page_of(certificate, risk=FOUND)
    facts = facts_of(page)

    claim = certificate.claims[0]
    assert facts["Guarantee"].endswith(".")
    assert certificate.promise(claim).startswith(facts["Guarantee"])
    assert facts["Not covered"] == claim.attained.not_promised
    found = "An attacker who knows job and pay of a person finds 99 of 100 people (99 %)."
    assert found in page[0].text  # the decision has it, so that it is not said again
    assert "Whole file" not in facts
    assert facts_of(page_of(certificate))["Whole file"]
    assert "income" in facts["Unchanged columns"]
    digest = hashlib.sha256(certificate.to_bytes()).hexdigest()
    assert facts["Certificate"] == f"SHA-256 {digest}"


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
        assert chart.blocks[1].text.startswith("The 12 most frequent of 40 values; the others")
        assert all(len(b.rows) == 12 for b in chart.blocks if isinstance(b, Grid))
    for own in document.parts:
        assert all(len(b.rows) <= MOST_ROWS for b in own.blocks if isinstance(b, Grid))


def test_a_pdf_of_letters_that_no_font_has_is_still_made(plain):
    """Names in any script; those without a glyph make no accessible standard, but a file."""
    report = api.report(plain, name="\U000102a0 名前 شمار", date="")

    assert report.to_pdf().startswith(b"%PDF")


@pytest.fixture(scope="module")
def plain():
    """A release of one column."""
    plan = api.design(
        Schema((Column("sex", Role.KEY, Categories((1, 2))),)),
        PkAnonymity(k=5),
        records=600,
        method="retention",
    )
    return api.protect(truth().select(["sex"]), plan, seed=1)


def test_no_name_turns_the_words_of_a_pdf_around(plain):
    """A sign that would is shown as one."""
    report = api.report(plain, name="", office="Office\u202e", date="")
    told = pdf_text(report.to_pdf())
    assert "Office\ufffd" in told
    assert "Releasereport" in told


def test_what_failed_is_always_seen_and_many_stated_checks_are_folded():
    """A reader looks for what is wrong; a list of fifty that nobody can decide hides it."""
    failed = [Check.decided(f"f{at}", False, "d") for at in range(FEW_CHECKS + 1)]
    stated = [Check.asserted(f"s{at}", "d") for at in range(FEW_CHECKS + 1)]
    few = [own for own in checks_blocks(Verdict(tuple(stated[1:]))) if isinstance(own, Grid)]
    many = [own for own in checks_blocks(Verdict((*failed, *stated))) if isinstance(own, Grid)]

    assert [own.folded for own in few] == [""]
    assert [own.folded for own in many] == ["", "Checks asserted by the owner: 13"]
    assert [len(own.rows) for own in many] == [13, 13]
