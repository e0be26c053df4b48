"""What tables are off by in releases that are made to see, and thrown away.

The errors that a design foresees are those of the unbiased estimate. Where noise is strong analysts
get another by default, which is off by far less: how far can only be seen by trying.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeAlias

import numpy as np

from pramana.assess.questions import answer_of, own_questions
from pramana.engines.choose import open_source
from pramana.errors import Notice, PramanaError
from pramana.methods.plan import Plan
from pramana.protecting import protect
from pramana.table.opened import OpenedTable

__all__ = ["MOST_RECORDS", "Errors", "all_tried", "tried", "typical"]

MOST_RECORDS = 300_000
"""Larger tables are not tried: a release of them takes too long to be thrown away."""

SEED = 20
THREADS = 2
ANSWERS = 30
"""So many answers at least are compared with the truth: chance evens out over tables and draws."""

MOST_DRAWS = 10
FEW = 50_000
"""Above so many records one release tells enough: chance decides less over tables of many."""

Errors: TypeAlias = Mapping[tuple[str, ...], float]
"""What each table is off by, as a share of the records."""


def tried(plan: Plan, opened: OpenedTable) -> Errors:
    """The errors of the tables that a plan will be asked for."""
    return all_tried([(plan, own_questions(plan.schema))], opened)[0]


def all_tried(
    plans: Sequence[tuple[Plan, Sequence[tuple[str, ...]]]], opened: OpenedTable
) -> list[Errors]:
    """Of each plan, the errors of the tables beside it.

    No table is in it that a plan cannot answer; none at all where the records are too many.
    """
    if opened.rows > MOST_RECORDS:
        return [{} for _ in plans]
    with warnings.catch_warnings(), ThreadPoolExecutor(THREADS) as pool:
        warnings.simplefilter("ignore", Notice)  # they speak of a release, and none is made
        running = [
            pool.submit(copy_context().run, _tried, plan, opened, asked) for plan, asked in plans
        ]
        return [one.result() for one in running]


def typical(errors: Errors, tables: Iterable[tuple[str, ...]]) -> float | None:
    """The error of a table in the middle of these: the mean without the best and worst quarter."""
    found = sorted(errors[table] for table in tables if table in errors)
    apart = len(found) // 4
    return float(np.mean(found[apart : len(found) - apart])) if found else None


def _tried(plan: Plan, opened: OpenedTable, questions: Sequence[tuple[str, ...]]) -> Errors:
    keys = {column.name for column in plan.schema.randomised}
    asked = [table for table in questions if set(table) <= keys]
    enough = 1 if opened.rows > FEW else min(-(-ANSWERS // max(len(asked), 1)), MOST_DRAWS)
    found: dict[tuple[str, ...], list[float]] = {table: [] for table in asked}
    try:
        table = open_source(opened, schema=plan.schema)
        for draw in range(enough):
            release = protect(table, plan, seed=SEED + draw)
            for columns in asked:
                answer = answer_of(release, table, columns)
                if answer.found is not None:
                    found[columns].append(answer.error)
    except PramanaError:
        return {}
    return {columns: float(np.mean(own)) for columns, own in found.items() if own}
