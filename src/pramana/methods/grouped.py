"""Methods ``centroid``, ``resample``, ``permute``, ``gaussian``: k-anonymity by groups [Wei].

The groups are formed when the table is protected; the plan says how, and what that promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pramana.errors import Infeasible, InvalidSchema
from pramana.guarantees.base import Guarantee
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.matrices.grouping import Grouping
from pramana.matrices.mechanism import Mechanism
from pramana.methods.plan import Plan
from pramana.table.schema import Schema, require_keys

__all__ = ["GROUPED_METHODS", "grouped_plan", "with_groups"]

GROUPED_METHODS = ("centroid", "resample", "permute", "gaussian")


def grouped_plan(
    schema: Schema,
    asked: Sequence[Guarantee],
    *,
    method: str,
    records: int,
    crowd: int,
    grouping: Grouping | None = None,
) -> Plan:
    """Groups of at least k records, and keys drawn inside them."""
    require_keys(schema)
    if len(asked) != 1 or not isinstance(asked[0], KAnonymity):
        raise Infeasible(f"Method {method} promises k-anonymity alone: ask for one k.")
    k = asked[0].k
    if k > crowd:
        raise Infeasible(
            f"k = {k:,} cannot be met: the smallest group of records that share the columns "
            f"released as they are has {crowd:,}. Lower k, or release fewer columns as they are."
        )
    if schema.impossible and method == "centroid":
        raise InvalidSchema(
            "Method centroid can make combinations that the schema calls impossible. Use resample, "
            "permute or gaussian, which release keys of real records only."
        )
    return Plan(
        schema=schema,
        mechanism=Mechanism(()),
        method=method,
        records=records,
        crowd=crowd,
        asked=tuple(asked),
        attained=(KAnonymity(k),),
        data_dependent=True,
        grouping=replace(grouping or Grouping(method, k), method=method, k=k),
        public={"meaning": KAnonymity(k).means(method)},
    )


def with_groups(plan: Plan, *, sizes: Sequence[int], share: float) -> Plan:
    """The plan with what the groups of this very table attain; refused if that falls short."""
    attained = KAnonymity.of(sizes)
    public = {
        **plan.public,
        "meaning": attained.means(plan.method),
        "within_group_share": round(share, 4),
    }
    return replace(plan, attained=(attained,), public=public)
