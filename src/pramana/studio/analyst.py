"""Tasks on a release: checks, codebook, tables, regressions; and their results as files."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from pramana import api
from pramana.base.text import no_formula, percent
from pramana.base.translation import gettext, noop, numeral
from pramana.errors import InputError, MissingExtra, PramanaError
from pramana.studio.view import amount
from pramana.studio.worker import Workbench

UNRELIABLE: Final = 0.3
"""A standard error above this share of its number makes a cell unreliable, as offices have it."""

MOST_VALUES: Final = 200
MOST_CELLS: Final = 20_000
NUMBERS: Final = ("int", "uint", "float", "double", "decimal", "halffloat")
SHARES: Final = {"share": True, "row": "row", "column": "column"}
HEADS: Final = {
    "count": noop("Number of people"),
    "share": noop("Share of all"),
    "row": noop("Share within a row"),
    "column": noop("Share within a column"),
    "mean": noop("Mean of {column}"),
    "total": noop("Total of {column}"),
}
LEVEL_OF_FACTOR: Final = re.compile(
    r"(?:C\()?([^\[\](),:\s][^\[\](),:]*)(?:,[^\[\]]*)?\)?\[(?:T\.)?([^\]]*)\]"
)


def release_at(bench: Workbench, path: str, stamp: int) -> Any:
    """The release there, opened once."""
    return bench.keep(f"release {path} {stamp}", lambda: api.load(path))


def check(bench: Workbench, *, path: str, stamp: int) -> dict[str, Any]:
    """Everything that a stranger can check, and what is promised."""
    bench.say("Checking the release")
    about: dict[str, Any] = {}
    with suppress(PramanaError):  # where it cannot even be opened, the checks say why
        certificate = release_at(bench, path, stamp).certificate
        weight = certificate.schema.weight
        about = {
            "records": certificate.records,
            "columns": len(certificate.true_schema.released),
            "method": certificate.method,
            "guarantees": certificate.sentences(),
            "weight": None if weight is None else weight.name,
        }
    verdict = api.verify(path, progress=bench.expect(about.get("records", 0)))
    return {**verdict.to_json(), "counted": verdict.counted(), **about}


def describe(bench: Workbench, *, path: str, stamp: int) -> dict[str, Any]:
    """The codebook: every column, its labels, and what may be asked of it."""
    bench.say("Reading the codebook")
    release = release_at(bench, path, stamp)
    certificate = release.certificate
    weight = certificate.schema.weight
    columns = [_column(column, release) for column in certificate.true_schema.released]
    return {
        "columns": columns,
        "weight": None if weight is None else weight.name,
        "error": api.error_words(certificate),
    }


def _column(column: Any, release: Any) -> dict[str, Any]:
    labels = release.certificate.labels
    listed = column.labels if column.coded else tuple(labels.values.get(column.name, ()))
    codes = ["" if value is None else str(value) for value in listed[:MOST_VALUES]]
    bins = release.certificate.true_schema.bin_words.get(column.name, {})
    named = labels.named(column.name, listed[:MOST_VALUES])
    texts = [bins.get(code, text) for code, text in zip(codes, named, strict=True)]
    kind = str(release.opened.schema.field(column.name).type)
    return {
        "name": column.name,
        "label": labels.variables.get(column.name, ""),
        "title": labels.title(column.name),
        "role": str(column.role),
        "treatment": _treatment(column, release.certificate),
        "recoding": column.recoding.sentence() if column.recoding else "",
        "number": column.gridded or (kind.startswith(NUMBERS) and not column.randomised),
        "values": list(zip(codes, texts, strict=True)),
        "more": max(len(listed) - MOST_VALUES, 0),
    }


def _treatment(column: Any, certificate: Any) -> str:
    """What was done to a column, as the codebook has it."""
    if not column.randomised:
        return gettext("released unchanged")
    if column.gridded:
        return gettext("rounded by chance to the values below, then randomised")
    return str(gettext(certificate.nature.treatment))


def tabulate(
    bench: Workbench,
    *,
    path: str,
    stamp: int,
    by: list[str],
    what: str,
    of: str,
    only: list[str],
    level: float,
    infer: str,
    weighted: bool,
) -> dict[str, Any]:
    """A table of counts, shares, means or totals, with intervals, in the words of the labels."""
    bench.say("Estimating the table")
    release = release_at(bench, path, stamp)
    records: dict[str, Any] = {
        "where": only or None, "level": level, "infer": infer, "weighted": weighted
    }  # fmt: skip
    if what in ("mean", "total"):
        if not of:
            raise InputError("Choose the column of numbers whose {what} is wanted.", what=what)
        estimate = getattr(release, what)(of, by=by, **records)
    else:
        estimate = release.crosstab(*by, share=SHARES.get(what, False), **records)
    if len(estimate) > MOST_CELLS:
        raise InputError(
            "The table has {count:,} cells, and at most {most_cells:,} are shown. Take columns "
            "with fewer values.",
            count=len(estimate),
            most_cells=MOST_CELLS,
        )
    table = release.in_words(estimate)
    cells = [_cell(cell, table, what) for cell in table.cells]
    title = release.certificate.labels.title(of) if of else ""
    return {
        "what": gettext(HEADS[what], column=title),
        "by": list(table.by),
        "cells": cells,
        "note": table.note,
        "weight": table.weight,
        "level": level,
        "no_interval": table.no_interval,
        "unreliable": sum(cell["unreliable"] for cell in cells),
        "across": list(table.labels[-1]) if len(table.by) > 1 else [],
        **_chart(table),
    }


def _cell(cell: dict[str, Any], table: Any, what: str) -> dict[str, Any]:
    """One number in words, with the figures behind it."""
    number, se, low, high = (cell[name] for name in ("estimate", "se", "low", "high"))
    if math.isinf(low) and math.isinf(high):  # a group that may be empty: it could be any number
        number = math.nan
    sure = math.isfinite(number) and math.isfinite(se) and se <= UNRELIABLE * abs(number)
    return {
        "labels": [str(cell[name]) for name in table.names],
        "text": _text(number, what),
        "interval": _interval(low, high, what),
        "unreliable": not sure,
        "figures": [_finite(figure) for figure in (number, se, low, high)],
    }


def _interval(low: float, high: float, what: str) -> str:
    """The ends of an interval; nothing where none is stated.

    >>> _interval(1, 2, "mean"), _interval(1, math.inf, "mean"), _interval(math.nan, 2, "mean")
    ('1 to 2', '1 to no bound', '')
    """
    if math.isnan(low) or math.isnan(high):
        return ""
    ends = [gettext("no bound") if math.isinf(end) else _text(end, what) for end in (low, high)]
    between = f" {gettext('to')} "
    return between.join(dict.fromkeys(ends) if math.isinf(low) else ends)


def _text(number: float, what: str = "") -> str:
    """A number as a table shows it: people are whole.

    >>> _text(36.28, "count"), _text(-0.2, "count"), _text(0.3628, "row"), _text(36.28)
    ('36', '0', '36.3 %', '36.28')
    """
    if math.isfinite(number) and what in SHARES:
        return numeral(f"{100 * number:.1f} %")
    if math.isfinite(number) and what == "count":
        return numeral(f"{round(number):,}")
    return amount(number)


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def _chart(result: Any) -> dict[str, str]:
    """The chart, or why there is none."""
    try:
        return {"svg": api.drawn(result), "no_chart": ""}
    except PramanaError as error:
        return {"svg": "", "no_chart": str(error)}


def model(
    bench: Workbench,
    *,
    path: str,
    stamp: int,
    formula: str,
    family: str,
    only: list[str],
    level: float,
    infer: str,
    weighted: bool,
) -> dict[str, Any]:
    """A regression of the true records, its coefficients in words."""
    bench.say("Fitting the model")
    release = release_at(bench, path, stamp)
    fit = release.regress(
        formula, family=family, where=only or None, level=level, infer=infer, weighted=weighted
    )
    rows = []
    for name in fit.names:
        term = fit[name]
        heads = ("coefficient", "se", "low", "high", "p_value")
        rows.append(
            {
                "name": name,
                "words": _term(name, release.certificate.labels),
                "text": _text(term["coefficient"]),
                "se": _text(term["se"]),
                "interval": _interval(term["low"], term["high"], ""),
                "p": numeral("< 0.001" if term["p_value"] < 0.001 else f"{term['p_value']:.3f}"),
                "unreliable": term["low"] <= 0 <= term["high"],
                "figures": [_finite(term[head]) for head in heads],
            }
        )
    references = _references(fit.names, release)
    words = tuple(row["words"] for row in rows)
    worded = replace(fit, names=words) if len(set(words)) == len(words) else fit
    about = {"note": fit.note, "weight": fit.weight, "level": level}
    return {
        "formula": formula, "family": family, "rows": rows, "references": references, **about,
        **_chart(worded),
    }  # fmt: skip


def _references(names: Sequence[str], release: Any) -> list[str]:
    """The reference category of each variable with categories."""
    labels, schema = release.certificate.labels, release.certificate.true_schema
    levels: dict[str, set[str]] = {}
    for name in names:
        for match in LEVEL_OF_FACTOR.finditer(name):
            column = match.group(1).strip().strip("`")
            levels.setdefault(column, set()).add(match.group(2).removesuffix(".0"))
    references = []
    for column, known in levels.items():
        listed = schema.column(column).labels if schema.column(column).coded else ()
        others = [value for value in listed if str(value) not in known]
        if len(others) == 1:
            (text,) = labels.named(column, others)
            references.append(f"{labels.title(column)}: {text}")
    return references


def _term(name: str, labels: Any) -> str:
    """A coefficient by the labels of its columns and values: ``C(q1)[T.2]`` is ``Sex: Woman``."""

    def in_words(match: re.Match[str]) -> str:
        column, code = match.group(1).strip().strip("`"), match.group(2)
        texts = {str(value): text for value, text in labels.values.get(column, {}).items()}
        return f"{labels.title(column)}: {texts.get(code.removesuffix('.0'), code)}"

    words = LEVEL_OF_FACTOR.sub(in_words, name)
    return labels.title(words) if words == name else words


MEDIA: Final = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

PARTING: Final = re.compile(r"[,;\t\r\n\"]")
"""What may part cells: spreadsheets of some countries take semicolons."""


@dataclass(frozen=True)
class Exported:
    """Rows of texts and numbers under their heads, and what is to be known of them."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    about: tuple[tuple[str, str], ...]

    @classmethod
    def of_table(cls, result: dict[str, Any], about: Sequence[tuple[str, str]]) -> Exported:
        """One row per cell."""
        heads = (*result["by"], "estimate", "standard error", "from", "to", "unreliable")
        rows = tuple(
            (*cell["labels"], *cell["figures"], "yes" if cell["unreliable"] else "no")
            for cell in result["cells"]
        )
        return cls(heads, rows, (("What", result["what"]), *_notes(result), *about))

    @classmethod
    def of_model(cls, result: dict[str, Any], about: Sequence[tuple[str, str]]) -> Exported:
        """One row a coefficient."""
        heads = ("term", "in words", "coefficient", "standard error", "from", "to", "p")
        rows = tuple((row["name"], row["words"], *row["figures"]) for row in result["rows"])
        return cls(heads, rows, (("Formula", result["formula"]), *_notes(result), *about))

    def write(self, ending: str) -> bytes:
        """The file."""
        if ending == "xlsx":
            return self._excel()
        lines = (",".join(map(_spreadsheet_cell, row)) for row in (self.heads, *self.rows))
        return "".join(f"{line}\n" for line in lines).encode()

    def _excel(self) -> bytes:
        """Texts are written as texts: a label that looks like a formula is none."""
        try:
            import xlsxwriter
        except ImportError:
            raise MissingExtra("Excel files need more: pip install 'pramana[studio]'.") from None
        out = io.BytesIO()
        with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
            sheet, bold = book.add_worksheet("Table"), book.add_format({"bold": True})
            for column, head in enumerate(self.heads):
                sheet.write_string(0, column, head, bold)
            for number, row in enumerate(self.rows, start=1):
                for column, value in enumerate(row):
                    if isinstance(value, str):
                        sheet.write_string(number, column, value)
                    elif value is not None:
                        sheet.write_number(number, column, value)
            sheet.freeze_panes(1, 0)
            sheet.autofit()
            more = book.add_worksheet("About")
            for number, (name, words) in enumerate(self.about):
                more.write_string(number, 0, name, bold)
                more.write_string(number, 1, words)
        return out.getvalue()


def _spreadsheet_cell(value: Any) -> str:
    """A cell of a text file; a text that a spreadsheet would compute has a mark before it.

    >>> _spreadsheet_cell("=1+1"), _spreadsheet_cell("-5"), _spreadsheet_cell(None)
    ("'=1+1", '-5', '')
    >>> _spreadsheet_cell("x;=1+1"), _spreadsheet_cell(-2.5), _spreadsheet_cell("text")
    ('"x;=1+1"', '-2.5', 'text')
    """
    text = "" if value is None else str(value)
    if isinstance(value, str):
        text = no_formula(text)
    doubled = text.replace('"', '""')
    return f'"{doubled}"' if PARTING.search(text) else text


def _notes(result: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        ("Level of the intervals", f"{percent(result['level'], 6)}"),
        ("Weighted by", result["weight"] or "no column"),
        ("How", result["note"]),
    ]
