"""What a certificate tells of the counts behind it: found by trying every table that there is.

An attacker who knows the number of records, the labels, the method and its options designs anew for
every possible table of counts, and keeps those whose certificate is the one that was published.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator

import pyarrow as pa
import pytest

import pramana as pm
from pramana.methods.base import Method
from pramana.methods.plan import Plan


def tables(records: int, labels: int, least: int = 1) -> Iterator[tuple[int, ...]]:
    """Every table of counts up to the names of the labels."""
    if labels == 1:
        yield (records,)
        return
    for first in range(least, records // labels + 1):
        for rest in tables(records - first, labels - 1, first):
            yield (first, *rest)


def planned(counts: tuple[int, ...], method: Method, *asked: pm.Guarantee) -> Plan | None:
    """The plan for one column with these counts; nothing where the method refuses.

    Tables of as many records have the same others: each is planned for once.
    """
    known = repr((counts, method, asked))
    if known not in PLANNED:
        PLANNED[known] = _planned(counts, method, *asked)
    return PLANNED[known]


PLANNED: dict[str, Plan | None] = {}


def _planned(counts: tuple[int, ...], method: Method, *asked: pm.Guarantee) -> Plan | None:
    labels = [chr(ord("a") + place) for place in range(len(counts))]
    values = [label for label, number in zip(labels, counts, strict=True) for _ in range(number)]
    schema = pm.Schema((pm.Column("a", pm.Role.KEY, pm.Categories(tuple(labels))),))
    try:
        return pm.design(schema, *asked, data=pa.table({"a": values}), method=method)
    except pm.PramanaError:
        return None


def published(plan: Plan) -> str:
    """All that a certificate holds beyond what everyone knows."""
    claims = [claim.to_json(plan.schema) for claim in plan.published]
    return json.dumps([claims, dict(plan.public)], sort_keys=True)


def fitting(counts: tuple[int, ...], method: Method, *asked: pm.Guarantee) -> int:
    """How many tables have the certificate of this one."""
    own = planned(counts, method, *asked)
    assert own is not None
    others = (planned(other, method, *asked) for other in tables(sum(counts), len(counts)))
    return sum(other is not None and published(other) == published(own) for other in others)


COUNTS = [(37, 163), (3, 97), (2, 7, 21), (1, 99), (50, 50)]


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("stay", [0.5, 0.9])
@pytest.mark.deep(every=5)
def test_nearly_every_table_has_the_certificate_of_an_invariant_matrix(
    counts: tuple[int, ...], stay: float
) -> None:
    """Digits that are functions of the counts are not published."""
    possible = sum(1 for _ in tables(sum(counts), len(counts)))
    assert fitting(counts, pm.Invariant(stay=stay)) >= 0.9 * possible


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.deep(every=5)
def test_nearly_every_table_has_the_certificate_of_an_inverse_frequency_matrix(
    counts: tuple[int, ...],
) -> None:
    """The bound is the one asked for, and the error that of the worst value on a coarse grid."""
    possible = sum(1 for _ in tables(sum(counts), len(counts)))
    found = fitting(counts, pm.InverseFrequency(), pm.CorrectMatch(xi=0.1))
    assert found >= 0.9 * possible


def test_the_search_finds_the_table_where_digits_are_published() -> None:
    """The judge has teeth: with the plan's own numbers few tables are left."""
    own = planned((37, 163), pm.Invariant(stay=0.5))
    assert own is not None
    fits = 0
    for other in tables(200, 2):
        plan = planned(other, pm.Invariant(stay=0.5))
        fits += plan is not None and plan.attained == own.attained
    assert fits == 1


def released(counts: tuple[int, ...], method: str, *asked: pm.Guarantee) -> bytes | None:
    """The whole certificate of a release with these counts; nothing where it is refused."""
    labels = [chr(ord("a") + place) for place in range(len(counts))]
    values = [label for label, number in zip(labels, counts, strict=True) for _ in range(number)]
    schema = pm.Schema(
        (
            pm.Column("a", pm.Role.KEY, pm.Categories(tuple(labels))),
            pm.Column("s", pm.Role.SENSITIVE),
        )
    )
    table = pa.table({"a": values, "s": [place % 7 for place in range(len(values))]})
    try:
        plan = pm.design(schema, *asked, data=table, method=method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # small tables copy whole records
            return pm.protect(table, plan, seed=1).certificate.to_bytes()
    except pm.PramanaError:
        return None


FIT = {
    "optimal": {(37, 163): 91, (3, 97): 5, (2, 7, 21): 6},
    "resample": {(37, 163): 87, (3, 97): 12, (2, 7, 21): 61},
    "permute": {(3, 97): 12, (2, 7, 21): 61},
    "gaussian": {(3, 97): 12, (2, 7, 21): 13},
    "centroid": {(3, 97): 12, (2, 7, 21): 61},
}
"""How many of the 100, 50 and 75 tables of so many records have the certificate of this one, with
the same words for every draw: whoever does not know those finds more. All groups of one value are
alike, so that of 37 and 163 every method of groups has 87, as resample has."""


@pytest.mark.parametrize(
    ("method", "counts"), [(method, counts) for method, own in FIT.items() for counts in own]
)
@pytest.mark.deep(every=12)
def test_several_tables_have_the_whole_certificate(method: str, counts: tuple[int, ...]) -> None:
    """Matrices and shares on a grid: every byte but the data, for every table that there is."""
    asked: pm.Guarantee = pm.KAnonymity(k=2)
    if method == "optimal":
        asked = pm.SpontaneousRecognition(alpha=0.1, width=1)
    own = released(counts, method, asked)
    assert own is not None
    others = (released(other, method, asked) for other in tables(sum(counts), len(counts)))
    assert sum(other == own for other in others) >= FIT[method][counts]
