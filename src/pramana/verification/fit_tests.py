"""Released counts against their mean: a chi-square test that holds where few records change.

The owner's check of a column with noise: is what was added what the certificate says?

The sum of n released values is that of the true ones plus n draws of variance s^2, and the sum of
their squares grows by n s^2 in the mean. Both are compared with their own law, by the central limit
theorem, so that a release without noise and one with another scale are found.

Whether the reports of a release fit the original table, for its owner.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.text import percent
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet
from pramana.release.certificate import Certificate
from pramana.schema.codec import between, encode, encode_released
from pramana.schema.domains import Bins, Label
from pramana.schema.joint_cells import cell_codes, cell_counts, cell_numbers
from pramana.schema.opened_table import OpenedTable, is_whole
from pramana.schema.recoding import Noise
from pramana.schema.schema import REPORTED, Column
from pramana.types import BoolArray, Codes, FloatArray, IntArray
from pramana.verification.checks import SHARES, Check, average, found_from, needed

FEWEST_EXPECTED = 5.0
"""Cells with fewer expected records are put together: chi-square is a law of large numbers."""


@dataclass(frozen=True)
class Distance:
    """How far counts lie from their mean, in units of their noise.

    ``far`` is less than the square where one record more or less is a large step: of a table in
    which hardly any record changes, the one that does lies many standard deviations off. A sum of
    draws, each within b of its mean, is t deviations off no more often than a normal one is
    t / sqrt(1 + b t / 3) (Bernstein).
    """

    square: float
    far: float

    @classmethod
    def of(cls, shifts: FloatArray, steps: FloatArray) -> Distance:
        """From deviations in independent directions, and the largest step of a record in each."""
        squares = shifts**2
        return cls(float(squares.sum()), float((squares / (1 + steps * np.abs(shifts) / 3)).sum()))

    def __add__(self, other: Distance) -> Distance:
        return Distance(self.square + other.square, self.far + other.far)


@dataclass(frozen=True)
class ChiSquareFit:
    """A chi-square test of released counts.

    Attributes:
        found: how far the released records lie from the mean.
        degrees: in how many directions they can.
        grain: by how much the square may change within the rounding of counts to whole numbers.
        truth: how far the original records themselves lie from it.
        step: the largest step of one record.
    """

    found: Distance
    degrees: int
    grain: float
    truth: Distance
    step: float

    @property
    def p_value(self) -> float:
        """How likely a sound release is to lie so far from the mean."""
        return _tails(self.found, self)[0]

    @property
    def too_close(self) -> float:
        """How likely a sound release is to lie so close to the mean."""
        return _tails(self.found, self)[1]

    @property
    def chance(self) -> float:
        """How likely a sound release is to be as far off, or as close, as this one."""
        return min(1.0, 2 * min(_tails(self.found, self)))

    @property
    def of_truth(self) -> float:
        """The chance of the original records themselves in place of the released ones."""
        return min(1.0, 2 * min(_tails(self.truth, self)))

    def __add__(self, other: ChiSquareFit) -> ChiSquareFit:
        """Two independent tables together."""
        return ChiSquareFit(
            self.found + other.found,
            self.degrees + other.degrees,
            self.grain + other.grain,
            self.truth + other.truth,
            max(self.step, other.step),
        )


def _tails(distance: Distance, fit: ChiSquareFit) -> tuple[float, float]:
    """Both tails; counts are whole numbers, so that the lower one begins half a record off."""
    from scipy.special import chdtr, chdtrc

    if not fit.degrees or not np.isfinite(distance.far):
        return float(np.isfinite(distance.far)), 1.0
    close = chdtr(fit.degrees, distance.square + fit.grain)
    return float(chdtrc(fit.degrees, distance.far)), float(close)


def fit_counts(values: FloatArray, before: FloatArray, after: FloatArray) -> ChiSquareFit:
    """How well released counts fit the true ones under a matrix."""
    mean = before @ values
    covariance = np.diag(mean) - (values.T * before) @ values
    ways = after - mean, before - mean
    if mean.min(initial=np.inf) < FEWEST_EXPECTED:
        gather = _gather(mean)
        covariance = gather @ covariance @ gather.T
        ways = gather @ ways[0], gather @ ways[1]
    off = ways[0]
    # Columns sum to the number of records, so that one direction has no variance: a pseudo-inverse.
    eigenvalues, vectors = np.linalg.eigh(covariance)
    kept = eigenvalues > 1e-9 * max(float(eigenvalues.max(initial=0.0)), 1e-300)
    idle = float(np.abs(vectors[:, ~kept].T @ off).max(initial=0.0))
    noise = np.sqrt(eigenvalues[kept])
    axes = vectors[:, kept] / noise
    steps = np.ptp(axes, axis=0) if kept.any() else noise
    found, truth = (Distance.of(axes.T @ way, steps) for way in ways)
    if idle > 1e-6 * max(1.0, float(before.sum())):  # moved where the matrices allow no movement
        found = Distance(np.inf, np.inf)
    grain, step = float((0.25 / noise**2).sum()), float(steps.max(initial=0.0))
    return ChiSquareFit(found, int(kept.sum()), grain, truth, step)


def _gather(mean: FloatArray) -> FloatArray:
    """Sums up the cells that expect too few records, and leaves the others alone."""
    few = np.flatnonzero(mean < FEWEST_EXPECTED)
    many = np.flatnonzero(mean >= FEWEST_EXPECTED)
    rows = np.eye(len(mean))[many]
    if not len(few):
        return rows
    pooled = np.zeros((1, len(mean)))
    pooled[0, few] = 1
    if mean[few].sum() < FEWEST_EXPECTED and len(many):
        rows[int(mean[many].argmin())] += pooled[0]
        return rows
    return np.vstack([rows, pooled])


FOURTHS = {"laplace": 24.0, "normal": 3.0, "uniform": 1 / 5}
"""Fourth moments of noise of a scale of one."""


def with_noise_check(
    column: Column, released: OpenedTable, original: OpenedTable, *, level: float
) -> Check:
    """Sum and sum of squares against the stated distribution; ``level`` is of a false alarm."""
    from scipy.stats import norm

    name, noise = f"{column.name} with its noise", column.recoding.noise
    after, before = (_values(table, column.name) for table in (released, original))
    if noise is None or len(after) != len(before):
        return Check.decided(name, False, "other values are missing than in the original")
    if len(before) and np.array_equal(np.sort(before), np.sort(after)):
        return Check.decided(name, False, "the very values of the original: no noise was added")
    whole = is_whole(released.schema.field(column.name).type)
    shift, squares = _deviations(noise, before, after, whole=whole)
    limit = float(norm.isf(level / 4))
    good = abs(shift) <= limit and abs(squares) <= limit
    words = "fit the stated noise" if good else "do not fit the stated noise"
    return Check.decided(
        name,
        good,
        f"sum and squares {words} ({shift:+.1f} and {squares:+.1f} standard deviations, "
        f"{limit:.1f} allowed)",
    )


CELLS = 1_024
"""Equal parts of a bin, to find numbers that are nearly the original ones."""


def drawn_inside_bins(
    column: Column, released: OpenedTable, original: OpenedTable, *, level: float
) -> Check:
    """Whether numbers were drawn inside their bins, and not left as they were, or nearly so.

    Given its bin, each released number is uniform, independently of all others. If a share s was
    left as it was instead, a number at which the bin has the share t of its original values, and
    a drawn one falls with probability at most p, is (1 - s) + s t / p times likelier. Such factors
    have mean at most 1, so that their product is an e-value.
    """
    bins = column.domain
    assert isinstance(bins, Bins)  # noqa: S101 - the caller has chosen columns with bins
    whole = is_whole(released.schema.field(column.name).type)
    after, before = (_values(table, column.name) for table in (released, original))
    places = _bin_of(bins, before), _bin_of(bins, after)
    doubts: list[list[tuple[FloatArray, FloatArray, FloatArray]]] = [[], []]
    for place in range(bins.size):
        old, new = before[places[0] == place], after[places[1] == place]
        if not len(old) or not len(new):
            continue
        low, high = bins.edges[place : place + 2]
        numbers = _whole_numbers(bins, place) if whole else 0
        doubts[0].append(_coincidences(old, new, _chance_of(old, low, high, numbers)))
        if not numbers:
            scale = CELLS / (high - low)
            cells = np.floor((old - low) * scale), np.floor((new - low) * scale)
            doubts[1].append(_coincidences(*cells, np.full(len(old), 1 / CELLS + 1e-12)))
    name = f"numbers inside the bins of {column.name}"
    gains, hopes = [], list[tuple[float, float]]()
    for doubt in filter(None, doubts):
        for share in SHARES:
            bets = [_bet_on(*parts, share) for parts in doubt]
            gains.append(sum(gain for gain, _, _ in bets))
            if doubt is doubts[0]:
                mean, variance = (sum(bet[at] for bet in bets) for at in (1, 2))
                hopes.append((mean, math.sqrt(variance)))
    if gains and average(gains) >= needed(level, 1):
        told = f"exp({average(gains):.0f}) times likelier if numbers were left as they were"
        return Check.decided(name, False, told)
    least = found_from(SHARES, hopes, level=level / 2)
    if least is None:
        return Check.asserted(name, "cannot tell here: drawn numbers would look the same")
    told = f"{percent(least, 6)} of the records left as they were would be found"
    return Check.decided(name, True, f"drawn, as far as can be seen; {told}")


def _bin_of(bins: Bins, numbers: FloatArray) -> IntArray:
    """The bin of each number; negative for values that stand for missing."""
    edges = np.asarray(bins.edges, dtype=np.float64)
    places = np.minimum(np.searchsorted(edges, numbers, side="right") - 1, bins.size - 1)
    there = (numbers >= edges[0]) & (numbers <= edges[-1])
    return np.where(there, places, -1)


def _whole_numbers(bins: Bins, place: int) -> int:
    """How many whole numbers a bin holds; the last one is closed."""
    low, high = bins.edges[place : place + 2]
    last = math.floor(high) if place == bins.size - 1 else math.ceil(high) - 1
    return last - math.ceil(low) + 1


def _chance_of(numbers: FloatArray, low: float, high: float, whole: int) -> FloatArray:
    """At most so likely is each number to be drawn."""
    if whole:
        return np.full(len(numbers), 1 / whole + 2.0**-50)
    # A number stands for all draws that are rounded to it.
    found: FloatArray = 4 * np.spacing(np.abs(numbers)) / (high - low) + 2.0**-50
    return found


def _coincidences(
    before: FloatArray, after: FloatArray, chances: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Original values that differ: their shares, chances if drawn, and released records there.

    The last entry is of all other values.
    """
    values, first, times = np.unique(before, return_index=True, return_counts=True)
    places = np.searchsorted(values, after)
    same = values[np.minimum(places, len(values) - 1)] == after
    places = np.where(same, places, len(values))
    seen = np.bincount(places, minlength=len(values) + 1).astype(np.float64)
    chance = chances[first]
    rest = max(1 - float(chance.sum()), 0.0)
    return np.append(times / len(before), 0.0), np.append(chance, rest), seen


