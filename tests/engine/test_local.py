"""The local engine: five verbs, the same result however it is cut, files whole or not at all."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from pramana.base.randomness import Keystream
from pramana.engine.base import Table
from pramana.engine.local import LocalTable
from pramana.errors import InvalidTable, OutsideDomain, UnknownColumn
from pramana.io import output
from pramana.io import parquet as parquet_format
from pramana.io.opening import open_table
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.randomiser import Randomiser
from pramana.mechanisms.transition import Dense, UniformMixture
from pramana.schema.domains import Categories
from pramana.schema.opened_table import OpenedTable, placed
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

SEEDED = Keystream.from_seed(51)
SCHEMA = Schema(
    (
        Column("sex", Role.KEY, Categories(("F", "M"))),
        Column("region", Role.KEY, Categories(tuple("abcdefg")), missing="category"),
        Column("income", Role.SENSITIVE),
        Column("note", Role.SENSITIVE),
    )
)
MECHANISM = Mechanism(
    (
        Step(("sex",), UniformMixture.of(("F", "M"), retention=0.5)),
        Step(("region",), Dense.of((*"abcdefg", None), np.full((8, 8), 1 / 8))),
    )
)


def people(n):
    """A table with text, missing values, numbers and long text."""
    rng = np.random.default_rng(6)
    region = rng.choice([*"abcdefg", None], n)
    return pa.table(
        {
            "sex": pa.array(rng.choice(["F", "M"], n)),
            "region": pa.array(region.tolist(), pa.string()),
            "income": pa.array(np.arange(n) / 4, mask=rng.random(n) < 0.1),
            "note": pa.array([f"note {i}" for i in range(n)]),
        }
    )


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    path = tmp_path_factory.mktemp("local") / "people.parquet"
    pq.write_table(people(5000), path, row_group_size=700)
    return path


def protected(table):
    """The pipeline of a release, seeded."""
    work = Randomiser(SCHEMA, MECHANISM, table.schema(), SEEDED)
    return (
        table.map_batches(work.encode, schema=work.coded)
        .shuffle(keystream=SEEDED)
        .map_batches(work.decode, schema=work.released)
    )


def bytes_of(table, folder):
    """A digest of the file that is written of a table; nothing is left of it."""
    path = folder / "out.parquet"
    table.write(path)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    path.unlink()
    return found


def test_it_is_a_table(parquet):
    """The five verbs of the protocol are there, and the types are those of the file."""
    table = LocalTable.of(parquet)

    assert isinstance(table, Table)
    assert table.schema() == people(1).schema
    assert table.records == 5000
    assert table.to_arrow().equals(people(5000))


def test_columns_to_be_coded_are_read_as_dictionaries(parquet):
    """Each distinct value once a row group; numbers stay as they are."""
    table = LocalTable.of(parquet, coded=["sex", "income"])

    assert pa.types.is_dictionary(table.schema().field("sex").type)
    assert table.schema().field("income").type == pa.float64()
    assert table.to_arrow()["sex"].to_pylist() == people(5000)["sex"].to_pylist()


def test_chunks_threads_batches_and_memory_never_change_a_release(parquet, tmp_path, monkeypatch):
    """A seeded release is the same file, byte for byte, and the same from data frames."""
    made = {}
    for threads in (1, 2, 5):
        for memory in (1, 2**30):
            table = LocalTable.of(parquet, coded=["sex", "region"], threads=threads, memory=memory)
            made[threads, memory] = bytes_of(protected(table), tmp_path)
    for size in (99, 1000, 10**6):
        monkeypatch.setattr(parquet_format, "PART_RECORDS", (size, size))
        for source in (parquet, people(5000), open_table(parquet), open_table(people(5000))):
            made[size, id(source)] = bytes_of(protected(LocalTable.of(source)), tmp_path)
    monkeypatch.setattr(parquet_format, "GROUP_MOST", 500)
    monkeypatch.setattr(parquet_format, "PART_RECORDS", (77, 77))
    table = LocalTable.of(parquet, coded=["sex"])
    made["groups in batches"] = bytes_of(protected(table), tmp_path)

    assert len(set(made.values())) == 1


def test_records_stay_together_and_all_of_them(parquet):
    """Columns that are released unchanged, side by side, are a permutation of the truth."""
    truth, made = people(5000), protected(LocalTable.of(parquet)).to_arrow()

    pairs = [
        list(zip(t["income"].to_pylist(), t["note"].to_pylist(), strict=True))
        for t in (truth, made)
    ]
    order = SEEDED.permutation(5000, "shuffle").tolist()
    assert pairs[1] == [pairs[0][i] for i in order]


@pytest.mark.parametrize("file_format", ["parquet", "csv", "feather"])
def test_formats_hold_the_same_records(file_format, parquet, tmp_path):
    """What is written is what flows."""
    made = protected(LocalTable.of(parquet))
    path = tmp_path / "out"

    assert made.write(path, file_format=file_format) == 5000

    read = {
        "parquet": pq.read_table,
        "csv": lambda place: pa.csv.read_csv(
            place, convert_options=pa.csv.ConvertOptions(strings_can_be_null=True)
        ),
        "feather": pa.feather.read_table,
    }[file_format](path)
    assert read.to_pydict() == made.to_arrow().to_pydict()
    assert path.stat().st_mode & 0o044 == 0o044 & ~_umask()


def test_row_groups_have_one_size_whatever_came(tmp_path):
    """The groups of a file are cut by the writer alone."""
    batches = [pa.record_batch({"x": range(a, b)}) for a, b in [(0, 3), (3, 4), (4, 17), (17, 20)]]
    groups = list(output.in_groups(batches, batches[0].schema, size=5))

    assert [len(group) for group in groups] == [5, 5, 5, 5]
    assert pa.concat_tables(groups)["x"].to_pylist() == list(range(20))
    assert list(output.in_groups([], batches[0].schema)) == []


def test_counting_equals_counting_in_memory(parquet):
    """Over row groups with their own dictionaries; by hand with Arrow's group by."""
    columns = [SCHEMA.column("region"), SCHEMA.column("sex")]
    counts = LocalTable.of(parquet, coded=["sex", "region"]).count(columns)

    truth = people(5000).group_by(["region", "sex"]).aggregate([([], "count_all")]).to_pylist()
    seen = {
        tuple(labels[code] for labels, code in zip(counts.labels, cell, strict=True)): int(number)
        for cell, number in zip(counts.cells, counts.numbers, strict=True)
    }
    assert seen == {(row["region"], row["sex"]): row["count_all"] for row in truth}
    assert counts.total == 5000


