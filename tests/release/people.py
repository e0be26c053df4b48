"""A small table of people, its schema and a plan, for tests of releases."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.methods.context import DesignContext
from pramana.methods.retention import Retention
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Impossible, Schema

RECORDS = 4_000


@cache
def people(records: int = RECORDS, *, seed: int = 7) -> pa.Table:
    """Names, keys with a dependence and missing values, a region and an income."""
    random = np.random.default_rng(seed)
    age = random.integers(0, 80, records)
    married = random.choice(["single", "married", "widowed"], records, p=[0.4, 0.5, 0.1])
    married = np.where(age < 16, "single", married)
    sex = pa.array(random.choice(["F", "M"], records), mask=random.random(records) < 0.02)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(records)],
            "sex": sex,
            "age": age,
            "marital": married,
            "region": random.choice(["north", "south"], records),
            "income": random.lognormal(10, 1, records).round(2),
        }
    )


SCHEMA = Schema(
    (
        Column("name", Role.IDENTIFIER),
        Column("sex", Role.KEY, Categories(("F", "M")), missing="category"),
        Column("age", Role.KEY, Bins((0, 16, 40, 60, 80))),
        Column("marital", Role.KEY, Categories(("single", "married", "widowed"))),
        Column("region", Role.PUBLIC),
        Column("income", Role.SENSITIVE),
    ),
    impossible=(Impossible.of({"age": ["[0, 16)"], "marital": ["married", "widowed"]}),),
)


@cache
def plan(k: float = 20, *, records: int = RECORDS):
    """A plan for the people above."""
    return Retention().design(DesignContext(SCHEMA, records, records * 2 // 5), [PkAnonymity(k=k)])
