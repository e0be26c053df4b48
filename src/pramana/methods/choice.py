"""Design a plan: complete the schema, choose the method, and compare it with an alternative.

``Guide`` chooses the number of bins N and gamma from a grid of measured accuracies [Dowd, Sec. 7]:
with a range of gamma alone, for each gamma the N of the highest accuracy, of these the least N;
with an accuracy, of all points that reach it the least N, of these the least gamma. Smaller N means
smaller matrices, smaller gamma more privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from pramana.base.rounding import require_choice, require_number
from pramana.base.text import percent, text_up
from pramana.engine.base import open_source
from pramana.errors import (
    Infeasible,
    InputError,
    InvalidNumber,
    InvalidSchema,
    NotCovered,
    PramanaError,
)
from pramana.guarantees.base import Guarantee
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.base import METHODS, Method, require_options
from pramana.methods.context import DesignContext, require_coded, require_numbers
from pramana.methods.plan import Plan
from pramana.schema.describe import settle_missing
from pramana.schema.domains import Bins
from pramana.schema.households import largest_household, require_unlinked
from pramana.schema.origins import Provenance
from pramana.schema.schema import Schema, origin_named
from pramana.types import Form, TableLike

CLEARLY = 0.95
"""The alternative is chosen if its error is below this share of the default method's error."""


def design(
    schema: Schema,
    *guarantees: Guarantee,
    data: TableLike | None = None,
    records: int | None = None,
    smallest_group: int | None = None,
    method: str | Method | None = None,
    looked_at: bool = False,
    origin: Provenance | str = Provenance.DECLARED,
) -> Plan:
    """Find what to do to each record so that every guarantee asked is met at the least loss.

    Args:
        schema: what each column is.
        guarantees: targets; all are met at once.
        data: the original table, if there is one.
        records: the number of records, if there are no data yet.
        smallest_group: without data: the smallest number of records that agree in the known columns
            released unchanged (role public, strata).
        method: a method with its options, such as ``pm.Retention(spread="equal")``, or the name of
            one of ``METHODS``. By default the first method for the guarantees asked, or attribute
            sampling if its expected error is clearly smaller on the tables of the schema, or on
            all pairs of columns. The plan reports the choice and the error of the other method.
        looked_at: that the caller checks every value later; values outside the schema are then
            refused there and not here.
        origin: where method, options and targets come from: ``declared``, or ``trials`` if they
            were chosen by trials on these data. The certificate states it, because no epsilon
            covers a choice by the data. The choice made here depends on the schema, the number of
            records and the anonymity set of columns released unchanged, and on no other value.
    """
    _require_schema(schema)
    schema = replace(schema, origin=Provenance.weakest(schema.origin, origin_named(origin)))
    chosen = _chosen(method, guarantees)
    if data is not None:
        keep_numbers = chosen.accepts_numbers
        context = design_context(schema, data, keep_numbers=keep_numbers, looked_at=looked_at)
    elif records is not None:
        context = DesignContext.expected(settle_bins(schema.bare()), records, smallest_group)
    else:
        raise InvalidNumber("A design needs the number of records, or the data to count them.")
    return design_for(context, *guarantees, method=method)


def design_context(
    schema: Schema, data: TableLike, *, keep_numbers: bool = False, looked_at: bool = False
) -> DesignContext:
    """The context of a table, which serves designs for any number of targets.

    Args:
        schema: what each column is.
        data: the original table.
        keep_numbers: that numbers without bins stay numbers, for methods that accept them.
        looked_at: that the caller checks every value later.
    """
    _require_schema(schema)
    schema = settle_bins(schema.bare())
    opened = open_source(data, schema=schema)
    context = DesignContext.completed(schema, opened, keep_numbers=keep_numbers)
    if looked_at:
        require_numbers(context.schema, opened)
    else:
        require_coded(context.schema, opened)
    require_unlinked(context.schema, opened)
    return context


def design_for(
    context: DesignContext, *guarantees: Guarantee, method: str | Method | None = None
) -> Plan:
    """The plan for a context; what was counted of its table is not counted again."""
    chosen = _chosen(method, guarantees)
    grids = [column.name for column in context.schema.columns if column.gridded]
    if grids and chosen.data_dependent:
        raise NotCovered(
            "Method {chosen} depends on which values occur, and '{column}' is rounded at random "
            "to a grid. Use retention or attribute-sampling, or put it in bins.",
            column=grids[0],
            chosen=chosen.name,
        )
    if method is None and len(context.schema.randomised) > 1:
        plan = _most_accurate(chosen, context, guarantees)
    else:  # an attribute set of one column is the whole record
        plan = chosen.design(context, guarantees)
    if context.schema.household is None or context.opened is None:
        return plan
    members = largest_household(context.opened, context.schema.household)
    return replace(plan, statistics={**plan.statistics, "largest_household": members})


