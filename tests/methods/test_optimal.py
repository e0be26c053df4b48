"""The least loss under C1: the paper's example, an independent optimiser, brute force, limits."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.kl_loss import kl_loss
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.test_spontaneous_recognition import brute_force

from pramana import api
from pramana.base.randomness import Keystream
from pramana.errors import Infeasible, InvalidNumber, OutsideDomain, TooLarge
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Dense
from pramana.methods.optimal.cells import (
    KeyCells,
    as_counts,
    dense_gradient,
    dense_loss,
    divergence,
    squared_error,
)
from pramana.methods.optimal.dense import Programs, solve_dense
from pramana.methods.optimal.dense import members as members_of
from pramana.methods.optimal.method import Optimal
from pramana.methods.optimal.publication import GRIDS, best_on_grid, loss_changes, on_grid, stepped
from pramana.methods.optimal.search import optimal_design, solve_sparse
from pramana.schema.domains import Categories
from pramana.schema.joint_cells import CellRules, Counts
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

CELLS = tuple(itertools.product((0, 1), (0, 1), (0, 1), (0, 1), (0, 1, 2)))
TRIPLES = list(itertools.combinations(range(5), 3))


def like_the_paper(seed):
    """48 cells, 2,500 records; seed 25 has 17 rare cells and 5 rare triples, as [Cator, Sec. 4]."""
    odds = {(i, v): (0.14, 0.86)[v] for i in range(4) for v in (0, 1)}
    odds |= {(4, 0): 0.3, (4, 1): 0.3, (4, 2): 0.4}
    chance = np.array([np.prod([odds[i, v] for i, v in enumerate(cell)]) for cell in CELLS])
    return np.random.default_rng(seed).multinomial(2500, chance / chance.sum())


@pytest.fixture(scope="module")
def example():
    numbers = like_the_paper(25)
    return numbers, optimal_design(dict(zip(CELLS, numbers.tolist(), strict=True)))


def members():
    """Cells x combinations, of all three keys."""
    columns = []
    for keys in TRIPLES:
        parts = [tuple(cell[i] for i in keys) for cell in CELLS]
        columns += [[part == k0 for part in parts] for k0 in sorted(set(parts))]
    return np.array(columns, dtype=float).T


def test_gradient_is_that_of_the_loss():
    """Second road: central differences of the closed form, at a random matrix."""
    generator = np.random.default_rng(0)
    P = 0.6 * np.eye(5) + 0.4 * generator.dirichlet(np.ones(5), 5)
    numbers = np.array([3.0, 0, 7, 1, 20])
    gradient = dense_gradient(P, numbers)

    for i, j in itertools.product(range(5), repeat=2):
        step = np.zeros((5, 5))
        step[i, j] = 1e-6
        slope = (dense_loss(P + step, numbers) - dense_loss(P - step, numbers)) / 2e-6
        assert gradient[i, j] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_loss_is_the_expected_squared_error_by_simulation():
    """50,000 releases; within 4 standard errors (level 1e-4), and 5 % off is rejected."""
    generator = np.random.default_rng(1)
    P = np.array([[0.8, 0.2, 0.0], [0.1, 0.8, 0.1], [0.0, 0.3, 0.7]])
    numbers = np.array([5, 20, 2])
    released = sum(generator.multinomial(n, P[i], 50_000) for i, n in enumerate(numbers))
    squared = ((released @ np.linalg.inv(P) - numbers) ** 2).sum(axis=1)
    loss = dense_loss(P, numbers.astype(float))

    error = squared.std() / np.sqrt(len(squared))
    assert abs(squared.mean() - loss) < 4 * error
    assert abs(squared.mean() - 1.05 * loss) > 4 * error


def test_near_the_identity_the_loss_is_twice_the_changes():
    """The factor of 2 between the paper's '4 changes' and its loss."""
    generator = np.random.default_rng(1)
    numbers = generator.integers(1, 50, 6).astype(float)
    P = (1 - 1e-5) * np.eye(6) + 1e-5 * generator.dirichlet(np.ones(6), 6)
    changes = (numbers * (1 - np.diag(P))).sum()

    assert dense_loss(P, numbers) == pytest.approx(2 * changes, rel=1e-4)


