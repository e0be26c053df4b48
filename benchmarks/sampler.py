"""The sampler alone, on one core: codes in memory, keystream included.

Seconds are those of the processor, so that neighbours on the machine do not count. Loops compiled
by Numba stand beside it: loading them is timed too, and tells from how many values on they pay.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks._measure import Result
from pramana.base.randomness import CHUNK, Keystream
from pramana.mechanisms.sampler import _prepared, randomise
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Dense, UniformMixture

SIZE = 50


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--values", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=5)


def run(options: argparse.Namespace) -> Result:
    codes = np.random.default_rng(1).integers(0, SIZE, options.values).astype(np.uint8)
    out = np.empty_like(codes)
    keystream = Keystream.from_seed(1)
    words = np.empty(CHUNK, dtype=np.uint64)

    def draw(matrix):
        randomise(matrix, codes, keystream=keystream, stream="s", out=out)

    def by_words(use):
        for start in range(0, options.values, CHUNK):
            part = slice(start, min(start + CHUNK, options.values))
            count = part.stop - start
            use(keystream.words("s", start, count, words[:count]), codes[part], out[part])

    matrices = _matrices()
    ours = {name: _fastest(lambda m=m: draw(m), options.rounds) for name, m in matrices.items()}
    begin = time.process_time()
    loops = {name: work for name, m in matrices.items() if (work := _compiled(m))}
    for work in loops.values():
        work(words[:1], codes[:1], out[:1])
    loading = time.process_time() - begin
    compiled = {
        name: _fastest(lambda w=work: by_words(w), options.rounds) for name, work in loops.items()
    }
    result = Result(
        f"{options.values:,} values of {SIZE} categories, million values a second and core",
        ("drawing", "pramana", "compiled loop", "which pays from"),
    )

    def speed(seconds):
        return f"{options.values / seconds / 1e6:.0f}"

    for name, seconds in ours.items():
        loop = compiled.get(name)
        saved = (seconds - loop) / options.values if loop else 0
        pays = f"{loading / saved / 1e6:.0f} million" if saved > 0 else "never"
        cells = (speed(loop), pays) if loop else ("", "")
        result.rows.append((name, speed(seconds), *cells))
    bare = _fastest(lambda: by_words(lambda *_: None), options.rounds)
    copy = _fastest(lambda: np.copyto(out, codes), options.rounds)
    result.rows.append(("keystream alone", speed(bare), "", ""))
    result.rows.append(("copying the codes alone", speed(copy), "", ""))
    result.notes.append(f"Loading the compiler and the loops took {loading:.2f} s.")
    return result


def _compiled(matrix):
    """A loop over the same tables, compiled."""
    from numba import njit

    @njit(nogil=True)
    def mixture(words, codes, out, other, last):
        for i in range(codes.size):
            drawn = words[i] // other
            out[i] = drawn if words[i] <= last else codes[i]

    @njit(nogil=True)
    def alias(words, codes, out, table, bits):
        shift, mask = np.uint64(64) - bits, (np.uint64(1) << bits) - np.uint64(1)
        for i in range(codes.size):
            cell = words[i] >> shift
            entry = table[(np.uint64(codes[i]) << bits) | cell]
            out[i] = cell if (words[i] << bits) < (entry & ~mask) else entry & mask

    if isinstance(matrix, UniformMixture):
        other, last = np.uint64(matrix.other), np.uint64(matrix.size * matrix.other - 1)
        return lambda words, codes, out: mixture(words, codes, out, other, last)
    if isinstance(matrix, Dense):
        own = _prepared(matrix)
        return lambda words, codes, out: alias(words, codes, out, own.table, np.uint64(own.bits))
    return None


def _matrices():
    labels = tuple(range(SIZE))
    values = np.random.default_rng(2).random((SIZE, SIZE))
    return {
        "uniform mixture": UniformMixture.of(labels, retention=0.3),
        "dense": Dense.of(labels, values / values.sum(axis=1, keepdims=True)),
        "identity plus sparse": SparseRows.of(
            labels, rows=range(0, SIZE, 2), columns=range(1, SIZE, 2), probabilities=[0.25] * 25
        ),
    }


def _fastest(work, rounds: int) -> float:
    seconds = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return min(seconds)
