"""Small tables that are the same on every machine: ``random.Random.random`` never changes."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache
from random import Random

import pyarrow as pa

EDUCATION = ("none", "school", "trade", "degree")
JOBS = ("farmer", "clerk", "nurse", "driver", "other")


@cache
def people(records: int) -> pa.Table:
    """Keys that depend on each other, a town, an illness and an income that depends on the keys."""
    random = Random(7)
    rows = []
    for number in range(records):
        sex = random.random() < 0.45
        age = int(80 * random.random() ** 1.3)
        education = min(3, int(4 * random.random() * (0.6 + age / 160)))
        income = 500 + 40 * age + 900 * education + 700 * sex + int(1000 * random.random())
        rows.append(
            {
                "person": f"p{number:04d}",
                "sex": "M" if sex else "F",
                "age": age,
                "education": EDUCATION[education],
                "town": "north" if random.random() < 0.6 else "south",
                "ill": "yes" if random.random() < 0.1 + age / 200 else "no",
                "income": income,
            }
        )
    return pa.Table.from_pylist(rows)


@cache
def survey(records: int = 600) -> pa.Table:
    """A sample of households: weights, replicate weights, dates, codes for missing, long tails."""
    random = Random(11)
    rows = []
    household = size = 0
    for number in range(records):
        if size == 0:
            household, size = household + 1, 1 + int(4 * random.random())
            town = "north" if random.random() < 0.5 else "south"
        size -= 1
        weight = 10.0 * (1 + int(3 * random.random()))
        born = date(1940, 1, 1) + timedelta(days=int(25_000 * random.random()))
        job = int(5 * random.random() ** 1.5)
        pay = 100 * (job + 1) + int(400 * random.random() ** 3)
        children = min(9, int(5 * random.random() ** 2)) if random.random() < 0.9 else 9
        rows.append(
            {
                "household": household,
                "town": town,
                "sex": "F" if random.random() < 0.5 else "M",
                "born": born,
                "job": JOBS[job] if random.random() < 0.93 else None,
                "children": children,
                "hours": 10 * int(7 * random.random()),
                "pay": pay if random.random() < 0.96 else -8,
                "debt": round(1000 * random.random() ** 2, 2),
                "weight": weight,
                "half": weight * (2 if number % 2 else 0),
                "other_half": weight * (0 if number % 2 else 2),
                "quarter": weight * (2 if number // 2 % 2 else 0),
            }
        )
    return pa.Table.from_pylist(rows)
