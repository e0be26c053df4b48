"""The verbs on Spark data frames: the same plan, certificate and numbers as on one machine."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.engine.spark import opening
from pramana.engine.spark.opening import open_spark
from pramana.errors import InvalidTable, OutsideDomain
from pramana.evaluation.plan_preview import errors_on_data
from pramana.io.opening import open_table
from pramana.ledger.fingerprints import table_prints
from pramana.schema.tally import tally
from tests.release.people import SCHEMA, people


@pytest.fixture(scope="module")
def truth():
    return people(3000)


@pytest.fixture
def frame(frame_of, truth):
    return frame_of(truth)


@pytest.fixture(scope="module")
def plan(truth):
    return pm.design(SCHEMA, pm.PkAnonymity(k=20), data=truth, method="retention")


def test_describe_says_the_same(frame, truth):
    """Values, roles, reasons and unique records: counted by the workers."""
    here, there = pm.describe(truth), pm.describe(frame)

    assert there.rows() == here.rows()
    assert (there.records, there.unique) == (here.records, here.unique)


def test_summaries_of_many_partitions_come_some_at_a_time(frame, truth, monkeypatch):
    """The same description, from two jobs of six and three partitions."""
    monkeypatch.setattr(opening, "LEAST_AT_ONCE", 1)
    thrice = pa.concat_tables([truth] * 3)
    there = pm.describe(frame.union(frame).union(frame))

    assert there.rows() == pm.describe(thrice).rows()


def test_tallies_put_together_are_tallies_of_all(frame, truth):
    """Numbers of every value, not only which there are."""
    mine, theirs = tally(open_table(truth)), tally(open_spark(frame))

    for name in truth.column_names:
        pairs = [
            sorted(zip(t.values.to_pylist(), t.numbers.tolist(), strict=True))
            for t in (mine[name], theirs[name])
        ]
        assert pairs[0] == pairs[1]


def test_design_gives_the_same_plan(frame, plan):
    """Anonymity set and domains are found by the workers."""
    assert pm.design(SCHEMA, pm.PkAnonymity(k=20), data=frame, method="retention") == plan


def test_a_seeded_release_is_that_of_the_local_engine(frame, truth, plan, tmp_path):
    """The same records in the same order; certificates differ in the data file alone."""
    there = pm.protect(frame, plan, to=tmp_path / "spark", seed=4)
    here = pm.protect(truth, plan, to=tmp_path / "local", seed=4)

    assert there.opened.to_arrow().to_pydict() == here.opened.to_arrow().to_pydict()
    forms = []
    for release in (there, here):
        form = json.loads(release.certificate.to_bytes())
        form.pop("digest", None)
        forms.append({name: value for name, value in form.items() if name != "data"})
    assert forms[0] == forms[1]
    names = [sorted(p.name for p in (tmp_path / name).iterdir()) for name in ("spark", "local")]
    assert names[0] == names[1]
    assert {"README.md", "certificate.json", "codebook.csv", "data.parquet"} <= set(names[0])


def test_a_release_verifies_and_estimates(frame, plan, tmp_path):
    """From the folder, without Spark, and against the truth that Spark holds."""
    pm.protect(frame, plan, to=tmp_path / "release")

    verdict = pm.verify(tmp_path / "release", original=frame)
    assert verdict.valid, verdict
    assert pm.load(tmp_path / "release").crosstab("sex", "region").records == 3000


def test_groups_are_formed_on_the_driver_which_is_said(frame, truth, tmp_path):
    """The same records as on one machine, with a warning that all of them were brought together."""
    plan = pm.design(SCHEMA, pm.KAnonymity(k=5), method="resample", data=frame)
    with pytest.warns(UserWarning, match="brought to the driver"):
        there = pm.protect(frame, plan, to=tmp_path / "release", seed=4)
    here = pm.protect(truth, plan, seed=4)

    assert there.verify().valid
    assert there.opened.to_arrow().to_pydict() == here.opened.to_arrow().to_pydict()


def test_designs_that_look_at_the_data_are_given_counts(frame, truth):
    """Which the workers make, and the driver designs with."""
    schema = replace(SCHEMA, impossible=())  # the method moves one column at a time
    ask = {"method": pm.Invariant(stay=0.8)}

    assert pm.design(schema, data=frame, **ask) == pm.design(schema, data=truth, **ask)


def test_a_release_in_memory_is_a_spark_data_frame(frame, truth, plan, tmp_path):
    """It answers by Spark what the local one answers, needs no key any more, and can be saved."""
    there, here = pm.protect(frame, plan, seed=4), pm.protect(truth, plan, seed=4)

    assert type(there.table) is type(frame)
    assert there.table.columns == here.table.column_names
    assert there.opened.to_arrow().to_pydict() == here.opened.to_arrow().to_pydict()
    for ask in (
        lambda release: release.crosstab("sex", where=["income>=20000", "region=north"]),
        lambda release: release.crosstab("sex", "region", where={"age": ["[16, 40)"]}),
        lambda release: release.crosstab("sex", where={"region": ["north", None]}),
        lambda release: release.crosstab("sex", where={"region": ["south", ""]}),
        lambda release: release.mean("income", by=["region"]),
        lambda release: release.total("income", where=["region!=north"]),
    ):
        mine, theirs = ask(here), ask(there)
        for ours, other in zip(mine.to_json()["cells"], theirs.to_json()["cells"], strict=True):
            assert other == pytest.approx(ours)
    there.save(tmp_path / "saved")
    assert pm.verify(tmp_path / "saved").valid


def test_refused_records_are_counted_over_all_partitions(frame_of, truth, plan, tmp_path):
    """The number of the whole table, the column, no value, no release."""
    sexes = truth["sex"].to_pylist()
    for at in (5, 1500, 2999):
        sexes[at] = "CELLVALUE"
    wrong = frame_of(truth.set_column(1, "sex", pa.array(sexes)))

    with pytest.raises(OutsideDomain, match="^3 records of 'sex' hold values outside") as error:
        pm.protect(wrong, plan, to=tmp_path / "release")
    assert "CELLVALUE" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_other_formats_are_refused(frame, plan, tmp_path):
    """Spark writes Parquet."""
    with pytest.raises(InvalidTable, match="Spark writes Parquet, not csv"):
        pm.protect(frame, plan, to=tmp_path / "release", file_format="csv")
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_knows_a_table_on_spark_again(frame, truth, plan, tmp_path):
    """The same fingerprints as on one machine, whatever the partitions; no name is needed."""
    there, here = (
        table_prints(own, key=b"key").columns for own in (open_spark(frame), open_table(truth))
    )
    assert there == here
    for table in (frame, truth):
        pm.protect(table, plan, ledger=tmp_path / "book")
    assert pm.Ledger.load(tmp_path / "book").tables == ((0, 1),)


def test_reports_on_workers_are_those_of_one_machine(frame, truth, tmp_path):
    """Sets and answers are drawn by position, so that a seeded release is the same; it is valid."""
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=20), data=truth, method="attribute-sampling")
    pm.protect(truth, plan, to=tmp_path / "here", seed=1)
    pm.protect(frame, plan, to=tmp_path / "there", seed=1)
    here, there = (pm.load(tmp_path / name) for name in ("here", "there"))

    assert pm.verify(tmp_path / "there").valid
    assert there.table.to_pylist() == here.table.to_pylist()


@pytest.mark.parametrize("method", ["attribute-sampling", "retention"])
def test_errors_on_the_data_at_hand_are_those_of_one_machine(method, frame, truth):
    """Also of tables with columns released as they are, whose values lie on several machines."""
    keys = [column.name for column in SCHEMA.randomised]
    kept = next(column.name for column in SCHEMA.released_as_is)
    schema = replace(SCHEMA, tables=((keys[0], kept), (keys[0], keys[1])))
    plan = pm.design(schema, pm.PkAnonymity(k=20), data=truth, method=method)
    here, there = (errors_on_data(plan, one) for one in (open_table(truth), open_spark(frame)))

    assert (keys[0], kept) in dict(here.tables)
    assert dict(there.tables) == pytest.approx(dict(here.tables))


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
def test_numbers_are_rounded_by_the_same_words(frame_of, method):
    """A record's word for rounding is that of its position, on whichever machine it lies."""
    pay = pa.array([(37 * at) % 10_001 for at in range(2_000)])
    sex = pa.array(["F", "M"] * 1_000)
    table = pa.table({"sex": sex, "pay": pay})
    schema = pm.Schema(
        (
            pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")), missing="refuse"),
            pm.Column("pay", pm.Role.KEY, pm.NumberGrid((0, 3_000, 10_001)), missing="refuse"),
        )
    )
    plan = pm.design(schema, pm.PkAnonymity(k=20), records=2_000, method=method)
    here, there = (pm.protect(own, plan, seed=4) for own in (table, frame_of(table)))

    assert there.opened.to_arrow().to_pydict() == here.opened.to_arrow().to_pydict()
    assert there.mean("pay").estimate == here.mean("pay").estimate


