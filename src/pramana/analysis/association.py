"""How columns depend on each other: a test of independence, and how strong dependence usually is.

Two columns that are randomised by independent steps are independent in the original if and only if
they are in the release: Pearson's test of the *released* table keeps its level
(docs/howto/independence.md).

Where many expected counts are small, Pearson's statistic is not chi-squared. Given the margins,
every pairing of the values of the two columns is then equally likely under independence: the
p-value is the share of random pairings with a statistic as large. For many records its conditional
mean and variance, which are known [Dawson54], are matched by those of a chi-square.

Columns of a joint step are tested by their likelihood: independence of the original, fitted by EM,
against no restriction.

With weights, and after matrices were undone, shares vary otherwise than those of independent
people: Pearson's statistic is a sum of chi-squares with weights d, the eigenvalues of the
covariance of the shares against that of people counted once. Divided by the mean of the d, with
degrees of freedom reduced by their variation, it is close to a chi-square [Rao84].

Noise makes independent columns look dependent. A prior of Cramer's V separates the two, and more
than V = 0.34 is estimated only where the release is a hundred times as likely under dependence as
under independence. In small tables counts cannot be negative, which excludes most of what strong
noise could produce: the estimate is the mean of drawn tables, each weighted by the likelihood of
the release. Where few of them count, the first guess is taken instead. Draws come from a fixed
keystream, so that an estimate depends on the release alone (docs/howto/shrinkage.md).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np

from pramana.analysis.channels import Channels, divide, expected_original
from pramana.analysis.layout import Layout, Moments
from pramana.analysis.variance import linear_covariance
from pramana.base.randomness import Keystream
from pramana.base.text import Shown
from pramana.base.translation import gettext
from pramana.errors import InvalidTable, NotCovered, TooLarge
from pramana.types import FloatArray, Form

USUAL_STRENGTH: Final = 0.07
"""The median of Cramer's V over pairs of columns, before any data are seen."""

STRONG: Final = 0.34
SURE: Final = math.log(100)
"""Dependence above ``STRONG`` needs this logarithm of a Bayes factor."""

FAR: Final = 8.0
"""No original is considered beyond this many errors from the release."""

STEPS: Final = np.linspace(0, 1, 401)[1:] ** 2
STEPS_APART: Final = np.gradient(STEPS)
"""Lengths of the original vector that are tried: densest near 0."""


def strength_of(dependence: FloatArray, independent: FloatArray) -> float:
    """Cramer's V of a table, given by its difference from independence.

    >>> strength_of(np.array([[5.0, -5], [-5, 5]]), np.full((2, 2), 5.0))
    1.0
    """
    return float(_strengths(dependence[None], independent[None])[0])


def surprises_of(tables: FloatArray) -> list[float]:
    """How improbable the dependence of each table is a priori: -log density.

    Summed over pairs of axes; tables lie behind each other along the first axis.
    """
    surprises = np.zeros(len(tables))
    totals = np.maximum(tables.sum(axis=tuple(range(1, tables.ndim))), 1e-300)[:, None, None]
    for pair in combinations(range(1, tables.ndim), 2):
        out = tuple(axis for axis in range(1, tables.ndim) if axis not in pair)
        margins = tables.sum(axis=out)
        independent = margins.sum(axis=2)[:, :, None] * margins.sum(axis=1)[:, None] / totals
        strengths = _strengths(margins - independent, independent)
        surprises += 2 * np.log1p(strengths / USUAL_STRENGTH)
    return [float(surprise) for surprise in surprises]


def _strengths(dependence: FloatArray, independent: FloatArray) -> FloatArray:
    """The same as :func:`strength_of`, of several tables."""
    totals, free = independent.sum(axis=(1, 2)), min(independent.shape[1:]) - 1
    if free < 1:
        return np.zeros(len(totals))
    empty = totals <= 0  # written this way round, nan stays nan
    # A value that hardly anybody has must not make a table look dependent by its noise.
    few = np.where(empty, 1.0, 1e-3 * totals / independent[0].size)[:, None, None]
    squares = (dependence**2 / np.maximum(independent, few)).sum(axis=(1, 2))
    return np.sqrt(np.where(empty, 0.0, squares) / np.where(empty, 1.0, totals * free))


