"""A survey with every kind of question, by both methods."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pramana.collect.definition import Definition
from pramana.collect.simulated_survey import SURVEY
from pramana.collect.survey_folder import new_survey

SEX = """[[questions]]
name = "sex"
text = "What is your sex?"
answers = { f = "Female", m = "Male" }
optional = true

"""

PERSON = {"age": "[18, 30)", "sex": "f", "employed": "yes", "travel": "car"}


def survey_text(method: str = "attribute-sampling", target: str = "k = 20", extra: str = "") -> str:
    """The survey of the demonstration, with a question that may be left open."""
    head = f'minimum = 2\n{target}\nmethod = "{method}"'
    text = SURVEY.format(expected=5000).replace("k = 20", head)
    employed = '[[questions]]\nname = "employed"'
    return extra + text.replace(employed, SEX + employed)


def small_survey(*asked: tuple[str, list[str], str], head: str) -> str:
    """A survey of a few questions: the name of each, its answers, and whatever else is said."""
    questions = (
        f'[[questions]]\nname = "{name}"\ntext = "{name}?"\nanswers = {json.dumps(answers)}\n{more}'
        for name, answers, more in asked
    )
    return "\n".join(['title = "t"', head, *questions, ""])


@pytest.fixture(params=["attribute-sampling", "retention"])
def method(request: pytest.FixtureRequest) -> str:
    """Reports of some questions, and whole records."""
    return str(request.param)


@pytest.fixture
def survey_folder(tmp_path: Path, method: str) -> Path:
    """A survey folder."""
    source = tmp_path / "survey.toml"
    source.write_text(survey_text(method))
    new_survey(source, tmp_path / "survey")
    return tmp_path / "survey"


@pytest.fixture
def definition(survey_folder: Path) -> Definition:
    """Its definition."""
    return Definition.load(survey_folder)
