"""What methods with matrices do to records: encode and draw, shuffle, decode."""

from __future__ import annotations

from dataclasses import replace

from pramana.base.randomness import Keystream
from pramana.engine.base import Table
from pramana.engine.choose import engine_of
from pramana.errors import DoesNotHold
from pramana.guarantees.claims import attained
from pramana.mechanisms.randomiser import Randomiser
from pramana.methods.base import fingerprint
from pramana.methods.context import DesignContext
from pramana.methods.plan import Plan
from pramana.schema.opened_table import OpenedTable


def randomised(
    plan: Plan, opened: OpenedTable, keystream: Keystream, *, context: DesignContext | None = None
) -> tuple[Table, Plan]:
    """Every record through the matrices of the plan, then shuffled.

    ``context`` is that of the table, where it has been counted already.
    """
    plan = plan_for_table(
        plan, context or DesignContext.of(plan.schema, opened), seeded=keystream.reproducible
    )
    randomiser = Randomiser(plan.schema, plan.mechanism, opened.schema, keystream)
    made = (
        engine_of(opened, coded=plan.schema.apart)
        .map_batches(randomiser.encode, schema=randomiser.coded)
        .shuffle(keystream=keystream)
        .map_batches(randomiser.decode, schema=randomiser.released)
    )
    return made, plan


def plan_for_table(plan: Plan, context: DesignContext, *, seeded: bool) -> Plan:
    """The plan with the numbers of this very table; refused if they fall short of the target.

    Promises are computed anew. What a method of withheld matrices tells of its tables (unbiased as
    they stand, with these errors) is true of the counts that it was made for alone, so that its
    plan serves no others; published matrices are read as they are, whatever the counts, and of
    their plan only the figures for the owner fall. With a seed, what rests on fresh randomness is
    not promised.
    """
    try:
        known = context.counted if plan.method.data_dependent else context.fixed
        evidence = replace(known(plan.mechanism), seeded=seeded)
        basis = None if evidence.counts is None else fingerprint(evidence.counts)
        found = (context.records, context.anonymity_set, evidence.smallest_unchanged_group, basis)
        same = found == (
            plan.records,
            plan.anonymity_set,
            plan.smallest_unchanged_group,
            plan.basis,
        )
        if same and (plan.method.data_dependent or not seeded):
            return plan
        if plan.basis not in (None, basis):
            plan = _for_other_counts(plan, basis)
        price = plan.expected_error
        return replace(
            plan,
            expected_error=price and price.for_records(context.records, was=plan.records),
            records=context.records,
            anonymity_set=context.anonymity_set,
            smallest_unchanged_group=evidence.smallest_unchanged_group,
            attained=attained(evidence, plan.asked),
        )
    except DoesNotHold as error:
        raise DoesNotHold(
            f"{error} The plan was made for {plan.records:,} records in groups of at least "
            f"{plan.anonymity_set:,}; this table has {context.records:,} in groups of at least "
            f"{context.anonymity_set:,}. Design again with these data."
        ) from None


def _for_other_counts(plan: Plan, basis: str | None) -> Plan:
    """What is left of a plan whose matrices were chosen for other counts."""
    if plan.nature.withholds_matrices:
        raise DoesNotHold(
            f"Method {plan.method.name} chose its matrices for the counts of another table, and "
            "frequencies are unbiased in that one alone."
        )
    return replace(plan, statistics={}, expected_error=None, basis=basis)
