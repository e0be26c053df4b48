"""What every guarantee has in common, and what it may look at.

A guarantee is a number with a meaning. It says what its number can be computed from
(:class:`Need`), computes the strongest that holds from the :class:`Evidence` and rounds it against
us, spells itself on the command line (:class:`CliOption`), and says in words what it promises
and what not. Nothing else in the library names a guarantee: a new one is one file that is entered
in the registry.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

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
    """What a number can be computed from; a kind of release may offer what no other does.

    Attributes:
        why_not: Why it cannot be without, in words.
    """

    why_not: str

    MATRICES: ClassVar[Need]
    FIXED_MATRICES: ClassVar[Need]
    COUNTS: ClassVar[Need]
    GROUPS: ClassVar[Need]
    SHUFFLE: ClassVar[Need]
    ANONYMITY_SET: ClassVar[Need]


Need.MATRICES = Need("it speaks of records that pass a matrix, and here they do not")
Need.FIXED_MATRICES = Need(
    "it compares this table with others, and the matrices were chosen by looking at this one"
)
Need.COUNTS = Need(
    "it rests on the true counts, and they are not at hand: give the data, and no number on a grid"
)
Need.GROUPS = Need("it speaks of groups of records, and none are formed")
Need.SHUFFLE = Need("it speaks of shuffled records, and these keep their order")
Need.ANONYMITY_SET = Need("it speaks of the records among which a person hides, and there are none")

_OWNERS = frozenset({Need.COUNTS, Need.GROUPS})


@dataclass(frozen=True)
class Evidence:
    """All that a guarantee may look at.

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
            sensitive ones and weights too; ``None`` where nobody has counted.
        seeded: whether the order and the draws come from a seed.
        besides: what the kind of release offers that no field above holds.
        statistics: what everyone is told of the release, by name; where nothing computes a figure
            again, it is the word of the owner.
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
        """What can be computed from it."""
        matrices = self.mechanism is not None and bool(self.mechanism.columns)
        steps = self.mechanism is not None and bool(self.mechanism.steps)
        rounded = any(column.gridded for column in self.schema.columns)
        there = {
            Need.MATRICES: matrices,
            Need.FIXED_MATRICES: matrices and not self.data_dependent,
            Need.COUNTS: steps and self.counts is not None and not rounded,
            Need.GROUPS: bool(self.group_sizes),
            Need.SHUFFLE: self.shuffled,
            Need.ANONYMITY_SET: self.anonymity_set >= 1,
        }
        return self.besides | {need for need, offered in there.items() if offered}


