"""Draw true records from a model with one term for every pair of columns.

For many columns no joint table can be written down. The model is

    p(k) proportional to prod_a h_a(k_a) prod_{a<b} E_ab(k_a, k_b),

and the columns of a record are redrawn one at a time, given all others and the release (Gibbs
sampling). The factors of a tree of the strongest pairs are known in closed form [Chow-Liu]; from
there all factors are found by the same sweeps, on some of the records: wherever the drawn table of
a pair falls short of its denoised estimate, the factor goes up. Pairs that show no dependence get
no factor, so the work follows the dependence that is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pramana.estimation.channels import Channels
from pramana.estimation.joint import likelihood_of
from pramana.estimation.spectral import pair_margin, single_margin
from pramana.randomness import Keystream, Stream
from pramana.table.cells import cell_counts
from pramana.types import FloatArray, IntArray

__all__ = ["draw_from_pairs"]

TRAINING_RECORDS = 100_000
TRAINING_SWEEPS = 24
FINAL_SWEEPS = 4
SMOOTHING = 10.0
"""Records added to both sides of a comparison, so that rare cells do not follow their noise."""

LARGEST_LOG = 4.0
"""No factor goes beyond exp(4): tables with empty cells would drive it to infinity."""


@dataclass(frozen=True, eq=False)
class PairTargets:
    """What drawn records should look like: shares of every column, and of dependent pairs."""

    singles: list[FloatArray]
    pairs: dict[tuple[int, int], FloatArray]


class RecordSampler:
    """Records being drawn, with the factors of the model."""

    def __init__(
        self, places: list[IntArray], channels: Channels, targets: PairTargets, keystream: Keystream
    ) -> None:
        self.channels, self.targets, self.keystream = channels, targets, keystream
        self.sizes = channels.layout.shape
        self.seen = [likelihood_of(axis, places, channels) for axis in range(len(places))]
        self.truths: NDArray[np.int32] = np.ascontiguousarray(
            np.stack(places, axis=1).astype(np.int32)
        )
        self.base = [single + 1e-12 for single in targets.singles]
        self.logs = _tree_factors(targets, SMOOTHING / len(places[0]))
        self.sweeps = 0

    def sweep(self) -> None:
        """Redraw every randomised column of every record once."""
        from pramana.estimation.kernels import redraw_column

        for axis in range(len(self.sizes)):
            if self.channels.layout.axes[axis].step is None:
                continue
            likelihood, seen = self.seen[axis]
            neighbours, factors, starts = self._factors(axis)
            uniforms = self.keystream.uniforms(
                Stream("rebuild", axis), self.sweeps * len(self.truths), len(self.truths)
            )
            redraw_column(
                self.truths, axis, seen, likelihood, self.base[axis], neighbours, factors, starts,
                uniforms,
            )  # fmt: skip
        self.sweeps += 1

    def _factors(self, axis: int) -> tuple[IntArray, FloatArray, IntArray]:
        """The factors of a column's pairs, one after the other, the column's own value fastest."""
        neighbours, parts, starts, start = [], [np.zeros(0)], [], 0
        for (first, second), logs in self.logs.items():
            if axis not in (first, second):
                continue
            part = np.exp(logs if axis == second else logs.T).ravel()
            neighbours.append(first if axis == second else second)
            parts.append(part)
            starts.append(start)
            start += part.size
        return np.array(neighbours, np.int64), np.concatenate(parts), np.array(starts, np.int64)

    def compare(self) -> tuple[float, Lack]:
        """How far drawn pairs are from their targets, and what each table lacks."""
        records = len(self.truths)
        few = SMOOTHING / records
        singles = []
        for axis, size in enumerate(self.sizes):
            drawn = np.bincount(self.truths[:, axis], minlength=size) / records
            singles.append(np.log((self.targets.singles[axis] + few) / (drawn + few)))
        pairs, distance = {}, 0.0
        for (first, second), target in self.targets.pairs.items():
            flat = self.truths[:, first] * self.sizes[second] + self.truths[:, second]
            drawn = np.bincount(flat, minlength=target.size).reshape(target.shape) / records
            ratio = np.log((target + few) / (drawn + few))
            pairs[first, second] = ratio - singles[first][:, None] - singles[second]
            distance += float(np.abs(target - drawn).sum())
        return distance / max(len(pairs), 1), Lack(singles, pairs)

    def adjust(self, lack: Lack, rate: float) -> None:
        """Move every factor towards what its table lacks."""
        for axis, single in enumerate(lack.singles):
            self.base[axis] = self.base[axis] * np.exp(rate * single)
        for pair, table in lack.pairs.items():
            logs = self.logs[pair] + rate * table
            self.logs[pair] = np.clip(logs, -LARGEST_LOG, LARGEST_LOG)

    def factors(self) -> tuple[list[FloatArray], dict[tuple[int, int], FloatArray]]:
        """All factors, to come back to."""
        return list(self.base), dict(self.logs)


@dataclass(frozen=True, eq=False)
class Lack:
    """The logarithms by which drawn tables fall short of their targets."""

    singles: list[FloatArray]
    pairs: dict[tuple[int, int], FloatArray]


def _tree_factors(targets: PairTargets, few: float) -> dict[tuple[int, int], FloatArray]:
    """Factors of the tree of strongest dependence; 1 for all other pairs."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    logs, strengths = {}, []
    for (first, second), table in targets.pairs.items():
        independent = np.outer(targets.singles[first], targets.singles[second])
        ratio = np.log((table + few) / (independent + few))
        strengths.append(float((table * ratio).sum()))
        logs[first, second] = np.clip(ratio, -LARGEST_LOG, LARGEST_LOG)
    if not logs:
        return logs
    rows, columns = np.array(list(logs)).T
    size = len(targets.singles)
    # The tree is the shortest one; a constant keeps all lengths positive.
    lengths = 1 + max(strengths) - np.array(strengths)
    tree = minimum_spanning_tree(coo_array((lengths, (rows, columns)), shape=(size, size)))
    edges = set(zip(*(part.tolist() for part in tree.nonzero()), strict=True))
    return {pair: table if pair in edges else 0 * table for pair, table in logs.items()}


