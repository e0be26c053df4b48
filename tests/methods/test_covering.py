"""The covering by a first-order method: what it says of itself, judged by a linear program.

The judge is written from the program: targets at cost 2, leaving at its curved cost in many pieces,
what leaves supplies, and every need met.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from pramana.methods.optimal.covering import Saddle, curved

MOST = 0.9
ENDS = np.linspace(0, MOST, 181)


def world(seed, rows=40, targets=60, movers=25, uncovered=2):
    """Needs of random combinations, some of them covered by no target."""
    generator = np.random.default_rng(seed)
    alpha = 0.1
    covers = (generator.random((rows, targets)) < 0.15).astype(float)
    covers[:uncovered] = 0
    covers[uncovered:, 0] = 1
    inside = generator.random((rows, movers)) < 0.1
    inside[:uncovered] = False
    inside[:uncovered, :uncovered] = np.eye(uncovered, dtype=bool)
    weight = generator.integers(1, 4, movers).astype(float)
    row, mover = np.nonzero(inside)
    row = np.concatenate([row, np.arange(uncovered, rows)])
    mover = np.concatenate([mover, np.full(rows - uncovered, -1)])
    have = generator.uniform(1, 9, rows)
    have[:uncovered] = 8
    return Saddle(
        covers=sparse.csr_array(alpha * covers),
        leaves=sparse.csr_array(alpha * inside * weight),
        row=row,
        mover=mover,
        asked=1 - alpha * have[row],
        weight=weight,
        most=MOST,
    )


def exactly(saddle):
    """The least cost by a linear program, the curve joined at many points."""
    covers, leaves = saddle.covers.toarray(), saddle.leaves.toarray()
    targets, movers, pieces = covers.shape[1], leaves.shape[1], len(ENDS) - 1
    own = np.zeros((len(saddle.row), movers))
    has = saddle.mover >= 0
    own[has, saddle.mover[has]] = 1
    spread = np.kron(np.eye(movers), np.ones(pieces))
    need = np.hstack(
        [covers[saddle.row], (own - leaves[saddle.row]) @ spread, np.zeros((len(has), 1))]
    )
    supply = np.concatenate([np.zeros(targets), -np.repeat(saddle.weight, pieces), [1.0]])
    taken = np.concatenate([-np.ones(targets), np.zeros(movers * pieces), [1.0]])
    slope = np.diff(curved(ENDS)) / np.diff(ENDS)
    costs = [np.full(targets, 2.0), np.outer(saddle.weight, slope).ravel(), [-2.0]]
    answer = linprog(
        np.concatenate(costs),
        A_ub=np.vstack([-need, supply, taken]),
        b_ub=np.concatenate([-saddle.asked, [0.0, 0.0]]),
        bounds=[(0, None)] * targets
        + [(0, step) for step in np.tile(np.diff(ENDS), movers)]
        + [(0, None)],
    )
    return answer.fun if answer.status == 0 else None


@pytest.mark.parametrize("seed", range(6))
def test_cost_and_bound_hold_the_least_cost_between_them(seed):
    """The bound is below the least cost, the answer meets every need and costs little more."""
    saddle = world(seed)
    least, near = exactly(saddle), saddle.solve(within=0.01)
    assert near.least <= least * (1 + 1e-4)
    assert least * (1 - 1e-4) <= near.cost <= 1.01 * near.least * (1 + 1e-9)
    assert near.cost == pytest.approx(saddle.cost(near.inflow, near.leaving))
    assert (saddle.asked - saddle.have(near.inflow, near.leaving)).max() < 1e-7
    assert near.inflow.min() >= 0
    assert 0 <= near.leaving.min() <= near.leaving.max() <= MOST


def test_who_leaves_more_than_is_taken_is_paid_for_no_more_than_that():
    """Movers supply all that targets take: leaving beyond that costs, and the bound knows it."""
    saddle = world(3)
    saddle = Saddle(**{**vars_of(saddle), "weight": 40 * saddle.weight})
    least, near = exactly(saddle), saddle.solve(within=0.01)
    assert near.limit < 2
    assert near.least <= least * (1 + 1e-4)
    assert near.cost <= 1.05 * least


def vars_of(saddle):
    """The fields of a saddle point."""
    names = ("covers", "leaves", "row", "mover", "asked", "weight", "most")
    return {name: getattr(saddle, name) for name in names}


def test_needs_that_nothing_can_meet_have_no_answer():
    """A combination that no target covers and whose cell may not leave that often."""
    saddle = world(0)
    asked = saddle.asked.copy()
    asked[saddle.row == 0] = 0.95
    refused = Saddle(**{**vars_of(saddle), "asked": asked})
    assert exactly(refused) is None
    assert refused.solve(within=0.01) is None
