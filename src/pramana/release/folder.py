"""A release folder appears whole or not at all.

Everything is written into a hidden folder beside the place, flushed to the disk, and moved there in
one step. Whatever stops the process before that step leaves no release.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from pramana.errors import InputError, NotARelease, OutputExists
from pramana.release.certificate import Certificate, DataFile
from pramana.release.signing import sign

__all__ = ["CERTIFICATE", "fingerprint", "require_free", "write_folder"]

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
    write_data: Callable[[Path], object],
    *,
    data_name: str,
    data_format: str,
    force: bool = False,
    sign_with: Path | None = None,
) -> Certificate:
    """Write data and certificate so that both appear together; returns the finished certificate."""
    folder = folder.absolute()
    require_free(folder, force=force)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        data = work / data_name
        write_data(data)
        done = certificate.with_data(fingerprint(data, data_format))
        if sign_with is not None:
            done = sign(done, sign_with)
        (work / CERTIFICATE).write_bytes(done.to_bytes())
        for path in (data, work / CERTIFICATE, work):
            _flush(path)
        work.chmod(0o755)
        _move(work, folder)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return done


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


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _move(work: Path, folder: Path) -> None:
    """Into place; an old release is moved aside first and removed only when the new one stands."""
    if not folder.exists():
        work.rename(folder)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
    folder.rename(aside / folder.name)
    try:
        work.rename(folder)
    except BaseException:
        (aside / folder.name).rename(folder)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
