"""Changes of a schema with which the same guarantee leaves smaller errors.

The guarantee and the number of people stay. The schema changes: one key less, or a key with about
half as many values; one column less that makes anonymity sets small, as weights do; or keys are
randomised together. Each change is designed anew, and its error is averaged over the tables that
both designs have. ``recoding_gains`` says by how much each recoding lowers the number of unique
people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from pramana.base.text import as_table, as_tables, in_shell, json_fields, quoted
from pramana.base.translation import gettext, noop, numeral
from pramana.errors import InvalidSchema, PramanaError
from pramana.evaluation.questions import (
    MOST_RECORDS,
    Errors,
    mean_errors_of,
    on_average,
    trial_errors,
    typical,
)
from pramana.methods.base import Method
from pramana.methods.choice import alternative_methods, design
from pramana.methods.expected_error import randomised_in
from pramana.methods.plan import Plan
from pramana.risk.frequencies import UniquenessCounter
from pramana.schema.domains import Bins, Categories, Label, NumberGrid
from pramana.schema.opened_table import OpenedTable
from pramana.schema.origins import Provenance
from pramana.schema.recoded_table import merge_values
from pramana.schema.recoding import Recoding
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema, origin_named
from pramana.schema.schema_file import entry_of, header_of, with_column_rewritten
from pramana.schema.tally import tally
from pramana.schema.weights import coarse_weight_of
from pramana.types import Form

POOR = 0.1
"""From this error of a typical table on, changes are looked for."""

LONG = 240
"""Letters of an entry that are shown."""

DROPPED = 'role = "dropped"'
MOST_SUGGESTED, MOST_TRIED = 4, 3
FEW_KEYS, FEW_TABLES = 4, 2
MOST_COLUMNS = 8
"""This many keys, those with most values, are changed one by one."""

WORTH = 0.95
"""A change is suggested if it leaves at most this share of the error."""


@dataclass(frozen=True)
class SchemaSuggestion:
    """One change of the schema, and what it brings.

    Attributes:
        what: the change in words.
        column: of which column; empty where it is none of the schema.
        entry: what to write into the schema under that column, or to add to the command.
        error: of a typical table afterwards.
        was: of the same tables before.
        without: columns that go, where it is several.
        origin: where the choice comes from: the schema alone, or trials on the data.
    """

    what: str
    column: str
    entry: str
    error: float
    was: float
    without: tuple[str, ...] = ()
    origin: Provenance = Provenance.DECLARED

    @property
    def how(self) -> str:
        """What to do for it; what the data decided is to be stated too."""
        stated = "" if self.origin.declared else entry_of("origin", str(self.origin))
        if not self.column and not self.without:
            return gettext("Add to the command: {entry}", entry=self.entry) + (
                f" --origin {self.origin}" if stated else ""
            )
        shown = self.entry
        if len(shown) > LONG:
            shown = f"{shown[:LONG].rpartition(', ')[0]}, ... (whole with --json, under ways)"
        where = gettext("each of them") if self.without else header_of(self.column)
        if not stated:
            return gettext("In the schema under {where}: {shown}", where=where, shown=shown)
        if self.without or self.drops:
            return gettext(
                "In the schema at the top: {stated}; under {where}: {shown}",
                stated=stated,
                where=where,
                shown=shown,
            )
        return gettext(
            "In the schema under {where}: {shown}; {stated}",
            where=where,
            shown=shown,
            stated=stated,
        )

    @property
    def drops(self) -> bool:
        """Whether the column goes."""
        return self.entry == DROPPED

    @property
    def gain(self) -> str:
        """What it brings, in words."""
        return gettext(
            "{what}: error of a typical table {error} instead of {was}.",
            what=self.what,
            error=share_text(self.error),
            was=share_text(self.was),
        )

    def to_json(self) -> Form:
        """Values for JSON."""
        return vars(self)


_Candidate: TypeAlias = tuple[SchemaSuggestion, Plan, tuple[tuple[str, ...], ...]]
"""A change, the plan by which it is tried, and its tables; all tables where none are named."""


def with_wanted_tables(plan: Plan) -> Plan:
    """The plan with the tables that will be asked for in its schema."""
    if plan.wanted == plan.schema.tables:
        return plan
    return replace(plan, schema=replace(plan.schema, tables=plan.wanted))


def typical_error(plan: Plan, among: frozenset[str] | None = None) -> float | None:
    """The median expected error of the tables asked for; of two columns where none are stated.

    With ``among`` only of tables of these columns.
    """
    if plan.expected_error is None:
        return None
    errors = {
        frozenset(table): error
        for table, error in plan.expected_error.tables
        if among is None or set(table) <= among
    }
    # A table with unchanged columns has no expected error: its randomised columns stand for it.
    asked = {
        table if (table := frozenset(names)) in errors
        else frozenset(randomised_in(plan.schema, names))
        for names in plan.wanted
    }  # fmt: skip
    width = min(max(map(len, errors), default=0), 2)
    wanted = [error for table, error in errors.items() if table in asked]
    wanted = wanted or [error for table, error in errors.items() if len(table) == width]
    return float(np.median(wanted)) if wanted else None


def suggest_changes_if_poor(
    plan: Plan, *, opened: OpenedTable | None = None
) -> list[SchemaSuggestion]:
    """The best changes where a typical table would be poor; none where it is good as it is."""
    return suggest_changes(plan, opened=opened) if (typical_error(plan) or 0.0) >= POOR else []


def suggest_changes(
    plan: Plan, *, opened: OpenedTable | None = None, before: Errors | None = None
) -> list[SchemaSuggestion]:
    """The best changes, most helpful first; none where no error can be foreseen.

    Without the table they are chosen by the schema and the expected error alone. With it the most
    promising ones are tried on it; ``before`` are the errors of the plan itself, where known.
    """
    plan = with_wanted_tables(plan)
    if typical_error(plan) is None:
        return []
    expected = sorted(
        _expected(plan, opened), key=lambda candidate: candidate[0].error / candidate[0].was
    )
    together = _together(plan)  # changes no table that is asked for, so it is told in any case
    if opened is None or opened.rows > MOST_RECORDS:
        origin = Provenance.DECLARED if opened is None else Provenance.READ_OFF
        changes = [
            replace(change, origin=origin)
            for change, _, _ in expected
            if change.error <= WORTH * change.was
        ]
        return [*changes[: MOST_SUGGESTED - len(together)], *(change for change, _, _ in together)]
    before = before or on_average(trial_errors(plan, opened))
    candidates = [
        *expected[:MOST_TRIED],
        *together,
        *_fewer_keys(plan),
        *_fewer_tables(plan, tuple(before)),
    ]
    trials = [(other, tables or tuple(before)) for _, other, tables in candidates]
    changes = []
    for (change, _, _), errors in zip(candidates, mean_errors_of(trials, opened), strict=True):
        error, was = typical(errors, errors), typical(before, errors)
        if error is None or was is None or error > WORTH * was:
            continue
        if share_text(error) != share_text(was):
            changes.append(replace(change, error=error, was=was, origin=Provenance.TRIALS))
    return sorted(changes, key=lambda change: change.error / change.was)


def _expected(plan: Plan, opened: OpenedTable | None) -> Iterator[_Candidate]:
    """Every change of one column that can be made, with its expected error."""
    keys = sorted(plan.schema.randomised, key=lambda column: -len(column.labels))[:MOST_COLUMNS]
    asked = {name for table in plan.wanted for name in table}
    changes = [
        (what, entry, column, None)
        for key in keys
        for what, entry, column in changed_columns(key, opened)
        if column.randomised or key.name not in asked
    ]
    if opened is not None and plan.anonymity_set < plan.records:
        for what, entry, column in _splitting(plan.schema, opened):
            if column.name not in asked:
                changes.append((what, entry, column, opened))  # type: ignore[arg-type]
    for what, entry, column, counted in changes:
        schema = with_column(plan.schema, column)
        both = frozenset(other.name for other in schema.randomised)
        was = typical_error(plan, both)
        other = _designed(plan, schema, plan.method, counted)
        error = None if other is None else typical_error(other, both)
        if other is not None and was and error is not None:
            yield SchemaSuggestion(what, column.name, entry, error, was), other, ()


def _splitting(schema: Schema, opened: OpenedTable) -> Iterator[tuple[str, str, Column]]:
    """Columns released unchanged that others may know: they split the anonymity set."""
    for name in schema.known:
        if not schema.column(name).randomised and name not in schema.strata:
            if schema.column(name).role is Role.WEIGHT:
                yield from _coarse_weights(schema.column(name), opened)
            what = gettext("Without '{name}', which makes anonymity sets smaller", name=name)
            yield what, DROPPED, Column(name, Role.DROPPED)


def _together(plan: Plan) -> list[_Candidate]:
    """Keys whose tables will be asked for, randomised together, where that helps."""
    was, method = typical_error(plan), plan.method
    candidates: list[_Candidate] = []
    for joint in _groups_of_keys(plan.schema):
        tied = method.with_joint(joint)
        if tied is None or not was:
            break
        other = _designed(plan, plan.schema, tied)
        error = None if other is None else typical_error(other)
        if other is not None and error is not None and error <= WORTH * was:
            names = "; ".join(map(quoted, joint))
            entry = f"--method {method.name} --joint {in_shell(as_tables(joint))}"
            what = gettext("{columns} randomised together", columns=names)
            candidates.append((SchemaSuggestion(what, "", entry, error, was), other, ()))
    return sorted(candidates, key=lambda candidate: candidate[0].error)[:1]


def _fewer_keys(plan: Plan) -> Iterator[_Candidate]:
    """Half of the keys: those with fewest values and those that will be asked for."""
    asked = {name for table in plan.schema.tables for name in table}
    keys = sorted(plan.schema.randomised, key=lambda column: len(column.labels))
    free = [column.name for column in keys if column.name not in asked]
    gone = tuple(free[-(len(keys) // 2) :])
    if len(keys) < FEW_KEYS or len(gone) < 2:
        return
    other = _designed(plan, without_columns(plan.schema, gone), plan.method)
    if other is not None:
        what = gettext("Without {columns}", columns=quoted(gone))
        yield SchemaSuggestion(what, "", DROPPED, 0.0, 0.0, without=gone), other, ()


def _fewer_tables(plan: Plan, answered: Sequence[tuple[str, ...]]) -> Iterator[_Candidate]:
    """A few of the tables alone, where none are stated."""
    tables = tuple(answered[:FEW_TABLES])
    method = next(iter(alternative_methods(plan)), None)
    if plan.schema.tables or len(answered) <= FEW_TABLES or method is None:
        return
    other = _designed(plan, replace(plan.schema, tables=tables), method())
    if other is not None:
        what = gettext(
            "If no table but {tables} will be asked for",
            tables=gettext(" and ").join(map(as_table, tables)),
        )
        entry = f"--method {method.name} --tables {in_shell(as_tables(tables))}"
        yield SchemaSuggestion(what, "", entry, 0.0, 0.0), other, tables


def _groups_of_keys(schema: Schema) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Keys that may be randomised together: the tables asked for, no two sharing a column.

    Where none are stated all keys in pairs, the one with most values with the one with fewest.
    """
    keys = {column.name: len(column.labels) for column in schema.randomised}
    stated = [table for table in schema.tables if len(table) > 1 and set(table) <= set(keys)]
    if stated:
        groups: list[tuple[str, ...]] = []
        for table in stated:
            if not set(table) & {name for group in groups for name in group}:
                groups.append(table)
        yield from (tuple(groups[:most]) for most in range(1, len(groups) + 1))
        return
    names = sorted(keys, key=lambda name: keys[name])
    half = len(names) // 2
    if half:
        yield tuple(zip(names[:half], names[: -half - 1 : -1], strict=True))


