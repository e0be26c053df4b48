"""What a group of alike records tells about a sensitive column: l-diversity and t-closeness.

    distinct l   the fewest different values in a group                    [Machanavajjhala06]
    entropy l    exp of the smallest entropy: so many equally likely values would be as uncertain
    t            the largest distance between the values of a group and those of all records [Li07]

The distance is the earth mover's: between categories every move costs 1, so that it is half of
the sum of absolute differences; between ordered values a move costs the ranks that it passes, as
a share of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pramana.risk.coded_table import AlikeRecords, code_column
from pramana.schema.domains import Label
from pramana.schema.groups import distance_of_groups
from pramana.schema.lookup import present
from pramana.schema.opened_table import OpenedTable
from pramana.types import Form, IntArray

__all__ = ["Diversity", "diversity_of", "sensitive_codes"]


@dataclass(frozen=True)
class Diversity:
    """What the groups tell about one sensitive column."""

    column: str
    distinct: int
    entropy: float
    t: float
    ordered: bool
    exposed: int
    """Records whose group holds one value only, or none: who is in it is known to have no other."""

    def to_json(self) -> Form:
        """A plain form."""
        return {
            "column": self.column,
            "distinct_l": self.distinct,
            "entropy_l": self.entropy,
            "t": self.t,
            "distance": "ordered" if self.ordered else "equal",
            "records_in_groups_of_one_value": self.exposed,
        }


def sensitive_codes(
    table: OpenedTable, name: str, *, missing_values: Sequence[Label] = ()
) -> tuple[IntArray, int, bool, int]:
    """Codes of a column, their number, whether they are ordered, the code of missing ones or -1."""
    column = present(table.to_arrow([name]).column(0), missing_values)
    codes, size, missing = code_column(column)
    values = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_integer(values) or pa.types.is_floating(values)):
        return codes.astype(np.int64), size, False, missing
    first = np.full(size, -1, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    plain = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    order = np.argsort(np.where(np.arange(size) == missing, np.inf, plain[first]), kind="stable")
    rank = np.empty(size, np.int64)
    rank[order] = np.arange(size)
    return rank[codes], size, True, int(rank[missing]) if missing >= 0 else -1


def diversity_of(
    name: str,
    groups: AlikeRecords,
    codes: IntArray,
    size: int,
    *,
    ordered: bool,
    missing: int = -1,
) -> Diversity:
    """l and t of one sensitive column, over all groups at once; a missing value is none for l."""
    pairs = AlikeRecords.of([groups.of_record, codes], [len(groups.numbers), size])
    group, value = groups.of_record[pairs.first], codes[pairs.first]
    share = pairs.numbers / groups.numbers[group]
    kinds = np.bincount(group[value != missing], minlength=len(groups.numbers))
    entropy = np.bincount(group, weights=-share * np.log(share), minlength=len(groups.numbers))
    overall = np.bincount(codes, minlength=size) / len(codes)
    far = distance_of_groups(group, value, share, overall, ordered=ordered)
    return Diversity(
        column=name,
        distinct=int(kinds.min()),
        entropy=float(np.exp(max(entropy.min(), 0.0))),
        t=float(far.max(initial=0.0)),
        ordered=ordered,
        exposed=int(groups.numbers[kinds <= 1].sum()),
    )
