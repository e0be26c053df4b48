"""Verification of a release from its folder alone.

``verify_folder`` lists the checks in their order. Anyone can recompute the fingerprints, the
signature, the consistency of the certificate, the number of records, domains, the anonymity set,
and every guarantee that follows from the published matrices. What only the owner can compute is
reported as asserted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa

from pramana.base.text import listed
from pramana.errors import NotARelease, PramanaError
from pramana.guarantees.base import only_the_owner
from pramana.release.certificate import NOT_FOR_PUBLICATION, Certificate
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
from pramana.schema.opened_table import FileStamp, require_unchanged
from pramana.schema.origins import DataChoices
from pramana.types import Progress
from pramana.verification.checks import Check, CheckKind, Verdict
from pramana.verification.consistency import consistency_checks
from pramana.verification.record_checks import copy_checks, record_checks
from pramana.verification.whole_file import file_risk, verdict_of

UNFORESEEN: Final = (
    pa.ArrowException, OSError, EOFError, ValueError, ArithmeticError, LookupError, MemoryError,
    RecursionError, TypeError,
)  # fmt: skip
"""Errors that hostile data may still raise: they fail a check."""


MOST_FILES: Final = 10_000
MOST_NAMED: Final = 5
"""Names of unknown files that a check lists."""


def verify_folder(
    folder: str | Path, *, key: str | Path | None = None, progress: Progress | None = None
) -> Verdict:
    """Run all checks that need the folder alone."""
    folder = Path(folder)
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
    data = _data_check(folder, certificate)
    checks = [
        Check.decided("certificate", True, "every byte is as it was written, and so is its digest"),
        data,
        _documentation_check(folder, certificate),
        *_other_files(folder, certificate),
        *_signature_check(certificate, key),
    ]
    records: list[Check] = []
    if data.ok:
        try:
            records.extend(record_checks(certificate, open_data(folder, certificate), progress))
            records.extend(copy_checks(folder, certificate))
            require_unchanged(stamps)
        except PramanaError as error:
            records.append(Check.decided("table", False, str(error)))
        except UNFORESEEN:
            records.append(Check.decided("table", False, "it cannot be read"))
    # Nothing is computed for a number of records that the data contradict.
    recompute = all(check.ok for check in records if check.name == "records")
    checks += consistency_checks(certificate, recompute=recompute)
    # How records were made no folder can show.
    if certificate.mechanism is not None or certificate.nature.withholds_matrices:
        which = "these matrices" if certificate.mechanism is not None else "matrices"
        detail = f"independent randomisation by {which} cannot be verified from the folder"
        checks.append(Check.asserted("draws", detail))
    checks.append(Check.asserted("order", "shuffling cannot be verified from the folder"))
    checks += records
    risk = None
    if data.ok and all(check.ok for check in checks):
        try:
            risk = file_risk(certificate, open_data(folder, certificate))
            require_unchanged(stamps)
        except PramanaError as error:
            checks.append(Check.decided("table", False, str(error)))
    publishable = None if risk is None else verdict_of(certificate, risk)
    return Verdict(tuple(checks), tuple(_notes(certificate, key)), risk, publishable)


def _data_check(folder: Path, certificate: Certificate) -> Check:
    """The data file has the fingerprint of the certificate; it is read if name and size fit."""
    data = certificate.data
    if data is None:
        return Check.decided("data", False, "the certificate names no data file")
    try:
        same = fingerprint(data_path(folder, certificate), data.format) == data
    except PramanaError as error:
        return Check.decided("data", False, str(error))
    has = "has" if same else "does not have"
    return Check.decided("data", same, f"{data.name} {has} the SHA-256 that the certificate states")


def _documentation_check(folder: Path, certificate: Certificate) -> Check:
    """README, codebook and loading code follow from the certificate."""
    written = explanations(certificate)
    there = [name for name in written if os.path.lexists(folder / name)]
    altered = [name for name in there if not holds(folder / name, written[name])]
    if altered:
        detail = f"{', '.join(altered)}: not what follows from the certificate"
        return Check.decided("explanations", False, detail)
    if len(there) < len(written):
        gone = len(written) - len(there)
        return Check.asserted(
            "explanations",
            f"{gone} of {len(written)} files {'is' if gone == 1 else 'are'} not there",
            CheckKind.INTEGRITY,
        )
    return Check.decided("explanations", True, f"{', '.join(there)} say what the certificate says")


def _other_files(folder: Path, certificate: Certificate) -> Iterator[Check]:
    """Files that the certificate does not name; no command reads them."""
    names: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, MOST_FILES)]
    unknown = sorted(set(names) - files_of(certificate))
    if unknown:
        shown = listed([ascii(name)[1:-1] for name in unknown], MOST_NAMED)
        detail = f"{shown}: not part of the release, and not read"
        yield Check.asserted("other files", detail, CheckKind.INTEGRITY)


def _signature_check(certificate: Certificate, key: str | Path | None) -> Iterator[Check]:
    if key is None:
        return
    if certificate.signature is None:
        detail = "a key was given, and the certificate is not signed"
        yield Check.decided("signature", False, detail)
        return
    from pramana.release.signing import has_signature_of  # most are not signed

    good = has_signature_of(certificate, Path(key))
    fits = "fits" if good else "does not fit"
    yield Check.decided("signature", good, f"the signature {fits} the key")


def _notes(certificate: Certificate, key: str | Path | None) -> Iterator[str]:
    if certificate.reproducible:
        yield f"A seed was used: {NOT_FOR_PUBLICATION}."
    if certificate.signature is not None and key is None:
        yield "The certificate is signed; give the public key to check by whom."
    if certificate.nature.withholds_matrices:
        yield "The matrices are withheld: guarantees that rest on them are the owner's word."
    if not certificate.claims:
        yield "The certificate claims nothing."
    binned = [column.name for column in certificate.true_schema.binned]
    noisy = [column.name for column in certificate.true_schema.noisy]
    others = {*binned, *noisy}
    as_is = [column.name for column in certificate.as_they_are if column.name not in others]
    if noisy:
        yield f"Released with noise, outside every epsilon: {', '.join(noisy)}."
    if binned:
        yield f"Binned, not randomised, outside every epsilon: {', '.join(binned)}."
    if as_is:
        yield f"Released as they are, outside every epsilon: {', '.join(as_is)}."
    yield from DataChoices.of(certificate.schema).notices()
    owner = [claim.name for claim in certificate.claims if only_the_owner(type(claim.attained))]
    if owner and not certificate.nature.grouped:
        yield f"Only the owner can recompute: {', '.join(owner)}."
