"""The door out: what leaves is a function of released values, order and schema alone."""

from __future__ import annotations

import gzip

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pramana as pm
from pramana.base.randomness import Keystream, Stream
from pramana.errors import InvalidTable
from pramana.io.output import OutputEncoder, write_table
from pramana.methods.base import METHODS
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import REPORTED, Column, Schema

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"note"}

RNG = np.random.default_rng(8)
N = 3000
NAMES = np.array([f"person {number:05}" for number in RNG.permutation(N)])
TRUTH = pa.table(
    {
        "id": NAMES,
        "sex": np.array(["F", "M"])[RNG.integers(0, 2, N)],
        "size": RNG.integers(0, 4, N),
        "age": RNG.integers(0, 100, N),
        "note": NAMES[::-1].copy(),
        "income": RNG.integers(-9, 10**6, N) / 4,
        "count": RNG.integers(0, 90, N),
    }
)
SCHEMA = Schema(
    (
        Column("id", Role.IDENTIFIER),
        Column("sex", Role.KEY, Categories(("M", "F"))),
        Column("size", Role.KEY, Categories((0, 1, 2, 3))),
        Column("age", Role.KEY, Bins((0, 20, 40, 100))),
        Column("note", Role.SENSITIVE),
        Column("income", Role.SENSITIVE),
        Column("count", Role.SENSITIVE),
    )
)
WRITTEN = ("csv", "parquet", "feather", "sav", "dta")


def narrow(table: pa.Table) -> pa.Table:
    """Whole numbers in eight bits."""
    for name in ("size", "age", "count"):
        at = table.column_names.index(name)
        table = table.set_column(at, name, table[name].cast(pa.int8()))
    return table


def coded(table: pa.Table, *, first: bool) -> pa.Table:
    """Texts as dictionaries, in the order of first appearance or backwards."""
    for name in ("sex", "note"):
        column = table[name].combine_chunks().dictionary_encode()
        if not first:
            turned = column.dictionary[::-1]
            indices = pa.array(len(turned) - 1 - np.asarray(column.indices), pa.int16())
            column = pa.DictionaryArray.from_arrays(indices, turned)
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def categorical(table: pa.Table) -> pd.DataFrame:
    """pandas with categories that nobody has, and attributes."""
    frame = table.to_pandas()
    for name in ("sex", "note"):
        frame[name] = pd.Categorical(frame[name], categories=["nobody", *sorted(set(frame[name]))])
    frame.attrs["note"] = "truth"
    return frame


def enum(table: pa.Table) -> pl.DataFrame:
    """Polars with categories."""
    return pl.from_arrow(table).with_columns(pl.col("sex", "note").cast(pl.Categorical))


def file(write, name):
    """A way through a file."""

    def made(table, folder):
        write(table, folder / name)
        return folder / name

    return made


def parts(table, folder):
    """A folder of Parquet files."""
    (folder / "parts").mkdir()
    for number, begin in enumerate(range(0, len(table), 70)):
        pq.write_table(table.slice(begin, 70), folder / "parts" / f"part-{number}.parquet")
    return folder / "parts"


def typed(table: pa.Table, text: pa.DataType) -> pa.Table:
    """Texts in another type, every field with a note."""
    kinds = [text if item.type == pa.string() else item.type for item in table.schema]
    fields = [pa.field(name, kind, metadata={"note": "truth"}) for name, kind in
              zip(table.column_names, kinds, strict=True)]  # fmt: skip
    return table.cast(pa.schema(fields))


def packed(table, path):
    """A text file, compressed."""
    plain = path.with_suffix("")
    pa.csv.write_csv(table, plain)
    path.write_bytes(gzip.compress(plain.read_bytes()))


READ = {
    "arrow": lambda table, _: table,
    "chunked": lambda table, _: pa.concat_tables(
        [table.slice(n, 77) for n in range(0, len(table), 77)]
    ),
    "large texts": lambda table, _: typed(table, pa.large_string()),
    "views of texts": lambda table, _: typed(table, pa.string_view()),
    "dictionaries": lambda table, _: coded(table, first=True),
    "dictionaries turned": lambda table, _: coded(table, first=False),
    "narrow": lambda table, _: narrow(table),
    "metadata": lambda table, _: table.replace_schema_metadata({"pandas": "truth", "x": "y"}),
    "reader": lambda table, _: table.to_reader(),
    "pandas": lambda table, _: table.to_pandas(),
    "pandas categories": lambda table, _: categorical(table),
    "polars": lambda table, _: pl.from_arrow(table),
    "polars categories": lambda table, _: enum(table),
    "polars lazy": lambda table, _: pl.from_arrow(table).lazy(),
    "duckdb": lambda table, _: duckdb.from_arrow(table),
    "csv": file(pa.csv.write_csv, "t.csv"),
    "csv.gz": file(packed, "t.csv.gz"),
    "parquet": file(pq.write_table, "t.parquet"),
    "parquet in groups": file(
        lambda t, path: pq.write_table(coded(t, first=False), path, row_group_size=11), "g.parquet"
    ),
    "parquet of pandas": file(lambda t, path: categorical(t).to_parquet(path), "p.parquet"),
    "parts": parts,
    "feather": file(lambda t, path: pyarrow.feather.write_feather(t, path), "t.feather"),
    "sav": file(lambda t, path: write_table(t, path, file_format="sav"), "t.sav"),
    "dta": file(lambda t, path: write_table(t, path, file_format="dta"), "t.dta"),
}


