"""SPSS, Stata and SAS files with their labels, read and written by pyreadstat."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from types import ModuleType
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.processes import require_memory
from pramana.base.text import listed
from pramana.errors import InvalidTable, MissingExtra, Notice, TooLarge
from pramana.io.base import (
    Format,
    RecordStream,
    broken,
    lost_in_text,
    require_distinct_names,
    require_same,
)
from pramana.io.subprocess_reader import read_in_child
from pramana.schema.domains import Label, Labels
from pramana.schema.opened_table import OpenedTable, TableFormat
from pramana.types import Form

PACKAGES: dict[TableFormat, str] = {
    "sav": "SPSS",
    "dta": "Stata",
    "sas7bdat": "SAS",
    "xport": "SAS transport",
}
EXACT = 2**53
CELL_BYTES = 24
"""What a value takes while such a file is read, about."""
SPSS_DATE = 92
"""Where the head of an SPSS file has the date and the time of writing."""
ROOM = 2**20
"""Bytes that must still find room for a full disk not to be the reason of a failure."""
HEADER, STATA_DATE = 4096, b"<timestamp>\x11"
STATA_CODES: dict[str, int] = {letter: 2147483622 + at for at, letter in enumerate(ascii_lowercase)}
"""How Stata keeps .a to .z in a column of long integers."""
MOST_SPSS_CODES = 3
"""An SPSS file can call so many values of a column missing one by one."""
LONGEST_SPSS_CODE = 8
"""And texts of up to so many bytes."""


def _pyreadstat(verb: str, file_format: TableFormat) -> ModuleType:
    try:
        import pandas  # noqa: F401 - pyreadstat writes from it
        import pyreadstat
    except ImportError:
        raise MissingExtra(
            f"{verb} {PACKAGES[file_format]} files needs an extra: pip install 'pramana[files]'."
        ) from None
    module: ModuleType = pyreadstat
    return module


class LabelledFormat(Format):
    """Files of a statistical package, with the labels of columns and values."""

    parsed: ClassVar[bool] = True
    labelled: ClassVar[bool] = True

    largest: ClassVar[float] = float("inf")
    """From there on its numbers stand for missing."""

    def open(self, path: Path) -> OpenedTable:
        """Open a file; system missing values and empty texts are missing.

        Values that the file calls missing are kept and named in ``labels.missing``; fitted to a
        schema, only columns that are randomised or list them keep each apart.
        """
        _pyreadstat("Reading", self.name)
        table, labels = read_in_child(__name__, path, title=self.title, file_format=self.name)
        return opened_with_codes(table, path, self.name, labels)

    def lost(self, column: pa.ChunkedArray) -> str | None:
        """What is neither a text nor a number that can be told from missing."""
        return lost_in_text(column, truth=False, limit=self.largest)

    def write(self, path: Path, records: RecordStream) -> None:
        """Write a file with the labels of its columns, where the package's files are written."""
        if not self.writes:
            super().write(path, records)
        _write(path, replace(records, labels=self._fitting(records.labels)), self.name)

    def label_kept(self, label: str, *, of_value: bool) -> str:
        """As much of a label as such files hold."""
        del of_value
        return label

    def labels_value(self, value: Label) -> bool:
        """Whether such files can label this value at all."""
        del value
        return True

    def _fitting(self, labels: Labels) -> Labels:
        """What such files hold of the labels; whose are cut or left out is said."""
        variables = {n: self.label_kept(own, of_value=False) for n, own in labels.variables.items()}
        values = {
            name: {
                value: self.label_kept(label, of_value=True)
                for value, label in own.items()
                if self.labels_value(value)
            }
            for name, own in labels.values.items()
        }
        cut = [n for n in variables if variables[n] != labels.variables[n]]
        cut += [n for n in values if values[n] != labels.values[n] and n not in cut]
        if cut:
            warnings.warn(
                f"{self.title} files cannot hold all labels of {listed(cut, most=6)}: codebook.csv "
                "has them whole.",
                Notice,
                stacklevel=2,
            )
        return replace(labels, variables=variables, values=values)


