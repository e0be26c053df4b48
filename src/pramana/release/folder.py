"""A release folder: data and certificate, which appear together or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from pramana.errors import InputError, InvalidTable, NotARelease, OutputExists
from pramana.formats.atomic import whole_folder
from pramana.release.certificate import Certificate, DataFile
from pramana.release.signing import sign

__all__ = ["CERTIFICATE", "fingerprint", "require_counted", "require_free", "write_folder"]

CERTIFICATE = "certificate.json"


def require_free(folder: Path, *, force: bool) -> None:
    """Refuse a place that is taken, before any work is done."""
    if folder.exists() and not force:
        raise OutputExists(
            f"{folder} exists already. Choose another place, or replace it with --force."
        )
    if folder.exists() and not (folder.is_dir() and _is_ours(folder)):
        raise OutputExists(
            f"{folder} is not a release folder, and --force replaces nothing else. "
            "Choose another place."
        )
    if not folder.absolute().parent.is_dir():
        raise InputError(f"The folder {folder.absolute().parent} must exist to hold the release.")


def write_folder(
    folder: Path,
    certificate: Certificate,
    write_data: Callable[[Path], int],
    *,
    data_name: str,
    data_format: str,
    force: bool = False,
    sign_with: Path | None = None,
) -> Certificate:
    """Write data and certificate so that both appear together; returns the finished certificate.

    ``write_data`` gives the number of records that it wrote, which must be that of the certificate.
    """
    folder = folder.absolute()
    require_free(folder, force=force)
    with whole_folder(folder) as work:
        data = work / data_name
        require_counted(certificate, write_data(data))
        done = certificate.with_data(fingerprint(data, data_format))
        if sign_with is not None:
            done = sign(done, sign_with)
        (work / CERTIFICATE).write_bytes(done.to_bytes())
    return done


def require_counted(certificate: Certificate, released: int) -> None:
    """Refuse a release of other records than were counted."""
    if released != certificate.records:
        raise InvalidTable(
            f"{certificate.records:,} records were counted and {released:,} came to be released: "
            "the table changed meanwhile. Nothing was written."
        )


def fingerprint(path: Path, data_format: str) -> DataFile:
    """Name, form, size and SHA-256 of a data file, or of a folder of data files.

    That of a folder is the SHA-256 of the list of its files: a line with digest, size and name
    each, in the order of the names. So a file more, less, renamed or changed is found.
    """
    try:
        if not path.is_dir():
            return DataFile(path.name, data_format, _digest(path), path.stat().st_size)
        files = sorted(path.iterdir(), key=lambda file: file.name)
        sizes = [file.stat().st_size for file in files]
        lines = [
            f"{_digest(file)} {size} {file.name}\n" for file, size in zip(files, sizes, strict=True)
        ]
    except OSError:
        raise NotARelease(f"The data file {path.name} of the release cannot be read.") from None
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    return DataFile(path.name, data_format, digest, sum(sizes))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_ours(folder: Path) -> bool:
    return (folder / CERTIFICATE).is_file() or not any(folder.iterdir())
