"""Shares beyond a number and quantiles of a column released as it is, for every reading.

A share beyond a number is the mean of a column that is 1 where the value lies beyond it and 0 where
it does not: a reading that has means has these. Quantiles need the records in the order of their
values (pramana.estimation.quantiles).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pramana.engines.sums import Condition, number_in, sums_in
from pramana.errors import InvalidNumber
from pramana.estimation.layout import Layout
from pramana.estimation.quantiles import OrderedRecords
from pramana.estimation.results import Estimate
from pramana.matrices.mechanism import Mechanism
from pramana.readings.base import Asked
from pramana.readings.filters import conditions_of
from pramana.readings.records import ReleasedRecords
from pramana.table.cells import cell_numbers
from pramana.table.domains import label_text
from pramana.types import FloatArray

__all__ = ["beyond_of", "ordered_records", "proportion_by_mean"]


def beyond_of(text: str) -> Condition:
    """``income>=50000``: a column compared with one finite number."""
    (found,) = conditions_of([text])
    if found.comparison == "!=" or len(found.values) != 1:
        raise InvalidNumber(
            f"A share beyond a number must read like income>=50000 or income<0, got {text!r}."
        )
    if not np.isfinite(number_in(label_text(found.values[0]), found.column)):
        raise InvalidNumber(f"A share beyond a number needs a finite number, got {text!r}.")
    return found


def proportion_by_mean(
    mean: Callable[[Asked, str], Estimate], asked: Asked, beyond: Condition
) -> Estimate:
    """The mean of 1 where the value lies beyond the number; cut where no share can lie."""
    found = mean(replace(asked, beyond=beyond), beyond.column)
    limit = label_text(beyond.values[0])
    return replace(
        found,
        what=f"share with {beyond.column} {beyond.comparison} {limit}",
        low=np.clip(found.low, 0.0, 1.0),
        high=np.clip(found.high, 0.0, 1.0),
    )


def ordered_records(
    records: ReleasedRecords, mechanism: Mechanism, asked: Asked, of: str
) -> tuple[OrderedRecords, Layout]:
    """The records in the order of a column of numbers, and the axes of their cells."""
    records.require_number(of)
    cells = records.cells(asked, mechanism, also=[of])
    layout, table = cells.layout, cells.table
    places = layout.positions([cells.codes[name] for name in layout.columns])
    flat = cell_numbers(places, layout.shape, records=table.num_rows)
    sums = sums_in(table)
    ordered = OrderedRecords.of(_numbers(table, of), flat, sums["n"], sums["w"], sums["ww"])
    return ordered, layout


def _numbers(table: pa.Table, name: str) -> FloatArray:
    column = table.column(name).cast(pa.float64(), safe=False).fill_null(np.nan)
    return np.asarray(column.to_numpy(), dtype=np.float64)
