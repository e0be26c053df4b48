"""Panels: the same people are asked again and again, and averaging must not undo the promise.

What is sent passes two mixtures. The permanent one, P, is drawn once for life, for every answer
that can be given; the device keeps what came out, so that the same truth always gives the same
permanent answer. The other, Q, is drawn anew in every wave. One wave sees the product PQ; however
many waves tell no more than P of who always answers alike, and no more than Q each time of who does
not (docs/proofs/collected.md).

Weights of P and Q are multiples of 2**32: their products, over 2**128, are then integers over
2**64, and the matrix of a wave is what is done, to the last word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from pramana.base.rounding import TOTAL, log_of
from pramana.base.text import text_down, text_up
from pramana.errors import Infeasible
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism
from pramana.mechanisms.uniform_mixture import UniformMixture

Stages = tuple[int, int]
"""How many words give each other cell: once for life, and in every wave."""

GRID: Final = 2**32
MOST_CELLS: Final = 10_000
"""Permanent answers that a device keeps."""


def two_stages(
    mechanism: Mechanism, all_waves: float
) -> tuple[Mechanism, tuple[tuple[Stages, ...], ...]]:
    """The mechanism of one wave as a product whose first factor has this epsilon.

    What one wave may tell is shared among steps as it was; the permanent budget in proportion.
    """
    one = log_of(Fraction(mechanism.gamma))
    if all_waves < one:
        raise Infeasible(
            f"all_waves_epsilon must be at least that of one wave, {text_up(one, 3)}, got "
            f"{text_down(all_waves, 6)}."
        )
    scale = all_waves / one if one else 1.0
    if isinstance(mechanism, AttributeSampler):
        pairs = [_split(own.matrix, scale) for own in mechanism.sets]
        _require_few([own.matrix.size for own in mechanism.sets], together=False)
        sets = tuple(
            replace(own, matrix=matrix)
            for own, (matrix, _) in zip(mechanism.sets, pairs, strict=True)
        )
        return replace(mechanism, sets=sets), tuple((stages,) for _, stages in pairs)
    matrices = [own.matrix for own in mechanism.steps if isinstance(own.matrix, UniformMixture)]
    _require_few([matrix.size for matrix in matrices], together=True)
    pairs = [_split(matrix, scale) for matrix in matrices]
    steps = tuple(
        replace(own, matrix=matrix) for own, (matrix, _) in zip(mechanism.steps, pairs, strict=True)
    )
    return replace(mechanism, steps=steps), (tuple(stages for _, stages in pairs),)


def _require_few(sizes: Sequence[int], *, together: bool) -> None:
    most = sum(sizes) if together else max(sizes)
    if most > MOST_CELLS:
        raise Infeasible(
            f"A panel keeps an answer for each of {most:,} cells on every device; at most "
            f"{MOST_CELLS:,} can be kept. Coarsen a question."
        )


def _split(matrix: UniformMixture, scale: float) -> tuple[UniformMixture, Stages]:
    """A mixture at or below this one as a product; every rounding is towards more noise."""
    size = matrix.size
    if size == 1:
        return matrix, (0, 0)
    gamma = float(matrix.gamma) ** scale
    permanent = _on_grid(TOTAL / (Fraction(gamma) + size - 1), size)
    left = Fraction(TOTAL - size * matrix.other, TOTAL - size * permanent)
    wave = _on_grid((1 - left) * TOTAL / size, size)
    stages = (permanent, wave)
    return replace(matrix, other=product_of(size, stages)), stages


def _on_grid(weight: Fraction, size: int) -> int:
    """At or above, where there is room: a mixture is never more than pure noise, nor none."""
    most = TOTAL // size // GRID
    return GRID * max(1, min(-(-weight // GRID), most))


def product_of(size: int, stages: Stages) -> int:
    """The weight of each other cell after both stages; exact, or there is none."""
    first, second = stages
    kept = [TOTAL - (size - 1) * one for one in stages]
    exact = first * kept[1] + kept[0] * second + (size - 2) * first * second
    return exact // TOTAL if exact % TOTAL == 0 else -1


def gamma_of(sizes: Sequence[int], weights: Sequence[int]) -> Fraction:
    """The amplification of mixtures that are drawn independently."""
    found = Fraction(1)
    for size, other in zip(sizes, weights, strict=True):
        if size > 1:
            found *= Fraction(TOTAL - (size - 1) * other, other)
    return found
