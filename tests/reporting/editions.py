"""One small table with marks of the truth, released in every kind; and what stands in a report."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from tests.analysis.releases import DESIGNS

from pramana import api
from pramana.analysis.release import Release
from pramana.schema.domains import Categories, Labels
from pramana.schema.recoding import Recoding
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

MARK, LARGE = "CANARY", 987654321
"""Texts that are dropped with their column, and a number beyond the end of its own."""

METHODS = {"published": "retention", "withheld": "invariant", "groups": "resample",
           "attribute-sampling": "attribute-sampling", "sealed": "optimal withheld"}  # fmt: skip

SCHEMA = Schema(
    (
        Column("who", Role.IDENTIFIER),
        Column("sex", Role.KEY, Categories((1, 2))),
        Column("school", Role.KEY, Categories((1, 2, 3, 9))),
        Column("region", Role.KEY, Categories(tuple(range(1, 16)))),
        Column("ill", Role.SENSITIVE, Categories((0, 1))),
        Column("income", Role.SENSITIVE, recoding=Recoding(top=5000.0)),
    )
)

LABELS = Labels(
    {"sex": "Sex of the respondent", "school": "Highest <b>school</b>"},
    {
        "sex": {1: "Man", 2: "Woman"},
        "school": {1: "None", 2: "Primary", 3: "Secondary", 9: "Refused & gone"},
        "region": {at: f"State {at}" for at in range(1, 16)},
    },
)


@cache
def truth(seed: int = 5, records: int = 600) -> pa.Table:
    """People whose identifier and largest income must be found nowhere."""
    random = np.random.default_rng(seed)
    income = random.normal(2000, 400, records).round(0)
    income[:: records // 3] = LARGE
    return pa.table(
        {
            "who": [f"{MARK}-{at}" for at in range(records)],
            "sex": random.integers(1, 3, records),
            "school": random.choice([1, 2, 3, 9], records, p=[0.1, 0.4, 0.4, 0.1]),
            "region": random.integers(1, 16, records),
            "ill": (random.random(records) < 0.2).astype(int),
            "income": income,
        }
    )


def released_to(folder: Path, kind: str) -> Path:
    """A folder of a release of that kind."""
    released(kind).save(folder / kind)
    return folder / kind


@cache
def released(kind: str) -> Release:
    """A release of that kind, with the labels of a statistical package."""
    method = METHODS[kind]
    asked, options = DESIGNS[method]
    plan = api.design(SCHEMA, *asked, data=truth(), **options)
    made = api.protect(truth(), plan, seed=3)
    # As a file with labels would have it: certificates carry those of released values.
    labels = plan.method.published_labels(LABELS)
    return replace(made, certificate=replace(made.certificate, labels=labels))


@cache
def pdf_text(pdf: bytes) -> str:
    """All words of a PDF without any space: pages, titles, and what is said of its charts."""
    import pypdf

    reader = pypdf.PdfReader(io.BytesIO(pdf))
    words = [page.extract_text() for page in reader.pages]
    words.append(str(reader.metadata))
    for at in range(1, len(reader.xref_objStm) + sum(map(len, reader.xref.values())) + 1):
        found = reader.get_object(pypdf.generic.IndirectObject(at, 0, reader))
        words.append(str(found))
    return squeezed(" ".join(words))


def squeezed(text: str) -> str:
    """Without any space, so that lines may break anywhere."""
    return re.sub(r"\s", "", text)
