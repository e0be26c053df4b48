"""The expected errors of tables on the data at hand, for their owner.

Without data, expected errors (expected_error.py) assume how uneven tables are. That is right on
average over many tables, but a single table may be more or less even. With the data the shares of
the cells are known, and the same variances give the error expected over the randomisation alone.
These numbers depend on the original data: only the owner sees them, and no certificate holds them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.mechanisms.mechanism import AttributeSampler
from pramana.mechanisms.transition import Label, as_cells
from pramana.methods.expected_error import (
    ExpectedError,
    Set,
    StepDomain,
    mean_squares,
    randomised_in,
    step_domains,
)
from pramana.methods.plan import Plan
from pramana.methods.retention import Retention, retentions_of
from pramana.schema.codec import encode
from pramana.schema.joint_cells import cell_codes, cell_counts
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import CATEGORY_LIMIT, Column, Schema
from pramana.types import FloatArray, IntArray

ENOUGH = 50_000
"""Shares are counted on about this many records, evenly spaced."""


def errors_on_data(plan: Plan, opened: OpenedTable) -> ExpectedError | None:
    """The expected errors of a plan's tables on these data; ``None`` without a formula."""
    schema, mechanism = plan.schema, plan.mechanism
    retained = isinstance(plan.method, Retention)
    if plan.expected_error is None or not (retained or isinstance(mechanism, AttributeSampler)):
        return None
    steps = step_domains(schema)
    if retained and any(step.fixed for step in steps):
        return None
    retentions = dict(zip(steps, retentions_of(steps, mechanism), strict=True)) if retained else {}
    tables = [table for table, _ in plan.expected_error.tables]
    # Declared tables that the plan has no error for: of more columns, or with unchanged columns
    wider = []
    for table in plan.wanted:
        randomised = randomised_in(schema, table)
        if randomised and (randomised not in tables or len(randomised) < len(table)):
            wider.append(table)
    codes = _coded_columns(schema, opened, wider)
    errors = []
    for table in [*tables, *wider]:
        randomised = randomised_in(schema, table)
        if table in wider:
            cells = math.prod(codes[name][1] for name in table)
            if cells > CATEGORY_LIMIT:
                continue
            if isinstance(mechanism, AttributeSampler) and not mechanism.containing(randomised):
                continue
        unchanged = [name for name in table if name not in randomised]
        axes = [codes[name] for name in (*randomised, *unchanged)]
        counts = cell_counts([values for values, _ in axes], [size for _, size in axes])
        share = counts / max(counts.sum(), 1)
        if isinstance(mechanism, AttributeSampler):
            variance = _sampling_variance(mechanism, schema, randomised, share)
        elif all(kept > 0 for s, kept in retentions.items() if {*s.columns} & {*randomised}):
            variance = _record_variance(retentions, schema, randomised, share)
        else:
            variance = np.full(share.shape, np.inf)
        scale = math.sqrt(2 / (math.pi * plan.records))
        errors.append((table, float(np.sqrt(np.maximum(variance, 0)).sum()) * scale))
    asked = tuple(table for table, _ in errors if table in plan.wanted)
    return ExpectedError(tuple(errors), asked)


