"""The joint cells of the keys with their counts, and what a matrix on them costs an analyst.

A cell belongs to combinations of a few keys. The cost is the expected squared error of the
estimated counts. With Q = P^-1 and y = u P the expected released counts, the estimate
u_hat = Q' released is unbiased [Cator, eq. 4], and its expected squared error over all cells is

    n^2 l2(P) = sum_l y_l sum_k Q_lk^2 - n                          [Cator, Sec. 3]

with the gradient  u_a r_b - 2 [Q' diag(y) Q Q']_ab,  r_b = sum_k Q_bk^2. Near the identity it is
twice the expected number of changes (the paper's own figures differ by that factor of 2).

The Kullback-Leibler loss E sum_k mu_k log(mu_k / mu_hat_k) has no closed form, and does not exist
where an estimate may be negative. Since E mu_hat = mu, it is to second order

    l_KL(P) = sum_k Var(mu_hat_k) / (2 mu_k)

over the cells that occur: the same sum with the weights 1 / (2 n u_k). A cell without records has
no weight in it, so that its row is held at the identity: else its estimate would be given up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pramana.base.text import records_that
from pramana.errors import InvalidNumber, OutsideDomain, TooLarge
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
"""The largest joint domain that is written out."""

LEAST_KEPT = 0.05
"""The least chance of each record to stay as it is, where nothing else is said."""

WHOLE = 20_000
"""Up to so many joint cells all of them are considered; else those that matter are listed."""


@dataclass(frozen=True)
class KeyCells:
    """Possible cells, how many records each has, and their combinations.

    They are all that are possible, or a list of those that matter: cells that are not listed have
    no records, and none goes there.

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
    loss: Loss = "l2"
    donors: Donors = "any"

    @classmethod
    def listed(
        cls,
        counts: Counts,
        codes: IntArray,
        *,
        choices: Sequence[tuple[str, ...]],
        rules: CellRules,
    ) -> KeyCells:
        """Some cells, those that occur among them, and what the rules say of each."""
        broken = ~rules.possible(counts.cells.astype(np.int64).T)
        if broken.any():
            lost = records_that(int(counts.numbers[broken].sum()), "is", "are")
            raise OutsideDomain(f"{lost} in cells that cannot exist.")
        return cls._numbered(counts, tuple(choices), codes, rules.stay(codes.T), rules)

    @classmethod
    def of(
        cls,
        counts: Counts,
        *,
        width: int,
        choices: Sequence[Sequence[str]] = (),
        possible: Sequence[tuple[Label, ...]] | None = None,
        fixed: Collection[tuple[Label, ...]] = (),
    ) -> KeyCells:
        """Number the cells and their combinations."""
        asked = choices_of_keys(counts.columns, width=width, choices=choices)
        cells = prod(counts.sizes) if possible is None else len(possible)
        if cells > MOST_CELLS:
            largest = max(range(len(counts.sizes)), key=lambda place: counts.sizes[place])
            raise TooLarge(
                f"The keys have {cells:,} joint cells, and at most {MOST_CELLS:,} are written out. "
                f"List those that matter, or coarsen '{counts.columns[largest]}', which has "
                f"{counts.sizes[largest]:,} values.",
                column=counts.columns[largest],
            )
        codes = _codes(counts, possible)
        held = np.zeros(len(codes), dtype=bool)
        if fixed:
            frozen = set(fixed)
            held = np.array([label in frozen for label in _labels(counts, codes)])
        return cls._numbered(counts, asked, codes, held, CellRules())

    @classmethod
    def _numbered(
        cls,
        counts: Counts,
        choices: tuple[tuple[str, ...], ...],
        codes: IntArray,
        held: BoolArray,
        rules: CellRules,
    ) -> KeyCells:
        numbers = _numbers(counts, codes)
        parts, start = [], 0
        for keys in choices:
            places = [counts.columns.index(name) for name in keys]
            flat = cell_numbers(list(codes.T[places]), [counts.sizes[place] for place in places])
            _, local = np.unique(flat, return_inverse=True)
            parts.append(local.astype(np.int64) + start)
            start = int(parts[-1].max()) + 1
        combination = np.column_stack(parts)
        totals = np.zeros(start)
        for part in parts:
            totals += np.bincount(part, numbers, start)
        return cls(counts, choices, codes, numbers, held, combination, totals, rules)

    def joined(self, codes: IntArray) -> KeyCells:
        """With these cells too, where they are not listed yet."""
        own = cell_numbers(list(self.codes.T), self.counts.sizes)
        new = codes[~np.isin(cell_numbers(list(codes.T), self.counts.sizes), own)]
        if not len(new):
            return self
        every = np.concatenate([self.codes, new])
        every = every[np.argsort(cell_numbers(list(every.T), self.counts.sizes))]
        return KeyCells.listed(self.counts, every, choices=self.choices, rules=self.rules)

    def flats(self, choice: int) -> tuple[IntArray, IntArray]:
        """The numbers of the combinations of a choice, and the place of each among all of them."""
        names = self.choices[choice]
        places = [self.counts.columns.index(name) for name in names]
        flat = cell_numbers(
            list(self.codes.T[places]), [self.counts.sizes[place] for place in places]
        )
        numbers, first = np.unique(self.combination[:, choice], return_index=True)
        return numbers, flat[first]

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.codes)

    @property
    def weights(self) -> FloatArray | float:
        """What an error of each cell counts for, with mean 1 over the records."""
        if self.loss == "l2":
            return 1.0
        mean = np.count_nonzero(self.numbers) / self.numbers.sum()
        return np.where(self.numbers > 0, 1 / (np.maximum(self.numbers, 1) * mean), 0.0)

    @property
    def movable(self) -> BoolArray:
        """The cells whose rows may differ from the identity."""
        return ~self.fixed & ((self.numbers > 0) | (self.loss == "l2"))

    @property
    def labels(self) -> tuple[tuple[Label, ...], ...]:
        """The cells as tuples of labels."""
        return tuple(_labels(self.counts, self.codes))

    def rare(self, alpha: float) -> IntArray:
        """Cells that occur with fewer than 1/alpha records: C1 is about them [Cator, eq. 2]."""
        return np.flatnonzero((self.numbers > 0) & (self.numbers * alpha < 1))


