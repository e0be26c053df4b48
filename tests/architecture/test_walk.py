"""``docs/architecture.md`` lists the hops of protect and of an estimate: they are walked here."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks.walk import walk

import pramana as pm

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
HOP = re.compile(r"^\| (\d+) \| `([^`]+)` \| `([^`]+)` \|", re.MULTILINE)


def hops(title: str) -> list[str]:
    """The hops of a section, numbered from 1 without a gap."""
    found = HOP.findall(PAGE.split(f"\n## {title}, hop by hop\n")[1].split("\n## ")[0])
    assert [int(number) for number, _, _ in found] == list(range(1, len(found) + 1))
    return [f"{file} {function}" for _, file, function in found]


def missed(wanted: list[str], entered: list[tuple[int, str]]) -> list[str]:
    """The hops that were not entered after the one before them."""
    places = iter(place for _, place in entered)
    return [hop for hop in wanted if not any(place == hop for place in places)]


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[int, str]]]:
    """A small table to a folder, and a table from it."""
    people = pa.table({"sex": ["F", "M"] * 100, "age": [1, 2, 3, 4] * 50})
    plan = pm.design(
        pm.describe(people, keys=["sex", "age"]),
        pm.PkAnonymity(k=3),
        data=people,
        method="retention",
    )
    folder = tmp_path_factory.mktemp("walk") / "release"
    release, protected = walk(lambda: pm.protect(people, plan, to=folder, file_format="csv"))
    _, estimated = walk(lambda: release.crosstab("sex", "age"))
    return {"`protect`": protected, "An estimate": estimated}


@pytest.mark.parametrize(("title", "number"), [("`protect`", 16), ("An estimate", 10)])
def test_the_hops_of_the_page_are_those_that_are_walked(walked, title, number) -> None:
    """In this order, and as many as the page says."""
    wanted = hops(title)
    assert len(wanted) == number
    assert not missed(wanted, walked[title])


def test_a_hop_out_of_order_is_found(walked) -> None:
    """The test above can fail."""
    wanted = hops("`protect`")
    assert missed([*wanted[5:], *wanted[:5]], walked["`protect`"])