def usual_below(strengths: FloatArray) -> FloatArray:
    """The prior probability that a pair is less dependent than each of some strengths.

    >>> usual_below(np.array([0.0, USUAL_STRENGTH, 1.0])).round(3)
    array([0.   , 0.535, 1.   ])
    """
    return np.asarray(strengths / (USUAL_STRENGTH + strengths) * (1 + USUAL_STRENGTH))


def believable(dependence: FloatArray, independent: FloatArray, evidence: float) -> FloatArray:
    """The same dependence, but no stronger than its evidence allows.

    >>> believable(np.array([[5.0, -5], [-5, 5]]), np.full((2, 2), 5.0), 1.0)[0]
    array([ 1.7, -1.7])
    """
    strength = strength_of(dependence, independent)
    return dependence if evidence >= SURE or strength <= STRONG else dependence * STRONG / strength


def usual_part(strength: float, square: float, free: int) -> tuple[float, float]:
    """The part of a dependence to keep, and the evidence for there being any.

    The dependence is a vector of ``free`` coordinates with noise of variance 1 on each; its squared
    length is ``square`` and its Cramer's V ``strength``. An original vector of length r, in an
    unknown direction, has the likelihood exp(-r^2 / 2) 0F1(free / 2, r^2 square / 4), and the mean
    component I_{n+1} / I_n (r length) along the observed one, n = free / 2 - 1. The kept part is
    the mean over the prior of r. The evidence is the logarithm of the Bayes factor of dependence,
    every V alike, against independence.

    >>> [round(usual_part(0.9, square, 4)[0], 2) for square in (4.0, 16.0, 40.0)]
    [0.04, 0.42, 0.83]
    """
    if not math.isfinite(square) or strength <= 0 or square <= 0:
        return float(square > 0), square if square > 0 else 0.0
    length = math.sqrt(square)
    error = strength / length
    most = 1 / error
    least = min(max(0.0, math.sqrt(max(square - free, 0.0)) - FAR), most * (1 - 1e-9))
    radius = least + (min(most, length + FAR) - least) * STEPS
    along, likely = _bessel(radius * length, free)
    likely -= radius**2 / 2
    chances = np.exp(likely - likely.max()) * STEPS_APART
    weights = chances / (1 + radius * error / USUAL_STRENGTH) ** 2
    kept = float((weights * radius * along).sum() / weights.sum()) / length
    apart = error * (min(most, length + FAR) - least)
    return min(kept, 1.0), float(likely.max()) + math.log(max(float(chances.sum()) * apart, 1e-300))


def _bessel(at: FloatArray, free: int) -> tuple[FloatArray, FloatArray]:
    """I_{n+1} / I_n of n = free / 2 - 1, and its integral from 0, the logarithm of 0F1.

    Exact for one coordinate; for more the ratio is Amos's bound, which is exact at both ends.
    """
    if free == 1:
        return np.tanh(at), np.logaddexp(at, -at) - math.log(2)
    half = (free - 1) / 2
    bent = np.hypot(at, half + 1)
    return at / (half + bent), bent - half - 1 - half * np.log((half + bent) / (2 * half + 1))


# -- small tables -----------------------------------------------------------------------------

SMALL: Final = 30
"""Up to this many cells a table is small."""

DRAWS: Final = 2_000
WEAKEST, STRONGEST = 0.02, 4.0
"""Deviations of the logarithms of cells: next to no dependence, and all but a few cells empty."""

LEAST: Final = 2e-3
"""The smallest share of a row or column: a smaller one never settles."""

CLASSES: Final = np.concatenate([[0.0], np.geomspace(4e-3, 1.0, 30)])
"""Of Cramer's V: drawn tables of a class share its prior probability."""


