"""Key material on its way to Spark's workers: from memory to memory, never through Spark.

What Spark ships (functions, plans, task binaries, broadcasts) may be logged, shown or spilled to a
disk. So functions are pickled without the keystreams that they hold, and each task asks the driver
for them over a connection of its own:

    worker -> driver    its public key, and a mark over it that only a holder of the token can make
    driver -> worker    its public key, and the keys, sealed

Both public keys live for one connection (X25519), and the sealing key rests on them and on the
token. The token travels with the function. It opens the door of one driver while one action runs,
and nothing afterwards: also who recorded the connection and finds the token later cannot read it.
"""

from __future__ import annotations

import hmac
import io
import itertools
import pickle
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from pramana.base.randomness import Keystream, Stream
from pramana.errors import InputError

__all__ = ["KeyDoor", "Luggage", "open_door"]

_SIZE: Final = 32
_EXPORT: Final = _SIZE + 1
_NONCE: Final = bytes(12)  # each sealing key seals one message
_PATIENCE: Final = 30.0
_ACTIONS: Final = itertools.count()


@dataclass(frozen=True)
class KeyDoor:
    """Where a worker finds the keys of an action, and the token that opens."""

    host: str
    port: int
    token: bytes = field(repr=False)

    def fetch(self) -> list[Keystream]:
        """The keystreams of this action, on the side of a worker."""
        own = X25519PrivateKey.generate()
        public = own.public_key().public_bytes_raw()
        try:
            with socket.create_connection((self.host, self.port), timeout=_PATIENCE) as line:
                line.sendall(public + _mark(self.token, public))
                line.shutdown(socket.SHUT_WR)
                answer = _received(line)
        except OSError as error:
            raise InputError(
                "A Spark worker must reach the driver to be given its part of the work, and "
                f"cannot reach {self.host}:{self.port} ({type(error).__name__}). Open "
                "spark.driver.host and that port, or choose the port by spark.pramana.port."
            ) from None
        if len(answer) < _SIZE:
            raise InputError("The driver does not know this Spark task: its action has ended.")
        theirs, sealed = answer[:_SIZE], answer[_SIZE:]
        shared = own.exchange(X25519PublicKey.from_public_bytes(theirs))
        exports = _seal(shared, self.token, public, theirs).decrypt(_NONCE, sealed, public)
        return [
            Keystream.from_export(exports[at : at + _EXPORT])
            for at in range(0, len(exports), _EXPORT)
        ]


@dataclass(frozen=True)
class Luggage:
    """Objects for the workers, pickled without the keystreams in them."""

    content: bytes = field(repr=False)
    door: KeyDoor | None

    def unpack(self) -> Any:
        """The objects with their keystreams, on the side of a worker."""
        return _Unpickler(self.content, self.door.fetch() if self.door else []).load()


class Packer:
    """Packs luggage and remembers which keystreams it needs."""

    def __init__(self) -> None:
        self.keystreams: list[Keystream] = []
        self.door: KeyDoor | None = None

    def pack(self, *objects: Any) -> bytes:
        """The objects as bytes; every keystream in them is a number."""
        from pyspark.cloudpickle import CloudPickler

        keystreams = self.keystreams

        class Pickler(CloudPickler):  # type: ignore[misc]
            def persistent_id(self, thing: Any) -> int | None:
                if not isinstance(thing, Keystream):
                    return None
                known = [at for at, one in enumerate(keystreams) if one is thing]
                if not known:
                    keystreams.append(thing)
                return known[0] if known else len(keystreams) - 1

        target = io.BytesIO()
        Pickler(target).dump(objects)
        return target.getvalue()


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, keystreams: list[Keystream]) -> None:
        super().__init__(io.BytesIO(content))
        self._keystreams = keystreams

    def persistent_load(self, number: int) -> Keystream:
        return self._keystreams[number]


@contextmanager
def open_door(keystreams: list[Keystream], *, host: str, bind: str, port: int) -> Iterator[KeyDoor]:
    """Hand out these keystreams to whoever shows the token, as long as the block runs."""
    token = keystreams[0].words(Stream("spark token", next(_ACTIONS)), 0, _SIZE // 8).tobytes()
    exports = b"".join(keystream.export() for keystream in keystreams)
    X25519PrivateKey.generate()  # its first use imports, which threads should not have to wait for

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.settimeout(_PATIENCE)
            try:
                self.request.sendall(_answer(_received(self.request), token, exports))
            except OSError:
                return  # a worker that was killed; another one will ask again

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True
        request_queue_size = 128

    with Server((bind, port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield KeyDoor(host, server.server_address[1], token)
        finally:
            server.shutdown()
            thread.join()


def _answer(asked: bytes, token: bytes, exports: bytes) -> bytes:
    """The sealed keys, or nothing for those who cannot show the token."""
    theirs, mark = asked[:_SIZE], asked[_SIZE:]
    if len(theirs) != _SIZE or not hmac.compare_digest(mark, _mark(token, theirs)):
        return b""
    own = X25519PrivateKey.generate()
    public = own.public_key().public_bytes_raw()
    shared = own.exchange(X25519PublicKey.from_public_bytes(theirs))
    return public + _seal(shared, token, theirs, public).encrypt(_NONCE, exports, theirs)


def _mark(token: bytes, public: bytes) -> bytes:
    return hmac.digest(token, b"pramana worker" + public, "sha256")


def _seal(shared: bytes, token: bytes, worker: bytes, driver: bytes) -> AESGCM:
    info = b"pramana keys" + worker + driver
    return AESGCM(HKDF(hashes.SHA256(), length=_SIZE, salt=token, info=info).derive(shared))


def _received(line: socket.socket) -> bytes:
    """Everything up to the end of what the other side sends."""
    parts = []
    while part := line.recv(65536):
        parts.append(part)
    return b"".join(parts)
