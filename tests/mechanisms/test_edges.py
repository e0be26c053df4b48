"""Random numbers at the edges: the first and last word of each value, each judged by integers.

A random test rarely sees the one word in 2**64 that an edge decides. Here the words are chosen.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramana as pm
from pramana.base.randomness import Keystream, Stream
from pramana.base.rounding import TOTAL
from pramana.engine.local import LocalTable
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet
from pramana.mechanisms.randomiser import Reporter
from pramana.mechanisms.sampler import with_noise
from pramana.mechanisms.transition import UniformMixture
from pramana.schema.codec import decode

SEEDED = Keystream.from_seed(3)
VALUES = {"a": ("x", "y"), "b": ("p", "q", "r")}


# -- integers below a bound ------------------------------------------------------------------------


class _Told(Keystream):
    """A keystream whose first attempt takes these words, as one in 2**64 might."""

    def __init__(self, first: np.ndarray) -> None:
        super().__init__(bytes(32), reproducible=True)
        self.first = first

    def words(self, stream, start, count, out=None):
        if isinstance(stream, str):
            return self.first[start : start + count]
        return super().words(stream, start, count, out)


@given(st.integers(1, 2**63 - 1).map(lambda half: 2 * half + 1))
def test_a_word_is_drawn_again_exactly_if_it_is_one_too_many(bound):
    """Of the words by the lower half of word * bound: those below 2**64 mod bound, and no other.

    An odd bound has exactly one word for each lower half. One that is wrongly kept, or wrongly
    drawn again, gives some integers more words than others.
    """
    excess, inverse = TOTAL % bound, pow(bound, -1, TOTAL)
    lows = sorted({0, max(excess - 1, 0), excess, min(excess + 1, TOTAL - 1), TOTAL - 1})
    keystream = _Told(np.array([low * inverse % TOTAL for low in lows], dtype=np.uint64))
    drawn = keystream.integers("edge", 0, bound, count=len(lows)).tolist()
    assert drawn == [_judged(keystream, place, bound) for place in range(len(lows))]


def _judged(keystream: Keystream, place: int, bound: int) -> int:
    """The first word that is not one too many, times the bound, over 2**64."""
    for attempt in itertools.count():
        stream = Stream("edge", "attempt", attempt) if attempt else "edge"
        product = int(keystream.words(stream, place, 1)[0]) * bound
        if product % TOTAL >= TOTAL % bound:
            return product // TOTAL
    raise AssertionError


@pytest.mark.parametrize("edges", [(0, 3, 7), (-5, -1, 0, 10), (0.5, 3.5, 9)])
def test_whole_numbers_inside_a_bin_are_equally_likely_up_to_both_ends(edges):
    """Evenly spaced words give each number of a bin as often; the last bin is closed."""
    bins = pm.Bins(edges, release="draw", integers=True)
    column = pm.Column("age", pm.Role.KEY, bins, missing="refuse")
    for number, (low, high) in enumerate(itertools.pairwise(edges)):
        last = number == len(edges) - 2
        inside = [
            value for value in range(-9, 20) if low <= value < high or (last and value == high)
        ]
        steps = 16 * len(inside)
        words = np.array([TOTAL * at // steps + 2**12 for at in range(steps)], dtype=np.uint64)
        codes = np.full(steps, number, dtype=np.uint8)
        drawn = decode(column, codes, words).to_pylist()
        assert Counter(drawn) == dict.fromkeys(inside, 16)


# -- reports of attribute sets ---------------------------------------------------------------------


def _reporter(sets: tuple[AttributeSet, ...]) -> Reporter:
    schema = pm.Schema(
        tuple(
            pm.Column(name, pm.Role.KEY, pm.Categories(labels), missing="refuse")
            for name, labels in VALUES.items()
        )
    )
    types = pa.schema([(name, pa.string()) for name in VALUES])
    return Reporter(schema, AttributeSampler(sets), types, SEEDED)


def _sets(gamma: float) -> tuple[AttributeSet, ...]:
    """Both columns alone and together, at the same gamma."""
    chosen = [("a",), ("b",), ("a", "b")]
    weights = [TOTAL // 4, TOTAL // 4, TOTAL // 2]
    made = []
    for columns, weight in zip(chosen, weights, strict=True):
        cells = tuple(itertools.product(*(VALUES[name] for name in columns)))
        labels = cells if len(columns) > 1 else tuple(cell[0] for cell in cells)
        made.append(AttributeSet(columns, weight, UniformMixture.of(labels, gamma=gamma)))
    return tuple(made)


@pytest.mark.parametrize("gamma", [1.5, 3.0, 40.0])
def test_reports_change_at_the_very_word_at_which_the_matrix_says(gamma):
    """Out of 2**64 words each other cell gets ``other``, and the true one all that are left."""
    reporter = _reporter(_sets(gamma))
    start = 0
    for number, asked in enumerate(reporter.mechanism.sets):
        other, size = asked.matrix.other, asked.matrix.size
        edges = [cell * other + step for cell in range(size + 1) for step in (-1, 0, 1)]
        words = [word for word in (*edges, TOTAL - 1) if 0 <= word < TOTAL]
        for values in itertools.product(*(range(len(labels)) for labels in VALUES.values())):
            truth = np.zeros((len(VALUES) + 1, len(words)), dtype=np.uint8)
            truth[: len(VALUES)] = np.array(values)[:, None]
            reports = np.empty(len(words), dtype=np.uint16)
            reporter._wholes.draw(
                np.full(len(words), number), np.array(words, dtype=np.uint64), truth, reports
            )
            true = 0
            for name, value in zip(VALUES, values, strict=True):
                if name in asked.columns:
                    true = true * len(VALUES[name]) + value
            expected = [word // other if word // other < size else true for word in words]
            assert (reports - start).tolist() == expected
        start += size


@given(st.lists(st.integers(1, 2**40), min_size=1, max_size=5))
def test_sets_change_at_the_very_word_at_which_their_shares_do(small):
    """Each set is asked for by exactly as many words as its weight says."""
    weights = [*small, TOTAL - sum(small)]
    reporter = _reporter(_sets(3.0))
    turns = type(reporter._turns).of(weights)
    ends = list(itertools.accumulate(weights))
    words = [end + step for end in ends for step in (-1, 0, 1) if 0 <= end + step < TOTAL]
    expected = [next(at for at, end in enumerate(ends) if word < end) for word in words]
    assert turns.asked(np.array(words, dtype=np.uint64)).tolist() == expected


# -- noise -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["laplace", "normal", "uniform"])
@pytest.mark.parametrize(("scale", "whole"), [(3.0, True), (0.37, False), (250.0, False)])
def test_noise_is_rounded_to_the_nearest_grain(law, scale, whole):
    """Rounded down, every total would be too low by half a grain a record.

    The noise is recomputed from the keystream: no sum may be further than half a grain from what
    is released, and as many lie above it as below.
    """
    records = 4_000
    noise = pm.Noise(law, scale)
    column = pm.Column("pay", pm.Role.SENSITIVE, recoding=pm.Recoding(noise=noise))
    true = np.arange(records) if whole else np.arange(records) / 7
    table = LocalTable.of(pa.table({"pay": true}))
    released = with_noise(table, pm.Schema((column,)), SEEDED).to_arrow().column("pay").to_numpy()
    stream = Stream("noise", "pay")
    draws = {
        "laplace": SEEDED.laplaces,
        "normal": SEEDED.normals,
        "uniform": lambda *about: 2 * SEEDED.uniforms(*about) - 1,
    }[law](stream, 0, records)
    grain = noise.grain(whole=whole)
    gap = (released - (true + scale * draws)) / grain
    assert np.abs(gap).max() <= 0.5 + 1e-6
    # Uniform on half a grain either way: 6 standard errors of the mean, a level of 2e-9.
    assert abs(gap.mean()) < 6 / np.sqrt(12 * records)
