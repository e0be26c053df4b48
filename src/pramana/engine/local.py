"""The engines of one machine: files and data frames in memory that does not grow, and DuckDB.

A table is opened once and carries a list of steps. Whoever counts, writes or collects it runs the
steps from first to last: threads load and work on large batches, which come out in order. Parquet
files are read by row groups; everything else in batches as they come.

Groups of released records are summed by DuckDB, which reads Parquet files itself, in parallel and
larger than memory: a table of any width costs what a bare GROUP BY on its columns costs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import pyarrow as pa

from pramana.base.processes import Item, Result, default_threads, in_order
from pramana.engine.base import (
    Condition,
    MapBatches,
    Shuffle,
    SteppedTable,
    SumsAsked,
    number_in,
    require_number,
    spelled,
    sum_name,
)
from pramana.engine.shuffle import Piece, Shuffler
from pramana.errors import InputError, InvalidTable, NotARelease
from pramana.io.base import require_distinct_names
from pramana.io.databases import process_database
from pramana.io.disk_buffer import DiskBuffer
from pramana.io.opening import checked, empty_like, open_table, to_kind, without_dictionaries
from pramana.io.output import group_size, write_records
from pramana.schema.codec import encode
from pramana.schema.domains import Labels, label_text
from pramana.schema.joint_cells import Counts
from pramana.schema.opened_table import OpenedTable, Part, TableFormat
from pramana.schema.schema import Column, Schema
from pramana.types import Codes, Progress, TableLike


@dataclass(frozen=True)
class LocalTable(SteppedTable):
    """A table on this machine, with the five verbs of :class:`pramana.engine.base.Table`.

    >>> from pramana.base.randomness import Keystream
    >>> people = LocalTable.of(pa.table({"sex": ["F", "M", "M"]}))
    >>> shuffled = people.shuffle(keystream=Keystream.from_seed(1))
    >>> sorted(shuffled.to_arrow()["sex"].to_pylist())
    ['F', 'M', 'M']

    Attributes:
        threads: How many parts are worked on at once.
        memory: Bytes that a shuffle holds before it goes to a temporary file.
    """

    threads: int = field(default_factory=default_threads)
    memory: int | None = None

    @classmethod
    def of(
        cls,
        table: TableLike,
        *,
        coded: Collection[str] = (),
        threads: int | None = None,
        memory: int | None = None,
    ) -> LocalTable:
        """From a table that can be opened; values of ``coded`` columns will be looked up."""
        opened = open_table(table)
        opened = opened.fitted(coded=coded) if coded else opened
        return cls(opened, (), default_threads() if threads is None else threads, memory)

    def count(self, columns: Sequence[Column], *, progress: Progress | None = None) -> Counts:
        """How many records have which combination of values in these columns."""
        counter, names = self._counter(columns), [column.name for column in columns]

        def codes_of(part: Part) -> list[Codes]:
            batch = part.load()
            return [encode(column, batch.column(column.name)) for column in columns]

        parts = self._parts(progress) if self.steps else self.opened.parts(names)
        for codes in in_order(codes_of, parts, threads=self.threads, cells=_cells(len(names))):
            counter.add(codes)
            if progress is not None:
                progress(len(codes[0]))
        return counter.result()

    def write(
        self,
        path: Path,
        *,
        file_format: TableFormat = "parquet",
        labels: Labels | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Write all records to one file, which appears whole or not at all; give their number."""
        batches = self.batches(progress)
        return write_records(self.schema(), batches, path, file_format=file_format, labels=labels)

    # -- what they rest on -----------------------------------------------------------------

    def batches(self, progress: Progress | None = None) -> Iterator[pa.RecordBatch]:
        """The records after all steps, in order."""
        parts, cells = self._parts(progress), _cells(len(self.schema()))
        for batch in in_order(lambda part: part.load(), parts, threads=self.threads, cells=cells):
            yield batch
            if progress is not None:
                progress(len(batch))

    def to_arrow(self, *, progress: Progress | None = None) -> pa.Table:
        """All records in memory."""
        return pa.Table.from_batches(list(self.batches(progress)), self.schema())

    def to_opened(self) -> OpenedTable:
        """All records in memory, opened."""
        return open_table(self.to_arrow())

    def _parts(self, progress: Progress | None) -> Iterator[Part]:
        """The parts of the table after all steps; ``progress`` hears of every shuffle."""
        parts, schema = self.opened.parts(), self.opened.schema
        for step in self.steps:
            if isinstance(step, MapBatches):
                parts, schema = _mapped(parts, step), step.schema
            else:
                parts = self._shuffled(parts, schema, step, progress)
        return parts

    def _shuffled(
        self, parts: Iterator[Part], schema: pa.Schema, step: Shuffle, progress: Progress | None
    ) -> Iterator[Part]:
        """The same records in their new order, one part per row group of the file to come."""
        shuffler = Shuffler(
            schema,
            keystream=step.keystream,
            stream=step.stream,
            records=self.records,
            memory=self.memory,
        )

        def scattered(part: Part) -> Piece:
            return shuffler.scatter(part.load(), part.position)

        for piece in in_order(scattered, parts, threads=self.threads, cells=_cells(len(schema))):
            shuffler.add(piece)
            if progress is not None:
                progress(len(piece.words))
        total, size = sum(shuffler.counts), group_size(len(schema))
        for begin in range(0, total, size):
            end = min(begin + size, total)
            yield Part(begin, end - begin, partial(shuffler.ordered, begin, end))


