"""What the owner wants to know of a plan before anything is released: its price, and other ways."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pramana.assess.questions import answer_as_it_stands, own_questions
from pramana.assess.ways import POOR, share_text, typical_error, ways_of
from pramana.errors import PramanaError
from pramana.methods.errors_here import errors_here
from pramana.methods.expected_error import ExpectedError
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
    yield from _of_tables(plan, None if opened is None else errors_here(plan, opened))
    if error < POOR:
        return
    ways = ways_of(plan, opened=opened)
    for way in ways:
        yield f"Better at the same promise. {way.sentence()}"
    if not ways:
        yield "No change of a single column would help much: ask for less, such as a lower k."
    yield "pramana advise FILE --schema TOML tries every method on the tables that you ask for."


def _of_tables(plan: Plan, here: ExpectedError | None) -> Iterator[str]:
    """The tables that the schema asks for, or of two columns; on these data where there are."""
    expected = here or plan.expected_error
    assert expected is not None  # noqa: S101 - the caller has looked
    stated = {frozenset(table) for table in plan.schema.tables}
    wanted = [table for table, _ in expected.tables if frozenset(table) in stated]
    pairs: list[tuple[str, ...]] = [table for table, _ in expected.tables if len(table) == 2]
    if not wanted and (here is None or not pairs):
        return
    what = "Tables asked for" if wanted else "Two-way tables"
    where = "" if here is None else "On these data, as told to you alone: "
    wanted, errors = wanted or pairs, dict(expected.tables)
    shown = ", ".join(f"{'*'.join(t)} {share_text(errors[t])}" for t in wanted[:MOST_TABLES])
    more = len(wanted) - MOST_TABLES
    yield f"{where}{what} are off by: {shown}{f' and {more} more' if more > 0 else ''}."


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
