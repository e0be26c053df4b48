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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pramana.errors import InvalidNumber, NotARelease
from pramana.guarantees.claim import read_off, takes_as_public
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.matrices.reporting import Reporting
from pramana.numeric import TOTAL, float_down, float_up, log_up, text_down, text_up
from pramana.table.schema import Role

if TYPE_CHECKING:
    from pramana.guarantees.base import Evidence
    from pramana.guarantees.shuffled_law import BlanketLaw
    from pramana.matrices.mechanism import Mechanism

__all__ = ["Disclosure", "Outline", "TiedReleases", "Together", "compose", "tied_groups"]

MixtureParts = tuple[tuple[Fraction, int, Fraction], ...]
"""A step as uniform mixtures: the chance of each, how many values it has, and its ratio."""


@dataclass(frozen=True)
class Outline:
    """All that composing needs of what is done to a record: sizes and ratios, and no label.

    >>> from pramana.matrices import Mechanism, Step, UniformMixture
    >>> coin = Mechanism((Step(("a",), UniformMixture.of(("no", "yes"), retention=0.5)),))
    >>> twice = Outline.of(coin).beside(Outline.of(coin))
    >>> twice.gamma, twice.swap                     # 3 and 1/9, twice
    (Fraction(9, 1), Fraction(1, 81))

    Attributes:
        gamma: the largest ratio of two truths; ``None`` where there is no bound.
        swap: the smallest ratio of a swap of two people, m in k = 1 + (n - 1) m.
        steps: for each independent step a uniform mixture that can be turned into it, or several
            with their chances where a public coin chooses; empty where there is no bound.
    """

    gamma: Fraction | None
    swap: Fraction
    steps: tuple[MixtureParts, ...]

    @classmethod
    def of(cls, mechanism: Mechanism) -> Outline:
        """That of a mechanism."""
        from pramana.guarantees.shuffled_channels import mixture_above

        swap = Fraction(mechanism.anonymity_ratio)
        if mechanism.gamma == math.inf:
            return cls(None, swap, ())
        if isinstance(mechanism, Reporting):
            sets = tuple(
                (Fraction(one.weight, TOTAL), one.matrix.size, Fraction(one.matrix.gamma))
                for one in mechanism.sets
            )
            return cls(Fraction(mechanism.gamma), swap, (sets,))
        steps = tuple(
            ((Fraction(1), len(step.labels), max(map(mixture_above, step.matrices))),)
            for step in mechanism
        )
        return cls(Fraction(mechanism.gamma), swap, steps)

    def beside(self, other: Outline) -> Outline:
        """That of the channel that releases what both release, of the same record."""
        swap = self.swap * other.swap
        if self.gamma is None or other.gamma is None:
            return Outline(None, swap, ())
        return Outline(self.gamma * other.gamma, swap, self.steps + other.steps)

    @property
    def local_epsilon(self) -> float:
        """ln gamma, rounded up."""
        return math.inf if self.gamma is None else log_up(self.gamma)

    def k(self, crowd: int) -> float:
        """1 + (n - 1) m, rounded down."""
        return float_down(1 + (crowd - 1) * self.swap)

    def central(self, *, crowd: int, delta: float) -> ShuffledPrivacy:
        """What one shuffle of such records promises, by the product of the laws of its steps."""
        local = ShuffledPrivacy(self.local_epsilon, 0.0)
        if crowd == 1 or delta == 0 or delta >= 1 or self.gamma is None:
            return local  # a delta of one would say nothing
        from pramana.guarantees.shuffled_bound import epsilon_of

        found = min(epsilon_of([law], crowd=crowd, delta=delta) for law in self._laws(self.gamma))
        return ShuffledPrivacy(found, delta) if found < local.epsilon else local

    def _laws(self, gamma: Fraction) -> list[BlanketLaw]:
        from pramana.guarantees.shuffled_law import BlanketLaw

        product = BlanketLaw.of_steps(
            BlanketLaw.of_parts(
                (float(chance), BlanketLaw.of_mixture(size, ratio)) for chance, size, ratio in step
            )
            for step in self.steps
        )
        return [product, BlanketLaw.of_any_channel(gamma)]

    def to_json(self) -> dict[str, Any]:
        """Fractions as text: exact, whatever reads them."""
        return {
            "gamma": None if self.gamma is None else str(self.gamma),
            "swap": str(self.swap),
            "steps": [
                [[str(chance), size, str(ratio)] for chance, size, ratio in step]
                for step in self.steps
            ],
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Outline:
        """The reverse of :meth:`to_json`."""
        try:
            gamma = form["gamma"]
            return cls(
                None if gamma is None else Fraction(gamma),
                Fraction(form["swap"]),
                tuple(
                    tuple(
                        (Fraction(chance), int(size), Fraction(ratio)) for chance, size, ratio in s
                    )
                    for s in form["steps"]
                ),
            )
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            raise NotARelease("The outline of a channel must hold gamma, swap and steps.") from None


@dataclass(frozen=True)
class Disclosure:
    """One release as the others see it.

    Attributes:
        method: the name of what was done.
        records: how many.
        columns: all that are released.
        kept: those that are released as they are.
        keys: those by which a person is known.
        known: those of the kept that an adversary may know.
        crowd: the size of the smallest group that the known ones form.
        attached: the size of the smallest group that all kept ones form.
        outline: of the published matrices; ``None`` where there are none.
        data_dependent: whether the matrices were chosen by looking at the data.
        central: what it promises by itself, where it does.
        alone: the k that it promises by itself, where no matrices tell.
        seeded: whether a seed was used.
        marks: what is known of columns beyond their names: two that share a mark may tell the same.
        rows: a fingerprint of the true table, row by row; ``None`` where nobody has taken it.
        owned: one of what is released as it is, row by row, beside a column of which everybody has
            another value; by the fingerprint of that column.
        forms: one of each column that is released as it is, and of its recoding.
        read: randomised columns whose lists of values were read off the data, and so tell of it.
        veiled: randomised columns that nobody is taken to know, the sensitive ones.
        panel: whether it is a wave of a panel, whose waves share the draws that each device keeps.
    """

    method: str
    records: int
    columns: frozenset[str]
    kept: frozenset[str]
    keys: frozenset[str]
    known: frozenset[str]
    crowd: int
    attached: int
    outline: Outline | None
    data_dependent: bool = False
    central: ShuffledPrivacy | None = None
    alone: float | None = None
    seeded: bool = False
    marks: Mapping[str, frozenset[str]] = field(default_factory=dict)
    rows: str | None = None
    owned: Mapping[str, str] = field(default_factory=dict)
    forms: Mapping[str, str] = field(default_factory=dict)
    read: tuple[str, ...] = ()
    veiled: frozenset[str] = frozenset()
    panel: bool = False

    @classmethod
    def of(
        cls,
        evidence: Evidence,
        *,
        method: str,
        central: ShuffledPrivacy | None = None,
        alone: float | None = None,
        panel: bool = False,
    ) -> Disclosure:
        """From what a stranger can see of a release."""
        schema = evidence.schema
        kept = frozenset(column.name for column in schema.released_as_is)
        known = frozenset(schema.known)
        attached = evidence.crowd if kept == known else evidence.attached
        return cls(
            method=method,
            records=evidence.records,
            columns=frozenset(column.name for column in schema.released),
            kept=kept,
            keys=frozenset(column.name for column in schema.keys),
            known=known,
            crowd=evidence.crowd,
            attached=1 if attached is None else attached,
            outline=None if evidence.mechanism is None else Outline.of(evidence.mechanism),
            data_dependent=evidence.data_dependent,
            central=central,
            alone=alone,
            seeded=evidence.seeded,
            read=read_off(schema),
            veiled=frozenset(c.name for c in schema.randomised if c.role is Role.SENSITIVE),
            panel=panel,
        )

    @property
    def uncovered(self) -> str | None:
        """Why no rule adds it to others; nothing where one does."""
        if self.seeded:
            return "a seed was used, and whoever has it undoes the release"
        if self.outline is None:
            return f"a release by method {self.method} publishes no matrices to compose"
        if self.panel:
            return "waves of a panel share draws, and the certificate states what all of them tell"
        return None

    @property
    def by_itself(self) -> ShuffledPrivacy | None:
        """Central privacy as stated, or else the local one, which needs no crowd."""
        if self.uncovered or self.data_dependent or self.outline is None:
            return None
        if self.central is not None and self.central.delta is not None:
            return self.central
        return ShuffledPrivacy(self.outline.local_epsilon, 0.0)

    @property
    def hidden(self) -> frozenset[str]:
        """The sensitive ones: released as they are, and nobody is taken to know them."""
        return self.kept - self.known

    def ties(self, other: Disclosure) -> frozenset[str]:
        """The columns by which records of both may be found to belong together.

        Those that the one shows as they are and that the other one has at all. And where one shows
        a sensitive column: what the other one shows, or hides of what is sensitive, since a value
        that nobody knows may go with any other.
        """
        found = self._shows(other) | other._shows(self)
        for one, two in ((self, other), (other, self)):
            if one.hidden and (two.kept or two.veiled):
                found |= one.kept | two.kept
        return found

    def agrees(self, other: Disclosure) -> bool:
        """Whether both are of one table; or show the same beside what is everybody's own."""
        if self.records != other.records:
            return False
        if self.rows is not None and self.rows == other.rows:
            return True
        common = self.owned.keys() & other.owned.keys()
        same = all(self.owned[own] == other.owned[own] for own in common)
        return bool(common) and same and self.kept == other.kept

    def agrees_on(self, name: str, other: Disclosure) -> bool:
        """Whether everybody has the same in a column that both show, as it is shown."""
        form = self.forms.get(name)
        return form is not None and form == other.forms.get(name) and self.agrees(other)

    def _shows(self, other: Disclosure) -> frozenset[str]:
        """What is shown here as it is and stands there too, under whatever name."""
        nothing: frozenset[str] = frozenset()
        there = nothing.union(*(other.marks.get(name, nothing) for name in other.columns))
        return frozenset(
            name
            for name in self.kept
            if name in other.columns or self.marks.get(name, nothing) & there
        )

    def renamed(self, names: Mapping[str, str]) -> Disclosure:
        """The same with other names for some columns."""
        sets: dict[str, Any] = {
            own: frozenset(names.get(name, name) for name in getattr(self, own)) for own in _SETS
        }
        marks = {names.get(name, name): own for name, own in self.marks.items()}
        forms = {names.get(name, name): own for name, own in self.forms.items()}
        return replace(self, **sets, marks=marks, forms=forms)

    def to_json(self) -> dict[str, Any]:
        """A plain form."""
        central = None if self.central is None else self.central.to_json()
        outline = None if self.outline is None else self.outline.to_json()
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            **{name: sorted(getattr(self, name)) for name in _SETS},
            "central": central,
            "outline": outline,
            "rows": self.rows,
            "owned": dict(self.owned),
            "forms": dict(self.forms),
            "read": list(self.read),
            "veiled": sorted(self.veiled),
            "panel": self.panel,
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Disclosure:
        """The reverse of :meth:`to_json`; what older forms lack is in doubt."""
        central, outline = form["central"], form["outline"]
        if central is not None:
            epsilon = math.inf if central["epsilon"] is None else central["epsilon"]
            central = ShuffledPrivacy(epsilon, central.get("delta"))
        plain: dict[str, Any] = {name: form[name] for name in _PLAIN}
        sets: dict[str, Any] = {name: frozenset(form[name]) for name in _SETS}
        unknown = sets["columns"] - sets["kept"] - sets["keys"]
        return cls(
            **plain,
            **sets,
            central=central,
            outline=None if outline is None else Outline.from_json(outline),
            rows=form.get("rows"),
            owned=dict(form.get("owned", {})),
            forms=dict(form.get("forms", {})),
            read=tuple(form.get("read", ())),
            veiled=frozenset(form.get("veiled", unknown)),
            panel=form.get("panel", False),
        )


_SETS = ("columns", "kept", "keys", "known")
_PLAIN = ("method", "records", "crowd", "attached", "data_dependent", "alone", "seeded")


@dataclass(frozen=True)
class Together:
    """What several releases of the same people promise, all of them seen at once.

    Attributes:
        releases: how many.
        groups: which are tied to each other, by position; one alone is a group too.
        tied_by: the columns that tie them.
        k: no record of any of them can be pinned on a person beyond 1 in k; ``None``: no rule.
        every: all records of a person together are found with at most 1 in so many.
        local: what remains against who sees records before the shuffles.
        central: what remains against who sees all releases; ``None``: no rule.
        crowd: the fewest records that share what may be known, where releases are tied.
        uncovered: why there is no rule, release by release.
        uncounted: columns that tied releases show as they are, where nobody has counted how many
            people share all that all of them show: a crowd of one is taken.
        read: randomised columns whose lists of values were read off the data.
    """

    releases: int
    groups: tuple[tuple[int, ...], ...]
    tied_by: tuple[str, ...]
    k: float | None
    every: float | None
    local: float
    central: ShuffledPrivacy | None
    crowd: int
    uncovered: tuple[str, ...] = ()
    uncounted: tuple[str, ...] = ()
    read: tuple[str, ...] = ()

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
        """The findings in plain words."""
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
                f"{takes_as_public(self.read)}"
            )
        return found + [f"Not covered: {reason}." for reason in self.uncovered]

    def _linking(self) -> str:
        assert self.k is not None  # noqa: S101 - whoever calls has looked
        text = f"No released record can be pinned on a person beyond 1 in {text_down(self.k)}"
        if len(self.groups) > 1 and self.every is not None:
            text += f", nor one of each of them together beyond 1 in {text_down(self.every)}"
        return f"{text}."

    def to_json(self) -> dict[str, Any]:
        """A plain form; null stands for no bound or no rule, which ``rule`` tells apart."""
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
            "read_off": list(self.read),
        }


