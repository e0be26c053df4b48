"""The only door to randomness: 64-bit words of AES in counter mode, by address and position.

A word is a fixed function of (key, address of the stream, position). Whoever needs the word of
record i in the stream of a column asks for exactly that word, so that chunk sizes, threads, batches
and repeated attempts never change a result. The key comes from the operating system; a key that is
derived from a seed is for tests and demonstrations, and ``reproducible`` says so.

An address is a list of typed parts, each written with its length, so that no two lists have one
spelling: the step on the columns ``a`` and ``b`` shares no word with a column called ``a x b``, and
a text that says 1 none with the number 1. Never put an address together as a text.

Everything drawn here is exact, given uniform words: bounded integers reject, permutations order by
words and resolve ties. No draw is "nearly" uniform.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from numpy.typing import ArrayLike, NDArray

from pramana.errors import InvalidNumber
from pramana.types import FloatArray, IntArray, Words

CHUNK: Final = 2**17
"""How many words to ask for at a time: 1 MiB, which stays in the cache."""

GOLDEN_GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)
"""2**64 over the golden ratio, odd: the step of SplitMix64 [Steele14]."""

_FEW: Final = 2**16
"""More words than that are ordered range by range."""

_ZEROS: Final = memoryview(bytes(8 * CHUNK))
_KEY_BYTES: Final = 32


class Stream:
    """The address of a stream of words: what it is for, then of what.

    A stream that belongs to another one has that one as its first part.

    >>> Stream("release", "a", "b") == Stream("release", "a x b")
    False
    >>> Stream(Stream("release", "a"), "ties")
    Stream(Stream('release', 'a'), 'ties')
    """

    __slots__ = ("_parts", "_spelling")

    def __init__(self, *parts: AddressPart) -> None:
        self._parts = parts
        self._spelling = b"".join(map(_spelled, parts))

    @property
    def spelling(self) -> bytes:
        """The bytes of the address; no two addresses have the same."""
        return self._spelling

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._spelling == other._spelling

    def __hash__(self) -> int:
        return hash(self._spelling)

    def __repr__(self) -> str:
        return f"Stream({', '.join(map(repr, self._parts))})"


AddressPart: TypeAlias = "str | int | Stream | None"

Address: TypeAlias = Stream | str
"""A stream, or a bare word for the one stream of a purpose; no word is the address of a stream."""


def _spelled(part: AddressPart) -> bytes:
    """Type, length, content: a list of these can be read back in one way only."""
    match part:
        case None:
            kind, content = b"n", b""
        case Stream():
            kind, content = b"s", part.spelling
        case str():
            kind, content = b"t", part.encode("utf-8", "surrogatepass")
        case int() if not isinstance(part, bool):
            kind, content = b"i", b"%d" % part
        case _:
            raise TypeError(f"A part of an address is a text, a number or a stream, not {part!r}.")
    return kind + len(content).to_bytes(8, "big") + content


class Keystream:
    """Random words by (address of a stream, position).

    >>> stream = Keystream.from_seed(1)
    >>> whole = stream.words("age", 0, 10)
    >>> bool((stream.words("age", 7, 3) == whole[7:]).all())
    True
    >>> stream
    Keystream(reproducible=True)
    """

    __slots__ = ("__key", "__streams", "_reproducible")

    def __init__(self, key: bytes, *, reproducible: bool) -> None:
        if len(key) != _KEY_BYTES:
            raise InvalidNumber(f"A key must have {_KEY_BYTES} bytes, got {len(key)}.")
        self.__key = bytes(key)
        self.__streams: dict[Address, bytes] = {}
        self._reproducible = reproducible

    @classmethod
    def of(cls, seed: int | None) -> Keystream:
        """From a seed, for tests and demonstrations; from the operating system where none is."""
        return cls.from_system() if seed is None else cls.from_seed(seed)

    @classmethod
    def from_system(cls) -> Keystream:
        """A fresh key from the operating system: the only kind for publication."""
        return cls(os.urandom(_KEY_BYTES), reproducible=False)

    @classmethod
    def from_seed(cls, seed: int) -> Keystream:
        """A key that everybody who knows the seed can make again: for tests and demonstrations."""
        return cls(hashlib.sha256(f"pramana seed {int(seed)}".encode()).digest(), reproducible=True)

    @property
    def reproducible(self) -> bool:
        """Whether the key was derived from a seed, so that nothing drawn may be published."""
        return self._reproducible

    def export(self) -> bytes:
        """The key itself, for workers of the same run that draw on another machine.

        Whoever holds these bytes can undo the randomisation. Hand them over in memory only:
        never to a log, a file, a query plan or an environment variable.
        """
        return bytes([self._reproducible]) + self.__key

    @classmethod
    def from_export(cls, exported: bytes) -> Keystream:
        """The same keystream on the side of a worker."""
        return cls(exported[1:], reproducible=bool(exported[0]))

    def apart(self, stream: Address) -> Keystream:
        """A separate keystream: its words are independent of the words of this one."""
        return Keystream(self._stream_key(stream), reproducible=self._reproducible)

    def __repr__(self) -> str:
        return f"Keystream(reproducible={self._reproducible})"

    def __reduce__(self) -> NoReturn:
        # A key must not slip into a pickle, a cache or a job description by accident.
        raise TypeError("A Keystream is not pickled. Hand over export() on purpose instead.")

    # -- words -----------------------------------------------------------------------------

    def words(self, stream: Address, start: int, count: int, out: Words | None = None) -> Words:
        """The words ``start`` to ``start + count`` of a stream, into ``out`` where given.

        A reused ``out`` of at most ``CHUNK`` words is several times faster than a fresh array.
        """
        if out is None:
            out = np.empty(count, dtype=np.uint64)
        if out.dtype != np.uint64 or out.shape != (count,) or not out.flags.c_contiguous:
            raise InvalidNumber(f"out must be a contiguous array of {count} 64-bit words.")
        if count == 0:
            return out
        if start % 2:  # a block holds two words: the second half of the first block
            pair = np.empty(2, dtype=np.uint64)
            self._blocks(stream, start // 2, pair)
            out[0] = pair[1]
            start, rest = start + 1, out[1:]
        else:
            rest = out
        if len(rest):
            self._blocks(stream, start // 2, rest)
        return out

    def _blocks(self, stream: Address, block: int, out: Words) -> None:
        """Fill ``out`` from the beginning of a 16-byte block: the counter is the block's number."""
        counter = modes.CTR(block.to_bytes(16, "big"))
        encryptor = Cipher(algorithms.AES(self._stream_key(stream)), counter).encryptor()
        target = out.data.cast("B")
        for begin in range(0, len(target), len(_ZEROS)):
            part = target[begin : begin + len(_ZEROS)]
            encryptor.update_into(_ZEROS[: len(part)], part)
        if not np.little_endian:
            out.byteswap(inplace=True)

    def _stream_key(self, stream: Address) -> bytes:
        """A separate key for each stream, so that no two streams share a counter."""
        key = self.__streams.get(stream)
        if key is None:
            if isinstance(stream, Stream):
                info = b"pramana address " + stream.spelling
            else:
                info = b"pramana stream " + stream.encode()
            derive = HKDFExpand(algorithm=hashes.SHA256(), length=_KEY_BYTES, info=info)
            key = self.__streams[stream] = derive.derive(self.__key)
        return key

    # -- numbers ---------------------------------------------------------------------------

    def uniforms(self, stream: Address, start: int, count: int) -> FloatArray:
        """Numbers in [0, 1), each a multiple of 2**-53: one word a number."""
        bits = self.words(stream, start, count) >> np.uint64(11)
        return np.ldexp(bits.astype(np.float64), -53)

    def normals(self, stream: Address, start: int, count: int) -> FloatArray:
        """Standard normal numbers: one word a number, by the inverse of the distribution function.

        The upper 52 bits choose a point strictly inside (0, 1/2), the lowest bit the sign: the
        distribution is symmetric to the bit, finite, and ends at 8.2 standard deviations.
        """
        from scipy.special import ndtri

        words = self.words(stream, start, count)
        tail = ((words >> np.uint64(12)) + 0.5) * 2.0**-53
        size: FloatArray = -ndtri(tail)
        np.negative(size, out=size, where=(words & np.uint64(1)).astype(bool))
        return size

    def laplaces(self, stream: Address, start: int, count: int) -> FloatArray:
        """Laplace numbers of mean size one, up to 36.7: one word a number, as for ``normals``."""
        words = self.words(stream, start, count)
        size: FloatArray = -np.log(((words >> np.uint64(12)) + 0.5) * 2.0**-52)
        np.negative(size, out=size, where=(words & np.uint64(1)).astype(bool))
        return size

    def integers(
        self, stream: Address, start: int, bounds: ArrayLike, *, count: int | None = None
    ) -> Words:
        """Integers uniform in [0, bound), without bias: one bound for ``count``, or one each.

        Position i takes word w of the stream: the upper half of the 128-bit product w * bound,
        unless the lower half falls below 2**64 mod bound, where some integers would have one word
        more than others [Lemire19]. Then position i takes its word from the stream of the next
        attempt: the result still depends on the position alone.
        """
        limits = np.asarray(bounds)
        if not np.issubdtype(limits.dtype, np.integer) or (limits.size and limits.min() < 1):
            raise InvalidNumber("Bounds of random integers must be integers at or above 1.")
        limit = limits.astype(np.uint64)
        if limit.ndim == 0:
            limit = np.full(1 if count is None else count, limit)
        result = np.empty(len(limit), dtype=np.uint64)
        for begin in range(0, len(limit), CHUNK):
            part = slice(begin, begin + CHUNK)
            result[part] = self._integers(stream, start + begin, limit[part])
        return result

    def _integers(self, stream: Address, start: int, limit: Words) -> Words:
        result = np.empty(len(limit), dtype=np.uint64)
        excess = -limit % limit  # 2**64 mod limit, in 64-bit arithmetic
        open_ = np.arange(len(limit))
        attempt = 0
        while len(open_):
            name = stream if attempt == 0 else Stream(stream, "attempt", attempt)
            first, last = int(open_[0]), int(open_[-1])
            words = self.words(name, start + first, last - first + 1)[open_ - first]
            high, low = _product(words, limit[open_])
            result[open_] = high
            open_ = open_[low < excess[open_]]
            attempt += 1
        return result

    def permutation(self, n: int, stream: Address) -> IntArray:
        """A uniformly random order of 0 ... n - 1, by :func:`order_of_words`."""
        order = order_of_words(self.words(stream, 0, n), keystream=self, stream=stream)
        return order.astype(np.int64)


