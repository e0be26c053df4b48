"""Questions with points: numbers are rounded by chance on the device, and randomised."""

from __future__ import annotations

import random

import numpy as np
import pytest

import pramana as pm
import pramana.collect as collect
from pramana.base.rounding import TOTAL
from pramana.collect.survey import SurveyQuestion, read_survey
from pramana.errors import InputError, InvalidSchema

QUESTION = """
[[questions]]
name = "income"
text = "What do you earn in a month?"
points = [0, 1000, 2000, 6000]
step = 10
"""
SURVEY = f"""
title = "Work"
expected = 3000
minimum = 2000
epsilon = 3
method = "METHOD"
[[questions]]
name = "sex"
text = "What is your sex?"
answers = ["f", "m"]
{QUESTION}"""


def test_a_number_goes_up_for_its_share_of_the_words():
    """At 1,300 of 1,000 to 2,000: for floor(0.3 2**64) words; at a point for all or none."""
    question = SurveyQuestion(name="x", text="X?", points=(0, 1000, 2000), step=10)
    share = 3 * TOTAL // 10
    assert question.point(1300, share - 1) == "2000"
    assert question.point(1300, share) == "1000"
    assert {question.point(1000, word) for word in (0, TOTAL - 1)} == {"1000"}
    assert {question.point(2000, word) for word in (0, TOTAL - 1)} == {"2000"}
    grid = pm.NumberGrid((0, 1000, 2000), step=10)
    (low, below), (high, above) = grid.chances(130)
    assert (low, below, high, above) == (1000, TOTAL - share, 2000, share)


@pytest.mark.parametrize("number", [-10, 2011, 1e9, float("nan"), "much"])
def test_a_number_outside_is_refused_without_being_told(number):
    """The message names the question alone."""
    question = SurveyQuestion(name="x", text="X?", points=(0, 1000, 2000), step=10)
    with pytest.raises(InputError, match="'x' must be a number from 0 to 2000") as refused:
        question.point(number, 0)
    assert str(number) not in str(refused.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("optional = true", "cannot be optional"),
        ("ask_if = {sex = ['f']}", "cannot be optional"),
        ("bins = [0, 1, 2]", "must have one of answers"),
    ],
)
def test_what_points_cannot_be_combined_with(more, said):
    """One line says why."""
    with pytest.raises(InvalidSchema, match=said):
        read_survey(SURVEY.replace("METHOD", "retention") + more)


def test_no_question_follows_from_a_number_and_no_panel_has_one():
    """A wave would round anew, which the guarantee of all waves does not cover."""
    text = SURVEY.replace("METHOD", "retention")
    after = (
        '[[questions]]\nname = "b"\ntext = "B?"\nanswers = ["x", "y"]\nask_if = {income = [0]}\n'
    )
    with pytest.raises(InvalidSchema, match="ask_if cannot name"):
        read_survey(text + after)
    with pytest.raises(InvalidSchema, match="round anew"):
        read_survey("waves = 2\nall_waves_epsilon = 9\n" + text)


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
@pytest.mark.deep(every=2)
def test_means_of_collected_numbers_are_those_of_the_answers(method, tmp_path):
    """Within four standard errors, by a public and by a randomised group; the release verifies."""
    (tmp_path / "survey.toml").write_text(SURVEY.replace("METHOD", method))
    collect.new_survey(tmp_path / "survey.toml", tmp_path / "survey")
    definition = collect.load(tmp_path / "survey")
    assert any("first rounded by chance" in line for line in definition.consent())
    random.seed(4)
    incomes = {"f": [], "m": []}
    with collect.answers(tmp_path / "survey") as store:
        for person in range(3000):
            sex = random.choice("fm")
            income = min(6000.0, random.lognormvariate(7 if sex == "f" else 7.4, 0.5))
            incomes[sex].append(income)
            record = collect.respond(definition, {"sex": sex, "income": income})
            text = record.spelled(widths=definition.channel.widths)
            store.accept([collect.Sent(text, f"{person:064x}")])
        collect.close_survey(definition, store, tmp_path / "release")
    release = pm.load(tmp_path / "release")
    assert release.verify().valid
    answered = [*incomes["f"], *incomes["m"]]
    figures = [(next(iter(release.mean("income", method="unbiased").cells)), answered)]
    by_sex = release.mean("income", by=["sex"], method="unbiased")
    figures += [(by_sex[sex], incomes[sex]) for sex in "fm"]
    for figure, answers in figures:
        assert abs(figure["estimate"] - np.mean(answers)) < 4.5 * figure["se"]
        assert figure["se"] < 150
