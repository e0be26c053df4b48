"""What an analyst asks of a release, and the files to take along."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from pramana import api
from pramana.base.text import percent
from pramana.errors import InputError, MissingExtra, PramanaError
from pramana.studio.worker import Workbench

UNRELIABLE: Final = 0.3
"""A standard error above this share of its number makes a cell unreliable, as offices have it."""

MOST_VALUES: Final = 200
MOST_CELLS: Final = 20_000
NUMBERS: Final = ("int", "uint", "float", "double", "decimal", "halffloat")
SHARES: Final = {"share": True, "row": "row", "column": "column"}
LEVEL_OF_FACTOR: Final = re.compile(r"(?:C\()?([^\[\](),:]+)(?:,[^\[\]]*)?\)?\[(?:T\.)?([^\]]*)\]")


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
            "promises": certificate.sentences(),
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
        "error": certificate.expected_error,
    }


def _column(column: Any, release: Any) -> dict[str, Any]:
    labels = release.certificate.labels
    listed = column.labels if column.coded else tuple(labels.values.get(column.name, ()))
    codes = ["" if value is None else str(value) for value in listed[:MOST_VALUES]]
    kind = str(release.opened.schema.field(column.name).type)
    return {
        "name": column.name,
        "label": labels.variables.get(column.name, ""),
        "title": labels.title(column.name),
        "role": str(column.role),
        "treatment": release.certificate.nature.treatment
        if column.randomised
        else "released as it is",
        "recoding": column.recoding.sentence() if column.recoding else "",
        "number": kind.startswith(NUMBERS) and not column.randomised,
        "values": list(zip(codes, labels.named(column.name, listed[:MOST_VALUES]), strict=True)),
        "more": max(len(listed) - MOST_VALUES, 0),
    }


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
    asked: dict[str, Any] = {
        "where": only or None,
        "level": level,
        "infer": infer,
        "weighted": weighted,
    }
    if what in ("mean", "total"):
        if not of:
            raise InputError(f"Choose the column of numbers whose {what} is wanted.")
        found = getattr(release, what)(of, by=by, **asked)
    else:
        found = release.crosstab(*by, share=SHARES.get(what, False), **asked)
    if len(found) > MOST_CELLS:
        raise InputError(
            f"The table has {len(found):,} cells, and at most {MOST_CELLS:,} are shown. Take "
            "columns with fewer values."
        )
    told = release.in_words(found)
    cells = [_cell(cell, told, what) for cell in told.cells]
    return {
        "what": _what(what, of, release),
        "by": list(told.by),
        "cells": cells,
        "note": told.note,
        "weight": told.weight,
        "level": level,
        "no_interval": told.no_interval,
        "unreliable": sum(cell["unreliable"] for cell in cells),
        "across": list(told.labels[-1]) if len(told.by) > 1 else [],
        **_chart(told),
    }


def _what(what: str, of: str, release: Any) -> str:
    title = release.certificate.labels.title(of) if of else ""
    return {
        "count": "Number of people",
        "share": "Share of all",
        "row": "Share within a row",
        "column": "Share within a column",
        "mean": f"Mean of {title}",
        "total": f"Total of {title}",
    }[what]


def _cell(cell: dict[str, Any], told: Any, what: str) -> dict[str, Any]:
    """One number in words, with the figures behind it."""
    number, se, low, high = (cell[name] for name in ("estimate", "se", "low", "high"))
    if math.isinf(low) and math.isinf(high):  # a group that may be empty: it could be any number
        number = math.nan
    sure = math.isfinite(number) and math.isfinite(se) and se <= UNRELIABLE * abs(number)
    return {
        "labels": [str(cell[name]) for name in told.names],
        "text": _text(number, what),
        "interval": _interval(low, high, what),
        "unreliable": not sure,
        "figures": [_plain(one) for one in (number, se, low, high)],
    }


def _interval(low: float, high: float, what: str) -> str:
    """The ends of an interval; nothing where none is stated.

    >>> _interval(1, 2, "mean"), _interval(1, math.inf, "mean"), _interval(math.nan, 2, "mean")
    ('1 to 2', '1 to no bound', '')
    """
    if math.isnan(low) or math.isnan(high):
        return ""
    ends = ["no bound" if math.isinf(end) else _text(end, what) for end in (low, high)]
    return " to ".join(dict.fromkeys(ends) if math.isinf(low) else ends)


def _text(number: float, what: str = "") -> str:
    """A number as a table shows it: people are whole.

    >>> _text(36.28, "count"), _text(-0.2, "count"), _text(0.3628, "row"), _text(36.28)
    ('36', '0', '36.3 %', '36.28')
    """
    if not math.isfinite(number):
        return "cannot be told"
    if what in SHARES:
        return f"{100 * number:.1f} %"
    if what == "count" or abs(number) >= 1000:
        return f"{round(number):,}"
    return f"{number:,.4g}"


def _plain(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def _chart(found: Any) -> dict[str, str]:
    """The chart, or why there is none."""
    try:
        return {"svg": api.drawn(found), "no_chart": ""}
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
    found = release.regress(
        formula,
        family=family,
        where=only or None,
        level=level,
        infer=infer,
        weighted=weighted,
    )
    rows = []
    for name in found.names:
        own = found[name]
        rows.append(
            {
                "name": name,
                "words": _term(name, release.certificate.labels),
                "text": _text(own["coefficient"]),
                "se": _text(own["se"]),
                "interval": _interval(own["low"], own["high"], ""),
                "p": "< 0.001" if own["p_value"] < 0.001 else f"{own['p_value']:.3f}",
                "unreliable": own["low"] <= 0 <= own["high"],
                "figures": [_plain(own[head]) for head in ("coefficient", "se", "low", "high")]
                + [_plain(own["p_value"])],
            }
        )
    note = {"note": found.note, "weight": found.weight, "level": level}
    words = tuple(row["words"] for row in rows)
    told = replace(found, names=words) if len(set(words)) == len(words) else found
    return {"formula": formula, "family": family, "rows": rows, **note, **_chart(told)}


def _term(name: str, labels: Any) -> str:
    """A coefficient by the labels of its columns and values: ``C(q1)[T.2]`` is ``Sex: Woman``."""

    def worded(found: re.Match[str]) -> str:
        column, code = found.group(1).strip().strip("`"), found.group(2)
        own = {str(value): text for value, text in labels.values.get(column, {}).items()}
        return f"{labels.title(column)}: {own.get(code.removesuffix('.0'), code)}"

    words = LEVEL_OF_FACTOR.sub(worded, name)
    return labels.title(words) if words == name else words


MEDIA: Final = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

COMPUTED: Final = re.compile(r"[\t\r]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""How a text begins that a spreadsheet may take for a formula, also in wide letters."""

NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
PARTING: Final = re.compile(r"[,;\t\r\n\"]")
"""What may part cells: spreadsheets of some countries take semicolons."""


def media_type(ending: str) -> str:
    """What a browser is told about the file."""
    return MEDIA[ending]


@dataclass(frozen=True)
class Exported:
    """Rows of texts and numbers under their heads, and what is to be known of them."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    about: tuple[tuple[str, str], ...]

    @classmethod
    def of_table(cls, result: dict[str, Any], about: Sequence[tuple[str, str]]) -> Exported:
        """One row a cell."""
        heads = (*result["by"], "estimate", "standard error", "from", "to", "unreliable")
        rows = tuple(
            (*cell["labels"], *cell["figures"], "yes" if cell["unreliable"] else "no")
            for cell in result["cells"]
        )
        return cls(heads, rows, (("What", result["what"]), *_told(result), *about))

    @classmethod
    def of_model(cls, result: dict[str, Any], about: Sequence[tuple[str, str]]) -> Exported:
        """One row a coefficient."""
        heads = ("term", "in words", "coefficient", "standard error", "from", "to", "p")
        rows = tuple((row["name"], row["words"], *row["figures"]) for row in result["rows"])
        return cls(heads, rows, (("Formula", result["formula"]), *_told(result), *about))

    def write(self, ending: str) -> bytes:
        """The file."""
        return self._csv() if ending == "csv" else self._excel()

    def _csv(self) -> bytes:
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


def _not_computed(value: Any) -> Any:
    """A value of a text file; one that a spreadsheet would compute has a mark before it.

    >>> _not_computed("=1+1"), _not_computed("-5"), _not_computed(None), _not_computed(-2.5)
    ("'=1+1", '-5', '', -2.5)
    """
    if isinstance(value, str) and COMPUTED.match(value) and not NUMBER.fullmatch(value):
        return f"'{value}"
    return "" if value is None else value


def _spreadsheet_cell(value: Any) -> str:
    """A cell of a text file, between quotes where something in it could part it.

    >>> _spreadsheet_cell("x;=1+1"), _spreadsheet_cell(0.5), _spreadsheet_cell("plain")
    ('"x;=1+1"', '0.5', 'plain')
    """
    text = str(_not_computed(value))
    doubled = text.replace('"', '""')
    return f'"{doubled}"' if PARTING.search(text) else text


def _told(result: dict[str, Any]) -> list[tuple[str, str]]:
    weight = result["weight"]
    return [
        ("Level of the intervals", f"{percent(result['level'], 6)}"),
        ("Weighted by", weight or "no column"),
        ("How", result["note"]),
    ]
