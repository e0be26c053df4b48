"""Detect codes that mean missing, dates in text, and values that too few people hold.

All are findings for the steward, with counts and reasons. Only codes that keep a column of numbers
from being numeric are recoded without being asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10
from typing import Any

import numpy as np
import pyarrow.compute as pc

from pramana.schema.domains import Categories, Domain, Label, label_text
from pramana.schema.recoded_table import decimals, formats_of, is_iso
from pramana.schema.recoding import Recoding
from pramana.schema.tally import Tally
from pramana.types import Form

STAND_INS = frozenset(
    ("?", "na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "unknown", "missing", "-", "--", ".",
     "*", "refused", "inapplicable")
)  # fmt: skip
MOST_LOOKED_AT = 50_000  # values; of more than that none is a code
FEW = 3  # codes that a column of numbers may have beside them
ENOUGH = 5  # numbers that make the others look like codes
NINES = frozenset(
    sign * int(digit * width + last)
    for sign in (1, -1)
    for width in range(4)
    for digit, last in (("9", "9"), ("9", "8"), ("9", "7"), ("8", "8"), ("7", "7"))
)
"""9, 98, 997, -8 and their like."""
NEAR_KEY = 0.5  # of the records hold a value of their own: whoever knows it finds the record
APART = 2.0  # times as far from the other values as these reach


@dataclass(frozen=True)
class Suspect:
    """A value that looks as if it meant missing, such as a text ``among_numbers``."""

    value: Label
    records: int
    why: str
    among_numbers: bool = False

    def to_dict(self) -> Form:
        """Plain data."""
        return {"value": self.value, "records": self.records, "why": self.why}


def codes_among_numbers(tallies: Mapping[str, Tally]) -> dict[str, list[str]]:
    """The few texts in columns of numbers, by column; a code of one column is known in all."""
    found = {name: among_numbers(tally) for name, tally in tallies.items()}
    known = {code for codes in found.values() for code in codes}
    if known:
        found = {n: own or among_numbers(tallies[n], known) for n, own in found.items()}
    return {name: codes for name, codes in found.items() if codes}


def looks_missing(tally: Tally, codes: Collection[str] = ()) -> list[Suspect]:
    """The values that may mean missing, most frequent first; ``codes`` are texts among numbers."""
    if not tally.complete or tally.distinct < 2:
        return []
    if tally.distinct > MOST_LOOKED_AT:
        return []
    numbers = dict(zip(tally.values.to_pylist(), tally.numbers.tolist(), strict=True))
    if tally.kind == "text":
        found = _among_texts(tally, numbers, codes)
    elif tally.kind in ("integer", "number"):
        found = _among_numbers(numbers)
    else:
        found = []
    return sorted(found, key=lambda own: (-own.records, label_text(own.value)))


def _among_texts(tally: Tally, numbers: dict[Any, int], codes: Collection[str]) -> list[Suspect]:
    if codes:
        what = " and ".join(f"'{value}'" for value in codes)
        why = f"{tally.distinct:,} values; all but {what} are numbers"
        return [Suspect(value, numbers[value], why, among_numbers=True) for value in codes]
    return [
        Suspect(value, number, "as missing values are often spelled")
        for value, number in numbers.items()
        if value.strip().lower() in STAND_INS
    ]


def among_numbers(tally: Tally, known: Collection[str] = ()) -> list[str]:
    """The few texts of a column that is of numbers but for them; none where it is not."""
    if tally.kind != "text" or not tally.complete:
        return []
    trimmed = pc.utf8_trim_whitespace(tally.values)
    strange = pc.and_(pc.not_equal(trimmed, ""), pc.invert(decimals(trimmed)))
    if not 0 < (pc.sum(strange).as_py() or 0) <= FEW:
        return []
    others = tally.values.filter(strange).to_pylist()
    ours = tally.distinct - len(others)
    # Codes such as A1 beside 11 are no missing values: those are single letters or words.
    words = not any(letter.isdigit() for text in others for letter in text)
    enough = 1 if known and set(others) <= set(known) else ENOUGH
    return others if ours >= enough and words else []


def _among_numbers(numbers: dict[Any, int]) -> list[Suspect]:
    finite = sorted(value for value in numbers if abs(value) < float("inf"))
    found = []
    negative = [value for value in finite if value < 0]
    if 0 < len(negative) <= FEW and len(finite) > len(negative) and set(negative) <= NINES | {-1}:
        found = [Suspect(v, numbers[v], "the only numbers below zero") for v in negative]
    rest = [value for value in finite if value not in negative]
    above: list[Any] = []
    while len(rest) > 2 and len(above) < FEW and rest[-1] in NINES and rest[-1] > 0:
        above.append(rest.pop())
    reach = rest[-1] - rest[0] if rest else 0
    if above and len(rest) > 1 and min(above) - rest[-1] >= max(APART * _step(rest), reach / 2, 2):
        why = f"stands apart, above {label_text(rest[-1])}"
        found += [Suspect(value, numbers[value], why) for value in above]
    return found


def _step(values: Sequence[Any]) -> float:
    """The widest gap between neighbours."""
    return float(max(b - a for a, b in pairwise(values)))


def proposed_recoding(tally: Tally, suspects: Sequence[Suspect]) -> tuple[Recoding, str]:
    """What makes numbers of a column of numbers, or years of one of dates; and why."""
    if tally.kind == "text" and suspects and suspects[0].among_numbers:
        counts = ", ".join(f"{own.records:,}" for own in suspects)
        codes = tuple(own.value for own in suspects)
        return Recoding(missing_codes=codes), f"{suspects[0].why}: taken as missing ({counts})"
    if is_dates(tally):
        return Recoding(date="year"), "dates: as their year"
    formats = date_formats(tally)
    if len(formats) == 1:
        return Recoding(date="year", date_format=formats[0]), "dates: as their year"
    return Recoding(), ""


def is_dates(tally: Tally) -> bool:
    """Whether all values are dates, in a type of dates or spelled as ISO has them."""
    if not tally.distinct or tally.kind not in ("text", "date"):
        return False
    return is_iso(tally.values)


def date_formats(tally: Tally) -> tuple[str, ...]:
    """How dates in text are written that are not ISO; several where day or month come first."""
    return formats_of(tally.values) if tally.kind == "text" and tally.distinct else ()


def merge_of_rare(
    tally: Tally, domain: Domain, k: int, *, ordered: bool = False
) -> tuple[int, dict[str, tuple[Label, ...]]] | None:
    """How many values fewer than ``k`` records hold, and what to merge so that k hold each.

    Ordered values are merged with neighbours, others into "other"; ``None`` if nothing remains.
    """
    if not isinstance(domain, Categories) or not tally.complete:
        return None
    pairs = zip(tally.values.to_pylist(), tally.numbers.tolist(), strict=True)
    numbers = {value: count for value, count in pairs if value not in domain.missing_values}
    rare = sum(count < k for count in numbers.values())
    if not rare:
        return None
    if ordered:
        groups = _merged_neighbours(sorted(numbers), numbers, k)
        if len(groups) < 2:
            return None
        ends = (groups[0], groups[-1])
        return rare, {_range_name(own, ends): tuple(own) for own in groups if len(own) > 1}
    values = sorted(numbers, key=numbers.__getitem__)
    merged, held = values[:rare], sum(numbers[value] for value in values[:rare])
    while held < k and len(merged) < len(values):
        held += numbers[values[len(merged)]]
        merged.append(values[len(merged)])
    if len(values) - len(merged) < 1 or held < k or len(merged) < 2:
        return None
    return rare, {"other": tuple(sorted(merged, key=lambda v: (isinstance(v, str), v)))}


def _merged_neighbours(
    values: Sequence[Any], numbers: Mapping[Any, int], k: int
) -> list[list[Any]]:
    """Values in order as groups of neighbours that at least ``k`` records hold."""
    groups = [[value] for value in values]
    held = [numbers[value] for value in values]
    while len(groups) > 1 and min(held) < k:
        at = held.index(min(held))
        beside = [place for place in (at - 1, at + 1) if 0 <= place < len(groups)]
        other = min(beside, key=held.__getitem__)
        low, high = sorted((at, other))
        groups[low : high + 1] = [groups[low] + groups[high]]
        held[low : high + 1] = [held[low] + held[high]]
    return groups


def _range_name(values: Sequence[Any], ends: tuple[Sequence[Any], Sequence[Any]]) -> str:
    """What neighbours are called: 12+, up to 15, 34 to 36."""
    low, high = label_text(values[0]), label_text(values[-1])
    if values is ends[1]:
        return f"{low}+"
    return f"up to {high}" if values is ends[0] else f"{low} to {high}"


def top_of(tally: Tally, k: int) -> float | None:
    """A round number that at least ``k`` records reach, where fewer reach the highest value."""
    if tally.kind not in ("integer", "number") or not tally.complete or tally.distinct <= 2 * k:
        return None
    values = np.asarray(tally.values, dtype=np.float64)
    order = np.argsort(-values)
    order = order[np.isfinite(values[order])]
    held = np.cumsum(tally.numbers[order])
    if not len(held) or held[0] >= k or held[-1] < k:
        return None
    cut = float(values[order[int(np.searchsorted(held, k))]])
    return _rounded_down(cut) if cut > 0 else None


def amount_step(tally: Tally, records: int) -> float | None:
    """A power of ten to round amounts to, where hardly any two records hold the same."""
    if not tally.complete or tally.kind not in ("integer", "number"):
        return None
    values = np.abs(np.asarray(tally.values, dtype=np.float64))
    some = values[np.isfinite(values) & (values > 0)]
    if tally.distinct < max(NEAR_KEY * records, 2) or not len(some):
        return None
    power = int(np.floor(np.log10(float(np.median(some))))) - 1
    return 10**power if power >= 0 else float(10.0**power)


def _rounded_down(value: float) -> float:
    """To two leading digits, so that the cut is nobody's number.

    >>> _rounded_down(123_456), _rounded_down(0.98765)
    (120000, 0.98)
    """
    power = floor(log10(value)) - 1
    cut = floor(value / 10.0**power) * 10.0**power
    return int(cut) if power >= 0 else round(cut, -power)
