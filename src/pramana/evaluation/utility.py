"""What a release is worth: the answers of an analyst, next to those of the original data.

Every figure comes twice: from the released records at face value, and from the estimates that
correct for the randomisation. Tables of keys alone say little about a method that hands keys round:
it keeps them all and cuts their associations with everything else. So each key is also asked for
together with each unchanged column: a table where that has few values, the mean by key where it is
a number with many. The measures:

L1             sum of absolute differences of shares: 0 for the same table, 2 for disjoint ones
overlap        of the interval of a figure from the original records and the one from the release:
               the share of each that the other covers, averaged [Karr06]
association    Cramer's V; of ordered columns the correlation of their positions
pMSE           the mean squared distance of a logistic regression's predictions, whether a record is
               an original or a released one, from the share of released ones [Woo09, Snoke18]; for
               two samples of the same people it is p c (1 - c) / N on average, with p free
               coefficients, N records and c the share of released ones
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from pramana.analysis.question import USUAL, Question
from pramana.analysis.release import Release
from pramana.base.text import percent
from pramana.base.translation import gettext, noop, numeral
from pramana.errors import InvalidTable, PramanaError
from pramana.mechanisms.mechanism import NOT_REPORTED, released_codes
from pramana.risk.coded_table import code_column
from pramana.schema.codec import encode
from pramana.schema.domains import Bins, label_text
from pramana.schema.joint_cells import Counts, joint_groups
from pramana.schema.opened_table import OpenedTable, is_number, without_dictionary
from pramana.schema.schema import Column
from pramana.types import Codes, FloatArray, IntArray

FEW_VALUES = 20
MOST_TIES = 24
"""Pairs of a key and an unchanged column, the first in the order of the schema."""

MOST_CELLS = 100_000
MOST_PAIRS = 21
MODEL_CELLS = 400
"""Columns with more values together are left out of the model that distinguishes the tables."""

INTERVALS = Question(infer="population")
"""Tables are compared by their intervals."""

DISTINGUISHED = {
    2: noop("no better than chance"),
    10: noop("somewhat better than chance"),
    inf: noop("clearly"),
}

ONE_WAY: Final = noop(
    "One-way tables: {share:.3g} % of the records are in the wrong cell by the estimates, "
    "{raw:.3g} % by the released records at face value."
)
TWO_WAY: Final = noop(
    "Two-way tables: {share:.3g} % of the records are in the wrong cell by the estimates, "
    "{raw:.3g} % by the released records at face value."
)
"""In words how well a model tells tables apart, up to a pMSE ratio."""

PARTS = (
    "With attribute sampling a record has a few columns: a direct table counts the records that "
    "have all its columns. Fit models with `pramana regress`."
)


# -- measures --------------------------------------------------------------------------------------


def l1_distance(original: ArrayLike, other: ArrayLike) -> float:
    """The L1 distance of two tables with the same cells; negative estimates count as none.

    >>> l1_distance([3, 1], [2, 6])
    1.0
    """
    p, q = shares(original), shares(other)
    if p.shape != q.shape:
        raise InvalidTable(f"Tables must have the same cells, got {p.shape} and {q.shape}.")
    return float(np.abs(p - q).sum())


def shares(table: ArrayLike) -> FloatArray:
    """Shares of all records; negative numbers are none."""
    numbers = np.maximum(np.asarray(table, dtype=np.float64), 0)
    total = float(numbers.sum())
    if not total > 0:
        raise InvalidTable("A table must hold records to be compared, and is empty.")
    result: FloatArray = numbers / total
    return result


def cramers_v(table: ArrayLike) -> float:
    """From 0 for independent columns to 1 where one column determines the other.

    >>> cramers_v([[10, 0], [0, 10]]), round(cramers_v([[10, 10], [10, 10]]), 12)
    (1.0, 0.0)
    """
    joint = _two_way(table)
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    occurs = expected > 0
    square = float(((joint - expected)[occurs] ** 2 / expected[occurs]).sum())
    rows, columns = (int((joint.sum(axis=axis) > 0).sum()) for axis in (1, 0))
    least = min(rows, columns) - 1
    return float(np.sqrt(min(square / least, 1.0))) if least > 0 else 0.0


def correlation(table: ArrayLike) -> float:
    """Pearson's correlation with values at their positions: for ordered columns.

    >>> correlation([[5, 0], [0, 5]])
    1.0
    """
    joint = _two_way(table)
    places = [np.arange(size, dtype=np.float64) for size in joint.shape]
    margins = [joint.sum(axis=1), joint.sum(axis=0)]
    centred = [p - float(m @ p) for p, m in zip(places, margins, strict=True)]
    spread = [float(m @ c**2) for c, m in zip(centred, margins, strict=True)]
    if min(spread) <= 0:
        return 0.0
    value = float(centred[0] @ joint @ centred[1]) / float(np.sqrt(spread[0] * spread[1]))
    return float(np.clip(value, -1, 1))


def _two_way(table: ArrayLike) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    joint = shares(table)
    if joint.ndim != 2:
        raise InvalidTable(f"An association is of two columns, got a table of {joint.ndim}.")
    return joint


def interval_overlap(
    original: tuple[ArrayLike, ArrayLike], other: tuple[ArrayLike, ArrayLike]
) -> FloatArray:
    """The overlap of each pair of intervals, given as (lows, highs).

    >>> interval_overlap(([0.0, 0.0], [2.0, 1.0]), ([1.0, 3.0], [2.0, 4.0]))
    array([0.75, 0.  ])
    """
    low, high = (np.asarray(end, dtype=np.float64) for end in original)
    other_low, other_high = (np.asarray(end, dtype=np.float64) for end in other)
    if low.shape != other_low.shape:
        raise InvalidTable("There must be as many intervals on both sides.")
    meet = np.maximum(np.minimum(high, other_high) - np.maximum(low, other_low), 0)
    both = []
    for length in (high - low, other_high - other_low):
        inside = (np.minimum(high, other_high) >= np.maximum(low, other_low)).astype(np.float64)
        both.append(np.divide(meet, length, out=inside, where=length > 0))
    result: FloatArray = (both[0] + both[1]) / 2
    return result


def share_intervals(counts: ArrayLike, *, z: float = 1.96) -> tuple[FloatArray, FloatArray]:
    """Normal intervals of the shares of a population, from counts taken at face value."""
    numbers = np.asarray(counts, dtype=np.float64)
    total = max(float(numbers.sum()), 1.0)
    share = numbers / total
    reach = z * np.sqrt(share * (1 - share) / total)
    return np.clip(share - reach, 0, 1), np.clip(share + reach, 0, 1)


ROUNDS = 30
RIDGE = 1e-6


@dataclass(frozen=True)
class Propensity:
    """How well released records can be distinguished from original ones.

    Attributes:
        pmse: the mean squared distance from not knowing; 0.25 at most for tables of equal size.
        expected: what chance alone gives.
    """

    pmse: float
    expected: float

    @property
    def ratio(self) -> float:
        """pMSE in units of chance: near 1 this model cannot distinguish the tables."""
        return self.pmse / self.expected


def propensity(
    original: Sequence[Codes], released: Sequence[Codes], sizes: Sequence[int]
) -> Propensity:
    """From codes, one array per column; equal records are fitted together."""
    if len(original) != len(released) or not original:
        raise InvalidTable("Both tables must have the same columns, at least one.")
    whole = [np.concatenate(pair) for pair in zip(original, released, strict=True)]
    label = np.concatenate([np.zeros(len(original[0])), np.ones(len(released[0]))])
    of_record = joint_groups(whole)
    one_of = np.zeros(int(of_record.max()) + 1, np.int64)
    one_of[of_record] = np.arange(len(of_record))
    design = _indicators([codes[one_of] for codes in whole], sizes)
    number = np.bincount(of_record).astype(np.float64)
    hits = np.bincount(of_record, weights=label).astype(np.float64)
    chance = float(label.mean())
    fitted = _logistic(design, hits, number)
    pmse = float((number * (fitted - chance) ** 2).sum() / number.sum())
    free = np.linalg.matrix_rank(_products(design, number), hermitian=True) - 1
    expected = max(free, 1) * chance * (1 - chance) / float(number.sum())
    return Propensity(pmse, float(expected))


def _indicators(columns: Sequence[Codes], sizes: Sequence[int]) -> Any:
    """A column of ones and, for each column of codes, an indicator of each value but the first."""
    from scipy import sparse

    records = len(columns[0])
    parts = [sparse.csr_matrix(np.ones((records, 1)))]
    for codes, size in zip(columns, sizes, strict=True):
        marks = (np.ones(records), (np.arange(records), codes))
        parts.append(sparse.csr_matrix(marks, (records, size))[:, 1:])
    return sparse.hstack(parts, format="csr")


def _products(design: Any, weights: FloatArray) -> FloatArray:
    """The weighted sum over records of the products of each pair of indicators."""
    products: FloatArray = (design.T.multiply(weights) @ design).toarray()
    return products


def _logistic(design: Any, hits: FloatArray, number: FloatArray) -> FloatArray:
    """Fitted probabilities, by Newton's method with a small ridge."""
    weights = np.zeros(design.shape[1])
    for _ in range(ROUNDS):
        fitted = _chances(design, weights)
        slope = design.T @ (hits - number * fitted) - RIDGE * weights
        curve = _products(design, number * fitted * (1 - fitted))
        step = np.linalg.solve(curve + RIDGE * np.eye(len(weights)), slope)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    return _chances(design, weights)