def changed_columns(key: Column, opened: OpenedTable | None) -> Iterator[tuple[str, str, Column]]:
    """A key in other forms: what is done, what to write into the schema, and the column."""
    dropped = Column(key.name, Role.DROPPED)
    yield gettext("Without {columns}", columns=quoted([key.name])), DROPPED, dropped
    domain = key.domain
    if isinstance(domain, Bins) and domain.size > 3:
        edges = (*domain.edges[:-1:2], domain.edges[-1])
        half = replace(domain, edges=edges, names=())
        entry = entry_of("bins", list(edges))
        yield (
            gettext("'{key}' in {size} bins", key=key.name, size=half.size),
            entry,
            replace(key, domain=half, exempt=()),
        )
    elif isinstance(domain, NumberGrid):
        if domain.size > 3:
            points = (*domain.values[:-1:2], domain.values[-1])
            entry, fewer = entry_of("points", list(points)), replace(domain, values=points)
            yield (
                gettext("'{key}' on {size} points", key=key.name, size=fewer.size),
                entry,
                replace(key, domain=fewer),
            )
    elif isinstance(domain, Categories) and domain.size > 3:
        rare = _rarest(key.name, domain, opened)
        origin = (
            key.origin if opened is None else Provenance.weakest(key.origin, Provenance.READ_OFF)
        )
        unordered = replace(key, domain=replace(domain, ordered=False), origin=origin)
        column = merge_values(unordered, rare, "other")
        entry = entry_of("merge", column.recoding.to_dict()["merge"])
        words = noop("'{key}' with its {number} rarest values as one")
        if opened is None:
            words = noop("'{key}' with its {number} last values as one")
        yield gettext(words, key=key.name, number=len(rare)), entry, column