def test_counting_reads_no_other_columns(parquet, tmp_path):
    """The other columns may be broken on the disk: they are not touched."""
    content = bytearray(parquet.read_bytes())
    groups = pq.read_metadata(parquet)
    for group in range(groups.num_row_groups):
        notes = groups.row_group(group).column(3)
        begin = notes.dictionary_page_offset or notes.data_page_offset
        content[begin : begin + notes.total_compressed_size] = bytes(notes.total_compressed_size)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(content)

    for table in (LocalTable.of(broken), LocalTable.of(open_table(broken))):
        assert table.count([SCHEMA.column("sex")]).total == 5000
        with pytest.raises(InvalidTable, match="broken or truncated"):
            table.to_arrow()


def test_counting_refuses_with_the_column_and_never_a_value(parquet):
    """Values outside the domain, and columns that are not there."""
    narrow = Column("region", Role.KEY, Categories(("a", "b")), missing="category")
    with pytest.raises(OutsideDomain, match="of 'region' hold values outside") as error:
        LocalTable.of(parquet).count([narrow])
    assert "'c'" not in str(error.value)
    with pytest.raises(UnknownColumn, match="no column 'age'"):
        LocalTable.of(parquet).count([Column("age", Role.KEY, Categories((1, 2)))])


def test_a_function_learns_the_position_of_its_batch(parquet):
    """Positions before a shuffle are those of the file."""
    schema = pa.schema([("position", pa.int64())])

    def number(batch, position):
        return pa.record_batch([pa.array(range(position, position + len(batch)))], schema=schema)

    made = LocalTable.of(parquet).map_batches(number, schema=schema).to_arrow()
    assert made["position"].to_pylist() == list(range(5000))


def test_a_function_that_loses_records_or_columns_is_refused(parquet):
    """Words are addressed by position, so positions must hold."""
    table = LocalTable.of(parquet)
    with pytest.raises(InvalidTable, match="must keep the"):
        table.map_batches(lambda batch, _: batch.slice(1), schema=table.schema()).to_arrow()
    with pytest.raises(InvalidTable, match="must keep the"):
        table.map_batches(lambda b, _: b.select(["sex"]), schema=table.schema()).to_arrow()


