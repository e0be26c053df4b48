"""The model around a target: posteriors against enumeration, trees found, margins brought back."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from pramana.analysis.channels import Channels
from pramana.analysis.layout import Layout
from pramana.analysis.synthesis_draws import TargetModel, draw_given_target, fit_target_model
from pramana.base.randomness import Keystream
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import UniformMixture

LABELS = {"a": (0, 1, 2), "b": (0, 1), "c": (0, 1)}


def world(gamma: float = 3, *, randomise_target: bool = True) -> Channels:
    steps = [
        Step((name,), UniformMixture.of(labels, gamma=gamma))
        for name, labels in LABELS.items()
        if name != "c" or randomise_target
    ]
    layout = Layout.of(list(LABELS), labels=LABELS, mechanism=Mechanism(tuple(steps)), most=np.inf)
    return Channels(layout)


def joint() -> np.ndarray:
    """p(a, b, c): b depends on a and c."""
    table = np.array([[[8, 1], [1, 2]], [[1, 6], [3, 1]], [[1, 1], [1, 7]]], dtype=float)
    return table / table.sum()


def model_of(table: np.ndarray) -> TargetModel:
    """The true model: a given c, b given a and c."""
    shares = table.sum(axis=(0, 1))
    a = table.sum(axis=1).T / shares[:, None]
    b = np.transpose(table, (2, 0, 1)) / table.sum(axis=1).T[:, :, None]
    return TargetModel(2, (0, 1), {0: None, 1: 0}, {0: a, 1: b}, shares)


def test_draws_follow_the_posterior_that_enumeration_gives():
    """One released record 40,000 times; largest deviation of 12 cells below 5 standard errors.

    A shift of 0.02 in one cell, as a wrong model would give, is 8 of them: the test can fail.
    """
    channels, table = world(), joint()
    released, n = (1, 1, 0), 40_000
    places = [np.full(n, value) for value in released]
    exact = np.zeros((3, 2, 2))
    for cell in product(range(3), range(2), range(2)):
        chance = table[cell]
        for size, truth, seen in zip((3, 2, 2), cell, released, strict=True):
            chance *= (3 if truth == seen else 1) / (3 + size - 1)
        exact[cell] = chance
    exact /= exact.sum()

    (drawn,) = draw_given_target(
        places, channels, model_of(table), keystream=Keystream.from_seed(1)
    )
    found = np.zeros_like(exact)
    np.add.at(found, tuple(drawn), 1 / n)

    assert np.abs(found - exact).max() < 5 * np.sqrt(0.25 / n)


def test_a_target_released_as_it_is_stays():
    """The limit case: nothing to draw for it."""
    channels = world(randomise_target=False)
    generator = np.random.default_rng(1)
    places = [generator.integers(0, size, 500) for size in (3, 2, 2)]

    (drawn,) = draw_given_target(
        places, channels, model_of(joint()), keystream=Keystream.from_seed(2)
    )

    assert (drawn[2] == places[2]).all()


def release(channels: Channels, n: int, seed: int) -> tuple[list, list]:
    """True and released records of the joint table."""
    generator = np.random.default_rng(seed)
    cells = generator.choice(12, size=n, p=joint().ravel())
    truth = list(np.unravel_index(cells, (3, 2, 2)))
    seen = []
    for size, column in zip((3, 2, 2), truth, strict=True):
        redrawn = generator.random(n) >= (3 - 1) / (3 + size - 1)
        seen.append(np.where(redrawn, generator.integers(0, size, n), column))
    return truth, seen


def test_the_tree_is_found_and_the_three_way_table_comes_back():
    """From 60,000 released records: a fifth of the L1 distance that the release itself has."""
    channels = world()
    truth, seen = release(channels, 60_000, 3)

    model = fit_target_model(seen, channels, target=2)
    (drawn,) = draw_given_target(seen, channels, model, keystream=Keystream.from_seed(4))

    def shares(columns):
        return np.bincount(np.ravel_multi_index(columns, (3, 2, 2)), minlength=12) / 60_000

    assert {model.parents[0], model.parents[1]} in ({None, 0}, {None, 1})
    off = np.abs(shares(drawn) - shares(truth)).sum()
    assert off < 0.2 * np.abs(shares(seen) - shares(truth)).sum()


def test_independent_attributes_get_no_pair():
    """Noise is not taken for dependence: 5 standard deviations, 40 tables of it."""
    channels, generator = world(), np.random.default_rng(6)
    for _ in range(40):
        places = [generator.integers(0, size, 1_000) for size in (3, 2, 2)]
        model = fit_target_model(places, channels, target=2)
        assert set(model.parents.values()) == {None}


def test_chunks_do_not_change_a_draw(monkeypatch):
    """Each record takes the numbers of its own position."""
    from pramana.analysis import synthesis_draws

    channels = world()
    _, seen = release(channels, 1_000, 5)

    whole = next(
        draw_given_target(seen, channels, model_of(joint()), keystream=Keystream.from_seed(7))
    )
    monkeypatch.setattr(synthesis_draws, "CHUNK", 77)
    parts = next(
        draw_given_target(seen, channels, model_of(joint()), keystream=Keystream.from_seed(7))
    )

    assert all((a == b).all() for a, b in zip(whole, parts, strict=True))


def test_several_draws_differ():
    """Each draw has numbers of its own."""
    channels = world()
    _, seen = release(channels, 500, 8)

    first, second = draw_given_target(
        seen, channels, model_of(joint()), keystream=Keystream.from_seed(9), draws=2
    )

    assert not (first[0] == second[0]).all()
    assert np.mean(first[0] == second[0]) == pytest.approx(0.6, abs=0.3)
