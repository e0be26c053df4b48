"""The chance of a correct match against exact fractions, enumeration and simulation."""

from __future__ import annotations

import itertools
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pramana as pm
from pramana.base.rounding import TOTAL
from pramana.errors import InvalidNumber, NotCovered, OutsideDomain
from pramana.guarantees import correct_match
from pramana.guarantees.base import Evidence, only_the_owner
from pramana.guarantees.correct_match import CorrectMatch, match_risks
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Dense, UniformMixture
from pramana.schema.joint_cells import Counts


def exact_risks(matrix, times):
    """max over a of P[correct match | S = a] in fractions, from the law of the other records."""
    risks = []
    for c, own_times in enumerate(times):
        law = [Fraction(1)]
        for i, number in enumerate(times):
            chance = Fraction(int(matrix.weights[i, c]), TOTAL)
            for _ in range(number - (i == c)):
                stay = [share * (1 - chance) for share in law] + [Fraction(0)]
                move = [Fraction(0)] + [share * chance for share in law]
                law = [a + b for a, b in zip(stay, move, strict=True)]
        own = Fraction(int(matrix.weights[c, c]), TOTAL)
        best = Fraction(0)
        for a in range(1, len(law) + 1 if own_times else 1):
            right = own * law[a - 1]
            seen = right + (1 - own) * (law[a] if a < len(law) else 0)
            best = max(best, right / seen / a if seen else Fraction(0))
        risks.append(best)
    return risks


def enumerated_risks(matrix, times):
    """The same from every possible release of every record: no formula at all."""
    records = [i for i, number in enumerate(times) for _ in range(number)]
    risks = []
    for c in range(matrix.size):
        seen: dict[int, Fraction] = {}
        right: dict[int, Fraction] = {}
        target = records.index(c)
        for release in itertools.product(range(matrix.size), repeat=len(records)):
            chance = Fraction(1)
            for truth, value in zip(records, release, strict=True):
                chance *= Fraction(int(matrix.weights[truth, value]), TOTAL)
            a = release.count(c)
            seen[a] = seen.get(a, Fraction(0)) + chance
            if release[target] == c:
                right[a] = right.get(a, Fraction(0)) + chance / a
        risks.append(max((right[a] / seen[a] for a in right if seen[a]), default=Fraction(0)))
    return risks


@st.composite
def matrices_with_frequencies(draw):
    size = draw(st.integers(2, 4))
    entry = st.integers(0, 20)
    rows = draw(
        st.lists(
            st.lists(entry, min_size=size, max_size=size).filter(any), min_size=size, max_size=size
        )
    )
    times = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    table = np.array(rows, dtype=float)
    return Dense.of(tuple(range(size)), table / table.sum(axis=1, keepdims=True)), times


def test_case_by_hand():
    """One record of 'a' that stays with 1/2, one of 'b' that becomes 'a' with 1/2.

    S = 1 in two equally likely ways, and B is right in one: 1/2. S = 2: one pick of two, 1/2.
    """
    matrix = Dense.of(("a", "b"), [[0.5, 0.5], [0.5, 0.5]])

    assert match_risks(matrix, {"a": 1, "b": 1}) == pytest.approx([0.5, 0.5], rel=1e-15)


def test_enumeration_of_all_releases_agrees():
    """No formula: every possible release of five records, weighed by its probability."""
    matrix = Dense.of(("a", "b", "c"), [[0.3, 0.6, 0.1], [0.2, 0.7, 0.1], [0.25, 0.25, 0.5]])
    times = [1, 2, 2]

    found = match_risks(matrix, dict(zip("abc", times, strict=True)))

    assert found == pytest.approx([float(risk) for risk in enumerated_risks(matrix, times)])


@settings(max_examples=150, deadline=None)
@given(matrices_with_frequencies())
def test_stated_chance_is_never_below_the_exact_one_and_close_to_it(case):
    """Rounding may cost utility, never privacy; zeros and ones in the matrix are no exception."""
    matrix, times = case

    found = match_risks(matrix, dict(enumerate(times)))

    for stated, exact in zip(found.tolist(), exact_risks(matrix, times), strict=True):
        assert Fraction(stated) >= exact
        assert Fraction(stated) <= exact * (1 + Fraction(1, 10**11))


