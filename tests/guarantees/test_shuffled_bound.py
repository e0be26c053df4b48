"""Tests of the bound on central privacy, with enumeration and exact fractions as judges."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from benchmarks._enumeration import random_mixture, random_rows, step_of, true_delta, worlds
from benchmarks.shuffled import LARGEST, REFERENCE, law_of_columns
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.base.rounding import largest_parameter
from pramana.guarantees import shuffled_bound
from pramana.guarantees.shuffled_bound import BlanketLaw, delta_of, epsilon_of
from pramana.guarantees.shuffled_privacy import laws_of, mixture_above
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Dense, UniformMixture

RATIOS = st.floats(1e-3, 12).map(lambda dial: Fraction(math.exp(dial)))
SIZES = st.integers(2, 30)


def just_below(factor: Fraction) -> float:
    """An epsilon at or below the logarithm: the bound there is one at the logarithm too."""
    return max(0.0, math.log(factor) * (1 - 2**-50)) if factor > 1 else 0.0


def exact_bound(atoms, people: int, factor: Fraction) -> Fraction:
    """(1/n) E (Z_1 + ... + Z_n)_+ by all multisets of atoms, in fractions."""
    law = [(a - factor * b, chance) for a, b, chance in atoms]
    law.append((Fraction(0), 1 - sum(chance for _, chance in law)))
    total = Fraction(0)
    for drawn in itertools.combinations_with_replacement(range(len(law)), people):
        times = [drawn.count(position) for position in set(drawn)]
        ways = math.factorial(people) // math.prod(map(math.factorial, times))
        value = sum(law[position][0] for position in drawn)
        if value > 0:
            total += ways * value * math.prod(law[position][1] for position in drawn)
    return total / people


def mixture_atoms(size: int, ratio: Fraction):
    """The law of a uniform mixture, as the proof page states it."""
    rare, one = 1 / (ratio + size - 1), Fraction(1)
    return [(ratio, one, rare), (one, ratio, rare), (one, one, (size - 2) * rare)]


# -- never below the truth ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.deep(every=5)
def test_no_table_of_a_few_people_shows_more_than_the_bound(seed):
    """Dense channels, mixtures, products, reports, strata: over all tables and neighbours."""
    random = np.random.default_rng(seed)
    for world in itertools.islice(worlds(seed), 60):
        people = int(random.integers(2, world.most_people + 1))
        dial = math.log(max(law.ratio for law in world.laws[0]))
        factor = max(Fraction(1), Fraction(round(16 * math.exp(random.uniform(0, dial))), 16))
        bound = min(
            max(delta_of(law, anonymity_set=people, epsilon=just_below(factor)) for law in laws)
            for laws in world.laws
        )

        assert Fraction(bound) >= world.true_delta(people, factor), world.kind


def clones(size: int, ratio: Fraction, people: int, factor: Fraction) -> Fraction:
    """The special form for uniform mixtures that counts clones of the two truths only."""
    rare = 1 / (ratio + size - 1)
    seen: dict[tuple[int, int], list[Fraction]] = {}
    for first, second in itertools.product(range(people), repeat=2):
        rest = people - 1 - first - second
        if rest < 0:
            continue
        ways = math.factorial(people - 1) // math.prod(map(math.factorial, (first, second, rest)))
        anonymity_set = ways * rare ** (first + second) * (1 - 2 * rare) ** rest
        left = 1 - (ratio + 1) * rare
        for place, weights in (((1, 0), (ratio * rare, rare)), ((0, 1), (rare, ratio * rare))):
            cell = seen.setdefault((first + place[0], second + place[1]), [Fraction(0)] * 2)
            cell[0], cell[1] = (
                cell[0] + anonymity_set * weights[0],
                cell[1] + anonymity_set * weights[1],
            )
        cell = seen.setdefault((first, second), [Fraction(0)] * 2)
        cell[0], cell[1] = cell[0] + anonymity_set * left, cell[1] + anonymity_set * left
    return sum((max(Fraction(0), a - factor * b) for a, b in seen.values()), Fraction(0))


def test_counting_clones_only_would_be_caught():
    """The same enumeration rejects the published special form, which lies below the truth."""
    caught = 0
    for size, other, people in itertools.product((3, 4), (1, 2, 4, 8), (2, 3, 4)):
        rows = np.full((size, size), other) + (64 - size * other) * np.eye(size, dtype=np.int64)
        ratio = Fraction(int(rows[0, 0]), other)
        for factor in (Fraction(3, 2), Fraction(2), Fraction(4)):
            caught += clones(size, ratio, people, factor) < true_delta(rows, people, factor)

    assert caught >= 5


def test_the_case_that_the_special_form_gets_wrong():
    """Ten values, a thousand people, local epsilon 5: it says 3.483, the truth is above 3.557."""
    law = BlanketLaw.of_mixture(10, Fraction(math.exp(5)))

    assert 3.557 < epsilon_of([law], anonymity_set=1000, delta=1e-6) < 4


def test_the_worked_example_of_a_coin():
    """Two people, 3/4 and 1/4, epsilon 0: by hand, the true delta and the bound are 3/8."""
    rows = np.array([[48, 16], [16, 48]])
    (coin,) = laws_of(Mechanism((step_of("a", rows),)))[0]

    assert true_delta(rows, 2, Fraction(1)) == Fraction(3, 8)
    assert exact_bound(mixture_atoms(2, Fraction(3)), 2, Fraction(1)) == Fraction(3, 8)
    assert delta_of(coin, anonymity_set=2, epsilon=0.0) == pytest.approx(3 / 8, rel=5e-3)


@pytest.mark.parametrize("columns", [2, 20, 200])
def test_the_rounding_of_many_columns_adds_up(columns):
    """Each ratio is rounded down by nearly half a unit: the product is off by all of them."""
    ratio = 1 + Fraction(49, 100) * Fraction(2) ** -52
    column = BlanketLaw.of_mixture(2, ratio)
    together = BlanketLaw.of_steps([column] * columns)

    assert Fraction(float(column.first.max())) < ratio
    assert Fraction(together.ratio) >= ratio**columns
    assert together.error >= columns * Fraction(49, 100) * Fraction(2) ** -52


# -- never below the exact bound, and close to it ------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(SIZES, st.floats(0.01, 6), st.integers(1, 7), st.floats(0, 0.9))
def test_the_computed_bound_is_at_or_above_the_exact_one_and_near_it(size, dial, people, share):
    """All multisets in fractions are the second road."""
    ratio = Fraction(math.exp(dial)).limit_denominator(1000)
    factor = Fraction(math.exp(share * math.log(ratio))).limit_denominator(1000)
    law = BlanketLaw.of_mixture(size, ratio)
    exact = exact_bound(mixture_atoms(size, ratio), people, max(Fraction(1), factor))
    computed = delta_of(law, anonymity_set=people, epsilon=just_below(factor))

    assert Fraction(computed) >= exact
    assert computed <= 1.1 * float(exact) + 1e-12


def test_without_its_rounding_the_bound_falls_below(monkeypatch):
    """Terms for rounding are not decoration: dropped, every few cases are on the wrong side."""

    def below() -> int:
        return sum(
            Fraction(delta_of(replace(law, error=error), anonymity_set=1, epsilon=0.0))
            < exact_bound(atoms, 1, Fraction(1))
            for law, atoms in cases
        )

    cases = []
    for size, numerator in itertools.product((2, 3, 7), range(11, 60)):
        ratio = Fraction(numerator, 7)
        cases.append((BlanketLaw.of_mixture(size, ratio), mixture_atoms(size, ratio)))
    error = cases[0][0].error
    assert below() == 0

    monkeypatch.setattr(shuffled_bound, "FUNCTION", 0.0)
    monkeypatch.setattr(shuffled_bound, "UNIT", 0.0)
    error = 0.0
    assert below() > 10


@pytest.mark.parametrize(("ratio", "epsilon"), [(20, 0.3), (200, 1.0), (3, 0.05)])
def test_a_thousand_people_by_binomials(ratio, epsilon):
    """Another road for larger anonymity sets: how many are in the blanket, how many on which
    side.
    """
    from scipy.stats import binom

    people, factor = 1000, math.exp(epsilon)
    inside = np.arange(people + 1)
    upper, lower = ratio - factor, 1 - ratio * factor
    total = 0.0
    for m, chance in zip(inside, binom.pmf(inside, people, 2 / (ratio + 1)), strict=True):
        first = np.arange(m + 1)
        worth = np.maximum(first * upper + (m - first) * lower, 0)
        total += chance * float(binom.pmf(first, m, 0.5) @ worth)
    computed = delta_of(
        BlanketLaw.of_mixture(2, Fraction(ratio)), anonymity_set=people, epsilon=epsilon
    )

    assert 1 <= computed / (total / people) < 1.01


# -- the figures of the reference ------------------------------------------------------------------


@pytest.mark.parametrize("records", sorted(REFERENCE))
def test_the_reference_table(records):
    """Any channel at two deltas, and three columns, at k = 2, 10, 100: to the printed digit."""
    for column, (sizes, delta) in enumerate((((2,), 1e-6), ((2,), 1e-9), ((2, 5, 10), 1e-6))):
        for k, stated in zip((2, 10, 100), REFERENCE[records][column], strict=True):
            law = law_of_columns(math.log((records - 1) / (k - 1)) / 2, sizes)
            found = epsilon_of([law], anonymity_set=records, delta=delta)
            digit = 10.0 ** (math.floor(math.log10(stated)) - 3) if stated > 1 else 1e-4

            assert abs(found / stated - 1) < 0.01
            assert found >= stated - 0.6 * digit


@pytest.mark.parametrize("records", sorted(LARGEST))
def test_the_largest_local_epsilon_for_a_central_one(records):
    """The way back, for any channel."""
    for epsilon, stated in LARGEST[records].items():

        def holds(dial: float, epsilon: float = epsilon) -> bool:
            law = BlanketLaw.of_any_channel(Fraction(math.exp(dial)))
            return delta_of(law, anonymity_set=records, epsilon=epsilon, enough=1e-6) <= 1e-6

        found = largest_parameter(holds, low=epsilon, high=20.0, tolerance=1e-5)
        assert found == pytest.approx(stated, abs=1e-3)


# -- laws and limits -----------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(SIZES, RATIOS, st.integers(2, 10**6), st.floats(0, 0.9), st.floats(1.01, 3))
def test_delta_falls_with_epsilon_and_with_the_anonymity_set(
    size, ratio, anonymity_set, share, more
):
    """Up to what smoothing may add."""
    law = BlanketLaw.of_mixture(size, ratio)
    epsilon = share * math.log(ratio)
    here = delta_of(law, anonymity_set=anonymity_set, epsilon=epsilon)
    near = 1.02 * here + 1e-300

    assert delta_of(law, anonymity_set=anonymity_set, epsilon=min(more * epsilon, 13.0)) <= near
    assert delta_of(law, anonymity_set=math.ceil(more * anonymity_set), epsilon=epsilon) <= near


@settings(max_examples=25, deadline=None)
@given(SIZES, RATIOS, st.floats(1.05, 4), st.integers(2, 10**6), st.floats(0, 0.9))
def test_delta_grows_with_the_dial_and_a_coin_is_the_worst(size, ratio, more, anonymity_set, share):
    """What makes halving right; and the any-channel law above every mixture."""
    epsilon = share * math.log(ratio)
    here = delta_of(
        BlanketLaw.of_mixture(size, ratio), anonymity_set=anonymity_set, epsilon=epsilon
    )
    larger = BlanketLaw.of_mixture(size, ratio * Fraction(more))

    assert here <= 1.02 * delta_of(larger, anonymity_set=anonymity_set, epsilon=epsilon) + 1e-300
    coin = BlanketLaw.of_any_channel(ratio)
    assert here <= 1.02 * delta_of(coin, anonymity_set=anonymity_set, epsilon=epsilon) + 1e-300


def test_limits():
    """Pure noise shows nothing; at the local epsilon nothing is left; alone, one record counts."""
    noise = BlanketLaw.of_mixture(5, Fraction(1))
    coin = BlanketLaw.of_mixture(2, Fraction(3))

    assert delta_of(noise, anonymity_set=10, epsilon=0.0) < 1e-14
    assert epsilon_of([noise], anonymity_set=10, delta=1e-6) == 0
    assert delta_of(coin, anonymity_set=10, epsilon=math.log(3) + 1e-12) == 0
    assert delta_of(coin, anonymity_set=1, epsilon=0.0) == pytest.approx(0.5, rel=1e-12)
    assert epsilon_of([coin], anonymity_set=2, delta=1e-12) == pytest.approx(math.log(3), rel=1e-3)


@pytest.mark.parametrize("anonymity_set", [2, 1000, 10**6, 10**9])
@pytest.mark.parametrize("dial", [1e-3, 1.0, 8.0, 20.0])
def test_from_a_thousandth_to_twenty(dial, anonymity_set):
    """Every anonymity set and dial has an epsilon between 0 and the local one, and delta holds
    there.
    """
    law = BlanketLaw.of_any_channel(Fraction(math.exp(dial)))
    found = epsilon_of([law], anonymity_set=anonymity_set, delta=1e-9)

    assert 0 < found <= dial * (1 + 1e-9)
    assert (
        found == pytest.approx(dial)
        or delta_of(law, anonymity_set=anonymity_set, epsilon=found) <= 1e-9
    )


# -- laws of channels ------------------------------------------------------------------------------


def test_a_product_of_nine_columns_is_exact():
    """Its largest ratio is the product of the largest ratios: no grid has raised it."""
    ratios = [Fraction(5 + step, 5) for step in range(1, 10)]
    whole = BlanketLaw.of_steps([BlanketLaw.of_mixture(3, ratio) for ratio in ratios])

    assert whole.ratio == pytest.approx(float(math.prod(ratios)), rel=1e-9)


def test_many_columns_are_spread_on_a_grid_and_stay_above(monkeypatch):
    """Means stay, and epsilon is a hair above that of all pairs."""
    laws = [BlanketLaw.of_mixture(3, Fraction(5 + step, 5)) for step in range(1, 9)]
    exact = BlanketLaw.of_steps(laws)
    monkeypatch.setattr(shuffled_bound, "MOST_ATOMS", 1_000)
    fewer = BlanketLaw.of_steps(laws)
    found = [epsilon_of([law], anonymity_set=10_000, delta=1e-6) for law in (exact, fewer)]
    means = float(fewer.chance @ fewer.first), float(fewer.chance @ fewer.second)

    assert means == pytest.approx((1, 1), rel=1e-9)
    assert found[0] < found[1] < 1.02 * found[0]


def test_a_matrix_that_a_mixture_can_be_turned_into():
    """The mixture followed by what is left is the matrix, and with less of it that is no matrix."""
    rows = random_rows(np.random.default_rng(3), 3)
    matrix = Dense(tuple("abc"), tuple(tuple(int(w) * 2**58 for w in row) for row in rows))
    ratio = mixture_above(matrix)

    for trial, good in ((ratio, True), (ratio * Fraction(99, 100), False)):
        keep = (trial - 1) / (trial + 2)
        mean = [sum(map(Fraction, map(int, column))) / 3 for column in rows.T]
        rest = [
            [Fraction(int(w)) - (1 - keep) * m for w, m in zip(row, mean, strict=True)]
            for row in rows
        ]
        assert all(entry >= 0 for row in rest for entry in row) == good


def test_large_matrices_are_bounded_from_above():
    """Two wide steps have too many pairs: the bound is one law, above that of any pair."""
    random = np.random.default_rng(4)
    wide = [random_rows(random, 8), random_rows(random, 8)]
    mechanism = Mechanism(tuple(step_of(name, rows) for name, rows in zip("ab", wide, strict=True)))
    exact, coin = laws_of(mechanism)
    assert len(exact) * len(coin) <= 100

    some = []
    for own, other in ((0, 1), (3, 5), (7, 2)):
        parts = []
        for step in mechanism:
            weights = step.matrices[0].weights.tolist()
            blanket = [min(column) for column in zip(*weights, strict=True)]
            parts.append(BlanketLaw.of_rows(weights[own], weights[other], blanket))
        some.append(BlanketLaw.of_steps(parts))
    least = min(epsilon_of(laws, anonymity_set=1000, delta=1e-6) for laws in (exact, coin))
    assert epsilon_of(some, anonymity_set=1000, delta=1e-6) <= least


def test_the_worst_stratum_counts():
    """One matrix a stratum: the law is that of the largest ratio, whichever stratum it is in."""
    random = np.random.default_rng(5)
    rows = [random_mixture(random, 3) for _ in range(3)]
    matrices = {
        (name,): step_of("a", part).matrices[0] for name, part in zip("xyz", rows, strict=True)
    }
    together = laws_of(Mechanism((Step(("a",), strata=("s",), by_stratum=matrices),)))
    apart = [laws_of(Mechanism((Step(("a",), matrix),))) for matrix in matrices.values()]
    found = [epsilon_of(laws[0], anonymity_set=50, delta=1e-6) for laws in (together, *apart)]

    assert found[0] == max(found[1:])


def test_a_number_is_searched_for_once(monkeypatch):
    """For the same laws, anonymity set and delta; whatever is not the same is another search."""
    searched = []

    def counted(law, anonymity_set, delta, low, high):
        searched.append(anonymity_set)
        return shuffled_bound.crossing(
            lambda at: delta_of(law, anonymity_set=anonymity_set, epsilon=at),
            delta,
            low,
            high,
            start=high / 2,
        )

    monkeypatch.setattr(shuffled_bound, "_least_epsilon", counted)
    shuffled_bound._epsilon_of.cache_clear()
    found = {}
    for ratio, anonymity_set, delta in itertools.product((30, 40), (500, 600), (1e-6, 1e-7)):
        for again in (False, True):
            before = len(searched)
            law = BlanketLaw.of_mixture(4, Fraction(ratio))
            epsilon = epsilon_of([law], anonymity_set=anonymity_set, delta=delta)
            assert found.setdefault((ratio, anonymity_set, delta), epsilon) == epsilon
            assert (len(searched) == before) == again
    assert len(set(found.values())) == 8
    shuffled_bound._epsilon_of.cache_clear()


@pytest.mark.parametrize("size", [2, 100])
@pytest.mark.parametrize("excess", [2, 2**10])
def test_a_search_ends_where_differences_are_lost_in_rounding(size, excess):
    """2**62 records and a gamma next to 1: the first guess of the slope was 0, for ever."""
    matrix = UniformMixture(tuple(range(size)), (2**64 - excess) // size)
    law = BlanketLaw.of_mixture(size, Fraction(matrix.gamma))
    begun = time.process_time()
    found = epsilon_of([law], anonymity_set=2**62, delta=1e-18)
    assert 0 < found < 1e-14
    assert time.process_time() - begun < 30


def sharp_case() -> tuple[shuffled_bound._Steps, int, float, Fraction]:
    """The steps of ten people, a slope, and the exact bound."""
    ratio, people = Fraction(3), 10
    law, epsilon = BlanketLaw.of_mixture(2, ratio), 0.5
    steps = shuffled_bound._Steps.of(law, epsilon)
    exact = exact_bound(mixture_atoms(2, ratio), people, Fraction(math.exp(epsilon)))
    return steps, people, steps.slope(people), exact


def test_the_sharp_bound_counts_what_is_cut_off(monkeypatch):
    """A line that ends early leaves much out: with the rest the bound is still above."""
    steps, people, slope, exact = sharp_case()
    for reach in (0.2, 0.5, 1.0, 2.0):
        monkeypatch.setattr(shuffled_bound, "REACH", reach)
        assert steps.sharp(people, slope, enough=0.0) >= float(exact)


@pytest.mark.parametrize("direction", [-1, 1])
def test_the_sharp_bound_counts_errors_of_its_transform(monkeypatch, direction):
    """A transform that is off by as much as its allowance leaves the bound above."""
    steps, people, slope, exact = sharp_case()
    transform, doubt = shuffled_bound._Steps._transform, shuffled_bound._Steps._doubt
    allowance = 1e-3

    def allowed(self, slope, frequency):
        line = isinstance(frequency, np.ndarray)
        return np.full(frequency.shape, allowance) if line else doubt(self, slope, frequency)

    def off(self, slope, points):
        real, imaginary = transform(self, slope, points)
        return real + direction * 0.9 * allowance, imaginary

    monkeypatch.setattr(shuffled_bound._Steps, "_doubt", allowed)
    monkeypatch.setattr(shuffled_bound._Steps, "_transform", off)
    assert steps.sharp(people, slope, enough=0.0) >= float(exact)
