"""What the owner wants to know of a plan before anything is released: its price, and other ways."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator

import numpy as np

from pramana.assess.questions import answer_as_it_stands, own_questions
from pramana.assess.ways import BETTER, POOR, share_text, typical_error, ways_of
from pramana.errors import PramanaError
from pramana.methods.errors_here import errors_here
from pramana.methods.expected_error import ExpectedError
from pramana.methods.grouped import Grouped
from pramana.methods.plan import Plan
from pramana.methods.steps import told_of
from pramana.randomness import Keystream
from pramana.table.opened import OpenedTable
from pramana.table.schema import CATEGORY_LIMIT

__all__ = ["beforehand"]

SEED = 20
MOST_TABLES = 8


def beforehand(
    plan: Plan,
    opened: OpenedTable | None = None,
    *,
    schema: str | None = None,
    table: str | None = None,
    reading: str = "",
) -> Iterator[str]:
    """Sentences about what the wanted tables will be off by, groups, and better ways.

    Where schema and table are told by their files, and how the table is read by the options for
    it, ways are commands to paste.
    """
    if isinstance(plan.method, Grouped):
        if opened is not None:
            yield from _of_groups(plan, plan.method, opened)
        return
    error = typical_error(plan)
    if error is None:
        return
    yield from _of_tables(plan, None if opened is None else errors_here(plan, opened))
    yield from _not_asked(plan)
    yield from _unnamed(plan, schema)
    if error < POOR:
        return
    ways = ways_of(plan, opened=opened)
    read = "" if table is None else f" --table {shlex.quote(table)}{reading}"
    for way in ways:
        yield f"Better at the same promise. {way.sentence(schema, read)}"
    if not ways:
        yield "No change of a single column would help much: ask for less, such as a lower k."
    words = shlex.join(["pramana", "advise", table or "FILE", "--schema", schema or "TOML"])
    yield f"{words}{reading} tries every method on the tables that you ask for."


def _not_asked(plan: Plan) -> Iterator[str]:
    """Pairs of columns that no report holds, as they have too many cells."""
    if plan.method.name != "reports" or plan.expected_error is None or plan.expected_error.asked:
        return
    told = {frozenset(table) for table, _ in plan.expected_error.tables}
    names = [column.name for column in plan.schema.randomised]
    left = [pair for pair in itertools.combinations(names, 2) if frozenset(pair) not in told]
    if left:
        pairs = ", ".join("*".join(pair) for pair in left)
        yield (
            f"Nobody is asked for {pairs} together: more than {CATEGORY_LIMIT:,} cells. Coarsen "
            "one of them for a table of both."
        )


def _unnamed(plan: Plan, schema: str | None) -> Iterator[str]:
    """To paste: a schema without the columns that no table names."""
    names = plan.figures.get("unnamed", ())
    if names and schema is not None:
        words = ["pramana", "schema", schema, "--without", ",".join(names), "-o", BETTER]
        yield f"Without what no table names: {shlex.join(words)}"


def _of_tables(plan: Plan, here: ExpectedError | None) -> Iterator[str]:
    """The tables that will be asked for, or of two columns; on these data where there are."""
    expected = here or plan.expected_error
    assert expected is not None  # noqa: S101 - the caller has looked
    stated = {frozenset(table) for table in plan.wanted}
    stated |= (
        {frozenset(told_of(plan.schema, table)) for table in plan.wanted} if not here else set()
    )
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
