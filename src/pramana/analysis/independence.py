"""A test of independence of two columns, valid under randomisation.

Two columns that are randomised by independent steps are independent in the original if and only if
they are in the release: (p q') becomes (p A)(q B)'. So Pearson's test of the *released* table keeps
its level without correction. (A test of estimated counts does not: their noise is many times
larger.)

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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pramana.analysis.channels import Channels, divide, expected_truth
from pramana.analysis.contrasts import linear_covariance
from pramana.analysis.layout import Layout, Moments
from pramana.base.randomness import Keystream
from pramana.base.text import Shown
from pramana.errors import InvalidTable, NotCovered, TooLarge
from pramana.types import FloatArray, Form

WEIGHTED: Final = (
    "In this kind of release the test of independence does not cover weighted records. Test them "
    "without their weights: weighted=False, on the command line --unweighted."
)


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

    by: tuple[str, str]
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
        names = " and ".join(self.by)
        head = (
            f"Independence of {names}: {self.method} {self.statistic:,.4g} on {self.degrees:.4g} "
            f"degrees of freedom, p = {self.p_value:.3g}"
        )
        return head, [self.why, *([f"Weighted by {self.weight}."] if self.weight else [])]

    def to_json(self) -> Form:
        """As JSON."""
        return {
            "by": list(self.by),
            "statistic": self.statistic,
            "degrees": self.degrees,
            "p_value": self.p_value,
            "method": self.method,
            "why": self.why,
            "weight": self.weight,
        }


def independence_test(
    moments: Moments, layout: Layout, *, inflated: float = 1.0
) -> IndependenceTest:
    """Test whether the two columns of ``layout.by`` are independent in the population.

    ``inflated`` is the largest factor by which drawing increases Pearson's statistic.
    """
    if len(layout.by) != 2:
        raise NotCovered(f"A test of independence takes two columns, got {len(layout.by)}.")
    if moments.count <= 0:
        raise InvalidTable("There are no released records to test.")
    channels = Channels(layout)
    by = (layout.by[0], layout.by[1])
    if moments.weighted:
        statistic, degrees = weighted_statistic(moments, channels)
        why = (
            "the statistic of weighted shares is corrected for their variance, with weights and "
            "randomisation."
        )
        tail = chi_square_tail(statistic, degrees)
        return IndependenceTest(by, statistic, degrees, tail, "rao-scott", why)
    if len(layout.axes) == 2 and all(axis.whole for axis in layout.axes):
        channels.solve(np.zeros(layout.shape))  # refuses a matrix that hides the dependence
        return _pearson(moments.records, layout, inflated)
    if len(layout.axes) == 1 and set(layout.axes[0].columns) == set(layout.by):
        return _likelihood_ratio(moments.records, layout, channels)
    raise NotCovered(
        f"The matrix of {' or '.join(layout.by)} depends on further columns, or records are "
        "filtered on randomised columns: there is no test for that case. Test within a stratum."
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
    why = "both columns are released unchanged."
    if any(axis.step is not None for axis in layout.axes):
        why = (
            "the columns were randomised independently, so the original is independent if and only "
            "if the release is."
        )
    method, p_value = "pearson", chi_square_tail(statistic, degrees)
    if degrees > 0 and _sparse(expected):
        if table.sum() <= MOST_PERMUTED:
            method, p_value = "permutation", _permuted_tail(table, statistic)
            reference = f"among {PERMUTATIONS:,} random pairings of their values"
        else:
            method, p_value = "moments", _matched_tail(table, statistic)
            reference = "by a chi-square of the same mean and variance"
        why += f" Many expected counts are small: the p-value is given the margins, {reference}."
    by = (layout.by[0], layout.by[1])
    return IndependenceTest(by, statistic, degrees, p_value, method, why)


SMALL_COUNT: Final = 5.0
MOST_SMALL: Final = 0.2
"""Pearson's statistic is chi-squared where no more of the expected counts are small [Cochran54]."""

PERMUTATIONS: Final = 1_999
MOST_PERMUTED: Final = 5_000
"""Records up to which values are paired at random: a second of work."""

BLOCK: Final = 2**20
"""Random numbers that are held at once."""


def _sparse(expected: FloatArray) -> bool:
    return bool((expected < 1).any() or (expected < SMALL_COUNT).mean() > MOST_SMALL)


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
        original = expected_truth(released, model, channels)
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
    statistic = 2 * float(released[seen] @ np.log(released[seen] / expected[seen]))
    degrees = axis.size - 1 - sum(int(code.max()) for code in codes)
    return IndependenceTest(
        (layout.by[0], layout.by[1]),
        max(statistic, 0.0),
        degrees,
        chi_square_tail(max(statistic, 0.0), degrees),
        "likelihood-ratio",
        "the columns were randomised together, so independence of the original was fitted by EM."
        + (FEW_EXPECTED if _sparse(expected) else ""),
    )


FEW_EXPECTED: Final = (
    " Many expected counts are small: the p-value may be too small. Merge rare values."
)

MOST_CELLS = 400
"""Of this many cells the covariance is written out."""


def weighted_statistic(moments: Moments, channels: Channels) -> tuple[float, float]:
    """The corrected statistic of the table of two columns, and its degrees of freedom."""
    counts = channels.solve(moments.w)
    table = channels.layout.lay_out(counts)
    rows, columns = table.sum(axis=1) != 0, table.sum(axis=0) != 0
    if table.size > MOST_CELLS:
        raise TooLarge(
            f"With weights the test takes tables of up to {MOST_CELLS} cells, and this one has "
            f"{table.size:,}. Merge values, or test records with weighted=False."
        )
    kept = table[np.ix_(rows, columns)]
    if min(kept.shape) < 2:
        return 0.0, 0.0
    units = np.eye(table.size).reshape(-1, *table.shape)[np.outer(rows, columns).ravel()]
    weights = np.zeros_like(counts), np.ones_like(counts)
    covariance = linear_covariance(moments, channels, weights, list(units), infer="population")
    return _corrected(kept, covariance, moments.count)


def _corrected(table: FloatArray, covariance: FloatArray, records: float) -> tuple[float, float]:
    total = float(table.sum())
    shares = table / total
    down, across = shares.sum(axis=1), shares.sum(axis=0)
    if total <= 0 or (down <= 0).any() or (across <= 0).any():
        raise NotCovered(
            "By the estimate some values of the two columns have no weight at all, so that there "
            "is no test. Merge rare values, or test records with weighted=False."
        )
    gap = (shares - np.outer(down, across))[:-1, :-1].ravel()
    # The derivatives of the gaps by shares, and of shares by counts (times the total).
    height, width = shares.shape
    one, other = np.eye(height)[:-1], np.eye(width)[:-1]
    by_shares = np.kron(one, other)
    by_shares -= np.kron(one, np.outer(across[:-1], np.ones(width)))
    by_shares -= np.kron(np.outer(down[:-1], np.ones(height)), other)
    by_counts = np.eye(shares.size) - np.outer(shares.ravel(), np.ones(shares.size))
    slopes = by_shares @ by_counts / total
    spread = records * slopes @ covariance @ slopes.T
    plain = np.kron(*(np.diag(m[:-1]) - np.outer(m[:-1], m[:-1]) for m in (down, across)))
    statistic = records * float(gap @ np.linalg.solve(plain, gap))
    effects = np.linalg.solve(plain, spread)
    first, second = float(np.trace(effects)), float(np.trace(effects @ effects))
    return statistic * first / second, first**2 / second
