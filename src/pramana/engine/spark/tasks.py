"""What Spark's workers do: the work of one stage on one partition, and how they get their keys.

A stage begins with records whose positions are known, applies functions to each batch, and ends as
records for Spark, as ranges of a shuffle, as files, or as a summary for the driver. Nothing depends
on the attempt: a task that runs twice gives the same. Spark logs what its tasks raise, and errors
of libraries may show cells, so each is replaced.

What Spark ships (functions, plans, broadcasts) may be logged or spilled to a disk. So functions are
pickled without their keystreams, and each task asks the driver for them over its own connection:

    worker -> driver    its public key, and a mark over it that only a holder of the token can make
    driver -> worker    its public key, and the keys, sealed

Both public keys live for one connection (X25519); the sealing key depends on them and on the token,
which travels with the function and is valid while one action runs.
"""

from __future__ import annotations

import hmac
import io
import itertools
import pickle
import shutil
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from pramana.base.randomness import CHUNK, Address, Keystream, Stream, order_of_words
from pramana.engine.base import MapBatches
from pramana.errors import InputError, InvalidTable, PramanaError
from pramana.io.output import in_groups, write_records
from pramana.schema.opened_table import ANOTHER, mark_of
from pramana.types import IntArray, Words


def part_name(number: int) -> str:
    """The name of a part; the order of the names is the order of the records."""
    return f"part-{number:05}.parquet"


def finished_parts(folder: Path, written: Sequence[tuple[int, int]]) -> None:
    """Drop what repeated tasks left over, and check that all parts are there."""
    parts = {part_name(part): records for part, records in written if records}
    for place in folder.iterdir():
        if place.name not in parts:
            shutil.rmtree(place) if place.is_dir() else place.unlink()
    present = sum(_records(folder / name) for name in parts)
    if present != sum(parts.values()):
        raise InvalidTable(
            f"All {sum(parts.values()):,} records must lie in the release folder when the workers "
            f"are done, and {present:,} do. Choose a folder that the driver and every worker share."
        )


def _records(part: Path) -> int:
    """How many records a file has; workers may have written to their local disks."""
    try:
        return int(pq.read_metadata(part).num_rows)
    except (pa.ArrowException, OSError):
        return 0


BATCH: Final = 2**18
"""Records that are worked on at a time: few calls, and few chunks for a shuffle."""

WRITTEN: Final = "part int, records long"

CHUNKS: Final = "range int, position long, chunk binary"
"""What a shuffle moves: some records of one range, as one value."""

Placed: TypeAlias = Iterator[tuple[pa.RecordBatch, int]]
Begin: TypeAlias = Callable[[Iterator[pa.RecordBatch], int], Placed]