def _chances(design: Any, weights: FloatArray) -> FloatArray:
    chances: FloatArray = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
    return chances


# -- a release and its original --------------------------------------------------------------------


@dataclass(frozen=True)
class AssociationLoss:
    """One key with one unchanged column.

    Attributes:
        key: the key.
        column: the other column.
        kind: ``table``, or ``mean`` of the column by the key.
        loss: of a table the share of records in the wrong cell; of means their error, averaged
            over the records, as a share of the column's mean absolute deviation.
        estimated: whether the release has an estimate; else it was taken at face value.
    """

    key: str
    column: str
    kind: Literal["table", "mean"]
    loss: float
    estimated: bool


@dataclass(frozen=True)
class Association:
    """How strongly two columns go together: in the original data, as released, as estimated."""

    original: float
    raw: float
    estimated: float | None


@dataclass(frozen=True)
class TableUtility:
    """One table: the L1 distances of release and estimate from the original data."""

    columns: tuple[str, ...]
    raw: float
    estimated: float | None
    method: str
    overlap_raw: float
    overlap_estimated: float | None
    association: Association | None


@dataclass(frozen=True)
class UtilityReport:
    """What is lost, over all one- and two-way tables of the keys.

    Attributes:
        tables: one entry a table.
        model: how well a classifier distinguishes released from original records.
        notes: what was left out, and why.
        ties: what is lost of the associations of keys with unchanged columns.
    """

    tables: tuple[TableUtility, ...]
    model: Propensity | None
    notes: tuple[str, ...] = ()
    ties: tuple[AssociationLoss, ...] = ()

    @property
    def losses(self) -> dict[str, float]:
        """The loss of each kind of question that will be asked, 0 to 1, averaged over its kind."""
        losses: dict[str, float] = {}
        for width, kind in ((1, "tables of one key"), (2, "tables of two keys")):
            if any(len(table.columns) == width for table in self.tables):
                losses[kind] = min(self.mean_l1(width=width) / 2, 1.0)
        for tie, kind in (("table", "keys with other columns"), ("mean", "means by key")):
            of_kind = [entry.loss for entry in self.ties if entry.kind == tie]
            if of_kind:
                losses[kind] = float(np.mean(of_kind))
        return losses

    @property
    def loss(self) -> float:
        """The average over the kinds of questions, each counted once."""
        return float(np.mean(list(self.losses.values()) or [0.0]))

    def mean_l1(self, *, width: int, estimated: bool = True) -> float:
        """The average L1 of the tables of this many columns."""
        distances = [
            table.estimated if estimated and table.estimated is not None else table.raw
            for table in self.tables
            if len(table.columns) == width
        ]
        return float(np.mean(distances)) if distances else 0.0

    def sentences(self) -> list[str]:
        """The findings in words."""
        lines = []
        for width, word in ((1, ONE_WAY), (2, TWO_WAY)):
            if any(len(table.columns) == width for table in self.tables):
                raw, best = (self.mean_l1(width=width, estimated=e) for e in (False, True))
                lines.append(gettext(word, share=50 * best, raw=50 * raw))
        for kind, words in (
            ("keys with other columns", noop("Tables of a key with an unchanged column: {share} of "
             "the records are in the wrong cell.")),
            ("means by key", noop("Error of means by key: {share} of the column's mean absolute "
             "deviation.")),
        ):  # fmt: skip
            if kind in self.losses:
                lines.append(gettext(words, share=numeral(percent(self.losses[kind]))))
        if self.model is not None:
            how_well = next(
                words for most, words in DISTINGUISHED.items() if self.model.ratio <= most
            )
            lines.append(
                gettext(
                    "At face value, a model tells released records from original ones "
                    "{how_well} (pMSE ratio {ratio:.3g}; chance alone gives 1, and more is "
                    "worse).",
                    how_well=gettext(how_well),
                    ratio=self.model.ratio,
                )
            )
        return lines + list(self.notes)