def test_sparse_loss_is_the_dense_one():
    """The road through moving rows only, with targets that move themselves."""
    generator = np.random.default_rng(3)
    rows, columns = np.array([0, 0, 2, 5, 7]), np.array([2, 3, 4, 0, 1])
    matrix = SparseRows.of(
        tuple(range(8)), rows=rows, columns=columns, probabilities=generator.uniform(0.05, 0.3, 5)
    )
    numbers = generator.integers(0, 9, 8).astype(float)

    assert squared_error(matrix, numbers) == pytest.approx(dense_loss(matrix.values, numbers))


def test_example_of_the_paper_holds_by_brute_force(example):
    """104 combinations, C1 in integers at most alpha, few changes, an invertible matrix."""
    numbers, design = example

    assert members().shape == (48, 104)
    exact = brute_force(design.matrix.weights, numbers.tolist(), list(CELLS), TRIPLES)
    assert exact <= 0.1
    assert design.attained.alpha <= 0.1
    assert design.expected_changes < 20
    assert design.loss == pytest.approx(dense_loss(design.matrix.values, numbers) / 2500**2)
    assert design.gap < 0.01
    assert 0.3 < design.smallest_diagonal < 1
    estimate = design.matrix.solve(design.matrix.apply(numbers))
    assert estimate == pytest.approx(numbers, abs=1e-8)


def test_figures_of_the_paper():
    """17 rare cells, 5 rare triples: a handful of changes, a diagonal near 1, loss 2 changes / n^2.

    The paper reports 4 changes, 0.9971 and 6.4e-7 (changes / n^2: short by its factor of 2).
    """
    numbers = like_the_paper(86)
    totals = numbers @ members()
    assert ((numbers > 0) & (numbers < 10)).sum() == 17
    assert ((totals > 0) & (totals < 10)).sum() == 5

    design = optimal_design(dict(zip(CELLS, numbers.tolist(), strict=True)))

    assert design.expected_changes == pytest.approx(5, rel=0.01)
    assert design.smallest_diagonal > 0.99
    assert design.loss == pytest.approx(2 * design.expected_changes / 2500**2, rel=0.01)
    assert sum(list(design.arrivals().values())[:8]) > 0.95 * design.expected_changes


def test_where_changed_records_go(example):
    """A few target cells take nearly all changed records, as in the paper."""
    numbers, design = example
    arrivals = list(design.arrivals().values())
    chance = design.chance_of_change()

    assert sum(arrivals) == pytest.approx(design.expected_changes)
    assert sum(arrivals[:8]) > 0.95 * sum(arrivals)
    assert set(chance) == {cell for cell, n in zip(CELLS, numbers, strict=True) if n}
    assert all(change < 0.02 for number, change in chance.values() if number >= 100)


def conditional_gradient(numbers, rounds, seed=0):
    """An independent method: plain Frank-Wolfe with line search, own programs, a random start."""
    from scipy import sparse
    from scipy.optimize import linprog, minimize_scalar

    inside = sparse.csr_array(members().T)
    many = inside.shape[0]
    below = sparse.kron(sparse.csr_array(numbers[None, :].astype(float)), inside)
    rare = np.flatnonzero((numbers > 0) & (numbers < 10))
    own = sparse.kron(sparse.csr_array(np.eye(48)[rare]), inside)
    # What is expected of each combination is a variable of its own, so that rows stay short.
    upper = sparse.hstack([own, -0.1 * sparse.kron(np.ones((len(rare), 1)), np.eye(many))]).tocsc()
    sums = sparse.kron(sparse.eye_array(48), np.ones((1, 48)))
    equal = sparse.block_array([[sums, None], [below, -sparse.eye_array(many)]]).tocsc()
    low = np.append(np.where(np.eye(48, dtype=bool), 0.05, 0), np.zeros(many))
    bounds = np.column_stack([low, np.append(np.ones(48 * 48), np.full(many, np.inf))])

    def corner(cost):
        zero, one = np.zeros(upper.shape[0]), np.append(np.ones(48), np.zeros(many))
        dear = np.append(cost, np.zeros(many))
        answer = linprog(dear, upper, zero, equal, one, bounds, method="highs")
        return answer.x[: 48 * 48].reshape(48, 48)

    generator = np.random.default_rng(seed)
    costs = [-np.diag(generator.uniform(0.5, 1.5, 48) * (numbers + 1)) for _ in range(3)]
    P = np.mean([corner(cost) for cost in costs], axis=0)
    for _ in range(rounds):
        step = corner(dense_gradient(P, numbers)) - P
        along = minimize_scalar(
            lambda t, P=P, step=step: dense_loss(P + t * step, numbers),
            bounds=(0, 1),
            method="bounded",
        )
        P = P + along.x * step
    return dense_loss(P, numbers)


