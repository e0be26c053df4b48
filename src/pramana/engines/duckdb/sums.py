"""Sums over groups of released records, by the embedded database.

DuckDB reads the data file itself, in parallel and larger than memory: a table of any width
costs what a bare GROUP BY on its columns costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from pramana.engines.sums import Condition, SumsAsked, number_in, require_number
from pramana.errors import NotARelease
from pramana.table.domains import label_text
from pramana.table.opened import OpenedTable

__all__ = ["grouped_sums"]


def grouped_sums(opened: OpenedTable, asked: SumsAsked) -> pa.Table:
    """One row a combination of values, with the sums that estimates need."""
    import duckdb

    value, weight = asked.value, asked.weight
    w = f"CAST({_quoted(weight)} AS DOUBLE)" if weight else "1.0"
    terms = {"n": "1.0", "w": w, "ww": f"{w} * {w}"}
    conditions, parameters = _conditions(opened, asked.where)
    if value is not None:
        number = f"CAST({_quoted(value)} AS DOUBLE)"
        y = number if asked.beyond is None else _indicator(number, asked.beyond)
        terms |= {"wy": f"{w} * {y}", "wwy": f"{w} * {w} * {y}", "wwyy": f"{w} * {w} * {y} * {y}"}
        conditions += [f"{_quoted(value)} IS NOT NULL", f"NOT isnan({number})"]
    groups = [_quoted(name) for name in asked.columns]
    sums = ["CAST(count(*) AS DOUBLE) AS n"]
    # A weight of one adds nothing to a count: the bare GROUP BY is all that is needed.
    sums += [
        f"sum({term}) AS {name}"
        for name, term in terms.items()
        if name != "n" and _needed(name, weight)
    ]
    query = f"SELECT {', '.join([*groups, *sums])} FROM released"  # noqa: S608 - names are quoted
    if conditions:
        query += f" WHERE {' AND '.join(conditions)}"
    if groups:
        query += f" GROUP BY {', '.join(groups)}"
    needed = [*asked.columns, *(c.column for c in asked.where), *(n for n in (value, weight) if n)]
    with _database().cursor() as connection:
        _attach(connection, opened, list(dict.fromkeys(needed)))
        try:
            answer = connection.sql(query, params=parameters).to_arrow_table()
        except duckdb.Error:
            raise NotARelease("The released records cannot be read to their end.") from None
    return _with_unit_weights(answer, weight, value)


@cache
def _database() -> Any:
    """One database in memory for the process: opening one costs more than many a question."""
    import atexit

    import duckdb

    database = duckdb.connect(":memory:")
    # A connection that outlives the interpreter makes the library complain when Python leaves.
    atexit.register(_database.cache_clear)
    atexit.register(database.close)
    return database


def _needed(name: str, weight: str | None) -> bool:
    return weight is not None or name in ("wy", "wwyy")


def _with_unit_weights(answer: pa.Table, weight: str | None, value: str | None) -> pa.Table:
    """Without weights w = ww = n and wwy = wy."""
    if weight is not None:
        return answer
    for name in ("w", "ww"):
        answer = answer.append_column(name, answer.column("n"))
    return answer if value is None else answer.append_column("wwy", answer.column("wy"))


def _attach(connection: Any, opened: OpenedTable, columns: list[str]) -> None:
    """Make the released records known under one name; Parquet files are read where they lie."""
    files = [str(file.path.absolute()) for file in opened.files]
    # The database would look for other files under names with stars and brackets.
    if opened.format == "parquet" and not any(set(file) & set("*?[]{}") for file in files):
        places = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
        reading = f"read_parquet([{places}], hive_partitioning = false)"
        # A temporary view is this cursor's own, whatever others ask at the same time.
        connection.execute(f"CREATE TEMP VIEW released AS FROM {reading}")
        return
    connection.register("released", opened.to_arrow(columns or None))


def _conditions(opened: OpenedTable, where: Sequence[Condition]) -> tuple[list[str], list[Any]]:
    conditions: list[str] = []
    parameters: list[Any] = []
    for condition in where:
        kind = opened.schema.field(condition.column).type
        text, values = _condition(condition, number=require_number(kind, condition))
        conditions.append(text)
        parameters += values
    return conditions, parameters


def _condition(condition: Condition, *, number: bool) -> tuple[str, list[Any]]:
    column = _quoted(condition.column)
    if condition.comparison in ("=", "!="):
        values = [label_text(value) for value in condition.values]
        if number:
            parts = [f"CAST({column} AS DOUBLE) = CAST(? AS DOUBLE)" for _ in values]
            values = [str(number_in(value, condition.column)) for value in values]
        else:
            parts = [f"coalesce(CAST({column} AS VARCHAR), '') = ?" for _ in values]
        found = f"({' OR '.join(parts)})"
        return (found if condition.comparison == "=" else f"NOT {found}"), values
    (limit,) = condition.values
    text = f"CAST({column} AS DOUBLE) {condition.comparison} CAST(? AS DOUBLE)"
    return text, [str(number_in(label_text(limit), condition.column))]


def _indicator(number: str, condition: Condition) -> str:
    """1 where the comparison holds, else 0; the limit is a number and so no text of SQL."""
    limit = number_in(label_text(condition.values[0]), condition.column)
    return f"CAST({number} {condition.comparison} CAST('{limit!r}' AS DOUBLE) AS DOUBLE)"


def _quoted(name: str | None) -> str:
    return '"' + str(name).replace('"', '""') + '"'
