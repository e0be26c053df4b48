"""Releases by groups as the judge sees them: the groups, and what every outcome of chance makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice, permutations, product
from math import factorial, prod
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.base.randomness import Keystream, Stream
from pramana.errors import PramanaError
from pramana.io.opening import open_table
from tests.judge.groups import Grouped, Release
from tests.judge.law import Cell, Fault
from tests.judge.worlds import WITH_CODE, World, case_of, table_of

__all__ = ["grouped_of"]

(NO_ANSWER,) = WITH_CODE.missing_values

MOST_OUTCOMES = 256
"""Every outcome of chance is gone through where there are not more of them."""

MOST_PEOPLE = 4
"""So many may have each other's record, in all ways, in each release that chance makes."""

MOST_EXCHANGED = 6
"""So often the members of groups draw one another's numbers, where outcomes have no end."""


def grouped_of(world: World, *, seed: int) -> tuple[Grouped, Any] | None:
    """A release by groups as the judge sees it, and its claim; nothing where it is refused."""
    seen = _Seen()
    method = seen.watching(world.method)
    try:
        plan = world.plan()
        if plan is None:
            return None
        opened = open_table(world.table, schema=plan.schema)
        made = method.regrouped(
            plan.schema, opened, k=world.asked[0].k, keystream=Keystream.from_seed(seed)
        )
        _, attained = world.method.release(plan, opened, Keystream.from_seed(seed))
    except PramanaError:
        return None
    names = [column.name for column in plan.schema.randomised]
    known = case_of(world, plan).known
    _looks_at_keys_alone(world, plan, seen, seed)
    released = world.table.select([column.name for column in plan.schema.released])
    order = _stirred(released, seed)  # who differs in a dropped column alone has one place
    back = np.argsort(order)
    truth = tuple(tuple(record[name] for name in names) for record in world.records)
    stirred = [truth[at] for at in order]
    _stays_with_its_record(world, names, made.table)
    drawn = getattr(world.method, "draw", "whole").replace("whole", world.method.name)
    law = _law(world.method, seen, stirred, back)
    if drawn == "sequential" and not law:  # which has no other definition
        return None
    return (
        Grouped(
            truth=truth,
            released=tuple(tuple(row[name] for name in names) for row in made.table.to_pylist()),
            known=tuple(tuple(record[name] for name in known) for record in world.records),
            labels=tuple(seen.labels[back].tolist()),
            method=drawn,
            law=law,
            exchanged=_exchanged(world.method, seen, stirred, back, seed),
            sensitive=tuple(
                tuple(None if v == NO_ANSWER else v for v in _values(world, c.name))
                for c in plan.schema.columns
                if c.role.value == "sensitive"
            ),
            distinct=world.method.distinct,
            closeness=Fraction(str(world.method.closeness)),
            most=world.method.max_size,
        ),
        attained.attained[0],
    )


def _values(world: World, name: str) -> list[Any]:
    return [record[name] for record in world.records]


def _by_value(table: pa.Table) -> list[int]:
    """The places of the records in the order of their values, column after column, missing last."""
    rows = table.to_pylist()
    return sorted(
        range(len(rows)),
        key=lambda at: [(v is None, "" if v is None else v) for v in rows[at].values()],
    )


def _stirred(table: pa.Table, seed: int) -> list[int]:
    """Records in the order of their values, then in that which chance makes of it."""
    order = _by_value(table)
    stirred = Keystream.from_seed(seed).permutation(len(order), Stream("grouping", "order"))
    return [order[at] for at in stirred]


def _stays_with_its_record(world: World, keys: Sequence[str], made: pa.Table) -> None:
    """Nothing but keys changes."""
    for record, row in zip(world.records, made.to_pylist(), strict=True):
        if any(row[name] != record[name] for name in row if name not in keys):
            raise Fault("what is no key is not released with its own record")


def _looks_at_keys_alone(world: World, plan: Any, seen: _Seen, seed: int) -> None:
    """Groups that nothing else was asked of stay as they are when other columns change."""
    own = world.method
    if own.responses or own.distinct > 1 or own.closeness < 1:
        return
    places = np.argsort(_by_value(world.table)).tolist()
    others = {"s": places, "d": ["x"] * len(places)}
    records = tuple(
        record | {name: values[at] for name, values in others.items() if name in record}
        for at, record in enumerate(world.records)
    )
    again = _Seen()
    opened = open_table(table_of(world.schema, records), schema=plan.schema)
    again.watching(own).regrouped(
        plan.schema, opened, k=world.asked[0].k, keystream=Keystream.from_seed(seed)
    )
    if again.labels.tolist() != seen.labels.tolist():
        raise Fault("groups look at more than keys and known columns")


