"""Values as the schema recodes them, from the file to the owner's check."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import pytest

import pramana as pm
from pramana.engine.base import open_source
from pramana.errors import Infeasible, InvalidNumber, InvalidSchema, InvalidTable

KEY = pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")))
STEPS = pm.Schema((KEY, pm.Column("w", pm.Role.WEIGHT, recoding=pm.Recoding(round=10))))
RAW = pm.Schema((KEY, pm.Column("w", pm.Role.WEIGHT)))


def people(weights: object) -> pa.Table:
    return pa.table({"sex": ["F", "M"] * (len(weights) // 2), "w": weights})


def weights(table: object, schema: pm.Schema = STEPS) -> list[float | None]:
    return open_source(table, schema=schema).to_arrow(["w"]).column("w").to_pylist()


def test_a_weight_becomes_the_nearest_multiple_and_never_nothing():
    """Small ones become one step; missing ones stay missing; zero stays zero."""
    raw = pa.array([4.9, 5.0, 14.9, 26.0, 0.0, None])

    assert weights(people(raw)) == [10.0, 10.0, 10.0, 30.0, 0.0, None]
    assert weights(people(raw), RAW) == raw.to_pylist()


def test_whole_numbers_stay_whole_where_the_step_is():
    """As integers of 64 bits, which hold what a step may lead to; with half a step they cannot."""
    table = people(pa.array([3, 17], pa.int16()))
    half = pm.Schema((KEY, pm.Column("w", pm.Role.WEIGHT, recoding=pm.Recoding(round=2.5))))

    assert open_source(table, schema=STEPS).schema.field("w").type == pa.int64()
    assert open_source(table, schema=half).to_arrow(["w"]).column("w").to_pylist() == [2.5, 17.5]


def test_rounding_again_changes_nothing():
    """A table that is handed on is rounded once and for all."""
    steps = pm.Schema((KEY, pm.Column("w", pm.Role.WEIGHT, recoding=pm.Recoding(round=0.1))))
    table = people(np.linspace(0.01, 50, 1000))
    once = open_source(table, schema=steps)

    assert weights(once, steps) == once.to_arrow(["w"]).column("w").to_pylist()


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
@pytest.mark.parametrize("method", ["retention", "resample"])
def test_rounded_weights_keep_the_anonymity_set_together(form, method, tmp_path):
    """Unique weights leave nobody to hide among; in steps of ten a hundred people share each."""
    raw = people(np.linspace(1, 51, 1000))
    table: object = raw
    if form != "frame":
        table = tmp_path / f"people.{form}"
        writer = pa.csv.write_csv if form == "csv" else pa.parquet.write_table
        writer(raw, table)
    asked = pm.KAnonymity(k=5) if method == "resample" else pm.PkAnonymity(k=5)
    how = pm.Resample(allow_unchanged=True) if method == "resample" else method
    with pytest.raises(Infeasible, match=r"round the weight 'w'"):
        pm.design(RAW, asked, data=table, method=how)
    plan = pm.design(STEPS, asked, data=table, method=how)
    released = pm.protect(table, plan, to=tmp_path / "release")
    found = pm.verify(tmp_path / "release", original=table)

    assert plan.anonymity_set > 5
    assert released.certificate.schema.weight.recoding.round == 10
    assert set(released.opened.to_arrow(["w"]).column("w").to_pylist()) <= {
        10.0, 20.0, 30.0, 40.0, 50.0,
    }  # fmt: skip
    assert found.valid, [check for check in found.checks if not check.ok]
    assert pc.sum(released.opened.to_arrow(["w"]).column("w")).as_py() == pytest.approx(
        pc.sum(raw["w"]).as_py(), rel=0.05
    )


def test_the_step_is_part_of_the_schema_file():
    """Written and read back; only above zero, only for numbers, not for what is dropped."""
    assert pm.Schema.from_toml(STEPS.to_toml()) == STEPS
    with pytest.raises(InvalidNumber, match="round"):
        pm.Recoding(round=0)
    with pytest.raises(InvalidSchema, match="is dropped"):
        pm.Column("w", pm.Role.IDENTIFIER, recoding=pm.Recoding(round=10))
    with pytest.raises(InvalidTable, match="must be a number"):
        weights(people(pa.array(["a", "b"])))


def test_a_list_of_values_before_merging_stands_for_those_after_it():
    """What describe lists and proposes can stand together: pasted below the list, it holds."""
    text = """
[columns.school]
role = "key"
categories = [1, 2, 5, 6, 9, 99]
merge = {other = [5, 6]}
missing_codes = [99]
[columns.code]
role = "key"
categories = [1, 2, 3]
merge = {"2" = [2, 3]}
[columns.chain]
role = "key"
categories = ["a", "b"]
merge = {a = ["b"], b = ["c"]}
"""
    schema = pm.Schema.from_toml(text)
    assert schema["school"].domain.values == ("1", "2", "other", "9")
    assert schema["code"].domain.values == (1, 2)
    assert schema["chain"].domain.values == ("a", "b")
    assert pm.Schema.from_toml(schema.to_toml()) == schema
    people = pa.table(
        {"school": [1, 2, 5, 6, 9, 99], "code": [1, 1, 2, 2, 3, 3], "chain": list("aabbcc")}
    )
    plan = pm.design(schema, pm.PkAnonymity(k=2), data=people, method="retention")
    released = pm.protect(people, plan, seed=1).table
    assert set(released["school"].to_pylist()) <= {"1", "2", "other", "9", None}
    assert set(released["code"].to_pylist()) <= {1, 2}


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int16(), pa.int64()])
@pytest.mark.parametrize("step", [1, 2, 3, 10, 1000])
def test_whole_numbers_are_rounded_exactly_to_the_ends_of_their_type(kind, step):
    """127 in steps of ten is 130, which no int8 holds; beyond 2**53 every digit counts.

    The nearest multiple, halves up, by fractions; at the ends of 64 bits the last that there is.
    """
    own = np.iinfo(kind.to_pandas_dtype())
    least, most = int(own.min), int(own.max)
    truth = [least, least + 1, 0, 1, 4, 5, 15, most // 2, most - 1, most, None]
    truth += [2**53 + 1, 2**53 + 5] if most > 2**60 else []
    truth += [-5, -15] if least else []
    wide = np.iinfo(np.int64)

    def nearest(value):
        if value is None:
            return None
        steps = math.floor(Fraction(value, step) + Fraction(1, 2))
        return step * min(max(steps, -(-int(wide.min) // step)), int(wide.max) // step)

    schema = pm.Schema.from_toml(f'[columns.pay]\nrole = "sensitive"\nround = {step}\n')
    table = open_source(pa.table({"pay": pa.array(truth, kind)}), schema=schema).to_arrow()

    assert table["pay"].to_pylist() == [nearest(value) for value in truth]


@pytest.mark.parametrize("own", [pm.Recoding(round=0.5), pm.Recoding(bottom=5.5)], ids=str)
def test_numbers_that_a_recoding_cannot_take_are_refused_and_not_told(own):
    """Floating numbers do not tell them apart, and the library's words would quote one."""
    table = pa.table({"sex": ["F", "M"] * 20, "pay": [2**60 + 7 * n for n in range(40)]})
    schema = pm.Schema(
        (
            pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))),
            pm.Column("pay", pm.Role.SENSITIVE, recoding=own),
        )
    )
    with pytest.raises(pm.InvalidTable, match="'pay' holds values that its recoding") as found:
        pm.protect(table, pm.design(schema, pm.PkAnonymity(k=2), data=table))
    assert "11529215" not in str(found.value)