def estimate_changes(
    context: DesignContext, *guarantees: Guarantee, method: str | Method | None = None
) -> tuple[float, float] | None:
    """Bounds on how many records a plan changes; ``None`` if the design itself is quick."""
    return _chosen(method, guarantees).estimate_changes(context, guarantees)


def usual_method(asked: Sequence[str]) -> type[Method]:
    """The first method that aims at all guarantees of these names."""
    for method in METHODS.values():
        if set(asked) <= set(method.aims):
            return method
    aims = (f"{name} ({', '.join(m.aims)})" for name, m in METHODS.items() if m.aims)
    raise Infeasible(
        "No method aims at {asked} together; methods and their aims: {aims}.",
        asked=" and ".join(asked),
        aims=", ".join(aims),
    )


def settle_bins(schema: Schema) -> Schema:
    """Refuse bins of unchanged columns, unless sensitive; fill in policies for missing values."""
    for column in schema.released_as_is:
        used = column.binned and column.name not in schema.strata
        if isinstance(column.domain, Bins) and not used:
            what = "a stratum" if column.name in schema.strata else f"role {column.role}"
            raise InvalidSchema(
                "The bins of '{column}' would not be used: it is {what} and released unchanged. "
                "Randomise it, give it role sensitive (binned, not randomised), cut it "
                "beforehand, or take the bins out.",
                column=column.name,
                what=what,
            )
    kept = [c for c in (*schema.binned, *schema.listed) if c.missing is None]
    schema = schema.replace_columns(replace(column, missing="keep") for column in kept)
    return settle_missing(schema)


def _require_schema(schema: Schema) -> None:
    if not isinstance(schema, Schema):
        kind = type(schema).__name__
        raise InputError(
            "A schema is an object, such as Schema.load('s.toml'), got {kind}.", kind=kind
        )


def _chosen(method: str | Method | None, asked: Sequence[Guarantee]) -> Method:
    for target in asked:
        # The structural check of a protocol is slow: subclasses are recognised by their bases.
        if Guarantee not in type(target).__mro__ and not isinstance(target, Guarantee):
            raise InputError(
                "A target is a guarantee, such as PkAnonymity(k=5), got {target!r}.", target=target
            )
    if method is None:
        return usual_method([guarantee.name for guarantee in asked])()
    if not isinstance(method, str):
        require_options(method)
        return method
    require_choice("method", method, METHODS)
    return METHODS[method]()


# -- alternatives ----------------------------------------------------------------------------------


def alternative_methods(plan: Plan) -> list[type[Method]]:
    """The methods for comparison that aim at all targets of a plan."""
    asked = {target.name for target in plan.asked}
    return [method for method in METHODS.values() if method.instead and asked <= set(method.aims)]


def _most_accurate(default: Method, context: DesignContext, asked: Sequence[Guarantee]) -> Plan:
    """The plan of the default method, or of another if its expected error is clearly smaller.

    The default method serves tables that nobody has thought of yet, so that a small gain on the
    tables of the schema is not enough.
    """
    if default.data_dependent:
        return _with_choice(default.design(context, asked), context)
    drafts = context.for_drafts()
    return context.completed_draft(_with_choice(default.design(drafts, asked), drafts))


def _with_choice(plan: Plan, context: DesignContext) -> Plan:
    """The most accurate plan, with a sentence about the error of others where there are any."""
    others = []
    for method in alternative_methods(plan):
        if method is not type(plan.method):
            try:
                other = method().design(context, plan.asked)
            except PramanaError:
                continue
            if other.expected_error is not None:
                others.append((dict(other.expected_error.tables), other))
    if not others:
        return plan
    first_errors, first = others[0]
    stated = first.expected_error.asked if first.expected_error else ()
    tables = [*stated] or [table for table in first_errors if len(table) > 1] or [*first_errors]
    tables = [table for table in tables if all(table in errors for errors, _ in others)]
    errors = plan.method.errors_of(plan, tables)
    if not tables or errors is None:
        return plan
    ranked = [(math.fsum(errors) / len(errors), plan)]
    for by_table, other in others:
        error = math.fsum(by_table[table] for table in tables) / len(tables)
        better = error < CLEARLY * ranked[0][0]
        ranked.insert(0 if better else len(ranked), (error, other))
    (least, chosen), *rest = ranked
    which = "the planned tables" if stated else "two-way tables"
    costs = []
    for error, other in rest:
        if least >= 1:
            cost = f"{error / least:.2g} times" if error < 100 * least else "over 100 times"
            cost += " as large"
        else:
            cost = percent(error, 2) if error < 1 else "more than 100 %"
        costs.append(f"{cost} with --method {other.method.name}")
    words = f"The mean expected error of {which} is about {percent(least, 2)} of the records, and "
    if least >= 1:
        words = f"The mean expected error of unbiased estimates of {which} is "
    choice = (
        f"Method {chosen.method.name} was chosen. {words}{' and '.join(costs)} at the same "
        "guarantee."
    )
    return replace(chosen, statistics={**chosen.statistics, "choice": choice})


