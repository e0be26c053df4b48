"""What the owner can check: what a certificate without matrices claims is designed again.

A method whose matrices are withheld and that has no secret options makes the same matrices of the
same table every time. So the owner, who has the table, can compute the claim once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import chain

import pyarrow as pa

from pramana.errors import PramanaError
from pramana.guarantees.base import only_the_owner
from pramana.methods.base import Method
from pramana.methods.registry import METHODS
from pramana.planning import design
from pramana.readings.release import Release
from pramana.release.against_truth import against_truth
from pramana.release.certificate import Certificate
from pramana.release.checks import Check
from pramana.risk.owner_check import owner_checks
from pramana.table.opened import OpenedTable
from pramana.types import Say

__all__ = ["checked_by_truth", "designed_again"]


def checked_by_truth(
    release: Release, truth: OpenedTable, *, say: Say | None = None
) -> list[Check]:
    """All that who has the true table can check of a release beyond what anyone can."""
    both = (release.certificate, release.opened, truth)
    again = designed_again(release.certificate, truth)
    found: list[Check] = []
    for check in chain(against_truth(*both), owner_checks(*both), again):
        found.append(check)
        if say is not None:
            say(f"Checking against the original, {len(found)} done, last '{check.name}'")
    return found


def designed_again(certificate: Certificate, original: OpenedTable) -> Iterator[Check]:
    """Each claim that only the owner can recompute, against that of a design of this table."""
    method = _method(certificate)
    owned = [claim for claim in certificate.claims if only_the_owner(type(claim.attained))]
    if method is None or not owned:
        return
    asked = [claim.asked for claim in certificate.claims if claim.asked is not None]
    try:
        data = _narrowed(original, certificate.true_schema.names)
        plan = design(certificate.true_schema, *asked, data=data, method=method)
    except PramanaError:
        for claim in owned:
            yield Check.of(claim.name, False, "no design of the original attains it")
        return
    found = {claim.name: claim.attained for claim in plan.claims}
    for claim in owned:
        good = claim.name in found and bool(found[claim.name].implies(claim.attained))
        words = "" if good else " only"
        told = f"matrices made from the original again give{words} {found.get(claim.name)}"
        yield Check.of(claim.name, good, told)


def _narrowed(original: OpenedTable, names: Sequence[str]) -> OpenedTable:
    """The columns that the certificate knows of: not those that were never released."""
    own = pa.schema([item for item in original.schema if item.name in set(names)])
    return replace(original.with_columns({}, own), fit=None)


def _method(certificate: Certificate) -> Method | None:
    """The method with all its options; nothing where some of them are not told."""
    if not certificate.nature.withholds_matrices or certificate.method not in METHODS:
        return None
    kind = METHODS[certificate.method]
    options = {option.name for option in fields(kind)}  # type: ignore[arg-type]
    complete = options <= certificate.options.keys()
    return kind(**certificate.options) if complete else None
