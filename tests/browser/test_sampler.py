"""The sampler of the page against that of Python, and against the matrix."""

from __future__ import annotations

import base64
import hashlib
import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from pramana.collect.definition import Definition
from pramana.collect.survey import SurveyQuestion
from pramana.collect.survey_folder import new_survey
from pramana.errors import InputError
from tests.browser.conftest import Survey, free_port
from tests.collect.conftest import survey_text

VECTORS = 10_000
DRAWS = 1_000_000
TOTAL = 2**64


def people(survey: Survey, rng: random.Random) -> dict[str, str]:
    """A person who can exist."""
    return people_of(survey.definition, rng)


def people_of(definition: Definition, rng: random.Random) -> dict[str, str]:
    """A person who can exist, of a definition."""
    employed = rng.choice(["yes", "no"])
    ways = ["on foot", "bicycle", "car"]
    own = definition.survey
    return {
        "age": rng.choice(own["age"].answers),
        "sex": rng.choice(own["sex"].answers),
        "employed": employed,
        "travel": rng.choice(ways) if employed == "yes" else "does not apply",
    }


def words(survey: Survey, rng: random.Random) -> list[int]:
    """Random words, and often those at the ends of an interval."""
    ends = [0, TOTAL - 1]
    for one in survey.definition.channel.asked:
        for draw in one.draws:
            ends += [(rng.randrange(len(draw.cells) + 1) * draw.other + d) % TOTAL for d in (-1, 0)]
    own = survey.definition.channel
    return [
        rng.choice(ends) if rng.random() < 0.3 else rng.randrange(TOTAL) for _ in range(own.words)
    ]


COMPUTE = """(vectors) => {
  const survey = readSurvey();
  return vectors.map(([answers, given]) => {
    const words = given.map(BigInt);
    const asked = setOf(survey.channel, words[0]);
    return send(survey.channel, asked, answers, survey.channel.reports ? words.slice(1) : words);
  });
}"""


def test_browser_and_python_send_the_same_record(page: Any, looked_at: Survey) -> None:
    """Word for word on ten thousand shared vectors, ends of intervals among them."""
    rng, channel = random.Random(21), looked_at.definition.channel
    vectors = [(people(looked_at, rng), words(looked_at, rng)) for _ in range(VECTORS)]
    page.goto(looked_at.address)
    found = page.evaluate(COMPUTE, [[answers, list(map(str, own))] for answers, own in vectors])
    expected = [channel.send(a, own).spelled(widths=channel.widths) for a, own in vectors]
    assert found == expected


REFUSE = """(texts) => {
  const own = readSurvey().channel;
  return texts.map((text) => sendable(own, text));
}"""


def test_browser_and_python_refuse_the_same_records(page: Any, looked_at: Survey) -> None:
    """Cells that are there, that are not, and what is spelled otherwise."""
    rng, channel = random.Random(22), looked_at.definition.channel
    texts = ["", ".", "0", "-1", "constructor", "1e1"]
    for _ in range(2000):
        own = [str(rng.randrange(10**width)).zfill(width) for width in channel.widths]
        own[0] = str(rng.randrange(len(channel.asked) + 1)).zfill(channel.widths[0])
        text = ".".join(own)
        texts += [text, text[:-1], f"{text}0", text.replace("0", "\u0660"), f" {text[1:]}"]

    def taken(text: str) -> bool:
        try:
            channel.read(text)
        except InputError:
            return False
        return True

    page.goto(looked_at.address)
    found = page.evaluate(REFUSE, texts)
    assert found == list(map(taken, texts))
    assert 10 < sum(found) < 5000


TALLY = """([draw, place, count]) => {
  const own = readSurvey().channel.asked[0].draws[draw];
  const tally = new Array(own.cells.length).fill(0);
  for (let done = 0; done < count; done += 1000) {
    for (const word of randomWords(1000)) tally[drawCell(own, place, word)] += 1;
  }
  return tally;
}"""

