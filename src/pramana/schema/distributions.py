"""Bar charts and histograms of columns for the steward."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.schema.domains import Bins, Label, label_text
from pramana.schema.opened_table import OpenedTable
from pramana.schema.recoded_table import recoded
from pramana.schema.schema import Column, Role, Schema
from pramana.schema.tally import Tally, tally
from pramana.types import FloatArray

MOST_BARS = 24
HISTOGRAM = 20
TAIL, MOST_TAIL = 0.01, 2.0
"""The share of records at either end, and how much wider than the rest these may make a chart."""

FAR, NEAR, DIGITS = 1e300, 1e-9, 7


@dataclass(frozen=True)
class Shape:
    """How the values of a column lie.

    Attributes:
        name: The column.
        bars: What, and how many records hold it, in the order of the values.
        values: The values that bars stand for, where each stands for one.
        other: Records with values that have no bar.
        missing: Records without a value.
        numbers: Whether the bars are those of a histogram.
    """

    name: str
    bars: tuple[tuple[str, int], ...]
    values: tuple[Label, ...] = ()
    other: int = 0
    missing: int = 0
    numbers: bool = False


def shapes_of(table: OpenedTable, schema: Schema, names: Sequence[str] = ()) -> list[Shape]:
    """The shapes of some columns, or of all, as the schema recodes and cuts them."""
    table = recoded(table, schema)
    chosen = [name for name in (names or schema.names) if name in table.schema.names]
    tallies = tally(table, chosen)
    return [
        _shape(schema.column(name), tallies[name], table.labels.values.get(name, {}))
        for name in chosen
    ]


def _shape(column: Column, seen: Tally, labels: object) -> Shape:
    texts = {label_text(v): t for v, t in dict(labels).items()}  # type: ignore[call-overload]
    values, numbers = seen.values.to_pylist(), seen.numbers
    if column.role is Role.IDENTIFIER:
        return Shape(column.name, (), other=int(numbers.sum()), missing=seen.missing)
    if isinstance(column.domain, Bins):
        return _bins(column.name, column.domain, seen)
    if seen.kind in ("integer", "number") and len(values) > MOST_BARS:
        return _histogram(column.name, seen)
    order = (
        [label_text(label) for label in column.domain.labels]
        if column.domain is not None
        else sorted((label_text(v) for v in values), key=_natural)
    )
    counted = {label_text(v): int(n) for v, n in zip(values, numbers, strict=True)}
    if len(order) > MOST_BARS:
        order = sorted(order, key=lambda text: -counted.get(text, 0))[:MOST_BARS]
    shown = {label_text(v): v for v in values}
    bars = tuple((_named(text, texts), counted.get(text, 0)) for text in order)
    other = sum(counted.values()) - sum(number for _, number in bars)
    own = tuple(shown.get(text, text) for text in order)
    return Shape(column.name, bars, own, other=other, missing=seen.missing)


def _named(text: str, texts: dict[str, str]) -> str:
    return f"{text} {texts[text]}" if text in texts else text


def _natural(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), ""
    except ValueError:
        return 1, 0.0, text


def _bins(name: str, domain: Bins, seen: Tally) -> Shape:
    values = np.array([_number(v) for v in seen.values.to_pylist()], dtype=np.float64)
    edges = np.array(domain.edges, dtype=np.float64)
    place = np.searchsorted(edges, values, side="right") - 1
    place[values == edges[-1]] = domain.size - 1
    inside = (place >= 0) & (place < domain.size) & np.isfinite(values)
    counts = np.bincount(place[inside], weights=seen.numbers[inside], minlength=domain.size)
    bars = tuple((str(t), int(n)) for t, n in zip(domain.labels, counts, strict=False))
    other = int(seen.numbers[~inside].sum())
    return Shape(name, bars, other=other, missing=seen.missing, numbers=True)


def _histogram(name: str, seen: Tally) -> Shape:
    values = seen.values.to_numpy(zero_copy_only=False).astype(np.float64)
    finite = np.isfinite(values)
    values, numbers = np.clip(values[finite], -FAR, FAR), seen.numbers[finite]
    step, first, last = _round_bins(values, numbers)
    at = _floor(values, step)
    place = (np.clip(at, first, last) - first).astype(np.int64)
    bins = int(last - first) + 1
    counts = np.bincount(place, weights=numbers, minlength=bins)
    digits = max(-math.floor(math.log10(step)), 0)
    form = f",.{digits}f" if digits < DIGITS and step < 10**DIGITS else ".4g"
    edges = [f"{(first + one) * step:{form}}" for one in range(bins + 1)]
    texts = [f"{low} to {high}" for low, high in pairwise(edges)]
    if at.min() < first:
        texts[0] = f"below {edges[1]}"
    if at.max() > last:
        texts[-1] = f"{edges[-2]} and more"
    bars = tuple((text, int(n)) for text, n in zip(texts, counts, strict=True))
    return Shape(name, bars, missing=seen.missing, numbers=True)


def _round_bins(values: FloatArray, numbers: NDArray[Any]) -> tuple[float, float, float]:
    """The width of bins that a reader can say, and the places of the first and the last in widths.

    A few values far away would leave all others to one bin: then the outer bins are open.
    """
    order = np.argsort(values)
    reached = np.cumsum(numbers[order])
    ends = values[order][np.searchsorted(reached, np.array([TAIL, 1 - TAIL]) * reached[-1])]
    whole = values[order][[0, -1]]
    if not 0 < whole[1] - whole[0] <= MOST_TAIL * (ends[1] - ends[0]):
        whole = ends if ends[0] < ends[1] else whole
    apart = float(np.spacing(np.abs(whole).max()))  # long numbers may be one when they are floating
    least = max(float(whole[1] - whole[0]) / HISTOGRAM, apart, 1 / FAR)
    power = 10.0 ** math.floor(math.log10(least))
    step = next(own * power for own in (1, 2, 5, 10) if own * power >= least)
    first, last = _floor(whole, step)
    return step, float(first), float(last)


def _floor(values: FloatArray, step: float) -> FloatArray:
    """In which bin values lie; one on an edge begins a bin, whatever its last bits."""
    with np.errstate(over="ignore"):
        found: FloatArray = np.floor(values / step + NEAR)
    return found


def _number(value: Label) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("nan")
