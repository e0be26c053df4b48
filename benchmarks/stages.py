"""What each stage of protect costs a record: processor time of one thread, eight key columns.

The stages run one after the other on the same records, so that each can be timed by itself. What a
neighbour on the machine does hardly enters, since seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import _roads
from benchmarks._measure import Result
from pramana.base.randomness import CHUNK, Keystream
from pramana.engine.local import LocalTable
from pramana.engine.shuffle import Shuffler
from pramana.io.output import ROW_GROUP, write_records
from pramana.mechanisms.randomiser import Randomiser

WHERE = {
    "read": "a worker, grows with the records",
    "keystream": "part of draw",
    "encode and draw": "a worker, grows with records x columns",
    "scatter": "a worker; what it gives moves over the network",
    "order": "a worker, in ranges of a fixed size",
    "decode": "a worker",
    "write": "a worker, compression included",
    "fingerprint": "the driver alone, one pass over the files",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=4_000_000)


def run(options: argparse.Namespace) -> Result:
    spent = {}
    with tempfile.TemporaryDirectory() as temporary:
        source, target = Path(temporary) / "people.parquet", Path(temporary) / "out.parquet"
        _roads.generate(options.records, source)
        _measure(spent, source, target, options.records)
    result = Result(
        f"Processor time by stage, {options.records:,} records x {len(_roads.SIZES)} keys",
        ("stage", "ns a record", "million records a second and core", "who does it"),
    )
    for stage, seconds in spent.items():
        each = seconds / options.records * 1e9
        result.rows.append((stage, f"{each:.1f}", f"{1e3 / each:.1f}", WHERE[stage]))
    total = sum(seconds for stage, seconds in spent.items() if stage != "keystream")
    each = total / options.records * 1e9
    result.rows.append(("all", f"{each:.1f}", f"{1e3 / each:.1f}", "local engine"))
    return result


def _measure(spent, source: Path, target: Path, records: int) -> None:
    from pramana.release.folder import fingerprint

    schema, mechanism = _roads.plan()
    keystream = Keystream.from_system()
    table = LocalTable.of(source, coded=schema.names, threads=1)
    work = Randomiser(schema, mechanism, table.schema(), keystream)
    batches = _timed(spent, "read", lambda: list(table.batches()))
    starts = np.cumsum([0, *(len(batch) for batch in batches)]).tolist()
    _timed(spent, "keystream", lambda: _words(keystream, records))
    work.encode(batches[0], 0)  # prepares the matrices
    coded = _timed(
        spent,
        "encode and draw",
        lambda: [work.encode(batch, at) for batch, at in zip(batches, starts, strict=False)],
    )
    shuffler = Shuffler(work.coded, keystream=keystream, stream="s", records=records)

    def scatter() -> None:
        for batch, at in zip(coded, starts, strict=False):
            shuffler.add(shuffler.scatter(batch, at))

    _timed(spent, "scatter", scatter)
    spans = [(at, min(at + ROW_GROUP, records)) for at in range(0, records, ROW_GROUP)]
    ordered = _timed(spent, "order", lambda: [shuffler.ordered(*span) for span in spans])
    made = _timed(spent, "decode", lambda: [work.decode(batch, 0) for batch in ordered])
    _timed(spent, "write", lambda: _write(made, target))
    _timed(spent, "fingerprint", lambda: fingerprint(target, "parquet"))


def _words(keystream: Keystream, records: int) -> None:
    words = np.empty(CHUNK, dtype=np.uint64)
    for at in range(len(_roads.SIZES)):
        for start in range(0, records, CHUNK):
            keystream.words(str(at), start, CHUNK, words)


def _write(batches: list[pa.RecordBatch], target: Path) -> None:
    schema = batches[0].schema
    write_records(schema, batches, target, file_format="parquet")


def _timed(spent, stage: str, work):
    begin = time.process_time()
    made = work()
    spent[stage] = time.process_time() - begin
    return made