def test_independent_method_finds_nothing_better(example):
    """Ours is within 1 % of what another method finds from another start, and that one is close."""
    numbers, design = example

    found = conditional_gradient(numbers, 10)

    assert design.loss * 2500**2 <= 1.01 * found
    assert found <= 1.05 * design.loss * 2500**2


def test_the_matrix_on_its_grid_is_within_5_percent_of_the_dense_optimum(example):
    """What is published, beside the search over all matrices: rounded up alone it is 30 % more."""
    numbers, design = example
    published = best_on_grid(design.matrix, GRIDS[0], design.cells, 0.1)
    rounded = on_grid(design.matrix, GRIDS[0])

    assert brute_force(published.weights, numbers.tolist(), list(CELLS), TRIPLES) <= 0.1
    assert squared_error(published, numbers) <= 1.05 * squared_error(design.matrix, numbers)
    assert squared_error(rounded, numbers) > 1.3 * squared_error(design.matrix, numbers)
    steps = {float(f"{step}e-{power}") for step in (1, 2, 5) for power in range(1, 13)}
    moves = {round(move, 15) for move in published.values[~np.eye(48, dtype=bool)].tolist()}
    assert moves <= steps | {0.0}


def test_what_single_steps_change_is_the_difference_of_losses():
    """Second road: the loss of every matrix with one move changed, by its own inverse."""
    generator = np.random.default_rng(4)
    P = 0.7 * np.eye(6) + 0.3 * generator.dirichlet(np.ones(6), 6)
    numbers = generator.integers(0, 40, 6).astype(float)
    rows, columns = np.nonzero(~np.eye(6, dtype=bool))
    change = generator.uniform(-0.01, 0.05, len(rows))

    loss, found = loss_changes(P, numbers, 1.0, (rows, columns, change))
    assert loss == pytest.approx(dense_loss(P, numbers))

    for i, j, d, own in zip(rows, columns, change, found, strict=True):
        other = P.copy()
        other[i, j] += d
        other[i, i] -= d
        assert own == pytest.approx(dense_loss(other, numbers) - dense_loss(P, numbers), abs=1e-8)


def test_steps_that_find_no_matrix_say_so():
    """One record alone with each value, and nobody to hide among."""
    cells = KeyCells.of(as_counts({(0,): 1, (1,): 1}), width=1)
    assert stepped(cells, np.eye(2), 0.4, np.array([0.1, 0.2, 0.5])) is None


def test_steps_ask_nothing_for_those_who_are_just_enough():
    """Ten records meet 0.1 by themselves, and are not among those that must hide."""
    cells = KeyCells.of(as_counts({(0,): 500, (1,): 10, (2,): 10, (3,): 4}), width=1)
    start = np.eye(4)
    start[0] = [0.98, 0, 0, 0.02]
    found = stepped(cells, start, 0.1, np.array([0.001, 0.002, 0.005, 0.01, 0.02, 0.05]))
    assert found is not None
    assert found[3, 3] <= 0.1 * (cells.numbers @ found)[3]
    assert dense_loss(found, cells.numbers) < dense_loss(start, cells.numbers)


@pytest.mark.parametrize("box", [None, 0.05])
def test_programs_that_grow_find_what_those_written_out_find(example, box, monkeypatch):
    """The same least cost for costs of all kinds, and the answer meets C1."""
    numbers, _ = example
    cells = KeyCells.of(as_counts(dict(zip(CELLS, numbers.tolist(), strict=True))), width=3)
    member, allowed = members_of(cells), ~np.eye(48, dtype=bool)
    whole = Programs(cells.numbers, member, 0.1, allowed)
    monkeypatch.setattr("pramana.methods.optimal.dense.ENUMERATED", 20)
    growing = Programs(cells.numbers, member, 0.1, allowed)
    assert growing.grows
    assert not whole.grows
    start = whole.solve(-np.diag(numbers + 1e-3), floor=0.3)
    generator, options = np.random.default_rng(8), {}
    if box is not None:
        options = {"around": start, "box": box}
    for cost in (
        -np.diag(numbers + 1e-3),
        dense_gradient(start, cells.numbers),
        generator.normal(0, 1, (48, 48)),
    ):
        one, other = (own.solve(cost, floor=0.1, **options) for own in (whole, growing))
        assert (other * cost).sum() == pytest.approx((one * cost).sum(), rel=1e-5, abs=1e-5)
        chance = other @ member
        rare = (numbers > 0) & (numbers * 0.1 < 1)
        assert (chance[rare] <= 0.1 * (numbers @ chance) + 1e-7).all()
        assert np.diag(other).min() >= 0.1 - 1e-9
    assert growing.solve(-np.diag(numbers + 1e-3), floor=1.0) is None
    assert whole.solve(-np.diag(numbers + 1e-3), floor=1.0) is None


