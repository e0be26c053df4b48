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
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.mechanisms.attribute_sampling import AttributeSampler, AttributeSet
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
"""Shares are counted on about so many records, evenly spaced."""


def errors_on_data(plan: Plan, opened: OpenedTable) -> ExpectedError | None:
    """The expected errors of the plan's tables on these data; ``None`` where none are foreseen."""
    whole = isinstance(plan.method, Retention)
    if plan.expected_error is None or not (whole or isinstance(plan.mechanism, AttributeSampler)):
        return None
    steps = step_domains(plan.schema)
    if whole and any(step.fixed for step in steps):
        return None
    tables = [table for table, _ in plan.expected_error.tables]
    wider = [table for table in plan.wanted if _further(plan.schema, table, tables)]
    known = _known(plan.schema, opened, wider)
    scale = math.sqrt(2 / (math.pi * plan.records))
    kept = dict(zip(steps, retentions_of(steps, plan.mechanism), strict=True)) if whole else {}
    found = []
    for table in [*tables, *(table for table in wider if _served(plan, table, known))]:
        told = randomised_in(plan.schema, table)
        share = _shares(told, [name for name in table if name not in told], known)
        if isinstance(plan.mechanism, AttributeSampler):
            variance = _of_reports(plan.mechanism, plan.schema, told, share)
        elif all(kept[step] > 0 for step in steps if set(step.columns) & set(told)):
            variance = _of_whole_records(kept, plan.schema, told, share)
        else:
            variance = np.full(share.shape, np.inf)
        found.append((table, float(np.sqrt(np.maximum(variance, 0)).sum()) * scale))
    asked = tuple(table for table, _ in found if table in plan.wanted)
    return ExpectedError(tuple(found), asked)


def _further(schema: Schema, table: Set, tables: Sequence[Set]) -> bool:
    """Whether a table that was stated is none of those foreseen: larger, or with kept columns."""
    told = randomised_in(schema, table)
    return bool(told) and (told not in tables or len(told) < len(table))


def _served(plan: Plan, table: Set, known: Mapping[str, _Known]) -> bool:
    """Whether it can be told: by some report, in so many cells."""
    held = not isinstance(plan.mechanism, AttributeSampler) or bool(
        plan.mechanism.containing(randomised_in(plan.schema, table))
    )
    return held and math.prod(known[name].size for name in table) <= CATEGORY_LIMIT


@dataclass(frozen=True, eq=False)
class _Known:
    """The codes of some records in a column, and how many there can be."""

    codes: IntArray
    size: int


def _known(schema: Schema, opened: OpenedTable, wider: Sequence[Set]) -> dict[str, _Known]:
    """What some records say: randomised columns, and kept ones that a table names."""
    step, told = max(1, opened.rows // ENOUGH), schema.randomised
    names = [column.name for column in told]
    beside = sorted({name for table in wider for name in table} - {*names})
    parts = [*opened.summaries(partial(_coded, told, beside, step), [*names, *beside])]
    found = {}
    for at, column in enumerate(told):
        codes = np.concatenate([part[at] for part in parts])
        found[column.name] = _Known(codes, len(column.labels))
    for at, name in enumerate(beside, start=len(told)):
        values = pa.chunked_array([chunk for part in parts for chunk in part[at]])
        whole = values.combine_chunks().dictionary_encode(null_encoding="encode")
        found[name] = _Known(whole.indices.to_numpy(zero_copy_only=False), len(whole.dictionary))
    return found


def _coded(
    columns: Sequence[Column],
    beside: Sequence[str],
    step: int,
    batches: Iterable[pa.RecordBatch],
) -> list[Any]:
    """Codes of randomised columns, values of the others, of every so many records."""
    found: list[list[Any]] = [[np.zeros(0, np.int64)] for _ in columns]
    kept: list[list[Any]] = [[] for _ in beside]
    for batch in batches:
        some = batch.take(pa.array(np.arange(0, batch.num_rows, step)))
        for own, column in zip(found, columns, strict=True):
            own.append(encode(column, some.column(column.name)).astype(np.int64))
        for own, name in zip(kept, beside, strict=True):
            values = some.column(name)
            own.append(values.dictionary_decode() if hasattr(values, "dictionary") else values)
    return [*(np.concatenate(own) for own in found), *kept]


def _sizes(schema: Schema, table: Sequence[str]) -> tuple[int, ...]:
    return tuple(len(schema.column(name).labels) for name in table)


def _shares(told: Set, beside: Sequence[str], known: Mapping[str, _Known]) -> FloatArray:
    """The share of the records in each cell of a table, kept columns last."""
    own = [known[name] for name in (*told, *beside)]
    counts = cell_counts([one.codes for one in own], [one.size for one in own])
    share: FloatArray = counts / max(counts.sum(), 1)
    return share


def _of_reports(
    mechanism: AttributeSampler, schema: Schema, table: Sequence[str], share: FloatArray
) -> FloatArray:
    """A record's part of the variance of each cell: all sets that hold it, by their precision.

    Kept columns, which stand last, part the records into groups that are told one by one.
    """
    sets = mechanism.containing(table)
    kept = np.array([float(one.matrix.retention) for one in sets])
    asked = np.array([one.share for one in sets])
    weight = asked * kept**4 / (asked @ kept**2) ** 2
    group = share.sum(axis=tuple(range(len(table))), keepdims=True)
    share = share / np.where(group > 0, group, 1)
    wide = (..., *[None] * (share.ndim - len(table)))
    seen = np.zeros(share.shape)
    for one, own, part in zip(sets, kept, weight, strict=True):
        inside, outside = mean_squares(np.asarray(own), _base(one, schema, table)[wide])
        seen += part * (share * inside + (1 - share) * outside)
    variance: FloatArray = group * (seen - share**2 * weight.sum() - share * (1 - share))
    return variance


def _base(one: AttributeSet, schema: Schema, table: Sequence[str]) -> FloatArray:
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
