"""Which texts are numbers, so that nothing is lost by reading them as such."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["NOT_A_NUMBER", "are_decimal", "are_integers", "decimals"]

INTEGER: Final = r"^(0|-?[1-9][0-9]{0,17})$"
DECIMAL: Final = r"^-?(0|[1-9][0-9]{0,17})?(\.[0-9]*)?([eE][-+]?[0-9]{1,3})?$"
HAS_DIGIT: Final = r"^-?\.?[0-9]"  # before the exponent
NOT_A_NUMBER: Final = ("", "NA", "NaN", "nan", "N/A")
"""What stands for missing among numbers."""


def are_integers(texts: pa.Array) -> bool:
    """Whether all are whole numbers; codes with leading zeros or a plus sign are none.

    >>> are_integers(pa.array(["1", "-20"])), are_integers(pa.array(["01"]))
    (True, False)
    """
    return bool(pc.all(pc.match_substring_regex(texts, INTEGER)).as_py())


def are_decimal(texts: pa.Array) -> bool:
    """Whether all are numbers.

    >>> are_decimal(pa.array(["1", "-.5", "2e3"])), are_decimal(pa.array(["1", "E1"]))
    (True, False)
    """
    return bool(pc.all(decimals(texts)).as_py())


def decimals(texts: pa.Array) -> pa.Array:
    """Which of them are numbers."""
    return pc.and_(
        pc.match_substring_regex(texts, DECIMAL), pc.match_substring_regex(texts, HAS_DIGIT)
    )