def changed_file(
    text: str,
    *,
    without: Sequence[str] = (),
    coarsen: Sequence[str] = (),
    opened: OpenedTable | None = None,
    origin: Provenance | str = Provenance.DECLARED,
) -> str:
    """A schema file with some columns dropped or coarser, its other lines as they were.

    What is merged by the counts of a table is marked as read off it. ``origin`` says where the
    choice of these columns comes from.

    Keys are coarsened as the ways to a better release say: half as many bins, or the rarer half of
    the values as one, by the table where it is given and otherwise those that are listed last.
    """
    for name in without:
        schema = Schema.from_toml(text)
        dropped = Column(schema.column(name).name, Role.DROPPED)
        changed = with_column(schema, dropped)
        known = Provenance.weakest(schema.origin, origin_named(origin))
        text = with_column_rewritten(text, replace(changed, origin=known), name)
    for name in coarsen:
        schema = Schema.from_toml(text)
        column = schema.column(name)
        forms = (
            _coarse_weights(column, opened)
            if column.role is Role.WEIGHT
            else (form for form in changed_columns(column, opened) if form[2].randomised)
        )
        coarser = next((form[2] for form in forms), None)
        if coarser is None:
            raise InvalidSchema(
                "'{column}' cannot be coarsened: it must be a key of more than three values, or a "
                "weight of a table that is given (--table) and has enough people for each step.",
                column=name,
            )
        known = Provenance.weakest(coarser.origin, origin_named(origin))
        changed = with_column(schema, replace(coarser, origin=known))
        text = with_column_rewritten(text, changed, name)
    return text


