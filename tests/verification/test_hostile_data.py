"""Data files that somebody made to crash, to stall or to fool whoever verifies them."""

from __future__ import annotations

import struct
import time
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pramana import api
from pramana.errors import InvalidTable
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.io.opening import open_table
from pramana.release.folder import fingerprint, read_certificate, write_explanations
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from pramana.verification.verify import verify_folder

RECORDS = 500
SCHEMA = Schema(
    (
        Column("a", Role.KEY, Categories(("x", "y", "z")), missing="refuse"),
        Column("g", Role.PUBLIC),
        Column("s", Role.SENSITIVE),
    )
)


@cache
def people() -> pa.Table:
    """A small table."""
    chance = np.random.default_rng(2)
    return pa.table(
        {
            "a": chance.choice(list("xyz"), RECORDS),
            "g": chance.choice(["n", "s"], RECORDS),
            "s": chance.integers(0, 5, RECORDS),
        }
    )


@cache
def plan():
    """What is done to it."""
    return api.design(SCHEMA, PkAnonymity(2), data=people(), method="retention")


def released(folder, form: str):
    """A sound release in a format."""
    return api.protect(people(), plan(), to=folder, file_format=form, seed=1)


def with_data(release, name: str, content: bytes):
    """The folder with other data under a certificate that states their digest."""
    before = release.certificate.data
    (release.folder / before.name).unlink()
    (release.folder / name).write_bytes(content)
    data = fingerprint(release.folder / name, before.format)
    certificate = replace(release.certificate, data=data)
    (release.folder / "certificate.json").write_bytes(certificate.to_bytes())
    write_explanations(release.folder, certificate)
    return release.folder


def failed(folder) -> set[str]:
    """The names of the checks that fail."""
    return {check.name for check in verify_folder(folder).checks if not check.ok}


