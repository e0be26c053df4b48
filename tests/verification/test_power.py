"""The owner's check has power: releases that were not shuffled or not drawn do not pass it."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from benchmarks import power
from scipy.stats import chi2

import pramana as pm
from pramana import api
from pramana.base.randomness import Keystream
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.io.opening import open_table
from pramana.mechanisms import randomiser
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, Step
from pramana.mechanisms.randomiser import Randomiser, Reporter
from pramana.mechanisms.transition import UniformMixture
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from pramana.verification import shuffle_test as order_of
from pramana.verification.fit_tests import fit_counts
from pramana.verification.randomisation_test import Pair, Passage, _doubts, _gain, _stake, joined
from pramana.verification.shuffle_test import Ordered, Orders, _bets
from pramana.verification.verify import against_original

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"town"}

RECORDS = 3_000
DOMAINS = {"a": ("p", "q"), "b": ("r", "s", "t"), "c": ("u", "v", "w", "x")}
KEYS = tuple(Column(name, Role.KEY, Categories(values)) for name, values in DOMAINS.items())


@cache
def even(*, kept: tuple[str, ...] = ()) -> pa.Table:
    """People of whom every combination of keys occurs as often as any other, in random order."""
    random = np.random.default_rng(3)
    cells = np.stack(np.unravel_index(np.arange(RECORDS) % 24, (2, 3, 4)))
    cells = cells[:, random.permutation(RECORDS)]
    table = {
        name: np.array(values)[own]
        for (name, values), own in zip(DOMAINS.items(), cells, strict=True)
    }
    extra = {
        "income": random.permutation(RECORDS) * 1.5,
        "town": np.array(["n", "s", "w"])[random.integers(0, 3, RECORDS)],
    }
    return pa.table(table | {name: extra[name] for name in kept})


@cache
def release_of(kept: tuple[str, ...], *, seed: int = 1):
    """A sound release of people in random order."""
    return protected(even(kept=kept), seed=seed)


def protected(truth: pa.Table, *, seed: int = 1):
    """A sound release of these people."""
    kept = tuple(Column(name, Role.SENSITIVE) for name in truth.column_names if name not in DOMAINS)
    schema = Schema(KEYS + kept)
    plan = api.design(schema, PkAnonymity(k=20), records=truth.num_rows, method="retention")
    return api.protect(truth, plan, seed=seed)


def failures(certificate, released, truth):
    """The names of the checks that fail."""
    checks = against_original(certificate, open_table(released), open_table(truth))
    return [check.name for check in checks if not check.ok]


KEPT = [(), ("town",), ("income",), ("income", "town")]


@pytest.mark.parametrize("kept", KEPT)
def test_sound_releases_pass(kept):
    """Each may fail once in a million; ``python -m benchmarks power`` tries many more."""
    truth = even(kept=kept)
    for seed in range(2):
        release = release_of(kept, seed=seed)
        assert failures(release.certificate, release.table, truth) == []


@pytest.mark.parametrize("kept", KEPT)
def test_records_that_were_not_drawn_are_found_though_all_margins_are_even(kept):
    """Shuffled, and as they were: too close to the mean to be true."""
    truth = even(kept=kept)
    release = release_of(kept)
    order = np.random.default_rng(8).permutation(RECORDS)
    found = failures(release.certificate, truth.take(order), truth)

    assert any(name.startswith(("transitions", "randomisation")) for name in found)


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("order", ["as it was", "from the end"])
def test_records_that_were_not_shuffled_are_found(kept, order):
    """Drawn by the right matrices, and left in their order or turned round."""
    truth = even(kept=kept)
    certificate = release_of(kept).certificate
    draw = Randomiser(
        certificate.schema, certificate.mechanism, truth.schema, Keystream.from_seed(5)
    )
    (batch,) = truth.combine_chunks().to_batches()
    released = pa.Table.from_batches([draw(batch, 0)])
    if order == "from the end":
        released = released.take(np.arange(RECORDS)[::-1])

    assert failures(certificate, released, truth) == ["shuffle"]


@pytest.mark.parametrize("by", ["town", "a", "income"])
def test_a_sorted_release_is_found(by):
    """Sorted by a column: no shuffle leaves it so."""
    truth = even(kept=("income", "town"))
    release = release_of(("income", "town"))
    truth = truth.sort_by(by) if by == "income" else truth

    assert "shuffle" in failures(release.certificate, release.table.sort_by(by), truth)


def test_a_part_of_the_records_in_place_is_found():
    """Three in a hundred keep their place; the rest is shuffled."""
    truth = even(kept=("income",))
    release = release_of(("income",))
    random = np.random.default_rng(4)
    fixed = random.random(RECORDS) < 0.03
    place = {value: at for at, value in enumerate(release.table["income"].to_pylist())}
    rows = np.array([place[value] for value in truth["income"].to_pylist()])
    rows[~fixed] = random.permutation(rows[~fixed])

    assert failures(release.certificate, release.table.take(rows), truth) == ["shuffle"]


def test_too_many_unchanged_values_are_found():
    """Another matrix than is stated: a fifth of the records were not drawn."""
    truth = even(kept=("income",))
    release = release_of(("income",))
    table = release.table.to_pandas().merge(truth.to_pandas(), on="income", suffixes=("", "_true"))
    spared = np.random.default_rng(1).random(RECORDS) < 0.2
    for name in DOMAINS:
        table[name] = np.where(spared, table[name + "_true"], table[name].astype(str))
    released = pa.Table.from_pandas(table[release.table.column_names], preserve_index=False)

    found = failures(release.certificate, released, truth)
    assert "randomisation: a, b, c left unchanged" in found


def test_stakes_on_an_order_have_mean_one_over_all_orders():
    """By hand, over all 720 orders of six records of two columns: no bet wins on average."""
    random = np.random.default_rng(2)
    truth = [np.array([0, 0, 1, 2, 2, 1]), np.array([0, 1, 1, 0, 1, 0])]
    shown = [np.array([0, 1, 1, 2, 0, 0]), np.array([1, 1, 0, 0, 1, 0])]
    matrices = [random.dirichlet(np.ones(3), 3), np.eye(2)]
    stakes: dict[str, list[float]] = {}
    for order in itertools.permutations(range(6)):
        pairs = [Pair(a, b[list(order)], len(m)) for a, b, m in
                 zip(truth, shown, matrices, strict=True)]  # fmt: skip
        columns = [Ordered.of(pair, m) for pair, m in zip(pairs, matrices, strict=True)]
        orders = Orders(columns, joined(pairs))
        bets = {
            "in place": orders.gain(orders.near(1)),
            "whole records": orders.still(),
            "whole records, turned": orders.still(turned=True),
            "near": orders.gain(orders.near(3)),
            "turned": orders.gain(orders.near(1, turned=True)),
            "sorted": orders.gain(orders.sorted(2)),
        }
        bets["runs"] = orders.runs(3)
        for name, gain in bets.items():
            stakes.setdefault(name, []).append(float(np.exp(gain)))
    for name, own in stakes.items():
        if name == "runs":  # the best of many, and the others are given up
            assert np.mean(own) <= 1
        else:
            assert np.mean(own) == pytest.approx(1)


@pytest.mark.parametrize("records", [30, 301])
def test_fits_at_every_distance_are_those_by_hand(records, monkeypatch):
    """Stretches that follow each other, also where one is longer than the table."""
    monkeypatch.setattr(order_of, "MOST_RECORDS", 40)
    monkeypatch.setattr(order_of, "PART", 64)
    random = np.random.default_rng(records)
    pairs = [Pair(*random.integers(0, size, (2, records)), size) for size in (2, 7)]
    columns = [Ordered.of(pair, random.dirichlet(np.ones(pair.size), pair.size)) for pair in pairs]
    orders = Orders(columns, joined(pairs))

    def by_hand(places: range) -> list[float]:
        total = np.zeros(records)
        for own in columns:
            for moved, place in itertools.product(range(records), places):
                total[moved] += own.odds[own.before[(place - moved) % records], own.after[place]]
        return total.tolist()

    for start, fits in zip((0, 12), orders.fits((0, 12), 12), strict=True):
        assert fits.tolist() == pytest.approx(by_hand(range(start, start + 12)), abs=1e-4)


def test_true_records_that_are_alike_are_looked_at_once():
    """What they pay was sorted and summed record by record, for every doubt."""
    random = np.random.default_rng(4)
    rows = [random.dirichlet(np.ones(3), 3) for _ in range(2)]
    block = tuple(
        Passage((name,), 0.5, (own,), (2, 3), *random.integers(0, 6, (2, 5_000)))
        for name, own in zip("ab", rows, strict=True)
    )
    for seen in (block, block[:1]):
        for doubt in _doubts([seen]):
            stake = _stake(seen, doubt)
            assert len(stake.paid) <= 6 ** len(seen)
            assert stake.times.sum() == 5_000
            odds = [np.divide(doubt.mean(part), part.mean) - 1 for part in seen]
            each = sum(
                part.share * (own @ rows["ab".index(part.names[0])].T).ravel()[part.before]
                for part, own in zip(seen, odds, strict=True)
            )
            assert stake.owed(0.3) == pytest.approx(float(np.log1p(0.3 * each).sum()))


def test_both_tails_keep_their_level():
    """4,000 simulated releases of a small table: neither tail rejects more often than it may."""
    matrix = UniformMixture.of(("a", "b", "c", "d"), retention=0.3)
    truth, random = np.full(4, 250.0), np.random.default_rng(2)
    released = sum(random.multinomial(int(t), row, size=4000) for t, row in
                   zip(truth, matrix.values, strict=True))  # fmt: skip
    found = [fit_counts(matrix.values, truth, row) for row in released]
    for tail in ("p_value", "too_close"):
        share = np.mean([getattr(own, tail) < 0.01 for own in found])
        assert share <= 0.01 + 5 * np.sqrt(0.01 * 0.99 / 4000)


MOVES = {
    "rotated": lambda at: np.roll(at, 1),
    "far rotated": lambda at: np.roll(at, 1_234),
    "neighbours swapped": lambda at: at ^ 1,
    "halves exchanged": lambda at: np.concatenate([at[len(at) // 2 :], at[: len(at) // 2]]),
}


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("move", MOVES)
def test_records_that_were_only_moved_alike_are_found(kept, move):
    """No record stands in its place, and each stands near its old neighbours."""
    truth = even(kept=kept)
    certificate = release_of(kept).certificate
    moved = truth.take(pa.array(MOVES[move](np.arange(RECORDS))))
    assert "shuffle" in failures(certificate, moved, truth)


def test_shuffles_of_sorted_and_rare_values_pass():
    """The law holds for any table: none of 60 sound orders wins a thousand times its stake."""
    random = np.random.default_rng(4)
    for _ in range(60):
        size = int(random.choice([2, 6, 50]))
        shares = random.dirichlet(np.full(size, random.choice([0.2, 1.0, 5.0])))
        before = np.sort(random.choice(size, 1_000, p=shares))
        pair = Pair(before, random.permutation(before), size)
        orders = Orders([Ordered.of(pair, None)], pair)
        assert max(gain for _, gain in _bets(orders, (1, 9, 81))) < np.log(1_000 * 60)


def clustered() -> pa.Table:
    """People whose keys follow their town, in random order; margins of the keys are even."""
    random = np.random.default_rng(5)
    town = random.permutation(np.arange(RECORDS) % 12)
    shift = random.random(RECORDS) < 0.1
    a = np.where(shift, 1 - town % 2, town % 2)
    b, c = np.where(shift, (town + 1) % 3, town % 3), np.where(shift, town // 5 % 4, town // 3 % 4)
    names = [np.array(values)[own] for values, own in zip(DOMAINS.values(), (a, b, c), strict=True)]
    return pa.table(dict(zip(DOMAINS, names, strict=True)) | {"town": town})


def test_true_records_beside_kept_columns_are_found():
    """The shuffled truth, half of it, and one column of it, in place of a release."""
    truth, random = clustered(), np.random.default_rng(6)
    release = protected(truth)
    order = pa.array(random.permutation(RECORDS))
    own = "randomisation: a, b, c left unchanged"
    assert not failures(release.certificate, release.table, truth)
    assert own in failures(release.certificate, truth.take(order), truth)
    half = RECORDS // 2
    mixed = pa.concat_tables(
        [truth.take(order).slice(0, half), release.table.slice(half).select(truth.column_names)
         .cast(truth.schema)]
    )  # fmt: skip
    assert failures(release.certificate, mixed, truth)


def test_what_has_no_power_is_not_proven():
    """Where the truth would pass a test, passing it proves nothing."""
    truth = pa.table({"a": ["p", "q"] * 50})
    schema = Schema(KEYS[:1])
    release = api.protect(
        truth, api.design(schema, PkAnonymity(k=5), records=100, method="retention"), seed=1
    )
    checks = against_original(release.certificate, open_table(release.table), open_table(truth))
    states = {check.name: check.state for check in checks}
    assert states["transitions of a"] == states["randomisation: a left unchanged"] == "asserted"


def test_stakes_on_values_have_mean_one_over_all_releases():
    """By hand, over all 729 releases of three records of two columns, beside a kept column."""
    random = np.random.default_rng(1)
    rows = [random.dirichlet(np.ones(3), 3) for _ in range(2)]
    true = np.array([[0, 1, 1], [2, 0, 1]])
    group = np.array([0, 0, 1])
    totals: dict[str, float] = {}
    for cells in itertools.product(range(3), repeat=6):
        shown = np.array(cells).reshape(2, 3)
        chance = np.prod([rows[c][true[c], shown[c]] for c in range(2)])
        flat = [np.ravel_multi_index((group, *own), (2, 3, 3)) for own in (true, shown)]
        part = Passage(("a", "b"), 1.0, tuple(rows), (2, 3, 3), *flat)
        for doubt in _doubts([(part,)]):
            stake = np.exp(_gain([_stake((part,), doubt)]))
            totals[doubt.words] = totals.get(doubt.words, 0) + chance * stake
    assert len(totals) == 6
    for total in totals.values():
        assert total == pytest.approx(1)


def test_stakes_on_reports_have_mean_one_over_all_releases():
    """Three records, each asked for one of two columns by a coin of 1/4; one left out, and none."""
    random = np.random.default_rng(1)
    rows = [random.dirichlet(np.ones(2), 2) for _ in range(2)]
    true, shares, totals = np.array([[0, 1, 1], [1, 0, 1]]), (0.25, 0.75), {}
    outcomes = [(asked, value) for asked in range(2) for value in range(2)]
    for told in itertools.product(outcomes, repeat=3):
        chance = np.prod([shares[c] * rows[c][true[c, i], v] for i, (c, v) in enumerate(told)])
        block = tuple(
            Passage((name,), shares[c], (rows[c],), (1, 2), true[c],
                 np.array([v for own, v in told if own == c], dtype=np.int64))
            for c, name in enumerate("ab")
        )  # fmt: skip
        for seen in (block, block[:1]):
            for doubt in _doubts([seen]):
                stake = np.exp(_gain([_stake(seen, doubt)]))
                own = len(seen), doubt.words
                totals[own] = totals.get(own, 0) + chance * stake
    assert all(total == pytest.approx(1) for total in totals.values())


def _wide(records: int) -> tuple[pa.Table, pm.Schema]:
    """Ten columns of six values: sixty million cells, most of them empty; and two strata."""
    random = np.random.default_rng(4)
    base = random.integers(0, 6, (40, 10))[random.integers(0, 40, records)]
    codes = np.where(random.random((records, 10)) < 0.3, random.integers(0, 6, (records, 10)), base)
    names = [f"c{at}" for at in range(10)]
    table = {name: pa.array([f"v{v}" for v in codes[:, at]]) for at, name in enumerate(names)}
    values = pm.Categories(tuple(f"v{at}" for at in range(6)))
    return pa.table(table), pm.Schema(tuple(pm.Column(n, pm.Role.KEY, values) for n in names))


def test_whole_records_left_as_they_were_are_found_where_cells_are_too_many():
    """A tenth of the records of a wide table."""
    truth, schema = _wide(1_500)
    release = pm.protect(truth, pm.design(schema, data=truth, method=pm.Retention(retention=0.7)),
                         seed=1)  # fmt: skip
    random = np.random.default_rng(3)
    spared = random.permutation(1_500)[:150]
    shown = release.table.cast(truth.schema).to_pandas()
    shown.iloc[random.permutation(1_500)[:150]] = truth.to_pandas().iloc[spared].to_numpy()
    forged = pa.Table.from_pandas(shown, preserve_index=False)

    assert failures(release.certificate, release.table, truth) == []
    assert "randomisation: whole records left unchanged" in failures(
        release.certificate, forged, truth
    )


def test_each_stratum_is_looked_at_with_its_own_matrix():
    """Sound in strata; found where one stratum was not drawn, and where matrices were exchanged."""
    random = np.random.default_rng(5)
    s = random.choice(["n", "m"], RECORDS)
    a = random.choice(["p", "q"], RECORDS, p=[0.8, 0.2])
    truth = pa.table({"a": a, "s": s})
    weak, strong = (UniformMixture.of(("p", "q"), retention=r) for r in (0.9, 0.2))
    step = Step(("a",), strata=("s",), by_stratum={("n",): weak, ("m",): strong})
    schema = pm.Schema((KEYS[0], pm.Column("s", pm.Role.PUBLIC)), strata=("s",))
    certificate = replace(
        protected(even()).certificate, schema=schema, mechanism=Mechanism((step,)),
        records=RECORDS, claims=(),
    )  # fmt: skip
    draw = Randomiser(schema, certificate.mechanism, truth.schema, Keystream.from_seed(2))
    (batch,) = truth.to_batches()
    order = pa.array(random.permutation(RECORDS))
    sound = pa.Table.from_batches([draw(batch, 0)])
    spared = np.where(s == "m", a, sound["a"].to_numpy(zero_copy_only=False).astype(str))
    other = replace(certificate, mechanism=Mechanism((replace(
        step, by_stratum={("n",): strong, ("m",): weak}),)))  # fmt: skip

    assert failures(certificate, sound.take(order), truth) == []
    left = sound.set_column(0, "a", pa.array(spared))
    assert "randomisation: a left unchanged" in failures(certificate, left.take(order), truth)
    assert failures(other, sound.take(order), truth)


@pytest.mark.parametrize("truth", ["even margins", "town kept", "income kept"])
@pytest.mark.parametrize(
    "way", ["half not drawn", "first column only", "a coin", "inside 50", "stretches of 200"]
)
def test_wrong_ways_are_found(truth, way):
    """One of each; ``python -m benchmarks power`` counts over many."""
    assert power.tried(power.TRUTHS[truth](6_000), way, seed=1)


def test_reports_that_were_not_drawn_are_found(monkeypatch):
    """Half of the reports tell the truth; sets of too many cells are said to be left out."""
    truth = power.TRUTHS["even margins"](RECORDS)
    schema = pm.Schema(KEYS)
    plan = pm.design(schema, pm.PkAnonymity(k=20), data=truth, method="attribute-sampling")
    release = pm.protect(truth, plan, seed=1)
    honest = replace(plan, mechanism=AttributeSampler(tuple(
        replace(one, matrix=UniformMixture.of(one.matrix.labels, retention=1)) for one in
        plan.mechanism.sets)))  # fmt: skip
    reporter = Reporter(schema, honest.mechanism, truth.schema, Keystream.from_seed(3))
    (batch,) = truth.combine_chunks().to_batches()
    bare = pa.Table.from_batches([reporter.decode(reporter.encode(batch, 0), 0)])
    bare = bare.select(release.table.column_names).cast(release.table.schema)
    random = np.random.default_rng(1)
    mixed = pa.concat_tables([bare.take(random.permutation(RECORDS)[: RECORDS // 2]),
                              release.table.slice(0, RECORDS // 2)])  # fmt: skip

    assert failures(release.certificate, release.table, truth) == []
    assert any(
        name.startswith("randomisation") for name in failures(release.certificate, mixed, truth)
    )
    largest = max(len(one.matrix.labels) for one in plan.mechanism.sets)
    monkeypatch.setattr("pramana.verification.randomisation_test.MOST_OF_A_SET", largest - 1)
    assert any(
        name.startswith("randomisation") for name in failures(release.certificate, mixed, truth)
    )
    monkeypatch.setattr("pramana.verification.randomisation_test.MOST_OF_A_SET", 1)
    found = against_original(release.certificate, open_table(release.table), open_table(truth))
    (left,) = [own for own in found if own.name.startswith("randomisation")]
    assert left.state == "asserted"
    assert "asserted by the owner: more than 1 cells" in left.detail


ALIKE = pm.Categories(("u", "v", "w", "x"))
KINDS = {
    "apart": ("retention", {}),
    "two together": (pm.Retention(joint=(("a", "b"),)), {}),
    "all together": (pm.Retention(joint=(("a", "b", "c"),)), {}),
    "impossible": ("retention", {"impossible": (pm.Impossible.of({"a": ["u"], "b": ["v"]}),)}),
    "strata": ("retention", {"strata": ("town",)}),
    "attribute-sampling": ("attribute-sampling", {}),
}


def _hanging_together() -> pa.Table:
    """Three columns of one cause, of which one pair never occurs; and a town."""
    random = np.random.default_rng(5)
    cause = random.integers(0, 4, RECORDS)
    codes = [np.where(random.random(RECORDS) < 0.6, cause, random.integers(0, 4, RECORDS))
             for _ in range(3)]  # fmt: skip
    codes[1][(codes[0] == 0) & (codes[1] == 1)] = 0
    own = {n: np.array(ALIKE.values)[c] for n, c in zip("abc", codes, strict=True)}
    return pa.table(own | {"town": np.array(["n", "s"])[random.integers(0, 2, RECORDS)]})


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("kind", KINDS)
def test_a_stated_reach_is_kept_by_every_kind(kind, epsilon):
    """What is shuffled inside stretches as long as stated is found; where none is, it is stated."""
    method, extra = KINDS[kind]
    truth = _hanging_together() if kind == "strata" else _hanging_together().drop(["town"])
    keys = tuple(pm.Column(n, pm.Role.KEY, ALIKE, missing="refuse") for n in "abc")
    town = (pm.Column("town", pm.Role.PUBLIC),) if kind == "strata" else ()
    plan = pm.design(pm.Schema(keys + town, **extra), pm.DifferentialPrivacy(epsilon=epsilon),
                     data=truth, method=method)  # fmt: skip
    release = pm.protect(truth, plan, seed=1)
    (batch,) = truth.combine_chunks().to_batches()
    draws = []
    for seed in (2, 3):
        stream = Keystream.from_seed(seed)
        if kind == "attribute-sampling":
            teller = Reporter(plan.schema, plan.mechanism, truth.schema, stream)
            drawn = teller.decode(teller.encode(batch, 0), 0)
        else:
            drawn = Randomiser(plan.schema, plan.mechanism, truth.schema, stream)(batch, 0)
        draws.append(pa.Table.from_batches([drawn]).select(release.table.column_names))

    check = _order(release.certificate, release.table, truth)
    stretch = re.search(r"(\d+)", check.detail)
    assert check.ok
    if check.state == "asserted":
        assert stretch is None
        assert epsilon < 4  # with so much kept every kind has some power
        return
    length, random = int(stretch[1]) if stretch else 1, np.random.default_rng(1)
    for drawn in draws:
        inside = np.concatenate([at + random.permutation(min(length, RECORDS - at))
                                 for at in range(0, RECORDS, length)])  # fmt: skip
        assert not _order(release.certificate, drawn.take(inside), truth).ok


def _order(certificate, released, truth):
    """What is said of the order."""
    checks = against_original(certificate, open_table(released), open_table(truth))
    return next(check for check in checks if check.name == "shuffle")


def test_the_one_record_that_changed_is_no_fault():
    """Eight cells that stay but once in ten thousand: sound releases fail once in a million."""
    rng = np.random.default_rng(4)
    values = np.full((8, 8), 1e-4 / 7) + np.eye(8) * (1 - 1e-4 - 1e-4 / 7)
    values /= values.sum(axis=1, keepdims=True)
    before = np.full(8, 50.0)
    chances, normal = [], []
    for _ in range(2_000):
        after = sum(rng.multinomial(int(own), row) for own, row in zip(before, values, strict=True))
        found = fit_counts(values, before, np.asarray(after, dtype=float))
        chances.append(found.chance)
        normal.append(chi2.sf(found.square, found.degrees))

    assert min(chances) > 1e-6
    assert np.mean(np.array(normal) < 1e-6) > 0.02  # what a normal law would have said


def test_distances_of_many_records_are_as_they_were():
    """Half of a hundred thousand change: one record more or less is nothing."""
    values = np.full((2, 2), 0.5)
    found = fit_counts(values, np.array([5e4, 5e4]), np.array([5.05e4, 4.95e4]))

    assert found.square == pytest.approx(10, rel=0.01)
    assert found.far == pytest.approx(found.square, rel=0.02)


def _uneven() -> tuple[pa.Table, pm.Schema]:
    """People of whom some have rare values, told apart by a column that is released unchanged."""
    random = np.random.default_rng(8)
    shares = {"a": [0.9, 0.1], "b": [0.8, 0.15, 0.05], "c": [0.7, 0.2, 0.07, 0.03]}
    keys = {n: random.choice(DOMAINS[n], RECORDS, p=own) for n, own in shares.items()}
    income = Column("income", Role.SENSITIVE)
    return pa.table(keys | {"income": random.permutation(RECORDS) * 1.5}), Schema((*KEYS, income))


WITHHELD = {
    "inverse-frequency": ("inverse-frequency", (pm.CorrectMatch(xi=0.002),)),
    "invariant": (pm.Invariant(stay=0.9), ()),
}


@pytest.mark.parametrize("method", WITHHELD)
@pytest.mark.deep(every=2)
def test_records_that_no_withheld_matrix_moved_are_found(method, tmp_path, monkeypatch):
    """By the matrices that the owner kept, and by those that a design of the original makes."""
    truth, schema = _uneven()
    how, asked = WITHHELD[method]
    plan = api.design(schema, *asked, data=truth, method=how)
    sound, forged, kept = tmp_path / "sound", tmp_path / "forged", tmp_path / "kept"
    api.protect(truth, plan, to=sound, seed=2, steward_folder=kept)
    monkeypatch.setattr(randomiser, "randomise", lambda _, codes, **__: codes)
    api.protect(truth, plan, to=forged, seed=2)
    assert {c.name for c in api.verify(sound).of_state("asserted")} >= {"randomisation", "shuffle"}
    for mechanism in (None, kept):
        good, bad = (api.verify(f, original=truth, mechanism=mechanism) for f in (sound, forged))
        assert good.valid, good.of_state("failed")
        found = {check.name for check in bad.of_state("failed")}
        told = {check.name for check in bad.of_state("asserted")}
        if mechanism is not None or method == "inverse-frequency":
            assert "randomisation: a, b, c left unchanged" in found
        else:
            assert "randomisation" in told
    with pytest.raises(pm.InputError, match="--original"):
        api.verify(sound, mechanism=kept)
