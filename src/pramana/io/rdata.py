"""Files of R: one object (.rds) or several by name (.rda, .RData), by the package rdata.

The package knows numbers, texts and factors. What else R's data frames of surveys hold is in the
attributes of their columns, which it passes over: that a number is a date, a time or a whole number
of 64 bits, and what haven and its like say of labels and of values that stand for missing.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa

from pramana.errors import InvalidTable, MissingExtra
from pramana.io.base import Format, PartOf, chosen, distinct_names, is_renaming, names_alone
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
        """Open a data frame; factors come as their labels, in their order."""
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


def read_here(
    path: Path, *, marked: str, names: str = "", rename: str = ""
) -> tuple[pa.Table, Labels]:
    """A data frame of a file, read by this process; or of all of them the ``names`` alone."""
    try:
        import rdata  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "Reading files of R needs an extra: pip install 'pramana[files]'."
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on classes that it does not know
            frames = _frames(path)
            if names:
                return names_alone(frames), Labels()
            frame = frames[chosen(PartOf.of(Path(marked)), list(frames), what="data frame")]
            return frame.read(f"the data frame of {path}", rename=bool(rename))
    except InvalidTable:
        raise
    except Exception:  # whatever a damaged file makes of it; its words may show rows
        raise InvalidTable(
            f"{path} cannot be read as R: it is broken, or not what its ending says."
        ) from None


class _Frame:
    """A data frame as it was parsed: its columns are objects with attributes of their own."""

    def __init__(self, parsed: Any, convert: Any) -> None:
        self.parsed = parsed
        self.convert = convert

    def read(self, where: str, *, rename: bool) -> tuple[pa.Table, Labels]:
        """Values and labels of all columns."""
        told = [_attributes(own, self.convert) for own in self.parsed.value]
        names = [str(name) for name in _attributes(self.parsed, self.convert)["names"]]
        names = distinct_names(names, where=where, rename=rename)
        columns = {
            name: _column(name, self.convert(own), about)
            for name, own, about in zip(names, self.parsed.value, told, strict=True)
        }
        if len({len(column) for column in columns.values()}) > 1:
            raise InvalidTable(f"{where} has columns of different lengths.")
        return pa.table(columns), _labels(columns, dict(zip(names, told, strict=True)))


def _frames(path: Path) -> dict[str, _Frame]:
    """The data frames of a file by name; other objects do not count."""
    from rdata.conversion import DEFAULT_CLASS_MAP, SimpleConverter
    from rdata.parser import parse_file

    single = path.suffix.lower() == ".rds"
    data = parse_file(path, extension=".rds" if single else ".rda")
    convert = SimpleConverter(
        {**DEFAULT_CLASS_MAP, "data.frame": lambda value, _: value},
        default_encoding=data.extra.encoding,
    ).convert
    objects = {"the object": data.object} if single else _named(data.object, convert)
    return {
        name: _Frame(own, convert)
        for name, own in objects.items()
        if "data.frame" in _classes(_attributes(own, convert))
    }


def _named(node: Any, convert: Any) -> dict[str, Any]:
    """The objects of R's list of pairs, each behind the one before."""
    found = {}
    while node.tag is not None:
        found[str(convert(node.tag))] = node.value[0]
        node = node.value[1]
    return found


def _attributes(parsed: Any, convert: Any) -> Form:
    """What stands beside an object, labels of values as such: texts lose their names else."""
    if parsed.attributes is None:
        return {}
    beside = _named(parsed.attributes, convert)
    return {
        name: _of_values(own, convert) if name == "labels" else convert(own)
        for name, own in beside.items()
    }


def _classes(about: Form) -> list[str]:
    return [str(own) for own in about.get("class", ())]


def _column(name: str, value: Any, about: Form) -> pa.Array:
    """Values of one column in the type that R takes them for."""
    if getattr(value, "ndim", 1) != 1 or isinstance(value, list | Mapping):
        raise InvalidTable(
            f"Column '{name}' holds more than one value a record. Leave it out.", column=name
        )
    classes = _classes(about)
    if "integer64" in classes:
        bits = np.ascontiguousarray(value).view(np.int64)
        return pa.array(bits, mask=bits == np.iinfo(np.int64).min)
    if "Date" in classes:
        return _moments(value, 1.0, pa.int32()).cast(pa.date32())
    if "POSIXct" in classes:
        return _moments(value, 1e6, pa.int64()).cast(pa.timestamp("us", _zone(about)))
    found = pa.array(getattr(value, "values", value) if hasattr(value, "coords") else value,
                     from_pandas=True)  # fmt: skip
    return whole_numbers(found) if pa.types.is_floating(found.type) else found


def _zone(about: Form) -> str | None:
    """The zone of times; none for UTC, which haven gives to times of SPSS and Stata."""
    zone = next((str(own) for own in about.get("tzone", ()) if own), "UTC")
    try:
        pa.scalar(0, pa.timestamp("us", zone)).cast(pa.string())
    except pa.ArrowInvalid:
        return None
    return None if zone in ("UTC", "GMT") else zone


def _moments(value: Any, unit: float, kind: pa.DataType) -> pa.Array:
    """Days or seconds since 1970 in whole units; what is no number is missing."""
    numbers = np.ma.filled(np.ma.asarray(value).astype(float), np.nan)
    gone = ~np.isfinite(numbers)
    # R's seconds are floating: half of a millionth is rounding.
    moments = np.floor(np.where(gone, 0, numbers) * unit + (0.5 if unit > 1 else 0))
    return pa.array(moments, mask=gone).cast(kind)  # which refuses what no file can hold


def _labels(columns: Mapping[str, pa.Array], told: Mapping[str, Form]) -> Labels:
    """What haven, labelled, Hmisc and their like put beside columns."""
    variables = {
        name: str(about["label"][0])
        for name, about in told.items()
        if len(about.get("label", ())) == 1
    }
    values = {name: about["labels"] for name, about in told.items() if about.get("labels")}
    missing = {
        name: codes_within(ranges, pa.chunked_array([columns[name]]), values.get(name, {}))
        for name, about in told.items()
        if (ranges := _ranges(about))
    }
    return Labels(
        {name: text for name, text in variables.items() if text},
        values,
        missing={name: codes for name, codes in missing.items() if codes},
    )


def _ranges(about: Form) -> list[tuple[Any, Any]]:
    """From where to where values stand for missing."""
    single = [(own, own) for own in _plain(about.get("na_values", ()))]
    low_high = _plain(about.get("na_range", ()))
    return [*single, (low_high[0], low_high[-1])] if low_high else single


def _of_values(parsed: Any, convert: Any) -> dict[Label, str]:
    """Labels of values: R names each value by its label. Tagged missing values are none."""
    names = _attributes(parsed, convert).get("names", ())
    values = _plain(convert(parsed))
    return {v: str(name) for v, name in zip(values, names, strict=False) if v == v}


def _plain(values: Any) -> list[Any]:
    """Plain numbers and texts, whole numbers as such."""
    listed = np.asarray(values).tolist() if len(values) else []
    return [int(v) if isinstance(v, float) and v.is_integer() else v for v in listed]


R: Final = RFormat()