def test_progress_hears_of_every_record_once_a_pass(parquet, tmp_path):
    """Twice for a shuffled table: when it is drawn and when it is written."""
    for table in (LocalTable.of(parquet), protected(LocalTable.of(parquet))):
        heard = []
        table.write(tmp_path / f"{table.passes}.parquet", progress=heard.append)
        assert sum(heard) == 5000 * table.passes
    assert table.passes == 2
    heard = []
    table.to_arrow(progress=heard.append)
    LocalTable.of(parquet).count([SCHEMA.column("sex")], progress=heard.append)
    assert sum(heard) == 5000 * 3


# -- whole or not at all -------------------------------------------------------------------


def test_an_error_half_way_leaves_nothing(parquet, tmp_path, monkeypatch):
    """No file, no temporary folder; a file that was there stays as it was."""
    monkeypatch.setattr(parquet_format, "PART_RECORDS", (700, 700))

    def fail(batch, position):
        if position > 2000:
            raise RuntimeError("stop")
        return batch

    table = LocalTable.of(parquet)
    failing = table.map_batches(fail, schema=table.schema())
    with pytest.raises(RuntimeError, match="stop"):
        failing.write(tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []

    (tmp_path / "out.parquet").write_text("before")
    with pytest.raises(RuntimeError, match="stop"):
        failing.write(tmp_path / "out.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]
    assert (tmp_path / "out.parquet").read_text() == "before"


def test_a_full_disk_leaves_nothing(parquet, tmp_path):
    """The system refuses to write more: the error is its own, the name stays free."""
    script = f"""
        import resource
        from pathlib import Path
        from pramana.engine.local import LocalTable
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        try:
            LocalTable.of({str(parquet)!r}).write(Path({str(tmp_path)!r}) / "out.parquet")
        except OSError:
            raise SystemExit(7)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)

    assert run.returncode == 7
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_leaves_no_file_under_the_name(parquet, tmp_path):
    """Killed in the middle of writing: only a hidden folder is left, never the file."""
    script = f"""
        import time
        from pathlib import Path
        from pramana.engine import local
        from pramana.io import output, parquet
        parquet.PART_RECORDS = (700, 700)
        output.in_groups.__kwdefaults__["size"] = 100
        table = local.LocalTable.of({str(parquet)!r}, threads=1)
        def slow(batch, position):
            if position > 2000:
                Path({str(tmp_path)!r}, "reached").touch()
                time.sleep(60)
            return batch
        table.map_batches(slow, schema=table.schema()).write(Path({str(tmp_path)!r}, "out.parquet"))
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)])
    try:
        for _ in range(600):
            if (tmp_path / "reached").exists():
                break
            time.sleep(0.05)
        assert (tmp_path / "reached").exists()
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()

    assert not (tmp_path / "out.parquet").exists()
    assert any(path.stat().st_size for path in tmp_path.glob(".pramana-*/out.parquet"))
    assert all(path.name == "reached" or path.name[0] == "." for path in tmp_path.iterdir())


def test_a_file_broken_half_way_is_refused(parquet, tmp_path):
    """In one line without a value, and nothing is written."""
    content = bytearray(parquet.read_bytes())
    content[len(content) // 3 : len(content) // 2] = bytes(len(content) // 2 - len(content) // 3)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(content)
    with pytest.raises(InvalidTable, match="broken or truncated") as error:
        protected(LocalTable.of(broken)).write(tmp_path / "out.parquet")
    assert "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["broken.parquet"]

    broken.write_bytes(content[:1000])
    with pytest.raises(InvalidTable, match="broken or truncated"):
        LocalTable.of(broken)


def test_sources_can_be_read_again(parquet):
    """Every verb opens its source anew."""
    table = protected(LocalTable.of(parquet))

    assert table.to_arrow().equals(table.to_arrow())


def test_batches_of_any_length_have_positions():
    """Also empty ones."""
    schema = pa.schema([("x", pa.int64())])
    batches = [pa.record_batch([pa.array(range(n))], schema=schema) for n in (2, 0, 3)]
    opened = OpenedTable(schema, 5, "frame", None, lambda _: placed(batches))

    assert [(part.position, part.records) for part in opened.parts()] == [(0, 2), (2, 0), (2, 3)]
    assert LocalTable(opened).shuffle(keystream=SEEDED).to_arrow().num_rows == 5


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
