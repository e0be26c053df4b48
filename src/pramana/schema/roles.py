"""Propose a role for each column from its values, its name and its relations to others.

Values come before names: weights, households and places are recognised by how their values behave
where that is conclusive. Every role has a reason, and the steward decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pramana.schema.households import columns_of_households
from pramana.schema.opened_table import OpenedTable
from pramana.schema.proposals import (
    MONEY,
    Proposal,
    are_codes,
    in_plain_letters,
    is_measure,
    numbers_groups,
    of_one_kind,
    propose_role,
    visibility,
    visible,
    weighs_bodies,
)
from pramana.schema.relations import (
    Follows,
    following,
    may_number_households,
    nearly_the_same,
    parts_of,
    places_among,
    shared_within,
    standing_together,
    unrelated,
)
from pramana.schema.schema import Column, Role
from pramana.schema.tally import Tally
from pramana.schema.weights import behaves_as_weight

MOST_KEYS = 8
"""No more keys than these are proposed: each costs precision."""

ENOUGH_KEYS = 3
"""Where so many columns are called as what strangers see, no other one is proposed as a key."""

ANONYMITY_SET = 100
"""So many records share what leaves as it is of a household, or it is dropped."""

HOMES = re.compile(r"hid$|hhid|house|^hh|serial|dwelling|family|famil")
NAMED = 4
"""Columns that a reason names."""

Roles = dict[str, Proposal]


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
    ``household`` numbers them, what people of a household have in common leaves as it is or not at
    all: ``design`` would refuse it otherwise.
    """
    roles = {
        name: Proposal(given[name], "as given")
        if name in given
        else propose_role(name, seen, table.rows, label=_label(table, name))
        for name, seen in tallies.items()
    }
    roles |= _bodies(table, tallies, roles, given)
    follows = following(table, tallies)
    roles |= _weights(table, tallies, roles, given)
    roles |= _households(table, tallies, roles, given)
    roles |= _parts(table, tallies, roles, given)
    gone: Roles = {}
    while True:
        found = roles | gone
        found |= _derived(tallies, found, given, follows)
        found |= _twins(table, tallies, found, given)
        found |= {} if household is None else _of_household(table, found, given, household)
        found |= _places(table, tallies, found, given, follows)
        found |= _fewer_keys(table, tallies, found, given, suggest=suggest)
        telling = _telling(found, given, follows)
        if not telling.keys() - gone.keys():
            return found | telling
        gone |= telling  # what is dropped tells nothing: nothing else is dropped for it


def _of_household(
    table: OpenedTable, roles: Roles, given: Mapping[str, Role], household: str
) -> Roles:
    """What a household shares: unchanged where an anonymity set shares it, else dropped."""
    columns = [
        Column(name, own.role)
        for name, own in roles.items()
        if name not in given and own.role is not Role.IDENTIFIER
    ]
    told = columns_of_households(columns, table, household, anonymity_set=ANONYMITY_SET)
    found: Roles = {household: Proposal(Role.IDENTIFIER, "it numbers households, as given")}
    for name, stays in told.items():
        weight = roles[name].role is Role.WEIGHT
        role = (Role.WEIGHT if weight else Role.PUBLIC) if stays else Role.IDENTIFIER
        why = (
            "leaves as it is"
            if stays
            else "dropped, as it would link their records or leave few alike"
        )
        found[name] = Proposal(role, f"the same for all of a household: {why}")
    return found


def _label(table: OpenedTable, name: str) -> str:
    """What the file itself says of a column."""
    return table.labels.variables.get(name, "")


def _bodies(
    table: OpenedTable, tallies: Mapping[str, Tally], roles: Roles, given: Mapping[str, Role]
) -> Roles:
    """Weights of bodies: they lie where these do, and the table has another measure of bodies."""
    if not any(BODY_SIZES.search(in_plain_letters(name)) for name in tallies):
        return {}
    return {
        name: propose_role(name, tallies[name], table.rows, label="body weight")
        for name, own in roles.items()
        if own.role is Role.WEIGHT and name not in given and weighs_bodies(tallies[name])
    }


