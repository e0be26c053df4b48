"""The compiled loop of ``anneal.py``: moves and exchanges at a falling temperature.

Works on arrays that the caller hands in, as the loops in ``kernels.py`` do, and by their formulas
for what a move or an exchange does to the sum of squares.
"""

# Numba infers the types of every argument from the first call.
# mypy: disable-error-code="no-untyped-def", disallow-untyped-decorators=False

from __future__ import annotations

import numpy as np

from pramana.kanonymity.anneal import PICKS
from pramana.kanonymity.kernels import kernel

SURELY = 19.0  # e to the minus this is below every chance but 0, which come in steps of 2**-27


@kernel
def apart(points, i, sums, size, g):
    """Squared distance of record i from the centre of group g."""
    total = 0.0
    for c in range(points.shape[1]):
        step = points[i, c] - sums[g, c] / size
        total += step * step
    return total


@kernel
def exchange(points, i, j, sums, a, b, sizes):
    """What group a and group b gain when i of a and j of b change places: both, as changes."""
    one, two, gap = 0.0, 0.0, 0.0
    for c in range(points.shape[1]):
        centre = sums[a, c] / sizes[a]
        step = points[i, c] - points[j, c]
        near, far = points[i, c] - centre, points[j, c] - centre
        one += far * far - near * near
        centre = sums[b, c] / sizes[b]
        near, far = points[j, c] - centre, points[i, c] - centre
        two += far * far - near * near
        gap += step * step
    return one - gap / sizes[a], two - gap / sizes[b]


@kernel
def accepted(change, heat, chance):
    """Metropolis' rule: what lowers the sum always, what raises it seldom."""
    if change <= 0.0:
        return True
    if change > SURELY * heat and chance > 0.0:
        return False
    return heat > 0.0 and chance < np.exp(-change / heat)


@kernel
def anneal(points, labels, best, near, picks, words, state, rules, levels):
    """One try a word. ``state`` and ``labels`` follow; ``best`` holds the best labels met.

    A word says which record, which of its neighbours (whose group it may join), which member of
    that group may come back for it, and the chance that Metropolis' rule asks for. Heat counts in
    mean squared distances from the centre in the two groups at hand.
    """
    sums, sizes, inner, members, place = state
    k, limit, heat, cooling = rules
    now, lowest = levels
    for turn in range(words.size):
        word = words[turn]
        heat *= cooling
        i = picks[word & (PICKS - 1)]
        b = labels[near[i, (((word >> 16) & 0xFF) * near.shape[1]) >> 8]]
        a = labels[i]
        if a == b:
            continue
        chance = ((word >> 36) & 0x7FFFFFF) / 134217728.0
        local = heat * max(0.0, inner[a] + inner[b]) / (sizes[a] + sizes[b])
        if sizes[a] > k and sizes[b] < limit and word < 0:
            more = apart(points, i, sums, sizes[b], b) * sizes[b] / (sizes[b] + 1.0)
            less = apart(points, i, sums, sizes[a], a) * sizes[a] / (sizes[a] - 1.0)
            if not accepted(more - less, local, chance):
                continue
            now += more - less
            inner[a] -= less
            inner[b] += more
            last = members[a, sizes[a] - 1]
            members[a, place[i]], place[last] = last, place[i]
            members[b, sizes[b]], place[i] = i, sizes[b]
            sizes[a] -= 1
            sizes[b] += 1
            labels[i] = b
            for c in range(points.shape[1]):
                sums[a, c] -= points[i, c]
                sums[b, c] += points[i, c]
        else:
            j = members[b, (((word >> 24) & 0xFFF) * sizes[b]) >> 12]
            less, more = exchange(points, i, j, sums, a, b, sizes)
            if not accepted(less + more, local, chance):
                continue
            now += less + more
            inner[a] += less
            inner[b] += more
            members[a, place[i]], members[b, place[j]] = j, i
            place[i], place[j] = place[j], place[i]
            labels[i], labels[j] = b, a
            for c in range(points.shape[1]):
                step = points[i, c] - points[j, c]
                sums[a, c] -= step
                sums[b, c] += step
        if now < lowest:
            lowest = now
            for one in range(labels.size):
                best[one] = labels[one]
    return heat, now, lowest
