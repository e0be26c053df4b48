"""Every recoding with every method, every format and every engine of this machine.

The judge recodes the records one by one in plain Python; what the table, the release and the
certificate say must be the same wherever the records lay.
"""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pytest
from tests.methods.test_crossing import RECORDWISE, TARGETS, method_of

import pramana as pm
from pramana.api import open_source
from pramana.io.output import write_table
from pramana.methods.base import METHODS

RECORDS = 240
SCHEMA = """
missing_codes = ["N", -8]

[columns.born]
role = "key"
date = "year"
bins = [1940, 1970, 1990, 2010]
labels = ["old", "middle", "young"]

[columns.work]
role = "key"
merge = {"other" = ["5", "6"]}
categories = ["1", "2", "other"]
missing = "category"

[columns.moved]
role = "key"
date = "quarter"
categories = ["2023-Q1", "2023-Q2", "2023-Q3", "2023-Q4"]

[columns.income]
role = "sensitive"
bottom = 0
top = 900
round = 100

[columns.debt]
role = "sensitive"
missing_codes = [99]
noise = {distribution = "laplace", scale = 20}

[columns.rooms]
role = "public"
top = 3

[columns.w]
role = "weight"
round = 10
top = 20
"""


def truth() -> dict[str, list[object]]:
    """Records as they stand in a file, with codes for missing."""
    rng = np.random.default_rng(3)
    day = dt.date(1940, 1, 1)
    works = rng.choice(["1", "2", "5", "6", "N"], RECORDS).tolist()
    incomes = rng.integers(-200, 2000, RECORDS)
    incomes[::12] = -8
    debts = rng.integers(0, 90, RECORDS)
    debts[::20] = 99
    return {
        "born": [day + dt.timedelta(int(n)) for n in rng.integers(0, 25000, RECORDS)],
        "work": works,
        "moved": [dt.date(2023, int(m), 1 + int(m)) for m in rng.integers(1, 13, RECORDS)],
        "income": incomes.tolist(),
        "debt": debts.tolist(),
        "rooms": rng.choice([1, 3, 4, 9], RECORDS).tolist(),
        "w": rng.choice([1, 12, 18, 40], RECORDS).tolist(),
    }


def judged() -> dict[str, list[object]]:
    """The same, recoded one by one; the noise is left out."""
    raw = truth()
    work = {"1": "1", "2": "2", "5": "other", "6": "other", "N": None}

    def income(value):
        if value == -8:
            return None
        cut = min(max(value, 0), 900)
        return (cut + 50) // 100 * 100

    return {
        "born": [d.year for d in raw["born"]],
        "work": [work[v] for v in raw["work"]],
        "moved": [f"{d.year}-Q{(d.month + 2) // 3}" for d in raw["moved"]],
        "income": [income(v) for v in raw["income"]],
        "debt": [None if v == 99 else v for v in raw["debt"]],
        "rooms": [min(v, 3) for v in raw["rooms"]],
        "w": [{1: 10, 12: 10, 18: 20, 40: 20}[v] for v in raw["w"]],
    }


def source(kind: str, folder):
    """The records as a file of a format, or as a table of an engine."""
    table = pa.table(truth())
    if kind == "frame":
        return table
    if kind == "pandas":
        return table.to_pandas()
    if kind == "duckdb":
        import duckdb

        return duckdb.from_arrow(table)
    path = folder / f"people.{kind}"
    write_table(table, path, file_format=kind)
    return path


KINDS = ["frame", "pandas", "duckdb", "csv", "parquet", "feather", "sav", "dta"]


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_recoded_alike_wherever_they_lie(kind, tmp_path):
    """As the judge recodes them; handing the opened table on changes nothing more."""
    schema = pm.Schema.from_toml(SCHEMA)
    opened = open_source(source(kind, tmp_path), schema=schema)
    found = opened.to_arrow().to_pydict()

    assert found == judged()
    assert open_source(opened, schema=schema).to_arrow().to_pydict() == judged()
    assert pm.Schema.from_toml(schema.to_toml()) == schema