BODY_SIZES = re.compile(r"(^|_)(body_?)?(height|bmi|stature|size_cm|waist)(_|$)")
HOME_WEIGHTS = re.compile(r"^db090|^(hh|h|house|household)_?(wgh?t|wt|weight)")
"""Weights of households: of several weights, one of people stays."""


def _proposed_keys(roles: Roles, given: Mapping[str, Role]) -> list[str]:
    """Keys that nobody stated: what is said of them may still change."""
    return [name for name, own in roles.items() if own.role is Role.KEY and name not in given]


def _places(
    table: OpenedTable,
    tallies: Mapping[str, Tally],
    roles: Roles,
    given: Mapping[str, Role],
    follows: Mapping[str, tuple[Follows, ...]],
) -> Roles:
    """Keys that behave as places do: strangers know where people live."""
    keys = _proposed_keys(roles, given)
    weights = [name for name, own in roles.items() if own.role is Role.WEIGHT]
    signs = places_among(table, tallies, keys, follows, weights)
    return {
        name: Proposal(Role.KEY, f"{roles[name].why}; {sign}", place=True)
        for name, sign in signs.items()
    }


def _weights(
    table: OpenedTable, tallies: Mapping[str, Tally], roles: Roles, given: Mapping[str, Role]
) -> Roles:
    """At most one weight: by name, else by behaviour; others are dropped."""
    blocks = _replicate_weights(tallies, given)
    named = [n for n, own in roles.items() if own.role is Role.WEIGHT and n not in blocks]
    found: Roles = dict(blocks)
    if not named and Role.WEIGHT not in given.values():
        named, likely = _unnamed_weights(table, tallies, roles | blocks, given)
        found |= likely
    why = "a second weight: dropped, as released it would tell people apart"
    of_people = [name for name in named if not HOME_WEIGHTS.search(in_plain_letters(name))]
    stays = next((name for name in named if name in given), next(iter(of_people or named), None))
    return found | {
        name: Proposal(Role.IDENTIFIER, why)
        for name in named
        if name != stays and name not in given
    }


LEAST_REPLICATES = 8
REPLICATES = re.compile(r"rep|brr|jk|jack|boot|fay|wgt|wt|weight|gewicht")
NUMBERED = re.compile(r"(.*?)0*([1-9]\d*)")


def _replicate_weights(tallies: Mapping[str, Tally], given: Mapping[str, Role]) -> Roles:
    """Blocks of numbered columns that are called as replicate weights are, from 1 on."""
    blocks: dict[str, dict[int, str]] = {}
    for name, seen in tallies.items():
        parts = NUMBERED.fullmatch(name)
        if parts is not None and seen.kind in ("integer", "number") and name not in given:
            blocks.setdefault(parts.group(1), {})[int(parts.group(2))] = name
    found: Roles = {}
    for start, block in blocks.items():
        whole = set(block) >= set(range(1, len(block) + 1)) and len(block) >= LEAST_REPLICATES
        if whole and REPLICATES.search(in_plain_letters(start)):
            why = (
                f"one of {len(block)} replicate weights: dropped, since who knows them knows the "
                f'cluster; to keep them, state replicate_weights = {{columns = "{start}*", '
                'method = "..."}'
            )
            found |= dict.fromkeys(block.values(), Proposal(Role.IDENTIFIER, why))
    return found


def _unnamed_weights(
    table: OpenedTable, tallies: Mapping[str, Tally], roles: Roles, given: Mapping[str, Role]
) -> tuple[list[str], Roles]:
    """Columns that behave as weights do, and go up and down with no other number."""
    numbers = [name for name, seen in tallies.items() if seen.kind in ("integer", "number")]
    likely = {
        name: reason
        for name in numbers
        if name not in given
        and roles[name].role in (Role.KEY, Role.SENSITIVE)
        and (
            reason := behaves_as_weight(
                in_plain_letters(name),
                tallies[name],
                table.rows,
                label=in_plain_letters(_label(table, name)),
            )
        )
    }
    found = []
    for name in likely:
        others = [
            other
            for other in numbers
            if other not in likely and roles[other].role is not Role.IDENTIFIER
        ]
        if unrelated(table, name, others, ALONE):
            found.append(name)
    first = found[:1]
    return found, {name: Proposal(Role.WEIGHT, likely[name]) for name in first}


