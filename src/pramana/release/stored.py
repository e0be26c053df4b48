"""A release folder: how the certificate and the records beside it are written and found again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pramana.engine.choose import write_opened
from pramana.errors import InvalidTable, NotARelease
from pramana.io.base import BROKEN, FORMATS, Format, broken
from pramana.io.opening import open_own
from pramana.release.certificate import Certificate, DataFile, copy_name
from pramana.release.contents import CERTIFICATE, file_path, fingerprint, read_certificate
from pramana.release.folder import require_counted, write_explanations
from pramana.schema.opened_table import OpenedTable, TableFormat

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

__all__ = [
    "complete_folder",
    "data_name",
    "open_data",
    "read_certificate",
    "require_writable",
]


def require_writable(*formats: TableFormat) -> None:
    """Refuse formats that no release can be written in."""
    writable = [name for name, member in FORMATS.items() if member.writes]
    for name in formats:
        if name not in writable:
            raise NotARelease(
                f"A release can be written as {', '.join(writable)}, not as {name!r}."
            )


def data_name(file_format: TableFormat) -> str:
    """The name of the data file of a release."""
    return f"data{FORMATS[file_format].endings[0]}"


def complete_folder(
    work: Path,
    certificate: Certificate,
    *,
    file_format: TableFormat,
    sign_with: str | Path | None = None,
    copies: Sequence[TableFormat] = (),
) -> Certificate:
    """Write what goes beside the data file: copies, certificate, explanations.

    Args:
        work: the folder, with the data file in it.
        certificate: what is claimed about the records.
        file_format: of the data file.
        sign_with: a private key to sign the certificate with.
        copies: further formats to write the same records in.

    Returns:
        The certificate with the fingerprints of all data files.
    """
    data = work / data_name(file_format)
    others = [name for name in dict.fromkeys(copies) if name != file_format]
    fingerprints = [_written_copy(data, certificate, name, file_format) for name in others]
    finished = certificate.with_data(fingerprint(data, file_format), tuple(fingerprints))
    if sign_with is not None:
        from pramana.release.signing import sign  # loads the cryptography library

        finished = sign(finished, Path(sign_with))
    (work / CERTIFICATE).write_bytes(finished.to_bytes())
    write_explanations(work, finished)
    return finished


def _written_copy(
    data: Path, certificate: Certificate, wanted: TableFormat, file_format: TableFormat
) -> DataFile:
    """Write the records of the data file once more, in the format wanted."""
    opened = replace(open_own(data, schema=certificate.schema), labels=certificate.labels)
    place = data.parent / str(copy_name(wanted))
    try:
        written = write_opened(
            opened,
            place,
            schema=certificate.schema,
            file_format=wanted,
            sets=certificate.marks,
        )
    except InvalidTable as error:
        raise error.reworded(
            f"{error} Nothing was written. The release itself would be {file_format}: leave out "
            f"its copy as {wanted}.",
            copy=wanted,
        ) from None
    require_counted(certificate, written)
    return fingerprint(place, wanted)


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
