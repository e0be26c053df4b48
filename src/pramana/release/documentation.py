"""README, codebook, and programs that load a release in Python, R, Stata and SPSS.

All of it follows from the certificate: it discloses no more than the certificate does, two folders
with the same certificate have the same texts, and ``verify`` finds every byte that was changed.
The texts are templates in ``assets``. Names and labels pass the filter of a language, which makes
literals of them, so that no name becomes a command.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from pramana.base.look import text_templates
from pramana.base.text import no_formula
from pramana.base.translation import ENGLISH, in_language
from pramana.io.base import FORMATS, Format
from pramana.release.certificate import Certificate
from pramana.release.certificate_fields import treatment_of
from pramana.release.portable import PAGE, PROGRAM, answerable, portable_files, r_text
from pramana.schema.domains import Bins, Categories, Label, NumberGrid, label_key, label_text
from pramana.schema.schema import COUNT, REPORTED, Column
from pramana.types import Form

if TYPE_CHECKING:
    from jinja2 import Environment

LOADERS: Final = {"load.py": "Python", "load.R": "R", "load.do": "Stata", "load.sps": "SPSS"}
"""The programs that load a release, and their languages."""

README: Final = "README.md"
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