@pytest.mark.parametrize("seed", [56])
def test_the_road_of_larger_domains_is_within_5_percent_of_the_dense_optimum(seed, monkeypatch):
    """The same cells as if programs were too large to write out; judged by the other method."""
    numbers = like_the_paper(seed)
    monkeypatch.setattr("pramana.methods.optimal.dense.ENUMERATED", 20)

    design = optimal_design(dict(zip(CELLS, numbers.tolist(), strict=True)))

    assert design.attained.alpha <= 0.1
    assert design.loss * 2500**2 <= 1.05 * conditional_gradient(numbers, 10)


def test_the_paper_moves_frequent_cells_only(example):
    """With a diagonal near 1 the figures are of the paper's kind; moving rare cells does better."""
    numbers, design = example
    near = optimal_design(dict(zip(CELLS, numbers.tolist(), strict=True)), keep=0.99)

    assert near.smallest_diagonal >= 0.99 - 1e-12
    assert near.loss * 2500**2 == pytest.approx(2 * near.expected_changes, rel=0.02)
    assert design.loss < near.loss
    assert near.attained.alpha <= 0.1


def test_kullback_leibler_loss_is_small_and_reproducible(example):
    """By simulation, with the share of releases for which it is not defined."""
    numbers, _ = example
    near = optimal_design(dict(zip(CELLS, numbers.tolist(), strict=True)), keep=0.99)

    first, again = (
        kl_loss(near.matrix, near.numbers, keystream=Keystream.from_seed(5), rounds=60)
        for _ in range(2)
    )

    assert first == again
    assert abs(first.value) < 0.01
    assert 0 <= first.undefined < 0.3


def test_identity_is_kept_where_it_meets_c1():
    """Limit case: nothing rare, nothing changed."""
    design = optimal_design(np.full((2, 3), 40), alpha=0.1, width=2)

    assert design.unchanged
    assert design.loss == 0
    assert design.matrix.diagonal.min() == 1
    assert design.attained.alpha == pytest.approx(1 / 40)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.2, 0.34]))
def test_c1_holds_on_random_small_tables(seed, alpha):
    """Any counts: the design meets C1 in integers."""
    generator = np.random.default_rng(seed)
    numbers = generator.negative_binomial(0.4, 0.02, (2, 3, 2))
    numbers[0, 0, 0] += 50
    design = optimal_design(numbers, alpha=alpha, width=2)

    cells = list(itertools.product(range(2), range(3), range(2)))
    pairs = list(itertools.combinations(range(3), 2))
    exact = brute_force(design.matrix.weights, numbers.ravel().tolist(), cells, pairs)
    assert exact <= alpha


def larger_counts(seed=0, sizes=(6, 6, 5, 4, 3), records=20_000):
    generator = np.random.default_rng(seed)
    codes = [
        np.minimum(generator.geometric(0.45, records) - 1, size - 1).astype(np.uint8)
        for size in sizes
    ]
    labels = tuple(tuple(range(size)) for size in sizes)
    return Counts.of_codes(("a", "b", "c", "d", "e"), labels, codes)


@pytest.mark.deep
def test_sparse_road_meets_c1_with_few_entries():
    """2,160 cells: few transitions, exact check on all triples, a stated gap, a solvable matrix."""
    counts = larger_counts()
    design = optimal_design(counts, alpha=0.1)

    assert not design.unchanged
    assert isinstance(design.matrix, SparseRows)
    assert SpontaneousRecognition.of(design.matrix, counts, width=3).alpha <= 0.1
    assert len(design.matrix.moves) < 4 * design.matrix.size
    assert 0 <= design.gap < 0.1
    numbers = counts.dense().ravel().astype(float)
    assert design.loss == pytest.approx(dense_loss(design.matrix.values, numbers) / 20_000**2)
    assert design.matrix.solve(design.matrix.apply(numbers)) == pytest.approx(numbers, abs=1e-6)