def alternative_plan(plan: Plan) -> Plan | None:
    """The plan of the alternative method for the same targets; ``None`` if there is no other."""
    alternative = next(iter(alternative_methods(plan)), None)
    if plan.expected_error is None or "choice" in plan.statistics or alternative is None:
        return None
    if isinstance(plan.method, alternative):
        return None
    with suppress(PramanaError):
        return design(plan.schema, *plan.asked, records=plan.records,
                      smallest_group=plan.anonymity_set, method=alternative())  # fmt: skip
    return None


def alternative_summary(plan: Plan, other: Plan | None = None) -> str | None:
    """A sentence that compares a typical two-way table with that of the alternative."""
    other = other or alternative_plan(plan)
    if other is None or plan.expected_error is None or other.expected_error is None:
        return None
    other_errors = {frozenset(table): error for table, error in other.expected_error.tables}
    stated = {frozenset(table) for table in plan.schema.tables}
    pairs = [
        (error, other_errors[frozenset(table)], " by ".join(table), frozenset(table) in stated)
        for table, error in plan.expected_error.tables
        if len(table) == 2 and frozenset(table) in other_errors
    ]
    wanted = [pair for pair in pairs if pair[-1]] or pairs
    if not wanted:
        return None
    error, other_error, name, _ = sorted(wanted)[len(wanted) // 2]
    return (
        f"The expected error of a two-way table of {name} is about {percent(error, 2)} of the "
        f"records, and {percent(other_error, 2)} for the same guarantee with --method "
        f"{other.method.name}, which {other.method.instead}."
    )


# -- bins and gamma --------------------------------------------------------------------------------
GAMMAS = tuple(range(2, 22))
BINS = (5, 10, 15, *range(20, 101, 10))
"""The 240 combinations that the paper tries."""


@dataclass(frozen=True)
class GridPoint:
    """One combination of gamma and bins, with a learner's accuracy and the error of estimates."""

    gamma: float
    bins: int
    accuracy: float
    error: float

    @property
    def entropy(self) -> float:
        """Bits of the matrix [Dowd, Sec. 5.2].

        >>> round(GridPoint(gamma=5, bins=10, accuracy=0.8, error=0.1).entropy, 4)
        2.9781
        """
        return UniformMixture.of(tuple(range(self.bins)), gamma=self.gamma).entropy

    def to_json(self) -> Form:
        """One row of the table."""
        return asdict(self) | {"entropy": self.entropy}


@dataclass(frozen=True)
class Guide:
    """The grid, and how to choose from it."""

    points: tuple[GridPoint, ...]

    def __post_init__(self) -> None:
        if not self.points:
            raise InvalidNumber("A guide needs at least one combination of gamma and N.")

    def choose(
        self, *, gammas: tuple[float, float] = (5, 12), accuracy: float | None = None
    ) -> GridPoint:
        """The combination to use.

        Args:
            gammas: the least and the greatest gamma that will do; the paper suggests 5 to 12.
            accuracy: the accuracy to reach; where no point does, the highest is taken.
        """
        low, high = gammas
        inside = [point for point in self.points if low <= point.gamma <= high]
        if not inside:
            tried = [point.gamma for point in self.points]
            raise Infeasible(
                "No gamma between {low:g} and {high:g} was tried; the grid has {least} to {most}.",
                low=low,
                high=high,
                least=text_up(min(tried), 6),
                most=text_up(max(tried), 6),
            )
        if accuracy is None:
            best: dict[float, GridPoint] = {}
            for point in sorted(inside, key=lambda p: p.bins):
                known = best.get(point.gamma)
                if known is None or point.accuracy > known.accuracy:
                    best[point.gamma] = point
            inside = list(best.values())
        else:
            require_number("accuracy", accuracy, low=0, high=1)
            enough = [point for point in inside if point.accuracy >= accuracy]
            inside = enough or [max(inside, key=lambda p: p.accuracy)]
        return min(inside, key=lambda p: (p.bins, p.gamma))


def parse_range(text: str) -> tuple[float, float]:
    """``5:12``, or one number for both ends.

    >>> parse_range("5:12"), parse_range("8")
    ((5.0, 12.0), (8.0, 8.0))
    """
    parts = text.split(":")
    try:
        low, high = float(parts[0]), float(parts[-1])
    except ValueError:
        low, high = 1.0, 0.0
    if len(parts) > 2 or not 1 < low <= high < float("inf"):
        raise InvalidNumber(
            "A range of gamma must read like 5:12, above 1, got {text!r}.", text=text
        )
    return low, high
