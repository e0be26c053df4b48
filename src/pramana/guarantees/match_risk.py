"""The chance of a correct match by every value of a column, and the worst of a mechanism.

Each value that occurs is evaluated by the exact law of the released count (``match_law``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pramana.errors import InvalidNumber, NotCovered, OutsideDomain
from pramana.guarantees.match_law import Inflow, worst_match
from pramana.matrices import Label, Mechanism, SparseRows, Step, TransitionMatrix, UniformMixture
from pramana.numeric import float_up
from pramana.types import FloatArray, IntArray

if TYPE_CHECKING:
    from pramana.table.counts import Counts

__all__ = ["frequencies_by_label", "kept_risk", "match_risks", "worst_risk"]


def worst_risk(
    mechanism: Mechanism | TransitionMatrix, counts: Counts | Mapping[Label, int]
) -> float:
    """The largest chance over the steps of a mechanism, rounded up; 1 where it has none."""
    if isinstance(mechanism, TransitionMatrix):
        return _worst(mechanism, frequencies_by_label(counts))
    if isinstance(counts, Mapping):
        raise NotCovered("The correct match of a mechanism needs counts that name columns.")
    return max((_of_step(step, counts) for step in mechanism.steps), default=1.0)


def kept_risk(known: Sequence[str], counts: Counts, *, crowd: int) -> float:
    """The largest chance by one value of a column that is released as it is: 1 / its frequency.

    A column that is not counted has at least ``crowd`` records of each value.
    """
    fewest = [
        int(counts.margin(name).numbers.min()) if name in counts.columns else crowd
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
