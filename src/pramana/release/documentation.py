"""README, codebook, and programs that load a release in Python, R, Stata and SPSS.

All of it follows from the certificate: it discloses no more than the certificate does, two folders
with the same certificate have the same texts, and ``verify`` finds every byte that was changed.
The texts are templates in ``assets``. Names and labels pass the filter of a language, which makes
literals of them, so that no name becomes a command.

Estimators travel with a release: ``analyse.html`` for a browser, ``analyse.R`` for R. Both hold the
description of the release that follows from its certificate (columns, codes, matrices) and a
program that is the same for every release. They give the unbiased estimates of ``pramana
estimate``, with the same standard errors and intervals.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from pramana.base.charts import tokens
from pramana.base.text import no_formula, text_templates
from pramana.base.translation import ENGLISH, in_language
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.io.base import FORMATS, Format
from pramana.mechanisms.mechanism import (
    AttributeSampler,
    AttributeSet,
    Mechanism,
    Step,
)
from pramana.mechanisms.transition import UniformMixture
from pramana.release.certificate import Certificate
from pramana.release.certificate_fields import treatment_of
from pramana.schema.codec import label_array
from pramana.schema.domains import Bins, Categories, Label, NumberGrid, label_key, label_text
from pramana.schema.joint_cells import cell_codes
from pramana.schema.roles import Role
from pramana.schema.schema import COUNT, REPORTED, Column
from pramana.types import Form

if TYPE_CHECKING:
    from jinja2 import Environment


LOADERS: Final = {"load.py": "Python", "load.R": "R", "load.do": "Stata", "load.sps": "SPSS"}
"""The programs that load a release, and their languages."""

README: Final = "README.md"
PAGE: Final = "analyse.html"
PROGRAM: Final = "analyse.R"
CODEBOOK: Final = "codebook.csv"
EXPLAINING: Final = (README, CODEBOOK, *LOADERS, PAGE, PROGRAM)
"""The names of all files but data and certificate."""

WARNING: Final = "Do not count these records directly: README.md says how to estimate."
NUMBER: Final = r"-?((0|[1-9][0-9]{0,14})([.][0-9]*[1-9])?(e[+-][0-9]+)?|inf)"
"""How a released number is written. Codes such as 01 or 250.00 are none: they would change."""

ANY_IN_PYTHON: Final = "__import__('pramana').load(HERE).opened.to_arrow().to_pandas()"


def explanations(certificate: Certificate) -> dict[str, bytes]:
    """All files but data and certificate, by name, in English."""
    with in_language(ENGLISH):
        return _explanations(certificate)


def _explanations(certificate: Certificate) -> dict[str, bytes]:
    columns = [_column(certificate, at, c) for at, c in enumerate(certificate.schema.released, 1)]
    values: Form = {
        "certificate": certificate,
        "nature": certificate.nature,
        "columns": columns,
        "labels": {column["name"]: column["label"] for column in columns if column["label"]},
        "data": partial(_data, certificate),
        "example": _example(certificate),
        "answerable": answerable(certificate),
        "loaders": LOADERS,
        "warning": WARNING,
        "number": NUMBER,
        "any_in_python": ANY_IN_PYTHON,
        "stata_instead": STATA_INSTEAD,
    }
    texts = {
        name: _templates().get_template(f"{name}.j2").render(values) for name in (README, *LOADERS)
    }
    texts |= {CODEBOOK: _codebook(certificate)} | portable_files(certificate)
    return {name: texts[name].encode() for name in EXPLAINING if name in texts}


@cache
def _templates() -> Environment:
    literals = {"literal": ascii, "r": r_text, "stata": _stata_text, "spss": _spss_text}
    return text_templates("pramana.release", "assets", **literals, markdown=_shown, ord=ord)


def _data(certificate: Certificate, *wanted: str) -> tuple[str, str, Format | None]:
    """Name and format of the data, or of a copy in the format that a language likes best."""
    data = certificate.data_as(*wanted)
    name, form = ("data.parquet", "parquet") if data is None else (data.name, data.format)
    return name, form, FORMATS.get(form)


def _column(certificate: Certificate, place: int, column: Column) -> Form:
    """A released column for the templates; where its values are listed, these with their labels."""
    domain, text = column.domain, _is_text(column)
    values: tuple[Label, ...] = ()
    if domain is not None and (column.coded or column.listed):
        values = domain.labels if not isinstance(domain, Bins) or domain.release == "label" else ()
    texts = _labels(certificate, column)
    spelled = list(map(label_text, values))
    labels = [texts.get(label_key(value), label_text(value)) for value in values]
    unique = len(set(labels)) == len(labels)
    kept = spelled if text else list(values)
    codes: list[int] = list(range(1, len(values) + 1))
    if not text:  # Stata labels whole numbers only
        codes = [int(v) for v in values if isinstance(v, int | float) and float(v).is_integer()]
    return {
        "place": place,
        "name": column.name,
        "label": certificate.labels.variables.get(column.name, ""),
        "treatment": _treatment(certificate, column),
        "recoding": column.recoding.sentence() if column.recoding else "",
        "coded": column.coded,
        "listed": bool(values),
        "text": text,
        "number": not text if values else _is_number(column),
        "ordered": column.ordered,
        "spelled": spelled,
        "labels": labels,
        "unique": unique,
        "kept": kept,
        "renamed": {
            value: label
            for value, label in zip(kept, labels, strict=True)
            if unique and label != label_text(value)
        },
        "codes": codes if len(codes) == len(values) else [],
        "missing": [] if domain is None else list(map(label_text, domain.missing_labels)),
    }


def _example(certificate: Certificate) -> str:
    """A column as the value of an option in a shell; a placeholder where a code span would end."""
    name = next(iter(certificate.schema.randomised), certificate.schema.released[0]).name
    # Weights cross a column with another one, and only published matrices undo that.
    apart = certificate.nature.withholds_matrices and certificate.schema.weight is not None
    option = ("=" if name.startswith("-") else " ") + shlex.quote(name)
    shown = " COLUMN" if "`" in name or not name.isprintable() else option
    return f"{shown} --unweighted" if apart else shown


def _labels(certificate: Certificate, column: Column) -> dict[str | None, str]:
    """The label of each value of a column, by the text of the value."""
    values = certificate.labels.values.get(column.name, {})
    return {label_key(value): text for value, text in values.items()}


def _is_text(column: Column) -> bool:
    """Whether the values of a listed column are texts in the data file."""
    domain = column.domain
    if isinstance(domain, Categories):
        return any(isinstance(value, str) for value in domain.labels)
    return isinstance(domain, Bins) and domain.release == "label"


def _is_number(column: Column) -> bool:
    """Whether a column without listed values surely holds numbers: weights, and what is rounded."""
    recoding = column.recoding
    ends = (recoding.bottom, recoding.top, recoding.round, recoding.noise)
    return column.role is Role.WEIGHT or column.binned or any(end is not None for end in ends)


def _treatment(certificate: Certificate, column: Column) -> str:
    if certificate.nature.counted and column.name in (REPORTED, COUNT):
        return "names the table" if column.name == REPORTED else "counted after randomisation"
    if certificate.marks and column.name == REPORTED:
        return "drawn at random, independently of the record"
    return treatment_of(column, certificate.nature.treatment)


# -- literals --------------------------------------------------------------------------------------

STATA_INSTEAD: Final = {
    '"': "\N{RIGHT DOUBLE QUOTATION MARK}",
    "`": "\N{RIGHT SINGLE QUOTATION MARK}",
    "$": "S",
}
"""Characters that end a literal of Stata or expand a macro in it, and what is written instead."""


def _stata_text(text: str) -> str:
    """A literal of Stata, in compound quotes, without what would end, expand or comment it."""
    escaped = "".join(STATA_INSTEAD.get(letter, letter) for letter in _one_line(text))
    if escaped.startswith("'"):  # with the opening quote it would be a closing one
        escaped = STATA_INSTEAD["`"] + escaped[1:]
    escaped = re.sub(r"(?<=/)(?=[/*])|(?<=\*)(?=/)", " ", escaped)
    return f'`"{escaped}"\''


def _spss_text(text: str) -> str:
    return "'" + _one_line(text).replace("'", "''") + "'"


MARKUP: Final = re.compile(r"[\\`*\[\]<>&~|!#@]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.")
"""Characters that make up Markdown or a link; an underscore inside a word does not."""


def _shown(text: str) -> str:
    """A text from outside on one line of Markdown that shows it as it is."""
    return MARKUP.sub(r"\\\g<0>", _one_line(text))


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


# -- codebook --------------------------------------------------------------------------------------


def _codebook(certificate: Certificate) -> str:
    """One line a value; a column whose values are not listed has one line."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    heads = "column label role treatment recoding domain value value_label kind"
    writer.writerow(heads.split())
    for column in certificate.schema.released:
        about = [
            column.name,
            certificate.labels.variables.get(column.name, ""),
            str(column.role),
            _treatment(certificate, column),
            column.recoding.sentence(),
            _domain(certificate, column),
        ]
        for value, label, kind in _values(certificate, column):
            writer.writerow(map(no_formula, [*about, value, label, kind]))
    return out.getvalue()