FEW = TRUTH.slice(0, 240)
EVEN = {
    column.name: pm.UniformMixture.of(column.labels, retention=0.5)
    for column in SCHEMA.randomised
}  # fmt: skip
HOW = {
    "retention": ("retention", (pm.PkAnonymity(k=5),)),
    "attribute-sampling": ("attribute-sampling", (pm.PkAnonymity(k=5),)),
    "optimal": ("optimal", (pm.SpontaneousRecognition(alpha=0.2, width=2),)),
    "inverse-frequency": ("inverse-frequency", (pm.CorrectMatch(xi=0.1),)),
    "invariant": (pm.Invariant(stay=0.5), ()),
    "matrix": (pm.GivenMatrices(EVEN), ()),
    "matrix-from-data": (pm.MatricesFromData(EVEN), ()),
} | {
    name: (name, (pm.KAnonymity(k=4),)) for name in ("resample", "permute", "gaussian", "centroid")
}


def test_every_method_is_tried():
    """A new method must be put here; shuffled marginals release counts and no records."""
    assert set(HOW) == set(METHODS) - {"shuffled-marginals"}


@pytest.fixture(scope="module", params=list(HOW))
def plan(request):
    method, asked = HOW[request.param]
    return pm.design(SCHEMA, *asked, data=FEW, method=method)


@pytest.fixture(scope="module")
def expected(plan, tmp_path_factory):
    """Every file of a release in each format, from the plainest table."""
    held, folder = pm.protect(FEW, plan, seed=5), tmp_path_factory.mktemp("expected")
    for form in WRITTEN:
        held.save(folder / form, file_format=form)
    return {form: files(folder / form) for form in WRITTEN}


