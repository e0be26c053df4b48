"""SPSS, Stata and SAS files with their labels, read and written by pyreadstat."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from types import ModuleType
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.processes import require_memory
from pramana.base.rounding import as_whole
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
from pramana.schema.opened_table import OpenedTable, TableFormat, value_type
from pramana.types import Form

EXACT = 2**53

STATA_CODES: dict[str, int] = {letter: 2147483622 + at for at, letter in enumerate(ascii_lowercase)}
"""The numbers by which Stata stores the missing values .a to .z in a column of long integers."""

STATA_VARIABLE_LABEL: Final = 80
"""Letters of the label of a variable; labels of values may be longer."""

STATA_LARGEST_LABELLED: Final = 2**31
STATA_OLD: Final = tuple(
    bytes((version, order, 1)) for version in range(104, 116) for order in (1, 2)
)
"""The first bytes of files of Stata 5 to 12: version and byte order."""

STATA_DATE: Final = b"<timestamp>\x11"
STATA_HEADER: Final = 4096

SPSS_VARIABLE_LABEL: Final = 256

SPSS_CODES: Final = 3
"""Values of a column that can be declared missing one by one."""

SPSS_TEXT_CODE: Final = 8
"""Bytes of a text that can be declared missing."""


XPORT_LINE: Final = 80


class LabelledFormat(Format):
    """Files of a statistical package, with the labels of columns and values."""

    parsed: ClassVar[bool] = True
    labelled: ClassVar[bool] = True

    largest: ClassVar[float] = float("inf")
    """Numbers from here on stand for missing values."""

    def open(self, path: Path) -> OpenedTable:
        """Open a file; system missing values and empty texts are missing.

        Values that the file declares missing are kept and listed in ``labels.missing``. When the
        table is fitted to a schema, only columns that are randomised or list them keep them.
        """
        _pyreadstat("Reading", self.title)
        table, labels = read_in_child(
            __name__, path, title=self.title, file_format=self.name, called=self.title
        )
        return opened_with_codes(table, path, self.name, labels)

    def lost(self, column: pa.ChunkedArray) -> str | None:
        """Everything but texts, and numbers that do not stand for missing."""
        return lost_in_text(column, booleans=False, limit=self.largest)

    def write(self, path: Path, records: RecordStream) -> None:
        """Write a file with the labels of its columns, where the package's files are written."""
        if not self.writes:
            super().write(path, records)
        _write(self, path, replace(records, labels=self._fitting(records.labels)))

    def variable_label(self, label: str) -> str:
        """As much of the label of a column as such files store."""
        return label

    def value_label(self, value: Label, label: str) -> str | None:
        """As much of the label of a value as such files store, if any."""
        del value
        return label

    def _fitting(self, labels: Labels) -> Labels:
        """The labels that such files can store; a notice names columns whose labels are cut."""
        variables = {name: self.variable_label(label) for name, label in labels.variables.items()}
        values = {
            name: {
                value: cut
                for value, label in of_values.items()
                if (cut := self.value_label(value, label)) is not None
            }
            for name, of_values in labels.values.items()
        }
        shortened = [name for name in variables if variables[name] != labels.variables[name]]
        shortened += [
            name for name in values if values[name] != labels.values[name] and name not in shortened
        ]
        if shortened:
            warnings.warn(
                f"{self.title} files cannot hold all labels of {listed(shortened, most=6)}: "
                "codebook.csv has them whole.",
                Notice,
                stacklevel=2,
            )
        return replace(labels, variables=variables, values=values)


class DtaFormat(LabelledFormat):
    """Stata files, with their labels."""

    name: ClassVar[str] = "dta"
    title: ClassVar[str] = "Stata"
    media: ClassVar[str] = "application/x-stata"
    endings: ClassVar[tuple[str, ...]] = (".dta",)
    marks: ClassVar[tuple[bytes, ...]] = (b"<stata_dta>", *STATA_OLD)
    writes: ClassVar[bool] = True
    largest: ClassVar[float] = 8.9e307
    in_python: ClassVar[str] = "pyreadstat.read_dta(HERE / {name}, user_missing=True)[0]"
    in_r: ClassVar[str] = "as.data.frame(haven::read_dta({name}))"

    def variable_label(self, label: str) -> str:
        """Its first letters."""
        return label[:STATA_VARIABLE_LABEL]

    def value_label(self, value: Label, label: str) -> str | None:
        """The whole label of a whole number of 32 bits, among them the codes of .a to .z."""
        if not isinstance(value, int | float) or not float(value).is_integer():
            return None
        return label if abs(value) < STATA_LARGEST_LABELLED else None


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

    def variable_label(self, label: str) -> str:
        """Its first bytes: the library would cut it silently."""
        return label.encode()[:SPSS_VARIABLE_LABEL].decode(errors="ignore")

    def value_label(self, value: Label, label: str) -> str | None:
        """Its first bytes: the library would cut it silently."""
        del value
        return label.encode()[:120].decode(errors="ignore")  # bytes of labels


