"""The test of independence keeps its level under randomisation, and has power."""

from __future__ import annotations

import numpy as np
import pytest

from pramana.analysis.independence import independence_test
from pramana.analysis.layout import Moments
from pramana.errors import NotCovered, SingularMatrix
from pramana.mechanisms.mechanism import Mechanism
from tests.analysis.worlds import joint_step, kronecker, layout_of, mixtures


def p_values(shares, layout, rng, *, records, times):
    expected = shares @ kronecker(layout)
    tables = rng.multinomial(records, expected / expected.sum(), size=times)
    return np.array(
        [
            independence_test(Moments.of_counts(table.reshape(layout.shape)), layout).p_value
            for table in tables
        ]
    )


def test_pearson_keeps_its_level_on_the_released_table():
    """2,000 releases of independent columns: 5 % are rejected, within 4 standard errors."""
    rng = np.random.default_rng(31)
    layout = layout_of((3, 4), mixtures((3, 4), 0.4))
    shares = np.outer(rng.dirichlet(np.ones(3) * 3), rng.dirichlet(np.ones(4) * 3)).ravel()

    values = p_values(shares, layout, rng, records=3000, times=2000)

    assert abs((values < 0.05).mean() - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 2000)


def test_likelihood_ratio_keeps_its_level_for_a_joint_step():
    """Quasi-independence among the five possible cells; 400 releases, 4 standard errors."""
    rng = np.random.default_rng(32)
    layout = layout_of((3, 2), Mechanism((joint_step(),)))
    shares = np.array([a * b for a, b in ((3, 1), (3, 2), (2, 1), (2, 2), (1, 1))], dtype=float)

    values = p_values(shares / shares.sum(), layout, rng, records=4000, times=400)

    assert abs((values < 0.05).mean() - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 400)


def test_pearson_on_a_joint_release_would_not_keep_its_level():
    """Why the likelihood ratio is needed: the joint matrix itself makes the release dependent."""
    layout = layout_of((3, 2), Mechanism((joint_step(),)))
    shares = np.array([3.0, 6, 2, 4, 1]) / 16
    truth, release = (
        layout.lay_out(1e6 * part)[:2] for part in (shares, shares @ kronecker(layout))
    )

    def pearson(table):
        expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
        return ((table - expected) ** 2 / expected).sum()

    assert pearson(truth) < 1e-6
    assert pearson(release) > 50  # 1 degree of freedom


@pytest.mark.parametrize("joint", [False, True])
def test_dependence_is_found(joint):
    """Strong dependence and 20,000 records: rejected every time."""
    rng = np.random.default_rng(33)
    if joint:
        layout, shares = layout_of((3, 2), Mechanism((joint_step(),))), [0.4, 0.1, 0.1, 0.3, 0.1]
    else:
        layout = layout_of((2, 3), mixtures((2, 3), 0.4))
        shares = [0.3, 0.1, 0.1, 0.05, 0.2, 0.25]

    assert (p_values(np.array(shares), layout, rng, records=20_000, times=30) < 1e-3).all()


def test_degrees_of_freedom_by_hand():
    """(3 - 1)(4 - 1) = 6 apart; 5 cells - 1 - 2 - 1 = 1 for the joint step."""
    apart = layout_of((3, 4), mixtures((3, 4), 0.4))
    joint = layout_of((3, 2), Mechanism((joint_step(),)))

    assert independence_test(Moments.of_counts(np.full((3, 4), 9)), apart).degrees == 6
    assert independence_test(Moments.of_counts(np.full(5, 9)), joint).degrees == 1


def test_what_the_test_does_not_cover_is_refused():
    """One column, a filter on a randomised column, a matrix that hides everything."""
    moments = Moments.of_counts(np.full((2, 3), 5))
    with pytest.raises(NotCovered, match="two columns"):
        independence_test(Moments.of_counts([5, 5]), layout_of((2,), mixtures((2,), 0.5)))
    weighted = Moments(moments.records, 2 * moments.w, 4 * moments.ww)
    assert independence_test(weighted, layout_of((2, 3), mixtures((2, 3), 0.5))).p_value > 0.9
    layout = layout_of((2, 3, 2), mixtures((2, 3, 2), 0.5), by="ab", where={"c": ["c0"]})
    with pytest.raises(NotCovered, match="filtered"):
        independence_test(Moments.of_counts(np.ones((2, 3, 2))), layout)
    with pytest.raises(SingularMatrix):
        independence_test(moments, layout_of((2, 3), mixtures((2, 3), 0.0)))