@dataclass(frozen=True, eq=False)
class _Coded:
    """The randomised columns of both tables, in the same codes.

    ``whole`` is whether released records have a value in every column.
    """

    columns: tuple[Column, ...]
    original: dict[str, NDArray[Any]]
    released: dict[str, NDArray[Any]]
    whole: bool

    @classmethod
    def of(cls, release: Release, original: OpenedTable) -> _Coded:
        columns = tuple(c for c in release.certificate.schema.randomised if c.domain is not None)
        before, after = {}, {}
        for column in columns:
            before[column.name] = encode(column, original.to_arrow([column.name]).column(0))
            after[column.name] = released_codes(
                release.certificate.mechanism, column, release.opened
            )
        return cls(columns, before, after, release.certificate.nature.whole)

    def counts(self, names: Sequence[str], *, released: bool) -> IntArray:
        """The table of some columns, of the records that have all of them."""
        codes = [(self.released if released else self.original)[name] for name in names]
        labels = [column.labels for name in names for column in self.columns if column.name == name]
        if released and not self.whole:
            reported = np.all([part != NOT_REPORTED for part in codes], axis=0)
            codes = [part[reported] for part in codes]
        return Counts.of_codes(names, labels, codes).dense()


def assess_utility(release: Release, original: OpenedTable) -> UtilityReport:
    """Compare a release with the original data, at face value and by estimates."""
    coded = _Coded.of(release, original)
    notes: list[str] = []
    names = [column.name for column in coded.columns]
    pairs = list(itertools.combinations(names, 2))
    if len(pairs) > MOST_PAIRS:
        notes.append(
            gettext(
                "Of {count} two-way tables the first {most} are shown.",
                count=len(pairs),
                most=MOST_PAIRS,
            )
        )
    sizes = {column.name: len(column.labels) for column in coded.columns}
    tables = [
        _table(by, coded, release)
        for by in [(name,) for name in names] + pairs[:MOST_PAIRS]
        if prod(sizes[name] for name in by) <= MOST_CELLS
    ]
    if not coded.whole:
        notes.append(PARTS)
    codes = {name: (coded.original[name], coded.released[name]) for name in names}
    ties = association_losses(release, original, codes)
    return UtilityReport(tuple(tables), _model(coded), tuple(notes), ties)