class SasFormat(LabelledFormat):
    """SAS files, with their labels."""

    name: ClassVar[str] = "sas7bdat"
    title: ClassVar[str] = "SAS"
    endings: ClassVar[tuple[str, ...]] = (".sas7bdat",)


class XportFormat(SasFormat):
    """SAS transport files, as agencies exchange them."""

    name: ClassVar[str] = "xport"
    title: ClassVar[str] = "SAS transport"
    endings: ClassVar[tuple[str, ...]] = (".xpt", ".xport")
    marks: ClassVar[tuple[bytes, ...]] = (b"HEADER RECOR",)

    def open(self, path: Path) -> OpenedTable:
        """Open a file; it has no end mark, but consists of lines of 80 bytes."""
        if path.stat().st_size % XPORT_LINE:
            raise broken(path)
        return super().open(path)


DTA: Final = DtaFormat()
SAV: Final = SavFormat()
SAS: Final = SasFormat()
XPORT: Final = XportFormat()


def _pyreadstat(verb: str, title: str) -> ModuleType:
    try:
        import pandas  # noqa: F401 - pyreadstat writes from it
        import pyreadstat
    except ImportError:
        raise MissingExtra(
            "{verb} {title} files needs an extra: pip install 'pramana[files]'.",
            verb=verb,
            title=title,
        ) from None
    module: ModuleType = pyreadstat
    return module


# -- reading ------------------------------------------------------------------------------------


def read_here(path: Path, *, file_format: TableFormat, called: str) -> tuple[pa.Table, Labels]:
    """The records and labels of a file, read by this process."""
    library = _pyreadstat("Reading", called)
    read = getattr(library, f"read_{file_format}")
    try:
        options = {"user_missing": True} if file_format in ("sav", "dta") else {}
        _, about = read(str(path), metadataonly=True)
        cells = (about.number_rows or 0) * (about.number_columns or 0)
        require_memory(cells * 24, what=str(path))  # memory that reading a value takes, about
        columns, about = read(str(path), output_format="dict", **options)
    except TooLarge:
        raise
    except (library.ReadstatError, library.PyreadstatError, ValueError, OSError):
        raise InvalidTable(
            "{path} cannot be read as {called}: it is broken, truncated, or of another format "
            "than its extension.",
            path=path,
            called=called,
        ) from None
    require_distinct_names(about.column_names, where=str(path))
    if not about.column_names or not about.number_rows:
        raise InvalidTable("{path} has no records.", path=path)
    table = pa.table({name: _column(name, values) for name, values in columns.items()})
    codes = STATA_CODES if file_format == "dta" else {}
    value_labels = {
        name: {codes.get(value, value): text for value, text in of_values.items()}
        for name, of_values in about.variable_value_labels.items()
    }
    labels = Labels(
        {name: text for name, text in about.column_names_to_labels.items() if text},
        value_labels,
        {
            n: measure
            for n, measure in (about.variable_measure or {}).items()
            if measure != "unknown"
        },
        _missing_codes(about, table, value_labels),
    )
    return table, labels


def _missing_codes(
    about: Any, table: pa.Table, value_labels: Mapping[str, Mapping[Label, str]]
) -> dict[str, tuple[Label, ...]]:
    """The values of each column that the file declares missing, and that occur or have a label."""
    missing: dict[str, tuple[Label, ...]] = {}
    letters = about.missing_user_values or {}
    for name, ranges in (about.missing_ranges or {}).items():
        low_high = [(ends["lo"], ends["hi"]) for ends in ranges]
        missing[name] = codes_within(low_high, table.column(name), value_labels.get(name, {}))
    for name in table.column_names:
        present, labelled = letters.get(name) or (), value_labels.get(name, {})
        stata = [
            code for letter, code in STATA_CODES.items() if letter in present or code in labelled
        ]
        missing[name] = tuple(stata) or missing.get(name, ())
    return {name: codes for name, codes in missing.items() if codes}


def codes_within(
    ranges: Sequence[tuple[Any, Any]], column: pa.ChunkedArray, labelled: Collection[Label]
) -> tuple[Label, ...]:
    """The values inside some ranges, in order, of those that occur or have a label."""
    values = {*column.unique().drop_null().to_pylist(), *labelled}
    kind = str if isinstance(ranges[0][0], str) else (int, float)
    inside = {
        as_whole(value)
        for value in values
        if isinstance(value, kind) and any(low <= value <= high for low, high in ranges)
    }
    return tuple(sorted(inside))


