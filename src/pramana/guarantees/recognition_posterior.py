"""The posterior of condition C1, for every choice of keys.

For a choice of keys and a combination k0 of their values, write N_m(k0) for the probability that
a record of cell m is released with k0. The posterior that a record seen with k0 is that of a person
who is of cell m is

    N_m(k0) / sum_l U(l) N_l(k0)                                            [Cator, eq. 1]

Only the margin of a matrix enters: its columns added up over the cells that share k0. A joint step
is evaluated in integers over its transitions. Of independent steps the joint matrix is never
formed: numerators multiply, N_m(k0) = prod_s N_m_s(k0_s), so that the largest numerator over the
cells that occur is a table of ones and zeros contracted with each margin by maxima of products, and
the denominator is the table of counts contracted by sums, one axis at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from pramana.base.rounding import TOTAL, float_up
from pramana.base.text import counted, records_that
from pramana.errors import OutsideDomain, TooLarge, UnknownColumn
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Label, TransitionMatrix, UniformMixture
from pramana.schema.joint_cells import Counts, cell_codes, cell_numbers
from pramana.types import FloatArray, IntArray

MOST_ENTRIES = 30_000_000
"""The largest table of combinations that is contracted axis by axis."""

MOST_MIXED = 2_000
"""The largest uniform mixture whose entries are listed."""

LIMB = np.uint64(0xFFFF)
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
    joint: _JointStep | None = None
    step = mechanism.steps[0] if len(mechanism.steps) == 1 else None
    matrix = None if step is None or not set(step.columns) <= set(counts.columns) else step.matrix
    if isinstance(matrix, UniformMixture) and matrix.size > MOST_MIXED:
        matrix = None
    if step is not None and matrix is not None:
        joint = _JointStep.of(step, matrix, counts)
    worst = Worst(0.0, ())
    for keys in choices:
        unknown = [name for name in keys if name not in counts.columns]
        if unknown:
            raise UnknownColumn(
                f"Choices of keys must be among the counted columns, and {unknown} are not."
            )
        if joint is not None:
            posterior = joint.posterior(keys, at_least=worst.posterior)
        else:
            posterior = through_margins(mechanism, counts, keys)
        if posterior > worst.posterior:
            worst = Worst(posterior, tuple(keys))
    return worst


def _is_unique(counts: Counts, columns: Sequence[str]) -> bool:
    """Whether unchanged columns single out a record: then the posterior is 1."""
    return bool(counts.margin(*columns).numbers.min(initial=2) < 2)


def _combinations(counts: Counts, columns: Sequence[str]) -> tuple[IntArray, int]:
    """The combination of some columns in each cell, as a number; and how many there are."""
    codes, size = np.zeros(len(counts.cells), dtype=np.int64), 1
    for name in columns:
        place = counts.columns.index(name)
        wide = codes * len(counts.labels[place]) + counts.cells[:, place]
        seen, codes = np.unique(wide, return_inverse=True)
        size = len(seen)
    return codes, size


def _codes_of(step: Step, counts: Counts) -> IntArray:
    """The cells of a step as codes of the counted columns, in the order of the counts."""
    cells = step.cells
    codes = np.zeros((len(cells), len(step.columns)), dtype=np.int64)
    wanted = [name for name in counts.columns if name in step.columns]
    for place, name in enumerate(wanted):
        labels = counts.labels[counts.columns.index(name)]
        part = step.columns.index(name)
        try:
            (codes[:, place],) = cell_codes([labels], [(cell[part],) for cell in cells])
        except KeyError:
            raise OutsideDomain(
                f"The matrix on '{name}' has labels that the counts of the column do not list.",
                column=name,
            ) from None
    return codes


def _flat(codes: IntArray, sizes: Sequence[int]) -> IntArray:
    return cell_numbers(list(codes.T), sizes, records=len(codes))


def _cells_of_counts(
    codes: IntArray, columns: Sequence[str], counts: Counts
) -> tuple[IntArray, IntArray]:
    """The cell of the matrix that each counted cell belongs to, and those that it does not list."""
    places = [counts.columns.index(name) for name in columns]
    sizes = [len(counts.labels[place]) for place in places]
    numbers = _flat(codes, sizes)
    order = np.argsort(numbers)
    cells = _flat(counts.cells[:, places].astype(np.int64), sizes)
    nearest = order[np.minimum(np.searchsorted(numbers[order], cells), len(numbers) - 1)]
    return nearest, np.flatnonzero(numbers[nearest] != cells)


# -- independent steps: margins --------------------------------------------------------------------


def through_margins(mechanism: Mechanism, counts: Counts, keys: tuple[str, ...]) -> float:
    """Contract counts (by sums) and occurrence (by maxima) with the margin of each step."""
    steps = [step for step in mechanism.steps if set(step.columns) & set(keys)]
    moved = [name for step in steps for name in step.columns]
    fixed = [name for name in keys if name not in moved]
    strata = list(dict.fromkeys(name for step in steps for name in step.strata))
    if fixed and _is_unique(counts, fixed):
        return 1.0
    margin = counts.margin(*dict.fromkeys([*fixed, *moved, *strata]))
    unchanged, width = _combinations(margin, fixed)
    stratum_of, many = _combinations(margin, strata)
    below = above = np.zeros(())
    units = 64.0
    for number in range(many):
        inside = stratum_of == number
        part = Counts(margin.columns, margin.labels, margin.cells[inside], margin.numbers[inside])
        first = [part.cells[0, part.columns.index(name)] for name in strata]
        labels = [part.labels[part.columns.index(name)] for name in strata]
        stratum = {n: names[c] for n, names, c in zip(strata, labels, first, strict=True)}
        table, margins = _tensor(part, steps, unchanged[inside], keys, stratum, width=width)
        units += sum(4 * key_margin.matrix.size for key_margin in margins)
        total, highest = table.astype(float), (table > 0).astype(float)
        for axis, key_margin in enumerate(margins, start=1):
            total, highest = key_margin.add(total, axis), key_margin.highest(highest, axis)
        below, above = below + total, np.maximum(above, highest)
    ratio = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    return min(1.0, float(ratio.max(initial=0.0)) * (1 + units * 2.0**-52))


def _tensor(
    part: Counts,
    steps: list[Step],
    unchanged: IntArray,
    keys: tuple[str, ...],
    stratum: dict[str, Label],
    *,
    width: int,
) -> tuple[IntArray, list[_Margin]]:
    """Counts with one axis for the unchanged keys together and one a step; each step's margin."""
    axes, shape, margins = [unchanged], [width], []
    for step in steps:
        inside = part.margin(*step.columns)
        codes = _codes_of(step, inside)
        matrix = step.matrix
        if matrix is None:
            matrix = step.by_stratum.get(tuple(stratum[name] for name in step.strata))
        if matrix is None:
            raise OutsideDomain(
                f"A step on {step.columns} has no matrix for a stratum that occurs; it has "
                f"{len(step.by_stratum)}."
            )
        axis, unlisted = _cells_of_counts(codes, inside.columns, part)
        if len(unlisted):
            raise OutsideDomain("Some records are in cells that a joint matrix does not list.")
        axes.append(axis)
        shape.append(len(codes))
        asked = [place for place, name in enumerate(inside.columns) if name in keys]
        groups: IntArray | None = None
        if len(asked) < len(step.columns):
            sizes = [len(inside.labels[place]) for place in asked]
            groups = np.unique(_flat(codes[:, asked], sizes), return_inverse=True)[1]
        margins.append(_Margin(matrix, groups))
    if prod(shape) > MOST_ENTRIES:
        names = ", ".join(f"'{name}'" for name in keys)
        raise TooLarge(
            f"The combinations of {names} need a table of {prod(shape):,} entries, and at most "
            f"{MOST_ENTRIES:,} are formed. Coarsen the largest of these columns."
        )
    table = np.zeros(shape, dtype=np.int64)
    np.add.at(table, tuple(axes), part.numbers)
    return table, margins


