"""What several releases of the same people promise together.

Draws are fresh and every release has a shuffle of its own. Two cases:

- *Apart*: no release shows as it is a column that another one has; and where one shows a sensitive
  column, the other one shows nothing and randomises no sensitive one. Nothing ties a record of the
  one to a record of the other. Each release keeps its own k, all records of a person together are
  found with at most 1 / (k1 k2 ...), and central epsilons and deltas add.
- *Tied*: a column that one shows as it is stands in another one too, as it is or randomised, under
  whatever name; or one shows a sensitive column, and the other one shows any or randomises a
  sensitive one: a value that nobody is taken to know may go with any other. Whoever can tell which
  records belong together faces one channel that releases both: local epsilons add,
  k = 1 + (n - 1) m1 m2, and central privacy follows from the product of the blanket laws. Central
  epsilons may not be added there. n is the smallest group that all columns form which some release
  shows: it is known where the fingerprints say that all show the same of each person, and 1
  elsewhere.

Local epsilons add in both. Groups of tied releases are apart from each other. Releases without
published matrices have no rule, those whose matrices were made from the data none for epsilon.
Waves of a panel are no fresh draws, and have none either.
Proofs: docs/proofs/composition.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial

from pramana.base.rounding import float_down, float_up
from pramana.base.text import text_down, text_up
from pramana.errors import InvalidNumber
from pramana.guarantees.disclosure import Disclosure, Outline
from pramana.guarantees.privacy_loss import LossDistribution, composed_epsilon
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.schema.origins import ALL_DECLARED, DataChoices
from pramana.types import Form


@dataclass(frozen=True)
class Together:
    """What several releases of the same people promise, all of them seen at once.

    Attributes:
        releases: how many.
        groups: which are tied to each other, by position; one alone is a group too.
        tied_by: the columns that tie them.
        k: no record of any of them can be pinned on a person beyond 1 in k; ``None``: no rule.
        every: all records of a person together are found with at most 1 in this many.
        local: what remains against who sees records before the shuffles.
        central: what remains against who sees all releases; ``None``: no rule.
        anonymity_set: the fewest records that share what may be known, where releases are tied.
        uncovered: why there is no rule, release by release.
        uncounted: columns that tied releases show as they are, where nobody has counted how many
            people share all that all of them show: an anonymity set of one is taken.
        choices: what the data decided of any of them.
    """

    releases: int
    groups: tuple[tuple[int, ...], ...]
    tied_by: tuple[str, ...]
    k: float | None
    every: float | None
    local: float
    central: ShuffledPrivacy | None
    anonymity_set: int
    uncovered: tuple[str, ...] = ()
    uncounted: tuple[str, ...] = ()
    choices: DataChoices = ALL_DECLARED

    @property
    def tied(self) -> bool:
        """Whether any two of them are."""
        return any(len(group) > 1 for group in self.groups)

    @property
    def rule(self) -> str:
        """The rule that applies: ``alone``, ``apart``, ``tied`` or ``none``."""
        if self.k is None:
            return "none"
        if self.releases == 1:
            return "alone"
        return "tied" if self.tied else "apart"

    def sentences(self) -> list[str]:
        """The findings in words."""
        found = [_RULES[self.rule].format(n=self.releases, by=", ".join(self.tied_by))]
        if self.k is not None:
            found.append(self._linking())
            if self.uncounted:
                found.append(_UNCOUNTED.format(by=", ".join(self.uncounted)))
        if self.central is None:
            found.append("Nothing remains to be said about epsilon.")
        elif math.isinf(self.central.epsilon):
            found.append("No epsilon: some released value rules a true value out.")
        else:
            found.append(
                f"Central epsilon = {text_up(self.central.epsilon)} with delta = "
                f"{text_up(self.central.delta or 0.0, 3)}, local epsilon = {text_up(self.local)}, "
                "for columns that no release shows as they are."
                f"{self.choices.sentence()}"
            )
        return found + [f"Not covered: {reason}." for reason in self.uncovered]

    def _linking(self) -> str:
        assert self.k is not None  # noqa: S101 - whoever calls has looked
        text = f"No released record can be pinned on a person beyond 1 in {text_down(self.k)}"
        if len(self.groups) > 1 and self.every is not None:
            text += f", nor one of each of them together beyond 1 in {text_down(self.every)}"
        return f"{text}."

    def to_json(self) -> Form:
        """As JSON; null stands for no bound or no rule, which ``rule`` tells apart."""
        return {
            "releases": self.releases,
            "rule": self.rule,
            "groups": [list(group) for group in self.groups],
            "tied_by": list(self.tied_by),
            "k": self.k,
            "all_records": self.every,
            "local_epsilon": self.local if math.isfinite(self.local) else None,
            "central": None if self.central is None else self.central.to_json(),
            "uncovered": list(self.uncovered),
            "uncounted": list(self.uncounted),
            "read_off": list(self.choices.read),
            **{k: v for k, v in self.choices.to_json().items() if k != "read"},
        }


_UNCOUNTED = (
    "Nothing says that all of them show the same of each person ({by}): someone may stand alone in "
    "what they show together, so that an anonymity set of 1 is taken. Release from one table, or "
    "keep a "
    "number of everybody's own in all of them, as an identifier."
)
_RULES = {
    "alone": "One release: what it promises stands.",
    "apart": "{n} releases, none of which shows as it is a column that another one has: nothing "
    "ties their records together. Each keeps its k, and privacy losses add.",
    "tied": "{n} releases of which some may be tied together, record by record, by columns that "
    "are shown as they are ({by}): these count as one that releases all.",
    "none": "{n} releases that no rule puts together.",
}


def compose(releases: Sequence[Disclosure], *, same_people: bool = False) -> Together:
    """Put the releases of the same people together, each drawn and shuffled for itself.

    Args:
        releases: what each shows.
        same_people: whoever asks says that every person is in every one of them; where not, the
            fingerprints must.
    """
    if not releases:
        raise InvalidNumber("Composition needs at least one release.")
    groups = tied_groups(releases)
    pairs = ((a, b) for i, a in enumerate(releases) for b in releases[:i])
    tied_by = sorted({name for a, b in pairs for name in a.ties(b)})
    parts = [
        TiedReleases(tuple(releases[place] for place in group), same_people) for group in groups
    ]
    whole = TiedReleases(tuple(releases), same_people)
    ks: list[float] | None = None
    if len(releases) == 1 and releases[0].outline is None and not releases[0].seeded:
        ks = None if releases[0].alone is None else [releases[0].alone]
    elif not any(release.uncovered for release in releases):
        ks = [part.outline.k(part.anonymity_set) for part in parts]
    from_data = "matrices of method {} were made from the data, so epsilon has no rule"
    reasons = [
        one.uncovered or (from_data.format(one.method) if one.data_dependent else None)
        for one in releases
    ]
    return Together(
        releases=len(releases),
        groups=groups,
        tied_by=tuple(tied_by),
        k=None if ks is None else min(ks),
        every=None if ks is None else float_down(math.prod(map(Fraction, ks))),
        local=math.inf if whole.no_epsilon else whole.outline.local_epsilon,
        central=_central(whole, parts),
        anonymity_set=min(part.anonymity_set for part in parts),
        uncovered=tuple(dict.fromkeys(filter(None, reasons))),
        uncounted=tuple(sorted({name for part in parts for name in part.uncounted})),
        choices=DataChoices.together(one.choices for one in releases),
    )


def _central(whole: TiedReleases, parts: Sequence[TiedReleases]) -> ShuffledPrivacy | None:
    """Of groups that are apart together: the least of three bounds for the sum of their deltas.

    Epsilons added, one shuffle of everything, and the sum of independent privacy losses.
    """
    if whole.no_epsilon:
        return None
    found = [part.central for part in parts]
    if len(found) == 1:
        return found[0]
    delta = _sum_up(one.delta or 0.0 for one in found)
    together = whole.as_one(delta)
    if delta >= 1:
        return together
    added = ShuffledPrivacy(_sum_up(one.epsilon for one in found), delta)
    independent = _independent(parts, delta) if delta else added
    return min(added, together, independent, key=lambda one: one.epsilon)


PROFILE_POINTS = 40
"""Points of the narrowest profile; wider ones have more of the same step, up to five times as many.
"""


def _independent(parts: Sequence[TiedReleases], delta: float) -> ShuffledPrivacy:
    """By the sum of the privacy losses of groups that are apart."""
    small = delta / (1_000 * len(parts))
    rounds = Counter((part.outline, part.smallest_unchanged_group) for part in parts)
    ends = {
        one: max(one[0].central(anonymity_set=one[1], delta=small).epsilon, 1e-6) for one in rounds
    }
    widest = max(ends.values())
    step = max(min(ends.values()), widest / 5) / PROFILE_POINTS
    losses = []
    for (outline, records), times in rounds.items():
        profile = partial(outline.delta, anonymity_set=records)
        points = math.ceil(ends[outline, records] / step)
        losses.append((LossDistribution.of_profile(profile, step=step, points=points), times))
    return ShuffledPrivacy(composed_epsilon(losses, delta=delta), delta)


def _sum_up(numbers: Iterable[float]) -> float:
    """The sum, rounded up."""
    terms = list(numbers)
    return math.inf if math.inf in terms else float_up(sum(map(Fraction, terms), Fraction(0)))


def tied_groups(releases: Sequence[Disclosure]) -> tuple[tuple[int, ...], ...]:
    """Positions of releases, those together that are tied, directly or through others."""
    groups: list[set[int]] = []
    for place, release in enumerate(releases):
        near = [g for g in groups if any(release.ties(releases[other]) for other in g)]
        groups = [g for g in groups if g not in near]
        groups.append(set().union({place}, *near))
    return tuple(sorted(tuple(sorted(group)) for group in groups))


@dataclass(frozen=True)
class TiedReleases:
    """Releases that are looked at as one which releases all.

    Attributes:
        members: the releases.
        same_people: it is said from outside that every person is in every one of them.
    """

    members: tuple[Disclosure, ...]
    same_people: bool = False

    @property
    def no_epsilon(self) -> bool:
        """Whether some member has no epsilon that could be composed."""
        return any(member.by_itself is None for member in self.members)

    @cached_property
    def outline(self) -> Outline:
        """Of the product of all."""
        whole = Outline(Fraction(1), Fraction(1), ())
        for member in self.members:
            assert member.outline is not None  # noqa: S101 - covered
            whole = whole.beside(member.outline)
        return whole

    @property
    def known(self) -> frozenset[str]:
        """What some member shows and may be known; a key that another member shows is."""
        keys = frozenset[str]().union(*(member.keys for member in self.members))
        return (keys & self.kept).union(*(member.known for member in self.members))

    @property
    def kept(self) -> frozenset[str]:
        """What some member shows as it is."""
        return frozenset[str]().union(*(member.kept for member in self.members))

    @property
    def anonymity_set(self) -> int:
        """The fewest that share what may be known; 1 where nobody has counted them."""
        known = self.known
        counted = [member.anonymity_set for member in self.members if known <= member.known]
        return min(counted) if counted and self._agree_on(known) else 1

    @property
    def smallest_unchanged_group(self) -> int:
        """The fewest that share everything that some member shows as it is; or 1, likewise."""
        kept = self.kept
        counted = [
            member.smallest_unchanged_group for member in self.members if kept <= member.kept
        ]
        return min(counted) if counted and self._agree_on(kept) else 1

    @property
    def uncounted(self) -> tuple[str, ...]:
        """The columns that leave the anonymity set unknown, where it is 1 for lack of knowledge.

        In an anonymity set that a member states to be 1 nothing is lost.
        """
        if len(self.members) == 1 or self.anonymity_set > 1:
            return ()
        stated = min(member.anonymity_set for member in self.members)
        return tuple(sorted(self.kept)) if stated > 1 else ()

    def _agree_on(self, columns: frozenset[str]) -> bool:
        """Whether these columns are the same in every member that shows some, for every person.

        Columns of one name may hold other values (a year later) or be recoded otherwise: together
        they then tell more than each, and how many people share that nobody has counted. Two who
        exchanged their values leave every count as it was, so that counts prove nothing.
        """
        if not self.same_people and not _connected(self.members, Disclosure.agrees):
            return False
        return all(
            _connected(
                [member for member in self.members if name in member.kept],
                lambda one, two, name=name: one.agrees_on(name, two),  # type: ignore[misc]
            )
            for name in columns
        )

    @property
    def central(self) -> ShuffledPrivacy:
        """Of one member what it states, of several what one shuffle of all would promise."""
        stated = [one for one in (member.by_itself for member in self.members) if one is not None]
        if len(stated) == 1:
            return stated[0]
        return self.as_one(_sum_up(one.delta or 0.0 for one in stated))

    def as_one(self, delta: float) -> ShuffledPrivacy:
        """Central privacy if every person's records were tied together and shuffled once."""
        return self.outline.central(anonymity_set=self.smallest_unchanged_group, delta=delta)


def _connected(
    members: Sequence[Disclosure], near: Callable[[Disclosure, Disclosure], bool]
) -> bool:
    """Whether each can be reached from the first one, from near to near."""
    reached, left = list(members[:1]), list(members[1:])
    for one in reached:
        reached += [two for two in left if near(one, two)]
        left = [two for two in left if not near(one, two)]
    return not left
