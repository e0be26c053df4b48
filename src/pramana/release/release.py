"""A release: a table and its certificate, in memory or in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from pramana.engines.choose import as_kind, write_opened
from pramana.errors import NotARelease, UnknownColumn
from pramana.formats.opening import open_table
from pramana.release.certificate import Certificate
from pramana.release.folder import CERTIFICATE, write_folder
from pramana.table.opened import OpenedTable, TableFormat

__all__ = ["FILE_ENDINGS", "Release", "load_release"]

FILE_ENDINGS = {
    "parquet": "parquet",
    "csv": "csv",
    "feather": "arrow",
    "sav": "sav",
    "dta": "dta",
}
"""The data file of a folder is called ``data`` with one of these endings, by format."""


@dataclass(frozen=True)
class Release:
    """What is published.

    Attributes:
        certificate: the claim.
        opened: the released records, readable in batches.
        like: the kind of data frame that went in, so that the same kind comes out.
        folder: where it lies, if it does.
    """

    certificate: Certificate
    opened: OpenedTable = field(repr=False)
    like: Any = field(default=None, repr=False, compare=False)
    folder: Path | None = None

    def __repr__(self) -> str:
        columns = ", ".join(self.opened.schema.names)
        return f"<Release: {self.records:,} records of {columns}>"

    def __str__(self) -> str:
        columns = ", ".join(self.opened.schema.names)
        return f"{self.records:,} released records of {columns}.\n{self.certificate}"

    @cached_property
    def table(self) -> Any:
        """The released records as the kind of data frame that went in (PyArrow from a folder)."""
        return as_kind(self.opened, self.like)

    @property
    def records(self) -> int:
        """The number of released records."""
        return self.certificate.records

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The released records in order."""
        for name in columns or ():
            if name not in self.opened.schema.names:
                raise UnknownColumn(
                    f"The release has no column '{name}'. It has: "
                    f"{', '.join(self.opened.schema.names)}."
                )
        return self.opened.batches(columns)

    def save(
        self,
        folder: str | Path,
        *,
        file_format: TableFormat = "parquet",
        force: bool = False,
        sign_with: str | Path | None = None,
    ) -> Release:
        """Write a release folder; it appears whole or not at all."""
        return write_release(
            self.certificate,
            lambda path: write_opened(self.opened, path, file_format=file_format),
            folder=Path(folder),
            file_format=file_format,
            force=force,
            sign_with=sign_with,
        )


def write_release(
    certificate: Certificate,
    write_data: Callable[[Path], object],
    *,
    folder: Path,
    file_format: TableFormat,
    force: bool = False,
    sign_with: str | Path | None = None,
) -> Release:
    """A release folder from a certificate and a function that writes the data file."""
    if file_format not in FILE_ENDINGS:
        raise NotARelease(
            f"A release can be written as {', '.join(FILE_ENDINGS)}, not as {file_format!r}."
        )
    write_folder(
        folder,
        certificate,
        write_data,
        data_name=f"data.{FILE_ENDINGS[file_format]}",
        data_format=file_format,
        force=force,
        sign_with=None if sign_with is None else Path(sign_with),
    )
    return load_release(folder)


def load_release(folder: str | Path) -> Release:
    """Open a release folder."""
    folder = Path(folder)
    certificate = read_certificate(folder)
    return Release(certificate, open_data(folder, certificate), folder=folder)


def read_certificate(folder: Path) -> Certificate:
    """The certificate of a folder."""
    try:
        content = (folder / CERTIFICATE).read_bytes()
    except OSError:
        raise NotARelease(
            f"{folder} must be a release folder with a {CERTIFICATE}, and has none."
        ) from None
    return Certificate.from_bytes(content)


def open_data(folder: Path, certificate: Certificate) -> OpenedTable:
    """The data file that the certificate names."""
    data = certificate.data
    if data is None or Path(data.name).name != data.name:
        raise NotARelease("The certificate must name the data file beside it, and does not.")
    if not (folder / data.name).exists():
        raise NotARelease(f"{folder} lacks the data file {data.name} that its certificate names.")
    return open_table(folder / data.name, schema=certificate.schema)
