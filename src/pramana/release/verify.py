"""Checking a release from the folder alone, and, for its owner, against the true table.

A stranger recomputes: the fingerprints, the signature, the number of records, that every value lies
in its domain, the crowd, and every guarantee that follows from the published matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.errors import NotARelease, PramanaError
from pramana.guarantees.base import only_the_owner
from pramana.guarantees.evaluate import never_offered, recomputed
from pramana.release.certificate import NOT_FOR_PUBLICATION, Certificate
from pramana.release.folder import CERTIFICATE, fingerprint
from pramana.release.signing import has_signature_of
from pramana.release.stored import open_data, read_certificate
from pramana.table.codec import Refused, count_refused, encode_released
from pramana.table.groups import GroupSizes
from pramana.table.opened import OpenedTable
from pramana.types import Progress

__all__ = ["Check", "Verdict", "verify_folder"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str

    def to_json(self) -> dict[str, Any]:
        """The entry in the JSON of verify."""
        return {"name": self.name, "ok": self.ok, "detail": self.detail}


@dataclass(frozen=True)
class Verdict:
    """All checks; ``notes`` say what does not make a release invalid but must be known."""

    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether every check passed."""
        return all(check.ok for check in self.checks)

    def __bool__(self) -> bool:
        return self.valid

    def with_checks(self, more: Iterable[Check]) -> Verdict:
        """The same verdict with further checks."""
        return Verdict((*self.checks, *more), self.notes)

    def to_json(self) -> dict[str, Any]:
        """The JSON form of verify."""
        return {
            "valid": self.valid,
            "checks": [check.to_json() for check in self.checks],
            "notes": list(self.notes),
        }


def verify_folder(
    folder: str | Path, *, key: str | Path | None = None, progress: Progress | None = None
) -> Verdict:
    """Everything that a stranger can check."""
    folder = Path(folder)
    try:
        certificate = read_certificate(folder)
    except NotARelease as error:
        if not (folder / CERTIFICATE).is_file():
            raise
        # One is there and cannot be read: whoever altered it, the release does not hold.
        return Verdict((Check("certificate", False, str(error)),))
    checks = [_spelling(folder, certificate), _fingerprint(folder, certificate)]
    checks.extend(_signature(certificate, key))
    checks.extend(_guarantees(certificate))
    if checks[1].ok:
        try:
            opened = open_data(folder, certificate)
            checks.extend(_records(certificate, opened, progress))
        except PramanaError as error:
            checks.append(Check("table", False, str(error)))
    return Verdict(tuple(checks), tuple(_notes(certificate, key)))


def _spelling(folder: Path, certificate: Certificate) -> Check:
    """The digest and every byte of the certificate."""
    same = (folder / CERTIFICATE).read_bytes() == certificate.to_bytes()
    detail = (
        "digest and spelling of the certificate are right"
        if same
        else "the certificate was altered: its digest or its spelling is not what was written"
    )
    return Check("certificate", same, detail)


def _fingerprint(folder: Path, certificate: Certificate) -> Check:
    data = certificate.data
    if data is None:
        return Check("data", False, "the certificate names no data file")
    try:
        same = fingerprint(folder / data.name, data.format) == data
    except PramanaError as error:
        return Check("data", False, str(error))
    detail = "has" if same else "does not have"
    return Check("data", same, f"{data.name} {detail} the SHA-256 that the certificate states")


def _signature(certificate: Certificate, key: str | Path | None) -> Iterator[Check]:
    if key is None:
        return
    if certificate.signature is None:
        yield Check("signature", False, "a key was given, and the certificate is not signed")
        return
    good = has_signature_of(certificate, Path(key))
    yield Check("signature", good, f"the signature {'fits' if good else 'does not fit'} the key")


