"""Which axes a table needs, and how its estimate is laid out."""

from __future__ import annotations

import numpy as np
import pytest

from pramana.analysis.layout import Layout
from pramana.errors import OutsideDomain, TooLarge
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import UniformMixture
from tests.analysis.worlds import columns, joint_step, layout_of, mixtures


def test_only_the_columns_asked_for_enter():
    """A two-way table of eight keys has two axes."""
    shape = (2, 3, 4, 2, 2, 2, 2, 2)

    layout = layout_of(shape, mixtures(shape, 0.5), by="ca")

    assert layout.columns == ("c", "a")
    assert layout.shape == (4, 2)


def test_tied_columns_enter_and_are_merged_again():
    """One column of a joint step brings the whole step in, and only itself comes out."""
    layout = layout_of((3, 2), Mechanism((joint_step(),)), by="b")

    assert layout.columns == ("a", "b")
    assert layout.shape == (5,)
    assert layout.grouped_shape == (2,)
    assert layout.axes[0].groups == (0, 1, 0, 1, 0)


def test_impossible_cells_are_laid_out_as_zero():
    """Five possible cells fill a table of six; the sixth is exactly 0."""
    layout = layout_of((3, 2), Mechanism((joint_step(),)))

    table = layout.lay_out(np.arange(1.0, 6.0))

    assert table.tolist() == [[1, 2], [3, 4], [5, 0]]


def test_the_order_asked_for_is_the_order_of_the_result():
    """Columns of one joint step may be asked for around another column."""
    mechanism = Mechanism((joint_step(), *mixtures((3, 2, 4), 0.5).steps[2:]))
    layout = layout_of((3, 2, 4), mechanism, by="bca")
    grouped = np.arange(20.0).reshape(5, 4)

    table = layout.lay_out(grouped)

    assert table.shape == (2, 4, 3)
    assert table[1, 2, 0] == grouped[1, 2]  # joint cell (a0, b1) is the second
    assert table[1, 2, 2] == 0  # (a2, b1) cannot exist


def test_a_filter_on_a_randomised_column_becomes_an_axis_of_one_group():
    """Filtered records are unknown, so the column must be undone before it is filtered."""
    layout = layout_of((2, 3), mixtures((2, 3), 0.5), by="a", where={"b": ["b1", "b2"]})

    assert layout.shape == (2, 3)
    assert layout.grouped_shape == (2, 1)
    assert layout.axes[1].groups == (-1, 0, 0)


def test_strata_of_a_matrix_enter():
    """A matrix that depends on a column needs that column, and it is summed out again."""
    labels = columns((2, 3))
    matrices = {
        (f"b{i}",): UniformMixture.of(labels["a"], retention=0.2 + 0.2 * i) for i in (0, 1, 2)
    }
    mechanism = Mechanism((Step(("a",), strata=("b",), by_stratum=matrices),))

    layout = layout_of((2, 3), mechanism, by="a")

    assert layout.columns == ("a", "b")
    assert layout.grouped_shape == (2, 1)


def test_codes_are_found_by_label_not_by_position():
    """A matrix may list its labels in another order than the column does."""
    matrix = UniformMixture.of(("a1", "a0"), retention=0.5)
    layout = layout_of((2,), Mechanism((Step(("a",), matrix),)))

    table = layout.table(np.array([[0], [1]]), [7, 9])

    assert table.tolist() == [9, 7]
    assert layout.lay_out(table).tolist() == [7, 9]


@pytest.mark.parametrize(
    ("by", "where", "error"),
    [
        (["a"], {"b": ["nowhere"]}, OutsideDomain),
        (["a"], {"b": []}, OutsideDomain),
    ],
)
def test_questions_that_have_no_answer_are_refused(by, where, error):
    """Filters that select no value of the domain."""
    with pytest.raises(error):
        Layout.of(by, labels=columns((2, 3)), mechanism=mixtures((2, 3), 0.5), where=where)


def test_a_hundred_million_cells_are_refused_with_number_and_advice():
    """The message names the number of cells and what to do."""
    shape = (100, 100, 100, 100)

    with pytest.raises(TooLarge, match=r"100,000,000 cells.*fewer columns"):
        layout_of(shape, mixtures(shape, 0.5))


def test_combinations_that_no_matrix_knows_are_refused_by_number():
    """Released records in an impossible cell: their number is named, never their values."""
    layout = layout_of((3, 2), Mechanism((joint_step(),)))

    with pytest.raises(OutsideDomain, match="released data hold combinations of"):
        layout.table(np.array([[2, 1]]), [3])
