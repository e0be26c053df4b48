"""The protocol of guarantees, and the evidence that they are computed from.

A guarantee is a number with a meaning. It names what the number is computed from (:class:`Need`),
computes the strongest number that holds from the :class:`Evidence`, rounded conservatively, lists
its options of the command line (:class:`CliOption`), and says in words what it guarantees and what
it does not. A new guarantee is one file that is entered in the registry: no other file names it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import ClassVar, Protocol, Self, runtime_checkable

from pramana.base.rounding import float_down, float_up
from pramana.base.text import text_down, text_up
from pramana.errors import NotCovered
from pramana.mechanisms.mechanism import Mechanism
from pramana.schema.joint_cells import Counts
from pramana.schema.schema import Schema
from pramana.types import Entries, Form

DIGITS = 6
"""In tables of numbers; sentences have fewer."""


@dataclass(frozen=True)
class Need:
    """What a number is computed from; a kind of release may offer further needs.

    Attributes:
        why_not: why nothing can be guaranteed without it, in words.
    """

    why_not: str

    MATRICES: ClassVar[Need]
    FIXED_MATRICES: ClassVar[Need]
    COUNTS: ClassVar[Need]
    GROUPS: ClassVar[Need]
    SHUFFLE: ClassVar[Need]
    ANONYMITY_SET: ClassVar[Need]


Need.MATRICES = Need("it is about records randomised by a matrix, and this method uses none")
Need.FIXED_MATRICES = Need(
    "it compares neighbouring tables, and the matrices were computed from this one"
)
Need.COUNTS = Need("it needs the original counts: give the data, without numbers on a grid")
Need.GROUPS = Need("it is about groups of records, and this method forms none")
Need.SHUFFLE = Need("it is about shuffled records, and these keep their order")
Need.ANONYMITY_SET = Need("it needs an anonymity set, and there is none")

_OWNERS = frozenset({Need.COUNTS, Need.GROUPS})


@dataclass(frozen=True)
class Evidence:
    """All that a guarantee is computed from.

    Attributes:
        schema: what each column is.
        records: the number of records.
        anonymity_set: the size of the smallest group that the known columns form.
        mechanism: what is done to a record; ``None`` where keys are replaced within groups.
        data_dependent: whether the matrices were chosen by looking at the data.
        counts: the original counts, by the columns that can be looked at; only the owner has them.
        group_sizes: the sizes of the groups within which keys are replaced.
        shuffled: whether records are released in a random order.
        smallest_unchanged_group: the fewest records that agree in all columns released unchanged,
            sensitive ones and weights too; ``None`` if nobody has counted.
        seeded: whether order and random numbers come from a seed.
        besides: what the kind of release offers that no field above holds.
        statistics: the published statistics by name; some are asserted by the owner.
    """

    schema: Schema
    records: int
    anonymity_set: int
    mechanism: Mechanism | None = None
    data_dependent: bool = False
    counts: Counts | None = None
    group_sizes: tuple[int, ...] | None = None
    shuffled: bool = True
    smallest_unchanged_group: int | None = None
    seeded: bool = False
    besides: frozenset[Need] = frozenset()
    statistics: Entries = field(default_factory=dict)

    @property
    def offers(self) -> frozenset[Need]:
        """The needs that it meets."""
        matrices = self.mechanism is not None and bool(self.mechanism.columns)
        steps = self.mechanism is not None and bool(self.mechanism.steps)
        rounded = any(column.gridded for column in self.schema.columns)
        met = {
            Need.MATRICES: matrices,
            Need.FIXED_MATRICES: matrices and not self.data_dependent,
            Need.COUNTS: steps and self.counts is not None and not rounded,
            Need.GROUPS: bool(self.group_sizes),
            Need.SHUFFLE: self.shuffled,
            Need.ANONYMITY_SET: self.anonymity_set >= 1,
        }
        return self.besides | {need for need, offered in met.items() if offered}


@dataclass(frozen=True)
class CliOption:
    """A number of a guarantee as an option of the command line.

    >>> CliOption("--k", "Re-identification probability at most 1/k.").field
    'k'

    Attributes:
        flag: such as ``--k``.
        help: one line.
        type: the type of the number.
        metavar: the placeholder of the number in the help.
        required: whether the guarantee cannot be stated without it.
        number: its name in the guarantee, if that is not the flag without the dashes.
        up: whether a larger number guarantees less, so that it is shown rounded up.
        first: whether it is on the first screen of help.
        slider: for the studio: label, least, largest and first value.
    """

    flag: str
    help: str
    type: type = float
    metavar: str = "NUMBER"
    required: bool = True
    number: str = ""
    up: bool = True
    first: bool = False
    slider: tuple[str, float, float, float] | None = None

    @property
    def field(self) -> str:
        """The name of the number among those of all guarantees."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def entry(self) -> str:
        """The name of the number in the guarantee."""
        return self.number or self.field


