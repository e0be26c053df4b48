"""Memory does not grow with records, columns or threads; too little of it is refused."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana.base.processes import in_order, memory_bound, require_memory
from pramana.base.randomness import Keystream
from pramana.engine.shuffle import Shuffler
from pramana.errors import InvalidNumber, TooLarge
from pramana.io.opening import open_table
from pramana.schema.group_sizes import group_sizes
from pramana.schema.opened_table import BATCH_CELLS


def test_wide_tables_are_read_in_short_batches(tmp_path):
    """From a row group of any size, and from memory."""
    table = pa.table({f"c{at}": np.arange(6000) for at in range(800)})
    large = pa.concat_tables([table] * 2)
    pq.write_table(large, tmp_path / "large.parquet", row_group_size=12_000)
    for source in (table, large, tmp_path / "large.parquet"):
        opened = open_table(source)
        sizes = [batch.num_rows * batch.num_columns for batch in opened.batches()]
        assert max(sizes) <= BATCH_CELLS
        assert sum(sizes) == opened.rows * 800
    assert open_table(tmp_path / "large.parquet").to_arrow().equals(large)


def test_little_is_in_flight_however_many_threads_there_are(monkeypatch):
    """Parts of many cells wait for each other."""
    monkeypatch.setenv("PRAMANA_MEMORY", "512M")
    lock, held, most = threading.Lock(), [0], [0]

    def load(item):
        with lock:
            held[0] += 1
            most[0] = max(most[0], held[0])
        return item

    for got in in_order(load, range(40), threads=16, cells=lambda _: 2_000_000):
        with lock:
            held[0] -= 1
        assert got < 40
    assert most[0] <= 3


@pytest.mark.parametrize("columns", [1, 12, 300])
def test_the_order_of_a_shuffle_does_not_depend_on_the_columns(columns):
    """Wide records are scattered into more ranges, and come in the same order."""
    records = 30_000
    table = pa.table({f"c{at}": np.arange(records) for at in range(columns)})
    shuffler = Shuffler(
        table.schema, keystream=Keystream.from_seed(1), stream="shuffle", records=records
    )
    for batch in table.to_batches(max_chunksize=7_000):
        position = int(batch.column(0)[0].as_py())
        shuffler.add(shuffler.scatter(batch, position))
    parts = [shuffler.ordered(at, at + 10_000) for at in range(0, records, 10_000)]
    found = np.concatenate([np.asarray(part.column(0)) for part in parts])
    words = Keystream.from_seed(1).words("shuffle", 0, records)
    assert (found == np.argsort(words, kind="stable")).all()
    assert (len(shuffler.counts) > 1) == (columns == 300)


def test_the_bound_can_be_said(monkeypatch):
    """And what has to be held whole is refused beyond it."""
    monkeypatch.setenv("PRAMANA_MEMORY", "1 GiB")
    assert memory_bound() == 2**30
    require_memory(2**30, what="it")
    with pytest.raises(TooLarge, match="it takes about 2.0 GiB.*Parquet"):
        require_memory(2**31, what="it")
    for wrong in ("much", "1M", "-1G"):
        monkeypatch.setenv("PRAMANA_MEMORY", wrong)
        with pytest.raises(InvalidNumber, match="PRAMANA_MEMORY"):
            memory_bound()


@pytest.mark.parametrize("limit", [2**29, 2**30])
def test_too_little_memory_is_refused_in_one_line_before_libraries_break_down(tmp_path, limit):
    """Under a limit of address space they end the process in ways of their own."""
    command = [sys.executable, "-c", "from pramana.cli.app import main; main()"]
    done = subprocess.run(
        [*command, "describe", "people.csv"], cwd=tmp_path, capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "ulimit -v" in done.stderr


def test_charts_say_which_addresses_they_lack():
    """The engine that draws them would end the process."""
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))\n"
        "from pramana.base.charts import standalone_svg; standalone_svg(None)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "TooLarge: Charts reserve 72 GiB" in done.stderr


SHUFFLED = """
import re, sys
from pathlib import Path
from pramana.engine.local import LocalTable
from pramana.base.randomness import Keystream
own = Path(sys.argv[1])
LocalTable.of(own).shuffle(keystream=Keystream.from_seed(1)).write(own.with_suffix(".pq"))
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
"""What a process has taken at most; what rusage says begins with that of the process before."""


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system of Linux")
@pytest.mark.deep
def test_memory_does_not_grow_with_columns(tmp_path):
    """Read, shuffled and written, 183 MiB in 800 columns take as much as libraries and parts do.

    Where all of them are held it is 1,000 MiB.
    """
    values = np.random.default_rng(1).random((30_000, 1))
    schema = pa.schema([pa.field(f"c{at}", pa.float64(), nullable=False) for at in range(800)])
    table = pa.Table.from_arrays([pa.array(values[:, 0])] * 800, schema=schema)
    pq.write_table(table, tmp_path / "wide.parquet", use_dictionary=False)
    done = subprocess.run(
        [sys.executable, "-c", SHUFFLED, str(tmp_path / "wide.parquet")], capture_output=True,
        env={**os.environ, "PRAMANA_MEMORY": "512M"}, check=True,
    )  # fmt: skip
    assert int(done.stdout) >> 10 < 700


def test_combinations_that_do_not_fit_are_refused_or_leave_somebody_alone(monkeypatch):
    """Of many columns that tell everybody apart no memory holds the combinations."""
    table = pa.table({f"c{at}": np.arange(900) for at in range(10)})
    monkeypatch.setattr("pramana.schema.group_sizes.MOST_APART", 5_000)
    opened = open_table(table)
    assert group_sizes(opened, table.column_names, apart=True).smallest() == 1
    twice = open_table(pa.concat_tables([table, table]))
    assert group_sizes(twice, table.column_names[:5], apart=True).smallest() == 2
    monkeypatch.setattr("pramana.schema.group_sizes.VALUE_BYTES", 2**29 // 5_000)
    monkeypatch.setenv("PRAMANA_MEMORY", "512M")
    with pytest.raises(TooLarge, match="more than 500 combinations of c0, c1.*PRAMANA_MEMORY"):
        group_sizes(twice, table.column_names).smallest()