def _guarantees(certificate: Certificate) -> Iterator[Check]:
    """What is claimed against what the matrices give."""
    evidence = certificate.evidence
    found = recomputed(evidence, [claim.attained for claim in certificate.claims])
    for claim in certificate.claims:
        name = claim.attained.name
        never = never_offered(type(claim.attained), certificate.kind, evidence)
        if not claim.holds:
            yield Check(name, False, "the certificate itself attains less than was asked")
        elif never is not None:
            yield Check(name, False, f"it cannot be promised: {never}")
        elif name not in found:
            yield Check(name, True, "stated by the owner; only the owner can recompute it")
        elif found[name].implies(claim.attained):
            yield Check(name, True, f"recomputed from the matrices: {claim.attained}")
        else:
            yield Check(name, False, f"the matrices give only {found[name]}")


def _records(
    certificate: Certificate, opened: OpenedTable, progress: Progress | None
) -> Iterator[Check]:
    """Number of records, columns, domains, impossible combinations, the crowd."""
    names = [column.name for column in certificate.schema.released]
    same = list(opened.schema.names) == names
    yield Check("columns", same, "as the certificate lists them" if same else "others than listed")
    if not same:
        return
    seen = _Seen(certificate)
    for batch in opened.batches():
        seen.look_at(batch)
        if progress is not None:
            progress(batch.num_rows)
    same = seen.records == certificate.records
    stated = f"{certificate.records:,} are stated"
    yield Check("records", same, f"{seen.records:,} records, {stated}")
    for name, refused in seen.refused.items():
        outside = refused.outside + refused.missing
        detail = "every value lies in its domain"
        yield Check(
            f"domain of {name}", not outside, f"{outside:,} records outside" if outside else detail
        )
    if certificate.schema.impossible:
        yield Check(
            "impossible combinations", not seen.impossible, f"{seen.impossible:,} records hold one"
        )
    if certificate.known_columns:
        smallest = seen.groups.smallest()
        yield Check(
            "crowd",
            smallest >= certificate.crowd,
            f"the smallest group of {', '.join(certificate.known_columns)} has {smallest:,} "
            f"records, {certificate.crowd:,} are stated",
        )
    elif certificate.mechanism is not None and certificate.mechanism.steps:
        same = seen.records >= certificate.crowd
        yield Check("crowd", same, f"all {seen.records:,} records form one crowd")


class _Seen:
    """What one pass over the released records finds."""

    def __init__(self, certificate: Certificate) -> None:
        self.certificate = certificate
        self.records = 0
        self.impossible = 0
        self.coded = [c for c in certificate.schema.randomised if c.domain is not None]
        self.refused = {column.name: Refused() for column in self.coded}
        self.groups = GroupSizes(certificate.known_columns)

    def look_at(self, batch: pa.RecordBatch) -> None:
        schema = self.certificate.schema
        self.records += batch.num_rows
        good = True
        for column in self.coded:
            found = count_refused(column, batch.column(column.name), released=True)
            self.refused[column.name] += found
            good = good and not found
        if good and schema.impossible:
            self._look_for_impossible(batch)
        if self.groups.columns:
            self.groups.add(batch)

    def _look_for_impossible(self, batch: pa.RecordBatch) -> None:
        schema = self.certificate.schema
        for rule in schema.impossible:
            hit = np.ones(batch.num_rows, dtype=bool)
            for name, labels in rule.cells:
                column = schema.column(name)
                codes = encode_released(column, batch.column(name))
                hit &= np.isin(codes, [column.labels.index(label) for label in labels])
            self.impossible += int(hit.sum())


def _notes(certificate: Certificate, key: str | Path | None) -> Iterator[str]:
    if certificate.reproducible:
        yield f"A seed was used: {NOT_FOR_PUBLICATION}."
    if certificate.signature is not None and key is None:
        yield "The certificate is signed; give the public key to check by whom."
    if certificate.kind == "withheld":
        yield "The matrices are withheld: guarantees that rest on them are the owner's word."
    as_is = [column.name for column in certificate.schema.released_as_is]
    if as_is:
        yield f"Released as they are, outside every epsilon: {', '.join(as_is)}."
    undeclared = [c.name for c in certificate.schema.randomised if not c.declared]
    if undeclared:
        names = ", ".join(undeclared)
        yield f"Domains read off the data, so that they tell which values occur: {names}."
    owner = [claim.name for claim in certificate.claims if only_the_owner(type(claim.attained))]
    if owner:
        yield f"Only the owner can recompute: {', '.join(owner)}."
