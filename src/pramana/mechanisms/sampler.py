"""Draw released values, and noise: one 64-bit word a value, and exactly the matrix's integers.

Out of the 2**64 words, exactly ``weights[truth, released]`` give ``released`` for ``truth``.

- A uniform mixture with the weight ``other`` of every other value: ``word // other`` where that is
  one of the N values, else the original value.
- Any other matrix by alias tables [Walker77]: a row is cut into 2**m cells of 2**(64 - m) words.
  The leading m bits of the word choose the cell, the others are compared with a threshold: below it
  the cell's own value, else its alias. Weights are integers that sum to 2**64, which is the number
  of cells times their size, so that the cells are filled up without any rounding.

All in array operations that write into a few buffers of their thread: fresh arrays would take
several times as long. A compiled loop would pay from some hundred million values on, including the
time to load the compiler; see ``benchmarks/sampler.py``.

Noise is added to sensitive numbers of released records, whatever the method and the engine. The
random word of a record belongs to its place in the release, so that batches change nothing. Sums
are rounded to multiples of the noise's grain: the last digits of a released number say nothing
about the original one.

A round of shuffled marginals asks every record for one cell of a table and shows only how often
each cell was answered. Of the c people in a cell each keeps it with probability 1 - D other /
2**64, and all others draw one of the D cells uniformly [docs/proofs/shuffled_marginals.md]. So the
counts are binomial numbers of people who keep their cell, and the rest split in halves of the cells
until single cells are left. The work depends on the number of cells, and hardly on that of people.

A binomial number is drawn by rejection from two staircases around the mode M: the side by a fair
coin, the step b with probability 2**-(b+1), the place inside a step of width m uniformly. The
binomial probabilities f are log-concave, so that f(M + m) <= f(M) / 2 >= f(M - m) implies
f(x) 2**b <= f(M) for every x, which is the chance of acceptance. It is compared with a uniform
number in floating point with a bound on the error, and with ever more digits where that does not
decide. So the draw is exact, given uniform words.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property
from itertools import count, pairwise
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, DTypeLike, NDArray

from pramana.base.randomness import Address, Keystream, Stream
from pramana.base.rounding import TOTAL
from pramana.engine.base import Table
from pramana.errors import InvalidMatrix, InvalidTable, OutsideDomain
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import TransitionMatrix, UniformMixture
from pramana.schema.opened_table import is_number, is_whole, without_dictionary
from pramana.schema.recoding import Noise
from pramana.schema.schema import Schema
from pramana.types import BoolArray, Codes, FloatArray, IntArray, Words

BLOCK: Final = 2**17
"""Values drawn at a time. Fewer would not be faster, and threads would wait for each other more."""

WORDS: Final = 5
"""The buffer for words; the others are those of the samplers."""

_PREPARED: dict[int, tuple[weakref.ref[TransitionMatrix], Sampler]] = {}


class _Buffers(threading.local):
    """Memory that each thread uses again and again."""

    def __init__(self) -> None:
        self._memory = np.empty((WORDS + 1, BLOCK), dtype=np.uint64)

    def get(self, number: int, count: int, dtype: DTypeLike = np.uint64) -> NDArray[Any]:
        """One of the buffers, for ``count`` values of a type of at most 8 bytes."""
        buffer: NDArray[Any] = self._memory[number].view(dtype)
        return buffer[:count]


_BUFFERS: Final = _Buffers()


class Sampler(Protocol):
    """A matrix, prepared for drawing."""

    def draw(self, codes: Codes, words: Words, out: Codes) -> None:
        """Fill ``out`` with a released code for each true code and word; at most ``BLOCK``."""


def sample(matrix: TransitionMatrix, codes: Codes, words: Words) -> Codes:
    """A released code for each true code: a fixed function of the matrix, the code and the word.

    >>> from pramana.mechanisms.mechanism import UniformMixture
    >>> coin = UniformMixture.of(("no", "yes"), retention=0.5)
    >>> words = np.array([0, 2**62, 2**63], dtype=np.uint64)
    >>> sample(coin, np.array([0, 0, 0], dtype=np.uint8), words)
    array([0, 1, 0], dtype=uint8)
    """
    if len(words) != len(codes):
        raise InvalidMatrix(f"{len(codes)} codes need as many words, got {len(words)}.")
    _check(matrix, codes)
    sampler, out = _prepared(matrix), np.empty_like(codes)
    for begin in range(0, len(codes), BLOCK):
        part = slice(begin, begin + BLOCK)
        sampler.draw(codes[part], words[part], out[part])
    return out


def sample_by_stratum(
    matrices: Sequence[TransitionMatrix], strata: Codes, codes: Codes, words: Words
) -> Codes:
    """The same, where ``strata`` says for each record which of the matrices is its own."""
    if len(strata) and int(strata.max()) >= len(matrices):
        raise InvalidMatrix(f"Each stratum must have a matrix, and {len(matrices)} are given.")
    order = np.argsort(strata, kind="stable")
    ends = np.cumsum(np.bincount(strata, minlength=len(matrices)))
    out = np.empty_like(codes)
    begin = 0
    for matrix, end in zip(matrices, ends.tolist(), strict=True):
        if end > begin:
            chosen = order[begin:end]
            out[chosen] = sample(matrix, codes[chosen], words[chosen])
        begin = end
    return out


def randomise(
    matrix: TransitionMatrix,
    codes: Codes,
    *,
    keystream: Keystream,
    stream: Address,
    start: int = 0,
) -> Codes:
    """Released codes of the records ``start``, ``start + 1``, ...: each by its own random word."""
    _check(matrix, codes)
    sampler, out = _prepared(matrix), np.empty_like(codes)
    for begin in range(0, len(codes), BLOCK):
        part = slice(begin, min(begin + BLOCK, len(codes)))
        count = part.stop - begin
        words = keystream.words(stream, start + begin, count, _BUFFERS.get(WORDS, count))
        sampler.draw(codes[part], words, out[part])
    return out


def _check(matrix: TransitionMatrix, codes: Codes) -> None:
    if len(codes) and int(codes.max()) >= matrix.size:
        outside = int(np.count_nonzero(codes >= matrix.size))
        raise OutsideDomain(f"{outside} codes lie outside the {matrix.size} values of the matrix.")
    if np.iinfo(codes.dtype).max < matrix.size - 1:
        raise OutsideDomain(f"Codes of type {codes.dtype} cannot hold {matrix.size} values.")


def _prepared(matrix: TransitionMatrix) -> Sampler:
    """The sampler of this very object: comparing matrices entry by entry would cost more."""
    known = _PREPARED.get(id(matrix))
    if known is not None and known[0]() is matrix:
        return known[1]
    if isinstance(matrix, UniformMixture):
        sampler: Sampler = _Mixture(matrix.size, matrix.other if matrix.size > 1 else 0)
    else:
        sampler = _Ragged.of(matrix) if isinstance(matrix, SparseRows) else _Alias.of(matrix)
    key = id(matrix)
    _PREPARED[key] = weakref.ref(matrix, lambda _: _PREPARED.pop(key, None)), sampler
    return sampler


def _choose(first: BoolArray, one: Codes, other: Codes, out: Codes) -> None:
    """``one`` where ``first`` says so, else ``other``: by bits, faster than a masked copy."""
    mask = _BUFFERS.get(4, len(out), out.dtype)
    np.copyto(mask, first, casting="unsafe")
    np.negative(mask, out=mask)  # all bits or none
    np.bitwise_xor(one, other, out=out, casting="unsafe")
    out &= mask
    np.bitwise_xor(out, other, out=out, casting="unsafe")


@dataclass(frozen=True, slots=True)
class _Mixture:
    """A uniform mixture: one division a value."""

    size: int
    other: int

    def draw(self, codes: Codes, words: Words, out: Codes) -> None:
        if self.other == 0:
            out[:] = codes
            return
        drawn = _BUFFERS.get(0, len(codes), out.dtype)
        keep = _BUFFERS.get(1, len(codes), np.bool_)
        # The last word that draws, and not the first that does not: that may be 2**64.
        np.greater(words, np.uint64(self.size * self.other - 1), out=keep)
        np.floor_divide(words, np.uint64(self.other), out=drawn, casting="unsafe")
        _choose(keep, codes, drawn, out)


@dataclass(frozen=True, slots=True)
class _Alias:
    """One table of 2**bits cells a row; an entry is (threshold << bits) | alias."""

    bits: int
    table: Words

    @classmethod
    def of(cls, matrix: TransitionMatrix) -> _Alias:
        bits = max(1, (matrix.size - 1).bit_length())
        table = np.empty((matrix.size, 2**bits), dtype=np.uint64)
        for row, weights in zip(table, matrix.weights.tolist(), strict=True):
            thresholds, aliases = alias_cells(weights, bits)
            row[:] = [(t << bits) | a for t, a in zip(thresholds, aliases, strict=True)]
        return cls(bits, table.ravel())

    def draw(self, codes: Codes, words: Words, out: Codes) -> None:
        bits, mask = np.uint64(self.bits), np.uint64(2**self.bits - 1)
        cells, places, entries = (_BUFFERS.get(number, len(codes)) for number in (0, 1, 2))
        np.right_shift(words, np.uint64(64 - self.bits), out=cells)
        np.copyto(places, codes)
        places <<= bits
        places |= cells
        self.table.take(places.view(np.int64), mode="clip", out=entries)
        # An entry is its threshold plus less than 2**bits, so that comparing the rest of the word
        # with all low bits set compares it with the threshold alone.
        rest, below = places, _BUFFERS.get(3, len(codes), np.bool_)
        np.left_shift(words, bits, out=rest)
        rest |= mask
        np.less(rest, entries, out=below)
        entries &= mask
        _choose(below, cells, entries, out)


@dataclass(frozen=True, slots=True)
class _Ragged:
    """Tables of different lengths, for rows with few entries; a row that stays has one cell."""

    starts: Words
    bits: Words
    thresholds: Words
    kept: NDArray[np.uint32]
    alias: NDArray[np.uint32]

    @classmethod
    def of(cls, matrix: SparseRows) -> _Ragged:
        widths: list[int] = []
        thresholds: list[int] = []
        kept: list[int] = []
        alias: list[int] = []
        moves, targets = matrix.moves.tolist(), matrix.targets.tolist()
        for row, (begin, end) in enumerate(pairwise(matrix.starts.tolist())):
            # The truth comes last, also where its weight is 0: its cell then only fills up.
            weights = [*moves[begin:end], matrix.kept[row]]
            values = [*targets[begin:end], row]
            width = (len(weights) - 1).bit_length()
            values += [row] * (2**width - len(values))
            cells, aliases = alias_cells(weights, width)
            widths.append(width)
            thresholds += [threshold << width for threshold in cells]
            kept += values
            alias += [values[other] for other in aliases]
        lengths = np.left_shift(1, np.array(widths, dtype=np.int64))
        return cls(
            (np.cumsum(lengths) - lengths).astype(np.uint64),
            np.array(widths, dtype=np.uint64),
            np.array(thresholds, dtype=np.uint64),
            np.array(kept, dtype=np.uint32),
            np.array(alias, dtype=np.uint32),
        )

    def draw(self, codes: Codes, words: Words, out: Codes) -> None:
        rows, places, width = (_BUFFERS.get(number, len(codes)) for number in (0, 1, 2))
        np.copyto(rows, codes)
        self.bits.take(rows.view(np.int64), mode="clip", out=width)
        np.subtract(np.uint64(63), width, out=places)
        # In two shifts: a row of one cell has width 0, and a shift by 64 is undefined.
        np.right_shift(words >> np.uint64(1), places, out=places)
        places += self.starts.take(rows.view(np.int64), mode="clip")
        at = places.view(np.int64)
        rest, below = width, _BUFFERS.get(3, len(codes), np.bool_)
        np.left_shift(words, width, out=rest)
        np.less(rest, self.thresholds.take(at, mode="clip"), out=below)
        kept, alias = (values.take(at, mode="clip") for values in (self.kept, self.alias))
        _choose(below, kept, alias, out)


def alias_cells(weights: Sequence[int], bits: int) -> tuple[list[int], list[int]]:
    """Thresholds and aliases of the 2**bits cells of one row of weights that sum to 2**64.

    Each cell holds 2**(64 - bits) words. A value with less than a cell fills its own cell up to
    the threshold, and a value with at least a cell gives the rest and becomes its alias. What the
    open values hold together always equals the size of the open cells, so as long as one of them
    holds less than a cell another holds more, and in the end each holds exactly one cell: its
    threshold is 0 and its alias itself. All in integers, so value i gets exactly weights[i] words.
    """
    size = TOTAL >> bits
    cells = 2**bits
    left = [*weights, *([0] * (cells - len(weights)))]
    thresholds, aliases = [0] * cells, list(range(cells))
    small = [cell for cell in range(cells) if left[cell] < size]
    large = [cell for cell in range(cells) if left[cell] > size]
    while small:
        cell, giver = small.pop(), large[-1]
        thresholds[cell], aliases[cell] = left[cell], giver
        left[giver] -= size - left[cell]
        if left[giver] <= size:
            large.pop()
            if left[giver] < size:
                small.append(giver)
    return thresholds, aliases


EXACT = 2.0**52
"""Up to here floating point represents every whole number, and halves."""


def with_noise(table: Table, schema: Schema, keystream: Keystream) -> Table:
    """The released records with the noise that the schema states."""
    noise = {c.name: c.recoding.noise for c in schema.noisy if c.recoding.noise is not None}
    if not noise:
        return table
    added = AddedNoise(table.schema(), noise, keystream)
    return table.map_batches(added, schema=added.schema)


@dataclass(frozen=True)
class AddedNoise:
    """Adds noise to columns of released records."""

    types: pa.Schema
    noise: Mapping[str, Noise]
    keystream: Keystream

    @cached_property
    def schema(self) -> pa.Schema:
        """Whole numbers stay whole, others are floating."""
        fields = []
        for item in self.types:
            if item.name in self.noise and not is_number(item.type):
                raise InvalidTable(
                    f"'{item.name}' must be a number to add noise, and is {item.type}.",
                    column=item.name,
                )
            kind = pa.int64() if is_whole(item.type) else pa.float64()
            fields.append(pa.field(item.name, kind) if item.name in self.noise else item)
        return pa.schema(fields)

    def __call__(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """The batch whose first record is at ``position``, with noise."""
        arrays = [
            self._noised(item, column, position) if item.name in self.noise else column
            for item, column in zip(self.schema, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _noised(self, item: pa.Field, column: pa.Array, position: int) -> pa.Array:
        noise, whole = self.noise[item.name], pa.types.is_integer(item.type)
        grain = noise.grain(whole=whole)
        floats = without_dictionary(column).cast(pa.float64(), safe=False)
        values = np.asarray(floats.fill_null(np.nan))
        most = EXACT * grain
        if (np.abs(values[np.isfinite(values)]) > most).any():
            raise InvalidTable(
                f"Numbers of '{item.name}' must lie within {most:.3g} for noise of scale "
                f"{noise.scale:g}, and some do not: they would be released unchanged. Divide "
                "them, or add more noise.",
                column=item.name,
            )
        stream, count = Stream("noise", item.name), len(values)
        if noise.distribution == "laplace":
            drawn = self.keystream.laplaces(stream, position, count)
        elif noise.distribution == "normal":
            drawn = self.keystream.normals(stream, position, count)
        else:
            drawn = 2 * self.keystream.uniforms(stream, position, count) - 1
        sums = values + noise.scale * drawn
        # Dividing by a whole number gives the nearest number to a decimal; a fraction does not.
        steps = np.rint(sums / grain) if grain >= 1 else np.rint(sums * round(1 / grain))
        made = steps * grain if grain >= 1 else steps / round(1 / grain)
        return pa.array(made, mask=~np.isfinite(values)).cast(item.type)


DOUBT = 2.0**-47
"""More than the relative error of the logarithms of factorials and probabilities used here."""


def draw_rounds(
    true: Sequence[IntArray], others: Sequence[int], keystream: Keystream
) -> list[IntArray]:
    """The counts of each round from the true counts of its cells.

    Args:
        true: for each round how many people are in each cell.
        others: for each round the weight of every other cell in its uniform mixture.
        keystream: the source of random words.

    >>> whole = draw_rounds([np.array([5, 0, 3])], [0], Keystream.from_seed(1))
    >>> whole[0].tolist()           # nothing is drawn anew
    [5, 0, 3]
    """
    sizes = [len(cells) for cells in true]
    starts = np.cumsum([0, *sizes])
    people = np.concatenate([np.asarray(cells, dtype=np.int64) for cells in true])
    keep = [TOTAL - size * other for size, other in zip(sizes, others, strict=True)]
    kept = binomials(
        people, np.repeat(np.array(keep, dtype=object), sizes), TOTAL, keystream, Stream("kept")
    )
    counts = kept.copy()
    left = np.add.reduceat(people - kept, starts[:-1])
    begins, ends = starts[:-1], starts[1:]
    for level in count():  # ranges of cells with the people who answer one of them at random
        alone = ends - begins == 1
        counts[begins[alone]] += left[alone]
        wide = ~alone & (left > 0)
        begins, ends, left = begins[wide], ends[wide], left[wide]
        if not len(left):
            break
        middle = (begins + ends) // 2
        below = binomials(
            left, (middle - begins).astype(object), ends - begins, keystream,
            Stream("spread", level),
        )  # fmt: skip
        begins, ends = np.concatenate([begins, middle]), np.concatenate([middle, ends])
        left = np.concatenate([below, left - below])
    return np.split(counts, starts[1:-1])


def binomials(
    trials: IntArray,
    chances: ArrayLike,
    of: ArrayLike,
    keystream: Keystream,
    stream: Stream,
) -> IntArray:
    """For each number of trials how many succeed, with probability ``chances / of`` each.

    >>> numbers = binomials(np.array([10**12, 7]), [1, 2], 2, Keystream.from_seed(1), Stream("doc"))
    >>> bool(abs(int(numbers[0]) - 5 * 10**11) < 5 * 10**6), int(numbers[1])
    (True, 7)
    """
    successes = np.array(chances, dtype=object)
    whole = np.broadcast_to(np.asarray(of, dtype=object), successes.shape)
    drawn = np.where(successes == whole, trials, 0).astype(np.int64)
    open_ = np.flatnonzero((trials > 0) & (successes > 0) & (successes < whole))
    if not len(open_):
        return drawn
    law = _Binomials.of(trials[open_], successes[open_], whole[open_])
    used, waiting = 0, np.arange(len(open_))
    while len(waiting):
        values, taken = law.propose(waiting, keystream, stream, used)
        drawn[open_[waiting[taken]]] = values[taken]
        used += len(waiting)
        waiting = waiting[~taken]
    return drawn


class _Binomials:
    """Several binomial laws with the staircases above them.

    Attributes:
        trials: The numbers of trials.
        chances: The probabilities of success as exact ratios.
        modes: The most likely numbers, exactly.
        widths: The widths of the steps.
    """

    def __init__(
        self, trials: IntArray, chances: list[tuple[int, int]], modes: IntArray, logs: FloatArray
    ) -> None:
        self.trials, self.chances, self.modes, self.logs = trials, chances, modes, logs
        self.widths = np.ones(len(trials), dtype=np.int64)

    @classmethod
    def of(cls, trials: IntArray, successes: Words, whole: Words) -> _Binomials:
        """With steps so wide that the probability has halved at the end of the first."""
        modes = np.array(((trials.astype(object) + 1) * successes // whole).tolist(), np.int64)
        chance = np.array([[a / b, (b - a) / b] for a, b in zip(successes, whole, strict=True)])
        law = cls(trials, list(zip(successes, whole, strict=True)), modes, np.log(chance))
        spread = np.sqrt(trials * chance.prod(axis=1))
        law.widths = np.ceil(1.25 * spread).astype(np.int64) + 1
        places = np.arange(len(trials))
        while len(places):
            ends = [law.modes[places] + sign * law.widths[places] for sign in (-1, 1)]
            heights = [law.log_ratio(places, end) for end in ends]
            high = [value + doubt > -math.log(2) for value, doubt in heights]
            places = places[high[0] | high[1]]
            law.widths[places] += law.widths[places] // 4 + 1
        return law

    def log_ratio(self, places: IntArray, values: IntArray) -> tuple[FloatArray, FloatArray]:
        """ln f(value) - ln f(mode), and how far it may be off; f is 0 outside 0 ... trials."""
        from scipy.special import gammaln

        trials, modes = self.trials[places], self.modes[places]
        there = (values >= 0) & (values <= trials)
        inside = np.where(there, values, modes)
        parts = [gammaln(modes + 1.0), gammaln(trials - modes + 1.0),
                 -gammaln(inside + 1.0), -gammaln(trials - inside + 1.0)]  # fmt: skip
        moved = inside - modes
        parts += [moved * self.logs[places, 0], -moved * self.logs[places, 1]]
        total = np.sum(parts, axis=0)
        doubt = DOUBT * (1 + np.sum(np.abs(parts), axis=0))
        return np.where(there, total, -np.inf), doubt

    def propose(
        self, places: IntArray, keystream: Keystream, stream: Stream, used: int
    ) -> tuple[IntArray, BoolArray]:
        """A value for each place, and whether it is taken."""
        many = len(places)
        turns = keystream.words(Stream(stream, "steps"), used, many)
        steps = _leading(turns >> np.uint64(1), keystream, Stream(stream, "further"), used)
        width = self.widths[places]
        inside = keystream.integers(Stream(stream, "inside"), used, width).astype(np.int64)
        levels = keystream.words(Stream(stream, "level"), used, many)
        # A step so far out that it could not be counted in 64 bits is beyond 0 ... trials.
        far = np.minimum(steps, self.trials[places] // width + 1) * width + inside
        up = (turns & np.uint64(1)).astype(bool)
        values = np.where(up, self.modes[places] + far, self.modes[places] - 1 - far)
        height, doubt = self.log_ratio(places, values)
        height = height + steps * math.log(2)
        low, high = _logs_of(levels)
        taken = high < height - doubt
        for at in np.flatnonzero(~taken & np.isfinite(height) & (low <= height + doubt)):
            more = Stream(stream, "digits", used + int(at))
            taken[at] = self._decide(
                int(places[at]), int(values[at]), int(steps[at]), int(levels[at]), keystream, more
            )
        return values, taken

    def _decide(
        self, place: int, value: int, step: int, level: int, keystream: Keystream, more: Stream
    ) -> bool:
        """Whether a uniform number lies below f(value) 2**step / f(mode), with more digits."""
        trials, mode = int(self.trials[place]), int(self.modes[place])
        success, whole = map(int, self.chances[place])
        for attempt in (1, 2, 3):
            with localcontext(prec=60 * attempt + 20):
                height = (
                    sum(_log_factorial(count, attempt) for count in (mode, trials - mode))
                    - sum(_log_factorial(count, attempt) for count in (value, trials - value))
                    + (value - mode) * (Decimal(success).ln() - Decimal(whole - success).ln())
                    + step * Decimal(2).ln()
                )
                for word in keystream.words(more, 3 * (attempt - 1), 3).tolist():
                    level = (level << 64) + word
                digits = Decimal(2) ** (64 * (3 * attempt + 1))
                doubt = Decimal(10) ** (-50 * attempt)
                if Decimal(level + 1).ln() - digits.ln() < height - doubt:
                    return True
                if level and Decimal(level).ln() - digits.ln() > height + doubt:
                    return False
        raise ArithmeticError("576 random bits must decide a draw.")  # less likely than 2**-480


def _leading(bits: Words, keystream: Keystream, stream: Stream, used: int) -> IntArray:
    """How many fair coins show tails before the first head: zeros at the end of 63 bits each."""
    steps = np.zeros(len(bits), dtype=np.int64)
    silent = np.flatnonzero(bits == 0)
    for turn in count():
        if not len(silent):
            break
        steps[silent] += 63
        turn_stream = Stream(stream, turn)
        bits[silent] = [
            int(keystream.words(turn_stream, used + int(at), 1)[0]) >> 1 for at in silent
        ]
        silent = silent[bits[silent] == 0]
    lowest = (bits & (~bits + np.uint64(1))).astype(np.float64)  # a power of 2, exactly
    return steps + np.frexp(lowest)[1] - 1


def _logs_of(words: Words) -> tuple[FloatArray, FloatArray]:
    """The logarithms of words / 2**64 and of (words + 1) / 2**64, rounded down and up."""
    with np.errstate(divide="ignore"):
        low = np.log(words.astype(np.float64)) - 64 * math.log(2)
    high = np.log(words.astype(np.float64) + 1) - 64 * math.log(2)
    return low - 1e-12, high + 1e-12


STIRLING = (
    (1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156),
    (-3617, 122400), (43867, 244188), (-174611, 125400),
)  # fmt: skip
"""The series of ln z!; the error is below the next term, which is below 14 / z**21."""


def _log_factorial(number: int, attempt: int) -> Decimal:
    """ln number! with an error below 10**(-51 attempt), in the precision that is set."""
    if number < 10 ** (3 * attempt):
        return Decimal(math.factorial(number)).ln()
    z = Decimal(number)
    series = sum(Decimal(a) / Decimal(b) / z ** (2 * at + 1) for at, (a, b) in enumerate(STIRLING))
    return z * z.ln() - z + (2 * PI * z).ln() / 2 + series


PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534"
    "2117067982148086513282306647093844609550582231725359408128481"
)
