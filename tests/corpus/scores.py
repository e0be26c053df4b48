"""Precision and recall of proposed roles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Score(NamedTuple):
    """Of one role: how often it is right where proposed, how often right where it is best."""

    precision: float
    recall: float
    columns: int


def scores(rows: Sequence[tuple[tuple[str, ...], str]]) -> dict[str, Score]:
    """For each role, from the accepted roles of each column and the proposed one."""
    found = {}
    for role in dict.fromkeys(accepted[0] for accepted, _ in rows):
        proposed = [role in accepted for accepted, own in rows if own == role]
        wanted = [own in accepted for accepted, own in rows if accepted[0] == role]
        found[role] = Score(
            sum(proposed) / max(len(proposed), 1), sum(wanted) / len(wanted), len(wanted)
        )
    return found
