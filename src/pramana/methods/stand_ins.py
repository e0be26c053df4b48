"""People like those of a table, on whom is counted what a certificate says of copies.

How many records stand in a release word for word hangs on who has which of the columns that travel
with a record, and on what was drawn for each. A promise takes just these as unknown: two people who
form a group and exchange their keys are told apart by a share of 0 or 1. So the figure that is
published is never that of the truth. It is counted on stand-ins, to whom the randomised columns are
handed round anew, and so it follows from what the promise takes as known, and from fresh chance.
The owner is told the exact one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pramana.engines.base import Table
from pramana.engines.choose import leaving
from pramana.engines.local.table import LocalTable
from pramana.formats.door import plain
from pramana.methods.plan import Plan
from pramana.randomise.noise import with_noise
from pramana.randomness import Keystream, Stream
from pramana.risk.verbatim import Verbatim, measure_verbatim, numbers_of
from pramana.table.alike import alike
from pramana.table.cells import joint_groups
from pramana.table.opened import OpenedTable
from pramana.types import IntArray

__all__ = ["copies_of_stand_ins", "drawn_by", "known_groups"]


def drawn_by(plan: Plan, opened: OpenedTable, keystream: Keystream) -> tuple[Table, Plan]:
    """The released records, in the types in which they leave, and the plan as it came out."""
    made, plan = plan.method.release(plan, opened, keystream)
    made = with_noise(made, plan.schema, keystream)
    return leaving(made, plan.method.published_schema(plan.schema), plan.mechanism.marks), plan


def copies_of_stand_ins(
    plan: Plan, opened: OpenedTable, released: OpenedTable, keystream: Keystream
) -> Verbatim:
    """How many records stand word for word, of people like these: groups and release are theirs.

    Where there are matrices and no groups, stand-ins get a release of their own.
    """
    if plan.stand_ins is not None:
        return measure_verbatim(plan.schema, LocalTable.of(plan.stand_ins).to_opened(), released)
    from pramana.kanonymity.tables import handed_round  # for those who group, and nobody else

    table = opened.to_arrow([column.name for column in plan.schema.released])
    table = table.take(_order_of_values(plan, table))
    groups = known_groups(table, plan.schema.known)
    everybody = np.zeros(table.num_rows, np.int64) if groups is None else groups
    randomised = [column.name for column in plan.schema.randomised]
    people = LocalTable.of(handed_round(table, randomised, everybody, keystream)).to_opened()
    made, _ = drawn_by(plan, people, keystream.apart(Stream("stand-ins", "release")))
    return measure_verbatim(plan.schema, people, made.to_opened())


def known_groups(table: pa.Table, known: Sequence[str]) -> IntArray | None:
    """One number a record, the same for records that agree in all known columns."""
    if not known:
        return None
    values = (alike(plain(table.column(name).combine_chunks())) for name in known)
    coded = [own.dictionary_encode() for own in values]
    return joint_groups([own.indices.fill_null(len(own.dictionary)).to_numpy() for own in coded])


def _order_of_values(plan: Plan, table: pa.Table) -> pa.Array:
    """Sorts records by all their values, so that the order of the truth decides nothing."""
    columns = plan.schema.released
    batches = table.combine_chunks().to_batches()
    numbers = [numbers_of(columns, batch, released=False) for batch in batches]
    return pa.array(np.argsort(np.concatenate(numbers), kind="stable"))