@dataclass(frozen=True)
class _Margin:
    """A matrix whose columns are added up over cells that share the asked keys.

    ``groups`` numbers the released combinations; ``None`` if each label is one.
    """

    matrix: TransitionMatrix
    groups: IntArray | None

    @cached_property
    def entries(self) -> Any:
        """The margin in compressed columns; only what is not zero takes part in maxima."""
        from scipy import sparse

        table = self.matrix.sparse if isinstance(self.matrix, SparseRows) else self.matrix.values
        columns = sparse.csc_array(table)
        if self.groups is None:
            return columns
        size = self.matrix.size
        places = (np.arange(size), self.groups)
        together = sparse.csc_array(
            (np.ones(size), places), shape=(size, int(self.groups.max()) + 1)
        )
        return (columns @ together).tocsc()

    def add(self, table: FloatArray, axis: int) -> FloatArray:
        """Sum over m of table(m) * margin(m, k) along one axis."""
        if self.groups is None:
            return self.matrix.apply(table, axis=axis)
        moved = np.moveaxis(table, axis, -1)
        lines = moved.reshape(-1, moved.shape[-1]) @ self.entries
        result: FloatArray = np.moveaxis(lines.reshape(*moved.shape[:-1], -1), -1, axis)
        return result

    def highest(self, table: FloatArray, axis: int) -> FloatArray:
        """Max over m of table(m) * margin(m, k) along one axis."""
        if isinstance(self.matrix, UniformMixture) and self.groups is None:
            kept, other = self.matrix.kept / TOTAL, self.matrix.other / TOTAL  # kept >= other
            top: FloatArray = np.maximum(kept * table, other * table.max(axis=axis, keepdims=True))
            return top
        moved, margin = np.moveaxis(table, axis, -1), self.entries
        result = np.zeros((*moved.shape[:-1], margin.shape[1]))
        for k in range(margin.shape[1]):
            span = slice(margin.indptr[k], margin.indptr[k + 1])
            if span.stop > span.start:
                parts = moved[..., margin.indices[span]] * margin.data[span]
                np.max(parts, axis=-1, out=result[..., k])
        return np.moveaxis(result, -1, axis)


