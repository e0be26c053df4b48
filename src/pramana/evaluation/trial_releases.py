"""What tables are off by in releases that are made to see, and thrown away.

The errors that a design foresees are those of the unbiased estimate. Where noise is strong analysts
get another by default, which is off by far less: how far can only be seen by trying.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import TypeAlias

import numpy as np

from pramana.analysis.counts import SMALL_ERROR
from pramana.base.processes import side_by_side
from pramana.engine.base import open_source
from pramana.errors import NotCovered, Notice, PramanaError, unheard
from pramana.evaluation.questions import CountedTable, answer_of, is_answerable, stated_tables
from pramana.methods.plan import Plan
from pramana.protecting import trial_release
from pramana.schema.opened_table import OpenedTable

MOST_RECORDS = 300_000
"""Larger tables are not tried: a release of them takes too long to be thrown away."""

SEED = 20
THREADS = 2
ANSWERS = 30
"""So many answers at least are compared with the truth: chance evens out over tables and draws."""

MOST_DRAWS = 10
FEW = 50_000
"""Above so many records one release tells enough: chance decides less over tables of many."""

SURELY = SMALL_ERROR / 2
"""Up to this expected error analysts get the unbiased estimate in any release."""

Errors: TypeAlias = Mapping[tuple[str, ...], float]
"""What each table is off by, as a share of the records."""

Seen: TypeAlias = Mapping[tuple[str, ...], Sequence[float]]
"""What each table was off by in each release that was made to see."""


def tried(plan: Plan, opened: OpenedTable) -> Errors:
    """The errors of the tables that a plan will be asked for, on average."""
    return on_average(seen(plan, opened))


def seen(plan: Plan, opened: OpenedTable) -> Seen:
    """What the tables that a plan will be asked for were off by, release by release."""
    return _all_seen([(plan, stated_tables(plan.schema))], opened)[0]


def trial_errors(
    plans: Sequence[tuple[Plan, Sequence[tuple[str, ...]]]], opened: OpenedTable
) -> list[Errors]:
    """Of each plan, the errors of the tables beside it, on average.

    No table is in it that a plan cannot answer; none at all where the records are too many.
    """
    return [on_average(own) for own in _all_seen(plans, opened)]


def on_average(found: Seen) -> Errors:
    """What each table was off by on average over the releases."""
    return {columns: float(np.mean(own)) for columns, own in found.items()}


def _all_seen(
    plans: Sequence[tuple[Plan, Sequence[tuple[str, ...]]]], opened: OpenedTable
) -> list[Seen]:
    if opened.rows > MOST_RECORDS:
        return [{} for _ in plans]
    # Notices speak of a release, and none is made.
    with unheard(Notice), side_by_side(THREADS) as pool:
        running = [
            pool.submit(copy_context().run, _seen, plan, opened, asked) for plan, asked in plans
        ]
        return [one.result() for one in running]


def draws_of(opened: OpenedTable, tables: int) -> int:
    """How many releases are made of a table to see what so many tables are off by."""
    return 1 if opened.rows > FEW else min(-(-ANSWERS // max(tables, 1)), MOST_DRAWS)


def default_errors(plan: Plan, opened: OpenedTable, unbiased: Errors) -> Errors:
    """What tables are off by on average as analysts get them, whose unbiased estimates are so.

    One release is off by more than another in both ways: how the two compare is known after a few.
    """
    if opened.rows > MOST_RECORDS or max(unbiased.values(), default=0.0) <= SURELY:
        return unbiased
    sums = {table: np.full(2, 1e-300) for table in unbiased}
    counted: dict[tuple[str, ...], CountedTable] = {}
    with unheard(Notice):
        truth = open_source(opened, schema=plan.schema)
        for draw in range(draws_of(opened, 1)):
            release = trial_release(truth, plan, seed=SEED + draw)
            for table, own in sums.items():
                answer = answer_of(release, truth, table, counted=counted)
                own += (answer.error, answer.unbiased_error)
    return {table: error * sums[table][0] / sums[table][1] for table, error in unbiased.items()}


def typical(errors: Errors, tables: Iterable[tuple[str, ...]]) -> float | None:
    """The error of a table in the middle of these: the mean without the best and worst quarter."""
    found = sorted(errors[table] for table in tables if table in errors)
    apart = len(found) // 4
    return float(np.mean(found[apart : len(found) - apart])) if found else None


def errors_of(plan: Plan, opened: OpenedTable, questions: Sequence[tuple[str, ...]]) -> Errors:
    """What the tables are off by that the plan answers; chance evens out over several releases."""
    return on_average(_seen(plan, opened, questions))


def _seen(plan: Plan, opened: OpenedTable, questions: Sequence[tuple[str, ...]]) -> Seen:
    """What the tables that the plan answers are off by in each of some releases."""
    asked = [table for table in questions if is_answerable(plan.schema, table)]
    enough = draws_of(opened, len(asked))
    found: dict[tuple[str, ...], list[float]] = {table: [] for table in asked}
    counted: dict[tuple[str, ...], CountedTable] = {}
    try:
        table = open_source(opened, schema=plan.schema)
        for draw in range(enough):
            release = trial_release(table, plan, seed=SEED + draw)
            for columns in asked:
                with suppress(NotCovered):  # of too many cells to be looked at
                    answer = answer_of(release, table, columns, counted=counted)
                    found[columns] += [] if answer.found is None else [answer.error]
    except PramanaError:
        return {}
    return {columns: own for columns, own in found.items() if own}
