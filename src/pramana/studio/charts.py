"""Numbers in words, and the charts that a page draws while it is being made."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from pramana.errors import PramanaError

MOST_KEPT: Final = 64
"""Charts: a page that asks again is answered at once."""


def percent(share: float | None, digits: int = 1) -> str:
    """A share in words.

    >>> percent(0.1234), percent(0.00001), percent(None)
    ('12.3 %', '< 0.1 %', '')
    """
    if share is None:
        return ""
    least = 10.0**-digits / 100
    if 0 < share < least:
        return f"< {100 * least:.{digits}f} %"
    return f"{100 * share:.{digits}f} %"


def risk(share: float | None, digits: int = 1) -> str:
    """A share of people who are found, or of records that are copied: never less than it is.

    >>> risk(0.33333), risk(0.5), risk(0.00001), risk(0.0)
    ('33.4 %', '50.0 %', '< 0.1 %', '0.0 %')
    """
    if share is None or 0 < share < 10.0**-digits / 100:
        return percent(share, digits)
    steps = math.ceil(Fraction(repr(float(share))) * 100 * 10**digits)
    return f"{steps / 10**digits:.{digits}f} %"


def below(number: float, digits: int = 1) -> str:
    """A number of which more is safer: a k, or by how much fewer people are found.

    >>> below(2.9999), below(12.0), below(66.7, 0)
    ('2.9', '12.0', '66')
    """
    steps = math.floor(Fraction(repr(float(number))) * 10**digits)
    return f"{steps / 10**digits:,.{digits}f}"


def size(octets: float) -> str:
    """Of a file.

    >>> size(900), size(5_300_000)
    ('900 bytes', '5.3 MB')
    """
    for unit, word in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if octets >= unit:
            return f"{octets / unit:.3g} {word}"
    return f"{octets:.0f} bytes"


@lru_cache(maxsize=MOST_KEPT)
def drawn(verb: str, *arguments: Any, **named: Any) -> dict[str, Any]:
    """A chart by a verb of ``api``, or why there is none; in a thread, for it may take a moment."""
    from pramana import api

    try:
        return {"svg": getattr(api, verb)(*arguments, **named), "no_chart": ""}
    except PramanaError as error:
        return {"svg": "", "no_chart": str(error)}