def _bet_on(
    shares: FloatArray, chances: FloatArray, seen: FloatArray, share: float
) -> tuple[float, float, float]:
    """The gain of a bet on a share, and its mean and variance if the share was left as it was."""
    odds = (1 - share) + share * shares / np.maximum(chances, 1e-300)
    with np.errstate(divide="ignore"):
        won = np.log(odds)
    there = seen > 0
    gain = float(seen[there] @ won[there])
    likely = (1 - share) * chances + share * shares
    finite = np.where(likely > 0, won, 0.0)
    records = float(seen.sum())
    mean = records * float(likely @ finite)
    return gain, mean, records * float(likely @ finite**2)


def _values(table: OpenedTable, name: str) -> FloatArray:
    column = table.to_arrow([name]).column(0)
    values: FloatArray = np.asarray(
        column.cast(pa.float64(), safe=False).drop_null(), dtype=np.float64
    )
    return values[np.isfinite(values)]


def _deviations(
    noise: Noise, before: FloatArray, after: FloatArray, *, whole: bool
) -> tuple[float, float]:
    """How far sum and sum of squares are from their means, in standard deviations.

    Values are taken around the mean of the truth, which keeps squares small.
    """
    n = len(before)
    if not n:
        return 0.0, 0.0
    variance = noise.spread(whole=whole)
    rounding = variance - noise.variance
    fourth = FOURTHS[noise.distribution] * float(noise.scale) ** 4 + 6 * noise.variance * rounding
    centre = float(before.mean())
    x, y = before - centre, after - centre
    shift = float(y.sum() - x.sum()) / np.sqrt(n * variance)
    # Var (x + e)^2 = 4 x^2 s^2 + E e^4 - s^4, as the noise is symmetric.
    spread = 4 * variance * float((x**2).sum()) + n * max(fourth - variance**2, 0.0)
    spread += n * rounding**2
    squares = (float((y**2).sum()) - float((x**2).sum()) - n * variance) / np.sqrt(spread)
    return shift, squares


