"""The engine for relations of DuckDB, and sums over groups of released records by DuckDB.

DuckDB reads the data file itself, in parallel and larger than memory: a table of any width costs
what a bare GROUP BY on its columns costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar, Final

import pyarrow as pa

from pramana.engine.base import Condition, SumsAsked, number_in, require_number, spelled, sum_name
from pramana.engine.local import LocalEngine
from pramana.errors import InvalidTable, NotARelease
from pramana.io.base import require_distinct_names
from pramana.io.disk_buffer import DiskBuffer
from pramana.io.opening import checked, undressed
from pramana.schema.domains import label_text
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Schema
from pramana.types import TableLike


def open_relation(relation: Any) -> OpenedTable:
    """The answer of a relation, asked for once: another time it may be another."""
    require_distinct_names(relation.columns, where="the relation")

    with _quiet_database():
        stream = pa.RecordBatchReader.from_stream(relation)
        held = DiskBuffer(stream)
    return OpenedTable(stream.schema.remove_metadata(), held.rows, "frame", relation, held.parts)


def relation_schema(relation: Any) -> pa.Schema:
    """The columns of a relation and their types."""
    with _quiet_database():
        return pa.RecordBatchReader.from_stream(relation.limit(0)).schema


@contextmanager
def _quiet_database() -> Iterator[None]:
    """Replace the database's errors, which may show cells."""
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        busy = type(error).__name__ == "ResourceInUseException"
        why = "its connection is busy with another result" if busy else "its query fails"
        raise InvalidTable(f"The DuckDB relation cannot be read: {why}.") from None


class DuckdbEngine(LocalEngine):
    """Relations of a DuckDB connection; their batches are worked on by the local engine."""

    name: ClassVar[str] = "duckdb"
    reads_files: ClassVar[bool] = False

    def serves(self, source: object) -> bool:
        """Whether it is a relation."""
        package = type(source).__module__.split(".")[0]
        return package in ("duckdb", "_duckdb") and hasattr(source, "__arrow_c_stream__")

    def open(self, source: TableLike, *, schema: Schema | None = None) -> OpenedTable:
        """The answer of the database."""
        opened = source if isinstance(source, OpenedTable) else open_relation(source)
        return checked(opened, schema=schema)

    def empty_like(self, source: TableLike) -> TableLike:
        """A relation without records."""
        import duckdb

        return duckdb.from_arrow(relation_schema(source).empty_table())

    def as_kind(self, opened: OpenedTable, like: TableLike | None) -> TableLike:
        """A relation over the records."""
        import duckdb

        table: pa.Table = undressed(opened.to_arrow(), relation_schema(like))
        return duckdb.from_arrow(table)


DUCKDB: Final = DuckdbEngine()


def grouped_sums(opened: OpenedTable, asked: SumsAsked) -> pa.Table:
    """One row a combination of values, with the sums that estimates need."""
    import duckdb

    value, weight = asked.value, asked.weight
    told = _told_apart(opened.schema.names)
    w = f"CAST({told[weight]} AS DOUBLE)" if weight else "1.0"
    terms = {"n": "1.0", "w": w, "ww": f"{w} * {w}"}
    conditions, parameters = _conditions(opened, asked.where, told)
    if value is not None:
        number = f"CAST({told[value]} AS DOUBLE)"
        y = number if asked.beyond is None else _indicator(number, asked.beyond)
        terms |= {"wy": f"{w} * {y}", "wwy": f"{w} * {w} * {y}", "wwyy": f"{w} * {w} * {y} * {y}"}
        conditions += [f"{told[value]} IS NOT NULL", f"NOT isnan({number})"]
    groups = [told[name] for name in asked.columns]
    sums = [f"CAST(count(*) AS DOUBLE) AS {_quoted(sum_name('n'))}"]
    # A weight of one adds nothing to a count: the bare GROUP BY is all that is needed.
    sums += [
        f"sum({term}) AS {_quoted(sum_name(name))}"
        for name, term in terms.items()
        if name != "n" and (weight is not None or name in ("wy", "wwyy"))
    ]
    query = f"SELECT {', '.join([*groups, *sums])} FROM released"  # noqa: S608 - names are quoted
    if conditions:
        query += f" WHERE {' AND '.join(conditions)}"
    if groups:
        query += f" GROUP BY {', '.join(groups)}"
    needed = [*asked.columns, *(c.column for c in asked.where), *(n for n in (value, weight) if n)]
    with _database().cursor() as connection:
        try:
            _attach(connection, opened, list(dict.fromkeys(needed)))
            answer = connection.sql(query, params=parameters).to_arrow_table()
        except duckdb.OutOfMemoryException:
            raise MemoryError from None
        except duckdb.Error:
            raise NotARelease("The released records cannot be read to their end.") from None
    names = [*asked.columns, *answer.column_names[len(groups) :]]
    return _with_unit_weights(answer.rename_columns(names), weight, value)


