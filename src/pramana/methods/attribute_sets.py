"""Which sets of columns records are asked for, and how often.

A table T is estimated from every set S that holds it. With retention
p_S = (gamma - 1) / (gamma + D_S - 1), D_S the number of possible cells of S, and pi_S the share of
records asked for S, the information about T is info_T = sum over S of pi_S p_S**2, and the
expected L1 error of its estimate about sqrt(2 D_T / (pi n info_T)) as a share of the records
(SetShares.error has it without the "about"). The shares minimise

    sum over the tables wanted of w_T sqrt(D_T / info_T),

which is convex in pi. Multiplicative steps pi_S *= sqrt(slope_S) keep pi a distribution and climb
down without fail; they start at the closed form for disjoint tables, pi_S ~ (w sqrt(D) / p)^(2/3),
and end where the steepest slope proves that no other shares are better by more than NEAR.

Columns that no table names are asked for by themselves, at a weight that leaves LEFT of the records
to them: who states tables wants those, and the other columns can still be told, if poorly.

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
from pramana.types import BoolArray, FloatArray, IntArray

Set = tuple[str, ...]


STEPS = 400
NEAR = 2e-4
"""Shares are near enough to the best ones when the sum of errors is within this of the least."""

MOST_SETS = 3_000
"""The most sets that are weighed against each other."""

MOST_CELLS = 20_000
"""Sets of more columns than a table wanted has are not made larger than this."""

RARE = 1e-4
"""Sets below this share of the largest are left out: they cost cells and bring nothing."""

LEFT = 0.1
"""The share of the records for columns that no table names: tables lose a twentieth by it."""

NEARLY = 1e-7
"""What is rounded to integers over 2**64 is known again within this."""

FEWEST_RECORDS, MOST_RECORDS = 1, 10**18

FEW = 20.0
"""Where a set would get fewer effective records than this, columns are asked for alone too."""


@dataclass(frozen=True)
class SetShares:
    """Attribute sets, how often each is asked for (the shares sum to 1), and their retentions."""

    sets: tuple[Set, ...]
    shares: tuple[float, ...]
    retentions: tuple[float, ...]

    @cached_property
    def _places(self) -> dict[str, set[int]]:
        """Which sets hold a column, by their places."""
        found: dict[str, set[int]] = {}
        for place, asked in enumerate(self.sets):
            for name in asked:
                found.setdefault(name, set()).add(place)
        return found

    def _holding(self, table: Sequence[str]) -> list[tuple[float, float]]:
        """Share and retention of every set that tells anything about a table."""
        places = set.intersection(*(self._places.get(name, set()) for name in table))
        found = ((self.shares[place], self.retentions[place]) for place in sorted(places))
        return [(share, kept) for share, kept in found if kept > 0]

    def information(self, table: Sequence[str]) -> float:
        """What one record tells about a table, on average: 1 would be the truth of all columns."""
        return math.fsum(share * kept**2 for share, kept in self._holding(table))

    def error(self, table: Sequence[str], cells: int, *, records: int) -> float:
        """The expected L1 error of a table as a share of the records, for an uneven table."""
        return self._error(table, cells, likely_shares(1 / cells), records=records)

    def most_error(self, table: Sequence[str], cells: int, records: int) -> float:
        """The largest error: that of equally frequent cells [Cauchy-Schwarz]."""
        return self._error(table, cells, np.full(1, 1 / cells), records=records)

    def _error(self, table: Sequence[str], cells: int, true: FloatArray, *, records: int) -> float:
        """The error where shares of the cells are these, each as likely."""
        found = self.information(table)
        if found <= 0:
            return math.inf
        share, kept = np.array(self._holding(table)).T
        weight = share * kept**4 / found**2
        inside, outside = mean_squares(kept, np.full(len(kept), 1 / cells))
        seen = true * (weight @ inside) + (1 - true) * (weight @ outside)
        variance = seen - true**2 * weight.sum() - true * (1 - true)
        spread = float(np.sqrt(np.maximum(variance, 0)).mean())
        return cells * spread * math.sqrt(2 / math.pi / records)


def retention_of(cells: int, gamma: float) -> float:
    """How much of a set of so many cells is kept at an amplification of gamma."""
    return 1.0 if math.isinf(gamma) else (gamma - 1) / (gamma + cells - 1)


def reported_tables(
    tables: Mapping[Set, float], cells: Callable[[Set], int], gamma: float
) -> dict[Set, float]:
    """What can be asked of the tables wanted: themselves while small, else the pairs in them."""
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
    found = dict.fromkeys([*((name,) for name in columns), *wanted])
    limit = min(gamma, MOST_CELLS)
    grown: list[Set] = [table for table in wanted if cells(table) <= limit]
    while grown and len(found) < MOST_SETS:
        larger = dict.fromkeys(
            tuple(sorted((*table, name), key=order.__getitem__))
            for table in grown
            for name in columns
            if name not in table
        )
        grown = [table for table in larger if table not in found and cells(table) <= limit]
        grown = sorted(grown, key=cells)[: MOST_SETS - len(found)]
        found |= dict.fromkeys(grown)
    return tuple(found)


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
        columns: All columns that are randomised, in the order of the schema.
        tables: The tables wanted with their weights, columns in the same order.
        cells: How many cells of a set of columns can exist.
        gamma: The amplification that the promise allows.
        records: How many records there will be.
    """
    wanted = reported_tables(tables, cells, gamma)
    named = {name for table in wanted for name in table}
    wanted |= _alone(wanted, cells, gamma, records)
    wanted |= _left(wanted, [(name,) for name in columns if name not in named], cells, gamma)
    sets = candidate_sets(list(wanted), columns, cells, gamma)
    kept = np.array([retention_of(cells(asked), gamma) for asked in sets])
    held = _Held.of(list(wanted), sets)
    shares = _descend(wanted, sets, kept, cells, held)
    used = held.enough(shares > RARE * shares.max(), shares)
    sets, kept = tuple(itertools.compress(sets, used)), kept[used]
    shares = _descend(wanted, sets, kept, cells, _Held.of(list(wanted), sets))
    return SetShares(sets, tuple(shares.tolist()), tuple(kept.tolist()))


