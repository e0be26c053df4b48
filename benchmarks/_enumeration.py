"""The true delta of a shuffled release of a few records, by looking at every table.

Channels are drawn with probabilities in 64ths, or in 16ths where two of them are combined, so that
up to six records stay exact in integers.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from pramana.guarantees.shuffled_bound import BlanketLaw
from pramana.guarantees.shuffled_privacy import laws_of
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Dense, UniformMixture

SINGLE, COMBINED = 64, 16
"""The probability one in whole parts: of a channel, and of each of two that are combined."""


@dataclass(frozen=True)
class World:
    """A channel over a few values: what it is, rows in whole parts, the laws that bound it.

    ``others`` are the rows of further strata, each of one record more.
    """

    kind: str
    rows: np.ndarray
    laws: list[list[BlanketLaw]]
    others: tuple[np.ndarray, ...] = ()

    @property
    def most_people(self) -> int:
        """How many records can be looked at in a moment, and in 64 bits."""
        return {2: 6, 3: 6, 4: 5, 5: 4}.get(self.rows.shape[1], 3) - len(self.others)

    def true_delta(self, people: int, factor: Fraction) -> Fraction:
        """The largest delta over all tables and neighbours, ``people`` in the smallest stratum.

        A stratum is released unchanged. Neighbours differ inside one, and what the others release
        is drawn alike and apart from it: it multiplies both probabilities and sums to one.
        """
        found = [true_delta(self.rows, people, factor)]
        for more, rows in enumerate(self.others, start=1):
            found.append(true_delta(rows, people + more, factor))
        return max(found)


def true_delta(rows: np.ndarray, people: int, factor: Fraction) -> Fraction:
    """The largest delta at e^epsilon = ``factor``, over all tables and all their neighbours.

    What the shuffle leaves is how often each value was released. The number of times is a digit
    of a polynomial: one axis a value, all but the last.
    """
    values = rows.shape[1]
    worst = Fraction(0)
    truths = range(len(rows))
    for others in itertools.combinations_with_replacement(truths, people - 1):
        anonymity_set = np.zeros((people + 1,) * (values - 1), dtype=np.int64)
        anonymity_set[(0,) * (values - 1)] = 1
        for truth in others:
            anonymity_set = _with(anonymity_set, rows[truth])
        seen = [_with(anonymity_set, row) for row in rows]
        for own, other in itertools.permutations(truths, 2):
            gap = seen[own] * factor.denominator - seen[other] * factor.numerator
            worst = max(worst, Fraction(int(gap[gap > 0].sum()), factor.denominator))
    return worst / int(rows[0].sum()) ** people


def _with(anonymity_set: np.ndarray, row: np.ndarray) -> np.ndarray:
    """One more record: every value with its weight."""
    total = int(row[-1]) * anonymity_set
    for axis, weight in enumerate(row[:-1].tolist()):
        total += weight * np.roll(
            anonymity_set, 1, axis=axis
        )  # the last place is empty until the end
    return total


# -- channels ------------------------------------------------------------------------------------


def worlds(seed: int):
    """Random channels without end: dense, mixtures, products, reports, strata in turn."""
    random = np.random.default_rng(seed)
    makers = (_dense, _mixture, _product, _reports, _lopsided_product, _strata)
    for make in itertools.cycle(makers):
        yield make(random)


def random_rows(random, size: int, parts: int = SINGLE) -> np.ndarray:
    """Rows of whole parts without a zero, from nearly flat to nearly the identity."""
    sharp = random.uniform(0, 3)
    weights = np.exp(random.normal(size=(size, size)) * sharp + sharp * np.eye(size))
    rows = np.maximum(1, np.floor(parts * weights / weights.sum(axis=1, keepdims=True)))
    rows = rows.astype(np.int64)
    while (over := rows.sum(axis=1) - parts).any():
        rows[np.arange(size), rows.argmax(axis=1)] -= over
    return rows


def random_mixture(random, size: int, parts: int = SINGLE) -> np.ndarray:
    """A uniform mixture in whole parts."""
    other = int(random.integers(1, parts // size + 1))
    return np.full((size, size), other) + (parts - size * other) * np.eye(size, dtype=np.int64)


def step_of(name: str, rows: np.ndarray) -> Step:
    """The rows as a step of a mechanism: a uniform mixture is recognised."""
    labels, other = tuple(range(len(rows))), int(rows[0, 1])
    if len(set(rows[~np.eye(len(rows), dtype=bool)])) == 1 and other <= rows[0, 0]:
        return Step((name,), UniformMixture(labels, _weights(rows)[0][1]))
    return Step((name,), Dense(labels, _weights(rows)))


def _weights(rows: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """The rows over 2**64."""
    scale = 2**64 // int(rows[0].sum())
    return tuple(tuple(scale * int(part) for part in row) for row in rows)


def _dense(random) -> World:
    rows = random_rows(random, int(random.integers(2, 5)))
    return World("dense", rows, laws_of(Mechanism((step_of("a", rows),))))


def _mixture(random) -> World:
    rows = random_mixture(random, int(random.integers(2, 5)))
    return World("mixture", rows, laws_of(Mechanism((step_of("a", rows),))))


def _strata(random) -> World:
    """One matrix a stratum, mixtures and others."""
    size = int(random.integers(2, 4))
    make = random_rows if random.random() < 0.5 else random_mixture
    parts = [make(random, size) for _ in range(2)]
    matrices = {(number,): step_of("a", rows).matrices[0] for number, rows in enumerate(parts)}
    laws = laws_of(Mechanism((Step(("a",), strata=("s",), by_stratum=matrices),)))
    return World("strata", parts[0], laws, (parts[1],))


def _two(kind: str, first: np.ndarray, second: np.ndarray) -> World:
    laws = laws_of(Mechanism((step_of("a", first), step_of("b", second))))
    return World(kind, np.kron(first, second), laws)


def _product(random) -> World:
    sizes = (2, int(random.integers(2, 4)))
    return _two("product", *(random_mixture(random, size, COMBINED) for size in sizes))


def _lopsided_product(random) -> World:
    first, second = random_rows(random, 2, COMBINED), random_rows(random, 2, COMBINED)
    return _two("product of dense steps", first, second)


def _reports(random) -> World:
    """One of two columns is asked for, by a public coin, and reported through its own channel."""
    first = random_rows(random, 2, COMBINED)
    second = random_mixture(random, int(random.integers(2, 4)), COMBINED)
    heads = int(random.integers(1, COMBINED))
    rows = [
        np.concatenate([heads * one, (COMBINED - heads) * two])
        for one, two in itertools.product(first, second)
    ]
    shares = (heads / COMBINED, 1 - heads / COMBINED)
    columns = [
        [
            *laws_of(Mechanism((step_of("a", part),)))[0],
            *map(partial(_same, part), range(len(part))),
        ]
        for part in (first, second)
    ]
    pairs = (zip(shares, pair, strict=True) for pair in itertools.product(*columns))
    return World(
        "attribute-sampling", np.array(rows), [[BlanketLaw.of_parts(pair) for pair in pairs]]
    )


def _same(rows: np.ndarray, truth: int) -> BlanketLaw:
    """Of a pair that does not differ in this column."""
    weights = _weights(rows)
    return BlanketLaw.of_rows(
        weights[truth], weights[truth], [min(column) for column in zip(*weights, strict=True)]
    )
