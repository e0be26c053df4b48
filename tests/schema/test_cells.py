"""Several columns as one code, and back."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.schema import joint_cells as module
from pramana.schema.joint_cells import JointCells, cell_counts, cell_numbers, joint_groups

codes = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=30)


@given(rows=codes)
def test_numbers_and_counts_are_those_of_a_dictionary(rows):
    """Counted one by one."""
    columns = [np.array(column, np.uint8) for column in zip(*rows, strict=True)]
    assert cell_numbers(columns, (3, 4)).tolist() == [a * 4 + b for a, b in rows]
    counted = cell_counts(columns, (3, 4))
    assert all(counted[cell] == rows.count(cell) for cell in product(range(3), range(4)))


@given(rows=codes)
def test_groups_are_equal_records(rows):
    """Equal rows, and only those, share a number."""
    columns = [np.array(column, float) for column in zip(*rows, strict=True)]
    groups = joint_groups(columns).tolist()
    assert sorted(set(groups)) == list(range(len(set(rows))))
    assert len(set(zip(groups, rows, strict=True))) == len(set(rows))


@pytest.mark.parametrize("looked_up", [10**6, 0])
def test_cells_are_found_among_those_that_can_be(looked_up, monkeypatch):
    """Looked up or searched for; a combination that cannot be has no code."""
    monkeypatch.setattr(module, "LOOKED_UP", looked_up)
    joint = JointCells((("F", "M"), (1, 2, None)), (("M", 2), ("F", None), ("F", 1)))
    parts = [np.array([1, 0, 0, 1], np.uint8), np.array([1, 2, 0, 2], np.uint8)]
    assert joint.codes(parts).tolist() == [0, 1, 2, -1]
    assert [part.tolist() for part in joint.parts] == [[1, 0, 0], [1, 2, 0]]
