"""The test of independence keeps its level under randomisation, and has power."""

from __future__ import annotations

import numpy as np
import pytest

from pramana.analysis.association import chi_square_tail, independence_test
from pramana.analysis.layout import Moments
from pramana.errors import NotCovered, SingularMatrix
from pramana.mechanisms.mechanism import Mechanism
from tests.analysis.worlds import joint_step, kronecker, layout_of, mixtures, moments_of_counts


def p_values(shares, layout, rng, *, records, times):
    expected = shares @ kronecker(layout)
    tables = rng.multinomial(records, expected / expected.sum(), size=times)
    return np.array(
        [
            independence_test(moments_of_counts(table.reshape(layout.shape)), layout).p_value
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


@pytest.mark.deep
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

    assert independence_test(moments_of_counts(np.full((3, 4), 9)), apart).degrees == 6
    assert independence_test(moments_of_counts(np.full(5, 9)), joint).degrees == 1


def test_what_the_test_does_not_cover_is_refused():
    """One column, a filter on a randomised column, a matrix that hides everything."""
    moments = moments_of_counts(np.full((2, 3), 5))
    with pytest.raises(NotCovered, match="two columns"):
        independence_test(moments_of_counts([5, 5]), layout_of((2,), mixtures((2,), 0.5)))
    weighted = Moments(moments.records, 2 * moments.w, 4 * moments.ww)
    assert independence_test(weighted, layout_of((2, 3), mixtures((2, 3), 0.5))).p_value > 0.9
    layout = layout_of((2, 3, 2), mixtures((2, 3, 2), 0.5), by="ab", where={"c": ["c0"]})
    with pytest.raises(NotCovered, match="filtered"):
        independence_test(moments_of_counts(np.ones((2, 3, 2))), layout)
    with pytest.raises(SingularMatrix):
        independence_test(moments, layout_of((2, 3), mixtures((2, 3), 0.0)))


@pytest.mark.parametrize(
    ("records", "shape", "times", "method"),
    [(200, (15, 15), 120, "permutation"), (6_000, (60, 60), 300, "moments")],
)
@pytest.mark.deep
def test_sparse_tables_keep_the_level(records, shape, times, method):
    """Of independent columns with many rare values 5 % are rejected, within 3.3 standard errors.
    A chi-square rejects in 0.15 and more of them."""
    rng = np.random.default_rng(3)
    layout = layout_of(shape, mixtures(shape, 0.9))
    own, plain = [], []
    for _ in range(times):
        rows, columns = (rng.dirichlet(np.full(size, 0.15)) for size in shape)
        chances = np.outer(rows, columns).ravel()
        released = rng.multinomial(records, chances).reshape(shape)
        test = independence_test(moments_of_counts(released), layout)
        if test.method == method:
            own.append(test.p_value < 0.05)
            plain.append(chi_square_tail(test.statistic, test.degrees) < 0.05)

    assert len(own) > 0.9 * times
    assert np.mean(own) < 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / len(own))
    assert np.mean(plain) > np.mean(own)


def test_the_p_value_of_a_small_table_is_fishers():
    """Of two by two, the statistic orders tables as the hypergeometric law does."""
    from scipy.stats import hypergeom

    layout = layout_of((2, 2), Mechanism(()))
    table = np.array([[7.0, 1.0], [2.0, 6.0]])
    test = independence_test(moments_of_counts(table), layout)
    exact = sum(hypergeom.pmf(k, 16, 8, 9) for k in range(10) if abs(k - 4.5) >= 2.5)

    assert test.method == "permutation"
    assert "expected counts are small" in test.why
    assert test.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 2000))


def test_a_dependence_is_found_in_a_sparse_table():
    """Each value of one column goes with one value of the other."""
    layout = layout_of((12, 12), Mechanism(()))
    test = independence_test(moments_of_counts(np.diag(np.full(12, 3.0)) + 0.0), layout)

    assert test.p_value == pytest.approx(1 / 2000)
