"""Spontaneous recognition: nobody is recognised by looking at a few keys at once.

A user looks at ``width`` keys of a record and thinks of a person who has that combination. The
posterior that the record is that person's is bounded by condition C1 of [Cator, Sec. 2] for every
cell that occurs, every choice of keys and every combination of values:

    N_m(k0) / sum_l U(l) N_l(k0) <= alpha.

A bound for choices of three keys holds for any part of them too: the ratio for fewer keys is a
mean of ratios for more.

Anyone can test a stated alpha against the released records, by an e-value. If alpha holds, a
combination k of keys that can be released at all is released D(k) >= c(k) / alpha times on average,
with c(k) the least probability above zero that any cell is released with k: somebody has such a
cell, and must hide. Combinations that are seldom released, while all who could have made them would
make them often, are evidence against it. Records are drawn one by one, so that for fixed lambda and
share w the e-value

    product over k seen of  1 - w + w exp((1 - exp(-lambda)) c(k) / alpha - lambda Y(k))

has a mean of at most 1 if alpha holds. Proof: docs/proofs/spontaneous_recognition.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, product
from typing import ClassVar

import numpy as np

from pramana.base.rounding import float_up, in_numbers_of_python, require_number
from pramana.base.text import as_it_is, percent_up
from pramana.base.translation import gettext, numeral
from pramana.errors import InputError, InvalidNumber, NotCovered, UnknownColumn
from pramana.guarantees.base import CliOption, Evidence, Guarantee, Need
from pramana.guarantees.recognition_posterior import worst_posterior
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import TransitionMatrix
from pramana.schema.joint_cells import Counts, cell_codes, cell_numbers
from pramana.schema.schema import Schema
from pramana.types import Entries, FloatArray, Form

Choices = tuple[tuple[str, ...], ...]

USUAL_WIDTH = 3
"""The number of keys that are looked at together by default."""

NEEDED = math.log(1e6)
"""The logarithm of an e-value that rejects: less than once in a million if alpha holds."""


@dataclass(frozen=True, slots=True)
class SpontaneousRecognition(Guarantee):
    """Who looks at ``width`` keys of a record is at most ``alpha`` sure whose it is.

    ``choices`` lists the choices of keys that are protected; empty means all of that width.
    ``keys`` is the choice with the largest posterior, if it was computed.
    """

    alpha: float
    width: int = USUAL_WIDTH
    choices: Choices = ()
    keys: tuple[str, ...] = field(default=(), compare=False)

    name: ClassVar[str] = "spontaneous-recognition"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.MATRICES, Need.COUNTS})
    assumption: ClassVar[str] = (
        "The attacker uses a few keys at a time and knows the matrix. Before the release, each "
        "record is equally likely to be the person's. The number is computed from the original "
        "counts."
    )
    not_promised: ClassVar[str] = (
        "An attacker who uses more keys, or knows more, may be right more often. Nobody can "
        "recompute the number from the release."
    )
    cli_options: ClassVar[tuple[CliOption, ...]] = (
        CliOption(
            "--alpha",
            "Recognition by a few keys: probability at most this.",
            first=True,
            slider=("Probability of recognition by a few keys, at most", 0.01, 0.5, 0.1),
        ),
        CliOption(
            "--width",
            "Number of keys used together (with --alpha; 3).",
            type=int,
            required=False,
        ),
    )
    page: ClassVar[str] = "spontaneous_recognition"
    of_household: ClassVar[str] = "m alpha"

    def __post_init__(self) -> None:
        in_numbers_of_python(self)
        require_number("alpha", self.alpha, low=0, high=1)
        require_number("width", self.width, low=1, high_open=True)
        if int(self.width) != self.width:
            raise InvalidNumber(
                "width must be a whole number of keys, got {width!r}.", width=self.width
            )
        object.__setattr__(self, "width", int(self.width))

    @classmethod
    def of(
        cls,
        mechanism: Mechanism | TransitionMatrix,
        counts: Counts,
        *,
        width: int = USUAL_WIDTH,
        choices: Sequence[Sequence[str]] = (),
    ) -> SpontaneousRecognition:
        """The strongest such guarantee that holds for these counts, rounded up.

        The columns of ``counts`` are the keys. A key without a step of the mechanism is taken as
        released unchanged.
        """
        if not isinstance(mechanism, Mechanism):
            mechanism = Mechanism((Step(counts.columns, mechanism),))
        asked = choices_of_keys(counts.columns, width=width, choices=choices)
        worst = worst_posterior(mechanism, counts, asked)
        listed = asked if choices else ()
        return cls(alpha=worst.posterior, width=width, choices=listed, keys=worst.keys)

    @classmethod
    def evaluate(
        cls, evidence: Evidence, *, asked: SpontaneousRecognition | None = None
    ) -> SpontaneousRecognition:
        """From the matrices and the original counts, for the width and choices asked about.

        Columns that are released unchanged and that an adversary may know are looked at like any
        randomised key.
        """
        assert evidence.mechanism is not None  # noqa: S101 - both are among the needs
        assert evidence.counts is not None  # noqa: S101
        counts = evidence.counts
        unseen = [name for name in evidence.schema.known if name not in counts.columns]
        if unseen:
            raise NotCovered(
                "{unseen} {as_it_is} and can be used like any key, and the counts do not contain "
                "them.",
                unseen=", ".join(unseen),
                as_it_is=as_it_is(unseen),
            )
        width = min(USUAL_WIDTH, len(counts.columns)) if asked is None else asked.width
        choices = () if asked is None else asked.choices
        return cls.of(evidence.mechanism, counts, width=width, choices=choices)

    @classmethod
    def stated(cls, numbers: Entries, *, schema: Schema | None = None) -> SpontaneousRecognition:
        """With the choices of keys that the schema lists; 0 is beyond any release."""
        require_number("alpha", numbers["alpha"], low=0, high=1, low_open=True)
        return cls(**numbers, choices=() if schema is None else schema.choices)

    @classmethod
    def one_in(cls, k: float, *, schema: Schema | None = None) -> SpontaneousRecognition:
        """At most 1/k sure, looking at as many keys as there are, up to three."""
        keys = USUAL_WIDTH if schema is None else len(schema.randomised)
        return cls(alpha=1 / k, width=min(USUAL_WIDTH, keys))

    def implies(self, other: SpontaneousRecognition) -> bool:
        """A smaller posterior, for choices that contain those of the other."""
        if self.alpha > other.alpha:
            return False
        if not self.choices:
            return all(len(keys) <= self.width for keys in other.choices) and (
                bool(other.choices) or other.width <= self.width
            )
        return bool(other.choices) and all(
            any(set(keys) <= set(choice) for choice in self.choices) for keys in other.choices
        )

    def answers(self, asked: SpontaneousRecognition) -> bool:
        """The figure is for the keys asked about, and for no more of them."""
        return (self.width, self.choices) == (asked.width, asked.choices)

    def impossible(self, evidence: Evidence) -> str | None:
        """A record is somebody's: what is believed of all people sums to 1, whatever is seen.

        Who may look at all columns that are released unchanged sees nobody else than those who
        share them; and who looks at keys looks at keys that are there.
        """
        schema = evidence.schema
        all_known = not self.choices and self.width >= len(schema.known)
        people = evidence.anonymity_set if all_known else evidence.records
        if Fraction(self.alpha) * people < 1:
            return f"an anonymity set of {people:,} people gives a higher probability"
        keys = dict.fromkeys((*(column.name for column in schema.randomised), *schema.known))
        try:
            _require_keys(tuple(keys), width=self.width, choices=self.choices)
        except InputError:
            return "it names keys that do not exist"
        return None

    def contradicted(self, evidence: Evidence, released: Counts) -> str | None:
        """Combinations of keys that are seen too seldom for anybody to hide in.

        Keys that are released unchanged do not count here: a bound for some keys holds for a
        part of them.
        """
        schema, mechanism = evidence.schema, evidence.mechanism
        if mechanism is None or any(column.fixed for column in schema.randomised):
            return None
        if self.impossible(evidence) is not None:  # another check says so
            return None
        parts = [tuple(n for n in keys if n in released.columns) for keys in self.choices]
        choices = [keys for keys in dict.fromkeys(parts) if keys]
        if not self.choices:
            width = min(self.width, len(released.columns))
            choices = list(combinations(released.columns, width))
        stake = log_stake(mechanism, released, choices, self.alpha)
        if stake < NEEDED:
            return None
        return f"combinations of keys are released too seldom: exp({stake:.0f}) to 1 against it"

    @property
    def suggests(self) -> float:
        """A chance of alpha to be right about a person sounds like as many copies."""
        return self.alpha

    def household(self, members: int) -> Mapping[str, float]:
        """Chances of its people add up."""
        return {"alpha": min(1.0, float_up(Fraction(self.alpha) * members))}

    def sentence(self) -> str:
        """The guarantee in words."""
        if self.choices:
            number = len(self.choices)
            looked = gettext("one of {number} listed choices of keys", number=number)
        elif self.width > 1:
            looked = gettext("any {number} keys", number=self.width)
        else:
            looked = gettext("any one key")
        return gettext(
            "alpha = {share}: an attacker who knows {known} of a person identifies the "
            "released record with at most this probability.",
            share=numeral(percent_up(self.alpha, 4)),
            known=looked,
        )

    def to_json(self) -> Form:
        """The numbers by name; which keys are the worst, never which values."""
        form: Form = {"alpha": self.alpha, "width": self.width}
        if self.choices:
            form["choices"] = [list(keys) for keys in self.choices]
        return form


def choices_of_keys(
    columns: Sequence[str], *, width: int, choices: Sequence[Sequence[str]] = ()
) -> Choices:
    """All choices of ``width`` columns, or those listed, checked."""
    _require_keys(columns, width=width, choices=choices)
    return tuple(tuple(keys) for keys in choices) or tuple(combinations(columns, width))


def _require_keys(
    columns: Sequence[str], *, width: int, choices: Sequence[Sequence[str]] = ()
) -> None:
    """Refuse choices of keys that are not there, and more keys than there are."""
    for keys in choices:
        unknown = [name for name in keys if name not in columns]
        if unknown or len(set(keys)) != len(keys) or not keys:
            raise UnknownColumn(
                "A choice of keys must list different keys of {columns}, got {keys}.",
                columns=", ".join(columns),
                keys=", ".join(map(str, keys)) or "none",
            )
    if not choices and not 1 <= width <= len(columns):
        raise InvalidNumber(
            "width must be between 1 and the number of keys, {count}, got {width}. Lower width, "
            "or declare more keys.",
            count=len(columns),
            width=width,
        )


# -- the e-value against a stated alpha ------------------------------------------------------------

RATES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The rates lambda."""

