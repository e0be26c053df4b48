"""Columns that say where people are, by how their values behave and not by what they are called.

Three signs: codes of a smaller place begin with those of a larger one; what is measured of a place
is the same for all of its people; codes of one shape, as offices give them to areas, that tell
hardly anything of the people, as codes of occupations and industries do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from pramana.table.cells import cell_numbers
from pramana.table.opened import OpenedTable
from pramana.table.relations import FIRST, Follows, first_codes
from pramana.table.tally import Tally
from pramana.types import IntArray

__all__ = ["places_among"]

FEWEST = 3
"""Values of a column that tells places; and columns that its codes are compared with."""

MOST, FEW = 2_000, 20
TELLING = 0.25
"""Cramer's V, above which codes tell something of the people who have them."""

AREA_CODE = re.compile(r"(?=.*\d)[0-9A-Z]+([-./ ][0-9A-Z]+)*")
SHORTEST = 4


def places_among(
    table: OpenedTable,
    tallies: Mapping[str, Tally],
    names: Sequence[str],
    follows: Mapping[str, tuple[Follows, ...]],
    weights: Sequence[str],
) -> dict[str, str]:
    """Those of these columns that tell places, each with the sign by which it is known."""
    found: dict[str, str] = {}
    for name in names:
        seen = tallies[name]
        if seen.kind in ("integer", "text") and FEWEST <= seen.distinct <= MOST:
            sign = _nested(name, follows) or _measured(name, tallies, follows, weights)
            if not sign and _area_codes(seen) and not _tells_of_people(table, name, tallies):
                sign = "its codes have one shape and say little of the people"
            if sign:
                found[name] = f"{sign}, as with places"
    return found


def _nested(name: str, follows: Mapping[str, tuple[Follows, ...]]) -> str:
    larger = [own.column for every in follows.values() for own in every
              if own.nested and own.source == name]  # fmt: skip
    return f"its codes begin with those of '{larger[0]}'" if larger else ""


def _measured(
    name: str,
    tallies: Mapping[str, Tally],
    follows: Mapping[str, tuple[Follows, ...]],
    weights: Sequence[str],
) -> str:
    """A number with decimals that is the same for all who share a value, and no weight."""
    for every in follows.values():
        for own in every:
            what = tallies[own.column]
            alone = own.source == name and own.column not in weights
            if alone and what.kind == "number" and what.distinct >= FEWEST and _decimals(what):
                return f"'{own.column}', a measure, is the same for all who share its value"
    return ""


def _decimals(seen: Tally) -> bool:
    values = seen.values.to_numpy(zero_copy_only=False).astype(float)
    return bool((np.isfinite(values) & (values != np.floor(values))).any())


def _area_codes(seen: Tally) -> bool:
    """Whether texts are codes of one shape: the same length, and marks at the same places."""
    if seen.kind != "text" or not seen.complete:
        return False
    texts = [str(value) for value in seen.labels()]
    shapes = {re.sub(r"[A-Z]", "A", re.sub(r"\d", "9", text)) for text in texts}
    inside = any(text.startswith("0") for text in texts) or not texts[0].isdigit()
    fit = all(AREA_CODE.fullmatch(text) for text in texts)
    return len(shapes) == 1 and fit and inside and len(texts[0]) >= SHORTEST


def _tells_of_people(table: OpenedTable, name: str, tallies: Mapping[str, Tally]) -> bool:
    """Whether codes go with what people are, as with columns of few values; unknown counts so."""
    others = [
        other
        for other, seen in tallies.items()
        if other != name and seen.complete and 2 <= seen.distinct <= FEW
    ]
    if len(others) < FEWEST:
        return True
    codes = first_codes(table, [name, *others], FIRST)
    return any(_cramers_v(codes[name], codes[other]) > TELLING for other in others)


def _cramers_v(one: IntArray, other: IntArray) -> float:
    """How far two columns hang together, 0 to 1, less what chance alone gives.

    >>> same = np.arange(2_000) % 5
    >>> round(_cramers_v(same, same), 2), round(_cramers_v(same, np.arange(2_000) // 400), 2)
    (1.0, 0.0)
    """
    n, r, c = len(one), int(one.max()) + 1, int(other.max()) + 1
    seen = np.bincount(cell_numbers([one, other], [r, c]), minlength=r * c).reshape(r, c)
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / n
    chi = float((seen**2 / np.maximum(expected, 1e-300)).sum()) / n - 1
    excess = max(chi - (r - 1) * (c - 1) / (n - 1), 0.0)
    least = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return float(np.sqrt(excess / least)) if least > 0 else 0.0
