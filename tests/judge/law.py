"""What is true of a plan, by brute force from the definitions in docs/proofs, in exact rationals.

The judge looks at three things only: the true records, which column is released how, and the
integer weights of the matrices. It knows no formula of the library: it enumerates tables, orders,
releases and choices of keys, and compares each probability with what is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, permutations, product
from math import comb, inf
from random import Random
from typing import Any

__all__ = [
    "MOST_LISTS", "Case", "Fault", "Matrix", "SetView", "StepView", "amplification",
    "judge", "permanent", "shuffled", "tables_and_releases",
]  # fmt: skip

Cell = tuple[Any, ...]
Record = Mapping[str, Any]

MOST_PAIRS = 120
"""So many pairs of a table and a release are tried, or twice as many; all where there are fewer."""

MOST_LISTS = 200
"""The law of shuffled lists is written out where there are not more of them."""


class Fault(AssertionError):
    """A claim is stronger than the truth."""


@dataclass(frozen=True)
class Matrix:
    """Rows of integer weights over 2**64 between cells of a step."""

    cells: tuple[Cell, ...]
    weights: tuple[tuple[int, ...], ...]

    def row(self, cell: Cell) -> Mapping[Cell, int]:
        return dict(zip(self.cells, self.weights[self.cells.index(cell)], strict=True))


@dataclass(frozen=True)
class StepView:
    """Columns that move together, and the matrix of each stratum (of the empty one if none)."""

    columns: tuple[str, ...]
    strata: tuple[str, ...]
    matrices: Mapping[Cell, Matrix]

    def matrix(self, record: Record) -> Matrix:
        return self.matrices[tuple(record[name] for name in self.strata)]


@dataclass(frozen=True)
class SetView:
    """Columns that a record may be asked for, with which weight, and the matrix of their cells."""

    columns: tuple[str, ...]
    weight: int
    matrix: Matrix


@dataclass(frozen=True)
class Case:
    """A plan as the judge sees it.

    ``known`` are the columns that are released unchanged and may be known; ``attached`` are all
    that are released unchanged. ``truths`` are all cells of the randomised columns that can
    exist. A record passes all ``steps``, or answers one of the ``sets``.

    ``redesign`` gives the case of another table under the same orders: whether matrices depend on
    the data is not believed but tried.
    """

    records: tuple[Record, ...]
    randomised: tuple[str, ...]
    known: tuple[str, ...]
    attached: tuple[str, ...]
    steps: tuple[StepView, ...]
    anonymity_set: int
    from_data: bool
    sets: tuple[SetView, ...]
    truths: tuple[Cell, ...]
    fixed: Mapping[str, Sequence[Any]]
    impossible: Sequence[Mapping[str, Sequence[Any]]]
    redesign: Callable[[tuple[Record, ...]], Case | None] | None = None

    def groups(self, columns: tuple[str, ...] | None = None) -> list[tuple[Record, ...]]:
        """People who agree in these columns; in all that may be known where none are given."""
        found: dict[Cell, list[Record]] = {}
        for record in self.records:
            key = tuple(record[name] for name in (self.known if columns is None else columns))
            found.setdefault(key, []).append(record)
        return [tuple(members) for members in found.values()]

    def row(self, record: Record) -> dict[Cell, int]:
        """With which weight a record is released as what: a cell, or a set with its answer."""
        if self.sets:
            return {
                (one.columns, cell): one.weight * weight
                for one in self.sets
                for cell, weight in one.matrix.row(tuple(record[c] for c in one.columns)).items()
                if weight
            }
        rows: dict[Cell, int] = {(): 1}
        for step in self.steps:
            own = step.matrix(record).row(tuple(record[name] for name in step.columns))
            rows = {(*c, *d): w * v for c, w in rows.items() for d, v in own.items() if w * v}
        return rows

    @property
    def order(self) -> tuple[str, ...]:
        """The columns of a true cell, and of a released one where there are steps."""
        return tuple(name for step in self.steps for name in step.columns) or self.randomised

    def domain(self, record: Record) -> list[dict[str, Any]]:
        """Everything that a person of the same known values may have."""
        parts = [step.matrix(record).cells for step in self.steps]
        cells: Iterable[Cell] = (tuple(v for part in c for v in part) for c in product(*parts))
        if self.sets:
            cells = self.truths
        return [{**record, **dict(zip(self.order, cell, strict=True))} for cell in cells]


def judge(case: Case, claims: Mapping[str, Any], seed: int = 0) -> list[str]:
    """Every claim against the truth; the names of those that were judged.

    Args:
        case: the plan.
        claims: the numbers by the name of the guarantee.
        seed: for the choice of tables where there are too many.
    """
    _sound(case)
    judges: dict[str, Callable[[Case, Any, Random], None]] = {
        "pk-anonymity": _k,
        "differential-privacy": _epsilon,
        "privacy-breach": _rho,
        "spontaneous-recognition": _alpha,
        "correct-match": _xi,
        "shuffled-privacy": _central,
    }
    for name, claim in claims.items():
        judges[name](case, claim, Random(f"{seed} {name}"))
    return list(claims)


def _sound(case: Case) -> None:
    """Rows are probabilities, the schema is kept, and the anonymity set is there."""
    matrices = [matrix for step in case.steps for matrix in step.matrices.values()]
    matrices += [one.matrix for one in case.sets]
    if case.sets and sum(one.weight for one in case.sets) != 2**64:
        raise Fault("the chances of the sets do not sum to one")
    if any(sum(row) != 2**64 or min(row) < 0 for matrix in matrices for row in matrix.weights):
        raise Fault("a row does not sum to 2**64")
    for record in () if case.sets else case.records:
        for cell in case.row(record):
            _allowed(case, record, dict(zip(case.order, cell, strict=True)))
    if case.anonymity_set > min(len(group) for group in case.groups()):
        raise Fault(
            f"an anonymity set of {case.anonymity_set} is stated, and a smaller group is there"
        )


def _allowed(case: Case, record: Record, shown: Record) -> None:
    """Nothing impossible comes out, and what must stay stays."""
    for rule in case.impossible:
        if all(shown[name] in values for name, values in rule.items()):
            raise Fault("a combination that cannot exist may be released")
    for name, values in case.fixed.items():
        if record[name] in values and shown[name] != record[name]:
            raise Fault(f"a value of '{name}' that must stay may change")


# -- linking: docs/proofs/pk_anonymity.md ----------------------------------------------------


def _k(case: Case, claim: Any, random: Random) -> None:
    k = Fraction(claim.k)
    if k == 1:  # promises nothing
        return
    groups = case.groups()
    if not case.from_data and not any(step.strata for step in case.steps):
        groups = list({len(group): group for group in groups}.values())  # the same matrices in all
    for group in groups:
        rows = {_cell(case, person): case.row(person) for person in case.domain(group[0])}
        for people, released in tables_and_releases(case, group, random):
            worst = _link([rows[_cell(case, person)] for person in people], released)
            if worst * k > 1:
                raise Fault(f"k = {claim.k}, and a link is certain to {float(worst)}")


def tables_and_releases(
    case: Case, group: tuple[Record, ...], random: Random
) -> Iterator[tuple[tuple[Record, ...], tuple[Cell, ...]]]:
    """All true tables of a group and all releases, or many of them.

    Where matrices depend on the table there is but one table: this one.
    """
    people = case.domain(group[0])
    cells = list(dict.fromkeys(cell for person in people for cell in case.row(person)))
    size = len(group)
    tables: list[tuple[Record, ...]] = [group]
    if not case.from_data:
        many = comb(len(people) + size - 1, size)
        if many <= 60:
            tables = list(combinations_with_replacement(people, size))
        else:  # one person against all others alike is where the bound is reached
            pairs = ((random.choice(people), random.choice(people)) for _ in range(20))
            tables = [(one, *[other] * (size - 1)) for one, other in pairs]
            tables += [tuple(random.choices(people, k=size)) for _ in range(5)]
    releases = comb(len(cells) + size - 1, size)
    each = max(4, MOST_PAIRS // len(tables))
    for table in tables:
        if releases <= each:
            yield from ((table, seen) for seen in combinations_with_replacement(cells, size))
            continue
        for _ in range(each // 2):
            yield table, tuple(random.choices(cells, k=size))
            yield table, (random.choice(cells), *[random.choice(cells)] * (size - 1))


def _cell(case: Case, person: Record) -> Cell:
    return tuple(person[name] for name in case.order)


def _link(rows: Sequence[Mapping[Cell, int]], released: Sequence[Cell]) -> Fraction:
    """The largest chance that a released record is a person's, over all orders of the records."""
    table = [[row.get(cell, 0) for cell in released] for row in rows]
    total = permanent(table)
    if not total:
        return Fraction(0)
    worst = 0
    for i in {tuple(row): i for i, row in enumerate(table)}.values():
        for j in {cell: j for j, cell in enumerate(released)}.values():
            minor = [row[:j] + row[j + 1 :] for place, row in enumerate(table) if place != i]
            worst = max(worst, table[i][j] * permanent(minor))
    return Fraction(worst, total)


