"""The benchmarks of k-anonymity run, on a small scale and on generated tables."""

from __future__ import annotations

import argparse
import itertools

import numpy as np
import pytest
from benchmarks import clustering, floor, kanonymity

from pramana.microaggregation.groups import compact, within


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


def test_the_floor_is_below_every_partition_and_not_far():
    """Against all partitions of nine records into groups of three or more."""
    for number in range(4):
        points = np.random.default_rng(number).normal(size=(9, 2))
        partitions = [
            np.array(labels)
            for labels in itertools.product(range(3), repeat=9)
            if all(count == 0 or count >= 3 for count in np.bincount(labels, minlength=3))
        ]
        best = min(within(points, compact(labels)) for labels in partitions)
        low, groups = floor.floor(points, 3, [np.arange(9) // 3], 60.0)

        assert 0.9 * best < low <= best * (1 + 1e-9)
        assert groups > 3