def read_here(path: Path, *, file_format: TableFormat) -> tuple[pa.Table, Labels]:
    """What an SPSS, Stata or SAS file holds, read by this process: its own files, or as a child."""
    library = _pyreadstat("Reading", file_format)
    read = getattr(library, f"read_{file_format}")
    try:
        told = {"user_missing": True} if file_format in ("sav", "dta") else {}
        _, about = read(str(path), metadataonly=True)
        cells = (about.number_rows or 0) * (about.number_columns or 0)
        require_memory(cells * CELL_BYTES, what=str(path))
        columns, about = read(str(path), output_format="dict", **told)
    except TooLarge:
        raise
    except (library.ReadstatError, library.PyreadstatError, ValueError, OSError):
        raise InvalidTable(
            f"{path} cannot be read as {PACKAGES[file_format]}: "
            "it is broken, cut short, or not what its ending says."
        ) from None
    require_distinct_names(about.column_names, where=str(path))
    if not about.column_names or not about.number_rows:
        raise InvalidTable(f"{path} has no records.")
    table = pa.table({name: _column(name, _coded(values)) for name, values in columns.items()})
    labels = _labels(about, stata=file_format == "dta")
    # The values of each column that the file calls missing: those that occur or have a label
    found: dict[str, tuple[Label, ...]] = {}
    for name, ranges in (about.missing_ranges or {}).items():
        low_high = [(own["lo"], own["hi"]) for own in ranges]
        codes = codes_within(low_high, table.column(name), labels.values.get(name, {}))
        if codes:
            found[name] = codes
    for name in table.column_names:
        occur = (about.missing_user_values or {}).get(name) or ()
        labelled = labels.values.get(name, {})
        letters = [c for letter, c in STATA_CODES.items() if letter in occur or c in labelled]
        if letters:
            found[name] = tuple(letters)
    return table, replace(labels, missing=found)


def opened_with_codes(
    table: pa.Table, path: Path, file_format: TableFormat, labels: Labels
) -> OpenedTable:
    """The table with values that stand for missing as they are; as missing where fitted so."""

    def fit(*, text: Collection[str], coded: Collection[str]) -> OpenedTable:
        del text
        gone = [name for name in labels.missing if name not in coded]
        if gone:
            warnings.warn(
                f"Values that the file calls missing are taken as missing, all alike, in columns "
                f"that are not randomised: {', '.join(gone)}. List them as missing_values of the "
                "schema, beside categories or bins, to keep them apart.",
                Notice,
                stacklevel=2,
            )
        fitted = table
        for name in gone:
            column = _without(table.column(name), labels.missing[name])
            fitted = fitted.set_column(table.column_names.index(name), name, column)
        return replace(of_arrow(fitted), fit=fit)

    def of_arrow(own: pa.Table) -> OpenedTable:
        return OpenedTable.of_arrow(own, kind=file_format, source=path, labels=labels)

    return replace(of_arrow(table), fit=fit if labels.missing else None)


def _without(column: pa.ChunkedArray, codes: Sequence[Label]) -> pa.ChunkedArray:
    occur = set(column.unique().to_pylist())  # a code that only has a label may be of another type
    gone = pc.is_in(column, value_set=pa.array([v for v in codes if v in occur], column.type))
    return pc.if_else(gone, pa.scalar(None, column.type), column)


def _coded(values: list[Any]) -> list[Any]:
    """Stata's missing values .a to .z as the numbers by which Stata itself keeps them."""
    kinds = set(map(type, values))
    if not all(any(issubclass(own, kind) for own in kinds) for kind in (str, (int, float))):
        return values
    return [STATA_CODES.get(value, value) if isinstance(value, str) else value for value in values]