def _product(left: Words, right: Words) -> tuple[Words, Words]:
    """Upper and lower half of the 128-bit products, by halves of 32 bits."""
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    a, b, c, d = left >> half, left & mask, right >> half, right & mask
    low = b * d
    middle = a * d + (low >> half)  # below 2**64: (2**32 - 1)**2 + 2**32 - 1
    other = b * c + (middle & mask)
    return a * c + (middle >> half) + (other >> half), left * right


def splitmix64(words: Words) -> Words:
    """The finaliser of SplitMix64, a bijection [Steele14]: for digests, not for random numbers."""
    words = words ^ (words >> np.uint64(30))
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def order_of_words(
    words: Words,
    *,
    keystream: Keystream,
    stream: Address,
    first_rank: int = 0,
    shared_bits: int = 0,
) -> Words:
    """The order that sorts the words: an exactly uniform permutation, ties included.

    Independent words in increasing order, each group of equal ones shuffled by further words,
    make every order equally likely. Ties (expected: n**2 / 2**65 pairs) are shuffled by integers
    that are addressed by the rank, so that the result is the same whether all words are ordered at
    once or range by range: then ``first_rank`` is the number of words in the ranges before, and
    ``shared_bits`` says how many leading bits are the same for all words of this range.
    """
    if len(words) > _FEW and shared_bits < 32:
        return _order_by_range(words, keystream, stream, first_rank, shared_bits)
    # Two halves of the leading bits, the lower one first: sorts of two bytes count instead of
    # comparing, and are stable.
    leading = ((words << np.uint64(shared_bits)) >> np.uint64(32)).astype(np.uint32)
    low, high = leading.astype(np.uint16), (leading >> np.uint32(16)).astype(np.uint16)
    first = np.argsort(low, kind="stable")
    second = np.argsort(high.take(first, mode="clip"), kind="stable")
    places = first.take(second, mode="clip")
    order: Words = places.view(np.uint64)
    for begin, end in _runs(
        leading.take(places, mode="clip")
    ):  # alike in their leading bits: compare whole words
        group = order[begin:end]
        group = group[np.argsort(words[group], kind="stable")]
        for low_end, high_end in _runs(words[group]):
            group[low_end:high_end] = _shuffled(
                group[low_end:high_end], keystream, Stream(stream, "ties"),
                first_rank + begin + low_end,
            )  # fmt: skip
        order[begin:end] = group
    return order


