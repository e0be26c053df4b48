"""The files that Spark's workers have written, made into the data of a release."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.errors import InvalidTable

__all__ = ["finished_parts"]

MARKS: Final = (".crc", "_SUCCESS")


def finished_parts(folder: Path, *, records: int) -> None:
    """Drop what is not data, check that all records are there, name parts by their number.

    Spark's names hold a number that differs from run to run. The order of the names is the order
    of the records.
    """
    parts = []
    for place in sorted(folder.iterdir()):
        if place.name.endswith(MARKS):
            place.unlink()
        else:
            parts.append(place)
    _require_all(parts, records)
    digits = len(str(len(parts)))
    for number, place in enumerate(parts):
        _to_disk(place)
        place.rename(folder / f"part-{number:0{max(5, digits)}}.parquet")
    folder.chmod(0o755)
    _to_disk(folder)


def _require_all(parts: list[Path], records: int) -> None:
    """Workers on other machines may have written to disks of their own."""
    try:
        found = sum(pq.read_metadata(part).num_rows for part in parts)
    except (pa.ArrowException, OSError):
        found = -1
    if found != records:
        raise InvalidTable(
            f"All {records:,} records must lie in the release folder when the workers are done, "
            f"and {max(found, 0):,} do. Choose a folder that the driver and every worker share."
        )


def _to_disk(place: Path) -> None:
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
