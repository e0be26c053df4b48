"""A release folder: data, certificate and what explains them, all at once or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pramana.errors import InputError, InvalidTable, OutputExists
from pramana.files import whole_folder
from pramana.release.certificate import Certificate
from pramana.release.contents import CERTIFICATE, fingerprint
from pramana.release.explained import explanations
from pramana.release.signing import sign

__all__ = ["require_counted", "require_free", "write_explanations", "write_folder"]


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
        write_explanations(work, done)
    return done


def write_explanations(folder: Path, certificate: Certificate) -> None:
    """Write what the folder says about itself."""
    for name, content in explanations(certificate).items():
        (folder / name).write_bytes(content)


def require_counted(certificate: Certificate, released: int) -> None:
    """Refuse a release of other records than were counted."""
    if released != certificate.records:
        raise InvalidTable(
            f"{certificate.records:,} records were counted and {released:,} came to be released: "
            "the table changed meanwhile. Nothing was written."
        )


def _is_ours(folder: Path) -> bool:
    return (folder / CERTIFICATE).is_file() or not any(folder.iterdir())
