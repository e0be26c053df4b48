"""What tables will be off by on the table at hand, for its owner.

Errors expected without data (expected_error.py) take the truth to be as uneven as such tables are
found to be: on average over many tables that is within a few per cent, but a single table may be
more even, or less. Where the owner has the data, the shares of its cells are known, and the same
variances give what is expected over the draws alone. These figures depend on the truth: they are
shown to who holds it, and stand in no certificate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from pramana.matrices.reporting import AskedSet, Reporting
from pramana.matrices.transition import Label, as_cells
from pramana.methods.expected_error import ExpectedError, mean_squares
from pramana.methods.plan import Plan
from pramana.methods.retention import Retention, retentions_of
from pramana.methods.steps import StepDomain, step_domains
from pramana.table.cells import cell_codes, cell_counts
from pramana.table.codec import encode
from pramana.table.opened import OpenedTable
from pramana.table.schema import Column, Schema
from pramana.types import FloatArray, IntArray

__all__ = ["errors_here"]

ENOUGH = 50_000
"""Shares are counted on about so many records, evenly spaced."""


def errors_here(plan: Plan, opened: OpenedTable) -> ExpectedError | None:
    """The expected errors of the plan's tables on these data; ``None`` where none are foreseen."""
    whole = isinstance(plan.method, Retention)
    if plan.expected_error is None or not (whole or isinstance(plan.mechanism, Reporting)):
        return None
    steps = step_domains(plan.schema)
    if whole and any(step.fixed for step in steps):
        return None
    codes = _codes(plan.schema.randomised, opened)
    scale = math.sqrt(2 / (math.pi * plan.records))
    kept = dict(zip(steps, retentions_of(steps, plan.mechanism), strict=True)) if whole else {}
    found = []
    for table, _ in plan.expected_error.tables:
        share = _shares(plan.schema, table, codes)
        if isinstance(plan.mechanism, Reporting):
            variance = _of_reports(plan.mechanism, plan.schema, table, share)
        elif all(kept[step] > 0 for step in steps if set(step.columns) & set(table)):
            variance = _of_whole_records(kept, plan.schema, table, share)
        else:
            variance = np.full(share.shape, np.inf)
        found.append((table, float(np.sqrt(np.maximum(variance, 0)).sum()) * scale))
    return ExpectedError(tuple(found))


def _codes(columns: Sequence[Column], opened: OpenedTable) -> dict[str, IntArray]:
    """The codes of some records, column by column."""
    step = max(1, opened.rows // ENOUGH)
    names = [column.name for column in columns]
    parts = [*opened.summaries(partial(_coded, tuple(columns), step), names)]
    return {name: np.concatenate([part[at] for part in parts]) for at, name in enumerate(names)}


def _coded(
    columns: tuple[Column, ...], step: int, batches: Iterable[pa.RecordBatch]
) -> list[IntArray]:
    found: list[list[IntArray]] = [[np.zeros(0, np.int64)] for _ in columns]
    for batch in batches:
        some = batch.take(pa.array(np.arange(0, batch.num_rows, step)))
        for own, column in zip(found, columns, strict=True):
            own.append(encode(column, some.column(column.name)).astype(np.int64))
    return [np.concatenate(own) for own in found]


def _sizes(schema: Schema, table: Sequence[str]) -> tuple[int, ...]:
    return tuple(len(schema.column(name).labels) for name in table)


def _shares(schema: Schema, table: Sequence[str], codes: Mapping[str, IntArray]) -> FloatArray:
    """The share of the records in each cell of a table."""
    shape = _sizes(schema, table)
    cells = np.ravel_multi_index([codes[name] for name in table], shape)
    counts = np.bincount(cells, minlength=math.prod(shape)).astype(np.float64)
    share: FloatArray = counts.reshape(shape) / max(counts.sum(), 1)
    return share


def _of_reports(
    mechanism: Reporting, schema: Schema, table: Sequence[str], share: FloatArray
) -> FloatArray:
    """A record's part of the variance of each cell: all sets that hold it, by their precision."""
    sets = mechanism.containing(table)
    kept = np.array([float(one.matrix.retention) for one in sets])
    asked = np.array([one.share for one in sets])
    weight = asked * kept**4 / (asked @ kept**2) ** 2
    seen = np.zeros(share.shape)
    for one, own, part in zip(sets, kept, weight, strict=True):
        inside, outside = mean_squares(np.asarray(own), _base(one, schema, table))
        seen += part * (share * inside + (1 - share) * outside)
    variance: FloatArray = seen - share**2 * weight.sum() - share * (1 - share)
    return variance


def _base(one: AskedSet, schema: Schema, table: Sequence[str]) -> FloatArray:
    """The share of a set's cells that lie in each cell of a table."""
    shape = _sizes(schema, table)
    if one.matrix.size == math.prod(_sizes(schema, one.columns)):
        return np.full(shape, 1 / math.prod(shape))
    return _spread(schema, table, one.columns, one.cells)


def _spread(
    schema: Schema, table: Sequence[str], columns: Sequence[str], cells: Sequence[tuple[Label, ...]]
) -> FloatArray:
    """How cells of some columns spread over those of a table, as shares."""
    codes = cell_codes([schema.column(name).labels for name in columns], cells)
    inside = [codes[columns.index(name)] for name in table]
    return cell_counts(inside, _sizes(schema, table)) / len(cells)


def _of_whole_records(
    kept: Mapping[StepDomain, float], schema: Schema, table: Sequence[str], share: FloatArray
) -> FloatArray:
    """The same where each step is randomised by itself: a truth may be right in some steps."""
    seen = share
    for step, own in kept.items():
        inside = [name for name in table if name in step.columns]
        if not inside:
            continue
        base = _spread(schema, inside, step.columns, as_cells(step.labels, len(step.columns)))
        right, wrong = mean_squares(np.asarray(own), base)
        axes = tuple(table.index(name) for name in inside)
        shape = [size if at in axes else 1 for at, size in enumerate(share.shape)]
        right, wrong = right.reshape(shape), wrong.reshape(shape)
        seen = seen * right + (seen.sum(axis=axes, keepdims=True) - seen) * wrong
    variance: FloatArray = seen - share
    return variance
