"""Compiled loops of the sampler: one pass over codes and words.

Each does exactly what the array road of the same sampler in ``sampling.py`` does. They pay from
some ten million values on, loading the compiler counted; see ``benchmarks/sampler.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["alias_draws", "mixture_draws", "ragged_draws"]


@njit(cache=True, nogil=True)
def mixture_draws(codes, words, other, last, out):  # type: ignore[no-untyped-def]
    """``word // other`` for words up to ``last``, else the truth."""
    for i in range(codes.size):
        word = words[i]
        drawn = word // other
        out[i] = drawn if word <= last else codes[i]


@njit(cache=True, nogil=True)
def alias_draws(codes, words, table, bits, out):  # type: ignore[no-untyped-def]
    """The cell of the leading bits, or its alias where the rest is at or above the threshold."""
    shift = np.uint64(64) - bits
    mask = (np.uint64(1) << bits) - np.uint64(1)
    for i in range(codes.size):
        word = words[i]
        cell = word >> shift
        entry = table[(np.uint64(codes[i]) << bits) | cell]
        out[i] = cell if (word << bits) < (entry & ~mask) else entry & mask


@njit(cache=True, nogil=True)
def ragged_draws(codes, words, starts, bits, thresholds, own, alias, out):  # type: ignore[no-untyped-def]
    """The same, where each row has a table of its own length."""
    one, most = np.uint64(1), np.uint64(63)
    for i in range(codes.size):
        row = codes[i]
        word = words[i]
        width = np.uint64(bits[row])
        # In two shifts: a row of one cell has width 0, and a shift by 64 is undefined.
        cell = starts[row] + np.int64((word >> one) >> (most - width))
        out[i] = own[cell] if (word << width) < thresholds[cell] else alias[cell]
