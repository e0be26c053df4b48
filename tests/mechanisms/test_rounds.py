"""Tests of the counts of rounds: against exact laws, by other digits, and with a wrong sampler."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2

from pramana.base.randomness import Keystream, Stream
from pramana.base.rounding import TOTAL
from pramana.mechanisms import sampler
from pramana.mechanisms.sampler import binomials, draw_rounds

LEVEL = 1e-6
"""The chance that a sound sampler fails one of these tests; seeds are fixed."""


def far(numbers, expected) -> bool:
    """Whether counts are further from what is expected than chance allows; rare ones together."""
    rare = expected < 8
    seen = np.append(numbers[~rare], numbers[rare].sum())
    right = np.append(expected[~rare], expected[rare].sum())
    used = right > 0
    statistic = ((seen - right)[used] ** 2 / right[used]).sum()
    return statistic > chi2.isf(LEVEL, used.sum() - 1)


@pytest.mark.parametrize(
    ("trials", "chance", "of"),
    [
        (1, 1, 3),
        (2, 1, 2),
        (7, 3, 10),
        (50, 1, 100),
        (400, 399, 400),
        (1_000, 1, 2),
        (20_000, 1, 7),
    ],
)
def test_binomial_numbers_have_their_law(trials: int, chance: int, of: int) -> None:
    """And are told from those of a chance that is slightly wrong."""
    many = 40_000
    found = binomials(np.full(many, trials), [chance] * many, of, Keystream.from_seed(trials),
                      Stream("test"))  # fmt: skip
    numbers = np.bincount(found, minlength=trials + 1)
    assert not far(numbers, many * binom.pmf(np.arange(trials + 1), trials, chance / of))
    assert far(numbers, many * binom.pmf(np.arange(trials + 1), trials, 0.95 * chance / of))


def test_ends_need_no_chance() -> None:
    """Nobody, everybody, and no trials."""
    found = binomials(np.array([9, 9, 0]), [0, 5, 3], 5, Keystream.from_seed(1), Stream("test"))
    assert found.tolist() == [0, 9, 0]


def test_a_comparison_that_is_in_doubt_is_made_with_more_digits(monkeypatch) -> None:
    """If floating point were trusted with far fewer digits, the draws would be the same."""
    trials = np.array([5, 300, 10**6] * 100)
    arguments = trials, [1] * len(trials), 3, Keystream.from_seed(5), Stream("test")
    plain = binomials(*arguments)
    monkeypatch.setattr(sampler, "DOUBT", 1e-9)
    assert np.array_equal(plain, binomials(*arguments))


@pytest.mark.parametrize("number", [0, 1, 5, 999, 1_000, 4_321, 10**6])
def test_logarithms_of_factorials_are_right(number: int) -> None:
    """Small ones exactly, larger ones by the series, against the floating-point function."""
    assert float(sampler._log_factorial(number, 1)) == pytest.approx(math.lgamma(number + 1))
    if 1_000 <= number < 10**5:
        from decimal import Decimal, localcontext

        with localcontext(prec=80):
            exact = Decimal(math.factorial(number)).ln()
            assert abs(sampler._log_factorial(number, 1) - exact) < Decimal(10) ** -51


def law_of_counts(true: list[int], other: int) -> dict[tuple[int, ...], Fraction]:
    """From the definition: every person answers by the matrix, and answers are counted."""
    cells = len(true)
    law = {(0,) * cells: Fraction(1)}
    for cell in itertools.chain.from_iterable([at] * many for at, many in enumerate(true)):
        new: Counter[tuple[int, ...]] = Counter()
        for counts, chance in law.items():
            for answer in range(cells):
                weight = TOTAL - (cells - 1) * other if answer == cell else other
                grown = tuple(n + (at == answer) for at, n in enumerate(counts))
                new[grown] += chance * Fraction(weight, TOTAL)
        law = dict(new)
    return law


@pytest.mark.parametrize("true", [[1, 0], [2, 1], [0, 3, 1], [1, 1, 0, 2, 0]])
def test_a_round_has_the_law_of_single_answers(true: list[int]) -> None:
    """Many rounds drawn at once; a mixture that is a tenth wrong is told apart."""
    many, other = 30_000, TOTAL // (2 * len(true))
    drawn = draw_rounds([np.array(true)] * many, [other] * many, Keystream.from_seed(9))
    seen = Counter(tuple(counts.tolist()) for counts in drawn)
    for factor, wrong in ((1.0, False), (0.9, True)):
        law = law_of_counts(true, int(factor * other))
        assert set(seen) <= set(law)
        numbers = np.array([seen[outcome] for outcome in law], dtype=float)
        expected = np.array([many * float(chance) for chance in law.values()])
        assert far(numbers, expected) == wrong


def test_the_work_does_not_depend_on_the_number_of_people() -> None:
    """Ten billion people in a thousand cells: sums stay, and errors are those of chance."""
    true = np.full(1_000, 10**7)
    (counts,) = draw_rounds([true], [TOTAL // 2_000], Keystream.from_seed(2))
    assert counts.sum() == true.sum()
    z = (counts - true) / math.sqrt(10**7 * (0.5 * 0.5 + 0.5))
    assert 0.9 < z.std() < 1.1
