"""A whole table with new keys from groups of at least k records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import NotCovered
from pramana.kanonymity.diversity import Sensitive
from pramana.kanonymity.tables import anonymise
from pramana.methods.grouped import with_groups
from pramana.methods.plan import Plan
from pramana.randomness import Keystream
from pramana.table.opened import OpenedTable
from pramana.table.schema import Role

__all__ = ["regrouped"]


def regrouped(
    opened: OpenedTable, plan: Plan, *, known: Sequence[str], keystream: Keystream
) -> tuple[pa.Table, Plan]:
    """The records with new keys, in their old order, and the plan with what the groups attain.

    Groups never cross the values of ``known`` columns, which an adversary may know and which are
    released as they are.
    """
    grouping = plan.grouping
    if grouping is None:
        raise NotCovered(f"Method {plan.method} forms no groups.")
    released = [column.name for column in plan.schema.released]
    table = opened.to_arrow(released)
    sensitive: tuple[Sensitive, ...] = ()
    if grouping.distinct > 1 or grouping.closeness < 1:
        sensitive = tuple(
            Sensitive.of(
                column.name,
                table.column(column.name),
                l=grouping.distinct,
                t=grouping.closeness,
            )
            for column in plan.schema.columns
            if column.role is Role.SENSITIVE
        )
    made = anonymise(
        table,
        plan.schema.randomised,
        k=grouping.k,
        method=grouping.method,
        keystream=keystream,
        clustering=grouping.clustering,
        responses=grouping.responses,
        response_weight=grouping.response_weight,
        max_size=grouping.max_size,
        sensitive=sensitive,
        strata=_strata(table, known),
    )
    return made.table, with_groups(plan, sizes=made.sizes, share=made.share)


def _strata(table: pa.Table, known: Sequence[str]) -> NDArray[np.int64] | None:
    """One number a record, the same for records that agree in all known columns."""
    if not known:
        return None
    codes = np.zeros(table.num_rows, dtype=np.int64)
    for name in known:
        column = table.column(name).combine_chunks()
        places = column.dictionary_encode() if not pa.types.is_dictionary(column.type) else column
        own = np.asarray(places.indices.fill_null(len(places.dictionary)))
        _, codes = np.unique(codes * (len(places.dictionary) + 1) + own, return_inverse=True)
    return codes