@dataclass(frozen=True)
class Task:
    """One stage: (begin, functions on batches, end), pickled without the keystreams in them."""

    content: bytes = field(repr=False)
    door: KeyDoor | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do the work of one partition."""
        from pyspark import TaskContext

        partition = TaskContext.get().partitionId()
        try:
            keystreams = self.door.fetch() if self.door else []
            begin, functions, end = _Unpickler(self.content, keystreams).load()
            if isinstance(begin, Partition) and isinstance(end, Summary):
                end = replace(end, noted=begin.noted)
            placed = begin(batches, partition)
            for function in functions:
                placed = _mapped(placed, function)
            yield from end(placed, partition)
        except PramanaError:
            raise
        except Exception as error:
            raise InvalidTable(
                f"A Spark task failed with {type(error).__name__}. Nothing was written."
            ) from None


def _mapped(placed: Placed, function: MapBatches) -> Placed:
    for batch, position in placed:
        yield function(batch, position), position


# -- how a stage begins ----------------------------------------------------------------------


@dataclass(frozen=True)
class Partition:
    """The records of a partition of the data frame, which must be those that were counted.

    Attributes:
        schema: Of the records.
        sizes: How many records each partition has.
        known: The marks that columns had in a partition when they were counted.
        noting: Whether all columns are marked, for the driver to know.
        noted: Their marks, once the partition has been read to its end.
    """

    schema: pa.Schema
    sizes: Sequence[int]
    known: dict[int, dict[str, int]] = field(default_factory=dict)
    noting: bool = False
    noted: dict[str, int] = field(default_factory=dict)

    def __call__(self, batches: Iterator[pa.RecordBatch], partition: int) -> Placed:
        """Batches with the positions of their first records."""
        first = position = sum(self.sizes[:partition])
        typed = (batch.cast(self.schema) for batch in batches if len(batch))
        known = self.known.get(partition, {})
        marks = {name: 0 for name in self.schema.names if self.noting or name in known}
        for group in in_groups(typed, self.schema, size=BATCH):
            batch = _one_batch(group)
            for name in marks:
                marks[name] = (marks[name] + mark_of(batch.column(name), position)) % 2**64
            yield batch, position
            position += len(group)
        self._require_counted(partition, position - first)
        for name, mark in marks.items():
            if known.get(name, mark) != mark:
                raise InvalidTable(ANOTHER.format(name=name))
        self.noted.update(marks)

    def _require_counted(self, partition: int, present: int) -> None:
        if present != self.sizes[partition]:
            raise InvalidTable(
                f"A partition must have the same records every time it is read; number {partition} "
                f"had {self.sizes[partition]:,} and now has {present:,}. Write the data "
                "frame to Parquet and protect that."
            )


@dataclass(frozen=True)
class Gathered:
    """The records of a range, ordered by their words as every engine orders them."""

    schema: pa.Schema
    keystream: Keystream
    stream: Address
    bits: int
    ranges: Sequence[int]

    def __call__(self, batches: Iterator[pa.RecordBatch], partition: int) -> Placed:
        """The records of the range in their final order."""
        table = pa.Table.from_batches(self._chunks(batches, partition), _with_words(self.schema))
        if len(table) != self.ranges[partition]:
            raise InvalidTable(
                f"A shuffle must keep every record once; {self.ranges[partition]:,} records belong "
                f"in range {partition} and {len(table):,} came. The input changed meanwhile."
            )
        first = sum(self.ranges[:partition])
        words = table.column(0).to_numpy()
        order = order_of_words(
            words,
            keystream=self.keystream,
            stream=self.stream,
            first_rank=first,
            shared_bits=self.bits,
        )
        table = table.remove_column(0).take(pa.array(order))
        for begin in range(0, len(table), BATCH):
            yield _one_batch(table.slice(begin, BATCH)), first + begin

    def _chunks(self, batches: Iterator[pa.RecordBatch], partition: int) -> list[pa.RecordBatch]:
        """All chunks in the order of their records: Spark brings them as they come."""
        chunks: list[tuple[int, Any]] = []
        for batch in batches:
            if any(number != partition for number in batch.column(0).to_pylist()):
                raise InvalidTable("Spark brought records of another range: its shuffle is broken.")
            positions = batch.column(1).to_pylist()
            chunks += [
                (position, chunk.as_buffer())
                for position, chunk in zip(positions, batch.column(2), strict=True)
            ]
        schema = _with_words(self.schema)
        chunks.sort(key=lambda chunk: chunk[0])
        return [pa.ipc.read_record_batch(chunk, schema) for _, chunk in chunks]


# -- how a stage ends ------------------------------------------------------------------------


@dataclass(frozen=True)
class Typed:
    """Records for Spark, which knows no dictionaries."""

    schema: pa.Schema

    def __call__(self, placed: Placed, _: int) -> Iterator[pa.RecordBatch]:
        """The records in Spark's types."""
        for batch, _position in placed:
            yield batch.cast(self.schema)


@dataclass(frozen=True)
class Written:
    """Records in a file of the release, one a partition, as every engine writes them."""

    folder: str
    schema: pa.Schema

    def __call__(self, placed: Placed, partition: int) -> Iterator[pa.RecordBatch]:
        """One row: the partition and the number of its records."""
        batches = (batch for batch, _ in placed)
        path = Path(self.folder) / part_name(partition)
        # A task that runs again writes the same bytes over those of its first attempt.
        written = write_records(self.schema, batches, path, file_format="parquet", force=True)
        yield pa.record_batch(
            {"part": pa.array([partition], pa.int32()), "records": pa.array([written], pa.int64())}
        )