FEWEST = 5.0
"""Cells of less variance are put together: chi-square is a law of large numbers."""

LEAST = 1e-9
"""Of a mean, at least so much is variance: what is less is lost in rounding."""


def reports_against_truth(
    certificate: Certificate, released: OpenedTable, original: OpenedTable, *, level: float
) -> Iterator[Check]:
    """One test a set, of its reports against the original table under its matrix."""
    mechanism = certificate.mechanism
    assert isinstance(mechanism, AttributeSampler)  # noqa: S101 - the caller has looked
    truth, told = original.to_arrow(list(mechanism.columns)), released.to_arrow()
    sets = told.column(REPORTED).cast(pa.string())
    for one in mechanism.sets:
        own = told.filter(pc.equal(sets, one.name))
        columns = [certificate.schema.column(name) for name in one.columns]
        after = _cells(columns, one.cells, own)
        if any(column.gridded for column in columns):
            before = _expected_cells(columns, one.cells, truth)
            chance = _chance_of_rounded(one.matrix.apply(before), after)
        else:
            before = _cells(columns, one.cells, truth, encoder=encode)
            chance = _chance(one, before, after)
        good = chance >= level / len(mechanism.sets)
        yield Check.decided(
            f"reports of {one.name}",
            good,
            f"{after.sum():,.0f} reports, p = {chance:.2g} "
            f"({'fit' if good else 'do not fit'} the matrix)",
        )