ALONE = 0.3
"""Ranks of a weight agree with those of no other number better than this."""


def _households(
    table: OpenedTable, tallies: Mapping[str, Tally], roles: Roles, given: Mapping[str, Role]
) -> Roles:
    """Columns that number households, with what the people of each have in common."""
    found = {}
    for name, seen in tallies.items():
        if (
            name in given
            or name in table.recoded
            or not may_number_households(table, seen)
            or not (seen.kind == "text" or seen.whole)
        ):
            continue
        free = [own for own, role in roles.items() if role.role is not Role.IDENTIFIER]
        shared = shared_within(table, name, tallies, free)
        near = standing_together(table, name, seen)
        if near and (shared or _consecutive(seen) or HOMES.search(name.lower())):
            how = "stand together, a few each"
        elif len(shared) > 1 and (HOMES.search(name.lower()) or len(shared) > FEW_SHARED):
            how = "are few"
        elif numbers_groups(seen) and not MONEY.search(in_plain_letters(name)):
            how = "are few, and hardly a number is left out"
        else:
            continue
        have = f", and have {_named(shared)} in common" if shared else ""
        why = (
            f"records with one value {how}{have}, as those of a household do; state it as "
            "household at the top, or name it by --household, and promises are stated for "
            "households too; what its people have in common then leaves as it is (role public) or "
            "not at all"
        )
        found[name] = Proposal(Role.IDENTIFIER, why)
    return found


FEW_SHARED = 3


def _consecutive(seen: Tally) -> bool:
    """Whether whole numbers leave hardly any out: they count something."""
    if not seen.whole or seen.lowest is None or seen.highest is None:
        return False
    return seen.highest - seen.lowest + 1 <= 2 * seen.distinct


