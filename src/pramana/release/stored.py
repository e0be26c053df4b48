"""A release folder: how the certificate and the records beside it are written and found again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from pramana.errors import NotARelease
from pramana.formats.base import FORMATS
from pramana.formats.opening import open_own
from pramana.release.certificate import Certificate
from pramana.release.contents import data_path, read_certificate
from pramana.release.folder import write_folder
from pramana.table.opened import OpenedTable, TableFormat

FIRST_FEATHER: Final = b"FEA1"
"""The first Feather, in which the library believes every offset: for files of one's own only."""

__all__ = ["open_data", "read_certificate", "write_release"]


def write_release(
    certificate: Certificate,
    write_data: Callable[[Path], int],
    *,
    folder: Path,
    file_format: TableFormat,
    force: bool = False,
    sign_with: str | Path | None = None,
) -> None:
    """Write a release folder from a certificate and a function that writes the data file."""
    known = [name for name, member in FORMATS.items() if member.writes]
    if file_format not in known:
        raise NotARelease(
            f"A release can be written as {', '.join(known)}, not as {file_format!r}."
        )
    write_folder(
        folder,
        certificate,
        write_data,
        data_name=f"data{FORMATS[file_format].endings[0]}",
        data_format=file_format,
        force=force,
        sign_with=None if sign_with is None else Path(sign_with),
    )


def open_data(folder: Path, certificate: Certificate) -> OpenedTable:
    """The data that the certificate names, and no other."""
    path = data_path(folder, certificate)
    if path.is_file():
        with path.open("rb") as file:
            if file.read(4) == FIRST_FEATHER:
                raise NotARelease(f"{path.name} is of a form that no release is written in.")
    return open_own(path, schema=certificate.schema)
