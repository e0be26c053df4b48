"""Propose a role for each column from its values, its name and its relations to others.

First each column by itself, by the rules of ``column_rules``. Then the columns together: at most
one weight, numbers of households, parts of names, what follows from what, places, and of many keys
those by which people are recognised most easily. Every role has a reason; the steward decides.

Functional dependencies, rank correlations and groupings are searched in the first records and
confirmed on all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from pramana.base.translation import gettext, noop
from pramana.schema.column_rules import (
    FEW_NUMBERS,
    ObservedColumn,
    Proposal,
    is_visible,
    of_one_kind,
    propose_role,
    snake_case,
    visibility,
    words_of,
)
from pramana.schema.households import columns_of_households
from pramana.schema.joint_cells import joint_groups, value_codes
from pramana.schema.opened_table import OpenedTable
from pramana.schema.roles import Role
from pramana.schema.schema import Column
from pramana.schema.tally import Tally
from pramana.types import FloatArray, IntArray

FIRST: Final = 20_000  # records in which relations are searched
MOST_VALUES: Final = 2_000
RECORDS_A_VALUE: Final = 5
"""Records that each value of a column has on average, if others follow from it."""

FEWEST_HOUSEHOLDS, HOUSEHOLD_SIZE = 50, 6  # households are many, and on average not larger
FEWEST_PLACES: Final = 3
NEARLY_ALL: Final = 0.9
EXCEPTIONS: Final = 0.005
"""The share of the records without the commonest value that may break a dependency."""

SAME_RANKS: Final = 0.98
"""Rank correlation of two columns that say the same, as age and year of birth do."""

FEWEST_PAIRS: Final = 30
PARTS: Final = 2_000  # records in which texts are searched in others


@dataclass(frozen=True)
class Follows:
    """One column follows from another; ``both`` ways, or ``nested`` as places in larger ones."""

    column: str
    source: str
    both: bool
    nested: bool = False

    @property
    def words(self) -> str:
        """For the steward."""
        if self.both:
            return gettext("it is '{source}' with other labels", source=self.source)
        if self.nested:
            return gettext(
                "codes of '{source}' begin with its codes, like places in larger places",
                source=self.source,
            )
        return gettext("it follows from '{source}'", source=self.source)


def following(table: OpenedTable, tallies: Mapping[str, Tally]) -> dict[str, tuple[Follows, ...]]:
    """What each column follows from, by its name; the source with fewest values first."""

    def may_relate(seen: Tally) -> bool:
        few = 2 < seen.distinct <= MOST_VALUES or (seen.distinct == 2 and table.rows > FIRST // 10)
        return seen.complete and few and table.rows >= RECORDS_A_VALUE * seen.distinct

    names = [name for name, seen in tallies.items() if may_relate(seen)]
    if len(names) < 2:
        return {}
    codes = first_codes(table, names, FIRST)
    relations: dict[str, list[Follows]] = {}
    order = sorted(names, key=lambda name: tallies[name].distinct)
    for place, column in enumerate(order):
        for source in order[place + 1 :]:
            if not _nearly_determines(codes[source], codes[column]):
                continue
            whole = first_codes(table, [source, column])
            if not _nearly_determines(whole[source], whole[column]):
                continue
            same = tallies[source].distinct == tallies[column].distinct
            nested = not same and _begin_alike(table, tallies, source, column)
            first, second = source, column
            if same:  # codes stay rather than measures, or the first in the table
                first, second = sorted(
                    (source, column),
                    key=lambda name: (tallies[name].kind == "number", names.index(name)),
                )
            relations.setdefault(second, []).append(Follows(second, first, same, nested))
    return {name: tuple(sources) for name, sources in relations.items()}


def _nearly_determines(source: IntArray, column: IntArray) -> bool:
    """Whether each value of ``source`` comes with one of ``column``, with few exceptions.

    Exceptions are compared with the records without the commonest value: a column of nearly one
    value follows from no other by that alone.
    """
    if not len(source):
        return False
    pairs = joint_groups([source, column])
    numbers = np.bincount(pairs)
    sources = np.zeros(len(numbers), np.int64)
    sources[pairs] = source
    commonest = np.zeros(int(source.max()) + 1, np.int64)
    np.maximum.at(commonest, sources, numbers)
    exceptions = len(source) - int(commonest.sum())
    unexplained = len(column) - int(np.bincount(column).max())
    return exceptions == 0 or exceptions <= EXCEPTIONS * unexplained


def _begin_alike(
    table: OpenedTable, tallies: Mapping[str, Tally], source: str, column: str
) -> bool:
    """Whether codes of a source begin with those of a column; both codes, and no words."""
    kinds = {tallies[name].kind for name in (source, column)}
    if not kinds <= {"integer", "text"} or tallies[column].distinct < FEWEST_PLACES:
        return False
    codes, longer = _first_texts(table, [column, source], FIRST)
    held = [(a, b) for a, b in zip(codes, longer, strict=True) if a and b]
    nested = all(len(b) > len(a) and b.startswith(a) and a[0].isdigit() for a, b in held)
    return bool(held) and nested


def parts_of(table: OpenedTable, names: Sequence[str], whole: str) -> list[str]:
    """Columns of text whose values are contained in those of another, as in full names."""
    full, *others = _first_texts(table, [whole, *names], PARTS)
    contained = []
    for name, texts in zip(names, others, strict=True):
        pairs = [(a.lower(), b.lower()) for a, b in zip(texts, full, strict=True) if a and b]
        if len(pairs) >= FEWEST_PAIRS and all(len(a) > 1 and a in b for a, b in pairs):
            contained.append(name)
    return contained


def nearly_the_same(table: OpenedTable, names: Sequence[str]) -> dict[str, tuple[str, float]]:
    """Columns of numbers with nearly the ranks of an earlier one, that one and the correlation."""
    ranks = _ranks(table, names)
    twins: dict[str, tuple[str, float]] = {}
    for at, name in enumerate(names):
        for before in (other for other in names[:at] if other not in twins):
            closely = _correlation(ranks[before], ranks[name])
            if abs(closely) >= SAME_RANKS:
                twins[name] = before, closely
                break
    return twins


def unrelated(table: OpenedTable, name: str, others: Sequence[str], most: float) -> bool:
    """Whether no other column of numbers goes up and down with this one."""
    ranks = _ranks(table, [name, *others])
    return all(abs(_correlation(ranks[name], ranks[other])) <= most for other in others)


def _ranks(table: OpenedTable, names: Sequence[str]) -> dict[str, FloatArray]:
    """The ranks of numbers among the first records; nan where there is no number."""
    from scipy.stats import rankdata

    some = table.first(names, FIRST)
    return {
        name: rankdata(
            some.column(name).cast(pa.float64(), safe=False).to_numpy(), nan_policy="omit"
        )
        for name in names
    }


def _correlation(first: FloatArray, second: FloatArray) -> float:
    both = np.isfinite(first) & np.isfinite(second)
    if int(both.sum()) < FEWEST_PAIRS:
        return 0.0
    a, b = first[both] - first[both].mean(), second[both] - second[both].mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0


def first_codes(
    table: OpenedTable, names: Sequence[str], most: int | None = None
) -> dict[str, IntArray]:
    """A number for each value of the first records, missing among them."""
    some = table.first(names, most)
    return {name: joint_groups([value_codes(some.column(name))]) for name in names}


def _first_texts(table: OpenedTable, names: Sequence[str], most: int) -> list[list[str | None]]:
    some = table.first(names, most)
    return [some.column(name).cast(pa.string()).to_pylist() for name in names]


# -- households ------------------------------------------------------------------------------------


def may_number_households(table: OpenedTable, seen: Tally) -> bool:
    """Whether a column has as many values as households would, a few records each."""
    some = max(FEWEST_HOUSEHOLDS, table.rows / HOUSEHOLD_SIZE)
    return seen.complete and some < seen.distinct < NEARLY_ALL * table.rows


def shared_within(
    table: OpenedTable, name: str, tallies: Mapping[str, Tally], others: Sequence[str]
) -> list[str]:
    """Varied columns that are the same for all records with one value of ``name``."""

    def varies(seen: Tally) -> bool:
        total = int(seen.numbers.sum()) + seen.missing
        most = max(int(seen.numbers.max(initial=0)), seen.missing)
        return seen.complete and 1 < seen.distinct <= MOST_VALUES and most <= NEARLY_ALL * total

    varied = [other for other in others if other != name and varies(tallies[other])]
    codes = first_codes(table, [name, *varied], FIRST)
    groups = codes[name]
    if int(np.bincount(groups).max()) < 2:
        return []
    return [other for other in varied if joint_groups([groups, codes[other]]).max() == groups.max()]


def standing_together(table: OpenedTable, name: str, seen: Tally) -> bool:
    """Whether records with one value follow each other, a few each, as households do."""
    if not may_number_households(table, seen):
        return False
    codes = value_codes(table.first([name]).column(0))
    return int(np.count_nonzero(np.diff(codes[codes >= 0]))) + 1 == seen.distinct


MOST_KEYS: Final = 8  # no more keys than these are proposed: each costs precision
ENOUGH_KEYS: Final = 3
"""Where this many columns are called as what strangers see, no other one is proposed as a key."""

ANONYMITY_SET: Final = 100
"""At least this many records share the unchanged columns of a household, or these are dropped."""

MANY_CODES: Final = 100  # more codes than these make tables of noise; their groups are better
FEWEST_GROUPS: Final = 5
FEW_SHARED: Final = 3
NAMED: Final = 4  # columns that a reason names
LEAST_REPLICATES: Final = 8
UNRELATED: Final = 0.3  # the rank correlation of a weight with any other number is below this
NUMBERED: Final = re.compile(r"(.*?)0*([1-9]\d*)")

Roles: TypeAlias = dict[str, Proposal]


def propose_roles(
    table: OpenedTable,
    tallies: Mapping[str, Tally],
    given: Mapping[str, Role],
    household: str | None = None,
    *,
    suggest: bool = False,
) -> Roles:
    """A role for each column; those that are given are taken as given.

    Where keys are given there are no others, unless further ones are to be suggested. Where
    ``household`` numbers them, what people of a household have in common is released unchanged or
    dropped: ``design`` would refuse it otherwise.
    """
    search = _Search(table, tallies, given)
    single = {
        name: Proposal(given[name], gettext("as given")) if name in given else propose_role(column)
        for name, column in search.columns.items()
    }
    for step in (search.body_weights, search.weights, search.household_numbers, search.parts):
        single |= step(single)
    telling: Roles = {}
    while True:
        roles = single | telling
        for step in (search.derived, search.twins):
            roles |= step(roles)
        if household is not None:
            roles |= search.shared_by_households(roles, household)
        roles |= search.places(roles)
        roles |= search.fewer_keys(roles, suggest=suggest)
        more = search.telling(roles)
        if not more.keys() - telling.keys():
            return roles | more
        telling |= more  # what is dropped tells nothing: nothing else is dropped for it


class _Search:
    """The steps, each from the roles so far to the roles that it changes."""

    def __init__(
        self, table: OpenedTable, tallies: Mapping[str, Tally], given: Mapping[str, Role]
    ) -> None:
        self.table, self.tallies, self.given = table, tallies, given
        labels = table.labels.variables
        self.columns = {
            name: ObservedColumn(name, seen, table.rows, labels.get(name, ""))
            for name, seen in tallies.items()
        }
        self.follows = following(table, tallies)

    def _of_role(self, roles: Roles, role: Role) -> list[str]:
        """Columns with this role that nobody stated."""
        return [
            name
            for name, proposal in roles.items()
            if proposal.role is role and name not in self.given
        ]

    def _numbers(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if self.tallies[name].kind in ("integer", "number")]

    def body_weights(self, roles: Roles) -> Roles:
        """Weights of bodies: they lie where these do, and the table has another size of bodies."""
        if not any(column.named("body_sizes") for column in self.columns.values()):
            return {}
        return {
            name: propose_role(
                ObservedColumn(name, self.tallies[name], self.table.rows, "body weight")
            )
            for name in self._of_role(roles, Role.WEIGHT)
            if self.columns[name].lies_as_body_weights
        }

    def weights(self, roles: Roles) -> Roles:
        """At most one weight: by name, else by behaviour; others are dropped."""
        changed = self._replicate_weights()
        named = [
            n for n, proposal in roles.items() if proposal.role is Role.WEIGHT and n not in changed
        ]
        if not named:
            behaving = self._unnamed_weights(roles | changed)
            named = list(behaving)
            if named:
                changed[named[0]] = Proposal(Role.WEIGHT, behaving[named[0]])
        of_people = [
            name for name in named if not words_of("household_weights").search(snake_case(name))
        ]
        stated = [name for name in named if name in self.given]
        stays = next(iter([*stated, *of_people, *named]), None)
        why = gettext("a second weight: dropped, since it would identify people")
        second = [name for name in named if name != stays and name not in self.given]
        return changed | dict.fromkeys(second, Proposal(Role.DROPPED, why))

    def _replicate_weights(self) -> Roles:
        """Blocks of numbered columns that are called as replicate weights are, from 1 on."""
        blocks: dict[str, dict[int, str]] = {}
        for name in self._numbers(self.tallies):
            parts = NUMBERED.fullmatch(name)
            if parts is not None and name not in self.given:
                blocks.setdefault(parts[1], {})[int(parts[2])] = name
        changed: Roles = {}
        for start, block in blocks.items():
            whole = set(block) >= set(range(1, len(block) + 1)) and len(block) >= LEAST_REPLICATES
            if whole and words_of("replicates").search(snake_case(start)):
                why = gettext(
                    "one of {count} replicate weights: dropped, since who knows them knows "
                    'the cluster; to keep them, state replicate_weights = {columns = "{start}*", '
                    'method = "..."}',
                    count=len(block),
                    start=start,
                )
                changed |= dict.fromkeys(block.values(), Proposal(Role.DROPPED, why))
        return changed

    def _unnamed_weights(self, roles: Roles) -> dict[str, str]:
        """Columns that behave as weights do, and go up and down with no other number; and why."""
        if Role.WEIGHT in self.given.values():
            return {}
        numbers = self._numbers(self.tallies)
        candidates = [
            *self._of_role(roles, Role.KEY),
            *self._of_role(roles, Role.SENSITIVE),
        ]
        likely = {
            name: why
            for name in numbers
            if name in candidates and (why := self.columns[name].behaves_as_weight())
        }
        others = [
            name for name in numbers if name not in likely and roles[name].role.traits.released
        ]
        return {n: why for n, why in likely.items() if unrelated(self.table, n, others, UNRELATED)}

    def household_numbers(self, roles: Roles) -> Roles:
        """Columns that number households, with what the people of each have in common."""
        free = [name for name, proposal in roles.items() if proposal.role.traits.released]
        changed: Roles = {}
        for name, seen in self.tallies.items():
            stated = name in self.given or name in self.table.recoded
            numbers = seen.kind == "text" or seen.whole
            if stated or not numbers or not may_number_households(self.table, seen):
                continue
            shared = shared_within(self.table, name, self.tallies, free)
            together = standing_together(self.table, name, seen)
            called = words_of("households").search(name.lower()) is not None
            span = (seen.highest or 0) - (seen.lowest or 0) + 1
            consecutive = seen.whole and span <= 2 * seen.distinct
            if together and (shared or consecutive or called):
                how = gettext("are adjacent, a few each")
            elif len(shared) > 1 and (called or len(shared) > FEW_SHARED):
                how = gettext("are few")
            elif self.columns[name].numbers_households and not self.columns[name].named("money"):
                how = gettext("are few, and hardly a number is missing")
            else:
                continue
            common = ", ".join(f"'{column}'" for column in shared[:NAMED])
            more = (
                gettext(" and {count} more", count=len(shared) - NAMED)
                if len(shared) > NAMED
                else ""
            )
            have = (
                gettext(", and have {common}{more} in common", common=common, more=more)
                if shared
                else ""
            )
            why = gettext(
                "records with one value {how}{have}, like records of a household; name it as "
                "household, and guarantees are stated for households too; columns with equal "
                "values in a household are then released unchanged (role public) or dropped",
                how=how,
                have=have,
            )
            changed[name] = Proposal(Role.IDENTIFIER, why, household=True)
        return changed

    def parts(self, roles: Roles) -> Roles:
        """Keys that are a part of an identifier: the first name, the year of a file number."""
        texts = [name for name, seen in self.tallies.items() if seen.kind == "text"]
        keys = [name for name in self._of_role(roles, Role.KEY) if name in texts]
        changed: Roles = {}
        for whole in (name for name in texts if roles[name].role is Role.IDENTIFIER):
            left = [name for name in keys if name not in changed]
            for name in parts_of(self.table, left, whole) if left else ():
                why = gettext("it is a part of '{whole}': dropped with it", whole=whole)
                changed[name] = Proposal(Role.IDENTIFIER, why)
        return changed

    def derived(self, roles: Roles) -> Roles:
        """Keys that follow from another column: randomised they contradict it, kept they tell it.

        A column that is dropped tells nothing, and a weight is released in steps. What strangers
        see stays where the column that tells it is not seen by anyone: that one goes then. So does
        a column of codes too many for tables, where another one has their groups.
        """
        changed = self._too_fine(roles)
        for name, sources in self.follows.items():
            telling = [
                relation
                for relation in sources
                if relation.source not in changed
                and roles[relation.source].role not in (Role.IDENTIFIER, Role.DROPPED, Role.WEIGHT)
            ]
            if not telling or name in changed or roles[name].role is not Role.KEY:
                continue
            seen = is_visible(name) and not any(is_visible(relation.source) for relation in telling)
            if name in self.given or seen:
                why = gettext(
                    "it is '{name}' with other labels: dropped, since it would disclose '{name}'",
                    name=name,
                )
                same = [relation.source for relation in telling if relation.both]
                keys = [key for key in self._of_role(roles, Role.KEY) if key in same]
                changed |= dict.fromkeys(keys, Proposal(Role.DROPPED, why))
                continue
            first = next(
                (relation for relation in telling if relation.source not in self.follows),
                telling[0],
            )
            why = gettext(
                "{words}: dropped, since it would disclose that column", words=first.words
            )
            changed[name] = Proposal(Role.DROPPED, why)
        return changed

    def _too_fine(self, roles: Roles) -> Roles:
        """Keys of very many codes whose groups are a key as well: the groups stay."""
        keys, tallies = self._of_role(roles, Role.KEY), self.tallies
        groups: dict[str, list[str]] = {}
        for name in (name for name in keys if name in self.follows):
            if FEWEST_GROUPS <= tallies[name].distinct <= MANY_CODES:
                for relation in self.follows[name]:
                    if relation.nested or of_one_kind(name, relation.source):
                        groups.setdefault(relation.source, []).append(name)
        changed: Roles = {}
        for name in (name for name in keys if name in groups):
            seen = tallies[name]
            if seen.distinct > MANY_CODES and (seen.kind == "text" or self.columns[name].are_codes):
                largest = max(groups[name], key=lambda group: tallies[group].distinct)
                why = gettext(
                    "{distinct:,} codes are too many for tables: dropped, since '{largest}' "
                    "has their groups",
                    distinct=seen.distinct,
                    largest=largest,
                )
                changed[name] = Proposal(Role.DROPPED, why)
        return changed

    def twins(self, roles: Roles) -> Roles:
        """Number keys that another key nearly determines, as year of birth determines age."""
        names = [
            name
            for name in self._numbers(self.tallies)
            if roles[name].role is Role.KEY and self.tallies[name].distinct > FEW_NUMBERS
        ]
        # What is given or seen by strangers stays, so it comes first.
        names.sort(key=lambda name: (name not in self.given, not is_visible(name)))
        return {
            name: Proposal(
                Role.DROPPED,
                gettext(
                    "it has nearly the same information as '{other}' (ranks agree by "
                    "{closely:.2f}): dropped",
                    other=other,
                    closely=closely,
                ),
            )
            for name, (other, closely) in nearly_the_same(self.table, names).items()
            if name not in self.given
        }

    def shared_by_households(self, roles: Roles, household: str) -> Roles:
        """What a household shares: unchanged where an anonymity set shares it, else dropped."""
        columns = [
            Column(name, proposal.role)
            for name, proposal in roles.items()
            if name not in self.given and proposal.role.traits.released
        ]
        shared = columns_of_households(columns, self.table, household, anonymity_set=ANONYMITY_SET)
        changed: Roles = {
            household: Proposal(Role.IDENTIFIER, gettext("it numbers households, as you stated"))
        }
        for name, stays in shared.items():
            role = Role.WEIGHT if roles[name].role is Role.WEIGHT else Role.PUBLIC
            why = gettext("leaves as it is")
            if not stays:
                role = Role.DROPPED
                why = gettext(
                    "dropped, since it would link their records or make anonymity sets small"
                )
            changed[name] = Proposal(
                role, gettext("equal for all members of a household: {why}", why=why)
            )
        return changed

    def places(self, roles: Roles) -> Roles:
        """Keys whose codes begin with those of another column: strangers know where people live."""
        keys = self._of_role(roles, Role.KEY)
        sign = noop("its codes begin with codes of '{column}', like places")
        return {
            relation.source: Proposal(
                Role.KEY, f"{roles[relation.source].why}; {gettext(sign, column=name)}", True
            )
            for name, sources in self.follows.items()
            for relation in sources
            if relation.nested and relation.source in keys
        }

    def fewer_keys(self, roles: Roles, *, suggest: bool) -> Roles:
        """The keys that identify people most easily, and why the other keys are left out."""
        columns = {name: self.columns[name] for name in self._of_role(roles, Role.KEY)}
        known = [n for n, c in columns.items() if roles[n].place or is_visible(n, c.label)]
        measures = [n for n, c in columns.items() if n not in known and c.is_measure]
        keys = [name for name in columns if name not in measures]
        named = sum(role is Role.KEY for role in self.given.values())
        only_named = bool(named) and not suggest
        candidates = known if len(known) + named >= ENOUGH_KEYS else keys
        best = sorted(
            candidates,
            key=lambda name: -visibility(columns[name], place=roles[name].place),
        )[: 0 if only_named else max(MOST_KEYS - named, 0)]
        why = gettext(
            "not among the {most_keys} columns that identify people most easily",
            most_keys=MOST_KEYS,
        )
        if only_named:
            why = gettext("not among the keys that you named")
        measure = Proposal(
            Role.SENSITIVE, gettext("a measurement, which hardly anybody knows exactly")
        )
        seen = Proposal(Role.DROPPED, gettext("{why}, and outsiders may know it: dropped", why=why))
        unseen = Proposal(Role.SENSITIVE, gettext("outsiders hardly know it") if known else why)
        return dict.fromkeys(measures, measure) | {
            name: seen if name in known else unseen for name in keys if name not in best
        }

    def telling(self, roles: Roles) -> Roles:
        """Unchanged columns that disclose a key: they would undo its randomisation."""
        changed: Roles = {}
        for name, sources in self.follows.items():
            if roles[name].role is not Role.KEY:
                continue
            why = gettext(
                "it discloses the key '{name}': dropped, unless both are randomised together",
                name=name,
            )
            for source in (
                relation.source for relation in sources if relation.source not in self.given
            ):
                if roles[source].role in (Role.SENSITIVE, Role.PUBLIC):
                    changed.setdefault(source, Proposal(Role.DROPPED, why))
        return changed