def test_sparse_road_by_brute_force(monkeypatch):
    """The guarantee's own evaluation is not the only judge."""
    monkeypatch.setattr("pramana.methods.optimal.search.DENSE_CELLS", 64)
    counts = larger_counts(seed=1, sizes=(4, 4, 3, 2, 2), records=1_500)
    design = optimal_design(counts, alpha=0.1)
    cells = [tuple(label) for label in design.matrix.labels]

    exact = brute_force(design.matrix.weights, counts.dense().ravel().tolist(), cells, TRIPLES)

    assert design.matrix.size == 192
    assert not design.unchanged
    assert exact <= 0.1


def test_fixed_and_impossible_cells():
    """Fixed cells neither leave nor are reached; impossible ones are not in the matrix."""
    numbers = like_the_paper(25)
    counts = as_counts(dict(zip(CELLS, numbers.tolist(), strict=True)))
    frequent = CELLS[int(numbers.argmax())]
    empty = CELLS[int(np.flatnonzero(numbers == 0)[0])]
    codes = [[labels.index(v) for labels, v in zip(counts.labels, cell, strict=True)]
             for cell in (frequent, empty)]  # fmt: skip
    held = [np.arange(size) == code for size, code in zip(counts.sizes, codes[0], strict=True)]
    no = [np.arange(size) == code for size, code in zip(counts.sizes, codes[1], strict=True)]
    rules = CellRules(counts.labels, impossible=(tuple(enumerate(no)),))
    cells = KeyCells.of(counts, width=3, rules=rules)
    at_frequent = np.logical_and.reduce(
        [own[code] for own, code in zip(held, cells.codes.T, strict=True)]
    )

    design = optimal_design(counts, cells=replace(cells, fixed=at_frequent))

    at = design.matrix.positions
    assert empty not in at
    assert design.matrix.values[at[frequent], at[frequent]] == 1
    assert design.matrix.values[:, at[frequent]].sum() == 1
    assert design.attained.alpha <= 0.1


@pytest.mark.deep
def test_listed_choices_cost_less_than_all():
    """Protecting one choice of keys needs fewer changes than protecting all."""
    numbers = dict(zip(CELLS, like_the_paper(25).tolist(), strict=True))

    one = optimal_design(numbers, choices=[("key1", "key2", "key5")])
    every = optimal_design(numbers)

    assert one.loss < every.loss
    assert one.attained.choices == (("key1", "key2", "key5"),)


def test_refusals():
    """alpha below 1/n, too many keys looked at, a domain that is too large, broken counts."""
    small = {(0, 0): 3, (0, 1): 2, (1, 0): 1, (1, 1): 1}
    with pytest.raises(InvalidNumber, match="1/7 at best"):
        optimal_design(small, alpha=0.1, width=2)
    with pytest.raises(InvalidNumber, match="number of keys, 2"):
        optimal_design(small, alpha=0.5, width=3)
    with pytest.raises(InvalidNumber, match="whole numbers"):
        optimal_design({(0, 0): 1.5, (1, 1): 10}, width=2)
    codes = [np.array([0, 1]), np.array([0, 1]), np.array([0, 1])]
    labels = (tuple(range(200)), tuple(range(300)), tuple(range(100)))
    huge = Counts.of_codes(("a", "b", "c"), labels, codes)
    with pytest.raises(TooLarge, match="6,000,000 joint cells.*'b', which has 300 values"):
        optimal_design(huge, alpha=0.9)
    rules = CellRules(((0, 1), (0, 1)), impossible=(((0, np.array([False, True])),),))
    with pytest.raises(OutsideDomain, match="cannot exist"):
        KeyCells.of(as_counts(small), width=2, rules=rules)
    with pytest.raises(Infeasible, match="coarsen"):
        optimal_design({(0, 0): 3, (0, 1): 2, (1, 0): 1, (1, 1): 1}, alpha=0.145, width=2, keep=0.9)


def test_dense_answer_is_stochastic():
    """Rows of the answer are probabilities before they become integers."""
    cells = KeyCells.of(
        as_counts(dict(zip(CELLS, like_the_paper(47).tolist(), strict=True))), width=3
    )
    answer = solve_dense(cells, 0.1, keep=0.05)

    assert answer is not None
    matrix, _ = answer
    assert matrix.min() >= 0
    assert matrix.sum(axis=1) == pytest.approx(1)
    assert Dense.of(cells.labels, matrix).size == 48


