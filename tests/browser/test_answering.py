"""People answer a survey: by mouse and by keyboard, offline, in two tabs, again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Survey, serving
from tests.collect.conftest import survey_text

ANSWERS = {"How old are you?": "25", "What is your sex?": "Female", "Are you employed?": "yes",
           "How do you get to work?": "car"}  # fmt: skip


def begin(page: Any, survey: Survey) -> None:
    page.goto(survey.address)
    page.get_by_role("button", name="Begin").click()


def answer_all(page: Any) -> None:
    """Answer whatever is asked, until what will be sent is shown."""
    while not page.get_by_role("button", name="Send", exact=True).count():
        question = page.locator("legend, .ask").first.inner_text()
        if page.locator("input[type=number]").count():
            page.fill("input[type=number]", ANSWERS[question])
        else:
            page.get_by_label(ANSWERS[question], exact=True).check()
        page.get_by_role("button", name="Next").click()


def watched(page: Any) -> list[Any]:
    """All requests that the page makes from now on."""
    requests: list[Any] = []
    page.on("request", lambda request: requests.append(request))
    return requests


def send(page: Any) -> None:
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_text("Thank you").wait_for()


def test_an_answer_arrives_as_it_was_shown(page: Any, served: Survey) -> None:
    """What stands on the page before it is sent is what is kept, and nothing else."""
    begin(page, served)
    answer_all(page)
    shown = page.locator("code").inner_text()
    assert served.records() == []
    send(page)
    assert served.records() == [shown]


def test_nothing_of_the_truth_is_kept_or_sent(page: Any, served_whole: Survey) -> None:
    """No request but the page and the record; the device keeps what chance made of it."""
    requests = watched(page)
    begin(page, served_whole)
    answer_all(page)
    record = page.locator("code").inner_text()
    send(page)
    addresses = [one.url.removeprefix(served_whole.address) for one in requests]
    assert addresses == ["", "answer"]
    sent = json.loads(requests[1].post_data)
    assert set(sent) == {"survey", "record", "token", "work"}
    assert sent["record"] == record
    kept = page.evaluate("Object.entries(localStorage)")
    names = {name.split(".")[-1]: value for name, value in kept}
    assert set(names) == {"set", "record", "token", "done"}
    assert names["record"] == record
    assert page.evaluate("document.cookie + JSON.stringify(sessionStorage)") == "{}"
    assert page.url == served_whole.address


def test_a_proxy_sees_the_same_request_whatever_was_answered(
    chromium: Any, served_whole: Survey
) -> None:
    """Whole requests for all answers to a question: alike but for record and token, and as long."""
    seen = set()
    for way in ("on foot", "bicycle", "car"):
        context = chromium.new_context()
        page = context.new_page()
        requests = watched(page)
        begin(page, served_whole)
        before = ANSWERS["How do you get to work?"]
        ANSWERS["How do you get to work?"] = way
        answer_all(page)
        ANSWERS["How do you get to work?"] = before
        send(page)
        request = requests[-1]
        body = json.loads(request.post_data)
        blank = {name: len(value) for name, value in body.items()}
        headers = tuple(sorted(request.all_headers().items()))
        seen.add((request.method, request.url, headers, json.dumps(blank), len(request.post_data)))
        context.close()
    assert len(seen) == 1


def test_a_survey_is_answered_by_the_keyboard_alone(page: Any, served_whole: Survey) -> None:
    """Tab, arrows, space and Enter; the focus is where a reader expects it."""
    page.goto(served_whole.address)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Begin"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("25")
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        page.keyboard.press("Enter")
    page.get_by_role("button", name="Send", exact=True).wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("Thank you").wait_for()
    assert len(served_whole.records()) == 1


def test_who_answers_again_sends_nothing_new(context: Any, served: Survey) -> None:
    """Another visit, another tab: the device remembers, and one record is kept."""
    first, second = context.new_page(), context.new_page()
    begin(first, served)
    begin(second, served)
    answer_all(first)
    shown = first.locator("code").inner_text()
    send(first)
    second.reload()
    second.get_by_text("You have answered before").wait_for()
    first.goto(served.address)
    first.get_by_text("You have answered before").wait_for()
    assert served.records() == [shown]


def test_chance_decides_once(context: Any, served: Survey) -> None:
    """Neither a reload nor the way back draws anew, or people would choose what is sent."""
    page = context.new_page()
    begin(page, served)
    asked = page.locator("legend, .ask").first.inner_text()
    for _ in range(3):
        page.reload()
        page.get_by_role("button", name="Begin").click()
        assert page.locator("legend, .ask").first.inner_text() == asked
    answer_all(page)
    shown = page.locator("code").inner_text()
    for _ in range(3):
        page.reload()
        assert page.locator("code").inner_text() == shown
    page.goto("about:blank")
    page.go_back()
    assert page.locator("code").inner_text() == shown
    send(page)
    assert served.records() == [shown]


def test_an_answer_given_offline_is_sent_later(
    context: Any, served_whole: Survey, tmp_path: Path
) -> None:
    """Without a connection it says so; saved as a file, it is taken once the connection is back."""
    page = context.new_page()
    begin(page, served_whole)
    answer_all(page)
    shown = page.locator("code").inner_text()
    context.set_offline(True)
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_text("There is no connection").wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save it as a file").click()
    saved = tmp_path / "answer.json"
    waiting.value.save_as(saved)
    context.set_offline(False)
    other = context.browser.new_context().new_page()
    other.goto(served_whole.address)
    other.get_by_text("I have saved an answer").click()
    other.set_input_files("input[type=file]", saved)
    other.get_by_text("Thank you").wait_for()
    assert served_whole.records() == [shown]
    send(page)  # the same answer once more counts once
    assert served_whole.records() == [shown]


def test_the_page_works_from_a_file(page: Any, served_whole: Survey) -> None:
    """It is one file: opened from the disk it asks, draws and shows what would be sent."""
    page.goto((served_whole.folder / "survey.html").as_uri())
    page.get_by_role("button", name="Begin").click()
    answer_all(page)
    record = page.locator("code").inner_text()
    served_whole.definition.channel.read(record)


def test_a_question_that_does_not_apply_is_passed_over(page: Any, served_whole: Survey) -> None:
    """Who is not employed is not asked how they get to work, and may go back and say otherwise."""
    begin(page, served_whole)
    page.fill("input[type=number]", "70")
    page.get_by_role("button", name="Next").click()
    page.get_by_label("I prefer not to say").check()
    page.get_by_role("button", name="Next").click()
    page.get_by_label("no", exact=True).check()
    page.get_by_role("button", name="Next").click()
    row = page.locator("tr", has_text="How do you get to work?")
    assert row.locator("td").first.inner_text() == "Does not apply to me"


@pytest.mark.parametrize("typed", ["", "-1", "121", "abc"])
def test_a_number_outside_is_asked_for_again(page: Any, served_whole: Survey, typed: str) -> None:
    """What is expected is said beside the field."""
    begin(page, served_whole)
    page.locator("input[type=number]").press_sequentially(typed)
    page.get_by_role("button", name="Next").click()
    page.get_by_text("Enter a number from 0 to 120").wait_for()


def test_codes_let_a_person_answer_once(context: Any, tmp_path: Path) -> None:
    """An unknown code is refused, a known one counts once, whatever the device."""
    from pramana.collect.folder import opened_store

    for survey in serving(tmp_path, survey_text("retention", extra="codes = true\n")):
        with opened_store(survey.folder, survey.definition) as store:
            store.invite(["AAAAA-BBBBB"])
        outcomes = []
        for code in ("WRONG", "AAAAA-BBBBB", "AAAAA-BBBBB"):
            page = context.browser.new_context().new_page()
            page.goto(survey.address)
            page.get_by_label("Your invitation code").fill(code)
            page.get_by_role("button", name="Begin").click()
            answer_all(page)
            page.get_by_role("button", name="Send", exact=True).click()
            said = page.get_by_text("Thank you").or_(page.get_by_text("not known here"))
            said.wait_for()
            outcomes.append(said.inner_text())
        assert "not known here" in outcomes[0]
        assert outcomes[1:] == ["Thank you", "Thank you"]
        assert len(survey.records()) == 1


LONG = "Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft" * 2
HOSTILE = "</script><img src=x onerror=alert(1)>&amp;{{title}}"


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_barrier(chromium: Any, tmp_path: Path, width: int, scheme: str) -> None:
    """axe-core finds nothing on any page, right to left, with long and hostile labels."""
    from axe_playwright_python.sync_playwright import Axe

    text = survey_text("retention", extra='direction = "rtl"\nlanguage = "he"\n')
    text = (
        text.replace("How we live", LONG).replace("Female", HOSTILE).replace('"bus"', f'"{LONG}"')
    )
    context = chromium.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    errors: list[Any] = []
    page.on("dialog", lambda dialog: errors.append(dialog))
    ANSWERS["What is your sex?"], before = HOSTILE, ANSWERS["What is your sex?"]
    for survey in serving(tmp_path, text):
        page.goto(survey.address)
        found = [Axe().run(page)]
        page.get_by_role("button", name="Begin").click()
        while not page.get_by_role("button", name="Send", exact=True).count():
            found.append(Axe().run(page))
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            question = page.locator("legend, .ask").first.inner_text()
            if page.locator("input[type=number]").count():
                page.fill("input[type=number]", "25")
            else:
                page.get_by_label(ANSWERS[question], exact=True).check()
            page.get_by_role("button", name="Next").click()
        found.append(Axe().run(page))
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_text("Thank you").wait_for()
        found.append(Axe().run(page))
    ANSWERS["What is your sex?"] = before
    context.close()
    assert [one.response["violations"] for one in found] == [[]] * len(found)
    assert not errors
