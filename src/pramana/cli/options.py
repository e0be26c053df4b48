"""Options that several verbs share, spelled and explained once."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pramana.base.text import as_file, names_in, pasted
from pramana.cli.commands import SELDOM, method_names
from pramana.errors import InputError

if TYPE_CHECKING:
    from pramana.schema.replicates import Replicates

DOES_NOT_HOLD = 1
"""The exit code where a guarantee or a check does not hold."""


def option(
    flag: str,
    text: str,
    *,
    short: str = "",
    metavar: str | None = None,
    seldom: bool = False,
    complete: Callable[..., list[str]] | None = None,
) -> Any:
    """An option by its flag and its line of help; what is seldom needed is on another screen."""
    names = (flag, short) if short else (flag,)
    panel = SELDOM if seldom else None
    return typer.Option(
        *names, help=text, metavar=metavar, rich_help_panel=panel, autocompletion=complete
    )


def argument(text: str, *, metavar: str | None = None, case_sensitive: bool = True) -> Any:
    """What a verb is about, by its line of help."""
    return typer.Argument(
        help=text, metavar=metavar, show_default=False, case_sensitive=case_sensitive
    )


TableFile: TypeAlias = Annotated[
    Path,
    argument("The true table: CSV, Parquet, Arrow, SPSS, Stata, SAS, Excel, R.", metavar="FILE"),
]
ReleaseFolder: TypeAlias = Annotated[Path, argument("A release folder.", metavar="RELEASE")]
SchemaFile: TypeAlias = Annotated[
    Path | None,
    option("--schema", "What each column is, as 'pramana describe' writes it.", metavar="TOML"),
]
PlanPath: TypeAlias = Annotated[
    Path | None,
    option(
        "--plan",
        "A file with schema, target, method and what will be asked; what is given besides counts.",
        metavar="TOML",
        seldom=True,
    ),
]
Encoding: TypeAlias = Annotated[
    str | None,
    option(
        "--encoding",
        "Of a true table that is text and not UTF-8, such as cp1252.",
        metavar="NAME",
        seldom=True,
    ),
]
Rename: TypeAlias = Annotated[
    bool,
    option("--rename", "Number columns of the true table that have one name.", seldom=True),
]
AsJson: TypeAlias = Annotated[bool, option("--json", "Give the result as one JSON object.")]


def listed_methods(incomplete: str) -> list[str]:
    """For completion of the last of several names with commas between them."""
    before, comma, _ = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in method_names()]


MethodName: TypeAlias = Annotated[
    str | None,
    option(
        "--method",
        "One of the methods below; the usual one for what is asked where not given.",
        metavar="NAME",
        complete=method_names,
    ),
]


OriginName: TypeAlias = Annotated[
    str,
    option(
        "--origin",
        "Where method and target come from: declared, read-off or trials. The certificate says it.",
        metavar="WORD",
        seldom=True,
    ),
]


def told(path: Path | None, encoding: str | None, rename: bool = False) -> Any:
    """The true table: its path, or what is read there in the encoding that was stated."""
    if path is None or (encoding is None and not rename):
        return path
    from pramana import api

    return api.read(path, encoding=encoding, rename=rename)


def reading(encoding: str | None, rename: bool) -> tuple[str, ...]:
    """How the true table was read, as words of a command to paste.

    >>> reading("cp1252", True), reading(None, False)
    (('--encoding', 'cp1252', '--rename'), ())
    """
    told_so = ("--encoding", encoding) if encoding else ()
    return (*told_so, "--rename") if rename else told_so


def names_of(lists: list[str] | None) -> list[str]:
    """Column names from options that may repeat and may hold several, separated by commas.

    >>> names_of(["sex, age", "region", '"pets, if any"'])
    ['sex', 'age', 'region', 'pets, if any']
    """
    return [name for part in lists or () for name in names_in(part)]


def require_schema(schema: Path | None, table: Path | None) -> Path:
    """Nothing is decided silently: without a schema there is advice and no guess."""
    if schema is None:
        file = "FILE" if table is None else as_file(str(table))
        look = pasted(["pramana", "describe", file, "-o", "schema.toml"])
        raise InputError(
            "A schema must say what each column is, and none was given. Look at what is suggested "
            f"and add --schema schema.toml: {look}"
        )
    return schema


# Options of the commands that analyse a release.


class CountMethod(StrEnum):
    """How counts are estimated."""

    AUTO = "auto"
    UNBIASED = "unbiased"
    CLIPPED = "clipped"
    SHRUNK = "shrunk"


class ShareOf(StrEnum):
    """What a share is a share of."""

    TOTAL = "total"
    ROW = "row"
    COLUMN = "column"


class Infer(StrEnum):
    """What intervals are about."""

    RECORDS = "records"
    POPULATION = "population"


class RebuildMethod(StrEnum):
    """How records are rebuilt."""

    POSTERIOR = "posterior"
    RANK = "rank"


class ModelFamily(StrEnum):
    """Which regression."""

    LINEAR = "linear"
    LOGISTIC = "logistic"
    POISSON = "poisson"


class ReplicationKind(StrEnum):
    """How replicate weights were made."""

    BRR = "brr"
    FAY = "fay"
    JACKKNIFE = "jackknife"
    BOOTSTRAP = "bootstrap"
    SDR = "sdr"


Filter: TypeAlias = Annotated[
    list[str] | None,
    option("--where", "sex=F, region=north|south or income>=50000; may repeat.", metavar="FILTER"),
]
Level: TypeAlias = Annotated[float, option("--level", "Of the intervals.", metavar="NUMBER")]
Simultaneous: TypeAlias = Annotated[
    bool, option("--simultaneous", "All intervals hold together.", seldom=True)
]
Unweighted: TypeAlias = Annotated[
    bool, option("--unweighted", "Count every record once, whatever its weight.", seldom=True)
]
ReplicateColumns: TypeAlias = Annotated[
    list[str] | None,
    option(
        "--replicates",
        "Columns of replicate weights: PWGTP* or names with commas.",
        metavar="COLUMNS",
        seldom=True,
    ),
]
ReplicatesBy: TypeAlias = Annotated[
    ReplicationKind,
    option("--replication", "How they were made; sdr is that of the ACS.", seldom=True),
]
Fay: TypeAlias = Annotated[
    float | None,
    option("--fay", "For --replication fay: what a half keeps.", metavar="NUMBER", seldom=True),
]
AsCsv: TypeAlias = Annotated[bool, option("--csv", "Give the table as CSV.", seldom=True)]


def replicates_of(
    columns: list[str] | None, kind: ReplicationKind, fay: float | None
) -> Replicates | None:
    """Replicate weights as they were named, or none."""
    from pramana import Replicates

    names = names_of(columns)
    if not names:
        return None
    starred = names[0] if len(names) == 1 else tuple(names)
    return Replicates(starred, kind=kind.value, fay=fay)