def as_counts(
    counts: Counts | Mapping[tuple[Label, ...], int] | NDArray[Any],
) -> Counts:
    """Counts as they are, from a mapping of cells, or from an array with one axis a key."""
    if isinstance(counts, Counts):
        return counts
    given = isinstance(counts, np.ndarray)
    labels, codes, numbers = _of_array(counts) if given else _of_mapping(dict(counts))
    if (numbers < 0).any() or (numbers != np.floor(numbers)).any():
        raise InvalidNumber("Counts must be whole numbers at or above 0.")
    names = [f"key{i + 1}" for i in range(len(labels))]
    occurs = numbers > 0
    counter = Counter(tuple(names), labels)
    kept = [code[occurs].astype(np.uint32) for code in codes]
    counter.add(kept, numbers[occurs].astype(np.int64))
    return counter.result()


def _of_array(table: Any) -> tuple[tuple[tuple[Label, ...], ...], list[IntArray], NDArray[Any]]:
    labels = tuple(tuple(range(size)) for size in table.shape)
    codes = [code.ravel() for code in np.indices(table.shape, dtype=np.int64)]
    return labels, codes, table.ravel()


def _of_mapping(
    counts: dict[Any, int],
) -> tuple[tuple[tuple[Label, ...], ...], list[IntArray], NDArray[Any]]:
    cells = [cell if isinstance(cell, tuple) else (cell,) for cell in counts]
    width = len(cells[0]) if cells else 0
    if width == 0 or any(len(cell) != width for cell in cells):
        raise InvalidNumber("Cells must be tuples with one value a key, all of one length.")
    places = [
        {label: code for code, label in enumerate(dict.fromkeys(cell[key] for cell in cells))}
        for key in range(width)
    ]
    codes = [np.array([place[cell[key]] for cell in cells]) for key, place in enumerate(places)]
    return tuple(tuple(place) for place in places), codes, np.array(list(counts.values()))


