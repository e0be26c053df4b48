"""Every kind of release, both editions, HTML and PDF: nothing of the truth for outsiders."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import pytest
from tests.reporting.editions import (
    LABELS,
    LARGE,
    MARK,
    METHODS,
    pdf_text,
    released_to,
    squeezed,
    truth,
)

from pramana import api
from pramana.base.charts import WIDTHS
from pramana.evaluation.report import Report


@pytest.fixture(scope="module", params=list(METHODS))
def made(request, tmp_path_factory):
    """The reports of one kind: for everybody, and for the owner."""
    folder = released_to(tmp_path_factory.mktemp("editions"), request.param)
    about = {"name": "Survey & <i>more</i>", "office": "Office", "date": "2026-01-31"}

    def external(original):
        return api.report(folder, original=original, external=True, **about)

    return {
        "folder": folder,
        "external": Edition(lambda: external(truth())),
        "internal": Edition(lambda: api.report(folder, original=truth(), **about)),
        "alone": Edition(lambda: external(None)),
        "of others": Edition(lambda: external(truth(seed=6))),
    }


@dataclass(frozen=True, eq=False)
class Edition:
    """A report, made when it is first read and written once in each form."""

    make: Callable[[], Report]

    @cached_property
    def report(self) -> Report:
        return self.make()

    @property
    def html(self) -> str:
        return self.report.html

    @cached_property
    def pdf(self) -> bytes:
        return self.report.to_pdf()


def words_of(edition: Edition, form: str) -> str:
    """All that stands in a report, without spaces."""
    if form == "pdf":
        return pdf_text(edition.pdf)
    return squeezed(html.unescape(re.sub(r"<style>.*?</style>", "", edition.html, flags=re.DOTALL)))


@pytest.mark.parametrize("form", ["html", "pdf"])
@pytest.mark.deep(every=5)
def test_the_truth_is_found_in_no_external_edition(made, form):
    """No cell of it in either, no figure of it in the external one."""
    figure = squeezed(api.audit(truth(), keys=["sex", "school", "region"]).sentences()[0])
    external, internal = (words_of(made[edition], form) for edition in ("external", "internal"))

    assert figure in internal
    assert "original" in internal.lower()
    assert figure not in external
    for word in (MARK, str(LARGE), f"{LARGE:,}"):
        assert word not in external
        assert word not in internal


@pytest.mark.parametrize("form", ["html", "pdf"])
@pytest.mark.deep(every=5)
def test_the_external_edition_does_not_depend_on_the_truth(made, form):
    """Byte for byte the same, whichever original is given, or none."""
    assert getattr(made["alone"], form) == getattr(made["of others"], form)


@pytest.mark.parametrize("form", ["html", "pdf"])
@pytest.mark.parametrize("edition", ["external", "internal"])
def test_first_page_and_labels(made, form, edition):
    """Name, office, date, verdict, labels as text; the owner has a line to sign."""
    text = words_of(made[edition], form)

    for word in ("Survey & <i>more</i>", "Office", "2026-01-31", "Technical annex",
                 "Not for publication", "Highest <b>school</b>", "Refused & gone"):  # fmt: skip
        assert squeezed(word) in text, word
    assert ("Signature" in text) == (edition == "internal")
    assert "<i>more" not in made[edition].html
    assert LABELS.values["region"][1].replace(" ", "") in text


def test_what_must_not_be_done_is_said_by_kind(made):
    """In the words of the release folder, and all that the certificate states."""
    certificate = api.load(made["folder"]).certificate
    text = words_of(made["external"], "html")

    assert squeezed(certificate.nature.why_not) in text
    for sentence in certificate.sentences():
        assert squeezed(sentence) in text


def test_pictures_say_in_words_what_they_show(made):
    """In the PDF as well: each chart has an alternative text, and the file is tagged."""
    import io

    import pypdf

    reader = pypdf.PdfReader(io.BytesIO(made["external"].pdf))
    assert reader.trailer["/Root"]["/MarkInfo"]["/Marked"]
    assert reader.trailer["/Root"]["/Lang"] == "en"
    told = words_of(made["external"], "pdf")
    assert made["external"].html.count("<desc") == len(WIDTHS) * told.count("'/Alt'")
