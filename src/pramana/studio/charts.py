"""Numbers for SVG: axes, labels, and a name for every mark that a reader or a pointer meets.

Colours come from the style sheet by classes, so that charts follow light, dark and print.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

__all__ = [
    "bar_rows",
    "below",
    "frontier",
    "nice_ticks",
    "percent",
    "position",
    "risk",
    "size",
    "spark",
]

TENS = (1, 2, 2.5, 5, 10)
RIGHTMOST = 560.0
LETTER = 6.6
LINE = 14.0
DOT = 8.0


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


def frontier(points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Where the marks of a chart of loss and risk lie, on axes with round ends.

    Risk is drawn by its logarithm: one in ten and one in a thousand are both seen.
    """
    plot = {"left": 74.0, "right": 700.0, "top": 20.0, "bottom": 372.0}
    ticks = nice_ticks(0.0, max((p["loss"] for p in points), default=0.1) or 0.01)
    least = min((max(p["risk"], 1e-5) for p in points), default=0.001)
    decades = list(range(math.floor(math.log10(least)), 1))
    if len(decades) < 2:
        decades = [-1, 0]
    across = {"low": plot["left"], "high": plot["right"]}
    up = {"low": plot["bottom"], "high": plot["top"]}

    def height(risk: float) -> float:
        return position(math.log10(max(risk, 1e-5)), decades, up)

    return {
        **plot,
        "ticks": [{"at": position(t, ticks, across), "text": _share(t)} for t in ticks],
        "risks": [{"at": position(d, decades, up), "text": _share(10.0**d)} for d in decades],
        "points": _labelled(
            [{**p, "x": position(p["loss"], ticks, across), "y": height(p["risk"])} for p in points]
        ),
        "height": height,
    }


def _labelled(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each mark with a place for its name that no other name takes."""
    taken = [(own["x"] - DOT, 2 * DOT, own["y"] + 4) for own in points]
    for point in sorted(points, key=lambda own: (own["y"], own["x"])):
        right = point["x"] < RIGHTMOST
        wide = LETTER * len(f"{point['name']} {point['target']}")
        left = point["x"] + 14 if right else point["x"] - 14 - wide
        rows = (point["y"] + 4 + step * LINE for step in (0, -1, 1, -2, 2, -3, 3, -4, 4))
        row = next((y for y in rows if _free(taken, left, wide, y)), point["y"] + 4)
        taken.append((left, wide, row))
        point |= {"side": "start" if right else "end", "label_x": left if right else left + wide}
        point["label_y"] = round(row, 2)
    return points


def _free(taken: list[tuple[float, float, float]], left: float, wide: float, y: float) -> bool:
    return all(
        abs(y - row) >= LINE or left > own + width or own > left + wide for own, width, row in taken
    )


def _share(share: float) -> str:
    return f"{100 * share:.4g} %"
