"""A copy of a text file whose columns have names that differ."""

from __future__ import annotations

import csv
from pathlib import Path

from pramana.errors import InvalidTable
from pramana.files import whole_file
from pramana.formats.base import FORMATS
from pramana.formats.csv_dialect import find_dialect
from pramana.formats.names import numbered_names

__all__ = ["mend_names"]


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
        writer.writerow(numbered_names(dialect.names))
        while block := old.read(2**20):
            new.write(block)
    return place
