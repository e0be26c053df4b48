"""Central privacy of shuffled releases: reference figures, enumeration, time.

A thousand random channels (dense, mixtures, products, reports, strata) are looked at for two to six
people over all tables and all neighbours: the bound must never be below what is true.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from fractions import Fraction

import numpy as np

from benchmarks._enumeration import worlds
from benchmarks._measure import Result
from pramana.guarantees.shuffled_bound import BlanketLaw, delta_of, epsilon_of

REFERENCE = {
    10**3: ((1.146, 0.5198, 0.1801), (1.686, 0.7108, 0.2485), (0.4266, 0.1886, 0.0597)),
    10**4: ((0.5855, 0.3074, 0.1434), (0.8037, 0.4205, 0.1991), (0.2786, 0.1304, 0.0529)),
    10**5: ((0.3122, 0.1706, 0.0865), (0.4270, 0.2359, 0.1218), (0.1770, 0.0846, 0.0367)),
    10**6: ((0.1682, 0.0929, 0.0483), (0.2326, 0.1306, 0.0692), (0.1098, 0.0535, 0.0237)),
    10**8: ((0.0489, 0.0270, 0.0141), (0.0701, 0.0396, 0.0212), (0.0390, 0.0198, 0.0092)),
}
"""Central epsilon at k = 2, 10, 100: any channel at 1e-6 and 1e-9, then columns of 2, 5, 10."""

LARGEST = {
    10**4: {0.1: 1.830, 0.5: 4.336, 1: 5.470, 2: 6.321, 4: 6.590},
    10**5: {0.1: 3.708, 0.5: 6.604, 1: 7.761, 2: 8.618, 4: 8.888},
    10**6: {0.1: 5.944, 0.5: 8.903, 1: 10.062, 2: 10.920, 4: 11.190},
}
"""The largest local epsilon of any channel for a central one at 1e-6."""

COLUMNS = (((2,), 1e-6), ((2,), 1e-9), ((2, 5, 10), 1e-6))


def law_of_columns(dial: float, sizes: tuple[int, ...]) -> BlanketLaw:
    """Of columns with one retention for all, at a local epsilon; one of two values is a coin."""
    low, high = 0.0, 1.0
    for _ in range(100):
        rho = (low + high) / 2
        total = sum(math.log1p(size * rho / (1 - rho)) for size in sizes)
        low, high = (rho, high) if total <= dial else (low, rho)
    ratios = [Fraction(1 + size * low / (1 - low)) for size in sizes]
    return BlanketLaw.of_steps(map(BlanketLaw.of_mixture, sizes, ratios))


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--channels", type=int, default=1000)


def run(options: argparse.Namespace) -> Result:
    result = Result(
        "Central epsilon of shuffled records",
        ("records", "columns", "delta", "k = 2", "k = 10", "k = 100", "seconds each"),
    )
    gap = 0.0
    for records in (*REFERENCE, 10**9):
        for place, (sizes, delta) in enumerate(COLUMNS):
            begin, found = time.process_time(), []
            for k in (2, 10, 100):
                law = law_of_columns(math.log((records - 1) / (k - 1)) / 2, sizes)
                found.append(epsilon_of([law], anonymity_set=records, delta=delta))
            seconds = (time.process_time() - begin) / 3
            stated = REFERENCE.get(records, [found] * 3)[place]
            gap = max(gap, *(abs(a / b - 1) for a, b in zip(found, stated, strict=True)))
            what = "any channel" if sizes == (2,) else ", ".join(map(str, sizes))
            numbers = (f"{number:.4f}" for number in found)
            result.rows.append((f"{records:,}", what, f"{delta:g}", *numbers, f"{seconds:.3f}"))
    result.notes.append(f"Furthest from the reference table: {100 * gap:.2f} %, its own rounding.")
    result.notes.append(_enumerated(options.channels))
    return result


def _enumerated(channels: int) -> str:
    """How often the bound is below the truth, and how far above it is."""
    random, above, below = np.random.default_rng(1), [], 0
    for world in itertools.islice(worlds(1), channels):
        people = int(random.integers(2, world.most_people + 1))
        dial = math.log(max(law.ratio for law in world.laws[0]))
        factor = max(Fraction(1), Fraction(round(16 * math.exp(random.uniform(0, dial))), 16))
        epsilon = max(0.0, math.log(factor) * (1 - 2**-50))
        bound = min(
            max(delta_of(law, anonymity_set=people, epsilon=epsilon) for law in laws)
            for laws in world.laws
        )
        true = world.true_delta(people, factor)
        below += Fraction(bound) < true
        above += [bound / float(true)] if true else []
    return (
        f"Of {channels:,} random channels for 2 to 6 people, looked at over all tables and "
        f"neighbours, the bound is below the truth in {below}; its median is "
        f"{np.median(above):.3f} times the true delta."
    )
