"""Draw the histogram of a round, with exactly the distribution of single answers.

A round asks every record for one cell of a table and shows only how often each cell was answered.
Of the c people in a cell each keeps it with probability 1 - D other / 2**64, and all others draw
one of the D cells uniformly [docs/proofs/shuffled_marginals.md]. So the counts are binomial numbers
of people who keep their cell, and the rest split in halves of the cells until single cells are
left. The work depends on the number of cells, and hardly on that of people.

A binomial number is drawn by rejection from two staircases around the mode M: the side by a fair
coin, the step b with probability 2**-(b+1), the place inside a step of width m uniformly. The
binomial probabilities f are log-concave, so that f(M + m) <= f(M) / 2 >= f(M - m) implies
f(x) 2**b <= f(M) for every x, which is the chance of acceptance. It is compared with a uniform
number in floating point with a bound on the error, and with ever more digits where that does not
decide. So the draw is exact, given uniform words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from itertools import count

import numpy as np
from numpy.typing import ArrayLike

from pramana.base.randomness import Keystream, Stream
from pramana.base.rounding import TOTAL
from pramana.types import BoolArray, FloatArray, IntArray, Words

__all__ = ["binomials", "draw_rounds"]

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
    found = np.where(successes == whole, trials, 0).astype(np.int64)
    open_ = np.flatnonzero((trials > 0) & (successes > 0) & (successes < whole))
    if not len(open_):
        return found
    law = _Binomials.of(trials[open_], successes[open_], whole[open_])
    used, waiting = 0, np.arange(len(open_))
    while len(waiting):
        values, taken = law.propose(waiting, keystream, stream, used)
        found[open_[waiting[taken]]] = values[taken]
        used += len(waiting)
        waiting = waiting[~taken]
    return found


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
                    sum(_log_factorial(own, attempt) for own in (mode, trials - mode))
                    - sum(_log_factorial(own, attempt) for own in (value, trials - value))
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
        own = Stream(stream, turn)
        bits[silent] = [int(keystream.words(own, used + int(at), 1)[0]) >> 1 for at in silent]
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
"""Of the series of ln z!; the error is below the next term, which is below 14 / z**21."""


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