def codes_within(
    ranges: Sequence[tuple[Any, Any]], column: pa.ChunkedArray, labelled: Collection[Label]
) -> tuple[Label, ...]:
    """The values inside some ranges, in order: of those that occur or have a label."""
    seen = {*column.unique().drop_null().to_pylist(), *labelled}
    kind = str if isinstance(ranges[0][0], str) else (int, float)
    fitting = (v for v in seen if isinstance(v, kind))
    return tuple(sorted({_whole(v) for v in fitting if any(lo <= v <= hi for lo, hi in ranges)}))


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _column(name: str, values: list[Any]) -> pa.Array:
    try:
        array = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InvalidTable(
            f"Column '{name}' holds values of different kinds.", column=name
        ) from None
    if pa.types.is_string(array.type):
        return pc.if_else(pc.equal(array, ""), pa.scalar(None, array.type), array)
    if pa.types.is_floating(array.type):
        return whole_numbers(array)
    return array.cast(pa.float64()) if pa.types.is_null(array.type) else array


def whole_numbers(array: pa.Array) -> pa.Array:
    """Floating numbers as integers if all are: SPSS, Stata, SAS and R keep them floating."""
    whole = pc.and_(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), EXACT))
    if array.null_count < len(array) and pc.all(whole).as_py():
        return array.cast(pa.int64())
    return array


def _labels(about: Any, *, stata: bool) -> Labels:
    """What the file says in words; of Stata's letters also those that no record has."""
    variables = {name: text for name, text in about.column_names_to_labels.items() if text}
    values = {
        name: {STATA_CODES.get(value, value) if stata else value: text
               for value, text in labels.items()}
        for name, labels in about.variable_value_labels.items()
    }  # fmt: skip
    measures = {n: m for n, m in (about.variable_measure or {}).items() if m != "unknown"}
    return Labels(variables, values, measures)


def _write(path: Path, records: RecordStream, file_format: TableFormat) -> None:
    """Write an SPSS or Stata file with the labels of the columns that it has."""
    library = _pyreadstat("Writing", file_format)
    schema = pa.schema([(item.name, _plain(item.type)) for item in records.schema])
    table = pa.concat_tables([schema.empty_table(), *(g.cast(schema) for g in records.groups)])
    names, labels = table.column_names, records.labels
    texts = {item.name for item in schema if pa.types.is_string(item.type)}
    # Labels and codes of values that are still there: those of a number do not fit a bin's text.
    named = {
        name: {v: own for v, own in labels.values[name].items() if isinstance(v, str) == text}
        for name, text in ((name, name in texts) for name in names if name in labels.values)
    }
    codes = {
        name: tuple(labels.missing[name])
        for name in names
        if name in labels.missing
        and all(isinstance(code, str) == (name in texts) for code in labels.missing[name])
    }
    options: Form = {
        "column_labels": {name: labels.variables.get(name) for name in names},
        "variable_value_labels": {name: own for name, own in named.items() if own},
    }
    if file_format == "sav":
        options["variable_measure"] = {n: m for n, m in labels.measures.items() if n in names}
    frame = _frame(table, file_format)
    if file_format == "sav":
        options["missing_ranges"] = _ranges(table, codes, options["variable_value_labels"])
    else:
        _in_letters(frame, options, codes)
    broken = (library.ReadstatError, library.PyreadstatError)
    write = partial(getattr(library, f"write_{file_format}"), dst_path=str(path))
    try:
        write(frame, **options)
    except broken:
        _require_space(path)
        column, what = _unkept(frame, write, options, broken)
        owner = "The records have" if column is None else f"Column '{column}'"
        raise InvalidTable(
            f"{owner} {what} that "
            f"{PACKAGES[file_format]} files cannot keep: change that, or write parquet or feather.",
            column=column,
        ) from None
    _undate(path, file_format)
    if table.num_rows:
        try:
            require_same(table, read_here(path, file_format=file_format)[0], file_format)
        except InvalidTable:
            _require_space(path)
            raise