@dataclass(frozen=True)
class CliOption:
    """A number of a guarantee as an option of the command line.

    >>> CliOption("--k", "Pin no released record on a person beyond 1 in k.").field
    'k'

    Attributes:
        flag: such as ``--k``.
        help: one line.
        type: of the number.
        metavar: what stands for the number in the help.
        required: whether the guarantee cannot be stated without it.
        number: its name in the guarantee, where that is not the flag without the dashes.
        up: whether a larger number promises less, so that it is shown rounded up.
        first: whether it stands on the first screen of help.
        slider: its words where it is chosen by a slider, from where to where, and where at first.
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
    """What is taken for granted about the adversary, in one sentence."""

    not_promised: ClassVar[str]
    """What a reader might take for promised and is not."""

    cli_options: ClassVar[tuple[CliOption, ...]]
    """Its numbers on the command line."""

    page: ClassVar[str]
    """The page with the proof, in docs/proofs."""

    of_household: ClassVar[str] = ""
    """What its number is for m people of a household together, in a few words; empty if nothing."""

    @classmethod
    def evaluate(cls, evidence: Evidence, *, asked: Self | None = None) -> Self:
        """The strongest that holds, rounded conservatively.

        Args:
            evidence: offers all that is needed; whoever calls has looked.
            asked: the target, where there is one: it may fix what else the number depends on.

        Raises:
            NotCovered: the theory does not speak of this case.
        """

    def implies(self, other: Self) -> bool:
        """Whether whoever has this guarantee has the other one too."""

    def impossible(self, evidence: Evidence) -> str | None:
        """Why no release of this many records can keep it; nothing where one could.

        Anyone can look, whoever alone can compute the number: nobody hides among more records than
        there are.
        """
        return None

    def contradicted(self, evidence: Evidence, released: Counts) -> str | None:
        """What in the released records speaks against it; nothing where nothing does.

        Anyone can look, whoever alone can compute the number. A release that keeps it is called
        one that does not less than once in a million.

        Args:
            evidence: what the certificate offers.
            released: how many released records have which values of the randomised columns.
        """
        return None

    def answers(self, asked: Self) -> bool:
        """Whether it speaks of just what was asked about; numbers may be better."""
        return True

    def sentence(self) -> str:
        """The promise in words, every number in it rounded conservatively."""

    def household(self, members: int) -> Mapping[str, float] | None:
        """Its numbers for this many people of a household together, rounded conservatively.

        None where nothing is promised; ``None`` where no number for them follows from it.
        """
        return None

    def to_json(self) -> Form:
        """The number or numbers by name; no bound is null."""
        numbers = {one.name: getattr(self, one.name) for one in fields(self) if one.compare}  # type: ignore[arg-type]
        return {name: None if value == math.inf else value for name, value in numbers.items()}

    def shown(self) -> dict[str, str]:
        """The numbers by name as text, each rounded against us; choices by how many they are."""
        return self.as_text(self.to_json())

    def as_text(self, numbers: Entries) -> dict[str, str]:
        """Numbers of this guarantee as text, each rounded conservatively."""
        up = {letter.entry: letter.up for letter in self.cli_options}
        return {name: _text(value, up=up.get(name, True)) for name, value in numbers.items()}

    def __str__(self) -> str:
        """The numbers as they are spoken: ``k = 5``, ``central epsilon = 2 and delta = 1e-6``."""
        shown = self.shown()
        spoken = [
            f"{letter.field.replace('_', ' ')} = {shown[letter.entry]}"
            for letter in self.cli_options
            if letter.required or self.to_json().get(letter.entry) is not None
        ]
        return " and ".join(spoken) or self.name

    @classmethod
    def stated(cls, numbers: Entries, *, schema: Schema | None = None) -> Self:
        """The guarantee with the numbers of its options; what else it speaks of is the schema's."""
        names = {letter.field: letter.entry for letter in cls.cli_options}
        return cls(**{names.get(field, field): value for field, value in numbers.items()})

    @classmethod
    def one_in(cls, k: float, *, schema: Schema | None = None) -> Self:
        """The target of about the strength "1 in k", to compare methods that aim at others."""
        raise NotCovered(f"{cls.name} has no reading as '1 in {text_down(k, 6)}'.")

    @property
    def link_bound(self) -> float | None:
        """The most that a link of a person to a record may be believed, where it speaks of that."""
        return None

    @property
    def against_outsiders(self) -> bool:
        """Whether it speaks of who does not know sensitive columns of a person."""
        return False

    @property
    def in_a_anonymity_set(self) -> bool:
        """Whether it rests on the number of records among which a person's is not known."""
        return False

    @property
    def suggests(self) -> float | None:
        """The share of unique records that a reader expects to find word for word, at most."""
        return self.link_bound


@runtime_checkable
class Amplified(Protocol):
    """A guarantee that a bound on the amplification of uniform mixtures is enough for."""

    def log_amplification(self, *, anonymity_set: int) -> float:
        """The largest total of ln gamma over all steps that meets it; negative where none does."""


@runtime_checkable
class Searched(Protocol):
    """A guarantee that can be tried on any mechanism, and fails from some dial on."""

    def met_by(self, evidence: Evidence) -> bool:
        """Whether what is done to a record is enough for it."""


def bounds_amplification(kind: type[Guarantee]) -> bool:
    """Whether a method that turns one dial can be asked for it: it says, or shows, how far."""
    return issubclass(kind, Amplified | Searched)


def beyond_anonymity_set(k: float, evidence: Evidence) -> str | None:
    """Why nobody hides among k records: fewer share the columns released unchanged."""
    if k <= evidence.anonymity_set:
        return None
    return f"only {evidence.anonymity_set:,} share what is known"


def _text(value: Any, *, up: bool) -> str:
    if isinstance(value, list):
        return f"{len(value):,} listed"
    if value is None or value == math.inf:
        return "no bound"
    return text_up(value, DIGITS) if up else text_down(value, DIGITS)


def only_the_owner(kind: type[Guarantee]) -> bool:
    """Whether the number can only be computed by who holds the truth."""
    return bool(kind.needs & _OWNERS)
