"""What a certificate says of copies tells nothing about who has what."""

from __future__ import annotations

import warnings
from collections import Counter
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import pramana as pm
from pramana.base.randomness import Keystream
from pramana.microaggregation.anonymisation import anonymise, known_groups

RECORDS = 400
NUMBERS = pa.table({"x": np.arange(RECORDS), "s": np.arange(RECORDS) * 7 % RECORDS})
ONE_GROUP = pm.Schema((pm.Column("x", pm.Role.KEY), pm.Column("s", pm.Role.SENSITIVE)))
RARE = pa.table({"x": ["a", *["b"] * 9], "s": range(10)})
ONE_KEY = pm.Schema(
    (pm.Column("x", pm.Role.KEY, pm.Categories(("a", "b"))), pm.Column("s", pm.Role.SENSITIVE))
)


def figures(table, schema, method, *asked, seeds=12):
    """What certificates of so many releases say, and what the owner finds in each."""
    plan = pm.design(schema, *asked, data=table, method=method)
    told = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        made = [
            pm.protect(table, plan, seed=s, seen=told.append, accept_risk=["s"])
            for s in range(seeds)
        ]
    return [release.certificate.statistics["unchanged_records"] for release in made], told


@pytest.mark.parametrize("method", ["permute", "resample"])
def test_whether_anybody_kept_the_own_keys_is_not_told(method):
    """One group, all different: a figure of 0 would say of every record whose it is not."""
    stated, found = figures(NUMBERS, ONE_GROUP, method, pm.KAnonymity(k=RECORDS))

    shares = [own["records_at_most"] for own in stated]
    pairs = [(own.matched, share) for own, share in zip(found, shares, strict=True)]
    assert {own.matched > 0 for own in found} == {True, False}
    assert min(shares) > 0
    assert any(a[0] < b[0] and a[1] > b[1] for a, b in permutations(pairs, 2))  # no trace of it


@pytest.mark.parametrize(
    ("method", "asked"),
    [("permute", pm.KAnonymity(k=2)), ("inverse-frequency", pm.CorrectMatch(xi=0.5)),
     (pm.Invariant(stay=0.5), None)],
)  # fmt: skip
def test_of_few_people_nothing_is_told(method, asked):
    """All as they were, or some not: chance decides, and the certificate does not say."""
    stated, found = figures(RARE, ONE_KEY, method, *filter(None, [asked]))

    assert len({own.matched for own in found}) > 1
    assert {tuple(own.values()) for own in stated} == {(1.0, 1.0)}


@pytest.mark.deep
def test_permuted_copies_are_any_truth_with_these_keys_whatever_was_drawn():
    """A group of three: six truths by six releases, each as likely (chi-square, level 1e-6)."""
    table = pa.table({"x": [1, 2, 3], "s": [10, 20, 30]})
    seen: Counter[tuple[tuple[int, ...], ...]] = Counter()
    draws = 1_800
    for seed in range(draws):
        made = anonymise(
            table, [ONE_GROUP.column("x")], k=3, donors=pm.Permute().donors,
            keystream=Keystream.from_seed(seed),
        )  # fmt: skip
        assert made.permuted_copy["s"].equals(table["s"])
        seen[tuple(tuple(own["x"].to_pylist()) for own in (made.table, made.permuted_copy))] += 1

    expected = draws / 36
    away = sum((many - expected) ** 2 / expected for many in seen.values())
    assert len(seen) == 36
    assert away < chi2.isf(1e-6, 35)


def test_a_share_that_depends_on_the_keys_alone_is_told():
    """A key that hardly varies stays with most of its group: the certificate says so."""
    rare = pa.table({"x": np.where(np.arange(RECORDS) % 50, "b", "a"), "s": range(RECORDS)})
    stated, _ = figures(rare, ONE_KEY, "permute", pm.KAnonymity(k=RECORDS), seeds=1)

    assert stated[0]["records_at_most"] == 1.0


def test_nobody_is_handed_the_keys_of_who_is_known_to_be_another():
    """Groups of known columns: missing is a value, minus zero is zero."""
    table = pa.table({"w": [0.0, -0.0, None, float("nan"), 1.0], "r": ["n", "n", "n", "n", "n"]})

    assert known_groups(table, []) is None
    groups = known_groups(table, ["w", "r"])
    assert groups is not None
    assert groups[0] == groups[1]
    assert groups[2] == groups[3]
    assert len(set(groups.tolist())) == 3
