"""The audit of a table as it stands."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pramana.errors import InvalidNumber, InvalidTable, UnknownColumn
from pramana.io.opening import open_table
from pramana.risk.table_audit import audit_table
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

DATA = os.environ.get("PRAMANA_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="PRAMANA_DATA does not name the data folder")


def people(records: int = 500) -> pa.Table:
    random = np.random.default_rng(5)
    return pa.table(
        {
            "sex": random.choice(["f", "m"], records),
            "age": random.integers(20, 60, records),
            "town": random.integers(0, 9, records),
            "work": random.integers(0, 3, records),
            "illness": random.choice(["none", "flu", "rare"], records, p=[0.6, 0.39, 0.01]),
            "weight": random.uniform(5, 50, records),
        }
    )


@needs_data
def test_the_known_numbers_of_free1():
    """REGION, SEX, AGE: 3452 records below 3 and 2664 below 2."""
    table = open_table(Path(str(DATA)) / "sdcmicro_free1.csv")

    below3 = audit_table(table, keys=["REGION", "SEX", "AGE"], k=3)

    assert (below3.violations, below3.uniques) == (3452, 2664)


@needs_data
def test_the_known_numbers_of_testdata():
    """urbrur, roof, walls, water, electcon, relat, sex with weights, as sdcMicro's guide prints."""
    table = open_table(Path(str(DATA)) / "sdcmicro_testdata.csv")
    keys = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]

    found = audit_table(table, keys=keys, k=3, weight="sampling_weight")

    assert (found.uniques, found.violations) == (157, 281)
    assert found.population is not None
    assert found.population.expected == pytest.approx(10.78, abs=0.005)


def test_every_subset_equals_an_audit_of_its_own():
    """Subsets are counted from groups; auditing those columns alone gives the same, worst first."""
    table = open_table(people())
    keys = ["sex", "age", "town", "work"]
    whole = audit_table(table, keys=keys, k=3, weight="weight")
    assert len(whole.subsets) == sum(1 for w in (1, 2, 3) for _ in itertools.combinations(keys, w))
    for subset in whole.subsets:
        alone = audit_table(table, keys=subset.keys, k=3, weight="weight", width=0)

        assert (alone.uniques, alone.violations, alone.k) == (
            subset.uniques,
            subset.violations,
            subset.smallest,
        )
        assert alone.population.expected == pytest.approx(subset.expected)
    worst = [s.violations for s in whole.subsets]
    assert worst == sorted(worst, reverse=True)


def test_subsets_with_wildcards_equal_an_audit_of_their_own():
    """The same where missing values fit everything."""
    table = people(200)
    gaps = np.random.default_rng(6).random(200) < 0.1
    table = table.set_column(1, "age", pa.array(table["age"].to_numpy(), mask=gaps))
    opened = open_table(table)
    whole = audit_table(opened, keys=["sex", "age", "town"], k=3, missing="wildcard")
    for subset in whole.subsets:
        alone = audit_table(opened, keys=subset.keys, k=3, missing="wildcard", width=0)

        assert (alone.uniques, alone.violations) == (subset.uniques, subset.violations)


def test_the_json_has_the_words_that_are_asked_for():
    """violations, uniques, k, sensitive columns and the policy are named."""
    form = audit_table(
        open_table(people()), keys=["age", "town"], k=5, sensitive=["illness"]
    ).to_json()

    assert form["missing"] == "category"
    assert form["violations"] >= form["uniques"] > 0
    assert form["sensitive"][0]["distinct_l"] == 1
    assert form["population"] is None


@pytest.mark.parametrize("kept", [pa.int64(), pa.string(), pa.dictionary(pa.int8(), pa.int64())])
def test_a_code_that_says_why_there_is_no_value_is_none(kept):
    """Who is in a group of one answer and refusals is known to have that answer, or none."""
    answers = Categories((1, 2), missing_values=(-9,))
    schema = Schema((Column("town", Role.KEY, None), Column("ill", Role.SENSITIVE, answers)))
    told = pa.array([1, -9, 1, 1, 2, -9])
    own = told.dictionary_encode() if pa.types.is_dictionary(kept) else told.cast(kept)
    table = pa.table({"town": [1, 1, 1, 2, 2, 2], "ill": own})

    (found,) = audit_table(
        open_table(table), keys=["town"], sensitive=["ill"], schema=schema
    ).diversity

    assert (found.distinct, found.exposed) == (1, 3)


def test_sentences_name_no_value():
    """Plain words, with columns and counts only."""
    text = " ".join(
        audit_table(
            open_table(people()), keys=["sex", "age", "town"], k=3, sensitive=["illness"],
            weight="weight",
        ).sentences()
    )  # fmt: skip

    assert "unique on sex, age, town" in text
    assert "re-identified in the population" in text
    assert "flu" not in text


def test_bad_input_is_refused():
    """k below one, a weight that is text, an unknown sensitive column."""
    table = open_table(people())
    with pytest.raises(InvalidNumber, match="k must be"):
        audit_table(table, keys=["age"], k=0)
    with pytest.raises(InvalidTable, match="'sex' must be a column of numbers"):
        audit_table(table, keys=["age"], weight="sex")
    with pytest.raises(UnknownColumn, match="'cost'"):
        audit_table(table, keys=["age"], sensitive=["cost"])


def test_an_audit_by_a_schema_says_what_was_counted_in_bins():
    """Everybody is unique by year of age, nobody by its halves; both by hand."""
    table = open_table(pa.table({"age": list(range(20, 60))}))
    schema = Schema((Column("age", Role.KEY, Bins((20, 40, 60)), missing="refuse"),))
    plain = audit_table(table, keys=["age"])
    binned = audit_table(table, keys=["age"], schema=schema)

    assert (plain.uniques, plain.binned) == (40, ())
    assert (binned.uniques, binned.k, binned.binned) == (0, 20, ("age",))
    assert "unique on age (age in bins)." in binned.sentences()[0]
    assert "in bins" not in plain.sentences()[0]