def _mapped(parts: Iterator[Part], step: MapBatches) -> Iterator[Part]:
    for part in parts:
        yield replace(
            part, load=partial(lambda part_now: step(part_now.load(), part_now.position), part)
        )


def _cells(columns: int) -> Callable[[Part], int]:
    """How many cells a part of this many columns has."""
    return lambda part: part.records * columns


class LocalEngine:
    """Files and data frames on this machine."""

    name: ClassVar[str] = "local"
    on_one_machine: ClassVar[bool] = True
    reads_files: ClassVar[bool] = True

    def read(self, path: str, *, master: str | None = None) -> TableLike:
        """The file itself."""
        self.connect(master)
        return path

    def connect(self, master: str | None) -> None:
        """Refused: there is no cluster."""
        if master is not None:
            raise InputError(
                f"--master names a cluster, and engine {self.name} has none: add --engine spark."
            )

    def each(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """By threads."""
        return in_order(function, items)

    def spread(self, opened: OpenedTable) -> OpenedTable:
        """The table itself."""
        return opened

    def serves(self, source: object) -> bool:
        """Whatever no other engine serves."""
        del source
        return True

    def open(self, source: TableLike, *, schema: Schema | None = None) -> OpenedTable:
        """A file of a known format, a data frame, or a table that is open already."""
        return open_table(source, schema=schema)

    def table(self, opened: OpenedTable, *, coded: Collection[str] = ()) -> LocalTable:
        """Its batches, worked on by threads."""
        return LocalTable.of(opened, coded=coded)

    def sums(self, opened: OpenedTable, asked: SumsAsked) -> pa.Table:
        """By the embedded database, which reads Parquet files where they lie."""
        return grouped_sums(opened, asked)

    def empty_like(self, source: TableLike) -> TableLike | None:
        """A frame of the same kind without records."""
        empty: TableLike | None = empty_like(source)
        return empty

    def as_kind(self, opened: OpenedTable, like: TableLike | None) -> TableLike:
        """A frame of the same kind with all records."""
        made: TableLike = to_kind(opened.to_arrow(), like)
        return made


LOCAL: Final = LocalEngine()


def open_relation(relation: Any) -> OpenedTable:
    """The rows of a relation, read once: a second query may return other rows."""
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

        table: pa.Table = without_dictionaries(opened.to_arrow(), relation_schema(like))
        return duckdb.from_arrow(table)


DUCKDB: Final = DuckdbEngine()


def grouped_sums(opened: OpenedTable, asked: SumsAsked) -> pa.Table:
    """One row per combination of values, with the sums that estimates need."""
    import duckdb

    value, weight, names = asked.value, asked.weight, opened.schema.names
    # To the database, names that differ in capitals alone are the same.
    numbered = len({name.casefold() for name in names}) < len(names)
    called = {name: f"c{at}" if numbered else _quoted(name) for at, name in enumerate(names)}
    w = f"CAST({called[weight]} AS DOUBLE)" if weight else ""
    sums = {"n": "CAST(count(*) AS DOUBLE)"}
    # A weight of one adds nothing to a count: the bare GROUP BY is all that is needed.
    sums |= (
        {"w": f"sum({w})", "ww": f"sum({w} * {w})"} if w else dict.fromkeys(("w", "ww"), sums["n"])
    )
    conditions: list[str] = []
    parameters: list[str] = []
    for condition in asked.where:
        number = require_number(opened.schema.field(condition.column).type, condition)
        text, values = _condition(condition, called[condition.column], number=number)
        conditions.append(text)
        parameters += values
    if value is not None:
        y = number_of = f"CAST({called[value]} AS DOUBLE)"
        if asked.beyond is not None:
            limit = number_in(label_text(asked.beyond.values[0]), asked.beyond.column)
            # The limit is a number, and so no text of SQL.
            comparison = f"{y} {asked.beyond.comparison} CAST('{limit!r}' AS DOUBLE)"
            y = f"CAST({comparison} AS DOUBLE)"
        wy, wwy = (f"{w} * {y}", f"{w} * {w} * {y}") if w else (y, y)
        sums |= {"wy": f"sum({wy})", "wwy": f"sum({wwy})", "wwyy": f"sum({wwy} * {y})"}
        conditions += [f"{called[value]} IS NOT NULL", f"NOT isnan({number_of})"]
    groups = [called[name] for name in asked.columns]
    terms = [f"{term} AS {_quoted(sum_name(name))}" for name, term in sums.items()]
    query = f"SELECT {', '.join([*groups, *terms])} FROM released"  # noqa: S608 - names are quoted
    query += f" WHERE {' AND '.join(conditions)}" if conditions else ""
    query += f" GROUP BY {', '.join(groups)}" if groups else ""
    needed = [*asked.columns, *(c.column for c in asked.where), *(n for n in (value, weight) if n)]
    with process_database().cursor() as connection:
        try:
            _attach(connection, opened, list(dict.fromkeys(needed)), called if numbered else {})
            answer = connection.sql(query, params=parameters).to_arrow_table()
        except duckdb.OutOfMemoryException:
            raise MemoryError from None
        except duckdb.Error:
            raise NotARelease("The released records cannot be read to their end.") from None
    return answer.rename_columns([*asked.columns, *answer.column_names[len(groups) :]])


def _attach(
    connection: Any, opened: OpenedTable, columns: list[str], called: Mapping[str, str]
) -> None:
    """Make the released records known under one name; Parquet files are read where they lie."""
    files = [str(file.path.absolute()) for file in opened.files]
    # The database would look for other files under names with stars and brackets.
    literal = not any(set(file) & set("*?[]{}") for file in files)
    if opened.format == "parquet" and literal and not called:
        places = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
        reading = f"read_parquet([{places}], hive_partitioning = false)"
        # A temporary view is this cursor's own, whatever others ask at the same time.
        connection.execute(f"CREATE TEMP VIEW released AS FROM {reading}")
        return
    table = opened.to_arrow(columns or None)
    names = [called.get(name, name) for name in table.column_names]
    connection.register("released", table.rename_columns(names))


def _condition(condition: Condition, column: str, *, number: bool) -> tuple[str, list[Any]]:
    if condition.comparison in ("=", "!="):
        values, missing = spelled(condition, number=number)
        one = f"CAST({column} AS VARCHAR) = ?"
        if number:
            one = f"CAST({column} AS DOUBLE) = CAST(? AS DOUBLE)"
            values = [str(number_in(value, condition.column)) for value in values]
        parts = [one] * len(values) + [f"{column} IS NULL"] * missing
        matches = f"coalesce({' OR '.join(parts)}, false)"
        return (matches if condition.comparison == "=" else f"NOT {matches}"), values
    (limit,) = condition.values
    text = f"CAST({column} AS DOUBLE) {condition.comparison} CAST(? AS DOUBLE)"
    return text, [str(number_in(label_text(limit), condition.column))]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
