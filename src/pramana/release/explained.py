"""What a release folder says about itself: README, codebook, and snippets that load the data.

All of it follows from the certificate, so that it tells no more than the certificate does, two
folders with the same certificate say the same, and ``verify`` finds every byte that was changed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Final

from pramana.release.certificate import NOT_FOR_PUBLICATION, Certificate
from pramana.release.certificate_fields import treatment_of
from pramana.release.snippets import LOADERS, loader
from pramana.table.domains import Bins, Label, label_key, label_text
from pramana.table.schema import ASKED, Column

__all__ = ["CODEBOOK", "EXPLAINING", "README", "explanations"]

README: Final = "README.md"
CODEBOOK: Final = "codebook.csv"
EXPLAINING: Final = (README, CODEBOOK, *LOADERS)
"""The names of all files beside data and certificate."""


def explanations(certificate: Certificate) -> dict[str, bytes]:
    """The files beside data and certificate, by name."""
    texts = {README: _readme(certificate), CODEBOOK: _codebook(certificate)}
    texts |= {name: loader(name, certificate) for name in LOADERS}
    return {name: text.encode() for name, text in texts.items()}


# -- README ----------------------------------------------------------------------------------------


def _readme(certificate: Certificate) -> str:
    return "\n".join([*_lines(certificate), ""])


def _lines(certificate: Certificate) -> Iterator[str]:
    example = next(iter(certificate.schema.randomised), certificate.schema.released[0]).name
    yield (
        "Do not count these records as they stand: estimate, with `pramana estimate . --by "
        'COLUMN`, or in Python `pramana.load(".").crosstab("COLUMN")`.'
    )
    yield ""
    yield f"# A release of {certificate.records:,} records by method {certificate.method}"
    yield ""
    yield certificate.nature.why_not
    # Weights cross a column with another one, and only matrices that are told undo that.
    apart = certificate.nature.withholds_matrices and certificate.schema.weight is not None
    more = " --unweighted" if apart else ""
    yield f"A first table, with errors: `pramana estimate . --by {_shown(example)}{more}`."
    yield from _section("What is promised", certificate.sentences())
    yield from _section("What is not promised", _limits(certificate))
    yield from _section("What must not be done", _warnings(certificate))
    yield from _section("What lies here", _files(certificate))
    yield from _section("Columns", (_column_line(certificate, c) for c in _columns(certificate)))


def _section(title: str, lines: Iterator[str] | list[str]) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    for line in lines:
        yield f"- {line}"


def _limits(certificate: Certificate) -> Iterator[str]:
    yield str(certificate.scope()["statement"])
    yield certificate.among_whom()
    yield "A promise bounds what is learned about a person; it does not say that records are false."
    yield "Promises of several releases about the same people add up to less."
    if certificate.reproducible:
        yield f"A seed was used: {NOT_FOR_PUBLICATION}."


def _warnings(certificate: Certificate) -> Iterator[str]:
    yield "Do not count, average or fit models to the records as they stand; see the first line."
    yield (
        "Do not take a record for a person: what it says was drawn by chance or exchanged, and one "
        "that reads like somebody's need not be theirs."
    )
    yield "Do not try to find out who is in it, nor link it with other files about people."
    if not certificate.nature.whole:
        yield (
            "Do not take an empty cell for a missing value: where `asked` does not name the "
            "column, it was not asked for."
        )


def _files(certificate: Certificate) -> Iterator[str]:
    data = "the data file" if certificate.data is None else f"`{certificate.data.name}`"
    yield f"{data}: the released records, in random order."
    for copy in certificate.copies:
        yield f"`{copy.name}`: the same records in the same order, for who reads {copy.format}."
    yield (
        "`certificate.json`: what was done and what is promised, in full. `pramana verify .` "
        "checks it, the data and this text."
    )
    yield f"`{CODEBOOK}`: every column with its role, treatment and values, with labels."
    for name, language in LOADERS.items():
        yield f"`{name}`: loads the records with their labels in {language}."


def _column_line(certificate: Certificate, column: Column) -> str:
    label = certificate.labels.variables.get(column.name, "")
    told = f" ({_shown(label)})" if label else ""
    how = f"; {_shown(column.recoding.sentence())}" if column.recoding else ""
    return f"{_shown(column.name)}{told}: {_treatment(certificate, column)}{how}."


def _treatment(certificate: Certificate, column: Column) -> str:
    if certificate.marks and column.name == ASKED:
        return "drawn by chance, whatever the record is"
    return treatment_of(column, certificate.nature.treatment)


def _shown(text: str) -> str:
    """A text from outside on one line of plain words."""
    visible = "".join(letter if letter.isprintable() else " " for letter in text)
    return visible.replace("`", "'").replace("<", "(").replace(">", ")")


# -- codebook --------------------------------------------------------------------------------------


def _codebook(certificate: Certificate) -> str:
    """One line a value; a column whose values are not listed has one line."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(
        [
            "column",
            "label",
            "role",
            "treatment",
            "recoding",
            "domain",
            "value",
            "value_label",
            "kind",
        ]
    )
    for column in _columns(certificate):
        about = [
            column.name,
            certificate.labels.variables.get(column.name, ""),
            str(column.role),
            _treatment(certificate, column),
            column.recoding.sentence(),
            _domain(certificate, column),
        ]
        for value, label, kind in _values(certificate, column):
            writer.writerow([*about, value, label, kind])
    return out.getvalue()


def _columns(certificate: Certificate) -> tuple[Column, ...]:
    return certificate.schema.released


def _domain(certificate: Certificate, column: Column) -> str:
    if certificate.marks and column.name == ASKED:
        return "sets of columns, as stated in the certificate"
    if not (column.coded or column.listed):
        return "as it occurs"
    what = "bins" if isinstance(column.domain, Bins) else "categories"
    how = f", released as {column.domain.release}" if isinstance(column.domain, Bins) else ""
    return f"{what}{how}, {'declared' if column.declared else 'read off the data'}"


def _values(certificate: Certificate, column: Column) -> Iterator[tuple[str, str, str]]:
    """Each value with its label and its kind: value, one that stands for missing, not asked."""
    if certificate.marks and column.name == ASKED:
        yield from ((name, "", "value") for name in certificate.marks)
        return
    labels = {
        label_key(value): text
        for value, text in certificate.labels.values.get(column.name, {}).items()
    }
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
        yield "", "empty where asked for" if partly else "empty", "missing"
    if partly:
        yield "", "empty where not asked for", "not asked"
