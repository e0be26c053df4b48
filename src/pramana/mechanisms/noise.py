"""Noise on sensitive numbers: added to released records, whatever the method and the engine.

The word that decides over a record is that of its place in the release, so that batches change
nothing. Sums are rounded to multiples of the noise's grain: the last digits of a released number
tell nothing about the true one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from pramana.base.randomness import Keystream, Stream
from pramana.engine.base import Table
from pramana.errors import InvalidTable
from pramana.schema.opened_table import is_number, is_whole
from pramana.schema.recoding import Noise
from pramana.schema.schema import Schema
from pramana.types import FloatArray

__all__ = ["AddedNoise", "with_noise"]

EXACT = 2.0**52
"""Up to here floating numbers tell every whole one, and halves."""


def with_noise(table: Table, schema: Schema, keystream: Keystream) -> Table:
    """The released records with the noise that the schema states."""
    noise = {c.name: c.recoding.noise for c in schema.noisy if c.recoding.noise is not None}
    if not noise:
        return table
    added = AddedNoise(table.schema(), noise, keystream)
    return table.map_batches(added, schema=added.schema)


@dataclass(frozen=True)
class AddedNoise:
    """What is done to a batch of released records.

    Attributes:
        types: their columns and types.
        noise: what is added to which columns.
        keystream: where the words come from.
    """

    types: pa.Schema
    noise: Mapping[str, Noise]
    keystream: Keystream

    @cached_property
    def schema(self) -> pa.Schema:
        """Whole numbers stay whole, others are floating."""
        return pa.schema([self._field(item) for item in self.types])

    def _field(self, item: pa.Field) -> pa.Field:
        if item.name not in self.noise:
            return item
        if not is_number(item.type):
            raise InvalidTable(
                f"'{item.name}' must be a number to add noise, and is {item.type}.",
                column=item.name,
            )
        return pa.field(item.name, pa.int64() if is_whole(item.type) else pa.float64())

    def __call__(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """The batch whose first record stands at ``position``, with noise."""
        arrays = [
            self._noised(item, batch.column(at), position)
            if item.name in self.noise
            else batch.column(at)
            for at, item in enumerate(self.schema)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _noised(self, item: pa.Field, column: pa.Array, position: int) -> pa.Array:
        noise, whole = self.noise[item.name], pa.types.is_integer(item.type)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        grain = noise.grain(whole=whole)
        values = np.asarray(column.cast(pa.float64(), safe=False).fill_null(np.nan))
        _require_room(item.name, values, noise, grain)
        sums = values + noise.scale * self._drawn(item.name, noise, position, len(values))
        # Dividing by a whole number gives the nearest number to a decimal; a fraction does not.
        steps = np.rint(sums / grain) if grain >= 1 else np.rint(sums * round(1 / grain))
        made = steps * grain if grain >= 1 else steps / round(1 / grain)
        return pa.array(made, mask=~np.isfinite(values)).cast(item.type)

    def _drawn(self, name: str, noise: Noise, position: int, count: int) -> FloatArray:
        stream = Stream("noise", name)
        if noise.distribution == "laplace":
            return self.keystream.laplaces(stream, position, count)
        if noise.distribution == "normal":
            return self.keystream.normals(stream, position, count)
        return 2 * self.keystream.uniforms(stream, position, count) - 1


def _require_room(name: str, values: FloatArray, noise: Noise, grain: float) -> None:
    """Refuse numbers so large that what is added to them is lost, or a part of it."""
    most = EXACT * grain
    if (np.abs(values[np.isfinite(values)]) > most).any():
        raise InvalidTable(
            f"Numbers of '{name}' must lie within {most:.3g} for noise of scale {noise.scale:g}, "
            "and some do not: they would leave as they are. Divide them, or add more noise.",
            column=name,
        )
