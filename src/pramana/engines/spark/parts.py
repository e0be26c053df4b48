"""The files that Spark's workers have written, made into the data of a release."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.errors import InvalidTable

__all__ = ["finished_parts", "part_name"]


def part_name(number: int) -> str:
    """The name of a part; the order of the names is the order of the records."""
    return f"part-{number:05}.parquet"


def finished_parts(folder: Path, written: Sequence[tuple[int, int]]) -> None:
    """Drop what repeated tasks left over, and check that all parts are there."""
    parts = {part_name(part): records for part, records in written if records}
    for place in folder.iterdir():
        if place.name not in parts:
            shutil.rmtree(place) if place.is_dir() else place.unlink()
    found = sum(_records(folder / name) for name in parts)
    if found != sum(parts.values()):
        raise InvalidTable(
            f"All {sum(parts.values()):,} records must lie in the release folder when the workers "
            f"are done, and {found:,} do. Choose a folder that the driver and every worker share."
        )


def _records(part: Path) -> int:
    """How many records a file has; workers may have written to disks of their own."""
    try:
        return int(pq.read_metadata(part).num_rows)
    except (pa.ArrowException, OSError):
        return 0
