"""``pramana report`` on real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import MARKER, Run


@pytest.fixture
def release(steward: Path, run: Run) -> Path:
    """A release folder of the steward's people."""
    assert (
        run("protect people.csv --schema schema.toml --method retention --k 5 -o release").code == 0
    )
    return steward / "release"


def test_reports_for_the_owner_and_for_everybody(release: Path, run: Run) -> None:
    """Two documents; the external one holds nothing but release and certificate."""
    internal = run("report release --original people.csv -o internal.html")
    external = run("report release --external -o external.html --json")

    assert internal.code == 0, internal
    assert "not for publication" in internal.err
    assert external.json["external"] is True
    assert "What attacks achieve" in Path("internal.html").read_text()
    assert "What attacks achieve" not in Path("external.html").read_text()
    assert MARKER not in Path("internal.html").read_text()


def test_a_file_is_replaced_only_when_told(release: Path, run: Run) -> None:
    """With --force it is."""
    Path("report.html").write_text("learn")
    refused = run("report release --external -o report.html")

    assert refused.code == 2
    assert "exists" in refused.err
    assert Path("report.html").read_text() == "learn"
    assert run("report release --external -o report.html --force").code == 0


def test_other_folders_are_refused(steward: Path, run: Run) -> None:
    """A folder without a certificate is no release."""
    found = run(f"report {steward} -o report.html")

    assert found.code == 2
    assert "release folder" in found.err
    assert not Path("report.html").exists()


def test_a_pdf_with_name_office_and_date(release: Path, run: Run) -> None:
    """The ending says which; what stands on the first page is told by options."""
    import pypdf

    found = run(
        "report release --external -o report.pdf --name Census --office Bureau --date today"
    )
    text = pypdf.PdfReader("report.pdf").pages[0].extract_text()

    assert found.code == 0, found
    for word in ("Census", "Bureau", "today", "Certificate"):
        assert word in text
