"""The context of a design, and what methods with matrices do to the records of a table.

The context is the completed schema, the number of records, and the smallest anonymity set. Records
are encoded and drawn, shuffled, and decoded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import pyarrow as pa

from pramana.base.randomness import Keystream
from pramana.base.rounding import require_number
from pramana.base.text import counted, quoted, records_that
from pramana.engine.base import (
    Table,
    counts_of,
    engine_of,
    smallest_anonymity_set,
    smallest_attached,
)
from pramana.errors import DoesNotHold, Infeasible, InvalidNumber, InvalidTable, OutsideDomain
from pramana.guarantees.base import Amplified, Evidence, Guarantee, Searched
from pramana.guarantees.claims import attained, lacks, words_to_ask
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism
from pramana.mechanisms.randomiser import Randomiser, Reporter
from pramana.methods.base import Method, fingerprint
from pramana.methods.expected_error import step_domains
from pramana.methods.plan import Plan
from pramana.release.kinds import METHOD_CLASSES
from pramana.schema.codec import Refused, alike, count_refused, encode, refuse
from pramana.schema.describe import complete
from pramana.schema.group_sizes import group_sizes
from pramana.schema.joint_cells import CellRules, Counts
from pramana.schema.opened_table import OpenedTable, is_number, is_whole
from pramana.schema.schema import Column, Schema
from pramana.schema.schema_file import entry_of
from pramana.schema.weights import CoarseWeight, coarse_weight_of, require_finite

NAMED = 5
"""The number of columns that an error names; further ones are called "others"."""

MOST_DROPPED = 20
"""Up to this many known columns are tried for which to drop."""

Made = TypeVar("Made", bound=Mechanism)


@dataclass(frozen=True)
class DesignContext:
    """What a method designs for: a table, or a survey that is yet to be collected.

    Attributes:
        schema: completed: every domain and every policy for missing values is declared.
        records: the number of records.
        anonymity_set: the smallest number of records that agree in all known columns released
            unchanged.
        opened: the original table, if there is one.
        draft: whether plans are only compared: guarantees that nobody asked are not computed.
    """

    schema: Schema
    records: int
    anonymity_set: int
    opened: OpenedTable | None = field(default=None, repr=False, compare=False)
    draft: bool = False

    @classmethod
    def of(cls, schema: Schema, opened: OpenedTable) -> DesignContext:
        """The context of a table under a completed schema."""
        return cls(schema, opened.rows, smallest_anonymity_set(schema, opened), opened)

    @classmethod
    def completed(cls, schema: Schema, opened: OpenedTable, *, keep_numbers: bool) -> DesignContext:
        """The context of a table, open domains read off it (but numbers, if ``keep_numbers``)."""
        completed = complete(schema, opened)
        if keep_numbers:
            completed = completed.replace_columns(
                column
                for column in schema.columns
                if column.domain is None and is_number(opened.schema.field(column.name).type)
            )
        return cls.of(completed, opened)

    @classmethod
    def expected(cls, schema: Schema, records: int, smallest_group: int | None) -> DesignContext:
        """The context of a survey that is yet to be collected."""
        if smallest_group is None and schema.known:
            raise InvalidNumber(
                "{known} will be released unchanged and split the anonymity set: say how many "
                "records the smallest group will have (smallest_group), or give the data.",
                known=", ".join(schema.known),
            )
        require_number("the number of records", records, low=1)
        if smallest_group is not None:
            require_number("the smallest group", smallest_group, low=1, high=records)
        return cls(schema, records, records if smallest_group is None else smallest_group)

    def too_few_records(self, said: str, needed: float, *, lower: str = "lower k") -> Infeasible:
        """The error for a target that needs more records alike: which columns split them."""
        if self.records < needed:  # no column is to blame
            there = counted(self.records, "record")
            lower = "" if self.records < 2 else f"{lower}, or "
            return Infeasible(
                "{said} The table has {there}: {lower}ask more people.",
                said=said,
                there=there,
                lower=lower,
            )
        schema, weight, opened = self.schema, self.schema.weight, self.opened
        known = sorted(schema.known, key=lambda name: weight is None or name != weight.name)
        splitting, rounded = known, None
        to_drop: tuple[str, ...] = ()
        coarser: tuple[str, ...] = ()
        if opened is not None:
            alike = {name: group_sizes(opened, [name], apart=True).smallest()
                     for name in known[:MOST_DROPPED]}  # fmt: skip
            splitting = [name for name in alike if alike[name] < needed] or known
            to_drop = self._to_drop(alike, needed)
        if opened is not None and weight is not None:
            if weight.name in splitting:
                rounded = coarse_weight_of(opened, weight.name, needed)
            usual = coarse_weight_of(opened, weight.name) if to_drop == (weight.name,) else None
            if usual and usual == coarse_weight_of(opened, weight.name, needed):
                coarser = to_drop
        return Infeasible(
            "{said} {advice}",
            code="too-few-alike",
            column=next(iter(splitting), None),
            without=to_drop,
            coarser=coarser,
            rounded=None if rounded is None else rounded.entries | {"effect": rounded.shifted},
            said=said,
            advice=self._advice(splitting, rounded, lower),
        )

    def _to_drop(self, alike: Mapping[str, int], needed: float) -> tuple[str, ...]:
        """Known columns without which enough records are alike; the worst splitters go first."""
        names = [name for name in self.schema.known if name not in self.schema.strata]
        if self.opened is None or len(self.schema.known) > MOST_DROPPED:
            return ()
        order = sorted(names, key=alike.__getitem__)
        for number in range(1, len(order) + 1):
            left = [name for name in self.schema.known if name not in order[:number]]
            smallest = self.opened.rows
            if left:
                smallest = group_sizes(self.opened, left, apart=True).smallest()
            if smallest >= needed:
                return tuple(order[:number])
        return ()

    def _advice(self, splitting: Sequence[str], rounded: CoarseWeight | None, lower: str) -> str:
        if not splitting:
            return f"{lower[0].upper()}{lower[1:]}."
        weight = self.schema.weight
        others = [name for name in splitting if weight is None or name != weight.name]
        subjects, remedies = [], []
        if others != splitting:
            subjects.append(f"the weight '{splitting[0]}'")
            how = "in larger steps (round in the schema)"
            if rounded is not None:
                entries = " and ".join(entry_of(*entry) for entry in rounded.entries.items())
                how = f"and cut it at the top ({entries} in the schema: {rounded.shifted})"
            remedies.append(f"round {subjects[0]} {how} or drop it")
        if others:
            named = [f"'{name}'" for name in others[:NAMED]]
            named += ["others"] if len(others) > NAMED else []
            subjects += named
            it, key = ("it", "a key") if len(others) == 1 else ("them", "keys")
            remedies.append(f"make {' and '.join(named)} {key}, coarsen {it} or drop {it}")
        leave = "leaves" if len(splitting) == 1 else "leave"
        return (
            f"Released unchanged, {' and '.join(subjects)} {leave} too small anonymity sets: "
            f"{'; '.join(remedies)}; or {lower}."
        )

    def plan(
        self,
        method: Method,
        mechanism: Mechanism,
        asked: Sequence[Guarantee],
        reached: Sequence[Guarantee],
        **more: Any,
    ) -> Plan:
        """A plan for this table or survey; one that depends on the data names its counts."""
        counted = method.data_dependent and bool(mechanism.columns)
        return Plan(
            schema=self.schema,
            mechanism=mechanism,
            method=method,
            records=self.records,
            anonymity_set=self.anonymity_set,
            asked=tuple(asked),
            attained=tuple(reached),
            basis=fingerprint(self.counts) if counted else None,
            smallest_unchanged_group=None
            if method.data_dependent
            else self.smallest_unchanged_group,
            **more,
        )

    def fixed(self, mechanism: Mechanism) -> Evidence:
        """The evidence for matrices that do not depend on the data."""
        return Evidence(
            self.schema,
            self.records,
            self.anonymity_set,
            mechanism,
            smallest_unchanged_group=self.smallest_unchanged_group,
        )

    def within(
        self, asked: Sequence[Guarantee], make: Callable[[float], Made]
    ) -> tuple[Made, tuple[Guarantee, ...]]:
        """Integer matrices that do not depend on the data, and the guarantees that they attain.

        A target must hold to the last bit: ln gamma is trimmed by growing shares until all do.
        """
        for trim in (0.0, *(10.0**-power for power in range(15, 5, -1))):
            evidence = self.fixed(mechanism := make(trim))
            covered = [goal for goal in asked if lacks(type(goal), evidence) is None]
            computed = tuple(self._reached(goal, evidence) for goal in covered)
            if all(reached.implies(goal) for reached, goal in zip(computed, covered, strict=True)):
                if self.draft and len(covered) == len(asked):
                    return mechanism, computed
                return mechanism, attained(evidence, asked, computed=computed)
        raise unattainable(*asked)

    def _reached(self, goal: Guarantee, evidence: Evidence) -> Guarantee:
        """What holds in place of a target; in a draft the target itself, if it is met."""
        if self.draft and isinstance(goal, Searched) and goal.met_by(evidence):
            return goal
        return type(goal).evaluate(evidence, asked=goal)

    def for_drafts(self) -> DesignContext:
        """The same context for plans that are only compared; nothing is counted again."""
        draft = replace(self, draft=True)
        vars(draft)["smallest_unchanged_group"] = self.smallest_unchanged_group
        return draft

    def completed_draft(self, plan: Plan) -> Plan:
        """A draft with every guarantee that holds; a plan that states more than targets stays."""
        if len(plan.attained) > len(plan.asked):
            return plan
        evidence = self.fixed(plan.mechanism)
        computed = [self._reached(goal, evidence) for goal in plan.asked]
        return replace(plan, attained=attained(evidence, plan.asked, computed=computed))

    def counted(self, mechanism: Mechanism) -> Evidence:
        """The owner's evidence for matrices that were chosen by looking at the data."""
        return Evidence(
            self.schema,
            self.records,
            self.anonymity_set,
            mechanism,
            data_dependent=True,
            counts=self.counts,
        )

    @cached_property
    def smallest_unchanged_group(self) -> int | None:
        """The fewest records that agree in all unchanged columns; ``None`` if all are known."""
        if self.opened is None:
            return None
        with counting_refusals(self.schema, self.opened):
            return smallest_attached(self.schema, self.opened)

    @cached_property
    def counts(self) -> Counts:
        """The number of records of each combination of key values."""
        if self.opened is None:
            raise InvalidNumber("This method chooses its matrices from the data: give the data.")
        with counting_refusals(self.schema, self.opened):
            return counts_of(self.schema, self.opened)

    def log_gamma_for(self, guarantee: Guarantee, *, method: str) -> float:
        """The largest ln gamma that meets a target on the amplification; others are refused."""
        if not isinstance(guarantee, Amplified):
            raise Infeasible(
                "Method {method} does not aim at {guarantee}; it takes {aims}. Choose another "
                "method.",
                method=method,
                guarantee=guarantee.name,
                aims=words_to_ask(METHOD_CLASSES[method].aims),
            )
        log_gamma = guarantee.log_amplification(anonymity_set=self.anonymity_set)
        if log_gamma > 0:
            return log_gamma
        k = getattr(guarantee, "k", None)
        if k is None:
            raise unattainable(guarantee)
        said = (
            f"{guarantee} cannot be met with an anonymity set of {self.anonymity_set:,}: the "
            f"largest attainable k is {max(self.anonymity_set - 1, 1):,}."
        )
        if not math.isfinite(k):
            raise Infeasible("{said} Lower k.", said=said)
        # Among no more than k records, released values carry no information.
        raise self.too_few_records(said, math.floor(k) + 1)


