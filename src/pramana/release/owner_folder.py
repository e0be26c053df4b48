"""What a steward may want later and nobody else may see: a folder apart from the release.

A certificate of withheld matrices says what they promise, not what they are; the one of a design by
``alpha`` has decoys among its rows. Who audits the release later needs what was really done. The
folder holds it: for its owner alone (0700), never inside the release, and written before the
release appears. The key of the randomness is not in it: with that key every record could be traced.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pramana.base.atomic_files import whole_folder
from pramana.base.file_moves import read_file
from pramana.errors import InputError, NotARelease, OutputExists
from pramana.mechanisms.mechanism import Mechanism
from pramana.release.canonical_json import parse
from pramana.release.certificate_fields import mechanism_of
from pramana.types import Entries

MECHANISM: Final = "mechanism.json"
PLAN: Final = "plan.json"
NOTE: Final = "README.txt"

WARNING: Final = """For the steward alone: do not publish, do not hand on.

plan.json       what was asked, attained and expected
"""
MATRICES: Final = """\
mechanism.json  the matrices that the records really passed, as integers over 2^64

Where the certificate withholds its matrices, these were made from the true counts and tell of
them. The randomness itself is kept nowhere.

  pramana audit RELEASE --original FILE --mechanism mechanism.json
"""
NO_MATRICES: Final = """
The records passed no matrices but those that are published, or none at all: all that an audit
needs is in the release. The randomness itself is kept nowhere.

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
        plan: the plan in its plain form.
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
        raise InputError("A steward's folder goes with a release that is written: give -o.")
    own, other = folder.resolve(), release.resolve()
    if own == other or own in other.parents or other in own.parents:
        raise InputError(
            f"The steward's folder {folder} must lie apart from the release {release}: what is in "
            "it is not for publication."
        )
    if own.exists():
        raise OutputExists(f"{folder} exists already. Name a folder that is not there yet.")


def read_mechanism(path: Path) -> Mechanism:
    """The matrices of a steward's folder, given the folder or the file in it."""
    file = path / MECHANISM if path.is_dir() else path
    if (path / PLAN).is_file() and not file.exists():
        raise InputError(
            f"{path} keeps no matrices: the records of its release passed none that are withheld. "
            "Leave --mechanism out."
        )
    try:
        content = read_file(file)
    except InputError:
        raise InputError(
            f"{file} cannot be read. Give the mechanism.json of --steward-folder."
        ) from None
    try:
        return mechanism_of(parse(content, what=file.name), what=file.name)
    except NotARelease as error:
        raise InputError(f"{file} is no mechanism: {error}") from None
