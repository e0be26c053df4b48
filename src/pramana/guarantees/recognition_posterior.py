"""The posterior of condition C1, for every choice of keys, through margins.

For a choice of keys pi and a combination k0 of their values, write N_m(k0) for the probability that
a record of cell m is released with k0. The posterior that a record seen with k0 is John's, who is
of cell m, is

    N_m(k0) / sum_l U(l) N_l(k0)                                            [Cator, eq. 1]

Only the margin of a matrix enters: its columns added up over the cells that share k0. A joint step
is read in integers through its transitions. Independent steps multiply, so that numerator and
denominator are contracted one axis at a time, and the joint matrix is never formed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pramana.errors import OutsideDomain, TooLarge, UnknownColumn
from pramana.matrices import Label, Mechanism, SparseRows, Step, TransitionMatrix, UniformMixture
from pramana.numeric import float_up

if TYPE_CHECKING:
    from pramana.table.counts import Counts

__all__ = ["Worst", "worst_posterior"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_ENTRIES = 60_000_000
"""The largest table of combinations that is contracted axis by axis."""

CLOSE = 1e-12
EXACT_TRIES = 50_000


@dataclass(frozen=True)
class Worst:
    """The largest posterior, rounded up, and the choice of keys that gives it."""

    posterior: float
    keys: tuple[str, ...]


def worst_posterior(
    mechanism: Mechanism, counts: Counts, choices: Sequence[tuple[str, ...]]
) -> Worst:
    """The largest posterior over all cells that occur, all choices and all combinations."""
    worst = Worst(0.0, ())
    joint = _only_joint_step(mechanism, counts)
    entries = _Entries.of(joint, counts) if joint is not None else None
    for keys in choices:
        unknown = [name for name in keys if name not in counts.columns]
        if unknown:
            raise UnknownColumn(
                f"Choices of keys must be among the counted columns, and {unknown} are not."
            )
        if entries is not None:
            found = entries.posterior(keys, at_least=worst.posterior)
        else:
            found = _through_margins(mechanism, counts, keys)
        if found > worst.posterior:
            worst = Worst(found, tuple(keys))
    return worst


def _only_joint_step(mechanism: Mechanism, counts: Counts) -> Step | None:
    """The one step on all columns, if the mechanism is that, and its entries can be listed."""
    if len(mechanism.steps) != 1:
        return None
    step = mechanism.steps[0]
    if step.matrix is None or set(step.columns) != set(counts.columns):
        return None
    if isinstance(step.matrix, UniformMixture) and step.matrix.size > 2_000:
        return None
    return step


# -- one joint step: integers --------------------------------------------------------------------


@dataclass(frozen=True)
class _Entries:
    """All entries of a joint matrix that are not zero, with the counts of their rows."""

    counts: Counts
    codes: IntArray  # (cells of the matrix, columns): positions of the labels of each column
    numbers: IntArray
    sources: IntArray
    targets: IntArray
    limbs: NDArray[np.float64]  # (4, entries): weights in pieces of 16 bits, so that sums are exact

    @classmethod
    def of(cls, step: Step, counts: Counts) -> _Entries:
        assert step.matrix is not None  # noqa: S101 - for the type checker
        sources, targets, limbs = _entries(step.matrix)
        codes = _codes(step, counts)
        numbers = _numbers_of_cells(codes, counts)
        return cls(counts, codes, numbers, sources, targets, limbs)

    def posterior(self, keys: tuple[str, ...], *, at_least: float) -> float:
        """The largest posterior for one choice of keys, exact and rounded up."""
        places = [self.counts.columns.index(name) for name in keys]
        sizes = [len(self.counts.labels[place]) for place in places]
        combination = np.zeros(len(self.codes), dtype=np.int64)
        for place, size in zip(places, sizes, strict=True):
            combination = combination * size + self.codes[:, place]
        seen, local = np.unique(combination, return_inverse=True)
        below: list[FloatArray] = [
            _sums(local[self.targets], self.numbers[self.sources] * limb, len(seen))
            for limb in self.limbs
        ]
        return self._largest(local, below, _together(below), at_least)

    def _largest(
        self, local: IntArray, below: list[FloatArray], denominator: FloatArray, at_least: float
    ) -> float:
        """From rare rows to frequent ones: a posterior is at most 1 / U(m) [Cator, eq. 2]."""
        rows = self.numbers[self.sources]
        best, reach = 0.0, 0
        while reach < self.numbers.max(initial=0) and reach * max(best, at_least) < 1:
            low, reach = reach, max(16, 8 * reach)
            use = np.flatnonzero((rows > low) & (rows <= reach))
            if len(use):
                best = max(best, self._largest_of(use, local, below, denominator))
        return best

    def _largest_of(
        self, use: IntArray, local: IntArray, below: list[FloatArray], denominator: FloatArray
    ) -> float:
        """The largest posterior of some rows; those that look largest are compared as fractions."""
        width = int(local.max()) + 1
        place = self.sources[use] * width + local[self.targets[use]]
        pairs, inverse = np.unique(place, return_inverse=True)
        above = [_sums(inverse, limb[use], len(pairs)) for limb in self.limbs]
        combination = pairs % width
        ratio = _together(above) / denominator[combination]
        close = np.flatnonzero(ratio >= ratio.max() * (1 - CLOSE))
        if len(close) > EXACT_TRIES:  # too many ties to settle in fractions: one unit more
            return min(1.0, float(ratio.max()) * (1 + 2 * CLOSE))
        best = Fraction(0)
        for i in close.tolist():
            up = sum(int(part[i]) << (16 * k) for k, part in enumerate(above))
            down = sum(int(part[combination[i]]) << (16 * k) for k, part in enumerate(below))
            if up * best.denominator > best.numerator * down:
                best = Fraction(up, down)
        return float_up(best)


def _sums(groups: IntArray, weights: FloatArray, size: int) -> FloatArray:
    """Weights added up by group."""
    return np.asarray(np.bincount(groups, weights, size), dtype=np.float64)


def _together(limbs: list[FloatArray]) -> FloatArray:
    """Pieces of 16 bits as one number, rounded."""
    total = np.ldexp(limbs[0], 0)
    for place, limb in enumerate(limbs[1:], start=1):
        total = total + np.ldexp(limb, 16 * place)
    return total


def _entries(matrix: TransitionMatrix) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows, columns and weights of what is not zero, the weights in pieces of 16 bits.

    Each piece is small, so that sums of count times piece are exact in floating point.
    """
    if isinstance(matrix, SparseRows):
        numbers = np.arange(matrix.size)
        shifts = np.arange(0, 64, 16, dtype=np.uint64)[:, None]
        moves = (matrix.moves[None, :] >> shifts) & np.uint64(0xFFFF)
        limbs = np.hstack([moves.astype(np.float64), _pieces(matrix.kept)])
        sources = np.concatenate([matrix.sources, numbers])
        targets = np.concatenate([matrix.targets, numbers])
        return sources, targets, limbs
    weights = matrix.weights
    sources, targets = np.nonzero(weights)
    return sources, targets, _pieces([int(weight) for weight in weights[sources, targets]])