SHARES = (0.003, 0.03, 0.3, 1.0)
"""The shares w of the combinations."""

MOST_CHOICES = 200
MOST_ENTRIES = 4_000_000
MOST_CELLS = 1_000_000
"""The most choices of keys, entries of all matrices, and combinations of a step's keys."""

MOST_WORK = 200_000_000
"""The most entries over all choices, the first ones first: a second or two."""

HAIR = 1 - 1e-9
"""Probabilities are added in floating point and reduced by this factor."""


def log_stake(
    mechanism: Mechanism, released: Counts, choices: Sequence[Sequence[str]], alpha: float
) -> float:
    """The logarithm of the e-value, the mean over all choices, rates and shares.

    Args:
        mechanism: the published matrices.
        released: how many released records each combination of keys has.
        choices: keys that are looked at together.
        alpha: what is stated.
    """
    entries = sum(len(step.labels) ** 2 * len(step.matrices) for step in mechanism.steps)
    if not alpha or not 0 < entries <= MOST_ENTRIES:
        return 0.0
    matrices = [[matrix.values for matrix in step.matrices] for step in mechanism.steps]
    stakes: list[float] = []
    for keys in choices[: min(MOST_CHOICES, max(MOST_WORK // entries, 1))]:
        seen = released.margin(*keys)
        least = _least_chances(mechanism, matrices, seen)
        if least is None:
            continue
        for rate, share in product(RATES, SHARES):
            gain = -math.expm1(-rate) * (least / alpha * HAIR) - rate * seen.numbers
            rest = -math.inf if share == 1 else math.log1p(-share)
            stakes.append(float(np.logaddexp(rest, math.log(share) + gain).sum()))
    if not stakes:
        return 0.0
    return float(np.logaddexp.reduce(stakes) - math.log(len(stakes)))


def _least_chances(
    mechanism: Mechanism, matrices: Sequence[Sequence[FloatArray]], seen: Counts
) -> FloatArray | None:
    """For each combination seen, the least probability above zero of any cell; None if too large.

    Steps multiply. Of one step it is the least sum of entries over the cells that share the values
    of the combination, over all rows and strata; 0 if no cell has them.
    """
    least = np.ones(len(seen.numbers))
    for step, values in zip(mechanism.steps, matrices, strict=True):
        places = [place for place, name in enumerate(seen.columns) if name in step.columns]
        if not places:
            continue
        sizes = [seen.sizes[place] for place in places]
        if math.prod(sizes) > MOST_CELLS:
            return None
        axes = [step.columns.index(seen.columns[place]) for place in places]
        labels = [seen.labels[place] for place in places]
        cells = [tuple(cell[axis] for axis in axes) for cell in step.cells]
        numbers = cell_numbers(list(cell_codes(labels, cells)), sizes)
        order = np.argsort(numbers, kind="stable")
        present, first = np.unique(numbers[order], return_index=True)
        smallest = np.full(len(present), np.inf)
        for matrix in values:
            sums = np.add.reduceat(matrix[:, order], first, axis=1)
            smallest = np.minimum(smallest, np.where(sums > 0, sums, np.inf).min(axis=0))
        table = np.zeros(math.prod(sizes))
        table[present] = np.where(np.isinf(smallest), 0.0, smallest)
        least *= table[cell_numbers([seen.cells[:, place] for place in places], sizes)]
    return least
