"""Disclosure risk of a table: frequencies of keys, and diversity of sensitive columns.

    distinct l   the fewest different values in an equivalence class       [Machanavajjhala06]
    entropy l    exp of the smallest entropy: the number of equally likely values as uncertain
    t            the largest distance between a class's values and those of all records [Li07]

The distance is the earth mover's. Between categories every move costs 1: half of the L1 distance.
Between ordered values a move costs the ranks that it passes, as a share of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from pramana.base.rounding import require_number
from pramana.base.text import Shown, percent_up, plain, records_that, text_up
from pramana.errors import NotCovered
from pramana.risk.coded_table import (
    CodedTable,
    EquivalenceClasses,
    ReportedSets,
    code_column,
    number_column,
    require_present,
)
from pramana.risk.frequencies import (
    Frequencies,
    HouseholdRisk,
    MissingPolicy,
    PopulationRisk,
    SubsetRisk,
    individual_risk,
    subset_risks,
)
from pramana.risk.individual import IndividualRisks
from pramana.schema.codec import present
from pramana.schema.domains import Bins, Label
from pramana.schema.groups import distance_of_groups
from pramana.schema.households import households_of
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import REPORTED, Schema
from pramana.types import Form, IntArray

IN_PART = (
    "With attribute sampling a record has a few columns. The risks in the population and of "
    "households are those of whole records, and were not measured."
)


@dataclass(frozen=True, repr=False)
class TableAudit(Shown):
    """The disclosure risk of a table.

    Attributes:
        records: the number of records.
        keys: the columns by which a person could be recognised.
        missing: the policy for missing values in them.
        asked: the k below which a frequency is a violation.
        k: the smallest frequency.
        uniques: records that no other one equals on the keys.
        violations: records with a frequency below ``asked``.
        combinations: the number of different combinations of keys.
        histogram: the number of records by frequency.
        population: the risk in the population, where there are weights.
        diversity: of each sensitive column inside the groups.
        subsets: the risk by few keys, worst first.
        households: the risk of households, where a column numbers them.
        binned: keys that were counted in the bins of a schema.
        by_set: whether records have the keys of their attribute set, and equal those of it alone.
        notes: what was not measured, and why.
        individual: the risk of every record, where a table is audited that is no release.
    """

    records: int
    keys: tuple[str, ...]
    missing: MissingPolicy
    asked: float
    k: int
    uniques: int
    violations: int
    combinations: int
    histogram: dict[str, int]
    population: PopulationRisk | None
    diversity: tuple[Diversity, ...]
    subsets: tuple[SubsetRisk, ...]
    households: HouseholdRisk | None = None
    binned: tuple[str, ...] = ()
    by_set: bool = False
    notes: tuple[str, ...] = ()
    individual: IndividualRisks | None = None

    def shown(self) -> tuple[str, list[str]]:
        """As the prompt and notebooks show it."""
        return f"Audit of {self.records:,} records by {', '.join(self.keys)}", self.sentences()

    def to_json(self) -> Form:
        """Values for JSON."""
        return plain(
            self,
            "records keys binned by_set missing k uniques violations combinations "
            "population subsets households notes individual",
        ) | {
            "k_asked": self.asked,
            "frequencies": self.histogram,
            "sensitive": [entry.to_json() for entry in self.diversity],
        }

    def sentences(self) -> list[str]:
        """The findings in plain words."""
        share = percent_up(Fraction(self.uniques, self.records))
        where = f" ({', '.join(self.binned)} in bins)" if self.binned else ""
        on = "their reported columns of " if self.by_set else ""
        among = ", among the records of the same attribute set" if self.by_set else ""
        first = (
            f"{self.uniques:,} of {self.records:,} records ({share}) "
            f"{'is' if self.uniques == 1 else 'are'} unique on {on}{', '.join(self.keys)}{where}"
            f"{among}"
        )
        if self.asked > 2:  # fewer than two is unique
            asked = text_up(self.asked, 6)
            have = records_that(self.violations, "has", "have")
            first += f"; {have} fk < {asked} (fewer than {asked} equal records, itself included)"
        lines = [f"{first}."]
        if self.population is not None:
            lines.append(
                f"By the sampling weights, about {text_up(self.population.expected)} records "
                f"could be re-identified in the population; the largest risk of a record is "
                f"{percent_up(self.population.highest)}."
            )
        if self.individual is not None:
            lines += self.individual.sentences()
        if self.households is not None:
            lines.append(self.households.sentence())
        group = "same attribute set and values" if self.by_set else "same keys"
        lines += [
            f"Records with the {group} have at least {entry.distinct} value"
            f"{'s' if entry.distinct != 1 else ''} of '{entry.column}'; "
            f"{records_that(entry.exposed, 'lies', 'lie')} in groups with one value only."
            for entry in self.diversity
        ]
        worst = next((s for s in self.subsets if len(s.keys) < len(self.keys)), None)
        if worst is not None and worst.violations:
            few = ""
            if self.asked > 2:
                few = f"{worst.violations:,} with fk < {text_up(self.asked, 6)} and "
            among = ", among the records with all of them" if self.by_set else ""
            lines.append(
                f"The riskiest subset of the keys is {', '.join(worst.keys)}: {few}"
                f"{worst.uniques:,} unique{among}."
            )
        return [*lines, *self.notes]


def audit_table(
    table: OpenedTable,
    *,
    keys: Sequence[str],
    k: float = 2,
    sensitive: Sequence[str] = (),
    weight: str | None = None,
    missing: MissingPolicy = "category",
    width: int = 3,
    schema: Schema | None = None,
    released: bool = False,
    household: str | None = None,
    asked: ReportedSets | None = None,
    individual: bool = False,
) -> TableAudit:
    """Measure the risk of a table; of a table that is no release also that of every record."""
    require_number("k", k, low=1)
    require_number("width", width, low=0)
    others = [name for name in (weight, household) if name is not None]
    require_present(table, [*keys, *sensitive, *others])
    if asked is not None and REPORTED in (*keys, *sensitive, *others):
        raise NotCovered(
            f"'{REPORTED}' is the attribute set of a record, which was drawn at random: it is no "
            "attribute of a person. Leave it out."
        )
    notes = (IN_PART,) if asked is not None and others else ()
    if notes:
        weight = household = None
    coded = CodedTable.of(table, keys, schema=schema, released=released, asked=asked)
    weights = None if weight is None else number_column(table, weight, what="The weight")
    whole = coded if asked is None else coded.by_set(asked)
    counted = Frequencies.of(whole, weights=weights, missing=missing)
    groups = counted.grouping
    households = None
    if household is not None:
        risk = 1 / counted.sample
        if counted.population is not None:
            risk = individual_risk(counted.sample, counted.population)
        homes = households_of(table, household)
        households = HouseholdRisk.of(household, homes, risk[groups.of_record])
    diversity = []
    for name in sensitive:
        described = schema.column(name) if schema is not None and name in schema.names else None
        none = () if described is None else described.codes_for_missing
        codes, size, ordered, gap = sensitive_codes(table, name, missing_values=none)
        inside = groups
        if asked is not None:  # among the records that were asked for the column
            rows = asked.told([name])
            if not rows.any():
                continue
            codes = codes[rows]
            inside = EquivalenceClasses.of([groups.of_record[rows]], [len(groups.numbers)])
        diversity.append(diversity_of(name, inside, codes, size, ordered=ordered, missing=gap))
    bins = () if schema is None else schema.columns
    return TableAudit(
        records=coded.records,
        keys=tuple(keys),
        missing=missing,
        asked=k,
        k=counted.smallest,
        uniques=counted.below(2),
        violations=counted.below(k),
        combinations=len(groups.numbers),
        histogram=counted.histogram(),
        population=PopulationRisk.of(counted),
        diversity=tuple(diversity),
        subsets=subset_risks(
            coded, groups, k=k, width=width, weights=weights, missing=missing, asked=asked
        ),
        households=households,
        binned=tuple(c.name for c in bins if c.name in keys and isinstance(c.domain, Bins)),
        by_set=asked is not None,
        notes=notes,
        individual=IndividualRisks.of(coded, counted) if individual else None,
    )


@dataclass(frozen=True)
class Diversity:
    """The diversity of one sensitive column inside groups of equal keys.

    ``exposed`` are the records in groups with one value only, or none.
    """

    column: str
    distinct: int
    entropy: float
    t: float
    ordered: bool
    exposed: int

    def to_json(self) -> Form:
        """Values for JSON."""
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
    groups: EquivalenceClasses,
    codes: IntArray,
    size: int,
    *,
    ordered: bool,
    missing: int = -1,
) -> Diversity:
    """L and t of one sensitive column, over all groups at once; a missing value is none for l."""
    pairs = EquivalenceClasses.of([groups.of_record, codes], [len(groups.numbers), size])
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
