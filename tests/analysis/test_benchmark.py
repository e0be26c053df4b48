"""The benchmark of the estimates runs, on a small scale, and finds what the pages say."""

from __future__ import annotations

import argparse

import pytest
from benchmarks import estimation


def result_of(*arguments):
    parser = argparse.ArgumentParser()
    estimation.arguments(parser)
    return estimation.run(parser.parse_args(arguments))


@pytest.fixture(autouse=True)
def _no_data(monkeypatch):
    monkeypatch.delenv("PRAMANA_DATA", raising=False)


def test_the_default_beats_every_other_method_on_the_four_way_table():
    """One release: inverse, clipped, plain EM and the pairwise model stand behind the default."""
    (row,) = result_of("--show", "four-way", "--draws", "1").rows

    *others, default = map(float, row[1:-1])
    assert default < min(others)


def test_coverage_is_measured():
    """A few releases each: numbers of the right kind come out."""
    coverage = result_of("--show", "coverage", "--draws", "3").rows

    assert len(coverage) == 17
    assert all(0 <= float(share) <= 1 for row in coverage for share in row[2:] if share != "-")


def test_coverage_where_few_move_stands_beside_what_is_forced():
    """Every class of sizes of every world has a row, and no law is left out."""
    rows = result_of("--show", "few", "--draws", "50").rows

    assert len(rows) > 30
    assert all(0 <= float(held) <= 1 for _, _, held, *_ in rows)
    assert all(float(least) <= float(both) + 0.03 for *_, least, both in rows)


@pytest.mark.deep
def test_association_is_measured_from_independent_to_strong():
    """One release of each pair: the default invents less dependence than clipping, and finds it."""
    rows = result_of("--show", "association", "--draws", "1").rows

    independent, strong = rows[0], rows[-1]
    assert float(independent[-2]) < 0.15 < float(independent[-3])
    assert float(independent[-1]) <= 0.35
    assert float(strong[6]) < min(float(strong[4]), float(strong[5]))


def test_real_data_are_asked_for():
    """Without a folder there is nothing to show."""
    with pytest.raises(SystemExit, match="--data"):
        result_of("--show", "errors")
