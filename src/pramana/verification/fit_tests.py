"""The owner's tests of single columns and tables: do released values fit the original ones?

- Released counts under a matrix: a chi-square test that also holds where few records change.
- A column with noise: sum and sum of squares, by the central limit theorem. The sum of n released
  values is that of the original ones plus n draws of variance s^2, and the sum of their squares
  grows by n s^2 on average. So a release without noise, or with another scale, is found.
- Numbers drawn inside bins: an e-value against numbers that were left unchanged.
- Attribute sets, and numbers that are rounded to a grid by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.text import percent
from pramana.base.translation import gettext, noop, numeral
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet
from pramana.release.certificate import Certificate
from pramana.schema.codec import between, encode, encode_released
from pramana.schema.domains import Bins, Label
from pramana.schema.joint_cells import cell_codes, cell_counts, cell_numbers
from pramana.schema.opened_table import OpenedTable, is_whole
from pramana.schema.schema import REPORTED, Column
from pramana.types import BoolArray, Codes, FloatArray, IntArray
from pramana.verification.checks import SHARES, Check, average, detectable_share, needed

FEWEST_EXPECTED = 5.0
"""Cells with fewer expected records are merged: chi-square is a law of large numbers."""

# -- counts under a matrix -------------------------------------------------------------------------


@dataclass(frozen=True)
class ChiSquareFit:
    """A chi-square test of released counts.

    A large step of a single record widens the upper tail: where hardly any record changes, the one
    that does lies many standard deviations off. A sum of draws, each within b of its mean, is t
    deviations off no more often than a normal one is t / sqrt(1 + b t / 3) (Bernstein).

    Attributes:
        square: the squared distance of the released counts from their mean, in units of noise.
        far: the same for the upper tail, where steps of single records are allowed for.
        degrees: in how many directions counts can lie off.
        grain: by how much the square may change within the rounding of counts to whole numbers.
        unchanged: ``square`` and ``far`` of the original counts themselves.
        step: the largest step of one record.
    """

    square: float
    far: float
    degrees: int
    grain: float
    unchanged: tuple[float, float]
    step: float

    @property
    def p_value(self) -> float:
        """The probability that a valid release lies so far from the mean."""
        return self._tails(self.square, self.far)[0]

    @property
    def too_close(self) -> float:
        """The probability that a valid release lies so close to the mean."""
        return self._tails(self.square, self.far)[1]

    @property
    def chance(self) -> float:
        """The probability that a valid release is as far off, or as close, as this one."""
        return min(1.0, 2 * min(self._tails(self.square, self.far)))

    @property
    def chance_unchanged(self) -> float:
        """The same of the original records in place of the released ones."""
        return min(1.0, 2 * min(self._tails(*self.unchanged)))

    def _tails(self, square: float, far: float) -> tuple[float, float]:
        """Both tails; counts are whole numbers, so that the lower one begins half a record off."""
        from scipy.special import chdtr, chdtrc

        if not self.degrees or not np.isfinite(far):
            return float(np.isfinite(far)), 1.0
        return float(chdtrc(self.degrees, far)), float(chdtr(self.degrees, square + self.grain))

    def __add__(self, other: ChiSquareFit) -> ChiSquareFit:
        """Two independent tables together."""
        return ChiSquareFit(
            self.square + other.square,
            self.far + other.far,
            self.degrees + other.degrees,
            self.grain + other.grain,
            (self.unchanged[0] + other.unchanged[0], self.unchanged[1] + other.unchanged[1]),
            max(self.step, other.step),
        )


def fit_counts(values: FloatArray, before: FloatArray, after: FloatArray) -> ChiSquareFit:
    """How well released counts fit the original ones under a matrix."""
    mean = before @ values
    covariance = np.diag(mean) - (values.T * before) @ values
    deviations = np.stack([after - mean, before - mean], axis=1)
    few = mean < FEWEST_EXPECTED
    if few.any():  # the rare cells become one, or part of the smallest of the others
        merge = np.vstack([np.eye(len(mean))[~few], few.astype(float)])
        if mean[few].sum() < FEWEST_EXPECTED and not few.all():
            merge[int(mean[~few].argmin())] += merge[-1]
            merge = merge[:-1]
        covariance, deviations = merge @ covariance @ merge.T, merge @ deviations
    # Columns sum to the number of records, so that one direction has no variance: a pseudo-inverse.
    eigenvalues, vectors = np.linalg.eigh(covariance)
    kept = eigenvalues > 1e-9 * max(float(eigenvalues.max(initial=0.0)), 1e-300)
    noise = np.sqrt(eigenvalues[kept])
    axes = vectors[:, kept] / noise
    steps = np.ptp(axes, axis=0) if kept.any() else noise
    shifts = np.abs(axes.T @ deviations)
    squares = (shifts**2).sum(axis=0)
    fars = (shifts**2 / (1 + steps[:, None] * shifts / 3)).sum(axis=0)
    idle = float(np.abs(vectors[:, ~kept].T @ deviations[:, 0]).max(initial=0.0))
    if idle > 1e-6 * max(1.0, float(before.sum())):  # moved where the matrices allow no movement
        squares[0] = fars[0] = np.inf
    return ChiSquareFit(
        float(squares[0]),
        float(fars[0]),
        int(kept.sum()),
        float((0.25 / noise**2).sum()),
        (float(squares[1]), float(fars[1])),
        float(steps.max(initial=0.0)),
    )


# -- noise -----------------------------------------------------------------------------------------

FOURTHS = {"laplace": 24.0, "normal": 3.0, "uniform": 1 / 5}
"""Fourth moments of noise of a scale of one."""


def with_noise_check(
    column: Column, released: OpenedTable, original: OpenedTable, *, level: float
) -> Check:
    """Sum and sum of squares against the stated distribution; ``level`` is of a false alarm."""
    from scipy.stats import norm

    name, noise = "{column} with its noise", column.recoding.noise
    after, before = (_numbers(table, column.name) for table in (released, original))
    records = len(before)
    if noise is None or len(after) != records:
        words = "other values are missing than in the original"
        return Check.decided(name, False, words, column=column.name)
    if records and np.array_equal(np.sort(before), np.sort(after)):
        words = "the original values: no noise was added"
        return Check.decided(name, False, words, column=column.name)
    variance = noise.spread(whole=is_whole(released.schema.field(column.name).type))
    rounding = variance - noise.variance
    fourth = FOURTHS[noise.distribution] * float(noise.scale) ** 4 + 6 * noise.variance * rounding
    shift = squares = 0.0
    if records:
        centre = float(before.mean())  # keeps squares small
        x, y = before - centre, after - centre
        shift = float(y.sum() - x.sum()) / math.sqrt(records * variance)
        # Var (x + e)^2 = 4 x^2 s^2 + E e^4 - s^4, as the noise is symmetric.
        spread = 4 * variance * float((x**2).sum())
        spread += records * (max(fourth - variance**2, 0.0) + rounding**2)
        gained = float((y**2).sum()) - float((x**2).sum()) - records * variance
        squares = gained / math.sqrt(spread)
    limit = float(norm.isf(level / 4))
    good = abs(shift) <= limit and abs(squares) <= limit
    outcome = noop("fit the stated noise") if good else noop("do not fit the stated noise")
    return Check.decided(
        name,
        good,
        "sum and squares {outcome} ({shift:+.1f} and {squares:+.1f} standard deviations, "
        "{limit:.1f} allowed)",
        column=column.name,
        outcome=gettext(outcome),
        shift=shift,
        squares=squares,
        limit=limit,
    )


def _numbers(table: OpenedTable, name: str) -> FloatArray:
    column = table.to_arrow([name]).column(0).cast(pa.float64(), safe=False).drop_null()
    values = np.asarray(column, dtype=np.float64)
    return np.asarray(values[np.isfinite(values)], dtype=np.float64)


# -- numbers inside bins ---------------------------------------------------------------------------

CELLS = 1_024
"""Equal parts of a bin, to find numbers that are nearly the original ones."""


def drawn_inside_bins(
    column: Column, released: OpenedTable, original: OpenedTable, *, level: float
) -> Check:
    """Whether numbers were drawn inside their bins, and not left unchanged, or nearly so.

    Given its bin, each released number is uniform, independently of all others. If a share s was
    left unchanged instead, a number at which the bin has the share t of its original values, and
    a drawn one falls with probability at most p, is (1 - s) + s t / p times likelier. Such factors
    have mean at most 1, so that their product is an e-value.
    """
    bins = column.domain
    assert isinstance(bins, Bins)  # noqa: S101 - the caller has chosen columns with bins
    whole = is_whole(released.schema.field(column.name).type)
    after, before = (_numbers(table, column.name) for table in (released, original))
    edges = np.asarray(bins.edges, dtype=np.float64)
    bin_of = [
        np.where(
            (numbers >= edges[0]) & (numbers <= edges[-1]),  # others stand for missing
            np.minimum(np.searchsorted(edges, numbers, side="right") - 1, bins.size - 1),
            -1,
        )
        for numbers in (before, after)
    ]
    same: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    near: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    for place in range(bins.size):
        old, new = before[bin_of[0] == place], after[bin_of[1] == place]
        if not len(old) or not len(new):
            continue
        low, high = bins.edges[place : place + 2]
        last = math.floor(high) if place == bins.size - 1 else math.ceil(high) - 1
        if whole and (count := last - math.ceil(low) + 1):
            same.append(_coincidences(old, new, np.full(len(old), 1 / count + 2.0**-50)))
            continue
        # A number stands for all draws that are rounded to it.
        chances = 4 * np.spacing(np.abs(old)) / (high - low) + 2.0**-50
        same.append(_coincidences(old, new, chances))
        parts = [np.floor((numbers - low) * (CELLS / (high - low))) for numbers in (old, new)]
        near.append(_coincidences(parts[0], parts[1], np.full(len(old), 1 / CELLS + 1e-12)))
    bets = {
        kind: [np.sum([_bet_on(*bin_, share) for bin_ in alternative], axis=0) for share in SHARES]
        for kind, alternative in (("same", same), ("near", near))
        if alternative
    }
    gains = [float(bet[0]) for alternative in bets.values() for bet in alternative]
    name = "numbers inside the bins of {column}"
    if gains and average(gains) >= needed(level, 1):
        detail = "exp({gain:.0f}) times more likely if numbers were left unchanged"
        return Check.decided(name, False, detail, column=column.name, gain=average(gains))
    hopes = [(float(mean), math.sqrt(variance)) for _, mean, variance in bets.get("same", [])]
    least = detectable_share(SHARES, hopes, level=level / 2)
    if least is None:
        return Check.asserted(
            name, "asserted by the owner: random numbers would look the same", column=column.name
        )
    detail = "consistent with random numbers; {share} of records left unchanged would be detected"
    return Check.decided(name, True, detail, column=column.name, share=numeral(percent(least, 6)))


def _coincidences(
    before: FloatArray, after: FloatArray, chances: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distinct original values: their shares, chances if drawn, and released records with them.

    The last entry is of all other values.
    """
    values, first, times = np.unique(before, return_index=True, return_counts=True)
    places = np.minimum(np.searchsorted(values, after), len(values) - 1)
    places = np.where(values[places] == after, places, len(values))
    seen = np.bincount(places, minlength=len(values) + 1).astype(np.float64)
    rest = max(1 - float(chances[first].sum()), 0.0)
    return np.append(times / len(before), 0.0), np.append(chances[first], rest), seen


