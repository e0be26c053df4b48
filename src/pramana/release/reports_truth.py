"""Whether the reports of a release fit the true table, for its owner."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.matrices.reporting import AskedSet, Reporting
from pramana.release.certificate import Certificate
from pramana.release.checks import Check
from pramana.table.cells import cell_codes, cell_counts
from pramana.table.codec import encode, encode_released
from pramana.table.opened import OpenedTable
from pramana.table.schema import ASKED, Schema
from pramana.types import BoolArray, Codes, FloatArray

__all__ = ["reports_against_truth"]

FEWEST = 5.0
"""Cells of less variance are put together: chi-square is a law of large numbers."""

LEAST = 1e-9
"""Of a mean, at least so much is variance: what is less is lost in rounding."""


def reports_against_truth(
    certificate: Certificate, released: OpenedTable, original: OpenedTable, *, level: float
) -> Iterator[Check]:
    """One test a set, of its reports against the true table under its matrix."""
    mechanism = certificate.mechanism
    assert isinstance(mechanism, Reporting)  # noqa: S101 - the caller has looked
    truth, told = original.to_arrow(list(mechanism.columns)), released.to_arrow()
    sets = told.column(ASKED).cast(pa.string())
    for one in mechanism.sets:
        own = told.filter(pc.equal(sets, one.name))
        before = _cells(certificate.schema, one, truth, released=False)
        after = _cells(certificate.schema, one, own, released=True)
        chance = _chance(one, before, after)
        good = chance >= level / len(mechanism.sets)
        yield Check.of(
            f"reports of {one.name}",
            good,
            f"{after.sum():,.0f} reports, p = {chance:.2g} "
            f"({'fit' if good else 'do not fit'} the matrix)",
        )


def _chance(one: AskedSet, before: FloatArray, after: FloatArray) -> float:
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


def _cells(schema: Schema, one: AskedSet, table: pa.Table, *, released: bool) -> FloatArray:
    """Records by the cells of a set."""
    columns = [schema.column(name) for name in one.columns]
    encoder = encode_released if released else encode
    codes: list[Codes] = [encoder(column, table.column(column.name)) for column in columns]
    labels = [column.labels for column in columns]
    counts = cell_counts(codes, list(map(len, labels)))
    found: FloatArray = counts[tuple(cell_codes(labels, one.cells))]
    return found
