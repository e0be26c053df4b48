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
from pramana.types import Codes, FloatArray

__all__ = ["reports_against_truth"]

FEWEST_EXPECTED = 5.0
"""Cells with fewer expected reports are put together: chi-square is a law of large numbers."""


def reports_against_truth(
    certificate: Certificate, released: OpenedTable, original: OpenedTable, *, level: float
) -> Iterator[Check]:
    """One test a set, of its reports against the true table under its matrix.

    Who answers is a draw without replacement, so the statistic lies a little below chi-square.
    """
    from scipy.stats import chi2

    mechanism = certificate.mechanism
    assert isinstance(mechanism, Reporting)  # noqa: S101 - the caller has looked
    truth, told = original.to_arrow(list(mechanism.columns)), released.to_arrow()
    sets = told.column(ASKED).cast(pa.string())
    for one in mechanism.sets:
        own = told.filter(pc.equal(sets, one.name))
        before = _cells(certificate.schema, one, truth, released=False)
        after = _cells(certificate.schema, one, own, released=True)
        expected = one.matrix.apply(before / before.sum()) * after.sum()
        rare = expected < FEWEST_EXPECTED
        gaps = np.append((after - expected)[~rare], (after - expected)[rare].sum())
        scale = np.append(expected[~rare], max(expected[rare].sum(), 1.0))
        chance = float(chi2.sf(float((gaps**2 / scale).sum()), max(len(gaps) - 1, 1)))
        good = chance >= level / len(mechanism.sets)
        yield Check.of(
            f"reports of {one.name}",
            good,
            f"{after.sum():,.0f} reports, p = {chance:.2g} "
            f"({'fit' if good else 'do not fit'} the matrix)",
        )


def _cells(schema: Schema, one: AskedSet, table: pa.Table, *, released: bool) -> FloatArray:
    """Records by the cells of a set."""
    columns = [schema.column(name) for name in one.columns]
    encoder = encode_released if released else encode
    codes: list[Codes] = [encoder(column, table.column(column.name)) for column in columns]
    labels = [column.labels for column in columns]
    counts = cell_counts(codes, list(map(len, labels)))
    found: FloatArray = counts[tuple(cell_codes(labels, one.cells))]
    return found
