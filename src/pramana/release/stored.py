"""A release folder: how the certificate and the records beside it are written and found again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pramana.engines.choose import write_opened
from pramana.errors import NotARelease
from pramana.formats.base import FORMATS
from pramana.formats.opening import open_own
from pramana.release.certificate import Certificate, DataFile
from pramana.release.contents import file_path, read_certificate
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
    copies: Sequence[TableFormat] = (),
) -> None:
    """Write a release folder from a certificate and a function that writes the data file.

    Copies in further formats are made of the data file, through the door that it went through.
    """
    known = [name for name, member in FORMATS.items() if member.writes]
    for wanted in (file_format, *copies):
        if wanted not in known:
            raise NotARelease(f"A release can be written as {', '.join(known)}, not as {wanted!r}.")

    def copied(wanted: TableFormat) -> Callable[[Path, Path], int]:
        def write(data: Path, place: Path) -> int:
            opened = replace(open_own(data, schema=certificate.schema), labels=certificate.labels)
            return write_opened(opened, place, schema=certificate.schema, file_format=wanted)

        return write

    write_folder(
        folder,
        certificate,
        write_data,
        data_name=f"data{FORMATS[file_format].endings[0]}",
        data_format=file_format,
        force=force,
        sign_with=None if sign_with is None else Path(sign_with),
        copies={own: copied(own) for own in dict.fromkeys(copies) if own != file_format},
    )


def open_data(folder: Path, certificate: Certificate, copy: DataFile | None = None) -> OpenedTable:
    """The data that the certificate names, or a copy of them, and no other."""
    path = file_path(folder, copy or certificate.data)
    if path.is_file():
        with path.open("rb") as file:
            if file.read(4) == FIRST_FEATHER:
                raise NotARelease(f"{path.name} is of a form that no release is written in.")
    return open_own(path, schema=certificate.schema)
