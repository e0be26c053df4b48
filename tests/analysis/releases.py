"""A small table of people, released by every method, for tests that cross verbs with kinds."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from pramana import api
from pramana.guarantees.correct_match import CorrectMatch
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
from pramana.methods.frequency_preserving import Invariant
from pramana.methods.optimal.method import Optimal
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

RECORDS = 2_100

SCHEMA = Schema(
    (
        Column("a", Role.KEY, Categories(("a0", "a1"))),
        Column("b", Role.KEY, Categories(("b0", "b1", "b2"))),
        Column("c", Role.KEY, Categories(tuple(range(20)))),
        Column("region", Role.PUBLIC, Categories(("north", "south"))),
        Column("ill", Role.SENSITIVE, Categories(("no", "yes"))),
        Column("inc", Role.SENSITIVE),
    )
)

DESIGNS = {
    "retention": ((PkAnonymity(k=5),), {"method": "retention"}),
    "attribute-sampling": ((PkAnonymity(k=5),), {"method": "attribute-sampling"}),
    "optimal": ((SpontaneousRecognition(alpha=0.5, width=2),), {"method": "optimal"}),
    "optimal withheld": (
        (SpontaneousRecognition(alpha=0.5, width=2),),
        {"method": Optimal(publish="never")},
    ),
    "invariant": ((), {"method": Invariant(stay=0.6)}),
    "inverse-frequency": ((CorrectMatch(xi=0.4),), {"method": "inverse-frequency"}),
    "resample": ((KAnonymity(k=4),), {"method": "resample"}),
    "permute": ((KAnonymity(k=4),), {"method": "permute"}),
    "gaussian": ((KAnonymity(k=4),), {"method": "gaussian"}),
    "centroid": ((KAnonymity(k=4),), {"method": "centroid"}),
}
"""What is asked for, by method; that of withheld matrices of one that mostly shows them."""

KINDS = {
    "published": ("retention", "optimal"),
    "withheld": ("invariant", "inverse-frequency"),
    "groups": ("resample", "permute", "gaussian", "centroid"),
    "attribute-sampling": ("attribute-sampling",),
    "sealed": ("optimal withheld",),
}


@cache
def truth(records: int = RECORDS) -> pa.Table:
    """Keys that depend on each other, a region and two columns that depend on the keys."""
    random = np.random.default_rng(11)
    a = random.random(records) < 0.4
    b = (random.random(records) * 2 + a * 0.9).astype(int).clip(0, 2)
    ill = random.random(records) < 0.1 + 0.3 * a
    return pa.table(
        {
            "a": np.where(a, "a1", "a0"),
            "b": np.array(["b0", "b1", "b2"])[b],
            "c": (random.random(records) * 16 + 2 * b).astype(int),
            "region": random.choice(["north", "south"], records, p=[0.7, 0.3]),
            "ill": np.where(ill, "yes", "no"),
            "inc": (100 + 100 * a + 10 * b + random.normal(0, 20, records)).round(1),
        }
    )


@cache
def plan_of(method: str):
    """The plan of a method for these people."""
    asked, options = DESIGNS[method]
    return api.design(SCHEMA, *asked, data=truth(), **options)


@cache
def released(method: str, seed: int = 0):
    """One release of them."""
    return api.protect(truth(), plan_of(method), seed=seed)
