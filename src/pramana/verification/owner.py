"""The owner's check: do the released records fit the true ones and the matrices?

Records are shuffled, so that no transition of a single record need be seen. What can be seen is the
released table of a step: a sum of independent draws, one for each original record, with mean t P
and covariance diag(t P) - P' diag(t) P. The squared distance to the mean in units of that
covariance is chi-square distributed. A value in its far tail says that the release was made
otherwise; one that is too small says that it was not drawn at all: where all values are as
frequent as one another, records that were never randomised lie on the mean itself. Steps are
looked at one by one, two by two, all together, and within groups of each column that is released
unchanged. Records that such columns tell apart show their transitions one by one: this many must
be unchanged, and no more.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.text import text_up
from pramana.errors import PramanaError
from pramana.guarantees.base import only_the_owner
from pramana.guarantees.claims import recomputed
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, Step
from pramana.release.certificate import Certificate
from pramana.schema.codec import comparable, encode, encode_released
from pramana.schema.domains import Categories
from pramana.schema.joint_cells import Counts, cell_numbers, counts_with_kept
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column, Schema
from pramana.types import FloatArray
from pramana.verification.checks import Check, CheckKind, State
from pramana.verification.fit_tests import (
    ChiSquareFit,
    drawn_inside_bins,
    fit_counts,
    numbers_against_truth,
    reports_against_truth,
    with_noise_check,
)
from pramana.verification.paired_records import Pair, PairedRecords
from pramana.verification.randomisation_test import draws
from pramana.verification.shuffle_test import order_check

LEVEL = 1e-6
"""How often a sound release is called unsound, over all tests of a verification together."""

MOST_GROUPS = 20
"""Groups that a column released unchanged makes of the records."""

MOST_CELLS = 2_000
"""Larger tables are left out of the test: their covariance would not fit in memory."""


def against_truth(
    certificate: Certificate, released: OpenedTable, original: OpenedTable
) -> Iterator[Check]:
    """Checks that need the original table."""
    same = original.rows == certificate.records
    detail = f"the original has {original.rows:,} records, the release {certificate.records:,}"
    yield Check.decided("original records", same, detail)
    there = (*certificate.schema.randomised, *certificate.as_they_are)
    lacking = [column.name for column in there if column.name not in original.schema.names]
    if lacking:
        yield Check.decided("original columns", False, f"the original lacks {', '.join(lacking)}")
    if not same or lacking:
        return
    if certificate.nature.counted:
        told = "counts of rounds are of no single records: they are not compared with the original"
        yield Check.asserted("draws against the original", told)
        return
    records = PairedRecords(certificate, released, original)
    yield from _unchanged_columns(records)
    try:
        for check in _statistical_tests(records):
            test = check.state is not State.ASSERTED and check.kind is CheckKind.INTEGRITY
            yield replace(check, kind=CheckKind.STATISTICAL_TEST) if test else check
        mechanism = certificate.mechanism
        if mechanism is not None and not isinstance(mechanism, AttributeSampler):
            yield from _owner_claims(certificate, original)
    except PramanaError as error:
        yield Check.decided("original values", False, str(error))


def _unchanged_columns(records: PairedRecords) -> Iterator[Check]:
    """Columns released unchanged hold the same values, binned ones the same bins."""
    released, original = records.released, records.original
    for column in records.certificate.as_they_are:
        if column.binned:
            yield replace(_in_bins(column, released, original), kind=CheckKind.UNCHANGED)
        elif not column.noisy:
            same = records.values(column.name).as_often or _same(released, original, column.name)
            words = "the same values" if same else "other values"
            detail = f"{words} as in the original"
            yield Check.decided(f"{column.name} as it is", same, detail, CheckKind.UNCHANGED)


def _statistical_tests(records: PairedRecords) -> Iterator[Check]:
    """Noise, numbers drawn inside bins, order, and transitions; false alarms sum to ``LEVEL``."""
    certificate, released, original = records.certificate, records.released, records.original
    noisy = [column for column in certificate.as_they_are if column.noisy]
    drawn = [column for column in certificate.schema.released if column.drawn and column.coded]
    for column in noisy:
        level = LEVEL / 6 / len((*noisy, *drawn))
        yield with_noise_check(column, released, original, level=level)
    for column in drawn:
        yield drawn_inside_bins(column, released, original, level=LEVEL / 6 / len((*noisy, *drawn)))
    yield order_check(records, level=LEVEL / 6)
    mechanism = certificate.mechanism
    if mechanism is None:
        return
    yield from draws(mechanism, records, level=LEVEL / 6)
    if isinstance(mechanism, AttributeSampler):
        yield from reports_against_truth(certificate, released, original, level=LEVEL / 2)
    else:
        yield from _transitions(mechanism, records)
        yield from numbers_against_truth(certificate, released, original, level=LEVEL / 6)


def _in_bins(column: Column, released: OpenedTable, original: OpenedTable) -> Check:
    """A column that is cut into bins has as many records in each as the original."""
    name = f"{column.name} in its bins"
    try:
        found = encode_released(column, released.to_arrow([column.name]).column(0))
        true = encode(column, original.to_arrow([column.name]).column(0))
    except PramanaError as error:
        return Check.decided(name, False, str(error))
    size = len(column.labels)
    same = bool((np.bincount(found, minlength=size) == np.bincount(true, minlength=size)).all())
    return Check.decided(name, same, f"{'the same' if same else 'other'} bins as in the original")


def _same(released: OpenedTable, original: OpenedTable, name: str) -> bool:
    """The same values, whatever the form they have: numbers may be texts in one of the tables."""
    ours, theirs = (_sorted(table, name) for table in (released, original))
    return bool(ours.equals(theirs) or _as_texts(ours).equals(_as_texts(theirs)))


def _sorted(table: OpenedTable, name: str) -> pa.Array:
    column = comparable(table.to_arrow([name]).column(name)).combine_chunks()
    return column.take(pc.array_sort_indices(column))


def _as_texts(column: pa.Array) -> pa.Array:
    texts = column.cast(pa.string())
    return texts.take(pc.array_sort_indices(texts))


def _transitions(mechanism: Mechanism, records: PairedRecords) -> Iterator[Check]:
    """Released tables against true ones: each test with its chance, which their number divides."""
    fits = dict(_fits(mechanism, records))
    for name, found in fits.items():
        good = found.chance >= LEVEL / 2 / len(fits)
        if good and found.of_truth >= LEVEL / 2 / len(fits):
            told = "cannot tell here: the truth itself would fit the matrices as well"
            yield Check.asserted(f"transitions of {name}", told)
            continue
        why = "fits" if good else "does not fit"
        if not good and found.too_close < found.p_value:
            why = "is too close to the truth for"
        yield Check.decided(
            f"transitions of {name}",
            good,
            f"chi-square {found.found.far:.1f} on {found.degrees} degrees of freedom, "
            f"p = {found.chance:.2g} ({why} the matrices; a sound release fails one of these "
            f"tests once in {2 / LEVEL:,.0f}; {_power(found, LEVEL / 2 / len(fits))})",
        )


def _fits(mechanism: Mechanism, records: PairedRecords) -> Iterator[tuple[str, ChiSquareFit]]:
    """Steps alone, by twos and all at once, then each within groups of the kept columns."""
    single = (step for step in mechanism.steps if step.matrix is not None)
    cells = {step.columns: records.cells(step) for step in single}
    for group in _groups(mechanism):
        pairs = [cells[step.columns] for step in group]
        if all(pair is not None for pair in pairs):
            table = _product([pair for pair in pairs if pair is not None])
            name = " x ".join(name for step in group for name in step.columns)
            yield name, fit_counts(_values(group), *table.numbers)
    for step in mechanism.steps:
        pair = cells.get(step.columns)
        if pair is None or pair.size > MOST_CELLS // 4:
            continue
        for name, kept in records.kept.items():
            yield f"{' x '.join(step.columns)} by {name}", _within(step, pair, kept)


def _within(step: Step, pair: Pair, kept: Pair) -> ChiSquareFit:
    """The step inside each group of a column that is released unchanged, all groups together."""
    groups, values = kept.in_groups(MOST_GROUPS), _values([step])
    before, after = _product([groups, pair]).numbers
    tables = zip(before.reshape(-1, pair.size), after.reshape(-1, pair.size), strict=True)
    found = [fit_counts(values, own, seen) for own, seen in tables if own.sum()]
    return sum(found[1:], start=found[0])


def _product(pairs: Sequence[Pair]) -> Pair:
    """All cells of several pairs, whether they occur or not."""
    before, after = (
        cell_numbers([getattr(p, side) for p in pairs], [p.size for p in pairs])
        for side in ("before", "after")
    )
    return Pair(before, after, int(np.prod([pair.size for pair in pairs])))


def _values(steps: Sequence[Step]) -> FloatArray:
    """The matrix of independent steps together."""
    values: FloatArray = np.ones((1, 1))
    for step in steps:
        assert step.matrix is not None  # noqa: S101 - the caller has chosen those
        values = np.asarray(np.kron(values, step.matrix.values), dtype=np.float64)
    return values


def _power(found: ChiSquareFit, level: float) -> str:
    """What the test can see: the shift of a share, in units of its own noise, found for sure."""
    from scipy.special import chdtr, chdtri, ndtri

    if not found.degrees:
        return "it cannot see anything"
    far = max(chdtri(found.degrees, level) - found.degrees, 0.0)
    large = found.step * far / 6
    shift = float(large + np.sqrt(large**2 + far)) - ndtri(1e-3)
    silent = chdtr(found.degrees, found.grain) * 2 >= level
    close = "records that were not drawn may pass it" if silent else (
        "it finds records that were not drawn at all"
    )  # fmt: skip
    return f"it finds tables {text_up(shift, 2)} times their noise away; {close}"


def _owner_claims(certificate: Certificate, original: OpenedTable) -> Iterator[Check]:
    """Guarantees that rest on the original counts, computed again from them."""
    assert certificate.mechanism is not None  # noqa: S101 - the caller has looked
    own = [c.attained for c in certificate.claims if only_the_owner(type(c.attained))]
    if not own:
        return
    counts = owner_counts(certificate.schema, certificate.mechanism, original)
    evidence = replace(certificate.evidence, counts=counts)
    computed = recomputed(evidence, own)
    for stated in own:
        found = computed.get(stated.name)
        good = found is not None and bool(found.implies(stated))
        words = "recomputed from the original" if good else f"the original gives only {found}"
        yield Check.decided(stated.name, good, words, CheckKind.GUARANTEE)


def owner_counts(schema: Schema, mechanism: Mechanism, original: OpenedTable) -> Counts:
    """The original counts of randomised columns, strata and columns that may be known."""
    strata = [_with_labels(schema.column(name), mechanism) for name in mechanism.strata]
    kept = [name for name in schema.known if name not in mechanism.strata]
    return counts_with_kept(original, [*schema.randomised, *strata], kept)


def _with_labels(column: Column, mechanism: Mechanism) -> Column:
    """A stratum with the values that the matrices are listed by: a certificate has no others."""
    step = next(step for step in mechanism.steps if column.name in step.strata)
    place = step.strata.index(column.name)
    labels = tuple(dict.fromkeys(stratum[place] for stratum in step.by_stratum))
    values = tuple(label for label in labels if label is not None)
    return replace(
        column, domain=Categories(values), missing="category" if None in labels else "refuse"
    )


def _groups(mechanism: Mechanism) -> Iterator[tuple[Step, ...]]:
    """Steps one by one, two by two and as many as can be, of one matrix and not too many cells."""
    steps = [step for step in mechanism.steps if step.matrix is not None]
    for size in (1, 2):
        for group in itertools.combinations(steps, size):
            if np.prod([len(step.labels) for step in group]) <= MOST_CELLS:
                yield group
    most: list[Step] = []
    for step in sorted(steps, key=lambda own: len(own.labels)):
        if np.prod([len(own.labels) for own in (*most, step)]) <= MOST_CELLS:
            most.append(step)
    if len(most) > 2:
        yield tuple(most)
