"""A survey with every kind of question, by both methods."""

from __future__ import annotations

from pathlib import Path

import pytest

from pramana.collect.definition import Definition
from pramana.collect.folder import new_survey

SURVEY = """
title = "How we live"
office = "Office for statistics"
about = "To plan schools and buses."
expected = 5000
{target}
method = "{method}"

[[questions]]
name = "age"
text = "How old are you?"
bins = [0, 18, 30, 45, 65, 120]

[[questions]]
name = "sex"
text = "What is your sex?"
answers = {{ f = "Female", m = "Male" }}
optional = true

[[questions]]
name = "employed"
text = "Are you employed?"
answers = ["yes", "no"]

[[questions]]
name = "travel"
text = "How do you get to work?"
answers = ["on foot", "bicycle", "car"]
ask_if = {{ employed = ["yes"] }}
"""

PERSON = {"age": "[18, 30)", "sex": "f", "employed": "yes", "travel": "car"}


def survey_text(method: str = "reports", target: str = "k = 20", extra: str = "") -> str:
    """The survey file."""
    return extra + SURVEY.format(method=method, target=target)


@pytest.fixture(params=["reports", "retention"])
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