def _chance(one: AttributeSet, before: FloatArray, after: FloatArray) -> float:
    """How likely reports are to lie as far from their mean as these.

    Who answers is a draw without replacement. With m and t the shares expected and true, N of n
    records asked for the set, and c = retention**2 (N - 1) / (n - 1), the covariance of the counts
    is N (diag(m) - m m' - c (diag(t) - t t')).
    """
    from scipy.stats import chi2

    reports, records = float(after.sum()), float(before.sum())
    true = before / records
    mean = one.matrix.apply(true)
    less = float(one.matrix.retention) ** 2 * max(reports - 1, 0.0) / max(records - 1, 1.0)
    rare = reports * (mean - less * true) < FEWEST
    # The last cell follows from the others.
    gaps, mean, true = (_pooled(own, rare)[:-1] for own in (after - reports * mean, mean, true))
    if not len(gaps):
        return 1.0
    spread = np.maximum(mean - less * true, LEAST * mean)
    both, core = np.stack([mean, true]), np.diag([-1.0, less])
    seen = both @ (gaps / spread)
    bent = np.linalg.solve(np.eye(2) + core @ (both / spread) @ both.T, core @ seen)
    far = float(gaps @ (gaps / spread) - seen @ bent) / reports
    return float(chi2.sf(far, len(gaps)))


