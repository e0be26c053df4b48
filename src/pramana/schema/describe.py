"""Propose a schema for a table, and complete one that leaves domains open.

``describe`` proposes a schema with a reason for every suggestion; ``complete`` fills what a schema
leaves to the data. A domain that is read off the data is marked as not declared, because it
discloses which values occurred.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import pyarrow as pa

from pramana.base.rounding import as_whole
from pramana.base.text import counted, percent_up
from pramana.base.translation import gettext, noop
from pramana.errors import InvalidNumber, InvalidSchema, UnknownColumn
from pramana.schema.codec import encode
from pramana.schema.column_rules import IDENTIFIER_NAME, snake_case, words_of
from pramana.schema.domains import Categories, Domain, Label, NumberGrid, label_text
from pramana.schema.group_sizes import group_sizes
from pramana.schema.households import households_of, people_in_identified_households
from pramana.schema.joint_cells import Counter, Counts, joint_groups, value_codes
from pramana.schema.opened_table import OpenedTable, is_number
from pramana.schema.origins import Provenance
from pramana.schema.recoded_table import recoded
from pramana.schema.recoding import NOTHING, Recoding
from pramana.schema.role_proposals import Roles, propose_roles
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Missing, Schema
from pramana.schema.schema_file import comment_of, write_schema
from pramana.schema.suggestions import (
    Contribution,
    Suspect,
    codes_among_numbers,
    contributions,
    looks_missing,
    propose_domain,
    proposed_range,
    proposed_recoding,
    second_headings,
    structurally_missing,
    suggested_entries,
)
from pramana.schema.tally import Tally, ValueKind, tally
from pramana.schema.weights import MOST_SHIFT, proposed_by, require_finite
from pramana.types import Form

MOST_DROPPED: Final = 40
"""More dropped columns than these are not listed in a schema file one by one."""

USUAL_K, FEW_RECORDS = 20, 100
ALLOWANCE: Final = 0.5
"""Of 1/k, the share of people whom unchanged columns may make unique: the rest is a margin."""

UNEVEN: Final = 2
"""Times as many are aimed at among those who share a weight, as chance parts them unevenly."""

FIRST_POINTS: Final = 5
"""Of a grid, until a target is known: design says which number of points is better."""

SECOND_HEADINGS: Final = (
    "The first record looks like a second row of headings, in {} columns: take it out of the file, "
    "and describe it again."
)

REPEATED: Final = 0.7
"""Values per record, at most, of an identifier whose units have several records."""

SEVERAL_RECORDS: Final = (
    "'{0}' has {1:,} values in {2:,} records. If its records are of one person, household or unit, "
    "a guarantee for one record is weaker for all of them together: --household {0} states it."
)

WITH_HOUSEHOLD: Final = (
    "Members of one household together are easier to find than one person: {1:,} of {2:,} people "
    "({3}) live in a household (by '{0}') with a member who is unique on the unchanged columns."
)

# -- completing a schema ---------------------------------------------------------------------------


def complete(schema: Schema, table: OpenedTable) -> Schema:
    """The schema with undeclared domains of randomised columns and strata read off the data."""
    schema = settle_missing(schema)
    open_ended = [
        column
        for column in schema.columns
        if (column.randomised and column.domain is None)
        or (column.name in schema.strata and (column.domain is None or column.missing is None))
    ]
    if not open_ended:
        return schema
    tallies = tally(table, [column.name for column in open_ended])
    named = _naming_missing(schema)
    completed = []
    for column in open_ended:
        seen, domain, origin = tallies[column.name], column.domain, column.origin
        if domain is None:
            categories = column.name in schema.strata
            domain = read_off(column.name, seen, table, categories=categories)
            origin = Provenance.weakest(origin, Provenance.READ_OFF)
        some = seen.missing or column.name in named
        missing = column.missing or ("category" if some else "refuse")
        completed.append(replace(column, domain=domain, missing=missing, origin=origin))
    return schema.replace_columns(completed)


def settle_missing(schema: Schema) -> Schema:
    """The schema with unstated policies for missing values filled in, by the schema alone.

    If the data decided, one empty cell would add a value to the release, and no epsilon would hold.
    """
    named = _naming_missing(schema)
    named |= {column.name for column in schema.columns if column.recoding.missing_codes}
    return schema.replace_columns(
        replace(column, missing="category" if column.name in named else "refuse")
        for column in schema.randomised
        if column.domain is not None and column.missing is None
    )


def _naming_missing(schema: Schema) -> set[str]:
    """The columns of which the schema says that values can be missing."""
    named = {name for rule in schema.impossible for name in rule.columns if None in rule[name]}
    return named | {column.name for column in schema.columns if None in column.exempt}


def read_off(name: str, seen: Tally, table: OpenedTable, *, categories: bool = False) -> Domain:
    """The values that occur; codes that the file calls missing are separate values."""
    codes = tuple(table.labels.missing.get(name, ()))
    there = seen.without(codes)
    if not there.distinct:  # nothing but reasons for missing: they are all there is
        codes, there = (), seen
    known = tuple(value for value in labelled_values(name, seen, table) if value not in codes)
    domain = propose_domain(name, there, known=known, categories=categories)
    return replace(domain, missing_values=codes)


def labelled_values(name: str, seen: Tally, table: OpenedTable) -> tuple[Label, ...]:
    """Values that the file gives labels to, if they are of the same kind and cover what is seen."""
    labelled = table.labels.values.get(name, {})
    of_kind = [as_whole(v) for v in labelled if isinstance(v, str) == (seen.kind == "text")]
    covered = seen.distinct <= len(of_kind) and set(seen.labels()) <= set(of_kind)
    return tuple(of_kind) if covered else ()


# -- describing a table ----------------------------------------------------------------------------


def usual_k(records: int) -> int:
    """The k of the design that is proposed after a look; less where there are few people.

    >>> usual_k(7_634), usual_k(60), usual_k(8)
    (20, 12, 2)
    """
    return USUAL_K if records >= FEW_RECORDS else max(records // 5, 2)


@dataclass(frozen=True)
class Profile:
    """What was seen of a column and what is suggested for it.

    Attributes:
        name: The column.
        kind: What its values are.
        distinct: How many values it has, missing not counted.
        exact: Whether that number is exact, or a lower bound.
        missing: Records without a value.
        role: The role suggested, or given.
        why: The reason.
        domain: The domain proposed, for columns that will be randomised.
        label: What the file itself says about the column.
        recoding: What is suggested to be done to its values first.
        suspects: Values that look as if they meant missing.
        proposals: Entries for the schema file that would help, each with its reason.
        adds: People whom the column makes unique, or would make unique, on the unchanged columns.
        withheld: Whether it is dropped for that alone.
    """

    name: str
    kind: ValueKind
    distinct: int
    exact: bool
    missing: int
    role: Role
    why: str
    domain: Domain | None = None
    label: str | None = None
    recoding: Recoding = field(default_factory=Recoding)
    suspects: tuple[Suspect, ...] = ()
    proposals: tuple[tuple[str, str], ...] = ()
    adds: int | None = None
    withheld: bool = False

    def to_dict(self) -> Form:
        """Rows for tables and JSON."""
        return {
            "column": self.name,
            "kind": self.kind,
            "distinct": self.distinct,
            "exact": self.exact,
            "missing": self.missing,
            "role": str(self.role),
            "why": self.why,
            "adds_unique_people": self.adds,
            "withheld": self.withheld,
            "domain": None if self.domain is None else self.domain.to_dict(),
            "label": self.label,
            "recoding": self.recoding.to_dict(),
            "looks_missing": [suspect.to_dict() for suspect in self.suspects],
            "proposals": [{"entry": entry, "why": why} for entry, why in self.proposals],
        }

    @property
    def notes(self) -> list[str]:
        """What the steward should look at, for the schema file."""
        notes = []
        for suspect in self.suspects:
            if suspect.value in self.recoding.missing_codes or not self.role.traits.released:
                continue
            text = label_text(suspect.value)
            value = f"'{text}'" if isinstance(suspect.value, str) else text
            records = counted(suspect.records, "record")
            notes.append(
                gettext(
                    "{value} may mean missing ({records}; {why})",
                    value=value,
                    records=records,
                    why=suspect.why,
                )
            )
        return notes + [f"{why}: {entry}" for entry, why in self.proposals]


@dataclass(frozen=True, repr=False)
class Description(Schema):
    """A proposed schema with a profile of each column.

    Attributes:
        profiles: What was seen of each column.
        records: The number of records.
        unique: Records that no other one equals on the keys.
        notices: What is wrong with the table as a whole.
    """

    profiles: tuple[Profile, ...] = ()
    records: int = 0
    unique: int = 0
    notices: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        """The schema alone."""
        return self.bare()

    def rows(self) -> list[Form]:
        """One entry for each column, for JSON."""
        return [profile.to_dict() for profile in self.profiles]

    def to_toml(self) -> str:
        """The schema as a TOML text to edit, with the reasons as comments.

        Of a wide table the dropped columns are comments, too.
        """
        dropped = [p for p in self.profiles if not p.role.traits.released]
        wide = len(dropped) > MOST_DROPPED and len(dropped) < len(self.columns)
        gone = {p.name: p.why for p in dropped if wide and p.name != self.household}
        kept = tuple(column for column in self.columns if column.name not in gone)
        text = write_schema(
            replace(self.schema, columns=kept, drops_rest=wide or self.drops_rest),
            reasons={p.name: p.why for p in self.profiles},
            notes={p.name: p.notes for p in self.profiles},
        )
        head = (comment_of(notice) for notice in self.notices)
        rest = (comment_of(f"{name} is dropped: {why}") for name, why in gone.items())
        return "".join(f"{line}\n" for line in (*head, *text.splitlines(), *rest))


def describe(
    table: OpenedTable,
    *,
    keys: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    weight: str | None = None,
    identifiers: Sequence[str] = (),
    public: Sequence[str] = (),
    household: str | None = None,
    k: int = 5,
    suggest: bool = False,
    ranges: Mapping[str, tuple[float, float] | None] | None = None,
) -> Description:
    """Propose a role, a domain and recodings for each column, and say why.

    Roles that are given are kept. Recodings are proposed where fewer than ``k`` share a value.
    Numbers with ``ranges`` go on a grid. A range that is not stated is read off the data, which the
    origin of the column says.
    """
    ranges = ranges or {}
    for name in ranges:
        if name not in table.schema.names or not is_number(table.schema.field(name).type):
            raise UnknownColumn("A range needs a column of numbers, got '{column}'.", column=name)
    given = _given(
        table.schema.names,
        {
            Role.KEY: keys,
            Role.SENSITIVE: sensitive,
            Role.WEIGHT: () if weight is None else (weight,),
            Role.IDENTIFIER: (*identifiers, *(() if household is None else (household,))),
            Role.PUBLIC: public,
        },
    )
    tallies = tally(table)
    headings = second_headings(table, tallies)
    suspects = _suspects(table, tallies)
    first = {
        name: proposed_recoding(seen, suspects[name])
        for name, seen in tallies.items()
        if given.get(name) is not Role.IDENTIFIER
    }
    first = {name: (recoding, how) for name, (recoding, how) in first.items() if recoding}
    if first:
        recode = [
            Column(name, Role.PUBLIC, recoding=profile) for name, (profile, _) in first.items()
        ]
        table = recoded(table, Schema(tuple(recode)))
        tallies |= tally(table, list(first))
    roles = propose_roles(table, tallies, given, household, suggest=suggest)
    weights = _weights_in_steps(table, tallies, roles, k)
    others = {name: proposal for name, proposal in roles.items() if name not in ranges}
    added = _added(
        table, tallies, others, given, {n: profile for n, (profile, _) in weights.items()}
    )
    columns, profiles = [], []
    for name, seen in tallies.items():
        recoding, how = first.get(name, (NOTHING, ""))
        risk, steps = added.get(name), ""
        role = roles[name].role if risk is None or risk.admitted else Role.DROPPED
        column = _proposed(name, seen, role, table)
        if role.traits.released:
            form, steps = weights.get(name, (NOTHING if risk is None else risk.form, ""))
            recoding = replace(recoding, bottom=form.bottom, top=form.top, round=form.round)
            column = replace(column, recoding=recoding)
            if risk is not None and risk.bins is not None:
                missing: Missing | None = "keep" if seen.missing else None
                column = replace(
                    column, domain=risk.bins, missing=missing, origin=Provenance.READ_OFF
                )
        if name in ranges:
            column = _on_grid(name, roles[name].role, ranges[name], seen)
            words = noop("on a grid in a range read off the data: guarantees cover it")
            if column.declared:
                words = noop("on a grid in the given range: guarantees cover it")
            how = gettext(words)
        words = "" if risk is None or not risk.noteworthy else risk.words
        about_missing = _words_about_missing(table, column)
        labelled = bool(table.labels.values.get(name))
        withheld = risk is not None and not risk.admitted
        columns.append(column)
        profiles.append(
            Profile(
                name=name,
                kind=seen.kind,
                distinct=seen.distinct,
                exact=seen.complete,
                missing=seen.missing,
                role=column.role,
                why="; ".join(filter(None, (how, roles[name].why, steps, words, about_missing))),
                domain=column.domain,
                label=table.labels.variables.get(name),
                recoding=column.recoding,
                suspects=suspects[name],
                proposals=tuple(
                    suggested_entries(
                        column, seen, suspects[name], k, labelled=labelled, withheld=withheld
                    )
                ),
                adds=None if risk is None else risk.unique - risk.before,
                withheld=withheld,
            )
        )
    homes = household or next((n for n, proposal in roles.items() if proposal.household), None)
    structural = structurally_missing(table, columns, tallies)
    profiles = [
        replace(profile, proposals=(*profile.proposals, structural[profile.name]))
        if profile.name in structural
        else profile
        for profile in profiles
    ]
    return Description(
        tuple(columns),
        household=household,
        origin=Provenance.DECLARED if set(tallies) <= set(given) else Provenance.READ_OFF,
        profiles=tuple(profiles),
        records=table.rows,
        unique=_unique(table, [column for column in columns if column.role is Role.KEY]),
        notices=(
            *([SECOND_HEADINGS.format(headings)] if headings else ()),
            *(() if household else _several_records(profiles, table.rows)),
            *_household_notice(table, columns, homes),
        ),
    )


def _household_notice(
    table: OpenedTable, columns: Sequence[Column], household: str | None
) -> Iterator[str]:
    """A notice of the people who are found if the members of a household are known together."""
    unchanged = [
        column
        for column in columns
        if column.role.traits.released and not column.randomised and not column.noisy
    ]
    if household is None or not unchanged or not table.rows:
        return
    released = recoded(table, Schema(tuple(unchanged), drops_rest=True))
    values = [
        encode(column, values) if column.binned else value_codes(values)
        for column in unchanged
        for values in (released.first([column.name]).column(0),)
    ]
    people = people_in_identified_households(households_of(table, household), joint_groups(values))
    yield WITH_HOUSEHOLD.format(household, people, table.rows, percent_up(people / table.rows))


def _several_records(profiles: Sequence[Profile], records: int) -> Iterator[str]:
    """A notice if an identifier repeats: guarantees about records are none about its units."""
    for profile in profiles:
        named = profile.role is Role.IDENTIFIER and IDENTIFIER_NAME in profile.why
        if named and profile.exact and 1 < profile.distinct <= REPEATED * records:
            yield SEVERAL_RECORDS.format(profile.name, profile.distinct, records)
            return


def _given(names: Sequence[str], lists: Mapping[Role, Sequence[str]]) -> dict[str, Role]:
    given: dict[str, Role] = {}
    for role, columns in lists.items():
        if isinstance(columns, str):
            raise InvalidSchema(
                "Columns of role {role} must be given as a list of names.", role=role
            )
        for name in columns:
            if name not in names:
                raise UnknownColumn(
                    "The table has no column '{column}'. It has: {names}.",
                    column=name,
                    names=", ".join(names),
                )
            if given.setdefault(name, role) is not role:
                raise InvalidSchema(
                    "'{column}' has two roles, {given} and {role}.",
                    column=name,
                    given=given[name],
                    role=role,
                )
    return given


def _suspects(table: OpenedTable, tallies: Mapping[str, Tally]) -> dict[str, tuple[Suspect, ...]]:
    """Values that look as if they meant missing, but for those that the file calls missing."""
    codes, stated = codes_among_numbers(tallies), table.labels.missing
    return {
        name: tuple(
            suspect
            for suspect in looks_missing(seen, codes.get(name, ()))
            if suspect.value not in stated.get(name, ())
        )
        for name, seen in tallies.items()
    }


def _words_about_missing(table: OpenedTable, column: Column) -> str:
    codes = table.labels.missing.get(column.name, ())
    words = noop("the file calls {number} of its values missing: taken as missing")
    if column.role is Role.KEY:
        words = noop("the file calls {number} of its values missing: each is a separate value")
    return gettext(words, number=len(codes)) if codes else ""


def _on_grid(name: str, role: Role, stated: tuple[float, float] | None, seen: Tally) -> Column:
    """A number that is rounded by chance in a range, in steps of ones or hundredths."""
    ends = stated or proposed_range(name, seen)
    if ends is None:
        raise InvalidNumber(
            "'{name}' has too few different numbers to read a range off them: state its range, or "
            "release it in categories.",
            name=name,
        )
    low, high = ends
    width = max(high - low, 1e-300)
    step: float = max(1 if seen.whole else 0.01, 10 ** math.ceil(math.log10(width / 1e6)))
    steps = math.ceil(round((high - low) / step, 6))
    high = as_whole(round(low + steps * step, 6))
    return Column(
        name,
        role if role in (Role.KEY, Role.SENSITIVE) else Role.SENSITIVE,
        NumberGrid.even(low, high, min(FIRST_POINTS, steps + 1), step=step),
        missing="category" if seen.missing else "refuse",
        recoding=Recoding(bottom=low, top=high),
        origin=Provenance.DECLARED if stated else Provenance.READ_OFF,
    )


def _proposed(name: str, seen: Tally, role: Role, table: OpenedTable) -> Column:
    """A column with its domain; unchanged ones list codes for missing where values have labels."""
    missing: Missing | None = "category" if seen.missing else "refuse"
    if role is Role.KEY:
        domain = read_off(name, seen, table)
        return Column(name, role, domain, missing=missing, origin=Provenance.READ_OFF)
    stated = table.labels.missing.get(name, ())
    codes = tuple(code for code in stated if code in seen.labels())
    kept = role in (Role.SENSITIVE, Role.PUBLIC) and codes and labelled_values(name, seen, table)
    values = seen.without(codes).labels() if kept else ()
    if not values:
        return Column(name, role)
    listed = Categories(values, missing_values=codes)
    missing = "keep" if seen.missing else None
    return Column(name, role, listed, missing=missing, origin=Provenance.READ_OFF)


def _weights_in_steps(
    table: OpenedTable, tallies: Mapping[str, Tally], roles: Roles, k: int
) -> dict[str, tuple[Recoding, str]]:
    """Weights rounded so that enough people share each value, and why.

    Public columns are released unchanged too, and split those who share a weight.
    """
    public = [
        name
        for name, proposal in roles.items()
        if proposal.role is Role.PUBLIC and tallies[name].distinct + bool(tallies[name].missing) > 1
    ]
    rounded = {}
    for name in (name for name, proposal in roles.items() if proposal.role is Role.WEIGHT):
        require_finite(table, name)
        needed = max(k, usual_k(table.rows) + 1)  # more than k must share a weight
        smallest = group_sizes(table, public, apart=True).smallest() if public else table.rows
        split: float = needed
        if needed <= smallest < table.rows:
            split = UNEVEN * needed * table.rows / smallest
        coarse = proposed_by(tallies[name], split)
        if coarse is None or abs(coarse.shift) > MOST_SHIFT:
            coarse = proposed_by(tallies[name], needed)
        rounded[name] = (NOTHING, "")
        if coarse is not None:
            why = gettext(
                "rounded and cut at the top, as few people share some weights: {shifted}",
                shifted=coarse.shifted,
            )
            entries = coarse.entries
            rounded[name] = (Recoding(round=entries["round"], top=entries["top"]), why)
    return rounded


def _added(
    table: OpenedTable,
    tallies: Mapping[str, Tally],
    roles: Roles,
    given: Mapping[str, Role],
    weights: Mapping[str, Recoding],
) -> dict[str, Contribution]:
    """What each unchanged column adds to the risk of the file; what adds too much is dropped."""
    unchanged = [
        n for n, proposal in roles.items() if proposal.role in (Role.SENSITIVE, Role.PUBLIC)
    ]
    if not unchanged and not weights:
        return {}

    def importance(name: str) -> tuple[bool, float]:
        called = snake_case(f"{name} {table.labels.variables.get(name, '')}")
        private = any(words_of(kind).search(called) for kind in ("money", "health"))
        return not private, tallies[name].entropy

    settled = {name: weights.get(name, NOTHING) for name in (*weights, *unchanged) if name in given}
    order = sorted((name for name in unchanged if name not in given), key=importance)
    candidates = {n: form for n, form in weights.items() if n not in given} | dict.fromkeys(order)
    keys = [
        column
        for name, proposal in roles.items()
        if proposal.role is Role.KEY
        for column in (_proposed(name, tallies[name], Role.KEY, table),)
        if column.domain is not None
    ]
    most = ALLOWANCE / usual_k(table.rows)
    return contributions(table, settled, candidates, tallies, most, keys)


def _unique(table: OpenedTable, keys: Sequence[Column]) -> int:
    """How many records have a combination of keys that no other record has."""
    if not keys:
        return 0
    names, labels = [key.name for key in keys], [key.labels for key in keys]

    counter = Counter(names, labels)
    for counts in table.summaries(partial(_counted, tuple(keys)), names):
        counter.add(list(counts.cells.T), counts.numbers)
    return int((counter.result().numbers == 1).sum())


def _counted(keys: Sequence[Column], batches: Iterable[pa.RecordBatch]) -> Counts:
    counter = Counter([key.name for key in keys], [key.labels for key in keys])
    for batch in batches:
        counter.add([encode(key, part) for key, part in zip(keys, batch.columns, strict=True)])
    return counter.result()
