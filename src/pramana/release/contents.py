"""The files of a release folder: plain names, regular files, of the size that is stated.

Whoever made a folder may have put a link, a pipe or a device where a file is expected, or a name
that leads elsewhere. Nothing is opened before it is known to be a regular file of the folder, and
no more of it is read than is stated.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import Final

from pramana.errors import AlteredRelease, NotARelease
from pramana.io.base import COMPRESSED, FORMATS
from pramana.release.canonical_json import MOST_BYTES
from pramana.release.certificate import FILE_NAME, Certificate, DataFile
from pramana.schema.opened_table import FileStamp

__all__ = [
    "CERTIFICATE",
    "data_path",
    "file_path",
    "fingerprint",
    "holds",
    "read_certificate",
    "require_as_written",
    "stamps_of",
]

CERTIFICATE: Final = "certificate.json"

CHUNK: Final = 2**20

DIGESTED: Final = 2**28
"""Bytes whose SHA-256 takes a fraction of a second: so much is looked at by everybody who loads."""

MOST_PARTS: Final = 1_000_000
CAREFULLY: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A link is not followed, and a pipe does not make us wait."""


def read_certificate(folder: Path) -> Certificate:
    """The certificate of a folder; refused if a byte of it was changed."""
    path = folder / CERTIFICATE
    if not os.path.lexists(folder):
        raise NotARelease(f"{folder} does not exist.")
    if not os.path.lexists(path):
        raise NotARelease(f"{folder} must be a release folder with a {CERTIFICATE}, and has none.")
    size = _size(path)
    if size > MOST_BYTES:
        raise NotARelease(f"{CERTIFICATE} must have at most {MOST_BYTES:,} bytes, got {size:,}.")
    try:
        handle = os.open(path, CAREFULLY)
        with os.fdopen(handle, "rb") as file:
            content = file.read(size + 1)
    except OSError:
        raise NotARelease(f"The {CERTIFICATE} of {folder} cannot be read.") from None
    return Certificate.from_bytes(content)


def data_path(folder: Path, certificate: Certificate) -> Path:
    """Where the data lie: regular files of the size that is stated, called as data may be."""
    return file_path(folder, certificate.data)


def file_path(folder: Path, data: DataFile | None) -> Path:
    """Where the data, or a copy of them, lie."""
    if data is None:
        raise NotARelease("The certificate must name the data file beside it, and does not.")
    path = folder / data.name
    if path.suffix.lower() in COMPRESSED:
        raise NotARelease(
            f"{data.name} is compressed as a whole, and no release is: it may be any length."
        )
    if not os.path.lexists(folder):
        raise NotARelease(f"{folder} does not exist.")
    if not os.path.lexists(path):
        raise NotARelease(f"{folder} lacks the data file {data.name} that its certificate names.")
    found = sum(_size(file) for file in _files(path))
    if found != data.size:
        raise AlteredRelease(
            f"{data.name} was altered: it must have {data.size:,} bytes, as the certificate "
            f"states, and has {found:,}."
        )
    return path


def holds(path: Path, content: bytes) -> bool:
    """Whether a regular file has exactly this content; no more of it is read."""
    try:
        if _size(path) != len(content):
            return False
    except NotARelease:
        return False
    return _digest(path, len(content)) == hashlib.sha256(content).hexdigest()


def fingerprint(path: Path, data_format: str) -> DataFile:
    """Name, form, size and SHA-256 of a data file, or of a folder of data files.

    That of a folder is the SHA-256 of the list of its files: a line with digest, size and name
    each, in the order of the names. So a file more, less, renamed or changed is found.
    """
    files = _files(path)
    sizes = [_size(file) for file in files]
    digests = [_digest(file, size) for file, size in zip(files, sizes, strict=True)]
    if files == [path]:
        return DataFile(path.name, data_format, digests[0], sizes[0])
    lines = [
        f"{digest} {size} {file.name}\n"
        for digest, size, file in zip(digests, sizes, files, strict=True)
    ]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    return DataFile(path.name, data_format, digest, sum(sizes))


def stamps_of(folder: Path, certificate: Certificate) -> tuple[FileStamp, ...]:
    """The data files as they are now.

    Digests are computed of a file, and records read from it, one after the other: what was stamped
    before must be the same after, or another file may lie there.
    """
    files = _files(data_path(folder, certificate))
    return tuple(FileStamp.of(file) for file in files if _size(file) >= 0)


def require_as_written(folder: Path, certificate: Certificate) -> None:
    """Refuse data that were altered; of large ones only ``verify`` computes the digest."""
    data = certificate.data
    member = None if data is None else FORMATS.get(data.format)
    if data is None or (data.size > DIGESTED and (member is None or not member.parsed)):
        return  # of what takes far longer to be read, the digest costs little
    if fingerprint(file_path(folder, data), data.format) != data:
        raise AlteredRelease(
            f"{data.name} was altered: it does not have the SHA-256 that the certificate states."
        )


def _files(path: Path) -> list[Path]:
    """The file itself, or the files of a folder in the order of their names, and nothing else."""
    if not re.fullmatch(FILE_NAME, path.name):
        raise NotARelease("The data of a release must have a plain name.")
    try:
        if not stat.S_ISDIR(path.lstat().st_mode):
            return [path]
        with os.scandir(path) as entries:
            names = sorted(entry.name for entry, _ in zip(entries, range(MOST_PARTS), strict=False))
    except OSError:
        raise _unreadable(path) from None
    strange = [name for name in names if not re.fullmatch(FILE_NAME + r"\.parquet", name)]
    if strange or not names:
        raise NotARelease(
            f"The folder {path.name} must hold Parquet files with plain names and nothing else."
        )
    return [path / name for name in names]


def _size(path: Path) -> int:
    """The size of a regular file; anything else is refused at once."""
    try:
        found = path.lstat()
    except OSError:
        raise _unreadable(path) from None
    if not stat.S_ISREG(found.st_mode):
        raise NotARelease(f"{path.name} must be a file, and is a link, a folder or a device.")
    return found.st_size


def _digest(path: Path, size: int) -> str:
    """The SHA-256 of a file, of which no more is read than its size."""
    digest, left = hashlib.sha256(), size
    try:
        with os.fdopen(os.open(path, CAREFULLY), "rb") as file:
            while left:
                part = file.read(min(CHUNK, left))
                if not part:
                    break
                digest.update(part)
                left -= len(part)
    except OSError:
        raise _unreadable(path) from None
    return digest.hexdigest()


def _unreadable(path: Path) -> NotARelease:
    return NotARelease(f"The data file {path.name} of the release cannot be read.")
