"""Estimators that travel with a release: ``analyse.html`` for a browser, ``analyse.R`` for R.

Both hold the description of the release that follows from its certificate (columns, codes,
matrices) and a program that is the same for every release. They give the unbiased estimates of
``pramana estimate``, with the same standard errors and intervals.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pramana.base.look import tokens
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.mechanisms.mechanism import (
    AttributeSampler,
    AttributeSet,
    Mechanism,
    Step,
)
from pramana.mechanisms.transition import Label, UniformMixture
from pramana.release.certificate import Certificate
from pramana.schema.codec import label_array
from pramana.schema.domains import Bins, label_key, label_text
from pramana.schema.joint_cells import cell_codes
from pramana.schema.schema import REPORTED, Column
from pramana.types import Form

PAGE: Final = "analyse.html"
PROGRAM: Final = "analyse.R"
LARGEST_MATRIX: Final = 200
"""Values of a matrix that is written out in full; larger ones are left to pramana."""


def portable_files(certificate: Certificate) -> dict[str, str]:
    """The page and the program by file name; none where they cannot answer."""
    if not answerable(certificate):
        return {}
    described = description(certificate)
    return {PAGE: _page(described), PROGRAM: _program(described)}


def answerable(certificate: Certificate) -> bool:
    """Whether matrices are published, fit their columns, and are of a size to be written out."""
    mechanism = certificate.mechanism
    if mechanism is None or not certificate.nature.shows_matrices:
        return False
    if isinstance(mechanism, AttributeSampler):
        return all(_fits(certificate, asked.columns, asked.cells) for asked in mechanism.sets)
    return not mechanism.strata and all(
        (isinstance(step.matrix, UniformMixture) or len(step.labels) <= LARGEST_MATRIX)
        and _fits(certificate, step.columns, step.cells)
        for step in mechanism.steps
    )


def _fits(certificate: Certificate, columns: Sequence[str], cells: Sequence[Any]) -> bool:
    """Whether the cells are of listed values of released columns: forged ones may not be."""
    known = {column.name: column for column in certificate.schema.released if column.coded}
    if not known.keys() >= set(columns):
        return False
    return all(
        {cell[at] for cell in cells} <= set(known[name].labels) for at, name in enumerate(columns)
    )


def description(certificate: Certificate) -> Form:
    """All that an estimator needs to know, for JSON."""
    schema, mechanism = certificate.schema, certificate.mechanism
    files = [file for file in (certificate.data, *certificate.copies) if file is not None]
    weight = schema.weight
    form: Form = {
        "title": "Released records",
        "records": certificate.records,
        "method": certificate.method,
        "sentences": [str(sentence) for sentence in certificate.sentences()],
        "files": [{"name": f.name, "format": f.format, "sha256": f.sha256} for f in files],
        "weight": None if weight is None else weight.name,
        "weight_rounded": weight is not None and bool(weight.recoding),
        "columns": [
            _column(certificate, column) for column in schema.released if column.name != REPORTED
        ],
        "guarantee": _guarantee(certificate),
    }
    if isinstance(mechanism, AttributeSampler):
        return form | {"steps": [], "sets": [_set(certificate, asked) for asked in mechanism.sets]}
    assert isinstance(mechanism, Mechanism)  # noqa: S101 - nothing else is answerable
    return form | {"steps": [_step(certificate, step) for step in mechanism.steps], "sets": None}


def _column(certificate: Certificate, column: Column) -> Form:
    names = {
        label_key(value): text
        for value, text in certificate.labels.values.get(column.name, {}).items()
    }
    form: Form = {
        "name": column.name,
        "label": certificate.labels.variables.get(column.name, ""),
        "randomised": column.randomised,
        "numeric": not (column.coded or column.listed),
        "named": {str(key): text for key, text in names.items()},
    }
    domain = column.domain
    if domain is None or not (column.coded or column.listed):
        return form
    labels: list[Label] = list(column.labels)
    values: tuple[Label, ...] = domain.labels
    if isinstance(domain, Bins) and domain.release == "draw":
        form |= {"edges": list(map(float, domain.edges)), "apart": list(domain.missing_values)}
    elif isinstance(domain, Bins) and domain.release != "label":
        values = (*domain.centres, *domain.missing_values)
    kind = label_array(values).type
    number = not (pa.types.is_string(kind) or pa.types.is_boolean(kind))
    written: list[Any] = [v if number else label_text(v) for v in values]
    return form | {
        "type": "number" if number else "text",
        "values": written + [None] * (len(labels) - len(values)),
        "labels": [
            "missing" if label is None else names.get(label_key(label), label_text(label))
            for label in labels
        ],
    }


def _codes(
    certificate: Certificate, columns: tuple[str, ...], cells: tuple[Any, ...]
) -> list[list[int]]:
    labels = [certificate.schema.column(name).labels for name in columns]
    codes: list[list[int]] = np.stack(list(cell_codes(labels, cells)), axis=1).tolist()
    return codes


def _step(certificate: Certificate, step: Step) -> Form:
    matrix = step.matrix
    form: Form = {
        "columns": list(step.columns),
        "cells": _codes(certificate, step.columns, step.cells),
    }
    if isinstance(matrix, UniformMixture):
        return form | {"retention": float(matrix.retention)}
    assert matrix is not None  # noqa: S101 - strata are not answerable
    return form | {"rows": matrix.values.tolist()}


def _set(certificate: Certificate, asked: AttributeSet) -> Form:
    sizes = [len(certificate.schema.column(name).labels) for name in asked.columns]
    full = asked.matrix.size == np.prod(sizes)
    return {
        "name": asked.name,
        "columns": list(asked.columns),
        "retention": float(asked.matrix.retention),
        "cells": None if full else _codes(certificate, asked.columns, asked.cells),
    }


def _guarantee(certificate: Certificate) -> Form:
    """What the page can recompute: k and epsilon from the integers of uniform mixtures."""
    mechanism = certificate.mechanism
    if isinstance(mechanism, AttributeSampler):
        matrices: list[Any] = [asked.matrix for asked in mechanism.sets]
    else:
        matrices = [step.matrix for step in mechanism.steps] if mechanism is not None else []
    form: Form = {"mixtures": [], "people": certificate.anonymity_set}
    if not all(isinstance(matrix, UniformMixture) and matrix.other > 0 for matrix in matrices):
        return form
    form["mixtures"] = [
        {"size": matrix.size, "other": str(matrix.other)} for matrix in matrices if matrix.size > 1
    ]
    for claim in certificate.claims:
        if isinstance(claim.asked, PkAnonymity):
            form["k"] = float(claim.asked.k)
        if isinstance(claim.asked, DifferentialPrivacy):
            form["epsilon"] = float(claim.asked.epsilon)
    return form


# -- the page --------------------------------------------------------------------------------------


@cache
def _asset(name: str) -> str:
    return (files("pramana.release") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def _page(described: Form) -> str:
    """One file that needs no network: its policy allows the scripts it holds, and no connection."""
    style, scripts = tokens() + _asset("analyse.css"), [_asset(name) for name in SCRIPTS]
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; "
        f"style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    )
    data = json.dumps(described, ensure_ascii=False, separators=(",", ":"))
    parts = {
        "{{policy}}": policy,
        "{{style}}": style,
        "{{scripts}}": "\n".join(f"<script>{script}</script>" for script in scripts),
        "{{data}}": data.replace("<", "\\u003c"),  # last: names may look like these marks
    }
    page = _asset("analyse.html")
    for mark, text in parts.items():
        page = page.replace(mark, text, 1)
    return page


SCRIPTS: Final = ("papaparse.min.js", "hyparquet.min.js", "analyse.js", "analyse_page.js")


# -- the program for R -----------------------------------------------------------------------------


def _program(described: Form) -> str:
    return f"{_asset('analyse.R')}\npm <- {_r(described)}\n"


def _r(value: Any) -> str:
    """A literal of R."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value) if np.isfinite(value) else ("Inf" if value > 0 else "-Inf")
    if isinstance(value, str):
        return r_text(value)
    if isinstance(value, dict):
        parts = ", ".join(_r(part) for part in value.values())
        return f"structure(list({parts}), names = {_r(list(value))})" if value else "list()"
    if value and all(isinstance(part, list) for part in value):
        rows = ", ".join(_r(part) for part in value)
        return f"rbind({rows})"
    if value and all(isinstance(part, dict) for part in value):
        return "list(" + ",\n  ".join(_r(part) for part in value) + ")"
    return f"c({', '.join('NA' if part is None else _r(part) for part in value)})"


def r_text(text: str) -> str:
    """A literal of R: everything but ASCII letters by its number."""
    parts = (
        letter if letter.isascii() and letter.isprintable() and letter not in '"\\'
        else f"\\U{{{ord(letter):06x}}}"
        for letter in text
    )  # fmt: skip
    return '"' + "".join(parts) + '"'