def _pieces(weights: list[int]) -> FloatArray:
    low = [[(weight >> (16 * part)) & 0xFFFF for weight in weights] for part in range(3)]
    return np.array([*low, [weight >> 48 for weight in weights]], dtype=np.float64)


def _codes(step: Step, counts: Counts) -> IntArray:
    """The cells of a step as codes of the counted columns, in the order of the counts."""
    cells = step.labels if len(step.columns) > 1 else [(label,) for label in step.labels]
    codes = np.zeros((len(cells), len(step.columns)), dtype=np.int64)
    wanted = [name for name in counts.columns if name in step.columns]
    for place, name in enumerate(wanted):
        labels = counts.labels[counts.columns.index(name)]
        where = {label: position for position, label in enumerate(labels)}
        part = step.columns.index(name)
        try:
            codes[:, place] = [where[cell[part]] for cell in cells]
        except KeyError:
            raise OutsideDomain(
                f"The matrix on '{name}' has labels that the counts of the column do not list."
            ) from None
    return codes


def _numbers_of_cells(codes: IntArray, counts: Counts) -> IntArray:
    """How many records each cell of the matrix has."""
    sizes = [len(labels) for labels in counts.labels]
    numbers = np.zeros(len(codes), dtype=np.int64)
    flat = _flat(codes, sizes)
    order = np.argsort(flat)
    cells = _flat(counts.cells.astype(np.int64), sizes)
    found = order[np.minimum(np.searchsorted(flat[order], cells), len(flat) - 1)]
    missing = flat[found] != cells
    if missing.any():
        raise OutsideDomain(
            f"{int(counts.numbers[missing].sum())} records are in {int(missing.sum())} cells that "
            "the joint matrix does not list."
        )
    numbers[found] = counts.numbers
    return numbers


def _flat(codes: IntArray, sizes: Sequence[int]) -> IntArray:
    """One number a cell."""
    flat = np.zeros(len(codes), dtype=np.int64)
    for place, size in enumerate(sizes):
        flat = flat * size + codes[:, place]
    return flat


# -- independent steps: one axis at a time -------------------------------------------------------