@settings(max_examples=50, deadline=None)
@given(matrices_with_frequencies())
def test_chance_is_at_most_one_over_the_frequency(case):
    """All true c are equally likely to be among those seen, so R <= 1 / T_c."""
    matrix, times = case

    for risk, number in zip(match_risks(matrix, dict(enumerate(times))), times, strict=True):
        assert number == 0 or risk <= 1 / number * (1 + 1e-15)


def test_the_largest_chance_is_not_always_at_one_record():
    """Where others turn into c more often than c stays, R(1) is not the worst."""
    matrix = Dense.of(("a", "b"), [[0.2, 0.8], [0.8, 0.2]])
    at_one = 1 / (1 + (0.8 / 0.2) * (0.8 / 0.2))

    risk = match_risks(matrix, {"a": 1, "b": 1})[0]

    assert risk == pytest.approx(0.5)
    assert risk > at_one


def test_the_rarest_value_need_not_be_the_worst():
    """One record of 'a', which hardly ever stays; two of 'b', which always do: a pick of two."""
    matrix = Dense.of(("a", "b", "c"), [[0.01, 0, 0.99], [0, 1, 0], [0.5, 0, 0.5]])
    frequencies = {"a": 1, "b": 2, "c": 50}

    assert CorrectMatch.of(matrix, frequencies).xi == 0.5
    assert CorrectMatch.of(matrix, frequencies).xi == match_risks(matrix, frequencies).max()


def test_records_that_always_arrive_are_counted_once():
    """Two records of 'a' stay and three of 'b' always become 'a': a pick of five."""
    matrix = Dense.of(("a", "b"), [[1, 0], [1, 0]])

    assert match_risks(matrix, {"a": 2, "b": 3})[0] == 0.2


def test_identity_gives_one_over_the_smallest_frequency():
    """Limit case: nothing is changed."""
    matrix = SparseRows.of(("a", "b"), rows=[], columns=[], probabilities=[])

    assert CorrectMatch.of(matrix, {"a": 4, "b": 100}) == CorrectMatch(xi=0.25)


def test_families_agree():
    """A uniform mixture, its entries one by one, and its transitions have the same chances."""
    mixture = UniformMixture.of(("a", "b", "c"), retention=0.4)
    dense = Dense.from_weights(mixture.labels, mixture.weights)
    off = ~np.eye(3, dtype=bool)
    rows, columns = np.nonzero(off)
    moves = np.full(6, mixture.other, dtype=np.uint64)
    sparse = SparseRows.from_moves(mixture.labels, rows=rows, columns=columns, moves=moves)
    times = {"a": 2, "b": 30, "c": 7}

    first = match_risks(mixture, times)

    assert match_risks(dense, times) == pytest.approx(first, rel=1e-14)
    assert match_risks(sparse, times) == pytest.approx(first, rel=1e-14)


def test_two_roads_to_the_law_agree_over_a_wide_range():
    """Products of polynomials and the tilted Fourier sum, with 100,000 records."""
    odds, times = np.array([0.3, 5.0, 1e-3]), np.array([50.0, 7.0, 1e5])
    near, _ = correct_match._ratios(odds, times, 200)

    far = np.array([correct_match._ratio(odds, times, a) for a in range(1, 201)])

    assert far == pytest.approx(near, rel=1e-10)


@pytest.mark.parametrize("frequency", [1, 10, 1_000, 1_000_000])
def test_full_mixing_gives_one_over_all_records(frequency):
    """p_ij = T_j / n makes every record equally likely: R = 1/n, from 1 to a million."""
    times = {"a": frequency, "b": 3 * frequency}
    matrix = Dense.of(("a", "b"), [[0.25, 0.75], [0.25, 0.75]])

    assert CorrectMatch.of(matrix, times).xi == pytest.approx(1 / (4 * frequency), rel=1e-5)


@pytest.mark.parametrize(("stays", "arrives"), [(0.3, 0.4), (0.05, 0.5), (0.6, 0.65)])
def test_many_released_records_with_likelier_arrivals(stays, arrives):
    """400 and 3,000 records, odds of arriving above those of staying: R peaks far from one record.

    Second road: E[true c among a] / (a T) for every a, summed over all splits in logarithms.
    """
    from scipy.stats import binom

    matrix = Dense.of(("a", "b"), [[stays, 1 - stays], [arrives, 1 - arrives]])
    own = binom.logpmf(np.arange(401), 400, stays)
    others = binom.logpmf(np.arange(3001), 3000, arrives)
    best = 0.0
    for a in range(1, 3401):
        j = np.arange(max(0, a - 3000), min(400, a) + 1)
        logs = own[j] + others[a - j]
        share = np.exp(logs - logs.max())
        best = max(best, float((j * share).sum() / share.sum()) / (a * 400))

    stated = match_risks(matrix, {"a": 400, "b": 3000})[0]

    assert best <= stated <= best * (1 + 1e-5)


