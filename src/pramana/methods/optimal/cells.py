"""The joint cells of the keys with their counts, and the loss of a matrix on them.

A cell belongs to combinations of a few keys. The loss is the expected squared error of the
estimated counts. With Q = P^-1 and y = u P the expected released counts, the estimate
u_hat = Q' released is unbiased [Cator, eq. 4], and its expected squared error over all cells is

    n^2 l2(P) = sum_l y_l sum_k Q_lk^2 - n                          [Cator, Sec. 3]

with the gradient  u_a r_b - 2 [Q' diag(y) Q Q']_ab,  r_b = sum_k Q_bk^2. Near the identity it is
twice the expected number of changes (the paper's own figures differ by that factor of 2).

The Kullback-Leibler loss E sum_k mu_k log(mu_k / mu_hat_k) has no closed form, and does not exist
where an estimate may be negative. Since E mu_hat = mu, it is to second order

    l_KL(P) = sum_k Var(mu_hat_k) / (2 mu_k)

over the cells that occur: the same sum with the weights 1 / (2 n u_k). A cell without records has
no weight in it, so that its row is held at the identity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pramana.base.text import records_that
from pramana.errors import InvalidNumber, OutsideDomain, TooLarge
from pramana.guarantees.correct_match import frequencies_by_label
from pramana.guarantees.spontaneous_recognition import choices_of_keys
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Label, TransitionMatrix
from pramana.schema.joint_cells import CellRules, Counter, Counts, cell_codes, cell_numbers
from pramana.types import BoolArray, FloatArray, IntArray

Loss = Literal["l2", "kl"]
LOSSES: Final = get_args(Loss)
"""What is minimised [Cator, Sec. 3]: the squared error, or the Kullback-Leibler divergence."""

Donors = Literal["any", "frequent"]
DONORS: Final = get_args(Donors)
"""Which records may change: any, or those of frequent cells alone, in proportion to frequency."""

MOST_CELLS = 2_000_000
"""The largest joint domain that is enumerated."""

LEAST_KEPT = 0.05
"""The default lower bound on the probability that a record stays unchanged."""

BLOCK = 512
"""Right-hand sides that are solved for at a time."""


@dataclass(frozen=True)
class KeyCells:
    """Possible cells, the number of records in each, and their combinations.

    They are all possible cells, or a ``partial`` list of relevant ones: cells that are not listed
    have no records, and no record moves to them.

    ``combination[i, c]`` is the number of the combination that cell i has for choice c of keys;
    numbers run through all choices, and ``totals[k]`` is U_pi(k0), the records of combination k.
    """

    counts: Counts
    choices: tuple[tuple[str, ...], ...]
    codes: IntArray
    numbers: FloatArray
    fixed: BoolArray
    combination: IntArray
    totals: FloatArray
    rules: CellRules
    partial: bool
    loss: Loss = "l2"
    donors: Donors = "any"

    @classmethod
    def of(
        cls,
        counts: Counts,
        *,
        width: int,
        choices: Sequence[Sequence[str]] = (),
        rules: CellRules | None = None,
    ) -> KeyCells:
        """All cells that are possible under the rules."""
        rules = rules or CellRules()
        all_choices = choices_of_keys(counts.columns, width=width, choices=choices)
        cells = prod(counts.sizes)
        if cells > MOST_CELLS:
            largest = max(range(len(counts.sizes)), key=lambda place: counts.sizes[place])
            raise TooLarge(
                f"The keys have {cells:,} joint cells, and at most {MOST_CELLS:,} can be "
                f"enumerated. Coarsen '{counts.columns[largest]}', which has "
                f"{counts.sizes[largest]:,} values.",
                column=counts.columns[largest],
            )
        codes = np.indices(counts.sizes).reshape(len(counts.sizes), -1).T.astype(np.int64)
        codes = codes[rules.possible(codes.T)]
        return cls._numbered(counts, all_choices, codes, rules, partial=False)

    @classmethod
    def listed(
        cls,
        counts: Counts,
        codes: IntArray,
        *,
        choices: Sequence[tuple[str, ...]],
        rules: CellRules,
    ) -> KeyCells:
        """Some cells, those that occur among them."""
        _require_possible(counts, ~rules.possible(counts.cells.astype(np.int64).T))
        return cls._numbered(counts, tuple(choices), codes, rules, partial=True)

    @classmethod
    def _numbered(
        cls,
        counts: Counts,
        choices: tuple[tuple[str, ...], ...],
        codes: IntArray,
        rules: CellRules,
        *,
        partial: bool,
    ) -> KeyCells:
        flat, occurring = (
            cell_numbers(list(cells.T), counts.sizes) for cells in (codes, counts.cells)
        )
        order = np.argsort(flat)
        place = order[np.minimum(np.searchsorted(flat[order], occurring), len(flat) - 1)]
        _require_possible(counts, flat[place] != occurring)
        numbers = np.zeros(len(codes))
        numbers[place] = counts.numbers
        parts, start = [], 0
        for keys in choices:
            places = [counts.columns.index(name) for name in keys]
            sizes = [counts.sizes[place] for place in places]
            combined = cell_numbers(list(codes.T[places]), sizes)
            _, local = np.unique(combined, return_inverse=True)
            parts.append(local.astype(np.int64) + start)
            start = int(parts[-1].max()) + 1
        totals = np.zeros(start)
        for part in parts:
            totals += np.bincount(part, numbers, start)
        combination = np.column_stack(parts)
        fixed = rules.stay(codes.T)
        return cls(counts, choices, codes, numbers, fixed, combination, totals, rules, partial)

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.codes)

    @property
    def weights(self) -> FloatArray | float:
        """The weight of the error of each cell, with mean 1 over the records."""
        if self.loss == "l2":
            return 1.0
        mean = np.count_nonzero(self.numbers) / self.numbers.sum()
        return np.where(self.numbers > 0, 1 / (np.maximum(self.numbers, 1) * mean), 0.0)

    @property
    def movable(self) -> BoolArray:
        """The cells whose rows may differ from the identity."""
        return ~self.fixed & ((self.numbers > 0) | (self.loss == "l2"))

    @property
    def labels(self) -> tuple[Label, ...]:
        """The cells as tuples of labels; of a single key its labels."""
        columns = [
            [labels[code] for code in codes]
            for labels, codes in zip(self.counts.labels, self.codes.T.tolist(), strict=True)
        ]
        return tuple(zip(*columns, strict=True) if len(columns) > 1 else columns[0])

    def rare(self, alpha: float) -> IntArray:
        """Cells that occur with fewer than 1/alpha records: C1 is about them [Cator, eq. 2]."""
        return np.flatnonzero((self.numbers > 0) & (self.numbers * alpha < 1))

    def by_combination(self, amounts: FloatArray) -> FloatArray:
        """Amounts of cells, summed by combination."""
        total = np.zeros(len(self.totals))
        for column in self.combination.T:
            total += np.bincount(column, amounts, len(total))
        return total


def _require_possible(counts: Counts, broken: BoolArray) -> None:
    if broken.any():
        records = records_that(int(counts.numbers[broken].sum()), "is", "are")
        raise OutsideDomain(f"{records} in cells that cannot exist.")


def numbers_by_label(labels: Sequence[Label], counts: Counts) -> FloatArray:
    """The number of records in each of these cells."""
    frequencies = frequencies_by_label(counts)
    return np.array([frequencies.get(label, 0) for label in labels], dtype=np.float64)


def as_counts(counts: Any) -> Counts:
    """Counts as they are, from a mapping of cells, or from an array with one axis for each key."""
    if isinstance(counts, Counts):
        return counts
    labels: tuple[tuple[Label, ...], ...]
    codes: Sequence[NDArray[Any]]
    if not isinstance(counts, Mapping):
        labels = tuple(tuple(range(size)) for size in counts.shape)
        codes = [code.ravel() for code in np.indices(counts.shape, dtype=np.int64)]
        numbers = counts.ravel()
    else:
        cells = [cell if isinstance(cell, tuple) else (cell,) for cell in counts]
        width = len(cells[0]) if cells else 0
        if width == 0 or any(len(cell) != width for cell in cells):
            raise InvalidNumber("Cells must be tuples with one value for each key.")
        labels = tuple(tuple(dict.fromkeys(column)) for column in zip(*cells, strict=True))
        codes = list(cell_codes(labels, cells))
        numbers = np.array(list(counts.values()))
    if (numbers < 0).any() or (numbers != np.floor(numbers)).any():
        raise InvalidNumber("Counts must be whole numbers at or above 0.")
    occurs = numbers > 0
    counter = Counter(tuple(f"key{i + 1}" for i in range(len(labels))), labels)
    counter.add(
        [code[occurs].astype(np.uint32) for code in codes], numbers[occurs].astype(np.int64)
    )
    return counter.result()


def dense_loss(P: FloatArray, numbers: FloatArray, weights: FloatArray | float = 1.0) -> float:
    """n^2 l2 of a dense matrix, with a weight for each cell; infinite without an inverse."""
    try:
        Q = np.linalg.inv(P)
    except np.linalg.LinAlgError:
        return np.inf
    return float((numbers @ P) @ (Q * Q * weights).sum(axis=1) - (numbers * weights).sum())


def dense_gradient(
    P: FloatArray, numbers: FloatArray, weights: FloatArray | float = 1.0
) -> FloatArray:
    """The exact derivative of ``dense_loss`` by each entry of P."""
    Q = np.linalg.inv(P)
    released, weighed = numbers @ P, Q * weights
    gradient: FloatArray = np.outer(numbers, (Q * weighed).sum(axis=1)) - 2 * Q.T @ (
        released[:, None] * (weighed @ Q.T)
    )
    return gradient


def divergence(matrix: TransitionMatrix, numbers: FloatArray) -> float:
    """l_KL to second order, over the cells that occur."""
    weights = np.where(numbers > 0, 0.5 / np.maximum(numbers, 1), 0.0)
    return squared_error(matrix, numbers, weights) / float(numbers.sum())


def squared_error(
    matrix: TransitionMatrix, numbers: FloatArray, weights: FloatArray | float = 1.0
) -> float:
    """n^2 l2 of any matrix, with a weight for each cell; of a sparse one by its moving rows only.

    A row that does not move is a row of the identity in P and in Q. With M the moving cells,
    Q_M = P_MM^-1 [I, -P_MT]: one sparse factorisation, and blocks of right-hand sides.
    """
    if not isinstance(matrix, SparseRows):
        return dense_loss(matrix.values, numbers, weights)
    from scipy import sparse
    from scipy.sparse.linalg import splu

    moving = np.unique(matrix.sources)
    if len(moving) == 0:
        return 0.0
    released = matrix.apply(numbers)
    rows = matrix.sparse.tocsr()[moving]
    still = np.setdiff1d(np.unique(matrix.targets), moving)
    factors = splu(rows[:, moving].tocsc())
    right = sparse.hstack([sparse.eye_array(len(moving)), -rows[:, still]]).tocsc()
    weight_of = np.broadcast_to(weights, numbers.shape)
    weight = weight_of[np.concatenate([moving, still])]
    lengths = np.zeros(len(moving))
    for start in range(0, right.shape[1], BLOCK):
        part = factors.solve(right[:, start : start + BLOCK].toarray())
        lengths += (part * part * weight[start : start + BLOCK]).sum(axis=1)
    # Rows that stay have the length of their weight and add what is released there
    stays = float(((released - numbers) * weight_of).sum())
    return float((released[moving] * (lengths - weight_of[moving])).sum()) + stays