def _domain(certificate: Certificate, column: Column) -> str:
    if certificate.marks and column.name == REPORTED:
        return "sets of columns, as stated in the certificate"
    if not (column.coded or column.listed):
        return "as it occurs"
    what = "bins" if isinstance(column.domain, Bins) else "categories"
    how = f", released as {column.domain.release}" if isinstance(column.domain, Bins) else ""
    if isinstance(column.domain, NumberGrid):
        steps = label_text(column.domain.step)
        what = f"points of a grid: numbers in steps of {steps} were rounded to them by chance"
    return f"{what}{how}, {column.origin.words}"


def _values(certificate: Certificate, column: Column) -> Iterator[tuple[str, str, str]]:
    """Each value with its label and its kind: value, missing, not asked."""
    if certificate.marks and column.name == REPORTED:
        yield from ((name, "", "value") for name in certificate.marks)
        return
    labels = _labels(certificate, column)
    if column.domain is None or not (column.coded or column.listed):
        listed: list[tuple[Label, str]] = [(key, "value") for key in labels]
        for value, kind in listed or [(None, "any")]:
            yield label_text(value), labels.get(label_key(value), ""), kind
        return
    gone = column.domain.missing_labels
    for value in column.domain.labels:
        kind = "missing" if value in gone else "value"
        yield label_text(value), labels.get(label_key(value), ""), kind
    partly = bool(certificate.marks) and column.randomised
    if None in column.labels:
        yield "", "empty if reported" if partly else "empty", "missing"
    if partly:
        counted = certificate.nature.counted
        meaning = "empty in tables without it" if counted else "empty if not reported"
        yield "", meaning, "not asked"


# -- estimators that travel with a release ---------------------------------------------------------

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
            _described_column(certificate, column)
            for column in schema.released
            if column.name != REPORTED
        ],
        "guarantee": _guarantee(certificate),
    }
    if isinstance(mechanism, AttributeSampler):
        return form | {"steps": [], "sets": [_set(certificate, asked) for asked in mechanism.sets]}
    assert isinstance(mechanism, Mechanism)  # noqa: S101 - nothing else is answerable
    return form | {"steps": [_step(certificate, step) for step in mechanism.steps], "sets": None}


def _described_column(certificate: Certificate, column: Column) -> Form:
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
    return '"' + re.sub(r"[^ !#-\[\]-~]", lambda odd: f"\\U{{{ord(odd[0]):06x}}}", text) + '"'