def _codes(counts: Counts, possible: Sequence[tuple[Label, ...]] | None) -> IntArray:
    if possible is None:
        return np.indices(counts.sizes).reshape(len(counts.sizes), -1).T.astype(np.int64)
    try:
        return np.ascontiguousarray(cell_codes(counts.labels, possible).T)
    except KeyError:
        raise OutsideDomain("Possible cells must use the labels of the counted columns.") from None


def _numbers(counts: Counts, codes: IntArray) -> FloatArray:
    flat, cells = (cell_numbers(list(own.T), counts.sizes) for own in (codes, counts.cells))
    order = np.argsort(flat)
    found = order[np.minimum(np.searchsorted(flat[order], cells), len(flat) - 1)]
    missing = flat[found] != cells
    if missing.any():
        lost = records_that(int(counts.numbers[missing].sum()), "is", "are")
        raise OutsideDomain(f"{lost} in cells that cannot exist.")
    numbers = np.zeros(len(codes))
    numbers[found] = counts.numbers
    return numbers


def _labels(counts: Counts, codes: IntArray) -> list[tuple[Label, ...]]:
    columns = [
        [labels[code] for code in codes[:, place].tolist()]
        for place, labels in enumerate(counts.labels)
    ]
    return list(zip(*columns, strict=True))


BLOCK = 512


def dense_loss(P: FloatArray, numbers: FloatArray, weights: FloatArray | float = 1.0) -> float:
    """n^2 l2 of a matrix that is written out, or the sum with weights of the cells."""
    try:
        return _loss(P, np.linalg.inv(P), numbers, weights)
    except np.linalg.LinAlgError:
        return np.inf


def dense_gradient(
    P: FloatArray, numbers: FloatArray, weights: FloatArray | float = 1.0
) -> FloatArray:
    """The derivative of that by each entry of P, exact."""
    return _gradient(P, np.linalg.inv(P), numbers, weights)


def loss_and_gradient(
    P: FloatArray, numbers: FloatArray, weights: FloatArray | float = 1.0
) -> tuple[float, FloatArray]:
    """Both by one inverse; no way leads on where there is none."""
    try:
        Q = np.linalg.inv(P)
    except np.linalg.LinAlgError:
        return np.inf, np.zeros_like(P)
    return _loss(P, Q, numbers, weights), _gradient(P, Q, numbers, weights)


def _loss(
    P: FloatArray, Q: NDArray[np.floating], numbers: FloatArray, weights: FloatArray | float
) -> float:
    return float((numbers @ P) @ (Q * Q * weights).sum(axis=1) - (numbers * weights).sum())


def _gradient(
    P: FloatArray, Q: NDArray[np.floating], numbers: FloatArray, weights: FloatArray | float
) -> FloatArray:
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
    """n^2 l2 of any matrix, perhaps with weights; a sparse one through its moving rows only.

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
    every = np.broadcast_to(weights, numbers.shape)
    weight = every[np.concatenate([moving, still])]
    lengths = np.zeros(len(moving))
    for start in range(0, right.shape[1], BLOCK):
        part = factors.solve(right[:, start : start + BLOCK].toarray())
        lengths += (part * part * weight[start : start + BLOCK]).sum(axis=1)
    # Rows that stay have the length of their weight and add what is released there.
    stays = float(((released - numbers) * every).sum()) if isinstance(weights, np.ndarray) else 0.0
    return float((released[moving] * (lengths - every[moving])).sum()) + stays