@pytest.mark.parametrize("pay", ["bins", "grid"])
def test_counts_of_rounds_are_drawn_from_counts_of_all_partitions(frame_of, pay, tmp_path):
    """The same counts for the same seed; numbers of a grid are rounded by the records' words."""
    random = np.random.default_rng(3)
    table = pa.table(
        {
            "sex": random.choice(["F", "M"], 2_000, p=[0.7, 0.3]),
            "region": pa.array(random.choice(["n", "e", "s", "w"], 2_000)),
            "pay": random.integers(0, 10_001, 2_000),
        }
    )
    steps = (0, 3_000, 10_001)
    schema = pm.Schema(
        (
            pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))),
            pm.Column("region", pm.Role.KEY, pm.Categories(("n", "e", "s", "w"))),
            pm.Column(
                "pay", pm.Role.KEY, pm.Bins(steps) if pay == "bins" else pm.NumberGrid(steps)
            ),
        )
    )
    target = pm.ShuffledPrivacy(epsilon=4, delta=1e-6)
    plan = pm.design(schema, target, records=2_000, method="shuffled-marginals")
    plan = replace(plan, asked=(), attained=())  # a seed voids a central guarantee
    here = pm.protect(table, plan, seed=4)
    there = pm.protect(frame_of(table), plan, seed=4, to=tmp_path / "release")

    assert there.opened.to_arrow().to_pydict() == here.opened.to_arrow().to_pydict()
    assert pm.verify(tmp_path / "release", original=frame_of(table)).valid
    another = pm.protect(frame_of(table), plan, seed=5)
    assert another.opened.to_arrow().to_pydict() != here.opened.to_arrow().to_pydict()