@dataclass(frozen=True)
class Scattered:
    """Records cut into ranges by the leading bits of their words."""

    keystream: Keystream
    stream: Address
    bits: int

    def __call__(self, placed: Placed, _: int) -> Iterator[pa.RecordBatch]:
        """One row a range and batch, as ``CHUNKS``."""
        for batch, position in placed:
            words = self.keystream.words(self.stream, position, len(batch))
            numbers = _range_numbers(words, self.bits)
            order = np.argsort(numbers.astype(np.uint16), kind="stable")
            counts = np.bincount(numbers, minlength=2**self.bits)
            ends = np.concatenate(([0], np.cumsum(counts))).tolist()
            columns = [pa.array(words), *batch.columns]
            whole = pa.RecordBatch.from_arrays(columns, schema=_with_words(batch.schema))
            whole = whole.take(pa.array(order))
            full = np.flatnonzero(counts)
            chunks = [
                whole.slice(ends[at], ends[at + 1] - ends[at]).serialize().to_pybytes()
                for at in full.tolist()
            ]
            yield pa.record_batch(
                {
                    "range": pa.array(full, pa.int32()),
                    "position": pa.array([position] * len(full), pa.int64()),
                    "chunk": pa.array(chunks, pa.binary()),
                }
            )


@dataclass(frozen=True)
class Summary:
    """What a function makes of all batches of the partition, pickled for the driver."""

    function: Callable[[Iterator[pa.RecordBatch]], Any]
    noted: dict[str, int] = field(default_factory=dict)

    def __call__(self, placed: Placed, partition: int) -> Iterator[pa.RecordBatch]:
        """One row: the partition and its summary."""
        made = self.function(batch for batch, _ in placed)
        content = pickle.dumps((made, self.noted), protocol=pickle.HIGHEST_PROTOCOL)
        yield pa.record_batch(
            {"part": pa.array([partition], pa.int32()), "made": pa.array([content], pa.binary())}
        )


def count_words(
    keystream: Keystream, stream: Address, bits: int, positions: tuple[int, int]
) -> IntArray:
    """How many words of a shuffle fall into each range, of a slice of all positions."""
    counts = np.zeros(2**bits, dtype=np.int64)
    words = np.empty(CHUNK, dtype=np.uint64)
    start, end = positions
    for begin in range(start, end, CHUNK):
        count = min(CHUNK, end - begin)
        drawn = keystream.words(stream, begin, count, words[:count])
        counts += np.bincount(_range_numbers(drawn, bits), minlength=len(counts))
    return counts


def _range_numbers(words: Words, bits: int) -> IntArray:
    """The range of each word: its leading bits, of which there may be none."""
    return ((words >> np.uint64(1)) >> np.uint64(63 - bits)).view(np.int64)


def as_stream(batches: Iterator[pa.RecordBatch]) -> bytes | None:
    """Batches as one Arrow stream, dictionaries included."""
    held = list(batches)
    if not held:
        return None
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, held[0].schema) as writer:
        for batch in held:
            writer.write_batch(batch)
    made: bytes = sink.getvalue().to_pybytes()
    return made


def from_stream(content: bytes) -> list[pa.RecordBatch]:
    """The batches of an Arrow stream."""
    with pa.ipc.open_stream(content) as stream:
        return list(stream)


def _with_words(schema: pa.Schema) -> pa.Schema:
    """The columns of a chunk: the word of each record first."""
    return pa.schema([pa.field("word", pa.uint64(), nullable=False), *schema])


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


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
        private = X25519PrivateKey.generate()
        public = private.public_key().public_bytes_raw()
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
        shared = private.exchange(X25519PublicKey.from_public_bytes(theirs))
        exports = _seal(shared, self.token, public, theirs).decrypt(_NONCE, sealed, public)
        return [
            Keystream.from_export(exports[at : at + _EXPORT])
            for at in range(0, len(exports), _EXPORT)
        ]


def pickled_apart(objects: tuple[Any, ...], keystreams: list[Keystream]) -> bytes:
    """The objects as bytes: a keystream is its number in the list, to which new ones are added."""
    from pyspark.cloudpickle import CloudPickler

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
    private = X25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw()
    shared = private.exchange(X25519PublicKey.from_public_bytes(theirs))
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