def test_a_thousand_frequent_categories_take_a_moment():
    """Frequencies up to a million do not slow the calculation down."""
    times = {i: int(x) for i, x in enumerate(np.random.default_rng(1).integers(1, 10**6, 1000))}
    start = time.perf_counter()

    attained = CorrectMatch.of(UniformMixture.of(tuple(range(1000)), retention=0.999), times)

    assert 0 < attained.xi <= 1 / min(times.values())
    assert time.perf_counter() - start < 5


def test_simulation_of_the_intruder():
    """100,000 releases; the share of right picks at S = 1 is within 4 standard errors (level 1e-4).

    A chance that is ten per cent off is rejected by the same test.
    """
    matrix = Dense.of(("a", "b"), [[0.4, 0.6], [0.02, 0.98]])
    generator = np.random.default_rng(7)
    own = generator.binomial(1, 0.4, 100_000)
    seen = own + generator.binomial(1, 0.4, 100_000) + generator.binomial(60, 0.02, 100_000)
    once = seen == 1
    share, error = own[once].mean(), own[once].std() / np.sqrt(once.sum())

    stated = match_risks(matrix, {"a": 2, "b": 60})[0]

    assert abs(share - stated) < 4 * error
    assert abs(share - 1.1 * stated) > 4 * error


def test_mechanism_is_read_column_by_column_and_stratum_by_stratum():
    """Each column has its own counts; inside strata those of the stratum count."""
    counts = Counts.from_dense(
        ("region", "sex"), (("N", "S"), ("F", "M")), np.array([[3, 5], [50, 2]])
    )
    sex = Dense.of(("F", "M"), [[0.9, 0.1], [0.1, 0.9]])
    region = UniformMixture.of(("N", "S"), retention=0.5)

    plain = CorrectMatch.of(Mechanism((Step(("region",), region), Step(("sex",), sex))), counts)
    step = Step(("sex",), strata=("region",), by_stratum={("N",): sex, ("S",): sex})
    inside = CorrectMatch.of(Mechanism((step,)), counts)

    by_hand = max(
        match_risks(region, {"N": 8, "S": 52}).max(), match_risks(sex, {"F": 53, "M": 7}).max()
    )
    assert plain.xi == by_hand
    assert inside.xi == max(
        match_risks(sex, {"F": 3, "M": 5}).max(), match_risks(sex, {"F": 50, "M": 2}).max()
    )


def test_joint_steps_are_not_covered():
    """The theory speaks of one column; joint steps are refused, not guessed."""
    cells = (("F", "N"), ("M", "N"))
    step = Step(("sex", "region"), Dense.of(cells, np.eye(2)))
    counts = Counts.from_dense(("sex", "region"), (("F", "M"), ("N",)), np.array([[3], [4]]))

    with pytest.raises(NotCovered, match="one column at a time"):
        CorrectMatch.of(Mechanism((step,)), counts)
    schema = pm.Schema((pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))),))
    evidence = Evidence(schema, 7, 7, Mechanism((step,)))
    assert CorrectMatch(xi=0.5).impossible(evidence) is not None  # so that no certificate has it


def test_refusals():
    """A chance is a number in [0, 1]; frequencies are whole and belong to labels."""
    coin = UniformMixture.of(("a", "b"), retention=0.5)
    with pytest.raises(InvalidNumber):
        CorrectMatch(xi=1.5)
    with pytest.raises(InvalidNumber):
        CorrectMatch(xi=float("nan"))
    with pytest.raises(OutsideDomain, match="1 of 2"):
        match_risks(coin, {"a": 1, "z": 2})
    with pytest.raises(InvalidNumber):
        match_risks(coin, {"a": 1.5, "b": 2})


def test_implies_and_sentence():
    """A smaller chance implies a larger one, and the sentence names it."""
    assert CorrectMatch(xi=0.05).implies(CorrectMatch(xi=0.1))
    assert not CorrectMatch(xi=0.2).implies(CorrectMatch(xi=0.1))
    assert "0.05" in CorrectMatch(xi=0.05).sentence()
    assert only_the_owner(CorrectMatch)
