"""People answer a survey: by mouse and by keyboard, offline, in two tabs, again."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Survey, serving
from tests.collect.conftest import small_survey, survey_text

ANSWERS = {"How old are you?": "25", "What is your sex?": "Female", "Are you employed?": "yes",
           "How do you get to work?": "car"}  # fmt: skip


def begin(page: Any, survey: Survey) -> None:
    page.bring_to_front()
    page.goto(survey.address)
    page.get_by_role("button", name="Begin").click()
    reach(page, 1)


def reach(page: Any, number: int) -> None:
    """Wait until a question is on the page: chance is asked for the first one."""
    page.locator(".progress", has_text=f"Question {number} of").wait_for()


def go_on(page: Any) -> None:
    page.get_by_role("button", name="Next").click()


def fill_in(page: Any, number: int) -> bool:
    """Answer this question; whether it is the last one."""
    reach(page, number)
    _, at, _, of = page.locator(".progress").inner_text().split()
    question = page.locator("legend, .ask").first.inner_text()
    if page.locator("input[type=number]").count():
        page.fill("input[type=number]", ANSWERS[question])
    elif page.locator("input[type=radio]").count() > 1:
        page.get_by_label(ANSWERS[question], exact=True).check()
    return bool(at == of)


def answer_all(page: Any, *, but_the_last: bool = False) -> int:
    """Answer whatever is asked, until what will be sent is shown; in how many steps."""
    page.bring_to_front()  # what lies behind is drawn once a second
    for steps in itertools.count(1):
        last = fill_in(page, steps)
        if last and but_the_last:
            return steps
        go_on(page)
        if last:
            page.get_by_role("button", name="Send", exact=True).wait_for()
            return steps
    return 0


def watched(page: Any) -> list[Any]:
    """All requests that the page makes from now on."""
    requests: list[Any] = []
    page.on("request", lambda request: requests.append(request))
    return requests


def send(page: Any) -> None:
    page.bring_to_front()
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_text("Thank you").wait_for()


def drawn(page: Any) -> str:
    """The record that waits on the device to be sent."""
    kept = dict(page.evaluate("Object.entries(localStorage)"))
    return next((str(own) for name, own in kept.items() if name.endswith(".record")), "")


KEEP = "void (crypto.getRandomValues = (own) => own.fill(255))"
"""Chance that keeps every real answer: the largest word is above every weight."""


def test_an_answer_arrives_as_it_was_drawn(page: Any, served: Survey) -> None:
    """What was drawn is what is kept; nobody sees it before it is sent."""
    begin(page, served)
    steps = answer_all(page)
    shown = drawn(page)
    assert shown not in page.locator("body").inner_text()
    assert page.locator("td, code").count() == 0
    assert served.records() == []
    asked = served.definition.channel.asked[int(shown.split(".")[0])]
    assert steps == len(asked.columns)  # the questions that chance has picked, and no others
    assert (steps < 4) == served.definition.channel.reports
    send(page)
    assert served.records() == [shown]


@pytest.mark.parametrize("when", ["at once", "after the last question"])
def test_who_declines_sends_and_leaves_nothing(page: Any, served: Survey, when: str) -> None:
    """Before the first question or after the last; the next visit begins anew."""
    requests = watched(page)
    page.goto(served.address)
    if when != "at once":
        page.get_by_role("button", name="Begin").click()
        answer_all(page)
        assert drawn(page)
    page.get_by_role("button", name="I do not take part").click()
    page.get_by_text("Nothing was sent").wait_for()
    assert [one.url.removeprefix(served.address) for one in requests] == [""]
    assert drawn(page) == ""
    base = dict(page.evaluate(DATABASES))
    assert {name.split(".")[-1] for name in base} <= {"set"}
    page.reload()
    page.get_by_role("button", name="Begin").wait_for()
    assert served.records() == []


def test_nothing_of_the_truth_is_kept_or_sent(page: Any, served_whole: Survey) -> None:
    """No request but the page and the record; the device keeps only that it has answered."""
    requests = watched(page)
    begin(page, served_whole)
    answer_all(page)
    record = drawn(page)
    send(page)
    addresses = [one.url.removeprefix(served_whole.address) for one in requests]
    assert addresses == ["", "answer"]
    sent = json.loads(requests[1].post_data)
    assert set(sent) == {"survey", "record", "token", "work"}
    assert sent["record"] == record
    kept = page.evaluate("Object.entries(localStorage)")
    names = {name.split(".")[-1]: value for name, value in kept}
    assert set(names) == {"set", "done"}
    base = dict(page.evaluate(DATABASES))
    assert {name.split(".")[-1] for name in base} == {"set", "drawn"}
    assert set(base.values()) == {names["set"], json.dumps(["", ""])}
    assert page.evaluate("document.cookie + JSON.stringify(sessionStorage)") == "{}"
    assert page.url == served_whole.address


DATABASES = """async () => {
  const found = [];
  for (const { name } of await indexedDB.databases()) {
    const base = await new Promise((done) => { const one = indexedDB.open(name); one.onsuccess = () => done(one.result); });
    for (const place of base.objectStoreNames) {
      const store = base.transaction(place).objectStore(place);
      const all = (what) => new Promise((done) => { const one = store[what](); one.onsuccess = () => done(one.result); });
      const [keys, values] = [await all("getAllKeys"), await all("getAll")];
      found.push(...keys.map((key, at) => [key, values[at].replaceAll(",", ", ")]));
    }
  }
  return found;
}"""  # noqa: E501
"""All that is in any database of this page."""


class Proxy(threading.Thread):
    """Between page and collector: every byte that passes to the collector, by connection."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}/"
        self.seen: list[bytearray] = []
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def run(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._port))
            own = bytearray()
            self.seen.append(own)
            self._ends += [client, server]
            for way in ((client, server, own), (server, client, None)):
                thread = threading.Thread(target=_pass, args=way, daemon=True)
                thread.start()
                self._threads.append(thread)

    def close(self) -> None:
        for own in (self._socket, *self._ends):
            with contextlib.suppress(OSError):
                own.shutdown(socket.SHUT_RDWR)
        for thread in (self, *self._threads):
            thread.join(timeout=10)
        for own in (self._socket, *self._ends):
            own.close()


