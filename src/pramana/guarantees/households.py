"""What promises about people say about households (docs/proofs/households.md).

The household's number is dropped, its records are randomised and shuffled apart. A household of m
is then found if one of its m people is, so that chances add up; and it changes m records, so that
epsilons do. Each guarantee says what becomes of its own number; here are the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pramana.guarantees.base import Guarantee
from pramana.text import listed

if TYPE_CHECKING:
    from pramana.table.schema import Schema

__all__ = ["ANY_SIZE", "household_scope", "household_words"]

ANY_SIZE: Final = (2, 4)
"""Sizes that are spelled out where that of the largest household is nobody's business."""

NO_NUMBER: Final = " It speaks of persons: no number for a household follows from it."


def household_words(guarantee: Guarantee, sizes: Sequence[int]) -> str:
    """What a promise says about a household, as a sentence to go after it.

    >>> from pramana.guarantees.pk_anonymity import PkAnonymity
    >>> household_words(PkAnonymity(k=20), (2, 4)).strip()
    'For m people of one household together it is k / m: k = 10 for 2, k = 5 for 4.'
    """
    found = [(size, guarantee.household(size)) for size in sizes if size > 1]
    if any(numbers is None for _, numbers in found):
        return NO_NUMBER
    spelled = [
        " and ".join(f"{name} = {text}" for name, text in guarantee.as_text(numbers).items())
        + f" for {size:,}"
        for size, numbers in found
        if numbers
    ]
    if not spelled:
        return ""
    return (
        f" For m people of one household together it is {guarantee.of_household}: "
        f"{', '.join(spelled)}."
    )


def household_scope(schema: Schema) -> str:
    """What was done about households, and against whom nothing is promised to them."""
    words = "Households were numbered in the true table: the number was dropped."
    unknown = [name for name in schema.attached if name not in schema.known]
    if not unknown:
        return words
    return (
        f"{words} To who knows who lives with whom, promises about linking hold as far as it is "
        f"not known what people who live together have alike in {listed(unknown, 4)}."
    )
