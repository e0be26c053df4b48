"""New keys by method."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramana as pm
from pramana.base.randomness import Keystream
from pramana.errors import Infeasible, InvalidTable, OutsideDomain, UnknownColumn
from pramana.methods.base import METHODS
from pramana.methods.microaggregated import Grouped
from pramana.microaggregation import clustering
from pramana.microaggregation.anonymisation import (
    anonymise,
    centroid,
    draw_members,
    key_of,
    new_keys,
    permute_members,
    replace_keys,
)
from pramana.microaggregation.clustering import form_groups
from pramana.microaggregation.groups import Key, shared_groups
from pramana.microaggregation.rosenblatt import gaussian_donors
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column

LEVEL = 1e-4
NAN = float("nan")


def column(name, **how):
    return Column(name, Role.KEY, **how)


def test_centroids_by_hand():
    """Mean, nearest rank and commonest category of two groups; missing by majority."""
    labels = np.array([0, 0, 0, 1, 1, 1])

    number = Key("x", np.array([1.0, 2.0, 6.0, 4.0, NAN, NAN]))
    rank = Key("r", np.array([0.0, 1.0, 1.0, 2.0, 2.0, 0.0]), "ordered")
    name = Key("c", np.array([2.0, 0.0, 2.0, 1.0, 0.0, NAN]), "unordered")
    assert centroid(number, labels)[:3].tolist() == [3.0, 3.0, 3.0]
    assert np.isnan(centroid(number, labels)[3:]).all()
    assert centroid(rank, labels).tolist() == [1.0] * 6
    assert centroid(name, labels).tolist() == [2.0] * 3 + [0.0] * 3


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.integers(0, 10**6))
def test_permuting_hands_every_record_round_once(groups, seed):
    """Each record gives its keys to one member of its own group."""
    labels = np.unique(groups, return_inverse=True)[1]
    source = permute_members(labels, Keystream.from_seed(seed))

    assert sorted(source.tolist()) == list(range(len(groups)))
    assert (labels[source] == labels).all()


DRAWS = {"resample": draw_members, "permute": permute_members}


@pytest.mark.parametrize("method", DRAWS)
def test_every_arrangement_is_as_likely_as_it_should_be(method):
    """Groups of three: 6 orders without replacement, 27 with; chi-square at level 1e-4."""
    from scipy import stats

    labels = np.repeat(np.arange(8000), 3)
    source = DRAWS[method](labels, Keystream.from_seed(1))
    places = (source - 3 * labels).reshape(-1, 3)
    counts = np.bincount(places @ [9, 3, 1], minlength=27)

    possible = [
        c for c in range(27) if method == "resample" or len({c // 9, c // 3 % 3, c % 3}) == 3
    ]
    assert counts.sum() == counts[possible].sum()
    assert stats.chisquare(counts[possible]).pvalue > LEVEL
    # teeth: one arrangement in twenty moved elsewhere is noticed
    tilted = counts[possible].copy()
    tilted[0] += tilted[1:].sum() // 20
    assert stats.chisquare(tilted).pvalue < LEVEL


def test_a_record_has_no_say_in_its_own_keys():
    """Over many releases, all members of a group get each key equally often (level 1e-4)."""
    from scipy import stats

    keys = [Key("x", np.array([0.0, 1.0, 2.0, 5.0, 6.0, 7.0]))]
    labels = np.array([0, 0, 0, 1, 1, 1])
    for method in ("resample", "permute", "gaussian"):
        tables = np.zeros((3, 6))
        for seed in range(300):
            stream = Keystream.from_seed(seed)
            new = new_keys(keys, labels, METHODS[method]().donors, stream)[0].values
            for member in range(3):
                tables[member] += new[member] == keys[0].values
        seen = tables[:, tables.sum(axis=0) > 0]
        assert stats.chi2_contingency(seen).pvalue > LEVEL, method


def test_gaussian_keys_are_combinations_that_occur():
    """Whatever the dither, a released combination is one of the table."""
    rng = np.random.default_rng(4)
    keys = [Key(name, rng.integers(0, 4, 200).astype(float)) for name in "abc"]
    keys.append(Key("d", np.where(rng.random(200) < 0.1, NAN, 1.0)))
    labels = np.repeat(np.arange(20), 10)

    new = new_keys(keys, labels, pm.Gaussian().donors, Keystream.from_seed(5))
    seen = {tuple(row) for row in np.nan_to_num(np.column_stack([k.values for k in keys]), nan=-1)}
    made = {tuple(row) for row in np.nan_to_num(np.column_stack([k.values for k in new]), nan=-1)}
    assert made <= seen
    assert len(made) > 10


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "sex": rng.choice(["F", "M"], n),
            "age": rng.integers(20, 70, n),
            "region": pa.array(rng.choice(["N", "S", "W"], n)).dictionary_encode(),
            "score": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.1),
            "income": rng.exponential(size=n),
        }
    )


KEYS = (
    column("sex", domain=Categories(("F", "M"))),
    column("age", domain=Bins((20, 40, 60, 70))),
    column("region", domain=Categories(("N", "S", "W"))),
    column("score"),
)


GROUPED = [name for name, method in METHODS.items() if issubclass(method, Grouped)]


@pytest.mark.parametrize("method", GROUPED)
@pytest.mark.deep(every=4)
def test_a_table_keeps_its_columns_and_types(method):
    """Keys are replaced in place, other columns untouched, labels of groups nowhere."""
    table = people()
    result = anonymise(
        table, KEYS, k=5, donors=METHODS[method]().donors, keystream=Keystream.from_seed(1)
    )

    assert result.table.column_names == table.column_names
    assert result.table["income"].equals(table["income"])
    assert set(result.table["age"].to_pylist()) <= {"[20, 40)", "[40, 60)", "[60, 70]"}
    assert set(result.table["region"].to_pylist()) <= {"N", "S", "W"}
    assert result.table["score"].type == pa.float64()
    assert min(result.sizes) >= 5
    assert sum(result.sizes) == 400
    assert 0 < result.share < 1


def test_centroids_make_classes_of_at_least_k():
    """Plain k-anonymity in its first sense: every released combination at least k times."""
    result = anonymise(
        people(), KEYS, k=7, donors=pm.Centroid().donors, keystream=Keystream.from_seed(1)
    )
    keys = result.table.select([key.name for key in KEYS])
    counts = keys.group_by(keys.column_names).aggregate([([], "count_all")])["count_all"]

    assert min(counts.to_pylist()) >= 7


def test_permuting_keeps_every_count():
    """The joint distribution of the keys is exactly the old one."""
    numbers = (column("score"), column("income"))
    table = people()
    result = anonymise(
        table, numbers, k=5, donors=pm.Permute().donors, keystream=Keystream.from_seed(2)
    )

    def rows(t):
        return sorted(map(repr, zip(t["score"].to_pylist(), t["income"].to_pylist(), strict=True)))

    assert rows(result.table) == rows(table)
    assert result.table["income"].to_pylist() != table["income"].to_pylist()


def test_kinds_of_keys_follow_the_schema():
    """Bins and ordered categories are ordered, numbers are numbers, the rest unordered."""
    ages = pa.chunked_array([[25, 65, None]])
    binned = key_of(column("age", domain=Bins((20, 60, 70)), missing="category"), ages)
    number = key_of(column("size", domain=Categories((1, 5, 9))), pa.chunked_array([[9, 1]]))
    ranked = key_of(
        column("grade", domain=Categories(("low", "high"), ordered=True)),
        pa.chunked_array([["high", "low"]]),
    )
    name = key_of(column("sex", domain=Categories(("F", "M"))), pa.chunked_array([["M", "F"]]))

    assert binned.kind == "ordered"
    assert np.isnan(binned.values).tolist() == [False, False, True]
    assert (number.kind, number.values.tolist()) == ("number", [9.0, 1.0])
    assert (ranked.kind, ranked.values.tolist()) == ("ordered", [1.0, 0.0])
    assert name.kind == "unordered"


def test_bad_input_is_refused():
    """Unknown columns, values outside a domain, too few records, text as a number."""
    stream = Keystream.from_seed(0)

    def refuse(error, says, keys=KEYS, **options):
        asked = {"k": 5, "donors": pm.Resample().donors, **options}
        with pytest.raises(error, match=says):
            anonymise(people(), keys, keystream=stream, **asked)

    refuse(UnknownColumn, "'height'", keys=(column("height"),))
    refuse(UnknownColumn, "'cost'", responses=["cost"])
    refuse(InvalidTable, "'sex' must hold numbers", responses=["sex"])
    refuse(Infeasible, "there are 400", k=401)
    refuse(OutsideDomain, "'sex'", keys=(column("sex", domain=Categories(("F", "X"))),))
    with pytest.raises(InvalidTable, match="same records"):
        replace_keys(people(), KEYS, [], None, pm.Permute().donors, stream)


@pytest.mark.parametrize("seed", range(3))
def test_centres_do_not_depend_on_the_order_of_the_records(seed):
    """Sums are exact before they are rounded, so that no digit tells who came first."""
    random = np.random.default_rng(seed)
    values = random.normal(size=2_000) * 10.0 ** random.integers(-8, 8, 2_000)
    labels, order = random.integers(0, 50, 2_000), random.permutation(2_000)
    one = centroid(Key("x", values), labels)
    other = centroid(Key("x", values[order]), labels[order])

    assert (one[order] == other).all()


def test_in_trials_gaussian_draws_are_shared():
    """Inside, the same records are drawn whatever the keystream; outside each has its own."""
    generator = np.random.default_rng(1)
    keys = [Key(name, generator.normal(size=60), "number") for name in "ab"]
    labels = np.repeat(np.arange(6), 10)

    def drawn(seed):
        return gaussian_donors(keys, labels, Keystream.from_seed(seed))

    assert (drawn(1) != drawn(2)).any()
    with shared_groups():
        first = drawn(1)
        assert (drawn(2) == first).all()
        other = gaussian_donors(keys, labels // 2, Keystream.from_seed(2))
        assert (other != first).any()
    assert (drawn(2) != first).any()


@pytest.mark.parametrize("method", ["gaussian", "resample"])
def test_in_trials_the_order_of_the_records_changes_no_group(method, monkeypatch):
    """Groups are formed once, and each who asks has them in its own order of the records."""
    generator = np.random.default_rng(2)
    table = pa.table({"a": generator.normal(size=80), "b": generator.integers(0, 9, 80) * 1.0})
    columns = [Column(name, Role.KEY) for name in table.column_names]
    formed = []
    usual = clustering._cluster_strata
    monkeypatch.setattr(clustering, "_cluster_strata", lambda *own: formed.append(1) or usual(*own))

    def made(order, seed):
        donors, stream = METHODS[method]().donors, Keystream.from_seed(seed)
        return anonymise(table.take(order), columns, k=4, donors=donors, keystream=stream)

    orders = [generator.permutation(80) for _ in range(3)]
    with shared_groups():
        found = [made(order, seed) for seed, order in enumerate(orders)]
    assert len(formed) == 1
    assert found[0].sizes == found[1].sizes == found[2].sizes
    if method == "gaussian":  # the very release that was made
        backs = [pa.concat_arrays(one.table.column("a").chunks) for one in found]
        drawn = [back.take(np.argsort(order)) for back, order in zip(backs, orders, strict=True)]
        assert drawn[0] == drawn[1] == drawn[2]
    made(orders[0], 0)
    made(orders[1], 1)
    assert len(formed) == 3


def test_in_trials_other_strata_have_other_groups():
    """The same keys, with groups that must not cross something else."""
    keys = [Key("x", np.random.default_rng(3).normal(size=40))]
    stream, parts = Keystream.from_seed(1), np.arange(40) % 2

    def labels(strata=None, order=slice(None)):
        own = [key.at(order) for key in keys]
        part = None if strata is None else strata[order]
        return form_groups(own, k=4, keystream=stream, strata=part).labels

    with shared_groups():
        free, parted = labels(), labels(parts)
        order = np.random.default_rng(4).permutation(40)
        assert (labels(parts, order) == parted[order]).all()
        assert (labels(order=order) == free[order]).all()
    assert all(len(set(parts[parted == one])) == 1 for one in set(parted.tolist()))
    assert any(len(set(parts[free == one])) == 2 for one in set(free.tolist()))