def unattainable(*asked: object) -> Infeasible:
    """The error for targets that only pure noise meets."""
    targets = " and ".join(map(str, asked))
    return Infeasible("{targets} can be met by pure noise only: loosen it.", targets=targets)


@contextmanager
def counting_refusals(schema: Schema, opened: OpenedTable) -> Iterator[None]:
    """Report refused records of the whole table, not of the batch that was read."""
    try:
        yield
    except OutsideDomain:
        require_coded(schema, opened)
        raise


def require_coded(schema: Schema, opened: OpenedTable) -> None:
    """Refuse values outside their domains and combinations that the schema calls impossible."""
    require_numbers(schema, opened)
    _require_domains((*schema.randomised, *schema.binned), opened)
    require_listed(schema, opened)
    for step in step_domains(schema) if schema.impossible else ():
        rules = CellRules.of(schema, step.columns)
        columns = [schema.column(name) for name in step.columns]

        def count(
            batches: Iterable[pa.RecordBatch], rules: CellRules = rules, columns: Any = columns
        ) -> int:
            coded = ([encode(c, batch.column(c.name)) for c in columns] for batch in batches)
            return sum(int((~rules.possible(codes)).sum()) for codes in coded)

        impossible = sum(opened.summaries(count, step.columns)) if len(columns) > 1 else 0
        if impossible:
            raise OutsideDomain(
                "{records} a combination of {columns} that the schema calls impossible. Correct "
                "them, or drop the rule.",
                records=records_that(impossible, "holds", "hold"),
                columns=quoted(step.columns),
            )


