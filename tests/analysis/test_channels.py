"""Channels against the Kronecker product written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.analysis.channels import Channels
from pramana.analysis.layout import Layout
from pramana.errors import NotCovered, SingularMatrix
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Dense, UniformMixture
from tests.analysis.worlds import columns, joint_step, kronecker, layout_of, mixtures


def mixed_mechanism(move: float = 0.25) -> Mechanism:
    """A joint step, a uniform mixture, a sparse matrix; the last column is released unchanged."""
    labels = columns((3, 2, 4, 3, 2))
    sparse = SparseRows.of(labels["d"], rows=[0, 1], columns=[2, 0], probabilities=[move, 0.1])
    mixture = UniformMixture.of(labels["c"], retention=0.4)
    return Mechanism((joint_step(), Step(("c",), mixture), Step(("d",), sparse)))


def membership(layout) -> np.ndarray:
    whole = np.eye(1)
    for axis in layout.axes:
        whole = np.kron(whole, axis.membership)
    return whole


@pytest.mark.parametrize(
    ("by", "where"),
    [
        ("abcde", {}),
        ("ace", {}),
        ("d", {"c": ["c1", "c3"]}),
        ("b", {"a": ["a0", "a2"], "d": ["d0"], "e": ["e1"]}),
    ],
)
@pytest.mark.parametrize("move", [0.25, 0.8])
def test_every_verb_agrees_with_the_matrix_written_out(by, where, move):
    """Second road: one dense matrix for all axes, and one for all merging and filtering.

    A small move leaves a sparse matrix with a sparse inverse, a large one does not.
    """
    layout = layout_of((3, 2, 4, 3, 2), mixed_mechanism(move), by=by, where=where)
    channels, whole = Channels(layout), kronecker(layout)
    table = np.random.default_rng(3).uniform(size=layout.shape)
    flat, undo = table.ravel(), np.linalg.inv(whole) @ membership(layout)

    assert np.allclose(channels.forward(table).ravel(), flat @ whole)
    assert np.allclose(channels.backward(table).ravel(), whole @ flat)
    assert np.allclose(channels.squared(table).ravel(), flat @ whole**2)
    assert np.allclose(channels.merge(table).ravel(), flat @ membership(layout))
    assert np.allclose(channels.solve(table).ravel(), flat @ undo)
    assert np.allclose(channels.spread(table).ravel(), flat @ undo**2)
    total = undo.sum(axis=1, keepdims=True)
    in_total = channels.in_total
    assert np.allclose(in_total.ravel(), total.ravel())
    members = membership(layout)
    squares = whole @ undo**2
    more, fewer = (part.ravel() for part in channels.one_more)
    # Who differs in the kept column e is no stranger: one is known not to be the other.
    kept = np.arange(len(members)) % 2
    for group in range(members.shape[1]):
        inside = members[:, group] > 0
        alike = np.isin(kept, kept[inside])
        own, outside = squares[inside, group] - 1, squares[~inside & alike, group]
        # Of several axes at once these are bounds: the worst of each need not go together.
        assert more[group] >= max(own.max() - outside.min(), 0) - 1e-9
        assert fewer[group] >= outside.max() - own.min() - 1e-9


def test_what_one_more_adds_is_exact_along_a_single_axis():
    """Of a joint step, of a mixture and of a sparse matrix, each by itself, whole and merged."""
    for by, where in (("c", {}), ("d", {}), ("ab", {}), ("a", {}), ("c", {"c": ["c1", "c3"]})):
        layout = layout_of((3, 2, 4, 3, 2), mixed_mechanism(), by=by, where=where)
        whole, members = kronecker(layout), membership(layout)
        squares = whole @ (np.linalg.inv(whole) @ members) ** 2
        more, fewer = (part.ravel() for part in Channels(layout).one_more)
        for group in range(members.shape[1]):
            inside = members[:, group] > 0
            own, outside = squares[inside, group] - 1, squares[~inside, group]
            least = min(outside.min(), own.min() + 1) if by != "d" else 0
            assert more[group] == pytest.approx(max(own.max() - least, 0), abs=1e-9)
            assert fewer[group] == pytest.approx(outside.max() - own.min(), abs=1e-9)


@given(
    st.lists(st.integers(2, 5), min_size=1, max_size=3),
    st.floats(0.05, 1.0),
    st.integers(0, 2**32 - 1),
)
def test_solving_undoes_applying(shape, retention, seed):
    """Law: solve(forward(x)) = x, and the total never changes."""
    channels = Channels(layout_of(shape, mixtures(shape, retention)))
    table = np.random.default_rng(seed).uniform(0, 100, size=shape)

    there = channels.forward(table)

    assert np.isclose(there.sum(), table.sum())
    assert np.allclose(channels.solve(there), table)


def test_each_stratum_is_undone_by_its_own_matrix():
    """By hand: retention 1 in stratum b0, 0.5 in b1; two values."""
    labels = columns((2, 2))
    step = Step(
        ("a",),
        strata=("b",),
        by_stratum={
            ("b0",): UniformMixture.of(labels["a"], retention=1.0),
            ("b1",): UniformMixture.of(labels["a"], retention=0.5),
        },
    )
    layout = layout_of((2, 2), Mechanism((step,)), by="a")
    table = np.array([[10.0, 30.0], [20.0, 50.0]])

    solved = Channels(layout).solve(table)

    # stratum b1: (30 - 80/4) / 0.5 = 20 and (50 - 20) / 0.5 = 60
    assert np.allclose(solved.ravel(), [10 + 20, 20 + 60])


def test_strata_without_a_matrix_are_refused():
    """Records of a stratum that the certificate does not know cannot be undone."""
    labels = columns((2, 2))
    step = Step(
        ("a",), strata=("b",), by_stratum={("b0",): UniformMixture.of(labels["a"], retention=0.5)}
    )
    layout = layout_of((2, 2), Mechanism((step,)), by="a")

    with pytest.raises(NotCovered, match="no matrix"):
        Channels(layout).solve(np.ones((2, 2)))


def test_a_singular_matrix_is_refused():
    """Retention 0: the release is pure noise."""
    channels = Channels(layout_of((3,), mixtures((3,), 0.0)))

    with pytest.raises(SingularMatrix):
        channels.solve(np.ones(3))


def test_a_dense_matrix_need_not_be_symmetric():
    """The adjoint is the transpose, not the matrix itself."""
    matrix = Dense.of(("a0", "a1"), [[0.875, 0.125], [0.25, 0.75]])
    channels = Channels(layout_of((2,), Mechanism((Step(("a",), matrix),))))

    assert channels.backward(np.array([1.0, 0.0])).tolist() == [0.875, 0.25]
    assert channels.forward(np.array([1.0, 0.0])).tolist() == [0.875, 0.125]


@pytest.mark.deep
def test_a_matrix_over_many_cells_is_undone_without_writing_it_out():
    """20,000 cells, each third one moves into a few: solved, with variances, in its own time."""
    size = 20_000
    sources = np.arange(30, size, 3)
    matrix = SparseRows.of(
        tuple(range(size)),
        rows=sources,
        columns=sources % 30,
        probabilities=np.full(len(sources), 0.01),
    )
    layout = Layout.of(
        ["cell"],
        labels={"cell": tuple(range(size))},
        mechanism=Mechanism((Step(("cell",), matrix),)),
    )
    channels = Channels(layout)
    truth = np.random.default_rng(1).poisson(5, size).astype(float)

    released = channels.forward(truth)

    assert np.allclose(channels.solve(released), truth)
    # A cell that is never left and receives from m others: sum_l P_kl B_lg^2 - 1 is its own error.
    variance = channels.spread(released) - truth
    inflow = np.bincount(sources % 30, weights=truth[sources], minlength=30)
    assert np.allclose(variance[:30], inflow * 0.01 * 0.99 / 0.99**2)


@pytest.mark.parametrize("by", ["a", "ab", "b"])
def test_what_one_more_adds_is_the_worst_of_the_strata(by):
    """By hand: nothing is added in stratum b0, where values stay; in b1 a1 mostly becomes a0."""
    labels = columns((3, 2))
    step = Step(
        ("a",),
        strata=("b",),
        by_stratum={
            ("b0",): UniformMixture.of(labels["a"], retention=1.0),
            ("b1",): Dense.of(labels["a"], [[1, 0, 0], [0.75, 0.25, 0], [0, 0, 1]]),
        },
    )
    more, fewer = Channels(layout_of((3, 2), Mechanism((step,)), by=by)).one_more
    # of a1 in b1 one in four shows itself and counts four times: 0.25 * 16 - 1 = 3 is added to a1,
    # and 0.25 * 3^2 + 0.75 = 3 to a0, where three of four stand
    if by == "ab":
        assert more.tolist() == [[0, 0], [0, 3], [0, 0]]
        assert fewer.tolist() == [[0, 3], [0, -3], [0, 0]]
    if by == "a":
        assert more.ravel().tolist() == [0, 3, 0]
        assert fewer.ravel().tolist() == [3, 0, 0]
    if by == "b":
        assert more.ravel().tolist() == [0, 0]
