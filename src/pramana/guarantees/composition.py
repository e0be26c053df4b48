"""What several releases of the same people guarantee together.

Every release has independent random numbers and a separate shuffle. There are two cases:

- *Apart*: no column that one release shows unchanged is in the other one. If one shows a sensitive
  column, the other one shows no column and randomises no sensitive one. No record of one release
  can then be linked to a record of the other. Each release keeps its k, an attacker finds all
  records of a person with probability at most 1 / (k1 k2 ...), and privacy losses add.
- *Tied*: a column that one release shows unchanged is in the other one, unchanged or randomised,
  under any name. Or one release shows a sensitive column, and the other one shows any column or
  randomises a sensitive one: an unknown value may be associated with any other. An attacker who
  links the records sees one channel that releases both: local epsilons add,
  k = 1 + (n - 1) m1 m2, and central privacy follows from the product of the blanket distributions.
  Central epsilons must not be added. n is the size of the smallest group by all columns that some
  release shows. It is known if the fingerprints prove that all releases show the same values of
  each person, and 1 otherwise.

Local epsilons add in both cases. Groups of tied releases are apart from each other. No rule covers
releases without published matrices; matrices made from the data have a rule for k only. No rule
covers waves of a panel, because their random numbers are not independent.
Proofs: docs/proofs/composition_proof.md.

An :class:`Outline` has what composition needs of a mechanism. A :class:`Disclosure` is a release
with its outline, anonymity set, unchanged columns and guarantees. Ledgers store both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial

from pramana.base.rounding import TOTAL, float_down, float_up, log_up
from pramana.base.text import text_down, text_up
from pramana.errors import InvalidNumber, NotARelease
from pramana.guarantees.base import Evidence
from pramana.guarantees.privacy_loss import LossDistribution, composed_epsilon
from pramana.guarantees.shuffled_bound import BlanketLaw, delta_of, epsilon_of
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy, mixture_above
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, ShuffledRounds
from pramana.schema.origins import ALL_DECLARED, DataChoices
from pramana.types import Entries, Form

MixtureParts = tuple[tuple[Fraction, int, Fraction], ...]
"""A step as uniform mixtures: the chance of each, how many values it has, and its ratio."""


@dataclass(frozen=True)
class Outline:
    """All that composition needs of a mechanism: sizes and ratios, and no label.

    >>> from pramana.mechanisms.mechanism import Mechanism, Step, UniformMixture
    >>> coin = Mechanism((Step(("a",), UniformMixture.of(("no", "yes"), retention=0.5)),))
    >>> twice = Outline.of(coin).with_outline(Outline.of(coin))
    >>> twice.gamma, twice.swap                     # 3 and 1/9, twice
    (Fraction(9, 1), Fraction(1, 81))

    Attributes:
        gamma: the largest ratio of two original values; ``None`` if there is no bound.
        swap: the smallest ratio of a swap of two people, m in k = 1 + (n - 1) m.
        steps: for each independent step a uniform mixture that can be turned into it, or several
            with their probabilities if a public coin chooses; empty if there is no bound.
        apart: whether the answers of each step are shuffled by themselves.
    """

    gamma: Fraction | None
    swap: Fraction
    steps: tuple[MixtureParts, ...]
    apart: bool = False

    @classmethod
    def of(cls, mechanism: Mechanism) -> Outline:
        """The outline of a mechanism."""
        swap = Fraction(mechanism.anonymity_ratio)
        if mechanism.gamma == math.inf:
            return cls(None, swap, ())
        steps: list[MixtureParts]
        apart = isinstance(mechanism, ShuffledRounds)
        if isinstance(mechanism, AttributeSampler):
            mixtures = [(one.matrix.size, Fraction(one.matrix.gamma)) for one in mechanism.sets]
            if apart:
                steps = [((Fraction(1), *mixture),) for mixture in mixtures]
            else:
                chances = [Fraction(one.weight, TOTAL) for one in mechanism.sets]
                steps = [tuple((p, *mixture) for p, mixture in zip(chances, mixtures, strict=True))]
        else:
            steps = [
                ((Fraction(1), len(step.labels), max(map(mixture_above, step.matrices))),)
                for step in mechanism
            ]
        return cls(Fraction(mechanism.gamma), swap, tuple(steps), apart)

    @cached_property
    def rounds(self) -> tuple[Outline, ...]:
        """What is shuffled by itself: each step, or all of them together."""
        if not self.apart:
            return (self,)
        ratios = [max(ratio for _, _, ratio in step) for step in self.steps]
        pairs = zip(ratios, self.steps, strict=True)
        return tuple(Outline(ratio, 1 / ratio**2, (step,)) for ratio, step in pairs)

    def with_outline(self, other: Outline) -> Outline:
        """The outline of the channel that releases both, of the same record and in one shuffle."""
        rounds = (*self.rounds, *other.rounds)
        swap = math.prod((outline.swap for outline in rounds), start=Fraction(1))
        if self.gamma is None or other.gamma is None:
            return Outline(None, swap, ())
        return Outline(self.gamma * other.gamma, swap, self.steps + other.steps)

    @property
    def local_epsilon(self) -> float:
        """Ln gamma, rounded up."""
        return math.inf if self.gamma is None else log_up(self.gamma)

    def k(self, anonymity_set: int) -> float:
        """1 + (n - 1) m, rounded down."""
        return float_down(1 + (anonymity_set - 1) * self.swap)

    def central(self, *, anonymity_set: int, delta: float) -> ShuffledPrivacy:
        """Central privacy of one shuffle of such records, by the product of the steps' laws."""
        local = ShuffledPrivacy(self.local_epsilon, 0.0)
        if anonymity_set == 1 or delta == 0 or delta >= 1 or self.gamma is None:
            return local  # a delta of one would say nothing
        epsilon = min(
            epsilon_of([law], anonymity_set=anonymity_set, delta=delta) for law in self._laws
        )
        return ShuffledPrivacy(epsilon, delta) if epsilon < local.epsilon else local

    def delta(self, epsilon: float, *, anonymity_set: int) -> float:
        """An upper bound of delta at an epsilon, for one shuffle of such records."""
        return min(
            (delta_of(law, anonymity_set=anonymity_set, epsilon=epsilon) for law in self._laws),
            default=1.0,
        )

    @cached_property
    def _laws(self) -> list[BlanketLaw]:
        """Laws that each bound the channel; none if there is no bound."""
        if self.gamma is None:
            return []
        product = BlanketLaw.of_steps(
            BlanketLaw.of_parts(
                (float(chance), BlanketLaw.of_mixture(size, ratio)) for chance, size, ratio in step
            )
            for step in self.steps
        )
        return [product, BlanketLaw.of_any_channel(self.gamma)]

    def to_json(self) -> Form:
        """Fractions as text: exact, whatever reads them."""
        return {
            "gamma": None if self.gamma is None else str(self.gamma),
            "swap": str(self.swap),
            "steps": [
                [[str(chance), size, str(ratio)] for chance, size, ratio in step]
                for step in self.steps
            ],
            "apart": self.apart,
        }

    @classmethod
    def from_json(cls, form: Entries) -> Outline:
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
                bool(form.get("apart", False)),
            )
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            raise NotARelease("The outline of a channel must hold gamma, swap and steps.") from None


