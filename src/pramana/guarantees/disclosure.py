"""What one release discloses, as far as composition needs it.

An :class:`Outline` is what composition needs of a mechanism; a :class:`Disclosure` is a release
with its outline, its anonymity set, its unchanged columns, and what it guarantees by itself. Both
are written into ledgers, so that releases compose without their tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from pramana.base.rounding import TOTAL, float_down, log_up
from pramana.errors import NotARelease
from pramana.guarantees.base import Evidence
from pramana.guarantees.shuffled_bound import BlanketLaw, delta_of, epsilon_of
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy, mixture_above
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, ShuffledRounds
from pramana.schema.origins import ALL_DECLARED, DataChoices
from pramana.schema.schema import Role
from pramana.types import Entries, Form

MixtureParts = tuple[tuple[Fraction, int, Fraction], ...]
"""A step as uniform mixtures: the chance of each, how many values it has, and its ratio."""


@dataclass(frozen=True)
class Outline:
    """All that composition needs of a mechanism: sizes and ratios, and no label.

    >>> from pramana.mechanisms.mechanism import Mechanism, Step, UniformMixture
    >>> coin = Mechanism((Step(("a",), UniformMixture.of(("no", "yes"), retention=0.5)),))
    >>> twice = Outline.of(coin).beside(Outline.of(coin))
    >>> twice.gamma, twice.swap                     # 3 and 1/9, twice
    (Fraction(9, 1), Fraction(1, 81))

    Attributes:
        gamma: the largest ratio of two original values; ``None`` if there is no bound.
        swap: the smallest ratio of a swap of two people, m in k = 1 + (n - 1) m.
        steps: for each independent step a uniform mixture that can be turned into it, or several
            with their probabilities if a public coin chooses; empty if there is no bound.
    """

    gamma: Fraction | None
    swap: Fraction
    steps: tuple[MixtureParts, ...]

    @classmethod
    def of(cls, mechanism: Mechanism) -> Outline:
        """That of a mechanism."""
        swap = Fraction(mechanism.anonymity_ratio)
        if mechanism.gamma == math.inf:
            return cls(None, swap, ())
        steps: list[MixtureParts]
        if isinstance(mechanism, AttributeSampler):
            mixtures = [(one.matrix.size, Fraction(one.matrix.gamma)) for one in mechanism.sets]
            if isinstance(mechanism, ShuffledRounds):
                # One shuffle of whole records, from which each round can be shuffled by itself.
                steps = [((Fraction(1), *mixture),) for mixture in mixtures]
            else:
                chances = [Fraction(one.weight, TOTAL) for one in mechanism.sets]
                steps = [tuple((p, *own) for p, own in zip(chances, mixtures, strict=True))]
        else:
            steps = [
                ((Fraction(1), len(step.labels), max(map(mixture_above, step.matrices))),)
                for step in mechanism
            ]
        return cls(Fraction(mechanism.gamma), swap, tuple(steps))

    def beside(self, other: Outline) -> Outline:
        """The outline of the channel that releases both, of the same record."""
        swap = self.swap * other.swap
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
        """Whether both are of one table; or show the same beside what is everybody's own."""
        if self.records != other.records:
            return False
        if self.rows is not None and self.rows == other.rows:
            return True
        common = self.owned.keys() & other.owned.keys()
        same = all(self.owned[own] == other.owned[own] for own in common)
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
        marks = {names.get(name, name): own for name, own in self.marks.items()}
        forms = {names.get(name, name): own for name, own in self.forms.items()}
        return replace(self, **sets, marks=marks, forms=forms)

    def to_json(self) -> Form:
        """As JSON."""
        return {
            **{name: getattr(self, name) for name in _PLAIN},
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
        parts: Form = {name: form[name] for name in _PLAIN}
        parts |= {name: frozenset(form[name]) for name in _SETS}
        parts |= {name: dict(form[name]) for name in _MAPPINGS}
        return cls(
            **parts,
            central=central,
            outline=None if outline is None else Outline.from_json(outline),
            choices=DataChoices.from_json(form),
        )


_PLAIN = (
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