def _order_by_range(
    words: Words, keystream: Keystream, stream: Address, first_rank: int, shared_bits: int
) -> Words:
    """The same of many words: each range by itself, which stays in the cache."""
    bits = min(16, (len(words) // _FEW).bit_length() + 1)
    ranges = ((words << np.uint64(shared_bits)) >> np.uint64(64 - bits)).astype(np.uint16)
    order: Words = np.argsort(ranges, kind="stable").astype(np.uint64)
    begin = 0
    for count in np.bincount(ranges, minlength=2**bits).tolist():
        tied = order[begin : begin + count]
        order[begin : begin + count] = tied[
            order_of_words(
                words[tied], keystream=keystream, stream=stream, first_rank=first_rank + begin,
                shared_bits=shared_bits + bits,
            )
        ]  # fmt: skip
        begin += count
    return order


def _runs(sorted_words: NDArray[np.unsignedinteger[Any]]) -> list[tuple[int, int]]:
    """Where equal neighbours begin and end."""
    same = np.flatnonzero(sorted_words[1:] == sorted_words[:-1])
    if not len(same):
        return []
    breaks = np.flatnonzero(np.diff(same) > 1)
    begins = same[np.concatenate(([0], breaks + 1))]
    ends = same[np.concatenate((breaks, [len(same) - 1]))] + 2
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


def _shuffled(group: Words, keystream: Keystream, stream: Address, rank: int) -> Words:
    """Fisher and Yates on a few tied records; the swap of position t uses the word of its rank."""
    shuffled = group.copy()
    draws = keystream.integers(stream, rank, np.arange(1, len(group) + 1))
    for position in range(len(group) - 1, 0, -1):
        other = int(draws[position])
        shuffled[[position, other]] = shuffled[[other, position]]
    return shuffled
