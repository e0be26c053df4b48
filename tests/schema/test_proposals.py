"""Proposed roles and bins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramana as pm
from pramana.errors import TooLarge
from pramana.io.opening import open_table
from pramana.schema.column_rules import ObservedColumn, propose_role
from pramana.schema.describe import describe
from pramana.schema.domains import Bins, Categories, Labels
from pramana.schema.roles import Role
from pramana.schema.schema import CATEGORY_LIMIT
from pramana.schema.suggestions import propose_bins, propose_domain
from pramana.schema.tally import tally


def seen(values):
    """The tally of some values."""
    return tally(open_table(pa.table({"v": values})))["v"]


RNG = np.random.default_rng(7)
FEW = RNG.integers(0, 5, 1_000)
AGES = RNG.integers(17, 91, 1_000)
AMOUNTS = np.exp(RNG.normal(8, 2, 1_000)).round(2)
WEIGHTS = RNG.uniform(1, 100, 1_000)
NUMBERS = np.arange(1_000)
WORDS = [f"word {i}" for i in RNG.integers(0, 400, 1_000)]
ROWS = np.sort(RNG.choice(48_842, 1_000, replace=False))
PERSONAL = (10_000 * (99 - NUMBERS**2 // 14_500) + 101 + NUMBERS % 28) * 10_000 + NUMBERS
NAMES = [f"person {i}" for i in range(1_000)]


@pytest.mark.parametrize(
    ("name", "values", "role", "why"),
    [
        ("sex", FEW, Role.KEY, "few values"),
        ("colour", [f"c{i}" for i in FEW], Role.KEY, "few values"),
        ("age", AGES, Role.KEY, "bins proposed"),
        ("x", AMOUNTS, Role.SENSITIVE, "long tail"),
        ("monthlyIncome", AGES, Role.SENSITIVE, "money"),
        ("income", [f"c{i}" for i in FEW], Role.SENSITIVE, "private"),
        ("diagnosis", FEW, Role.SENSITIVE, "private"),
        ("fnlwgt", WEIGHTS, Role.WEIGHT, "weights"),
        ("sampling_weight", FEW, Role.WEIGHT, "weights"),
        ("weight_kg", WEIGHTS, Role.KEY, "bins proposed"),
        ("BodyWeight", WEIGHTS, Role.KEY, "bins proposed"),
        ("birth_weight", WEIGHTS, Role.KEY, "bins proposed"),
        ("id", NUMBERS, Role.IDENTIFIER, "identifier"),
        ("email", NAMES, Role.IDENTIFIER, "identifier"),
        ("firstName", WORDS, Role.IDENTIFIER, "identifier"),
        ("row", NUMBERS, Role.IDENTIFIER, "row number"),
        ("__index_level_0__", ROWS, Role.IDENTIFIER, "row number"),
        ("Unnamed: 0", ROWS, Role.IDENTIFIER, "row number"),
        ("x", ROWS, Role.IDENTIFIER, "no value occurs twice"),
        ("x", NUMBERS.astype(float), Role.IDENTIFIER, "nearly every value is unique"),
        ("x", np.append(NUMBERS, np.nan), Role.IDENTIFIER, "nearly every value is unique"),
        ("person_id", ROWS * 1.0, Role.IDENTIFIER, "identifier"),
        (
            "shuffled_idx",
            RNG.permutation(NUMBERS) + 100_000,
            Role.IDENTIFIER,
            "nearly every value is unique",
        ),
        ("DIABDX", AGES, Role.SENSITIVE, "private"),
        ("DIABDX", NUMBERS, Role.IDENTIFIER, "nearly every value is unique"),
        ("pnr", PERSONAL, Role.IDENTIFIER, "nearly all have 10 digits"),
        ("x", (AMOUNTS * 100).round(), Role.SENSITIVE, "long tail"),
        ("x", ROWS - 20_000, Role.SENSITIVE, "hardly any records share"),
        ("who", NAMES, Role.IDENTIFIER, "nearly every value is unique"),
        ("remarks", WORDS, Role.DROPPED, "too many to randomise"),
        ("occupation", [f"o{i}" for i in np.arange(10_000) % 300], Role.KEY, "consider merging"),
        ("constant", [1] * 50, Role.PUBLIC, "single value"),
        ("empty", pa.nulls(50), Role.PUBLIC, "no values"),
        ("email", FEW, Role.KEY, "few values"),
        ("race", RNG.integers(0, 28, 1_000) ** 3, Role.KEY, "codes"),
        ("race", RNG.integers(0, 28, 1_000) ** 3 * 1.0, Role.KEY, "codes"),
    ],
)
def test_roles_with_their_reasons(name, values, role, why):
    """Names and values speak; every suggestion has a reason."""
    proposal = propose_role(ObservedColumn(name, seen(values), len(values)))
    assert proposal.role is role
    assert why in proposal.why


def test_ages_are_cut_at_round_numbers_about_ten_times():
    """The outer edges do not tell the youngest and the oldest."""
    bins = propose_bins(seen(AGES))
    assert 7 <= bins.size <= 12
    assert all(isinstance(edge, int) for edge in bins.edges)
    assert sum(edge % 5 == 0 for edge in bins.edges) >= len(bins.edges) - 2
    assert bins.edges[0] < 17
    assert bins.edges[-1] > 90


def test_a_domain_of_few_numbers_lists_them_and_of_many_cuts_them():
    """Sorted, not in order of appearance; a stratum is never cut."""
    assert propose_domain("v", seen([3, 1, 2, 1])) == Categories((1, 2, 3))
    assert isinstance(propose_domain("v", seen(AGES)), Bins)
    assert isinstance(propose_domain("v", seen(AGES), categories=True), Categories)


def test_labelled_values_belong_to_the_domain():
    """Also those that do not occur."""
    assert propose_domain("v", seen([1, 3]), known=(1, 2, 3, 9)) == Categories((1, 2, 3, 9))


def test_too_many_texts_are_refused():
    """The column, how many, and what to do."""
    many = seen([str(i) for i in range(CATEGORY_LIMIT + 1)])
    with pytest.raises(TooLarge, match=r"'v' has 100,001 categories.*Coarsen"):
        propose_domain("v", many)


@given(
    st.lists(
        st.integers(-(10**9), 10**9) | st.integers(0, 3), min_size=21, max_size=300, unique=False
    ).filter(lambda v: len(set(v)) > 1)
)
def test_bins_of_integers_hold_every_value(values):
    """At least two bins, rising edges, nothing outside; strictly beyond the extremes but at 0."""
    bins = propose_bins(seen(values))
    assert bins.size >= 2
    assert bins.edges[0] <= min(values)
    assert bins.edges[-1] > max(values)
    assert bins.edges[0] < min(values) or min(values) == 0


@given(
    st.lists(
        st.floats(-1e12, 1e12).filter(lambda v: v == 0 or abs(v) > 1e-9), min_size=2, max_size=60
    ).filter(lambda v: len(set(v)) > 1)
)
def test_bins_of_any_numbers_hold_every_value(values):
    """The same for fractions, tiny and huge together."""
    bins = propose_bins(seen(values))
    assert bins.size >= 2
    assert bins.edges[0] <= min(values)
    assert max(values) <= bins.edges[-1]


@pytest.mark.parametrize("ends", [(-np.inf,), (np.inf,), (-np.inf, np.inf)])
def test_infinite_values_open_the_outer_bins(ends):
    """They are values like others and stay inside the domain."""
    bins = propose_bins(seen([*AGES.tolist(), *ends]))
    assert {edge for edge in bins.edges if np.isinf(edge)} == set(ends)
    assert propose_bins(seen([-np.inf, np.inf, 1.0])).size >= 2


@pytest.mark.parametrize("name", ["Name", "Name_2", "surname", "First Name", "last_name"])
def test_names_of_people_are_dropped_however_few_they_are(name):
    """Eight surnames in a court file are no categories; names of schools are."""
    some = ["Rao", "Khan", "Weber", "Rossi", "Novak", "Lopez", "Smith", "Miller"] * 50
    schools = RNG.choice(["North", "South", "East"], len(some))
    found = pm.describe(pa.table({name: some, "school_name": schools}))
    assert [str(column.role) for column in found.columns] == ["identifier", "key"]


def roles_of(**columns):
    """The roles that are proposed, by name; of what is dropped for its risk alone, without that."""
    found = pm.describe(pa.table(columns)).profiles
    return {own.name: "sensitive" if own.withheld else str(own.role) for own in found}


def test_respondent_numbers_are_identifiers_in_any_order():
    """Gaps of all sizes and a shuffled file; amounts that differ as much are none."""
    numbers = RNG.permutation(np.sort(RNG.choice(np.arange(1_400, 64_800), 10_000, replace=False)))
    skewed = np.cumsum(np.where(np.arange(10_000) < 5_000, 1, RNG.integers(1, 30, 10_000)))
    found = roles_of(
        sampl=numbers,
        serial=RNG.permutation(skewed),
        turnover=RNG.lognormal(9, 2, 10_000).astype(int),
        sex=RNG.integers(0, 2, 10_000),
    )
    assert found == {
        "sampl": "identifier",
        "serial": "identifier",
        "turnover": "sensitive",
        "sex": "key",
    }


def test_shuffled_household_numbers_are_identifiers():
    """A few records each and hardly a number left out; scores of a test are none."""
    homes = np.repeat(np.arange(1, 2_001), RNG.integers(1, 6, 2_000))
    homes = RNG.permutation(homes)
    scores = RNG.integers(0, 2_000, len(homes))
    found = roles_of(h_seq=homes, score=scores, sex=RNG.integers(0, 2, len(homes)))
    assert found["h_seq"] == "identifier"
    assert found["score"] != "identifier"


def test_body_weights_weigh_no_answers():
    """A weight beside a height is of bodies; the other one is of the sample."""
    body, height = (
        RNG.normal(75, 14, 3_000).round().clip(40, 180),
        RNG.normal(170, 10, 3_000).round(),
    )
    survey = RNG.lognormal(9, 0.6, 3_000).round()
    found = roles_of(weight=body, height=height, finalwgt=survey, sex=RNG.integers(0, 2, 3_000))
    assert found["weight"] == "sensitive"
    assert found["finalwgt"] == "weight"
    assert roles_of(weight=survey, sex=RNG.integers(0, 2, 3_000))["weight"] == "weight"


def test_labels_tell_measures_from_weights():
    """Cholesterol lies as weights do, and its label says what it is."""
    opened = open_table(pa.table({"tcresult": RNG.normal(217, 50, 3_000).round().clip(80),
                                  "leadwt": RNG.lognormal(9, 0.6, 3_000).round(),
                                  "sex": RNG.integers(0, 2, 3_000)}))  # fmt: skip
    texts = {"tcresult": "Serum cholesterol (mg/dL)", "leadwt": "Sampling weight (lead)"}
    found = describe(replace(opened, labels=Labels(variables=texts)))
    assert str(found.column("tcresult").role) != "weight"
    assert str(found.column("leadwt").role) == "weight"


def test_a_dependency_with_few_exceptions_is_found():
    """Groups of ages with four missing still follow from the age."""
    age = RNG.integers(16, 90, 5_000)
    group = [None if at < 4 else f"from {own // 10 * 10}" for at, own in enumerate(age)]
    found = pm.describe(pa.table({"age": age, "agegr": group, "sex": RNG.integers(0, 2, 5_000)}))
    assert str(found.column("agegr").role) == "dropped"
    assert "follows from 'age'" in found.profiles[1].why