def _through_margins(mechanism: Mechanism, counts: Counts, keys: tuple[str, ...]) -> float:
    """Contract counts (by sums) and occurrence (by maxima) with the margin of each step."""
    steps = [step for step in mechanism.steps if set(step.columns) & set(keys)]
    moved = {name for step in steps for name in step.columns}
    fixed = [name for name in keys if name not in moved]
    strata = [name for step in steps for name in step.strata]
    needed = [*dict.fromkeys([*fixed, *(n for step in steps for n in step.columns), *strata])]
    margin = counts.margin(*needed)
    below: FloatArray | None = None
    above: FloatArray | None = None
    units = 64.0
    for stratum, part in _by_stratum(margin, tuple(dict.fromkeys(strata))):
        table, maps = _tensor(part, steps, fixed, keys, stratum)
        units += sum(4 * axis.shape[0] for axis in maps)
        total, highest = table.astype(float), (table > 0).astype(float)
        for axis, map_ in enumerate(maps, start=1):
            total = np.moveaxis(np.moveaxis(total, axis, -1) @ map_, -1, axis)
            highest = _max_product(highest, map_, axis)
        below = total if below is None else below + total
        above = highest if above is None else np.maximum(above, highest)
    if below is None or above is None:
        return 0.0
    ratio = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    return min(1.0, float(ratio.max(initial=0.0)) * (1 + units * 2.0**-52))


def _by_stratum(margin: Counts, strata: tuple[str, ...]) -> list[tuple[dict[str, Label], Counts]]:
    """The counts of each stratum that occurs."""
    if not strata:
        return [({}, margin)]
    from pramana.table.counts import Counts

    places = [margin.columns.index(name) for name in strata]
    parts = []
    for codes in np.unique(margin.cells[:, places], axis=0):
        inside = (margin.cells[:, places] == codes).all(axis=1)
        values = {
            name: margin.labels[place][code]
            for name, place, code in zip(strata, places, codes.tolist(), strict=True)
        }
        part = Counts(margin.columns, margin.labels, margin.cells[inside], margin.numbers[inside])
        parts.append((values, part))
    return parts


def _tensor(
    part: Counts,
    steps: list[Step],
    fixed: list[str],
    keys: tuple[str, ...],
    stratum: dict[str, Label],
) -> tuple[NDArray[np.int64], list[FloatArray]]:
    """Counts with one axis for the fixed keys together and one a step; and each step's margin."""
    columns = [part.columns.index(name) for name in fixed]
    sizes = [len(part.labels[place]) for place in columns]
    axes = [_flat(part.cells[:, columns].astype(np.int64), sizes)]
    shape, maps = [prod(sizes)], []
    for step in steps:
        inside = part.margin(*step.columns)
        codes = _codes(step, inside)
        matrix = step.matrix if step.matrix is not None else _matrix_of(step, stratum)
        maps.append(_margin_of(matrix, codes, step, keys, inside))
        widths = [len(labels) for labels in inside.labels]
        where = _flat(codes, widths)
        order = np.argsort(where)
        places = [part.columns.index(name) for name in step.columns]
        cells = _flat(part.cells[:, places].astype(np.int64), widths)
        found = order[np.minimum(np.searchsorted(where[order], cells), len(where) - 1)]
        if (where[found] != cells).any():
            raise OutsideDomain("Some records are in cells that a joint matrix does not list.")
        axes.append(found)
        shape.append(len(codes))
    largest = prod(max(n, m.shape[1]) for n, m in zip(shape[1:], maps, strict=True)) * shape[0]
    if largest > MOST_ENTRIES:
        names = ", ".join(f"'{name}'" for name in keys)
        raise TooLarge(
            f"The combinations of {names} need a table of {largest:,} entries, and at most "
            f"{MOST_ENTRIES:,} are formed. Coarsen the largest of these columns."
        )
    table = np.zeros(shape, dtype=np.int64)
    np.add.at(table, tuple(axes), part.numbers)
    return table, maps


def _matrix_of(step: Step, stratum: dict[str, Label]) -> TransitionMatrix:
    key = tuple(stratum[name] for name in step.strata)
    if key not in step.by_stratum:
        raise OutsideDomain(
            f"A step on {step.columns} has no matrix for a stratum that occurs; it has "
            f"{len(step.by_stratum)}."
        )
    return step.by_stratum[key]


def _margin_of(
    matrix: TransitionMatrix,
    codes: IntArray,
    step: Step,
    keys: tuple[str, ...],
    inside: Counts,
) -> FloatArray:
    """The matrix with its columns added up over cells that share the asked keys."""
    asked = [place for place, name in enumerate(step.columns) if name in keys]
    if len(asked) == len(step.columns):
        return matrix.values
    sizes = [len(inside.labels[place]) for place in asked]
    _, local = np.unique(_flat(codes[:, asked], sizes), return_inverse=True)
    margin = np.zeros((matrix.size, int(local.max()) + 1))
    np.add.at(margin.T, local, matrix.values.T)
    return margin


def _max_product(table: FloatArray, map_: FloatArray, axis: int) -> FloatArray:
    """max over m of table(m) * map(m, k) along one axis, a released value at a time."""
    moved = np.moveaxis(table, axis, -1)
    result = np.empty((*moved.shape[:-1], map_.shape[1]))
    for k in range(map_.shape[1]):
        np.max(moved * map_[:, k], axis=-1, out=result[..., k])
    return np.moveaxis(result, -1, axis)
