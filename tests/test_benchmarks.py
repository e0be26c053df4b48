"""The benchmarks run, on a small scale."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys

import pytest
from benchmarks import (
    __main__,
    _child,
    _measure,
    _report,
    clustering,
    crosstab,
    judging,
    mutants,
    peers,
    protect,
    shapes,
)


def _options(module, *arguments):
    parser = argparse.ArgumentParser()
    module.arguments(parser)
    return parser.parse_args(arguments)


@pytest.mark.deep
def test_protecting_is_compared_with_the_bare_engine():
    """Ratios to DuckDB's shuffled copy, each road in a process of its own."""
    roads = ["duckdb_shuffled", "protect", "retention"]
    result = protect.run(
        _options(protect, "--records", "20000", "--rounds", "1", "--roads", *roads)
    )

    assert len(result.rows) == 3
    assert 0 < float(result.rows[-1][-3]) < 100  # cores busy
    assert result.rows[0][4] == "1.00 x"  # processor seconds
    assert result.rows[0][2] == "1.00 x"
    assert all(float(row[-1]) > 0 for row in result.rows)


@pytest.mark.deep
def test_tables_of_other_shapes_are_compared_too():
    """Such as CSV to CSV."""
    result = shapes.run(_options(shapes, "--share", "1e-4", "--rounds", "1", "--shapes", "csv"))

    assert result.rows[0][4] == "1.00 x"
    assert all(float(row[3]) > 0 for row in result.rows)


@pytest.mark.deep
def test_peers_that_are_not_there_are_named():
    """What is compared with them is measured all the same."""
    few = ("--records", "2000", "--points", "60", "--people", "400")
    result = peers.run(_options(peers, *few))

    assert {"randomise", "k-anonymous table of 6 keys"} <= {row[0] for row in result.rows}


def test_only_benchmarks_are_offered():
    """A module that is a command of its own is not among them, and stops none of them."""
    found = __main__.modules()

    assert {"judge", "protect"} <= set(found)
    assert "walk" not in found
    assert all(hasattr(module, "run") for module in found.values())
    assert set(__main__.modules("judge")) == {"judge"}  # the others would load what they measure
    assert set(__main__.modules("walk")) == set(__main__.modules("nothing")) == set(found)


def test_a_road_that_fails_stops_the_benchmark(tmp_path):
    """A number is printed only for work that was done."""
    from benchmarks._measure import in_child

    with pytest.raises(SystemExit, match="failed"):
        in_child("benchmarks._roads", "protect", str(tmp_path / "none"), str(tmp_path / "out"))


def test_a_table_of_a_release_is_compared_with_the_bare_question():
    """One row a table, with the number of its cells."""
    result = crosstab.run(_options(crosstab, "--records", "20000", "--rounds", "1"))

    assert [row[1] for row in result.rows] == ["2", "10", "120", "30"]


@pytest.mark.deep
def test_large_clusterings_are_measured_in_a_process_of_their_own():
    """Seconds and memory, in a line."""
    assert clustering._in_child(300, 5).startswith("300 x 5, k = 5: ")


def test_results_are_written_with_the_machine_and_the_versions(tmp_path):
    """As Markdown, with the command that makes each table again."""
    parser = argparse.ArgumentParser()
    crosstab.arguments(parser)
    parser.set_defaults(records=20000, rounds=1)
    place = tmp_path / "RESULTS.md"
    _report.write({"crosstab": crosstab}, {"crosstab": parser}, names=["crosstab"], place=place)

    text = place.read_text()
    assert "cores" in text
    assert "duckdb" in text
    assert "| 120 |" in text
    assert "`python -m benchmarks crosstab`" in text


