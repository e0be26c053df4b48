"""An office watches a survey in the studio, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pramana import collect
from tests.browser.test_studio import StudioProcess
from tests.collect.conftest import survey_text
from tests.collect.test_closing import answered

LONG = "Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamten" * 2


WIDTHS = """[...document.querySelectorAll(".range")].every((own) => {
    const wide = own.getBoundingClientRect().width, at = (name) => Number(own.dataset[name]) / 100;
    const part = (which) => parseFloat(getComputedStyle(own, which).width);
    const line = Math.max(wide * (at("high") - at("low")), 2);
    const bar = wide * at("share");
    return Math.abs(part("::before") - bar) < 1 && Math.abs(part("::after") - line) < 3;
}) && document.querySelectorAll(".range").length > 3"""
"""Whether bars and lines are as long as the numbers say."""


def test_the_figures_follow_the_answers_and_have_no_barrier(chromium: Any, tmp_path: Path) -> None:
    """Without being loaded anew; axe-core finds nothing, narrow and wide, light and dark."""
    from axe_playwright_python.sync_playwright import Axe

    source = tmp_path / "survey.toml"
    source.write_text(survey_text("retention").replace("How we live", LONG).replace("Female", LONG))
    definition, _ = collect.new_survey(source, tmp_path / "survey")
    answered(tmp_path / "survey", definition, 100)
    studio = StudioProcess(tmp_path)
    context = chromium.new_context(bypass_csp=True)
    page = context.new_page()
    try:
        studio.enter(page)
        page.goto(f"{studio.address}/surveys")
        page.get_by_role("link", name=LONG).click()
        page.get_by_text("100 of 5,000 expected have answered").wait_for()
        page.wait_for_function(WIDTHS)  # a moment after the figures
        found = []
        for width, scheme in ((1280, "light"), (320, "dark")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            found += [one["id"] for one in Axe().run(page).response["violations"]]
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert found == []
        answered(tmp_path / "survey", definition, 130)
        page.get_by_text("130 of 5,000 expected have answered").wait_for(timeout=30_000)
    finally:
        context.close()
        studio.stop()