@runtime_checkable
class Guarantee(Protocol):
    """A privacy notion with its number. Members are frozen dataclasses that inherit from this."""

    __slots__ = ()

    name: ClassVar[str]
    """The name in certificates, such as ``pk-anonymity``."""

    needs: ClassVar[frozenset[Need]]
    """What the number is computed from."""

    assumption: ClassVar[str]
    """The assumption about the adversary, in one sentence."""

    not_promised: ClassVar[str]
    """What a reader might take for promised and is not."""

    cli_options: ClassVar[tuple[CliOption, ...]]
    """Its numbers on the command line."""

    page: ClassVar[str]
    """The page with the proof, in docs/proofs."""

    of_household: ClassVar[str] = ""
    """Its number for m people of a household together, in a few words; empty if there is none."""

    @classmethod
    def evaluate(cls, evidence: Evidence, *, asked: Self | None = None) -> Self:
        """The strongest guarantee that holds, rounded conservatively.

        Args:
            evidence: meets all needs; the caller has checked.
            asked: the target, if there is one: it may fix what else the number depends on.

        Raises:
            NotCovered: the theory does not cover this case.
        """

    def implies(self, other: Self) -> bool:
        """Whether this guarantee is at least as strong as the other one."""

    def impossible(self, evidence: Evidence) -> str | None:
        """Why no release of this many records can have it; ``None`` if one could.

        Anyone can check it, also of numbers that only the owner can compute.
        """
        return None

    def contradicted(self, evidence: Evidence, released: Counts) -> str | None:
        """What in the released records contradicts it; ``None`` if nothing does.

        Anyone can check it. A release that has the guarantee is rejected less than once in a
        million.

        Args:
            evidence: what the certificate offers.
            released: counts of the released records by the values of the randomised columns.
        """
        return None

    def answers(self, asked: Self) -> bool:
        """Whether it is about what was asked; numbers may be better."""
        return True

    def sentence(self) -> str:
        """The guarantee in words, every number in it rounded conservatively."""

    def household(self, members: int) -> Mapping[str, float] | None:
        """Its numbers for this many people of a household together, rounded conservatively.

        An empty mapping guarantees nothing; ``None`` if no number for them follows from it.
        """
        return None

    def to_json(self) -> Form:
        """The number or numbers by name; no bound is null."""
        names = [field.name for field in fields(self) if field.compare]  # type: ignore[arg-type]
        numbers = {name: getattr(self, name) for name in names}
        return {name: None if value == math.inf else value for name, value in numbers.items()}

    def shown(self) -> dict[str, str]:
        """The numbers by name as text, rounded conservatively; of a list its length."""
        return self.as_text(self.to_json())

    def as_text(self, numbers: Entries) -> dict[str, str]:
        """Numbers of this guarantee as text, each rounded conservatively."""
        up, texts = {option.entry: option.up for option in self.cli_options}, {}
        for name, value in numbers.items():
            if isinstance(value, list):
                texts[name] = f"{len(value):,} listed"
            elif value is None or value == math.inf:
                texts[name] = "no bound"
            else:
                texts[name] = (text_up if up.get(name, True) else text_down)(value, DIGITS)
        return texts

    def __str__(self) -> str:
        """The numbers as they are spoken: ``k = 5``, ``central epsilon = 2 and delta = 1e-6``."""
        numbers, texts = self.to_json(), self.shown()
        spoken = [
            f"{option.field.replace('_', ' ')} = {texts[option.entry]}"
            for option in self.cli_options
            if option.required or numbers.get(option.entry) is not None
        ]
        return " and ".join(spoken) or self.name

    @classmethod
    def stated(cls, numbers: Entries, *, schema: Schema | None = None) -> Self:
        """The guarantee with the numbers of its options; what else it needs is the schema's."""
        names = {option.field: option.entry for option in cls.cli_options}
        return cls(**{names.get(field, field): value for field, value in numbers.items()})

    @classmethod
    def one_in(cls, k: float, *, schema: Schema | None = None) -> Self:
        """The target of about the strength "1 in k", to compare methods that aim at others."""
        raise NotCovered(
            "{guarantee} bounds no probability of identification, and has no equivalent to '1 in "
            "{value}'. Set a target for it.",
            guarantee=cls.name,
            value=text_down(k, 6),
        )

    @property
    def link_bound(self) -> float | None:
        """The largest probability of a correct link, if it bounds that."""
        return None

    @property
    def against_outsiders(self) -> bool:
        """Whether it assumes an attacker who does not know the person's sensitive columns."""
        return False

    @property
    def in_anonymity_set(self) -> bool:
        """Whether it depends on the size of the anonymity set."""
        return False

    @property
    def suggests(self) -> float | None:
        """The largest share of unique records that a reader expects to find unchanged."""
        return self.link_bound