def require_listed(schema: Schema, opened: OpenedTable) -> None:
    """Refuse unlisted values of number columns whose schema lists missing codes."""
    _require_domains(schema.listed, opened)


def _require_domains(columns: Iterable[Column], opened: OpenedTable) -> None:
    for column in columns:
        if column.domain is None and column.missing != "refuse":
            continue

        def count(batches: Iterable[pa.RecordBatch], column: Column = column) -> Refused:
            values = (batch.column(column.name) for batch in batches)
            if column.domain is None:  # a number that stays one has no value outside its domain
                return Refused(missing=sum(alike(array).null_count for array in values))
            return sum((count_refused(column, array) for array in values), start=Refused())

        refuse(column, sum(opened.summaries(count, [column.name]), start=Refused()))


def require_numbers(schema: Schema, opened: OpenedTable) -> None:
    """Refuse noise on columns that hold no numbers, and weights that are not finite."""
    weight = schema.weight
    numbers = {column.name: "to add noise" for column in schema.noisy}
    numbers |= {} if weight is None else {weight.name: "to weigh answers"}
    for name, why in numbers.items():
        if not is_number(kind := opened.schema.field(name).type):
            raise InvalidTable(
                "'{column}' must be a number {why}, and is {kind}.", column=name, why=why, kind=kind
            )
    if weight is not None:
        require_finite(opened, weight.name)
    for column in schema.noisy:
        noise = column.recoding.noise
        if (
            noise is not None
            and noise.scale < 1
            and is_whole(opened.schema.field(column.name).type)
        ):
            raise InvalidTable(
                "The scale of noise on '{column}' must be at least 1, got {scale:g}: whole "
                "numbers stay whole, and most or all of them would stay unchanged.",
                column=column.name,
                scale=noise.scale,
            )


