"""A test of independence of two columns, valid under randomisation.

Where two columns are randomised by independent steps, the truth is independent if and only if the
release is: (p q') becomes (p A)(q B)', and undoing A and B goes the other way. So Pearson's test
of the *released* table keeps its level as it stands, and nothing needs correction. (A test of
estimated counts as if they had been observed does not: their noise is many times larger.)

Where the two columns share a joint step this fails; then the likelihood of the release under
independence of the truth, fitted by EM, is compared with the likelihood without that restriction.

A test of independence with weights: Pearson's statistic, corrected for how shares really vary.

With weights, and after matrices were undone, the shares of a table vary otherwise than those of so
many independent people: Pearson's statistic of them is a sum of chi-squares with weights d, the
eigenvalues of what the shares' covariance is against that of people counted once. Divided by the
mean of the d and by how unlike they are, it is close to a chi-square of fewer degrees of freedom
[Rao84].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pramana.analysis.channels import Channels
from pramana.analysis.contrasts import Influence
from pramana.analysis.em import divide, expected_truth
from pramana.analysis.layout import Layout, Moments
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
        method: ``pearson``, ``likelihood-ratio``, or ``rao-scott`` with weights.
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
        """A plain form."""
        return {
            "by": list(self.by),
            "statistic": self.statistic,
            "degrees": self.degrees,
            "p_value": self.p_value,
            "method": self.method,
            "why": self.why,
            "weight": self.weight,
        }


def independence_test(moments: Moments, layout: Layout) -> IndependenceTest:
    """Test whether the two columns of ``layout.by`` are independent in the population."""
    if len(layout.by) != 2:
        raise NotCovered(f"A test of independence takes two columns, got {len(layout.by)}.")
    if moments.count <= 0:
        raise InvalidTable("There are no released records to test.")
    channels = Channels(layout)
    if moments.weighted:
        return _weighted(moments, layout, channels)
    if len(layout.axes) == 2 and all(axis.whole for axis in layout.axes):
        channels.solve(np.zeros(layout.shape))  # refuses a matrix that hides the dependence
        return _pearson(moments.records, layout)
    if len(layout.axes) == 1 and set(layout.axes[0].columns) == set(layout.by):
        return _likelihood_ratio(moments.records, layout, channels)
    raise NotCovered(
        f"The matrix of {' or '.join(layout.by)} depends on further columns, or records are "
        "filtered on randomised columns: there is no test for that case. Test within a stratum."
    )


def _weighted(moments: Moments, layout: Layout, channels: Channels) -> IndependenceTest:

    statistic, degrees = weighted_statistic(moments, channels)
    return IndependenceTest(
        (layout.by[0], layout.by[1]),
        statistic,
        degrees,
        chi_square_tail(statistic, degrees),
        "rao-scott",
        "the statistic of weighted shares is corrected for how they really vary, weights and "
        "randomisation included.",
    )


def chi_square_tail(statistic: float, degrees: float) -> float:
    """The probability of so large a statistic under independence."""
    from scipy.special import chdtrc

    return float(chdtrc(degrees, statistic)) if degrees > 0 else 1.0


def _pearson(released: FloatArray, layout: Layout) -> IndependenceTest:
    table = released[released.sum(axis=1) > 0][:, released.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum())
    degrees = (table.shape[0] - 1) * (table.shape[1] - 1)
    return IndependenceTest(
        (layout.by[0], layout.by[1]),
        statistic,
        degrees,
        chi_square_tail(statistic, degrees),
        "pearson",
        "the columns were randomised apart, so the truth is independent exactly if the release is."
        if any(axis.step is not None for axis in layout.axes)
        else "both columns are released as they are.",
    )


def _sums(codes: NDArray[np.intp], values: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(codes, weights=values), dtype=np.float64)


def _likelihood_ratio(released: FloatArray, layout: Layout, channels: Channels) -> IndependenceTest:
    """Quasi-independence where some combinations cannot exist: independent among the others."""
    axis = layout.axes[0]
    codes = [
        np.unique([str(cell[part]) for cell in axis.cells], return_inverse=True)[1]
        for part in range(2)
    ]
    model = np.full(released.shape, released.sum() / released.size)
    for _ in range(2000):
        truth = expected_truth(released, model, channels)
        new = model
        for code in codes:
            ratio = divide(_sums(code, truth), _sums(code, new))
            new = new * ratio[code]
        moved = float(np.abs(new - model).sum())
        model = new
        if moved < 1e-9 * released.sum():
            break
    expected = channels.forward(model)
    seen = released > 0
    statistic = 2 * float(released[seen] @ np.log(released[seen] / expected[seen]))
    sizes = [int(code.max()) + 1 for code in codes]
    degrees = axis.size - 1 - (sizes[0] - 1) - (sizes[1] - 1)
    return IndependenceTest(
        (layout.by[0], layout.by[1]),
        max(statistic, 0.0),
        degrees,
        chi_square_tail(max(statistic, 0.0), degrees),
        "likelihood-ratio",
        "the columns were randomised together, so independence of the truth was fitted by EM.",
    )


MOST_CELLS = 400
"""Of so many cells the covariance is written out."""


def weighted_statistic(moments: Moments, channels: Channels) -> tuple[float, float]:
    """The corrected statistic of the table of two columns, and its degrees of freedom."""
    counts = channels.solve(moments.w)
    found = Influence.of_counts(moments, channels, counts, "population")
    table = found.unbiased
    rows, columns = table.sum(axis=1) != 0, table.sum(axis=0) != 0
    if table.size > MOST_CELLS:
        raise TooLarge(
            f"With weights the test takes tables of up to {MOST_CELLS} cells, and this one has "
            f"{table.size:,}. Merge values, or test records with weighted=False."
        )
    kept = table[np.ix_(rows, columns)]
    if min(kept.shape) < 2:
        return 0.0, 0.0
    places = [(int(i), int(j)) for i in np.flatnonzero(rows) for j in np.flatnonzero(columns)]
    contrasts = []
    for place in places:
        one = np.zeros(table.shape)
        one[place] = 1.0
        contrasts.append(one)
    return _corrected(kept, found.estimated(contrasts, infer="population"), moments.count)


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
    slopes = _slopes(shares, down, across) @ _of_shares(shares) / total
    spread = records * slopes @ covariance @ slopes.T
    plain = np.kron(_simple(down), _simple(across))
    statistic = records * float(gap @ np.linalg.solve(plain, gap))
    effects = np.linalg.solve(plain, spread)
    first, second = float(np.trace(effects)), float(np.trace(effects @ effects))
    return statistic * first / second, first**2 / second


def _simple(margin: FloatArray) -> FloatArray:
    own = margin[:-1]
    return np.asarray(np.diag(own) - np.outer(own, own), dtype=np.float64)


def _of_shares(shares: FloatArray) -> FloatArray:
    """The derivative of shares by counts, times the total."""
    flat = shares.ravel()
    return np.asarray(np.eye(flat.size) - np.outer(flat, np.ones(flat.size)), dtype=np.float64)


def _slopes(shares: FloatArray, down: FloatArray, across: FloatArray) -> FloatArray:
    """The derivative of share - row times column by shares, of all but the last row and column."""
    height, width = shares.shape
    found = []
    for i in range(height - 1):
        for j in range(width - 1):
            slope = np.zeros(shares.shape)
            slope[i, :] -= across[j]
            slope[:, j] -= down[i]
            slope[i, j] += 1.0
            found.append(slope.ravel())
    return np.array(found)
