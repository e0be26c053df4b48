"""A release folder: how the certificate and the records beside it are written and found again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pramana.errors import NotARelease
from pramana.formats.base import FORMATS
from pramana.formats.opening import open_table
from pramana.release.certificate import Certificate
from pramana.release.contents import data_path, read_certificate
from pramana.release.folder import write_folder
from pramana.table.opened import OpenedTable, TableFormat

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
    return open_table(data_path(folder, certificate), schema=certificate.schema)
