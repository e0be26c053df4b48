"""Compiled loops of clustering: Ward's mergers, the reworking of groups, MDAV and greedy k-member.

Loops work on a float64 array ``points`` (records by columns) in which squared Euclidean distance is
the distortion [Wei, eq. 4]. They draw no random numbers and fill arrays that callers hand in.

Write c for a group's centre and m for its size. A record x that joins a group raises the
within-group sum of squares by m/(m+1) |x - c|^2; one that leaves lowers it by m/(m-1) |x - c|^2.
Exchanging x of group A for y of group B changes it by

    2 (x - y).(cA - cB) - |x - y|^2 (1/mA + 1/mB).

MDAV, maximum distance to average vector, is the heuristic with fixed group size of
[DomingoFerrer05]; greedy k-member clustering is Byun's, used by [Wei, sec. 3.1].
"""

# Numba infers the types of every argument from the first call.
# mypy: disable-error-code="no-untyped-def"
# mypy: disable-error-code="no-untyped-def", disallow-untyped-decorators=False

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numba import njit

from pramana.errors import Compiling
from pramana.types import FloatArray, IntArray

COMPILING = "Compiling the clustering for this machine: about ten seconds, once."

PICKS = 2**16  # entries of the table that says how often a record is tried by annealing
SURELY = 19.0  # e to the minus this is below every chance but 0, which come in steps of 2**-27

kernel = njit(cache=True, nogil=True, error_model="numpy")


@kernel
def squared(a, i, b, j):
    """Squared distance between row i of a and row j of b."""
    total = 0.0
    for c in range(a.shape[1]):
        step = a[i, c] - b[j, c]
        total += step * step
    return total


@kernel
def offers(middle, sizes, short, labels, graph, rise, other):
    """For every group that falls short, the least costly merger along the edges of ``graph``.

    graph[i] lists cells near cell i, labels[i] is the group of cell i. Fills rise (comes in
    as infinity) and other.
    """
    for i in range(graph.shape[0]):
        g = labels[i]
        if not short[g]:
            continue
        for slot in range(graph.shape[1]):
            h = labels[graph[i, slot]]
            if h != g:
                cost = squared(middle, g, middle, h) * sizes[g] * sizes[h] / (sizes[g] + sizes[h])
                if cost < rise[g]:
                    rise[g], other[g] = cost, h


@kernel
def distances(points, ids, count, gaps):
    """Squared distances between the records ``ids``, all pairs."""
    for i in range(count):
        gaps[i, i] = 0.0
        for j in range(i):
            gap = squared(points, ids[i], points, ids[j])
            gaps[i, j] = gap
            gaps[j, i] = gap


@kernel
def regroup(gaps, count, size, first, labels, pull):
    """A greedy start on a pool: groups of ``size``, leftovers where they cost least.

    Nearest to a group's centre means least sum of squared distances to its members, so the
    distances between records are all that is needed. Returns the number of groups.
    """
    groups = count // size
    for i in range(count):
        labels[i] = -1
    for g in range(groups):
        for i in range(count):
            pull[i] = -gaps[first, i]
        for taken in range(size):
            best, at = np.inf, -1
            for i in range(count):
                if labels[i] < 0 and pull[i] < best:
                    best, at = pull[i], i
            labels[at] = g
            if taken == 0:
                first = at
            for i in range(count):
                pull[i] = gaps[at, i] + (pull[i] if taken > 0 else 0.0)
    return groups


@kernel
def shift(gaps, count, i, a, b, labels, sums, inner, sizes):
    """Record i leaves group a (none where negative) for group b."""
    if a >= 0:
        sizes[a] -= 1
        inner[a] -= sums[a, i]
    sizes[b] += 1
    inner[b] += sums[b, i]
    labels[i] = b
    for j in range(count):
        sums[b, j] += gaps[i, j]
        if a >= 0:
            sums[a, j] -= gaps[i, j]


@kernel
def tally(gaps, labels, count, groups, sums, inner, sizes):
    """The bookkeeping of a pool, and its sum of squares within groups.

    sums[g, i] adds up the squared distances from record i to the members of g, inner[g] those
    between all pairs of members: inner / size is the sum of squares of the group. Records
    without a group join the one whose members are nearest on average.
    """
    for g in range(groups):
        sizes[g], inner[g] = 0, 0.0
        for i in range(count):
            sums[g, i] = 0.0
    for turn in range(2):
        for i in range(count):
            g = labels[i]
            if turn == (0 if g < 0 else 1):
                continue
            for h in range(groups if g < 0 else 0):
                if g < 0 or sums[h, i] / sizes[h] < sums[g, i] / sizes[g]:
                    g = h
            shift(gaps, count, i, -1, g, labels, sums, inner, sizes)
    total = 0.0
    for g in range(groups):
        total += inner[g] / sizes[g]
    return total


