"""Transfer weights: by hand, as a law over joint tables, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InvalidNumber, InvalidTable
from pramana.workloads.covariate_shift import cell_weights
from pramana.workloads.transfer import transfer_weights

records = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 1)), min_size=4, max_size=60
)


def test_weights_by_hand():
    """Of the pair (a, 1) half is task t's: each of its records stands for half of the task's."""
    x, y, task = ["a", "a", "a", "b"], [1, 1, 0, 0], ["s", "t", "s", "t"]

    weights = transfer_weights(x, y, task, learn="t").values

    # p(a,1|t) = 1/2 over pool 1/2 -> 1; (a,0) never in t -> 0; p(b,0|t) = 1/2 over 1/4 -> 2
    assert weights.tolist() == [1, 1, 0, 2]


@given(records)
def test_the_weighted_pool_is_the_joint_table_of_the_task(sample):
    """For any function of x and y [Wei, eq. 3], without a shift."""
    x, y, task = np.array(sample).T
    if not (task == 1).any():
        return
    value = np.array([[0.0, 3.0], [1.0, -2.0], [5.0, 0.5]])[x, y]

    weights = transfer_weights(x, y, task, learn=1).values

    assert np.mean(weights * value) == pytest.approx(value[task == 1].mean())


@given(records)
def test_with_a_target_the_covariates_are_those_of_the_target(sample):
    """The weighted pool has the target's shares of x where the task supports them."""
    x, y, task = np.array(sample).T
    if not (task == 1).any():
        return
    target = np.concatenate([np.unique(x[task == 1]), np.unique(x[task == 1])[:1]])

    weights = transfer_weights(x, y, task, learn=1, target=target)

    for level in range(3):
        share = weights.values[x == level].sum() / x.size
        assert share == pytest.approx(np.mean(target == level))
    assert weights.similarity == pytest.approx(1)


def test_one_task_alone_is_covariate_shift():
    """The limit case: the first factor is one."""
    x, target = np.array([0, 0, 1, 2]), np.array([0, 1, 2, 2])

    one = transfer_weights(x, [0, 1, 0, 1], np.zeros(4), learn=0, target=target).values

    assert one == pytest.approx(cell_weights(x, target).values)


def test_a_response_of_numbers_is_cut_into_bins_of_equal_mass():
    """With every value its own level nothing transfers; with bins records of both tasks help."""
    generator = np.random.default_rng(3)
    x, task = generator.integers(0, 2, 400), generator.integers(0, 2, 400)
    y = x + generator.normal(size=400)

    sharp = transfer_weights(x, y, task, learn=1).values
    binned = transfer_weights(x, y, task, learn=1, bins=4).values

    assert (sharp[task == 0] == 0).all()
    assert (binned[task == 0] > 0).mean() > 0.9


def test_refusals():
    """No record of the task; a target without support; a response that cannot be cut."""
    with pytest.raises(InvalidTable, match="task 9"):
        transfer_weights([0, 1], [0, 1], [0, 0], learn=9)
    with pytest.raises(InvalidTable, match=r"hold 50\.00%"):
        transfer_weights([0, 1], [0, 1], [0, 1], learn=0, target=[0, 1])
    with pytest.raises(InvalidNumber, match="response of numbers"):
        transfer_weights([0, 1], ["u", "v"], [0, 0], learn=0, bins=3)
    with pytest.raises(InvalidNumber, match="one value a record"):
        transfer_weights([0, 1], [1], [0, 0], learn=0)
