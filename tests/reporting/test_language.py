"""Reports in another language; the release and its certificate stay as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.reporting.editions import METHODS, released, released_to, truth
from tests.studio.marked import Marked, unmarked

from pramana import api
from pramana.base import translation
from pramana.base.translation import in_language

NAMES = {
    *api.METHODS,
    "sex",
    "school",
    "region",
    "ill",
    "income",
    "who",
    "None",
    "Primary",
    "Secondary",
    "Refused",
    "gone",
    "Man",
    "Woman",
    "State",
    "Sex of the respondent",
    "Highest <b>school</b>",
    "SHA-256",
    "epsilon",
    "rho1",
    "rho2",
    "alpha",
    "width",
    "and",
}
"""Columns, labels, digests and the parameters of guarantees."""

DIGEST = re.compile(r"[0-9a-f]{64}")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A release with published matrices."""
    return released_to(tmp_path_factory.mktemp("language"), "published")


def test_a_report_is_in_the_language_that_is_asked_for(release: Any) -> None:
    """The page says which one; its guarantees and its decision are in it."""
    made = api.report(release, external=True, date="2026-01-31", language="de").html
    assert '<html lang="de">' in made
    for words in (
        "Technischer Anhang",
        "Ein veröffentlichter Datensatz wird der richtigen Person",
        "Garantien nachgerechnet",
        "Zur Veröffentlichung:",
    ):
        assert words in made.replace("\u00a0", " "), words
    for words in (
        "Technical annex",
        "a released record is linked",
        "for publication",
        "is released",
    ):
        assert words not in made, words


@pytest.mark.parametrize("kind", METHODS)
def test_every_text_of_a_report_comes_from_the_catalogue(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all chapters and charts, in the edition for the owner, which has them all."""
    monkeypatch.setattr(translation, "_catalogue", lambda _: Marked())
    made = api.report(released(kind), original=truth(), date="2026-01-31", language="de").html
    assert [text for text in unmarked(made, NAMES) if not DIGEST.fullmatch(text)] == []


def test_a_release_is_read_and_verified_in_any_language(release: Any) -> None:
    """Sentences of a certificate are compared in English."""
    with in_language("de"):
        assert api.load(release).certificate.to_json()["guarantees"]
        assert api.verify(release).valid


def test_a_report_in_english_does_not_change(release: Any, tmp_path: Path) -> None:
    """Whatever was written before it."""
    before = api.report(release, external=True, date="2026-01-31").html
    api.report(release, external=True, date="2026-01-31", language="de")
    assert api.report(release, external=True, date="2026-01-31").html == before
    assert "Technical annex" in before


@pytest.mark.parametrize("kind", METHODS)
def test_what_is_written_in_another_language_is_english(kind: str, tmp_path: Path) -> None:
    """A release is the same file by file, whatever the language of its steward."""
    english = released_to(tmp_path, kind)
    with in_language("de"):
        other = released.__wrapped__(kind)
        other.save(tmp_path / "other")
        other = tmp_path / "other"
    for path in english.iterdir():
        assert (other / path.name).read_bytes() == path.read_bytes(), path.name
