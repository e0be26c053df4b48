"""Condition C1 against brute force in integers, on joint matrices and on products of steps."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import InvalidNumber, OutsideDomain, TooLarge, UnknownColumn
from pramana.guarantees.base import only_the_owner
from pramana.guarantees.recognition_posterior import through_margins
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Dense, UniformMixture
from pramana.schema.joint_cells import Counts

NAMES = ("a", "b", "c", "d")


def brute_force(weights, numbers, cells, choices):
    """The largest posterior, straight from the definition, in fractions."""
    best = Fraction(0)
    for keys in choices:
        for k0 in {tuple(cell[i] for i in keys) for cell in cells}:
            inside = [j for j, cell in enumerate(cells) if tuple(cell[i] for i in keys) == k0]
            chance = [sum(int(row[j]) for j in inside) for row in weights]
            below = sum(u * n for u, n in zip(numbers, chance, strict=True))
            for u, n in zip(numbers, chance, strict=True):
                if u and n:
                    best = max(best, Fraction(n, below))
    return best


def table(numbers, sizes):
    labels = tuple(tuple(range(size)) for size in sizes)
    return Counts.from_dense(NAMES[: len(sizes)], labels, np.array(numbers).reshape(sizes))


@st.composite
def joint_problems(draw):
    sizes = draw(st.sampled_from([(2, 3), (2, 2, 2), (3, 2, 2)]))
    count = int(np.prod(sizes))
    numbers = draw(st.lists(st.integers(0, 9), min_size=count, max_size=count).filter(any))
    seed = draw(st.integers(0, 10**6))
    generator = np.random.default_rng(seed)
    values = 0.5 * np.eye(count) + 0.5 * generator.dirichlet(np.full(count, 0.2), count)
    return sizes, numbers, values


@settings(max_examples=80, deadline=None)
@given(joint_problems(), st.integers(1, 3))
def test_joint_matrix_agrees_with_brute_force_to_the_last_bit(problem, width):
    """Computed from the integers and rounded up: the next float at or above the exact fraction."""
    sizes, numbers, values = problem
    width = min(width, len(sizes))
    cells = list(itertools.product(*(range(size) for size in sizes)))
    matrix = Dense.of(tuple(cells), values)
    counts = table(numbers, sizes)

    found = SpontaneousRecognition.of(matrix, counts, width=width)

    choices = list(itertools.combinations(range(len(sizes)), width))
    exact = brute_force(matrix.weights, numbers, cells, choices)
    assert Fraction(found.alpha) >= exact
    assert Fraction(np.nextafter(found.alpha, 0)) < exact
    assert found.keys in [tuple(NAMES[i] for i in keys) for keys in choices]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_independent_steps_agree_with_their_kronecker_product(seed, width):
    """Steps on single columns, a joint step beside a single one, and a key left as it is."""
    generator = np.random.default_rng(seed)
    sizes = (2, 3, 2, 2)
    numbers = generator.poisson(2.0, 24)
    numbers[0] += 1
    counts = table(numbers, sizes)
    parts = [generator.dirichlet(np.ones(size), size) for size in sizes[:3]]
    full = np.kron(np.kron(np.kron(parts[0], parts[1]), parts[2]), np.eye(2))
    cells = list(itertools.product(*(range(size) for size in sizes)))
    choices = list(itertools.combinations(range(4), width))
    exact = float(brute_force((full * 2.0**62).astype(object), numbers.tolist(), cells, choices))

    single = Mechanism(
        tuple(
            Step((name,), Dense.of(tuple(range(len(part))), part))
            for name, part in zip(NAMES, parts, strict=False)
        )
    )
    joint_labels = tuple(itertools.product(range(2), range(3)))
    joint = Mechanism(
        (
            Step(("a", "b"), Dense.of(joint_labels, np.kron(parts[0], parts[1]))),
            Step(("c",), Dense.of((0, 1), parts[2])),
        )
    )

    for mechanism in (single, joint):
        assert SpontaneousRecognition.of(mechanism, counts, width=width).alpha == pytest.approx(
            exact, rel=1e-11
        )


def test_case_by_hand_identity():
    """Nothing changed: one over the rarest pair of values that occurs."""
    counts = table([[4, 6], [3, 20]], (2, 2))
    cells = tuple(itertools.product(range(2), range(2)))
    identity = SparseRows.of(cells, rows=[], columns=[], probabilities=[])

    assert SpontaneousRecognition.of(identity, counts, width=2).alpha == pytest.approx(1 / 3)
    assert SpontaneousRecognition.of(identity, counts, width=1).alpha == pytest.approx(1 / 7)


def test_limit_case_pure_noise():
    """A matrix with equal rows leaves every record equally likely: 1/n [Cator, Sec. 2]."""
    counts = table([[4, 6], [3, 12]], (2, 2))
    cells = tuple(itertools.product(range(2), range(2)))
    noise = UniformMixture.of(cells, retention=0)

    assert SpontaneousRecognition.of(noise, counts, width=2).alpha == pytest.approx(1 / 25)


def test_frequent_cells_can_never_be_the_worst():
    """[Cator, eq. 2]: a posterior is at most 1 / U(m), whatever the matrix does."""
    generator = np.random.default_rng(5)
    numbers = generator.integers(20, 60, 8)
    counts = table(numbers, (2, 2, 2))
    cells = tuple(itertools.product(range(2), repeat=3))
    matrix = Dense.of(cells, generator.dirichlet(np.full(8, 0.1), 8))

    assert SpontaneousRecognition.of(matrix, counts, width=3).alpha <= 1 / 20


def test_families_and_roads_agree():
    """A uniform mixture as a joint step, entry by entry, and through margins."""
    sizes = (3, 2, 2)
    counts = table(np.random.default_rng(2).poisson(3, 12), sizes)
    cells = tuple(itertools.product(*(range(size) for size in sizes)))
    mixture = UniformMixture.of(cells, retention=0.7)
    step = Mechanism((Step(NAMES[:3], mixture),))
    dense = Dense.from_weights(cells, mixture.weights)

    first = SpontaneousRecognition.of(step, counts, width=2)
    second = SpontaneousRecognition.of(dense, counts, width=2)
    third = through_margins(step, counts, first.keys)

    assert first.alpha == second.alpha
    assert third == pytest.approx(first.alpha, rel=1e-12)


def test_strata_are_followed():
    """Two strata with their own matrices are the joint matrix that is block diagonal."""
    counts = table([[3, 1, 9], [2, 7, 1]], (2, 3))
    generator = np.random.default_rng(4)
    first, second = (generator.dirichlet(np.ones(3), 3) for _ in range(2))
    by_stratum = {(0,): Dense.of((0, 1, 2), first), (1,): Dense.of((0, 1, 2), second)}
    strata = Mechanism((Step(("b",), strata=("a",), by_stratum=by_stratum),))
    block = np.zeros((6, 6))
    block[:3, :3], block[3:, 3:] = first, second
    cells = tuple(itertools.product(range(2), range(3)))

    for width in (1, 2):
        found = SpontaneousRecognition.of(strata, counts, width=width)
        joint = SpontaneousRecognition.of(Dense.of(cells, block), counts, width=width)
        assert found.alpha == pytest.approx(joint.alpha, rel=1e-11)


@settings(max_examples=40, deadline=None)
@given(joint_problems())
def test_more_keys_are_never_safer(problem):
    """A bound for wide choices holds for their parts, which is what `implies` says."""
    sizes, numbers, values = problem
    cells = tuple(itertools.product(*(range(size) for size in sizes)))
    matrix, counts = Dense.of(cells, values), table(numbers, sizes)

    wide = SpontaneousRecognition.of(matrix, counts, width=len(sizes))
    narrow = SpontaneousRecognition.of(matrix, counts, width=1)

    assert narrow.alpha <= wide.alpha
    assert wide.implies(SpontaneousRecognition(alpha=wide.alpha, width=1))


def test_listed_choices_only():
    """A list of choices in place of all; it implies no more than it lists."""
    counts = table([[4, 6], [1, 20]], (2, 2))
    cells = tuple(itertools.product(range(2), range(2)))
    identity = SparseRows.of(cells, rows=[], columns=[], probabilities=[])

    listed = SpontaneousRecognition.of(identity, counts, choices=[("a",), ("b",)])

    assert listed.alpha == pytest.approx(1 / 5)
    assert listed.implies(SpontaneousRecognition(alpha=0.3, choices=(("b",),)))
    assert not listed.implies(SpontaneousRecognition(alpha=0.3, width=1))
    assert not SpontaneousRecognition(alpha=0.1, width=2).implies(
        SpontaneousRecognition(alpha=0.1, width=3)
    )
    assert "2 listed" in listed.sentence()


def test_refusals():
    """Widths, choices, cells outside the matrix, and tables that are too large."""
    counts = table([[4, 6], [1, 20]], (2, 2))
    cells = tuple(itertools.product(range(2), range(2)))
    identity = SparseRows.of(cells, rows=[], columns=[], probabilities=[])
    with pytest.raises(InvalidNumber, match="number of keys, 2"):
        SpontaneousRecognition.of(identity, counts, width=3)
    with pytest.raises(UnknownColumn, match="different keys"):
        SpontaneousRecognition.of(identity, counts, choices=[("a", "z")])
    with pytest.raises(InvalidNumber):
        SpontaneousRecognition(alpha=-0.1)
    with pytest.raises(OutsideDomain, match="1 record is in 1 cell that"):
        SpontaneousRecognition.of(Dense.of(cells[:2] + cells[3:], np.eye(3)), counts, width=2)
    wide = Counts.from_dense(("a", "b"), (tuple(range(9000)), tuple(range(9000))), np.zeros((1, 1)))
    step = UniformMixture.of(tuple(range(9000)), retention=0.5)
    with pytest.raises(TooLarge, match="Coarsen"):
        SpontaneousRecognition.of(
            Mechanism((Step(("a",), step), Step(("b",), step))), wide, width=2
        )


def test_sentence_and_json_name_no_values():
    """The public form has numbers and keys only."""
    found = SpontaneousRecognition(alpha=0.1, width=3, keys=("sex", "age", "region"))

    assert "10 %" in found.sentence()
    assert found.to_json() == {"alpha": 0.1, "width": 3}
    assert only_the_owner(type(found))


def test_a_larger_posterior_implies_no_smaller_one():
    """Whatever the keys are."""
    one, other = bound_of(0.2), bound_of(0.1)
    assert other.implies(one)
    assert not one.implies(other)


def bound_of(alpha: float) -> SpontaneousRecognition:
    """A bound for any two keys."""
    return SpontaneousRecognition(alpha=alpha, width=2)
