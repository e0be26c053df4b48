"""Options that several verbs share, spelled and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from pramana.cli.steward import method_names
from pramana.errors import InputError

__all__ = ["AsJson", "MethodName", "SchemaFile", "TableFile", "names_of", "require_schema"]

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


MethodName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        show_default=False,
        autocompletion=method_names,
        help="One of the methods below; the usual one for what is asked where not given.",
    ),
]


def names_of(lists: list[str] | None) -> list[str]:
    """Column names from options that may repeat and may hold several, separated by commas.

    >>> names_of(["sex, age", "region"])
    ['sex', 'age', 'region']
    """
    return [name.strip() for part in lists or () for name in part.split(",") if name.strip()]


def require_schema(schema: Path | None, table: object) -> Path:
    """Nothing is decided silently: without a schema there is advice and no guess."""
    if schema is None:
        file = "FILE" if table is None else table
        raise InputError(
            "A schema must say what each column is, and none was given. Run 'pramana describe "
            f"{file} -o schema.toml', look at what it suggests, and add --schema schema.toml."
        )
    return schema