def _pass(source: socket.socket, sink: socket.socket, kept: bytearray | None) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            if kept is not None:
                kept += part
            sink.sendall(part)
        sink.shutdown(socket.SHUT_WR)


def test_a_proxy_sees_the_same_bytes_whatever_was_answered(chromium: Any, served: Survey) -> None:
    """All that leaves for every answer to all questions: alike but for record and token.

    The bytes themselves, on as many connections, in as many requests, of the same length, after as
    many steps as the set that chance asks for has questions; also if one of them does not apply.
    Between the page and what somebody sends nothing leaves, however it was answered.
    """
    proxy = Proxy(served.port)
    proxy.start()
    seen, channel = set(), served.definition.channel
    before = dict(ANSWERS)
    for question, answer in (
        ("How do you get to work?", "on foot"), ("How do you get to work?", "bicycle"),
        ("How do you get to work?", "bus"), ("How do you get to work?", "car"),
        ("Are you employed?", "no"),
        ("What is your sex?", "Male"), ("What is your sex?", "I prefer not to say"),
        ("How old are you?", "0"), ("How old are you?", "120"),
    ):  # fmt: skip
        ANSWERS.update(before | {question: answer})
        context = chromium.new_context()
        page = context.new_page()
        page.goto(proxy.address)
        page.get_by_role("button", name="Begin").click()
        steps = answer_all(page)
        assert b"".join(proxy.seen).count(b" HTTP/1.1\r\n") == 1
        send(page)
        context.close()
        passed = bytes(b"".join(proxy.seen))
        proxy.seen.clear()
        at = passed.rindex(b"{")  # in the head a record may stand as well: 0.0.0.0 of a version
        head, sent = passed[:at], passed[at:]
        assert steps == len(channel.asked[channel.read(json.loads(sent)["record"]).asked].columns)
        for own in ("record", "token"):
            value = json.loads(sent)[own]
            sent = sent.replace(value.encode(), b"?" * len(value))
        seen.add(head.replace(proxy.address.encode(), b"") + sent)
    ANSWERS.update(before)
    proxy.close()
    assert len(seen) == 1
    assert seen.pop().count(b" HTTP/1.1\r\n") == 2


