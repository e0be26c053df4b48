"""Random schemas with everything in them, small tables, every method; the case for the judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from random import Random
from typing import Any

import pyarrow as pa

import pramana as pm
from pramana.errors import PramanaError
from pramana.methods.attribute_sampling import AttributeSampling
from tests.judge.law import Case, Cell, Matrix, Record, SetView, StepView

__all__ = ["GROUPED", "KINDS", "OPTIONS", "World", "case_of", "table_of", "worlds"]

LETTERS = ("p", "q", "r")
SMALL = ("optimal", "inverse-frequency")
"""What these aim at can be met where people have company: few values, not too few people."""

WITH_CODE = pm.Categories((0, 1, 2), missing_values=(-9,))
"""A survey that says why there is no answer, with a number."""

LETTERS_OF_KEYS = "abc"

KEPT_ROLES = ("key", "public", "stratum", "weight")


@dataclass(frozen=True)
class World:
    """A table with its schema, and what is asked of which method."""

    schema: pm.Schema
    records: tuple[Record, ...]
    method: Any
    asked: tuple[Any, ...]

    @cached_property
    def table(self) -> pa.Table:
        return table_of(self.schema, self.records)

    def plan(self, records: tuple[Record, ...] | None = None) -> pm.Plan | None:
        """The plan, for these or other people; nothing where it is refused."""
        table = self.table if records is None else table_of(self.schema, records)
        try:
            return pm.design(self.schema, *self.asked, data=table, method=self.method)
        except PramanaError:
            return None


def table_of(schema: pm.Schema, records: tuple[Record, ...]) -> pa.Table:
    kinds = {"w": pa.float64(), "s": pa.int64(), "home": pa.int64(), "d": pa.string()}
    return pa.table(
        {
            column.name: pa.array([r[column.name] for r in records], kinds.get(column.name))
            for column in schema.columns
        }
    )


def worlds(kind: str, seed: int = 0) -> Iterator[World]:
    """Worlds of one kind of method, without end."""
    number = 0
    while True:
        yield _world(kind, Random(f"{seed} {kind} {number}"))
        number += 1


def _world(kind: str, random: Random) -> World:
    schema = _schema(kind, random)
    most = 4 if kind in OPTIONS else 6  # every outcome of chance is gone through
    records = _records(schema, random, *((5, 8) if kind in SMALL else (2, most)))
    method, asked = KINDS[kind](schema, random)
    return World(schema, records, method, asked)


def _schema(kind: str, random: Random) -> pm.Schema:
    keys = [_key(name, kind, random) for name in LETTERS_OF_KEYS[: random.choice((1, 2, 2, 3))]]
    columns = list(keys)
    strata: tuple[str, ...] = ()
    rare = 0.92 if kind in (*SMALL, *OPTIONS) else 0.75  # each splits people, and few are left
    for role in KEPT_ROLES:
        if random.random() < rare:
            continue
        if role == "weight":
            columns.append(pm.Column("w", pm.Role.WEIGHT))
        elif role == "key":
            columns.append(pm.Column("kept", pm.Role.KEY, randomise=False))
        else:
            columns.append(pm.Column(role, pm.Role.PUBLIC))
            strata = ("stratum",) if role == "stratum" else strata
    if random.random() < 0.4 or kind in GROUPED or kind in OPTIONS:
        named = kind in OPTIONS and random.random() < 0.3
        columns.append(pm.Column("s", pm.Role.SENSITIVE, WITH_CODE if named else None))
    if kind in OPTIONS and random.random() < 0.5:
        columns.append(pm.Column("d", pm.Role.SENSITIVE))
    home = "home" if random.random() < 0.2 else None
    if home is not None:
        columns.append(pm.Column(home, pm.Role.IDENTIFIER))
    rules = ()
    if len(keys) > 1 and random.random() < 0.3 and kind not in ("matrix", "matrix-from-data"):
        rules = (pm.Impossible.of({"a": ["p"], "b": [random.choice("pq")]}),)
    return pm.Schema(tuple(columns), impossible=rules, strata=strata, household=home)


def _key(name: str, kind: str, random: Random) -> pm.Column:
    values = LETTERS[: 2 if kind in SMALL and random.random() < 0.7 else random.choice((2, 2, 3))]
    free = kind in OPTIONS  # groups refuse what must stay
    missing = random.choice(("refuse", "refuse", "category", "category" if free else "keep"))
    exempt = (values[0],) if random.random() < 0.15 and not free else ()
    role, own = (pm.Role.SENSITIVE, True) if name == "c" and random.random() < 0.3 else (
        pm.Role.KEY, None)  # fmt: skip
    return pm.Column(
        name, role, pm.Categories(values), missing=missing, exempt=exempt, randomise=own
    )


def _records(schema: pm.Schema, random: Random, least: int, most: int) -> tuple[Record, ...]:
    many = random.randint(least, most)
    found: list[Record] = []
    while len(found) < many:
        record = {column.name: _value(column, random) for column in schema.columns}
        if not any(_breaks(rule, record) for rule in schema.impossible):
            found.append(record)
    return tuple(found)


def _value(column: pm.Column, random: Random) -> Any:
    if column.name == "w":
        return random.choice((1.0, 1.0, 2.5))
    if column.name in ("s", "d"):
        none = None if column.domain is None else -9
        return random.choice((0, 1, 2, 2, none) if column.name == "s" else ("x", "y", "z", None))
    if column.name == "home":
        return random.randint(1, 3)
    if column.domain is None:
        return random.choice(("n", "n", "n", "m", None))
    if column.missing != "refuse" and random.random() < 0.2:
        return None
    return random.choice(column.domain.labels)


def _breaks(rule: pm.Impossible, record: Record) -> bool:
    return all(record[name] in labels for name, labels in rule.cells)


# -- methods -------------------------------------------------------------------------------------


def _retention(schema: pm.Schema, random: Random) -> tuple[Any, tuple[Any, ...]]:
    target = random.randrange(5)
    if target == 0 or any(column.fixed for column in schema.randomised):
        return pm.Retention(retention=random.choice((0, 0.1, 0.5, 0.9, 1))), ()
    before = random.choice((5e-324, 0.01, 0.1, 0.3))
    asked = (
        pm.PkAnonymity(k=random.choice((1, 1.1, 1.5, 2))),
        pm.DifferentialPrivacy(epsilon=random.choice((1e-9, 0.1, 1.0, 3.0, 20.0))),
        pm.PrivacyBreach(rho1=before, rho2=before + (1 - before) * random.choice((0.01, 0.3, 0.9))),
    )
    chosen = asked if target == 4 else (asked[target - 1],)
    return pm.Retention(spread=random.choice(("equal", "equal", "equal", "best"))), chosen


def _reports(schema: pm.Schema, random: Random) -> tuple[Any, tuple[Any, ...]]:
    before = random.choice((0.01, 0.1, 0.3))
    asked = (
        pm.PkAnonymity(k=random.choice((1.1, 1.5, 2))),
        pm.DifferentialPrivacy(epsilon=random.choice((0.1, 1.0, 3.0))),
        pm.PrivacyBreach(rho1=before, rho2=before + (1 - before) * random.choice((0.1, 0.5, 0.9))),
    )
    return AttributeSampling(), (random.choice(asked),)


def _matrices(schema: pm.Schema, random: Random) -> dict[str, pm.Dense]:
    found = {}
    for column in schema.randomised:
        rows = []
        for place, _ in enumerate(column.labels):
            row = [random.choice((0, 1, 1, 2, 5)) for _ in column.labels]
            row[place] += 1
            stays = column.labels[place] in column.fixed
            rows.append([float(at == place) if stays else w / sum(row) for at, w in enumerate(row)])
        found[column.name] = pm.Dense.of(column.labels, rows)
    return found


def _given(schema: pm.Schema, random: Random) -> tuple[Any, tuple[Any, ...]]:
    return pm.GivenMatrices(_matrices(schema, random)), ()


def _from_data(schema: pm.Schema, random: Random) -> tuple[Any, tuple[Any, ...]]:
    return pm.MatricesFromData(_matrices(schema, random)), ()


def _optimal(schema: pm.Schema, random: Random) -> tuple[Any, tuple[Any, ...]]:
    width = random.randint(1, min(3, len(schema.randomised) + len(schema.known)))
    alpha = random.choice((0.5, 0.7, 0.9, 0.95, 1.0))
    return pm.Optimal(), (pm.SpontaneousRecognition(alpha=alpha, width=width),)


def _inverse_frequency(schema: pm.Schema, random: Random) -> tuple[Any, tuple[Any, ...]]:
    return pm.InverseFrequency(), (pm.CorrectMatch(xi=random.choice((0.3, 0.5, 0.7, 0.9, 0.99))),)


def _invariant(schema: pm.Schema, random: Random) -> tuple[Any, tuple[Any, ...]]:
    return pm.Invariant(stay=random.choice((0.1, 0.5, 0.8))), ()


def _grouped(name: str) -> Any:
    def make(schema: pm.Schema, random: Random) -> tuple[Any, tuple[Any, ...]]:
        return getattr(pm, name)(), (pm.KAnonymity(k=random.choice((1, 2, 2, 3))),)

    return make


def _optioned(name: str) -> Any:
    """Groups or draws with one of the options, by any method that takes it."""

    def make(schema: pm.Schema, random: Random) -> tuple[Any, tuple[Any, ...]]:
        values = {"draw": ("sequential",), "distinct": (2, 2, 3), "closeness": (0.2, 0.25, 0.5),
                  "responses": (("s",),)}  # fmt: skip
        chosen = {name: random.choice(values[name])}
        if name == "draw" and random.random() < 0.3:
            chosen |= {"distinct": 2}
        if name == "responses":
            chosen |= {"response_weight": random.choice((0.0, 1.0, 100.0))}
        if random.random() < 0.2:
            chosen |= {"max_size": random.choice((3, 4))}
        which = "resample" if name == "draw" else random.choice(GROUPED)
        k = random.choice((1, 2, 2, 2, 3))
        return getattr(pm, which.capitalize())(**chosen), (pm.KAnonymity(k=k),)

    return make


GROUPED = ("resample", "permute", "gaussian", "centroid")
OPTIONS = {"sequential": "draw", "distinct": "distinct", "closeness": "closeness",
           "response": "responses"}  # fmt: skip
"""Worlds of groups that are formed, or drawn from, in another way than by default."""

KINDS: dict[str, Any] = {
    "retention": _retention,
    "attribute-sampling": _reports,
    "matrix": _given,
    "matrix-from-data": _from_data,
    "optimal": _optimal,
    "inverse-frequency": _inverse_frequency,
    "invariant": _invariant,
} | {name: _grouped(name.capitalize()) for name in GROUPED} | {
    kind: _optioned(option) for kind, option in OPTIONS.items()
}  # fmt: skip
"""How each method of the library is asked for something."""


# -- what the judge sees ---------------------------------------------------------------------


def case_of(world: World, plan: pm.Plan, *, try_others: bool = True) -> Case:
    """The plan as the judge sees it: roles and integers, nothing that the library has computed."""
    schema = world.schema

    def redesign(records: tuple[Record, ...]) -> Case | None:
        other = world.plan(records)
        if other is None:
            return None
        return case_of(World(schema, records, world.method, world.asked), other, try_others=False)

    known = tuple(
        column.name
        for column in schema.columns
        if column.name in schema.strata
        or (
            column.role in (pm.Role.KEY, pm.Role.PUBLIC, pm.Role.WEIGHT)
            and not (column.role is pm.Role.KEY and column.randomise is not False)
        )
    )
    return Case(
        records=world.records,
        randomised=tuple(c.name for c in schema.columns if _moves(c)),
        known=known,
        attached=tuple(
            c.name for c in schema.columns if not _moves(c) and c.role is not pm.Role.IDENTIFIER
        ),
        steps=tuple(_view(step) for step in plan.mechanism.steps),
        anonymity_set=plan.anonymity_set,
        from_data=world.method.name in ("optimal", "inverse-frequency", "invariant",
                                        "matrix-from-data"),
        sets=tuple(
            SetView(one.columns, one.weight, _matrix(one.matrix, len(one.columns)))
            for one in getattr(plan.mechanism, "sets", ())
        ),
        truths=_truths(schema),
        fixed={
            c.name: (*c.exempt, *((None,) if c.missing == "keep" else ()))
            for c in schema.columns
            if _moves(c)
        },
        impossible=[rule.to_dict() for rule in schema.impossible],
        redesign=redesign if try_others else None,
    )  # fmt: skip


def _moves(column: pm.Column) -> bool:
    """Whether a column is randomised, by how it is called."""
    return column.name in LETTERS_OF_KEYS


def _truths(schema: pm.Schema) -> tuple[Cell, ...]:
    """Every combination of values of the randomised columns that can exist."""
    columns = [column for column in schema.columns if _moves(column)]
    values = [
        (*c.domain.labels, *((None,) if c.missing in ("category", "keep") else ()))
        for c in columns
        if c.domain is not None
    ]
    records = (dict(zip((c.name for c in columns), cell, strict=True)) for cell in product(*values))
    possible = (r for r in records if not any(_breaks(rule, r) for rule in schema.impossible))
    return tuple(tuple(record.values()) for record in possible)


def _view(step: pm.Step) -> StepView:
    if step.matrix is not None:
        return StepView(step.columns, (), {(): _matrix(step.matrix, len(step.columns))})
    return StepView(
        step.columns,
        step.strata,
        {stratum: _matrix(own, len(step.columns)) for stratum, own in step.by_stratum.items()},
    )


def _matrix(matrix: pm.TransitionMatrix, width: int) -> Matrix:
    cells = tuple(label if width > 1 else (label,) for label in matrix.labels)
    return Matrix(cells, tuple(tuple(int(w) for w in row) for row in matrix.weights))
