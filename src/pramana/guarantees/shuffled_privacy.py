"""Central differential privacy of the shuffled release: the number that other tools state.

The local epsilon holds for each record before the shuffle. Whoever sees only the shuffled records
learns far less about one of them: with n records, P[x, y] the probability of releasing y when the
truth is x, and omega(y) = min over x of P[x, y],

    delta(epsilon) <= (1/n) E (Z_1 + ... + Z_n)_+,   Z = (P[x0, y] - e^epsilon P[x1, y]) / omega(y)

with probability omega(y) for every y and 0 else, independently, for the worst pair of truths x0, x1
[Balle19, Sec. 5]. Neighbours have the same people and differ in one person's values; n is public.

Every column that is released unchanged and stays attached to its record splits the anonymity set, a
sensitive one and a weight too: other records with other values there hide nobody. n is then the
size of the smallest group that all of them form. In a group of one there is nobody to be shuffled
with: what is left is the local epsilon, with delta 0. Proof: docs/proofs/shuffled_privacy.md.

The guarantee must hold for every pair of original values, so that the worst pair counts. For
uniform mixtures that is the pair which differs in every column, with the largest ratio of all
strata. For other matrices all pairs are computed if they are few; otherwise the matrix is bounded
by a uniform mixture that can be turned into it, or all steps together by the largest ratio alone.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import ClassVar

from pramana.base.rounding import float_up, in_numbers_of_python, log_up, require_number
from pramana.base.text import exp_text_up, text_up
from pramana.base.translation import gettext, numeral
from pramana.errors import NotCovered
from pramana.guarantees.base import CliOption, Evidence, Guarantee, Need
from pramana.guarantees.privacy_loss import LossDistribution, composed_delta, composed_epsilon
from pramana.guarantees.shuffled_bound import MARGIN, BlanketLaw, delta_of, epsilon_of, holds
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, ShuffledRounds, Step
from pramana.mechanisms.transition import TransitionMatrix, UniformMixture
from pramana.types import Form

BEYOND = 25.0
"""Above this local epsilon no anonymity set hides anything worth a search: it is stated."""


@dataclass(frozen=True, slots=True)
class ShuffledPrivacy(Guarantee):
    """No shuffled release favours one truth over another by more than exp(epsilon), up to delta.

    A target may leave delta open: the usual one for the number of records is meant then.

    >>> from pramana.mechanisms.mechanism import Mechanism, Step, UniformMixture
    >>> coin = Mechanism((Step(("a",), UniformMixture.of(("no", "yes"), epsilon=3)),))
    >>> attained = ShuffledPrivacy.of(coin, anonymity_set=100_000, delta=1e-6)
    >>> attained.implies(ShuffledPrivacy(epsilon=0.07, delta=1e-6)), attained.epsilon > 0.06
    (True, True)
    """

    epsilon: float
    delta: float | None = None

    name: ClassVar[str] = "shuffled-privacy"
    needs: ClassVar[frozenset[Need]] = frozenset(
        {Need.MATRICES, Need.FIXED_MATRICES, Need.SHUFFLE, Need.ANONYMITY_SET}
    )
    assumption: ClassVar[str] = (
        "Records are randomised independently by matrices that do not depend on the data, and "
        "shuffled with new random numbers. Each person has one record, and the number of records "
        "is public. The attacker may know the records of all other people, and all columns "
        "released unchanged, including sensitive columns and weights. These columns split the "
        "anonymity set. A list of values that was read off the data is treated as public."
    )
    not_promised: ClassVar[str] = (
        "It covers only the randomised columns, one person and one release. Against an attacker "
        "who sees the records before the shuffle, only the local epsilon holds."
    )
    cli_options: ClassVar[tuple[CliOption, ...]] = (
        CliOption(
            "--central-epsilon",
            "Differential privacy of the shuffled release.",
            number="epsilon",
            first=True,
            slider=("Differential privacy of the shuffled release: epsilon", 0.05, 10.0, 1.0),
        ),
        CliOption(
            "--delta",
            "Delta of the central epsilon; by default the smaller of 1e-6 and 0.1/n for n records.",
            required=False,
            slider=("... and its delta", 1e-9, 1e-3, 1e-6),
        ),
    )
    page: ClassVar[str] = "shuffled_privacy"
    of_household: ClassVar[str] = (
        "m epsilon, with delta (1 + e^epsilon + ... + e^((m - 1) epsilon))"
    )

    def __post_init__(self) -> None:
        in_numbers_of_python(self)
        require_number("epsilon", self.epsilon, low=0)
        if self.delta is not None:
            require_number("delta", self.delta, low=0, high=1, high_open=True)

    @classmethod
    def of(
        cls, mechanism: Mechanism, *, anonymity_set: int, delta: float, most: float = math.inf
    ) -> ShuffledPrivacy:
        """The least epsilon that holds with ``delta``, rounded up; never above the local one.

        Args:
            mechanism: what is done to a record.
            anonymity_set: the number of records; if columns are released unchanged, the size of the
                smallest group that they form.
            delta: 0, like an anonymity set of one, gives the local epsilon.
            most: if this epsilon holds, the result is not above it by rounding.
        """
        require_number("the number of records", anonymity_set, low=1)
        require_number("delta", delta, low=0, high=1, high_open=True)
        local = _local(mechanism)
        rounds = isinstance(mechanism, ShuffledRounds)
        if anonymity_set == 1 or delta == 0 or (local > BEYOND and not rounds):
            return cls(local, 0.0)

        central = central_epsilon(mechanism, anonymity_set=anonymity_set, delta=delta, most=most)
        return cls(central, delta) if central < local else cls(local, 0.0)

    @classmethod
    def evaluate(
        cls, evidence: Evidence, *, asked: ShuffledPrivacy | None = None
    ) -> ShuffledPrivacy:
        """From the matrices and the smallest group that all kept columns form."""
        mechanism, anonymity_set = _covered(evidence)
        if asked is None:
            return cls.of(
                mechanism, anonymity_set=anonymity_set, delta=usual_delta(evidence.records)
            )
        delta = asked._delta_for(evidence)
        return cls.of(mechanism, anonymity_set=anonymity_set, delta=delta, most=asked.epsilon)

    def met_by(self, evidence: Evidence) -> bool:
        """Whether matrices and anonymity set are enough for it: quicker than to evaluate them."""
        mechanism, anonymity_set = _covered(evidence)
        delta = self._delta_for(evidence)
        local = _local(mechanism)
        if isinstance(mechanism, ShuffledRounds):
            attained = self.of(
                mechanism, anonymity_set=anonymity_set, delta=delta, most=self.epsilon
            )
            return attained.epsilon <= self.epsilon
        if anonymity_set == 1 or delta == 0 or local <= self.epsilon or local > BEYOND:
            return local <= self.epsilon
        meets = partial(holds, anonymity_set=anonymity_set, epsilon=self.epsilon, delta=delta)
        return any(all(map(meets, laws)) for laws in laws_of(mechanism))

    def _delta_for(self, evidence: Evidence) -> float:
        return usual_delta(evidence.records) if self.delta is None else self.delta

    def impossible(self, evidence: Evidence) -> str | None:
        """An epsilon without its delta says nothing; only a wish may leave it open."""
        return None if self.delta is not None else "it states no delta"

    def household(self, members: int) -> Mapping[str, float]:
        """Its people exchanged one after the other: epsilons add up, and deltas grow with them."""
        if self.delta is None or math.isinf(self.epsilon):
            return {}
        return {
            "epsilon": float_up(Fraction(self.epsilon) * members),
            "delta": _group_delta(self.epsilon, self.delta, members),
        }

    def implies(self, other: ShuffledPrivacy) -> bool:
        """Smaller is stronger, in both numbers; where delta is left open, any usual one will do."""
        if self.delta is None:
            return other.delta is None and self.epsilon <= other.epsilon
        most = usual_delta(1) if other.delta is None else other.delta
        return self.epsilon <= other.epsilon and self.delta <= most

    @property
    def in_anonymity_set(self) -> bool:
        """Without a delta it is the epsilon of one record by itself."""
        return self.delta != 0 and not math.isinf(self.epsilon)

    def sentence(self) -> str:
        """The guarantee in words, with all that it rests on."""
        if math.isinf(self.epsilon):
            return gettext("No central differential privacy: shuffling hides nobody.")
        delta, beyond = gettext("not stated"), ""
        if self.delta is not None:
            delta = numeral(text_up(self.delta, 3))
        if self.delta:
            beyond = gettext(", apart from a probability of {delta}", delta=delta)
        return gettext(
            "central epsilon = {epsilon}, delta = {delta}: the shuffled release is at most "
            "{times} times as likely with a person's original values in the randomised columns "
            "as with any other values{beyond}, even if an attacker knows the records of "
            "everybody else. This assumes fresh random numbers, one record per person and one "
            "release. The anonymity set is a group of records that agree in all unchanged columns.",
            epsilon=numeral(text_up(self.epsilon)),
            delta=delta,
            times=numeral(exp_text_up(self.epsilon)),
            beyond=beyond,
        )

    def to_json(self) -> Form:
        """The numbers by name; an open delta is left out, an unbounded epsilon is null."""
        epsilon = None if math.isinf(self.epsilon) else self.epsilon
        return {"epsilon": epsilon} | ({} if self.delta is None else {"delta": self.delta})


def usual_delta(records: int) -> float:
    """A delta that lets nobody's record slip out whole: a tenth of a record, and at most 1e-6."""
    return min(1e-6, 0.1 / records)