def mean_table(
    released: FloatArray, channels: Channels, margins: tuple[FloatArray, FloatArray], noise: float
) -> tuple[FloatArray, float, float]:
    """The posterior mean of a small table, less independence, and how many drawn tables count.

    And the evidence for dependence: the logarithm of its Bayes factor against independence, all
    strengths alike. ``margins`` are those of the original, ``noise`` is the share of chance in
    where a record is released.
    """
    total = float(released.sum())
    rows, columns = (np.maximum(margin / margin.sum(), LEAST) for margin in margins)
    dependence, strengths = _drawn(rows / rows.sum(), columns / columns.sum())
    expected = np.outer(released.sum(axis=1), released.sum(axis=0)) / total
    scale = np.sqrt(np.maximum(expected, 1e-9))
    # Pearson residuals are Normal with the same deviation in every cell; these are their means.
    means = channels.forward(dependence) * (total / scale)[:, :, None]
    seen = (released - expected) / scale
    likely = (means * (seen[:, :, None] - means / 2)).sum(axis=(0, 1)) / noise
    chances, most = np.exp(likely - likely.max()), float(likely.max())
    alike = _spread_over(strengths, CLASSES)
    evidence = most + float(np.log((chances * alike).sum() / alike.sum()))
    weights = chances * _spread_over(strengths, usual_below(CLASSES))
    weights /= weights.sum()
    return (dependence * weights).sum(axis=2) * total, float(1 / (weights**2).sum()), evidence


def _spread_over(strengths: FloatArray, below: FloatArray) -> FloatArray:
    """The weight of each table, given the probability below each class of strengths."""
    classes = np.clip(np.digitize(strengths, CLASSES) - 1, 0, len(CLASSES) - 2)
    number = np.maximum(np.bincount(classes, minlength=len(CLASSES) - 1), 1)
    return np.asarray((np.diff(below) / number)[classes])