def files(folder):
    """The content of every file by its name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def data(folder):
    (path,) = (path for path in folder.iterdir() if path.name.startswith("data"))
    return path.read_bytes()


@pytest.mark.parametrize("read", READ)
@pytest.mark.filterwarnings("ignore::pramana.errors.Copies")
@pytest.mark.deep(every=12)
def test_the_same_records_give_the_same_bytes(read, plan, expected, tmp_path):
    """Every reader with every method, and each of them with every writer: one after the other.

    The whole folder is the same, certificate and explanations included.
    """
    held = pm.protect(READ[read](FEW, tmp_path), plan, seed=5)
    at = list(READ).index(read) + list(HOW).index(plan.method.name)
    form = WRITTEN[at % len(WRITTEN)]
    held.save(tmp_path / "saved", file_format=form)
    assert files(tmp_path / "saved") == expected[form]


@pytest.mark.filterwarnings("ignore::pramana.errors.Copies")
def test_a_copy_is_the_file_that_a_release_in_its_format_has(plan, expected, tmp_path):
    """Written at once, with copies in all other formats, from a table with dictionaries."""
    table = coded(FEW, first=False)
    pm.protect(table, plan, to=tmp_path / "to", file_format="parquet", copies=WRITTEN, seed=5)
    names = {name: form for form in WRITTEN for name in expected[form] if name.startswith("data")}
    for name, form in names.items():
        assert (tmp_path / "to" / name).read_bytes() == expected[form][name]


@pytest.mark.filterwarnings("ignore::pramana.errors.Copies")
@pytest.mark.deep(every=4)
def test_a_loaded_release_is_saved_as_it_was(plan, expected, tmp_path):
    """Through every format and on to the next one.

    Means that all happen to be whole are whole numbers in files that know no types.
    """
    known = ("parquet", "feather")
    ways = zip(WRITTEN, (*WRITTEN[1:], WRITTEN[0]), strict=True)
    for form, other in (
        zip(known, known[::-1], strict=True) if plan.method.name == "centroid" else ways
    ):
        release = pm.protect(FEW, plan, to=tmp_path / form, file_format=form, seed=5)
        again = tmp_path / f"{form}-{other}"
        pm.load(release.folder).save(again, file_format=other)
        assert files(again) == expected[other], (form, other)


def planned(method):
    """Groups of the whole table."""
    return pm.design(SCHEMA, pm.KAnonymity(k=5), data=TRUTH, method=method)


@pytest.mark.parametrize(
    "read", ["pandas categories", "dictionaries", "polars categories", "arrow"]
)
@pytest.mark.filterwarnings("ignore::pramana.errors.Copies")
def test_what_a_caller_gets_knows_no_order_but_the_schemas(read, plan, tmp_path):
    """Categories and dictionaries are those of the domain; there is no metadata."""
    release = pm.protect(READ[read](FEW, tmp_path), plan, seed=5)
    opened = release.opened.schema
    assert opened.metadata is None
    assert opened.field("note").type == pa.string()
    table = release.table
    if isinstance(table, pd.DataFrame):
        assert table.attrs == {}
        assert list(table["sex"].cat.categories) == ["M", "F"]
        assert not isinstance(table["note"].dtype, pd.CategoricalDtype)
    again = release.opened.to_arrow()
    assert again.column("sex").chunk(0).dictionary.to_pylist() == ["M", "F"]


@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("method", ["resample", "permute", "centroid", "gaussian"])
def test_no_dictionary_links_a_record_to_its_row(method, form, tmp_path):
    """Texts that are all different, kept as dictionaries in the order of the rows of the truth."""
    plan = planned(method)
    folder = tmp_path / "release"
    frame = categorical(coded(TRUTH, first=True))
    pm.protect(frame, plan, to=folder, file_format=form, seed=5)
    table = pm.load(folder).opened.to_arrow()
    truth = {name: row for row, name in enumerate(TRUTH["note"].to_pylist())}
    assert table.schema.field("note").type == pa.string()
    assert b"nobody" not in data(folder)
    assert b"PANDAS" not in data(folder)
    # Where a record stands tells nothing about its row: no rank correlation beyond chance.
    rows = np.array([truth[name] for name in table["note"].to_pylist()])
    assert abs(np.corrcoef(np.arange(N), rows)[0, 1]) < 5 / np.sqrt(N)


@given(order=st.permutations(range(40)), form=st.sampled_from(WRITTEN))
@settings(max_examples=25, deadline=None)
def test_two_orders_of_one_truth_differ_in_the_order_of_records_alone(
    order, form, tmp_path_factory
):
    """Words addressed to the people, then one order: not a byte tells the two truths apart."""
    folder = tmp_path_factory.mktemp("orders")
    small = TRUTH.slice(0, 40)
    words = Keystream.from_seed(7).words(Stream("people"), 0, 40).tolist()
    word = dict(zip(sorted(small["note"].to_pylist()), words, strict=True))
    contents = set()
    for table in (small, coded(small.take(pa.array(order)), first=True)):
        own = np.array([word[name] for name in table["note"].to_pylist()], np.uint64)
        ages = np.array(SCHEMA.column("age").labels)[(own % 3).astype(int)]
        drawn = table.set_column(table.column_names.index("age"), "age", pa.array(ages))
        (batch,) = drawn.combine_chunks().take(pa.array(np.argsort(own))).to_batches()
        left = pa.Table.from_batches([OutputEncoder.of(SCHEMA, batch.schema)(batch)])
        path = folder / f"{len(contents)}.{form}"
        write_table(left, path, file_format=form)
        contents.add(path.read_bytes())
    assert len(contents) == 1


def test_sets_leave_in_the_order_in_which_they_are_stated():
    """Plain or in a dictionary of any order, the same comes out; other sets are refused."""
    schema = Schema(
        (
            Column("a", Role.KEY, Categories(("x", "y")), missing="refuse"),
            Column(REPORTED, Role.SENSITIVE, missing="refuse"),
        )
    )
    sets, marks = ("a", "a*b", "b"), ["b", "a", "b", "a*b"]
    a = pa.array([None, "x", None, "y"])
    left = []
    for own in (pa.array(marks), pa.array(marks).dictionary_encode()):
        batch = pa.record_batch({"a": a, REPORTED: own})
        left.append(OutputEncoder.of(schema, batch.schema, sets)(batch))
    assert left[0].equals(left[1])
    assert left[0].column(REPORTED).dictionary.to_pylist() == list(sets)
    assert left[0].column(REPORTED).to_pylist() == marks
    assert left[0].column("a").to_pylist() == a.to_pylist()
    for wrong in ("a*c", None):
        batch = pa.record_batch({"a": a[:1], REPORTED: pa.array([wrong], pa.string())})
        with pytest.raises(InvalidTable, match="sets of the certificate"):
            OutputEncoder.of(schema, batch.schema, sets)(batch)
