"""Inverse-frequency designs: the paper's figures, and what goes beyond them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.guarantees.test_correct_match import exact_risks

from pramana.base.rounding import TOTAL
from pramana.errors import Infeasible, InvalidNumber, InvalidSchema
from pramana.guarantees.correct_match import match_risks
from pramana.mechanisms.transition import Dense
from pramana.methods.frequency_preserving import block_size, inverse_frequency_design
from pramana.methods.symmetric_flows import theta_of

PAPER = dict(zip("abcdefgh", [2, 205, 431, 106, 230, 221, 611, 194], strict=True))
XIS = (0.1, 0.125, 0.15, 0.175, 0.2, 0.25, 0.3)
TABLE_1 = {
    1: (11, 9, 8, 7, 6, 5, 5),
    2: (6, 5, 5, 4, 4, 3, 3),
    3: (5, 4, 3, 3, 3, 2, 2),
    4: (4, 3, 3, 2, 2, 2, 2),
    5: (3, 3, 2, 2, 2, 2, 2),
    6: (3, 2, 2, 2, 2, 2, 2),
    7: (2, 2, 2, 2, 2, 2, 2),
    8: (2, 2, 2, 2, 2, 2, 2),
    9: (2, 2, 2, 2, 2, 2, 2),
    10: (2, 2, 2, 2, 2, 2, 2),
}


def keeps_frequencies(design):
    """t P = t in integers over 2**64: exactly."""
    times = [design.frequencies[()][label] for label in design.matrix.labels]
    released = sum(t * row for t, row in zip(times, design.matrix.weights, strict=True))
    return [int(x) for x in released] == [t * TOTAL for t in times]


@pytest.mark.parametrize("frequency", TABLE_1)
def test_table_1_in_full(frequency):
    """[Ghatak, Table 1], all seventy entries."""
    assert tuple(block_size(frequency, xi) for xi in XIS) == TABLE_1[frequency]


def test_flows_need_a_third_of_the_changes_of_the_block():
    """The same bound at far fewer changes: all six values of the block lose theta people each."""
    flows = inverse_frequency_design(PAPER, xi=0.1)

    assert flows.theta == pytest.approx(1.656854, abs=5e-7)
    assert flows.attained.xi <= 0.1
    assert flows.expected_changes < 6 * flows.theta / 2.9
    assert flows.gap < 0.01
    assert keeps_frequencies(flows)


def test_several_rare_values_that_no_disjoint_blocks_can_serve():
    """Frequencies 1, 1, 2, 3, 5 and nine larger ones at xi = 0.1: blocks need 31 others, not 9."""
    times = dict(enumerate([1, 1, 2, 3, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18]))

    design = inverse_frequency_design(times, xi=0.1)

    assert max(exact_risks(design.matrix, [*times.values()])) <= 0.1
    assert keeps_frequencies(design)
    assert design.gap < 0.05
    assert sum(block_size(times[rare], 0.1) - 1 for rare in range(5)) == 31


def test_the_paper_protects_one_value_and_may_leave_another():
    """In the printed way, a block for T = 1 leaves T = 3 above xi: ours checks every value."""
    times = {"a": 1, "b": 3} | {f"x{i}": 20 for i in range(9)}
    theta, size = theta_of(1, 10.0), 11
    values = np.array([[theta / (size - 1) / t] * size for t in times.values()])
    np.fill_diagonal(values, [1 - theta / t for t in times.values()])
    printed = Dense.of(tuple(times), values)

    assert match_risks(printed, times)[0] <= 0.1
    assert match_risks(printed, times)[1] > 0.2
    assert inverse_frequency_design(times, xi=0.1).attained.xi <= 0.1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 12) | st.integers(13, 10**6), min_size=2, max_size=12),
    st.sampled_from([0.04, 0.1, 0.15, 0.25, 1 / 3, 0.5]),
)
def test_no_value_exceeds_xi_by_exact_calculation(numbers, xi):
    """For any frequencies: the design holds for every value, or says what is attainable."""
    times = dict(enumerate(numbers))
    if sum(numbers) * Fraction(xi) < 1:
        assume(sum(numbers) > 0)
        with pytest.raises(Infeasible, match=f"1/{sum(numbers)}"):
            inverse_frequency_design(times, xi=xi)
        return
    design = inverse_frequency_design(times, xi=xi)

    assert match_risks(design.matrix, times).max() <= xi
    assert keeps_frequencies(design)
    assert design.expected_changes >= 0
    assert design.gap >= 0


@pytest.mark.deep
def test_random_frequency_vectors():
    """Zeros, ties, many rare values: never above xi, and close to the least changes on average."""
    generator, gaps = np.random.default_rng(1), []
    for _ in range(60):
        sizes = generator.lognormal(
            generator.uniform(1, 4), generator.uniform(0.3, 2), generator.integers(2, 30)
        )
        times = dict(enumerate(np.minimum(sizes, 1e6).astype(int).tolist()))
        xi = float(generator.choice([0.1, 0.15, 0.2, 0.3, 0.5]))
        if sum(times.values()) * xi >= 1:
            design = inverse_frequency_design(times, xi=xi)
            assert match_risks(design.matrix, times).max() <= xi
            gaps.append(design.gap)
    assert len(gaps) > 45
    assert np.median(gaps) < 0.08


def test_values_that_nobody_has_stay_empty():
    """A flow of T = 0 is 0: nothing goes there and nothing comes."""
    design = inverse_frequency_design({"a": 1, "none": 0, "b": 500}, xi=0.1)

    assert design.matrix.probability("b", "none") == 0
    assert design.matrix.probability("none", "none") == 1


def test_nothing_rare_changes_nothing():
    """Limit case: every value is frequent enough as it is."""
    design = inverse_frequency_design({"a": 10, "b": 11}, xi=0.1)

    assert design.unchanged
    assert design.expected_changes == 0
    assert design.theta == 0


def test_exempt_values():
    """They are not exchanged, and nothing is exchanged for them."""
    times = {"n1": 1, "n2": 300, "other": 50}

    design = inverse_frequency_design(times, xi=0.1, exempt=["other"])

    values, at = design.matrix.values, design.matrix.positions
    assert values[at["n1"], at["other"]] == 0
    assert values[at["n1"], at["n2"]] > 0.5
    assert values[at["other"], at["other"]] == 1
    assert design.attained.xi <= 0.1


def test_exactly_as_many_records_as_needed_are_fully_mixed():
    """Limit case: ten records at xi = 1/10 leave one design, and integers still hold it."""
    design = inverse_frequency_design(dict.fromkeys(range(10), 1), xi=0.1)

    assert design.attained.xi == 0.1
    assert design.expected_changes == pytest.approx(9)


def test_what_the_frequencies_do_not_allow_is_said_first():
    """The nearest attainable 1/m is named, before anything is done."""
    with pytest.raises(Infeasible, match="nearest attainable is xi = 1/7"):
        inverse_frequency_design({"a": 3, "b": 4}, xi=0.1)
    with pytest.raises(Infeasible, match="1 of 2 groups"):
        inverse_frequency_design({"a": 3, "b": 4, "c": 50}, xi=0.1, exempt=["c"])


def test_refusals():
    """One category, a chance out of range, broken frequencies."""
    with pytest.raises(InvalidSchema, match="at least two categories"):
        inverse_frequency_design({"a": 3}, xi=0.1)
    with pytest.raises(InvalidNumber):
        inverse_frequency_design({"a": 3, "b": 50}, xi=0)
    with pytest.raises(InvalidNumber):
        inverse_frequency_design({"a": -3, "b": 50}, xi=0.1)
    with pytest.raises(InvalidNumber):
        block_size(0, 0.1)
