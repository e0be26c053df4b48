"""The keystream: addressed words, exact integers, uniform permutations, a key that stays inside."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pramana.base.randomness import CHUNK, Keystream, Stream, _product, order_of_words
from pramana.errors import InvalidNumber

LEVEL = 1e-6
"""Each statistical test here fails a correct implementation with at most this probability."""

SEEDED = Keystream.from_seed(20)


def test_words_are_blocks_of_aes_over_the_counter():
    """Second road: encrypting the block numbers one by one gives the same words."""
    stream = Keystream.from_seed(5)
    key = HKDFExpand(hashes.SHA256(), 32, b"pramana stream age").derive(stream.export()[1:])
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305 - as the judge
    blocks = b"".join(block.update(number.to_bytes(16, "big")) for number in range(4))

    assert stream.words("age", 0, 8).tolist() == np.frombuffer(blocks, "<u8").tolist()


@given(st.integers(0, 5000), st.integers(0, 300))
def test_a_word_depends_on_its_address_alone(start, count):
    """Any range of a stream equals the same range of a longer one."""
    whole = SEEDED.words("law", 0, 5300)

    assert (SEEDED.words("law", start, count) == whole[start : start + count]).all()


def test_long_ranges_and_reused_buffers_change_nothing():
    """Ranges beyond one chunk, odd starts and a buffer that held other words give equal words."""
    whole = SEEDED.words("long", 0, 3 * CHUNK + 5)
    buffer = np.full(CHUNK + 3, 7, dtype=np.uint64)

    for start in (0, 1, CHUNK - 1, 2 * CHUNK + 1):
        assert SEEDED.words("long", start, CHUNK + 3, buffer) is buffer
        assert (buffer == whole[start : start + CHUNK + 3]).all()


def test_far_positions_can_be_addressed():
    """A position beyond 2**40 is as near as any."""
    assert (SEEDED.words("far", 2**40, 4)[1:] == SEEDED.words("far", 2**40 + 1, 3)).all()


def test_threads_draw_the_same_words():
    """Eight threads at once see what one sees."""
    whole = SEEDED.words("threads", 0, 80_000)
    with ThreadPoolExecutor(8) as pool:
        parts = pool.map(lambda i: SEEDED.words("threads", i * 10_000, 10_000), range(8))

    assert (np.concatenate(list(parts)) == whole).all()


def test_streams_and_keys_differ():
    """Another stream, another seed and another system key give other words."""
    draws = [
        SEEDED.words("a", 0, 4),
        SEEDED.words("b", 0, 4),
        Keystream.from_seed(21).words("a", 0, 4),
        Keystream.from_system().words("a", 0, 4),
        Keystream.from_system().words("a", 0, 4),
    ]

    assert len({tuple(draw.tolist()) for draw in draws}) == 5


def test_bits_are_balanced():
    """Each of the 64 bits is set in half of the words: 64 two-sided tests, Bonferroni at 1e-6."""
    words = SEEDED.words("bits", 0, 1_000_000)
    for bit in range(64):
        ones = int(((words >> np.uint64(bit)) & np.uint64(1)).sum())
        assert stats.binomtest(ones, len(words)).pvalue > LEVEL / 64


def test_seeded_streams_say_so():
    """Only a key of the operating system may be published with."""
    assert SEEDED.reproducible
    assert not Keystream.from_system().reproducible
    assert Keystream.from_export(SEEDED.export()).reproducible


def test_the_key_leaves_only_on_purpose():
    """It is in no repr, no pickle, no copy; export hands it over."""
    key = SEEDED.export()[1:]
    assert key.hex() not in repr(SEEDED)
    assert repr(key)[2:-1] not in repr(SEEDED)
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="export"):
            leak(SEEDED)
    assert not hasattr(SEEDED, "__dict__")

    worker = Keystream.from_export(SEEDED.export())
    assert (worker.words("x", 3, 5) == SEEDED.words("x", 3, 5)).all()


def test_a_key_of_the_wrong_length_is_refused():
    """So is a buffer that does not fit."""
    with pytest.raises(InvalidNumber, match="32 bytes"):
        Keystream(b"short", reproducible=True)
    with pytest.raises(InvalidNumber, match="contiguous array of 3"):
        SEEDED.words("x", 0, 3, np.empty(4, dtype=np.uint64))


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_products_have_128_bits(left, right):
    """Python's integers are the judge."""
    high, low = _product(np.array([left], np.uint64), np.array([right], np.uint64))

    assert (int(high[0]) << 64) + int(low[0]) == left * right


