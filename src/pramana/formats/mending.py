"""A copy of a text file whose columns have names that differ."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from pramana.errors import InvalidTable
from pramana.files import whole_file
from pramana.formats.base import FORMATS
from pramana.formats.csv_dialect import find_dialect

__all__ = ["distinct_names", "mend_names"]


def distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """The same names; one that was there before gets a number that no other name has.

    >>> distinct_names(["a", "b", "a", "a_2"])
    ('a', 'b', 'a_3', 'a_2')
    """
    found: list[str] = []
    for name in names:
        number, own = 2, name
        while own in found or (own != name and own in names):
            own, number = f"{name}_{number}", number + 1
        found.append(own)
    return tuple(found)


def mend_names(path: str | Path, to: str | Path, *, encoding: str | None = None) -> Path:
    """Write a copy of a text file in which no two columns have one name; the file itself stays."""
    source, place = Path(path), Path(to)
    if source.suffix.lower() not in FORMATS["csv"].endings:
        raise InvalidTable(
            f"Names can be mended in text files, and {source.name} is none: rename them there."
        )
    dialect = find_dialect(source, encoding=encoding, distinct=False)
    with (
        whole_file(place) as part,
        source.open(encoding=dialect.encoding, newline="") as old,
        part.open("w", encoding=dialect.encoding, newline="") as new,
    ):
        for _ in range(dialect.header_lines):
            old.readline()
        writer = csv.writer(
            new,
            delimiter=dialect.delimiter,
            quotechar=dialect.quote,
            escapechar=dialect.escape,
            doublequote=dialect.escape is None,
        )
        writer.writerow(distinct_names(dialect.names))
        while block := old.read(2**20):
            new.write(block)
    return place
