"""Individual risks: SUDA2 scores and the log-linear model, against sdcMicro's values and proofs."""

from __future__ import annotations

import itertools
from math import factorial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana import api
from pramana.io.opening import open_table
from pramana.risk.coded_table import CodedTable
from pramana.risk.frequencies import Frequencies
from pramana.risk.table_audit import (
    IndividualRisks,
    SpecialUniques,
    expected_counts,
    model_chances,
)

GUIDE = {
    "residence": ["u", "u", "u", "u", "r", "u", "u", "u", "u", "u"],
    "gender": ["f", "f", "f", "m", "f", "m", "f", "m", "f", "f"],
    "education": ["si", "si", "pi", "sc", "sc", "sc", "pc", "ps", "si", "si"],
    "labour": ["e", "e", "n", "e", "un", "e", "n", "un", "n", "n"],
}
"""The ten records by which sdcMicro's guide explains SUDA scores."""

DRAWN = {
    "a": [2, 3, 2, 3, 3, 1, 2, 3, 2, 2],
    "b": [2, 1, 2, 2, 1, 2, 1, 1, 1, 2],
    "c": [5, 4, 4, 5, 4, 4, 3, 3, 2, 2],
}
"""The ten records of sdcMicro's test of modRisk, each of which stands for 100 people."""


def coded(columns: dict[str, list]) -> CodedTable:
    table = open_table(pa.table(columns))
    return CodedTable.of(table, list(columns))


def test_scores_of_the_guide_of_sdcmicro():
    """The scores that sdcMicro 5.8 gives for the example of its guide."""
    found = SpecialUniques.of(coded(GUIDE))

    assert found.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]


def test_contributions_of_keys_as_in_sdcmicro():
    """Shares of the scores by key, as sdcMicro's own test has them: 50, 37.5, 37.5."""
    found = SpecialUniques.of(coded({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]}))

    assert found.contributions.tolist() == [50, 37.5, 37.5]


def test_dis_scores_worked_by_hand():
    """Four uniques and three pairs at 1 in 100: DIS = 0.04 / 5.98; scores 6, 12, 6, 10, m = 4."""
    found = SpecialUniques.of(coded(GUIDE))

    dis = 0.04 / (0.04 + 6 * 0.99)
    powers = {score: score**1.2 for score in (6, 10, 12)}
    adjust = 2 / powers[6] + 1 / powers[10] + 1 / powers[12]
    expected = {s: 1 / (1 + (4 / dis - 4) / (p * adjust)) for s, p in powers.items()}
    assert found.dis(0.01)[[2, 4, 7]] == pytest.approx([expected[6], expected[12], expected[10]])
    assert found.dis(0.01)[0] == 0


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=12))
def test_scores_equal_those_of_the_definition(rows):
    """Every minimal set of keys by which a record is unique adds (m - s)!."""
    columns = {name: [row[place] for row in rows] for place, name in enumerate("abcd")}
    found = SpecialUniques.of(coded(columns))

    for number, row in enumerate(rows):
        sets = [
            set(places)
            for size in range(1, 5)
            for places in itertools.combinations(range(4), size)
            if sum(all(other[p] == row[p] for p in places) for other in rows) == 1
        ]
        minimal = [one for one in sets if not any(other < one for other in sets)]
        assert found.scores[number] == sum(factorial(4 - len(one)) for one in minimal)


def test_a_value_that_is_unique_among_eight_keys_scores_seven_factorial():
    """(m - s)! is beyond a byte, in which combinations are kept bit by bit."""
    columns = {f"k{place}": [int(place == 0), 0, 0] for place in range(8)}

    assert SpecialUniques.of(coded(columns)).scores.tolist() == [factorial(7), 0, 0]


def test_many_keys_are_searched_by_few_at_a_time():
    """Of 14 keys sets of up to five are tried (3,472 of 16,383), and the result says so."""
    columns = {f"k{place}": [0, 1, 0, 1] for place in range(14)}

    assert SpecialUniques.of(coded(columns)).width == 5


