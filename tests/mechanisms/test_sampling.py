"""The sampler: exactly the integers of the matrix, however records are cut into batches."""

from __future__ import annotations

import gc
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.base.randomness import CHUNK, Keystream
from pramana.base.rounding import TOTAL
from pramana.errors import InvalidMatrix, OutsideDomain
from pramana.mechanisms import sampler as sampling
from pramana.mechanisms.sampler import BLOCK, alias_cells, randomise, sample, sample_by_stratum
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Dense, UniformMixture

SEEDED = Keystream.from_seed(31)


weights_of_a_row = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.integers(0, TOTAL), min_size=n - 1, max_size=n - 1).map(
        lambda cuts: [
            b - a for a, b in zip([0, *sorted(cuts)], [*sorted(cuts), TOTAL], strict=True)
        ]
    )
)


@given(weights_of_a_row, st.integers(0, 2))
def test_alias_cells_hold_exactly_the_weights(weights, extra_bits):
    """The law of the alias table, in integers: value i gets weights[i] of the 2**64 words."""
    bits = (len(weights) - 1).bit_length() + extra_bits
    thresholds, aliases = alias_cells(weights, bits)

    assert _induced(thresholds, aliases, bits)[: len(weights)] == weights
    assert sum(_induced(thresholds, aliases, bits)) == TOTAL
    assert all(0 <= threshold < TOTAL >> bits for threshold in thresholds) or bits == 0


def test_alias_cells_by_hand():
    """Weights 5/8, 2/8, 1/8 in four quarters: the small ones are filled up by the large one."""
    eighth = TOTAL // 8
    thresholds, aliases = alias_cells([5 * eighth, 2 * eighth, eighth], 2)

    assert thresholds == [0, 0, eighth, 0]
    assert aliases == [0, 1, 0, 0]


