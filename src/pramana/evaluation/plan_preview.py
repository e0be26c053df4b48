"""What the owner wants to know of a plan before anything is released: its price, and other ways."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from pramana.base.randomness import Keystream
from pramana.base.text import as_table
from pramana.errors import PramanaError
from pramana.evaluation.cli_hints import CliHints, Hint
from pramana.evaluation.questions import (
    Errors,
    Seen,
    answer_at_face_value,
    default_errors,
    on_average,
    seen,
    stated_tables,
    trial_errors,
    typical,
)
from pramana.evaluation.schema_suggestions import (
    POOR,
    SchemaSuggestion,
    asking,
    share_text,
    suggest_changes,
    typical_error,
)
from pramana.methods.choice import alternative_plan, alternative_summary
from pramana.methods.data_errors import errors_on_data
from pramana.methods.expected_error import ExpectedError, randomised_in
from pramana.methods.microaggregated import Grouped
from pramana.methods.number_errors import grid_words, mean_error_sentence, mean_errors
from pramana.methods.plan import Plan
from pramana.release.kinds import KINDS
from pramana.schema.opened_table import OpenedTable
from pramana.schema.origins import Provenance
from pramana.schema.schema import CATEGORY_LIMIT

SEED = 20
MOST_TABLES = 8
CLEARLY = 1.15
HERE = "On these data, as told to you alone: "


def preview_plan(
    plan: Plan, opened: OpenedTable | None = None, *, hints: CliHints | None = None
) -> Iterator[Hint]:
    """Sentences about what the wanted tables will be off by, groups, and better ways.

    Without the table they rest on the schema and on expected errors alone. Where it is known how
    files were named, ways come with commands to paste.
    """
    if isinstance(plan.method, Grouped):
        if opened is not None:
            yield from map(Hint, _of_groups(plan, plan.method, opened))
        return
    plan = asking(plan)
    if opened is not None:
        told = mean_error_sentence(mean_errors(plan, opened), here=True)
        yield from () if told is None else (Hint(f"{HERE}{told[0].lower()}{told[1:]}"),)
    yield from map(Hint, grid_words(plan))
    error = typical_error(plan)
    if error is None:
        return
    draws: Seen = {} if opened is None else seen(plan, opened)
    found = on_average(draws)
    here = None if opened is None else errors_on_data(plan, opened)
    yield from map(Hint, _of_tables(plan, here, draws))
    yield from map(Hint, _not_asked(plan))
    yield from _unnamed(plan, here, opened, hints)
    yield from _instead(plan, opened, found, hints)
    if (typical(found, found) or error) >= POOR:
        yield from _better(suggest_changes(plan, opened=opened, before=found), hints)


def _instead(
    plan: Plan, opened: OpenedTable | None, found: Errors, hints: CliHints | None
) -> Iterator[Hint]:
    """What the same promise costs by another method, where that is less."""
    other = alternative_plan(plan)
    if other is None:
        return
    way = f"--method {other.method.name}"
    if hints is not None and found:
        hints = replace(hints, origin=Provenance.TRIALS)
    command = "" if hints is None else hints.otherwise().of("design", *way.split())
    if not found or opened is None:
        said = alternative_summary(plan, other)
        yield from () if said is None else (Hint(said, command),)
        return
    theirs = trial_errors([(other, tuple(found))], opened)[0]
    error, was = typical(theirs, theirs), typical(found, theirs)
    if error is not None and was is not None and error < was:
        yield Hint(
            f"By {way}, which {other.method.instead}, a typical table is off by "
            f"{share_text(error)} instead of {share_text(was)}.",
            command,
        )


def _better(ways: Sequence[SchemaSuggestion], hints: CliHints | None) -> Iterator[Hint]:
    spoken = [Hint(f"{way.gain} {way.how}") for way in ways]
    for one in spoken if hints is None else hints.ways(ways):
        yield Hint(f"Better at the same promise. {one.words}", one.command)
    if not ways:
        yield Hint("No change of a single column would help much: ask for less, such as a lower k.")
    if hints is None or hints.table is not None:
        command = "" if hints is None else hints.advice()
        yield Hint("Every method can be tried on the tables that you ask for.", command)


def _not_asked(plan: Plan) -> Iterator[str]:
    """Pairs of columns that no report holds, as they have too many cells."""
    if KINDS[plan.method.kind].whole or plan.expected_error is None or plan.expected_error.asked:
        return
    told = {frozenset(table) for table, _ in plan.expected_error.tables}
    names = [column.name for column in plan.schema.randomised]
    left = [pair for pair in itertools.combinations(names, 2) if frozenset(pair) not in told]
    if left:
        pairs = ", ".join(as_table(pair, marks="*,") for pair in left)
        yield (
            f"Nobody is asked for {pairs} together: more than {CATEGORY_LIMIT:,} cells. Coarsen "
            "one of them for a table of both."
        )


def _unnamed(
    plan: Plan, here: ExpectedError | None, opened: OpenedTable | None, hints: CliHints | None
) -> Iterator[Hint]:
    """Columns that no table names: what they are off by, and a schema without them to paste."""
    names = plan.statistics.get("unnamed", ())
    if names and here is not None and opened is not None:
        alone: Errors = {
            own: error for own, error in here.tables if {*own} <= {*names} and len(own) == 1
        }
        errors = {own: [error] for own, error in default_errors(plan, opened, alone).items()}
        yield Hint(f"{HERE}Columns in no table are off by: {_shown(errors)}.")
    if names and hints is not None:
        yield Hint("Without what no table names:", hints.without(names))


def _of_tables(plan: Plan, here: ExpectedError | None, draws: Seen) -> Iterator[str]:
    """The tables that will be asked for, or of two columns; on these data where there are."""
    expected = here or plan.expected_error
    assert expected is not None  # noqa: S101 - the caller has looked
    stated = {frozenset(table) for table in plan.wanted}
    stated |= (
        {frozenset(randomised_in(plan.schema, table)) for table in plan.wanted}
        if not here
        else set()
    )
    foreseen = {frozenset(table) for table, _ in expected.tables}
    wanted = [table for table, _ in expected.tables if frozenset(table) in stated]
    wanted = wanted or [table for table in draws if frozenset(table) in stated]
    pairs: list[tuple[str, ...]] = [table for table, _ in expected.tables if len(table) == 2]
    if not draws and not wanted and (here is None or not pairs):
        return
    what = "Tables asked for" if wanted else "Two-way tables"
    where = HERE if here is not None or draws else ""
    told = draws or {table: [dict(expected.tables)[table]] for table in wanted or pairs}
    yield f"{where}{what} are off by{_made_to_see(draws)}: {_shown(told, of=len(wanted or pairs))}."
    found = on_average(draws)
    # What no report holds comes from a model: it has no unbiased estimate.
    middle = typical(found, [table for table in found if frozenset(table) in foreseen])
    unbiased = typical_error(replace(plan, expected_error=expected))
    if middle is not None and unbiased is not None and unbiased > CLEARLY * middle:
        yield (
            f"A typical one is off by {share_text(middle)} as analysts get it who ask for nothing "
            f"else; its unbiased estimate (--method unbiased) is off by {share_text(unbiased)}."
        )


def _made_to_see(draws: Seen) -> str:
    """In how many releases it was found: what is told of one is the least and the most."""
    number = max(map(len, draws.values()), default=0)
    if number < 2:
        return ", in one release made to see" if number else ""
    return f", from the least to the most in {number} releases made to see"


def _shown(errors: Seen, *, of: int = 0) -> str:
    """The first tables with their errors, and how many more there are."""
    names = list(errors)[:MOST_TABLES]
    shown = ", ".join(f"{as_table(t, marks='*,')} {_span(errors[t])}" for t in names)
    more = max(of, len(errors)) - len(names)
    return f"{shown} and {more} more" if more > 0 else shown


def _span(errors: Sequence[float]) -> str:
    """From the least to the most, where they differ in words."""
    ends = dict.fromkeys((share_text(min(errors)), share_text(max(errors))))
    return " to ".join(ends)


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
    for question in stated_tables(plan.schema):
        columns = [plan.schema.column(name) for name in question]
        if any(column.domain is None for column in columns):
            continue
        try:
            errors.append(answer_at_face_value(columns, released, opened).error)
        except PramanaError:
            continue
    if errors:
        typical = share_text(float(np.median(errors)))
        yield f"Of the keys alone, a typical table is off by {typical} of the records."
