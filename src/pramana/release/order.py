"""Was the order of the released records drawn at random?

Four signs that it was not, each with a known law under a uniform shuffle whatever the values are:
more records than chance allows stand where they stood (or where they stood from the end); records
that can be told apart by columns released as they are keep the order that they had; the values of a
column stand earlier or later in the file than others; and, moved all by as much, turned or not,
records stand near those that they stood near, which finds rotations, swaps and exchanged parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pramana.release.checks import Check
from pramana.release.paired import Pair, PairedRecords, joined
from pramana.types import FloatArray, IntArray

__all__ = ["in_place", "linked", "order_check"]

FEWEST = 10
FEWEST_MOVED = 200
MOST_SCORES = 8
BLIND = "cannot tell here: these columns are too alike"
UNSEEN = "a shuffle inside stretches of some dozens of records may pass"
FEWEST_MEETINGS = 50
MOST_MOVED = 100_000
WIDTHS = (1, 16, 128)
MOST_GROUPS = 1_000


@dataclass(frozen=True)
class _Sign:
    """One test: how likely chance is to do the same, and what was seen."""

    p_value: float
    seen: str


def order_check(records: PairedRecords, *, level: float) -> Check:
    """Whether the released order could be that of a shuffle; wrong once in 1 / ``level``."""
    signs = list(_signs(records))
    if not signs:
        return Check.stated("order", "too few records to see whether they were shuffled")
    worst = min(signs, key=lambda sign: sign.p_value)
    if worst.p_value < level / len(signs):
        return Check.of("order", False, f"not that of a shuffle: {worst.seen}")
    seen = _power(records, level)
    told = f"could be that of a shuffle by {len(signs)} tests; {seen or BLIND}; {UNSEEN}"
    return Check.stated("order", told) if seen is None else Check.of("order", True, told)


def _signs(records: PairedRecords) -> Iterator[_Sign]:
    columns = {**records.kept, **records.randomised}
    whole = joined(columns.values())
    together = {"all columns": whole} if whole is not None and len(columns) > 1 else {}
    for name, pair in (columns | together).items():
        if len(pair.before) < FEWEST:
            return
        yield _places(name, pair, "their old place")
        backward = Pair(pair.before[::-1], pair.after, pair.size)
        yield _places(name, backward, "their old place counted from the end")
    large = bool(together) and len(next(iter(together.values())).before) > MOST_MOVED
    for name, pair in (together if large else columns | together).items():
        yield _moved(name, pair, "moved alike")
        yield _moved(name, Pair(pair.before[::-1], pair.after, pair.size), "turned and moved alike")
    for name, pair in columns.items():
        if 1 < pair.size <= MOST_GROUPS:
            yield _Sign(_kruskal(pair), f"values of {name} gather in parts of the file")
    rows = linked(records.kept_together)
    if rows is not None:
        yield _Sign(_spearman(*rows), "records that can be told apart keep their order")


def in_place(pair: Pair) -> tuple[int, float, float]:
    """Records whose value stands where it stood, and mean and variance of that in a shuffle.

    The variance is that of a sum over a random permutation [Hoeffding51].
    """
    n = len(pair.before)
    a, b = (np.bincount(codes, minlength=pair.size).astype(float) for codes in
            (pair.before, pair.after))  # fmt: skip
    hits = float(a @ b)
    spread = hits - (a @ b**2) / n - (a**2 @ b) / n + hits**2 / n**2
    return int((pair.before == pair.after).sum()), hits / n, max(spread, 0.0) / max(n - 1, 1)


def _places(name: str, pair: Pair, where: str) -> _Sign:
    from scipy.stats import norm, poisson

    found, mean, variance = in_place(pair)
    # A chance that is small for each record makes a Poisson number, else a normal one; the larger
    # of the two tails is taken.
    tails = [float(poisson.sf(found - 1, mean))] if mean < 1000 else []
    if variance > 25:
        tails.append(float(norm.sf((found - 0.5 - mean) / math.sqrt(variance))))
    seen = f"{name} stands at {where} in {found:,} records, where chance puts {mean:,.0f}"
    return _Sign(max(tails, default=1.0) if found > mean else 1.0, seen)


def _moved(name: str, pair: Pair, how: str) -> _Sign:
    """Do the records stand, all moved by as much, near those that they stood near?

    The scores of the true records, summed over windows, against those of the released ones, at
    every distance. For orthogonal scores the sums T have in a shuffle the covariance
    (sum X_p X_q)(sum Y_p Y_q) / (n - 1), so that T' C^-1 T is chi-square.
    """
    from scipy.stats import chi2

    n = len(pair.after)
    if n < FEWEST_MOVED:
        return _Sign(1.0, "")
    group = pair.in_groups(MOST_SCORES)
    x, y = (_scores(codes, group.size) for codes in (group.before, group.after))
    numbers = np.array([np.bincount(c, minlength=group.size)[: group.size - 1] for c in
                        (group.before, group.after)])  # fmt: skip
    # Rare values meet too seldom for a normal law.
    seen = (np.minimum(numbers, n - numbers) ** 2 >= FEWEST_MEETINGS * n).all(axis=0)
    x, y = x[seen], y[seen]
    widths = [width for width in WIDTHS if width <= n // 20]
    best, at = 1.0, ""
    for width in widths if len(x) else ():
        sums = np.array([_window(own, width) for own in x])
        covariance = (sums @ sums.T) * (y @ y.T) / (n - 1)
        values, vectors = np.linalg.eigh(covariance)
        kept = values > 1e-9 * max(float(values.max()), 1e-300)
        found = np.array([_at_all_distances(a, b) for a, b in zip(sums, y, strict=True)])
        spread = (vectors[:, kept].T @ found) ** 2 / values[kept, None]
        worst = float(spread.sum(axis=0).max()) if kept.any() else 0.0
        chance = min(1.0, float(chi2.sf(worst, max(int(kept.sum()), 1))) * n * len(widths))
        if chance < best:
            best, at = chance, f"{name}: records stand near their old neighbours, {how}"
    return _Sign(best, at)


def _scores(codes: IntArray, size: int) -> FloatArray:
    """One score a value but the last, less its mean."""
    scores = np.array([(codes == own).astype(float) for own in range(size - 1)])
    flat: FloatArray = scores.reshape(-1, len(codes))
    less: FloatArray = flat - flat.mean(axis=1, keepdims=True)
    return less


def _window(scores: FloatArray, width: int) -> FloatArray:
    """Sums over so many neighbours, in a ring."""
    if width == 1:
        return scores
    total = np.cumsum(np.concatenate([scores, scores[:width]]))
    sums: FloatArray = total[width:] - total[:-width]
    less: FloatArray = sums - sums.mean()
    return less


def _at_all_distances(x: FloatArray, y: FloatArray) -> FloatArray:
    """The sums of products at every distance, in a ring."""
    from scipy.fft import irfft, rfft

    sums: FloatArray = irfft(np.conj(rfft(x)) * rfft(y), n=len(x))
    return sums


def _kruskal(pair: Pair) -> float:
    """Kruskal and Wallis: do the records of one value stand earlier than those of another?"""
    from scipy.stats import chi2

    n = len(pair.after)
    numbers = np.bincount(pair.after, minlength=pair.size)
    sums = np.bincount(pair.after, weights=np.arange(1, n + 1), minlength=pair.size)
    large = numbers >= 5
    if large.sum() < 2 or n < 50:
        return 1.0
    # Values with few records are put together: chi-square is a law of large numbers.
    sizes = np.append(numbers[large], numbers[~large].sum())
    totals = np.append(sums[large], sums[~large].sum())
    sizes, totals = sizes[sizes > 0], totals[sizes > 0]
    statistic = 12 / (n * (n + 1)) * float((totals**2 / sizes).sum()) - 3 * (n + 1)
    return float(chi2.sf(statistic, len(sizes) - 1))


def linked(kept: Pair | None) -> tuple[IntArray, IntArray] | None:
    """Rows of the original and of the release that are the same person, where that can be seen."""
    if kept is None:
        return None
    numbers = [np.bincount(codes, minlength=kept.size) for codes in (kept.before, kept.after)]
    alone = (numbers[0] == 1) & (numbers[1] == 1)
    if alone.sum() < FEWEST:
        return None
    places = [np.empty(kept.size, dtype=np.int64) for _ in range(2)]
    for place, codes in zip(places, (kept.before, kept.after), strict=True):
        place[codes] = np.arange(len(codes))
    return places[0][alone], places[1][alone]


def _spearman(before: IntArray, after: IntArray) -> float:
    """The correlation of two orders: normal with variance 1 / (n - 1) in a shuffle."""
    from scipy.stats import norm

    ranks = [np.argsort(np.argsort(rows)).astype(float) for rows in (before, after)]
    n = len(before)
    if n < 50:
        return 1.0
    correlation = float(np.corrcoef(np.stack(ranks))[0, 1])
    return 2 * float(norm.sf(abs(correlation) * math.sqrt(n - 1)))


def _power(records: PairedRecords, level: float) -> str | None:
    """The share of records in their old place that would have been found, by the best column."""
    from scipy.stats import norm

    best = 1.0
    for pair in (*records.kept.values(), *records.randomised.values()):
        _, mean, variance = in_place(pair)
        free = len(pair.before) - mean
        reach = (norm.isf(level) + 3) * math.sqrt(max(variance, mean, 1.0))
        best = min(best, reach / free if free > 0 else 1.0)
    if best >= 1:
        return None
    return f"one that leaves {100 * best:.2g} % of the values of a column in place would be found"