def _local(mechanism: Mechanism) -> float:
    """The epsilon before the shuffle; there must be one."""
    if mechanism.gamma == math.inf:
        raise NotCovered(
            "shuffled-privacy cannot be guaranteed: some released value rules out some original "
            "value, and no anonymity set hides that. Use matrices without zeros."
        )
    return log_up(mechanism.gamma)


def _covered(evidence: Evidence) -> tuple[Mechanism, int]:
    """The mechanism, and the smallest group of records that share every column left unchanged."""
    schema = evidence.schema
    assert evidence.mechanism is not None  # noqa: S101 - it is among the needs
    if evidence.seeded:
        raise NotCovered(
            "shuffled-privacy cannot be guaranteed: a seed was used, and anyone who knows it can "
            "undo the shuffle. Release without a seed."
        )
    attached = [column.name for column in schema.released_as_is if column.name not in schema.known]
    if not attached:
        return evidence.mechanism, evidence.anonymity_set
    if evidence.smallest_unchanged_group is None:
        names = ", ".join(f"'{name}'" for name in attached)
        raise NotCovered(
            "shuffled-privacy cannot be guaranteed: {names} are released unchanged and split the "
            "anonymity set into groups of unknown size. Give the data, or randomise them too.",
            names=names,
        )
    return evidence.mechanism, evidence.smallest_unchanged_group