def _coarse_weights(
    weight: Column, opened: OpenedTable | None
) -> Iterator[tuple[str, str, Column]]:
    """A weight in steps: what is done, what to write into the schema, and the column."""
    steps = None if opened is None else coarse_weight_of(opened, weight.name)
    if steps is not None:
        entry = ", ".join(entry_of(word, number) for word, number in steps.entries.items())
        what = gettext(
            "'{weight}' in steps of {step:,.12g} up to {top:,.12g} ({shifted})",
            weight=weight.name,
            step=steps.step,
            top=steps.top,
            shifted=steps.shifted,
        )
        step, top = steps.entries.values()
        coarse = replace(weight.recoding, round=step, top=top)
        yield what, entry, replace(weight, recoding=coarse)


def _rarest(name: str, domain: Categories, opened: OpenedTable | None) -> tuple[Label, ...]:
    """The rarer half of the values; the last ones listed where nobody can count."""
    half = (domain.size + 1) // 2
    if opened is None:
        return domain.values[-half:]
    seen = tally(opened, [name])[name]
    numbers = {str(v): n for v, n in zip(seen.values.to_pylist(), seen.numbers, strict=True)}
    order = sorted(domain.values, key=lambda value: numbers.get(str(value), 0))[:half]
    return tuple(value for value in domain.values if value in order)


