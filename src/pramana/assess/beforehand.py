"""What the owner wants to know of a plan before anything is released: its price, and other ways."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pramana.assess.questions import answer_as_it_stands, own_questions
from pramana.assess.ways import POOR, share_text, typical_error, ways_of
from pramana.errors import PramanaError
from pramana.methods.grouped import Grouped
from pramana.methods.plan import Plan
from pramana.randomness import Keystream
from pramana.table.opened import OpenedTable

__all__ = ["beforehand"]

SEED = 20
MOST_TABLES = 8


def beforehand(plan: Plan, opened: OpenedTable | None = None) -> Iterator[str]:
    """Sentences about what the wanted tables will be off by, groups, and better ways."""
    if isinstance(plan.method, Grouped):
        if opened is not None:
            yield from _of_groups(plan, plan.method, opened)
        return
    error = typical_error(plan)
    if error is None:
        return
    yield from _of_tables(plan)
    if error < POOR:
        return
    ways = ways_of(plan, opened=opened)
    for way in ways:
        yield f"Better at the same promise. {way.sentence()}"
    if not ways:
        yield "No change of a single column would help much: ask for less, such as a lower k."
    yield "pramana advise FILE --schema TOML tries every method on the tables that you ask for."


def _of_tables(plan: Plan) -> Iterator[str]:
    """The tables that the schema asks for, one by one."""
    assert plan.expected_error is not None  # noqa: S101 - the caller has looked
    errors = {frozenset(table): error for table, error in plan.expected_error.tables}
    stated = [(table, errors.get(frozenset(table))) for table in plan.schema.tables]
    known = [(table, error) for table, error in stated if error is not None]
    if known:
        shown = ", ".join(f"{'*'.join(t)} {share_text(e)}" for t, e in known[:MOST_TABLES])
        more = len(known) - MOST_TABLES
        rest = f" and {more} more" if more > 0 else ""
        yield f"Tables asked for are off by: {shown}{rest}."


def _of_groups(plan: Plan, method: Grouped, opened: OpenedTable) -> Iterator[str]:
    """Groups and price, found by forming the groups once; nothing is released."""
    k = int(getattr(plan.asked[0], "k", 2))
    made = method.regrouped(plan.schema, opened, k=k, keystream=Keystream.from_seed(SEED))
    sizes = np.asarray(made.sizes)
    yield (
        f"{len(sizes):,} groups of {sizes.min():,} to {sizes.max():,} records, "
        f"{np.median(sizes):,.0f} in the middle."
    )
    released = OpenedTable.of_arrow(made.table)
    errors = []
    for question in own_questions(plan.schema):
        columns = [plan.schema.column(name) for name in question]
        if any(column.domain is None for column in columns):
            continue
        try:
            errors.append(answer_as_it_stands(columns, released, opened).error)
        except PramanaError:
            continue
    if errors:
        typical = share_text(float(np.median(errors)))
        yield f"Of the keys alone, a typical table is off by {typical} of the records."
