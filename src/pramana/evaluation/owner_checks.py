"""Checks of a release that need the original data.

A certificate of withheld matrices or of groups states how many records are released unchanged, and
how far frequencies are off. With the original data both are counted again. A method that passes
keys round, or draws them, inside groups of at least k gives a record its original keys with
probability at most 1/k. Among records whose keys and other values are unique, the number that keep
theirs has factorial moments of at most of a Poisson law of mean N/k, so that its tail is
below Chernoff's bound for that law.

A method whose matrices are withheld and that has no secret options makes the same matrices of the
same table every time: the owner designs it again, compares the guarantees, and tests by e-values
whether the records were drawn by these matrices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from pramana.analysis.release import Release, load_release
from pramana.base.randomness import GOLDEN_GAMMA
from pramana.base.text import percent_up, text_up
from pramana.errors import InputError, NotARelease, PramanaError, TooLarge
from pramana.evaluation.audit import BESIDE_THE_ORIGINAL, mechanism_of, original_of
from pramana.guarantees.base import Guarantee, only_the_owner
from pramana.guarantees.claims import Claim, attained
from pramana.mechanisms.mechanism import Mechanism
from pramana.methods.base import METHODS, Method
from pramana.methods.choice import design
from pramana.methods.plan import Plan
from pramana.release.certificate import Certificate
from pramana.release.kinds import NewKeys
from pramana.risk.unchanged import UnchangedRecords, measure_unchanged, numbers_of
from pramana.schema.codec import encode, encode_released
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column
from pramana.types import Progress, Say, TableLike, Words
from pramana.verification.checks import Check, CheckKind, Verdict
from pramana.verification.owner import LEVEL, against_truth, owner_counts
from pramana.verification.paired_records import PairedRecords
from pramana.verification.randomisation_test import IMPOSSIBLE, draws
from pramana.verification.verify import verify_folder

UNKEPT: Final = "that these made the records only those that were kept can show (--mechanism)"
TOO_LARGE: Final = "matrices for it are too large to be made from the original again"
OTHERS: Final = "cannot tell here: the matrices made from the original again are other ones"


def verify(
    folder: str | Path | Release,
    *,
    key: str | Path | None = None,
    original: TableLike | None = None,
    mechanism: Mechanism | str | Path | None = None,
    progress: Progress | None = None,
    say: Say | None = None,
) -> Verdict:
    """Check a release folder; with the original also that the records fit the matrices.

    Args:
        folder: the release, by its folder or as it was loaded from there.
        key: who must have signed it.
        original: the original data, for the owner.
        mechanism: for a release that withholds its matrices: those that were kept, as a file of
            the steward's folder or in memory.
        progress: is told how many more records were looked at.
        say: is told in words which check was made.
    """
    place = folder if isinstance(folder, str | Path) else getattr(folder, "folder", None)
    if place is None:
        raise InputError("Verified is a folder, and this release is in memory: save it to one.")
    folder = Path(place)
    verdict = verify_folder(folder, key=key, progress=progress)
    if original is None:
        if mechanism is not None:
            raise InputError(BESIDE_THE_ORIGINAL)
        return verdict
    try:
        release = load_release(folder)
    except NotARelease:
        if verdict.valid:
            raise
        return verdict  # which says why it cannot be compared with anything
    kept = None if mechanism is None else mechanism_of(mechanism, release, original=original)
    truth = original_of(original, release)
    return verdict.with_checks(checked_by_truth(release, truth, mechanism=kept, say=say))


def checked_by_truth(
    release: Release,
    truth: OpenedTable,
    *,
    mechanism: Mechanism | None = None,
    say: Say | None = None,
) -> list[Check]:
    """All that who has the original data can check of a release beyond what anyone can."""
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
        # Whether the records were drawn by the matrices that were kept, or that a design
        # makes.
        kept = mechanism is not None
        try:
            for check in draws(made, records, level=LEVEL / 6):
                other = not kept and not check.ok and check.detail == IMPOSSIBLE
                yield Check.asserted(check.name, OTHERS) if other else check
        except PramanaError as error:
            yield Check.decided("original values", False, str(error))


def _by_kept(
    certificate: Certificate, original: OpenedTable, mechanism: Mechanism, owned: list[Claim]
) -> Iterator[Check]:
    """What the matrices that were kept promise these people."""
    schema = certificate.true_schema
    asked = [claim.attained for claim in owned]
    try:
        # Columns that are released unchanged, strata among them, have no domain in a certificate.
        counts = owner_counts(schema, mechanism, original)
        evidence = replace(
            certificate.evidence, mechanism=mechanism, data_dependent=True, counts=counts
        )
        found = {guarantee.name: guarantee for guarantee in attained(evidence, asked)}
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
        # The columns that the certificate knows of: not those that were never released.
        names = certificate.true_schema.names
        own = pa.schema([item for item in original.schema if item.name in set(names)])
        data = replace(original.with_columns({}, own), fit=None)
        return design(certificate.true_schema, *asked, data=data, method=method)
    except TooLarge:
        raise
    except PramanaError:
        return None


def _method(certificate: Certificate) -> Method | None:
    """The method with all its options; nothing where some of them are not told."""
    if not certificate.nature.withholds_matrices or certificate.method not in METHODS:
        return None
    return METHODS[certificate.method].from_certificate(certificate)


FALSE_ALARM = 1e-8
"""Error level of the tests of unchanged keys and of frequencies."""

NAME = "records word for word"


def owner_checks(
    certificate: Certificate, released: OpenedTable, original: OpenedTable
) -> Iterator[Check]:
    """Checks of releases whose certificate has no matrices, against the original data."""
    if certificate.nature.shows_matrices or released.rows != original.rows:
        return
    if any(column.name not in original.schema.names for column in certificate.schema.released):
        return
    try:
        yield _copies(certificate, measure_unchanged(certificate.schema, original, released))
        if _whole_keys(certificate):
            yield from _own_keys(certificate, released, original)
        yield from _frequencies(certificate, released, original)
    except PramanaError as error:
        yield Check.decided(NAME, False, str(error))


def _copies(certificate: Certificate, seen: UnchangedRecords) -> Check:
    """The shares that are stated against those that are found."""
    stated = certificate.statistics.get("verbatim")
    found = (
        f"{percent_up(seen.share)} of the records are found, "
        f"{percent_up(seen.unique_share)} of the unique ones"
    )
    if stated is None:
        good = not certificate.nature.grouped and seen.found < seen.records
        return Check.decided(NAME, good, f"the certificate does not say how many; {found}")
    most = (float(stated["records_at_most"]), float(stated["unique_records_at_most"]))
    stated_so = f"at most {percent_up(most[0])} and {percent_up(most[1])} on average are stated"
    return Check.decided(NAME, seen.within(most), f"{found}; {stated_so}")


def _whole_keys(certificate: Certificate) -> bool:
    """Whether each record gets all keys of one member of its group."""
    keys = certificate.statistics.get("keys")
    whole = certificate.options.get("draw", "whole") == "whole"
    return keys == NewKeys.HANDED_ROUND or (keys == NewKeys.FROM_MEMBERS and whole)


def _own_keys(
    certificate: Certificate, released: OpenedTable, original: OpenedTable
) -> Iterator[Check]:
    """Records that nothing else is like keep their own keys no more often than 1/k allows."""
    k = max((c.attained.to_json().get("k", 1) for c in certificate.claims), default=1)
    keys = certificate.schema.randomised
    rest = [column for column in certificate.schema.released if not column.randomised]
    own, theirs = (
        _keys_and_rest(table, keys, rest, released=side)
        for table, side in ((original, False), (released, True))
    )
    alone = _alone(own[0]) & _alone(own[1])
    pairs = own[0] * GOLDEN_GAMMA + own[1]
    found = int(np.isin(pairs[alone], theirs[0] * GOLDEN_GAMMA + theirs[1]).sum())
    expected = float(alone.sum()) / float(k)
    if not expected:
        return
    chance = _tail(found, expected)
    yield Check.decided(
        "records with their own keys",
        chance >= FALSE_ALARM,
        f"{found:,} of {int(alone.sum()):,} records that are like no other in keys or in the rest; "
        f"groups of {k:,} leave {expected:,.1f} on average (p at most {text_up(chance, 2)})",
    )


def _keys_and_rest(
    table: OpenedTable, keys: Sequence[Column], rest: Sequence[Column], *, released: bool
) -> Words:
    """Two numbers a record: of its keys, and of all its other values."""

    def both(batches: Iterable[pa.RecordBatch]) -> Words:
        parts = [
            np.stack([numbers_of(columns, batch, released=released) for columns in (keys, rest)])
            for batch in batches
        ]
        return np.concatenate([np.zeros((2, 0), np.uint64), *parts], axis=1)

    names = [column.name for column in (*keys, *rest)]
    return np.concatenate([np.zeros((2, 0), np.uint64), *table.summaries(both, names)], axis=1)


def _alone(numbers: Words) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which numbers occur once."""
    _, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    alone: np.ndarray[tuple[int], np.dtype[np.bool_]] = counts[places.ravel()] == 1
    return alone


