"""What a plan costs before anything is released: errors of tables, sizes of groups, better ways.

Without data, expected errors (expected_error.py) assume how uneven tables are. That is right on
average over many tables, but a single table may be more or less even. With the data the shares of
the cells are known, and the same variances give the error expected over the randomisation alone.
These numbers depend on the original data: only the owner sees them, and no certificate holds them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pramana.base.randomness import Keystream
from pramana.base.text import as_table
from pramana.base.translation import gettext, noop
from pramana.errors import PramanaError
from pramana.evaluation.cli_hints import CliHints, Hint
from pramana.evaluation.questions import (
    SEED,
    DrawErrors,
    Errors,
    answer_at_face_value,
    mean_errors_of,
    on_average,
    stated_tables,
    trial_errors,
    typical,
)
from pramana.evaluation.schema_suggestions import (
    POOR,
    share_text,
    suggest_changes,
    typical_error,
    with_wanted_tables,
)
from pramana.mechanisms.mechanism import AttributeSampler
from pramana.mechanisms.transition import Label, as_cells
from pramana.methods.choice import alternative_plan, alternative_summary
from pramana.methods.expected_error import (
    ExpectedError,
    Set,
    StepDomain,
    joint_of,
    mean_squares,
    randomised_in,
    step_domains,
)
from pramana.methods.microaggregated import Grouped
from pramana.methods.number_errors import (
    grid_words,
    mean_error_sentence,
    mean_errors,
    means_left_out,
)
from pramana.methods.plan import Plan
from pramana.methods.retention import Retention, retentions_of
from pramana.release.kinds import KINDS
from pramana.schema.codec import encode
from pramana.schema.joint_cells import cell_codes, cell_counts
from pramana.schema.opened_table import OpenedTable, without_dictionary
from pramana.schema.origins import Provenance
from pramana.schema.schema import CATEGORY_LIMIT, Column, Schema
from pramana.types import FloatArray, IntArray

MOST_TABLES = 8
CLEARLY = 1.15
HERE: Final = noop("On these data (not for publication): ")


def preview_plan(
    plan: Plan, opened: OpenedTable | None = None, *, hints: CliHints | None = None
) -> Iterator[Hint]:
    """Sentences on the errors of the wanted tables, on groups, and on better ways.

    Without the table they rest on the schema and on expected errors alone. With the names of the
    files, ways come with commands to paste.
    """
    if isinstance(plan.method, Grouped):
        if opened is not None:
            yield from map(Hint, _group_sentences(plan, plan.method, opened))
        return
    plan = with_wanted_tables(plan)
    if opened is not None:
        means = mean_error_sentence(mean_errors(plan, opened), here=True)
        if means is not None:
            yield Hint(f"{gettext(HERE)}{means[0].lower()}{means[1:]}")
    yield from map(Hint, [*means_left_out(plan), *grid_words(plan)])
    expected = typical_error(plan)
    if expected is None:
        return
    draws: DrawErrors = {} if opened is None else trial_errors(plan, opened)
    errors = on_average(draws)
    here = None if opened is None else errors_on_data(plan, opened)
    yield from map(Hint, _table_sentences(plan, here, draws))
    yield from map(Hint, _pairs_left_out(plan))
    yield from _unnamed_columns(plan, opened, hints)
    yield from _other_method(plan, opened, errors, hints)
    if (typical(errors, errors) or expected) >= POOR:
        yield from _better(plan, opened, errors, hints)


def _group_sentences(plan: Plan, method: Grouped, opened: OpenedTable) -> Iterator[str]:
    """Sizes and errors of groups that are formed once; nothing is released."""
    k = int(getattr(plan.asked[0], "k", 2))
    made = method.regrouped(plan.schema, opened, k=k, keystream=Keystream.from_seed(SEED))
    sizes = np.asarray(made.sizes)
    yield (
        f"{len(sizes):,} groups of {sizes.min():,} to {sizes.max():,} records, "
        f"{np.median(sizes):,.0f} in the middle."
    )
    released = OpenedTable.of_arrow(made.table)
    errors = []
    for question in stated_tables(plan.schema):
        columns = [plan.schema.column(name) for name in question]
        if all(column.domain is not None for column in columns):
            try:
                errors.append(answer_at_face_value(columns, released, opened).error)
            except PramanaError:
                continue
    if errors:
        error = share_text(float(np.median(errors)))
        yield gettext(
            "The error of a typical table of keys is {error} of the records.", error=error
        )


def _table_sentences(plan: Plan, here: ExpectedError | None, draws: DrawErrors) -> Iterator[str]:
    """The errors of the tables asked for, or of two columns; on the data where there are some."""
    expected = here or plan.expected_error
    assert expected is not None  # noqa: S101 - the caller has looked
    known = dict(expected.tables)
    asked = {frozenset(table) for table in plan.wanted}
    if not here:
        asked |= {frozenset(randomised_in(plan.schema, table)) for table in plan.wanted}
    wanted = [table for table in (*known, *draws) if frozenset(table) in asked]
    pairs = [table for table in known if len(table) == 2]
    if not draws and not wanted and (here is None or not pairs):
        return
    errors = draws or {table: [known[table]] for table in wanted or pairs}
    shown = _shown(errors, of=len({*map(frozenset, wanted or pairs)}))
    number = max(map(len, draws.values()), default=0)
    releases = ""
    if number:
        releases = (
            gettext(", in one trial release")
            if number == 1
            else gettext(", smallest to largest in {number} trial releases", number=number)
        )
    words = noop("Errors of two-way tables{releases}: {shown}.")
    if here is not None or draws:
        words = noop(
            "On these data (not for publication): errors of two-way tables{releases}: {shown}."
        )
    if wanted:
        words = noop("Errors of planned tables{releases}: {shown}.")
    if wanted and (here is not None or draws):
        words = noop(
            "On these data (not for publication): errors of planned tables{releases}: {shown}."
        )
    yield gettext(words, releases=releases, shown=shown)
    # A table without an expected error comes from a model: it has no unbiased estimate.
    foreseen = {frozenset(table) for table in known}
    middle = typical(on_average(draws), [t for t in draws if frozenset(t) in foreseen])
    unbiased = typical_error(replace(plan, expected_error=expected))
    if middle is not None and unbiased is not None and unbiased > CLEARLY * middle:
        yield gettext(
            "The error of a typical table is {error} with the default estimate and {unbiased} with "
            "the unbiased estimate (--method unbiased).",
            error=share_text(middle), unbiased=share_text(unbiased),
        )  # fmt: skip


def _shown(errors: DrawErrors, *, of: int = 0) -> str:
    """The first tables with their errors, from the least to the most, and how many more."""
    names = list(errors)[:MOST_TABLES]
    spans = (dict.fromkeys(share_text(end(errors[table])) for end in (min, max)) for table in names)
    shown = ", ".join(
        f"{as_table(table, marks='*,')} {gettext(' to ').join(span)}"
        for table, span in zip(names, spans, strict=True)
    )
    more = max(of, len(errors)) - len(names)
    return gettext("{shown} and {more} more", shown=shown, more=more) if more > 0 else shown


def _pairs_left_out(plan: Plan) -> Iterator[str]:
    """Pairs of columns that no attribute set holds, as they have too many cells."""
    expected = plan.expected_error
    if KINDS[plan.method.kind].whole or expected is None or expected.asked:
        return
    held = {frozenset(table) for table, _ in expected.tables}
    names = [column.name for column in plan.schema.randomised]
    left = [pair for pair in itertools.combinations(names, 2) if frozenset(pair) not in held]
    if left:
        pairs = ", ".join(as_table(pair, marks="*,") for pair in left)
        yield (
            gettext(
                "No attribute set contains {pairs}: more than {most:,} cells. Coarsen one of them "
                "for a table of both.",
                pairs=pairs,
                most=CATEGORY_LIMIT,
            )
        )


def _unnamed_columns(
    plan: Plan, opened: OpenedTable | None, hints: CliHints | None
) -> Iterator[Hint]:
    """Columns that no table names: their errors, and a schema without them to paste."""
    names = plan.statistics.get("unnamed", ())
    if names and opened is not None:
        errors = on_average(trial_errors(plan, opened, [(name,) for name in names]))
        if errors:
            means = {table: [error] for table, error in errors.items()}
            yield Hint(
                gettext(
                    "On these data (not for publication): errors of columns in no table: {shown}.",
                    shown=_shown(means),
                )
            )
    if names and hints is not None:
        yield Hint(gettext("Without the columns in no table:"), hints.without(names))


def _other_method(
    plan: Plan, opened: OpenedTable | None, errors: Errors, hints: CliHints | None
) -> Iterator[Hint]:
    """The error under the same guarantee by another method, where that is less."""
    other = alternative_plan(plan)
    if other is None:
        return
    option = f"--method {other.method.name}"
    if hints is not None and errors:
        hints = replace(hints, origin=Provenance.TRIALS)
    command = "" if hints is None else replace(hints, how=()).of("design", *option.split())
    if not errors or opened is None:
        summary = alternative_summary(plan, other)
        if summary is not None:
            yield Hint(summary, command)
        return
    (others,) = mean_errors_of([(other, tuple(errors))], opened)
    error, was = typical(others, others), typical(errors, others)
    if error is not None and was is not None and error < was:
        yield Hint(
            gettext(
                "With {option}, which {instead}, the error of a typical table is {error} "
                "instead of {was}.",
                option=option,
                instead=gettext(other.method.instead),
                error=share_text(error),
                was=share_text(was),
            ),
            command,
        )


def _better(
    plan: Plan, opened: OpenedTable | None, errors: Errors, hints: CliHints | None
) -> Iterator[Hint]:
    """Changes of the schema, and the advice on all methods."""
    changes = suggest_changes(plan, opened=opened, before=errors)
    spoken = [Hint(f"{change.gain} {change.how}") for change in changes]
    for hint in spoken if hints is None else hints.ways(changes):
        yield Hint(gettext("Better at the same guarantee. {words}", words=hint.words), hint.command)
    if not changes:
        words = noop(
            "No change of a single column would help much: take a weaker target, such as a lower k."
        )
        yield Hint(gettext(words))
    if hints is None or hints.table is not None:
        command = "" if hints is None else hints.advice()
        yield Hint(gettext("advise tries every method on your planned tables."), command)


ENOUGH = 50_000
"""Shares are counted on about this many records, evenly spaced."""


def errors_on_data(plan: Plan, opened: OpenedTable) -> ExpectedError | None:
    """The expected errors of a plan's tables on these data; ``None`` without a formula."""
    schema, mechanism = plan.schema, plan.mechanism
    retained = isinstance(plan.method, Retention)
    if plan.expected_error is None or not (retained or isinstance(mechanism, AttributeSampler)):
        return None
    steps = step_domains(schema, joint_of(mechanism) if retained else ())
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
            parts.append(without_dictionary(sample.column(name)))
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
