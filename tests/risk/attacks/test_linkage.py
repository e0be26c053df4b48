"""Linkers against a mechanism that is run again, inference, and distances."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.base.randomness import Keystream, Stream
from pramana.errors import InvalidNumber
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Dense, UniformMixture
from pramana.risk.attacks.attacker_records import Cells, Records, rerun
from pramana.risk.attacks.closest_record import GowerRecords, closest_risk, distance_to_closest
from pramana.risk.attacks.inference import SensitiveValues, inference_risks
from pramana.risk.attacks.linkage import (
    Links,
    expected_released,
    link,
    nearest_scores,
)
from pramana.risk.attacks.scores import expected_in_halves, likelihood_scores
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from pramana.types import FloatArray

SCHEMA = Schema(
    (
        Column("sex", Role.KEY, Categories(("f", "m"))),
        Column("age", Role.KEY, Bins((0, 20, 40, 60, 80, 100))),
    )
)


def mechanism(retention: float) -> Mechanism:
    return Mechanism(
        (
            Step(("sex",), UniformMixture.of(("f", "m"), retention=retention)),
            Step(
                ("age",),
                UniformMixture.of(Bins((0, 20, 40, 60, 80, 100)).labels, retention=retention),
            ),
        )
    )


def people(records: int, *, anonymity_sets: int = 1, seed: int = 1) -> Records:
    random = np.random.default_rng(seed)
    return Records(
        (random.integers(0, 2, records), random.integers(0, 5, records)),
        random.integers(0, anonymity_sets, records),
        (None, None),
    )


def test_nothing_changed_and_everybody_different_is_always_linked():
    """With the identity and ten people of ten kinds both linkers are always right."""
    truth = Records(
        (np.repeat([0, 1], 5), np.tile(np.arange(5), 2)), np.zeros(10, int), (None, None)
    )
    stay = mechanism(1.0)
    for scores in (nearest_scores(stay, SCHEMA, truth), likelihood_scores(stay)):
        found = link(scores, truth, truth, targets=np.arange(10))

        assert found.chance == pytest.approx(np.ones(10))


def test_ties_are_shared_by_hand():
    """Three alike of four: each of the three is found by one in three."""
    truth = Records((np.array([0, 0, 0, 1]),), np.zeros(4, int), (None,))
    stay = Mechanism((Step(("sex",), UniformMixture.of(("f", "m"), retention=1)),))
    found = link(likelihood_scores(stay), truth, truth, targets=np.arange(4))

    assert found.chance == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])


def test_anonymity_sets_of_one_released_cell_are_linked_by_hand():
    """Of those released alike in an anonymity set each is found by one in as many, whatever others
    do.
    """
    truth = Records((np.array([0, 1, 0, 0, 1, 1]),), np.array([2, 2, 0, 1, 1, 1]), (None,))
    released = Records((np.array([1, 1, 0, 0, 0, 1]),), truth.anonymity_set, (None,))
    mixed = Mechanism((Step(("sex",), UniformMixture.of(("f", "m"), retention=0.5)),))
    offsets = np.array([0.3, 0.3, -0.2, 0.0, 0.0, 0.0])
    found = link(likelihood_scores(mixed), truth, released, targets=np.arange(6),
                 offsets=offsets)  # fmt: skip

    # Anonymity set 2: two released as m. Anonymity set 0: one. Anonymity set 1: two as f, which
    # three to one come from f.
    assert found.chance == pytest.approx([1 / 2, 1 / 2, 1, 1 / 2, 0, 1])
    of_f, of_m = (1 / (2 + 1 / 3), 1 / (1 + 2 / 3))
    assert found.confidence == pytest.approx([1 / 2, 1 / 2, 1, of_f, of_m, of_m])


def test_who_has_no_released_record_in_the_anonymity_set_is_linked_to_nobody():
    """Nothing is told about such people; no number stands for it."""
    truth = Records((np.array([0, 1]),), np.array([0, 1]), (None,))
    released = Records((np.array([0, 1]),), np.array([0, 0]), (None,))
    mixed = Mechanism((Step(("sex",), UniformMixture.of(("f", "m"), retention=0.5)),))
    with pytest.raises(ValueError, match="zero-size"):
        link(likelihood_scores(mixed), truth, released, targets=np.arange(2))


@given(st.integers(10, 40), st.floats(0.05, 0.95), st.integers(1, 3))
def test_cells_and_records_give_the_same_chances(records, retention, anonymity_sets):
    """Brute force over all pairs of records, one by one."""
    truth = people(records, anonymity_sets=anonymity_sets, seed=records)
    made = mechanism(retention)
    released = rerun(made, truth, keystream=Keystream.from_seed(records), stream="t")
    offsets = -expected_released(made, truth, released)
    scores = likelihood_scores(made)
    found = link(scores, truth, released, targets=np.arange(records), offsets=offsets)
    table = scores.block(truth, released) + offsets
    table[truth.anonymity_set[:, None] != released.anonymity_set[None, :]] = -np.inf
    best = table >= table.max(axis=1, keepdims=True) - 1e-9
    chances = np.where(np.diagonal(best), 1 / best.sum(axis=1), 0)

    assert found.chance == pytest.approx(chances)


@pytest.mark.parametrize("retention", [0.0, 0.3, 0.8])
def test_expected_numbers_agree_on_both_roads(retention, monkeypatch):
    """Pushed through the matrices axis by axis, or summed over pairs of cells."""
    truth = people(200, anonymity_sets=2)
    made = mechanism(retention)
    released = rerun(made, truth, keystream=Keystream.from_seed(1), stream="t")
    dense = expected_released(made, truth, released)
    monkeypatch.setattr("pramana.risk.attacks.linkage.DENSE_CELLS", 0)

    assert expected_released(made, truth, released) == pytest.approx(dense)
    monkeypatch.setattr("pramana.risk.attacks.scores.MOST_HALF", 0)
    assert expected_released(made, truth, released) == pytest.approx(dense)


@given(st.integers(10, 60), st.floats(0.05, 0.95), st.integers(1, 3), st.integers(3, 5))
def test_halves_of_the_steps_give_what_all_steps_give(records, retention, anonymity_sets, steps):
    """Brute force: every pair of records, step after step; numbers and chances are the same."""
    random = np.random.default_rng(records)
    sizes = [int(size) for size in random.integers(2, 6, steps)]
    made = Mechanism(tuple(
        Step((f"c{at}",), UniformMixture.of(tuple(range(size)), retention=retention))
        for at, size in enumerate(sizes)
    ))  # fmt: skip
    codes = tuple(random.integers(0, size, records) for size in sizes)
    truth = Records(codes, random.integers(0, anonymity_sets, records), (None,) * steps)
    released = rerun(made, truth, keystream=Keystream.from_seed(records), stream="t")
    chance = np.ones((records, records))
    for step, own, told in zip(made, truth.codes, released.codes, strict=True):
        chance *= step.matrix.values[own][:, told]
    chance *= truth.anonymity_set[:, None] == released.anonymity_set[None, :]
    cells, seen = Cells.of(truth), Cells.of(released)
    numbers = expected_in_halves(made, cells, seen)[seen.of_record]
    assert np.exp(numbers) == pytest.approx(chance.sum(axis=0))

    found = link(
        likelihood_scores(made), truth, released,
        targets=np.arange(records), offsets=-numbers,
    )  # fmt: skip
    with np.errstate(divide="ignore"):
        table = np.log(chance) - numbers
    best = table >= table.max(axis=1, keepdims=True) - 1e-9
    assert found.chance == pytest.approx(np.where(np.diagonal(best), 1 / best.sum(axis=1), 0))


def test_a_matrix_over_very_many_cells_is_not_written_out(monkeypatch):
    """Both linkers find the same where only transitions are looked at, as where all entries are."""
    random = np.random.default_rng(8)
    cells = [(sex, label) for sex in ("f", "m") for label in SCHEMA.column("age").labels]
    matrix = SparseRows.of(
        cells,
        rows=[0, 0, 3, 7, 9],
        columns=[1, 5, 4, 2, 0],
        probabilities=[0.2, 0.3, 0.5, 0.4, 0.1],
    )
    made = Mechanism((Step(("sex", "age"), matrix),))
    truth = Records((random.integers(0, 10, 200),), random.integers(0, 2, 200), (None,))
    released = rerun(made, truth, keystream=Keystream.from_seed(2), stream="t")
    asked = {"targets": np.arange(200)}

    def found():
        near = link(nearest_scores(made, SCHEMA, truth), truth, released, **asked)
        offsets = -expected_released(made, truth, released)
        likely = link(likelihood_scores(made), truth, released, **asked, offsets=offsets)
        return [near.chance, likely.chance, likely.confidence]

    plain = found()
    monkeypatch.setattr("pramana.risk.attacks.scores.DENSE_LIMIT", 5)
    for quick, own in zip(found(), plain, strict=True):
        assert quick == pytest.approx(own)


def test_two_halves_of_the_steps_find_the_same(monkeypatch):
    """Chances and confidence of every person, with two anonymity sets."""
    random = np.random.default_rng(3)
    made = Mechanism(tuple(
        Step((f"c{at}",), UniformMixture.of(tuple(range(4)), retention=0.6)) for at in range(4)
    ))  # fmt: skip
    codes = tuple(random.integers(0, 4, 300) for _ in range(4))
    truth = Records(codes, random.integers(0, 2, 300), (None,) * 4)
    released = rerun(made, truth, keystream=Keystream.from_seed(2), stream="t")
    offsets = -expected_released(made, truth, released)
    asked = {"targets": np.arange(300), "offsets": offsets}
    quick = link(likelihood_scores(made), truth, released, **asked)
    monkeypatch.setattr("pramana.risk.attacks.linkage.in_halves", lambda *sides: sides)
    plain = link(likelihood_scores(made), truth, released, **asked)
    assert quick.chance == pytest.approx(plain.chance)
    assert quick.confidence == pytest.approx(plain.confidence)


def test_a_sound_mechanism_keeps_its_promise_and_a_broken_one_is_caught():
    """Promised by its own k, and by the k of a mechanism that changes far more."""
    truth = people(600)
    weak = mechanism(0.9)
    honest = 1 / PkAnonymity.of(weak, anonymity_set=600).k
    false = 1 / PkAnonymity.of(mechanism(0.1), anonymity_set=600).k
    keystream = Keystream.from_seed(3)

    links = Links.of(SCHEMA, weak, truth, keystream=keystream, trials=3000)
    sound = links.risks(bound=honest, keystream=keystream)
    broken = links.risks(bound=false, keystream=keystream)

    assert not any(found.broken for found in sound)
    assert any(found.broken for found in broken)
    assert sound[1].value >= sound[1].baseline  # the strongest linker beats guessing


def test_the_likeliest_beats_the_nearest_where_the_matrix_misleads():
    """A matrix that swaps the sexes: the nearest record is the wrong one, the likeliest right."""
    swap = Mechanism((Step(("sex",), Dense.of(("f", "m"), [[0.1, 0.9], [0.9, 0.1]])),))
    schema = Schema((Column("sex", Role.KEY, Categories(("f", "m"))),))
    truth = Records((np.random.default_rng(1).integers(0, 2, 30),), np.zeros(30, int), (None,))
    keystream = Keystream.from_seed(5)
    links = Links.of(schema, swap, truth, keystream=keystream, trials=6000)
    nearest, likeliest, *_ = links.risks(bound=None, keystream=keystream)

    assert nearest.high < likeliest.low


def test_strata_have_matrices_of_their_own():
    """One stratum stays, the other is noise: links in the first are right, in the second not."""
    matrices = {
        ("n",): UniformMixture.of(("f", "m"), retention=1),
        ("s",): UniformMixture.of(("f", "m"), retention=0),
    }
    made = Mechanism((Step(("sex",), strata=("region",), by_stratum=matrices),))
    stratum = np.repeat([0, 1], 50)
    truth = Records((np.tile([0, 1], 50),), stratum, (stratum,))
    released = rerun(made, truth, keystream=Keystream.from_seed(4), stream="s")

    assert (released.codes[0][:50] == truth.codes[0][:50]).all()
    assert 10 < (released.codes[0][50:] == truth.codes[0][50:]).sum() < 40
    scores = likelihood_scores(made)
    offsets = -expected_released(made, truth, released)
    found = link(scores, truth, released, targets=np.arange(100), offsets=offsets)
    assert found.chance[:50] == pytest.approx(np.full(50, 1 / 25))
    assert found.chance[50:].mean() == pytest.approx(1 / 50, abs=0.01)


# -- inference -----------------------------------------------------------------------------


def test_inference_finds_what_keys_determine_and_nothing_from_noise():
    """Illness is the age group: kept keys tell it, noise tells no more than the frequent value."""
    truth = people(2000)
    values = SensitiveValues.of("illness", truth.codes[1], 5, ordered=False)
    (kept,) = inference_risks(mechanism(0.95), truth, [values], keystream=Keystream.from_seed(1))
    (noise,) = inference_risks(mechanism(0.0), truth, [values], keystream=Keystream.from_seed(1))

    assert kept.value > 0.9
    assert kept.control > 0.9  # the statistics alone tell it, also of people left out
    assert noise.low <= noise.baseline + 0.02


def heaviest(made: Mechanism, truth: Records, values, column: str) -> list[float]:
    """Person by person, from the definition: how often the heaviest value is right, both sides."""
    keystream, held = Keystream.from_seed(3), len(truth) // 5
    order = keystream.permutation(len(truth), Stream("held out", column))
    inside, outside = order[held:], order[:held]
    members = truth.at(inside)
    told = rerun(made, members, keystream=keystream, stream=Stream("inference", column))

    def chance(person: Records, at: int) -> FloatArray:
        """That each member's record is released of who is like this person."""
        same = told.anonymity_set == person.anonymity_set[at]
        for place, step in enumerate(made):
            same = same * step.matrices[0].values[person.codes[place][at], told.codes[place]]
        return np.asarray(same, dtype=float)

    expected = np.sum([chance(members, at) for at in range(len(members))], axis=0)
    shares = []
    for side in (inside[:held], outside):
        weights = [chance(truth.at(side), at) / expected for at in range(len(side))]
        guess = [np.bincount(values[inside], one).argmax() for one in weights]
        shares.append(float((guess == values[side]).mean()))
    return shares