def permanent(table: Sequence[Sequence[int]]) -> int:
    """The sum over all orders of the product of entries, one person a record."""
    return _permanent(tuple(sorted(map(tuple, table))))  # the same in whatever order people stand


@lru_cache(4096)
def _permanent(table: tuple[tuple[int, ...], ...]) -> int:
    reached = {0: 1}
    for row in table:
        entries = [(1 << place, entry) for place, entry in enumerate(row) if entry]
        after: dict[int, int] = {}
        for taken, weight in reached.items():
            for place, entry in entries:
                if not taken & place:
                    key = taken | place
                    after[key] = after.get(key, 0) + weight * entry
        reached = after
    return sum(reached.values())


# -- other tables: docs/proofs/differential_privacy.md and breach.md ---------------------------


def _epsilon(case: Case, claim: Any, random: Random) -> None:
    ratio = amplification(case, random)
    if ratio == inf:
        if claim.epsilon != inf:
            raise Fault(f"epsilon = {claim.epsilon}, and some release rules a table out")
        return
    if claim.epsilon == inf:
        return
    with localcontext(prec=80):
        bound = Fraction(Decimal(claim.epsilon).exp())
    if Fraction(ratio) > bound * (1 + Fraction(1, 10**60)):
        raise Fault(f"epsilon = {claim.epsilon}, and a ratio is {float(ratio)}")


