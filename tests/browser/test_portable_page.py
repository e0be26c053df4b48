"""``analyse.html`` of a release, opened from the folder as an analyst would."""

from __future__ import annotations

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.release.portable import answers, releases

ASK = """
async ([kind, by, of]) => {
  const described = JSON.parse(document.getElementById("release").textContent);
  const [file] = document.getElementById("file").files;
  const format = file.name.endsWith(".csv") ? "csv" : "parquet";
  const columns = await analyse.read(await file.arrayBuffer(), format);
  const release = new analyse.Release(described, columns);
  const share = kind === "share";
  const cells = kind === "mean" ? release.means(of, by) : release.counts(by, {share});
  return ["estimate", "se", "low", "high"].map((name) => cells.map((cell) => String(cell[name])));
}
"""


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_the_page_gives_the_same_figures(page, tmp_path, file_format):
    """Estimates, standard errors and intervals of pramana to 1e-9, from either format."""
    for release in releases(tmp_path, file_format).values():
        page.goto((release.folder / "analyse.html").as_uri())
        page.set_input_files("#file", release.folder / release.certificate.data.name)
        page.wait_for_selector("#ask:not([hidden])")
        assert page.locator("#checks .passed").count() == 3
        assert not page.locator("#checks .failed").count()
        for kind, by, of, wanted in answers(release):
            found = page.evaluate(ASK, [kind, list(by), of])
            for computed, own in zip(found, wanted.values(), strict=True):
                numbers = [float(text.replace("Infinity", "inf")) for text in computed]
                np.testing.assert_allclose(numbers, own, rtol=1e-9, atol=1e-9)


def test_an_analyst_makes_a_table_and_saves_it(page, tmp_path):
    """From the file to a table with intervals and a file for a spreadsheet."""
    release = releases(tmp_path, "parquet")["attribute-sampling"]
    page.goto((release.folder / "analyse.html").as_uri())
    page.set_input_files("#file", release.folder / "data.parquet")
    page.wait_for_selector("#ask:not([hidden])")
    page.select_option("#by1", "marital")
    page.select_option("#by2", "sex")
    page.click("button[type=submit]")
    assert page.locator("#result tbody tr").count() == 9
    assert page.locator("#caption").inner_text() == "Number of people by marital, sex"
    with page.expect_download() as saved:
        page.click("#export")
    assert saved.value.path().read_text().startswith("marital,sex,estimate,se,low,high")
    assert Axe().run(page).violations_count == 0


def test_another_file_is_refused(page, tmp_path):
    """A changed file has another digest, and nothing is estimated from it."""
    release = releases(tmp_path, "csv")["retention"]
    place = release.folder / "data.csv"
    place.write_text(place.read_text().replace("single", "widowed", 1))
    page.goto((release.folder / "analyse.html").as_uri())
    page.set_input_files("#file", place)
    page.wait_for_selector("#checks .failed")
    assert "digest differs" in page.locator("#checks").inner_text()
    assert page.locator("#ask").is_hidden()
