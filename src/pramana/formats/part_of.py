"""Which table of a file that holds several: ``people.xlsx#Sheet2``, ``survey.rda#adults``.

Behind the mark stands the name of a sheet, an object or a table; for sheets also the row of the
names of columns, as in ``people.xlsx#Sheet2!3``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from pramana.errors import InvalidTable
from pramana.text import listed

__all__ = ["PartOf", "chosen", "names_alone"]


@dataclass(frozen=True)
class PartOf:
    """A file, and what was said about the table in it.

    >>> PartOf.of(Path("people.xlsx#Sheet2!3"))
    PartOf(file=PosixPath('people.xlsx'), name='Sheet2', header=3)
    """

    file: Path
    name: str | None = None
    header: int | None = None

    @classmethod
    def of(cls, path: Path) -> PartOf:
        """What a path says; a file that is there under the whole name is that file."""
        file, mark, part = path.name.partition("#")
        if not mark or path.exists():
            return cls(path)
        name, _, row = part.partition("!")
        if row and not (row.isdigit() and int(row) > 0):
            raise InvalidTable(f"Behind the ! of {path} must stand the row of the column names.")
        return cls(path.with_name(file), name or None, int(row) if row else None)


def names_alone(names: Iterable[str]) -> pa.Table:
    """A table that has nothing but names, as one process tells another."""
    return pa.table({name: pa.array([], pa.null()) for name in names})


def chosen(part: PartOf, names: Sequence[str], *, what: str, first: bool = False) -> str:
    """The name asked for, or the only one; the ``first`` of several where that is usual."""
    if not names:
        raise InvalidTable(f"{part.file} holds no {what}.")
    held = listed(names, most=10)
    if part.name is None:
        if len(names) == 1 or first:
            return names[0]
        raise InvalidTable(
            f"{part.file} holds {len(names)} {what}s: say which, as {part.file.name}#NAME. It has: "
            f"{held}.",
            code="several-tables",
            file=part.file.name,
            count=len(names),
            kind=what,
        )
    if part.name not in names:
        raise InvalidTable(f"{part.file} has no {what} '{part.name}'. It has: {held}.")
    return part.name
