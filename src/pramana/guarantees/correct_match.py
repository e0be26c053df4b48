"""The chance that an intruder who knows one value of a person picks the right record.

The intruder of [Ghatak, Sec. 2] knows that the target has the value c of one column, looks at the
a records that are released as c, and picks one of them at random. ``CorrectMatch(xi)`` says that
the pick is right with probability at most xi, whichever a was seen and whichever value c the
target has.

The paper bounds this for one rare value (psi). Other rare values of the same block can be left
above the bound, so every value that occurs is evaluated here, each by the exact law of the
released count. Proof: docs/proofs/correct_match.md.

The chance of a correct match by every value of a column, and the worst of a mechanism.

Each value that occurs is evaluated by the exact law of the released count (``match_law``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pramana.base.rounding import float_up, in_numbers_of_python, require_number
from pramana.base.text import text_up
from pramana.errors import InvalidNumber, NotCovered, OutsideDomain
from pramana.guarantees.base import CliOption, Evidence, Guarantee, Need
from pramana.guarantees.match_law import Inflow, worst_match
from pramana.mechanisms.mechanism import Mechanism, SparseRows, Step, UniformMixture
from pramana.mechanisms.transition import Label, TransitionMatrix
from pramana.types import FloatArray, Form, IntArray

if TYPE_CHECKING:
    from pramana.mechanisms.mechanism import Mechanism
    from pramana.mechanisms.transition import Label, TransitionMatrix
    from pramana.schema.joint_cells import Counts
    from pramana.schema.schema import Schema

__all__ = ["CorrectMatch", "frequencies_by_label", "kept_risk", "match_risks", "worst_risk"]


@dataclass(frozen=True, slots=True)
class CorrectMatch(Guarantee):
    """An intruder who knows one value of a person is right with probability at most ``xi``.

    >>> from pramana.mechanisms.mechanism import UniformMixture
    >>> coin = UniformMixture.of(("no", "yes"), retention=0)
    >>> CorrectMatch.of(coin, {"no": 3, "yes": 7}).xi
    0.1
    """

    xi: float

    name: ClassVar[str] = "correct-match"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.MATRICES, Need.COUNTS})
    assumption: ClassVar[str] = (
        "The intruder knows the target's value of one column and nothing else of the record, and "
        "picks at random among the records released with it; the figure rests on the true counts."
    )
    not_promised: ClassVar[str] = (
        "It is about someone who knows one value and picks at random among the records released "
        "with it. Who uses several columns may do better. It rests on counts that are not "
        "published."
    )
    cli_options: ClassVar[tuple[CliOption, ...]] = (
        CliOption(
            "--xi",
            "Who searches by one key is right at most this often.",
            first=True,
            slider=("Who searches by one key is right at most so often", 0.01, 0.5, 0.1),
        ),
    )
    page: ClassVar[str] = "correct_match"
    of_household: ClassVar[str] = "m xi"

    def __post_init__(self) -> None:
        in_numbers_of_python(self)
        require_number("xi", self.xi, low=0, high=1)

    @classmethod
    def of(
        cls,
        mechanism: Mechanism | TransitionMatrix,
        counts: Counts | Mapping[Label, int],
    ) -> CorrectMatch:
        """The strongest such guarantee that holds for these counts, rounded up.

        A mechanism is read column by column, with the counts of each column; a step that depends
        on strata is read inside each stratum, which the intruder then knows too.
        """
        return cls(worst_risk(mechanism, counts))

    @classmethod
    def evaluate(cls, evidence: Evidence, *, asked: CorrectMatch | None = None) -> CorrectMatch:
        """From the matrices and the true counts.

        Who knows a value that is released as it is picks among the records that have it.
        """
        assert evidence.mechanism is not None  # noqa: S101 - both are among the needs
        assert evidence.counts is not None  # noqa: S101
        kept = kept_risk(
            evidence.schema.known, evidence.counts, anonymity_set=evidence.anonymity_set
        )
        return cls(max(kept, cls.of(evidence.mechanism, evidence.counts).xi))

    @classmethod
    def one_in(cls, k: float, *, schema: Schema | None = None) -> CorrectMatch:
        """Right once in k."""
        return cls(xi=1 / k)

    def implies(self, other: CorrectMatch) -> bool:
        """A smaller chance is stronger."""
        return self.xi <= other.xi

    def impossible(self, evidence: Evidence) -> str | None:
        """Whoever picks one of all records is right once in their number.

        Where as many are released with a value as can be, the target is among them if its value
        may stay as it is, so that the chance is 1 over at most all records. Values that never stay
        are never found by them. A column that is released as it is shows how many share a value.
        """
        alone = len(evidence.schema.known) == 1
        if alone and Fraction(self.xi) * evidence.anonymity_set < 1:
            sharing = f"{evidence.anonymity_set:,} who share what is known"
            return f"a guess among the {sharing} is right more often"
        steps = () if evidence.mechanism is None else evidence.mechanism.steps
        moved = any(one.matrix is None or not one.matrix.diagonal.all() for one in steps)
        if moved or Fraction(self.xi) * evidence.records >= 1:
            return None
        return f"a guess among {evidence.records:,} records is right more often"

    def to_json(self) -> Form:
        """The number by name."""
        return {"xi": self.xi}

    @property
    def suggests(self) -> float:
        """A chance of xi to be right about a person sounds like as many copies."""
        return self.xi

    def household(self, members: int) -> Mapping[str, float]:
        """Who searches for each of its people is right about one or more: chances add up."""
        return {"xi": min(1.0, float_up(Fraction(self.xi) * members))}

    def sentence(self) -> str:
        """The guarantee in plain words."""
        return (
            "Someone who knows one value of a person that an outsider may know and picks a record "
            f"released with it is right with probability at most {text_up(self.xi)}."
        )


def worst_risk(
    mechanism: Mechanism | TransitionMatrix, counts: Counts | Mapping[Label, int]
) -> float:
    """The largest chance over the steps of a mechanism, rounded up; 1 where it has none."""
    if isinstance(mechanism, TransitionMatrix):
        return _worst(mechanism, frequencies_by_label(counts))
    if isinstance(counts, Mapping):
        raise NotCovered("The correct match of a mechanism needs counts that name columns.")
    return max((_of_step(step, counts) for step in mechanism.steps), default=1.0)


def kept_risk(known: Sequence[str], counts: Counts, *, anonymity_set: int) -> float:
    """The largest chance by one value of a column that is released as it is: 1 / its frequency.

    A column that is not counted has at least ``anonymity_set`` records of each value.
    """
    fewest = [
        int(counts.margin(name).numbers.min()) if name in counts.columns else anonymity_set
        for name in known
    ]
    return max((float_up(Fraction(1, number)) for number in fewest), default=0.0)


def match_risks(matrix: TransitionMatrix, frequencies: Mapping[Label, int]) -> FloatArray:
    """The largest chance of a correct match for each label, rounded up; 0 where nobody has it."""
    times = _in_order(matrix, frequencies)
    risks = np.zeros(matrix.size)
    for position, inflow in _inflows(matrix, times, np.flatnonzero(times)):
        risks[position] = worst_match(inflow)
    return risks


def _worst(matrix: TransitionMatrix, frequencies: Mapping[Label, int]) -> float:
    """The largest chance of all labels: from rare to frequent, as it is at most 1 / frequency."""
    times = _in_order(matrix, frequencies)
    order = np.argsort(times, kind="stable")
    worst = 0.0
    for position, inflow in _inflows(matrix, times, order[times[order] > 0]):
        if times[position] * worst >= 1:
            break
        worst = max(worst, worst_match(inflow, at_least=worst))
    return worst


def frequencies_by_label(counts: Counts | Mapping[Label, int]) -> dict[Label, int]:
    """One column of counts as a mapping from labels."""
    if isinstance(counts, Mapping):
        return dict(counts)
    labels = [
        tuple(column[code] for column, code in zip(counts.labels, cell, strict=True))
        for cell in counts.cells.tolist()
    ]
    single = len(counts.columns) == 1
    numbers = counts.numbers.tolist()
    return {
        (label[0] if single else label): number
        for label, number in zip(labels, numbers, strict=True)
    }


def _in_order(matrix: TransitionMatrix, frequencies: Mapping[Label, int]) -> IntArray:
    """The frequencies in the order of the matrix."""
    strange = [label for label in frequencies if label not in matrix.positions]
    if strange:
        raise OutsideDomain(
            f"{len(strange)} of {len(frequencies)} values with a frequency are not labels of the "
            "matrix. Every value needs a row."
        )
    times = np.zeros(matrix.size, dtype=np.int64)
    for label, number in frequencies.items():
        if number < 0 or number != int(number):
            raise InvalidNumber("A frequency must be a whole number at or above 0.")
        times[matrix.positions[label]] = int(number)
    return times


def _inflows(
    matrix: TransitionMatrix, times: IntArray, asked: IntArray
) -> Iterator[tuple[int, Inflow]]:
    """For each position asked: who is released as it."""
    numbers = [int(number) for number in times]
    total = sum(numbers)
    if isinstance(matrix, UniformMixture):
        for i in asked.tolist():
            yield i, Inflow(matrix.kept, numbers[i], (matrix.other,), (total - numbers[i],))
    elif isinstance(matrix, SparseRows):
        order = np.argsort(matrix.targets, kind="stable")
        edges = np.searchsorted(matrix.targets[order], np.arange(matrix.size + 1))
        for i in asked.tolist():
            span = order[edges[i] : edges[i + 1]]
            moves = tuple(matrix.moves[span].tolist())
            sources = tuple(numbers[source] for source in matrix.sources[span].tolist())
            yield i, Inflow(matrix.kept[i], numbers[i], moves, sources)
    else:
        weights = matrix.weights
        for i in asked.tolist():
            moves = (*map(int, weights[:i, i]), *map(int, weights[i + 1 :, i]))
            others = tuple(numbers[:i] + numbers[i + 1 :])
            yield i, Inflow(int(weights[i, i]), numbers[i], moves, others)


def _of_step(step: Step, counts: Counts) -> float:
    """The worst over the values of a column, and over its strata."""
    if len(step.columns) > 1:
        names = ", ".join(f"'{name}'" for name in step.columns)
        raise NotCovered(
            f"The correct match speaks of one column at a time, and {names} are randomised "
            "together. Use SpontaneousRecognition for joint steps."
        )
    if step.matrix is not None:
        margin = frequencies_by_label(counts.margin(*step.columns))
        return _worst(step.matrix, margin)
    joint = frequencies_by_label(counts.margin(*step.strata, *step.columns))
    by_stratum: dict[tuple[Label, ...], dict[Label, int]] = {}
    for label, number in joint.items():
        by_stratum.setdefault(label[:-1], {})[label[-1]] = number
    missing = [stratum for stratum in by_stratum if stratum not in step.by_stratum]
    if missing:
        raise OutsideDomain(
            f"'{step.columns[0]}' has no matrix for {len(missing)} of {len(by_stratum)} strata."
        )
    return max(_worst(step.by_stratum[stratum], times) for stratum, times in by_stratum.items())