def _designed(
    plan: Plan, schema: Schema, method: Method, counted: OpenedTable | None = None
) -> Plan | None:
    """The same guarantee for the same people by another schema or method, if it can be made."""
    try:
        if counted is not None:
            return design(schema, *plan.asked, data=counted, method=method)
        return design(
            schema,
            *plan.asked,
            records=plan.records,
            smallest_group=plan.anonymity_set,
            method=method,
        )
    except PramanaError:
        return None


def with_column(schema: Schema, column: Column) -> Schema:
    """The schema with a changed column, without rules that name it (and tables, if dropped)."""
    bare = column if column.role.traits.released else replace(column, recoding=Recoding())
    gone = not column.role.traits.released
    replicated = schema.replicates is not None and column.name in schema.replicates.columns
    return replace(
        schema.bare(),
        columns=tuple(bare if other.name == column.name else other for other in schema.columns),
        impossible=tuple(rule for rule in schema.impossible if column.name not in rule.columns),
        choices=tuple(choice for choice in schema.choices if column.name not in choice),
        tables=tuple(table for table in schema.tables if not gone or column.name not in table),
        replicates=None if gone and replicated else schema.replicates,
    )


def without_columns(schema: Schema, names: Sequence[str]) -> Schema:
    """The schema with these columns dropped."""
    for name in names:
        schema = with_column(schema, Column(name, Role.DROPPED))
    return schema


def share_text(share: float) -> str:
    """A share of the records in words.

    >>> share_text(0.0863), share_text(1.02), share_text(2.34)
    ('8.6 %', 'all records', '2.3 times all records')
    """
    if share < 1:
        return numeral(f"{100 * share:.2g} %" if share < 0.995 else "99 %")
    return (
        gettext("all records")
        if share < 1.05
        else gettext("{share:.2g} times all records", share=share)
    )


@dataclass(frozen=True)
class RecodingGain:
    """One change of a column, and how many people would still be unique.

    Attributes:
        what: The change in words.
        column: Of which column.
        entry: What to write into the schema under it.
        unique: People who would still stand out.
        schema: The schema with the change.
    """

    what: str
    column: str
    entry: str
    unique: int
    schema: Schema

    def to_json(self) -> Form:
        """Values for JSON."""
        return json_fields(self, "what column entry unique") | {"schema": self.schema.to_toml()}


def recoding_gains(
    standing: UniquenessCounter, schema: Schema, opened: OpenedTable
) -> list[RecodingGain]:
    """Each key dropped, in half as many bins, or with its rarer values as one; the best first."""
    gains = []
    for key in schema.keys:
        if key.domain is None:
            continue
        for what, entry, column in changed_columns(key, opened):
            try:
                changed = with_column(schema, replace(column, origin=Provenance.TRIALS))
                unique = standing.of(changed).unique
            except PramanaError:
                continue
            if not column.role.traits.released:
                changed = replace(changed, origin=Provenance.TRIALS)
            gains.append(RecodingGain(what, key.name, entry, unique, changed))
    return sorted(gains, key=lambda gain: gain.unique)
