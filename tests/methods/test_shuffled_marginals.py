"""Tests of rounds that everybody answers: their design, their folder, and refusals."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.base.randomness import Keystream
from pramana.base.rounding import TOTAL
from pramana.engine.base import open_source
from pramana.io.opening import open_table
from pramana.mechanisms.mechanism import ShuffledRounds
from pramana.methods.shuffled_marginals import true_counts
from pramana.release.certificate import Certificate
from pramana.schema.schema import COUNT, REPORTED
from pramana.schema.schema_file import read_schema

TEXT = """
[columns.sex]
role = "key"
categories = ["F", "M"]
[columns.age]
role = "key"
bins = [20, 40, 60, 80]
release = "draw"
[columns.region]
role = "key"
categories = ["n", "s", "w"]
missing = "category"
"""
SIZES = {"sex": 2, "age": 3, "region": 4}
TARGET = pm.ShuffledPrivacy(epsilon=1, delta=1e-6)


def people(records: int = 2_000, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, records)
    region = np.where(age < 45, rng.choice(["n", "s"], records), rng.choice(["w", ""], records))
    return pa.table(
        {
            "sex": rng.choice(["F", "M"], records, p=[0.7, 0.3]),
            "age": age,
            "region": pa.array([own or None for own in region]),
        }
    )


def designed(target=TARGET, schema=None, records: int = 2_000, **options):
    schema = read_schema(TEXT) if schema is None else schema
    method = pm.ShuffledMarginals(**options)
    return pm.design(schema, target, records=records, method=method)


def seeded(plan):
    """The same rounds without a target: with a seed no central epsilon is guaranteed."""
    return replace(plan, asked=(), attained=())


def spent(matrix) -> float:
    gamma = float(matrix.gamma)
    return 2 * (gamma - 1) ** 2 / (gamma + matrix.size - 1)


def test_all_single_columns_and_pairs_are_asked_with_shares_of_the_budget():
    """The power 2/3 of the number of cells; the target is met from below, and nearly reached."""
    plan = designed()
    wanted = [*((name,) for name in SIZES), *itertools.combinations(SIZES, 2)]
    shares = [spent(one.matrix) / one.matrix.size ** (2 / 3) for one in plan.mechanism.sets]

    assert isinstance(plan.mechanism, ShuffledRounds)
    assert [one.columns for one in plan.mechanism.sets] == wanted
    assert {one.weight for one in plan.mechanism.sets} == {TOTAL}
    assert max(shares) == pytest.approx(min(shares), rel=1e-9)
    central = plan.attained[0]
    assert central.delta == 1e-6
    assert 0.995 < central.epsilon <= 1


def test_named_tables_are_asked_beside_single_columns():
    """A table named twice has twice the weight."""
    plan = designed(tables="sex*age,sex*age,sex*age*region")
    sets = {one.columns: one.matrix for one in plan.mechanism.sets}

    assert list(sets) == [("sex",), ("age",), ("region",), ("sex", "age"), ("sex", "age", "region")]
    ratio = spent(sets["sex", "age"]) / spent(sets["sex", "age", "region"])
    assert ratio == pytest.approx((2 * 6 / 24) ** (2 / 3))


def test_what_it_cannot_serve_is_refused():
    """Columns beside the counts, names of its own, other targets, and a delta of 0."""
    schema = read_schema(TEXT)
    sensitive = read_schema(TEXT + '[columns.income]\nrole = "sensitive"\n')
    named = read_schema(TEXT.replace("columns.sex", f"columns.{COUNT}"))
    with pytest.raises(pm.Infeasible, match=r"income cannot be released unchanged\. Make them key"):
        designed(schema=sensitive)
    with pytest.raises(pm.InvalidSchema, match=f"'{COUNT}'"):
        designed(schema=named)
    with pytest.raises(pm.Infeasible, match="aims at shuffled-privacy alone"):
        designed(pm.PkAnonymity(k=2), schema)
    with pytest.raises(pm.Infeasible, match="delta above 0"):
        designed(pm.ShuffledPrivacy(epsilon=1, delta=0), schema)


def test_a_release_is_verified_and_its_rows_are_the_cells(tmp_path):
    """Counts of each round sum to the records; every format of a data file; in the same words."""
    release = pm.protect(people(), designed(), to=tmp_path / "release")
    table = release.opened.to_arrow()
    verdict = pm.verify(tmp_path / "release")

    assert verdict.valid, [check for check in verdict.checks if not check.ok]
    assert table.num_rows == sum(SIZES.values()) + 6 + 8 + 12
    sums = table.group_by(REPORTED).aggregate([(COUNT, "sum")])
    assert pm.verify(tmp_path / "release", original=people()).valid
    with pytest.raises(pm.NotCovered, match="counts of tables and no records"):
        pm.audit(release, original=people())
    assert set(sums[f"{COUNT}_sum"].to_pylist()) == {2_000}
    assert release.records == 2_000
    again = release.save(tmp_path / "csv", file_format="csv")
    assert pm.verify(tmp_path / "csv").valid
    ours, theirs = (one.crosstab("age", "sex").estimate for one in (release, again))
    assert np.array_equal(ours, theirs)
    words = (tmp_path / "release" / "README.md").read_text()
    assert "sum over all tables" in words
    assert "one row for each cell" in words


@pytest.mark.parametrize("change", ["a count", "a cell", "an order", "a negative count"])
def test_an_altered_table_is_found(tmp_path, change: str):
    """Even where certificate and digest are written anew for it."""
    release = pm.protect(people(), designed())
    table = release.opened.to_arrow()
    counts = table[COUNT].to_numpy().copy()
    if change == "a count":
        counts[0] += 1
    if change == "a negative count":
        counts[:2] = [-1, counts[:2].sum() + 1]
    table = table.set_column(table.num_columns - 1, COUNT, pa.array(counts))
    if change == "a cell":
        table = pa.concat_tables([table[1:2], table[1:]])
    if change == "an order":
        table = table.take([1, 0, *range(2, table.num_rows)])
    altered = replace(release, opened=open_table(table))
    altered.save(tmp_path / "release")
    assert not pm.verify(tmp_path / "release").valid


def test_a_certificate_whose_rounds_were_not_chosen_so_is_found():
    """Other shares of the budget, or fewer rounds than the tables that are stated."""
    release = pm.protect(people(), designed())
    certificate = release.certificate
    maker = pm.ShuffledMarginals
    assert maker.reproduces_matrices(certificate)
    sets = certificate.mechanism.sets
    richer = replace(sets[0], matrix=type(sets[0].matrix).of(sets[0].matrix.labels, gamma=9.0))
    for other in ((richer, *sets[1:]), sets[:-1]):
        changed = replace(certificate, mechanism=ShuffledRounds(sets=other))
        assert maker.reproduces_matrices(changed) is False
    assert Certificate.from_bytes(certificate.with_data(None).to_bytes()) is not None


def test_counts_are_those_of_the_table():
    """In one pass, bins and missing values as the schema says; by pandas as second road."""
    table, plan = people(), designed()
    opened = open_source(table, schema=plan.schema)
    found = true_counts(plan.schema, plan.mechanism, opened, Keystream.from_seed(1))
    frame = table.to_pandas()
    frame["age"] = np.minimum((frame["age"] - 20) // 20, 2).astype(int)
    frame["region"] = frame["region"].fillna("missing")
    codes = {"sex": ["F", "M"], "age": [0, 1, 2], "region": ["n", "s", "w", "missing"]}
    for one, counts in zip(plan.mechanism.sets, found, strict=True):
        sizes = frame.groupby(list(one.columns)).size()
        cells = itertools.product(*(codes[name] for name in one.columns))
        keys = [cell if len(cell) > 1 else cell[0] for cell in cells]
        assert counts.tolist() == [int(sizes.get(key, 0)) for key in keys]


def test_the_same_seed_gives_the_same_counts_whatever_the_container(tmp_path):
    """A file, a frame; and another seed other counts."""
    table, plan = people(), seeded(designed())
    pq.write_table(table, tmp_path / "people.parquet", row_group_size=300)
    ways = [table, tmp_path / "people.parquet", table.to_pandas()]
    found = [pm.protect(own, plan, seed=3).opened.to_arrow() for own in ways]
    assert found[0].equals(found[1])
    assert found[0].equals(found[2])
    assert not found[0].equals(pm.protect(table, plan, seed=4).opened.to_arrow())


def test_impossible_combinations_are_no_cells_and_are_refused_in_records():
    """Their cells are in no table; a record that holds one is not released."""
    schema = read_schema(TEXT + '[[impossible]]\nsex = ["M"]\nregion = ["n"]\n')
    plan = designed(schema=schema)
    sizes = {one.columns: one.matrix.size for one in plan.mechanism.sets}
    assert sizes["sex", "region"] == 7
    table = people()
    with pytest.raises(pm.OutsideDomain):
        pm.protect(table, plan)
    men = np.array(table["sex"].to_pylist()) == "M"
    north = np.array([own == "n" for own in table["region"].to_pylist()])
    possible = table.filter(~(men & north))
    release = pm.protect(possible, designed(schema=schema, records=possible.num_rows))
    found = release.crosstab("sex", "region", method="unbiased")
    assert found.estimate[1, 0] == 0 == found.se[1, 0]


@pytest.mark.deep
def test_the_expected_error_is_that_of_releases():
    """Mean over all tables, within a tenth; 120 seeded releases."""
    table, plan = people(5_000, seed=2), designed(records=5_000)
    frame = table.to_pandas()
    frame["age"] = np.minimum((frame["age"] - 20) // 20, 2)
    frame["region"] = frame["region"].fillna("missing")
    true = {
        tables: frame.groupby(list(tables)).size().reindex(
            itertools.product(*(_values(name) for name in tables)), fill_value=0
        ).to_numpy()
        for tables in itertools.combinations(SIZES, 2)
    }  # fmt: skip
    errors = {tables: [] for tables in true}
    for seed in range(120):
        release = pm.protect(table, seeded(plan), seed=seed)
        for tables, numbers in true.items():
            found = release.crosstab(*tables, method="unbiased").estimate.ravel()
            errors[tables].append(np.abs(found - numbers).sum() / 5_000)
    expected = dict(plan.expected_error.tables)
    for tables, own in errors.items():
        assert np.mean(own) == pytest.approx(expected[tables], rel=0.1)


def test_the_expected_error_of_every_table_is_near_its_standard_errors():
    """Standard errors of a release are judged by their coverage elsewhere; 2 x 2 is the hardest."""
    rng, sizes, records = np.random.default_rng(3), (2, 2, 3, 7), 20_000
    names = [f"c{at}" for at in range(len(sizes))]
    lines = [f'[columns.{name}]\nrole = "key"\ncategories = {list(range(size))}\n'
             for name, size in zip(names, sizes, strict=True)]  # fmt: skip
    columns = [rng.choice(size, records, p=rng.dirichlet([0.7] * size)) for size in sizes]
    columns[1] = np.where(rng.random(records) < 0.4, columns[0], columns[1])
    plan = designed(schema=read_schema("\n".join(lines)), records=records)
    releases = [
        pm.protect(pa.table(columns, names=names), seeded(plan), seed=seed) for seed in range(3)
    ]
    for table, error in plan.expected_error.tables:
        stated = [
            release.crosstab(*table, method="unbiased", infer="records").se.sum()
            for release in releases
        ]
        absolute = np.sqrt(2 / np.pi) * np.mean(stated) / records
        assert error == pytest.approx(absolute, rel=0.05), table


def _values(name: str):
    return {"sex": ["F", "M"], "age": [0, 1, 2], "region": ["n", "s", "w", "missing"]}[name]


def many_columns():
    lines = [f'[columns.c{at}]\nrole = "key"\ncategories = {list("abcdef"[: 2 + at % 4])}\n'
             for at in range(8)]  # fmt: skip
    return read_schema("\n".join(lines))


def test_design_takes_it_for_a_central_epsilon_alone():
    """By the least expected error, with what the others would cost; k never leads to it, nor does
    a schema with a column that is released unchanged."""
    chosen = pm.design(many_columns(), TARGET, records=5_000)
    others = [
        pm.design(many_columns(), TARGET, records=5_000, method=name)
        for name in ("retention", "attribute-sampling", "shuffled-marginals")
    ]
    errors = [
        np.mean([error for table, error in plan.expected_error.tables if len(table) == 2])
        for plan in others
    ]
    assert chosen.method.name == "shuffled-marginals"
    assert chosen.attained == others[2].attained
    assert errors[2] < 0.95 * min(errors[:2])
    assert "--method attribute-sampling" in chosen.choice[0]
    assert "--method retention" in chosen.choice[0]
    for target in (pm.PkAnonymity(k=3), pm.DifferentialPrivacy(epsilon=3)):
        plan = pm.design(many_columns(), target, records=5_000)
        assert plan.method.name != "shuffled-marginals"
        assert "shuffled-marginals" not in plan.choice[0]
        named = pm.design(many_columns(), target, records=5_000, method=plan.method.name)
        assert plan.attained == named.attained
    several = (TARGET, pm.PkAnonymity(k=3))
    plan = pm.design(many_columns(), *several, records=5_000)
    named = pm.design(many_columns(), *several, records=5_000, method=plan.method.name)
    assert plan.attained == named.attained
    text = TEXT + '[columns.town]\nrole = "public"\ncategories = ["n", "s"]\n'
    beside = pm.design(read_schema(text), TARGET, records=5_000, smallest_group=5_000)
    assert beside.method.name != "shuffled-marginals"


@pytest.mark.parametrize("changed", ["sex", "age", "region"])
def test_neighbours_leave_the_same_folder_where_nothing_is_kept(tmp_path, changed: str):
    """At an epsilon of 1e-9 equal random words give equal counts: every byte is the same, though
    one person's value is another, or missing, in the other table."""
    plan = seeded(designed(pm.ShuffledPrivacy(epsilon=1e-9, delta=1e-6)))
    one = people()
    values = one[changed].to_pylist()
    values[7] = {"sex": "F" if values[7] == "M" else "M", "age": 79.5, "region": None}[changed]
    place = one.column_names.index(changed)
    two = one.set_column(place, changed, pa.array(values, one[changed].type))
    assert not one.equals(two)
    for name, table in (("one", one), ("two", two)):
        pm.protect(table, plan, seed=5, to=tmp_path / name)
    files = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "two").iterdir()}


@pytest.mark.deep
def test_numbers_of_a_grid_keep_their_mean():
    """They are rounded by chance, once for all rounds: the nearest points would all be 0."""
    schema = read_schema(
        '[columns.pay]\nrole = "key"\npoints = [0, 50, 100]\n'
        '[columns.sex]\nrole = "key"\ncategories = ["F", "M"]\n'
    )
    rng = np.random.default_rng(0)
    pay = rng.integers(0, 25, 4_000)
    table = pa.table({"pay": pay, "sex": rng.choice(["F", "M"], 4_000)})
    plan = seeded(designed(pm.ShuffledPrivacy(epsilon=8, delta=1e-6), schema, 4_000))
    found = [pm.protect(table, plan, seed=seed).mean("pay") for seed in range(8)]
    spread = np.std([float(one.estimate) for one in found])
    mean = np.mean([float(one.estimate) for one in found])
    assert abs(mean - pay.mean()) < 4.5 * spread / np.sqrt(8)
    assert mean > 6
