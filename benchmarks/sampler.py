"""The sampler alone, on one core: codes in memory, keystream included.

Seconds are those of the processor, so that neighbours on the machine do not count. Loading the
compiled loops is timed once, and says from how many values on they pay.
"""

from __future__ import annotations

import argparse
import importlib
import time

import numpy as np

from benchmarks._measure import Result
from pramana.matrices.families import Dense, SparseRows, UniformMixture
from pramana.randomise.sampling import randomise
from pramana.randomness import CHUNK, Keystream

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
        return lambda: randomise(matrix, codes, keystream=keystream, stream="s", out=out)

    def only_words():
        for start in range(0, options.values, CHUNK):
            keystream.words("s", start, CHUNK, words)

    works = {name: draw(matrix) for name, matrix in _matrices().items()}
    arrays = {name: _fastest(work, options.rounds) for name, work in works.items()}
    begin = time.process_time()
    importlib.import_module("pramana.randomise.kernels")
    for work in works.values():
        work()
    loading = time.process_time() - begin
    compiled = {name: _fastest(work, options.rounds) for name, work in works.items()}
    loading -= sum(compiled.values())

    result = Result(
        f"{options.values:,} values of {SIZE} categories, million values a second and core",
        ("drawing", "arrays", "compiled", "pays from"),
    )
    for name in works:
        saved = (arrays[name] - compiled[name]) / options.values
        pays = f"{loading / saved / 1e6:.0f} million" if saved > 0 else "never"
        speeds = (f"{options.values / s[name] / 1e6:.0f}" for s in (arrays, compiled))
        result.rows.append((name, *speeds, pays))
    bare = options.values / _fastest(only_words, options.rounds) / 1e6
    copy = options.values / _fastest(lambda: np.copyto(out, codes), options.rounds) / 1e6
    result.rows.append(("keystream alone", f"{bare:.0f}", "", ""))
    result.rows.append(("copying the codes alone", f"{copy:.0f}", "", ""))
    result.notes.append(f"Loading the compiled loops took {loading:.2f} s.")
    return result


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