def test_a_survey_is_answered_by_the_keyboard_alone(page: Any, served_whole: Survey) -> None:
    """Tab, arrows, space and Enter; the focus is where a reader expects it."""
    page.goto(served_whole.address)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Begin")).to_be_focused()
    page.keyboard.press("Enter")
    for number in range(1, 5):
        reach(page, number)
        page.keyboard.press("Tab")
        if number == 1:
            page.keyboard.type("25")
        else:
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
    shown = drawn(first)
    send(first)
    second.reload()
    second.get_by_text("You have answered before").wait_for()
    first.goto(served.address)
    first.get_by_text("You have answered before").wait_for()
    assert served.records() == [shown]


def test_two_tabs_that_answer_at_once_send_one_record(context: Any, served: Survey) -> None:
    """Both are at the last question: whichever draws first has drawn for both."""
    first, second = context.new_page(), context.new_page()
    begin(first, served)
    begin(second, served)
    answer_all(first)
    answer_all(second)
    shown = drawn(first)
    assert drawn(second) == shown
    send(second)
    send(first)
    assert served.records() == [shown]


CLICK_AT = """(when) => {
  const next = document.querySelector("button[type=submit]");
  setTimeout(() => { while (Date.now() < when); next.click(); }, when - Date.now() - 50);
}"""


SLOWLY = """
const open = IDBFactory.prototype.open;
let opened = 0;
IDBFactory.prototype.open = function (...given) {
  const made = open.apply(this, given);
  const wait = opened++ ? 4000 : 0;
  Object.defineProperty(made, "onsuccess", {
    set(told) { made.addEventListener("success", () => setTimeout(told, wait)); },
  });
  return made;
};"""
"""A device whose storage takes four seconds to open when an answer is drawn."""


def test_two_tabs_that_draw_in_the_same_moment_draw_once(
    chromium: Any, served_whole: Survey
) -> None:
    """Within the same millisecond, before either can hear of the other: one record leaves."""
    expected = []
    for slow in (False, True):
        context = chromium.new_context()
        if slow:
            context.add_init_script(SLOWLY)
        tabs = [context.new_page() for _ in range(2)]
        for tab in tabs:
            begin(tab, served_whole)
            answer_all(tab, but_the_last=True)
        when = tabs[0].evaluate("Date.now()") + 300
        for tab in tabs:
            tab.evaluate(CLICK_AT, when)
        for tab in tabs:
            tab.get_by_role("button", name="Send", exact=True).wait_for()
        shown = [drawn(tab) for tab in tabs]
        assert shown[0] == shown[1]
        for tab in tabs:
            send(tab)
        expected.append(shown[0])
        context.close()
        assert sorted(served_whole.records()) == sorted(expected)


def test_a_device_that_may_keep_nothing_answers_all_the_same(
    context: Any, served_whole: Survey
) -> None:
    """Storage that is forbidden: the page remembers for as long as it is open."""
    page = context.new_page()
    page.add_init_script(
        "for (const name of ['localStorage', 'indexedDB'])"
        "  Object.defineProperty(window, name, { get() { throw new Error('forbidden'); } })"
    )
    begin(page, served_whole)
    answer_all(page)
    send(page)
    assert len(served_whole.records()) == 1


