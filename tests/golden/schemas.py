"""Schemas of the golden tables."""

from __future__ import annotations

from typing import Any

import pramana as pm
from tests.golden.facts import make
from tests.golden.people import EDUCATION
from tests.golden.renames import ARGUMENTS, CLASSES, WORDS

AGES = ("[0, 20)", "[20, 40)", "[40, 60)", "[60, 80]")


def column(name: str, role: str, domain: Any = None, **options: Any) -> Any:
    """One column of a schema."""
    return make("Column", name, getattr(pm, CLASSES["Role"])(WORDS[role]), domain, **options)


def categories(*values: Any, **options: Any) -> Any:
    return make("Categories", values, **options)


def bins(*edges: float, **options: Any) -> Any:
    return make("Bins", edges, **options)


def people_schema(*, town: str = "plain", **options: Any) -> Any:
    """Three keys, a town of any role, an illness and an income."""
    stated = {ARGUMENTS[name]: value for name, value in options.items()}
    return make(
        "Schema",
        (
            column("person", "identifier"),
            column("sex", "key", categories("F", "M")),
            column("age", "key", bins(0, 20, 40, 60, 80)),
            column("education", "key", categories(*EDUCATION)),
            column("town", town, categories("north", "south")),
            column("ill", "sensitive", categories("no", "yes")),
            column("income", "sensitive"),
        ),
        **stated,
    )


def survey_schema() -> Any:
    """Households, weights with replicates, recodings of every kind, codes for missing values."""
    recoded = {
        "born": make("Recoding", date="year"),
        "job": make("Recoding", merge={"office": ("clerk",), "outdoors": ("farmer", "driver")}),
        "hours": make("Recoding", top=40, round=20),
        "pay": make("Recoding", missing_codes=(-8,), top=700, round=50),
        "debt": make("Recoding", noise=make("Noise", "laplace", 50)),
    }
    return make(
        "Schema",
        (
            column("household", "identifier"),
            column("town", "plain"),
            column("sex", "key", categories("F", "M")),
            column("born", "key", bins(1940, 1960, 1980, 2010), recoding=recoded["born"]),
            column(
                "job",
                "key",
                categories("nurse", "office", "other", "outdoors"),
                missing="category",
                recoding=recoded["job"],
            ),
            column(
                "children",
                "key",
                categories(0, 1, 2, 3, 4, missing_values=(9,)),
            ),
            column("hours", "sensitive", recoding=recoded["hours"]),
            column("pay", "sensitive", recoding=recoded["pay"]),
            column("debt", "sensitive", recoding=recoded["debt"]),
            column("weight", "weight", recoding=make("Recoding", round=10)),
            *(column(name, "sensitive") for name in ("half", "other_half", "quarter")),
        ),
        household="household",
        replicates=make("Replicates", ("half", "other_half", "quarter"), kind="brr"),
    )