def _group_delta(epsilon: float, delta: float, members: int) -> float:
    """Delta (1 + e^eps + ... + e^((m - 1) eps)), rounded up, at most 1; none of none."""
    if not delta or members == 1:
        return delta
    try:
        total = math.fsum(math.exp(epsilon * step) for step in range(1, members))
    except OverflowError:
        return 1.0
    return min(1.0, math.nextafter(delta * (1 + total) * (1 + 1e-12), math.inf))


MOST_PAIRS = 1_000
"""At most this many pairs of truths are looked at one by one."""

MOST_STEPS = 64
"""Of more steps the product of their laws is not formed."""

MOST_WORK = 500_000
"""At most this many atoms of all their laws together: a reader must not be kept waiting."""


def central_epsilon(
    mechanism: Mechanism, *, anonymity_set: int, delta: float, most: float = math.inf
) -> float:
    """The epsilon that holds with ``delta`` for ``anonymity_set`` shuffled records, rounded up.

    Every entry of the matrices must be positive, except for values that are never released. If
    ``most`` holds, the result is at or below it.
    """
    if isinstance(mechanism, ShuffledRounds):
        alike = Counter((one.matrix.size, one.matrix.gamma) for one in mechanism.sets)
        rounds = tuple((*group, times) for group, times in alike.items())
        return rounds_epsilon(rounds, anonymity_set=anonymity_set, delta=delta, most=most)
    return min(
        epsilon_of(laws, anonymity_set=anonymity_set, delta=delta, most=most)
        for laws in laws_of(mechanism)
    )


STEP, POINTS = 0.2, 400
"""The step of privacy losses, in standard deviations of a typical round, and the most steps."""


