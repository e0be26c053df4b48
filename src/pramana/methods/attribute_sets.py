"""The attribute sets of attribute sampling, and their shares of the records.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana.base.rounding import TOTAL
from pramana.errors import InvalidNumber
from pramana.methods.expected_error import likely_shares, mean_squares
from pramana.types import FloatArray

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
        """The largest error: that of equally frequent cells [Cauchy-Schwarz]."""
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
    """The retention of a set of so many cells at an amplification of gamma."""
    return 1.0 if math.isinf(gamma) else (gamma - 1) / (gamma + cells - 1)


def reported_tables(
    tables: Mapping[Set, float], cells: Callable[[Set], int], gamma: float
) -> dict[Set, float]:
    """The tables that can be reported for those wanted: themselves if small, else their pairs."""
    wanted: dict[Set, float] = {}
    for table, weight in tables.items():
        if not weight > 0:
            raise InvalidNumber(f"The weight of {'*'.join(table)} must be above 0, got {weight}.")
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
    table = np.repeat(np.arange(len(wanted)), [len(found) for found in containing])
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
