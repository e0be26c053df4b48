"""Invented records are found where honest ones cannot be, and honest ones are left alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pramana.cli.app import main
from pramana.collect.definition import Definition, respond
from pramana.collect.folder import opened_store
from pramana.collect.manipulation import suspicions
from pramana.collect.store import Sent
from tests.collect.conftest import PERSON

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
    assert all("whatever is true" in one.sentence() for one in found)


def test_what_no_truth_explains_is_told_of_and_kept(
    survey_folder: Path, definition: Definition, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By status and when the survey is closed; every record is in the release all the same."""
    record = respond(definition, PERSON).spelled(widths=definition.channel.widths)
    with opened_store(survey_folder, definition) as store:
        store.accept([Sent(record, f"{at:064x}") for at in range(2000)])
    for command in (["status", str(survey_folder)],
                    ["close", str(survey_folder), "-o", str(tmp_path / "release")]):  # fmt: skip
        with pytest.raises(SystemExit):
            main(["collect", *command])
        told = capsys.readouterr()
        assert "than people who use the page can send" in " ".join((told.out + told.err).split())
    assert "holds 2,000 answers" in " ".join(told.out.split())
