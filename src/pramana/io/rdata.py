"""Files of R: one object (.rds) or several named objects (.rda, .RData), read by the package rdata.

The package reads numbers, texts and factors. What it passes over is in the attributes of columns:
that a number is a date, a time or an integer of 64 bits, and the labels and codes of missing values
of haven and similar packages.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa

from pramana.base.rounding import as_whole
from pramana.errors import InvalidTable, MissingExtra
from pramana.io.base import Format, PartOf, distinct_names, is_renaming, names_alone
from pramana.io.labelled import codes_within, opened_with_codes, whole_numbers
from pramana.io.subprocess_reader import read_in_child
from pramana.schema.domains import Label, Labels
from pramana.schema.opened_table import OpenedTable, TableFormat
from pramana.types import Form


class RFormat(Format):
    """Data frames that R has saved."""

    name: ClassVar[TableFormat] = "r"
    title: ClassVar[str] = "R"
    endings: ClassVar[tuple[str, ...]] = (".rds", ".rda", ".rdata")
    marks: ClassVar[tuple[bytes, ...]] = (b"\x1f\x8b", b"\xfd7zXZ", b"RDX", b"X\n")

    def open(self, path: Path) -> OpenedTable:
        """Open a data frame; factors become their labels, in their order."""
        table, labels = read_in_child(
            __name__,
            PartOf.of(path).file,
            title=self.title,
            marked=str(path.absolute()),
            rename="yes" if is_renaming() else "",
        )
        return opened_with_codes(table, path, self.name, labels)

    def parts(self, path: Path) -> tuple[str, ...]:
        """The data frames of a file; a file of one object has no names."""
        file = PartOf.of(path).file
        if file.suffix.lower() == ".rds":
            return ()
        held, _ = read_in_child(__name__, file, title=self.title, marked=str(file), names="yes")
        return tuple(held.column_names)


R: Final = RFormat()


def read_here(
    path: Path, *, marked: str, names: str = "", rename: str = ""
) -> tuple[pa.Table, Labels]:
    """A data frame of a file, read by this process, or the ``names`` of all of them."""
    try:
        import rdata  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "Reading files of R needs an extra: pip install 'pramana[files]'."
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on classes that it does not know
            frames, convert = _frames(path)
            if names:
                return names_alone(frames), Labels()
            frame = frames[PartOf.of(Path(marked)).choose(list(frames), what="data frame")]
            return _read_frame(frame, convert, f"the data frame of {path}", rename=bool(rename))
    except InvalidTable:
        raise
    except Exception:  # whatever a damaged file makes of it; its message may show rows
        raise InvalidTable(
            "{path} cannot be read as R: it is broken, or not what its ending says.", path=path
        ) from None


def _frames(path: Path) -> tuple[dict[str, Any], Any]:
    """The parsed data frames of a file by name, and the function that converts their parts."""
    from rdata.conversion import DEFAULT_CLASS_MAP, SimpleConverter
    from rdata.parser import parse_file

    single = path.suffix.lower() == ".rds"
    data = parse_file(path, extension=".rds" if single else ".rda")
    convert = SimpleConverter(
        {**DEFAULT_CLASS_MAP, "data.frame": lambda value, _: value},
        default_encoding=data.extra.encoding,
    ).convert
    objects = {"the object": data.object} if single else _pairs(data.object, convert)
    frames = {
        name: parsed
        for name, parsed in objects.items()
        if "data.frame" in _classes(_attributes(parsed, convert))
    }
    return frames, convert


def _read_frame(parsed: Any, convert: Any, where: str, *, rename: bool) -> tuple[pa.Table, Labels]:
    """Values and labels of all columns of a data frame."""
    attributes = [_attributes(column, convert) for column in parsed.value]
    names = [str(name) for name in _attributes(parsed, convert)["names"]]
    names = distinct_names(names, where=where, rename=rename)
    columns = {
        name: _column(name, convert(column), about)
        for name, column, about in zip(names, parsed.value, attributes, strict=True)
    }
    if len({len(column) for column in columns.values()}) > 1:
        raise InvalidTable("{where} has columns of different lengths.", where=where)
    return pa.table(columns), _labels(columns, dict(zip(names, attributes, strict=True)))


def _pairs(node: Any, convert: Any) -> dict[str, Any]:
    """The objects of a pairlist of R by name."""
    objects = {}
    while node.tag is not None:
        objects[str(convert(node.tag))] = node.value[0]
        node = node.value[1]
    return objects


def _attributes(parsed: Any, convert: Any) -> Form:
    """The attributes of an object; labels of values as a mapping from value to text."""
    if parsed.attributes is None:
        return {}
    attributes = {}
    for name, attribute in _pairs(parsed.attributes, convert).items():
        if name == "labels":  # R names each value by its label; tagged missing values are nan
            texts = _attributes(attribute, convert).get("names", ())
            pairs = zip(_python_values(convert(attribute)), texts, strict=False)
            attributes[name] = {value: str(text) for value, text in pairs if value == value}
        else:
            attributes[name] = convert(attribute)
    return attributes


def _classes(about: Form) -> list[str]:
    return [str(name) for name in about.get("class", ())]


def _column(name: str, value: Any, about: Form) -> pa.Array:
    """Values of one column in the type that R gives them."""
    if getattr(value, "ndim", 1) != 1 or isinstance(value, list | Mapping):
        raise InvalidTable(
            "Column '{column}' holds more than one value a record. Leave it out.", column=name
        )
    classes = _classes(about)
    if "integer64" in classes:
        bits = np.ascontiguousarray(value).view(np.int64)
        return pa.array(bits, mask=bits == np.iinfo(np.int64).min)
    if "Date" in classes:
        return _moments(value, 1.0, pa.int32()).cast(pa.date32())
    if "POSIXct" in classes:
        zone = next((str(name) for name in about.get("tzone", ()) if name), "UTC")
        try:
            pa.scalar(0, pa.timestamp("us", zone)).cast(pa.string())
        except pa.ArrowInvalid:
            zone = "UTC"
        # haven gives UTC to times of SPSS and Stata, which have no zone
        kind = pa.timestamp("us", None if zone in ("UTC", "GMT") else zone)
        return _moments(value, 1e6, pa.int64()).cast(kind)
    values = getattr(value, "values", value) if hasattr(value, "coords") else value
    array = pa.array(values, from_pandas=True)
    return whole_numbers(array) if pa.types.is_floating(array.type) else array


def _moments(value: Any, unit: float, kind: pa.DataType) -> pa.Array:
    """Days or seconds since 1970 in whole units; nan is missing."""
    numbers = np.ma.filled(np.ma.asarray(value).astype(float), np.nan)
    missing = ~np.isfinite(numbers)
    # R's seconds are floating: half of a millionth is rounding.
    moments = np.floor(np.where(missing, 0, numbers) * unit + (0.5 if unit > 1 else 0))
    return pa.array(moments, mask=missing).cast(kind)  # which refuses what no file can hold


def _labels(columns: Mapping[str, pa.Array], attributes: Mapping[str, Form]) -> Labels:
    """Labels and codes of missing values as haven, Hmisc and similar packages store them."""
    variables: dict[str, str] = {}
    values: dict[str, dict[Label, str]] = {}
    missing: dict[str, tuple[Label, ...]] = {}
    for name, about in attributes.items():
        if len(about.get("label", ())) == 1 and str(about["label"][0]):
            variables[name] = str(about["label"][0])
        if about.get("labels"):
            values[name] = about["labels"]
        ranges = [(code, code) for code in _python_values(about.get("na_values", ()))]
        low_high = _python_values(about.get("na_range", ()))
        if low_high:
            ranges.append((low_high[0], low_high[-1]))
        if ranges:
            column = pa.chunked_array([columns[name]])
            missing[name] = codes_within(ranges, column, values.get(name, {}))
    return Labels(
        variables, values, missing={name: codes for name, codes in missing.items() if codes}
    )


def _python_values(values: Any) -> list[Any]:
    """Numbers and texts of Python; whole numbers as integers."""
    return list(map(as_whole, np.asarray(values).tolist() if len(values) else []))
