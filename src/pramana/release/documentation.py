"""README, codebook, and programs that load a release in Python, R, Stata and SPSS.

All of it follows from the certificate: it discloses no more than the certificate does, two folders
with the same certificate have the same texts, and ``verify`` finds every byte that was changed.
Names and labels are written as literals of each language, so that no name becomes a command.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pramana.base.text import no_formula
from pramana.io.base import FORMATS, Format
from pramana.release.certificate import NOT_FOR_PUBLICATION, Certificate
from pramana.release.certificate_fields import treatment_of
from pramana.release.portable import PAGE, PROGRAM, answerable, portable_files, r_text
from pramana.schema.domains import Bins, Categories, Label, NumberGrid, label_key, label_text
from pramana.schema.schema import COUNT, REPORTED, Column

LOADERS: Final = {"load.py": "Python", "load.R": "R", "load.do": "Stata", "load.sps": "SPSS"}
"""The snippets and their languages."""

WARNING: Final = "Do not count these records directly: README.md says how to estimate."
NUMBER: Final = r"-?((0|[1-9][0-9]{0,14})([.][0-9]*[1-9])?(e[+-][0-9]+)?|inf)"
"""How a released number is written. Codes such as 01 or 250.00 are none: they would change."""

TEXT_WIDTH: Final = 255
MOST_MISSING: Final = 3


def loader(name: str, certificate: Certificate) -> str:
    """The snippet of that name."""
    made = {"load.py": _python, "load.R": _r, "load.do": _stata, "load.sps": _spss}[name]
    return "\n".join([*made(certificate), ""])


def _data(certificate: Certificate, *wanted: str) -> tuple[str, str]:
    """Name and form of the data, or of a copy in the form that a language likes best."""
    data = certificate.data_as(*wanted)
    return ("data.parquet", "parquet") if data is None else (data.name, data.format)


def _coded(certificate: Certificate) -> Iterator[tuple[Column, tuple[Label, ...], list[str]]]:
    """Columns whose released values are listed: the values, and a label for each."""
    for column in certificate.schema.released:
        domain = column.domain
        if domain is None or not (column.coded or column.listed):
            continue
        if isinstance(domain, Bins) and domain.release != "label":
            continue
        texts, values = _labels(certificate, column), domain.labels
        yield column, values, [texts.get(label_key(v), label_text(v)) for v in values]


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


def _spelled(member: Format) -> bool:
    """Whether a format keeps numbers as text, so that a reader must find out which are numbers."""
    return member.parsed and not member.labelled


# -- Python ----------------------------------------------------------------------------------------

ANY_IN_PYTHON: Final = "__import__('pramana').load(HERE).opened.to_arrow().to_pandas()"


def _python(certificate: Certificate) -> Iterator[str]:
    name, form = _data(certificate)
    member = FORMATS.get(form)
    read = (member and member.in_python) or ANY_IN_PYTHON
    yield '"""Loads the released records as a pandas table ``records``, with labels.'
    yield ""
    yield f"{WARNING}"
    yield '"""'
    yield ""
    yield "from pathlib import Path"
    yield ""
    yield "import pandas as pd"
    if member is not None and member.labelled:
        yield "import pyreadstat"
    yield ""
    yield "HERE = Path(__file__).parent"
    yield f"LABELS = {dict(_variables(certificate))!a}"
    texts = [c.name for c in certificate.schema.released if c.coded and _is_text(c)]
    yield f"TEXTS = {texts!a}"
    yield ""
    yield f"records = {read.format(name=ascii(name))}"
    if member is not None and _spelled(member):
        yield "for name in records.columns.difference(TEXTS, sort=False):"
        yield "    values = records[name].dropna()"
        yield '    if values.isin(["true", "false"]).all():'
        yield '        records[name] = records[name].map({"true": True, "false": False})'
        yield f"    elif values.str.fullmatch({NUMBER!r}).all():"
        yield "        records[name] = pd.to_numeric(records[name])"
    yield 'records.attrs["labels"] = LABELS'
    for column, values, labels in _coded(certificate):
        literal = ascii(column.name)
        values = tuple(map(label_text, values)) if _is_text(column) else values
        kind = f"pd.CategoricalDtype({list(values)!a}, ordered={column.ordered})"
        yield f"records[{literal}] = records[{literal}].astype({kind})"
        renamed = {v: t for v, t in zip(values, labels, strict=True) if t != label_text(v)}
        if renamed and len(set(labels)) == len(labels):
            yield f"records[{literal}] = records[{literal}].cat.rename_categories({renamed!a})"


