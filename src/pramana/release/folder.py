"""Release folders: write data, certificate and documentation whole, and read them with care.

Whoever made a folder may have put a link, a pipe or a device where a file is expected, or a name
that leads elsewhere. Nothing is opened before it is known to be a regular file of the folder, and
no more of it is read than the certificate states.

The steward's folder is separate from the release. It holds the matrices that randomised the
records: an audit needs them, and the certificate may withhold them. Only its owner can read it. It
is written before the release appears. The key of the random numbers is not stored: with it, every
record could be traced.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from pramana.base.atomic_files import read_file, require_name, require_not_here, whole_folder
from pramana.base.text import listed
from pramana.engine.base import ENGINES, USUAL, Engine, write_opened
from pramana.errors import AlteredRelease, InputError, InvalidTable, NotARelease, OutputExists
from pramana.io.base import BROKEN, COMPRESSED, FORMATS, Format, broken
from pramana.io.opening import open_written
from pramana.mechanisms.mechanism import Mechanism
from pramana.release.certificate import FILE_NAME, Certificate, DataFile, copy_name
from pramana.release.certificate_fields import MOST_BYTES, mechanism_of, parse
from pramana.release.documentation import EXPLAINING, explanations
from pramana.schema.opened_table import FileStamp, OpenedTable, TableFormat
from pramana.types import Entries

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
        raise NotARelease("{folder} does not exist.", folder=folder)
    if not os.path.lexists(path):
        raise NotARelease(
            "{folder} must be a release folder with a {certificate}, and has none.",
            folder=folder,
            certificate=CERTIFICATE,
        )
    size = _size(path)
    if size > MOST_BYTES:
        raise NotARelease(
            "{certificate} must have at most {most_bytes:,} bytes, got {size:,}.",
            certificate=CERTIFICATE,
            most_bytes=MOST_BYTES,
            size=size,
        )
    try:
        handle = os.open(path, CAREFULLY)
        with os.fdopen(handle, "rb") as file:
            content = file.read(size + 1)
    except OSError:
        raise NotARelease(
            "The {certificate} of {folder} cannot be read.", certificate=CERTIFICATE, folder=folder
        ) from None
    return Certificate.from_bytes(content)


def data_path(folder: Path, certificate: Certificate) -> Path:
    """Where the data lie: regular files of the size that is stated, called as data may be."""
    return file_path(folder, certificate.data)


def file_path(folder: Path, data: DataFile | None) -> Path:
    """Where the data, or a copy of them, lie."""
    if data is None:
        raise NotARelease("The certificate must name the data file, and does not.")
    path = folder / data.name
    if path.suffix.lower() in COMPRESSED:
        raise NotARelease(
            "{data} is compressed as a whole, and releases are not: its size is unknown.",
            data=data.name,
        )
    if not os.path.lexists(folder):
        raise NotARelease("{folder} does not exist.", folder=folder)
    if not os.path.lexists(path):
        raise NotARelease(
            "{folder} lacks the data file {data} that its certificate names.",
            folder=folder,
            data=data.name,
        )
    size = sum(_size(file) for file in _files(path))
    if size != data.size:
        raise AlteredRelease(
            "{data} was altered: it must have {size:,} bytes, as the certificate states, and has "
            "{found:,}.",
            data=data.name,
            size=data.size,
            found=size,
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


def fingerprint(path: Path, data_format: str, engine: Engine | None = None) -> DataFile:
    """Name, form, size and SHA-256 of a data file, or of a folder of data files.

    The digests of files are computed by threads, or by the workers of an engine.
    The SHA-256 of a folder is computed from the list of its files: a line with digest, size and
    name each, in the order of the names. So a file more, less, renamed or changed is found.
    """
    files = _files(path)
    sizes = [_size(file) for file in files]
    engine = engine or ENGINES[USUAL]
    digests = list(engine.each(_digest_of, list(zip(files, sizes, strict=True))))
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
            "{data} was altered: it does not have the SHA-256 that the certificate states.",
            data=data.name,
        )


def _files(path: Path) -> list[Path]:
    """The file itself, or the files of a folder in the order of their names, and nothing else."""
    if not re.fullmatch(FILE_NAME, path.name):
        raise NotARelease(
            "The data file of a release must have a name without path and special characters."
        )
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
            "The folder {path} must contain only Parquet files with names without special "
            "characters.",
            path=path.name,
        )
    return [path / name for name in names]


def _size(path: Path) -> int:
    """The size of a regular file; anything else is refused at once."""
    try:
        status = path.lstat()
    except OSError:
        raise _unreadable(path) from None
    if not stat.S_ISREG(status.st_mode):
        raise NotARelease(
            "{path} must be a file, and is a link, a folder or a device.", path=path.name
        )
    return status.st_size


def _digest_of(file: tuple[Path, int]) -> str:
    return _digest(*file)


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
    return NotARelease("The data file {path} of the release cannot be read.", path=path.name)


# -- writing a release ---------------------------------------------------------------------------

MOST_NAMED = 3  # this many files that are not of a release are named


def require_free(folder: Path, *, force: bool) -> None:
    """Refuse a place that is taken, before any work is done; --force takes that of a release."""
    require_name(folder.resolve())
    if not folder.absolute().parent.is_dir():
        raise InputError(
            "The folder {parent} must exist to hold the release.", parent=folder.absolute().parent
        )
    _refuse_inside(folder)
    if not os.path.lexists(folder):
        return
    if not force:
        raise OutputExists(
            "{folder} exists already. Choose another place, or replace it with --force.",
            folder=folder,
        )
    if folder.is_symlink():
        raise OutputExists(
            "{folder} is a link, and --force replaces none. Name the folder itself.", folder=folder
        )
    require_not_here(folder)
    if not folder.is_dir():
        raise _not_ours(folder, "it is a file")
    _removable_certificate(folder)


def _refuse_inside(folder: Path) -> None:
    """A release inside another one would make that one hold what its certificate does not name."""
    for above in folder.absolute().parent.resolve().joinpath("_").parents:
        if not (above / CERTIFICATE).is_file():
            continue
        try:
            read_certificate(above)
        except NotARelease:
            continue
        raise OutputExists(
            "{folder} lies inside the release {above}. Choose a folder outside.",
            folder=folder,
            above=above,
        )


@contextmanager
def release_folder(folder: Path, *, force: bool = False) -> Iterator[Path]:
    """An empty folder to write a release to; it gets its name when the block ends without error."""
    folder = folder.absolute()
    require_free(folder, force=force)
    with whole_folder(folder, may_go=require_removable if force else None) as work:
        yield work


def write_explanations(folder: Path, certificate: Certificate) -> None:
    """Write what the folder says about itself."""
    for name, content in explanations(certificate).items():
        (folder / name).write_bytes(content)


def require_counted(certificate: Certificate, released: int) -> None:
    """Refuse a release of other records than were counted."""
    if released != certificate.rows:
        raise InvalidTable(
            "{rows:,} records were counted and {released:,} came to be released: the table "
            "changed meanwhile. Nothing was written.",
            rows=certificate.rows,
            released=released,
        )


def require_removable(folder: Path) -> None:
    """Refuse to remove anything but a release as it was written: every file, and no other."""
    certificate = _removable_certificate(folder)
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
    files = {file.name for file in (certificate.data, *certificate.copies) if file is not None}
    return {CERTIFICATE, *files, *EXPLAINING}


def _removable_certificate(folder: Path) -> Certificate | None:
    """The certificate of a folder that has nothing but what it names; none if it is empty."""
    names = sorted(place.name for place in folder.iterdir())
    if not names:
        return None
    try:
        certificate = read_certificate(folder)
        data = set() if certificate.data is None else {certificate.data.name}
        if data and os.path.lexists(folder / min(data)):
            data_path(folder, certificate)
    except NotARelease as error:
        raise _not_ours(folder, str(error).rstrip(".")) from None
    known = files_of(certificate)
    others = [name for name in names if name not in known]
    if others:
        raise _not_ours(folder, f"it also holds {listed(others, MOST_NAMED)}")
    return certificate


def _not_ours(folder: Path, why: str) -> OutputExists:
    return OutputExists(
        "{folder} is no unaltered release folder ({why}), and --force replaces nothing else. "
        "Choose another place, or remove it yourself.",
        folder=folder,
        why=why,
    )


# -- data files ------------------------------------------------------------------------------------

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
"""What libraries that write Parquet add to the records: types, and numbers of columns."""

MOST_RECORDS: Final = 5_000_000
MOST_A_BYTE: Final = 50
"""More records than this, beyond the first millions, hide in no byte that was drawn at random."""


def require_writable(*formats: TableFormat) -> None:
    """Refuse formats that no release can be written in."""
    writable = [name for name, member in FORMATS.items() if member.writes]
    for name in formats:
        if name not in writable:
            raise NotARelease(
                "A release can be written as {writable}, not as {name!r}.",
                writable=", ".join(writable),
                name=name,
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
    engine: Engine | None = None,
) -> Certificate:
    """Write what accompanies the data file: copies, certificate, explanations.

    Args:
        work: the folder, with the data file in it.
        certificate: what is claimed about the records.
        file_format: of the data file.
        sign_with: a private key to sign the certificate with.
        copies: further formats to write the same records in.
        engine: the engine that wrote the data file; it computes the digests.

    Returns:
        The certificate with the fingerprints of all data files.
    """
    data = work / data_name(file_format)
    others = [name for name in dict.fromkeys(copies) if name != file_format]
    fingerprints = [_written_copy(data, certificate, name, file_format) for name in others]
    finished = certificate.with_data(fingerprint(data, file_format, engine), tuple(fingerprints))
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
    opened = replace(open_written(data, schema=certificate.schema), labels=certificate.labels)
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
            "{error} Nothing was written. The release itself would be {file_format}: leave out "
            "its copy as {copy}.",
            copy=wanted,
            error=error,
            file_format=file_format,
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
    opened = open_written(path, schema=certificate.schema)
    if opened.rows > MOST_RECORDS + MOST_A_BYTE * data.size:
        raise NotARelease(
            "{path} is too small for the number of records that it states.", path=path.name
        )
    return opened


def _foreign(path: Path) -> NotARelease:
    return NotARelease("{path} has a format that no release has.", path=path.name)


def _require_modest(path: Path, member: Format) -> None:
    """Refuse what no release has: data packed too hard for any memory, or notes."""
    try:
        packed, said = member.packing(path)
    except (*BROKEN, InvalidTable, LookupError, TypeError):
        raise broken(path) from None
    if not packed <= MODEST or not said <= OF_WRITERS:
        raise _foreign(path)


# -- the owner's folder ----------------------------------------------------------------------------

MECHANISM: Final = "mechanism.json"
PLAN: Final = "plan.json"
NOTE: Final = "README.txt"

WARNING: Final = """For the steward only: do not publish and do not share.

