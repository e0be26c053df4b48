"""What the owner can check: what a certificate without matrices claims is designed again.

A method whose matrices are withheld and that has no secret options makes the same matrices of the
same table every time. So the owner, who has the table, can compute the claim once more, and bet on
whether the records were drawn by these matrices as where they are published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

import pyarrow as pa

from pramana.analysis.release import Release
from pramana.errors import PramanaError, TooLarge
from pramana.guarantees.base import Guarantee, only_the_owner
from pramana.guarantees.claims import Claim, attained
from pramana.mechanisms.mechanism import Mechanism
from pramana.methods.base import METHODS, Method
from pramana.methods.choice import design
from pramana.methods.context import DesignContext
from pramana.methods.plan import Plan
from pramana.release.certificate import Certificate
from pramana.risk.owner_check import owner_checks
from pramana.schema.opened_table import OpenedTable
from pramana.types import Say
from pramana.verification.checks import Check, CheckKind
from pramana.verification.owner import LEVEL, against_truth
from pramana.verification.paired_records import PairedRecords
from pramana.verification.randomisation_test import IMPOSSIBLE, draws

__all__ = ["checked_by_truth", "designed_again"]

UNKEPT: Final = "that these made the records only those that were kept can show (--mechanism)"
TOO_LARGE: Final = "matrices for it are too large to be made from the original again"
OTHERS: Final = "cannot tell here: the matrices made from the original again are other ones"


def checked_by_truth(
    release: Release,
    truth: OpenedTable,
    *,
    mechanism: Mechanism | None = None,
    say: Say | None = None,
) -> list[Check]:
    """All that who has the true table can check of a release beyond what anyone can.

    Args:
        release: the release.
        truth: the true table.
        mechanism: the matrices that the owner kept, where the certificate has none.
        say: is told in words which check was made.
    """
    both = (release.certificate, release.opened, truth)
    again = designed_again(*both, mechanism=mechanism)
    found: list[Check] = []
    for check in chain(against_truth(*both), owner_checks(*both), again):
        found.append(check)
        if say is not None:
            say(f"Checking against the original, {len(found)} done, last '{check.name}'")
    return found


def designed_again(
    certificate: Certificate,
    released: OpenedTable,
    original: OpenedTable,
    *,
    mechanism: Mechanism | None = None,
) -> Iterator[Check]:
    """What a design of the original says of the claims, and of how the records were drawn.

    Claims are those that only the owner can recompute. Draws are those of the matrices that were
    kept, where they are given; else of the design.
    """
    owned = [claim for claim in certificate.claims if only_the_owner(type(claim.attained))]
    method = _method(certificate)
    if mechanism is not None and certificate.mechanism is None:
        yield from _by_kept(certificate, original, mechanism, owned)
        made: Mechanism | None = mechanism
    else:
        try:
            plan = None if method is None else _plan(certificate, original, method)
        except TooLarge:
            for claim in owned:
                yield Check.asserted(claim.name, f"{TOO_LARGE}; {UNKEPT}", CheckKind.GUARANTEE)
            return
        found = {} if plan is None else {claim.name: claim.attained for claim in plan.claims}
        for claim in owned if method is not None else ():
            told = "matrices made from the original again give"
            none = "no design of the original attains it" if plan is None else ""
            yield _claimed(claim, found.get(claim.name), told, none, kept=False)
        made = None if plan is None else plan.mechanism
    if made is not None and certificate.mechanism is None and original.rows == released.rows:
        records = PairedRecords(certificate, released, original)
        yield from _drawn_by(made, records, kept=mechanism is not None)


def _by_kept(
    certificate: Certificate, original: OpenedTable, mechanism: Mechanism, owned: list[Claim]
) -> Iterator[Check]:
    """What the matrices that were kept promise these people."""
    schema = certificate.true_schema
    asked = [claim.attained for claim in owned]
    try:
        people = DesignContext.of(schema, _narrowed(original, schema.names))
        found = {own.name: own for own in attained(people.counted(mechanism), asked)}
    except PramanaError as error:
        found, none = {}, str(error)
    else:
        none = ""
    for claim in owned:
        told = "the matrices that were kept give"
        yield _claimed(claim, found.get(claim.name), told, none, kept=True)


def _claimed(claim: Claim, found: Guarantee | None, told: str, none: str, *, kept: bool) -> Check:
    """Whether what was found is what is claimed."""
    good = found is not None and bool(found.implies(claim.attained))
    if good and not kept:  # a design that keeps it says nothing of what was done to these records
        return Check.asserted(claim.name, f"{told} {found}; {UNKEPT}", CheckKind.GUARANTEE)
    detail = none or f"{told}{'' if good else ' only'} {found}"
    return Check.decided(claim.name, good, detail, CheckKind.GUARANTEE)


def _plan(certificate: Certificate, original: OpenedTable, method: Method) -> Plan | None:
    """The plan that a method makes of the original; nothing where it makes none.

    One that is too large to be made says nothing of a claim.
    """
    asked = [claim.asked for claim in certificate.claims if claim.asked is not None]
    try:
        data = _narrowed(original, certificate.true_schema.names)
        return design(certificate.true_schema, *asked, data=data, method=method)
    except TooLarge:
        raise
    except PramanaError:
        return None


def _drawn_by(mechanism: Mechanism, records: PairedRecords, *, kept: bool) -> Iterator[Check]:
    """Whether the records were drawn by the matrices that were kept, or that a design makes.

    Where those of a design cannot have made them, the design of a machine that adds in another
    order may have been another one: then nothing is said of the release.
    """
    try:
        for check in draws(mechanism, records, level=LEVEL / 6):
            other = not kept and not check.ok and check.detail == IMPOSSIBLE
            yield Check.asserted(check.name, OTHERS) if other else check
    except PramanaError as error:
        yield Check.decided("original values", False, str(error))


def _narrowed(original: OpenedTable, names: Sequence[str]) -> OpenedTable:
    """The columns that the certificate knows of: not those that were never released."""
    own = pa.schema([item for item in original.schema if item.name in set(names)])
    return replace(original.with_columns({}, own), fit=None)


def _method(certificate: Certificate) -> Method | None:
    """The method with all its options; nothing where some of them are not told."""
    if not certificate.nature.withholds_matrices or certificate.method not in METHODS:
        return None
    return METHODS[certificate.method].from_certificate(certificate)