def _bet_on(
    shares: FloatArray, chances: FloatArray, seen: FloatArray, share: float
) -> tuple[float, float, float]:
    """The gain of a bet on a share, and its mean and variance if the share was left unchanged."""
    odds = (1 - share) + share * shares / np.maximum(chances, 1e-300)
    with np.errstate(divide="ignore"):
        won = np.log(odds)
    there = seen > 0
    likely = (1 - share) * chances + share * shares
    finite = np.where(likely > 0, won, 0.0)
    records = float(seen.sum())
    mean, square = float(likely @ finite), float(likely @ finite**2)
    return float(seen[there] @ won[there]), records * mean, records * square


# -- attribute sets, and numbers on a grid ---------------------------------------------------------

LEAST = 1e-9
"""The least share of a mean that is taken as variance: what is less is lost in rounding."""

MOST_ROUNDED = 100_000


def reports_against_original(
    certificate: Certificate, released: OpenedTable, original: OpenedTable, *, level: float
) -> Iterator[Check]:
    """One test an attribute set, of its reports against the original table under its matrix."""
    mechanism = certificate.mechanism
    assert isinstance(mechanism, AttributeSampler)  # noqa: S101 - the caller has looked
    originals, reports = original.to_arrow(list(mechanism.columns)), released.to_arrow()
    sets = reports.column(REPORTED).cast(pa.string())
    for one in mechanism.sets:
        columns = [certificate.schema.column(name) for name in one.columns]
        after = _cells(columns, one.cells, reports.filter(pc.equal(sets, one.name)))
        if any(column.gridded for column in columns):
            before = _expected_cells(columns, one.cells, originals)
            chance = _chance_of_rounded(one.matrix.apply(before), after)
        else:
            before = _cells(columns, one.cells, originals, encoder=encode)
            chance = _chance(one, before, after)
        good = chance >= level / len(mechanism.sets)
        yield Check.decided(
            "reports of {column}",
            good,
            "{total:,.0f} reports, p = {chance:.2g} (fit the matrix)"
            if good
            else "{total:,.0f} reports, p = {chance:.2g} (do not fit the matrix)",
            column=one.name,
            total=after.sum(),
            chance=chance,
        )