@pytest.mark.parametrize("anonymity_sets", [1, 4])
def test_several_columns_are_inferred_as_by_their_definition(anonymity_sets):
    """One weight for each pair of people serves all columns, in every anonymity set."""
    truth = people(400, anonymity_sets=anonymity_sets, seed=5)
    noise = np.random.default_rng(6).random(400)
    ill = np.where(noise < 0.5, truth.codes[1], (noise * 97 % 5).astype(int))
    poor = np.where(noise < 0.7, truth.codes[0], 1 - truth.codes[0])
    asked = [SensitiveValues("ill", ill, 5), SensitiveValues("poor", poor, 2)]
    found = inference_risks(mechanism(0.6), truth, asked, keystream=Keystream.from_seed(3))
    for one, values in zip(found, (ill, poor), strict=True):
        assert [one.value, one.control] == heaviest(mechanism(0.6), truth, values, "ill")


def test_many_sensitive_columns_take_little_longer_than_one():
    """Thirty columns take less than eight times as long as one: people are compared once."""
    truth = Records(
        tuple(np.random.default_rng(at).integers(0, 40, 6000) for at in (1, 2, 3)),
        np.zeros(6000, int),
        (None,) * 3,
    )
    names = tuple(str(at) for at in range(40))
    made = Mechanism(tuple(Step((own,), UniformMixture.of(names, retention=0.5)) for own in "abc"))
    asked = [SensitiveValues(str(at), truth.codes[0] % 3, 3) for at in range(30)]

    def took(columns: int) -> float:
        began = time.process_time()
        inference_risks(made, truth, asked[:columns], keystream=Keystream.from_seed(3))
        return time.process_time() - began

    took(1)
    assert took(30) < 8 * min(took(1), took(1))


