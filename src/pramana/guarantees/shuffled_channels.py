"""From what is done to a record to the blanket laws that bound it.

The promise must hold for every pair of truths, so that the worst pair counts. For uniform mixtures
that is the pair which differs in every column, with the largest ratio of all strata. For other
matrices all pairs are looked at where they are few, and where they are many the matrix is bounded
by a uniform mixture that can be turned into it, or all steps together by the largest ratio alone.
Proofs: docs/proofs/shuffled_privacy.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from pramana.guarantees.shuffled_bound import epsilon_of, holds
from pramana.guarantees.shuffled_law import BlanketLaw
from pramana.matrices.mechanism import Mechanism, Step
from pramana.matrices.reporting import Reporting
from pramana.matrices.transition import TransitionMatrix
from pramana.matrices.uniform_mixture import UniformMixture

__all__ = ["central_epsilon", "laws_of", "meets", "mixture_above"]

MOST_PAIRS = 1_000
"""At most so many pairs of truths are looked at one by one."""

MOST_STEPS = 64
"""Of more steps the product of their laws is not formed."""

MOST_WORK = 500_000
"""At most so many atoms of all their laws together: a reader must not be kept waiting."""


def central_epsilon(
    mechanism: Mechanism, *, crowd: int, delta: float, most: float = math.inf
) -> float:
    """The epsilon that holds with ``delta`` for ``crowd`` shuffled records, rounded up.

    Every entry of the matrices must be positive, up to values that are never released. If
    ``most`` holds, what is found is at or below it.
    """
    return min(epsilon_of(laws, crowd=crowd, delta=delta, most=most) for laws in laws_of(mechanism))


def meets(mechanism: Mechanism, *, crowd: int, epsilon: float, delta: float) -> bool:
    """Whether epsilon holds with ``delta``: quicker than to find the least that does."""
    return any(
        all(holds(law, crowd=crowd, epsilon=epsilon, delta=delta) for law in laws)
        for laws in laws_of(mechanism)
    )


def laws_of(mechanism: Mechanism) -> list[list[BlanketLaw]]:
    """Lists of laws; the largest delta over any one of the lists is an upper bound."""
    if isinstance(mechanism, Reporting):
        return [[_law_of_reports(mechanism)]]
    pairs = [_pairs(step, alone=len(mechanism.steps) == 1) for step in mechanism.steps]
    chosen: list[Sequence[BlanketLaw]] = []
    for step, laws in zip(mechanism.steps, pairs, strict=True):
        chosen.append(laws if laws is not None else [_mixture_law(step)])
    while _too_much(chosen):  # the widest step first
        widest = max(range(len(chosen)), key=lambda position: len(chosen[position]))
        chosen[widest] = [_mixture_law(mechanism.steps[widest])]
    any_channel = [BlanketLaw.of_any_channel(Fraction(mechanism.gamma))]
    mixtures = all(isinstance(m, UniformMixture) for step in mechanism for m in step.matrices)
    if len(chosen) > MOST_STEPS or (not mixtures and _atoms(chosen) > MOST_WORK):
        return [any_channel]
    exact = [BlanketLaw.of_steps(laws) for laws in itertools.product(*chosen)]
    return [exact] if mixtures else [exact, any_channel]


def _too_much(chosen: Sequence[Sequence[BlanketLaw]]) -> bool:
    """Whether some step has several laws, and all together are too many, or too large."""
    pairs = math.prod(map(len, chosen))
    return pairs > 1 and (pairs > MOST_PAIRS or pairs * _atoms(chosen) > MOST_WORK)


def _atoms(chosen: Sequence[Sequence[BlanketLaw]]) -> int:
    """How many atoms a product of one law of each step has, if none are alike."""
    return math.prod(max(len(law.chance) for law in laws) for laws in chosen)


def _law_of_reports(mechanism: Reporting) -> BlanketLaw:
    """That of two truths that differ in every set: one that agrees in some spreads less."""
    alike = {(one.matrix.size, one.matrix.other): one.matrix for one in mechanism.sets}
    laws = {own: BlanketLaw.of_mixture(one.size, Fraction(one.gamma)) for own, one in alike.items()}
    return BlanketLaw.of_parts(
        (one.share, laws[one.matrix.size, one.matrix.other]) for one in mechanism.sets
    )


def mixture_above(matrix: TransitionMatrix) -> Fraction:
    """The least ratio of a uniform mixture over the same values that can be turned into a matrix.

    A mixture of retention rho, followed by Q, is the matrix P if Q = (P - (1 - rho) M) / rho with M
    the mean of the rows of P; Q is a matrix as soon as 1 - rho is at or below every P / M.
    """
    if isinstance(matrix, UniformMixture):
        return Fraction(matrix.gamma)
    weights, size = matrix.weights, matrix.size
    columns = [weights[:, position].tolist() for position in range(size)]
    share = min(Fraction(size * min(column), sum(column)) for column in columns if any(column))
    return size / share - (size - 1)


def _mixture_law(step: Step) -> BlanketLaw:
    """One law above those of all pairs of truths and all strata of a step."""
    return BlanketLaw.of_mixture(len(step.labels), max(map(mixture_above, step.matrices)))


def _pairs(step: Step, *, alone: bool) -> list[BlanketLaw] | None:
    """The laws of all pairs of truths in all strata, each once; ``None`` where they are too many.

    Two equal truths count where other steps may tell them apart.
    """
    if all(isinstance(matrix, UniformMixture) for matrix in step.matrices):
        return [_mixture_law(step)]
    size = len(step.labels)
    if size * size * len(step.matrices) > MOST_PAIRS:
        return None
    found: dict[tuple[tuple[int, int, int], ...], BlanketLaw] = {}
    for matrix in step.matrices:
        rows = matrix.weights.tolist()
        blanket = [min(column) for column in zip(*rows, strict=True)]
        for own, other in itertools.product(rows, repeat=2):
            if alone and own is other:
                continue
            key = tuple(sorted(zip(own, other, blanket, strict=True)))
            if key not in found:
                found[key] = BlanketLaw.of_rows(own, other, blanket)
    return list(found.values()) or [BlanketLaw.of_mixture(1, Fraction(1))]