def _named(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    shown = ", ".join(f"'{name}'" for name in names[:NAMED])
    return f"{shown} and {more} more" if more > 0 else shown


def _derived(
    tallies: Mapping[str, Tally],
    roles: Roles,
    given: Mapping[str, Role],
    follows: Mapping[str, tuple[Follows, ...]],
) -> Roles:
    """Keys that follow from another column go: randomised they contradict it, kept they tell it.

    A column that is dropped tells nothing, and a weight is released in steps.
    What all can see stays where the column that tells it is not seen by anyone: that one goes then.
    So does a column of codes too many for tables, where another one has their groups.
    """
    found = _too_fine(tallies, roles, given, follows)
    for name, each in follows.items():
        gone = (Role.IDENTIFIER, Role.WEIGHT)
        every = [
            one for one in each if one.source not in found and roles[one.source].role not in gone
        ]
        if not every or name in found or roles[name].role is not Role.KEY:
            continue
        if name in given or _stays(name, every):
            found |= _same_keys(name, every, roles, given)
            continue
        own = next((one for one in every if one.source not in follows), every[0])
        found[name] = Proposal(Role.IDENTIFIER, f"{own.words}: dropped, as it would tell that one")
    return found


def _same_keys(
    name: str, every: Sequence[Follows], roles: Roles, given: Mapping[str, Role]
) -> Roles:
    """Keys that are one that stays in other words: randomised beside it they contradict it."""
    why = f"it is '{name}' in other words: dropped, as it would tell that one"
    return {
        one.source: Proposal(Role.IDENTIFIER, why)
        for one in every
        if one.both and one.source not in given and roles[one.source].role is Role.KEY
    }


MANY_CODES = 100
"""More codes than these make tables of noise; their groups are better."""

FEWEST_CODES = 5


def _too_fine(
    tallies: Mapping[str, Tally],
    roles: Roles,
    given: Mapping[str, Role],
    follows: Mapping[str, tuple[Follows, ...]],
) -> Roles:
    """Keys of very many codes whose groups are a key as well: the groups stay."""
    keys = _proposed_keys(roles, given)
    many = (name for name in keys if tallies[name].distinct > MANY_CODES)
    fine = {n for n in many if tallies[n].kind == "text" or are_codes(n, tallies[n])}
    groups: dict[str, list[str]] = {}
    for name in (name for name in keys if name in follows):
        if FEWEST_CODES <= tallies[name].distinct <= MANY_CODES:
            for one in follows[name]:
                if one.nested or of_one_kind(name, one.source):
                    groups.setdefault(one.source, []).append(name)
    return {
        name: Proposal(
            Role.IDENTIFIER,
            f"{tallies[name].distinct:,} codes are too many for tables: dropped, as "
            f"'{max(own, key=lambda one: tallies[one].distinct)}' has their groups",
        )
        for name, own in groups.items()
        if name in fine
    }


def _parts(
    table: OpenedTable, tallies: Mapping[str, Tally], roles: Roles, given: Mapping[str, Role]
) -> Roles:
    """Keys that are a part of an identifier: the first name, the year of a file number."""
    texts = [name for name, seen in tallies.items() if seen.kind == "text"]
    keys = [name for name in texts if roles[name].role is Role.KEY and name not in given]
    found: Roles = {}
    for whole in (name for name in texts if roles[name].role is Role.IDENTIFIER):
        left = [name for name in keys if name not in found]
        for name in parts_of(table, left, whole) if left else ():
            found[name] = Proposal(Role.IDENTIFIER, f"it is a part of '{whole}': dropped with it")
    return found


def _stays(name: str, every: Sequence[Follows]) -> bool:
    return visible(name) and not any(visible(own.source) for own in every)


def _telling(
    roles: Roles, given: Mapping[str, Role], follows: Mapping[str, tuple[Follows, ...]]
) -> Roles:
    """Columns that would leave as they are and tell a key: released, they would undo its matrix."""
    found: Roles = {}
    for name, every in follows.items():
        if roles[name].role is not Role.KEY:
            continue
        for own in every:
            source = roles[own.source].role
            if own.source not in given and source in (Role.SENSITIVE, Role.PUBLIC):
                why = f"whoever sees it knows the key '{name}': dropped, unless it is tied to it"
                found.setdefault(own.source, Proposal(Role.IDENTIFIER, why))
    return found


def _twins(
    table: OpenedTable, tallies: Mapping[str, Tally], roles: Roles, given: Mapping[str, Role]
) -> Roles:
    """Keys of numbers that another key all but tells, as the year of birth tells the age."""
    names = [
        name
        for name, own in roles.items()
        if own.role is Role.KEY
        and tallies[name].kind in ("integer", "number")
        and tallies[name].distinct > FEW_RANKS
    ]
    # What is given or seen by all stays, so it comes first.
    names.sort(key=lambda name: (name not in given, not visible(name)))
    return {
        name: Proposal(
            Role.IDENTIFIER,
            f"it says nearly the same as '{other}' (ranks agree by {closely:.2f}): dropped",
        )
        for name, (other, closely) in nearly_the_same(table, names).items()
        if name not in given
    }


FEW_RANKS = 20


def _fewer_keys(
    table: OpenedTable,
    tallies: Mapping[str, Tally],
    roles: Roles,
    given: Mapping[str, Role],
    *,
    suggest: bool,
) -> Roles:
    """Of many keys those by which people are recognised most easily; why the others are none."""
    keys = _proposed_keys(roles, given)
    labels = {name: _label(table, name) for name in keys}
    known = [name for name in keys if roles[name].place or visible(name, labels[name])]
    measures = [name for name in keys if name not in known and is_measure(name, tallies[name])]
    keys = [name for name in keys if name not in measures]
    named = sum(role is Role.KEY for role in given.values())
    room = 0 if named and not suggest else max(MOST_KEYS - named, 0)
    best = sorted(
        known
        if len(known) + named >= ENOUGH_KEYS
        else keys,  # names and labels say what strangers see
        key=lambda name: (
            -visibility(name, tallies[name], label=labels[name], place=roles[name].place)
        ),
    )[:room]
    why = f"not among the {MOST_KEYS} columns by which people are recognised most easily"
    if named and not suggest:
        why = "not among the keys that were named"
    found = {name: Proposal(Role.SENSITIVE, "a measure, hardly known exactly") for name in measures}
    for name in (name for name in keys if name not in best):
        if name in known:
            found[name] = Proposal(Role.IDENTIFIER, f"{why}, and strangers may know it: dropped")
        else:
            found[name] = Proposal(Role.SENSITIVE, "strangers hardly know it" if known else why)
    return found
