"""The sampler of the page against that of Python, and against the matrix."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from tests.browser.conftest import Survey

VECTORS = 10_000
DRAWS = 1_000_000
TOTAL = 2**64


def people(survey: Survey, rng: random.Random) -> dict[str, str]:
    """A person who can exist."""
    employed = rng.choice(["yes", "no"])
    ways = ["on foot", "bicycle", "car"]
    own = survey.definition.survey
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
  const survey = JSON.parse(document.getElementById("survey").textContent);
  return vectors.map(([answers, given]) => {
    const words = given.map(BigInt);
    const asked = setOf(survey.channel, words[0]);
    return send(survey.channel, asked, answers, survey.channel.reports ? words.slice(1) : words);
  });
}"""


def test_browser_and_python_send_the_same_record(page: Any, served: Survey) -> None:
    """Word for word on ten thousand shared vectors, ends of intervals among them."""
    rng, channel = random.Random(21), served.definition.channel
    vectors = [(people(served, rng), words(served, rng)) for _ in range(VECTORS)]
    page.goto(served.address)
    found = page.evaluate(COMPUTE, [[answers, list(map(str, own))] for answers, own in vectors])
    expected = [channel.send(a, own).spelled(widths=channel.widths) for a, own in vectors]
    assert found == expected


TALLY = """([draw, place, count, scale]) => {
  const survey = JSON.parse(document.getElementById("survey").textContent);
  const own = survey.channel.asked[0].draws[draw];
  const used = { ...own, other: String(BigInt(own.other) * BigInt(scale) / 100n) };
  const tally = new Array(own.cells.length).fill(0);
  for (let done = 0; done < count; done += 1000) {
    for (const word of randomWords(1000)) tally[drawCell(used, place, word)] += 1;
  }
  return tally;
}"""


@pytest.mark.parametrize(("scale", "fits"), [(100, True), (98, False)])
def test_a_million_draws_fit_the_matrix(
    page: Any, served_whole: Survey, scale: int, fits: bool
) -> None:
    """Chi-square at 1e-6 by the browser's own randomness; a threshold 2 % off fails."""
    page.goto(served_whole.address)
    draws = served_whole.definition.channel.asked[0].draws
    worst = 1.0
    for at, draw in enumerate(draws):
        tally = np.array(page.evaluate(TALLY, [at, 1, DRAWS // len(draws), scale]))
        chances = np.full(len(draw.cells), draw.other / TOTAL)
        chances[1] = draw.kept
        expected = chances * tally.sum()
        statistic = float(((tally - expected) ** 2 / expected).sum())
        worst = min(worst, float(chi2.sf(statistic, len(draw.cells) - 1)))
    assert (worst > 1e-6) == fits


def test_a_page_that_was_changed_does_not_run(page: Any, served_whole: Survey) -> None:
    """The policy of the page names the digest of its script: another script is not run."""
    content = (served_whole.folder / "survey.html").read_text()
    changed = content.replace("word < BigInt(draw.cells.length) * other", "false")
    assert changed != content
    page.route("**/", lambda route: route.fulfill(body=changed, content_type="text/html"))
    page.goto(served_whole.address)
    assert page.get_by_role("button", name="Begin").count() == 0
