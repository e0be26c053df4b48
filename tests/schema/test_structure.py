"""Describing what a table says about itself: skipped questions, headings twice, the sample."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.cli.app import main
from pramana.io.opening import open_table
from pramana.schema.describe import describe
from pramana.schema.domains import Labels

RNG = np.random.default_rng(3)
N = 3_000
AGE = RNG.integers(0, 90, N)
SEX = RNG.integers(1, 3, N)


def proposals_of(found, name):
    """The entries proposed for a column."""
    return next(own for own in found.profiles if own.name == name).proposals


def test_a_question_that_children_skip_gets_a_rule():
    """The rule that is proposed can be stated, and the released records keep to it."""
    group = np.minimum(AGE // 15, 4)
    work = [None if at == 0 else str(v) for at, v in zip(group, RNG.integers(1, 4, N), strict=True)]
    table = pa.table({"age": group, "work": work, "sex": SEX})
    found = pm.describe(table)
    ((entry, why),) = proposals_of(found, "work")
    assert entry == 'impossible = [{age = [0], work = ["1", "2", "3"]}]'
    assert "empty wherever 'age' has one of 1 value" in why

    schema = pm.Schema.from_toml(f"{entry}\n{found.to_toml()}")
    release = pm.protect(table, pm.design(schema, pm.DifferentialPrivacy(3), data=table), seed=1)
    records = release.table
    children = np.array(records["age"].to_pylist()) == 0
    assert set(np.array(records["work"].to_pylist(), object)[children]) == {None}


def test_an_income_that_children_have_not_is_named():
    """Released unchanged it tells who is a child: it is dropped, and the reason says so."""
    income = [None if years < 15 else float(v) for years, v in
              zip(AGE, RNG.integers(1, 40, N) * 100, strict=True)]  # fmt: skip
    found = pm.describe(pa.table({"age": np.minimum(AGE // 15, 4), "income": income, "sex": SEX}))
    (profile,) = (profile for profile in found.profiles if profile.name == "income")
    assert profile.withheld
    assert "income gives age away" in profile.why


def test_values_that_are_missing_by_chance_follow_from_nothing():
    """Also where one group has many of them."""
    work = [None if RNG.random() < 0.1 + 0.5 * (years < 15) else "a" if years % 2 else "b"
            for years in AGE]  # fmt: skip
    found = pm.describe(pa.table({"age": np.minimum(AGE // 15, 4), "work": work, "sex": SEX}))
    assert proposals_of(found, "work") == ()


def test_a_second_row_of_headings_is_named():
    """Questions below the names of columns; a table without them says nothing."""
    columns = {f"q{at}": RNG.integers(1, 5, 200).astype(str).tolist() for at in range(4)}
    columns |= {f"how{at}": RNG.integers(0, 90, 200).astype(str).tolist() for at in range(3)}
    columns["town"] = RNG.choice(["north", "south"], 200).tolist()
    assert pm.describe(pa.table(columns)).notices == ()
    headed = {name: ["How often do you do that?", *values] for name, values in columns.items()}
    found = pm.describe(pa.table(headed))
    assert "second row of headings, in 8 columns" in found.notices[0]
    assert found.to_toml().startswith(f"# {found.notices[0]}\n")
    assert pm.Schema.from_toml(found.to_toml()) == found.schema


def test_a_second_row_of_headings_above_decimal_commas_and_dates_of_several_forms(tmp_path):
    """A German file with semicolons: two columns of words, which every heading leaves open."""
    rows = [f"{1000 + at};{'mw'[at % 2]};{at % 60 + 20};{at % 28 + 1:02}.03.2021;{at % 40 + 150},5;"
            f"{('Köln', 'Münster', 'Aachen')[at % 3]}" for at in range(300)]  # fmt: skip
    rows[5:9] = [row.replace("03.2021", "3/2021") for row in rows[5:9]]
    rows[20] = "1020;w;30;2021-03-05;160,5;Köln"
    names, headings = "id;sex;age;day;height;town", "Nr.;m/w;in Jahren;TT.MM.JJJJ;cm;Wohnort"
    path = tmp_path / "people.csv"
    path.write_text("\n".join([names, headings, *rows]) + "\n", encoding="cp1252")
    with pytest.warns(pm.errors.Notice):
        found = pm.describe(path)
    assert "second row of headings, in 4 columns" in found.notices[0]
    again = headings.replace("Wohnort", "Köln")  # a town where a heading should be
    path.write_text("\n".join([names, again.replace("in Jahren", "4"), *rows]), encoding="utf-8")
    assert pm.describe(path).notices == ()


def test_an_identifier_that_repeats_is_named_as_a_unit_of_several_records():
    """Twelve months of each utility; not if it is named as the household, nor if all differ."""
    columns = {
        "utility_id": np.repeat(np.arange(200), 12),
        "month": np.tile(np.arange(12), 200),
        "sex": RNG.choice(["F", "M"], 2400),
    }
    (notice,) = pm.describe(pa.table(columns)).notices
    assert "'utility_id' has 200 values in 2,400 records" in notice
    assert "--household utility_id" in notice
    assert pm.describe(pa.table(columns), household="utility_id").notices == ()
    columns["utility_id"] = RNG.permutation(2400)
    assert pm.describe(pa.table(columns)).notices == ()


def test_the_command_shows_what_is_wrong_with_the_table(tmp_path, capsys):
    """On the screen and as JSON."""
    rows = ["Your sex,Your age group,Your town", *["1,2,3", "2,1,3", "1,1,1", "2,2,2"] * 20]
    (tmp_path / "s.csv").write_text("\n".join(["sex,age,town", *rows]) + "\n")
    with pytest.raises(SystemExit, match="0"):
        main(["describe", str(tmp_path / "s.csv"), "--json"])
    (notice,) = json.loads(capsys.readouterr().out)["notices"]
    with pytest.raises(SystemExit, match="0"):
        main(["describe", str(tmp_path / "s.csv")])
    assert notice in " ".join("".join(capsys.readouterr()).split())


@pytest.mark.parametrize(
    ("name", "label"),
    [("psu", ""), ("stratum", ""), ("v021", "Primary sampling unit"), ("v022", "Sample strata")],
)
def test_units_and_strata_of_the_sample_are_named(name, label):
    """By name or label, as numbers or as texts."""
    for values in (RNG.integers(1, 60, N), RNG.choice([f"s{at}" for at in range(60)], N)):
        opened = open_table(pa.table({name: values, "sex": SEX}))
        found = describe(replace(opened, labels=Labels(variables={name: label})))
        assert found.column(name).role is pm.Role.DROPPED
        assert "the sample design" in found.profiles[0].why


def test_dates_that_are_written_as_numbers_become_years():
    """20240331 is a date where all numbers are; other numbers of eight digits are none."""
    days = RNG.choice(np.arange("1990-01-01", "2020-12-31", dtype="datetime64[D]"), N)
    numbers = [int(str(day).replace("-", "")) for day in days]
    found = pm.describe(pa.table({"seen": numbers, "sex": SEX}))
    assert found.column("seen").recoding == pm.Recoding(date="year", date_format="%Y%m%d")
    assert found.profiles[0].why.startswith("dates: as their year")
    others = pm.describe(pa.table({"code": [*numbers[1:], 20201399], "sex": SEX}))
    assert not others.column("code").recoding.date