def _unkept(
    frame: Any, write: Callable[..., None], options: Form, broken: Any
) -> tuple[str | None, str]:
    """The column that a library has refused, and what of it, found by writing each column alone."""

    def goes(part: Any, **told: Any) -> bool:
        try:
            write(part, **told)
        except broken:
            return False
        return True

    for name in frame.columns:
        if not goes(frame[[name]]):
            named = goes(frame[[name]].set_axis(["x"], axis="columns"))
            return name, "has a name" if named else "holds values"
    for name in frame.columns:
        own = {what: {name: told[name]} for what, told in options.items() if name in told}
        if not goes(frame[[name]], **own):
            return name, "has labels or codes of missing values"
    return None, "labels or codes of missing values"


def _frame(table: pa.Table, file_format: TableFormat) -> Any:
    texts = [own.name for own in table.schema if pa.types.is_string(own.type)]
    try:
        # The library looks at every text several times: as objects they need not be made anew.
        return table.to_pandas(date_as_object=True).astype(dict.fromkeys(texts, object))
    except (pa.ArrowInvalid, OverflowError, ValueError):  # which quote a value
        raise InvalidTable(
            f"{PACKAGES[file_format]} files keep dates and times up to the year 9999, and the "
            "records hold others. Write parquet or feather."
        ) from None


def _require_space(path: Path) -> None:
    """Say so where a file could not be written because there is no room: the library does not."""
    with path.with_name("room").open("wb") as file:
        file.write(bytes(ROOM))
        file.flush()
        os.fsync(file.fileno())
    path.with_name("room").unlink()


def _ranges(
    table: pa.Table, codes: Mapping[str, tuple[Label, ...]], labelled: Mapping[str, Collection[Any]]
) -> dict[str, list[Any]]:
    """Missing values as SPSS declares them; a notice names columns whose codes do not fit."""
    found = {
        name: _spss_missing(
            own, {*table.column(name).unique().drop_null().to_pylist(), *labelled.get(name, ())}
        )
        for name, own in codes.items()
    }
    left = [name for name, own in found.items() if not own]
    if left:
        warnings.warn(
            "SPSS calls missing up to three values of a column, or a range and one value, and no "
            f"text of more than {LONGEST_SPSS_CODE} letters: the codes of {', '.join(left)} keep "
            "their labels, and are ordinary values in the SPSS file.",
            Notice,
            stacklevel=2,
        )
    return {name: own for name, own in found.items() if own}


def _spss_missing(codes: Sequence[Any], occur: Collection[Any]) -> list[Any]:
    """Up to three values; or a range of which no other value is, and one value beside it."""
    if any(isinstance(c, str) and len(c.encode()) > LONGEST_SPSS_CODE for c in codes):
        return []
    if len(codes) <= MOST_SPSS_CODES:
        return list(codes)
    ranked = [] if isinstance(codes[0], str) else sorted(codes)
    others = [value for value in occur if value not in codes]
    for alone in (None, ranked[0], ranked[-1]) if ranked else ():
        within = [code for code in ranked if code != alone]
        if not any(within[0] <= value <= within[-1] for value in others):
            return [{"lo": within[0], "hi": within[-1]}, *([] if alone is None else [alone])]
    return []


def _in_letters(frame: Any, options: Form, codes: Mapping[str, tuple[Label, ...]]) -> None:
    """Numbers that Stata keeps for .a to .z as the letters that pyreadstat writes them from."""
    letters: dict[Label, str] = {code: letter for letter, code in STATA_CODES.items()}
    told = {name: own for name, own in codes.items() if all(code in letters for code in own)}
    for name, own in told.items():
        frame[name] = frame[name].astype(object).replace({code: letters[code] for code in own})
        labelled = options["variable_value_labels"].get(name, {})
        named = {letters.get(value, value): text for value, text in labelled.items()}
        if named:
            options["variable_value_labels"][name] = named
    if told:
        options["missing_user_values"] = {
            name: [letters[code] for code in own] for name, own in told.items()
        }


