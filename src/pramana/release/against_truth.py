"""The owner's check: do the released records fit the true ones and the matrices?

Records are shuffled, so that no transition of a single record can be seen. What can be seen is the
released table of a step: a sum of independent draws, one for each true record, with mean t P and
covariance diag(t P) - P' diag(t) P. The squared distance to the mean in units of that covariance is
chi-square distributed; a value in its far tail says that the release was made otherwise. Steps are
looked at one by one and two by two, so that a step that moves with another shows as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.errors import PramanaError
from pramana.guarantees.base import only_the_owner
from pramana.guarantees.evaluate import recomputed
from pramana.matrices.mechanism import Mechanism, Step
from pramana.release.certificate import Certificate
from pramana.release.checks import Check
from pramana.table.codec import encode, encode_released
from pramana.table.counts import Counter, Counts
from pramana.table.domains import Categories
from pramana.table.kept import counts_with_kept
from pramana.table.opened import OpenedTable
from pramana.table.schema import Column, Schema
from pramana.types import FloatArray

__all__ = ["LEVEL", "against_truth", "fit"]

LEVEL = 1e-6
"""How often a sound release is called unsound, over all tests of a verification together."""

MOST_CELLS = 2_000
"""Larger tables are left out of the test: their covariance would not fit in memory."""

FEWEST_EXPECTED = 5.0
"""Cells with fewer expected records are put together: chi-square is a law of large numbers."""


@dataclass(frozen=True)
class ChiSquareFit:
    """A chi-square test of released counts."""

    statistic: float
    degrees: int
    p_value: float


def against_truth(
    certificate: Certificate, released: OpenedTable, original: OpenedTable
) -> Iterator[Check]:
    """Checks that need the true table."""
    same = original.rows == certificate.records
    detail = f"the original has {original.rows:,} records, the release {certificate.records:,}"
    yield Check.of("original records", same, detail)
    lacking = [c.name for c in certificate.schema.released if c.name not in original.schema.names]
    if lacking:
        yield Check.of("original columns", False, f"the original lacks {', '.join(lacking)}")
    if not same or lacking:
        return
    yield from _as_they_are(certificate, released, original)
    if certificate.mechanism is not None:
        try:
            yield from _transitions(certificate, released, original)
            yield from _owner_claims(certificate, original)
        except PramanaError as error:
            yield Check.of("original values", False, str(error))


def _as_they_are(
    certificate: Certificate, released: OpenedTable, original: OpenedTable
) -> Iterator[Check]:
    """Columns released as they are hold the same values, in another order."""
    for column in certificate.schema.released_as_is:
        ours, theirs = (_sorted(table, column.name) for table in (released, original))
        same = ours.equals(theirs) or ours.cast(pa.string()).equals(theirs.cast(pa.string()))
        words = "the same values" if same else "other values"
        yield Check.of(f"{column.name} as it is", same, f"{words} as in the original")


def _sorted(table: OpenedTable, name: str) -> pa.Array:
    column = table.to_arrow([name]).column(name).combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.take(pc.array_sort_indices(column))


def _transitions(
    certificate: Certificate, released: OpenedTable, original: OpenedTable
) -> Iterator[Check]:
    assert certificate.mechanism is not None  # noqa: S101 - the caller has looked
    groups = list(_groups(certificate.mechanism))
    for group in groups:
        names = tuple(name for step in group for name in step.columns)
        columns = [certificate.schema.column(name) for name in names]
        truth = _count(original, columns, encode)
        seen = _count(released, columns, encode_released)
        found = fit(group, truth, seen)
        good = found.p_value >= LEVEL / len(groups)
        yield Check.of(
            f"transitions of {' x '.join(names)}",
            good,
            f"chi-square {found.statistic:.1f} on {found.degrees} degrees of freedom, "
            f"p = {found.p_value:.2g} ({'fits' if good else 'does not fit'} the matrices; "
            f"a sound release fails one of these tests once in {1 / LEVEL:,.0f})",
        )


def _owner_claims(certificate: Certificate, original: OpenedTable) -> Iterator[Check]:
    """Guarantees that rest on the true counts, computed again from them."""
    assert certificate.mechanism is not None  # noqa: S101 - the caller has looked
    own = [c.attained for c in certificate.claims if only_the_owner(type(c.attained))]
    if not own:
        return
    counts = _looked_at(certificate.schema, certificate.mechanism, original)
    evidence = replace(certificate.evidence, counts=counts)
    computed = recomputed(evidence, own)
    for stated in own:
        found = computed.get(stated.name)
        good = found is not None and bool(found.implies(stated))
        words = "recomputed from the original" if good else f"the original gives only {found}"
        yield Check.of(stated.name, good, words)


def _looked_at(schema: Schema, mechanism: Mechanism, original: OpenedTable) -> Counts:
    """The true counts of all that can be looked at: randomised columns and known ones."""
    strata = [_with_labels(schema.column(name), mechanism) for name in mechanism.strata]
    kept = [name for name in schema.known if name not in mechanism.strata]
    return counts_with_kept(original, [*schema.randomised, *strata], kept)


def _with_labels(column: Column, mechanism: Mechanism) -> Column:
    """A stratum with the values that the matrices are listed by: a certificate has no others."""
    step = next(step for step in mechanism if column.name in step.strata)
    place = step.strata.index(column.name)
    labels = tuple(dict.fromkeys(stratum[place] for stratum in step.by_stratum))
    values = tuple(label for label in labels if label is not None)
    return replace(
        column, domain=Categories(values), missing="category" if None in labels else "refuse"
    )


def _groups(mechanism: Mechanism) -> Iterator[tuple[Step, ...]]:
    """Steps one by one and two by two, those with one matrix and not too many cells."""
    steps = [step for step in mechanism if step.matrix is not None]
    for size in (1, 2):
        for group in itertools.combinations(steps, size):
            if np.prod([len(step.labels) for step in group]) <= MOST_CELLS:
                yield group


def _count(table: OpenedTable, columns: Sequence[Any], encoder: Any) -> Counts:
    names = [column.name for column in columns]
    counter = Counter(names, [column.labels for column in columns])
    for batch in table.batches(names):
        counter.add([encoder(column, batch.column(column.name)) for column in columns])
    return counter.result()


def fit(steps: Sequence[Step], truth: Counts, released: Counts) -> ChiSquareFit:
    """How well released counts fit true ones under the matrices of independent steps."""
    from scipy.stats import chi2

    values: FloatArray = np.ones((1, 1))
    for step in steps:
        assert step.matrix is not None  # noqa: S101 - the caller has chosen those
        values = np.asarray(np.kron(values, step.matrix.values), dtype=np.float64)
    before, after = (_cells(steps, counts) for counts in (truth, released))
    mean = before @ values
    gather = _gather(mean)
    covariance = np.diag(mean) - (values.T * before) @ values
    off = gather @ (after - mean)
    squeezed = gather @ covariance @ gather.T
    # Columns sum to the number of records, so that one direction has no variance: a pseudo-inverse.
    eigenvalues, vectors = np.linalg.eigh(squeezed)
    kept = eigenvalues > 1e-9 * max(float(eigenvalues.max(initial=0.0)), 1e-300)
    idle = float(np.abs(vectors[:, ~kept].T @ off).max(initial=0.0))
    if idle > 1e-6 * max(1.0, float(before.sum())):
        return ChiSquareFit(
            np.inf, int(kept.sum()), 0.0
        )  # moved where the matrices allow no movement
    statistic = float(((vectors[:, kept].T @ off) ** 2 / eigenvalues[kept]).sum())
    degrees = int(kept.sum())
    return ChiSquareFit(statistic, degrees, float(chi2.sf(statistic, degrees)) if degrees else 1.0)


def _cells(steps: Sequence[Step], counts: Counts) -> FloatArray:
    """Counts by the cells of the steps, in the order of the Kronecker product."""
    table = counts.dense().astype(np.float64)
    axis, result = 0, table
    for step in steps:
        width = len(step.columns)
        sizes = counts.sizes[axis : axis + width]
        labels = counts.labels[axis : axis + width]
        cells = [cell if width > 1 else (cell,) for cell in step.labels]
        where = np.ravel_multi_index(
            tuple(np.array([own.index(cell[i]) for cell in cells]) for i, own in enumerate(labels)),
            sizes,
        )
        lead, tail = result.shape[: axis and 1], table.shape[axis + width :]
        result = result.reshape((*lead, int(np.prod(sizes)), *tail))
        result = result.take(where, axis=len(lead))
        result = result.reshape((-1, *tail))
        axis += width
    return result.ravel()


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