THRESHOLD = "BigInt(draw.cells.length) * other"


def with_threshold(page: str, other: str) -> str:
    """A page whose sampler compares with something else, and whose policy lets it run."""
    script = page.split("<script>")[1].split("</script>")[0]
    changed = script.replace(THRESHOLD, other)
    assert (changed != script) == (other != THRESHOLD)
    digests = [base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
               for own in (script, changed)]  # fmt: skip
    return page.replace(script, changed).replace(*digests)


@pytest.mark.parametrize(
    ("threshold", "fits"),
    [(THRESHOLD, True), (f"{THRESHOLD} * 98n / 100n", False), (f"{THRESHOLD} - other", False)],
)
def test_a_million_draws_fit_the_matrix(
    page: Any, looked_at_whole: Survey, tmp_path: Path, threshold: str, fits: bool
) -> None:
    """Chi-square at 1e-6 by the browser's own randomness; pages with another threshold fail it."""
    own = with_threshold((looked_at_whole.folder / "survey.html").read_text(), threshold)
    (tmp_path / "page.html").write_text(own)
    page.goto((tmp_path / "page.html").as_uri())
    page.get_by_role("button", name="Begin").wait_for()  # it runs
    draws = looked_at_whole.definition.channel.asked[0].draws
    worst = 1.0
    for at, draw in enumerate(draws):
        tally = np.array(page.evaluate(TALLY, [at, 1, DRAWS // len(draws)]))
        chances = np.full(len(draw.cells), draw.other / TOTAL)
        chances[1] = draw.kept
        expected = chances * tally.sum()
        statistic = float(((tally - expected) ** 2 / expected).sum())
        worst = min(worst, float(chi2.sf(statistic, len(draw.cells) - 1)))
    assert (worst > 1e-6) == fits


SETS = """(count) => {
  const { channel } = readSurvey();
  const tally = new Array(channel.asked.length).fill(0);
  for (const word of randomWords(count)) tally[setOf(channel, word)] += 1;
  return tally;
}"""


def test_sets_are_asked_for_as_often_as_their_weights_say(page: Any, looked_at: Survey) -> None:
    """Chi-square at 1e-6 over 10^5 draws; equal chances for all sets fail it."""
    page.goto(looked_at.address)
    tally = np.array(page.evaluate(SETS, DRAWS // 10))
    shares = np.array([one.weight / TOTAL for one in looked_at.definition.channel.asked])
    if not looked_at.definition.channel.reports:
        assert tally.tolist() == [DRAWS // 10]
        return
    for own, fits in ((shares, True), (np.full(len(shares), 1 / len(shares)), False)):
        expected = own * tally.sum()
        statistic = float(((tally - expected) ** 2 / expected).sum())
        assert (float(chi2.sf(statistic, len(own) - 1)) > 1e-6) == fits


def test_a_page_that_was_changed_does_not_run(page: Any, looked_at_whole: Survey) -> None:
    """The policy of the page names the digest of its script: another script is not run."""
    content = (looked_at_whole.folder / "survey.html").read_text()
    changed = content.replace("word < BigInt(draw.cells.length) * other", "false")
    assert changed != content
    page.route("**/", lambda route: route.fulfill(body=changed, content_type="text/html"))
    page.goto(looked_at_whole.address)
    assert page.get_by_role("button", name="Begin").count() == 0


def test_browser_and_python_send_the_same_records_of_a_panel(page: Any, tmp_path: Path) -> None:
    """What is kept for life and what a wave sends, word for word."""
    for method in ("retention", "attribute-sampling"):
        (tmp_path / method).mkdir()
        extra = "waves = 3\nall_waves_epsilon = 4.0\n"
        source = tmp_path / method / "survey.toml"
        source.write_text(survey_text(method, extra=extra))
        definition, _ = new_survey(source, tmp_path / method / "survey")
        page.goto((tmp_path / method / "survey" / "survey.html").as_uri() + "#2")
        rng, channel = random.Random(4), definition.channel
        vectors, expected = [], []
        for _ in range(300):
            place = rng.randrange(len(channel.asked))
            draws = channel.asked[place].draws
            ends = [own * at for d in draws for own in d.stages or () for at in range(3)]
            size = sum(len(draw.cells) for draw in draws)
            for_life, wave = (
                [rng.choice(ends) if rng.random() < 0.3 else rng.randrange(TOTAL) for _ in range(n)]
                for n in (size, len(draws))
            )
            answers = people_of(definition, rng)
            begin = sum(one.weight for one in channel.asked[:place])
            fresh = iter([begin, *for_life] if channel.reports else for_life)
            kept = channel.remember(lambda count, own=fresh: [next(own) for _ in range(count)])
            record = channel.send_wave(kept, answers, wave)
            expected.append(record.spelled(widths=channel.widths))
            vectors.append([answers, place, list(map(str, for_life)), list(map(str, wave))])
        assert page.evaluate(PANEL, vectors) == expected


PANEL = """(vectors) => {
  const survey = readSurvey();
  return vectors.map(([answers, asked, forLife, wave]) => {
    const kept = remember(survey.channel, asked, forLife.map(BigInt));
    return send(survey.channel, asked, answers, wave.map(BigInt), kept);
  });
}"""


def test_a_person_of_a_panel_answers_every_wave_from_one_permanent_answer(
    context: Any, tmp_path: Path
) -> None:
    """The device keeps what it drew for life and draws each wave once; nothing kept is true."""
    from tests.browser.test_answering import answer_all, drawn, send

    extra = "waves = 3\nall_waves_epsilon = 4.0\n"
    source = tmp_path / "survey.toml"
    source.write_text(survey_text("retention", extra=extra))
    new_survey(source, tmp_path / "survey")
    page, kept = context.new_page(), []
    port = free_port()
    for wave in (1, 2):
        survey = Survey(tmp_path / "survey", port=port, wave=wave)
        survey.start()
        page.goto(survey.address)
        page.get_by_role("button", name="Begin").click()
        answer_all(page)
        shown = drawn(page)
        send(page)
        page.reload()
        page.get_by_text("You have answered before").wait_for()
        assert survey.records() == [shown]
        stored = dict(page.evaluate("Object.entries(localStorage)"))
        assert not [name for name in stored if name.endswith((".record", ".token"))]
        kept.append({n: v for n, v in stored.items() if n.endswith((".set", ".permanent"))})
        survey.stop()
    assert kept[0] == kept[1]
    assert len(kept[0]) == 2


ROUND = """(vectors) => vectors.map(([points, marks, step, value, word]) =>
  pointOf({ points, marks, step }, value, BigInt(word)))"""


def test_browser_and_python_round_numbers_alike(page: Any, looked_at: Survey) -> None:
    """The same point for the same number and word, ends of intervals among them."""
    rng, vectors, expected = random.Random(24), [], []
    for points, step in (((0, 1000, 2000, 6000), 10), ((-5, 0, 2.5, 40), 0.5), ((18, 30, 90), 1)):
        question = SurveyQuestion(name="x", text="X?", points=points, step=step)
        marks = list(question.domain.marks)
        for _ in range(VECTORS // 3):
            value = rng.choice([rng.uniform(points[0], points[-1]), *points])
            width = rng.choice([b - a for a, b in itertools.pairwise(marks)])
            edge = rng.randrange(width + 1) * TOTAL // width + rng.choice([-1, 0])
            word = rng.choice([rng.randrange(TOTAL), edge % TOTAL])
            vectors.append([list(points), marks, step, value, str(word)])
            expected.append(question.answers.index(question.point(value, word)))
    page.goto(looked_at.address)
    assert page.evaluate(ROUND, vectors) == expected