def _rho(case: Case, claim: Any, random: Random) -> None:
    """All priors on two truths, which are the corners, and some on more of them."""
    before, after = Fraction(claim.rho1), Fraction(claim.rho2)
    ratio = amplification(case, random)
    worst = Fraction(1) if ratio == inf else ratio * before / (ratio * before + 1 - before)
    if worst > after:
        raise Fault(f"rho2 = {claim.rho2}, and a suspicion grows to {float(worst)}")
    for record in _one_a_stratum(case):
        people = case.domain(record)
        rows = [case.row(person) for person in people]
        for _ in range(10):
            prior = [random.randint(0, 5) for _ in people]
            facts = [random.random() < 0.5 for _ in people]
            held = sum(w for w, fact in zip(prior, facts, strict=True) if fact)
            if not held or Fraction(held, sum(prior)) > before:
                continue
            for cell in {cell for row in rows for cell in row}:
                seen = [w * row.get(cell, 0) for w, row in zip(prior, rows, strict=True)]
                true = sum(w for w, fact in zip(seen, facts, strict=True) if fact)
                if sum(seen) and Fraction(true, sum(seen)) > after:
                    raise Fault(f"rho2 = {claim.rho2}, and a fact becomes likelier")


def amplification(case: Case, random: Random) -> Fraction | float:
    """The largest ratio of a release under two tables that differ in one person's values."""
    worst: Fraction | float = Fraction(1)
    for record in _one_a_stratum(case):
        rows = [case.row(person) for person in case.domain(record)]
        for cell in {cell for row in rows for cell in row}:
            column = [row.get(cell, 0) for row in rows]
            if not min(column):
                return inf
            worst = max(worst, Fraction(max(column), min(column)))
    if case.redesign is not None and len(case.records) <= 12:
        for other in _neighbours(case, random):
            if other.steps != case.steps:
                worst = max(worst, _across(case, other))
    return worst


def _one_a_stratum(case: Case) -> list[Record]:
    strata = dict.fromkeys(name for step in case.steps for name in step.strata)
    return list({tuple(r[name] for name in strata): r for r in case.records}.values())


def _neighbours(case: Case, random: Random) -> Iterator[Case]:
    """The same orders carried out on tables that differ in one person's randomised values."""
    assert case.redesign is not None
    for _ in range(3):
        place = random.randrange(len(case.records))
        moved = random.choice(case.domain(case.records[place]))
        records = (*case.records[:place], moved, *case.records[place + 1 :])
        other = case.redesign(records)
        if other is not None:
            yield other


def _across(one: Case, other: Case) -> Fraction | float:
    """The largest ratio over all shuffled releases, each table with its own matrices."""
    worst: Fraction | float = Fraction(1)
    ours, theirs = _law(one), _law(other)
    for released in {*ours, *theirs}:
        pair = (ours.get(released, 0), theirs.get(released, 0))
        if not min(pair):
            return inf
        worst = max(worst, Fraction(max(pair), min(pair)))
    return worst


def _law(case: Case) -> dict[frozenset[tuple[Any, int]], int]:
    """The weight of every shuffled release: how many records hold which cell."""
    laws: dict[frozenset[tuple[Any, int]], int] = {frozenset(): 1}
    for record in case.records:
        kept = tuple(record[name] for name in case.known)
        after: dict[frozenset[tuple[Any, int]], int] = {}
        for released, weight in laws.items():
            for cell, own in case.row(record).items():
                counts = dict(released)
                counts[kept, cell] = counts.get((kept, cell), 0) + 1
                key = frozenset(counts.items())
                after[key] = after.get(key, 0) + weight * own
        laws = after
    return laws


# -- the shuffle: docs/proofs/shuffled_privacy.md -----------------------------------------------