def randomised(
    plan: Plan, opened: OpenedTable, keystream: Keystream, *, context: DesignContext | None = None
) -> tuple[Table, Plan]:
    """Every record through the matrices of the plan, or of one attribute set, then shuffled."""
    plan = plan_for_table(
        plan, context or DesignContext.of(plan.schema, opened), seeded=keystream.reproducible
    )
    sampled = isinstance(plan.mechanism, AttributeSampler)
    kind: Any = Reporter if sampled else Randomiser
    randomiser = kind(plan.schema, plan.mechanism, opened.schema, keystream)
    made = (
        engine_of(opened, coded=plan.schema.apart)
        .map_batches(randomiser.encode, schema=randomiser.coded)
        .shuffle(keystream=keystream)
        .map_batches(randomiser.decode, schema=randomiser.released)
    )
    return made, plan


def plan_for_table(plan: Plan, context: DesignContext, *, seeded: bool) -> Plan:
    """The plan with the numbers of this table; refused if they fall short of the targets.

    A plan of withheld matrices serves no other counts than those that it was made for.
    """
    try:
        known = context.counted if plan.method.data_dependent else context.fixed
        evidence = replace(known(plan.mechanism), seeded=seeded)
        basis = None if evidence.counts is None else fingerprint(evidence.counts)
        current = (context.records, context.anonymity_set, evidence.smallest_unchanged_group, basis)
        same = current == (
            plan.records,
            plan.anonymity_set,
            plan.smallest_unchanged_group,
            plan.basis,
        )
        if same and (plan.method.data_dependent or not seeded):
            return plan
        if plan.basis not in (None, basis):
            if plan.nature.withholds_matrices:
                raise DoesNotHold(
                    "Method {method} chose its matrices for the counts of another table, and "
                    "frequencies are unbiased in that one alone.",
                    method=plan.method.name,
                )
            plan = replace(plan, statistics={}, expected_error=None, basis=basis)
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
            "{error} The plan was made for {records:,} records in groups of at least "
            "{anonymity_set:,}; this table has {rows:,} in groups of at least "
            "{smallest:,}. Design again with these data.",
            error=error,
            records=plan.records,
            anonymity_set=plan.anonymity_set,
            rows=context.records,
            smallest=context.anonymity_set,
        ) from None
