"""The context of a design: completed schema, records, and the smallest anonymity set."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from typing import TypeVar

import pyarrow as pa

from pramana.base.rounding import require_number
from pramana.base.text import counted, records_that
from pramana.engine.choose import counts_of, smallest_anonymity_set, smallest_attached
from pramana.errors import Infeasible, InvalidNumber, InvalidTable, OutsideDomain
from pramana.guarantees.base import Amplified, Evidence, Guarantee
from pramana.guarantees.claims import attained, lacks
from pramana.guarantees.registry import words_to_ask
from pramana.mechanisms.mechanism import Mechanism
from pramana.methods.expected_error import step_domains
from pramana.release.methods import METHOD_CLASSES
from pramana.schema.codec import Refused, count_refused, encode, refuse
from pramana.schema.describe import complete
from pramana.schema.groups import smallest_group
from pramana.schema.joint_cells import CellRules, Counts
from pramana.schema.lookup import alike
from pramana.schema.opened_table import OpenedTable, is_number, is_whole
from pramana.schema.schema import Column, Schema
from pramana.schema.weights import CoarseWeight, coarse_weight_of, require_finite

NAMED = 5
"""Columns that an error names; of more it says that there are others."""

MOST_DROPPED = 20
"""Of so many known columns it is found out which to drop."""

Made = TypeVar("Made", bound=Mechanism)


@dataclass(frozen=True)
class DesignContext:
    """The people of a table, or those that are yet to be asked.

    Attributes:
        schema: every domain and every policy for missing values is stated.
        records: how many they are.
        anonymity_set: the fewest that share what an adversary may know and is released as it is.
        opened: their table, where there is one.
    """

    schema: Schema
    records: int
    anonymity_set: int
    opened: OpenedTable | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, schema: Schema, opened: OpenedTable) -> DesignContext:
        """Those of a table, under a schema that leaves nothing open."""
        return cls(schema, opened.rows, smallest_anonymity_set(schema, opened), opened)

    @classmethod
    def found(cls, schema: Schema, opened: OpenedTable, *, keep_numbers: bool) -> DesignContext:
        """Those of a table; what the schema leaves open is read off it.

        With ``numbers_stay`` a number without bins stays a number.
        """
        completed = complete(schema, opened)
        if keep_numbers:
            completed = completed.replace_columns(
                column
                for column in schema.columns
                if column.domain is None and is_number(opened.schema.field(column.name).type)
            )
        return cls.of(completed, opened)

    def splitting(self, needed: float) -> list[str]:
        """The known columns that leave fewer than ``needed`` alike, the weight first.

        Those that do so by themselves, as far as they will be named, or all where only several
        together do.
        """
        weight = self.schema.weight
        known = sorted(self.schema.known, key=lambda name: weight is None or name != weight.name)
        if self.opened is None:
            return known
        alone = list(islice(filter(partial(self._splits, needed), known), NAMED + 1))
        return alone or known

    def _splits(self, needed: float, name: str) -> bool:
        """Whether a column leaves fewer alike by itself."""
        return self.opened is not None and smallest_group(self.opened, [name], apart=True) < needed

    def too_few_records(self, said: str, needed: float, *, lower: str = "lower k") -> Infeasible:
        """The refusal of what needs more people alike: which columns split them, what to do."""
        if self.records < needed:  # no column is to blame
            there = counted(self.records, "record")
            return Infeasible(f"{said} The table has {there}: {lower}, or ask more people.")
        without = self._to_drop(needed)
        splitting = self.splitting(needed)
        rounded = self._rounded_weight(splitting, needed)
        return Infeasible(
            f"{said} {self._anonymity_set_advice(splitting, rounded, lower)}",
            code="too-few-alike",
            column=next(iter(splitting), None),
            without=without,
            coarser=self._to_coarsen(without, needed),
            rounded=None if rounded is None else rounded.entries | {"effect": rounded.shifted},
        )

    def _to_coarsen(self, without: tuple[str, ...], needed: float) -> tuple[str, ...]:
        """The weight, where it alone stands in the way and can be shared by enough."""
        weight, opened = self.schema.weight, self.opened
        if weight is None or without != (weight.name,) or opened is None:
            return ()
        usual = coarse_weight_of(opened, weight.name)
        enough = usual and usual == coarse_weight_of(opened, weight.name, needed)
        return without if enough else ()

    def _to_drop(self, needed: float) -> tuple[str, ...]:
        """Known columns without which so many are alike: those that split most go first."""
        names = [name for name in self.schema.known if name not in self.schema.strata]
        opened = self.opened
        if opened is None or len(names) > MOST_DROPPED:
            return ()
        alike = {name: smallest_group(opened, [name], apart=True) for name in names}
        order = sorted(names, key=lambda name: alike[name])
        for number in range(1, len(order) + 1):
            left = [name for name in self.schema.known if name not in order[:number]]
            anonymity_set = smallest_group(opened, left, apart=True) if left else opened.rows
            if anonymity_set >= needed:
                return tuple(order[:number])
        return ()

    def _rounded_weight(self, splitting: Sequence[str], needed: float) -> CoarseWeight | None:
        """How the weight would have to be rounded and cut, where it is one of these columns."""
        weight, opened = self.schema.weight, self.opened
        if weight is None or weight.name not in splitting or opened is None:
            return None
        return coarse_weight_of(opened, weight.name, needed)

    def _anonymity_set_advice(
        self, found: Sequence[str], rounded: CoarseWeight | None, lower: str
    ) -> str:
        """What to do about known columns that leave too few records alike."""
        if not found:
            return f"{lower[0].upper()}{lower[1:]}."
        weight = self.schema.weight
        others = [name for name in found if weight is None or name != weight.name]
        what = [] if others == found else [f"the weight '{found[0]}'"]
        ways = [_rounding(what[0], rounded)] if what else []
        named = [f"'{name}'" for name in others[:NAMED]]
        named += ["others"] if len(others) > NAMED else []
        what += named
        if others:
            them = " and ".join(named)
            it, key = ("it", "a key") if len(others) == 1 else ("them", "keys")
            ways.append(f"make {them} {key}, coarsen {it} or drop {it}")
        they, leave = ("it is", "leaves") if len(found) == 1 else ("they are", "leave")
        return (
            f"Released as {they}, {' and '.join(what)} {leave} too few people alike: "
            f"{'; '.join(ways)}; or {lower}."
        )

    @classmethod
    def expected(cls, schema: Schema, records: int, smallest_group: int | None) -> DesignContext:
        """Those who are yet to be asked."""
        if smallest_group is None and schema.known:
            raise InvalidNumber(
                f"{', '.join(schema.known)} will be released as they are and split the anonymity "
                f"set: say "
                "how many records the smallest group will have (smallest_group), or give the data."
            )
        require_number("the number of records", records, low=1)
        if smallest_group is not None:
            require_number("the smallest group", smallest_group, low=1, high=records)
        return cls(schema, records, records if smallest_group is None else smallest_group)

    def fixed(self, mechanism: Mechanism) -> Evidence:
        """What is known of matrices that do not depend on the data."""
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
        """Integer matrices that do not depend on the data, and what they attain.

        Rounding in floating point can overshoot by a few parts in 10**16, and a target must hold
        to the last bit: ``make`` is asked for matrices that keep less, by growing shares of their
        dial until every target is met.
        """
        for trim in (0.0, *(10.0**-power for power in range(15, 5, -1))):
            evidence = self.fixed(mechanism := make(trim))
            covered = [goal for goal in asked if lacks(type(goal), evidence) is None]
            computed = tuple(type(goal).evaluate(evidence, asked=goal) for goal in covered)
            if all(own.implies(goal) for own, goal in zip(computed, covered, strict=True)):
                return mechanism, attained(evidence, asked, computed=computed)
        raise unattainable(*asked)

    def counted(self, mechanism: Mechanism) -> Evidence:
        """What the owner knows of matrices that were chosen by looking at the data."""
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
        """The fewest that share all that is released as it is, whoever may know it.

        ``None`` where that is the anonymity set, or nobody can count yet.
        """
        if self.opened is None:
            return None
        with counting_refusals(self.schema, self.opened):
            return smallest_attached(self.schema, self.opened)

    @cached_property
    def counts(self) -> Counts:
        """How many have which combination of values that can be looked at."""
        if self.opened is None:
            raise InvalidNumber("This method chooses its matrices from the data: give the data.")
        with counting_refusals(self.schema, self.opened):
            return counts_of(self.schema, self.opened)

    def log_gamma_for(self, guarantee: Guarantee, *, method: str) -> float:
        """The largest ln gamma that meets a target which speaks of it; any other is refused."""
        if not isinstance(guarantee, Amplified):
            raise Infeasible(
                f"Method {method} does not aim at {guarantee.name}; it takes "
                f"{words_to_ask(METHOD_CLASSES[method].aims)}. Choose another method."
            )
        log_gamma = guarantee.log_amplification(anonymity_set=self.anonymity_set)
        if log_gamma > 0:
            return log_gamma
        k = getattr(guarantee, "k", None)
        if k is None:
            raise unattainable(guarantee)
        said = (
            f"{guarantee} cannot be met with an anonymity set of {self.anonymity_set:,}: the "
            f"largest attainable "
            f"k is {max(self.anonymity_set - 1, 1):,}."
        )
        if not math.isfinite(k):
            raise Infeasible(f"{said} Lower k.")
        # among no more than k, records say nothing about the truth
        raise self.too_few_records(said, math.floor(k) + 1)


def unattainable(*asked: object) -> Infeasible:
    """Targets that only pure noise would meet."""
    targets = " and ".join(map(str, asked))
    return Infeasible(
        f"{targets} cannot be met by records that say anything about the truth: loosen it."
    )


@contextmanager
def counting_refusals(schema: Schema, opened: OpenedTable) -> Iterator[None]:
    """A refusal inside tells the number of refused records of the whole table, not of a batch."""
    try:
        yield
    except OutsideDomain:
        require_coded(schema, opened)
        raise


def require_coded(schema: Schema, opened: OpenedTable) -> None:
    """Refuse what no method can release: values outside their domains, impossible combinations."""
    require_numbers(schema, opened)
    _require_domains((*schema.randomised, *schema.binned), opened)
    require_listed(schema, opened)
    for step in step_domains(schema) if schema.impossible else ():
        if len(step.columns) > 1:
            _refuse_impossible(schema, step.columns, opened)


def require_listed(schema: Schema, opened: OpenedTable) -> None:
    """Refuse values beside those listed, where what is listed tells numbers from reasons."""
    _require_domains(schema.listed, opened)


def _require_domains(columns: Iterable[Column], opened: OpenedTable) -> None:
    for column in columns:
        if column.domain is not None or column.missing == "refuse":
            parts = opened.summaries(partial(_refused, column), [column.name])
            refuse(column, sum(parts, start=Refused()))


def _rounding(what: str, rounded: CoarseWeight | None) -> str:
    """How to coarsen the weight, as lines of the schema."""
    from pramana.schema.toml import entry_of

    if rounded is None:
        return f"round {what} in larger steps (round in the schema) or drop it"
    entries = " and ".join(entry_of(word, number) for word, number in rounded.entries.items())
    how = f"{entries} in the schema: {rounded.shifted}"
    return f"round {what} and cut it at the top ({how}) or drop it"


def require_numbers(schema: Schema, opened: OpenedTable) -> None:
    """Refuse noise on what is no number, and weights that are none."""
    weight = schema.weight
    numbers = {column.name: "to add noise" for column in schema.noisy}
    numbers |= {} if weight is None else {weight.name: "to weigh answers"}
    for name, why in numbers.items():
        if not is_number(kind := opened.schema.field(name).type):
            raise InvalidTable(f"'{name}' must be a number {why}, and is {kind}.", column=name)
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
                f"The scale of noise on '{column.name}' must be at least 1, got {noise.scale:g}: "
                "whole numbers stay whole, and most or all of them would leave as they are.",
                column=column.name,
            )


def _refuse_impossible(schema: Schema, names: Sequence[str], opened: OpenedTable) -> None:
    """Refuse records that the schema says cannot exist, in the words of who releases them."""
    parts = opened.summaries(partial(_impossible, schema, names), names)
    wrong = sum(parts)
    together = " and ".join(f"'{name}'" for name in names)
    if wrong:
        raise OutsideDomain(
            f"{records_that(wrong, 'holds', 'hold')} a combination of "
            f"{together} that the schema calls "
            "impossible. Correct them, or drop the rule."
        )


def _impossible(schema: Schema, names: Sequence[str], batches: Iterable[pa.RecordBatch]) -> int:
    rules, total = CellRules.of(schema, names), 0
    for batch in batches:
        codes = [encode(schema.column(name), batch.column(name)) for name in names]
        total += batch.num_rows - int(rules.possible(codes).sum())
    return total


def _refused(column: Column, batches: Iterable[pa.RecordBatch]) -> Refused:
    values = (batch.column(column.name) for batch in batches)
    if column.domain is None:  # a number that stays one has no value outside
        return Refused(missing=sum(alike(own).null_count for own in values))
    return sum((count_refused(column, own) for own in values), start=Refused())