def test_a_browser_is_told_to_remember_nothing_that_is_typed(
    page: Any, served_whole: Survey
) -> None:
    """Every form and every field: neither suggestions nor a restored session hold an answer."""
    begin(page, served_whole)
    fields = "[...document.querySelectorAll('form, input, select')].map((f) => f.autocomplete)"
    for number in range(1, 5):
        reach(page, number)
        assert set(page.evaluate(fields)) == {"off"}
        fill_in(page, number)
        go_on(page)
    page.get_by_role("button", name="Send", exact=True).wait_for()
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    assert page.locator("#main").inner_text() == ""


def test_work_that_the_page_does_is_taken(context: Any, tmp_path: Path) -> None:
    """Against floods: page and collector agree on what was asked for."""
    for survey in serving(tmp_path, survey_text("retention", extra="work = 6\n")):
        page = context.new_page()
        begin(page, survey)
        answer_all(page)
        send(page)
        assert len(survey.records()) == 1


def test_a_survey_that_is_closed_says_so(context: Any, served_whole: Survey) -> None:
    """Who was about to send is told, and nothing is kept."""
    from pramana.collect.survey_folder import opened_store

    page = context.new_page()
    begin(page, served_whole)
    answer_all(page)
    with opened_store(served_whole.folder, served_whole.definition) as store:
        store.finish()
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_text("The survey is closed").wait_for()
    assert served_whole.records() == []


def test_the_page_for_trying_out_sends_and_keeps_nothing(
    page: Any, looked_at_whole: Survey
) -> None:
    """It says what it is, and does everything else as the real one."""
    page.goto((looked_at_whole.folder / "trial.html").as_uri())
    requests = watched(page)
    page.get_by_text("for trying out").wait_for()
    page.get_by_role("button", name="Begin").click()
    answer_all(page)
    send(page)
    assert requests == []
    assert page.evaluate("localStorage.length") == 0
    assert page.evaluate(DATABASES) == []


MONTHS = """title = "t"
expected = 1000
k = 5
method = "attribute-sampling"
[[questions]]
name = "moved"
text = "When did you move here?"
months = ["2024-11", "2026-02"]
optional = true
[[questions]]
name = "rooms"
text = "How many rooms?"
bins = [1, 2, 4, 9]
optional = true
[[questions]]
name = "pets"
text = "Do you have pets?"
answers = ["yes", "no"]
"""


def test_months_are_chosen_from_a_list_and_numbers_fall_into_bins(
    chromium: Any, tmp_path: Path
) -> None:
    """Whichever set chance asks for; what was said stands beside what is sent; no barrier."""
    from axe_playwright_python.sync_playwright import Axe

    said, found = {}, []
    for survey in serving(tmp_path, MONTHS):
        while not {"moved", "rooms"} <= set(said):
            context = chromium.new_context(bypass_csp=True)
            page = context.new_page()
            begin(page, survey)
            page.evaluate(KEEP)
            last = False
            for number in itertools.count(1):
                if last:
                    break
                reach(page, number)
                _, at, _, of = page.locator(".progress").inner_text().split()
                last = at == of
                if page.locator("select").count():
                    labels = page.locator("option").all_inner_texts()
                    assert labels[1:3] == ["2024-11", "2024-12"]
                    assert labels[-2:] == ["2026-02", "I prefer not to say"]
                    page.get_by_label("When did you move here?").select_option("2025-01")
                elif page.locator("input[type=number]").count():
                    page.get_by_label("I prefer not to say").check()
                    page.get_by_label("How many rooms?").fill("4")  # instead
                else:
                    page.get_by_label("no", exact=True).check()
                found += Axe().run(page).response["violations"]
                go_on(page)
            page.get_by_role("button", name="Send", exact=True).wait_for()
            channel = survey.definition.channel
            said |= channel.values(channel.read(drawn(page)))
            send(page)
            context.close()
        assert all(survey.definition.channel.read(own) for own in survey.records())
    assert said["moved"] == "2025-01"
    assert said["rooms"] == "[4, 9]"
    assert found == []