def _variables(certificate: Certificate) -> Iterator[tuple[str, str]]:
    for column in certificate.schema.released:
        label = certificate.labels.variables.get(column.name)
        if label:
            yield column.name, label


# -- R ---------------------------------------------------------------------------------------------


def _r(certificate: Certificate) -> Iterator[str]:
    name, form = _data(certificate, "csv")
    yield "# Loads the released records as a data frame 'records', with labels."
    yield f"# {WARNING}"
    member = FORMATS.get(form)
    if member is None or not member.in_r:
        yield f"stop({r_text(f'R does not read {form}: save the release as csv with pramana.')})"
        return
    yield f"records <- {member.in_r.format(name=r_text(name))}"
    if _spelled(member):
        coded = ", ".join(r_text(column.name) for column, _, _ in _coded(certificate))
        yield f"coded <- c({coded})"
        yield "for (name in setdiff(names(records), coded)) {"
        yield "  values <- records[[name]][!is.na(records[[name]])]"
        yield '  if (all(values %in% c("true", "false"))) {'
        yield '    records[[name]] <- records[[name]] == "true"'
        yield f'  }} else if (all(grepl("^({NUMBER})$", values))) {{'
        yield "    records[[name]] <- as.numeric(records[[name]])"
        yield "  }"
        yield "}"
    if member.labelled:
        return  # haven brings the labels along
    for column, values, labels in _coded(certificate):
        literal = r_text(column.name)
        levels = ", ".join(r_text(label_text(value)) for value in values)
        named = ", ".join(map(r_text, labels if len(set(labels)) == len(labels) else []))
        extra = f", labels = c({named})" if named else ""
        order = ", ordered = TRUE" if column.ordered else ""
        yield (
            f"records[[{literal}]] <- factor(as.character(records[[{literal}]]), "
            f"levels = c({levels}){extra}{order})"
        )
    for literal, label in _variables(certificate):
        yield f'attr(records[[{r_text(literal)}]], "label") <- {r_text(label)}'


# -- Stata -----------------------------------------------------------------------------------------


def _stata(certificate: Certificate) -> Iterator[str]:
    name, form = _data(certificate, "dta", "csv")
    yield "* Loads the released records, with labels."
    yield f"* {WARNING}"
    yield "version 16"
    if form == "dta":
        yield f"use {_stata_text(name)}, clear"
        return  # the file has its labels
    if form != "csv":
        yield f"* Stata does not read {form}: write a copy of the release as dta with pramana."
        return
    released = certificate.schema.released
    places = {column.name: at for at, column in enumerate(released, start=1)}
    texts = " ".join(str(places[c.name]) for c, _, _ in _coded(certificate) if _is_text(c))
    yield (
        f"import delimited using {_stata_text(name)}, clear varnames(1) case(preserve) "
        f"encoding(utf-8) bindquote(strict){f' stringcols({texts})' if texts else ''}"
    )
    for column in released:
        place = places[column.name]
        yield f"unab own : _all\nlocal v{place} : word {place} of `own'"
        label = certificate.labels.variables.get(column.name) or column.name
        yield f"label variable `v{place}' {_stata_text(label[:80])}"
    for column, values, labels in _coded(certificate):
        yield from _stata_values(places[column.name], column, values, labels)


def _stata_values(
    place: int, column: Column, values: Sequence[Label], labels: Sequence[str]
) -> Iterator[str]:
    """Numbers get labels; texts become numbers with labels, in the order of the domain."""
    text = _is_text(column)
    codes: list[int] = list(range(1, len(values) + 1))
    if not text:
        codes = [int(v) for v in values if isinstance(v, int | float) and float(v).is_integer()]
        if len(codes) < len(values):
            return  # Stata labels whole numbers only
    spelled = list(map(label_text, values))
    for code, label in zip(codes, spelled if text else labels, strict=True):
        yield f"label define values{place} {code} {_stata_text(label)}, add"
    if not text:
        yield f"label values `v{place}' values{place}"
        return
    yield f"capture tostring `v{place}', replace force"
    for letter, instead in STATA_INSTEAD.items():
        if any(letter in value for value in spelled):
            exchanged = f"char({ord(letter)}), uchar({ord(instead)})"
            yield f"quietly replace `v{place}' = subinstr(`v{place}', {exchanged}, .)"
    yield f"encode `v{place}', generate(code{place}) label(values{place}) noextend"
    yield f"order code{place}, after(`v{place}')"
    yield f"drop `v{place}'"
    yield f"rename code{place} `v{place}'"