def test_inference_of_members_exceeds_control_where_records_are_exposed():
    """A value that belongs to the person alone is inferred for members only."""
    random = np.random.default_rng(8)
    truth = Records((np.zeros(400, int), random.permutation(400)), np.zeros(400, int), (None, None))
    labels = tuple(range(400))
    stay = Mechanism(
        (
            Step(("sex",), UniformMixture.of(("f", "m"), retention=1)),
            Step(("town",), UniformMixture.of(labels, retention=0.9)),
        )
    )
    values = SensitiveValues.of("illness", random.integers(0, 8, 400), 8, ordered=False)
    (found,) = inference_risks(stay, truth, [values], keystream=Keystream.from_seed(2))

    assert found.value > 0.6
    assert found.control < 0.3


def test_many_values_become_classes():
    """Numbers become tenths of equal size; other values keep the frequent ones."""
    codes = np.arange(1000)
    tenths = SensitiveValues.of("income", codes, 1000, ordered=True)
    names = SensitiveValues.of("job", codes % 50, 50, ordered=False)

    assert np.bincount(tenths.codes).tolist() == [100] * 10
    assert names.size == 21
    assert np.bincount(names.codes)[:20].tolist() == [20] * 20


def test_too_few_records_for_a_control_are_said():
    """A fifth of twenty people is no control group."""
    truth = people(20)
    values = SensitiveValues.of("illness", truth.codes[1], 5, ordered=False)
    with pytest.raises(InvalidNumber, match="needs at least 10 of them; there are 20 records"):
        inference_risks(mechanism(0.5), truth, [values], keystream=Keystream.from_seed(1))


