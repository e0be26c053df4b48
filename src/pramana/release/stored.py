"""A release folder: how the certificate and the records beside it are written and found again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pramana.engines.choose import write_opened
from pramana.errors import InvalidTable, NotARelease
from pramana.formats.base import BROKEN, FORMATS, Format, broken
from pramana.formats.opening import open_own
from pramana.release.certificate import Certificate, DataFile
from pramana.release.contents import file_path, read_certificate
from pramana.release.folder import write_folder
from pramana.table.opened import OpenedTable, TableFormat

REFUSED: Final = (b"FEA1", b"$FL3")
"""The first Feather, in which the library believes every offset, and SPSS files that are packed as
a whole: for files of one's own only."""

MODEST: Final = {"UNCOMPRESSED", "SNAPPY", "LZ4", "LZ4_RAW"}
"""How columns of a release may be packed: what these unpack is bounded by the size of the file."""

OF_WRITERS: Final = {
    b"ARROW:schema",
    b"PARQUET:field_id",
    b"org.apache.spark.version",
    b"org.apache.spark.sql.parquet.row.metadata",
}
"""What libraries that write Parquet say beside the records: types, and numbers of columns."""

MOST_RECORDS: Final = 5_000_000
MOST_A_BYTE: Final = 50
"""More records than this, beyond the first millions, hide in no byte that was drawn at random."""

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
            schema, marks = certificate.schema, certificate.marks
            try:
                return write_opened(opened, place, schema=schema, file_format=wanted, sets=marks)
            except InvalidTable as error:
                raise InvalidTable(
                    f"{error} Nothing was written. The release itself would be {file_format}: "
                    f"leave out its copy as {wanted}."
                ) from None

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
    data = copy or certificate.data
    path = file_path(folder, data)
    if data is None or data.format not in FORMATS or not FORMATS[data.format].writes:
        raise _foreign(path)
    if path.is_file():
        with path.open("rb") as file:
            if file.read(4) in REFUSED:
                raise _foreign(path)
    _require_modest(path, FORMATS[data.format])
    opened = open_own(path, schema=certificate.schema)
    if opened.rows > MOST_RECORDS + MOST_A_BYTE * data.size:
        raise NotARelease(f"{path.name} is too small for the records that it states.")
    return opened


def _foreign(path: Path) -> NotARelease:
    return NotARelease(f"{path.name} is of a form that no release is written in.")


def _require_modest(path: Path, member: Format) -> None:
    """Refuse what no release has: data packed too hard for any memory, words beside records."""
    try:
        packed, said = member.packing(path)
    except (*BROKEN, InvalidTable, LookupError, TypeError):
        raise broken(path) from None
    if not packed <= MODEST or not said <= OF_WRITERS:
        raise _foreign(path)
