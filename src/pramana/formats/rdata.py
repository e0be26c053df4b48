"""Files of R: one object (.rds) or several by name (.rda, .RData), by the package rdata."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, ClassVar, Final

import pyarrow as pa

from pramana.errors import InvalidTable, MissingExtra
from pramana.formats.base import Format
from pramana.formats.child import read_in_child
from pramana.formats.frames import open_frame
from pramana.formats.names import require_distinct_names
from pramana.formats.part_of import PartOf, chosen, names_alone
from pramana.table.labels import Labels
from pramana.table.opened import OpenedTable, TableFormat
from pramana.types import Form

__all__ = ["R", "RFormat", "read_here"]


class RFormat(Format):
    """Data frames that R has saved."""

    name: ClassVar[TableFormat] = "r"
    title: ClassVar[str] = "R"
    endings: ClassVar[tuple[str, ...]] = (".rds", ".rda", ".rdata")
    marks: ClassVar[tuple[bytes, ...]] = (b"\x1f\x8b", b"\xfd7zXZ", b"RDX", b"X\n")

    def open(self, path: Path) -> OpenedTable:
        """Open a data frame; factors come as their labels, in their order."""
        file = PartOf.of(path).file
        table, _ = read_in_child(__name__, file, title=self.title, marked=str(path.absolute()))
        return OpenedTable.of_arrow(table, kind=self.name, source=path)

    def parts(self, path: Path) -> tuple[str, ...]:
        """The data frames of a file; a file of one object has no names."""
        file = PartOf.of(path).file
        if file.suffix.lower() == ".rds":
            return ()
        held, _ = read_in_child(__name__, file, title=self.title, marked=str(file), names="yes")
        return tuple(held.column_names)


def read_here(path: Path, *, marked: str, names: str = "") -> tuple[pa.Table, Labels]:
    """A data frame of a file, read by this process; or of all of them the ``names`` alone."""
    frames = _frames(path)
    if names:
        return names_alone(frames), Labels()
    frame = frames[chosen(PartOf.of(Path(marked)), list(frames), what="data frame")]
    return open_frame(frame.reset_index(drop=True)).to_arrow(), Labels()


def _frame(obj: Any, attrs: Any) -> Any:
    """A data frame; the reader keeps the last of columns that have one name, and says nothing."""
    from rdata.conversion import dataframe_constructor

    require_distinct_names(list(attrs["names"]), where="the data frame", way=MADE_UNIQUE)
    return dataframe_constructor(obj, attrs)


FRAMES: Final = {"data.frame": _frame}
MADE_UNIQUE: Final = "Rename them in R: names(d) <- make.unique(names(d))."


def _frames(file: Path) -> Form:
    try:
        import pandas as pd
        import rdata
    except ImportError:
        raise MissingExtra(
            "Reading files of R needs an extra: pip install 'pramana[files]'."
        ) from None
    read = rdata.read_rds if file.suffix.lower() == ".rds" else rdata.read_rda
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on classes that it does not know
            found = read(file, constructor_dict={**rdata.conversion.DEFAULT_CLASS_MAP, **FRAMES})
    except InvalidTable as error:
        raise InvalidTable(f"{file}: {error}") from None
    except Exception:  # whatever a damaged file makes of it; its words may show rows
        raise InvalidTable(
            f"{file} cannot be read as R: it is broken, or not what its ending says."
        ) from None
    objects = found if isinstance(found, dict) else {"the object": found}
    return {name: own for name, own in objects.items() if isinstance(own, pd.DataFrame)}


R: Final = RFormat()