def numbers_against_original(
    certificate: Certificate, released: OpenedTable, original: OpenedTable, *, level: float
) -> Iterator[Check]:
    """One test per step on a number with a grid: released counts under rounding and matrix.

    Counts have at most the variance of draws from the mean row, so that the test is conservative.
    """
    schema = certificate.schema
    steps = [
        step
        for step in (() if certificate.mechanism is None else certificate.mechanism.steps)
        if any(schema.column(name).gridded for name in step.columns)
    ]
    for step in steps:
        name, names = "transitions of {columns}", " x ".join(step.columns)
        if step.matrix is None or len(step.labels) > MOST_ROUNDED:
            detail = "asserted by the owner: too many cells, or a matrix for each stratum"
            yield Check.asserted(name, detail, columns=names)
            continue
        columns = [schema.column(column) for column in step.columns]
        before, after = (table.to_arrow(list(step.columns)) for table in (original, released))
        mean = step.matrix.apply(_expected_cells(columns, step.cells, before))
        chance = _chance_of_rounded(mean, _cells(columns, step.cells, after))
        good = chance >= level / len(steps)
        words = (
            "p = {chance:.2g} (fit rounding and matrix)"
            if good
            else "p = {chance:.2g} (do not fit rounding and matrix)"
        )
        yield Check.decided(name, good, words, columns=names, chance=chance)