@dataclass(frozen=True)
class Disclosure:
    """One release as other releases of the same people see it.

    Attributes:
        method: the name of the method.
        records: the number of records.
        columns: all released columns.
        kept: the columns released unchanged.
        keys: the keys.
        known: the columns released unchanged that an adversary may know.
        anonymity_set: the size of the smallest group that the known columns form.
        smallest_unchanged_group: the size of the smallest group that all unchanged columns form.
        outline: of the published matrices; ``None`` if there are none.
        data_dependent: whether the matrices were chosen by looking at the data.
        central: the central privacy that it states, if it does.
        alone: the k that it guarantees by itself, if it publishes no matrices.
        seeded: whether a seed was used.
        marks: marks of columns: two that share one may hold the same, whatever their names.
        rows: a fingerprint of the original table, row by row; ``None`` if nobody has taken it.
        owned: a fingerprint of the unchanged columns, row by row, together with a column of which
            everybody has another value; by the fingerprint of that column.
        forms: a fingerprint of each unchanged column and its recoding.
        choices: what was read off the data.
        veiled: the randomised sensitive columns, which nobody is assumed to know.
        panel: whether it is a wave of a panel, whose waves share random numbers on each device.
    """

    method: str
    records: int
    columns: frozenset[str]
    kept: frozenset[str]
    keys: frozenset[str]
    known: frozenset[str]
    anonymity_set: int
    smallest_unchanged_group: int
    outline: Outline | None
    data_dependent: bool = False
    central: ShuffledPrivacy | None = None
    alone: float | None = None
    seeded: bool = False
    marks: Mapping[str, frozenset[str]] = field(default_factory=dict)
    rows: str | None = None
    owned: Mapping[str, str] = field(default_factory=dict)
    forms: Mapping[str, str] = field(default_factory=dict)
    choices: DataChoices = ALL_DECLARED
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
        attached = evidence.anonymity_set if kept == known else evidence.smallest_unchanged_group
        return cls(
            method=method,
            records=evidence.records,
            columns=frozenset(column.name for column in schema.released),
            kept=kept,
            keys=frozenset(column.name for column in schema.keys),
            known=known,
            anonymity_set=evidence.anonymity_set,
            smallest_unchanged_group=1 if attached is None else attached,
            outline=None if evidence.mechanism is None else Outline.of(evidence.mechanism),
            data_dependent=evidence.data_dependent,
            central=central,
            alone=alone,
            seeded=evidence.seeded,
            choices=DataChoices.of(schema),
            veiled=frozenset(c.name for c in schema.randomised if not c.role.traits.known),
            panel=panel,
        )

    @property
    def uncovered(self) -> str | None:
        """Why no rule adds it to others; nothing where one does."""
        if self.seeded:
            return "a seed was used, and anyone who knows it can undo the release"
        if self.outline is None:
            return f"a release by method {self.method} publishes no matrices to compose"
        if self.panel:
            return (
                "waves of a panel share random numbers; the certificate states the epsilon of all"
            )
        return None

    @property
    def by_itself(self) -> ShuffledPrivacy | None:
        """Central privacy as stated, or else the local one, which needs no anonymity set."""
        if self.uncovered or self.data_dependent or self.outline is None:
            return None
        if self.central is not None and self.central.delta is not None:
            return self.central
        return ShuffledPrivacy(self.outline.local_epsilon, 0.0)

    def ties(self, other: Disclosure) -> frozenset[str]:
        """The columns by which records of both may be found to belong together.

        Those that one shows unchanged and the other one has at all, under whatever name. And if one
        shows a sensitive column unchanged: what the other one shows unchanged, or randomises of
        sensitive columns, since a value that nobody is assumed to know may go with any other.
        """
        names = frozenset[str]()
        for one, two in ((self, other), (other, self)):
            marks = frozenset[str]().union(*(two.marks.get(name, ()) for name in two.columns))
            names |= {
                name
                for name in one.kept
                if name in two.columns or not marks.isdisjoint(one.marks.get(name, ()))
            }
            if one.kept - one.known and (two.kept or two.veiled):
                names |= one.kept | two.kept
        return names

    def agrees(self, other: Disclosure) -> bool:
        """Whether both are of one table, or show the same values for each person."""
        if self.records != other.records:
            return False
        if self.rows is not None and self.rows == other.rows:
            return True
        common = self.owned.keys() & other.owned.keys()
        same = all(self.owned[name] == other.owned[name] for name in common)
        return bool(common) and same and self.kept == other.kept

    def agrees_on(self, name: str, other: Disclosure) -> bool:
        """Whether everybody has the same released value in a column that both show unchanged."""
        form = self.forms.get(name)
        return form is not None and form == other.forms.get(name) and self.agrees(other)

    def renamed(self, names: Mapping[str, str]) -> Disclosure:
        """The same with other names for some columns."""
        sets: Form = {
            field: frozenset(names.get(name, name) for name in getattr(self, field))
            for field in _SETS
        }
        marks = {names.get(name, name): mark for name, mark in self.marks.items()}
        forms = {names.get(name, name): form for name, form in self.forms.items()}
        return replace(self, **sets, marks=marks, forms=forms)

    def to_json(self) -> Form:
        """As JSON."""
        return {
            **{name: getattr(self, name) for name in _STORED},
            **{name: sorted(getattr(self, name)) for name in _SETS},
            **{name: dict(getattr(self, name)) for name in _MAPPINGS},
            "central": None if self.central is None else self.central.to_json(),
            "outline": None if self.outline is None else self.outline.to_json(),
            **self.choices.to_json(),
        }

    @classmethod
    def from_json(cls, form: Entries) -> Disclosure:
        """The reverse of :meth:`to_json`."""
        central, outline = form["central"], form["outline"]
        if central is not None:
            epsilon = math.inf if central["epsilon"] is None else central["epsilon"]
            central = ShuffledPrivacy(epsilon, central.get("delta"))
        parts: Form = {name: form[name] for name in _STORED}
        parts |= {name: frozenset(form[name]) for name in _SETS}
        parts |= {name: dict(form[name]) for name in _MAPPINGS}
        return cls(
            **parts,
            central=central,
            outline=None if outline is None else Outline.from_json(outline),
            choices=DataChoices.from_json(form),
        )