@kernel
def frontier(labels, count, sums, sizes, a, b, side, ids, lies):
    """The members of a that it would cost least to have in b instead: ids[side], lies[side]."""
    held, want = 0, ids.shape[1]
    for i in range(count):
        if labels[i] != a:
            continue
        lie = sums[b, i] / sizes[b] - sums[a, i] / sizes[a]
        if held == want and lie >= lies[side, held - 1]:
            continue
        slot = held if held < want else want - 1
        while slot > 0 and lies[side, slot - 1] > lie:
            lies[side, slot], ids[side, slot] = lies[side, slot - 1], ids[side, slot - 1]
            slot -= 1
        lies[side, slot], ids[side, slot] = lie, i
        held = min(held + 1, want)
    return held


@kernel
def best_move(held, side, p, q, best, sums, inner, sizes, ids):
    """The member of p whose going over to q beats ``best``: the change, and who (-1 if none)."""
    who = -1
    stay = inner[p] / sizes[p] + inner[q] / sizes[q]
    for i in range(held):
        record = ids[side, i]
        change = (inner[q] + sums[q, record]) / (sizes[q] + 1) - stay
        change += (inner[p] - sums[p, record]) / (sizes[p] - 1)
        if change < best:
            best, who = change, record
    return best, who


@kernel
def best_swap(held, kept, weight, best, gaps, ids, lies):
    """The two members whose changing places beats ``best``: the change, and who (-1 if none)."""
    x, y = -1, -1
    for i in range(held):
        for j in range(kept):
            change = lies[0, i] + lies[1, j] - weight * gaps[ids[0, i], ids[1, j]]
            if change < best:
                best, x, y = change, ids[0, i], ids[1, j]
    return best, x, y


@kernel
def settle(gaps, labels, count, a, b, sums, inner, sizes, k, limit, tolerance, ids, lies):
    """Move and swap between groups a and b while that lowers the sum of squares.

    Gives the number of steps that were made, less than 0 where there may be more.
    """
    for turn in range(4 * ids.shape[1]):
        held, kept = 0, 0
        for side in range(2):  # a loop, as every constant in a call would be compiled for itself
            p, q = (a, b) if side == 0 else (b, a)
            candidates = frontier(labels, count, sums, sizes, p, q, side, ids, lies)
            held, kept = (candidates, kept) if side == 0 else (held, candidates)
        weight = 1.0 / sizes[a] + 1.0 / sizes[b]
        best, x, y = best_swap(held, kept, weight, -tolerance, gaps, ids, lies)
        for side in range(2):
            p, q, candidates = (a, b, held) if side == 0 else (b, a, kept)
            if sizes[p] > k and sizes[q] < limit:
                best, who = best_move(candidates, side, p, q, best, sums, inner, sizes, ids)
                if who >= 0:
                    x, y = (who, -1) if side == 0 else (-1, who)
        if x < 0 and y < 0:
            return turn
        if x >= 0:
            shift(gaps, count, x, a, b, labels, sums, inner, sizes)
        if y >= 0:
            shift(gaps, count, y, b, a, labels, sums, inner, sizes)
    return -1


@kernel
def settle_all(state, rules, edge, lies):
    """Settle every pair of the groups, at most eight times over, and give the sum of squares."""
    gaps, labels, count, groups, sums, inner, sizes = state
    k, limit, tolerance = rules
    for _ in range(8):
        changed = False
        for a in range(groups):
            for b in range(a):
                args = (gaps, labels, count, a, b, sums, inner, sizes)
                if settle(*args, k, limit, tolerance, edge, lies) != 0:
                    changed = True
        if not changed:
            break
    total = 0.0
    for g in range(groups):
        total += inner[g] / sizes[g]
    return total


@kernel
def link(labels, head, after, before, sizes):
    """Doubly linked lists of the members of every group. head, after, before come in as -1."""
    for i in range(labels.size - 1, -1, -1):
        g = labels[i]
        after[i] = head[g]
        if head[g] >= 0:
            before[head[g]] = i
        head[g] = i
        sizes[g] += 1