def _coded_columns(
    schema: Schema, opened: OpenedTable, tables: Sequence[Set]
) -> dict[str, tuple[IntArray, int]]:
    """Codes and number of values of the randomised columns, and of unchanged ones in the tables."""
    columns, step = schema.randomised, max(1, opened.rows // ENOUGH)
    names = [column.name for column in columns]
    unchanged = sorted({name for table in tables for name in table} - {*names})
    read = partial(_sampled, columns, unchanged, step)
    parts = [*opened.summaries(read, [*names, *unchanged])]
    coded = {}
    for at, column in enumerate(columns):
        codes = np.concatenate([part[at] for part in parts])
        coded[column.name] = codes, len(column.labels)
    for at, name in enumerate(unchanged, start=len(columns)):
        values = pa.chunked_array([chunk for part in parts for chunk in part[at]])
        encoded = values.combine_chunks().dictionary_encode(null_encoding="encode")
        coded[name] = encoded.indices.to_numpy(zero_copy_only=False), len(encoded.dictionary)
    return coded


def _sampled(
    columns: Sequence[Column],
    unchanged: Sequence[str],
    step: int,
    batches: Iterable[pa.RecordBatch],
) -> list[Any]:
    """Codes of the randomised and values of the unchanged columns, of every ``step``-th record."""
    codes: list[list[Any]] = [[np.zeros(0, np.int64)] for _ in columns]
    values: list[list[Any]] = [[] for _ in unchanged]
    for batch in batches:
        sample = batch.take(pa.array(np.arange(0, batch.num_rows, step)))
        for parts, column in zip(codes, columns, strict=True):
            parts.append(encode(column, sample.column(column.name)).astype(np.int64))
        for parts, name in zip(values, unchanged, strict=True):
            array = sample.column(name)
            parts.append(array.dictionary_decode() if hasattr(array, "dictionary") else array)
    return [*(np.concatenate(parts) for parts in codes), *values]


def _share_of_cells(
    schema: Schema, table: Sequence[str], columns: Sequence[str], cells: Sequence[tuple[Label, ...]]
) -> FloatArray:
    """The share of these cells of some columns in each cell of a table."""
    codes = cell_codes([schema.column(name).labels for name in columns], cells)
    inside = [codes[columns.index(name)] for name in table]
    return cell_counts(inside, _sizes(schema, table)) / len(cells)


def _sizes(schema: Schema, table: Sequence[str]) -> tuple[int, ...]:
    return tuple(len(schema.column(name).labels) for name in table)


def _sampling_variance(
    sampler: AttributeSampler, schema: Schema, table: Sequence[str], share: FloatArray
) -> FloatArray:
    """The variance of each cell by record, over all sets; unchanged columns are the last axes."""
    sets = sampler.containing(table)
    retentions = np.array([float(attributes.matrix.retention) for attributes in sets])
    asked = np.array([attributes.share for attributes in sets])
    weight = asked * retentions**4 / (asked @ retentions**2) ** 2
    group = share.sum(axis=tuple(range(len(table))), keepdims=True)
    share = share / np.where(group > 0, group, 1)
    wide = (..., *[None] * (share.ndim - len(table)))
    square = np.zeros(share.shape)
    for attributes, retention, part in zip(sets, retentions, weight, strict=True):
        columns, shape = attributes.columns, _sizes(schema, table)
        if attributes.matrix.size == math.prod(_sizes(schema, columns)):
            base = np.full(shape, 1 / math.prod(shape))
        else:
            base = _share_of_cells(schema, table, columns, attributes.cells)
        inside, outside = mean_squares(np.asarray(retention), base[wide])
        square += part * (share * inside + (1 - share) * outside)
    variance: FloatArray = group * (square - share**2 * weight.sum() - share * (1 - share))
    return variance


def _record_variance(
    retentions: Mapping[StepDomain, float], schema: Schema, table: Sequence[str], share: FloatArray
) -> FloatArray:
    """The variance of each cell by record, where each step is randomised independently."""
    square = share
    for step, retention in retentions.items():
        names = [name for name in table if name in step.columns]
        if not names:
            continue
        cells = as_cells(step.labels, len(step.columns))
        base = _share_of_cells(schema, names, step.columns, cells)
        inside, outside = mean_squares(np.asarray(retention), base)
        axes = tuple(table.index(name) for name in names)
        shape = [size if at in axes else 1 for at, size in enumerate(share.shape)]
        inside, outside = inside.reshape(shape), outside.reshape(shape)
        square = square * inside + (square.sum(axis=axes, keepdims=True) - square) * outside
    variance: FloatArray = square - share
    return variance