def arrow_file(table: pa.Table, **options) -> bytes:
    """The table as an Arrow file, whatever its buffers hold."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _wild_index(table: pa.Table, index: int) -> pa.Table:
    values = table.column("a").combine_chunks()
    values = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
    indices = pa.array(np.full(RECORDS, index), pa.int8())
    wild = pa.DictionaryArray.from_arrays(indices, values.dictionary, safe=False)
    field = pa.field("a", wild.type)
    return table.set_column(0, field, pa.chunked_array([wild]))


def _wild_offsets(table: pa.Table, offset: int) -> pa.Table:
    offsets = np.full(RECORDS + 1, 2, np.int32)
    offsets[:3] = 0, offset, offset + 10
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"ns")]
    wild = pa.Array.from_buffers(pa.string(), RECORDS, buffers)
    return table.set_column(1, table.schema.field("g"), pa.chunked_array([wild]))


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize(
    ("change", "wild"),
    [(_wild_index, 3), (_wild_index, 100), (_wild_index, -1),
     (_wild_offsets, 4096), (_wild_offsets, 10**9), (_wild_offsets, -5)],
)  # fmt: skip
def test_indices_and_offsets_that_lead_elsewhere_are_refused(tmp_path, change, wild, compression):
    """No value is read through an index or an offset that was not looked at."""
    release = released(tmp_path / "r", "feather")
    sound = pa.ipc.open_file(str(release.folder / "data.arrow")).read_all()
    content = arrow_file(change(sound, wild), compression=compression)
    assert failed(with_data(release, "data.arrow", content)) == {"table"}
    if pa.types.is_dictionary(sound.schema.field(0).type) or change is _wild_offsets:
        with pytest.raises(InvalidTable, match="broken"):
            open_table(change(sound, wild))


def test_a_false_length_is_refused_before_memory_is_asked_for(tmp_path):
    """A packed buffer that says to be a tebibyte long, and a batch that does."""
    release = released(tmp_path / "r", "feather")
    content = bytearray((release.folder / "data.arrow").read_bytes())
    lengths = struct.pack("<q", RECORDS)  # of the batch, of its columns, and of 8-bit indices
    places = [at for at in range(len(content) - 8) if content[at : at + 8] == lengths]
    assert places
    for place in places:
        wild = bytearray(content)
        wild[place : place + 8] = struct.pack("<q", 2**40)
        assert failed(with_data(release, "data.arrow", bytes(wild))) & {"table", "records"}


@pytest.mark.parametrize("form", ["feather", "parquet", "csv"])
@pytest.mark.deep(every=3)
def test_mutated_data_never_crash_and_are_refused_in_one_line(tmp_path, form):
    """A verdict for every mutant: a crash would end the tests."""
    release = released(tmp_path / "r", form)
    name = release.certificate.data.name
    sound = (release.folder / name).read_bytes()
    chance = np.random.default_rng(5)
    for at in range(150):
        content = bytearray(sound)
        reach = len(content) if at % 2 else min(len(content), 1_500)
        for place in chance.integers(0, reach, int(chance.integers(1, 6))):
            content[place] = int(chance.integers(0, 256))
        content = content[: int(chance.integers(8, len(content)))] if at % 10 == 9 else content
        verdict = verify_folder(with_data(release, name, bytes(content)))
        assert all("\n" not in check.detail for check in verdict.checks)


def test_no_more_is_unpacked_than_is_stated(tmp_path):
    """Many records in a small file, and a text that grows: refused at once."""
    many = 20_000_000
    zeros = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(many, np.int8)), pa.array(["x"])
    )  # fmt: skip
    table = pa.table({"a": zeros, "g": zeros, "s": pa.array(np.zeros(many, np.int64))})
    parquet.write_table(table, tmp_path / "many.parquet")
    bombs = {
        "parquet": ("data.parquet", (tmp_path / "many.parquet").read_bytes()),
        "feather": ("data.arrow", arrow_file(table, compression="zstd")),
    }
    for form, (name, content) in bombs.items():
        release = released(tmp_path / form, form)
        start = time.process_time()
        assert failed(with_data(release, name, content)) & {"records", "table"}
        assert time.process_time() - start < 2
    release = released(tmp_path / "text", "csv")
    sound = (release.folder / "data.csv").read_bytes()
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "gzip") as packed:
        packed.write(sound)
    assert failed(with_data(release, "data.csv.gz", sink.getvalue().to_pybytes())) >= {"data"}


@pytest.mark.parametrize("packing", ["zstd", "gzip", "brotli"])
def test_columns_that_are_packed_hard_are_not_unpacked(tmp_path, packing):
    """Whatever a small file says, no memory is asked for."""
    release = released(tmp_path / "r", "parquet")
    parquet.write_table(release.table, tmp_path / "hard.parquet", compression=packing)
    assert failed(with_data(release, "data.parquet", (tmp_path / "hard.parquet").read_bytes())) == {
        "table"
    }


def test_one_long_text_for_many_records_is_not_written_out(tmp_path):
    """A text of a megabyte that half a million records share: half a terabyte."""
    many = 500_000
    long = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(many, np.int32)), pa.array(["x" * 2**20])
    )
    few = pa.DictionaryArray.from_arrays(pa.array(np.zeros(many, np.int8)), pa.array(["x"]))
    table = pa.table({"a": few, "g": long, "s": pa.array(np.zeros(many, np.int64))})
    parquet.write_table(table, tmp_path / "long.parquet")
    for form, name, content in (
        ("parquet", "data.parquet", (tmp_path / "long.parquet").read_bytes()),
        ("feather", "data.arrow", arrow_file(table, compression="lz4")),
    ):
        release = released(tmp_path / form, form)
        with_data(release, name, content)
        certificate = replace(
            release.certificate, data=fingerprint(release.folder / name, form), records=many
        )
        (release.folder / "certificate.json").write_bytes(certificate.to_bytes())
        start = time.process_time()
        assert "records" in failed(release.folder)
        assert time.process_time() - start < 2


def test_records_that_fit_into_no_bytes_are_not_counted(tmp_path):
    """Twenty million records of one value in some kilobytes, and as many are stated."""
    many = 20_000_000
    zeros = pa.DictionaryArray.from_arrays(pa.array(np.zeros(many, np.int8)), pa.array(["x"]))
    table = pa.table({"a": zeros, "g": zeros, "s": zeros})
    parquet.write_table(table, tmp_path / "many.parquet")
    content = (tmp_path / "many.parquet").read_bytes()
    release = released(tmp_path / "r", "parquet")
    with_data(release, "data.parquet", content)
    data = fingerprint(release.folder / "data.parquet", "parquet")
    certificate = replace(release.certificate, data=data, records=many)
    (release.folder / "certificate.json").write_bytes(certificate.to_bytes())
    start = time.process_time()
    assert "table" in failed(release.folder)
    assert time.process_time() - start < 2


def test_files_of_other_programs_that_are_packed_are_not_unpacked(tmp_path):
    """SPSS packs a file as a whole; SAS files are read, and no release is written as one."""
    pyreadstat = pytest.importorskip("pyreadstat")
    release = released(tmp_path / "r", "sav")
    frame = release.table.to_pandas()
    pyreadstat.write_sav(frame, str(tmp_path / "p.zsav"), compress=True)
    content = (tmp_path / "p.zsav").read_bytes()
    assert content.startswith(b"$FL3")
    assert failed(with_data(release, "data.sav", content)) == {"table"}
    data = replace(release.certificate.data, format="sas7bdat")
    (release.folder / "certificate.json").write_bytes(
        replace(release.certificate, data=data).to_bytes()
    )
    assert "data" in failed(release.folder) or "table" in failed(release.folder)


def _with_more_entries(table: pa.Table) -> pa.Table:
    values = table.column("a").combine_chunks()
    values = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
    entries = [*values.dictionary.to_pylist(), "what the first person said"]
    more = pa.DictionaryArray.from_arrays(values.indices, pa.array(entries))
    return table.set_column(table.schema.get_field_index("a"), "a", more)


def _with_words(table: pa.Table) -> pa.Table:
    fields = [item.with_metadata({"truth": "x, y, x"}) for item in table.schema]
    return table.cast(pa.schema(fields))


BESIDE = {
    "of the file": lambda table: table.replace_schema_metadata({"truth": "x, y, x"}),
    "of a column": _with_words,
    "that no record holds": _with_more_entries,
}


@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("how", BESIDE)
def test_words_beside_the_records_are_found(how, form, tmp_path):
    """In what a file says of itself, of a column, or in a dictionary: not a release."""
    release = released(tmp_path / "release", form)
    own = release.table
    assert not failed(release.folder)
    more = BESIDE[how](own)
    content = arrow_file(more) if form == "feather" else _parquet(more)
    assert failed(with_data(release, release.certificate.data.name, content))


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def test_a_forged_number_of_records_is_compared_before_anything_is_computed(tmp_path):
    """2**62 records are not in the data: no guarantee is recomputed for them."""
    release = tmp_path / "release"
    api.protect(people(), plan(), to=release)
    certificate = read_certificate(release)
    forged = replace(certificate, records=2**62, anonymity_set=2**62)
    (release / "certificate.json").write_bytes(forged.to_bytes())
    verdict = api.verify(release)

    (records,) = [check for check in verdict.checks if check.name == "records"]
    assert not records.ok
    assert verdict.counts["guarantees_proven"] == 0
    assert verdict.counts["guarantees_asserted"] == len(certificate.claims)
