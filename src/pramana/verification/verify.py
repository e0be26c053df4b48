"""Verification of a release: from its folder alone, and by its owner against the original data.

``verify_folder`` lists the checks in their order. Anyone can recompute the fingerprints, the
signature, the consistency of the certificate, the number of records, domains, the anonymity set,
and every guarantee that follows from the published matrices. What only the owner can compute is
reported as asserted.

The owner tests whether the released records fit the original ones and the matrices. Records are
shuffled, so that the test uses the released table of a step and no transitions of single records.
This table is a sum of independent draws, one for each original record, with mean t P and covariance
diag(t P) - P' diag(t) P. The squared distance to the mean in units of that covariance is chi-square
distributed. A value in its upper tail is evidence of another mechanism. A value that is too small
is evidence of records that were not randomised: if all values are equally frequent, such records
have no distance to the mean. Steps are tested one by one, two by two, all together, and within
groups of each column that is released unchanged.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from pramana.base.text import listed, text_up
from pramana.base.translation import gettext, noop, numeral
from pramana.engine.base import ENGINES, USUAL, Engine
from pramana.errors import NotARelease, PramanaError
from pramana.guarantees.base import only_the_owner
from pramana.guarantees.claims import recomputed
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, Step
from pramana.release.certificate import Certificate
from pramana.release.documentation import explanations
from pramana.release.folder import (
    CERTIFICATE,
    data_path,
    files_of,
    fingerprint,
    holds,
    open_data,
    read_certificate,
    stamps_of,
)
from pramana.schema.codec import encode, encode_released
from pramana.schema.domains import Categories
from pramana.schema.joint_cells import Counts, cell_numbers, counts_with_kept
from pramana.schema.opened_table import FileStamp, OpenedTable, require_unchanged
from pramana.schema.origins import DataChoices
from pramana.schema.schema import Column, Schema
from pramana.types import FloatArray, Progress
from pramana.verification.checks import Check, CheckKind, State, Verdict
from pramana.verification.consistency import consistency_checks
from pramana.verification.fit_tests import (
    ChiSquareFit,
    drawn_inside_bins,
    fit_counts,
    numbers_against_original,
    reports_against_original,
    with_noise_check,
)
from pramana.verification.randomisation_test import Pair, PairedRecords, draws
from pramana.verification.record_checks import copy_checks, record_checks
from pramana.verification.shuffle_test import order_check
from pramana.verification.whole_file import file_risk, verdict_of

LEVEL = 1e-6
"""How often a sound release is called unsound, over all tests of a verification together."""

WITHHELD: Final = noop(
    "The matrices are withheld: guarantees that depend on them are asserted by the owner."
)
NOISY: Final = noop("Released with noise, covered by no epsilon: {columns}.")
BINNED: Final = noop("Binned, not randomised, covered by no epsilon: {columns}.")
UNCHANGED: Final = noop("Released unchanged, covered by no epsilon: {columns}.")

MOST_GROUPS = 20
"""The most groups into which a column released unchanged divides the records."""

MOST_CELLS = 2_000
"""Larger tables are not tested: their covariance would not fit in memory."""


def against_original(
    certificate: Certificate, released: OpenedTable, original: OpenedTable
) -> Iterator[Check]:
    """Checks that need the original table."""
    same = original.rows == certificate.records
    yield Check.decided(
        "original records", same, "the original has {rows:,} records, the release {records:,}",
        rows=original.rows, records=certificate.records,
    )  # fmt: skip
    there = (*certificate.schema.randomised, *certificate.as_they_are)
    lacking = [column.name for column in there if column.name not in original.schema.names]
    if lacking:
        yield Check.decided(
            "original columns", False, "the original lacks {lacking}", lacking=", ".join(lacking)
        )
    if not same or lacking:
        return
    if certificate.nature.counted:
        detail = "a release of counts has no records to compare with the original"
        yield Check.asserted("randomisation against the original", detail)
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
            name = "{column} in its bins"
            try:
                after = encode_released(column, released.to_arrow([column.name]).column(0))
                before = encode(column, original.to_arrow([column.name]).column(0))
            except PramanaError as error:
                yield Check.decided(
                    name, False, str(error), CheckKind.UNCHANGED, column=column.name
                )
                continue
            size = len(column.labels)
            counts = [np.bincount(codes, minlength=size) for codes in (after, before)]
            same = np.array_equal(counts[0], counts[1])
            detail = "the same bins as in the original" if same else "other bins as in the original"
            yield Check.decided(name, same, detail, CheckKind.UNCHANGED, column=column.name)
        elif not column.noisy:
            same = records.values(column.name).as_often
            detail = (
                "the same values as in the original" if same else "other values as in the original"
            )
            yield Check.decided(
                "{column} unchanged", same, detail, CheckKind.UNCHANGED, column=column.name
            )


def _statistical_tests(records: PairedRecords) -> Iterator[Check]:
    """Noise, numbers drawn inside bins, order, and transitions; false alarms sum to ``LEVEL``."""
    certificate, released, original = records.certificate, records.released, records.original
    noisy = [column for column in certificate.as_they_are if column.noisy]
    drawn = [column for column in certificate.schema.released if column.drawn and column.coded]
    level = LEVEL / 6 / max(len(noisy) + len(drawn), 1)
    for column in noisy:
        yield with_noise_check(column, released, original, level=level)
    for column in drawn:
        yield drawn_inside_bins(column, released, original, level=level)
    yield order_check(records, level=LEVEL / 6)
    mechanism = certificate.mechanism
    if mechanism is None:
        return
    yield from draws(mechanism, records, level=LEVEL / 6)
    if isinstance(mechanism, AttributeSampler):
        yield from reports_against_original(certificate, released, original, level=LEVEL / 2)
    else:
        yield from _transitions(mechanism, records)
        yield from numbers_against_original(certificate, released, original, level=LEVEL / 6)


def _transitions(mechanism: Mechanism, records: PairedRecords) -> Iterator[Check]:
    """Released tables against original ones, each at its part of the level."""
    fits = dict(_fits(mechanism, records))
    for name, fit in fits.items():
        good = fit.chance >= LEVEL / 2 / len(fits)
        if good and fit.chance_unchanged >= LEVEL / 2 / len(fits):
            detail = "asserted by the owner: the original records would fit the matrices as well"
            yield Check.asserted("transitions of {column}", detail, column=name)
            continue
        why = gettext("fits the matrices") if good else gettext("does not fit the matrices")
        if not good and fit.too_close < fit.p_value:
            why = gettext("is too close to the original for the matrices")
        yield Check.decided(
            "transitions of {column}",
            good,
            "chi-square {far:.1f} on {degrees} degrees of freedom, "
            "p = {chance:.2g} ({why}; a valid release fails one of these "
            "tests once in {times:,.0f}; {power})",
            column=name,
            far=fit.far,
            degrees=fit.degrees,
            chance=fit.chance,
            why=why,
            times=2 / LEVEL,
            power=_power(fit, LEVEL / 2 / len(fits)),
        )


def _fits(mechanism: Mechanism, records: PairedRecords) -> Iterator[tuple[str, ChiSquareFit]]:
    """Steps alone, by twos and all at once, then each within groups of the unchanged columns."""
    steps = [step for step in mechanism.steps if step.matrix is not None]
    cells = {step.columns: records.cells(step) for step in steps}
    groups = [group for size in (1, 2) for group in itertools.combinations(steps, size)]
    largest: list[Step] = []
    for step in sorted(steps, key=lambda step: len(step.labels)):
        if _cells_of([*largest, step]) <= MOST_CELLS:
            largest.append(step)
    if len(largest) > 2:
        groups.append(tuple(largest))
    for group in groups:
        pairs = [pair for step in group if (pair := cells[step.columns]) is not None]
        if len(pairs) < len(group) or _cells_of(group) > MOST_CELLS:
            continue
        values: FloatArray = np.ones((1, 1))
        for step in group:
            values = np.asarray(np.kron(values, step.matrices[0].values), dtype=np.float64)
        name = " x ".join(name for step in group for name in step.columns)
        yield name, fit_counts(values, *_product(pairs).numbers)
    for step in steps:
        pair = cells[step.columns]
        if pair is None or pair.size > MOST_CELLS // 4:
            continue
        for name, unchanged in records.kept.items():
            inside = _product([unchanged.in_groups(MOST_GROUPS), pair])
            before, after = (counts.reshape(-1, pair.size) for counts in inside.numbers)
            fits = [
                fit_counts(step.matrices[0].values, *counts)
                for counts in zip(before, after, strict=True)
                if counts[0].sum()
            ]
            yield f"{' x '.join(step.columns)} by {name}", sum(fits[1:], start=fits[0])


def _cells_of(steps: Sequence[Step]) -> int:
    return math.prod(len(step.labels) for step in steps)


def _product(pairs: Sequence[Pair]) -> Pair:
    """All cells of several pairs, whether they occur or not."""
    sizes = [pair.size for pair in pairs]
    before = cell_numbers([pair.before for pair in pairs], sizes)
    after = cell_numbers([pair.after for pair in pairs], sizes)
    return Pair(before, after, math.prod(sizes))


def _power(fit: ChiSquareFit, level: float) -> str:
    """What the test detects: the shift of a share, in standard errors."""
    from scipy.special import chdtr, chdtri, ndtri

    if not fit.degrees:
        return gettext("it has no power")
    far = max(chdtri(fit.degrees, level) - fit.degrees, 0.0)
    large = fit.step * far / 6
    shift = float(large + np.sqrt(large**2 + far)) - ndtri(1e-3)
    close = gettext("it detects records that were not randomised")
    if chdtr(fit.degrees, fit.grain) * 2 >= level:
        close = gettext("records that were not randomised may pass")
    return gettext(
        "it detects tables {shift} standard errors away; {close}",
        shift=numeral(text_up(shift, 2)), close=close,
    )  # fmt: skip


def _owner_claims(certificate: Certificate, original: OpenedTable) -> Iterator[Check]:
    """Guarantees that rest on the original counts, computed again from them."""
    assert certificate.mechanism is not None  # noqa: S101 - the caller has looked
    stated = [c.attained for c in certificate.claims if only_the_owner(type(c.attained))]
    if not stated:
        return
    counts = owner_counts(certificate.schema, certificate.mechanism, original)
    computed = recomputed(replace(certificate.evidence, counts=counts), stated)
    for guarantee in stated:
        again = computed.get(guarantee.name)
        good = again is not None and bool(again.implies(guarantee))
        words = (
            "recomputed from the original" if good else "recomputed from the original: only {again}"
        )
        yield Check.decided(guarantee.name, good, words, CheckKind.GUARANTEE, again=again)


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


UNFORESEEN: Final = (
    pa.ArrowException, OSError, EOFError, ValueError, ArithmeticError, LookupError, MemoryError,
    RecursionError, TypeError,
)  # fmt: skip
"""Errors that hostile data may still raise: they fail a check."""


MOST_FILES: Final = 10_000
MOST_NAMED: Final = 5
"""Names of unknown files that a check lists."""


def verify_folder(
    folder: str | Path,
    *,
    key: str | Path | None = None,
    engine: str = USUAL,
    master: str | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Run all checks that need the folder alone.

    The engine computes digests and looks at the records; ``master`` names its cluster.
    """
    folder, workers = Path(folder), ENGINES[engine]
    workers.connect(master)
    try:
        certificate = read_certificate(folder)
    except NotARelease as error:
        if not os.path.lexists(folder / CERTIFICATE):
            raise
        # A certificate that is there and cannot be read was altered.
        return Verdict((Check.decided("certificate", False, str(error)),))
    stamps: tuple[FileStamp, ...] = ()
    with suppress(PramanaError):  # the check of the data file reports it
        stamps = stamps_of(folder, certificate)
    data = _data_check(folder, certificate, workers)
    checks = [
        Check.decided("certificate", True, "unaltered: its digest matches"),
        data,
        _documentation_check(folder, certificate),
        *_other_files(folder, certificate),
        *_signature_check(certificate, key),
    ]
    records: list[Check] = []
    opened: OpenedTable | None = None
    if data.ok:
        try:
            opened = workers.spread(open_data(folder, certificate))
            records.extend(record_checks(certificate, opened, progress))
            records.extend(copy_checks(folder, certificate))
            require_unchanged(stamps)
        except PramanaError as error:
            records.append(Check.decided("table", False, str(error)))
        except UNFORESEEN:
            records.append(Check.decided("table", False, "it cannot be read"))
    # Nothing is computed for a number of records that the data contradict.
    recompute = all(check.ok for check in records if check.title == "records")
    checks += consistency_checks(certificate, recompute=recompute)
    # How records were made no folder can show.
    if certificate.mechanism is not None or certificate.nature.withholds_matrices:
        detail = (
            "independent randomisation by matrices cannot be verified from the folder"
            if certificate.mechanism is None
            else "independent randomisation by these matrices cannot be verified from the folder"
        )
        checks.append(Check.asserted("randomisation", detail))
    checks.append(Check.asserted("shuffle", "shuffling cannot be verified from the folder"))
    checks += records
    risk = None
    if opened is not None and all(check.ok for check in checks):
        try:
            risk = file_risk(certificate, opened)
            require_unchanged(stamps)
        except PramanaError as error:
            checks.append(Check.decided("table", False, str(error)))
        except UNFORESEEN:
            checks.append(Check.decided("table", False, "its risk cannot be measured"))
    publishable = None if risk is None else verdict_of(certificate, risk)
    return Verdict(tuple(checks), tuple(_notes(certificate, key)), risk, publishable)


