"""Weights in steps: a released weight tells people apart, and a rounded one tells fewer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.errors import InvalidTable
from pramana.table.opened import OpenedTable, Part, is_number
from pramana.table.schema import Schema

__all__ = ["with_rounded_weight"]


def with_rounded_weight(opened: OpenedTable, schema: Schema) -> OpenedTable:
    """The same table, the weight as a multiple of the step that the schema states, if it does."""
    weight = schema.weight
    if weight is None or weight.round is None or weight.name not in opened.schema.names:
        return opened
    return _rounded(opened, weight.name, weight.round)


def _rounded(opened: OpenedTable, name: str, step: float) -> OpenedTable:
    """All parts, and all other views of the table, with the column rounded."""
    place = opened.schema.get_field_index(name)
    kind = opened.schema.field(place).type
    if not is_number(kind) or pa.types.is_dictionary(kind):
        raise InvalidTable(f"The weight '{name}' must be a number to be rounded, and is {kind}.")
    whole = pa.types.is_integer(kind) and float(step).is_integer()
    target = kind if whole else pa.float64()

    def parts(columns: Sequence[str]) -> Iterator[Part]:
        for part in opened.parts(columns):
            load = partial(_load, part, name, step, target)
            yield part if name not in columns else replace(part, load=load)

    def fit(*, text: Collection[str], coded: Collection[str]) -> OpenedTable:
        return _rounded(opened.fitted(text=text, coded=coded), name, step)

    return replace(
        opened,
        schema=opened.schema.set(place, pa.field(name, target)),
        opener=parts,
        fit=None if opened.fit is None else fit,
    )


def _load(part: Part, name: str, step: float, target: pa.DataType) -> pa.RecordBatch:
    batch = part.load()
    place = batch.schema.get_field_index(name)
    weights = batch.column(place).cast(pa.float64())
    numbers = np.asarray(weights.fill_null(0.0))
    steps = np.floor(numbers / step + 0.5)
    steps = np.where(numbers > 0, np.maximum(steps, 1), steps)  # nobody's weight becomes nothing
    rounded = pc.if_else(weights.is_valid(), pa.array(steps * step), pa.scalar(None, pa.float64()))
    return batch.set_column(place, pa.field(name, target), rounded.cast(target))