def _chance(one: AttributeSet, before: FloatArray, after: FloatArray) -> float:
    """The probability that reports lie as far from their mean as these.

    Who answers is a draw without replacement. With m and t the shares expected and true, N of n
    records asked for the set, and c = retention**2 (N - 1) / (n - 1), the covariance of the counts
    is N (diag(m) - m m' - c (diag(t) - t t')).
    """
    from scipy.stats import chi2

    reports, records = float(after.sum()), float(before.sum())
    true = before / records
    mean = one.matrix.apply(true)
    less = float(one.matrix.retention) ** 2 * max(reports - 1, 0.0) / max(records - 1, 1.0)
    rare = reports * (mean - less * true) < FEWEST_EXPECTED
    # The last cell follows from the others.
    gaps, mean, true = (
        _merged(counts, rare)[:-1] for counts in (after - reports * mean, mean, true)
    )
    if not len(gaps):
        return 1.0
    spread = np.maximum(mean - less * true, LEAST * mean)
    both, core = np.stack([mean, true]), np.diag([-1.0, less])
    seen = both @ (gaps / spread)
    bent = np.linalg.solve(np.eye(2) + core @ (both / spread) @ both.T, core @ seen)
    far = float(gaps @ (gaps / spread) - seen @ bent) / reports
    return float(chi2.sf(far, len(gaps)))


def _chance_of_rounded(mean: FloatArray, after: FloatArray) -> float:
    """Pearson's test of counts against their mean, as if all records had the same row."""
    from scipy.stats import chi2

    mean = mean * (after.sum() / max(float(mean.sum()), 1e-300))
    rare = mean < FEWEST_EXPECTED
    gaps, mean = _merged(after - mean, rare), _merged(mean, rare)
    kept = mean > 0
    far = float((gaps[kept] ** 2 / mean[kept]).sum())
    return float(chi2.sf(far, max(int(kept.sum()) - 1, 1)))


def _merged(cells: FloatArray, rare: BoolArray) -> FloatArray:
    """The rare cells as one, which comes last."""
    return np.append(cells[~rare], cells[rare].sum()) if rare.any() else cells


def _cells(
    columns: Sequence[Column],
    cells: Sequence[tuple[Label, ...]],
    table: pa.Table,
    *,
    encoder: Callable[[Column, pa.ChunkedArray], Codes] = encode_released,
) -> FloatArray:
    """The number of records in each cell."""
    codes: list[Codes] = [encoder(column, table.column(column.name)) for column in columns]
    labels = [column.labels for column in columns]
    counts = cell_counts(codes, list(map(len, labels)))
    return np.asarray(counts[tuple(cell_codes(labels, cells))], dtype=np.float64)


def _expected_cells(
    columns: Sequence[Column], cells: Sequence[tuple[Label, ...]], table: pa.Table
) -> FloatArray:
    """The expected number of records in each cell, with numbers rounded to a grid by chance."""
    parts: list[tuple[list[IntArray | Codes], FloatArray]] = [([], np.ones(table.num_rows))]
    for column in columns:
        values = table.column(column.name)
        if column.gridded:
            below, above, share = between(column, values)
            ways = [(below, 1 - share), (above, share)]
        else:
            ways = [(encode(column, values), np.ones(table.num_rows))]
        parts = [([*codes, code], chance * more) for codes, chance in parts for code, more in ways]
    labels = [column.labels for column in columns]
    sizes = list(map(len, labels))
    total = np.zeros(math.prod(sizes))
    for codes, chance in parts:
        total += np.bincount(cell_numbers(codes, sizes), weights=chance, minlength=len(total))
    return np.asarray(total.reshape(sizes)[tuple(cell_codes(labels, cells))], dtype=np.float64)