def _table(by: tuple[str, ...], coded: _Coded, release: Release) -> TableUtility:
    original, raw = (coded.counts(by, released=released) for released in (False, True))
    if not raw.any():
        raw = np.ones_like(raw)  # no record has all columns: all cells alike
    intervals = share_intervals(original)
    naive = float(interval_overlap(intervals, share_intervals(raw)).mean())
    estimate, overlap, method = None, None, "as released"
    for question in (INTERVALS, USUAL):  # a model has no estimate of the population
        try:
            asked = replace(question, by=by, weighted=False)
            table = release.reading.counts(asked, method="auto", share=True)
        except PramanaError:
            continue  # a method without matrices
        estimate, method = np.asarray(table.estimate), table.method
        if not table.no_interval:
            overlap = float(interval_overlap(intervals, (table.low, table.high)).mean())
        break
    association = None
    if len(by) == 2:
        columns = [column for column in coded.columns if column.name in by]
        ordered = all(c.ordered and None not in c.labels for c in columns)
        measure = correlation if ordered else cramers_v
        estimated = None if estimate is None else measure(estimate)
        association = Association(measure(original), measure(raw), estimated)
    return TableUtility(
        columns=by,
        raw=l1_distance(original, raw),
        estimated=None if estimate is None else l1_distance(original, estimate),
        method=method,
        overlap_raw=naive,
        overlap_estimated=overlap,
        association=association,
    )


def _model(coded: _Coded) -> Propensity | None:
    """The model that distinguishes the tables, on the columns that it can use."""
    if not coded.whole:
        return None
    used: list[Column] = []
    for column in sorted(coded.columns, key=lambda c: len(c.labels)):
        if sum(len(c.labels) for c in [*used, column]) <= MODEL_CELLS:
            used.append(column)
    if not used:
        return None
    return propensity(
        [coded.original[c.name] for c in used],
        [coded.released[c.name] for c in used],
        [len(c.labels) for c in used],
    )


# -- keys with unchanged columns -------------------------------------------------------------------


def association_losses(
    release: Release, original: OpenedTable, codes: Mapping[str, tuple[Codes, Codes]]
) -> tuple[AssociationLoss, ...]:
    """Every key of ``codes``, before and after, with every unchanged column that is no weight."""
    certificate = release.certificate
    keys = [column for column in certificate.schema.randomised if column.name in codes]
    others = [column for column in certificate.as_they_are if column.role.traits.analysed]
    pairs = [(key, other) for other in others for key in keys][:MOST_TIES]
    values = {name: _unchanged_values(release, original, c) for name, c in
              {other.name: other for _, other in pairs}.items()}  # fmt: skip
    losses = []
    for key, other in pairs:
        before, after = values[other.name]
        if code_column(before)[1] <= FEW_VALUES:
            losses.append(_table_loss(release, key, other.name, codes[key.name], before, after))
        elif is_number(before.type):
            losses.append(_mean_loss(release, key, other.name, codes[key.name], before, after))
    return tuple(losses)


