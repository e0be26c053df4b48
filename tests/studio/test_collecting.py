"""A survey under way, watched in the studio."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pramana import api, collect
from pramana.cli.app import main
from tests.collect.conftest import survey_text
from tests.collect.test_closing import answered
from tests.studio.conftest import Visitor, words


def test_a_survey_is_watched_as_answers_come(visitor: Visitor, folder: Path) -> None:
    """How many, k now, which rises, and k expected; an interval for each answer."""
    source = folder / "survey.toml"
    source.write_text(survey_text("retention").replace("How we live", "How <b>we</b> live"))
    definition, _ = collect.new_survey(source, folder / "watched")
    listed = visitor.get("/surveys").text
    assert "How &lt;b&gt;we&lt;/b&gt; live" in listed
    told = words(visitor.get("/surveys/0/live").text)
    assert "0 of 5,000 expected have answered" in told
    assert "two people must have answered" in told
    reached = []
    for number in (30, 150):
        answered(folder / "watched", definition, number)
        seen = collect.live(folder / "watched", questions=["employed"])
        (table,) = seen.tables
        assert all(0 <= low <= share <= high <= 1 for _, share, low, high in table.rows)
        reached.append(seen.status.k or 0)
        told = words(visitor.get("/surveys/0/live").text)
        assert f"{number} of 5,000 expected have answered" in told
        assert f"1 in {math.floor(10 * seen.status.k) / 10:g} at most: the probability" in told
        assert "1 in 20 at most, if all expected people answer" in told
        assert "How do you get to work?" in told
    assert 1 < reached[0] < reached[1] < 20
    assert "collect status watched" in visitor.get("/surveys/0").text
    assert visitor.get("/surveys/9").status_code == 400
    with collect.answers(folder / "watched") as store:
        store.finish()
    assert "This survey is closed" in visitor.get("/surveys/0/live").text


def test_the_figures_are_those_of_a_release(tmp_path: Path) -> None:
    """The same estimates as of the folder that closing writes, as shares."""
    source = tmp_path / "survey.toml"
    source.write_text(survey_text("retention"))
    definition, _ = collect.new_survey(source, tmp_path / "survey")
    answered(tmp_path / "survey", definition, 300)
    seen = collect.live(tmp_path / "survey")
    with collect.answers(tmp_path / "survey") as store:
        release = collect.close_survey(definition, store, tmp_path / "release")
    for table in seen.tables:
        cells = release.crosstab(table.name).cells
        for (_, share, low, high), cell in zip(table.rows, cells, strict=True):
            for mine, own in ((share, "estimate"), (low, "low"), (high, "high")):
                assert abs(mine - min(max(cell[own] / 300, 0), 1)) < 1e-9


def test_looking_at_a_survey_makes_nothing(tmp_path: Path) -> None:
    """Neither the figures nor the command make a store where no answer came yet."""
    source = tmp_path / "survey.toml"
    source.write_text(survey_text("retention"))
    collect.new_survey(source, tmp_path / "survey")
    before = sorted((tmp_path / "survey").iterdir())
    assert collect.live(tmp_path / "survey").status.answers == 0
    with pytest.raises(SystemExit) as left:
        main(["collect", "status", str(tmp_path / "survey")])
    assert left.value.code == 0
    assert sorted((tmp_path / "survey").iterdir()) == before


def test_links_out_of_the_folder_are_not_listed(tmp_path: Path) -> None:
    """A linked survey, or one whose answers are a link; links within the folder are followed."""
    source = tmp_path / "survey.toml"
    source.write_text(survey_text("retention"))
    for name in ("outside", "folder"):
        (tmp_path / name).mkdir()
    definition, _ = collect.new_survey(source, tmp_path / "outside" / "hidden")
    answered(tmp_path / "outside" / "hidden", definition, 2)
    folder = tmp_path / "folder"
    for name in ("own", "borrowing"):
        collect.new_survey(source, folder / name)
    (folder / "borrowing" / "answers.sqlite").symlink_to(
        tmp_path / "outside" / "hidden" / "answers.sqlite"
    )
    (folder / "linked").symlink_to(tmp_path / "outside" / "hidden")
    (folder / "above").symlink_to(tmp_path / "outside")
    (folder / "second").symlink_to(folder / "own")
    assert [own.name for own in api.surveys(folder)] == ["own", "second"]