@pytest.mark.parametrize(
    ("kind", "name"),
    [*(("csv", name) for name in RECORDWISE), ("duckdb", "retention"), ("sav", "resample")],
)
def test_every_method_releases_recoded_values_and_says_so(kind, name, tmp_path):
    """Released values are of the recoded domain, the owner's check passes, codebook says how."""
    schema = pm.Schema.from_toml(SCHEMA)
    people = source(kind, tmp_path)
    asked = [TARGETS[aim] for aim in METHODS[name].aims[:1]]
    completed = schema.replace_columns(
        pm.Column(c.name, c.role, c.domain, missing=c.missing or "refuse", recoding=c.recoding)
        for c in schema.keys
    )
    method = method_of(name, completed)
    if "allow_unchanged" in getattr(method, "__dataclass_fields__", {}):
        method = type(method)(allow_unchanged=True)
    plan = pm.design(completed, *asked, data=people, method=method)
    release = pm.protect(people, plan, to=tmp_path / "release", seed=1)
    table = release.opened.to_arrow().to_pydict()
    verdict = pm.verify(tmp_path / "release", original=people)
    form = json.loads((tmp_path / "release" / "certificate.json").read_text())
    columns = {entry["name"]: entry for entry in form["schema"]["columns"]}

    assert verdict.valid, [check for check in verdict.checks if not check.ok]
    assert set(table["born"]) - {None} <= {"old", "middle", "young"}
    assert set(table["work"]) - {None} <= {"1", "2", "other"}
    assert sorted(table["income"], key=str) == sorted(judged()["income"], key=str)
    assert sorted(table["rooms"]) == sorted(judged()["rooms"])
    assert table["debt"].count(None) == judged()["debt"].count(None)
    assert sorted(table["debt"], key=str) != sorted(judged()["debt"], key=str)
    assert columns["work"]["recoding"]["merge"] == {"other": ["5", "6"]}
    assert columns["income"]["recoding"]["top"] == 900
    assert "5, 6 merged into other" in (tmp_path / "release" / "codebook.csv").read_text()
    assert "laplace noise of scale 20" in (tmp_path / "release" / "README.md").read_text()


@pytest.mark.parametrize(
    ("law", "method"),
    [("laplace", "retention"), ("normal", "attribute-sampling"), ("uniform", "retention")],
)
@pytest.mark.deep(every=3)
def test_errors_of_means_allow_for_noise(law, method):
    """Mean and total of noisy values are off by their standard errors, and not by more or less.

    60 releases of one table: the mean of squared standardised errors is 1; the test fails for a
    sound release with probability below 1e-4 (chi-square of 60 lies within 0.45 and 1.85 times).
    """
    noise = pm.Noise(law, 300)
    schema = pm.Schema(
        (
            pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")), missing="refuse"),
            pm.Column("age", pm.Role.KEY, pm.Categories(("a", "b")), missing="refuse"),
            pm.Column("pay", pm.Role.SENSITIVE, recoding=pm.Recoding(noise=noise)),
        )
    )
    rng = np.random.default_rng(8)
    pay = rng.integers(0, 20, 300)
    people = pa.table({"sex": ["F", "M"] * 150, "age": ["a"] * 150 + ["b"] * 150, "pay": pay})
    plan = pm.design(schema, pm.DifferentialPrivacy(epsilon=9), data=people, method=method)
    squares = []
    for seed in range(60):
        release = pm.protect(people, plan, seed=seed)
        found = next(iter(release.mean("pay", by=["sex"]).cells))
        squares.append(((found["estimate"] - pay[::2].mean()) / found["se"]) ** 2)
    whole = next(iter(release.total("pay").cells))

    assert 0.45 < np.mean(squares) < 1.85
    assert whole["se"] == pytest.approx(np.sqrt(300 * noise.variance), rel=0.01)
    with pytest.raises(pm.NotCovered, match="released with noise"):
        release.quantile("pay")
    with pytest.raises(pm.NotCovered, match="released with noise"):
        release.proportion("pay>=10")
    with pytest.raises(pm.NotCovered, match="released with noise|some reports only"):
        release.regress("sex ~ pay", family="logistic")


def test_noise_that_is_not_there_is_found(tmp_path):
    """A release whose values carry no noise, or that of another scale, fails the owner's check."""
    from dataclasses import replace

    from pramana.verification.fit_tests import with_noise_check

    rng = np.random.default_rng(2)
    pay = rng.normal(1000, 300, 2_000).round(2)
    people = open_source(pa.table({"pay": pay}))
    column = pm.Column("pay", pm.Role.SENSITIVE, recoding=pm.Recoding(noise=pm.Noise("normal", 90)))

    def judged_with(scale):
        noised = np.round(pay + rng.normal(0, scale, len(pay)), 1)
        released = open_source(pa.table({"pay": rng.permutation(noised)}))
        return with_noise_check(column, released, people, level=1e-6).ok

    assert judged_with(90)
    assert not judged_with(1e-9)
    assert not judged_with(180)
    wider = replace(column, recoding=pm.Recoding(noise=pm.Noise("normal", 10)))
    assert not with_noise_check(wider, open_source(pa.table({"pay": pay})), people, level=1e-6).ok