def _drawn(rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Tables with these margins, less independence, along the last axis, and their Cramer's V."""
    independent = np.outer(rows, columns)[:, :, None]
    tables = _factors(len(rows), len(columns)) * independent
    for _ in range(16):
        tables *= (rows[:, None] / tables.sum(axis=1))[:, None]
        tables *= columns[:, None] / tables.sum(axis=0)
    dependence = tables - tables.sum(axis=1)[:, None] * columns[:, None]
    squares = (dependence**2 / independent).sum(axis=(0, 1)) / (min(len(rows), len(columns)) - 1)
    return dependence, np.sqrt(squares)


@lru_cache(maxsize=16)
def _factors(rows: int, columns: int) -> FloatArray:
    """Cells of drawn tables relative to independence; each table comes with its opposite."""
    half = DRAWS // 2
    normals = Keystream.from_seed(0).normals("possible tables", 0, half * rows * columns)
    deviations = np.geomspace(WEAKEST, STRONGEST, half)
    tables = deviations * normals.reshape(half, rows, columns).transpose(1, 2, 0)
    both = np.clip(np.concatenate([tables, -tables], axis=2), -12, 12)
    return np.ascontiguousarray(np.exp(both))


@dataclass(frozen=True, repr=False)
class IndependenceTest(Shown):
    """The outcome of a test of independence.

    Attributes:
        by: The two columns.
        statistic: The test statistic; chi-squared if the columns are independent.
        degrees: Its degrees of freedom.
        p_value: The probability of so large a statistic under independence.
        method: ``pearson``, ``permutation`` or ``moments`` (Pearson's statistic where expected
            counts are small), ``likelihood-ratio``, or ``rao-scott`` with weights.
        why: One sentence on what makes the test valid.
        weight: The column that weighed the records, if one did.
    """

    by: tuple[str, ...]
    statistic: float
    degrees: float
    p_value: float
    method: str
    why: str
    weight: str | None = None

    @property
    def pvalue(self) -> float:
        """The p-value, by the name that SciPy and statsmodels give it."""
        return self.p_value

    def shown(self) -> tuple[str, list[str]]:
        """The statistic, and what makes it valid."""
        names = gettext(" and ").join(self.by)
        head = gettext(
            "Independence of {names}: {method} {statistic:,.4g} on {degrees:.4g} "
            "degrees of freedom, p = {p_value:.3g}",
            names=names,
            method=self.method,
            statistic=self.statistic,
            degrees=self.degrees,
            p_value=self.p_value,
        )
        return head, [
            self.why,
            *([gettext("Weighted by {weight}.", weight=self.weight)] if self.weight else []),
        ]

    def to_json(self) -> Form:
        """As JSON."""
        return asdict(self) | {"by": list(self.by)}


def independence_test(
    moments: Moments, layout: Layout, *, inflated: float = 1.0
) -> IndependenceTest:
    """Test whether the two columns of ``layout.by`` are independent in the population.

    ``inflated`` is the largest factor by which drawing increases Pearson's statistic.
    """
    if len(layout.by) != 2:
        raise NotCovered(
            "A test of independence takes two columns, got {count}.", count=len(layout.by)
        )
    if moments.count <= 0:
        raise InvalidTable("There are no released records to test.")
    channels = Channels(layout)
    if moments.weighted:
        statistic, degrees = weighted_statistic(moments, channels)
        why = gettext(
            "the statistic of weighted shares is corrected for their variance, with weights and "
            "randomisation."
        )
        tail = chi_square_tail(statistic, degrees)
        return IndependenceTest(layout.by, statistic, degrees, tail, "rao-scott", why)
    if len(layout.axes) == 2 and all(axis.whole for axis in layout.axes):
        channels.solve(np.zeros(layout.shape))  # refuses a matrix that hides the dependence
        return _pearson(moments.records, layout, inflated)
    if len(layout.axes) == 1 and set(layout.axes[0].columns) == set(layout.by):
        return _likelihood_ratio(moments.records, layout, channels)
    raise NotCovered(
        "The matrix of {by} depends on further columns, or records are filtered on randomised "
        "columns: there is no test for that case. Test within a stratum.",
        by=gettext(" or ").join(layout.by),
    )


def chi_square_tail(statistic: float, degrees: float) -> float:
    """The probability of so large a statistic under independence."""
    from scipy.special import chdtrc

    return float(chdtrc(degrees, statistic)) if degrees > 0 else 1.0


def _pearson(released: FloatArray, layout: Layout, inflated: float) -> IndependenceTest:
    table = released[released.sum(axis=1) > 0][:, released.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum()) / inflated
    degrees = (table.shape[0] - 1) * (table.shape[1] - 1)
    why = gettext("both columns are released unchanged.")
    if any(axis.step is not None for axis in layout.axes):
        why = gettext(
            "the columns were randomised independently, so the original is independent if and only "
            "if the release is."
        )
    method, p_value = "pearson", chi_square_tail(statistic, degrees)
    if degrees > 0 and _sparse(expected):
        if table.sum() <= 5_000:  # a second of work
            method, p_value = "permutation", _permuted_tail(table, statistic)
            reference = gettext(
                "among {permutations:,} random pairings of their values", permutations=PERMUTATIONS
            )
        else:
            method, p_value = "moments", _matched_tail(table, statistic)
            reference = gettext("by a chi-square of the same mean and variance")
        why += gettext(
            " Many expected counts are small: the p-value is given the margins, {reference}.",
            reference=reference,
        )
    return IndependenceTest(layout.by, statistic, degrees, p_value, method, why)


PERMUTATIONS: Final = 1_999

BLOCK: Final = 2**20
"""Random numbers that are held at once."""


def _sparse(expected: FloatArray) -> bool:
    """Whether too many expected counts are small for a chi-square [Cochran54]."""
    return bool((expected < 1).any() or (expected < 5).mean() > 0.2)


def _permuted_tail(table: FloatArray, statistic: float) -> float:
    """The share of random pairings with so large a statistic, the table itself counted as one.

    Pairings come from a fixed keystream, so that the p-value depends on the release alone.
    """
    counts = np.rint(table).astype(np.int64)
    width = counts.shape[1]
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    rows, columns = cells // width, cells % width
    products = np.outer(counts.sum(axis=1), counts.sum(axis=0)).ravel()
    keystream, records = Keystream.from_seed(0), len(cells)
    at_once = max(BLOCK // max(records, counts.size), 1)
    larger = 1
    for start in range(0, PERMUTATIONS, at_once):
        number = min(at_once, PERMUTATIONS - start)
        uniforms = keystream.uniforms("pairings", start * records, number * records)
        paired = columns[np.argsort(uniforms.reshape(number, records), axis=1)]
        tables = np.arange(number)[:, None] * counts.size + rows * width + paired
        drawn = np.bincount(tables.ravel(), minlength=number * counts.size)
        squares = (drawn.reshape(number, counts.size) ** 2 / products).sum(axis=1)
        larger += int((records * (squares - 1) >= statistic * (1 - 1e-9)).sum())
    return larger / (PERMUTATIONS + 1)


def _matched_tail(table: FloatArray, statistic: float) -> float:
    """By a chi-square with the mean and variance of the statistic given the margins [Dawson54]."""
    records = float(table.sum())
    sizes, rests = [], []
    for margin in (table.sum(axis=1), table.sum(axis=0)):
        values = len(margin)
        sizes.append((records - values) * (values - 1) / (records - 1))
        rests.append((records * float((1 / margin).sum()) - values**2) / (records - 2))
    mean = records / (records - 1) * (table.shape[0] - 1) * (table.shape[1] - 1)
    variance = 2 * records / (records - 3) * (sizes[0] - rests[0]) * (sizes[1] - rests[1])
    variance += records**2 / (records - 1) * rests[0] * rests[1]
    return chi_square_tail(statistic * 2 * mean / variance, 2 * mean**2 / variance)


def _likelihood_ratio(released: FloatArray, layout: Layout, channels: Channels) -> IndependenceTest:
    """Quasi-independence where some combinations cannot exist: independent among the others."""
    axis = layout.axes[0]
    codes = [
        np.unique([str(cell[part]) for cell in axis.cells], return_inverse=True)[1]
        for part in range(2)
    ]
    model = np.full(released.shape, released.sum() / released.size)
    for _ in range(2000):
        original = expected_original(released, model, channels)
        new = model
        for code in codes:
            above, below = (
                np.bincount(code, weights=table).astype(np.float64) for table in (original, new)
            )
            new = new * divide(above, below)[code]
        moved = float(np.abs(new - model).sum())
        model = new
        if moved < 1e-9 * released.sum():
            break
    expected = channels.forward(model)
    seen = released > 0
    statistic = max(2 * float(released[seen] @ np.log(released[seen] / expected[seen])), 0.0)
    degrees = axis.size - 1 - sum(int(code.max()) for code in codes)
    few = " Many expected counts are small: the p-value may be too small. Merge rare values."
    return IndependenceTest(
        layout.by,
        statistic,
        degrees,
        chi_square_tail(statistic, degrees),
        "likelihood-ratio",
        f"the columns were randomised together, so independence of the original was fitted by EM."
        f"{few if _sparse(expected) else ''}",
    )


def weighted_statistic(moments: Moments, channels: Channels) -> tuple[float, float]:
    """The corrected statistic of the table of two columns, and its degrees of freedom."""
    counts = channels.solve(moments.w)
    table = channels.layout.lay_out(counts)
    rows, columns = table.sum(axis=1) != 0, table.sum(axis=0) != 0
    if table.size > 400:
        raise TooLarge(
            "With weights the test takes tables of up to 400 cells, and this one has {size:,}. "
            "Merge values, or test records with weighted=False.",
            size=table.size,
        )
    kept = table[np.ix_(rows, columns)]
    if min(kept.shape) < 2:
        return 0.0, 0.0
    units = np.eye(table.size).reshape(-1, *table.shape)[np.outer(rows, columns).ravel()]
    weights = np.zeros_like(counts), np.ones_like(counts)
    covariance = linear_covariance(moments, channels, weights, list(units), infer="population")
    total, records = float(kept.sum()), moments.count
    shares = kept / total
    down, across = shares.sum(axis=1), shares.sum(axis=0)
    if total <= 0 or (down <= 0).any() or (across <= 0).any():
        raise NotCovered(
            "By the estimate some values of the two columns have no weight at all, so that there "
            "is no test. Merge rare values, or test records with weighted=False."
        )
    gap = (shares - np.outer(down, across))[:-1, :-1].ravel()
    # The derivatives of the gaps by shares, and of shares by counts (times the total).
    by_shares = np.kron(*(np.eye(len(m))[:-1] - m[:-1, None] for m in (down, across)))
    by_counts = np.eye(shares.size) - np.outer(shares.ravel(), np.ones(shares.size))
    slopes = by_shares @ by_counts / total
    spread = records * slopes @ covariance @ slopes.T
    independent = np.kron(*(np.diag(m[:-1]) - np.outer(m[:-1], m[:-1]) for m in (down, across)))
    statistic = records * float(gap @ np.linalg.solve(independent, gap))
    effects = np.linalg.solve(independent, spread)
    first, second = float(np.trace(effects)), float(np.trace(effects @ effects))
    return statistic * first / second, first**2 / second