@kernel
def transfer(i, to, labels, head, after, before, sizes):
    """Move record i to the group ``to``, keeping the lists and sizes in step."""
    at = labels[i]
    if before[i] >= 0:
        after[before[i]] = after[i]
    else:
        head[at] = after[i]
    if after[i] >= 0:
        before[after[i]] = before[i]
    before[i], after[i] = -1, head[to]
    if head[to] >= 0:
        before[head[to]] = i
    head[to] = i
    labels[i] = to
    sizes[at] -= 1
    sizes[to] += 1


@kernel
def collect(a, wanted, neighbours, head, after, sizes, ids, names, old):
    """The records of group a and of its nearest groups, as far as they fit: counts of both."""
    count, held = 0, 0
    for slot in range(-1, min(wanted, neighbours.shape[1])):
        g = a if slot < 0 else neighbours[a, slot]
        if sizes[g] == 0 or count + sizes[g] > ids.size:
            continue
        i = head[g]
        while i >= 0:
            ids[count], old[count] = i, held
            i = after[i]
            count += 1
        names[held] = g
        held += 1
    return count, held


@kernel
def rework(points, labels, lists, free, neighbours, words, rules, pool):
    """Cluster each group together with a few of its neighbours again; keep what is better.

    Turn t takes group t and as many of its nearest groups as words[t] says, makes a new greedy
    start with all their members and settles it. Groups without a name yet get those from
    ``free`` on. Returns the number of turns that lowered the sum of squares.
    """
    head, after, before, sizes = lists
    k, limit, tolerance = rules
    ids, names, old, new, pull, gaps, sums, inner, members, edge, lies = pool
    better = 0
    for turn in range(words.size):
        a, word = turn, words[turn] & 0x7FFFFFFFFFFFFFFF
        wanted = 1 + word % max(1, neighbours.shape[1])
        count, held = collect(a, wanted, neighbours, head, after, sizes, ids, names, old)
        if held == 0 or count < 2 * k:
            continue
        distances(points, ids, count, gaps)
        was = tally(gaps, old, count, held, sums, inner, members) - tolerance
        if was <= 0:
            continue
        size = k + (word >> 40) % (count // held - k + 1)
        made = regroup(gaps, count, size, (word >> 16) % count, new, pull)
        tally(gaps, new, count, made, sums, inner, members)
        state = (gaps, new, count, made, sums, inner, members)
        if settle_all(state, rules, edge, lies) >= was:
            continue
        largest = 0
        for g in range(made):
            largest = max(largest, members[g])
        if largest > limit:
            continue
        better += 1
        for g in range(held, made):
            names[g] = free
            free += 1
        for i in range(count):
            if labels[ids[i]] != names[new[i]]:
                transfer(ids[i], names[new[i]], labels, head, after, before, sizes)
    return better


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
    change_a, change_b, gap = 0.0, 0.0, 0.0
    for c in range(points.shape[1]):
        centre = sums[a, c] / sizes[a]
        step = points[i, c] - points[j, c]
        near, far = points[i, c] - centre, points[j, c] - centre
        change_a += far * far - near * near
        centre = sums[b, c] / sizes[b]
        near, far = points[j, c] - centre, points[i, c] - centre
        change_b += far * far - near * near
        gap += step * step
    return change_a - gap / sizes[a], change_b - gap / sizes[b]


@kernel
def accepted(change, heat, chance):
    """Metropolis' rule: what lowers the sum always, what raises it seldom."""
    if change <= 0.0:
        return True
    if change > SURELY * heat and chance > 0.0:
        return False
    return heat > 0.0 and chance < np.exp(-change / heat)


@kernel
def annealing_steps(points, labels, best, near, picks, words, state, rules, levels):
    """One try a word. ``state`` and ``labels`` follow; ``best`` holds the best labels met.

    A word says which record, which of its neighbours (whose group it may join), which member of
    that group may come back for it, and the chance that Metropolis' rule asks for. Heat counts in
    mean squared distances from the centre in the two groups at hand.
    """
    sums, sizes, inner, members, place = state
    k, limit, heat, cooling = rules
    level, lowest = levels
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
            level += more - less
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
            level += less + more
            inner[a] += less
            inner[b] += more
            members[a, place[i]], members[b, place[j]] = j, i
            place[i], place[j] = place[j], place[i]
            labels[i], labels[j] = b, a
            for c in range(points.shape[1]):
                step = points[i, c] - points[j, c]
                sums[a, c] -= step
                sums[b, c] += step
        if level < lowest:
            lowest = level
            for record in range(labels.size):
                best[record] = labels[record]
    return heat, level, lowest


def announce_compilation() -> None:
    """Warn where the loops were never compiled on this machine: that takes several seconds."""
    cache = Path(rework.stats.cache_path)
    if not any(cache.glob(f"{Path(__file__).stem}.rework-*.nbi")):
        warnings.warn(COMPILING, Compiling, stacklevel=4)


def mdav(points: FloatArray, *, k: int) -> IntArray:
    """Labels of groups of k records, the last of k to 2k - 1. Time grows as n squared over k."""
    n, d = points.shape
    labels = np.full(n, -1, np.int64)
    free, near = np.empty(n, np.int64), np.empty(k, np.int64)
    _mdav(points, k, labels, free, near, np.empty(k), np.empty((1, d)))
    return labels


def greedy(points: FloatArray, *, k: int, first: int = 0) -> IntArray:
    """Labels of floor(n / k) groups; ``first`` is the record that the first start is far from.

    Takes time in proportion to n squared. The paper prints ceil(n / k) groups, which would
    leave one of them short; no more than floor(n / k) groups can have k members.
    """
    n, groups = len(points), len(points) // k
    labels, free, sizes = (np.empty(size, np.int64) for size in (n, n, groups))
    middle = np.empty((groups, points.shape[1]))
    _greedy(points, n, k, first, labels, free, middle, sizes)
    return labels


@kernel
def extreme(points, free, count, centres, g, sign):
    """Position of the free record nearest to (sign 1) or furthest from (-1) a centre."""
    best, at = np.inf, 0
    for i in range(count):
        gap = sign * squared(points, free[i], centres, g)
        if gap < best:
            best, at = gap, i
    return at


@kernel
def admit(points, i, centres, sizes, g):
    """Record i joins group g: its size and its centre follow."""
    sizes[g] += 1
    for c in range(points.shape[1]):
        centres[g, c] += (points[i, c] - centres[g, c]) / sizes[g]


@kernel
def _greedy(points, count, k, first, labels, free, centres, sizes):
    """Byun's k-member clustering of the first ``count`` points [Wei, sec. 3.1].

    A group starts at the record furthest from where the last one started, and takes the
    free record that raises its sum of squares least until it has k members; what is left
    over joins where it costs least. Fills labels, centres, sizes; returns the groups made.
    """
    groups = count // k
    for i in range(count):
        free[i] = i
    for g in range(groups):
        sizes[g] = 0
        at = extreme(points, free, count, points, first, -1.0)
        first = free[at]
        for c in range(points.shape[1]):
            centres[g, c] = points[first, c]
        while sizes[g] < k:
            if sizes[g] > 0:
                at = extreme(points, free, count, centres, g, 1.0)
            labels[free[at]] = g
            admit(points, free[at], centres, sizes, g)
            count -= 1
            free[at] = free[count]
    for i in range(count):
        best, at = np.inf, 0
        for g in range(groups):
            rise = sizes[g] / (sizes[g] + 1.0) * squared(points, free[i], centres, g)
            if rise < best:
                best, at = rise, g
        labels[free[i]] = at
        admit(points, free[i], centres, sizes, at)
    return groups


@kernel
def surround(points, k, free, count, seed, near, far, labels, group):
    """The k free records nearest to ``seed`` become a group; how many are free then."""
    held = 0
    for i in range(count):
        gap = squared(points, free[i], points, seed)
        if held == k and gap >= far[k - 1]:
            continue
        slot = held if held < k else k - 1
        while slot > 0 and far[slot - 1] > gap:
            far[slot], near[slot] = far[slot - 1], near[slot - 1]
            slot -= 1
        far[slot], near[slot] = gap, free[i]
        held = min(held + 1, k)
    for i in range(k):
        labels[near[i]] = group
    kept = 0
    for i in range(count):
        if labels[free[i]] < 0:
            free[kept] = free[i]
            kept += 1
    return kept


@kernel
def _mdav(points, k, labels, free, near, far, centre):
    """Maximum distance to average vector; the last group has k to 2k - 1 members.

    Around the record furthest from the average of the free ones, then around the record
    furthest from that one, the k nearest become a group. ``labels`` comes in as -1.
    """
    n, d = points.shape
    count, group = n, 0
    for i in range(n):
        free[i] = i
    while count >= 2 * k:
        for c in range(d):
            total = 0.0
            for i in range(count):
                total += points[free[i], c]
            centre[0, c] = total / count
        seed = free[extreme(points, free, count, centre, 0, -1.0)]
        other = free[extreme(points, free, count, points, seed, -1.0)]
        pairs = count >= 3 * k
        count = surround(points, k, free, count, seed, near, far, labels, group)
        group += 1
        if pairs:
            count = surround(points, k, free, count, other, near, far, labels, group)
            group += 1
    for i in range(count):
        labels[free[i]] = group
