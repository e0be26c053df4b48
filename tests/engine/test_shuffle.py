"""The shuffle: one order, a function of key and number of records, in memory or through a file."""

from __future__ import annotations

import itertools
from collections import Counter
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pramana.base.randomness import Keystream
from pramana.engine import shuffle
from pramana.engine.shuffle import RowLayout, Shuffler

LEVEL = 1e-6
SEEDED = Keystream.from_seed(41)
SCHEMA = pa.schema(
    [
        pa.field("code", pa.uint8(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("wide", pa.float64(), nullable=False),
        pa.field("flag", pa.bool_(), nullable=False),
        pa.field("income", pa.float64()),
        pa.field("kind", pa.dictionary(pa.int32(), pa.string())),
        pa.field("day", pa.date32(), nullable=False),
    ]
)


def batch(begin, end):
    """Records that say their own number in every column, with gaps and changing dictionaries."""
    numbers = range(begin, end)
    words = [f"kind {(i * 7) % 5}" for i in numbers]
    columns = [
        pa.array([i % 256 for i in numbers], pa.uint8()),
        pa.array([None if i % 5 == 0 else f"record {i}" for i in numbers], pa.string()),
        pa.array([float(i) for i in numbers], pa.float64()),
        pa.array([i % 3 == 0 for i in numbers], pa.bool_()),
        pa.array([None if i % 7 == 0 else i / 2 for i in numbers], pa.float64()),
        pa.array(words, pa.string()).dictionary_encode(),
        pa.array(list(numbers), pa.int32()).cast(pa.date32()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def shuffled(cuts, *, schema=SCHEMA, records=2**24, make=batch, span=70, **options):
    """The records in their new order, given in batches that end at ``cuts``."""
    shuffler = Shuffler(schema, keystream=SEEDED, stream="s", records=records, **options)
    for begin, end in itertools.pairwise([0, *cuts]):
        shuffler.add(shuffler.scatter(make(begin, end), begin))
    return _taken(shuffler, schema, span)


def _taken(shuffler, schema, span):
    total = sum(shuffler.counts)
    parts = [shuffler.ordered(at, min(at + span, total)) for at in range(0, total, span)]
    assert [len(part) for part in parts[:-1]] == [span] * len(parts[:-1])
    return pa.Table.from_batches(parts, schema).to_pylist()


@pytest.mark.parametrize("memory", [1, 4000, 2**30], ids=["spilled", "half spilled", "held"])
@pytest.mark.parametrize("records", [2**24, 1, 2**18], ids=["256 ranges", "1 range", "8 ranges"])
@pytest.mark.parametrize("cuts", [[300], [1, 2, 90, 300], [150, 300]], ids=str)
def test_the_order_is_that_of_the_permutation(memory, records, cuts):
    """However batches are cut, however many ranges there are, and wherever they are held."""
    order = SEEDED.permutation(300, "s").tolist()
    whole = batch(0, 300).to_pylist()

    made = shuffled(cuts, records=records, memory=memory)

    assert made == [whole[i] for i in order]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 60), st.sampled_from([1, 2**30]))
def test_only_packed_and_only_other_columns(n, memory):
    """Tables with nothing to pack, or with nothing else, are shuffled alike."""
    order = SEEDED.permutation(n, "s").tolist()
    for names in (["code", "wide"], ["name", "kind"]):
        schema = pa.schema([SCHEMA.field(name) for name in names])
        whole = batch(0, n).select(names).to_pylist()

        def make(begin, end, names=names):
            return batch(begin, end).select(names)

        made = shuffled([n], schema=schema, make=make, memory=memory)
        assert made == [whole[i] for i in order]


KINDS = [
    pa.array(["a", "bb", None, "c" * 30], pa.string_view()),
    pa.array([b"a", None, b"c" * 30, b"d"], pa.binary_view()),
    pa.array([b"ab", b"cd", None, b"ef"], pa.binary(2)),
    pa.array([Decimal("1.5"), None, Decimal("2.5"), None]),
    pa.array([1, 2, 3, 4], pa.timestamp("us", "UTC")),
    pa.array([1, 2, None, 4], pa.duration("s")),
    pa.array([1.5, None, 2, 3], pa.float16()),
    pa.array(["x", None, "y", "z"], pa.large_string()),
    pa.nulls(4),
]


@pytest.mark.parametrize("memory", [1, 2**30], ids=["spilled", "held"])
@pytest.mark.parametrize("array", KINDS, ids=lambda array: str(array.type))
def test_columns_of_every_kind_ride_along(array, memory):
    """With and without missing values, in memory and through the file."""
    order = SEEDED.permutation(4, "s").tolist()
    for nullable in {True, array.null_count > 0}:
        schema = pa.schema([pa.field("x", array.type, nullable=nullable)])
        whole = pa.RecordBatch.from_arrays([array], schema=schema)

        def make(begin, end, whole=whole):
            return whole.slice(begin, end - begin)

        made = shuffled([1, 4], schema=schema, make=make, memory=memory)
        assert made == [whole.to_pylist()[i] for i in order]


@pytest.mark.parametrize("memory", [1, 2**30], ids=["spilled", "held"])
@pytest.mark.parametrize("span", [1, 7, 299, 300, 1000])
def test_the_order_is_asked_for_from_any_place_to_any_other(span, memory):
    """Also where that begins and ends inside a range, or where ranges are empty."""
    whole = batch(0, 300).to_pylist()
    order = SEEDED.permutation(300, "s").tolist()

    assert shuffled([120, 300], span=span, memory=memory) == [whole[i] for i in order]


def test_what_is_held_joins_what_was_spilled():
    """Two pieces of three are in the file, the third one in memory: none is lost, none in order."""
    whole = shuffled([300], memory=2**30)
    piece = Shuffler(SCHEMA, keystream=SEEDED, stream="s", records=300).scatter(batch(0, 100), 0)
    spilled = shuffled([100, 200, 300], memory=int(1.5 * piece.size))
    assert spilled == whole
    assert len(spilled) == 300


def test_no_records_is_no_batch():
    """A table without records stays one."""
    shuffler = Shuffler(SCHEMA, keystream=SEEDED, stream="s", records=0)

    assert len(shuffler.ordered(0, 0)) == 0
    assert shuffler.ordered(0, 0).schema == SCHEMA


@pytest.mark.parametrize("records", [1, 2**18, 2**24])
def test_all_orders_are_equally_likely(records):
    """Chi-square over the 24 orders of four records at 1e-6; half a shuffle is rejected."""
    schema = pa.schema([pa.field("code", pa.uint8(), nullable=False)])
    four = pa.RecordBatch.from_arrays([pa.array(range(4), pa.uint8())], schema=schema)
    orders = []
    for i in range(1500):
        shuffler = Shuffler(schema, keystream=SEEDED, stream=f"run {i}", records=records)
        shuffler.add(shuffler.scatter(four, 0))
        orders.append(shuffler.ordered(0, 4).column(0).to_pylist())

    assert _p_value(orders) > LEVEL
    assert _p_value([sorted(order[:2]) + order[2:] for order in orders]) < LEVEL


def test_packing_loses_nothing():
    """Packed columns come back as they were, from a slice as from the whole."""
    layout = RowLayout(SCHEMA)
    piece = batch(0, 40).slice(11, 20)

    assert [SCHEMA.field(at).name for at in layout.packed] == ["code", "wide", "day"]
    assert layout.width == 16
    made = layout.unpack(layout.pack(piece), piece.select(layout.others), 20)
    assert made.to_pylist() == piece.to_pylist()


@pytest.mark.parametrize(("columns", "width"), [(1, 1), (3, 4), (8, 8), (9, 16), (33, 40)])
def test_packed_records_are_padded_to_a_size_that_moves_at_once(columns, width):
    """1, 2, 4, 8, 16, 32 bytes, and multiples of 8 beyond."""
    field = pa.field("x", pa.uint8(), nullable=False)

    assert RowLayout(pa.schema([field.with_name(str(i)) for i in range(columns)])).width == width


def test_the_temporary_file_has_no_name(tmp_path):
    """Nothing lies in the folder while the shuffle runs, so nothing stays when it is killed."""
    shuffler = Shuffler(
        SCHEMA, keystream=SEEDED, stream="s", records=100, memory=1, folder=tmp_path
    )
    shuffler.add(shuffler.scatter(batch(0, 100), 0))

    assert shuffler._spill is not None
    assert shuffler._spill._file._end > 800
    assert list(tmp_path.iterdir()) == []


def test_the_temporary_file_is_closed_with_its_holder(tmp_path):
    """File handles do not pile up."""
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        shuffler = Shuffler(
            SCHEMA, keystream=SEEDED, stream="s", records=100, memory=1, folder=tmp_path
        )
        shuffler.add(shuffler.scatter(batch(0, 10), 0))
    del shuffler

    assert len(list(Path("/dev/fd").iterdir())) <= before


def test_memory_held_stays_below_the_limit(monkeypatch):
    """As soon as what is held exceeds the limit it goes to the file."""
    monkeypatch.setattr(shuffle, "RANGE_RECORDS", 10)
    shuffler = Shuffler(SCHEMA, keystream=SEEDED, stream="s", records=1000, memory=20_000)
    for begin in range(0, 1000, 50):
        shuffler.add(shuffler.scatter(batch(begin, begin + 50), begin))
        assert shuffler._held_bytes <= 20_000
    assert sum(shuffler.counts) == 1000
    assert len(shuffler.counts) == 128


def _p_value(orders):
    counts = Counter(tuple(order) for order in orders)
    observed = [counts[order] for order in itertools.permutations(range(4))]
    return stats.chisquare(observed, np.full(24, len(orders) / 24), sum_check=False).pvalue