def _data_check(folder: Path, certificate: Certificate, workers: Engine) -> Check:
    """The data file has the fingerprint of the certificate; it is read if name and size fit."""
    data = certificate.data
    if data is None:
        return Check.decided("data", False, "the certificate names no data file")
    try:
        same = fingerprint(data_path(folder, certificate), data.format, workers) == data
    except PramanaError as error:
        return Check.decided("data", False, str(error))
    return Check.decided(
        "data",
        same,
        "{data} has the SHA-256 that the certificate states"
        if same
        else "{data} does not have the SHA-256 that the certificate states",
        data=data.name,
    )


def _documentation_check(folder: Path, certificate: Certificate) -> Check:
    """README, codebook and loading code follow from the certificate."""
    written = explanations(certificate)
    there = [name for name in written if os.path.lexists(folder / name)]
    altered = [name for name in there if not holds(folder / name, written[name])]
    if altered:
        detail = "{altered}: not in agreement with the certificate"
        return Check.decided("explanations", False, detail, altered=", ".join(altered))
    if len(there) < len(written):
        gone = len(written) - len(there)
        return Check.asserted(
            "explanations",
            "{gone} of {count} files missing",
            CheckKind.INTEGRITY,
            gone=gone,
            count=len(written),
        )
    return Check.decided(
        "explanations", True, "{there} agree with the certificate", there=", ".join(there)
    )


