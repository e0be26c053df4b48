"""Sums over groups of released records, by the engine that holds the records."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pramana.engines import duckdb
from pramana.engines.duckdb import Comparison, Condition
from pramana.table.frames import is_spark
from pramana.table.opened import OpenedTable

__all__ = ["Comparison", "Condition", "grouped_sums"]


def grouped_sums(
    opened: OpenedTable,
    columns: Sequence[str],
    *,
    value: str | None = None,
    weight: str | None = None,
    where: Sequence[Condition] = (),
) -> pa.Table:
    """One row a combination of values of ``columns``, with the sums that estimates need."""
    if not is_spark(opened.source):
        return duckdb.grouped_sums(opened, columns, value=value, weight=weight, where=where)
    from pramana.engines.spark_sums import grouped_sums as by_spark

    return by_spark(opened, columns, value=value, weight=weight, where=where)