def test_one_part_is_written_anew_and_the_rest_stays(tmp_path, monkeypatch):
    """By the command that made each part."""
    place = tmp_path / "RESULTS.md"
    monkeypatch.setattr(_report, "RUNS", (("one", []), ("two", ["--fast"])))
    figures = iter("123")

    class Module:
        @staticmethod
        def run(_):
            return _measure.Result("Figures", ("what", "much"), [("it", next(figures))])

    modules = {"one": Module, "two": Module}
    parsers = {name: argparse.ArgumentParser() for name in modules}
    parsers["two"].add_argument("--fast", action="store_true")
    _report.write(modules, parsers, place=place)
    _report.write(modules, parsers, names=["one"], place=place)

    text = place.read_text()
    assert "| it | 1 |" not in text
    assert text.index("| it | 3 |") < text.index("`python -m benchmarks one`")
    assert text.index("| it | 2 |") < text.index("`python -m benchmarks two --fast`")
    assert text.count("## Figures") == 2


@pytest.mark.parametrize("wrong", [0, 3])
def test_what_does_not_hold_shows_in_the_exit_code(monkeypatch, wrong):
    """Whoever runs faults or mutations in a script need not read the table."""

    class Module:
        """Trials of which some went wrong."""

        arguments = staticmethod(lambda _: None)
        run = staticmethod(lambda _: _measure.Result("Trials", ("what",), wrong=wrong))

    monkeypatch.setattr("benchmarks.__main__.modules", lambda _: {"trials": Module})
    monkeypatch.setattr("sys.argv", ["benchmarks", "trials"])
    with pytest.raises(SystemExit) as left:
        __main__.main()
    assert left.value.code == (wrong > 0)


def test_parts_that_do_not_exist_are_refused(monkeypatch, capsys):
    """Instead of writing nothing without a word."""
    monkeypatch.setattr("sys.argv", ["benchmarks", "--write", "nosuch"])
    with pytest.raises(SystemExit):
        __main__.main()

    assert "not nosuch" in capsys.readouterr().err


def test_memory_is_that_of_the_process_alone():
    """A parent that holds much does not make its children look large."""
    ballast = bytearray(300 * 2**20)
    ballast[:: 2**12] = b"x" * len(ballast[:: 2**12])
    run = _measure.in_child("benchmarks._measure")

    assert 2**20 < run.peak < 200 * 2**20
    assert _child.peak_memory() > 300 * 2**20
    assert ballast[0]


def test_memory_is_that_of_copies_too_and_what_they_share_counts_once():
    """60 MiB that both have, and 40 that each has for itself."""
    code = (
        "import os, sys; shared = b'x' * (60 << 20); os.fork(); own = b'y' * (40 << 20); "
        "os.write(1, b'.'); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        assert os.read(process.stdout.fileno(), 1) == b"."
        assert os.read(process.stdout.fileno(), 1) == b"."
        held = _measure.held_by(process.pid) / 2**20
        process.stdin.close()

    assert 140 < held < 175


@pytest.mark.deep
def test_verbs_that_judge_a_release_are_measured():
    """A command in a process of its own, by the people that it is asked about."""
    small = ("--records", "400", "--commands", "linkage")
    result = judging.run(_options(judging, *small))

    assert [row[:2] for row in result.rows] == [("linkage", "400")]
    assert float(result.rows[0][3]) > 0


def test_every_mutant_can_still_be_made():
    """Each text stands once in its file, and the tests are there; sixty are kept at least."""
    listed = mutants.mutants()
    assert len(listed) >= 60
    for mutant in listed:
        text = (mutants.SOURCE / mutant.file).read_text()
        assert mutant.applied(text) != text
        assert all((mutants.ROOT / file).is_file() for file in mutant.tests.split())


@pytest.mark.deep
def test_a_mutant_is_killed_and_a_change_without_effect_survives(tmp_path):
    """By the tests of one file, on a copy of the source tree."""
    copy = tmp_path / "pramana"
    shutil.copytree(mutants.SOURCE, copy)
    tests = "tests/test_numeric.py"
    bad = mutants.Mutant(
        "base/rounding.py", "return -float_up(-exact)", "return float_up(exact)", tests
    )
    assert mutants.tried(bad, copy) == "killed"
    assert mutants.tried(bad._replace(new="return -1 * float_up(-exact)"), copy) == "survived"
