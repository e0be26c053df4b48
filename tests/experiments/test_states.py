"""Real markets of the insurance experiment: shares of the states of a survey."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana.experiments.harness import Setting
from pramana.experiments.insurance import CELLS, NATION, SIZES, STATES_FILE, make_states


def test_a_tilt_is_the_share_of_a_state_over_that_of_the_nation(tmp_path):
    """By hand: 300 of A and 100 of B in two cells, with records of the nation added."""
    rows = [("A", "Male")] * 200 + [("A", "Female")] * 100 + [("B", "Female")] * 100
    table = pa.table(
        {
            "State": [state for state, _ in rows],
            "Gender": [sex for _, sex in rows],
            "Age": [30.0] * 400,
            "Education": ["Bachelor's degree"] * 400,
        }
    )
    pq.write_table(table, tmp_path / STATES_FILE)
    (name, tilt), (_, other) = make_states(2, Setting(tmp_path, "quick")).items()
    assert name == "A"
    cells = np.arange(CELLS).reshape(SIZES)
    male, female = cells[0, 1, 4], cells[1, 1, 4]
    assert tilt[male] == pytest.approx((200 + NATION / 2) / (300 + NATION) / 0.5)
    assert tilt[female] == pytest.approx((100 + NATION / 2) / (300 + NATION) / 0.5)
    assert other[male] == pytest.approx(NATION / 2 / (100 + NATION) / 0.5)
    assert tilt[cells[0, 0, 0]].tolist() == [1.0] * SIZES[3]  # nobody there: as in the nation


def test_without_their_records_there_are_no_states(tmp_path):
    """A folder of other data, or none."""
    assert make_states(2, Setting(tmp_path, "quick")) == {}
    assert make_states(2, Setting(None, "quick")) == {}