class OneInK(Guarantee):
    """A guarantee that links a record to its person with probability at most 1/k."""

    __slots__ = ()

    k: float
    of_household: ClassVar[str] = "k / m"

    def implies(self, other: Self) -> bool:
        """Larger is stronger."""
        return self.k >= other.k

    def impossible(self, evidence: Evidence) -> str | None:
        """The reason why k exceeds the anonymity set: records that share the unchanged columns."""
        if self.k <= evidence.anonymity_set:
            return None
        return f"the anonymity set has only {evidence.anonymity_set:,} records"

    @property
    def hides_anybody(self) -> bool:
        """Whether it guarantees anything: "1 in 1" would sound like it."""
        return self.k >= 1.01

    @property
    def link_bound(self) -> float:
        """1/k, rounded up."""
        return float_up(1 / Fraction(self.k)) if self.k < math.inf else 0.0

    @property
    def against_outsiders(self) -> bool:
        """True: sensitive columns stay with their record and are assumed to be unknown."""
        return self.hides_anybody

    def household(self, members: int) -> Mapping[str, float]:
        """k / m, at least 1: the probabilities of the members add up."""
        return {"k": max(1.0, float_down(Fraction(self.k) / members))} if self.hides_anybody else {}


@runtime_checkable
class Amplified(Protocol):
    """A guarantee that a bound on the amplification of uniform mixtures is enough for."""

    def log_amplification(self, *, anonymity_set: int) -> float:
        """The largest total of ln gamma over all steps that meets it; negative where none does."""


@runtime_checkable
class Searched(Protocol):
    """A guarantee that can be checked for any mechanism, as a search needs it."""

    def met_by(self, evidence: Evidence) -> bool:
        """Whether what is done to a record is enough for it."""


def bounds_amplification(kind: type[Guarantee]) -> bool:
    """Whether a method with one parameter, the amplification, can aim at it."""
    return issubclass(kind, Amplified | Searched)


def only_the_owner(kind: type[Guarantee]) -> bool:
    """Whether the number can only be computed from the original data."""
    return bool(kind.needs & _OWNERS)
