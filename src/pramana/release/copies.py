"""Copies of the released records in further formats: as stated, and of the same records."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa

from pramana.errors import PramanaError
from pramana.formats.output import in_groups
from pramana.formats.round_trip import require_same
from pramana.release.certificate import Certificate, DataFile
from pramana.release.checks import Check
from pramana.release.contents import file_path, fingerprint
from pramana.release.stored import open_data
from pramana.table.opened import OpenedTable

__all__ = ["copies_checked"]


def copies_checked(folder: Path, certificate: Certificate) -> Iterator[Check]:
    """One check a copy: every byte, and then every value beside that of the data file."""
    for copy in certificate.copies:
        name = f"copy {copy.name}"
        try:
            same = fingerprint(file_path(folder, copy), copy.format) == copy
            detail = "" if same else "does not have the SHA-256 that the certificate states"
            if same and not _same_records(folder, certificate, copy):
                same, detail = False, "holds other records than the data file"
        except PramanaError as error:
            same, detail = False, str(error)
        yield Check.of(name, same, detail or "the same records in the same order")


def _same_records(folder: Path, certificate: Certificate, copy: DataFile) -> bool:
    pairs = zip_longest(
        _groups(open_data(folder, certificate)), _groups(open_data(folder, certificate, copy))
    )
    for data, other in pairs:
        if data is None or other is None or data.column_names != other.column_names:
            return False
        try:
            require_same(data, other, copy.format)
        except PramanaError:
            return False
    return True


def _groups(opened: OpenedTable) -> Iterator[pa.Table]:
    return in_groups(opened.batches(), opened.schema)