# -- every outcome of chance -------------------------------------------------------------------


@dataclass
class _Seen:
    """The keys and groups that a method drew from."""

    keys: Sequence[Any] = ()
    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    def watching(self, method: Any) -> Any:
        """The same method, with its keys and groups written down here."""

        def donors(own: Any, keys: Any, labels: Any, keystream: Any) -> Any:
            self.keys, self.labels = keys, labels
            return kind.donors(own, keys, labels, keystream)

        kind = type(method)
        watched = object.__new__(type(kind.__name__, (kind,), {"donors": donors}))
        watched.__dict__.update(method.__dict__)
        return watched


class _Chance:
    """Draws that follow a script, the first possible one where it ends; how many each had."""

    def __init__(self, script: Sequence[int]) -> None:
        self.script, self.bounds = list(script), list[int]()

    def _next(self, bound: int) -> int:
        self.bounds.append(bound)
        if len(self.bounds) > len(self.script):
            self.script.append(0)
        return self.script[len(self.bounds) - 1]

    def integers(self, stream: Any, start: int, bounds: Any, *, count: int = 1) -> np.ndarray:
        del stream, start
        each = [int(bounds)] * count if np.ndim(bounds) == 0 else [int(own) for own in bounds]
        return np.array([self._next(bound) for bound in each], np.uint64)

    def permutation(self, n: int, stream: Any) -> np.ndarray:
        del stream
        return np.array(next(islice(permutations(range(n)), self._next(factorial(n)), None)))


def _outcomes(method: Any, seen: _Seen) -> Iterator[tuple[Sequence[np.ndarray], Fraction]]:
    """All that chance can make of the groups, each with its probability."""
    script: list[int] | None = []
    while script is not None:
        chance = _Chance(script)
        donors = method.donors(seen.keys, seen.labels, chance)
        yield donors, Fraction(1, prod(chance.bounds))
        script = chance.script
        while script and script[-1] + 1 == chance.bounds[len(script) - 1]:
            script.pop()
        script = [*script[:-1], script[-1] + 1] if script else None


def _law(method: Any, seen: _Seen, truth: Sequence[Cell], back: np.ndarray) -> dict[Release, Any]:
    """The chance of every release; nothing where there is no end of them, or no draw."""
    if method.name in ("gaussian", "centroid") or len(truth) > MOST_PEOPLE:
        return {}
    law: dict[Release, Fraction] = {}
    for number, (donors, chance) in enumerate(_outcomes(method, seen)):
        if number == MOST_OUTCOMES:
            return {}
        release = _handed(donors, truth, back)
        law[release] = law.get(release, Fraction(0)) + chance
    return law


def _handed(donors: Sequence[np.ndarray], truth: Sequence[Cell], back: np.ndarray) -> Release:
    """The keys of the donors, in the order of the people."""
    return tuple(
        tuple(truth[int(whose[at])][key] for key, whose in enumerate(donors)) for at in back
    )


class _Exchanged:
    """A keystream whose records have drawn the numbers of others."""

    def __init__(self, keystream: Keystream, whose: Sequence[int]) -> None:
        self.keystream, self.whose = keystream, list(whose)

    def normals(self, stream: Any, start: int, count: int) -> np.ndarray:
        drawn = self.keystream.normals(stream, start, count)
        return drawn.reshape(len(self.whose), -1)[self.whose].ravel()


def _exchanged(
    method: Any, seen: _Seen, truth: Sequence[Cell], back: np.ndarray, seed: int
) -> tuple[tuple[tuple[int, ...], Release], ...]:
    """Releases where members of each group have drawn one another's numbers, and whose."""
    if method.name != "gaussian":
        return ()
    groups = [np.flatnonzero(seen.labels == label) for label in np.unique(seen.labels)]
    ways = product(*(permutations(group.tolist()) for group in groups))
    found = []
    for way in islice(ways, MOST_EXCHANGED):
        whose = np.empty(len(truth), np.int64)
        for group, own in zip(groups, way, strict=True):
            whose[group] = own
        keystream: Any = _Exchanged(Keystream.from_seed(seed), whose.tolist())
        donors = method.donors(seen.keys, seen.labels, keystream)
        people = np.argsort(back)[whose[back]]
        found.append((tuple(people.tolist()), _handed(donors, truth, back)))
    return tuple(found)
