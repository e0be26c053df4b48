"""A release folder: data, certificate and what explains them, all at once or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pramana.base.atomic_files import require_name, require_not_here, whole_folder
from pramana.base.text import listed
from pramana.errors import InputError, InvalidTable, NotARelease, OutputExists
from pramana.release.certificate import Certificate
from pramana.release.contents import (
    CERTIFICATE,
    data_path,
    fingerprint,
    holds,
    read_certificate,
)
from pramana.release.documentation import EXPLAINING, explanations

__all__ = [
    "files_of",
    "release_folder",
    "require_counted",
    "require_free",
    "require_own",
    "write_explanations",
]

MOST_NAMED = 3
"""So many files that are not of a release are named."""


def require_free(folder: Path, *, force: bool) -> None:
    """Refuse a place that is taken, before any work is done; --force takes that of a release."""
    require_name(folder.resolve())
    if not folder.absolute().parent.is_dir():
        raise InputError(f"The folder {folder.absolute().parent} must exist to hold the release.")
    _refuse_inside(folder)
    if not os.path.lexists(folder):
        return
    if not force:
        raise OutputExists(
            f"{folder} exists already. Choose another place, or replace it with --force."
        )
    if folder.is_symlink():
        raise OutputExists(
            f"{folder} is a link, and --force replaces none. Name the folder itself."
        )
    require_not_here(folder)
    if not folder.is_dir():
        raise _not_ours(folder, "it is a file")
    _own(folder)


def _refuse_inside(folder: Path) -> None:
    """A release inside another one would make that one hold what its certificate does not name."""
    for above in folder.absolute().parent.resolve().joinpath("_").parents:
        if not (above / CERTIFICATE).is_file():
            continue
        try:
            read_certificate(above)
        except NotARelease:
            continue
        raise OutputExists(f"{folder} lies inside the release {above}. Choose a place outside.")


@contextmanager
def release_folder(folder: Path, *, force: bool = False) -> Iterator[Path]:
    """An empty folder to write a release to; it gets its name when the block ends without error."""
    folder = folder.absolute()
    require_free(folder, force=force)
    with whole_folder(folder, may_go=require_own if force else None) as work:
        yield work


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


def require_own(folder: Path) -> None:
    """Refuse to remove anything but a release as it was written: every file, and no other."""
    certificate = _own(folder)
    if certificate is None or certificate.data is None:
        return
    for name, content in explanations(certificate).items():
        if os.path.lexists(folder / name) and not holds(folder / name, content):
            raise _not_ours(folder, f"{name} was changed")
    for data in (certificate.data, *certificate.copies):
        place = folder / data.name
        if os.path.lexists(place) and fingerprint(place, data.format) != data:
            raise _not_ours(folder, f"{data.name} was changed")


def files_of(certificate: Certificate) -> set[str]:
    """The names of all that a release has."""
    files = {own.name for own in (certificate.data, *certificate.copies) if own is not None}
    return {CERTIFICATE, *files, *EXPLAINING}


def _own(folder: Path) -> Certificate | None:
    """The certificate of a folder that has nothing but what it names; none if it is empty."""
    found = sorted(place.name for place in folder.iterdir())
    if not found:
        return None
    try:
        certificate = read_certificate(folder)
        data = set() if certificate.data is None else {certificate.data.name}
        if data and os.path.lexists(folder / min(data)):
            data_path(folder, certificate)
    except NotARelease as error:
        raise _not_ours(folder, str(error).rstrip(".")) from None
    known = files_of(certificate)
    others = [name for name in found if name not in known]
    if others:
        raise _not_ours(folder, f"it also holds {listed(others, MOST_NAMED)}")
    return certificate


def _not_ours(folder: Path, why: str) -> OutputExists:
    return OutputExists(
        f"{folder} is not a release folder as it was written ({why}), and --force replaces nothing "
        "else. Choose another place, or remove it yourself."
    )