NESTED = small_survey(
    ("a", ["constructor", "begin"], ""),
    ("b", ["yes", "no"], 'ask_if = { a = ["constructor"] }'),
    ("c", ["yes", "no"], 'ask_if = { b = ["yes"] }'),
    head='expected = 1000\nk = 5\nmethod = "attribute-sampling"',
)


def test_no_answers_can_be_given_that_exclude_each_other(context: Any, tmp_path: Path) -> None:
    """Questions in a chain do not apply together; and answers read as they are written."""
    for survey in serving(tmp_path, NESTED):
        page = context.new_page()
        begin(page, survey)
        page.evaluate(KEEP)
        expect(page.locator("label.answer")).to_have_text(["constructor", "begin"])
        page.get_by_label("begin", exact=True).check()
        for number in (2, 3):
            go_on(page)
            reach(page, number)
            expect(page.locator("label.answer")).to_have_text(["Does not apply to me"])
        go_on(page)
        page.get_by_role("button", name="Send", exact=True).wait_for()
        channel = survey.definition.channel
        assert channel.values(channel.read(drawn(page)))["c"] == "does not apply"


def test_chance_decides_once(context: Any, served: Survey) -> None:
    """Neither a reload nor the way back draws anew, or people would choose what is sent."""
    page = context.new_page()
    begin(page, served)
    asked = page.locator("legend, .ask").first.inner_text()
    for _ in range(3):
        page.reload()
        page.get_by_role("button", name="Begin").click()
        reach(page, 1)
        assert page.locator("legend, .ask").first.inner_text() == asked
    answer_all(page)
    shown = drawn(page)
    for _ in range(3):
        page.reload()
        assert drawn(page) == shown
    page.goto("about:blank")
    page.go_back()
    assert drawn(page) == shown
    send(page)
    assert served.records() == [shown]


def test_an_answer_given_offline_is_sent_later(
    context: Any, served_whole: Survey, tmp_path: Path
) -> None:
    """Without a connection it says so; saved as a file, it is taken once the connection is back.

    The device that sends the file has answered by that, and may send further files.
    """
    page = context.new_page()
    begin(page, served_whole)
    answer_all(page)
    shown = drawn(page)
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
    other.reload()
    other.get_by_text("You have answered before").wait_for()
    changed = json.loads(saved.read_text()) | {"token": "e" * 64}
    saved.write_text(json.dumps(changed))
    other.get_by_text("I have saved an answer").click()
    other.set_input_files("input[type=file]", saved)
    other.get_by_text("have arrived").wait_for()
    assert served_whole.records() == [shown] * 2


@pytest.mark.parametrize("codes", [False, True])
def test_no_file_leaves_but_an_answer_that_the_page_saved(
    context: Any, tmp_path: Path, codes: bool
) -> None:
    """A diary, a picture, an answer to another survey or with one word more: nothing is sent."""
    extra = f"codes = {str(codes).lower()}\n"
    for survey in serving(tmp_path, survey_text("retention", extra=extra)):
        channel = survey.definition.channel
        token = "AAAAA" if codes else "e" * 64
        record = ".".join("0" * width for width in channel.widths)
        good = {"survey": survey.definition.key, "record": record, "token": token, "work": ""}
        high = ".".join("9" * width for width in channel.widths)
        bad = [
            good | {"diary": "learn"},
            {name: own for name, own in good.items() if name != "work"},
            good | {"survey": "0" * 64},
            good | {"token": "My diary of today" if codes else "E" * 64},
            good | {"work": "learn"},
            good | {"work": 1},
            *(good | {"record": own} for own in (high, f"{record} ", f"{record}.0", "learn", [])),
            [good],
            "learn",
            None,
        ]
        texts = [json.dumps(own).encode() for own in bad]
        texts += [
            b"My diary of today.",
            b"",
            bytes(range(256)),
            json.dumps(good).encode() + b" " * 4096,
        ]
        page = context.new_page()
        page.goto(survey.address)
        page.get_by_text("I have saved an answer").click()
        requests = watched(page)
        for text in texts:
            page.locator("[role=alert]").evaluate("(own) => { own.textContent = ''; }")
            page.set_input_files("#upload", {"name": "a.json", "mimeType": "application/json",
                                             "buffer": text})  # fmt: skip
            page.get_by_text("Nothing of it was sent").wait_for()
        assert requests == []
        page.set_input_files("#upload", {"name": "a.json", "mimeType": "application/json",
                                         "buffer": json.dumps(good).encode()})  # fmt: skip
        page.get_by_text("not known here" if codes else "have arrived").wait_for()
        assert len(survey.records()) == (0 if codes else 1)