_STORED = (
    "method",
    "records",
    "anonymity_set",
    "smallest_unchanged_group",
    "data_dependent",
    "alone",
    "seeded",
    "rows",
    "panel",
)
_SETS = ("columns", "kept", "keys", "known", "veiled")
_MAPPINGS = ("owned", "forms")


@dataclass(frozen=True)
class Together:
    """What several releases of the same people guarantee together.

    Attributes:
        releases: how many.
        groups: which are tied to each other, by position; one alone is a group too.
        tied_by: the columns that tie them.
        k: a record of any of them is linked to its person with probability at most 1 in k;
            ``None``: no rule.
        every: all records of a person together are found with probability at most 1 in this many.
        local: epsilon against who sees records before the shuffles.
        central: epsilon and delta against who sees all releases; ``None``: no rule.
        anonymity_set: the fewest records that share what may be known, if releases are tied.
        uncovered: why there is no rule, release by release.
        uncounted: columns that tied releases show, if nobody has counted how many people share what
            all of them show: an anonymity set of one is assumed.
        choices: what was read off the data for any of them.
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
        words = [_RULES[self.rule].format(n=self.releases, by=", ".join(self.tied_by))]
        if self.k is not None:
            link = (
                "A released record is linked to its person with probability at most 1 in "
                f"{text_down(self.k)}"
            )
            if len(self.groups) > 1 and self.every is not None:
                link += f", and one of each together with at most 1 in {text_down(self.every)}"
            words.append(f"{link}.")
            if self.uncounted:
                words.append(_UNCOUNTED.format(by=", ".join(self.uncounted)))
        if self.central is None:
            words.append("No epsilon covers all of them together.")
        elif math.isinf(self.central.epsilon):
            words.append("No epsilon: a released value can rule out an original value.")
        else:
            words.append(
                f"Central epsilon = {text_up(self.central.epsilon)} with delta = "
                f"{text_up(self.central.delta or 0.0, 3)}, local epsilon = {text_up(self.local)}, "
                f"for columns that no release shows unchanged.{self.choices.sentence()}"
            )
        return words + [f"Not covered: {reason}." for reason in self.uncovered]

    def to_json(self) -> Form:
        """As JSON; null means no bound or no rule, which ``rule`` distinguishes."""
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
    "The releases may show different values of a person ({by}), and their combination may be "
    "unique: an anonymity set of 1 is assumed. Release from one table, or keep the same identifier "
    "in all of them."
)
_RULES = {
    "alone": "One release: its guarantees hold.",
    "apart": "{n} releases without a common unchanged column: their records cannot be linked. Each "
    "keeps its k, and privacy losses add.",
    "tied": "{n} releases, some of which can be linked record by record through unchanged columns "
    "({by}): these count as one release of all their columns.",
    "none": "{n} releases for which no rule of composition is known.",
}


def compose(releases: Sequence[Disclosure], *, same_people: bool = False) -> Together:
    """Compose releases of the same people, each randomised and shuffled for itself.

    Args:
        releases: what each shows.
        same_people: the caller asserts that every person is in every release; otherwise the
            fingerprints must show it.
    """
    if not releases:
        raise InvalidNumber("Composition needs at least one release.")
    groups = tied_groups(releases)
    pairs = ((a, b) for i, a in enumerate(releases) for b in releases[:i])
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
        tied_by=tuple(sorted({name for a, b in pairs for name in a.ties(b)})),
        k=None if ks is None else min(ks),
        every=None if ks is None else float_down(math.prod(map(Fraction, ks))),
        local=math.inf if whole.no_epsilon else whole.outline.local_epsilon,
        central=_central(whole, parts),
        anonymity_set=min(part.anonymity_set for part in parts),
        uncovered=tuple(dict.fromkeys(filter(None, reasons))),
        uncounted=tuple(sorted({name for part in parts for name in part.uncounted})),
        choices=DataChoices.together(one.choices for one in releases),
    )


def tied_groups(releases: Sequence[Disclosure]) -> tuple[tuple[int, ...], ...]:
    """Positions of releases, those together that are tied, directly or through others."""
    groups: list[set[int]] = []
    for place, release in enumerate(releases):
        near = [g for g in groups if any(release.ties(releases[other]) for other in g)]
        groups = [g for g in groups if g not in near]
        groups.append(set().union({place}, *near))
    return tuple(sorted(tuple(sorted(group)) for group in groups))


PROFILE_POINTS = 40
"""Points of the narrowest profile; wider ones have the same step and up to five times as many."""


def _central(whole: TiedReleases, parts: Sequence[TiedReleases]) -> ShuffledPrivacy | None:
    """Central privacy of groups that are apart: the least of three bounds for their total delta.

    Epsilons added, one shuffle of everything, and the sum of independent privacy losses.
    """
    if whole.no_epsilon:
        return None
    stated = [part.central for part in parts]
    if len(stated) == 1:
        return stated[0]
    delta = _sum_up(one.delta or 0.0 for one in stated)
    one_shuffle = whole.as_one(delta)
    if delta >= 1:
        return one_shuffle
    bounds = [ShuffledPrivacy(_sum_up(one.epsilon for one in stated), delta), one_shuffle]
    if delta:
        bounds.append(_independent(parts, delta))
    return min(bounds, key=lambda one: one.epsilon)


def _independent(parts: Sequence[TiedReleases], delta: float) -> ShuffledPrivacy:
    """By the sum of the privacy losses of all that is shuffled by itself."""
    rounds = Counter(
        (one, part.smallest_unchanged_group) for part in parts for one in part.outline.rounds
    )
    small = delta / (1_000 * rounds.total())
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


@dataclass(frozen=True)
class TiedReleases:
    """Releases that are treated as one which releases all.

    Attributes:
        members: the releases.
        same_people: it is asserted from outside that every person is in every one of them.
    """

    members: tuple[Disclosure, ...]
    same_people: bool = False

    @property
    def no_epsilon(self) -> bool:
        """Whether some member has no epsilon that could be composed."""
        return any(member.by_itself is None for member in self.members)

    @cached_property
    def outline(self) -> Outline:
        """The outline of all members together."""
        if len(self.members) == 1 and self.members[0].outline is not None:
            return self.members[0].outline
        whole = Outline(Fraction(1), Fraction(1), ())
        for member in self.members:
            assert member.outline is not None  # noqa: S101 - covered
            whole = whole.with_outline(member.outline)
        return whole

    @cached_property
    def kept(self) -> frozenset[str]:
        """The columns that some member shows unchanged."""
        return frozenset[str]().union(*(member.kept for member in self.members))

    @cached_property
    def known(self) -> frozenset[str]:
        """The columns that may be known; a key that another release of the group shows is known."""
        keys = frozenset[str]().union(*(member.keys for member in self.members))
        return (keys & self.kept).union(*(member.known for member in self.members))

    @property
    def anonymity_set(self) -> int:
        """The fewest records that share what may be known; 1 if nobody has counted them."""
        known = self.known
        counted = [member.anonymity_set for member in self.members if known <= member.known]
        return min(counted) if counted and self._agree_on(known) else 1

    @property
    def smallest_unchanged_group(self) -> int:
        """The fewest records that share all that some member shows unchanged; or 1, likewise."""
        kept = self.kept
        counted = [one.smallest_unchanged_group for one in self.members if kept <= one.kept]
        return min(counted) if counted and self._agree_on(kept) else 1

    @property
    def uncounted(self) -> tuple[str, ...]:
        """The columns that leave the anonymity set unknown, if it is 1 for lack of knowledge.

        Empty if the anonymity set of a member is 1: composition then changes nothing.
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
        for name in columns:
            shown = [member for member in self.members if name in member.kept]
            if not _connected(shown, partial(_agree_in, name)):
                return False
        return True

    @property
    def central(self) -> ShuffledPrivacy:
        """Of one member what it states, of several the central privacy of one shuffle of all."""
        stated = [one for one in (member.by_itself for member in self.members) if one is not None]
        if len(stated) == 1:
            return stated[0]
        return self.as_one(_sum_up(one.delta or 0.0 for one in stated))

    def as_one(self, delta: float) -> ShuffledPrivacy:
        """Central privacy if every person's records were tied together and shuffled once."""
        return self.outline.central(anonymity_set=self.smallest_unchanged_group, delta=delta)


def _agree_in(name: str, one: Disclosure, other: Disclosure) -> bool:
    return one.agrees_on(name, other)


def _connected(
    members: Sequence[Disclosure], near: Callable[[Disclosure, Disclosure], bool]
) -> bool:
    """Whether each can be reached from the first one, from near to near."""
    reached, left = list(members[:1]), list(members[1:])
    for one in reached:
        reached += [two for two in left if near(one, two)]
        left = [two for two in left if not near(one, two)]
    return not left
