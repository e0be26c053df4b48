"""What the commands of an analyst share: choices, and options spelled once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from pramana.cli.steward import SELDOM

__all__ = [
    "AsCsv",
    "CountMethod",
    "Filter",
    "Infer",
    "Level",
    "ModelFamily",
    "RebuildMethod",
    "ReleaseFolder",
    "ShareOf",
    "Simultaneous",
    "Unweighted",
]


class CountMethod(StrEnum):
    """How counts are estimated."""

    AUTO = "auto"
    INVERSE = "inverse"
    CLIPPED = "clipped"
    EM = "em"


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


ReleaseFolder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="RELEASE", show_default=False, help="A release folder.")
]
Filter: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="FILTER",
        show_default=False,
        help="sex=F, region=north|south or income>=50000; may repeat.",
    ),
]
Level: TypeAlias = Annotated[
    float, typer.Option("--level", metavar="NUMBER", help="Of the intervals.")
]
Simultaneous: TypeAlias = Annotated[
    bool,
    typer.Option("--simultaneous", rich_help_panel=SELDOM, help="All intervals hold together."),
]
Unweighted: TypeAlias = Annotated[
    bool, typer.Option("--unweighted", help="Count every record once, whatever its weight.")
]
AsCsv: TypeAlias = Annotated[
    bool, typer.Option("--csv", rich_help_panel=SELDOM, help="Give the table as CSV.")
]
