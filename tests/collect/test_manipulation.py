"""Invented records are found where honest ones cannot be, and honest ones are left alone."""

from __future__ import annotations

from collections import Counter

from pramana.collect.definition import Definition, respond
from pramana.collect.manipulation import suspicions
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
