"""Listed cells in little room: numbers packed into texts, there and back, and what is no text."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InvalidMatrix
from pramana.mechanisms.mechanism import matrix_from_json
from pramana.mechanisms.sparse_rows import ListedCells, listed_weights, packed, unpacked

numbers = st.lists(st.one_of(st.integers(0, 40), st.integers(0, 2**70)), max_size=30)


@given(numbers)
def test_packed_numbers_come_back(values):
    """Whatever the numbers are; the text has digits alone."""
    text = packed(values)

    assert unpacked(text) == values
    assert not text or text.replace("-", "").replace("_", "").isalnum()


def test_packed_numbers_by_hand():
    """Groups of two bits: 3 is 0 11, 0 is 0 00, 1 is 0 01, and 111 fills the second digit."""
    assert unpacked("CYP") == [3, 0, 1]  # 011000 001111


def test_small_numbers_take_few_digits():
    """A hundred flags take 34 digits, where lines of a list took eight letters each."""
    assert len(packed([1, 0] * 50)) == 1 + 34


@pytest.mark.parametrize("text", [" ", "A", "A0", "B", "B1*", "Cé", "B__", "BAAAAAAB" + "_" * 99])
def test_what_is_no_packed_text_is_refused(text):
    """Foreign digits, no size of a group, numbers that do not end, and one without end."""
    with pytest.raises(ValueError, match="packed numbers"):
        unpacked(text)


@pytest.mark.parametrize("text", ["nan", "0.", "1.5", "-1", "1  2", " 1", "1e-5", "1e400", "0"])
def test_what_is_no_weight_is_refused(text):
    """Weights are whole numbers above 0, or shares below 1 in one spelling."""
    with pytest.raises(ValueError, match="not weights"):
        listed_weights(text)


CELLS = list(itertools.product(("low", "middle", "high"), (3, 1, 2), (None, True)))
LISTS = {
    "every cell": CELLS,
    "some in the order of the columns": [CELLS[at] for at in (1, 4, 5, 9, 16)],
    "some in no order": [CELLS[at] for at in (9, 1, 16, 4, 5, 17)],
    "one column": ["b", "a", None, 7],
}


@pytest.mark.parametrize("labels", LISTS.values(), ids=LISTS)
def test_plain_form_keeps_order_types_and_integers(labels):
    """Shares and whole numbers as weights, rows that several cells share, and cells that stay."""
    size = len(labels)
    moves = np.array([2**61, 2**60 + 1, 3, 2**61, 2**60 + 1], dtype=np.uint64)
    matrix = ListedCells.from_moves(
        labels, rows=[0, 0, 1, 3, 3], columns=[1, 2, size - 1, 1, 2], moves=moves
    )
    form = json.loads(json.dumps(matrix.to_json()))
    again = matrix_from_json(form)

    assert isinstance(again, ListedCells)
    assert again.labels == matrix.labels
    assert [again.probability(*pair) for pair in itertools.product(labels, repeat=2)] == [
        matrix.probability(*pair) for pair in itertools.product(labels, repeat=2)
    ]
    assert again.to_json() == form


def test_every_cell_takes_no_room():
    """Cells are listed where some are left out, and not where all are there."""
    matrix = ListedCells.of(CELLS, rows=[0], columns=[1], probabilities=[0.02])

    assert matrix.to_json()["cells"] == ""
    assert matrix.to_json()["weights"] == "0.02"


@pytest.mark.parametrize(
    ("name", "value"),
    [("cells", "B9"), ("rows", ""), ("targets", packed([99])), ("which", packed([5])),
     ("weights", "0.5 0.9"), ("lengths", None), ("sources", [0])],
)  # fmt: skip
def test_a_broken_form_is_refused(name, value):
    """A list that ends too early, a place beyond the cells, a row of more than 1."""
    matrix = ListedCells.of(CELLS[:5], rows=[0, 0], columns=[1, 2], probabilities=[0.02, 0.5])
    with pytest.raises(InvalidMatrix):
        matrix_from_json(matrix.to_json() | {name: value})