def _other_files(folder: Path, certificate: Certificate) -> Iterator[Check]:
    """Files that the certificate does not name; no command reads them."""
    names: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, MOST_FILES)]
    unknown = sorted(set(names) - files_of(certificate))
    if unknown:
        shown = listed([ascii(name)[1:-1] for name in unknown], MOST_NAMED)
        detail = "{shown}: not part of the release, and not read"
        yield Check.asserted("other files", detail, CheckKind.INTEGRITY, shown=shown)


def _signature_check(certificate: Certificate, key: str | Path | None) -> Iterator[Check]:
    if key is None:
        return
    if certificate.signature is None:
        detail = "a key was given, but the certificate is not signed"
        yield Check.decided("signature", False, detail)
        return
    from pramana.release.signing import has_signature_of  # most are not signed

    good = has_signature_of(certificate, Path(key))
    detail = "the signature fits the key" if good else "the signature does not fit the key"
    yield Check.decided("signature", good, detail)


def _notes(certificate: Certificate, key: str | Path | None) -> Iterator[str]:
    if certificate.reproducible:
        yield gettext("A seed was used: the release is not for publication.")
    if certificate.signature is not None and key is None:
        yield gettext("The certificate is signed; give the public key to check the signature.")
    if certificate.nature.withholds_matrices:
        yield gettext(WITHHELD)
    if not certificate.claims:
        yield gettext("The certificate states no guarantee.")
    binned = [column.name for column in certificate.true_schema.binned]
    noisy = [column.name for column in certificate.true_schema.noisy]
    others = {*binned, *noisy}
    as_is = [column.name for column in certificate.as_they_are if column.name not in others]
    if noisy:
        yield gettext(NOISY, columns=", ".join(noisy))
    if binned:
        yield gettext(BINNED, columns=", ".join(binned))
    if as_is:
        yield gettext(UNCHANGED, columns=", ".join(as_is))
    yield from DataChoices.of(certificate.schema).notices()
    owner = [claim.name for claim in certificate.claims if only_the_owner(type(claim.attained))]
    if owner and not certificate.nature.grouped:
        yield gettext("Only the owner can recompute: {names}.", names=", ".join(owner))