_UNCOUNTED = (
    "Nothing says that all of them show the same of each person ({by}): someone may stand alone in "
    "what they show together, so that a crowd of 1 is taken. Release from one table, or keep a "
    "number of everybody's own in all of them, as an identifier."
)
_RULES = {
    "alone": "One release: what it promises stands.",
    "apart": "{n} releases, none of which shows as it is a column that another one has: nothing "
    "ties their records together. Each keeps its k, central epsilons add.",
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
    ks = _numbers(releases, parts)
    return Together(
        releases=len(releases),
        groups=groups,
        tied_by=tuple(tied_by),
        k=None if ks is None else min(ks),
        every=None if ks is None else float_down(math.prod(map(Fraction, ks))),
        local=math.inf if whole.no_epsilon else whole.outline.local_epsilon,
        central=_central(whole, parts),
        crowd=min(part.crowd for part in parts),
        uncovered=tuple(dict.fromkeys(filter(None, (_reason(one) for one in releases)))),
        uncounted=tuple(sorted({name for part in parts for name in part.uncounted})),
        read=tuple(dict.fromkeys(name for one in releases for name in one.read)),
    )


def _numbers(releases: Sequence[Disclosure], parts: Sequence[TiedReleases]) -> list[float] | None:
    """The k of each group; nothing where one has none."""
    if len(releases) == 1 and releases[0].outline is None and not releases[0].seeded:
        return None if releases[0].alone is None else [releases[0].alone]
    if any(release.uncovered for release in releases):
        return None
    return [part.outline.k(part.crowd) for part in parts]


def _reason(release: Disclosure) -> str | None:
    """What no rule covers of a release."""
    if release.uncovered is None and release.data_dependent:
        return (
            f"matrices of method {release.method} were made from the data, so epsilon has no rule"
        )
    return release.uncovered


def _central(whole: TiedReleases, parts: Sequence[TiedReleases]) -> ShuffledPrivacy | None:
    """The sum over groups that are apart, or one shuffle of everything if that is less."""
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
    return min(added, together, key=lambda one: one.epsilon)


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
    def crowd(self) -> int:
        """The fewest that share what may be known; 1 where nobody has counted them."""
        known = self.known
        counted = [member.crowd for member in self.members if known <= member.known]
        return min(counted) if counted and self._agree_on(known) else 1

    @property
    def attached(self) -> int:
        """The fewest that share everything that some member shows as it is; or 1, likewise."""
        kept = self.kept
        counted = [member.attached for member in self.members if kept <= member.kept]
        return min(counted) if counted and self._agree_on(kept) else 1

    @property
    def uncounted(self) -> tuple[str, ...]:
        """The columns that leave the crowd unknown, where it is for lack of knowledge that it is 1.

        In a crowd that a member states to be 1 nothing is lost.
        """
        if len(self.members) == 1 or self.crowd > 1:
            return ()
        stated = min(member.crowd for member in self.members)
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
        return self.outline.central(crowd=self.attached, delta=delta)


def _connected(
    members: Sequence[Disclosure], near: Callable[[Disclosure, Disclosure], bool]
) -> bool:
    """Whether each can be reached from the first one, from near to near."""
    reached, left = list(members[:1]), list(members[1:])
    for one in reached:
        reached += [two for two in left if near(one, two)]
        left = [two for two in left if not near(one, two)]
    return not left
