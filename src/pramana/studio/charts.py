"""Numbers for SVG: axes, labels, and a name for every mark that a reader or a pointer meets.

Colours come from the style sheet by classes, so that charts follow light, dark and print.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["bar_rows", "nice_ticks", "percent", "position", "size", "spark"]

TENS = (1, 2, 2.5, 5, 10)


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


def bar_rows(bars: Sequence[Sequence[Any]], *, width: float = 100.0) -> list[dict[str, Any]]:
    """Bars lying down, the longest as wide as there is room: label, number, length, share."""
    highest = max((number for _, number, *_ in bars), default=0) or 1
    total = sum(number for _, number, *_ in bars) or 1
    return [
        {
            "label": label,
            "number": number,
            "length": round(width * number / highest, 2),
            "share": number / total,
        }
        for label, number, *_ in bars
    ]


def spark(bars: Sequence[Sequence[Any]], *, width: float, height: float) -> list[dict[str, Any]]:
    """Bars standing up, side by side."""
    if not bars:
        return []
    highest = max(number for _, number, *_ in bars) or 1
    step = width / len(bars)
    gap = 0.0 if step < 3 else min(1.5, step / 5)
    return [
        {
            "label": label,
            "number": number,
            "x": round(at * step, 2),
            "width": round(max(step - gap, 0.5), 2),
            "height": round(height * number / highest, 2),
            "y": round(height - height * number / highest, 2),
        }
        for at, (label, number, *_) in enumerate(bars)
    ]


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers from at or below ``low`` to at or above ``high``.

    >>> nice_ticks(0, 0.37)
    [0.0, 0.1, 0.2, 0.3, 0.4]
    """
    if not high > low:
        high = low + 1.0
    raw = (high - low) / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * ten for ten in TENS if size * ten >= raw * 0.999)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [round(at * step, 12) for at in range(first, last + 1)]


def position(value: float, ticks: Sequence[float], ends: Mapping[str, float]) -> float:
    """Where a value lies between the ends of an axis."""
    share = (value - ticks[0]) / ((ticks[-1] - ticks[0]) or 1.0)
    return round(ends["low"] + (ends["high"] - ends["low"]) * share, 2)


def size(octets: float) -> str:
    """Of a file.

    >>> size(900), size(5_300_000)
    ('900 bytes', '5.3 MB')
    """
    for unit, word in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if octets >= unit:
            return f"{octets / unit:.3g} {word}"
    return f"{octets:.0f} bytes"