def test_the_page_works_from_a_file(page: Any, looked_at_whole: Survey) -> None:
    """It is one file: opened from the disk it asks, draws and shows what would be sent."""
    page.goto((looked_at_whole.folder / "survey.html").as_uri())
    page.get_by_role("button", name="Begin").click()
    answer_all(page)
    record = drawn(page)
    looked_at_whole.definition.channel.read(record)


def test_a_question_that_does_not_apply_is_shown_as_answered(
    page: Any, looked_at_whole: Survey
) -> None:
    """Who is not employed goes on, in as many steps; and may go back and say otherwise."""
    begin(page, looked_at_whole)
    page.evaluate(KEEP)
    page.fill("input[type=number]", "70")
    go_on(page)
    reach(page, 2)
    page.get_by_label("I prefer not to say").check()
    go_on(page)
    ways = ["on foot", "bicycle", "bus", "car"]
    for employed in ("no", "yes", "no"):
        reach(page, 3)
        page.get_by_label(employed, exact=True).check()
        go_on(page)
        reach(page, 4)
        expected = ["Does not apply to me"] if employed == "no" else ways
        expect(page.locator("label.answer")).to_have_text(expected)
        expect(page.locator("input:checked")).to_have_count(int(employed == "no"))
        page.get_by_role("button", name="Back").click()
    reach(page, 3)
    go_on(page)
    reach(page, 4)
    go_on(page)
    page.get_by_role("button", name="Send", exact=True).wait_for()
    channel = looked_at_whole.definition.channel
    assert channel.values(channel.read(drawn(page)))["travel"] == "does not apply"


@pytest.mark.parametrize("typed", ["", "-1", "121", "abc"])
def test_a_number_outside_is_asked_for_again(
    page: Any, looked_at_whole: Survey, typed: str
) -> None:
    """What is expected is said beside the field."""
    begin(page, looked_at_whole)
    page.locator("input[type=number]").press_sequentially(typed)
    page.get_by_role("button", name="Next").click()
    page.get_by_text("Enter a number from 0 to 120").wait_for()


def test_codes_let_a_person_answer_once(context: Any, tmp_path: Path) -> None:
    """An unknown code is refused, a known one counts once, whatever the device."""
    from pramana.collect.survey_folder import opened_store

    for survey in serving(tmp_path, survey_text("retention", extra="codes = true\n")):
        with opened_store(survey.folder, survey.definition) as store:
            store.invite(["AAAAA-BBBBB"])
        page = context.browser.new_context().new_page()
        entered(page, survey, "WRONG")
        page.get_by_text("not known here").wait_for()
        entered(page, survey, "aaaaa bbbbb")
        answer_all(page)
        send(page)
        other = context.browser.new_context().new_page()
        requests = watched(other)
        entered(other, survey, "AAAAA-BBBBB")
        other.get_by_text("This code has answered before").wait_for()
        assert [one.url.removeprefix(survey.address) for one in requests] == ["", "code"]
        assert len(survey.records()) == 1