def test_the_model_reproduces_the_values_of_sdcmicro():
    """With its own (too small) population: 0.552916 and 0.7053842 of the nine cells."""
    table = coded(DRAWN)
    counted = Frequencies.of(table)
    once = counted.sample == 1
    expected = expected_counts(table, interactions=False)[once]

    # sdcMicro takes the count expected in the sample for the one expected in the population.
    unique, match = model_chances(expected * 0.01, np.full(len(expected), 0.01))

    assert unique.sum() / 9 == pytest.approx(0.552916, abs=1e-6)
    assert match.sum() / 9 == pytest.approx(0.7053842, abs=1e-7)


def test_a_sample_of_one_in_a_hundred_is_hardly_unique_in_the_population():
    """The same records, where each stands for 100 people: 2.5e-9 uniques, 0.192 matches (R)."""
    table = coded(DRAWN)
    counted = Frequencies.of(table, weights=np.full(10, 100.0))
    found = IndividualRisks.of(table, counted)
    expected = expected_counts(table, interactions=False)[counted.sample == 1]
    unique, match = model_chances(expected, np.full(len(expected), 0.01))

    assert unique.sum() == pytest.approx(2.517499e-09, rel=1e-6)
    assert match.sum() == pytest.approx(0.1919192, rel=1e-6)
    assert found.by_weights == pytest.approx(8 * 0.01)


def test_interactions_keep_every_table_of_two_keys():
    """The two-way model has the margins of the data: a law that the main effects break."""
    rng = np.random.default_rng(4)
    a = rng.integers(0, 3, 4000)
    b = (a + rng.integers(0, 2, 4000)) % 3
    c = rng.integers(0, 2, 4000)
    table = coded({"a": a.tolist(), "b": b.tolist(), "c": c.tolist()})

    fitted = expected_counts(table, interactions=True)

    groups = Frequencies.of(table).grouping
    for one, other in itertools.combinations(range(3), 2):
        pair = 3 * table.codes[one] + table.codes[other]
        of_model = np.bincount(pair[groups.first], weights=fitted, minlength=9)
        assert of_model == pytest.approx(np.bincount(pair, minlength=9), abs=0.01)


@pytest.mark.deep
def test_the_model_counts_the_uniques_of_a_simulated_population():
    """Samples of 1 in 10 from independent keys: the mean error is within 3 standard errors of 0."""
    rng = np.random.default_rng(11)
    shares = [np.arange(1, size + 1) / np.arange(1, size + 1).sum() for size in (12, 15, 10)]
    errors = []
    for _ in range(40):
        people = np.stack([rng.choice(len(s), 20_000, p=s) for s in shares])
        chosen = rng.choice(20_000, 2_000, replace=False)
        table = coded({n: people[i, chosen].tolist() for i, n in enumerate("abc")})
        expected = expected_counts(table, interactions=False)
        once = Frequencies.of(table).sample == 1
        stated = model_chances(expected[once], np.full(once.sum(), 0.1))[0].sum()
        whole = people[0] * 150 + people[1] * 10 + people[2]
        numbers = np.bincount(whole, minlength=1800)
        sample = np.bincount(whole[chosen], minlength=1800)
        errors.append(stated - ((sample == 1) & (numbers == 1)).sum())
    assert abs(np.mean(errors)) < 3 * np.std(errors) / np.sqrt(len(errors))


def test_the_list_of_records_is_riskiest_first(tmp_path):
    """``audit`` of a table holds fk, Fk, risk and scores of each record; the worst comes first."""
    table = pa.table(GUIDE | {"w": [100.0] * 10})
    found = api.audit(table, keys=list(GUIDE), weight="w")

    listed = found.individual.to_arrow()

    assert listed.column_names == ["record", "fk", "Fk", "risk", "suda", "dis_suda"]
    assert listed["record"][0].as_py() == 5
    assert listed["risk"].to_pylist() == sorted(listed["risk"].to_pylist(), reverse=True)
    assert any("SUDA2" in sentence for sentence in found.sentences())
