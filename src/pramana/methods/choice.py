"""From a schema and targets to a plan: which method, which people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pramana.base.rounding import require_choice
from pramana.base.text import percent
from pramana.engine.choose import open_source
from pramana.errors import Infeasible, InputError, InvalidNumber, InvalidSchema, PramanaError
from pramana.guarantees.base import Guarantee
from pramana.methods.base import METHODS, Method, require_options
from pramana.methods.context import DesignContext, require_coded, require_numbers
from pramana.methods.expected_error import ExpectedError
from pramana.methods.plan import Plan
from pramana.schema.domains import Bins
from pramana.schema.households import largest_household, require_unlinked
from pramana.schema.schema import Schema
from pramana.types import TableLike

NO_ERRORS = ExpectedError(())

CLEARLY = 0.95
"""Another method is chosen where its error is below this share of that of the usual one."""


def design(
    schema: Schema,
    *guarantees: Guarantee,
    data: TableLike | None = None,
    records: int | None = None,
    smallest_group: int | None = None,
    method: str | Method | None = None,
    looked_at: bool = False,
) -> Plan:
    """Find what to do to each record so that every guarantee asked is met at the least loss.

    Args:
        schema: what each column is.
        guarantees: targets; all are met at once.
        data: the true table, where there is one.
        records: the number of records, where there are no data yet.
        smallest_group: without data: the fewest records that share the values of the columns that
            are released as they are and may be known (role public, strata).
        method: a method with its options, such as ``pm.Retention(spread="equal")``, or the name of
            one of ``METHODS``. Where not stated, the usual one for the guarantees asked, or reports
            where these are expected to be clearly less in error on the tables that the schema
            states, or on all pairs. The plan says which, and what the other would cost.
        looked_at: that every value will be looked at anyway, by who protects at once: values that
            the schema does not list are then refused there and not here.
    """
    chosen = _chosen(method, guarantees)
    if data is not None:
        context = design_context(
            schema, data, keep_numbers=chosen.accepts_numbers, looked_at=looked_at
        )
    elif records is not None:
        context = DesignContext.expected(_settled(schema), records, smallest_group)
    else:
        raise InvalidNumber("A design needs the number of records, or the data to count them.")
    return design_for(context, *guarantees, method=method)


def design_context(
    schema: Schema, data: TableLike, *, keep_numbers: bool = False, looked_at: bool = False
) -> DesignContext:
    """Those of a table, to design for: once for all targets that are tried.

    Args:
        schema: what each column is.
        data: the true table.
        keep_numbers: that numbers without bins stay numbers, for methods that take them.
        looked_at: that every value will be looked at anyway.
    """
    schema = _settled(schema)
    opened = open_source(data, schema=schema)
    context = DesignContext.found(schema, opened, keep_numbers=keep_numbers)
    if looked_at:
        require_numbers(context.schema, opened)
    else:
        require_coded(context.schema, opened)
    require_unlinked(context.schema, opened)
    return context


def _settled(schema: Schema) -> Schema:
    """Without what a description remembers of the table, which a plan must not."""
    if not isinstance(schema, Schema):
        kind = type(schema).__name__
        raise InputError(f"A schema is an object, such as Schema.load('s.toml'), got {kind}.")
    return settle_bins(
        Schema(
            schema.columns,
            schema.impossible,
            schema.strata,
            schema.choices,
            schema.tables,
            schema.household,
            schema.replicates,
        )
    )


def design_for(
    context: DesignContext, *guarantees: Guarantee, method: str | Method | None = None
) -> Plan:
    """The plan for people who were looked at: what was counted of them is not counted again."""
    chosen = _chosen(method, guarantees)
    plan = chosen.design(context, guarantees)
    plan = _less_in_error(plan, context) if method is None else plan
    return _with_households(plan, context)


def estimate_changes(
    context: DesignContext, *guarantees: Guarantee, method: str | Method | None = None
) -> tuple[float, float] | None:
    """Between how many records a plan would change, by a rule of thumb that needs no search.

    ``None`` where the plan itself is found at once.
    """
    return _chosen(method, guarantees).estimate_changes(context, guarantees)


def _with_households(plan: Plan, context: DesignContext) -> Plan:
    """The plan with how many people the largest household has, where the schema numbers them."""
    if context.schema.household is None or context.opened is None:
        return plan
    members = largest_household(context.opened, context.schema.household)
    return replace(plan, statistics={**plan.statistics, "largest_household": members})


def _less_in_error(plan: Plan, context: DesignContext) -> Plan:
    """This plan, or one of another method that keeps the same promise with less error.

    The usual one answers questions that nobody has thought of, so that another must be clearly
    better on those that were.
    """
    alternative = alternative_method(plan)
    if alternative is None or isinstance(plan.method, alternative):
        return plan
    if len(context.schema.randomised) == 1:  # a report of it is the whole record
        return plan
    try:
        other = alternative().design(context, plan.asked)
    except PramanaError:
        return plan
    theirs = dict((other.expected_error or NO_ERRORS).tables)
    stated = () if other.expected_error is None else other.expected_error.asked
    tables = [*stated] or [table for table in theirs if len(table) > 1] or list(theirs)
    foreseen = plan.method.errors_of(plan, tables)
    if foreseen is None:
        return plan
    own = _mean(foreseen)
    instead = _mean([theirs[table] for table in tables])
    chosen, left = (other, plan) if instead < CLEARLY * own else (plan, other)
    least, more = (instead, own) if chosen is other else (own, instead)
    which = "the tables asked for" if stated else "two-way tables"
    choice = (
        f"Method {chosen.method.name} was chosen: {which} are off by about {percent(least, 2)} of "
        f"the records on average, and by {_at_most_all(more)} for the same promise with "
        f"--method {left.method.name}."
        if least < 1
        else f"Method {chosen.method.name} was chosen: unbiased estimates of {which} are off by "
        f"{_times(more / least)} as much for the same promise with --method {left.method.name}."
    )
    return replace(chosen, statistics={**chosen.statistics, "choice": choice})


def _at_most_all(share: float) -> str:
    """A share of records; beyond all of them a number would tell nothing.

    >>> _at_most_all(0.0861), _at_most_all(5.3)
    ('8.6 %', 'more than 100 %')
    """
    return percent(share, 2) if share < 1 else "more than 100 %"


def _times(ratio: float) -> str:
    return f"{ratio:.2g} times" if ratio < 100 else "more than a hundred times"


def _mean(errors: Sequence[float]) -> float:
    return math.fsum(errors) / len(errors)


def alternative_method(plan: Plan) -> type[Method] | None:
    """The first method that is weighed against others and aims at all that this plan promises."""
    asked = {own.name for own in plan.asked}
    return next((m for m in METHODS.values() if m.instead and asked <= set(m.aims)), None)


def alternative_plan(plan: Plan) -> Plan | None:
    """The same promise by another method; ``None`` where none can keep it, or it was looked at."""
    if plan.expected_error is None or "choice" in plan.statistics:
        return None
    alternative = alternative_method(plan)
    if alternative is None or isinstance(plan.method, alternative):
        return None
    try:
        return design(
            plan.schema,
            *plan.asked,
            records=plan.records,
            smallest_group=plan.anonymity_set,
            method=alternative(),
        )
    except PramanaError:
        return None


def alternative_summary(plan: Plan, other: Plan | None = None) -> str | None:
    """What another method would give for the same promise; ``None`` where none can keep it.

    One sentence with the expected error of a typical two-way table by both methods: the median
    of those that will be asked for, or of all pairs.
    """
    other = other or alternative_plan(plan)
    if other is None or plan.expected_error is None:
        return None
    theirs = {frozenset(table): e for table, e in (other.expected_error or NO_ERRORS).tables}
    asked = {frozenset(table) for table in plan.schema.tables}
    pairs = [
        (error, theirs[frozenset(table)], " by ".join(table))
        for table, error in plan.expected_error.tables
        if len(table) == 2 and frozenset(table) in theirs
    ]
    wanted = [pair for pair in pairs if frozenset(pair[2].split(" by ")) in asked] or pairs
    if not wanted:
        return None
    own, instead, name = sorted(wanted)[len(wanted) // 2]
    return (
        f"A two-way table of {name} is off by about {percent(own, 2)} of the records here, and by "
        f"{percent(instead, 2)} for the same promise with --method {other.method.name}, which "
        f"{other.method.instead}."
    )


def settle_bins(schema: Schema) -> Schema:
    """Bins of columns that are not randomised: honoured where sensitive, refused elsewhere.

    An anonymity set is counted by the values of known columns, and weights are added up: bins
    there would be another column.
    """
    for column in schema.released_as_is:
        own = column.binned and column.name not in schema.strata
        if isinstance(column.domain, Bins) and not own:
            what = "a stratum" if column.name in schema.strata else f"role {column.role}"
            raise InvalidSchema(
                f"The bins of '{column.name}' would not be used: it is {what} and released as it "
                "is. Randomise it, give it role sensitive (binned, not randomised), cut it "
                "beforehand, or take the bins out.",
                column=column.name,
            )
    return schema.replace_columns(
        replace(column, missing="keep")
        for column in (*schema.binned, *schema.listed)
        if column.missing is None
    )


def usual_method(asked: Sequence[str]) -> type[Method]:
    """The first method that aims at all that is asked, by the names of guarantees."""
    for method in METHODS.values():
        if set(asked) <= set(method.aims):
            return method
    aims = (f"{name} ({', '.join(m.aims)})" for name, m in METHODS.items() if m.aims)
    raise Infeasible(
        f"No method aims at {' and '.join(asked)} together; methods and their aims: "
        f"{', '.join(aims)}."
    )


def _chosen(method: str | Method | None, asked: Sequence[Guarantee]) -> Method:
    for one in asked:
        # A protocol asks for its members one by one: who inherits from it need not be asked.
        if Guarantee not in type(one).__mro__ and not isinstance(one, Guarantee):
            raise InputError(f"A target is a guarantee, such as PkAnonymity(k=5), got {one!r}.")
    if method is None:
        return usual_method([guarantee.name for guarantee in asked])()
    if not isinstance(method, str):
        require_options(method)
        return method
    require_choice("method", method, METHODS)
    return METHODS[method]()
