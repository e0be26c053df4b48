"""Rosenblatt's transformation: forward, backward, and the two together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.base.randomness import Keystream
from pramana.errors import InvalidNumber
from pramana.microaggregation.anonymisation import draw_members
from pramana.microaggregation.clustering import cluster
from pramana.microaggregation.rosenblatt import Empirical, GaussianDither, NormalMixture
from pramana.types import FloatArray, IntArray

LEVEL = 1e-4
"""How often a sound sampler would fail one of these tests, had its seed not been fixed."""

tables = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=4, max_size=9
)


@dataclass(frozen=True, eq=False)
class CellDither:
    """Piecewise uniform over the cells of a group's values, by their frequency [Wei, eq. 10].

    Values are their ranks, and the cell of rank v reaches from v - 1/2 to v + 1/2. With this dither
    the whole road is resampling within the group [Wei, Thm 1].
    """

    labels: IntArray
    keys: Empirical

    def draw(self, keystream: Keystream) -> FloatArray:
        """A cell of the group, then a point of the cell."""
        n, d = self.keys.codes.shape
        cells = self.keys.codes[draw_members(self.labels, keystream)]
        inside = 1 - keystream.uniforms("k-anonymity/cell", 0, n * d).reshape(n, d)
        return cells - 0.5 + inside

    def forward(self, points: FloatArray) -> FloatArray:
        """Within a cell the distribution function of the mixture rises in a straight line."""
        n, d = points.shape
        cells = np.ceil(points - 0.5).astype(np.int64)
        inside = points + 0.5 - cells
        low, high = np.zeros(n, np.int64), np.full(n, len(self.keys.order))
        uniforms = np.empty((n, d))
        for j in range(d):
            begin, end = find(self.keys, cells[:, j], j, low, high)
            uniforms[:, j] = (begin - low + inside[:, j] * (end - begin)) / (high - low)
            low, high = begin, end
        return uniforms


def find(keys, codes, j, low, high):
    """Inside the runs low ... high of j shared keys, those where key j has these codes."""
    column = keys.codes[keys.order, j]
    at = [
        a + np.searchsorted(column[a:b], code) for a, b, code in zip(low, high, codes, strict=True)
    ]
    return keys.starts[j + 1, at].astype(np.int64), keys.ends[j + 1, at].astype(np.int64)


def transform(dither, keys, keystream):
    """For every record the record whose keys it takes: draw, forward, backward."""
    return keys.backward(dither.forward(dither.draw(keystream)))


def conditional(rows, prefix, j, value):
    """F(value | prefix) of key j by counting, as a fraction: below and up to the value."""
    run = [row for row in rows if row[:j] == prefix]
    below = sum(row[j] < value for row in run)
    upto = sum(row[j] <= value for row in run)
    return Fraction(below, len(run)), Fraction(upto, len(run))


def inverse(rows, uniforms):
    """The generalised inverse by its definition [Wei, eq. 8]: least value with F >= u."""
    prefix = ()
    for j, u in enumerate(uniforms):
        run = sorted({row[j] for row in rows if row[:j] == prefix})
        value = next(v for v in run if conditional(rows, prefix, j, v)[1] >= u)
        prefix = (*prefix, value)
    return prefix


@given(tables, st.lists(st.integers(1, 97), min_size=3, max_size=3))
def test_backward_is_the_generalised_inverse(rows, numerators):
    """The same record as the definition picks, on fractions."""
    uniforms = [Fraction(number, 97) for number in numerators]
    keys = Empirical.of(np.array(rows))

    found = keys.backward(np.array([[float(u) for u in uniforms]]))[0]
    assert rows[found] == inverse(rows, uniforms)


@given(tables, st.data())
def test_dither_inside_cells_is_resampling_exactly(rows, data):
    """[Wei, Thm 1]: forward and backward lead from every point of a cell to the cell's value.

    On fractions, by the definitions alone: so each value of a group comes out with exactly its
    frequency in the group, which is resampling with replacement.
    """
    donor = data.draw(st.sampled_from(rows))
    inside = [Fraction(data.draw(st.integers(1, 1000)), 1000) for _ in donor]
    uniforms = []
    for j, value in enumerate(donor):
        low, high = conditional(rows, donor[:j], j, value)
        uniforms.append(low + inside[j] * (high - low))

    assert inverse(rows, uniforms) == donor


@settings(max_examples=50)
@given(tables, st.integers(0, 10**6))
def test_the_road_through_cells_returns_what_was_drawn(rows, seed):
    """The compiled road in floating point agrees with the theorem, record by record."""
    keys = Empirical.of(np.array(rows))
    labels = np.arange(len(rows)) % 2
    stream = Keystream.from_seed(seed)

    found = transform(CellDither(labels, keys), keys, stream)
    drawn = draw_members(labels, stream)
    assert (keys.codes[found] == keys.codes[drawn]).all()


def test_both_ends_of_a_cell_stay_in_the_cell():
    """The point at the upper edge belongs to the cell, for runs of all lengths."""
    keys = Empirical.of(np.repeat(np.arange(50), np.arange(1, 51))[:, None])
    upper = np.arange(50.0)[:, None] + 0.5

    for points in (upper, upper - 1 + 1e-9, upper - 0.5):
        found = keys.backward(CellDither(np.zeros(1, np.int64), keys).forward(points))
        assert (keys.codes[found, 0] == np.arange(50)).all()


def test_the_expected_distribution_is_unchanged_exactly():
    """[Wei, Lemma 1] on fractions, with groups of the default clustering."""
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 3, size=(60, 2))
    labels = cluster(rows.astype(float), k=4)

    expected: dict[tuple[int, ...], Fraction] = {}
    for label in labels.tolist():
        members = rows[labels == label]
        for row in members.tolist():
            share = Fraction(1, len(members))
            expected[tuple(row)] = expected.get(tuple(row), Fraction(0)) + share
    values, counts = np.unique(rows, axis=0, return_counts=True)
    assert expected == {
        tuple(v): Fraction(c) for v, c in zip(values.tolist(), counts.tolist(), strict=True)
    }


def gaussian_setting():
    """20,000 records in 40 groups that lie anyhow."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 40, size=20_000)
    middle, lean = rng.normal(size=(40, 3)), rng.normal(size=(40, 3, 3)) / 2
    points = middle[labels] + np.einsum("nij,nj->ni", lean[labels], rng.normal(size=(20_000, 3)))
    return points, labels


