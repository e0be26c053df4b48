"""Options that several verbs share, spelled and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from pramana.errors import InputError

__all__ = [
    "Alpha",
    "AsJson",
    "Closeness",
    "Clustering",
    "Distinct",
    "Epsilon",
    "K",
    "Matrices",
    "MaxError",
    "MaxSize",
    "Method",
    "Mixture",
    "ResponseWeight",
    "Responses",
    "Retention",
    "Rho1",
    "Rho2",
    "SchemaFile",
    "Spread",
    "Stay",
    "TableFile",
    "Width",
    "Xi",
    "matrices_of",
    "names_of",
    "require_schema",
]

TableFile: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="The true table: CSV, Parquet, Arrow, SPSS, Stata or SAS.",
    ),
]
SchemaFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="TOML",
        show_default=False,
        help="What each column is, as 'pramana describe' writes it.",
    ),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Give the result as one JSON object.")
]


def _target(name: str, text: str) -> object:
    return typer.Option(name, metavar="NUMBER", show_default=False, help=text)


K: TypeAlias = Annotated[
    float | None, _target("--k", "Pin no released record on a person beyond 1 in k.")
]
Epsilon: TypeAlias = Annotated[
    float | None, _target("--epsilon", "Differential privacy of the randomised columns.")
]
Rho1: TypeAlias = Annotated[
    float | None, _target("--rho1", "What was at most this likely before (with --rho2) ...")
]
Rho2: TypeAlias = Annotated[
    float | None, _target("--rho2", "... is at most this likely after seeing the release.")
]
Alpha: TypeAlias = Annotated[
    float | None, _target("--alpha", "Who looks at a few keys recognises nobody beyond this.")
]
Width: TypeAlias = Annotated[
    int | None, _target("--width", "How many keys are looked at together (with --alpha; 3).")
]
Xi: TypeAlias = Annotated[
    float | None, _target("--xi", "Who searches by one key is right at most this often.")
]
MaxError: TypeAlias = Annotated[
    float | None,
    _target("--max-error", "The strongest guarantee whose expected error stays at or below this."),
]
Retention: TypeAlias = Annotated[
    float | None, _target("--retention", "No target: keep each value with this probability.")
]
Method: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        show_default=False,
        help="The design; chosen from the guarantees asked where not given.",
    ),
]
Spread: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--spread",
        metavar="equal|best",
        help="One retention for all columns, or for each its own at the same k and epsilon.",
    ),
]
Stay: TypeAlias = Annotated[
    float | None,
    _target("--stay", "Method invariant: each value stays with at least this (sdcMicro's pd)."),
]
Mixture: TypeAlias = Annotated[
    float | None,
    typer.Option("--mixture", metavar="NUMBER", help="Method invariant: sdcMicro's alpha."),
]
Matrices: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--matrix",
        metavar="COLUMN=FILE",
        show_default=False,
        help="Your own matrix for a column, as CSV or JSON; once for each key.",
    ),
]


def _groups(name: str, metavar: str, text: str) -> object:
    return typer.Option(name, metavar=metavar, show_default=False, help=f"Groups: {text}")


Clustering: TypeAlias = Annotated[
    str | None,
    _groups("--clustering", "default|greedy|mdav|cells", "how they are found."),
]
Responses: TypeAlias = Annotated[
    list[str] | None,
    _groups("--response", "COLUMNS", "numbers that similar records should share."),
]
ResponseWeight: TypeAlias = Annotated[
    float | None, _groups("--response-weight", "NUMBER", "the weight of a response beside a key.")
]
MaxSize: TypeAlias = Annotated[
    int | None, _groups("--max-size", "NUMBER", "at most so many records in each.")
]
Distinct: TypeAlias = Annotated[
    int | None, _groups("--distinct", "NUMBER", "so many values of each sensitive column in each.")
]
Closeness: TypeAlias = Annotated[
    float | None,
    _groups("--closeness", "NUMBER", "their sensitive values at most so far from those of all."),
]


def matrices_of(options: list[str] | None) -> dict[str, Path] | None:
    """Which file holds the matrix of which column.

    >>> matrices_of(["sex=sex.csv"])
    {'sex': PosixPath('sex.csv')}
    """
    found: dict[str, Path] = {}
    for option in options or ():
        column, equals, file = option.rpartition("=")
        if not (column and equals and file) or column in found:
            raise InputError(f"--matrix takes COLUMN=FILE, once for each column, got '{option}'.")
        found[column] = Path(file)
    return found or None


def names_of(lists: list[str] | None) -> list[str]:
    """Column names from options that may repeat and may hold several, separated by commas.

    >>> names_of(["sex, age", "region"])
    ['sex', 'age', 'region']
    """
    return [name.strip() for part in lists or () for name in part.split(",") if name.strip()]


def require_schema(schema: Path | None, table: Path | None) -> Path:
    """Nothing is decided silently: without a schema there is advice and no guess."""
    if schema is None:
        file = "FILE" if table is None else table
        raise InputError(
            "A schema must say what each column is, and none was given. Run 'pramana describe "
            f"{file} -o schema.toml', look at what it suggests, and add --schema schema.toml."
        )
    return schema