def _column(name: str, values: list[Any]) -> pa.Array:
    """One column; Stata's letters of missing values become the numbers that Stata stores."""
    kinds = set(map(type, values))
    if any(issubclass(kind, str) for kind in kinds) and any(
        issubclass(kind, int | float) for kind in kinds
    ):
        values = [
            STATA_CODES.get(value, value) if isinstance(value, str) else value for value in values
        ]
    try:
        array = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InvalidTable(
            "Column '{column}' holds values of different kinds.", column=name
        ) from None
    if pa.types.is_string(array.type):
        return pc.if_else(pc.equal(array, ""), pa.scalar(None, array.type), array)
    if pa.types.is_floating(array.type):
        return whole_numbers(array)
    return array.cast(pa.float64()) if pa.types.is_null(array.type) else array


def whole_numbers(array: pa.Array) -> pa.Array:
    """Floating numbers as integers if all are: SPSS, Stata, SAS and R store them so."""
    whole = pc.and_(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), EXACT))
    if array.null_count < len(array) and pc.all(whole).as_py():
        return array.cast(pa.int64())
    return array


def opened_with_codes(
    table: pa.Table, path: Path, file_format: TableFormat, labels: Labels
) -> OpenedTable:
    """The table with codes of missing values; fitted to a schema, some become missing."""

    def fit(*, text: Collection[str], coded: Collection[str]) -> OpenedTable:
        del text
        dropped = [name for name in labels.missing if name not in coded]
        if dropped:
            warnings.warn(
                f"Values that the file declares missing become missing, all alike, in columns "
                f"that are not randomised: {', '.join(dropped)}. List them as missing_values of "
                "the schema, with categories or bins, to keep them apart.",
                Notice,
                stacklevel=2,
            )
        fitted = table
        for name in dropped:
            column = table.column(name)
            present = set(column.unique().to_pylist())  # other codes may be of another type
            codes = pa.array([v for v in labels.missing[name] if v in present], column.type)
            cleared = pc.if_else(
                pc.is_in(column, value_set=codes), pa.scalar(None, column.type), column
            )
            fitted = fitted.set_column(table.column_names.index(name), name, cleared)
        return replace(opened(fitted), fit=fit)

    def opened(table: pa.Table) -> OpenedTable:
        return OpenedTable.of_arrow(table, kind=file_format, source=path, labels=labels)

    return replace(opened(table), fit=fit if labels.missing else None)


# -- writing ------------------------------------------------------------------------------------


def _write(form: LabelledFormat, path: Path, records: RecordStream) -> None:
    """Write an SPSS or Stata file, and read it back to compare."""
    library = _pyreadstat("Writing", form.title)
    schema = pa.schema([(item.name, value_type(item.type)) for item in records.schema])
    table = pa.concat_tables([schema.empty_table(), *(g.cast(schema) for g in records.groups)])
    try:
        frame = table.to_pandas(date_as_object=True)
        # pyreadstat looks at every text several times: as objects they are not made anew.
        texts = [item.name for item in schema if pa.types.is_string(item.type)]
        frame = frame.astype(dict.fromkeys(texts, object))
    except (pa.ArrowInvalid, OverflowError, ValueError):  # which quote a value
        raise InvalidTable(
            "{title} files store dates and times up to the year 9999, and the records hold "
            "others. Write parquet or feather.",
            title=form.title,
        ) from None
    options = _label_options(form, table, frame, records.labels)
    write = partial(getattr(library, f"write_{form.name}"), dst_path=str(path))
    refused = (library.ReadstatError, library.PyreadstatError)
    try:
        write(frame, **options)
    except refused:
        _require_disk_space(path)
        raise _refused_by_library(form, frame, write, refused) from None
    _set_fixed_date(form, path)
    if table.num_rows:
        try:
            written, _ = read_here(path, file_format=form.name, called=form.title)
            require_same(table, written, form.name)
        except InvalidTable:
            _require_disk_space(path)
            raise


def _label_options(form: LabelledFormat, table: pa.Table, frame: Any, labels: Labels) -> Form:
    """Labels and codes of missing values as pyreadstat takes them.

    Labels of a number do not fit a column of bins, whose values are texts, and are left out.
    """
    texts = {item.name for item in table.schema if pa.types.is_string(item.type)}
    names = table.column_names
    value_labels = {
        name: {v: label for v, label in labels.values[name].items() if isinstance(v, str) == text}
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
        "variable_value_labels": {name: texts for name, texts in value_labels.items() if texts},
    }
    if form.name == "sav":
        options["variable_measure"] = {n: m for n, m in labels.measures.items() if n in names}
        options["missing_ranges"] = _spss_ranges(table, codes, options["variable_value_labels"])
    else:
        _use_stata_letters(frame, options, codes)
    return options