@pytest.mark.parametrize("weights", [[TOTAL], [0, TOTAL, 0], [TOTAL // 2, 0, 0, TOTAL // 2]])
def test_certain_and_impossible_values(weights):
    """A weight of 2**64 takes all words, a weight of 0 none."""
    bits = max(1, (len(weights) - 1).bit_length())
    induced = _induced(*alias_cells(weights, bits), bits)

    assert induced[: len(weights)] == weights
    assert not any(induced[len(weights) :])


@given(st.integers(2, 300), st.fractions(0, 1), st.lists(st.integers(0, TOTAL - 1), min_size=1))
def test_a_mixture_divides_the_word(size, retention, words):
    """Python's integers are the judge, over all 64-bit words and at the edges of the cells."""
    matrix = UniformMixture.of(tuple(range(size)), retention=retention)
    edges = [k * matrix.other + d for k in (0, 1, size // 2, size) for d in (-1, 0, 1)]
    words = [word for word in words + edges if 0 <= word < TOTAL]
    truth = np.full(len(words), size - 1, dtype=np.uint16)

    drawn = sample(matrix, truth, np.array(words, dtype=np.uint64))

    def rule(word):
        return word // matrix.other if word < size * matrix.other else size - 1

    assert drawn.tolist() == [rule(word) for word in words]


@pytest.mark.parametrize("matrix", [
    UniformMixture.of((0, 1, 2), retention=0.4),
    UniformMixture((0, 1), TOTAL // 2),
    UniformMixture((0, 1), 0),
    Dense.of((0, 1, 2), [[0.5, 0.25, 0.25], [0, 1, 0], [0.1, 0.2, 0.7]]),
    Dense.of(("only",), [[1]]),
    SparseRows.of((0, 1, 2, 3), rows=[0, 0, 2], columns=[1, 3, 0], probabilities=[0.3, 0.1, 0.25]),
    SparseRows.from_moves((0, 1, 2), rows=[0, 0], columns=[1, 2], moves=[2**63, 2**63]),
], ids=lambda matrix: f"{matrix.family}-{matrix.size}")  # fmt: skip
def test_the_words_of_each_release_number_exactly_its_weight(matrix):
    """Where a release begins and ends is searched for over all 2**64 words, and counted."""
    weights = matrix.weights
    for truth in range(matrix.size):
        found = _count_all_words(matrix, truth)
        assert [found[released] for released in range(matrix.size)] == weights[truth].tolist()
        for released in range(matrix.size):
            share = Fraction(found[released], TOTAL)
            assert share == matrix.probability(matrix.labels[truth], matrix.labels[released])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_many_draws_equal_the_rule_one_by_one(dtype):
    """Second road: the alias tables and the division in Python's integers, for every truth."""
    rng = np.random.default_rng(1)
    for matrix in _some_matrices(rng):
        codes = rng.integers(0, matrix.size, 2 * BLOCK + 77).astype(dtype)
        words = SEEDED.words("rule", 0, len(codes))
        drawn = sample(matrix, codes, words)

        assert drawn.dtype == dtype
        some = rng.choice(len(codes), 3000)
        rule = _rule(matrix)
        expected = [rule(int(codes[i]), int(words[i])) for i in some]
        assert drawn[some].tolist() == expected


def test_threads_draw_into_buffers_of_their_own():
    """Four threads at once draw what one draws."""
    matrix = _some_matrices(np.random.default_rng(1))[2]
    codes = np.random.default_rng(2).integers(0, 50, 400_000).astype(np.uint8)
    whole = randomise(matrix, codes, keystream=SEEDED, stream="t")

    def part(start):
        own = codes[start : start + 10_000]
        return randomise(matrix, own, keystream=SEEDED, stream="t", start=start)

    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(part, range(0, len(codes), 10_000)))
    assert (np.concatenate(parts) == whole).all()


def test_chunks_and_batches_never_change_a_draw():
    """Whole, in halves, or record by record: each record draws by the word of its own."""
    matrix = Dense.of((0, 1, 2), [[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]])
    codes = np.random.default_rng(2).integers(0, 3, 2 * CHUNK + 77).astype(np.uint8)
    whole = randomise(matrix, codes, keystream=SEEDED, stream="c")

    for cuts in ([0, CHUNK + 1, len(codes)], [0, 1, 2, 3, 4, len(codes)]):
        parts = [
            randomise(matrix, codes[a:b], keystream=SEEDED, stream="c", start=a)
            for a, b in pairwise(cuts)
        ]
        assert (np.concatenate(parts) == whole).all()
    words = SEEDED.words("c", 0, len(codes))
    assert (sample(matrix, codes, words) == whole).all()


def test_each_stratum_draws_from_its_own_matrix():
    """The result for a record is that of its stratum's matrix and its own word."""
    rng = np.random.default_rng(3)
    matrices = [UniformMixture.of((0, 1, 2), retention=r) for r in (0.1, 0.5, 0.9)]
    strata, codes = rng.integers(0, 3, 5000), rng.integers(0, 3, 5000).astype(np.uint8)
    words = SEEDED.words("strata", 0, 5000)

    drawn = sample_by_stratum(matrices, strata, codes, words)

    each = np.stack([sample(matrix, codes, words) for matrix in matrices])
    assert (drawn == each[strata, np.arange(5000)]).all()
    assert not (drawn == each[0]).all()


def test_a_stratum_without_a_matrix_is_refused():
    """Rather than drawn from another's."""
    matrix = UniformMixture.of((0, 1), retention=0.5)
    with pytest.raises(InvalidMatrix, match="1 are given"):
        sample_by_stratum([matrix], np.array([0, 1]), np.zeros(2, np.uint8), np.zeros(2, np.uint64))


def test_codes_outside_the_domain_are_refused():
    """With their number, and never read beyond the table."""
    matrix = Dense.of((0, 1), [[0.5, 0.5], [0.5, 0.5]])
    words = np.zeros(3, np.uint64)
    with pytest.raises(OutsideDomain, match="2 codes lie outside the 2 values"):
        sample(matrix, np.array([0, 2, 200], np.uint8), words)
    with pytest.raises(InvalidMatrix, match="3 codes need"):
        sample(matrix, np.zeros(3, np.uint8), words[:2])
    with pytest.raises(OutsideDomain, match="uint8 cannot hold 300"):
        sample(UniformMixture(tuple(range(300)), 1), np.zeros(3, np.uint8), words)


def test_prepared_tables_live_as_long_as_their_matrix():
    """One preparation a matrix, none kept after it."""
    matrix = Dense.of((0, 1), [[0.5, 0.5], [0.25, 0.75]])
    gc.collect()  # what other tests left to be thrown away
    before = len(sampling._PREPARED)
    for _ in range(3):
        sample(matrix, np.zeros(3, np.uint8), np.zeros(3, np.uint64))
    assert len(sampling._PREPARED) == before + 1
    del matrix
    gc.collect()
    assert len(sampling._PREPARED) == before


def _induced(thresholds, aliases, bits):
    """How many words give each value, counted cell by cell."""
    words = [0] * 2**bits
    for cell, (threshold, alias) in enumerate(zip(thresholds, aliases, strict=True)):
        words[cell] += threshold
        words[alias] += (TOTAL >> bits) - threshold
    return words


def _count_all_words(matrix, truth):
    """Count 2**64 words by bisection for the places where the drawn value changes.

    Within a range whose ends agree the value could change and change back; the ranges are cut at
    all multiples of 2**58 and of the weight of a mixture first, and no cell of these small
    matrices holds more than one change between such cuts.
    """
    other = getattr(matrix, "other", 0)
    cuts = {k << 58 for k in range(64)} | {k * other for k in range(matrix.size + 1)} | {0}
    starts = sorted(cut for cut in cuts if cut < TOTAL)
    found = Counter()
    for low, high in zip(starts, [*starts[1:], TOTAL], strict=True):
        first, last = _draw(matrix, truth, low), _draw(matrix, truth, high - 1)
        inside = low
        if first != last:
            a, b = low, high - 1  # draws first at a, something else at b
            while b - a > 1:
                middle = (a + b) // 2
                a, b = (middle, b) if _draw(matrix, truth, middle) == first else (a, middle)
            inside = b
            found[first] += b - low
        found[last] += high - inside
    return found


def _draw(matrix, truth, word):
    return int(sample(matrix, np.array([truth], np.uint8), np.array([word], np.uint64))[0])


def _rule(matrix):
    """The draw of one record in Python's integers: by division, or cell, threshold and alias."""
    if isinstance(matrix, UniformMixture):
        limit = matrix.size * matrix.other
        return lambda code, word: word // matrix.other if word < limit else code
    rows = {}
    for row in range(matrix.size):
        weights, values = matrix.weights[row].tolist(), list(range(matrix.size))
        bits = max(1, (matrix.size - 1).bit_length())
        if isinstance(matrix, SparseRows):
            span = slice(matrix.starts[row], matrix.starts[row + 1])
            weights = [*matrix.moves[span].tolist(), matrix.kept[row]]
            values = [*matrix.targets[span].tolist(), row]
            bits = (len(values) - 1).bit_length()
        values += [None] * (2**bits - len(values))
        rows[row] = bits, values, *alias_cells(weights, bits)

    def rule(code, word):
        bits, values, thresholds, aliases = rows[code]
        cell, rest = divmod(word, TOTAL >> bits)
        return values[cell if rest < thresholds[cell] else aliases[cell]]

    return rule


def _some_matrices(rng):
    dense = rng.random((50, 50))
    dense[3] = np.eye(50)[7]
    return [
        UniformMixture.of(tuple(range(200)), retention=0.2),
        UniformMixture((0, 1), TOTAL // 2),
        Dense.of(tuple(range(50)), dense / dense.sum(axis=1, keepdims=True)),
        SparseRows.of(
            tuple(range(200)),
            rows=np.repeat([0, 5, 9, 17], [1, 2, 3, 40]),
            columns=[1, 6, 7, 10, 11, 12, *range(20, 60)],
            probabilities=[0.5, 0.25, 0.125, *[0.3] * 3, *[0.02] * 40],
        ),
    ]
