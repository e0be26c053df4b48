"""Frequencies that a matrix leaves unchanged in expectation."""

from __future__ import annotations

import numpy as np
import pytest

from pramana.analysis.counts import withheld_counts
from pramana.analysis.question import Question
from pramana.errors import InvalidTable, NotCovered
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Dense
from tests.analysis.worlds import layout_of, released


def invariant_world():
    """Symmetric flows T_i p_ij = F_ij leave expected frequencies unchanged."""
    truth = np.array([40, 60, 300, 600])
    flows = np.array([[0, 4, 8, 8], [4, 0, 8, 8], [8, 8, 0, 20], [8, 8, 20, 0]], dtype=float)
    values = flows / truth[:, None]
    values[np.diag_indices(4)] = 1 - values.sum(axis=1)
    matrix = Dense.of(("a0", "a1", "a2", "a3"), values)
    return truth, layout_of((4,), Mechanism((Step(("a",), matrix),)))


def test_counts_as_they_stand_are_unbiased_and_covered():
    """2,000 releases: unbiased, 95 % intervals hold in 93 to 97 %."""
    rng = np.random.default_rng(41)
    truth, layout = invariant_world()
    tables = released(truth, layout, rng, times=2000)

    values = layout.axes[0].step.matrix.values
    variance = truth @ (values * (1 - values))
    results = [withheld_counts(table, layout, error=np.sqrt(variance)) for table in tables]

    errors = tables.std(axis=0) / np.sqrt(len(tables))
    assert (np.abs(tables.mean(axis=0) - truth) < 4 * errors).all()
    held = np.mean([(r.low <= truth) & (truth <= r.high) for r in results])
    assert 0.93 < held < 0.97


def test_a_stated_variance_is_used_when_the_matrix_is_withheld():
    """The certificate may give the variances and keep the matrix."""
    layout = layout_of((3,), Mechanism(()))

    result = withheld_counts([10, 20, 30], layout, error=[2.0, 3.0, 3.5])
    wider = withheld_counts(
        [10, 20, 30], layout, error=[2.0, 3.0, 3.5], question=Question(infer="population")
    )

    assert result.method == "as released"
    assert result.se.tolist() == [2, 3, 3.5]
    assert (wider.se > result.se).all()


@pytest.mark.parametrize("infer", ["records", "population"])
def test_one_figure_for_all_values_is_no_excuse_for_the_rare(infer):
    """4,000 releases whose certificate states one figure, rounded up, for all values: intervals of
    rare values hold in 95 % or more, and are half as wide as that figure alone would make them.

    Every value of the rarest is new in each release (nobody stays), which varies as much as counts
    can; about the population the people are drawn anew as well.
    """
    rng = np.random.default_rng(5)
    shares = np.array([0.004, 0.02, 0.15, 0.826])
    n, stated = 2000, 20.0
    values = np.full((4, 4), 0.0) + shares  # t P = t, with nothing left of the truth
    layout = layout_of((4,), Mechanism(()))
    question = Question(infer=infer)
    held, wide = [], []
    for _ in range(4000):
        truth = rng.multinomial(n, shares) if infer == "population" else np.round(n * shares)
        own = truth / n if infer == "population" else values[0]
        table = rng.multinomial(n, own)
        found = withheld_counts(table, layout, error=stated, question=question)
        held.append((found.low <= n * shares) & (n * shares <= found.high))
        wide.append(found.high - found.low)
    assert (np.mean(held, axis=0) > 0.94).all()
    assert (np.mean(wide, axis=0)[:2] < 0.8 * 2 * 1.96 * stated).all()
    assert np.mean(wide, axis=0)[0] < (0.3 if infer == "records" else 0.45) * 2 * 1.96 * stated


def test_two_columns_are_refused():
    """Only one-way frequencies are unchanged; their dependence is not."""
    with pytest.raises(NotCovered, match="one column"):
        withheld_counts(np.ones((2, 2)), layout_of((2, 2), Mechanism(())), error=1.0)
    with pytest.raises(InvalidTable, match="released records"):
        withheld_counts([0, 0], layout_of((2,), Mechanism(())), error=1.0)