def smallest_p_value(uniforms):
    """Smallest p-value: each margin by Kolmogorov and Smirnov, each pair by chi-square."""
    from scipy import stats

    values = [stats.kstest(uniforms[:, j], "uniform").pvalue for j in range(3)]
    cells = np.minimum((uniforms * 10).astype(int), 9)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        counts = np.bincount(10 * cells[:, i] + cells[:, j], minlength=100)
        values.append(stats.chisquare(counts).pvalue)
    return min(values)


def test_forward_gives_independent_uniform_numbers():
    """Margins and pairs at level 1e-4 over the six tests together."""
    points, labels = gaussian_setting()
    dither = GaussianDither(points, labels)
    uniforms = dither.forward(dither.draw(Keystream.from_seed(3)))

    assert ((uniforms > 0) & (uniforms < 1)).all()
    assert smallest_p_value(uniforms) > LEVEL / 6


def test_a_slightly_wrong_forward_is_noticed():
    """Teeth: an alpha of 0.5 where 1/3 was drawn, and the paper's minus sign, are rejected."""
    points, labels = gaussian_setting()
    right = GaussianDither(points, labels)
    drawn = right.draw(Keystream.from_seed(3))
    mixture = right.mixture()
    mirrored = mixture.covariances * np.outer([-1, 1, 1], [-1, 1, 1])  # -C_j,1 in place of C_j,1

    wrong = GaussianDither(points, labels, alpha=0.5)
    assert smallest_p_value(wrong.forward(drawn)) < LEVEL / 6
    minus = NormalMixture(mixture.weights, mixture.means, mirrored)
    assert smallest_p_value(minus.forward(drawn)) < LEVEL / 6


def test_forward_then_backward_keeps_the_joint_distribution():
    """Counts of the new keys against those of the old, chi-square at level 1e-4."""
    from scipy import stats

    rng = np.random.default_rng(4)
    codes = np.column_stack([rng.integers(0, 3, 20_000), rng.binomial(4, 0.4, 20_000)])
    codes[:, 1] = np.where(codes[:, 0] == 2, 4 - codes[:, 1], codes[:, 1])
    points = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    labels = cluster(codes + rng.normal(size=codes.shape), k=200)

    keys = Empirical.of(codes)
    found = transform(GaussianDither(points, labels), keys, Keystream.from_seed(5))
    old, new = (np.bincount(5 * c[:, 0] + c[:, 1], minlength=15) for c in (codes, codes[found]))
    assert stats.chisquare(new, old).pvalue > LEVEL


def test_alpha_must_spread():
    """Without spread the dither of equal records has no density."""
    with pytest.raises(InvalidNumber, match="alpha"):
        GaussianDither(np.zeros((4, 1)), np.zeros(4, np.int64), alpha=0.0)