def _undate(path: Path, file_format: TableFormat) -> None:
    """Put one date into every file: the same records give the same bytes at any hour."""
    with path.open("r+b") as file:
        if file_format == "sav":
            file.seek(SPSS_DATE)
            file.write(b"01 Jan 7000:00:00")
            return
        at = file.read(HEADER).find(STATA_DATE)
        if at < 0:  # the library says nothing where a disk is full
            _require_space(path)
            raise InvalidTable("The Stata file could not be written: it has no head.")
        file.seek(at + len(STATA_DATE))
        file.write(b"01 Jan 1970 00:00")


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


MOST_OF_VARIABLE: Final = 80
MOST: Final = 2**31
OLD: Final = tuple(bytes((version, order, 1)) for version in range(104, 116) for order in (1, 2))
"""Files of Stata 5 to 12 begin with a version and the order of bytes."""


class DtaFormat(LabelledFormat):
    """Stata files, with their labels."""

    name: ClassVar[str] = "dta"
    title: ClassVar[str] = "Stata"
    media: ClassVar[str] = "application/x-stata"
    endings: ClassVar[tuple[str, ...]] = (".dta",)
    marks: ClassVar[tuple[bytes, ...]] = (b"<stata_dta>", *OLD)
    writes: ClassVar[bool] = True
    largest: ClassVar[float] = 8.9e307
    in_python: ClassVar[str] = "pyreadstat.read_dta(HERE / {name}, user_missing=True)[0]"
    in_r: ClassVar[str] = "as.data.frame(haven::read_dta({name}))"

    def label_kept(self, label: str, *, of_value: bool) -> str:
        """Stata counts letters, and only those of a variable's label."""
        return label if of_value else label[:MOST_OF_VARIABLE]

    def labels_value(self, value: Label) -> bool:
        """Whole numbers of 32 bits alone, among them those that are kept for .a to .z."""
        if not isinstance(value, int | float):
            return False
        return float(value).is_integer() and -MOST < value < MOST


DTA: Final = DtaFormat()


class SasFormat(LabelledFormat):
    """SAS files, with their labels."""

    name: ClassVar[str] = "sas7bdat"
    title: ClassVar[str] = "SAS"
    endings: ClassVar[tuple[str, ...]] = (".sas7bdat",)


SAS: Final = SasFormat()


SAV_MOST_OF_VARIABLE: Final = 256
MOST_OF_VALUE: Final = 120


class SavFormat(LabelledFormat):
    """SPSS files, with their labels."""

    name: ClassVar[str] = "sav"
    title: ClassVar[str] = "SPSS"
    media: ClassVar[str] = "application/x-spss-sav"
    endings: ClassVar[tuple[str, ...]] = (".sav", ".zsav")
    marks: ClassVar[tuple[bytes, ...]] = (b"$FL2", b"$FL3")
    writes: ClassVar[bool] = True
    in_python: ClassVar[str] = "pyreadstat.read_sav(HERE / {name}, user_missing=True)[0]"
    in_r: ClassVar[str] = "as.data.frame(haven::read_sav({name}, user_na = TRUE))"

    def label_kept(self, label: str, *, of_value: bool) -> str:
        """SPSS counts bytes: the library would cut longer ones without a word."""
        longest = MOST_OF_VALUE if of_value else SAV_MOST_OF_VARIABLE
        return label.encode()[:longest].decode(errors="ignore")


SAV: Final = SavFormat()


LINE = 80


class XportFormat(SasFormat):
    """SAS transport files, as agencies exchange them."""

    name: ClassVar[str] = "xport"
    title: ClassVar[str] = "SAS transport"
    endings: ClassVar[tuple[str, ...]] = (".xpt", ".xport")
    marks: ClassVar[tuple[bytes, ...]] = (b"HEADER RECOR",)

    def open(self, path: Path) -> OpenedTable:
        """Open a file; it has no end of its own, but comes in lines of 80 bytes."""
        if path.stat().st_size % LINE:
            raise broken(path)
        return super().open(path)


XPORT: Final = XportFormat()
