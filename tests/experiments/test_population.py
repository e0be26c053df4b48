"""People who do not exist: plausible, dependent, partly missing, and never impossible."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, spearmanr

from pramana.base.randomness import Keystream
from pramana.engine.base import open_source
from pramana.errors import InvalidNumber
from pramana.experiments import make_population, population_schema
from pramana.schema.codec import count_refused

PEOPLE = make_population(50_000, keystream=Keystream.from_seed(3))
FRAME = PEOPLE.to_pandas()


def test_no_child_is_or_was_married() -> None:
    """Neither married, nor divorced, nor widowed under 16; adults are all of these."""
    children = FRAME[FRAME["age"] < 16]
    assert len(children) > 5_000
    assert set(children["marital"]) == {"single"}
    assert set(FRAME["marital"]) == {"single", "married", "divorced", "widowed"}
    assert set(children["occupation"]) == {"none"}
    assert (children["income"].dropna() == 0).all()


def test_every_value_fits_the_schema() -> None:
    """No value lies outside the declared domains, once amounts are set to their ends."""
    schema = population_schema()
    assert schema.names == tuple(PEOPLE.column_names)
    coded = open_source(PEOPLE, schema=schema)
    for column in schema.randomised:
        values = pa.chunked_array([batch.column(0) for batch in coded.batches([column.name])])
        assert not count_refused(column, values)


def test_some_values_are_missing_and_most_are_not() -> None:
    """Education and income lack values, more often of the old and of the rich."""
    missing = FRAME.isna().mean()
    assert 0.01 < missing["education"] < 0.05
    assert 0.02 < missing["income"] < 0.10
    assert missing.drop(["education", "income"]).sum() == 0
    old = FRAME["age"] > 70
    assert FRAME["education"].isna()[old].mean() > 1.5 * FRAME["education"].isna()[~old].mean()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("education", "occupation"),
        ("sex", "occupation"),
        ("region", "education"),
        ("sex", "marital"),
    ],
)
def test_categories_depend_on_each_other(one: str, other: str) -> None:
    """Independence is refused at the level 1e-9; that of two unrelated columns is not at 1e-3."""
    counts = FRAME.groupby([one, other]).size().unstack(fill_value=0)
    assert chi2_contingency(counts).pvalue < 1e-9
    unrelated = FRAME.groupby(["region", "sex"]).size().unstack(fill_value=0)
    assert chi2_contingency(unrelated).pvalue > 1e-3


def test_amounts_depend_on_age() -> None:
    """Income rises with age in working life, cost through all of it."""
    working = FRAME[(FRAME["age"] >= 20) & (FRAME["age"] < 50)].dropna(subset=["income"])
    assert spearmanr(working["age"], working["income"]).statistic > 0.15
    assert spearmanr(FRAME["age"], FRAME["cost"]).statistic > 0.3


def test_some_people_are_the_only_ones_of_their_kind() -> None:
    """Rare combinations of keys exist, and a rare region."""
    keys = ["region", "sex", "age", "education", "marital"]
    sizes = FRAME.groupby(keys, dropna=False, observed=True).size()
    assert (sizes == 1).sum() > 500
    assert 0 < (FRAME["region"] == "Islands").mean() < 0.02


@settings(max_examples=15)
@given(st.integers(1, 400), st.integers(0, 2**32))
def test_a_person_does_not_depend_on_how_many_there_are(records: int, seed: int) -> None:
    """The first people of a large population are those of a small one."""
    keystream = Keystream.from_seed(seed)
    small = make_population(records, keystream=keystream)
    large = make_population(500, keystream=keystream)
    assert large.slice(0, records).equals(small)


def test_another_seed_makes_other_people() -> None:
    """And the same seed the same ones."""
    one, same, other = (make_population(100, keystream=Keystream.from_seed(s)) for s in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)


@pytest.mark.parametrize("records", [0, -5, float("nan")])
def test_a_population_of_nobody_is_refused(records: float) -> None:
    """There must be at least one."""
    with pytest.raises(InvalidNumber, match="number of records"):
        make_population(records, keystream=Keystream.from_seed(1))  # type: ignore[arg-type]


def test_shares_are_drawn_as_stated() -> None:
    """Second road: the regions against a multinomial law, chi-square at the level 1e-6."""
    stated = np.array([0.29, 0.22, 0.19, 0.16, 0.13, 0.01])
    names = ["Coast", "Hills", "Lakes", "North", "South", "Islands"]
    seen = pa.compute.value_counts(PEOPLE.column("region")).to_pylist()
    by_name = {entry["values"]: entry["counts"] for entry in seen}
    counts = np.array([by_name[name] for name in names])
    statistic = ((counts - 50_000 * stated) ** 2 / (50_000 * stated)).sum()
    assert statistic < 35.9  # the 1 - 1e-6 quantile on 5 degrees of freedom
    wrong = np.array([0.28, 0.23, 0.19, 0.16, 0.13, 0.01])
    assert ((counts - 50_000 * wrong) ** 2 / (50_000 * wrong)).sum() > 35.9