def _central(case: Case, claim: Any, random: Random) -> None:
    """Neighbours inside a group that all kept columns form: how much of one law the other lacks."""
    if claim.epsilon == inf:
        return
    with localcontext(prec=80):
        factor = Fraction(Decimal(claim.epsilon).exp())
    groups = case.groups(case.attached)
    if not any(step.strata for step in case.steps):
        groups = [min(groups, key=len)]
    for group in groups:
        rows = [case.row(person) for person in case.domain(group[0])]
        cells = {cell for row in rows for cell in row}
        if comb(len(cells) + len(group) - 1, len(group)) > MOST_LISTS:
            continue
        tables = list(combinations_with_replacement(rows, len(group) - 1))
        for others in random.sample(tables, min(len(tables), 12)):
            laws = [shuffled([row, *others]) for row in rows]
            own, grown = (
                [{seen: weight * by for seen, weight in law.items()} for law in laws]
                for by in (factor.denominator, factor.numerator)
            )
            for one, other in permutations(range(len(laws)), 2):
                much = grown[other].get
                lacks = sum(max(0, weight - much(seen, 0)) for seen, weight in own[one].items())
                if Fraction(lacks, sum(own[one].values())) > Fraction(claim.delta):
                    raise Fault(f"{claim} does not hold: a release is likelier by more")


def shuffled(rows: Sequence[Mapping[Cell, int]]) -> dict[tuple[Cell, ...], int]:
    """The weight of every released list of records, in whatever order."""
    laws: dict[tuple[Cell, ...], int] = {(): 1}
    for row in rows:
        after: dict[tuple[Cell, ...], int] = {}
        for seen, weight in laws.items():
            for cell, own in row.items():
                key = tuple(sorted((*seen, cell), key=repr))
                after[key] = after.get(key, 0) + weight * own
        laws = after
    return laws


# -- this table: docs/proofs/spontaneous_recognition.md and correct_match.md ------------------


def _alpha(case: Case, claim: Any, random: Random) -> None:
    """Everybody, every choice of keys up to the width, every combination that may be seen."""
    keys = (*case.randomised, *case.known)
    choices = claim.choices or [
        choice for width in range(1, claim.width + 1) for choice in combinations(keys, width)
    ]
    rows = [case.row(record) for record in case.records]
    for choice in choices:
        seen: list[dict[Cell, int]] = []
        for record, row in zip(case.records, rows, strict=True):
            own: dict[Cell, int] = {}
            for cell, weight in row.items():
                shown = {**record, **dict(zip(case.order, cell, strict=True))}
                key = tuple(shown[name] for name in choice)
                own[key] = own.get(key, 0) + weight
            seen.append(own)
        for key in {key for own in seen for key in own}:
            weights = [own.get(key, 0) for own in seen]
            if Fraction(max(weights), sum(weights)) > Fraction(claim.alpha):
                raise Fault(f"alpha = {claim.alpha}, and looking at {choice} is surer")


def _xi(case: Case, claim: Any, random: Random) -> None:
    """Every person, every column, every number of records that may be released with the value."""
    for name in case.known:
        values = [record[name] for record in case.records]
        for value in set(values):
            if Fraction(1, values.count(value)) > Fraction(claim.xi):
                raise Fault(f"xi = {claim.xi}, and '{name}' is released unchanged")
    for step in case.steps:
        strata: dict[Cell, list[Record]] = {}
        for record in case.records:
            strata.setdefault(tuple(record[name] for name in step.strata), []).append(record)
        for people, name in product(strata.values(), step.columns):
            for value in {person[name] for person in people}:
                worst = _match(step, people, name, value)
                if worst > Fraction(claim.xi):
                    raise Fault(f"xi = {claim.xi}, and a pick is right with {float(worst)}")


def _match(step: StepView, people: Sequence[Record], name: str, value: Any) -> Fraction:
    """The best chance of a random pick among those released with the value."""
    place = step.columns.index(name)
    chances = []
    for person in people:
        row = step.matrix(person).row(tuple(person[own] for own in step.columns))
        chances.append(Fraction(sum(w for cell, w in row.items() if cell[place] == value), 2**64))
    target = next(i for i, person in enumerate(people) if person[name] == value)
    others = [chance for i, chance in enumerate(chances) if i != target]
    law = [Fraction(1)]
    for chance in others:
        law = [
            (law[a] if a < len(law) else 0) * (1 - chance) + (law[a - 1] * chance if a else 0)
            for a in range(len(law) + 1)
        ]
    worst = Fraction(0)
    for a in range(1, len(people) + 1):
        with_target = chances[target] * law[a - 1]
        without = (1 - chances[target]) * (law[a] if a < len(law) else 0)
        if with_target + without:
            worst = max(worst, with_target / (with_target + without) / a)
    return worst
