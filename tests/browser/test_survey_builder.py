"""An office writes a survey in the studio, tries its page, and collects answers, in a browser."""

from __future__ import annotations

import re
import signal
import socket
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from pramana import collect, load
from tests.browser.test_studio import StudioProcess, follow, settled


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[StudioProcess]:
    """A studio on an empty folder."""
    made = StudioProcess(tmp_path)
    yield made
    if made.process.poll() is None:
        made.stop()


def listens(port: int) -> bool:
    """Whether somebody answers there."""
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def violations(page: Any) -> list[str]:
    """What axe-core finds, narrow and wide, light and dark; no page is wider than its window."""
    from axe_playwright_python.sync_playwright import Axe

    found = []
    for width, scheme in ((1280, "light"), (768, "dark"), (390, "dark"), (320, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        found += [f"{one['id']} at {width}" for one in Axe().run(page).response["violations"]]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"wider than {width}")
    page.set_viewport_size({"width": 1280, "height": 900})
    return found


def test_a_survey_from_its_first_question_to_its_first_answer(
    chromium: Any, studio: StudioProcess
) -> None:
    """What is typed is saved and shown in the phone; somebody answers and the office sees it."""
    context = chromium.new_context(bypass_csp=True, viewport={"width": 1280, "height": 900})
    errors: list[str] = []
    context.on("weberror", lambda error: errors.append(str(error.error)))
    page = context.new_page()
    studio.enter(page)
    page.goto(f"{studio.address}/surveys")
    assert violations(page) == []
    follow(page, page.get_by_role("button", name="New survey"))
    phone = page.frame_locator("iframe.phone")
    page.get_by_label("Title").fill("Ways to work")
    page.get_by_label("Office").fill("The office")
    expect(phone.get_by_role("heading", name="Ways to work")).to_be_visible()
    assert page.evaluate("document.activeElement.name") == "office"  # the phone takes no focus
    page.get_by_label("Also in").select_option("German")
    page.wait_for_load_state()
    page.get_by_label("Title (German)").fill("Wege zur Arbeit")
    page.get_by_label("Answer options in German").fill("ja\nnein")
    page.get_by_label("As people read it", exact=True).fill("Are you employed?")
    page.get_by_label("Variable name in the release").fill("employed")
    follow(page, page.get_by_role("button", name="Add a question"))
    page.get_by_label("As people read it", exact=True).last.fill("How do you get there?")
    page.get_by_label("Answer options", exact=True).last.fill("bus\ncar")
    page.get_by_text("Ask only some people").click()
    page.get_by_role("group", name="Are you employed?").get_by_label("yes").check()
    settled(page)
    phone.get_by_role("button", name="Deutsch").click()
    expect(phone.get_by_role("heading", name="Wege zur Arbeit")).to_be_visible()
    phone.get_by_role("button", name="Beginnen").click()
    expect(phone.get_by_label("ja")).to_be_visible()
    phone.get_by_role("button", name="Zurück").click()
    phone.get_by_role("button", name="English").click()
    phone.get_by_role("button", name="Begin").click()
    phone.get_by_label("yes").check()
    phone.get_by_role("button", name="Next").click()
    expect(phone.get_by_label("bus")).to_be_visible()
    assert violations(page) == []
    page.get_by_label("Publish nothing below this number of answers").fill("2")
    follow(page, page.get_by_role("button", name="Make the survey"))
    text = (studio.folder / "survey.toml").read_text()
    assert tomllib.loads(text)["questions"][1]["ask_if"] == {"employed": ["yes"]}
    assert violations(page) == []
    follow(page, page.get_by_role("button", name="Start"))
    address = page.get_by_role("link", name="http://127.0.0.1:").get_attribute("href")
    respondent = context.new_page()
    respondent.goto(address)
    respondent.get_by_role("button", name="Begin").click()
    for answer in ("no", "Does not apply to me"):
        respondent.get_by_label(answer).check()
        respondent.get_by_role("button", name="Next").click()
    respondent.get_by_role("button", name="Send", exact=True).click()
    respondent.get_by_text("Your answers have arrived").wait_for()
    page.get_by_text(re.compile("1 of 1,000 expected")).wait_for(timeout=30_000)
    follow(page, page.get_by_role("button", name="Stop for now"))
    assert violations(page) == []
    context.close()
    assert errors == []


def answer_income(chromium: Any, address: str, job: str, income: float) -> None:
    """A person on another device types a number that is no point; one outside is not taken."""
    page = chromium.new_context(viewport={"width": 390, "height": 800}).new_page()
    page.goto(address)
    expect(page.get_by_text("first rounded by chance")).to_have_count(1)
    page.get_by_role("button", name="Begin").click()
    page.get_by_label(job, exact=True).check()
    page.get_by_role("button", name="Next").click()
    field = page.get_by_label("What do you earn?")
    field.fill("5001")
    page.get_by_role("button", name="Next").click()
    page.get_by_text("Enter a number from 0 to 5000").wait_for()
    field.fill(str(income))
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_text("Your answers have arrived").wait_for()
    page.context.close()


def test_a_survey_with_numbers_gives_their_mean(chromium: Any, studio: StudioProcess) -> None:
    """Built, answered and closed in the studio; the mean of the answers is within its interval.

    Eight people answer in a browser, 392 others by the same integers. The means are within 4.5
    standard errors, which fails by chance once in 100,000 runs.
    """
    page = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(60_000)
    logged: list[str] = []
    page.on("console", lambda line: logged.append(line.text) if line.type == "error" else None)
    studio.enter(page)
    page.goto(f"{studio.address}/surveys")
    follow(page, page.get_by_role("button", name="New survey"))
    page.get_by_label("As people read it", exact=True).fill("Do you work?")
    page.get_by_label("Variable name in the release").fill("job")
    follow(page, page.get_by_role("button", name="Add a question"))
    question = page.locator("#question-1")
    question.get_by_label("As people read it", exact=True).fill("What do you earn?")
    question.get_by_label("Variable name in the release").fill("income")
    with page.expect_navigation():
        question.get_by_label("How people answer").select_option("points")
    settled(page)
    expect(question.get_by_label("Points to round to")).to_have_value("0, 1000, 2000, 5000")
    expect(question.get_by_label("People may prefer not to say")).to_have_count(0)
    expect(page.locator("#preview .warning")).to_have_count(0)
    page.get_by_label("Answers expected").fill("400")
    page.get_by_label("Publish nothing below this number of answers").fill("200")
    page.get_by_label("Value of the guarantee").fill("10")
    page.get_by_label("Value of the guarantee").press("Tab")
    settled(page)
    page.get_by_text(re.compile("If 400 people answer, as expected: k = 10")).wait_for()
    follow(page, page.get_by_role("button", name="Make the survey"))
    follow(page, page.get_by_role("button", name="Start"))
    address = page.get_by_role("link", name="http://127.0.0.1:").get_attribute("href")
    answers = [(("yes", "no")[at % 2], 200.0 + 11 * at) for at in range(400)]
    for job, income in answers[:8]:
        answer_income(chromium, address, job, income)
    definition, _ = collect.load_survey(studio.folder / "survey")
    widths = definition.channel.widths
    sent = [
        collect.respond(definition, {"job": job, "income": income}).spelled(widths=widths)
        for job, income in answers[8:]
    ]
    with collect.answers(studio.folder / "survey") as store:
        store.accept([collect.Sent(text, f"{at:064x}") for at, text in enumerate(sent)])
    page.get_by_text("400 of 400 expected have answered").wait_for()
    page.get_by_text(re.compile(r"Mean [\d,]+, 95 % interval [\d,]+ to [\d,]+")).wait_for()
    page.get_by_text("Close the survey").click()
    page.get_by_label("No more answers are wanted").check()
    follow(page, page.get_by_role("button", name="Close and publish"))
    follow(page, page.get_by_role("link", name="Continue: make a table"))
    page.get_by_label("Rows", exact=True).select_option("job")
    page.get_by_label("Numbers", exact=True).select_option("mean")
    page.get_by_label("of", exact=True).select_option("income")
    follow(page, page.get_by_role("button", name="Show the table"))
    release = load(studio.folder / "survey-release")
    assert release.verify().valid
    means = release.mean("income", by=["job"])
    for job in ("yes", "no"):
        cell = means[job]
        figures = (f"{round(cell[name]):,}" for name in ("estimate", "low", "high"))
        shown = page.get_by_role("row", name=re.compile(f"^{job} "))
        expect(shown).to_contain_text("{}{} to {}".format(*figures))
        answered = [income for given, income in answers if given == job]
        assert abs(cell["estimate"] - sum(answered) / 200) < 4.5 * cell["se"]
    page.goto(f"{studio.address}/model?outcome=income&x=job")
    settled(page)
    page.get_by_role("row", name=re.compile(r"Do you work\? \(job\): no")).wait_for()
    page.goto(f"{studio.address}/model?formula=nothing+~+job&family=linear")
    settled(page)
    page.locator("main .warning").wait_for()
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    assert logged == []
    page.context.close()


def test_a_killed_studio_collects_no_more(chromium: Any, studio: StudioProcess) -> None:
    """The process that serves a survey ends with the studio, however that ends."""
    page = chromium.new_page()
    studio.enter(page)
    page.goto(f"{studio.address}/surveys")
    follow(page, page.get_by_role("button", name="New survey"))
    follow(page, page.get_by_role("button", name="Make the survey"))
    follow(page, page.get_by_role("button", name="Start"))
    address = page.get_by_role("link", name="http://127.0.0.1:").get_attribute("href")
    port = int(address.rstrip("/").rpartition(":")[2])
    assert listens(port)
    studio.stop(signal.SIGKILL)
    ended = time.monotonic() + 60
    while listens(port) and time.monotonic() < ended:
        time.sleep(0.1)
    assert not listens(port)
    page.close()
