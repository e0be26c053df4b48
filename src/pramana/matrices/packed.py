"""Whole numbers as a text in little room: a matrix of ten keys lists a hundred thousand of them.

A number is cut into groups of so many bits, the first ones first, and before each group stands a
bit that says whether another follows. Six bits make a digit (A to Z, a to z, 0 to 9, - and _); the
first digit of the text is the size of a group, and the last one is filled up with ones, which begin
no number that ends. Small numbers take few bits and large ones no more than they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

__all__ = ["packed", "unpacked"]

DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
BITS: Final = {digit: f"{place:06b}" for place, digit in enumerate(DIGITS)}
DIGIT: Final = {bits: digit for digit, bits in BITS.items()}

FILLED: Final = tuple("1" * many for many in range(6))

LARGEST, MOST_GROUPS = 63, 64
"""The largest group, and the most groups of a number: nothing is read without end."""


def packed(numbers: Sequence[int]) -> str:
    """The text of these numbers, with the groups that make it shortest.

    >>> packed([3, 0, 1])
    'B0f'
    >>> unpacked("B0f")
    [3, 0, 1]
    """
    if not numbers:
        return ""
    lengths = np.array([max(number.bit_length(), 1) for number in numbers])
    least = max(-(-int(lengths.max()) // MOST_GROUPS), 1)
    group = min(
        range(least, LARGEST + 1),
        key=lambda size: ((-(-lengths // size)) * (size + 1)).sum(),
    )
    bits = "".join(_bits(number, group) for number in numbers)
    bits += "1" * (-len(bits) % 6)
    return DIGITS[group] + "".join(DIGIT[bits[at : at + 6]] for at in range(0, len(bits), 6))


def _bits(number: int, group: int) -> str:
    own = f"{number:b}"
    own = "0" * (-len(own) % group) + own
    *more, last = (own[at : at + group] for at in range(0, len(own), group))
    return "".join(f"1{part}" for part in more) + f"0{last}"


def unpacked(text: str) -> list[int]:
    """The numbers of a text; a ``ValueError`` where it holds none.

    Whether groups are of the best size is not asked: whoever spells a certificate anew sees that.
    """
    if not text:
        return []
    try:
        group = DIGITS.index(text[0])
        bits = "".join(map(BITS.__getitem__, text[1:]))
    except (ValueError, KeyError):
        raise ValueError("not digits of packed numbers") from None
    found: list[int] = []
    at = begin = number = 0
    while 0 < group < len(bits) - at and at - begin < MOST_GROUPS * (group + 1):
        number = number << group | int(bits[at + 1 : at + group + 1], 2)
        at += group + 1
        if bits[at - group - 1] == "0":
            found.append(number)
            begin, number = at, 0
    if not found or bits[begin:] not in FILLED:
        raise ValueError("packed numbers must end where their text does")
    return found
