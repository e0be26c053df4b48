"""The benchmarks run, on a small scale."""

from __future__ import annotations

import argparse

import pytest
from benchmarks import protect, sampler


def _options(module, *arguments):
    parser = argparse.ArgumentParser()
    module.arguments(parser)
    return parser.parse_args(arguments)


def test_the_sampler_is_measured_on_both_roads():
    """Every family has a speed by arrays and a compiled one."""
    result = sampler.run(_options(sampler, "--values", "20000", "--rounds", "1"))

    assert [row[0] for row in result.rows][:3] == [
        "uniform mixture",
        "dense",
        "identity plus sparse",
    ]
    assert "million values a second" in result.text()


def test_protecting_is_compared_with_the_bare_engine():
    """Ratios to DuckDB's shuffled copy, each road in a process of its own."""
    roads = ["duckdb_shuffled", "pramana"]
    result = protect.run(
        _options(protect, "--records", "20000", "--rounds", "1", "--roads", *roads)
    )

    assert len(result.rows) == 2
    assert result.rows[0][2] == "1.00 x"
    assert all(float(row[-1]) > 0 for row in result.rows)


def test_a_road_that_fails_stops_the_benchmark(tmp_path):
    """A number is printed only for work that was done."""
    from benchmarks._measure import in_child

    with pytest.raises(SystemExit, match="failed"):
        in_child("benchmarks._roads", "pramana", str(tmp_path / "none"), str(tmp_path / "out"))
