"""Invented records are found where honest ones cannot be, and honest ones are left alone."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from pramana.base.randomness import Keystream
from pramana.cli.app import main
from pramana.collect.channel import SentRecord
from pramana.collect.closing import suspicions
from pramana.collect.definition import Definition, define, respond
from pramana.collect.store import Sent
from pramana.collect.survey import read_survey
from pramana.collect.survey_folder import opened_store
from tests.collect.conftest import PERSON, small_survey

OTHER = {"age": "[65, 120]", "sex": "m", "employed": "no", "travel": "does not apply"}


def test_honest_answers_raise_no_suspicion(definition: Definition) -> None:
    """Not even where everybody is alike, which sends one cell as often as can be."""
    widths = definition.channel.widths
    for people in ([PERSON], [PERSON, OTHER]):
        sent = [respond(definition, people[at % len(people)]) for at in range(3000)]
        tally = Counter(record.spelled(widths=widths) for record in sent)
        assert suspicions(definition.channel, tally) == []


def test_who_sends_the_same_record_over_and_over_is_seen(definition: Definition) -> None:
    """Two thousand copies of one record among as many honest ones: no truth sends so many."""
    widths = definition.channel.widths
    sent = [respond(definition, PERSON).spelled(widths=widths) for _ in range(2000)]
    tally = Counter([*sent, *sent[:1] * 4000])
    found = suspicions(definition.channel, tally)
    assert found
    assert all("in any original data" in one.sentence() for one in found)


WIDE = [("a", ["1", "2", "3"], ""), ("b", ["1", "2", "3"], ""), ("c", ["1", "2", "3"], "")]


def wide(method: str) -> Definition:
    """Three questions of three answers."""
    text = small_survey(*WIDE, head=f'expected = 4000\nepsilon = 3\nmethod = "{method}"')
    return define(read_survey(text), text)[0]


def sent_by(definition: Definition, truths: list[dict[str, str]], seed: int) -> list[str]:
    """What these people send, by a seed."""
    words = Keystream.from_seed(seed).words("w", 0, 9 * len(truths)).tolist()
    channel, many = definition.channel, definition.channel.words
    return [
        channel.send(truth, words[9 * at : 9 * at + many]).spelled(widths=channel.widths)
        for at, truth in enumerate(truths)
    ]


EVEN = [dict(zip("abc", own, strict=True)) for own in itertools.product("123", repeat=3)] * 148


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
def test_who_always_gives_one_answer_is_seen_over_all_sets(method: str) -> None:
    """Every cell of every set could be so; the answers to the question together could not."""
    definition = wide(method)
    honest = sent_by(definition, EVEN, seed=1)
    assert suspicions(definition.channel, Counter(honest)) == []
    liars = [{"a": "1", "b": own["b"], "c": own["c"]} for own in EVEN]
    channel, widths = definition.channel, definition.channel.widths
    sent = [channel.read(own) for own in sent_by(definition, liars, seed=2)]
    forced = []
    for record in sent:
        draws = channel.asked[record.asked].draws
        cells = [
            draw.places[tuple("1" if name == "a" else own for name, own in
                              zip(draw.columns, draw.cells[cell], strict=True))]
            for draw, cell in zip(draws, record.cells, strict=True)
        ]  # fmt: skip
        forced.append(SentRecord(record.asked, tuple(cells)).spelled(widths=widths))
    found = suspicions(channel, Counter(forced))
    assert found[0].too_many
    assert any((one.columns, one.cell) == (("a",), ("1",)) for one in found)


def test_one_whole_record_among_many_is_seen() -> None:
    """No answer in it is too frequent, and all of them together are."""
    definition = wide("retention")
    honest = sent_by(definition, EVEN, seed=3)
    kept = math.prod(draw.kept for draw in definition.channel.asked[0].draws)
    copies = int(1.6 * kept / (1 - kept) * len(honest))
    found = suspicions(definition.channel, Counter([*honest, *["0.2.2.2"] * copies]))
    assert [len(one.columns) for one in found] == [3]
    assert found[0].too_many


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("people", [50, 400, 3000])
def test_honest_people_are_suspected_once_in_a_million_surveys_at_most(
    people: int, share: float
) -> None:
    """The whole law of one question of two answers, by convolving two binomials.

    It is no empty bound: a tail that is a hundred times as likely is told of.
    """
    text = small_survey(("a", ["1", "2"], ""), head="expected = 3000\nepsilon = 1")
    definition = define(read_survey(text), text)[0]
    kept = definition.channel.asked[0].draws[0].kept
    alike = round(share * people)
    law = np.convolve(
        binom.pmf(np.arange(alike + 1), alike, kept),
        binom.pmf(np.arange(people - alike + 1), people - alike, 1 - kept),
    )
    told = [
        bool(suspicions(definition.channel, {"0.0": count, "0.1": people - count}))
        for count in range(people + 1)
    ]
    assert law[told].sum() <= 1e-6
    if share == 1.0 and people > 50:
        tail = law[::-1].cumsum()[::-1]
        assert any(one and 1e-12 < own < 1e-8 for one, own in zip(told, tail, strict=True))


def test_what_no_truth_explains_is_told_of_and_kept(
    survey_folder: Path, definition: Definition, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By status and when the survey is closed; every record is in the release all the same."""
    record = respond(definition, PERSON).spelled(widths=definition.channel.widths)
    with opened_store(survey_folder, definition) as store:
        store.accept([Sent(record, f"{at:064x}") for at in range(2000)])
    for command in (["status", str(survey_folder)],
                    ["close", str(survey_folder), "-o", str(tmp_path / "release"),
                     "--accept-failed"]):  # fmt: skip
        with pytest.raises(SystemExit):
            main(["collect", *command])
        told = capsys.readouterr()
        assert "than the page can send" in " ".join((told.out + told.err).split())
    assert "holds 2,000 answers" in " ".join(told.out.split())