def chosen_again(
    found: Mapping[Set, float],
    columns: Sequence[str],
    tables: Mapping[Set, float],
    cells: Callable[[Set], int],
    *,
    gamma: float,
) -> bool:
    """Whether these sets and shares are chosen, for few records or for many."""
    # Weights are rounded: the dial of the choice may lie on the other side of a bound.
    dials = (gamma, gamma * (1 + NEARLY), gamma * (1 - NEARLY))
    for log_gamma, records in itertools.product(dials, (FEWEST_RECORDS, MOST_RECORDS)):
        made = report_shares(columns, tables, cells, gamma=log_gamma, records=records)
        shares = dict(zip(made.sets, made.shares, strict=True))
        if set(shares) == set(found) and all(
            math.isclose(shares[own], found[own], rel_tol=10 * NEARLY) for own in found
        ):
            return True
    return False


def _alone(
    wanted: Mapping[Set, float], cells: Callable[[Set], int], gamma: float, records: int
) -> dict[Set, float]:
    """Single columns, where pairs get so few effective records that only margins can be told."""
    kept = [retention_of(cells(table), gamma) for table in wanted]
    effective = records / len(wanted) * float(np.mean(np.square(kept)))
    if effective >= FEW:
        return {}
    weights: dict[Set, float] = {}
    for table, weight in wanted.items():
        for name in table:
            weights[(name,)] = weights.get((name,), wanted.get((name,), 0.0)) + weight
    return weights


def _left(
    wanted: Mapping[Set, float], others: Sequence[Set], cells: Callable[[Set], int], gamma: float
) -> dict[Set, float]:
    """Columns in no table, at the weight by which LEFT of the records would be asked for them."""

    def price(table: Set, weight: float) -> float:
        return float(
            (weight * math.sqrt(cells(table)) / retention_of(cells(table), gamma)) ** (2 / 3)
        )

    if not others or not wanted:
        return dict.fromkeys(others, 1.0)
    ours = math.fsum(price(table, weight) for table, weight in wanted.items())
    ratio = LEFT / (1 - LEFT) * ours / math.fsum(price(table, 1.0) for table in others)
    return dict.fromkeys(others, min(ratio**1.5, *wanted.values()))


@dataclass(frozen=True, eq=False)
class _Held:
    """Which attribute set contains which table: one entry a pair, by their places."""

    table: IntArray
    asked: IntArray
    shape: tuple[int, int]

    @classmethod
    def of(cls, wanted: Sequence[Set], sets: Sequence[Set]) -> _Held:
        """By the sets that have each column of a table."""
        places: dict[str, set[int]] = {}
        for place, asked in enumerate(sets):
            for name in asked:
                places.setdefault(name, set()).add(place)
        found = [sorted(set.intersection(*(places[name] for name in table))) for table in wanted]
        rows = np.repeat(np.arange(len(wanted)), [len(own) for own in found])
        return cls(rows, np.array([*itertools.chain(*found)]), (len(wanted), len(sets)))

    def enough(self, used: BoolArray, shares: FloatArray) -> BoolArray:
        """The sets used, and the best one of every table that none of them holds."""
        told = np.bincount(self.table, used[self.asked], self.shape[0]) > 0
        chosen = used.copy()
        order = np.lexsort((shares[self.asked], self.table))
        last = np.searchsorted(self.table, np.arange(self.shape[0]), side="right") - 1
        chosen[self.asked[order[last[~told]]]] = True
        return chosen


def _descend(
    wanted: Mapping[Set, float],
    sets: Sequence[Set],
    kept: FloatArray,
    cells: Callable[[Set], int],
    held: _Held,
) -> FloatArray:
    """Multiplicative steps from the closed form."""
    gain = kept[held.asked] ** 2
    price = np.array([weight * math.sqrt(cells(table)) for table, weight in wanted.items()])
    least = 0.1 * min(wanted.values())
    own = np.array([wanted.get(asked, least) for asked in sets])
    sizes = np.array([cells(asked) for asked in sets], dtype=np.float64)
    shares: FloatArray = (own * np.sqrt(sizes) / kept) ** (2 / 3)
    shares /= shares.sum()
    for _ in range(STEPS):
        found = np.bincount(held.table, gain * shares[held.asked], held.shape[0])
        slope = np.bincount(held.asked, gain * (price * found**-1.5)[held.table], held.shape[1])
        # The sum is convex, and half the steepest slope bounds what is still to be won of it.
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
