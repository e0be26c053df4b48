"""The record that is sent, against the matrix that is published, word by word.

The judge counts words: of the 2**64 words exactly the weight of an entry of the matrix must give
that entry. Words below a boundary and at it are enough to count them all, since a cell is drawn by
whole intervals.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pramana.collect.channel import AnswerChannel, Draw
from pramana.collect.definition import Definition, respond
from pramana.collect.survey_folder import questionnaire
from pramana.errors import InputError, OutsideDomain
from pramana.mechanisms.mechanism import AttributeSampler
from tests.collect.conftest import PERSON

TOTAL = 2**64


def words_for(draw: Draw, truth: tuple[str, ...]) -> dict[int, int]:
    """How many words give each cell, counted over all intervals on which the draw is constant."""
    ends = sorted({0, *(min(TOTAL, at * draw.other) for at in range(len(draw.cells) + 1)), TOTAL})
    counted: dict[int, int] = {}
    for low, high in itertools.pairwise(ends):
        first, last = draw.draw(truth, low), draw.draw(truth, high - 1)
        assert first == last
        counted[first] = counted.get(first, 0) + high - low
    return counted


def test_as_many_words_give_a_cell_as_the_matrix_says(definition: Definition) -> None:
    """Every set, every true cell, every released cell, to the last word."""
    mechanism = definition.mechanism
    parts = mechanism.sets if isinstance(mechanism, AttributeSampler) else mechanism.steps
    draws = [draw for one in definition.channel.asked for draw in one.draws]
    for part, draw in zip(parts, draws, strict=True):
        assert part.matrix is not None
        for row, truth in enumerate(draw.cells):
            counted = words_for(draw, truth)
            weights = [int(part.matrix.weights[row, column]) for column in range(len(draw.cells))]
            assert [counted.get(at, 0) for at in range(len(draw.cells))] == weights


def test_as_many_words_ask_for_a_set_as_its_weight_says(definition: Definition) -> None:
    """The first and the last word of each interval belong to it."""
    mechanism, channel = definition.mechanism, definition.channel
    if not isinstance(mechanism, AttributeSampler):
        assert channel.set_of(0) == channel.set_of(TOTAL - 1) == 0
        return
    begin = 0
    for place, one in enumerate(mechanism.sets):
        assert channel.set_of(begin) == channel.set_of(begin + one.weight - 1) == place
        begin += one.weight
    assert begin == TOTAL


def test_what_is_sent_has_one_length_and_is_read_back(definition: Definition) -> None:
    """Whatever was answered and drawn; and it says only answers that can be given together."""
    channel = definition.channel
    lengths, cells = set(), {cell for a in channel.asked for d in a.draws for cell in d.cells}
    for _ in range(200):
        record = respond(definition, PERSON)
        text = record.spelled(widths=channel.widths)
        lengths.add(len(text))
        assert channel.read(text) == record
        for draw, cell in zip(channel.asked[record.asked].draws, record.cells, strict=True):
            assert draw.cells[cell] in cells
    assert len(lengths) == 1


@pytest.mark.parametrize(
    "text", ["", "0", "9.9", "0.0.0.0.0.0", "-.001", "0.9999", "9.0000", "٣.٠٠٠", "0 .001", "00.01"]
)
def test_what_no_page_can_send_is_refused(definition: Definition, text: str) -> None:
    """Other shapes, places outside, digits that are none; and it is not quoted back."""
    with pytest.raises(InputError) as caught:
        definition.channel.read(text)
    assert not text or text not in str(caught.value)


def test_every_cell_outside_a_set_is_refused(definition: Definition) -> None:
    """All spellings of the right shape: exactly those of cells that exist are read."""
    channel = definition.channel
    sizes = [10**width for width in channel.widths]
    good = 0
    for numbers in itertools.product(*(range(size) for size in sizes)):
        text = ".".join(f"{n:0{w}d}" for n, w in zip(numbers, channel.widths, strict=True))
        try:
            channel.read(text)
        except InputError:
            continue
        good += 1
    expected = 0
    for asked in channel.asked:
        product = 1
        for draw in asked.draws:
            product *= len(draw.cells)
        expected += product
    assert good == expected


def test_answers_that_exclude_each_other_are_refused(definition: Definition) -> None:
    """Not employed, and yet a way to work: nothing is drawn."""
    channel = definition.channel
    wrong = PERSON | {"employed": "no"}
    both = next(
        place for place, one in enumerate(channel.asked) if {"employed", "travel"} <= {*one.columns}
    )
    begin = sum(one.weight for one in channel.asked[:both])
    words = [begin, 0] if channel.reports else [0] * channel.words
    with pytest.raises(OutsideDomain, match="are impossible together"):
        channel.send(wrong, words)


def test_the_channel_is_the_one_that_is_promised(definition: Definition) -> None:
    """Epsilon by brute force over all pairs of people and all records, as fractions."""
    channel = definition.channel
    people = [
        dict(zip(("age", "sex", "employed", "travel"), values, strict=True))
        for values in itertools.product(
            ["[0, 18)", "[18, 30)"], ["f", "m"], ["yes", "no"], ["car", "bicycle", "does not apply"]
        )
        if (values[2] == "yes") == (values[3] != "does not apply")
    ]
    worst = max(_ratio(channel, one, other) for one, other in itertools.permutations(people, 2))
    promised = next(p for p in definition.guarantees() if p.name == "differential-privacy")
    assert math.log(worst) <= promised.epsilon <= math.log(worst) * (1 + 1e-9)


def _ratio(channel: AnswerChannel, one: dict[str, str], other: dict[str, str]) -> Fraction:
    """The largest ratio of the probabilities of a record for two people."""
    found = Fraction(1)
    for asked in channel.asked:
        product = Fraction(1)
        for draw in asked.draws:
            chances = [words_for(draw, tuple(x[n] for n in draw.columns)) for x in (one, other)]
            product *= max(Fraction(chances[0][at], chances[1][at]) for at in chances[0])
        found = max(found, product)
    return found


def test_a_page_is_told_of_no_cells_that_it_can_spell(definition: Definition) -> None:
    """All combinations, the last question fastest, are left out; others are told of."""
    told = [draw for one in questionnaire(definition)["channel"]["asked"] for draw in one["draws"]]
    known = {one.name: one.answers for one in definition.survey.questions}
    draws = [draw for one in definition.channel.asked for draw in one.draws]
    for form, draw in zip(told, draws, strict=True):
        every = list(itertools.product(*(known[name] for name in draw.columns)))
        spelled = [tuple(cell) for cell in form["cells"]] if "cells" in form else every
        assert spelled == list(draw.cells)
    assert any("cells" in form for form in told)
    assert not all("cells" in form for form in told)


def documented_answers(question: dict[str, Any]) -> list[str]:
    """The answers to a question, as the same page says."""
    bins = [f"[{low}, {high})" for low, high in itertools.pairwise(question.get("bins", []))]
    own = [*bins[:-1], *(one[:-1] + "]" for one in bins[-1:])] or list(question["answers"])
    own += ["does not apply"] if "ask_if" in question else []
    return own + (["prefer not to say"] if question.get("optional") else [])


def by_the_page_for_other_programs(
    definition: dict[str, Any], truth: dict[str, str], words: list[int]
) -> str:  # fmt: skip
    """A client written from docs/reference/survey_protocol.md alone: JSON and integers."""
    entries, reports = definition["mechanism"], definition["method"] == "attribute-sampling"
    questions = tomllib.loads(definition["survey"])["questions"]
    answers = {own["name"]: documented_answers(own) for own in questions}

    def cells(entry: dict[str, Any]) -> list[list[str]]:
        every = itertools.product(*(answers[name] for name in entry["columns"]))
        listed = entry["matrix"].get("labels", [list(cell) for cell in every])
        return [cell if isinstance(cell, list) else [cell] for cell in listed]

    def sent(entry: dict[str, Any], word: int) -> int:
        own, other = cells(entry), int(entry["matrix"]["other"])
        true = own.index([truth[name] for name in entry["columns"]])
        return word // other if word < len(own) * other else true

    def digits(largest: int) -> int:
        return len(str(largest - 1))

    if not reports:
        numbers = [0, *(sent(entry, word) for entry, word in zip(entries, words, strict=True))]
        widths = [1, *(digits(len(cells(entry))) for entry in entries)]
    else:
        ends = list(itertools.accumulate(int(entry["weight"]) for entry in entries))
        place = next(at for at, end in enumerate(ends) if words[0] < end)
        numbers = [place, sent(entries[place], words[1])]
        widths = [digits(len(entries)), digits(max(len(cells(entry)) for entry in entries))]
    return ".".join(str(one).zfill(width) for one, width in zip(numbers, widths, strict=True))


def test_a_program_that_knows_the_documented_form_alone_sends_the_same(
    survey_folder: Path, definition: Definition
) -> None:
    """Five hundred vectors, with words at the ends of intervals; bit for bit."""
    form = json.loads((survey_folder / "definition.json").read_bytes())
    answers = {one.name: list(one.answers) for one in definition.survey.questions}
    rng, channel = random.Random(3), definition.channel
    others = [draw.other for one in channel.asked for draw in one.draws]
    for _ in range(500):
        near = rng.choice(others) * rng.randrange(4) + rng.choice([-1, 0, 1])
        words = [rng.choice([rng.randrange(TOTAL), near % TOTAL]) for _ in range(channel.words)]
        employed = rng.choice(["yes", "no"])
        truth = {
            "age": rng.choice(answers["age"]),
            "sex": rng.choice(answers["sex"]),
            "employed": employed,
            "travel": rng.choice(answers["travel"][:4]) if employed == "yes" else "does not apply",
        }
        expected = channel.send(truth, words).spelled(widths=channel.widths)
        assert by_the_page_for_other_programs(form, truth, words) == expected