def _tail(found: int, expected: float) -> float:
    """Chernoff's bound of this many or more under a Poisson law."""
    if found <= expected:
        return 1.0
    return math.exp(found - expected - found * math.log(found / expected))


def _frequencies(
    certificate: Certificate, released: OpenedTable, original: OpenedTable
) -> Iterator[Check]:
    """Frequencies lie as near to the true ones as the stated standard errors say (Bernstein)."""
    errors = certificate.statistics.get("standard_errors")
    if not certificate.nature.withholds_matrices or not errors:
        return
    worst, where = 1.0, ""
    tests = sum(len(column.labels) for column in certificate.schema.randomised)
    for column in certificate.schema.randomised:
        size = len(column.labels)
        before = np.bincount(encode(column, _values(original, column)), minlength=size)
        after = np.bincount(encode_released(column, _values(released, column)), minlength=size)
        own = np.broadcast_to(np.asarray(errors[column.name], dtype=np.float64), size)
        for gap, error in zip(np.abs(after - before), own, strict=True):
            spread = 2 * (float(error) ** 2 + float(gap) / 3)
            chance = min(1.0, 2 * math.exp(-(float(gap) ** 2) / spread)) if gap else 1.0
            if chance < worst:
                worst, where = chance, f" in {column.name}"
    yield Check.decided(
        "standard errors",
        worst >= FALSE_ALARM / tests,
        f"the frequency that is farthest off{where} has a chance of at most {text_up(worst, 2)}",
    )


def _values(table: OpenedTable, column: Column) -> pa.ChunkedArray:
    return table.to_arrow([column.name]).column(0)