def test_a_code_used_elsewhere_meanwhile_sends_no_second_record(
    context: Any, tmp_path: Path
) -> None:
    """Whoever could not be asked when they began is asked before anything leaves; so is a file."""
    from pramana.collect.survey_folder import opened_store

    for survey in serving(tmp_path, survey_text("retention", extra="codes = true\n")):
        with opened_store(survey.folder, survey.definition) as store:
            store.invite(["AAAAA"])
        page = context.new_page()
        page.goto(survey.address)
        context.set_offline(True)
        page.get_by_label("Your invitation code").fill("AAAAA")
        page.get_by_role("button", name="Begin").click()
        answer_all(page)
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Save it as a file").click()
        waiting.value.save_as(tmp_path / "answer.json")
        other = context.browser.new_context().new_page()
        entered(other, survey, "AAAAA")
        answer_all(other)
        send(other)
        before = survey.records()
        context.set_offline(False)
        requests = watched(page)
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_text("This code has answered before").wait_for()
        third = context.browser.new_context().new_page()
        third.goto(survey.address)
        requests_of_third = watched(third)
        third.get_by_text("I have saved an answer").click()
        third.set_input_files("input[type=file]", tmp_path / "answer.json")
        third.get_by_text("This code has answered before").wait_for()
        for own in (requests, requests_of_third):
            assert [one.url.removeprefix(survey.address) for one in own] == ["code"]
        assert survey.records() == before


def entered(page: Any, survey: Survey, code: str) -> None:
    """Open the page with a code."""
    page.goto(survey.address)
    page.get_by_label("Your invitation code").fill(code)
    page.get_by_role("button", name="Begin").click()


def test_a_household_answers_on_one_device(context: Any, tmp_path: Path) -> None:
    """Each with a code of their own; who comes back sees what they sent, and no other's."""
    from pramana.collect.survey_folder import opened_store

    for survey in serving(tmp_path, survey_text("attribute-sampling", extra="codes = true\n")):
        with opened_store(survey.folder, survey.definition) as store:
            store.invite(["AAAAA", "BBBBB"])
        page = context.new_page()
        for code in ("AAAAA", "BBBBB"):
            entered(page, survey, code)
            answer_all(page)
            send(page)
        entered(page, survey, "aaaaa")
        page.get_by_text("You have answered before").wait_for()
        assert len(survey.records()) == 2


def test_a_code_that_was_mistyped_without_a_connection_is_put_right(
    context: Any, tmp_path: Path
) -> None:
    """What chance drew stays."""
    from pramana.collect.survey_folder import opened_store

    for survey in serving(tmp_path, survey_text("retention", extra="codes = true\n")):
        with opened_store(survey.folder, survey.definition) as store:
            store.invite(["AAAAA"])
        page = context.new_page()
        page.goto(survey.address)
        context.set_offline(True)
        page.get_by_label("Your invitation code").fill("AAAAB")
        page.get_by_role("button", name="Begin").click()
        answer_all(page)
        shown = drawn(page)
        context.set_offline(False)
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_text("not known here").wait_for()
        page.get_by_label("Your invitation code").fill("AAAAA")
        send(page)
        assert survey.records() == [shown]


PANEL_CODES = "codes = true\nwaves = 3\nall_waves_epsilon = 4.0\n"

FOR_LIFE = """(code) => Object.fromEntries(Object.entries(localStorage)
    .filter(([key]) => key.includes(`.${code}.`) && /[.](set|permanent)$/.test(key)))"""
"""What a device keeps for good for a code."""


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
def test_a_code_put_right_in_a_panel_keeps_what_it_drew_for_life(
    context: Any, tmp_path: Path, method: str
) -> None:
    """A record of another permanent answer would tell more than was promised: it begins again."""
    from pramana.collect.survey_folder import opened_store

    for survey in serving(tmp_path, survey_text(method, extra=PANEL_CODES), wave=1):
        with opened_store(survey.folder, survey.definition) as store:
            store.invite(["AAAAA"])
        page = context.new_page()
        entered(page, survey, "AAAAA")
        answer_all(page)
        send(page)
        before = page.evaluate(FOR_LIFE, "AAAAA")
        assert len(before) == 2
        page.goto(f"{survey.address}#2")
        page.reload()
        context.set_offline(True)
        page.get_by_label("Your invitation code").fill("AAAAB")
        page.get_by_role("button", name="Begin").click()
        answer_all(page)
        page.get_by_label("Your invitation code").fill("AAAAA")
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_text("please begin again").wait_for()
        assert page.evaluate(FOR_LIFE, "AAAAA") == before
        page.get_by_role("button", name="Begin").click()
        answer_all(page)
        assert page.evaluate(FOR_LIFE, "AAAAA") == before
        context.set_offline(False)


