"""What is published of tables that differ in one person's value differs in drawn values alone."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import pramana as pm
from tests.depth import DEEP
from tests.security.neighbours import CHANGES, Published, differences, publish, try_pairs, worlds

PAIRS = 60 if DEEP else 5


@pytest.mark.parametrize("change", CHANGES)
def test_neighbours_differ_in_drawn_values_alone(change: str, tmp_path: Path) -> None:
    done = try_pairs(change, PAIRS, tmp_path / "pair", seed=1)
    assert done.compared >= PAIRS
    assert not done.finds, "\n\n".join(done.finds)


@pytest.mark.parametrize("number", ["-1e300", "9" * 25])
@pytest.mark.parametrize("gone", ['""', "NA"])
def test_a_number_too_long_for_its_type_changes_nothing_else(number, gone, tmp_path: Path) -> None:
    """It made the column text, in which missing values of others were refused."""
    column = pm.Column("a", pm.Role.KEY, pm.Bins((-math.inf, 10, 20, math.inf)), missing="category")
    made, file = [], tmp_path / "people.csv"
    for first in (f"{float(number):.0f}", "5" if "-" in number else "25"):
        file.write_text(f"a\n{first}\n{gone}\n15\n{gone}\n", encoding="utf-8")
        plan = pm.design(pm.Schema((column,)), pm.DifferentialPrivacy(3), data=file)
        made.append(pm.protect(file, plan, seed=1).table)
    assert made[0].equals(made[1])


def test_the_command_in_a_process_of_its_own_obeys_the_same_law(tmp_path: Path) -> None:
    done = try_pairs("own category", 1, tmp_path / "pair", seed=1, road="process")
    assert not done.finds, done.finds[0]


def test_the_report_for_outsiders_is_the_same(tmp_path: Path) -> None:
    """The owner makes it beside the original data, and where nothing was kept nothing shows."""
    world = next(own for own in worlds("another value") if own.blind and own.container == "csv")
    one, two = (publish(world, own, tmp_path / "pair", seed=1, report=True) for own in (0, 1))
    assert "report.html" in one.files
    assert one.files == two.files


def test_a_difference_would_be_found() -> None:
    """Another name, another exit code, another byte of a text, more than the changed record."""
    world = next(own for own in worlds("case") if own.method == "retention" and own.listed)
    files = {
        "certificate.json": (
            b'{"data": {"sha256": "0", "size": 1}, "digest": "0", "guarantees": []}'
        ),
        "README.md": b"one",
        "data.csv": b'"a","s"\n"a","x"\n"b","y"\n"a","z"\n',
    }
    one = Published(0, files)
    assert not differences(world, one, Published(0, files))
    assert differences(world, one, Published(2)) == ["exit codes 0 and 2"]
    assert differences(world, one, Published(0, {**files, "more": b""})) == ["names of files"]
    assert differences(world, one, Published(0, {**files, "README.md": b"two"})) == ["README.md"]
    for data, found in {
        b'"a","s"\n"A","x"\n"b","y"\n"a","z"\n': [],
        b'"a","s"\n"b","x"\n"a","y"\n"a","z"\n': ["2 records of data.csv"],
        b'"a","s"\n"a","x"\n"b","y"\n"a","x"\n': ["columns ['s'] of data.csv"],
    }.items():
        other = Published(0, {**files, "data.csv": data})
        blind = found or (["records, though nothing was kept"] if world.blind else [])
        assert differences(world, one, other) == blind
    unquoted = Published(0, {**files, "data.csv": b'"a","s"\na,"x"\nb,"y"\na,"z"\n'})
    assert differences(world, one, unquoted)[0].startswith("types or encodings")