@pytest.mark.deep
def test_moderate_domains_are_searched_by_programs_that_grow(monkeypatch):
    """72 cells: no worse than over few transitions, and C1 still holds."""
    monkeypatch.setattr("pramana.methods.optimal.dense.ENUMERATED", 64)
    generator = np.random.default_rng(0)
    sizes = (4, 3, 3, 2)
    codes = [
        np.minimum(generator.geometric(0.45, 600) - 1, size - 1).astype(np.uint8) for size in sizes
    ]
    counts = Counts.of_codes("abcd", tuple(tuple(range(size)) for size in sizes), codes)
    cells = KeyCells.of(counts, width=3)
    answers = (solve_sparse(cells, 0.1, empty_targets=empty, keep=0.05) for empty in (True, False))
    found = next(filter(None, answers))

    design = optimal_design(counts)

    assert design.loss * 600**2 < 1.001 * squared_error(found[0], cells.numbers)
    assert design.attained.alpha <= 0.1


@pytest.mark.parametrize("known", [(), ("g",)])
def test_missing_as_a_category_that_nobody_has(known):
    """One key whose domain allows for missing values, and a table without any."""
    random = np.random.default_rng(3)
    table = {"a": random.choice(list("xyz"), 1000, p=[0.6, 0.3, 0.1])}
    table |= {name: random.choice(["p", "q"], 1000) for name in known}
    key = Column("a", Role.KEY, Categories(("x", "y", "z")), missing="category")
    schema = Schema((key, *(Column(name, Role.PUBLIC) for name in known)))
    asked = SpontaneousRecognition(alpha=0.2, width=1 + len(known))
    plan = api.design(schema, asked, data=pa.table(table), method="optimal")

    assert plan.claims[0].holds
    assert api.protect(pa.table(table), plan, seed=1).records == 1000


@pytest.mark.deep
def test_where_nearly_all_is_rare_the_best_of_several_starts_is_taken():
    """14 of 16 cells are rare: one start ends at 321.9, and 267.4 is known to be possible.

    That matrix came from programmes of the gradient written apart from these, from starts with
    diagonals of at least 0.7, 0.3 and 0.05.
    """
    numbers = [25, 17, 8, 11, 21, 10, 6, 5, 28, 10, 9, 10, 16, 8, 3, 7]
    cells = itertools.product((0, 1), (0, 1), range(4))
    counts = dict(zip(cells, numbers, strict=True))
    design = optimal_design(counts, alpha=0.05, width=3)

    assert design.loss * sum(numbers) ** 2 <= 1.05 * 267.4
    exact = brute_force(design.matrix.weights, numbers, list(counts), [(0, 1, 2)])
    assert exact <= 0.05


@pytest.mark.parametrize("options", [{}, {"loss": "kl"}, {"donors": "frequent"}])
@pytest.mark.parametrize("seed", [25, 86])
@pytest.mark.deep(every=3)
def test_the_published_matrix_loses_little(seed, options):
    """At most 1 % for the grid and 1 % for donors, or the finest grid: 2.5 % in all examples.

    The divergence on the coarsest grid has 30 % more for the seed 86. The gap that the plan states
    includes both.
    """
    numbers = like_the_paper(seed)
    cells = np.repeat(CELLS, numbers, axis=0)
    data = pa.table({f"k{place}": cells[:, place] for place in range(5)})
    schema = Schema(
        tuple(
            Column(f"k{place}", Role.KEY, Categories(tuple(range(size))))
            for place, size in enumerate((2, 2, 2, 2, 3))
        )
    )
    method = Optimal(publish="always", **options)
    plan = api.design(schema, SpontaneousRecognition(alpha=0.1), data=data, method=method)
    (step,) = plan.mechanism.steps
    order = [CELLS.index(tuple(cell)) for cell in step.matrix.labels]
    published = np.eye(48)
    published[np.ix_(order, order)] = step.matrix.values
    loss = options.get("loss", "l2")
    least = optimal_design(dict(zip(CELLS, numbers.tolist(), strict=True)), loss=loss)
    losses = [
        kl_of_paper(P, numbers) if loss == "kl" else dense_loss(P, numbers.astype(float))
        for P in (least.matrix.values, published)
    ]

    assert losses[1] <= 1.025 * losses[0]
    assert plan.statistics["gap"] >= losses[1] / losses[0] - 1 - 1e-6
    assert ("from_three_cells" in plan.statistics) == ("donors" in options)