def test_the_next_person_sees_nothing_of_what_was_said(context: Any, tmp_path: Path) -> None:
    """Who went back to the first screen and left the device has left no answer in its fields."""
    from pramana.collect.survey_folder import opened_store

    for survey in serving(tmp_path, survey_text("retention", extra="codes = true\n")):
        with opened_store(survey.folder, survey.definition) as store:
            store.invite(["AAAAA", "BBBBB"])
        page = context.new_page()
        entered(page, survey, "AAAAA")
        fill_in(page, 1)
        page.get_by_role("button", name="Next").click()
        reach(page, 2)
        page.get_by_role("button", name="Back").click()
        reach(page, 1)
        page.get_by_role("button", name="Back").click()
        page.get_by_label("Your invitation code").fill("BBBBB")
        page.get_by_role("button", name="Begin").click()
        page.locator(".progress").wait_for()
        assert page.locator("input:checked").count() == 0
        assert [one.input_value() for one in page.locator("input[type=number]").all()] in ([], [""])


def test_intervals_read_alike_in_either_direction(chromium: Any, tmp_path: Path) -> None:
    """From right to left "[18, 30)" is not turned round; no word and no number is torn apart."""
    context = chromium.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    text = survey_text("retention", extra='direction = "rtl"\n').replace('"bus"', '"[18, 30)"')
    for survey in serving(tmp_path, text):
        page.goto(survey.address)
        assert page.evaluate(LINES, ["%."]) == [1]
        page.get_by_role("button", name="Begin").click()
        for number in range(1, 4):
            fill_in(page, number)
            go_on(page)
        reach(page, 4)
        left = page.evaluate("(t) => " + EDGES, "[18, 30)")
        assert left[0] < left[-1]
        assert page.evaluate(LINES, ["bicycle"]) == [1]
    context.close()


EDGES = """{
  const text = [...document.querySelectorAll("bdi")].find((own) => own.textContent === t).firstChild;
  return [...t].map((_, at) => {
    const own = document.createRange();
    own.setStart(text, at);
    own.setEnd(text, at + 1);
    return own.getBoundingClientRect().left;
  });
}"""  # noqa: E501
"""Where each letter of an answer stands."""

LINES = """(texts) => texts.map((wanted) => {
  const all = document.createTreeWalker(document.getElementById("main"), NodeFilter.SHOW_TEXT);
  while (all.nextNode()) {
    const at = all.currentNode.textContent.search(wanted === "%." ? /\\d+.%/ : wanted);
    if (at < 0) continue;
    const own = document.createRange();
    own.setStart(all.currentNode, at);
    own.setEnd(all.currentNode, at + (wanted === "%." ? 4 : wanted.length));
    return new Set([...own.getClientRects()].map((one) => Math.round(one.top))).size;
  }
  return 0;
})"""
"""On how many lines a word stands, and a number with its percent sign."""


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
        for number in range(1, 5):
            reach(page, number)
            found.append(Axe().run(page))
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            fill_in(page, number)
            go_on(page)
        page.get_by_role("button", name="Send", exact=True).wait_for()
        found.append(Axe().run(page))
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_text("Thank you").wait_for()
        found.append(Axe().run(page))
    ANSWERS["What is your sex?"] = before
    context.close()
    assert [one.response["violations"] for one in found] == [[]] * len(found)
    assert not errors
