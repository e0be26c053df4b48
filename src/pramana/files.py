"""Files and folders that appear whole or not at all.

Everything is written into a hidden folder beside its place, flushed to the disk, and moved there in
one step. Whatever stops the process before that step leaves nothing under the name.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["whole_file", "whole_folder", "write_whole"]


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A place to write to, beside ``path``; it gets the name when all has been written."""
    with _beside(path) as place:
        yield place
        _to_disk(place)
        place.replace(path)
        _to_disk(path.parent)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """An empty folder to write to, beside ``path``; it gets the name when all has been written.

    A folder that has the name already is moved aside first, and removed when the new one stands.
    """
    with _beside(path) as place:
        place.mkdir()
        yield place
        for file in sorted(place.rglob("*")):
            _to_disk(file)
        _to_disk(place)
        _exchange(place, path)
        _to_disk(path.parent)


def write_whole(path: Path, content: str | bytes, *, mode: int | None = None) -> None:
    """Write a small file, with these permissions if any are given; a device gets it as it is."""
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    with whole_file(path) as place:
        place.write_bytes(data)
        if mode is not None:
            place.chmod(mode)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    path = path.absolute()
    try:
        folder = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    except OSError as error:
        error.filename = str(path)  # the place that was asked for, not the one beside it
        raise
    try:
        yield folder / path.name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _exchange(place: Path, path: Path) -> None:
    """Into place; what stood there is put back if that fails."""
    aside = place.with_name("old")
    if path.exists():
        path.rename(aside)
    try:
        place.rename(path)
    except BaseException:
        if aside.exists():
            aside.rename(path)
        raise


def _to_disk(place: Path) -> None:
    """Wait until the file, or the entries of the folder, would survive a power cut."""
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
