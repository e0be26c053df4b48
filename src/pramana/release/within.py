"""What records with the same released keys hold of sensitive columns.

Where a group is released with one set of keys, anyone can see it, or a union of several. A union
has at least as many distinct values as each of its parts, and lies at most as far from the whole
table as the farthest of them. So a stated number of values, or a stated closeness, that a union
falls short of was not kept by the groups [Li07], [Machanavajjhala06].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from pramana.release.certificate import Certificate
from pramana.release.checks import Check
from pramana.table.cells import joint_groups
from pramana.table.closeness import codes_of, distance_of_groups
from pramana.table.groups import COUNT, GroupSizes
from pramana.table.schema import Role
from pramana.text import text_up
from pramana.types import FloatArray

__all__ = ["WithinKeys"]

ROUNDING = 1e-9


class WithinKeys:
    """Values of sensitive columns by released keys, counted batch by batch."""

    def __init__(self, certificate: Certificate, keys: Sequence[str]) -> None:
        options = certificate.options if certificate.nature.grouped else {}
        self.distinct = _number(options.get("distinct"), 1)
        self.closeness = _number(options.get("closeness"), 1.0)
        self.keys = len(keys)
        asked = keys and (self.distinct > 1 or self.closeness < 1)
        self.sizes = {
            name: GroupSizes([*keys, name]) for name in (_as_grouped(certificate) if asked else ())
        }

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the records of a batch."""
        for sizes in self.sizes.values():
            sizes.add(batch)

    def checks(self) -> Iterator[Check]:
        """One a column."""
        for name, sizes in self.sizes.items():
            fewest, farthest = _within(sizes.total(), self.keys)
            good = fewest >= self.distinct and farthest <= self.closeness + ROUNDING
            yield Check.of(
                f"{name} by released keys",
                good,
                f"at least {fewest:,} values share each combination, {self.distinct:,} are stated; "
                f"at most {text_up(farthest, 3)} from the whole, {text_up(self.closeness, 3)} is",
            )


def _number(stated: object, default: float) -> float:
    known = isinstance(stated, int | float) and not isinstance(stated, bool)
    return stated if known else default  # type: ignore[return-value]


def _as_grouped(certificate: Certificate) -> list[str]:
    """Sensitive columns that are released as they were when groups were formed."""
    schema = certificate.true_schema
    changed = {column.name for column in schema.noisy}
    changed |= {column.name for column in schema.columns if column.drawn}
    return [c.name for c in schema.columns if c.role is Role.SENSITIVE and c.name not in changed]


def _within(total: pa.Table, keys: int) -> tuple[int, float]:
    """The fewest values of a combination of keys, and the largest distance of one to all."""
    if not len(total):
        return 0, 0.0
    codes = [codes_of(total.column(at))[0] for at in range(keys)]
    group = joint_groups(codes) if codes else np.zeros(len(total), np.int64)
    value, missing, ordered = codes_of(total.column(keys))
    counts = np.asarray(total.column(COUNT), dtype=np.float64)
    present = np.bincount(group, weights=value != missing)  # each value of a group has one row
    share = counts / np.bincount(group, weights=counts)[group]
    overall = np.bincount(value, weights=counts) / counts.sum()
    far: FloatArray = distance_of_groups(group, value, share, overall, ordered=ordered)
    return int(present.min()), float(far.max(initial=0.0))