# -- distance to the closest record --------------------------------------------------------


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 3), st.integers(1, 3))
def test_distances_equal_all_pairs(left, right, numbers, codes):
    """The compiled loop against a table of all distances."""
    random = np.random.default_rng(left * 31 + right)
    parts = [
        (random.random((n, numbers)).astype(np.float32), random.integers(0, 3, (n, codes)))
        for n in (left, right)
    ]
    one, two = (GowerRecords.of(*part) for part in parts)
    far = np.abs(parts[0][0][:, None] - parts[1][0][None]).sum(axis=2)
    far = far + (parts[0][1][:, None] != parts[1][1][None]).sum(axis=2)

    assert distance_to_closest(one, two) == pytest.approx(far.min(axis=1), abs=1e-5)


def test_a_copy_is_closer_to_its_own_and_noise_is_not():
    """Released as they are, records of many kinds lie on their own half; noise lies nowhere."""
    random = np.random.default_rng(9)
    labels = tuple(range(500))
    schema = Schema((Column("town", Role.KEY, Categories(labels)),))
    truth = Records((random.permutation(500),), np.zeros(500, int), (None,))

    def risk(retention):
        made = Mechanism((Step(("town",), UniformMixture.of(labels, retention=retention)),))
        return closest_risk(schema, made, truth, keystream=Keystream.from_seed(6))

    assert risk(1.0).value == 1
    assert risk(0.0).low <= 0.5 <= risk(0.0).high


def test_empty_sides_are_refused():
    """No records, or other columns, no distance."""
    with pytest.raises(InvalidNumber, match="records on both sides"):
        distance_to_closest(GowerRecords.of(codes=np.zeros((0, 1))), GowerRecords.of(codes=[[1]]))
    with pytest.raises(InvalidNumber, match="the same columns"):
        distance_to_closest(GowerRecords.of(codes=[[1, 2]]), GowerRecords.of(codes=[[1]]))


@pytest.mark.parametrize("size", [3, 300])
def test_distances_of_codes_alone_count_what_differs(size):
    """More records than a block, codes of a byte and beyond, and a column that all share."""
    random = np.random.default_rng(7)
    one, two = (random.integers(0, size, (rows, 5)) for rows in (40, 1200))
    one[:, 2] = two[:, 2] = 1
    far = (one[:, None, :] != two[None, :, :]).sum(axis=2).min(axis=1)

    sides = [GowerRecords.of(codes=side) for side in (one, two)]

    assert distance_to_closest(*sides).tolist() == far.tolist()
    same = [GowerRecords.of(codes=side[:, 2:3]) for side in (one, two)]
    assert not distance_to_closest(*same).any()