def a_column_beside(records: int = 60) -> tuple[Schema, pa.Table]:
    """A key of four values, the last of them rare, and a town that is released unchanged."""
    values = ["a", "b", "c"] * (records // 3) + ["d"] * 2
    data = pa.table({"key": values, "town": ["x", "y"] * (len(values) // 2)})
    key = Column("key", Role.KEY, Categories(("a", "b", "c", "d")))
    return Schema((key, Column("town", Role.PUBLIC))), data


@pytest.mark.parametrize("aims", [1, 8])
def test_grids_share_what_was_searched_for(aims, monkeypatch):
    """Every alpha is solved once, whichever grids are tried; only that which is asked in full."""
    asked = []

    def counted(*counts, **options):
        asked.append((options["alpha"], options.get("roughly")))
        return optimal_design(*counts, **options)

    monkeypatch.setattr("pramana.methods.optimal.method.optimal_design", counted)
    monkeypatch.setattr("pramana.methods.optimal.method.MOST_AIMS", aims)
    schema, data = a_column_beside()
    target = SpontaneousRecognition(alpha=0.1, width=2)
    with pytest.raises(Infeasible) if aims == 1 else nullcontext():
        api.design(schema, target, data=data, method="optimal")

    assert asked[0] == (0.1, False)
    assert len({alpha for alpha, _ in asked}) == len(asked)
    assert all(roughly for _, roughly in asked[1:])
    assert (len(asked) > 1) == (aims > 1)


def test_what_no_matrix_meets_is_not_laid_on_columns_that_are_not_there():
    """All cells are rare: the refusal says so, and speaks of no column released unchanged."""
    labels = tuple(f"v{number}" for number in range(20))
    data = pa.table({"key": labels * 2})
    schema = Schema((Column("key", Role.KEY, Categories(labels)),))
    with pytest.raises(Infeasible, match="20 of 20 cells that occur are rare"):
        api.design(
            schema, SpontaneousRecognition(alpha=1 / 40, width=1), data=data, method="optimal"
        )


@pytest.mark.deep
def test_a_need_that_solvers_miss_by_little_ends_no_growing_program():
    """It was asked again until no rounds were left: no corner was found, and no gap was known."""
    rng = np.random.default_rng(2)
    for turn, shape in enumerate([(2, 2, 2, 4, 4), (13, 10), (11, 12)]):
        rng.integers(7)
        table = rng.poisson(np.exp(rng.normal(0, 2, size=shape)))
        if turn == 0:
            rng.random(shape)
        if turn < 2:
            rng.choice(4), rng.integers(1, min(3, len(shape)) + 1)
    found = optimal_design(table, alpha=0.2, width=2, roughly=True)
    assert found.gap < 1


def kl_of_paper(P, numbers):
    """Var(mu_hat_k) / (2 mu_k) over cells that occur, from the covariance of released counts."""
    n = numbers.sum()
    covariance = np.diag(numbers @ P) - P.T @ (numbers[:, None] * P)
    inverse = np.linalg.inv(P)
    variances = np.diag(inverse.T @ covariance @ inverse)
    there = numbers > 0
    return float((variances[there] / numbers[there]).sum() / (2 * n))


def test_the_divergence_is_the_sum_of_relative_variances():
    """Second road: the covariance of released counts; dense and sparse matrices agree."""
    generator = np.random.default_rng(7)
    matrix = SparseRows.of(
        tuple(range(6)),
        rows=[0, 0, 2, 5],
        columns=[2, 3, 4, 0],
        probabilities=[0.1, 0.2, 0.15, 0.3],
    )
    numbers = np.array([40.0, 7, 90, 0, 0, 12])
    P = matrix.values
    assert divergence(matrix, numbers) == pytest.approx(kl_of_paper(P, numbers))
    dense = Dense.of(matrix.labels, P)
    assert divergence(dense, numbers) == pytest.approx(kl_of_paper(P, numbers))

    weights = generator.uniform(0, 2, 6)
    gradient = dense_gradient(P, numbers, weights)
    for i, j in itertools.product(range(6), repeat=2):
        step = np.zeros((6, 6))
        step[i, j] = 1e-6
        above, below = (dense_loss(P + sign * step, numbers, weights) for sign in (1, -1))
        assert gradient[i, j] == pytest.approx((above - below) / 2e-6, rel=1e-4, abs=1e-4)


def test_a_design_for_the_divergence_has_less_of_it(example):
    """Than that for the squared error, and that has less squared error; both meet C1."""
    numbers, squared = example
    kl = optimal_design(dict(zip(CELLS, numbers.tolist(), strict=True)), loss="kl")

    assert brute_force(kl.matrix.weights, numbers.tolist(), list(CELLS), TRIPLES) <= 0.1
    assert kl.divergence == pytest.approx(kl_of_paper(kl.matrix.values, numbers), rel=1e-3)
    assert kl.divergence < 0.05 * squared.divergence
    assert squared.loss < 0.8 * kl.loss
    assert (kl.matrix.diagonal[kl.numbers == 0] == 1).all()


@pytest.mark.parametrize("seed", [25, 86])
@pytest.mark.deep(every=2)
def test_frequent_donors_give_in_proportion_to_their_frequency(seed):
    """P_ij = u_i t_j for frequent cells, at 1 % more loss at most; C1 by brute force.

    With the seed 86 rare cells stay, as in the paper. With 25 that would cost half as much again,
    and rare cells move as they do in the matrix of least loss.
    """
    numbers = like_the_paper(seed)
    counts = dict(zip(CELLS, numbers.tolist(), strict=True))
    least, design = (optimal_design(counts, donors=donors) for donors in ("any", "frequent"))
    P, frequent = design.matrix.values, numbers > 10  # alpha is undercut by a millionth
    moves = P - np.diag(np.diag(P))

    assert brute_force(design.matrix.weights, numbers.tolist(), list(CELLS), TRIPLES) <= 0.1
    for target in np.flatnonzero(moves[frequent].any(axis=0)):
        giving = frequent & (np.arange(48) != target)
        ratio = moves[giving, target] / numbers[giving]
        assert ratio == pytest.approx(ratio[0], rel=1e-6)
    losses = [dense_loss(own.matrix.values, numbers.astype(float)) for own in (least, design)]
    assert design.donors_cost == pytest.approx(losses[1] / losses[0] - 1, abs=1e-9)
    assert losses[1] <= 1.01 * losses[0]
    assert design.given_by(3) > 1.5 * least.given_by(3)
    rare = (numbers > 0) & (numbers < 10)
    assert (np.diag(P)[rare] == 1).all() == (seed == 86)
    assert design.gap == pytest.approx((1 + least.gap) * losses[1] / losses[0] - 1, abs=1e-9)


def test_the_divergence_prefers_frequent_donors_already():
    """Its least comes from the most frequent cells: proportion would take more from others."""
    counts = dict(zip(CELLS, like_the_paper(86).tolist(), strict=True))
    least, design = (
        optimal_design(counts, loss="kl", donors=donors) for donors in ("any", "frequent")
    )
    assert design.given_by(3) >= least.given_by(3)
    assert design.donors_cost <= 0.01


def test_frequent_donors_on_a_large_domain_are_those_of_the_dense_one(monkeypatch):
    """The program is the same, whichever search says what the least loss is."""
    counts = dict(zip(CELLS, like_the_paper(86).tolist(), strict=True))
    dense = optimal_design(counts, donors="frequent")
    monkeypatch.setattr("pramana.methods.optimal.search.DENSE_CELLS", 0)
    large = optimal_design(counts, donors="frequent")
    assert large.matrix.values == pytest.approx(dense.matrix.values, abs=1e-9)
    with pytest.raises(TooLarge, match="at most 0 joint cells"):
        optimal_design(counts, loss="kl")


@pytest.mark.parametrize("options", [{"loss": "kl"}, {"donors": "frequent"}])
def test_a_certificate_states_what_was_minimised(options, tmp_path):
    """Options that are not the usual ones are published; verification takes no others."""
    cells = np.repeat(CELLS, like_the_paper(86), axis=0).tolist()
    data = pa.table({f"k{at}": [cell[at] for cell in cells] for at in range(5)})
    keys = tuple(
        Column(f"k{at}", Role.KEY, Categories(tuple(range(size))))
        for at, size in enumerate((2, 2, 2, 2, 3))
    )
    plan = api.design(
        Schema(keys), SpontaneousRecognition(alpha=0.1), data=data, method=Optimal(**options)
    )
    assert ("divergence" in plan.statistics) == ("loss" in options)
    release = api.protect(data, plan, seed=1)
    release.save(tmp_path / "r")
    assert release.certificate.options == options
    assert api.verify(tmp_path / "r", original=data).valid
    with pytest.raises(InvalidNumber):
        Optimal(**dict.fromkeys(options, "magic"))