STATA_INSTEAD: Final = {
    '"': "\N{RIGHT DOUBLE QUOTATION MARK}",
    "`": "\N{RIGHT SINGLE QUOTATION MARK}",
    "$": "S",
}
"""Characters that end a literal of Stata or expand a macro in it, and what is written instead."""


def _stata_text(text: str) -> str:
    """A literal of Stata, in compound quotes, without what would end, expand or comment it."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    plain = "".join(STATA_INSTEAD.get(letter, letter) for letter in plain)
    if plain.startswith("'"):  # with the opening quote it would be a closing one
        plain = STATA_INSTEAD["`"] + plain[1:]
    plain = re.sub(r"(?<=/)(?=[/*])|(?<=\*)(?=/)", " ", plain)
    return f'`"{plain}"\''


# -- SPSS ------------------------------------------------------------------------------------------


def _spss(certificate: Certificate) -> Iterator[str]:
    name, form = _data(certificate, "sav", "csv")
    yield "* Loads the released records, with labels."
    yield f"* {WARNING}"
    if form == "sav":
        yield f"GET FILE={_spss_text(name)}."
        return  # the file has its labels
    if form != "csv":
        yield f"* SPSS does not read {form}: write a copy of the release as sav with pramana."
        return
    names = {c.name: f"v{at}" for at, c in enumerate(certificate.schema.released, start=1)}
    texts = {column.name for column, _, _ in _coded(certificate) if _is_text(column)}
    yield f"GET DATA /TYPE=TXT /FILE={_spss_text(name)} /ENCODING='UTF8' /ARRANGEMENT=DELIMITED"
    yield "  /DELCASE=LINE /DELIMITERS=',' /QUALIFIER='\"' /FIRSTCASE=2 /VARIABLES="
    for column in certificate.schema.released:
        kind = f"A{TEXT_WIDTH}" if column.name in texts else "AUTO"
        yield f"  {names[column.name]} {kind}"
    yield "  ."
    yield "VARIABLE LABELS"
    for column in certificate.schema.released:
        label = certificate.labels.variables.get(column.name) or column.name
        yield f"  {names[column.name]} {_spss_text(label)}"
    yield "  ."
    for column, values, labels in _coded(certificate):
        variable, text = names[column.name], column.name in texts
        yield f"VALUE LABELS {variable}"
        for value, label in zip(values, labels, strict=True):
            shown = _spss_text(label_text(value)) if text else label_text(value)
            yield f"  {shown} {_spss_text(label[:120])}"
        yield "  ."
        missing = () if column.domain is None or text else column.domain.missing_labels
        if 0 < len(missing) <= MOST_MISSING:  # SPSS takes up to three numbers
            yield f"MISSING VALUES {variable} ({', '.join(map(label_text, missing))})."
        yield f"VARIABLE LEVEL {variable} ({'ORDINAL' if column.ordered else 'NOMINAL'})."
    yield "EXECUTE."


def _spss_text(text: str) -> str:
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return "'" + plain.replace("'", "''") + "'"


README: Final = "README.md"
CODEBOOK: Final = "codebook.csv"
EXPLAINING: Final = (README, CODEBOOK, *LOADERS, PAGE, PROGRAM)
"""The names of all files but data and certificate."""


def explanations(certificate: Certificate) -> dict[str, bytes]:
    """All files but data and certificate, by name."""
    texts = {README: "\n".join([*_lines(certificate), ""]), CODEBOOK: _codebook(certificate)}
    texts |= {name: loader(name, certificate) for name in LOADERS}
    texts |= portable_files(certificate)
    return {name: text.encode() for name, text in texts.items()}


# -- README ----------------------------------------------------------------------------------------


def _lines(certificate: Certificate) -> Iterator[str]:
    example = next(iter(certificate.schema.randomised), certificate.schema.released[0]).name
    yield (
        "Do not count these records directly. Estimate, with `pramana estimate . --by COLUMN`, or "
        'in Python `pramana.load(".").crosstab("COLUMN")`.'
    )
    yield ""
    yield f"# A release of {certificate.records:,} records by method {certificate.method}"
    yield ""
    yield certificate.nature.why_not
    # Weights cross a column with another one, and only published matrices undo that.
    apart = certificate.nature.withholds_matrices and certificate.schema.weight is not None
    more = " --unweighted" if apart else ""
    command = f"pramana estimate . --by{_argument(example)}{more}"
    yield f"A first table, with errors: `{command}`."
    yield from _section("What is guaranteed", map(_shown, certificate.sentences()))
    yield from _section("What is not guaranteed", _limits(certificate))
    yield from _section("How not to use it", _warnings(certificate))
    yield from _section("Files", _files(certificate))
    columns = certificate.schema.released
    yield from _section("Columns", (_column_line(certificate, column) for column in columns))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    for line in lines:
        yield f"- {line}"


def _limits(certificate: Certificate) -> Iterator[str]:
    yield _shown(str(certificate.scope()["statement"]))
    yield _shown(certificate.among_whom())
    yield "A guarantee bounds what is learned about a person. Records may still be true."
    yield "Releases about the same people together disclose more: see `pramana ledger`."
    if certificate.reproducible:
        yield f"A seed was used: {NOT_FOR_PUBLICATION}."


def _warnings(certificate: Certificate) -> Iterator[str]:
    yield "Do not count, average or fit models to the records directly; see the first line."
    yield (
        "A record is not a person: its values were randomised or exchanged, and a record that "
        "resembles a person may belong to another one."
    )
    yield "Do not try to re-identify anybody, and do not link it with other files about people."
    if certificate.nature.counted:
        yield "Do not add up counts of different tables: they are of the same people."
    elif not certificate.nature.whole:
        yield (
            "An empty cell is no missing value: the record does not report columns that "
            "`reported` does not name."
        )


def _files(certificate: Certificate) -> Iterator[str]:
    data = "the data file" if certificate.data is None else f"`{certificate.data.name}`"
    what = "one row a cell of each table" if certificate.nature.counted else "the released records"
    yield f"{data}: {what}{'' if certificate.nature.counted else ', in random order'}."
    for copy in certificate.copies:
        yield f"`{copy.name}`: the same records in the same order, as {copy.format}."
    yield (
        "`certificate.json`: the method and the guarantees, in full. `pramana verify .` checks it, "
        "the data and this text."
    )
    yield f"`{CODEBOOK}`: every column with its role, treatment and values, with labels."
    for name, language in LOADERS.items():
        yield f"`{name}`: loads the records with their labels in {language}."
    if answerable(certificate):
        yield f"`{PAGE}`: tables and means in a browser, without a network connection."
        yield f"`{PROGRAM}`: the same in R, with `pm_table` and `pm_mean`."


def _column_line(certificate: Certificate, column: Column) -> str:
    label = certificate.labels.variables.get(column.name, "")
    labelled = f" ({_shown(label)})" if label else ""
    how = f"; {_shown(column.recoding.sentence())}" if column.recoding else ""
    return f"{_shown(column.name)}{labelled}: {_treatment(certificate, column)}{how}."


def _treatment(certificate: Certificate, column: Column) -> str:
    if certificate.nature.counted and column.name in (REPORTED, COUNT):
        return "says which table" if column.name == REPORTED else "counted after randomisation"
    if certificate.marks and column.name == REPORTED:
        return "drawn at random, independently of the record"
    return treatment_of(column, certificate.nature.treatment)


MARKUP: Final = re.compile(r"[\\`*\[\]<>&~|!#@]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.")
"""Characters that make up Markdown or a link; an underscore inside a word does not."""


def _shown(text: str) -> str:
    """A text from outside on one line of Markdown that shows it as it is."""
    visible = "".join(letter if letter.isprintable() else " " for letter in text)
    return MARKUP.sub(r"\\\g<0>", visible)


def _argument(name: str) -> str:
    """A column as the value of an option in a shell; a placeholder where a code span would end."""
    if "`" in name or not name.isprintable():
        return " COLUMN"
    return ("=" if name.startswith("-") else " ") + shlex.quote(name)


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
