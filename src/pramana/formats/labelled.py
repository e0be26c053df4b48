"""SPSS, Stata and SAS files, with their labels, by pyreadstat."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramana.errors import InvalidTable, MissingExtra
from pramana.formats.base import RecordStream
from pramana.formats.names import require_distinct_names
from pramana.table.labels import Labels
from pramana.table.opened import OpenedTable, TableFormat

__all__ = ["open_labelled", "write_labelled"]

PACKAGES: dict[TableFormat, str] = {"sav": "SPSS", "dta": "Stata", "sas7bdat": "SAS"}
EXACT = 2**53
SPSS_DATE = 92
"""Where the head of an SPSS file has the date and the time of writing."""
HEADER, STATA_DATE = 4096, b"<timestamp>\x11"


def _pyreadstat(verb: str, file_format: TableFormat) -> ModuleType:
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtra(
            f"{verb} {PACKAGES[file_format]} files needs an extra: pip install 'pramana[files]'."
        ) from None
    module: ModuleType = pyreadstat
    return module


def open_labelled(path: Path, file_format: TableFormat) -> OpenedTable:
    """Open an SPSS, Stata or SAS file. Its missing values and empty texts are missing."""
    library = _pyreadstat("Reading", file_format)
    read = getattr(library, f"read_{file_format}")
    try:
        columns, about = read(str(path), output_format="dict")
    except (library.ReadstatError, library.PyreadstatError, ValueError, OSError):
        raise InvalidTable(
            f"{path} cannot be read as {PACKAGES[file_format]}: "
            "it is broken, cut short, or not what its ending says."
        ) from None
    require_distinct_names(about.column_names, where=str(path))
    if not about.column_names or not about.number_rows:
        raise InvalidTable(f"{path} has no records.")
    table = pa.table({name: _column(name, values) for name, values in columns.items()})
    return OpenedTable.of_arrow(table, kind=file_format, source=path, labels=_labels(about))


def _column(name: str, values: list[Any]) -> pa.Array:
    try:
        array = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InvalidTable(f"Column '{name}' holds values of different kinds.") from None
    if pa.types.is_string(array.type):
        return pc.if_else(pc.equal(array, ""), pa.scalar(None, array.type), array)
    # These packages keep whole numbers as floating ones.
    if pa.types.is_floating(array.type) and array.null_count < len(array):
        whole = pc.and_(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), EXACT))
        if pc.all(whole).as_py():
            return array.cast(pa.int64())
    return array.cast(pa.float64()) if pa.types.is_null(array.type) else array


def _labels(about: Any) -> Labels:
    variables = {name: text for name, text in about.column_names_to_labels.items() if text}
    values = {name: dict(labels) for name, labels in about.variable_value_labels.items()}
    measures = {n: m for n, m in (about.variable_measure or {}).items() if m != "unknown"}
    return Labels(variables, values, measures)


def write_labelled(path: Path, records: RecordStream, file_format: TableFormat) -> None:
    """Write an SPSS or Stata file with the labels of the columns that it has."""
    library = _pyreadstat("Writing", file_format)
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise MissingExtra(
            f"Writing {PACKAGES[file_format]} files needs an extra: pip install 'pramana[files]'."
        ) from None
    schema = pa.schema([(item.name, _plain(item.type)) for item in records.schema])
    table = pa.concat_tables([schema.empty_table(), *(g.cast(schema) for g in records.groups)])
    names, labels = set(table.column_names), records.labels
    options: dict[str, Any] = {
        "column_labels": {name: labels.variables.get(name) for name in table.column_names},
        "variable_value_labels": _value_labels(table, labels.values),
    }
    if file_format == "sav":
        options["variable_measure"] = {n: m for n, m in labels.measures.items() if n in names}
    frame = table.to_pandas(date_as_object=True)
    getattr(library, f"write_{file_format}")(frame, str(path), **options)
    _undate(path, file_format)


def _undate(path: Path, file_format: TableFormat) -> None:
    """Put one date into every file: the same records give the same bytes at any hour."""
    with path.open("r+b") as file:
        if file_format == "sav":
            file.seek(SPSS_DATE)
            file.write(b"01 Jan 7000:00:00")
            return
        at = file.read(HEADER).index(STATA_DATE) + len(STATA_DATE)
        file.seek(at)
        file.write(b"01 Jan 1970 00:00")


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _value_labels(
    table: pa.Table, labels: Mapping[str, Mapping[Any, str]]
) -> dict[str, dict[Any, str]]:
    """Value labels of columns that still hold such values: a bin's text has none."""
    kept = {}
    for name in (name for name in table.column_names if name in labels):
        text = pa.types.is_string(table.schema.field(name).type)
        fitting = {v: label for v, label in labels[name].items() if isinstance(v, str) == text}
        if fitting:
            kept[name] = fitting
    return kept
