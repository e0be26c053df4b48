"""What people read before they answer is true, by the matrices."""

from __future__ import annotations

import re

import pytest

from pramana.collect.definition import define
from pramana.collect.survey import read_survey, tenths
from tests.collect.conftest import survey_text


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ([0.44, 0.79], "4 to 8"),
        ([0.5, 0.5], "5"),
        ([0.41], "4 to 5"),
        ([0.05], "0 to 1"),
        ([0.85, 0.97], "8 to more than 9"),
        ([0.95], "more than 9"),
    ],
)
def test_the_cases_in_ten_are_rounded_outward(kept: list[float], words: str) -> None:
    """By hand; what is not certain is never called certain."""
    assert tenths(kept, read_survey(survey_text())) == words


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
def test_people_are_told_how_often_their_real_answer_is_sent(method: str) -> None:
    """The range holds every probability of the matrices, counted from their integers."""
    text = survey_text(method)
    definition, _ = define(read_survey(text), text)
    said = " ".join(definition.consent())
    found = re.search(r"In about (.*) of 10 cases the real answer to a question is sent", said)
    assert found
    low, high = (10 * float(one.split()[-1]) for one in (found[1].split(" to ") * 2)[:2])
    high = 100 if "more than" in found[1] else high
    for asked in definition.channel.asked:
        for draw in asked.draws:
            for at, _ in enumerate(draw.columns):
                labels = [cell[at] for cell in draw.cells]
                for label in set(labels) if len(set(labels)) > 1 else ():
                    moved = (len(labels) - labels.count(label)) * draw.other
                    assert low <= 100 * (1 - moved / 2**64) <= high


def test_the_consent_promises_no_more_than_happens() -> None:
    """Real answers leave the device, it is voluntary, and who is responsible is named."""
    text = survey_text()
    definition, _ = define(read_survey(text), text)
    said = definition.consent()
    whole = " ".join(said)
    assert "gets the true" not in whole
    assert "voluntary" in said[0]
    assert "may replace" in said[1]
    assert "Nobody can tell which of the two happened" in said[3]
    assert "the town hall" in said[4]
    assert "until the demonstration ends" in whole
    assert "You do not see what is sent, because" in whole


def test_what_the_office_does_not_state_is_said_to_be_missing() -> None:
    """Contact and retention."""
    text = survey_text().replace("contact =", "language = 'en' #").replace("retention =", "#")
    definition, _ = define(read_survey(text), text)
    assert sum("not stated by the office" in one for one in definition.consent()) == 2