def draw_from_pairs(
    places: list[IntArray], channels: Channels, keystream: Keystream
) -> list[IntArray]:
    """Find the factors on some of the records, then draw all of them."""
    targets = _targets(places, channels)
    records = len(places[0])
    if records > TRAINING_RECORDS:
        # Released records are in random order, so the first ones are a random sample.
        some = [place[:TRAINING_RECORDS] for place in places]
        trained = RecordSampler(some, channels, targets, keystream)
        _train(trained)
        sampler = RecordSampler(places, channels, targets, keystream)
        sampler.base, sampler.logs, sampler.sweeps = trained.base, trained.logs, TRAINING_SWEEPS
    else:
        sampler = RecordSampler(places, channels, targets, keystream)
        _train(sampler)
    for _ in range(FINAL_SWEEPS):
        sampler.sweep()
    return [sampler.truths[:, axis].astype(np.int64) for axis in range(len(places))]


def _train(sampler: RecordSampler) -> None:
    """Sweep and adjust; where that leads away from the targets, go back and take smaller steps."""
    rate = 1 / (1 + 0.5 * len(sampler.logs) / max(len(sampler.sizes), 1))
    best, kept = np.inf, sampler.factors()
    for sweep in range(TRAINING_SWEEPS):
        sampler.sweep()
        distance, lack = sampler.compare()
        if distance > 1.15 * best:
            sampler.base, sampler.logs = list(kept[0]), dict(kept[1])
            rate /= 2
            continue
        if distance < best:
            best, kept = distance, sampler.factors()
        late = max(0, sweep - TRAINING_SWEEPS // 2)
        sampler.adjust(lack, rate / (1 + 0.3 * late))  # settle: average over the noise of draws
    if distance > 1.15 * best:
        sampler.base, sampler.logs = kept


def _targets(places: list[IntArray], channels: Channels) -> PairTargets:
    """Denoised shares of all columns and of those pairs that depend on each other."""
    sizes, records = channels.layout.shape, len(places[0])

    def counted(axes: tuple[int, ...]) -> FloatArray:
        shape = [sizes[axis] for axis in axes]
        return cell_counts([places[axis] for axis in axes], shape)

    axes = channels.layout.axes
    singles = [single_margin(counted, channels, axis) / records for axis in range(len(sizes))]
    pairs: dict[tuple[int, int], FloatArray] = {}
    for pair in combinations(range(len(sizes)), 2):
        if all(axes[axis].step is None for axis in pair):
            continue  # neither will be redrawn
        rows, columns = (singles[axis] * records for axis in pair)
        table = pair_margin(counted, channels, pair, (rows, columns))
        if np.abs(table - np.outer(rows, columns) / records).sum() > 1e-6 * records:
            pairs[pair] = table / records
    return PairTargets(singles, pairs)
