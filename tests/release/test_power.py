"""The owner's check has power: releases that were not shuffled or not drawn do not pass it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pramana import api
from pramana.formats.opening import open_table
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.release.against_truth import against_truth, fit
from pramana.release.order import _moved, in_place
from pramana.release.paired import Pair
from pramana.table.domains import Categories
from pramana.table.schema import Column, Role, Schema

RECORDS = 6_000
DOMAINS = {"a": ("p", "q"), "b": ("r", "s", "t"), "c": ("u", "v", "w", "x")}
KEYS = tuple(Column(name, Role.KEY, Categories(values)) for name, values in DOMAINS.items())


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


def protected(truth: pa.Table, *, seed: int = 1):
    """A sound release of these people."""
    kept = tuple(Column(name, Role.SENSITIVE) for name in truth.column_names if name not in DOMAINS)
    schema = Schema(KEYS + kept)
    plan = api.design(schema, PkAnonymity(k=20), records=truth.num_rows)
    return api.protect(truth, plan, seed=seed)


def failures(certificate, released, truth):
    """The names of the checks that fail."""
    checks = against_truth(certificate, open_table(released), open_table(truth))
    return [check.name for check in checks if not check.ok]


KEPT = [(), ("town",), ("income",), ("income", "town")]


@pytest.mark.parametrize("kept", KEPT)
def test_sound_releases_pass(kept):
    """Twelve of them; each may fail once in a million."""
    truth = even(kept=kept)
    for seed in range(12):
        release = protected(truth, seed=seed)
        assert failures(release.certificate, release.table, truth) == []


@pytest.mark.parametrize("kept", KEPT)
def test_records_that_were_not_drawn_are_found_though_all_margins_are_even(kept):
    """Shuffled, and as they were: too close to the mean to be true."""
    truth = even(kept=kept)
    release = protected(truth)
    order = np.random.default_rng(8).permutation(RECORDS)
    found = failures(release.certificate, truth.take(order), truth)

    assert any(name.startswith(("transitions", "unchanged")) for name in found)


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("order", ["as it was", "from the end"])
def test_records_that_were_not_shuffled_are_found(kept, order):
    """Drawn by the right matrices, and left in their order or turned round."""
    from pramana.randomise.protect import Randomiser
    from pramana.randomness import Keystream

    truth = even(kept=kept)
    certificate = protected(truth).certificate
    draw = Randomiser(
        certificate.schema, certificate.mechanism, truth.schema, Keystream.from_seed(5)
    )
    (batch,) = truth.combine_chunks().to_batches()
    released = pa.Table.from_batches([draw(batch, 0)])
    if order == "from the end":
        released = released.take(np.arange(RECORDS)[::-1])

    assert failures(certificate, released, truth) == ["order"]


@pytest.mark.parametrize("by", ["town", "a", "income"])
def test_a_sorted_release_is_found(by):
    """Sorted by a column: no shuffle leaves it so."""
    truth = even(kept=("income", "town"))
    release = protected(truth)
    truth = truth.sort_by(by) if by == "income" else truth

    assert "order" in failures(release.certificate, release.table.sort_by(by), truth)


def test_a_part_of_the_records_in_place_is_found():
    """Three in a hundred keep their place; the rest is shuffled."""
    truth = even(kept=("income",))
    release = protected(truth)
    random = np.random.default_rng(4)
    fixed = random.random(RECORDS) < 0.03
    place = {value: at for at, value in enumerate(release.table["income"].to_pylist())}
    rows = np.array([place[value] for value in truth["income"].to_pylist()])
    rows[~fixed] = random.permutation(rows[~fixed])

    assert failures(release.certificate, release.table.take(rows), truth) == ["order"]


def test_too_many_unchanged_values_are_found():
    """Another matrix than is stated: a fifth of the records were not drawn."""
    truth = even(kept=("income",))
    release = protected(truth)
    table = release.table.to_pandas().merge(truth.to_pandas(), on="income", suffixes=("", "_true"))
    spared = np.random.default_rng(1).random(RECORDS) < 0.2
    for name in DOMAINS:
        table[name] = np.where(spared, table[name + "_true"], table[name].astype(str))
    released = pa.Table.from_pandas(table[release.table.column_names], preserve_index=False)

    assert any("unchanged" in name for name in failures(release.certificate, released, truth))


def test_the_law_of_records_in_place_by_hand():
    """Mean and variance over all 24 orders of four records."""
    import itertools

    values, released = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])
    every = [
        in_place(Pair(values, released[list(own)], 3)) for own in itertools.permutations(range(4))
    ]
    hits = np.array([found for found, _, _ in every])

    assert every[0][1] == pytest.approx(hits.mean())
    assert every[0][2] == pytest.approx(hits.var())


def test_both_tails_keep_their_level():
    """4,000 simulated releases of a small table: neither tail rejects more often than it may."""
    from pramana.matrices import Step, UniformMixture
    from pramana.table.counts import Counts

    matrix = UniformMixture.of(("a", "b", "c", "d"), retention=0.3)
    truth, random = np.array([250, 250, 250, 250]), np.random.default_rng(2)
    released = sum(random.multinomial(t, row, size=4000) for t, row in
                   zip(truth, matrix.values, strict=True))  # fmt: skip
    counted = Counts.from_dense(("x",), (matrix.labels,), truth)
    found = [
        fit([Step(("x",), matrix)], counted, Counts.from_dense(("x",), (matrix.labels,), row))
        for row in released
    ]
    for tail in ("p_value", "too_close"):
        share = np.mean([getattr(own, tail) < 0.01 for own in found])
        assert share <= 0.01 + 5 * np.sqrt(0.01 * 0.99 / 4000)


MOVES = {
    "rotated": lambda at: np.roll(at, 1),
    "far rotated": lambda at: np.roll(at, 1_234),
    "turned and rotated": lambda at: np.roll(at[::-1], 77),
    "neighbours swapped": lambda at: at ^ 1,
    "halves exchanged": lambda at: np.concatenate([at[len(at) // 2 :], at[: len(at) // 2]]),
}


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("move", MOVES)
def test_records_that_were_only_moved_alike_are_found(kept, move):
    """No record stands in its place, and each stands near its old neighbours."""
    truth = even(kept=kept)
    certificate = protected(truth).certificate
    moved = truth.take(pa.array(MOVES[move](np.arange(RECORDS))))
    assert "order" in failures(certificate, moved, truth)


def test_shuffles_of_sorted_and_rare_values_pass():
    """The law of neighbours holds for any table: a sound order fails less than once in 1,000."""
    random = np.random.default_rng(4)
    for _ in range(200):
        size = int(random.choice([2, 6, 50]))
        shares = random.dirichlet(np.full(size, random.choice([0.2, 1.0, 5.0])))
        before = np.sort(random.choice(size, 1_000, p=shares))
        assert _moved("a", Pair(before, random.permutation(before), size), "").p_value > 1e-4


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
    own = f"true records of {' x '.join(DOMAINS)}"
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
    release = api.protect(truth, api.design(schema, PkAnonymity(k=5), records=100), seed=1)
    checks = against_truth(release.certificate, open_table(release.table), open_table(truth))
    states = {check.name: check.state for check in checks}
    assert states["transitions of a"] == states["true records of a"] == "stated"