def test_integers_are_the_upper_half_of_the_product():
    """Worked by hand: word * bound // 2**64, where the lower half does not reject."""
    words = SEEDED.words("by hand", 0, 1000).tolist()

    drawn = SEEDED.integers("by hand", 0, 6, count=1000)

    assert drawn.tolist() == [word * 6 >> 64 for word in words]


def test_rejected_words_are_drawn_again_at_the_same_place():
    """With a bound near 2**64 * 2/3 a third is rejected; chunks still change nothing."""
    bound = 2**64 // 3 * 2
    whole = SEEDED.integers("rejecting", 0, bound, count=2000)
    parts = [SEEDED.integers("rejecting", start, bound, count=1) for start in range(500, 600)]
    first = SEEDED.words("rejecting", 0, 2000).tolist()
    rejected = sum(word * bound % 2**64 < 2**64 % bound for word in first)

    assert rejected > 500
    assert np.concatenate(parts).tolist() == whole[500:600].tolist()
    assert int(whole.max()) < bound


@pytest.mark.parametrize("bits", [3, 4, 5])
def test_the_rule_of_rejection_leaves_no_bias(bits):
    """Second road: the same rule over all words of few bits gives each integer as many words."""
    total = 2**bits
    for bound in range(1, total + 1):
        kept = [w * bound // total for w in range(total) if w * bound % total >= total % bound]
        assert set(Counter(kept).values()) == {total // bound}
        assert len(set(kept)) == bound


def test_integers_of_many_bounds_are_uniform():
    """Chi-square at 1e-6 for bound 7, within bounds given one by one."""
    bounds = np.tile(np.array([7, 1, 2**63 + 5], dtype=np.uint64), 100_000)
    drawn = SEEDED.integers("mixed", 11, bounds)

    assert (drawn < bounds).all()
    assert not drawn[1::3].any()
    assert stats.chisquare(np.bincount(drawn[::3].astype(int))).pvalue > LEVEL


@pytest.mark.parametrize("bounds", [0, -1, 2.5, [3, 0]])
def test_bounds_must_be_positive_integers(bounds):
    """An empty range holds no integer."""
    with pytest.raises(InvalidNumber, match="at or above 1"):
        SEEDED.integers("x", 0, bounds)


def test_uniforms_lie_in_the_unit_interval():
    """Kolmogorov-Smirnov at 1e-6, and 53 bits of each word."""
    numbers = SEEDED.uniforms("u", 0, 200_000)
    words = SEEDED.words("u", 0, 3).tolist()

    assert [Fraction(x) for x in numbers[:3].tolist()] == [Fraction(w >> 11, 2**53) for w in words]
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert stats.kstest(numbers, "uniform").pvalue > LEVEL


def test_normals_are_normal():
    """Kolmogorov-Smirnov at 1e-6; the same test rejects a scale that is 2 % off."""
    numbers = SEEDED.normals("n", 5, 200_000)

    assert stats.kstest(numbers, "norm").pvalue > LEVEL
    assert stats.kstest(numbers * 1.02, "norm").pvalue < LEVEL
    assert (SEEDED.normals("n", 105, 10) == numbers[100:110]).all()


def test_a_permutation_orders_by_words():
    """Second road: Python's sort of the words; every number occurs once."""
    words = SEEDED.words("order", 0, 1000).tolist()

    assert SEEDED.permutation(1000, "order").tolist() == sorted(range(1000), key=words.__getitem__)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_short_permutations(n):
    """The limit cases have all numbers too."""
    assert sorted(SEEDED.permutation(n, "short").tolist()) == list(range(n))


def test_all_orders_of_four_are_equally_likely():
    """Chi-square over the 24 orders at 1e-6; without a last swap it rejects."""
    orders = [tuple(SEEDED.permutation(4, f"four {i}").tolist()) for i in range(12_000)]

    assert _orders_are_uniform(orders)
    assert not _orders_are_uniform([tuple(sorted(o[:2])) + o[2:] for o in orders])


@pytest.mark.parametrize("bits", [0, 1, 2])
@pytest.mark.deep(every=3)
def test_ties_leave_all_orders_equally_likely(bits):
    """Words of 0, 1 or 2 bits tie most of the time: chi-square over 24 orders at 1e-6."""
    orders = []
    for i in range(6000):
        words = SEEDED.words(f"tied {bits} {i}", 0, 4) >> np.uint64(63) >> np.uint64(1)
        if bits:
            words = SEEDED.words(f"tied {bits} {i}", 0, 4) >> np.uint64(64 - bits)
        order = order_of_words(words, keystream=SEEDED, stream=f"tied {bits} {i}")
        orders.append(tuple(order.tolist()))

    assert _orders_are_uniform(orders)


@given(st.integers(0, 2**32), st.integers(1, 10), st.integers(1, 3))
def test_ordering_by_ranges_equals_ordering_at_once(seed, bits, range_bits):
    """Words with many ties, cut into ranges by their leading bits, come in the same order."""
    words = (np.random.default_rng(seed).integers(0, 2**bits, 60) << (64 - bits)).astype(np.uint64)
    whole = order_of_words(words, keystream=SEEDED, stream="ranges")

    parts: list[int] = []
    for value in range(2**range_bits):
        own = np.flatnonzero(words >> np.uint64(64 - range_bits) == value)
        order = order_of_words(
            words[own],
            keystream=SEEDED,
            stream="ranges",
            first_rank=len(parts),
            shared_bits=range_bits,
        )
        parts += own[order].tolist()

    assert parts == whole.tolist()


def test_words_alike_in_their_leading_bits_are_told_apart_by_the_others():
    """Only the lowest bits differ, where the index stands while sorting."""
    words = np.array([5, 3, 4, 1, 0, 2], dtype=np.uint64)

    order = order_of_words(words, keystream=SEEDED, stream="low")

    assert order.tolist() == [4, 3, 5, 1, 2, 0]


def _orders_are_uniform(orders):
    counts = Counter(orders)
    observed = [counts[order] for order in itertools.permutations(range(4))]
    return stats.chisquare(observed, np.full(24, len(orders) / 24), sum_check=False).pvalue > LEVEL


parts = st.recursive(
    st.none() | st.integers() | st.text(max_size=8) | st.sampled_from(["a", "b", "a x b", "1", ""]),
    lambda inner: st.lists(inner, max_size=3).map(lambda own: Stream(*own)),
    max_leaves=5,
)
addresses = st.lists(parts, max_size=4).map(tuple)


def told(part):
    """A part with its type, so that 1 and "1" and the stream of "1" are three things."""
    return ("s", *map(told, part._parts)) if isinstance(part, Stream) else (type(part), part)


@given(addresses, addresses)
def test_distinct_addresses_never_share_a_spelling(one, other):
    """Lists of parts are equal exactly if their spellings are."""
    same = tuple(map(told, one)) == tuple(map(told, other))

    assert (Stream(*one).spelling == Stream(*other).spelling) == same
    assert (Stream(*one) == Stream(*other)) == same


@pytest.mark.parametrize(
    "address",
    [
        ("a x b",), ("ab",), ("a", "b", ""), ("", "a", "b"), ("b", "a"), (Stream("a"), "b"),
        (Stream("a", "b"),), ("a", Stream("b")), ("a", None, "b"), ("a", 1), ("a", "1"),
    ],
)  # fmt: skip
def test_addresses_that_look_alike_share_no_words(address):
    """Two columns together, one with a cross in its name, texts and numbers: words of their own."""
    words = SEEDED.words(Stream("a", "b"), 0, 64)

    assert not np.isin(SEEDED.words(Stream(*address), 0, 64), words).any()
    assert not np.isin(SEEDED.words(str(Stream("a", "b").spelling, "latin-1"), 0, 64), words).any()


def test_only_texts_numbers_and_streams_are_parts_of_an_address():
    """Anything else has no spelling of its own."""
    for part in (1.0, True, b"a", ("a",)):
        with pytest.raises(TypeError, match="part of an address"):
            Stream(part)
