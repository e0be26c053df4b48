"""Weights of answers, known by how their values behave and not by what they are called."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from pramana.table.proposals import (
    BODIES,
    FEW_CODES,
    FEW_NUMBERS,
    HEALTH,
    MONEY,
    distribution,
    visible,
)
from pramana.table.tally import Tally
from pramana.types import FloatArray, IntArray

__all__ = ["behaves_as_weight"]

LEAST_SPREAD: Final = 0.2
MOST_SPREAD: Final = 2.0
"""Of weights, as a share of their mean."""

MOST_ROUND: Final = 0.2
"""So many of them end with a zero at most."""

MOST_PEOPLE: Final = 1e10
NEARLY_ONE: Final = 1e-3


def behaves_as_weight(name: str, tally: Tally, records: int) -> str:
    """Why a column of numbers looks as if it weighed answers; nothing where it does not.

    Weights are above zero, unlike each other by about their own size, seldom round, and sum up to
    a population, or to the records where they were scaled so. Measures of bodies are not so spread;
    amounts are round, have zeros, or would be of more people than there are. What is called an
    amount is one, however it behaves.
    """
    called = any(words.search(name) for words in (BODIES, HEALTH, MONEY)) or visible(name)
    if not tally.complete or called or tally.missing:
        return ""
    values, _ = distribution(tally)
    numbers = tally.numbers[np.argsort(tally.values.to_numpy(zero_copy_only=False))]
    if len(values) <= FEW_NUMBERS or len(values) != len(numbers) or values[0] <= 0:
        return ""
    total, people = float(values @ numbers), float(numbers.sum())
    mean = total / people
    spread = math.sqrt(float((values - mean) ** 2 @ numbers) / people) / mean
    if not LEAST_SPREAD <= spread <= MOST_SPREAD or _round_share(values, numbers) > MOST_ROUND:
        return ""
    whole = bool((values == np.floor(values)).all())
    scaled = not whole and abs(mean - 1) < NEARLY_ONE
    fine = not whole and float(numbers[_decimals(values) > 2].sum()) > people / 2
    counts = whole and len(values) > FEW_CODES
    if not scaled and not ((fine or counts) and 2 * records <= total <= MOST_PEOPLE):
        return ""
    what = "their mean is one" if scaled else f"they sum up to {total:,.0f}"
    return (
        f"above zero, unequal, seldom round, related to no other number, and {what}: as weights are"
    )


def _round_share(values: FloatArray, numbers: IntArray) -> float:
    """The share of records whose number is round: a tenth would be by chance."""
    return float(numbers[(values % 10 == 0)].sum()) / float(numbers.sum())


def _decimals(values: FloatArray) -> IntArray:
    """How many decimals each number needs, up to four."""
    needed = np.zeros(len(values), np.int64)
    for digits in range(4):
        off = np.abs(values - np.round(values, digits)) > 1e-9 * np.maximum(np.abs(values), 1)
        needed[off] = digits + 1
    return needed