@cache
def _database() -> Any:
    """One database in memory for the process: opening one costs more than many a question."""
    import atexit

    import duckdb

    # Else it may leave files in the folder of the command.
    database = duckdb.connect(":memory:", config={"temp_directory": ""})
    # A connection that outlives the interpreter makes the library complain when Python leaves.
    atexit.register(_database.cache_clear)
    atexit.register(database.close)
    return database


def _with_unit_weights(answer: pa.Table, weight: str | None, value: str | None) -> pa.Table:
    """Without weights w = ww = n and wwy = wy."""
    if weight is not None:
        return answer
    same = {"w": "n", "ww": "n"} | ({} if value is None else {"wwy": "wy"})
    for name, other in same.items():
        answer = answer.append_column(sum_name(name), answer.column(sum_name(other)))
    return answer


def _attach(connection: Any, opened: OpenedTable, columns: list[str]) -> None:
    """Make the released records known under one name; Parquet files are read where they lie."""
    files = [str(file.path.absolute()) for file in opened.files]
    # The database would look for other files under names with stars and brackets.
    plain = not any(set(file) & set("*?[]{}") for file in files)
    if opened.format == "parquet" and plain and not _case_matters(opened.schema.names):
        places = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
        reading = f"read_parquet([{places}], hive_partitioning = false)"
        # A temporary view is this cursor's own, whatever others ask at the same time.
        connection.execute(f"CREATE TEMP VIEW released AS FROM {reading}")
        return
    table = opened.to_arrow(columns or None)
    if not _case_matters(opened.schema.names):
        connection.register("released", table)
        return
    names = [_told_apart(opened.schema.names)[name] for name in table.column_names]
    connection.register("released", table.rename_columns(names))


def _case_matters(names: Sequence[str]) -> bool:
    """Whether names differ in the size of letters alone, which to the database are the same."""
    return len({name.casefold() for name in names}) < len(names)


def _told_apart(names: Sequence[str]) -> dict[str, str]:
    """Each column as the database is to call it."""
    if _case_matters(names):
        return {name: f"c{place}" for place, name in enumerate(names)}
    return {name: _quoted(name) for name in names}


def _conditions(
    opened: OpenedTable, where: Sequence[Condition], told: Mapping[str, str]
) -> tuple[list[str], list[Any]]:
    conditions: list[str] = []
    parameters: list[Any] = []
    for condition in where:
        kind = opened.schema.field(condition.column).type
        number = require_number(kind, condition)
        text, values = _condition(condition, told[condition.column], number=number)
        conditions.append(text)
        parameters += values
    return conditions, parameters


def _condition(condition: Condition, column: str, *, number: bool) -> tuple[str, list[Any]]:
    if condition.comparison in ("=", "!="):
        values, missing = spelled(condition, number=number)
        one = f"CAST({column} AS VARCHAR) = ?"
        if number:
            one = f"CAST({column} AS DOUBLE) = CAST(? AS DOUBLE)"
            values = [str(number_in(value, condition.column)) for value in values]
        parts = [one] * len(values) + [f"{column} IS NULL"] * missing
        found = f"coalesce({' OR '.join(parts)}, false)"
        return (found if condition.comparison == "=" else f"NOT {found}"), values
    (limit,) = condition.values
    text = f"CAST({column} AS DOUBLE) {condition.comparison} CAST(? AS DOUBLE)"
    return text, [str(number_in(label_text(limit), condition.column))]


def _indicator(number: str, condition: Condition) -> str:
    """1 where the comparison holds, else 0; the limit is a number and so no text of SQL."""
    limit = number_in(label_text(condition.values[0]), condition.column)
    return f"CAST({number} {condition.comparison} CAST('{limit!r}' AS DOUBLE) AS DOUBLE)"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