# -- one joint step: integers ----------------------------------------------------------------------


@dataclass(frozen=True)
class _JointStep:
    """All entries of a joint matrix that are not zero, for the rows that hold records.

    A row is a cell of the matrix; with columns released unchanged, a cell together with their
    values, and ``rows`` gives the cell of ``counts`` that each row is. Weights are cut into limbs
    of 16 bits, so that sums of count times limb are exact in floating point.
    """

    counts: Counts
    columns: tuple[str, ...]
    codes: IntArray  # (cells of the matrix, columns): positions of the labels of each column
    rows: IntArray
    numbers: IntArray
    sources: IntArray
    targets: IntArray
    limbs: FloatArray  # (4, entries)

    @classmethod
    def of(cls, step: Step, matrix: TransitionMatrix, counts: Counts) -> _JointStep:
        """From a step whose columns are all counted."""
        if isinstance(matrix, SparseRows):
            diagonal = np.arange(matrix.size)
            sources = np.concatenate([matrix.sources, diagonal])
            targets = np.concatenate([matrix.targets, diagonal])
            moves = (matrix.moves >> np.arange(0, 64, 16, dtype=np.uint64)[:, None]) & LIMB
            limbs = np.hstack([moves.astype(np.float64), _limbs(matrix.kept)])
        else:
            sources, targets = np.nonzero(matrix.weights)
            limbs = _limbs(matrix.weights[sources, targets].tolist())
        columns = tuple(name for name in counts.columns if name in step.columns)
        codes = _codes_of(step, counts)
        cells, unlisted = _cells_of_counts(codes, columns, counts)
        if len(unlisted):
            lost = records_that(int(counts.numbers[unlisted].sum()), "is", "are")
            raise OutsideDomain(
                f"{lost} in {counted(len(unlisted), 'cell')} that the joint matrix does not list."
            )
        if len(columns) == len(counts.columns):
            numbers = np.zeros(len(codes), dtype=np.int64)
            numbers[cells] = counts.numbers
            nothing = np.zeros(0, dtype=np.int64)
            return cls(counts, columns, codes, nothing, numbers, sources, targets, limbs)
        order = np.argsort(sources, kind="stable")
        first = np.searchsorted(sources[order], np.arange(len(codes) + 1))
        lengths = np.diff(first)[cells]
        if lengths.sum() > MOST_ENTRIES:
            raise TooLarge(
                f"The cells that occur with the unchanged columns have "
                f"{int(lengths.sum()):,} transitions, and at most {MOST_ENTRIES:,} are listed."
            )
        rows = np.repeat(np.arange(len(cells)), lengths)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        use = order[np.repeat(first[cells], lengths) + within]
        each = np.arange(len(cells))
        return cls(counts, columns, codes, each, counts.numbers, rows, targets[use], limbs[:, use])

    def posterior(self, keys: tuple[str, ...], *, at_least: float) -> float:
        """The largest posterior for one choice of keys, exact and rounded up."""
        fixed = [name for name in keys if name not in self.columns]
        if fixed and _is_unique(self.counts, fixed):
            return 1.0
        moved = [name for name in keys if name in self.columns]
        sizes = [len(self.counts.labels[self.counts.columns.index(name)]) for name in moved]
        places = [self.columns.index(name) for name in moved]
        seen, released = np.unique(_flat(self.codes[:, places], sizes), return_inverse=True)
        local, width = released[self.targets], len(seen)
        if fixed:
            unchanged = _combinations(self.counts, fixed)[0][self.rows[self.sources]]
            seen, local = np.unique(unchanged * width + local, return_inverse=True)
            width = len(seen)
        records = self.numbers[self.sources]
        below = [_sums(local, records * limb, width) for limb in self.limbs]
        # From rare rows to frequent ones: a posterior is at most 1 / U(m) [Cator, eq. 2].
        best, reach = 0.0, 0
        while reach < self.numbers.max(initial=0) and reach * max(best, at_least) < 1:
            low, reach = reach, max(16, 8 * reach)
            use = np.flatnonzero((records > low) & (records <= reach))
            if len(use):
                best = max(best, self._largest_of(use, local, below))
        return best

    def _largest_of(self, use: IntArray, local: IntArray, below: list[FloatArray]) -> float:
        """The largest posterior of some rows; those that look largest are compared as fractions."""
        width = len(below[0])
        pairs, inverse = np.unique(self.sources[use] * width + local[use], return_inverse=True)
        above = [_sums(inverse, limb[use], len(pairs)) for limb in self.limbs]
        combination = pairs % width
        ratio = _sum_of_limbs(above) / _sum_of_limbs(below)[combination]
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
    return np.asarray(np.bincount(groups, weights, size), dtype=np.float64)


def _limbs(weights: Sequence[int]) -> FloatArray:
    """Weights up to 2**64 in limbs of 16 bits; the last one may be 2**16."""
    low = [[(weight >> shift) & 0xFFFF for weight in weights] for shift in (0, 16, 32)]
    return np.array([*low, [weight >> 48 for weight in weights]], dtype=np.float64)


def _sum_of_limbs(limbs: list[FloatArray]) -> FloatArray:
    """Limbs of 16 bits as one number, rounded."""
    total = limbs[0]
    for place, limb in enumerate(limbs[1:], start=1):
        total = total + np.ldexp(limb, 16 * place)
    return total
