"""The studio publishes two tables that differ in one person's value alike, but for drawn values."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tests.studio.conftest import Visitor

SCHEMA = """
[columns.sex]
role = "key"
categories = ["F", "M"]
[columns.children]
role = "key"
categories = [0, 1, 2]
missing_codes = ["N"]
missing = "category"
[columns.age]
role = "key"
bins = [0, 30, 60, 100]
release = "draw"
missing = "category"
"""
PEOPLE = [f"{'FM'[at % 2]},{at % 3},{20 + at % 60}" for at in range(200)]


def published(visitor: Visitor, folder: Path, name: str, last: str) -> Path:
    """The release of the people, the last of whom has other values."""
    text = "\n".join(["sex,children,age", *PEOPLE[:-1], last]) + "\n"
    (folder / f"{name}.csv").write_text(text)
    visitor.post("/open", {"file": f"{name}.csv"})
    visitor.part("/columns/list")
    visitor.session.change("Stated", schema=SCHEMA)
    visitor.post("/choose", {"method": "retention", "letter": "epsilon", "epsilon": "2"})
    visitor.post("/protect", {"release": name, "acknowledged": "yes"})
    assert "200 records are released" in visitor.part("/protect/made")
    return folder / name


def test_nothing_but_drawn_values_tells_neighbours_apart(visitor: Visitor, folder: Path) -> None:
    """A text code among numbers and an empty cell: types, encodings and texts stay the same."""
    one = published(visitor, folder, "first", "F,1,33")
    two = published(visitor, folder, "second", "F,N,")
    assert {path.name for path in one.iterdir()} == {path.name for path in two.iterdir()}
    assert settled(one / "certificate.json") == settled(two / "certificate.json")
    assert quoted(one / "data.csv") == quoted(two / "data.csv")
    for path in one.iterdir():
        if path.name not in ("certificate.json", "data.csv"):
            assert undigested(path) == undigested(two / path.name), path.name


def undigested(path: Path) -> str:
    """The text of a file without the digest of the drawn records."""
    digest = hashlib.sha256((path.parent / "data.csv").read_bytes()).hexdigest()
    return path.read_text().replace(digest, "")


def quoted(path: Path) -> list[set[bool]]:
    """Whether the cells of each column have quotes."""
    rows = [line.split(",") for line in path.read_text().splitlines()]
    return [{cell.startswith('"') for cell in column if cell} for column in zip(*rows, strict=True)]


def settled(path: Path) -> dict[str, object]:
    """A certificate without the checksums of drawn records."""
    certificate: dict[str, object] = json.loads(path.read_text())
    del certificate["digest"], certificate["data"]
    return certificate