plan.json       targets, attained guarantees, expected errors
"""
MATRICES: Final = """\
mechanism.json  the matrices that randomised the records, as integers over 2^64

Matrices that the certificate withholds were computed from the original counts and disclose
information about them. The random numbers are not stored.

  pramana audit RELEASE --original FILE --mechanism mechanism.json
"""
NO_MATRICES: Final = """
All matrices are published, or the method uses none: all that an audit needs is in the
release. The random numbers are not stored.

  pramana audit RELEASE --original FILE
"""


@contextmanager
def stewards_folder(
    folder: Path | None, *, release: Path | None, plan: Entries, mechanism: Mechanism
) -> Iterator[None]:
    """Write the folder, which appears when what is inside has been done; nothing where not asked.

    Args:
        folder: where to; nothing is written where not given.
        release: the folder of the release.
        plan: the plan as JSON.
        mechanism: what is done to records.
    """
    if folder is None:
        yield
        return
    require_apart_from(folder, release)
    with whole_folder(folder) as place:
        place.chmod(0o700)
        # Reports have none, and are published; groups have none.
        note = WARNING + (MATRICES if mechanism.steps else NO_MATRICES)
        files = {NOTE: note, PLAN: json.dumps(plan, indent=1) + "\n"}
        if mechanism.steps:
            files[MECHANISM] = json.dumps(mechanism.to_json()) + "\n"
        for name, content in files.items():
            (place / name).touch(mode=0o600)
            (place / name).write_text(content)
        yield


def require_apart_from(folder: Path, release: Path | None) -> None:
    """Refuse a steward's folder that is there, or lies inside the release or around it."""
    if release is None:
        raise InputError("A steward's folder needs a release that is written: give -o.")
    place, other = folder.resolve(), release.resolve()
    if place == other or place in other.parents or other in place.parents:
        raise InputError(
            "The steward's folder {folder} must be outside the release {release}: its content is "
            "not for publication.",
            folder=folder,
            release=release,
        )
    if place.exists():
        raise OutputExists("{folder} exists already. Name a new folder.", folder=folder)


def read_mechanism(path: Path) -> Mechanism:
    """The matrices of a steward's folder, given the folder or the file in it."""
    file = path / MECHANISM if path.is_dir() else path
    if (path / PLAN).is_file() and not file.exists():
        raise InputError(
            "{path} keeps no matrices: the release withholds none. Leave --mechanism out.",
            path=path,
        )
    try:
        content = read_file(file)
    except InputError:
        raise InputError(
            "{file} cannot be read. Give the mechanism.json of --steward-folder.", file=file
        ) from None
    try:
        return mechanism_of(parse(content, what=file.name), what=file.name)
    except NotARelease as error:
        raise InputError("{file} is no mechanism: {error}", file=file, error=error) from None