@lru_cache(64)
def rounds_epsilon(
    rounds: tuple[tuple[int, Fraction, int], ...],
    *,
    anonymity_set: int,
    delta: float,
    most: float = math.inf,
) -> float:
    """The epsilon that holds with ``delta`` for rounds that are shuffled each by itself.

    Args:
        rounds: The number of cells, the ratio, and how many rounds are alike.
        anonymity_set: The number of records that are shuffled in each round.
        delta: Of all rounds together.
        most: If it holds, what is found is at or below it.
    """
    alike = [(size, ratio, times) for size, ratio, times in rounds if ratio > 1]
    if not alike:
        return 0.0
    many = sum(times for _, _, times in alike)
    spread = sum(times * (float(g) - 1) ** 2 / (float(g) + d - 1) for d, g, times in alike)
    widest = max(log_up(ratio) for _, ratio, _ in alike)
    step = min(STEP * math.sqrt(2 * spread / many / anonymity_set), widest / 10)
    losses = []
    for size, ratio, times in alike:
        law, end = BlanketLaw.of_mixture(size, ratio), delta / (1_000 * many)

        def profile(epsilon: float, law: BlanketLaw = law) -> float:
            return delta_of(law, anonymity_set=anonymity_set, epsilon=epsilon)

        loss = LossDistribution.of_profile(profile, step=step, points=POINTS, end=end)
        losses.append((loss, times))
    least = composed_epsilon(losses, delta=delta * (1 - MARGIN))
    if most < least and composed_delta(losses, epsilon=most) <= delta * (1 - MARGIN):
        return most
    return least


def laws_of(mechanism: Mechanism) -> list[list[BlanketLaw]]:
    """Lists of laws; the largest delta over any one of the lists is an upper bound."""
    if isinstance(mechanism, AttributeSampler):
        # Two original records that differ in every set: one that agrees in some spreads less.
        alike = {(one.matrix.size, one.matrix.other): one.matrix for one in mechanism.sets}
        mixtures = {
            key: BlanketLaw.of_mixture(matrix.size, Fraction(matrix.gamma))
            for key, matrix in alike.items()
        }
        parts = ((one.share, mixtures[one.matrix.size, one.matrix.other]) for one in mechanism.sets)
        return [[BlanketLaw.of_parts(parts)]]
    alone = len(mechanism.steps) == 1
    chosen: list[Sequence[BlanketLaw]] = [
        _pairs(step, alone=alone) or [_mixture_law(step)] for step in mechanism.steps
    ]
    # While all pairs of all steps are too many, or too large: one law for the widest step.
    while (pairs := math.prod(map(len, chosen))) > 1 and (
        pairs > MOST_PAIRS or pairs * _atoms(chosen) > MOST_WORK
    ):
        widest = max(range(len(chosen)), key=lambda position: len(chosen[position]))
        chosen[widest] = [_mixture_law(mechanism.steps[widest])]
    any_channel = [BlanketLaw.of_any_channel(Fraction(mechanism.gamma))]
    mixtures_only = all(isinstance(m, UniformMixture) for step in mechanism for m in step.matrices)
    if len(chosen) > MOST_STEPS or (not mixtures_only and _atoms(chosen) > MOST_WORK):
        return [any_channel]
    exact = [BlanketLaw.of_steps(laws) for laws in itertools.product(*chosen)]
    return [exact] if mixtures_only else [exact, any_channel]


def _atoms(chosen: Sequence[Sequence[BlanketLaw]]) -> int:
    """The number of atoms of a product of one law of each step, if none are alike."""
    return math.prod(max(len(law.chance) for law in laws) for laws in chosen)


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
    """One distribution above all pairs of original values and all strata of a step."""
    return BlanketLaw.of_mixture(len(step.labels), max(map(mixture_above, step.matrices)))


def _pairs(step: Step, *, alone: bool) -> list[BlanketLaw] | None:
    """The laws of all pairs of original values in all strata, each once; ``None`` if too many.

    Two equal values count if other steps may tell them apart.
    """
    if all(isinstance(matrix, UniformMixture) for matrix in step.matrices):
        return [_mixture_law(step)]
    size = len(step.labels)
    if size * size * len(step.matrices) > MOST_PAIRS:
        return None
    laws: dict[tuple[tuple[int, int, int], ...], BlanketLaw] = {}
    for matrix in step.matrices:
        rows = matrix.weights.tolist()
        blanket = [min(column) for column in zip(*rows, strict=True)]
        for row, other in itertools.product(rows, repeat=2):
            if alone and row is other:
                continue
            key = tuple(sorted(zip(row, other, blanket, strict=True)))
            if key not in laws:
                laws[key] = BlanketLaw.of_rows(row, other, blanket)
    return list(laws.values()) or [BlanketLaw.of_mixture(1, Fraction(1))]
