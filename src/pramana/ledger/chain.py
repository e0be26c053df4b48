"""An append-only file of lines in which every change is detected.

The ledger ``L`` has a key file ``L.key`` in the same folder: a random key, the number of lines, and
the digest of the last one. Each line carries the digest of the line before it and a keyed digest of
itself (HMAC): nobody can write a valid line without the key. A line that was changed, left out,
added or moved breaks the chain; lines missing at the end contradict the key file. Whoever holds
both files can restore an older pair of them: only a copy kept elsewhere detects that.

The secret part of a line is encrypted (AES-256-GCM) with a key derived from the same key file.

Both files are replaced whole, readable by their owner only, under a lock (``L.lock``). The ledger
is written first: a process that dies between the two leaves one line more than the key file counts,
which fits the chain and is accepted.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.base.atomic_files import read_file, write_whole
from pramana.base.randomness import Keystream
from pramana.errors import DoesNotHold, InputError, NotCovered
from pramana.types import Entries, Form

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FORMAT, VERSION = "pramana-ledger", 2
OWNER_ONLY = 0o600
KEY_WORDS = 4  # of 64 bits
NONCE_BYTES = 12
SEALED = "sealed"
"""The entry of a line that holds its encrypted part."""


@dataclass(frozen=True)
class Chain:
    """The lines of a ledger, checked.

    Attributes:
        path: of the ledger.
        key: of its digests and fingerprints.
        lines: the entries in order, without the links of the chain.
        last: the digest of the last line.
    """

    path: Path
    key: bytes
    lines: tuple[Form, ...]
    last: str

    @classmethod
    def new(cls, path: Path) -> Chain:
        """An empty one; nothing is written yet."""
        key = Keystream.from_system().words("ledger", 0, KEY_WORDS).tobytes()
        return cls(path, key, (), _digest(key, _HEADER))

    @classmethod
    def load(cls, path: Path) -> Chain:
        """The lines of a ledger; refuses one in which anything was changed."""
        require_file(path)
        key, entries, last = _read_key(path)
        if not path.exists():
            if entries:
                raise _broken(
                    path, f"it is gone, and {key_file(path).name} counts {entries} entries"
                )
            return cls(path, key, (), _digest(key, _HEADER))
        links = list(_links(path, key))
        lines, digests = [line for line, _ in links[1:]], [digest for _, digest in links]
        if len(lines) < entries:
            raise _broken(path, f"it has {len(lines)} entries where there were {entries}")
        if len(lines) > entries + 1 or digests[entries] != last:
            raise _broken(path, f"it is not the one that {key_file(path).name} belongs to")
        return cls(path, key, tuple(lines), digests[-1])

    def grown(self, line: Entries, *, secret: Entries | None = None, room: int = 0) -> Chain:
        """With one more line; written, both files, when this returns.

        Args:
            line: the part that everybody who has the ledger may read.
            secret: the part that only the holder of the key may read.
            room: the length that the secret part is filled up to, so that it reveals nothing.
        """
        form = dict(line)
        if secret is not None:
            nonce = Keystream.from_system().words("nonce", 0, 2).tobytes()[:NONCE_BYTES]
            content = _spelled(secret).ljust(room).encode()
            encrypted = nonce + self._cipher().encrypt(nonce, content, None)
            form[SEALED] = base64.b64encode(encrypted).decode()
        digest = _digest(self.key, form | {"before": self.last})
        made = Chain(self.path, self.key, (*self.lines, form), digest)
        made._write()
        return made

    def opened(self, line: Entries) -> Form:
        """A line with its secret part, if it has one.

        Raises:
            ValueError: where the secret part cannot be decrypted.
        """
        form = dict(line)
        if SEALED not in form:
            return form
        from cryptography.exceptions import InvalidTag

        encrypted = base64.b64decode(form.pop(SEALED), validate=True)
        nonce, content = encrypted[:NONCE_BYTES], encrypted[NONCE_BYTES:]
        try:
            secret: Form = json.loads(self._cipher().decrypt(nonce, content, None))
        except InvalidTag:
            raise ValueError("The secret part of an entry needs another key.") from None
        return form | secret

    def _cipher(self) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(hmac.new(self.key, b"secret part of entries", hashlib.sha256).digest())

    def _write(self) -> None:
        if not key_file(self.path).exists():
            self._write_key(0, _digest(self.key, _HEADER))
        before = _digest(self.key, _HEADER)
        text = [_spelled(_HEADER | {"digest": before})]
        for line in self.lines:
            form = line | {"before": before}
            before = _digest(self.key, form)
            text.append(_spelled(form | {"digest": before}))
        write_whole(self.path, "".join(f"{one}\n" for one in text), mode=OWNER_ONLY, force=True)
        self._write_key(len(self.lines), self.last)

    def _write_key(self, entries: int, last: str) -> None:
        form = {"key": self.key.hex(), "entries": entries, "last": last}
        write_whole(key_file(self.path), _spelled(form) + "\n", mode=OWNER_ONLY, force=True)


_HEADER: Form = {"format": FORMAT, "version": VERSION}


def key_file(path: Path) -> Path:
    """The file of the key, in the folder of the ledger."""
    return path.with_name(path.name + ".key")


def side_files(path: Path) -> tuple[Path, Path]:
    """The files that belong to a ledger: its key, and its lock."""
    return key_file(path), path.with_name(path.name + ".lock")


def readable_by_others(path: Path) -> list[Path]:
    """Which of the ledger and its key others than their owner may read or write."""
    files = [path, key_file(path)]
    return [one for one in files if one.exists() and one.stat().st_mode & ~OWNER_ONLY & 0o777]


def require_file(path: Path) -> None:
    """Refuse what cannot be a file."""
    if not path.name or any(
        one.exists() and not one.is_file() for one in (path, *side_files(path))
    ):
        raise InputError(f"A ledger must be a file, got '{path}'. Name one, such as office.ledger.")
    for one in (path, *side_files(path)):
        if one.is_symlink() and not one.exists():
            raise InputError(f"{one} is a link to a file that is not there. Name the file itself.")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone with the ledger until the end; whoever comes second waits."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        raise NotCovered("A ledger needs the file locks of a POSIX system.") from None
    require_file(path)
    if not path.absolute().parent.is_dir():
        raise InputError(f"The folder {path.absolute().parent} must exist to hold the ledger.")
    lock = side_files(path)[1]
    try:
        number = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, OWNER_ONLY)
    except OSError as error:  # a link could lead to a file of somebody else
        raise InputError(f"The lock {lock} must be a separate file ({error.strerror}).") from None
    with os.fdopen(number, "r+") as handle:
        os.fchmod(number, OWNER_ONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _spelled(form: Entries) -> str:
    """The canonical form of a line."""
    return json.dumps(form, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _digest(key: bytes, form: Entries) -> str:
    return hmac.new(key, _spelled(form).encode(), hashlib.sha256).hexdigest()


def _broken(path: Path, what: str) -> DoesNotHold:
    return DoesNotHold(
        f"The ledger {path} was altered: {what}. Nothing is released on it; restore it from a copy."
    )


def _read_key(path: Path) -> tuple[bytes, int, str]:
    """The key, how many entries there are, and the digest of the last one."""
    place = key_file(path)
    if not place.exists():
        if path.exists():
            raise InputError(
                f"The ledger {path} needs its key file {place.name} in the same folder, and it is "
                "missing: without it neither tables nor changes can be recognised."
            )
        raise InputError(
            f"There is no ledger {path}. 'pramana protect --ledger {path}' begins one."
        )
    try:
        form = json.loads(read_file(place, what="key file"))
        key, entries, last = bytes.fromhex(form["key"]), form["entries"], form["last"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _broken(path, f"its key file {place.name} cannot be read") from None
    if len(key) != 8 * KEY_WORDS or type(entries) is not int or type(last) is not str:
        raise _broken(path, f"its key file {place.name} cannot be read")
    return key, entries, last


def _links(path: Path, key: bytes) -> Iterator[tuple[Form, str]]:
    """Header and lines with their digests, each checked against the one before."""
    content = read_file(path, what="ledger")
    if not content.endswith(b"\n"):
        raise _broken(path, "its last line is cut off")
    before: str | None = None
    for number, spelled in enumerate(content[:-1].split(b"\n")):
        where = f"line {number + 1}"
        try:
            form = json.loads(spelled)
            again = _spelled(form)  # 1e999 is read as infinity, and infinity cannot be spelled
            digest = form.pop("digest")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise _broken(path, f"{where} is no entry") from None
        if again.encode() != spelled:
            raise _broken(path, f"{where} has another format")
        if number and form.get("before") != before:
            raise _broken(path, f"{where} does not follow the line before it")
        if not hmac.compare_digest(str(digest).encode(), _digest(key, form).encode()):
            raise _broken(path, f"{where} is not what was entered")
        version = form.get("version")
        if number == 0 and form != _HEADER:
            known = form == _HEADER | {"version": version}
            if not known or type(version) is not int or version < 1:
                raise _broken(path, f"line 1 must say {FORMAT}, version {VERSION}")
            raise NotCovered(  # nothing was altered
                f"The ledger {path} was not altered: it has version {version}, of "
                f"{'an earlier' if version < VERSION else 'a newer'} pramana, and this one reads "
                f"version {VERSION}. Use that version; or begin another ledger, and lower its "
                "budgets by the total that 'ledger show' of that version prints, since the new "
                "ledger does not count earlier releases."
            )
        form.pop("before", None)
        before = digest
        yield form, digest
