"""Method ``attribute-sampling``: each record reports one set of columns at the whole budget.

k, epsilon and (rho1, rho2) bound the amplification of each attribute set by itself, whichever set
is drawn (docs/proofs/attribute_sampling.md). So a pair of columns gets the budget that whole
records divide among all their columns, and its table is many times more precise for the same
guarantee. In exchange no record reports the joint values of many columns.

A table T is estimated from every set S that contains it. With retention
p_S = (gamma - 1) / (gamma + D_S - 1), D_S the number of possible cells of S, and pi_S the share of
records that report S, the information about T is info_T = sum over S of pi_S p_S**2, and the
expected L1 error of its estimate about sqrt(2 D_T / (pi n info_T)) as a share of the records
(SetShares.error has the exact expectation). The shares minimise

    sum over the tables wanted of w_T sqrt(D_T / info_T),

which is convex in pi. Multiplicative steps pi_S *= sqrt(slope_S) keep pi a distribution and never
raise the sum; they start at the closed form for disjoint tables, pi_S ~ (w sqrt(D) / p)^(2/3), and
end where the steepest slope proves that no other shares are better by more than NEAR.

Columns that no table names are reported by themselves, by LEFT of the records.

Sets of three and more columns pay only while D_S <= gamma: beyond that the retention falls faster
than columns are won. A wanted table that is larger is replaced by the pairs in it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import ClassVar

import numpy as np

from pramana.base.rounding import LARGEST_LOG_GAMMA, TOTAL, largest_parameter, require_number
from pramana.base.text import (
    as_table,
    as_tables,
    in_shell,
    listed,
    names_of_table,
    percent,
    tables_of,
)
from pramana.errors import Infeasible, InvalidNumber, InvalidSchema, TooLarge, UnknownColumn
from pramana.guarantees.base import Guarantee, Searched
from pramana.guarantees.claims import words_to_ask
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet
from pramana.mechanisms.transition import Label, UniformMixture
from pramana.methods.base import AmplificationAims, Method, option
from pramana.methods.context import DesignContext
from pramana.methods.expected_error import (
    ExpectedError,
    StepDomain,
    likely_shares,
    mean_squares,
    randomised_in,
    step_domains,
)
from pramana.methods.plan import Plan
from pramana.release.certificate import Certificate
from pramana.schema.domains import Labels
from pramana.schema.roles import Role
from pramana.schema.schema import (
    CATEGORY_LIMIT,
    REPORTED,
    Column,
    Schema,
    require_domains,
    require_keys,
)
from pramana.types import Entries, FloatArray, Form

Set = tuple[str, ...]

STEPS = 400
NEAR = 2e-4
"""The most steps; they end if the sum of errors is within this share of the least."""

MOST_SETS = 3_000
"""The most sets that are considered."""

MOST_CELLS = 20_000
"""Sets of more columns than a wanted table have at most this many cells."""

RARE = 1e-4
"""Sets below this share of the largest are left out: they cost cells and bring nothing."""

LEFT = 0.1
"""The share of the records for columns that no table names."""

NEARLY = 1e-7
"""Integers over 2**64 match real numbers within this share."""

FEWEST_RECORDS, MOST_RECORDS = 1, 10**18

FEW = 20.0
"""With fewer effective records of a set than this, single columns are reported too."""


@dataclass(frozen=True)
class SetShares:
    """Attribute sets, their shares of the records (which sum to 1), and their retentions."""

    sets: tuple[Set, ...]
    shares: tuple[float, ...]
    retentions: tuple[float, ...]

    @cached_property
    def _places(self) -> dict[str, set[int]]:
        return _places_of_columns(self.sets)

    def _containing(self, table: Sequence[str]) -> list[tuple[float, float]]:
        """Share and retention of every informative set that contains a table."""
        places = set.intersection(*(self._places.get(name, set()) for name in table))
        pairs = ((self.shares[place], self.retentions[place]) for place in sorted(places))
        return [(share, retention) for share, retention in pairs if retention > 0]

    def information(self, table: Sequence[str]) -> float:
        """The average information of a record about a table: 1 for unchanged values."""
        return math.fsum(share * retention**2 for share, retention in self._containing(table))

    def error(self, table: Sequence[str], cells: int, *, records: int) -> float:
        """The expected L1 error of a table as a share of the records, for an uneven table."""
        return self._error(table, cells, likely_shares(1 / cells), records=records)

    def most_error(self, table: Sequence[str], cells: int, records: int) -> float:
        """The largest error: for equally frequent cells [Cauchy-Schwarz]."""
        return self._error(table, cells, np.full(1, 1 / cells), records=records)

    def _error(self, table: Sequence[str], cells: int, true: FloatArray, *, records: int) -> float:
        """The error if the shares of the cells are equally likely to be each of these."""
        information = self.information(table)
        if information <= 0:
            return math.inf
        share, retention = np.array(self._containing(table)).T
        weight = share * retention**4 / information**2
        inside, outside = mean_squares(retention, np.full(len(retention), 1 / cells))
        square = true * (weight @ inside) + (1 - true) * (weight @ outside)
        variance = square - true**2 * weight.sum() - true * (1 - true)
        deviation = float(np.sqrt(np.maximum(variance, 0)).mean())
        return cells * deviation * math.sqrt(2 / math.pi / records)


def _places_of_columns(sets: Sequence[Set]) -> dict[str, set[int]]:
    places: dict[str, set[int]] = {}
    for place, columns in enumerate(sets):
        for name in columns:
            places.setdefault(name, set()).add(place)
    return places


def retention_of(cells: int, gamma: float) -> float:
    """The retention of a set with this many cells at an amplification of gamma."""
    return 1.0 if math.isinf(gamma) else (gamma - 1) / (gamma + cells - 1)


def reported_tables(
    tables: Mapping[Set, float], cells: Callable[[Set], int], gamma: float
) -> dict[Set, float]:
    """The tables that can be reported for those wanted: themselves if small, else their pairs."""
    wanted: dict[Set, float] = {}
    for table, weight in tables.items():
        if not weight > 0:
            raise InvalidNumber(
                "The weight of {table} must be above 0, got {weight}.",
                table="*".join(table),
                weight=weight,
            )
        small = len(table) <= 2 or cells(table) <= gamma
        for part in [table] if small else itertools.combinations(table, 2):
            wanted[part] = wanted.get(part, 0.0) + weight
    return wanted


def candidate_sets(
    wanted: Sequence[Set], columns: Sequence[str], cells: Callable[[Set], int], gamma: float
) -> tuple[Set, ...]:
    """The tables wanted, single columns, and larger sets of at most gamma cells."""
    order = {name: place for place, name in enumerate(columns)}
    sets = dict.fromkeys([*((name,) for name in columns), *wanted])
    limit = min(gamma, MOST_CELLS)
    grown: list[Set] = [table for table in wanted if cells(table) <= limit]
    while grown and len(sets) < MOST_SETS:
        larger = dict.fromkeys(
            tuple(sorted((*table, name), key=order.__getitem__))
            for table in grown
            for name in columns
            if name not in table
        )
        grown = [table for table in larger if table not in sets and cells(table) <= limit]
        grown = sorted(grown, key=cells)[: MOST_SETS - len(sets)]
        sets |= dict.fromkeys(grown)
    return tuple(sets)


def report_shares(
    columns: Sequence[str],
    tables: Mapping[Set, float],
    cells: Callable[[Set], int],
    *,
    gamma: float,
    records: int,
) -> SetShares:
    """The sets and shares that make the tables wanted most precise.

    Args:
        columns: all columns that are randomised, in the order of the schema.
        tables: the tables wanted with their weights, columns in the same order.
        cells: the number of possible cells of a set of columns.
        gamma: the amplification that the guarantee allows.
        records: the number of records.
    """
    wanted = reported_tables(tables, cells, gamma)
    named = {name for table in wanted for name in table}
    retentions = [retention_of(cells(table), gamma) for table in wanted]
    if records / len(wanted) * float(np.mean(np.square(retentions))) < FEW:
        # Pairs have so few effective records that only margins can be estimated
        single: dict[Set, float] = {}
        for table, weight in wanted.items():
            for name in table:
                single[(name,)] = single.get((name,), wanted.get((name,), 0.0)) + weight
        wanted |= single
    wanted |= _unnamed(wanted, [(name,) for name in columns if name not in named], cells, gamma)
    sets = candidate_sets(list(wanted), columns, cells, gamma)
    retention = np.array([retention_of(cells(candidate), gamma) for candidate in sets])
    shares = _best_shares(wanted, sets, retention, cells)
    frequent = shares > RARE * shares.max()
    used = frequent.copy()
    places = _places_of_columns(sets)
    for table in wanted:  # the best set of every table that none of the sets used contains
        containing = sorted(set.intersection(*(places[name] for name in table)))
        if not frequent[containing].any():
            used[containing[::-1][int(np.argmax(shares[containing[::-1]]))]] = True
    sets, retention = tuple(itertools.compress(sets, used)), retention[used]
    shares = _best_shares(wanted, sets, retention, cells)
    return SetShares(sets, tuple(shares.tolist()), tuple(retention.tolist()))


def chosen_again(
    stated: Mapping[Set, float],
    columns: Sequence[str],
    tables: Mapping[Set, float],
    cells: Callable[[Set], int],
    *,
    gamma: float,
) -> bool:
    """Whether these sets and shares are chosen, for few records or for many."""
    # Weights are rounded: gamma at the choice may lie on the other side of a bound
    gammas = (gamma, gamma * (1 + NEARLY), gamma * (1 - NEARLY))
    for tried, records in itertools.product(gammas, (FEWEST_RECORDS, MOST_RECORDS)):
        made = report_shares(columns, tables, cells, gamma=tried, records=records)
        shares = dict(zip(made.sets, made.shares, strict=True))
        if set(shares) == set(stated) and all(
            math.isclose(share, stated[columns], rel_tol=10 * NEARLY)
            for columns, share in shares.items()
        ):
            return True
    return False


def _unnamed(
    wanted: Mapping[Set, float], others: Sequence[Set], cells: Callable[[Set], int], gamma: float
) -> dict[Set, float]:
    """Columns in no table, at the weight by which LEFT of the records report them."""

    def price(table: Set, weight: float) -> float:
        scaled = weight * math.sqrt(cells(table)) / retention_of(cells(table), gamma)
        return float(scaled ** (2 / 3))

    if not others or not wanted:
        return dict.fromkeys(others, 1.0)
    total = math.fsum(price(table, weight) for table, weight in wanted.items())
    ratio = LEFT / (1 - LEFT) * total / math.fsum(price(table, 1.0) for table in others)
    return dict.fromkeys(others, min(ratio**1.5, *wanted.values()))


def _best_shares(
    wanted: Mapping[Set, float],
    sets: Sequence[Set],
    retention: FloatArray,
    cells: Callable[[Set], int],
) -> FloatArray:
    """Multiplicative steps from the closed form."""
    places = _places_of_columns(sets)
    containing = [sorted(set.intersection(*(places[n] for n in table))) for table in wanted]
    # One entry for each table and each set that contains it
    table = np.repeat(np.arange(len(wanted)), [len(members) for members in containing])
    which = np.array([*itertools.chain(*containing)])
    gain = retention[which] ** 2
    price = np.array([weight * math.sqrt(cells(t)) for t, weight in wanted.items()])
    least = 0.1 * min(wanted.values())
    weights = np.array([wanted.get(columns, least) for columns in sets])
    sizes = np.array([cells(columns) for columns in sets], dtype=np.float64)
    shares: FloatArray = (weights * np.sqrt(sizes) / retention) ** (2 / 3)
    shares /= shares.sum()
    for _ in range(STEPS):
        information = np.bincount(table, gain * shares[which], len(wanted))
        slope = np.bincount(which, gain * (price * information**-1.5)[table], len(sets))
        # The sum is convex, and half the steepest slope bounds what is still to be won of it
        if slope.max() <= (1 + 2 * NEAR) * (shares @ slope):
            break
        shares = shares * np.sqrt(slope)
        shares /= shares.sum()
    return shares


def whole_weights(shares: Sequence[float]) -> tuple[int, ...]:
    """Integers over 2**64 in proportion to shares, each at least 1, that sum to 2**64.

    >>> sum(whole_weights([0.25, 0.5, 0.25])) == 2**64
    True
    """
    weights = [max(1, int(share * TOTAL)) for share in shares]
    largest = weights.index(max(weights))
    weights[largest] += TOTAL - sum(weights)
    return tuple(weights)


MOST_PAIRS = 20_000
"""The largest number of pairs that is sampled by default, of 200 columns; else single columns."""

MOST_SUGGESTED = 12
"""The largest number of tables that a suggested command lists."""

MARK = "columns that the record reports; its other cells are empty"


@dataclass(frozen=True)
class AttributeSampling(Method):
    """Each record reports one random set of columns at the whole privacy budget.

    Attributes:
        tables: the tables of interest; by default the tables of the schema, or all pairs of
            columns.
    """

    tables: tuple[Set, ...] = option(
        (),
        "Planned tables, such as 'age*income,region*sex'; by default the tables of the schema, "
        "else all pairs.",
        metavar="TABLES",
        read=tables_of,
    )

    name: ClassVar[str] = "attribute-sampling"
    when: ClassVar[str] = (
        "You need tables of a few out of many columns. Their estimates are far more precise than "
        "from whole records for the same guarantee."
    )
    aims = AmplificationAims()
    owner_statistics: ClassVar[frozenset[str] | None] = frozenset()
    kind: ClassVar[str] = "attribute-sampling"
    instead: ClassVar[str] = "reports a few columns of each record, with the whole privacy budget"

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", tables_of(self.tables))

    def design(self, context: DesignContext, asked: Sequence[Guarantee]) -> Plan:
        """The attribute sets, their probabilities, and a uniform mixture for each."""
        schema, records = context.schema, context.records
        require_keys(schema)
        require_domains(schema)
        require_number("the number of records", records, low=1)
        require_sampled(schema)
        domain = SetCells(schema)
        wanted = self._wanted(schema)

        def shared(log_gamma: float) -> SetShares:
            gamma = math.exp(min(log_gamma, LARGEST_LOG_GAMMA))
            return report_shares(domain.names, wanted, domain.count, gamma=gamma, records=records)

        def met(guarantee: Searched, log_gamma: float) -> bool:
            model = _same_sizes(shared(log_gamma), domain, log_gamma)
            return guarantee.met_by(context.fixed(model))

        log_gamma = _largest_log_gamma(asked, context, met)
        shares = shared(log_gamma)
        mechanism, reached = context.within(
            asked, lambda trim: _mechanism(shares, domain, log_gamma * (1 - trim))
        )
        stated = self._stated(schema)
        expected = _expected(shares, wanted, domain, records, asked=bool(stated))
        named = {name for table in stated for name in table}
        unnamed = [name for name in domain.names if named and name not in named]
        tables = self.tables or schema.tables
        notices = list(_unchanged_notices(schema, tables))
        if not named and math.comb(len(domain.names), 2) > MOST_PAIRS:
            notices.append(
                f"The {len(domain.names)} columns have too many pairs to sample each of them: the "
                "design minimises the errors of single columns. Plan tables of several columns "
                "(--tables) to estimate them precisely."
            )
        if unnamed:
            gamma = math.exp(min(log_gamma, LARGEST_LOG_GAMMA))
            kept = [name for name in domain.names if name in named]
            fewer = report_shares(kept, stated, domain.count, gamma=gamma, records=records)
            without = _expected(fewer, stated, domain, records, asked=True)
            errors = [shares.most_error((n,), domain.count((n,)), records) for n in unnamed]
            notices.insert(
                0, _unnamed_notice(unnamed, errors, tables, shares, expected.mean, without.mean)
            )
        return context.plan(
            replace(self, tables=tables),
            mechanism,
            asked,
            reached,
            expected_error=expected,
            statistics={
                "sets": _sets_to_json(mechanism),
                "unnamed": unnamed,
                "about_tables": notices,
            },
        )

    def _stated(self, schema: Schema) -> dict[Set, float]:
        """The randomised columns of the declared tables, with the number of tables as weights."""
        names = {column.name for column in schema.randomised}
        wanted: dict[Set, float] = {}
        for table in self.tables or schema.tables:
            for name in table:
                if name not in names | {column.name for column in schema.released_as_is}:
                    raise UnknownColumn(
                        "tables names '{column}', which is not released. Randomised are: "
                        "{randomised}.",
                        column=name,
                        randomised=", ".join(c.name for c in schema.randomised),
                    )
            if len(set(table)) != len(table):
                raise InvalidNumber(
                    "Table {table} must name each column once.", table="*".join(table)
                )
            if randomised := randomised_in(schema, table):
                wanted[randomised] = wanted.get(randomised, 0.0) + 1.0
        return wanted

    def _wanted(self, schema: Schema) -> dict[Set, float]:
        """The declared tables; if none has a randomised column, all pairs or all single columns."""
        if stated := self._stated(schema):
            return stated
        names = tuple(column.name for column in schema.randomised)
        estimable: list[Set] = []
        if math.comb(len(names), 2) <= MOST_PAIRS:
            cells, pairs = SetCells(schema), itertools.combinations(names, 2)
            # Pairs with too many cells cannot be estimated: their records serve the other pairs.
            estimable = [pair for pair in pairs if cells.count(pair) <= CATEGORY_LIMIT]
        return dict.fromkeys(estimable, 1.0) or {(name,): 1.0 for name in names}

    @classmethod
    def published_labels(cls, labels: Labels) -> Labels:
        """The labels of the table, and one for the column of attribute sets."""
        return replace(labels, variables={**labels.variables, REPORTED: MARK})

    def published_schema(self, schema: Schema) -> Schema:
        """The released columns, and one that names the attribute set of each record."""
        mark = Column(REPORTED, Role.SENSITIVE, missing="refuse")
        return replace(schema, columns=(*schema.released, mark), household=None)

    @classmethod
    def expected_error_of(cls, certificate: Certificate) -> ExpectedError | None:
        """The expected error of the published attribute sets."""
        mechanism, schema = certificate.mechanism, certificate.true_schema
        if not isinstance(mechanism, AttributeSampler):
            return None
        method = cls._listed(certificate)
        shares = SetShares(
            tuple(attributes.columns for attributes in mechanism.sets),
            tuple(float(attributes.share) for attributes in mechanism.sets),
            tuple(float(attributes.matrix.retention) for attributes in mechanism.sets),
        )
        wanted, asked = method._wanted(schema), bool(method._stated(schema))
        return _expected(shares, wanted, SetCells(schema), certificate.records, asked=asked)

    @classmethod
    def expected_fields(cls, certificate: Certificate) -> tuple[Entries, Entries]:
        """The declared tables, which must be tables of released columns."""
        method = cls._listed(certificate)
        method._wanted(certificate.true_schema)
        return method.disclosed(), {}

    @classmethod
    def reproduces_matrices(cls, certificate: Certificate) -> bool | None:
        """Whether the published tables, or all pairs, lead to these attribute sets and shares."""
        mechanism = certificate.mechanism
        if not isinstance(mechanism, AttributeSampler):
            return None
        matrices = [attributes.matrix for attributes in mechanism.sets]
        gammas = [float(Fraction(matrix.gamma)) for matrix in matrices if matrix.size > 1]
        gamma = max(gammas, default=1.0)
        if not gamma > 1 or min(gammas) < gamma * (1 - NEARLY):
            return False  # some set has less than the whole budget
        if certificate.collected is not None:
            return None
        cells = SetCells(certificate.true_schema)
        wanted = cls._listed(certificate)._wanted(certificate.true_schema)
        shares = {attributes.columns: float(attributes.share) for attributes in mechanism.sets}
        return chosen_again(shares, cells.names, wanted, cells.count, gamma=gamma)

    @classmethod
    def _listed(cls, certificate: Certificate) -> AttributeSampling:
        """The method with the tables that a certificate lists."""
        tables = certificate.options.get("tables", ())
        return cls(tables=tuple(names_of_table(str(table)) for table in tables))

    def disclosed(self) -> Entries:
        """The tables that the attribute sets were chosen for."""
        return {"tables": [as_table(table) for table in self.tables]} if self.tables else {}


def require_sampled(schema: Schema) -> None:
    """Refuse schemas that attribute sampling cannot serve."""
    if REPORTED in schema.names:
        raise InvalidSchema(
            "Attribute sampling adds a column '{reported}', and the table has one too. Rename it.",
            reported=REPORTED,
        )
    fixed = [column.name for column in schema.randomised if column.fixed]
    if fixed:
        raise Infeasible(
            "Values of {fixed} are exempt or kept missing, so their records would be released "
            "unchanged: no finite epsilon and no k above 1 can hold. Drop the exemption.",
            fixed=", ".join(fixed),
        )


def _largest_log_gamma(
    asked: Sequence[Guarantee], context: DesignContext, met: Callable[[Searched, float], bool]
) -> float:
    """The largest ln gamma of an attribute set that meets every target."""
    if not asked:
        raise InvalidNumber(
            "State what to aim at, one of: {aims}.", aims=words_to_ask(AttributeSampling.aims)
        )
    searched = [guarantee for guarantee in asked if isinstance(guarantee, Searched)]
    bounded = [guarantee for guarantee in asked if not isinstance(guarantee, Searched)]
    log_gamma = min(
        (context.log_gamma_for(target, method="attribute-sampling") for target in bounded),
        default=math.inf,
    )
    for guarantee in searched:
        holds, most = cache(partial(met, guarantee)), min(log_gamma, LARGEST_LOG_GAMMA)
        low, high = 0.0, min(1.0, most)
        while high < most and holds(high):  # from below: a large gamma has large sets
            low, high = high, min(2 * high, most)
        log_gamma = largest_parameter(holds, low=low, high=high)
    if math.exp(min(log_gamma, LARGEST_LOG_GAMMA)) <= 1 or math.isinf(log_gamma):
        raise Infeasible("Attribute sampling needs a target between no guarantee and pure noise.")
    return log_gamma


class SetCells:
    """The possible cells of attribute sets."""

    def __init__(self, schema: Schema) -> None:
        self.names = tuple(column.name for column in schema.randomised)
        self.steps: tuple[StepDomain, ...] = step_domains(schema)
        self._sizes = {step.columns[0]: step.size for step in self.steps if len(step.columns) == 1}
        self._counts: dict[Set, int] = {}
        self._step = {name: at for at, step in enumerate(self.steps) for name in step.columns}

    def _parts(self, columns: Set) -> list[tuple[Set, tuple[tuple[Label, ...], ...]]]:
        """The groups of tied columns in a set, with their possible cells."""
        parts = []
        for step in (self.steps[at] for at in sorted({self._step[name] for name in columns})):
            inside = tuple(name for name in step.columns if name in columns)
            if len(step.columns) == 1:
                parts.append((inside, tuple((label,) for label in step.labels)))
            else:
                parts.append((inside, tuple(dict.fromkeys(step.parts(inside)))))
        return parts

    def count(self, columns: Set) -> int:
        """The number of possible cells of a set."""
        if columns not in self._counts:
            free = [self._sizes[name] for name in columns if name in self._sizes]
            tied = tuple(name for name in columns if name not in self._sizes)
            parts = self._parts(tied) if tied else []
            self._counts[columns] = math.prod(free) * math.prod(len(cells) for _, cells in parts)
        return self._counts[columns]

    def labels(self, columns: Set) -> tuple[Label, ...]:
        """The possible cells: values of a single column, or tuples in the order of the columns."""
        if self.count(columns) > CATEGORY_LIMIT:
            raise TooLarge(
                "A report of {columns} has {count:,} cells; at most {category_limit:,} can be "
                "served. Coarsen one of them.",
                columns=" and ".join(columns),
                count=self.count(columns),
                category_limit=CATEGORY_LIMIT,
            )
        parts = self._parts(columns)
        if len(parts) == len(columns) > 1:  # no two columns are tied: all combinations
            labels = {inside[0]: [label for (label,) in cells] for inside, cells in parts}
            return tuple(itertools.product(*(labels[name] for name in columns)))
        order = [name for inside, _ in parts for name in inside]
        places = [order.index(name) for name in columns]
        cells = (
            tuple(itertools.chain.from_iterable(combined))
            for combined in itertools.product(*(cells for _, cells in parts))
        )
        ordered = (tuple(cell[place] for place in places) for cell in cells)
        return tuple(cell[0] for cell in ordered) if len(columns) == 1 else tuple(ordered)


def _same_sizes(shares: SetShares, domain: SetCells, log_gamma: float) -> AttributeSampler:
    """A sampler with the same guarantees: sets of the same sizes and shares without labels."""
    sizes = [domain.count(columns) for columns in shares.sets]
    made, weights = _by_size(sizes, log_gamma), whole_weights(shares.shares)
    parts = enumerate(zip(sizes, weights, strict=True))
    return AttributeSampler(
        sets=tuple(AttributeSet((str(n),), w, made[size]) for n, (size, w) in parts)
    )


def _mechanism(shares: SetShares, domain: SetCells, log_gamma: float) -> AttributeSampler:
    """Integer weights and matrices; each matrix keeps within ln gamma to the last bit."""
    cells = [domain.labels(columns) for columns in shares.sets]
    made, weights = _by_size(map(len, cells), log_gamma), whole_weights(shares.shares)
    return AttributeSampler(
        sets=tuple(
            AttributeSet(columns, weight, UniformMixture(labels, made[len(labels)].other))
            for columns, weight, labels in zip(shares.sets, weights, cells, strict=True)
        )
    )


def _by_size(sizes: Iterable[int], log_gamma: float) -> dict[int, UniformMixture]:
    """A mixture for each number of cells, with numbers for labels."""
    limit = math.nextafter(log_gamma, 0)
    return {size: UniformMixture.of(tuple(range(size)), epsilon=limit) for size in set(sizes)}


def _expected(
    shares: SetShares, wanted: Mapping[Set, float], domain: SetCells, records: int, *, asked: bool
) -> ExpectedError:
    """The errors of single columns and wanted tables; of pairs if no set holds the table."""
    served: list[Set] = []
    for table in wanted:
        inside = shares.information(table) > 0
        served += [table] if inside else list(itertools.combinations(table, 2))
    errors = {
        table: shares.error(table, domain.count(table), records=records)
        for table in [*((name,) for name in domain.names), *served]
        if shares.information(table) > 0
    }
    return ExpectedError(tuple(errors.items()), tuple(dict.fromkeys(served)) if asked else ())


def _sets_to_json(mechanism: AttributeSampler) -> list[Form]:
    """The attribute sets for the owner, the most frequent first."""
    return [
        {
            "columns": list(attributes.columns),
            "share": attributes.share,
            "cells": attributes.matrix.size,
            "retention": float(attributes.matrix.retention),
        }
        for attributes in sorted(mechanism.sets, key=lambda attributes: -attributes.weight)
    ]


def _unnamed_notice(
    unnamed: Sequence[str],
    errors: Sequence[float],
    tables: Sequence[Set],
    shares: SetShares,
    now: float,
    without: float,
) -> str:
    """A notice on columns in no declared table, and the errors of the tables ``without`` them."""
    sets = zip(shares.sets, shares.shares, strict=True)
    spent = math.fsum(share for columns, share in sets if {*columns} & {*unnamed})
    more = [*tables, *((name,) for name in unnamed)]
    command = f" (--tables {in_shell(as_tables(more))})" if len(more) <= MOST_SUGGESTED else ""
    low, high = percent(min(errors), 2), percent(max(errors), 2)
    between = low if low == high else f"{low.removesuffix(' %')} to {high}"
    return (
        f"No planned table contains {listed(unnamed)}: {percent(spent, 2)} of the records report "
        f"such a column, and the error of its table is {between} of the records if its values are "
        "equally frequent, and smaller otherwise. Plan a table of it for a smaller error"
        f'{command}, or leave it out of the release (role = "identifier" in the schema): the '
        f"mean error of the planned tables is then {percent(without, 2)} instead of "
        f"{percent(now, 2)}."
    )


def _unchanged_notices(schema: Schema, tables: Sequence[Set]) -> Iterator[str]:
    """Notices on declared tables with unchanged columns: which part of them is sampled."""
    for table in tables:
        randomised = randomised_in(schema, table)
        unchanged = [name for name in table if name not in randomised]
        if unchanged and randomised:
            sampled = "*".join(randomised)
            yield (
                f"Of {'*'.join(table)} records report {sampled}: {listed(unchanged)} is released "
                f"unchanged in every record. Errors without data are for {sampled} alone."
            )
        elif unchanged:
            yield f"No record reports {'*'.join(table)}: it is released unchanged."
