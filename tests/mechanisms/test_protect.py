"""Tests of what is done to a batch of records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.release.people import SCHEMA, people, plan

from pramana import api
from pramana.base.randomness import Keystream
from pramana.errors import DoesNotHold, OutsideDomain
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.randomiser import Randomiser
from pramana.mechanisms.transition import Dense, UniformMixture
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Impossible, Schema

KEYS = Keystream.from_seed(11)


def released(schema, mechanism, table, *, cut=None):
    """The released records, in batches of ``cut`` records."""
    randomiser = Randomiser(schema, mechanism, table.schema, KEYS)
    position, parts = 0, []
    for batch in table.to_batches(max_chunksize=cut):
        parts.append(randomiser(batch, position))
        position += batch.num_rows
    return pa.Table.from_batches(parts)


def test_an_empty_text_and_a_missing_value_are_two_strata():
    """Each has its matrix: records without a region stay, those with an empty one change."""
    keep, swap = Dense.of("ab", [[1, 0], [0, 1]]), Dense.of("ab", [[0, 1], [1, 0]])
    schema = Schema(
        (Column("x", Role.KEY, Categories(("a", "b"))), Column("region", Role.PUBLIC)),
        strata=("region",),
    )
    table = pa.table({"x": ["a", "a", "b", "b"], "region": ["", None, "", None]})
    for missing, empty, expected in ((keep, swap, "baab"), (swap, keep, "abba")):
        step = Step(("x",), strata=("region",), by_stratum={("",): empty, (None,): missing})
        found = released(schema, Mechanism((step,)), table)["x"].to_pylist()
        assert "".join(found) == expected


def test_two_columns_together_share_no_words_with_one_that_is_named_like_them():
    """All sixteen outcomes of a step on (a, b) beside a column called 'a x b' occur."""
    coins = tuple((i, j) for i in "pq" for j in "rs")
    columns = [
        Column("a", Role.KEY, Categories(("p", "q"))),
        Column("b", Role.KEY, Categories(("r", "s"))),
        Column("a x b", Role.KEY, Categories(("1", "2", "3", "4"))),
    ]
    mechanism = Mechanism(
        (
            Step(("a", "b"), UniformMixture.of(coins, retention=0.0)),
            Step(("a x b",), UniformMixture.of(("1", "2", "3", "4"), retention=0.0)),
        )
    )
    table = pa.table({"a": ["p"] * 4000, "b": ["r"] * 4000, "a x b": ["1"] * 4000})
    made = released(Schema(tuple(columns)), mechanism, table).to_pylist()

    assert len({tuple(row.values()) for row in made}) == 16


@pytest.mark.parametrize("cut", [1, 7, 1000, None])
@pytest.mark.deep(every=4)
def test_batches_never_change_a_result(cut):
    """Words are addressed by record."""
    table = people(1500)
    mechanism = plan().mechanism

    whole = released(SCHEMA, mechanism, table)
    assert released(SCHEMA, mechanism, table, cut=cut).equals(whole)


def test_no_impossible_record_is_ever_released():
    """A child is never married, neither before nor after."""
    table = released(SCHEMA, plan().mechanism, people(20_000)).to_pydict()
    pairs = set(zip(table["age"], table["marital"], strict=True))

    assert ("[0, 16)", "single") in pairs
    assert not pairs & {("[0, 16)", "married"), ("[0, 16)", "widowed")}


def test_an_impossible_true_record_is_refused_with_the_count():
    """The data contradict the schema: two married children."""
    table = pa.table({"age": [3, 5, 40], "marital": ["married", "married", "single"]})
    schema = Schema(SCHEMA.columns[2:4], impossible=SCHEMA.impossible)
    joint = tuple(cell for cell in plan().mechanism.step_of("age").labels)
    mechanism = Mechanism((Step(("age", "marital"), UniformMixture.of(joint, retention=0.5)),))

    with pytest.raises(OutsideDomain, match="2 records hold a combination of 'age' and 'marital'"):
        released(schema, mechanism, table)


def test_every_stratum_has_its_own_matrix():
    """The north is left alone, the south is always changed, a missing region has its own."""
    keep, swap = Dense.of("ab", [[1, 0], [0, 1]]), Dense.of("ab", [[0, 1], [1, 0]])
    schema = Schema(
        (Column("x", Role.KEY, Categories(("a", "b"))), Column("region", Role.PUBLIC)),
        strata=("region",),
    )
    step = Step(
        ("x",),
        strata=("region",),
        by_stratum={("north",): keep, ("south",): swap, (None,): swap},
    )
    table = pa.table(
        {"x": ["a", "a", "b", "b", "a"], "region": ["north", "south", "north", "south", None]}
    )

    assert released(schema, Mechanism((step,)), table)["x"].to_pylist() == ["a", "b", "b", "a", "b"]
    with pytest.raises(OutsideDomain, match="1 record lies in a stratum of region without"):
        released(
            schema,
            Mechanism((step,)),
            pa.table({"x": ["a"], "region": ["WEST-MARKER"]}),
        )


@pytest.mark.parametrize(
    ("release", "check"),
    [
        ("label", lambda v: v in {"[0, 10)", "[10, 20]"}),
        ("centre", lambda v: v in {5, 15}),
        ("draw", lambda v: 0 <= v <= 20),
    ],
)
def test_bins_are_released_as_the_schema_says(release, check):
    """A label, a centre, or a draw inside the bin; missing values stay missing where kept."""
    column = Column("x", Role.KEY, Bins((0, 10, 20), release=release), missing="keep")
    values = pa.array([*range(21), None] * 50)
    mechanism = Mechanism(
        (
            Step(
                ("x",),
                Dense.of(column.labels, [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]]),
            ),
        )
    )
    out = released(Schema((column,)), mechanism, pa.table({"x": values}))["x"].to_pylist()

    assert sum(value is None for value in out) == 50
    assert all(check(value) for value in out if value is not None)


def test_a_release_is_shuffled_and_drops_identifiers():
    """The order of the incomes is not that of the people, and no name is left."""
    table = people()
    release = api.protect(table, plan(), seed=1)

    assert release.table.column_names == ["sex", "age", "marital", "region", "income"]
    assert release.table["income"].to_pylist() != table["income"].to_pylist()
    assert sorted(release.table["income"].to_pylist()) == sorted(table["income"].to_pylist())


def test_columns_of_one_record_stay_together():
    """Region and income, released as they are, are shuffled as one record."""
    table = people()
    release = api.protect(table, plan(), seed=1)
    pairs = [
        list(zip(t["region"].to_pylist(), t["income"].to_pylist(), strict=True))
        for t in (table, release.table)
    ]

    assert sorted(pairs[0]) == sorted(pairs[1])


def test_a_plan_for_more_people_does_not_cover_fewer():
    """With the records at hand the guarantee is computed anew, and refused if it falls short."""
    with pytest.raises(DoesNotHold, match="this table has 100 in groups of at least"):
        api.protect(people(100), plan())


def test_frequencies_are_those_of_the_matrix():
    """Chi-square of 200,000 draws of a joint step against its integers, at level 1e-6."""
    from scipy.stats import chi2

    rule = Impossible.of({"x": ["b"], "y": [2]})
    schema = Schema(
        (
            Column("x", Role.KEY, Categories(("a", "b"))),
            Column("y", Role.KEY, Categories((1, 2))),
        ),
        impossible=(rule,),
    )
    cells = (("a", 1), ("a", 2), ("b", 1))
    matrix = Dense.of(cells, [[0.3, 0.3, 0.4], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
    n = 200_000
    table = pa.table({"x": ["a"] * n, "y": [1] * n})
    out = released(schema, Mechanism((Step(("x", "y"), matrix),)), table)
    seen = list(zip(out["x"].to_pylist(), out["y"].to_pylist(), strict=True))
    counts = np.array([seen.count(cell) for cell in cells])
    expected = n * matrix.values[0]

    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-6, 2)
