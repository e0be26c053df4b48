"""The probability that an intruder who knows one value of a person picks the right record.

The intruder of [Ghatak, Sec. 2] knows that the target has the value c of one column, looks at the
a records that are released as c, and picks one of them at random. ``CorrectMatch(xi)`` says that
the pick is right with probability at most xi, for every a and every value c of the target.

The paper bounds this for one rare value (psi). Other rare values of the same block can be left
above the bound, so every value that occurs is evaluated here, each by the exact law of the
released count. Proof: docs/proofs/correct_match.md.

A target B has the value c. Write S for the number of records released as c: a sum of independent
binomials, one for each original value. An intruder who picks one of the S = a records at random is
right with probability

    R(a) = P[B is released as c | S = a] / a                              [Ghatak, eq. 7]
         = 1 / (a + g(a) / odds_c),    g(a) = a e_a / e_{a-1},            [Ghatak, eq. 10]

where e_a is the a-th elementary symmetric polynomial of the odds of all records but B to be
released as c. Three facts keep this exact and quick (proof page):

- R(a) <= 1 / a and R(a) <= 1 / T_c, so that few a can matter once one R is known;
- g falls in a, and g(a) - g(a + 1) is a weighted mean of odds: if no other value has larger odds
  than c itself, R falls too, and R(1) is the largest [Ghatak, Thm 3.1];
- all e_a are sums of positive terms, so that floating point loses only a few units.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pramana.base.rounding import (
    TOTAL,
    float_up,
    in_numbers_of_python,
    require_number,
    root_between,
)
from pramana.base.text import text_up
from pramana.base.translation import gettext, numeral
from pramana.errors import InvalidNumber, NotCovered, OutsideDomain
from pramana.guarantees.base import CliOption, Evidence, Guarantee, Need
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Label, TransitionMatrix, UniformMixture
from pramana.schema.joint_cells import Counts
from pramana.schema.schema import Schema
from pramana.types import FloatArray, IntArray


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
        "The attacker knows a person's value in one column and nothing else, and picks at random "
        "among the records released with this value. The number is computed from the original "
        "counts."
    )
    not_promised: ClassVar[str] = (
        "An attacker who knows several columns, or does not pick at random, may be right more "
        "often. Nobody can recompute the number from the release."
    )
    cli_options: ClassVar[tuple[CliOption, ...]] = (
        CliOption(
            "--xi",
            "Correct match by one key: probability at most this.",
            first=True,
            slider=("Probability of a correct match by one key", 0.01, 0.5, 0.1),
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
        """From the matrices and the original counts.

        Who knows a value that is released unchanged picks among the records that have it.
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
        are never found by them. A column that is released unchanged shows how many share a value.
        """
        alone = len(evidence.schema.known) == 1
        if alone and Fraction(self.xi) * evidence.anonymity_set < 1:
            sharing = f"{evidence.anonymity_set:,} people in the anonymity set"
            return f"a guess among the {sharing} is right more often"
        steps = () if evidence.mechanism is None else evidence.mechanism.steps
        if any(len(step.columns) > 1 for step in steps):
            return "it is about one column at a time, and some are randomised together"
        moved = any(one.matrix is None or not one.matrix.diagonal.all() for one in steps)
        if moved or Fraction(self.xi) * evidence.records >= 1:
            return None
        return f"a guess among {evidence.records:,} records is right more often"

    @property
    def suggests(self) -> float:
        """A chance of xi to be right about a person sounds like as many copies."""
        return self.xi

    def household(self, members: int) -> Mapping[str, float]:
        """Who searches for each of its people is right about one or more: chances add up."""
        return {"xi": min(1.0, float_up(Fraction(self.xi) * members))}

    def sentence(self) -> str:
        """The guarantee in words."""
        return gettext(
            "xi = {xi}: an attacker who knows a person's value in one key or public column, and "
            "picks a record with this value at random, is right with at most this probability.",
            xi=numeral(text_up(self.xi)),
        )


def worst_risk(
    mechanism: Mechanism | TransitionMatrix, counts: Counts | Mapping[Label, int]
) -> float:
    """The largest probability over the steps of a mechanism, rounded up; 1 if it has none."""
    if isinstance(mechanism, TransitionMatrix):
        return _worst(mechanism, frequencies_by_label(counts))
    if isinstance(counts, Mapping):
        raise NotCovered("The correct match of a mechanism needs counts that name columns.")
    return max((_of_step(step, counts) for step in mechanism.steps), default=1.0)


def kept_risk(known: Sequence[str], counts: Counts, *, anonymity_set: int) -> float:
    """The largest probability by a value of an unchanged column: 1 / its frequency.

    A column that is not counted has at least ``anonymity_set`` records of each value.
    """
    fewest = [
        int(counts.margin(name).numbers.min()) if name in counts.columns else anonymity_set
        for name in known
    ]
    return max((float_up(Fraction(1, number)) for number in fewest), default=0.0)


def match_risks(matrix: TransitionMatrix, frequencies: Mapping[Label, int]) -> FloatArray:
    """The largest probability for each label, rounded up; 0 for a label that nobody has."""
    times = _in_order(matrix, frequencies)
    risks = np.zeros(matrix.size)
    for position, inflow in _inflows(matrix, times, np.flatnonzero(times)):
        risks[position] = worst_match(inflow)
    return risks


def frequencies_by_label(counts: Counts | Mapping[Label, int]) -> dict[Label, int]:
    """One column of counts as a mapping from labels."""
    if isinstance(counts, Mapping):
        return dict(counts)
    labels = [
        tuple(column[code] for column, code in zip(counts.labels, cell, strict=True))
        for cell in counts.cells.tolist()
    ]
    single = len(counts.columns) == 1
    keys = [label[0] for label in labels] if single else labels
    return dict(zip(keys, counts.numbers.tolist(), strict=True))


def _worst(matrix: TransitionMatrix, frequencies: Mapping[Label, int]) -> float:
    """The largest of all labels: from rare to frequent, as it is at most 1 / frequency."""
    times = _in_order(matrix, frequencies)
    order = np.argsort(times, kind="stable")
    worst = 0.0
    for position, inflow in _inflows(matrix, times, order[times[order] > 0]):
        if times[position] * worst >= 1:
            break
        worst = max(worst, worst_match(inflow, at_least=worst))
    return worst


def _of_step(step: Step, counts: Counts) -> float:
    """The largest over the values of a column, and over its strata."""
    if len(step.columns) > 1:
        names = ", ".join(f"'{name}'" for name in step.columns)
        raise NotCovered(
            f"CorrectMatch is about one column at a time, and {names} are randomised "
            "together. Use SpontaneousRecognition for joint steps."
        )
    if step.matrix is not None:
        return _worst(step.matrix, frequencies_by_label(counts.margin(*step.columns)))
    by_stratum: dict[tuple[Label, ...], dict[Label, int]] = {}
    joint = frequencies_by_label(counts.margin(*step.strata, *step.columns))
    for label, number in joint.items():
        by_stratum.setdefault(label[:-1], {})[label[-1]] = number
    missing = [stratum for stratum in by_stratum if stratum not in step.by_stratum]
    if missing:
        raise OutsideDomain(
            f"'{step.columns[0]}' has no matrix for {len(missing)} of {len(by_stratum)} strata."
        )
    return max(_worst(step.by_stratum[stratum], times) for stratum, times in by_stratum.items())


def _in_order(matrix: TransitionMatrix, frequencies: Mapping[Label, int]) -> IntArray:
    """The frequencies in the order of the matrix."""
    unknown = [label for label in frequencies if label not in matrix.positions]
    if unknown:
        raise OutsideDomain(
            f"{len(unknown)} of {len(frequencies)} values with a frequency are not labels of the "
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
    """For each position asked: the records that can be released as it."""
    numbers = times.tolist()
    if isinstance(matrix, UniformMixture):
        total = sum(numbers)
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


# -- the law of the released count ------------------------------------------------------------

UNIT = 2.0**-52
EXACT_TERMS = 40
"""Up to this many different weights R(1) is computed in fractions."""

EXACT_RANGE = 256
"""Up to this many released values the law is computed by products of positive polynomials."""

WIDE_TOLERANCE = 1e-6
"""The relative precision at which the search over larger a ends."""


@dataclass(frozen=True)
class Inflow:
    """The records that can be released as one value c.

    ``stay`` is the integer weight with which an original c stays, ``frequency`` the number of
    original c; ``weights`` and ``frequencies`` are those of the other values that can turn into c.
    """

    stay: int
    frequency: int
    weights: tuple[int, ...]
    frequencies: tuple[int, ...]

    @property
    def certain(self) -> int:
        """The records of other values that are always released as c."""
        pairs = zip(self.weights, self.frequencies, strict=True)
        return sum(times for weight, times in pairs if weight == TOTAL)

    def odds(self) -> tuple[float, FloatArray, FloatArray]:
        """Odds of a true c to stay, odds of the rest, and how many records have them."""
        moving: dict[int, int] = {}
        for weight, times in zip(self.weights, self.frequencies, strict=True):
            if 0 < weight < TOTAL and times:
                moving[weight] = moving.get(weight, 0) + times
        odds = np.array([weight / (TOTAL - weight) for weight in moving])
        numbers = np.array(list(moving.values()), dtype=np.float64)
        return self.stay / (TOTAL - self.stay), odds, numbers


def worst_match(inflow: Inflow, *, at_least: float = 0.0) -> float:
    """Max over a of R(a), rounded up; or any number up to ``at_least`` if it is not above that."""
    if inflow.stay == 0 or inflow.frequency == 0:
        return 0.0  # a true c is never released as c, so a match there is never correct
    if inflow.stay == TOTAL:
        # All true c stay: R(a) = 1 / a, and the fewest possible are these and the certain ones.
        return float_up(Fraction(1, inflow.frequency + inflow.certain))
    stay, odds, times = inflow.odds()
    certain = inflow.certain
    # R(a) <= 1 / T_c: given S = a, all true c are equally likely to be among the a.
    limit = float_up(Fraction(1, inflow.frequency))
    if certain == 0 and (odds <= stay).all():
        return min(_first(inflow, stay, odds, times), limit)
    everyone = np.append(odds, stay), np.append(times, inflow.frequency - 1.0)
    return min(_search(stay, certain, *everyone, at_least), limit)


def _first(inflow: Inflow, stay: float, odds: FloatArray, times: FloatArray) -> float:
    """R(1) = 1 / (T_c + sum T_i odds_i / odds_c); exact if the fractions stay short."""
    if len(odds) > EXACT_TERMS:
        return 1 / (inflow.frequency + math.fsum(times * odds) / stay) * (1 + 8 * UNIT)
    parts = zip(inflow.weights, inflow.frequencies, strict=True)
    rest = sum(
        (number * Fraction(weight, TOTAL - weight) for weight, number in parts if number),
        Fraction(0),
    )
    return float_up(1 / (inflow.frequency + rest / Fraction(inflow.stay, TOTAL - inflow.stay)))


def _search(stay: float, certain: int, odds: FloatArray, times: FloatArray, best: float) -> float:
    """The largest R over all a, or ``best``; ``certain`` records come on top of the random ones."""
    most = int(times.sum()) + 1
    done = 0
    for reach in (16, 64, EXACT_RANGE):
        # R(a) <= 1 / a: beyond 1 / best nothing can be larger.
        top = min(reach, most, math.ceil(1 / best) if best else reach)
        if top > done:
            ratios, units = _ratios(odds, times, top)
            risks = 1 / ((np.arange(1, top + 1) + certain) * (1 + ratios / stay))
            best, done = max(best, float(risks.max()) * (1 + units * UNIT)), top
        if done >= most or done * best >= 1:
            return best
    return _far(stay, certain, odds, times, best, done + 1, min(most, math.ceil(1 / best)))


def _ratios(odds: FloatArray, times: FloatArray, top: int) -> tuple[FloatArray, float]:
    """e_a / e_{a-1} for a = 1 .. top, and the relative error in units of rounding."""
    scale = top / max(float((odds * times).sum()), np.finfo(float).tiny)
    steps = np.arange(1, top + 1)
    factors = np.maximum(times[:, None] - steps + 1, 0) / steps * (odds[:, None] * scale)
    powers: FloatArray = np.multiply.accumulate(
        np.column_stack([np.ones(len(odds)), factors]), axis=1
    )
    levels = 1
    while len(powers) > 1:
        powers, levels = _pair_up(powers), levels + 1
    line = powers[0]
    sure = line > 1e-280  # below, digits may have been lost: such terms take the other road
    sure[1:] &= sure[:-1]
    records = int(times.sum())
    sure[records + 1 :] = True  # no more than all of them: the ratio is 0, and exact
    line[records + 1 :] = 0
    ratios = np.zeros(top)
    ratios[sure[1:]] = line[1:][sure[1:]] / np.maximum(line[:-1][sure[1:]], 1e-280) / scale
    for a in np.flatnonzero(~sure[1:]) + 1:
        ratios[a - 1] = _ratio(odds, times, int(a))
    units = 2.0 * ((top + 2) * levels + 4 * top + 16)
    return ratios, units if sure.all() else max(units, 1e-8 / UNIT)


def _pair_up(powers: FloatArray) -> FloatArray:
    """Multiply polynomials two by two, without the terms beyond the last column."""
    if len(powers) % 2:
        powers = np.vstack([powers, np.eye(1, powers.shape[1])])
    left, right = powers[0::2], powers[1::2]
    product = np.zeros_like(left)
    for shift in range(powers.shape[1]):
        product[:, shift:] += left[:, shift : shift + 1] * right[:, : powers.shape[1] - shift]
    return product


# -- many released values: a window of a at a time --------------------------------------------


def _far(
    stay: float,
    certain: int,
    odds: FloatArray,
    times: FloatArray,
    best: float,
    low: int,
    high: int,
) -> float:
    """Branch and bound over a in [low, high], since g falls: f(a) >= low + g(high) / own there."""
    records = int(times.sum())

    def chances(a: IntArray, ratios: FloatArray) -> FloatArray:
        return 1 / ((a + certain) * (1 + ratios / stay))

    if high > records:  # all of them, and B: nobody else is left
        best, high = max(best, 1 / (records + 1 + certain)), records
    pieces = [(low, high)] if low <= high else []
    while pieces:
        first, last = pieces.pop()
        window, ratios = _window(odds, times, last)
        inside = (window >= first) & (window <= last)
        best = max(best, float(chances(window[inside], ratios[inside]).max(initial=0.0)))
        last = min(last, int(window[0]) - 1)
        if first > last:
            continue
        bound = 1 / (first + certain + (last + 1 + certain) * ratios[0] / stay)
        if bound > best * (1 + WIDE_TOLERANCE):
            middle = (first + last) // 2
            pieces += [(first, middle), (middle + 1, last)] if middle < last else [(first, last)]
    return best * (1 + 2 * WIDE_TOLERANCE)


def _ratio(odds: FloatArray, times: FloatArray, a: int) -> float:
    """e_a / e_{a-1} alone."""
    window, ratios = _window(odds, times, a)
    return float(ratios[window == a][0])


def _window(odds: FloatArray, times: FloatArray, last: int) -> tuple[IntArray, FloatArray]:
    """Values a up to ``last``, and e_a / e_{a-1} for them, from one tilted law.

    Odds times x change e_a by x**a only. With x such that the mean is near the window, its values
    are likely outcomes and come out of one Fourier transform with good relative precision.
    """
    tilt = _tilt(odds, times, last - 0.5)
    chance = odds * tilt / (1 + odds * tilt)
    spread = math.sqrt(float((times * chance * (1 - chance)).sum()))
    # Within three and a half deviations a chance is not below 1e-3 of the largest one.
    first = max(1, last - int(3.5 * spread))
    points = 2 * int(12 * spread) + 64
    turn = np.expm1(2j * np.pi * np.arange(points // 2 + 1) / points)
    logs = np.zeros(len(turn), dtype=np.complex128)
    with np.errstate(divide="ignore", invalid="ignore"):  # a fair coin at half a turn: log 0
        for p, t in zip(chance, times, strict=True):
            if t:
                logs += t * np.log1p(p * turn)
        law = np.exp(logs)
    law[~np.isfinite(law)] = 0
    mass = np.fft.irfft(np.conj(law), points)[np.arange(first - 1, last + 1) % points]
    return np.arange(first, last + 1), np.maximum(mass[1:], 0) / mass[:-1] / tilt


def _tilt(odds: FloatArray, times: FloatArray, mean: float) -> float:
    """The x for which odds times x give the sum this mean."""

    def excess(log_tilt: float) -> float:
        scaled = odds * math.exp(log_tilt)
        return float((times * (scaled / (1 + scaled))).sum()) - mean

    logs = np.log(odds)
    reach = 4 + math.log(float(times.sum())) + math.log(2)
    low, high = float(-logs.max() - reach), float(-logs.min() + reach)
    return math.exp(root_between(excess, low, high, nearness=1e-12))