def _unchanged_values(
    release: Release, original: OpenedTable, column: Column
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Original and released values in one type: labels where bins are released by labels."""
    before, after = (t.to_arrow([column.name]).column(0) for t in (original, release.opened))
    if before.type == after.type:
        return before, after
    if isinstance(column.domain, Bins) and column.domain.release == "label":
        labels = pa.array(column.labels).take(pa.array(encode(column, before)))
        before = pa.chunked_array([labels])
    both_numbers = is_number(before.type) and is_number(after.type)
    kind = pa.float64() if both_numbers else pa.string()
    return before.cast(kind, safe=False), after.cast(kind, safe=False)


def _table_loss(
    release: Release,
    key: Column,
    other: str,
    codes: tuple[Codes, Codes],
    before: pa.ChunkedArray,
    after: pa.ChunkedArray,
) -> AssociationLoss:
    """The share of records in the wrong cell of the table of both."""
    both = pa.chunked_array([*before.chunks, *after.chunks])
    values, size, _ = code_column(both)
    first = np.zeros(size, np.int64)
    first[values[::-1]] = np.arange(len(values) - 1, -1, -1)
    texts = [label_text(value.as_py()) for value in both.take(pa.array(first))]
    rows = len(before)

    def shares(keys: Codes, others: Codes) -> FloatArray:
        cells = keys.astype(np.int64) * size + others
        counts = np.bincount(cells, minlength=len(key.labels) * size)
        return np.asarray(counts.reshape(-1, size) / max(len(keys), 1), dtype=np.float64)

    original, estimated = shares(codes[0], values[:rows]), True
    try:
        asked = Question((key.name, other), weighted=False)
        table = release.reading.counts(asked, method="auto", share=True)
        place = {label_text(label): at for at, label in enumerate(table.labels[1])}
        estimate = np.zeros(original.shape)
        # A group without a record has no estimate: it lacks all of its records.
        estimated_shares = np.nan_to_num(table.estimate)
        for at, text in enumerate(texts):
            if text in place:
                estimate[:, at] = estimated_shares[:, place[text]]
    except PramanaError:
        reported = codes[1] != NOT_REPORTED
        estimated, estimate = False, shares(codes[1][reported], values[rows:][reported])
    loss = min(float(np.abs(original - estimate).sum()) / 2, 1.0)
    return AssociationLoss(key.name, other, "table", loss, estimated)


def _mean_loss(
    release: Release,
    key: Column,
    other: str,
    codes: tuple[Codes, Codes],
    before: pa.ChunkedArray,
    after: pa.ChunkedArray,
) -> AssociationLoss:
    """The error of the means by key, as a share of the column's mean absolute deviation."""
    numbers, size, estimated = _numbers(before), len(key.labels), True
    original, weight = _means(codes[0], numbers, size)
    try:
        means = release.mean(other, by=[key.name], weighted=False)
        estimate = np.asarray(means.estimate, dtype=np.float64).ravel()
    except PramanaError:
        estimate = np.zeros(0)
    if estimate.shape != original.shape:  # refused, or of other groups
        reported = codes[1] != NOT_REPORTED
        estimated = False
        estimate, _ = _means(codes[1][reported], _numbers(after)[reported], size)
    spread = float(np.nanmean(np.abs(numbers - np.nanmean(numbers)))) or 1.0
    gaps = np.minimum(np.nan_to_num(np.abs(estimate - original) / spread, nan=1.0), 1.0)
    return AssociationLoss(key.name, other, "mean", float((weight * gaps).sum()), estimated)


def _numbers(values: pa.ChunkedArray) -> FloatArray:
    values = without_dictionary(values).cast(pa.float64(), safe=False)
    numbers = values.to_numpy(zero_copy_only=False)
    return np.asarray(numbers, dtype=np.float64)


def _means(codes: Codes, values: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """The mean of each level, and the share of the records that it has."""
    known = ~np.isnan(values)
    count = np.bincount(codes[known], minlength=size).astype(np.float64)
    total = np.bincount(codes[known], values[known], minlength=size)
    means = np.divide(total, count, out=np.full(size, np.nan), where=count > 0)
    return means, count / max(count.sum(), 1.0)
