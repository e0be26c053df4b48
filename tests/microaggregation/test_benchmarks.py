"""The benchmark of clustering runs, on a small scale and on generated tables."""

from __future__ import annotations

import argparse

import pytest
from benchmarks import clustering


def options(module, *arguments):
    parser = argparse.ArgumentParser()
    module.arguments(parser)
    return parser.parse_args(arguments)


@pytest.fixture(autouse=True)
def _no_data(monkeypatch):
    monkeypatch.delenv("PRAMANA_DATA", raising=False)


@pytest.mark.deep
def test_clustering_is_compared_with_mdav_and_greedy():
    """A row a table and k, with ratios below 1, and a summary."""
    result = clustering.run(options(clustering, "--k", "3", "--rows", "600"))

    assert len(result.rows) == 3
    assert all(float(row[6]) < 1 and float(row[7]) < 1 for row in result.rows)
    assert "average" in result.notes[0]


@pytest.mark.deep
def test_speed_is_measured_in_a_process_of_its_own():
    """Seconds and memory for a number of records."""
    line = clustering._child(2000, 5).text()

    assert line.startswith("2,000 x 5, k = 5: ")
    assert line.endswith("GiB")
