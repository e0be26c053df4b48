"""What a user of pandas or statsmodels writes without looking it up."""

from __future__ import annotations

import numpy as np
import pytest

from pramana import api
from pramana.errors import NotCovered, UnknownCell
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

pd = pytest.importorskip("pandas")

RANDOM = np.random.default_rng(1)
PEOPLE = pd.DataFrame(
    {
        name: RANDOM.choice(values, 800)
        for name, values in {
            "sex": ["F", "M"],
            "code": [1, 2, 3],
            "age": [21, 34, 48, 39],
            "flag": [True, False],
            "open": [True, False],
            "trade": ["bed and breakfast", "x=1", "x"],
            "weight": [1.0, 2.5, 4.0],
            "income": [10.5, 20.0, 30.0, 40.5],
        }.items()
    }
)


@pytest.fixture(scope="module")
def release():
    """Eight hundred people through weak noise."""
    schema = Schema(
        (
            Column("sex", Role.KEY, Categories(("F", "M"))),
            Column("code", Role.KEY, Categories((1, 2, 3))),
            Column("age", Role.KEY, Bins((20, 30, 40, 50))),
            Column("flag", Role.KEY, Categories((False, True))),
            Column("open", Role.SENSITIVE),
            Column("trade", Role.SENSITIVE),
            Column("weight", Role.WEIGHT),
            Column("income", Role.SENSITIVE),
        )
    )
    plan = api.design(schema, DifferentialPrivacy(epsilon=12), data=PEOPLE, method="retention")
    return api.protect(PEOPLE, plan, seed=1)


def test_a_release_has_a_length_columns_and_a_head(release):
    """As a data frame has."""
    assert len(release) == 800
    assert release.columns == list(PEOPLE.columns)
    assert isinstance(release.head(3), pd.DataFrame)
    assert len(release.head(3)) == 3
    assert len(release.head(10_000)) == 800


def test_columns_may_come_as_a_list_and_shares_in_the_words_of_pandas(release):
    """``crosstab(["a", "b"], normalize="index")``."""
    rows = release.crosstab("sex", "code", share="row")
    assert (release.crosstab(["sex", "code"], normalize="index").estimate == rows.estimate).all()
    total = release.crosstab("sex", normalize=True)
    assert total.what == "share"
    with pytest.raises(ValueError, match="normalize"):
        release.crosstab("sex", normalize="rows")


def test_a_cell_is_found_by_names_by_brackets_and_by_texts(release):
    """A label that reads the same is the same; what is not there says what is."""
    table = release.crosstab("sex", "code")
    assert table["F", 2] == table.cell("F", 2) == table.cell(sex="F", code=2) == table["F", "2"]
    assert release.crosstab("flag")["True".lower()] == release.crosstab("flag")[True]
    with pytest.raises(UnknownCell) as unknown:
        table.cell("F", "7")
    assert unknown.value.fields["column"] == "code"
    for wrong in (lambda: table.cell("F"), lambda: table.cell(sex="F"), lambda: table[2]):
        with pytest.raises(UnknownCell):
            wrong()


def test_results_are_frames_of_pandas_and_polars(release):
    """One row a cell; intervals alone; p-values by the name of SciPy."""
    table = release.crosstab("sex")
    assert list(table.to_pandas().columns) == ["sex", "estimate", "se", "low", "high"]
    assert list(table.conf_int().columns) == ["sex", "low", "high"]
    assert pytest.importorskip("polars").DataFrame(table.to_polars()).height == 2
    gap = table.difference("F", "M")
    assert gap.conf_int() == (gap.low, gap.high)
    test = release.independence("sex", "code")
    assert test.pvalue == test.p_value


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('sex == "F"', {"sex": "F"}),
        ("flag=True", {"flag": True}),
        ("flag==false", {"flag": False}),
        ("open=True", {"open": True}),
        ("code>=2", {"code": [2, 3]}),
        ("age<40", {"age": ["[20, 30)", "[30, 40)"]}),
        ("code=2 and sex=F", {"code": 2, "sex": "F"}),
        ("trade=bed and breakfast", {"trade": "bed and breakfast"}),
        ("trade='x=1' & sex=F", {"trade": "x=1", "sex": "F"}),
    ],
)
def test_filters_are_read_as_they_are_written(release, text, form):
    """Equal signs, quotation marks, truth values, comparisons and ``and``."""
    written = release.crosstab("code", where=text)
    assert written.estimate == pytest.approx(release.crosstab("code", where=form).estimate)


def test_numbers_are_compared_and_texts_are_not(release):
    """At an edge of a bin; a text has no order."""
    assert release.crosstab(where="age>=30 and income>15").estimate > 0
    with pytest.raises(NotCovered):
        release.crosstab(where="age>=35")
    with pytest.raises(NotCovered):
        release.crosstab(where="sex>=F")


def test_a_weight_is_not_weighed_by_itself(release):
    """Its total is the sum of the weights: sums of squares were told before."""
    assert float(release.total("weight").estimate) == PEOPLE["weight"].sum()
    assert float(release.mean("weight").estimate) == pytest.approx(PEOPLE["weight"].mean())
    assert release.total("income").weight == "weight"


def test_a_median_is_a_quantile(release):
    """With its options."""
    assert release.median("income", by=["sex"]).estimate == pytest.approx(
        release.quantile("income", 0.5, by=["sex"]).estimate
    )


def test_a_table_says_what_its_intervals_are_about(release):
    """These records or the population."""
    assert "these records" in repr(release.crosstab("sex"))
    assert "the population" in repr(release.crosstab("sex", infer="population"))
