"""Releases and questions that the page and the program for R must answer as pramana does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import pramana as pm

QUESTIONS = (
    ("count", ("sex",), None),
    ("count", ("age", "marital"), None),
    ("count", ("marital", "sex"), None),
    ("share", ("sex", "region"), None),
    ("count", ("town", "sex"), None),
    ("share", ("town",), None),
    ("mean", ("age",), "income"),
    ("mean", ("sex", "town"), "income"),
)
SCHEMA = pm.Schema.from_toml("""
impossible = [{age = ["[0, 16)"], marital = ["married", "widowed"]}]
[columns.sex]
role = "key"
categories = [1, 2]
missing = "category"
[columns.age]
role = "key"
bins = [0, 16, 40, 90]
[columns.marital]
role = "key"
categories = ["single", "married", "widowed"]
[columns.region]
role = "key"
categories = ["01", "1", "north <b>"]
[columns.town]
role = "public"
[columns.income]
role = "sensitive"
""")


def table(records: int = 3000) -> pa.Table:
    """Codes that look like numbers, missing values, and a combination that cannot exist."""
    draw = np.random.default_rng(5)
    age = draw.integers(0, 91, records)
    marital = np.where(age < 16, "single", draw.choice(["single", "married", "widowed"], records))
    income = np.round(draw.lognormal(7, 1, records), 2)
    return pa.table({
        "sex": pa.array([[1, 2, None][i] for i in draw.choice(3, records, p=[0.5, 0.45, 0.05])]),
        "age": age,
        "marital": marital,
        "region": draw.choice(["01", "1", "north <b>"], records, p=[0.6, 0.3, 0.1]),
        "town": draw.choice(["A", "B", "C"], records, p=[0.7, 0.2, 0.1]),
        "income": pa.array(income, mask=draw.random(records) < 0.05),
    })  # fmt: skip


def releases(folder: Path, file_format: str) -> dict[str, Any]:
    """One release of whole records and one by attribute sampling."""
    people, found = table(), {}
    for method in ("retention", "attribute-sampling"):
        plan = pm.design(SCHEMA, pm.PkAnonymity(k=3), data=people, method=method)
        made = pm.protect(people, plan, seed=2, accept_risk=["income"])
        found[method] = made.save(folder / method, file_format=file_format)
    return found


def answers(release: Any) -> list[tuple[str, tuple[str, ...], str | None, dict[str, list[float]]]]:
    """Each question with pramana's figures, cell by cell."""
    found = []
    for kind, by, of in QUESTIONS:
        if kind == "mean":
            estimate = release.mean(of, by=list(by), method="unbiased")
        else:
            estimate = release.crosstab(*by, method="unbiased", share=kind == "share")
        figures = {
            name: np.ravel(getattr(estimate, name)).tolist()
            for name in ("estimate", "se", "low", "high")
        }
        found.append((kind, by, of, figures))
    return found
