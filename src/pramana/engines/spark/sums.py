"""Sums over groups of released records, by Spark: the same question as DuckDB answers."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pramana.engines.spark.errors import one_line
from pramana.engines.sums import (
    Condition,
    SumsAsked,
    number_in,
    require_number,
    spelled,
    sum_name,
)
from pramana.table.opened import OpenedTable

__all__ = ["grouped_sums"]


def grouped_sums(opened: OpenedTable, asked: SumsAsked) -> pa.Table:
    """One row a combination of values, with the sums that estimates need."""
    from pyspark.sql import functions as sql

    frame = opened.source
    for condition in asked.where:
        frame = frame.filter(_condition(sql, condition, opened.schema))
    w = _number(sql, asked.weight) if asked.weight else sql.lit(1.0)
    terms = {"n": sql.lit(1.0), "w": w, "ww": w * w}
    if asked.value is not None:
        y = _number(sql, asked.value)
        frame = frame.filter(y.isNotNull() & ~sql.isnan(y))
        if asked.beyond is not None:
            y = _condition(sql, asked.beyond, opened.schema).cast("double")
        terms |= {"wy": w * y, "wwy": w * w * y, "wwyy": w * w * y * y}
    sums = [
        sql.coalesce(sql.sum(term), sql.lit(0.0)).alias(sum_name(name))
        for name, term in terms.items()
    ]
    groups = [sql.col(_quoted(name)).alias(name) for name in asked.columns]
    with one_line():
        rows = frame.groupBy(*groups).agg(*sums).collect()
    fields = [opened.schema.field(name) for name in asked.columns]
    fields += [pa.field(sum_name(name), pa.float64()) for name in terms]
    return pa.table(
        [pa.array([row[at] for row in rows], field.type) for at, field in enumerate(fields)],
        schema=pa.schema(fields),
    )


def _condition(sql: Any, condition: Condition, schema: pa.Schema) -> Any:
    """A filter as an expression; the same texts and numbers as everywhere."""
    name = condition.column
    number = require_number(schema.field(name).type, condition)
    texts, missing = spelled(condition, number=number)
    if condition.comparison in ("=", "!="):
        if number:
            found = _number(sql, name).isin([number_in(text, name) for text in texts])
        else:
            found = sql.col(_quoted(name)).cast("string").isin(texts)
        found = sql.coalesce(found, sql.lit(False))
        if missing:
            found = found | sql.col(_quoted(name)).isNull()
        return found if condition.comparison == "=" else ~found
    limit = sql.lit(number_in(texts[0], name))
    own = _number(sql, name)
    return {"<": own < limit, "<=": own <= limit, ">": own > limit, ">=": own >= limit}[
        condition.comparison
    ]


def _number(sql: Any, name: str) -> Any:
    return sql.col(_quoted(name)).cast("double")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
