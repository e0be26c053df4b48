"""Repeated perturbation: does it help to randomise the release again and again?

[Dowd, Sec. 5]: an attacker who knows the matrices M may put the released values through them t - 1
times more. The result has the law of M**t. Its best guess of a true value gets worse with every
round and ends at what guessing gives: shown here in numbers, with the power beside an actual run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pramana.base.randomness import Keystream, Stream
from pramana.base.rounding import require_number
from pramana.base.text import percent_down, percent_up
from pramana.errors import NotCovered
from pramana.mechanisms.sampler import randomise
from pramana.mechanisms.transition import TransitionMatrix
from pramana.types import Codes, FloatArray, Form


@dataclass(frozen=True)
class Round:
    """After ``times`` perturbations in all.

    Attributes:
        times: how often the truth has been perturbed.
        entropy: bits of uncertainty of the matrix power.
        smallest_diagonal: the least probability that a value is still itself, by the power.
        guess: the chance that the best guess of a true value is right, by the power and the prior.
        unchanged: the share of released values that the extra rounds left as they were, measured.
        unchanged_expected: the same by the matrix power.
    """

    times: int
    entropy: float
    smallest_diagonal: float
    guess: float
    unchanged: float
    unchanged_expected: float

    def to_json(self) -> Form:
        """A plain form."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class RepeatedAttack:
    """The attack on one column.

    Attributes:
        column: the column.
        prior: the chance of the best guess without the release.
        rounds: what each round gives; the first is the release itself.
    """

    column: str
    prior: float
    rounds: tuple[Round, ...]

    @property
    def gains(self) -> bool:
        """Whether any further round helps the attacker; the theorem says never."""
        first = self.rounds[0].guess
        return any(later.guess > first * (1 + 1e-12) for later in self.rounds[1:])

    def sentence(self) -> str:
        """The finding in plain words."""
        first, last = self.rounds[0], self.rounds[-1]
        return (
            f"'{self.column}': the best guess of a true value is right with "
            f"{percent_up(first.guess)} from the release, with {percent_up(last.guess)} after "
            f"{last.times} perturbations, and with {percent_down(self.prior)} without the release."
        )

    def to_json(self) -> Form:
        """A plain form."""
        return {
            "column": self.column,
            "prior": self.prior,
            "gains": self.gains,
            "rounds": [entry.to_json() for entry in self.rounds],
        }


def repeated_attack(
    column: str,
    matrix: TransitionMatrix,
    released: Codes,
    *,
    keystream: Keystream,
    times: int = 8,
    prior: FloatArray | None = None,
) -> RepeatedAttack:
    """Perturb the released codes of a column again, round by round.

    Args:
        column: its name.
        matrix: what was done to it.
        released: the released codes.
        keystream: where the attacker's randomness comes from.
        times: how many perturbations in all, the release's own included.
        prior: what the attacker knows about the frequencies of true values; none: all alike.
    """
    require_number("times", times, low=1)
    if matrix.size > 2_000:
        raise NotCovered(
            f"'{column}' has {matrix.size:,} values; powers are shown up to 2,000.", column=column
        )
    shares = np.full(matrix.size, 1 / matrix.size) if prior is None else prior / prior.sum()
    codes = released.astype(np.uint32)
    power = np.eye(matrix.size)
    rounds = []
    current = codes
    for t in range(1, times + 1):
        before, power = power, power @ matrix.values
        if t > 1:
            stream = Stream("repeated", column, t)
            current = randomise(matrix, current, keystream=keystream, stream=stream)
        rounds.append(
            Round(
                times=t,
                entropy=_entropy(power),
                smallest_diagonal=float(np.diagonal(power).min()),
                guess=float((shares[:, None] * power).max(axis=0).sum()),
                unchanged=float((current == codes).mean()),
                unchanged_expected=float(np.diagonal(before)[codes].mean()),
            )
        )
    return RepeatedAttack(column, float(shares.max()), tuple(rounds))


def _entropy(power: FloatArray) -> float:
    logs = np.log2(power, out=np.zeros_like(power), where=power > 0)
    return float(-(power * logs).sum() / len(power))
