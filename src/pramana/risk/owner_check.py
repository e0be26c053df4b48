"""What the owner finds out about a release whose matrices or groups nobody can read off it.

A certificate of withheld matrices or of groups says how many records stand in the release word for
word, and how far off frequencies are. With the truth at hand both are counted again. Beyond that,
who hands keys round, or draws them, inside groups of at least k gives a record its own keys with a
chance of at most 1/k. Of records with keys and other values that nobody else has, the number that
keep theirs has factorial moments of at most those of a Poisson law of mean N/k, so that its tail is
below Chernoff's bound for that law.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from pramana.base.randomness import GOLDEN_GAMMA
from pramana.base.text import percent_up, text_up
from pramana.errors import PramanaError
from pramana.release.certificate import Certificate
from pramana.release.methods import NewKeys
from pramana.risk.unchanged_records import Verbatim, measure_verbatim, numbers_of
from pramana.schema.codec import encode, encode_released
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column
from pramana.types import Words
from pramana.verification.checks import Check

__all__ = ["owner_checks"]

LEVEL = 1e-8
"""How often a sound release is called unsound by a test of chance here."""

NAME = "records word for word"


def owner_checks(
    certificate: Certificate, released: OpenedTable, original: OpenedTable
) -> Iterator[Check]:
    """Checks of releases whose certificate has no matrices, against the true table."""
    if certificate.nature.shows_matrices or released.rows != original.rows:
        return
    if any(column.name not in original.schema.names for column in certificate.schema.released):
        return
    try:
        yield _copies(certificate, measure_verbatim(certificate.schema, original, released))
        if _whole_keys(certificate):
            yield from _own_keys(certificate, released, original)
        yield from _frequencies(certificate, released, original)
    except PramanaError as error:
        yield Check.decided(NAME, False, str(error))


def _copies(certificate: Certificate, seen: Verbatim) -> Check:
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
        chance >= LEVEL,
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
    """Chernoff's bound of so many or more under a Poisson law."""
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
        worst >= LEVEL / tests,
        f"the frequency that is farthest off{where} has a chance of at most {text_up(worst, 2)}",
    )


def _values(table: OpenedTable, column: Column) -> pa.ChunkedArray:
    return table.to_arrow([column.name]).column(0)
