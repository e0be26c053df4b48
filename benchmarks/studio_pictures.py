"""The screenshots of docs/studio.md, made anew: ``make studio-pictures``.

Needs Chromium and Playwright. People who do not exist, 10,000 of them, and a browser that clicks.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PLACE = Path(__file__).parents[1] / "docs" / "pictures"
COMMAND = [sys.executable, "-c", "from pramana.cli.app import main; main()", "studio"]
WIDE, PHONE = {"width": 1200, "height": 860}, {"width": 400, "height": 860}
METHODS = ("optimal", "gaussian", "centroid", "inverse-frequency")


def main() -> None:
    """Run a studio, go its whole path, and take a picture of every page."""
    from playwright.sync_api import sync_playwright

    PLACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "survey"
        folder.mkdir()
        _people(folder / "people.csv")
        process = subprocess.Popen(
            [*COMMAND, str(folder), "--no-browser"], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        entrance = process.stdout.readline().split()[-1]
        path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=path, args=["--no-sandbox", "--disable-gpu"]
                )
                _walk(browser.new_page(viewport=WIDE), entrance)
                browser.close()
        finally:
            process.terminate()
            process.wait(timeout=30)


def _people(path: Path) -> None:
    import pyarrow.csv

    from pramana.base.randomness import Keystream
    from pramana.experiments.population import make_population

    pyarrow.csv.write_csv(make_population(10_000, keystream=Keystream.from_seed(20)), path)


def _walk(page: Any, entrance: str) -> None:
    address = entrance.split("?")[0].rstrip("/")
    page.goto(entrance)
    page.wait_for_url(f"{address}/")
    page.get_by_role("button", name="people.csv").click()
    _picture(page, "open")
    page.goto(f"{address}/columns")
    _picture(page, "columns")
    page.get_by_role("button", name="Recode region").click()
    _done(page)
    page.get_by_label("Islands").check()
    page.get_by_label("Lakes").check()
    page.get_by_label("Those ticked become").fill("Water")
    page.get_by_label("Those ticked become").scroll_into_view_if_needed()
    _picture(page, "recode")
    page.goto(f"{address}/risk")
    _picture(page, "risk")
    page.goto(f"{address}/choose")
    _done(page)
    for name in METHODS:
        page.locator(f"input[name=method][value={name}]").set_checked(False)
    page.get_by_role("button", name="Compare").click()
    _done(page)
    page.locator("figure").evaluate("(own) => own.scrollIntoView()")
    _picture(page, "choose")
    page.locator("tr.chosen").get_by_role("button").click()
    _done(page)
    page.get_by_label("I have checked the columns that are released unchanged").check()
    page.get_by_role("button", name="Create the release", exact=True).click()
    _done(page)
    page.locator("#done").evaluate("(own) => own.scrollIntoView()")
    _picture(page, "protect")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE)
    page.goto(f"{address}/columns")
    _picture(page, "phone")


def _done(page: Any) -> None:
    page.wait_for_timeout(500)
    while page.locator(".working, .htmx-request").count():
        page.wait_for_timeout(200)
    page.wait_for_timeout(300)


def _picture(page: Any, name: str) -> None:
    _done(page)
    page.screenshot(path=PLACE / f"studio-{name}.png")


if __name__ == "__main__":
    main()