def _pooled(own: FloatArray, rare: BoolArray) -> FloatArray:
    """The rare cells put together, as the last one."""
    return np.append(own[~rare], own[rare].sum()) if rare.any() else own


def _cells(
    columns: Sequence[Column],
    cells: Sequence[tuple[Label, ...]],
    table: pa.Table,
    *,
    encoder: Callable[[Column, pa.ChunkedArray], Codes] = encode_released,
) -> FloatArray:
    """Records by cell."""
    codes: list[Codes] = [encoder(column, table.column(column.name)) for column in columns]
    labels = [column.labels for column in columns]
    counts = cell_counts(codes, list(map(len, labels)))
    found: FloatArray = counts[tuple(cell_codes(labels, cells))]
    return found


def _expected_cells(
    columns: Sequence[Column], cells: Sequence[tuple[Label, ...]], table: pa.Table
) -> FloatArray:
    """How many records each cell has on average, with numbers rounded to a grid by chance."""
    parts: list[tuple[list[Codes], FloatArray]] = [([], np.ones(table.num_rows))]
    for column in columns:
        values = table.column(column.name)
        if column.gridded:
            below, above, share = between(column, values)
            ways = [(below, 1 - share), (above, share)]
        else:
            ways = [(encode(column, values), np.ones(table.num_rows))]
        parts = [([*codes, own], chance * more) for codes, chance in parts for own, more in ways]
    labels = [column.labels for column in columns]
    sizes = list(map(len, labels))
    total = sum(
        np.bincount(cell_numbers(codes, sizes), weights=chance, minlength=math.prod(sizes))
        for codes, chance in parts
    )
    found: FloatArray = np.reshape(total, sizes)[tuple(cell_codes(labels, cells))]
    return found


def numbers_against_truth(
    certificate: Certificate, released: OpenedTable, original: OpenedTable, *, level: float
) -> Iterator[Check]:
    """One test a step that moves a number on a grid, of released counts under rounding and matrix.

    Counts have at most the variance of draws from the mean row, so that the test holds back.
    """
    mechanism = certificate.mechanism
    schema = certificate.schema
    steps = [
        step
        for step in (() if mechanism is None else mechanism.steps)
        if any(schema.column(name).gridded for name in step.columns)
    ]
    for step in steps:
        name = f"transitions of {' x '.join(step.columns)}"
        columns = [schema.column(own) for own in step.columns]
        if step.matrix is None or len(step.labels) > MOST_ROUNDED:
            yield Check.asserted(name, "cannot tell here: too many cells, or a matrix a stratum")
            continue
        truth, told = (table.to_arrow(list(step.columns)) for table in (original, released))
        mean = step.matrix.apply(_expected_cells(columns, step.cells, truth))
        chance = _chance_of_rounded(mean, _cells(columns, step.cells, told))
        good = chance >= level / len(steps)
        words = f"p = {chance:.2g} ({'fit' if good else 'do not fit'} rounding and matrix)"
        yield Check.decided(name, good, words)


MOST_ROUNDED = 100_000


def _chance_of_rounded(mean: FloatArray, after: FloatArray) -> float:
    """Pearson's test of counts against their mean, as if all records had the same row."""
    from scipy.stats import chi2

    mean = mean * (after.sum() / max(float(mean.sum()), 1e-300))
    rare = mean < FEWEST_EXPECTED
    gaps, mean = _pooled(after - mean, rare), _pooled(mean, rare)
    kept = mean > 0
    far = float((gaps[kept] ** 2 / mean[kept]).sum())
    return float(chi2.sf(far, max(int(kept.sum()) - 1, 1)))