def _spss_ranges(
    table: pa.Table, codes: Mapping[str, tuple[Label, ...]], labelled: Mapping[str, Collection[Any]]
) -> dict[str, list[Any]]:
    """Missing values as SPSS declares them; a notice names columns whose codes do not fit."""
    ranges = {
        name: _spss_range(
            coded, {*table.column(name).unique().drop_null().to_pylist(), *labelled.get(name, ())}
        )
        for name, coded in codes.items()
    }
    undeclared = [name for name, ends in ranges.items() if not ends]
    if undeclared:
        warnings.warn(
            "SPSS declares up to three values of a column missing, or a range and one value, and "
            f"no text of more than {SPSS_TEXT_CODE} letters: the codes of {', '.join(undeclared)} "
            "keep their labels, and are ordinary values in the SPSS file.",
            Notice,
            stacklevel=2,
        )
    return {name: ends for name, ends in ranges.items() if ends}


def _spss_range(codes: Sequence[Any], values: Collection[Any]) -> list[Any]:
    """Up to three values; or a range that holds no other value, and one value apart from it."""
    if any(isinstance(code, str) and len(code.encode()) > SPSS_TEXT_CODE for code in codes):
        return []
    if len(codes) <= SPSS_CODES:
        return list(codes)
    ranked = [] if isinstance(codes[0], str) else sorted(codes)
    others = [value for value in values if value not in codes]
    for alone in (None, ranked[0], ranked[-1]) if ranked else ():
        inside = [code for code in ranked if code != alone]
        if not any(inside[0] <= value <= inside[-1] for value in others):
            return [{"lo": inside[0], "hi": inside[-1]}, *([] if alone is None else [alone])]
    return []


def _use_stata_letters(frame: Any, options: Form, codes: Mapping[str, tuple[Label, ...]]) -> None:
    """Put the letters .a to .z, from which pyreadstat writes them, for the numbers of Stata."""
    letters: dict[Label, str] = {code: letter for letter, code in STATA_CODES.items()}
    by_column = {
        name: coded for name, coded in codes.items() if all(code in letters for code in coded)
    }
    for name, coded in by_column.items():
        frame[name] = frame[name].astype(object).replace({code: letters[code] for code in coded})
        labelled = options["variable_value_labels"].get(name, {})
        if labelled:
            options["variable_value_labels"][name] = {
                letters.get(value, value): text for value, text in labelled.items()
            }
    if by_column:
        options["missing_user_values"] = {
            name: [letters[code] for code in coded] for name, coded in by_column.items()
        }


def _refused_by_library(form: LabelledFormat, frame: Any, write: Any, refused: Any) -> InvalidTable:
    """Name the column that pyreadstat refuses, found by writing each column alone."""

    def is_refused(part: Any) -> bool:
        try:
            write(part)
        except refused:
            return True
        return False

    column = next((name for name in frame.columns if is_refused(frame[[name]])), None)
    what = "labels or codes of missing values"
    if column is not None:
        renamed = frame[[column]].set_axis(["x"], axis="columns")
        what = "values" if is_refused(renamed) else "a name"
    owner = "A column has" if column is None else f"Column '{column}' has"
    return InvalidTable(
        "{owner} {what} that {title} files cannot keep: change that, or write parquet or feather.",
        column=column,
        owner=owner,
        what=what,
        title=form.title,
    )


def _require_disk_space(path: Path) -> None:
    """Raise the system's error if the disk is full: pyreadstat does not."""
    place = path.with_name("space")
    with place.open("wb") as file:
        file.write(bytes(2**20))
        file.flush()
        os.fsync(file.fileno())
    place.unlink()


def _set_fixed_date(form: LabelledFormat, path: Path) -> None:
    """Write one date into every file: the same records give the same bytes at any hour."""
    with path.open("r+b") as file:
        if form.name == "sav":
            file.seek(92)  # position of the date and time of writing
            file.write(b"01 Jan 7000:00:00")
            return
        at = file.read(STATA_HEADER).find(STATA_DATE)
        if at < 0:  # pyreadstat does not report a full disk
            _require_disk_space(path)
            raise InvalidTable("The Stata file could not be written: it has no header.")
        file.seek(at + len(STATA_DATE))
        file.write(b"01 Jan 1970 00:00")
