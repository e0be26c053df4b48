"""The benchmarks of k-anonymity run, on a small scale and on generated tables."""

from __future__ import annotations

import argparse

import pytest
from benchmarks import clustering, kanonymity


def options(module, *arguments):
    parser = argparse.ArgumentParser()
    module.arguments(parser)
    return parser.parse_args(arguments)


@pytest.fixture(autouse=True)
def _no_data(monkeypatch):
    monkeypatch.delenv("PRAMANA_DATA", raising=False)


def test_clustering_is_compared_with_mdav_and_greedy():
    """A row a table and k, with ratios below 1, and a summary."""
    result = clustering.run(options(clustering, "--k", "3", "--rows", "600"))

    assert len(result.rows) == 3
    assert all(float(row[6]) < 1 and float(row[7]) < 1 for row in result.rows)
    assert "average" in result.notes[0]


def test_speed_is_measured_in_a_process_of_its_own():
    """Seconds and memory for a number of records."""
    line = clustering._child(2000, 5).text()

    assert line.startswith("2,000 x 5, k = 5: ")
    assert line.endswith("GiB")


def test_releases_are_measured_by_k_and_method():
    """Permuting keeps all of the distribution, centroids lose it, none is found beyond 1/k."""
    asked = ("--k", "5", "50", "--trials", "15", "--rows", "500")
    result = kanonymity.run(options(kanonymity, *asked))

    rows = {(row[0], row[1]): row for row in result.rows}
    assert float(rows["permute", "50"][6]) == 1
    assert float(rows["centroid", "50"][6]) < 0.3
    assert all(row[5].startswith("0 of") for row in result.rows)
    assert all(float(row[3]) <= float(row[2]) for row in result.rows)
    fresh = float(result.notes[0].split()[-1].rstrip("."))
    assert all(float(row[6]) > fresh - 0.05 for row in result.rows if row[0] != "centroid")
